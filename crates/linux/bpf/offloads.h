/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sender of a frame has left to a card that is not there, as hosts behind
 * virtual Ethernet do: the checksum of layer 4, and to cut what is many frames on a
 * wire. Where the program forwards, the kernel does it when the frame comes to a
 * real wire, or nobody needs it. Where the core takes over, it is told.
 */
#pragma once

#include "headers.h"

#define TCP_LENGTH 12
#define UDP_HEADER 8

/* Returns whether the sender has left a checksum to a card. The kernel says so to
 * nobody, but it leaves a checksum of such a frame as it is when something outside
 * of the pseudo header changes: it is told that of the first bytes, which are made
 * what they were. */
CHECKED_ONCE int has_partial_sum(struct __sk_buff *frame)
{
	u16 before = 0;
	u16 after = 0;
	if (skb_load_bytes(frame, 0, &before, sizeof(before)) ||
	    l4_csum_replace(frame, 0, 0, 1, sizeof(before)) ||
	    skb_load_bytes(frame, 0, &after, sizeof(after)))
		return 0;
	if (before == after)
		return 1;
	skb_store_bytes(frame, 0, &before, sizeof(before), 0);
	return 0;
}

/* Notes how much the frame is on a wire. */
INLINE void note_segments(const struct __sk_buff *frame, struct plan *plan)
{
	u32 segment = frame->gso_size;
	plan->segment = segment;
	plan->frames = 1;
	plan->repeated = 0;
	plan->arrived = plan->length;
	if (likely(!segment))
		return;
	u32 frames = frame->gso_segs;
	plan->frames = frames ? frames : (plan->length + segment - 1) / segment;
	plan->needs |= NEED_NETWORK | NEED_TRANSPORT;
}

/* Counts the headers that a card would repeat, once they are read. Returns whether a
 * frame would be longer than any that is carried. What is carried inside of UDP is
 * taken for its payload. */
INLINE int measure_segments(struct plan *plan, u32 longest)
{
	const struct work *work = &plan->work;
	u32 at = work->transport_at;
	u32 header = 0;
	forget(at);
	if (work->transport == PROTO_UDP)
		header = at + UDP_HEADER;
	else if (work->transport == PROTO_TCP && at <= TRANSPORT_AT_MAX)
		header = at + (work->form.bytes[GAP + at + TCP_LENGTH] >> 4) * 4;
	u32 tags = 4 * work->form.tag_count;
	plan->repeated = (plan->frames - 1) * header;
	plan->arrived = plan->length + (plan->frames - 1) * (header + tags);
	return plan->segment + header + tags > longest;
}
