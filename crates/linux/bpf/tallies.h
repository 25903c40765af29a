/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what became of a frame, once it is certain that the core has nothing
 * to do with it.
 */
#pragma once

#include "meters.h"

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
	atomic_add(&arrival[ARRIVAL_FRAMES], 1);
	atomic_add(&arrival[ARRIVAL_BYTES], plan->length);
}

/* Counts a frame that is given up before the first table. */
CHECKED_ONCE int refuse(struct plan *plan)
{
	if (!plan)
		return 0;
	add_total(TOTAL_FRAMES, 1);
	add_total(TOTAL_REFUSED, 1);
	count_arrival(plan);
	u64 *arrival = record(&arrivals, plan->port);
	if (arrival)
		atomic_add(&arrival[ARRIVAL_DROPPED], 1);
	return 0;
}

/* Counts a table that the frame came to, and its entry. */
CHECKED_ONCE int count_visit(struct plan *plan, u32 at)
{
	if (!plan || at >= LIMIT_TABLES)
		return 0;
	const struct visit *visit = &plan->visited[slot(at, LIMIT_TABLES)];
	u64 *lookup = record(&lookups, visit->table);
	if (!lookup)
		return 0;
	atomic_add(&lookup[LOOKUP_LOOKUPS], 1);
	if (!visit->entry)
		return 0;
	atomic_add(&lookup[LOOKUP_MATCHES], 1);
	const u64 *entry = record(&entries, visit->entry - 1);
	return entry ? count_tally(high(entry[ENTRY_METER]), visit->bytes, plan->now) : 0;
}

/* Counts a copy that was to leave through a port that sends nothing, for the
 * entry on whose behalf it was. */
INLINE void count_drop(struct plan *plan, u64 *queue, u32 visit)
{
	atomic_add(&queue[QUEUE_DROPPED], 1);
	add_total(TOTAL_DROPPED, 1);
	if (visit >= LIMIT_TABLES)
		return;
	const u64 *entry = record(&entries, plan->visited[slot(visit, LIMIT_TABLES)].entry - 1);
	u64 *tally = entry ? record(&tallies, high(entry[ENTRY_METER])) : 0;
	if (tally)
		atomic_add(&tally[TALLY_DROPPED], 1);
}

/* Counts an output, and notes whether it can leave. */
CHECKED_ONCE int count_output(struct plan *plan, u32 at)
{
	if (!plan || at >= LIMIT_OUTPUTS)
		return 0;
	struct output *output = &plan->outputs[slot(at, LIMIT_OUTPUTS)];
	const u64 *port = record(&ports, output->port);
	u64 *queue = record(&queues, 8 * output->port + output->queue);
	output->stays = 1;
	if (!port || !queue)
		return 0;
	if (!(high(READ_ONCE(port[PORT_INTERFACE])) & PORT_SENDS)) {
		count_drop(plan, queue, output->visit);
		return 0;
	}
	output->stays = 0;
	plan->last = at;
	atomic_add(&queue[QUEUE_FRAMES], 1);
	atomic_add(&queue[QUEUE_BYTES], output->bytes);
	return 1;
}

/* Counts all that the plan has. */
CHECKED_ONCE int count(struct plan *plan)
{
	if (!plan)
		return 0;
	count_arrival(plan);
	for (u32 at = 0; at < LIMIT_TABLES; at++) {
		if (at >= plan->visits)
			break;
		count_visit(plan, at);
	}
	for (u32 at = 0; at < LIMIT_TALLIES; at++) {
		if (at >= plan->noted_count)
			break;
		count_tally(plan->noted[at].tally, plan->noted[at].bytes, plan->now);
	}
	u32 sent = 0;
	for (u32 at = 0; at < LIMIT_OUTPUTS; at++) {
		if (at >= plan->output_count)
			break;
		sent += count_output(plan, at);
	}
	add_total(TOTAL_FRAMES, 1);
	add_total(TOTAL_MISSED, plan->missed);
	add_total(TOTAL_METERED, plan->metered);
	add_total(TOTAL_OUTPUTS, plan->output_count);
	add_total(TOTAL_SENT, sent);
	return 0;
}
