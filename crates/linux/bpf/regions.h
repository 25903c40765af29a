/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps of the program: the regions of the compiled tables (layout.rs says
 * what is in them), and those that only the program and its loader know.
 */
#pragma once

#include "kernel.h"
#include "layout.h"

MAP(settings);
MAP(busy);
MAP(ports);
MAP(tables);
MAP(masks);
MAP(lines);
MAP(entries);
MAP(actions);
MAP(groups);
MAP(buckets);
MAP(meters);
MAP(bands);
MAP(tallies);
MAP(queues);
MAP(arrivals);
MAP(lookups);
MAP(totals);
MAP(modes);
MAP(monitors);
MAP(hop_keys);
MAP(hops);
MAP(streams);
MAP(frame_times);

/* From the number of an interface (u32) to the place of its port (u32): a hash. */
MAP(interfaces);
/* One `struct plan` a processor, of PLAN_BYTES. */
MAP(scratch);
/* Frames on their way to the core: a ring. */
MAP(handed);

struct mask {
	u64 words[MASKS_RECORD_WORDS];
};

struct action {
	u64 words[ACTIONS_RECORD_WORDS];
};

/* Returns a record, or NULL if there is none of this number. */
INLINE u64 *record(struct map *region, u32 number)
{
	return map_lookup_elem(region, &number);
}

/* Returns the version of a record that a generation sees: 0, 1, or -1 if it
 * sees none. */
INLINE int version_seen(u64 since_0, u64 since_1, u64 generation)
{
	if (since_1 <= generation && (since_0 > generation || since_1 > since_0))
		return 1;
	return since_0 <= generation ? 0 : -1;
}

INLINE u32 low(u64 word)
{
	return (u32)word;
}

INLINE u32 high(u64 word)
{
	return (u32)(word >> 32);
}

/* Returns a number that is less than a limit, a power of two, so that the verifier
 * sees it too. */
INLINE u32 slot(u32 number, u32 limit)
{
	forget(number);
	return number & (limit - 1);
}
