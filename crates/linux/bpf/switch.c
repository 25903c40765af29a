/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A switch in the kernel: what its core would do with a frame, done where the
 * frame arrives.
 *
 * The program walks the compiled form of the tables (layout.rs) with a copy of
 * the headers, notes what is to be done (plan.h), and does it when all is known.
 * Whatever it does not know to do it hands to the core, as if the frame had
 * arrived there: headers that it does not read, actions that it has not, limits
 * that were reached. The frame never goes up the stack of the machine.
 *
 * Attached to where frames enter from a port. The frame may have its outermost
 * VLAN tag in its metadata, as all do that come from a device.
 */
#include "arrange.h"
#include "tables.h"

/* What the core takes, `pipeline`. */
#define FRAME_BYTES_MIN 14

/* Takes up what holds for all frames now. */
INLINE void take_up(struct plan *plan, const u64 *setting)
{
	plan->generation = READ_ONCE(setting[SETTINGS_GENERATION]);
	plan->flags = READ_ONCE(setting[SETTINGS_FLAGS]);
	plan->needs = READ_ONCE(setting[SETTINGS_NEEDS]);
	plan->seed = setting[SETTINGS_SEED];
	plan->copies_only = setting[SETTINGS_TRIAL_COPIES] != 0;
	u64 trial = setting[SETTINGS_TRIAL_TIME];
	plan->now = trial ? trial : ktime_get_ns();
	if (plan->flags & FLAG_DROP_FRAGMENTS)
		plan->needs |= NEED_NETWORK;
}

/* Finds out what becomes of the frame. */
INLINE int make_plan(struct __sk_buff *frame, struct plan *plan, u32 state)
{
	reset(plan);
	int outcome = load(frame, plan);
	if (outcome)
		return outcome;
	if (unlikely(state & PORT_HAS_SESSION)) {
		note_came(plan);
		if (may_be_of_session(frame, plan))
			return TO_CORE;
	}
	if (has_snap(frame, plan))
		return TO_CORE;
	if (unlikely(plan->needs & NEED_TRAILER))
		read_trailer(frame, plan);
	outcome = read_key(plan);
	if (outcome)
		return outcome;
	if (unlikely(plan->segment) && measure_segments(plan, FRAME_BYTES_MAX))
		return OVERSIZED;
	if (plan->needs & NEED_SUMS && transport_sum(&plan->work))
		plan->work.is_partial = has_partial_sum(frame);
	if (plan->flags & FLAG_DROP_FRAGMENTS && is_fragment(plan))
		return REFUSED;
	outcome = walk_tables(plan);
	return outcome == GOES_ON ? execute_set(plan) : outcome;
}

/* Takes a frame that arrived at a port. */
INLINE int receive(struct __sk_buff *frame, struct plan *plan, const u64 *port)
{
	u32 state = high(READ_ONCE(port[PORT_INTERFACE]));
	plan->verdict_count = 0;
	plan->length = frame->len + (frame->vlan_present ? 4 : 0);
	note_segments(frame, plan);
	if (!(state & PORT_IS_UP)) {
		add_total(TOTAL_FRAMES, plan->frames);
		add_total(TOTAL_REFUSED, plan->frames);
		return TC_ACT_SHOT;
	}
	int outcome = REFUSED;
	if (state & PORT_NO_RECEIVE || plan->length < FRAME_BYTES_MIN)
		outcome = REFUSED;
	else if (!plan->segment && plan->length > FRAME_BYTES_MAX)
		outcome = OVERSIZED;
	else if (plan->flags & FLAG_ALL_TO_CORE)
		outcome = TO_CORE;
	else
		outcome = make_plan(frame, plan, state);
	switch (outcome) {
	case TO_CORE:
	case TOO_FAR:
		return hand_over(frame, plan, outcome == TOO_FAR);
	case OVERSIZED:
		add_total(TOTAL_OVERSIZED, plan->frames);
		/* fall through */
	case REFUSED:
		refuse(plan);
		return TC_ACT_SHOT;
	default:
		if (plan->arranges || (plan->watched_count && !is_shown(plan)))
			return carry_out_mode(frame, plan);
		return carry_out(frame, plan);
	}
}

/* Finds the port and begins the walk of a frame. */
INLINE int handle(struct __sk_buff *frame)
{
	u32 interface = frame->ifindex;
	const u32 *place = map_lookup_elem(&interfaces, &interface);
	if (!place)
		return TC_ACT_UNSPEC;
	struct plan *plan = (struct plan *)record(&scratch, 0);
	const u64 *setting = record(&settings, 0);
	const u64 *port = record(&ports, *place);
	const u64 *mode = record(&modes, 0);
	if (!plan || !setting || !port || !mode)
		return TC_ACT_SHOT;
	plan->port = *place;
	plan->work.key[13] = low(port[PORT_NUMBER]);
	plan->level = level_served(mode);
	take_up(plan, setting);
	return receive(frame, plan, port);
}

/* The program. Whoever changes the tables sees by the mark that a walk is under
 * way on this processor. */
PROGRAM int taktos_switch(struct __sk_buff *frame)
{
	u64 *mark = record(&busy, get_smp_processor_id());
	if (!mark)
		return TC_ACT_SHOT;
	u64 walks = atomic_fetch_add(&mark[BUSY_WALKS], 1ull);
	forget(walks);
	int result = handle(frame);
	walks = atomic_fetch_add(&mark[BUSY_WALKS], 1ull);
	forget(walks);
	return result;
}
