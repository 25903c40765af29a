/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has a cable lose or corrupt frames while both of its ends see a carrier.
 *
 * It runs at the receiving end as an XDP program of the driver: behind the cable, and before
 * taps, filters and the network stack. So nobody sees a frame that is lost, whichever
 * engine takes frames there. A corrupted frame has one bit flipped and is handed on; on a
 * real cable the check sequence would catch all but a few of those, and the port drop them.
 *
 * Each frame that is hit is handed over as it was, for whoever wants to know whose it is.
 */
#include "kernel.h"

MAP(rates);
MAP(hits);

/* The same numbers stand in `impaired_interface.rs`. */
#define FRAME_BYTES 1536U

enum {
	XDP_DROP = 1,
	XDP_PASS = 2,
};

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

/* What is to be done, and what was. */
struct impairment {
	u64 lose; /* one frame in so many; none if zero */
	u64 corrupt; /* the same */
	u64 number; /* by which hits name the interface */
	u64 lost;
	u64 corrupted;
	u64 untold; /* hits that found no room, or frames that are too long */
};

struct hit {
	u64 at; /* in ns of the monotonic clock */
	u64 number;
	u64 length;
	u64 corrupted; /* and not lost */
	u8 frame[FRAME_BYTES];
};

static long (*const xdp_load_bytes)(struct xdp_md *frame, u32 offset, void *to,
				    u32 length) = (void *)189;
static long (*const xdp_store_bytes)(struct xdp_md *frame, u32 offset, const void *from,
				     u32 length) = (void *)190;

INLINE int happens(u64 one_in)
{
	return one_in && get_prandom_u32() % (u32)one_in == 0;
}

/* Hands over a frame as it is. */
INLINE void tell(struct xdp_md *frame, struct impairment *impairment, u64 length, u64 corrupted)
{
	struct hit *hit = ringbuf_reserve(&hits, sizeof(*hit), 0);
	if (!hit)
		goto untold;
	hit->at = ktime_get_ns();
	hit->number = impairment->number;
	hit->length = length;
	hit->corrupted = corrupted;
	/* The verifier wants to see each of the two bounds by itself. */
	forget(length);
	if (length <= FRAME_BYTES) {
		compiler_barrier();
		if (length != 0 && !xdp_load_bytes(frame, 0, hit->frame, (u32)length)) {
			ringbuf_submit(hit, BPF_RB_NO_WAKEUP);
			return;
		}
	}
	ringbuf_discard(hit, BPF_RB_NO_WAKEUP);
untold:
	atomic_add(&impairment->untold, 1);
}

INLINE void flip(struct xdp_md *frame, u64 length)
{
	u32 bit = get_prandom_u32() % (u32)(length * 8);
	u8 byte;
	if (xdp_load_bytes(frame, bit / 8, &byte, 1))
		return;
	byte ^= 1U << bit % 8;
	xdp_store_bytes(frame, bit / 8, &byte, 1);
}

PROGRAM int impair(struct xdp_md *frame)
{
	u32 first = 0;
	u64 length = (u32)(frame->data_end - frame->data);
	struct impairment *impairment = map_lookup_elem(&rates, &first);
	if (!impairment || length == 0)
		return XDP_PASS;
	int lost = happens(READ_ONCE(impairment->lose));
	if (!lost && !happens(READ_ONCE(impairment->corrupt)))
		return XDP_PASS;
	tell(frame, impairment, length, !lost);
	if (lost) {
		atomic_add(&impairment->lost, 1);
		return XDP_DROP;
	}
	flip(frame, length);
	atomic_add(&impairment->corrupted, 1);
	return XDP_PASS;
}
