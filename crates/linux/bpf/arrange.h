/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a frame changes about the mode: that its flow demands more, or that a
 * neighbour says so. The mode changes first, then the frame leaves, then the
 * neighbours are told. A signal that does not count, and a violation, go to the core
 * when it wants to hear of another one, and are counted here at all other times: a
 * flood of them wakes nobody.
 */
#pragma once

#include "handing.h"
#include "signals.h"

/* The core has to see to the frame. No mode is this. */
#define MODE_TO_CORE 2ull

/* Why a signal does not count, in the order of the words of the modes. */
enum fault {
	FAULT_FORGED,
	FAULT_MISPLACED,
	FAULT_REPLAYED,
	FAULT_MALFORMED,
	FAULT_NONE,
};

/* Returns whether the core wants to hear of another one: of violations, or of
 * signals with a fault. */
INLINE int is_wanted(const u64 *state, u32 word, u64 now)
{
	return now >= READ_ONCE(state[word]);
}

/* Returns what is wrong with a signal: it is to be from the other end of a trunk,
 * under the key, and of a form that is known. */
INLINE u32 fault_of(const struct plan *plan, const u64 *state, const u64 *port)
{
	const u64 *words = plan->signal;
	if (!(high(READ_ONCE(port[PORT_INTERFACE])) & PORT_IS_TRUNK))
		return FAULT_MISPLACED;
	if (plan->signal_bytes < SIGNAL_BYTES)
		return FAULT_MALFORMED;
	u64 tag = be64(words[4] >> 32 | words[5] << 32);
	if (siphash_36(state[MODES_KEY_0], state[MODES_KEY_1], words, low(words[4])) != tag)
		return FAULT_FORGED;
	u32 kind = words[0] >> 8 & 0xff;
	if ((words[0] & 0xff) != SIGNAL_VERSION ||
	    (kind != SIGNAL_BEGINS && kind != SIGNAL_LASTS) || (words[0] >> 16 & 0xff) >= LEVELS)
		return FAULT_MALFORMED;
	if (be64(words[2]) != port[PORT_NEIGHBOUR] ||
	    be32(low(words[3])) != low(port[PORT_NEIGHBOUR_PORT]))
		return FAULT_REPLAYED;
	return FAULT_NONE;
}

/* Takes a signal that does not count. Returns whether the core has to see it. */
INLINE u64 refuse_signal(u64 *state, u32 fault, u64 now)
{
	if (is_wanted(state, MODES_WANTED_FAULTS + slot(fault, 4), now))
		return MODE_TO_CORE;
	atomic_add(&state[MODES_FORGED + slot(fault, 4)], 1);
	return MODE_STAYS;
}

/* Returns the mode that the signal tells. */
INLINE u64 heard_in(const struct plan *plan)
{
	u64 first = plan->signal[0];
	return (u64)be32(high(first)) << 32 | (first >> 16 & 0xff) << LEVEL_AT;
}

/* Takes the signal that was noted. Returns what `hear` does. */
CHECKED_ONCE u64 take_signal(struct plan *plan)
{
	u64 *state = record(&modes, 0);
	if (!plan || !state)
		return MODE_TO_CORE;
	u64 *port = record(&ports, plan->port);
	if (!port)
		return MODE_TO_CORE;
	u32 fault = fault_of(plan, state, port);
	if (fault != FAULT_NONE)
		return refuse_signal(state, fault, plan->now);
	u64 heard = heard_in(plan);
	u32 beats = (plan->signal[0] >> 8 & 0xff) == SIGNAL_LASTS;
	WRITE_ONCE(port[PORT_HEARD], plan->now);
	WRITE_ONCE(port[PORT_HEARD_MODE], heard);
	atomic_add(&state[beats ? MODES_BEATS_RECEIVED : MODES_RECEIVED], 1);
	u64 step = hear(plan->now, heard, be64(plan->signal[1]), plan->port);
	if (step == MODE_ANSWERS)
		atomic_add(&state[MODES_STALE], 1);
	else if (step == MODE_STAYS && !beats)
		atomic_add(&state[MODES_DUPLICATE], 1);
	return step;
}

/* Tells the core that there is something to look at, and what a monitor saw, if it
 * saw something. */
