/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands the frame that came to the core, with what meters have said about it.
 */
#pragma once

#include "tallies.h"

/* A record of the ring has one of two sizes. */
#define SMALL_BYTES 256
#define LARGE_BYTES 2048

/* Writes the frame, its outer tag back in place. Returns whether it could not. */
INLINE int write_frame(struct __sk_buff *frame, u8 *to, u32 room)
{
	u32 bytes = frame->len;
	if (!frame->vlan_present) {
		forget(bytes);
		return bytes < NETWORK_AT || bytes > room || skb_load_bytes(frame, 0, to, bytes);
	}
	if (skb_load_bytes(frame, 0, to, TYPE_AT))
		return 1;
	*(u16 *)(to + TYPE_AT) = (u16)frame->vlan_proto;
	*(u16 *)(to + TYPE_AT + 2) = be16((u16)frame->vlan_tci);
	bytes -= TYPE_AT;
	forget(bytes);
	return bytes < 2 || bytes > room - TYPE_AT - 4 ||
	       skb_load_bytes(frame, TYPE_AT, to + TYPE_AT + 4, bytes);
}

/* Puts the frame into the ring, in a record with so much room. Returns whether it
 * could not. */
INLINE int put(struct __sk_buff *frame, const struct plan *plan, u32 room)
{
	u8 *to = ringbuf_reserve(&handed, HANDED_BYTES + room, 0);
	if (!to)
		return 1;
	*(u32 *)(to + HANDED_PORT) = plan->port;
	*(u32 *)(to + HANDED_LENGTH) = plan->length;
	*(u64 *)(to + HANDED_ARRIVED) = plan->now;
	*(u64 *)(to + HANDED_VERDICTS) = plan->verdict_words[0];
	*(u64 *)(to + HANDED_VERDICTS + 8) = plan->verdict_words[1];
	*(u64 *)(to + HANDED_VERDICTS_COUNT) = plan->verdict_count;
	if (write_frame(frame, to + HANDED_BYTES, room)) {
		ringbuf_discard(to, 0);
		return 1;
	}
	ringbuf_submit(to, 0);
	return 0;
}

/* Hands the frame to the core. */
CHECKED_ONCE int hand_over(struct __sk_buff *frame, struct plan *plan, u32 too_far)
{
	if (!plan)
		return TC_ACT_SHOT;
	int lost = plan->length <= SMALL_BYTES ? put(frame, plan, SMALL_BYTES)
					       : put(frame, plan, LARGE_BYTES);
	if (lost) {
		add_total(TOTAL_LOST, 1);
		refuse(plan);
		return TC_ACT_SHOT;
	}
	add_total(TOTAL_TO_CORE, 1);
	add_total(TOTAL_TOO_LONG_A_WAY, too_far);
	return TC_ACT_SHOT;
}
