/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entry of a table matches: mask by mask, the one with the best entry
 * first, until no mask can have a better one.
 */
#pragma once

#include "plan.h"

#define HASH_MULTIPLIER 0x9e3779b97f4a7c15ull

#define HASH_WORD(n)                                                                               \
	if (used & (1u << (n)))                                                                    \
		hash = (hash ^ (key[n] & words[n])) * HASH_MULTIPLIER;

/* Returns the hash of the key under a mask, as `line` in layout.rs has it. */
INLINE u64 masked_hash(u64 hash, const u64 *key, const u64 *words)
{
	u32 used = (u32)words[MASK_USED];
	HASH_WORD(0)
	HASH_WORD(1)
	HASH_WORD(2)
	HASH_WORD(3)
	HASH_WORD(4)
	HASH_WORD(5)
	HASH_WORD(6)
	HASH_WORD(7)
	HASH_WORD(8)
	HASH_WORD(9)
	HASH_WORD(10)
	HASH_WORD(11)
	HASH_WORD(12)
	HASH_WORD(13)
	return hash ^ hash >> 32;
}

/* Looks at an entry that may match, and remembers it if it is the best. */
CHECKED_ONCE int consider(struct plan *plan, const struct mask *mask, u32 number)
{
	if (!plan || !mask)
		return 0;
	const u64 *entry = record(&entries, number);
	if (!entry)
		return 0;
	u64 different = 0;
#pragma unroll
	for (u32 word = 0; word < 14; word++)
		different |= (plan->work.key[word] & mask->words[word]) ^ entry[ENTRY_VALUE + word];
	if (different)
		return 0;
	u64 since = READ_ONCE(entry[ENTRY_SINCE]);
	u64 until = READ_ONCE(entry[ENTRY_UNTIL]);
	u64 rank = entry[ENTRY_RANK];
	if (since > plan->generation || until <= plan->generation)
		return 0;
	if (plan->best_entry && rank <= plan->best_rank)
		return 0;
	plan->best_rank = rank;
	plan->best_entry = number + 1;
	return 0;
}

/* Looks through one line of a hash table. Returns whether entries that should be
 * there stand elsewhere. */
INLINE int look_through(struct plan *plan, const u64 *words, u32 line, u32 tag)
{
	const u64 *places = record(&lines, line);
	if (!places)
		return 0;
#pragma unroll
	for (u32 at = LINE_PLACES; at < LINE_PLACES + LINE_PLACES_COUNT; at++) {
		u64 place = READ_ONCE(places[at]);
		if (high(place) == tag && low(place))
			consider(plan, (const struct mask *)words, low(place) - 1);
	}
	return READ_ONCE(places[LINE_SPILLED]) != 0;
}

/* Looks for an entry under one mask. Returns whether a further mask can have a
 * better one than is known. */
CHECKED_ONCE int probe(struct plan *plan, u32 number)
{
	if (!plan)
		return 0;
	const u64 *words = record(&masks, number);
	if (!words)
		return 0;
	if (plan->best_entry && plan->best_rank > READ_ONCE(words[MASK_BEST]))
		return 0;
	u64 hash = masked_hash(plan->seed, plan->work.key, words);
	u32 first = low(words[MASK_LINES]);
	u32 size = high(words[MASK_LINES]);
	u32 tag = high(hash);
	u32 home = low(hash) & size;
	if (look_through(plan, words, first + home, tag))
		look_through(plan, words, first + ((home ^ (tag | 1)) & size), tag);
	return 1;
}

/* Finds the best entry of a table for the frame: `plan->best_entry`, its number
 * plus one, or zero. */
CHECKED_ONCE int find_entry(struct plan *plan, u32 number)
{
	if (!plan)
		return TO_CORE;
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
	for (u32 at = 0; at < LIMIT_MASKS && at < count; at++) {
		u32 mask = list[at / 4] >> (at % 4 * 16) & 0xffff;
		if (!probe(plan, mask))
			break;
	}
	return GOES_ON;
}
