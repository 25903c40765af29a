/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that tell neighbours which mode the switch is in: `wire::mode_signal`.
 * The frame at hand becomes one after the other, and a copy of each leaves through
 * its trunk, in the queue that goes before all others.
 */
#pragma once

#include "emit.h"
#include "mode.h"
#include "siphash.h"
#include "tallies.h"
#include "watching.h"

#define SIGNAL_BYTES 58
#define SIGNAL_VERSION 1
#define SIGNAL_BEGINS 1
#define SIGNAL_LASTS 2
#define HIGHEST_QUEUE 7
/* 03-74-6b-00-00-01, as bytes in memory. */
#define SIGNAL_DESTINATION 0x0100006b7403ull

/* What is signed: where it begins among the words of a frame with a gap in front of
 * it, and how much is behind the last whole word. */
#define SIGNED_AT 2

/* Writes the signal of a port into words, with a gap in front of the frame. */
INLINE void write_signal(u64 *words, const u64 *state, const u64 *port)
{
	u64 mode = READ_ONCE(state[MODES_MODE]);
	words[0] = SIGNAL_DESTINATION << 8 * GAP;
	words[1] = be64(port[PORT_ADDRESS]) >> 16 | (u64)be16(TYPE_SIGNAL) << 48;
	words[2] = SIGNAL_VERSION | SIGNAL_BEGINS << 8 | level_of(mode) << 16 |
		   (u64)be32(high(mode)) << 32;
	words[3] = be64(READ_ONCE(state[MODES_ORIGIN]));
	words[4] = be64(state[MODES_OWN]);
	words[5] = be32(low(port[PORT_NUMBER]));
	u64 tag = siphash_36(state[MODES_KEY_0], state[MODES_KEY_1], words + SIGNED_AT, 0);
	tag = be64(tag);
	words[6] = tag << 32;
	words[7] = tag >> 32;
}

/* Sends a signal through a port, if it is a trunk. The frame has no tags and the
 * length of a signal. Returns whether the kernel could not. */
CHECKED_ONCE int signal_port(struct __sk_buff *frame, u32 place)
{
	u64 words[8];
	u64 *state = record(&modes, 0);
	const u64 *port = record(&ports, place);
	u64 *queue = record(&queues, 8 * place + HIGHEST_QUEUE);
	if (!state || !port || !queue)
		return 1;
	u64 interface = READ_ONCE(port[PORT_INTERFACE]);
	if (!(high(interface) & PORT_IS_TRUNK) || !(high(interface) & PORT_SENDS))
		return 0;
	write_signal(words, state, port);
	if (skb_store_bytes(frame, 0, (u8 *)words + GAP, SIGNAL_BYTES, 0))
		return 1;
	u32 class = high(port[PORT_NUMBER]);
	frame->priority = class ? class + HIGHEST_QUEUE : 0;
	atomic_add(&queue[QUEUE_FRAMES], 1);
	atomic_add(&queue[QUEUE_BYTES], SIGNAL_BYTES);
	atomic_add(&state[MODES_SENT], 1);
	add_total(TOTAL_OUTPUTS, 1);
	add_total(TOTAL_SENT, 1);
	clone_redirect(frame, low(interface), 0);
	return 0;
}

/* Makes the frame one that signals can be written into. Returns whether the kernel
 * could not. */
INLINE int blank(struct __sk_buff *frame, struct plan *plan)
{
	for (u32 i = 0; i < LIMIT_TAGS; i++) {
		if (!plan->sent_tag_count)
			break;
		if (skb_vlan_pop(frame))
			return 1;
		plan->sent_tag_count -= 1;
	}
	if (plan->sent_tag_count)
		return 1;
	return frame->len != SIGNAL_BYTES && skb_change_tail(frame, SIGNAL_BYTES, 0);
}

/* Tells the neighbours at all trunks but at one place. Returns whether the kernel
 * could not. */
CHECKED_ONCE int signal_all(struct __sk_buff *frame, struct plan *plan, u32 but)
{
	const u64 *setting = record(&settings, 0);
	if (!plan || !setting || blank(frame, plan))
		return 1;
	u64 count = setting[SETTINGS_PORTS];
	for (u32 place = 0; place < LIMIT_PORTS_TO_ALL; place++) {
		if (place >= count)
			break;
		if (place != but && signal_port(frame, place))
			return 1;
	}
	return count > LIMIT_PORTS_TO_ALL;
}

/* Tells the neighbour at one. */
CHECKED_ONCE int signal_one(struct __sk_buff *frame, struct plan *plan, u32 place)
{
	if (!plan || blank(frame, plan))
		return 1;
	return signal_port(frame, place);
}
