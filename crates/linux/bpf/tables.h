/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of the frame through the tables: `pipeline` and `action_set` of the
 * core.
 */
#pragma once

#include "groups.h"
#include "meters.h"

/* The places of an action set that matter here, as `action_set` has them. */
#define PLACE_QUEUE 52
#define PLACE_GROUP 53
#define PLACE_OUTPUT 54

/* Lets the meter of an entry judge. */
INLINE int meter(struct plan *plan, u32 number)
{
	u32 verdict = judge(plan, number);
	if (verdict == VERDICT_NONE)
		return TO_CORE;
	if (verdict == VERDICT_DROP) {
		plan->metered = 1;
		return ENDS;
	}
	u32 count = plan->verdict_count;
	if (count >= HANDED_VERDICTS_MAX)
		return TOO_FAR;
	plan->verdicts[slot(count, HANDED_VERDICTS_MAX)] = verdict;
	plan->verdict_count = count + 1;
	if (verdict == VERDICT_BEST_EFFORT) {
		plan->exceeds = 1;
		plan->queue = 0;
		return GOES_ON;
	}
	return verdict ? raise_drop_precedence(plan, verdict) : GOES_ON;
}

/* Does one action that no group holds. */
INLINE int act_outside(struct plan *plan, u32 place)
{
	int outcome = act(plan, place);
	return outcome == AT_GROUP ? visit_group(plan) : outcome;
}

/* Does what an entry says is to be done at once. */
INLINE int apply(struct plan *plan, u32 first, u32 count)
{
	if (count > LIMIT_ACTIONS)
		return TOO_FAR;
	for (u32 at = 0; at < LIMIT_ACTIONS; at++) {
		if (at >= count)
			break;
		int outcome = act_outside(plan, first + at);
		if (outcome)
			return outcome;
	}
	return GOES_ON;
}

/* Puts into the action set what an entry says is to be done at the end. */
INLINE int write(struct plan *plan, u32 first, u32 count)
{
	if (count > LIMIT_ACTIONS)
		return TOO_FAR;
	for (u32 at = 0; at < LIMIT_ACTIONS; at++) {
		if (at >= count)
			break;
		const u64 *action = record(&actions, first + at);
		if (!action)
			return TO_CORE;
		u32 place = action[ACTION_WHAT] >> 8 & 0xff;
		if (place >= NUMBER_OF_KINDS)
			return TO_CORE;
		plan->set[place] = first + at;
		plan->set_used |= 1ull << place;
	}
	return GOES_ON;
}

/* Does what an entry says. */
CHECKED_ONCE int perform(struct plan *plan, u32 number)
{
	const u64 *entry = record(&entries, number);
	if (!plan || !entry)
		return TO_CORE;
	u64 list = entry[ENTRY_APPLY];
	u32 flags = list >> 48;
	if (flags & ENTRY_TO_CORE)
		return TO_CORE;
	u32 judge_by = low(entry[ENTRY_METER]);
	int outcome = judge_by ? meter(plan, judge_by - 1) : GOES_ON;
	if (outcome)
		return outcome;
	u32 watched_by = low(entry[ENTRY_MONITOR]);
	if (watched_by) {
		outcome = note_packet(plan, watched_by - 1);
		if (outcome)
			return outcome;
	}
	outcome = apply(plan, low(list), high(list) & 0xffff);
	if (outcome)
		return outcome;
	if (flags & ENTRY_CLEARS)
		plan->set_used = 0;
	list = entry[ENTRY_WRITE];
	u64 mask = entry[ENTRY_METADATA_MASK];
	plan->work.key[1] = (plan->work.key[1] & ~mask) | (entry[ENTRY_METADATA] & mask);
	plan->next = list >> 48 & 0xff;
	return write(plan, low(list), high(list) & 0xffff);
}

/* Takes the frame through the tables. */
CHECKED_ONCE int walk_tables(struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	u32 table = 0;
	for (u32 at = 0; at < LIMIT_TABLES; at++) {
		int outcome = plan->stale ? read_headers(plan) : GOES_ON;
		if (!outcome)
			outcome = find_entry(plan, table);
		if (outcome)
			return outcome;
		u32 found = plan->best_entry;
		struct visit *visit = &plan->visited[at];
		visit->table = table;
		visit->bytes = length_now(plan);
		visit->entry = found;
		plan->visits = at + 1;
		if (!found) {
			plan->missed = 1;
			return plan->flags & FLAG_MISSES_TO_CORE ? TO_CORE : ENDS;
		}
		outcome = perform(plan, found - 1);
		if (outcome || plan->next == ENTRY_LAST)
			return outcome;
		table = plan->next;
	}
	return TOO_FAR;
}

/* Does what the action set says of changes. */
CHECKED_ONCE int execute_changes(struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	for (u32 place = 0; place < PLACE_QUEUE; place++) {
		if (!(plan->set_used >> place & 1))
			continue;
		const u64 *action = record(&actions, plan->set[place]);
		int outcome = act_seldom(plan, (const struct action *)action);
		if (outcome)
			return outcome;
	}
	return GOES_ON;
}

/* Does what the action set says, in its order. With a group its output is
 * ignored; without either the frame goes nowhere. */
INLINE int execute_set(struct plan *plan)
{
	u64 used = plan->set_used;
	if (used >> PLACE_GROUP == 0)
		return GOES_ON;
	int outcome = GOES_ON;
	if (used << (64 - PLACE_QUEUE))
		outcome = execute_changes(plan);
	if (!outcome && used >> PLACE_QUEUE & 1)
		outcome = act(plan, plan->set[PLACE_QUEUE]);
	if (outcome)
		return outcome;
	u32 last = used >> PLACE_GROUP & 1 ? PLACE_GROUP : PLACE_OUTPUT;
	return act_outside(plan, plan->set[last]);
}
