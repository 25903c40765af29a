/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a meter says about the frame: `meter_table` and `meter_band` of the core.
 *
 * A meter judges a frame when it comes to it, whatever becomes of the frame
 * then; a frame that goes on to the core takes the verdicts along.
 */
#pragma once

#include "plan.h"

/* A verdict: the frame is dropped, or leaves without a promise. Else it is by how many
 * levels its drop precedence rises. */
#define VERDICT_DROP 0x100
#define VERDICT_BEST_EFFORT 0xff
/* No verdict could be had. */
#define VERDICT_NONE 0x200

#define BAND_DROPS 0
#define BAND_DEMOTES 2

/* How often a walk tries to get a meter that others judge by. */
#define LOCK_TRIES 64

/* Adds to a tally at once. */
INLINE void add_to_tally(u32 number, u32 frames, u32 bytes, u64 now)
{
	u64 *tally = record(&tallies, number);
	if (!tally)
		return;
	atomic_add(&tally[TALLY_FRAMES], frames);
	atomic_add(&tally[TALLY_BYTES], bytes);
	WRITE_ONCE(tally[TALLY_LAST], now);
}

CHECKED_ONCE int count_tally(u32 number, u32 frames, u32 bytes, u64 now)
{
	add_to_tally(number, frames, bytes, now);
	return 0;
}

/* Returns the tokens of a bucket at a time. Within the time that it takes to fill,
 * rate times time is less than a burst and what a nanosecond brings. */
INLINE u64 tokens_at(const u64 *band, u64 now)
{
	u64 filled = band[BAND_FILLED];
	u64 tokens = band[BAND_TOKENS];
	u64 burst = band[BAND_BURST];
	if (now <= filled)
		return tokens;
	u64 elapsed = now - filled;
	if (elapsed >= band[BAND_FULL])
		return burst;
	u64 sum = tokens + band[BAND_RATE] * elapsed;
	return sum > burst ? burst : sum;
}

/* Returns whether a frame of so many bytes is above the rate. */
INLINE int is_exceeded(u64 *band, u64 now, u32 bytes)
{
	u64 sum = tokens_at(band, now);
	u64 cost = band[BAND_PER_BYTE] * bytes + band[BAND_PER_FRAME];
	if (cost < band[BAND_FLOOR])
		cost = band[BAND_FLOOR];
	if (now > band[BAND_FILLED])
		WRITE_ONCE(band[BAND_FILLED], now);
	int exceeded = sum < cost || bytes > band[BAND_LONGEST];
	WRITE_ONCE(band[BAND_TOKENS], exceeded ? sum : sum - cost);
	return exceeded;
}

/* Lets all bands judge. Returns the verdict. */
INLINE u32 judge_bands(struct plan *plan, u32 first, u32 count, u32 bytes)
{
	u64 applied = 0;
	u64 applied_rate = 0;
	u32 applied_tally = 0;
	u32 any = 0;
	for (u32 at = 0; at < LIMIT_BANDS; at++) {
		if (at >= count)
			break;
		u64 *band = record(&bands, first + at);
		if (!band || !is_exceeded(band, plan->now, bytes))
			continue;
		u64 rate = band[BAND_RATE];
		if (any && applied_rate >= rate)
			continue;
		any = 1;
		applied = band[BAND_WHAT];
		applied_rate = rate;
		applied_tally = low(band[BAND_TALLY]);
	}
	if (!any)
		return 0;
	count_tally(applied_tally, 1, length_now(plan), plan->now);
	switch (applied & 0xff) {
	case BAND_DROPS:
		return VERDICT_DROP;
	case BAND_DEMOTES:
		return VERDICT_BEST_EFFORT;
	default:
		return applied >> 8 & 0xff;
	}
}

/* Returns whether the lock that a word is could be had. */
INLINE int lock(u64 *word)
{
	for (u32 attempt = 0; attempt < LOCK_TRIES; attempt++) {
		if (atomic_compare_exchange(word, 0ull, 1ull) == 0)
			return 1;
	}
	return 0;
}

INLINE void unlock(u64 *word)
{
	u64 held = atomic_compare_exchange(word, 1ull, 0ull);
	forget(held);
}

/* Lets a meter judge the frame. Returns its verdict. */
CHECKED_ONCE u32 judge(struct plan *plan, u32 number)
{
	/* Frames are judged one by one, which the core can that cuts them. */
	if (!plan || plan->segment)
		return VERDICT_NONE;
	u64 *meter = record(&meters, number);
	if (!meter)
		return VERDICT_NONE;
	int version = version_seen(READ_ONCE(meter[METER_SINCE_0]), READ_ONCE(meter[METER_SINCE_1]),
				   plan->generation);
	if (version < 0)
		return VERDICT_NONE;
	u64 head = version ? meter[METER_VERSIONS_1] : meter[METER_VERSIONS_0];
	u32 count = head >> 16 & 0xffff;
	if (head & METER_TO_CORE || count > LIMIT_BANDS)
		return VERDICT_NONE;
	u32 bytes = length_now(plan);
	if (!lock(&meter[METER_LOCK]))
		return VERDICT_NONE;
	u32 verdict = judge_bands(plan, high(head), count, bytes);
	unlock(&meter[METER_LOCK]);
	count_tally(low(meter[METER_TALLY]), 1, bytes, plan->now);
	return verdict;
}
