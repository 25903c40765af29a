/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a frame changes about the mode: that its flow demands more, or that a
 * neighbour says so. The mode changes first, then the frame leaves, then the
 * neighbours are told.
 */
#pragma once

#include "handing.h"
#include "signals.h"
#include "watching.h"

/* What is wrong with a signal: the word that counts it, or zero. */
INLINE u32 fault_of(const struct plan *plan, const u64 *state, const u64 *port)
{
	const u64 *words = plan->signal;
	if (!(high(READ_ONCE(port[PORT_INTERFACE])) & PORT_IS_TRUNK))
		return MODES_MISPLACED;
	if (plan->signal_bytes < SIGNAL_BYTES)
		return MODES_MALFORMED;
	u64 tag = be64(words[4] >> 32 | words[5] << 32);
	if (siphash_36(state[MODES_KEY_0], state[MODES_KEY_1], words, low(words[4])) != tag)
		return MODES_FORGED;
	u32 kind = words[0] >> 8 & 0xff;
	if ((words[0] & 0xff) != SIGNAL_VERSION || (kind != SIGNAL_BEGINS && kind != SIGNAL_LASTS) ||
	    (words[0] >> 16 & 0xff) >= LEVELS)
		return MODES_MALFORMED;
	if (be64(words[2]) != port[PORT_NEIGHBOUR] ||
	    be32(low(words[3])) != low(port[PORT_NEIGHBOUR_PORT]))
		return MODES_REPLAYED;
	return 0;
}

/* Takes the signal that was noted. Returns what `hear` does. */
CHECKED_ONCE u64 take_signal(struct plan *plan)
{
	u64 *state = record(&modes, 0);
	if (!plan || !state)
		return MODE_STAYS;
	u64 *port = record(&ports, plan->port);
	if (!port)
		return MODE_STAYS;
	u32 fault = fault_of(plan, state, port);
	if (fault) {
		atomic_add(&state[fault & 31], 1);
		return MODE_STAYS;
	}
	u64 heard = (u64)be32(high(plan->signal[0])) << 32 |
		    (plan->signal[0] >> 16 & 0xff) << LEVEL_AT;
	u32 beats = (plan->signal[0] >> 8 & 0xff) == SIGNAL_LASTS;
	WRITE_ONCE(port[PORT_HEARD], plan->now);
	WRITE_ONCE(port[PORT_HEARD_MODE], heard);
	atomic_add(&state[beats ? MODES_BEATS_RECEIVED : MODES_RECEIVED], 1);
	u64 step = hear(plan->now, heard, be64(plan->signal[1]));
	if (step == MODE_ANSWERS)
		atomic_add(&state[MODES_STALE], 1);
	else if (step == MODE_STAYS && !beats)
		atomic_add(&state[MODES_DUPLICATE], 1);
	return step;
}

/* Shows the frame to its monitors. Returns the last mode that was entered by it, or
 * that it stays. */
INLINE u64 observe_all(struct plan *plan)
{
	u64 entered = MODE_STAYS;
	for (u32 at = 0; at < LIMIT_MONITORS; at++) {
		if (at >= plan->watched_count)
			break;
		u32 demand = observe(plan, at);
		if (likely(!demand))
			continue;
		if (demand == DEMAND_NONE) {
			if (at == 0)
				return DEMAND_NONE;
			continue;
		}
		if (demand & DEMAND_IS_NEWS)
			plan->violates = 1;
		u64 step = demand_level(plan->now, (demand & 0xff) >> 1);
		if (step)
			entered = step;
	}
	return entered;
}

/* Tells the core that there is something to look at. */
INLINE void ring_bell(const struct plan *plan)
{
	u8 *to = ringbuf_reserve(&handed, HANDED_BYTES, 0);
	/* A ring without room has something for the core to look at. */
	if (!to)
		return;
	*(u32 *)(to + HANDED_PORT) = HANDED_BELL;
	*(u32 *)(to + HANDED_LENGTH) = 0;
	*(u64 *)(to + HANDED_ARRIVED) = plan->now;
	*(u64 *)(to + HANDED_VERDICTS) = 0;
	*(u64 *)(to + HANDED_VERDICTS + 8) = 0;
	*(u64 *)(to + HANDED_VERDICTS_COUNT) = 0;
	ringbuf_submit(to, 0);
}

/* Sends the frame as planned, and then what neighbours are to know. */
CHECKED_ONCE int carry_out_mode(struct __sk_buff *frame, struct plan *plan)
{
	if (!plan)
		return TC_ACT_SHOT;
	u64 step = plan->arranges ? take_signal(plan) : observe_all(plan);
	if (step == DEMAND_NONE)
		return hand_over(frame, plan, 0);
	if (step == MODE_STAYS) {
		if (plan->violates)
			ring_bell(plan);
		return carry_out(frame, plan);
	}
	/* The frame itself becomes the signals. */
	plan->copies_only = 1;
	carry_out(frame, plan);
	int unsent = step == MODE_ANSWERS ? signal_one(frame, plan, plan->port)
					  : signal_all(frame, plan);
	u64 *state = record(&modes, 0);
	if (unsent && state)
		atomic_add(&state[MODES_UNSENT], 1);
	ring_bell(plan);
	return TC_ACT_SHOT;
}