CHECKED_ONCE int ring_bell(struct plan *plan, u32 monitor, u32 demand)
{
	if (!plan)
		return 0;
	u8 *to = ringbuf_reserve(&handed, HANDED_BYTES, 0);
	/* A ring without room has something for the core to look at. */
	if (!to)
		return 0;
	*(u32 *)(to + HANDED_PORT) = HANDED_BELL;
	*(u32 *)(to + HANDED_LENGTH) = demand;
	*(u64 *)(to + HANDED_ARRIVED) = plan->now;
	*(u64 *)(to + HANDED_VERDICTS) = (u64)monitor << 32 | plan->port;
	*(u64 *)(to + HANDED_VERDICTS + 8) = 0;
	*(u64 *)(to + HANDED_VERDICTS_COUNT) = 0;
	ringbuf_submit(to, 0);
	return 0;
}

/* Shows the frame to one of its monitors behind the first. */
CHECKED_ONCE int observe_next(struct plan *plan, u32 at)
{
	if (!plan || at >= LIMIT_MONITORS)
		return 0;
	struct watched *watched = &plan->watched[slot(at, LIMIT_MONITORS)];
	watched->demand = observe(watched, plan->now);
	return 0;
}

/* Shows the frame to its monitors; the first has seen it. What they demand together takes
 * effect at once. Returns the mode that was entered by it, that it stays, or that the first
 * monitor could not be had. */
INLINE u64 observe_all(struct plan *plan)
{
	u32 most = 0;
	for (u32 at = 0; at < LIMIT_MONITORS; at++) {
		if (at >= plan->watched_count)
			break;
		if (at)
			observe_next(plan, at);
		u32 demand = plan->watched[at].demand;
		if (likely(!demand))
			continue;
		if (demand == DEMAND_NONE) {
			plan->watched[at].demand = 0;
			if (at == 0)
				return MODE_TO_CORE;
			continue;
		}
		if (most < (demand & 0xff))
			most = demand & 0xff;
	}
	return most ? demand_level(plan->now, most >> 1) : MODE_STAYS;
}

/* Rings for what a monitor saw, if the core wants to hear of it. */
CHECKED_ONCE int tell_violation(struct plan *plan, u32 monitor, u32 demand)
{
	u64 *state = record(&modes, 0);
	if (!plan || !state)
		return 0;
	if (is_wanted(state, MODES_WANTED_VIOLATIONS, plan->now))
		return ring_bell(plan, monitor, demand);
	atomic_add(&state[MODES_DEMANDS], 1);
	if (READ_ONCE(state[MODES_FLAGS]) & MODES_LOCKED)
		atomic_add(&state[MODES_DISREGARDED], 1);
	return 0;
}

/* Tells of whatever monitors saw that they had not seen before. */
INLINE void tell_violations(struct plan *plan)
{
	for (u32 at = 0; at < LIMIT_MONITORS; at++) {
		if (at >= plan->watched_count)
			break;
		const struct watched *watched = &plan->watched[at];
		if (unlikely(watched->demand & DEMAND_IS_NEWS))
			tell_violation(plan, watched->monitor, watched->demand & 0xff);
	}
}

/* Tells neighbours what came of a signal or of a demand: the frame becomes the
 * signals. */
CHECKED_ONCE int pass_on(struct __sk_buff *frame, struct plan *plan, u64 step)
{
	if (!plan)
		return 0;
	int unsent;
	if (step == MODE_ANSWERS) {
		unsent = signal_one(frame, plan, plan->port);
	} else {
		/* A neighbour that said so itself knows it. */
		u32 but = plan->arranges && step == heard_in(plan) ? plan->port : ~0u;
		unsent = signal_all(frame, plan, but);
	}
	u64 *state = record(&modes, 0);
	if (unsent && state)
		atomic_add(&state[MODES_UNSENT], 1);
	return unsent;
}

/* Shows the frame to its first monitor. Returns whether that is all: there is no
 * other, and no demand. */
INLINE int is_shown(struct plan *plan)
{
	struct watched *first = &plan->watched[0];
	u32 demand = observe(first, plan->now);
	if (likely(!demand && plan->watched_count == 1))
		return 1;
	first->demand = demand;
	return 0;
}

/* Sends the frame as planned, and then what neighbours are to know. */
CHECKED_ONCE int carry_out_mode(struct __sk_buff *frame, struct plan *plan)
{
	if (!plan)
		return TC_ACT_SHOT;
	u64 step = plan->arranges ? take_signal(plan) : observe_all(plan);
	if (step == MODE_TO_CORE)
		return hand_over(frame, plan, 0);
	if (likely(step == MODE_STAYS)) {
		tell_violations(plan);
		return carry_out(frame, plan);
	}
	/* The frame itself is needed for the signals. */
	plan->copies_only = 1;
	carry_out(frame, plan);
	int unsent = pass_on(frame, plan, step);
	if (step != MODE_ANSWERS || unsent)
		ring_bell(plan, 0, 0);
	tell_violations(plan);
	return TC_ACT_SHOT;
}
