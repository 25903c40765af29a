/* What a program needs of the kernel's interface, so that it compiles on a
 * machine without the kernel's headers.
 *
 * The functions of the kernel have the names of `bpf-helpers(7)` without `bpf_`.
 * Only those stand here that a program under any licence may call: the switch is
 * Apache-2.0, and the kernel refuses the others (`perf_event_output`,
 * `trace_printk`, ...) to it. `probe_read_kernel` is one of those; hop_watch.c may call
 * it.
 *
 * Sources: linux/bpf.h; bpf-helpers(7); RFC 9669.
 */
#ifndef KERNEL_H
#define KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "compile with -target bpfel"
#endif

/* Puts a function into the one section that is loaded. */
#define PROGRAM __attribute__((section("tc")))
/* A function that the verifier checks once, by itself, whoever calls it: it
 * relies on nothing but its parameters' types. Parameters are integers, the
 * frame, and pointers to structures of known size (which may be NULL). */
#define CHECKED_ONCE __attribute__((noinline, section("tc")))
/* A function whose code is repeated, and checked, at each call. */
#define INLINE static inline __attribute__((always_inline))
/* A function of its own that is checked anew at each call. */
#define CALLED static __attribute__((noinline, section("tc")))

/* Declares a map: the loader makes it and puts it where its name stands. It is no
 * variable, so it has no debugging information. */
struct map;
#define MAP(name) extern struct map name __attribute__((nodebug))

/* Declares a number that the loader knows: where the running kernel keeps something, or
 * whether it has something. One that is not told is zero. */
#define CONSTANT(name) extern const char name __attribute__((weak, nodebug))
#define constant(name) ((u64)&name)

#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define likely(condition) __builtin_expect(!!(condition), 1)
/* Keeps the compiler from knowing anything about a value any more, so that a
 * bound that the verifier has to see is not optimised away. */
#define forget(value) __asm__ volatile("" : "+r"(value))
/* Keeps the compiler from moving memory accesses across. */
#define compiler_barrier() __asm__ volatile("" ::: "memory")
/* One access, neither repeated nor torn. */
#define READ_ONCE(place) (*(const volatile __typeof__(place) *)&(place))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))
/* Adds and returns what stood there before. Ordered before and after everything
 * else, as all atomic instructions are whose result is asked for; `atomic_add`
 * is not. */
#define atomic_fetch_add(place, value) __sync_fetch_and_add((place), (value))
#define atomic_add(place, value) ((void)__sync_fetch_and_add((place), (value)))
#define atomic_compare_exchange(place, old, new) __sync_val_compare_and_swap((place), (old), (new))

#define be16(x) __builtin_bswap16(x)
#define be32(x) __builtin_bswap32(x)
#define be64(x) __builtin_bswap64(x)

/* What becomes of a frame. */
enum {
	TC_ACT_UNSPEC = -1, /* on to the next filter, or the stack */
	TC_ACT_OK = 0, /* to the stack, past further filters */
	TC_ACT_SHOT = 2, /* dropped */
	TC_ACT_REDIRECT = 7,
};

/* Flags of `redirect` and `clone_redirect`: into the interface, not out of it. */
#define BPF_F_INGRESS 1ULL
/* Flags of `skb_store_bytes`. */
#define BPF_F_RECOMPUTE_CSUM 1ULL
#define BPF_F_INVALIDATE_HASH 2ULL
/* Flags of `map_update_elem`. */
#define BPF_ANY 0ULL
#define BPF_NOEXIST 1ULL
#define BPF_EXIST 2ULL
/* Flags of `ringbuf_submit` and `ringbuf_discard`. */
#define BPF_RB_NO_WAKEUP 1ULL
#define BPF_RB_FORCE_WAKEUP 2ULL

/* A frame. Each field is translated by the kernel; see linux/bpf.h. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol; /* in network order */
	u32 vlan_present;
	u32 vlan_tci;
	u32 vlan_proto; /* in network order */
	u32 priority;
	u32 ingress_ifindex;
	u32 ifindex;
	u32 tc_index;
	u32 cb[5];
	u32 hash;
	u32 tc_classid;
	u32 data;
	u32 data_end;
	u32 napi_id;
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port;
	u32 local_port;
	u32 data_meta;
	u64 flow_keys __attribute__((aligned(8)));
	u64 tstamp;
	u32 wire_len;
	u32 gso_segs;
	u64 sk __attribute__((aligned(8)));
	u32 gso_size;
	u8 tstamp_type;
	u32 : 24;
	u64 hwtstamp;
};

_Static_assert(sizeof(struct __sk_buff) == 192, "as in linux/bpf.h");

static void *(*const map_lookup_elem)(struct map *map, const void *key) = (void *)1;
static long (*const map_update_elem)(struct map *map, const void *key, const void *value,
				     u64 flags) = (void *)2;
static long (*const map_delete_elem)(struct map *map, const void *key) = (void *)3;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_prandom_u32)(void) = (void *)7;
static u32 (*const get_smp_processor_id)(void) = (void *)8;
static long (*const skb_store_bytes)(struct __sk_buff *frame, u32 offset, const void *from,
				     u32 length, u64 flags) = (void *)9;
static long (*const l3_csum_replace)(struct __sk_buff *frame, u32 offset, u64 from, u64 to,
				     u64 size) = (void *)10;
static long (*const l4_csum_replace)(struct __sk_buff *frame, u32 offset, u64 from, u64 to,
				     u64 flags) = (void *)11;
static long (*const clone_redirect)(struct __sk_buff *frame, u32 interface,
				    u64 flags) = (void *)13;
static long (*const skb_vlan_push)(struct __sk_buff *frame, u16 protocol, u16 tci) = (void *)18;
static long (*const skb_vlan_pop)(struct __sk_buff *frame) = (void *)19;
static long (*const redirect)(u32 interface, u64 flags) = (void *)23;
static long (*const skb_load_bytes)(const struct __sk_buff *frame, u32 offset, void *to,
				    u32 length) = (void *)26;
static s64 (*const csum_diff)(const void *from, u32 from_size, const void *to, u32 to_size,
			      u32 seed) = (void *)28;
static long (*const skb_change_proto)(struct __sk_buff *frame, u16 protocol,
				      u64 flags) = (void *)31;
static u32 (*const get_hash_recalc)(struct __sk_buff *frame) = (void *)34;
static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const skb_change_tail)(struct __sk_buff *frame, u32 length,
				     u64 flags) = (void *)38;
static long (*const skb_pull_data)(struct __sk_buff *frame, u32 length) = (void *)39;
static s64 (*const csum_update)(struct __sk_buff *frame, u32 sum) = (void *)40;
static void (*const set_hash_invalid)(struct __sk_buff *frame) = (void *)41;
static long (*const skb_change_head)(struct __sk_buff *frame, u32 length,
				     u64 flags) = (void *)43;
static long (*const skb_adjust_room)(struct __sk_buff *frame, s32 bytes, u32 mode,
				     u64 flags) = (void *)50;
static u64 (*const ktime_get_boot_ns)(void) = (void *)125;
static void *(*const ringbuf_reserve)(struct map *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void (*const ringbuf_discard)(void *record, u64 flags) = (void *)133;
static u64 (*const ringbuf_query)(struct map *ring, u64 flags) = (void *)134;

#endif
