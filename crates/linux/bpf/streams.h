/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers frames of streams and ends copies: `streams` of the core, whose `recovery` says
 * what is done and why.
 *
 * A number is given, and a frame taken, when the frame comes to the action, whatever
 * becomes of it then; a frame that goes on to the core takes that along.
 */
#pragma once

#include "meters.h"
#include "tags.h"

#define HISTORY_MAX 64

/* Notes what the core is to know if the frame goes there. Returns whether there is no
 * room for it. */
INLINE int add_verdict(struct plan *plan, u32 verdict)
{
	u32 count = plan->verdict_count;
	if (count >= HANDED_VERDICTS_MAX)
		return 1;
	plan->verdicts[slot(count, HANDED_VERDICTS_MAX)] = verdict;
	plan->verdict_count = count + 1;
	return 0;
}

/* The kernel makes no frame shorter than its header was, a redundancy tag included. */
#define BODY_MIN (NETWORK_AT + REDUNDANCY_BYTES)

/* Returns whether only the core can put a tag into the frame or take it off: one that
 * is many frames, or is absurdly short, or whose checksum a card would make where it
 * stood. */
INLINE int is_for_core(const struct plan *plan)
{
	return plan->segment || plan->work.form.body < BODY_MIN || plan->work.is_partial ||
	       !(plan->needs & NEED_SUMS);
}

/* Gives the frame the next number of a stream. */
CHECKED_ONCE int number_frame(struct plan *plan, u32 place)
{
	u64 *stream = record(&streams, place);
	if (!plan || !stream || is_for_core(plan))
		return TO_CORE;
	if (plan->verdict_count + 2 > HANDED_VERDICTS_MAX)
		return TOO_FAR;
	u32 number = atomic_fetch_add(&stream[STREAM_NUMBERED], 1ull) & 0xffff;
	if (add_verdict(plan, number >> 8) || add_verdict(plan, number & 0xff))
		return TOO_FAR;
	touch(plan);
	plan->work.form.redundancy = HAS_NUMBER | number;
	return GOES_ON;
}

INLINE void add_word(u64 *stream, u32 word)
{
	WRITE_ONCE(stream[word], stream[word] + 1);
}

/* Returns the lowest bits, set. */
INLINE u64 ones(u32 count)
{
	return count ? ~0ull >> (64 - count) : 0;
}

INLINE u32 count_ones(u64 word)
{
	word -= word >> 1 & 0x5555555555555555ull;
	word = (word & 0x3333333333333333ull) + (word >> 2 & 0x3333333333333333ull);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return word * 0x0101010101010101ull >> 56;
}

/* Takes a frame that is new. */
INLINE int pass(u64 *stream, u64 now)
{
	WRITE_ONCE(stream[STREAM_HEARD], now);
	add_word(stream, STREAM_PASSED);
	return 1;
}

INLINE int pass_as_last(u64 *stream, u64 now, u32 number)
{
	WRITE_ONCE(stream[STREAM_LAST], STREAM_KNOWN | number);
	return pass(stream, now);
}

/* Moves the history on. */
INLINE void advance_history(u64 *stream, u32 length, u32 distance)
{
	u64 history = stream[STREAM_HISTORY];
	u64 span = stream[STREAM_SPAN];
	if (span > HISTORY_MAX)
		span = HISTORY_MAX;
	u64 going = ones(length) & ~ones(length - distance) & ones(span);
	u64 lost = count_ones(going & ~history);
	if (lost)
		WRITE_ONCE(stream[STREAM_LOST], stream[STREAM_LOST] + lost);
	WRITE_ONCE(stream[STREAM_HISTORY], (history << distance | 1) & ones(length));
	span += distance;
	WRITE_ONCE(stream[STREAM_SPAN], span > HISTORY_MAX ? HISTORY_MAX : span);
}

/* The vector algorithm. */
INLINE int look_up(u64 *stream, u32 length, u64 now, u32 number, s32 step)
{
	u32 distance = step < 0 ? -step : step;
	if (distance >= length || distance >= HISTORY_MAX || length > HISTORY_MAX) {
		add_word(stream, STREAM_ROGUE);
		return 0;
	}
	if (step > 0) {
		advance_history(stream, length, distance);
		if (step != 1)
			add_word(stream, STREAM_OUT_OF_ORDER);
		return pass_as_last(stream, now, number);
	}
	u64 history = stream[STREAM_HISTORY];
	if (history >> distance & 1) {
		add_word(stream, STREAM_DISCARDED);
		return 0;
	}
	WRITE_ONCE(stream[STREAM_HISTORY], history | 1ull << distance);
	add_word(stream, STREAM_OUT_OF_ORDER);
	return pass(stream, now);
}

/* The match algorithm. */
INLINE int compare(u64 *stream, u64 now, u32 number, s32 step)
{
	if (!step) {
		add_word(stream, STREAM_DISCARDED);
		return 0;
	}
	if (step != 1)
		add_word(stream, STREAM_OUT_OF_ORDER);
	return pass_as_last(stream, now, number);
}

/* Takes a frame with a number, or with none. Returns whether it is new. */
INLINE int take_frame(u64 *stream, const struct action *action, u64 now, u32 redundancy)
{
	u64 how = action->words[ACTION_VALUE];
	u32 number = redundancy & 0xffff;
	if (!redundancy) {
		add_word(stream, STREAM_UNNUMBERED);
		if (how & ELIMINATE_TAKES_UNNUMBERED)
			add_word(stream, STREAM_PASSED);
		return (how & ELIMINATE_TAKES_UNNUMBERED) != 0;
	}
	u64 last = stream[STREAM_LAST];
	u64 heard = stream[STREAM_HEARD];
	if (last & STREAM_KNOWN && now >= heard && now - heard >= action->words[ACTION_LOW]) {
		last = 0;
		add_word(stream, STREAM_RESETS);
	}
	if (!(last & STREAM_KNOWN)) {
		WRITE_ONCE(stream[STREAM_HISTORY], 1);
		WRITE_ONCE(stream[STREAM_SPAN], 1);
		return pass_as_last(stream, now, number);
	}
	s32 step = (s16)(number - (u32)last);
	if (how & ELIMINATE_VECTOR)
		return look_up(stream, how & ELIMINATE_HISTORY, now, number, step);
	return compare(stream, now, number, step);
}

/* Ends the frame if a copy of it was handed on before. */
CHECKED_ONCE int eliminate(struct plan *plan, const struct action *action)
{
	if (!plan || !action || is_for_core(plan))
		return TO_CORE;
	u64 *stream = record(&streams, high(action->words[ACTION_WHAT]));
	if (!stream)
		return TO_CORE;
	if (plan->verdict_count >= HANDED_VERDICTS_MAX)
		return TOO_FAR;
	u32 redundancy = plan->work.form.redundancy;
	if (!lock(&stream[STREAM_LOCK]))
		return TO_CORE;
	int is_new = take_frame(stream, action, plan->now, redundancy);
	unlock(&stream[STREAM_LOCK]);
	if (add_verdict(plan, !is_new))
		return TOO_FAR;
	if (!is_new)
		return ENDS;
	if (!redundancy || !(action->words[ACTION_VALUE] & ELIMINATE_STRIPS_TAG))
		return GOES_ON;
	touch(plan);
	u32 length = length_now(plan);
	plan->work.form.redundancy = 0;
	return keep_long_enough(plan, length);
}
