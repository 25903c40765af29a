/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands the frame that came to the core, with what meters have said about it.
 */
#pragma once

#include "offloads.h"
#include "tallies.h"

/* A record of the ring has one of four sizes. The last two are for what its sender
 * has left to a card to cut: of the longest, the ring holds fifteen. */
#define SMALL_BYTES 256
#define LARGE_BYTES 2048
#define MANY_BYTES 16384
#define MOST_BYTES 66048

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

/* Puts the frame into the ring, in a record with so much room, and what its sender
 * has left to a card. Returns whether it could not. */
INLINE int put(struct __sk_buff *frame, const struct plan *plan, u32 room, u32 is_partial)
{
	u8 *to = ringbuf_reserve(&handed, HANDED_BYTES + room, 0);
	if (!to)
		return 1;
	*(u32 *)(to + HANDED_PORT) = plan->port;
	*(u32 *)(to + HANDED_LENGTH) = plan->length;
	*(u64 *)(to + HANDED_ARRIVED) = plan->now;
	*(u64 *)(to + HANDED_VERDICTS) = plan->verdict_words[0];
	*(u64 *)(to + HANDED_VERDICTS + 8) = plan->verdict_words[1];
	*(u32 *)(to + HANDED_VERDICTS_COUNT) = plan->verdict_count;
	*(u16 *)(to + HANDED_SEGMENT) = plan->segment;
	*(u16 *)(to + HANDED_IS_PARTIAL) = is_partial;
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
	u32 is_partial = has_partial_sum(frame);
	int lost;
	if (plan->length <= SMALL_BYTES)
		lost = put(frame, plan, SMALL_BYTES, is_partial);
	else if (plan->length <= LARGE_BYTES)
		lost = put(frame, plan, LARGE_BYTES, is_partial);
	else if (plan->length <= MANY_BYTES)
		lost = put(frame, plan, MANY_BYTES, is_partial);
	else
		lost = put(frame, plan, MOST_BYTES, is_partial);
	if (lost) {
		add_total(TOTAL_LOST, plan->frames);
		refuse(plan);
		return TC_ACT_SHOT;
	}
	add_total(TOTAL_TO_CORE, plan->frames);
	add_total(TOTAL_TOO_LONG_A_WAY, too_far ? plan->frames : 0);
	return TC_ACT_SHOT;
}
