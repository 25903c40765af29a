/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what became of a frame, once it is certain that the core has nothing
 * to do with it.
 */
#pragma once

#include "hops.h"

INLINE void add_total(u32 which, u64 count)
{
	u64 *total = record(&totals, 0);
	if (total && count)
		atomic_add(&total[which], count);
}

/* Counts a frame at its port. */
INLINE void count_arrival(const struct plan *plan)
{
	u64 *arrival = record(&arrivals, plan->port);
	if (!arrival)
		return;
	atomic_add(&arrival[ARRIVAL_FRAMES], plan->frames);
	atomic_add(&arrival[ARRIVAL_BYTES], plan->arrived);
}

/* Notes when a frame came to a port whose neighbour is asked whether it is there. */
INLINE void note_came(const struct plan *plan)
{
	u64 *times = record(&frame_times, plan->port);
	if (times)
		WRITE_ONCE(times[FRAME_TIMES_CAME], plan->now);
}

/* The same of one that leaves, as far as anybody wants to know. */
CHECKED_ONCE int note_left(struct plan *plan, u32 port)
{
	u64 *times = record(&frame_times, port);
	if (!plan || !times)
		return 0;
	u64 shift = READ_ONCE(times[FRAME_TIMES_SHIFT]);
	if (shift) {
		u32 span = slot((u32)(plan->now >> (shift & 63)), FRAME_TIMES_SPANS);
		WRITE_ONCE(times[FRAME_TIMES_LEFT + span], plan->now);
	}
	return 0;
}

/* Counts a frame that is given up before the first table. */
CHECKED_ONCE int refuse(struct plan *plan)
{
	if (!plan)
		return 0;
	add_total(TOTAL_FRAMES, plan->frames);
	add_total(TOTAL_REFUSED, plan->frames);
	count_arrival(plan);
	u64 *arrival = record(&arrivals, plan->port);
	if (arrival)
		atomic_add(&arrival[ARRIVAL_DROPPED], plan->frames);
	return 0;
}

/* Counts a table that the frame came to, and its entry. */
INLINE void count_visit(const struct plan *plan, const struct visit *visit)
{
	u64 *lookup = record(&lookups, visit->table);
	if (!lookup)
		return;
	atomic_add(&lookup[LOOKUP_LOOKUPS], plan->frames);
	if (!visit->entry)
		return;
	atomic_add(&lookup[LOOKUP_MATCHES], plan->frames);
	const u64 *entry = record(&entries, visit->entry - 1);
	if (entry)
		add_to_tally(high(entry[ENTRY_METER]), plan->frames, visit->bytes, plan->now);
}

/* Counts a copy that was to leave through a port that sends nothing, for the
 * entry on whose behalf it was. */
CHECKED_ONCE int count_drop(struct plan *plan, u32 visit)
{
	if (!plan)
		return 0;
	add_total(TOTAL_DROPPED, plan->frames);
	if (visit >= LIMIT_TABLES)
		return 0;
	const u64 *entry = record(&entries, plan->visited[slot(visit, LIMIT_TABLES)].entry - 1);
	u64 *tally = entry ? record(&tallies, high(entry[ENTRY_METER])) : 0;
	if (tally)
		atomic_add(&tally[TALLY_DROPPED], plan->frames);
	return 0;
}

/* Counts an output, and notes whether it can leave. */
INLINE void count_output(struct plan *plan, struct output *output, u32 at)
{
	const u64 *port = record(&ports, output->port);
	u64 *queue = record(&queues, 8 * output->port + output->queue);
	output->stays = 1;
	output->mark = 0;
	if (!port || !queue)
		return;
	u32 state = high(READ_ONCE(port[PORT_INTERFACE]));
	if (!(state & PORT_SENDS)) {
		atomic_add(&queue[QUEUE_DROPPED], plan->frames);
		count_drop(plan, output->visit);
		return;
	}
	if (unlikely(state & PORT_HAS_SESSION) && output->queue)
		note_left(plan, output->port);
	output->stays = 0;
	plan->last = at;
	/* In memory: a sum that the verifier knows would be a state for each. */
	plan->sent += 1;
	atomic_add(&queue[QUEUE_FRAMES], plan->frames);
	atomic_add(&queue[QUEUE_BYTES], output->bytes);
	u64 budget = READ_ONCE(queue[QUEUE_BUDGET]);
	if (unlikely(budget))
		find_hop(plan, at, budget);
}

/* The same where frames leave by several ports. */
CHECKED_ONCE int count_one_output(struct plan *plan, u32 at)
{
	if (plan && at < LIMIT_OUTPUTS)
		count_output(plan, &plan->outputs[slot(at, LIMIT_OUTPUTS)], at);
	return 0;
}

INLINE void count_outputs(struct plan *plan)
{
	if (likely(plan->output_count == 1)) {
		count_output(plan, &plan->outputs[0], 0);
		return;
	}
	for (u32 at = 0; at < LIMIT_OUTPUTS; at++) {
		if (at >= plan->output_count)
			break;
		count_one_output(plan, at);
	}
}

/* Counts all that the plan has. */
INLINE void count(struct plan *plan)
{
	count_arrival(plan);
	for (u32 at = 0; at < LIMIT_TABLES; at++) {
		if (at >= plan->visits)
			break;
		count_visit(plan, &plan->visited[at]);
	}
	for (u32 at = 0; at < LIMIT_TALLIES; at++) {
		if (at >= plan->noted_count)
			break;
		count_tally(plan->noted[at].tally, plan->frames, plan->noted[at].bytes, plan->now);
	}
	count_outputs(plan);
	u32 frames = plan->frames;
	add_total(TOTAL_FRAMES, frames);
	add_total(TOTAL_MISSED, plan->missed * frames);
	add_total(TOTAL_METERED, plan->metered);
	add_total(TOTAL_DEMOTED, plan->exceeds);
	add_total(TOTAL_OUTPUTS, plan->output_count * frames);
	add_total(TOTAL_SENT, plan->sent * frames);
}
