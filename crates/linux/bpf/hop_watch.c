/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Sees frames leave that switches have marked (hops.h), behind the queue, and enters how
 * long each of them stayed.
 *
 * Every frame of the machine passes here, whoever sends it. One counts if its mark is one
 * of ours, the record of that mark waits for frames of this very interface in this
 * namespace, and its turn is the same.
 *
 * The frame is read where it stands, which the kernel lets nobody do whose licence is not
 * compatible with its own: so this file alone may be had under the GPL as well
 * (docs/decisions/0029-one-program-has-two-licences.md).
 */
#include "kernel.h"
#include "layout.h"

/* By the number of a switch in its process: the records of its hops, and the cookie of
 * its namespace. */
MAP(spaces);
MAP(namespaces);

/* Where the running kernel keeps things. */
CONSTANT(sk_buff_mark);
CONSTANT(sk_buff_cb);
CONSTANT(qdisc_skb_cb_data);
CONSTANT(sk_buff_tc_index);
CONSTANT(sk_buff_head);
CONSTANT(sk_buff_end);
CONSTANT(skb_shared_info_gso_size);
CONSTANT(net_device_ifindex);
CONSTANT(net_device_nd_net);
CONSTANT(net_net_cookie);

/* Who stayed longer has brought another time along. */
#define LONGEST_BELIEVED 3600000000000ull

#define AT(type, pointer, place) (*(type const *)((const u8 *)(pointer) + constant(place)))

/* What the tracepoint gives: the frame and the device. */
struct arguments {
	u64 of[2];
};

/* Returns how many frames it is on a wire: what was many has been cut into single ones
 * on its way, or has not. */
INLINE u64 frames_of(const u8 *frame)
{
	u32 frames = AT(u16, frame, sk_buff_tc_index);
	if (likely(frames <= 1))
		return 1;
	u16 segment = 0;
	u64 shared = AT(u64, frame, sk_buff_head) + AT(u32, frame, sk_buff_end);
	if (probe_read_kernel(&segment, sizeof(segment),
			      (const void *)(shared + constant(skb_shared_info_gso_size))))
		return 1;
	return segment ? frames : 1;
}

/* Returns when the frame came, as it says. */
INLINE u64 arrival_of(const u8 *frame)
{
	const u8 *words = frame + constant(sk_buff_cb) + constant(qdisc_skb_cb_data);
	u64 came = *(const u32 *)(words + 4 * HOP_CAME_HIGH);
	return came << 32 | *(const u32 *)(words + 4 * HOP_CAME_LOW);
}

/* Returns the bucket of a stay (layout/hop.rs). */
INLINE u32 bucket_of(u64 stay)
{
	u64 wide = stay >> HOP_UNIT_BITS;
	if (wide >= 1ull << 24)
		return HOP_BUCKETS_COUNT - 1;
	u32 units = wide;
	u32 shift = 0;
#pragma unroll
	for (u32 step = 16; step; step /= 2) {
		if (units >> shift >= 8u << (step - 1))
			shift += step;
	}
	u32 bucket = (shift << HOP_STEP_BITS) + (units >> shift);
	return bucket < HOP_BUCKETS_COUNT ? bucket : HOP_BUCKETS_COUNT - 1;
}

/* Puts a greater value into a word. */
INLINE void raise(u64 *word, u64 value)
{
	u64 before = READ_ONCE(*word);
	for (u32 tries = 0; tries < 8 && before < value; tries++) {
		u64 found = atomic_compare_exchange(word, before, value);
		if (found == before)
			return;
		before = found;
	}
}

/* Enters that so many frames stayed so long. */
INLINE void enter(struct map *hops, u64 *hop, u64 stay, u64 frames)
{
	u32 bucket = bucket_of(stay);
	forget(bucket);
	if (bucket >= HOP_BUCKETS_COUNT)
		return;
	atomic_add(&hop[HOP_BUCKETS + bucket], frames);
	raise(&hop[HOP_LONGEST], stay);
	u64 budget = READ_ONCE(hop[HOP_BUDGET]);
	if (likely(!budget || stay < budget))
		return;
	atomic_add(&hop[HOP_ABOVE], frames);
	raise(&hop[HOP_PEAK], stay);
	u32 all = 0;
	u64 *totals = map_lookup_elem(hops, &all);
	if (totals)
		atomic_add(&totals[HOP_ABOVE], frames);
}

/* Returns whether frames of a record leave by this device. */
INLINE int leaves_here(const u64 *hop, u32 turn, u32 space, const u8 *device)
{
	u64 expected = READ_ONCE(hop[HOP_DEVICE]);
	u32 turns = expected >> 32;
	if (!turns || ((turns - 1) & HOP_MARK_TURNS) != turn)
		return 0;
	if ((u32)expected != AT(u32, device, net_device_ifindex))
		return 0;
	const u64 *cookie = map_lookup_elem(&namespaces, &space);
	const u8 *net = AT(const u8 *, device, net_device_nd_net);
	return cookie && AT(u64, net, net_net_cookie) == *cookie;
}

/* A frame is handed to a device. */
PROGRAM int hop_left(struct arguments *arguments)
{
	const u8 *frame = (const u8 *)arguments->of[0];
	u32 mark = AT(u32, frame, sk_buff_mark);
	if (likely(mark >> HOP_MARK_SIGN_AT != HOP_MARK_SIGN))
		return 0;
	u32 space = mark >> HOP_MARK_SPACE_AT & HOP_MARK_SPACES;
	u32 number = mark & HOP_MARK_RECORDS;
	struct map *hops = map_lookup_elem(&spaces, &space);
	u64 *hop = hops ? map_lookup_elem(hops, &number) : 0;
	const u8 *device = (const u8 *)arguments->of[1];
	if (!hop || !leaves_here(hop, mark >> HOP_MARK_TURN_AT & HOP_MARK_TURNS, space, device))
		return 0;
	u64 frames = frames_of(frame);
	u64 came = arrival_of(frame);
	u64 now = ktime_get_ns();
	if (unlikely(came > now || now - came > LONGEST_BELIEVED))
		atomic_add(&hop[HOP_UNTIMED], frames);
	else
		enter(hops, hop, now - came, frames);
	return 0;
}
