/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long frames stay that leave through a queue that somebody watches: finds the
 * record of a frame, and lets the frame carry its number and the time of its arrival to
 * where it leaves (hop_watch.c).
 */
#pragma once

#include "meters.h"

#define HOP_MULTIPLIER 0x9e3779b97f4a7c15ull
#define NO_RECORD 0u
/* More frames in one than this are counted as so many. */
#define SEGMENTS_MAX 0xffffu

/* Returns where a line is looked at first. */
INLINE u32 first_way(u64 hash)
{
	return hash >> 61;
}

/* Returns the line in which a key stands, and the one where it does if there is no room. */
INLINE u32 line_of(u64 hash, u32 lines, u32 is_second)
{
	return (u32)(hash >> (is_second ? 48 : 32)) & lines;
}

/* Returns what stands for the entry and the queue of an output. */
INLINE u64 hop_key(const struct output *output, u32 table, u64 rank)
{
	return low(rank) | (u64)table << HOP_KEY_TABLE_AT |
	       (u64)output->port << HOP_KEY_PORT_AT | (u64)output->queue << HOP_KEY_QUEUE_AT |
	       HOP_KEY_IS_THERE;
}

/* Returns the record of a key in a line, or NO_RECORD. */
CHECKED_ONCE u32 find_key(u32 line, u64 key)
{
	const u64 *keys = record(&hop_keys, line);
	if (!keys)
		return NO_RECORD;
	u32 first = first_way(key * HOP_MULTIPLIER);
	for (u32 step = 0; step < HOP_KEYS_RECORD_WORDS; step++) {
		u32 way = slot(first + step, HOP_KEYS_RECORD_WORDS);
		if ((READ_ONCE(keys[way]) & HOP_KEY_BITS) == key)
			return HOP_KEYS_RECORD_WORDS * line + way;
	}
	return NO_RECORD;
}

/* Takes a free record of a line for a key, or the one that somebody else has just taken for
 * it. Returns NO_RECORD if there is no room. */
CHECKED_ONCE u32 take_key(u32 line, u64 key, u32 index)
{
	u64 *keys = record(&hop_keys, line);
	if (!keys)
		return NO_RECORD;
	u32 first = first_way(key * HOP_MULTIPLIER);
	for (u32 step = 0; step < HOP_KEYS_RECORD_WORDS; step++) {
		u32 way = slot(first + step, HOP_KEYS_RECORD_WORDS);
		u32 number = HOP_KEYS_RECORD_WORDS * line + way;
		u64 before = READ_ONCE(keys[way]);
		u64 there = before & HOP_KEY_BITS;
		if (!there) {
			u64 found = atomic_compare_exchange(&keys[way], before, before | key);
			if (found == before) {
				u64 *hop = record(&hops, number);
				if (hop)
					WRITE_ONCE(hop[HOP_OWNER], index);
				return number;
			}
			there = found & HOP_KEY_BITS;
		}
		if (there == key)
			return number;
	}
	return NO_RECORD;
}

/* Returns the record of a key that is not the first of its line, and takes one if there is
 * none yet. Returns NO_RECORD if there is no room. */
CHECKED_ONCE u32 find_or_take(u64 key, u32 lines, u32 index)
{
	u64 hash = key * HOP_MULTIPLIER;
	u32 number = NO_RECORD;
	for (u32 second = 0; second < 2 && number == NO_RECORD; second++)
		number = find_key(line_of(hash, lines, second), key);
	for (u32 second = 0; second < 2 && number == NO_RECORD; second++)
		number = take_key(line_of(hash, lines, second), key, index);
	u64 *all = record(&hops, 0);
	if (number == NO_RECORD && all)
		atomic_add(&all[HOP_NO_ROOM], 1);
	return number;
}

/* Writes what whoever sees the frame leave has to know. */
INLINE void write_hop(u64 *hop, u64 device, u64 budget)
{
	if (unlikely(READ_ONCE(hop[HOP_DEVICE]) != device))
		WRITE_ONCE(hop[HOP_DEVICE], device);
	if (unlikely(READ_ONCE(hop[HOP_BUDGET]) != budget))
		WRITE_ONCE(hop[HOP_BUDGET], budget);
}

/* Returns the mark of a frame that leaves on behalf of an entry, zero if it has none. */
INLINE u32 hop_mark(const struct output *output, const struct visit *visit, u64 budget)
{
	const u64 *setting = record(&settings, 0);
	const u64 *entry = record(&entries, visit->entry - 1);
	const u64 *port = record(&ports, output->port);
	if (!setting || !entry || !port || !setting[SETTINGS_HOP_SPACE])
		return 0;
	u64 key = hop_key(output, visit->table, entry[ENTRY_RANK]);
	u64 hash = key * HOP_MULTIPLIER;
	u32 lines = setting[SETTINGS_HOP_LINES];
	u32 line = line_of(hash, lines, 0);
	u32 way = slot(first_way(hash), HOP_KEYS_RECORD_WORDS);
	const u64 *keys = record(&hop_keys, line);
	if (!keys)
		return 0;
	u64 found = READ_ONCE(keys[way]);
	u32 number = HOP_KEYS_RECORD_WORDS * line + way;
	if (unlikely((found & HOP_KEY_BITS) != key)) {
		number = find_or_take(key, lines, low(entry[ENTRY_INDEX]));
		keys = record(&hop_keys, number / HOP_KEYS_RECORD_WORDS);
		if (number == NO_RECORD || !keys)
			return 0;
		found = READ_ONCE(keys[slot(number, HOP_KEYS_RECORD_WORDS)]);
	}
	u64 *hop = record(&hops, number);
	if (!hop)
		return 0;
	u32 turn = found >> HOP_KEY_TURN_AT;
	write_hop(hop, low(port[PORT_INTERFACE]) | (u64)(turn + 1) << 32, budget);
	u32 space = setting[SETTINGS_HOP_SPACE] - 1;
	return (u32)HOP_MARK_SIGN << HOP_MARK_SIGN_AT |
	       (turn & HOP_MARK_TURNS) << HOP_MARK_TURN_AT | space << HOP_MARK_SPACE_AT | number;
}

/* Finds the record of an output whose queue is watched. */
CHECKED_ONCE int find_hop(struct plan *plan, u32 at, u64 budget)
{
	if (!plan || at >= LIMIT_OUTPUTS)
		return 0;
	struct output *output = &plan->outputs[slot(at, LIMIT_OUTPUTS)];
	u32 visit = output->visit;
	if (visit >= LIMIT_TABLES)
		return 0;
	output->mark = hop_mark(output, &plan->visited[slot(visit, LIMIT_TABLES)], budget);
	return 0;
}

/* Lets a frame carry its mark and when it came, or nothing of a switch before. The time
 * stands where disciplines have theirs, behind what those of the kernel use themselves. */
INLINE void mark_frame(struct __sk_buff *frame, const struct plan *plan, u32 mark)
{
	if (likely(!mark)) {
		if (unlikely(frame->mark >> HOP_MARK_SIGN_AT == HOP_MARK_SIGN))
			frame->mark = 0;
		return;
	}
	u32 frames = plan->frames;
	frame->mark = mark;
	frame->tc_index = frames < SEGMENTS_MAX ? frames : SEGMENTS_MAX;
	frame->cb[HOP_CAME_LOW] = low(plan->now);
	frame->cb[HOP_CAME_HIGH] = high(plan->now);
}
