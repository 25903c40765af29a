/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entry of a table matches: mask by mask, the one with the best entry
 * first, until no mask can have a better one.
 */
#pragma once

#include "plan.h"

#define HASH_MULTIPLIER 0x9e3779b97f4a7c15ull

#define HASH_WORD(n)                                                                               \
	if (used & (1u << (n))) {                                                                  \
		hash = (hash ^ (key[n] & words[n])) * HASH_MULTIPLIER;                             \
		hash ^= hash >> 32;                                                                \
	}

/* Mixes a hash at the end. */
INLINE u64 mixed(u64 hash)
{
	hash *= HASH_MULTIPLIER;
	return hash ^ hash >> 29;
}

/* Returns the hash of the key under a mask, as `line` in layout.rs has it. */
INLINE u64 masked_hash(u64 hash, const u64 *key, const u64 *words)
{
	u32 used = (u32)words[MASK_USED];
	HASH_WORD(0)
	HASH_WORD(1)
	HASH_WORD(2)
	HASH_WORD(3)
	if (used < 1u << 4)
		return mixed(hash);
	HASH_WORD(4)
	HASH_WORD(5)
	if (used < 1u << 6)
		return mixed(hash);
	HASH_WORD(6)
	HASH_WORD(7)
	HASH_WORD(8)
	HASH_WORD(9)
	HASH_WORD(10)
	HASH_WORD(11)
	HASH_WORD(12)
	HASH_WORD(13)
	return mixed(hash);
}

/* Looks at an entry that may match, and remembers it if it is the best. */
INLINE void consider(struct plan *plan, const u64 *mask, u32 number)
{
	const u64 *entry = record(&entries, number);
	if (!entry)
		return;
	u64 different = 0;
#pragma unroll
	for (u32 word = 0; word < 14; word++)
		different |= (plan->work.key[word] & mask[word]) ^ entry[ENTRY_VALUE + word];
	if (different || READ_ONCE(entry[ENTRY_SINCE]) > plan->generation ||
	    READ_ONCE(entry[ENTRY_UNTIL]) <= plan->generation)
		return;
	u64 rank = entry[ENTRY_RANK];
	if (plan->best_entry && rank <= plan->best_rank)
		return;
	plan->best_rank = rank;
	plan->best_entry = number + 1;
}

/* Returns whether a line of a hash table has a place with a tag. */
INLINE int has_tag(const u64 *places, u32 tag)
{
	u32 found = 0;
#pragma unroll
	for (u32 at = LINE_PLACES; at < LINE_PLACES + LINE_PLACES_COUNT; at++)
		found |= high(READ_ONCE(places[at])) == tag;
	return found;
}

/* Looks at all entries of a line that may match. */
INLINE void look_through(struct plan *plan, const u64 *mask, const u64 *places, u32 tag)
{
	for (u32 at = LINE_PLACES; at < LINE_PLACES + LINE_PLACES_COUNT; at++) {
		u64 place = READ_ONCE(places[at]);
		if (high(place) == tag && low(place))
			consider(plan, mask, low(place) - 1);
	}
}

/* Looks for an entry under one mask. Returns whether a further mask can have a
 * better one than is known. */
INLINE int probe(struct plan *plan, u32 number)
{
	const u64 *mask = record(&masks, number);
	if (!mask)
		return 0;
	if (plan->best_entry && plan->best_rank > READ_ONCE(mask[MASK_BEST]))
		return 0;
	u64 hash = masked_hash(plan->seed, plan->work.key, mask);
	u32 first = low(mask[MASK_LINES]);
	u32 size = high(mask[MASK_LINES]);
	u32 tag = high(hash);
	u32 home = low(hash) & size;
	u32 line = home;
	for (u32 attempt = 0; attempt < 2; attempt++) {
		const u64 *places = record(&lines, first + line);
		if (!places)
			return 0;
		if (has_tag(places, tag))
			look_through(plan, mask, places, tag);
		if (likely(!READ_ONCE(places[LINE_SPILLED])))
			break;
		line = (home ^ (tag | 1)) & size;
	}
	return 1;
}

/* How many masks are looked under at a time. */
#define MASKS_AT_A_TIME 4

/* Looks for an entry under up to four masks, whose numbers are given. Returns
 * whether a further mask can have a better one. */
CHECKED_ONCE int probe_some(struct plan *plan, u64 numbers, u32 count)
{
	if (!plan)
		return 0;
	for (u32 at = 0; at < MASKS_AT_A_TIME; at++) {
		if (at >= count)
			break;
		if (!probe(plan, numbers & 0xffff))
			return 0;
		numbers >>= 16;
	}
	return 1;
}

/* Finds the best entry of a table for the frame: `plan->best_entry`, its number
 * plus one, or zero. */
INLINE int find_entry(struct plan *plan, u32 number)
{
	const u64 *table = record(&tables, number);
	if (!table)
		return TO_CORE;
	int version = version_seen(READ_ONCE(table[TABLE_SINCE_0]), READ_ONCE(table[TABLE_SINCE_1]),
				   plan->generation);
	if (version < 0)
		return TO_CORE;
	u64 head = version ? table[TABLE_HEAD_1] : table[TABLE_HEAD_0];
	if (head & TABLE_TO_CORE)
		return TO_CORE;
	u32 count = head & 0xffff;
	if (count > LIMIT_MASKS)
		return TOO_FAR;
	const u64 *list = table + (version ? TABLE_MASKS_1 : TABLE_MASKS_0);
	plan->best_entry = 0;
	for (u32 at = 0; at < LIMIT_MASKS; at += MASKS_AT_A_TIME) {
		if (at >= count)
			break;
		if (!probe_some(plan, list[at / MASKS_AT_A_TIME], count - at))
			break;
	}
	return GOES_ON;
}
