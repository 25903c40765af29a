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

/* Returns the next number of the stream in a place, which the core is told if the frame goes
 * there; or what becomes of the walk instead, negative. */
INLINE s32 next_number(struct plan *plan, u32 place)
{
	u64 *stream = record(&streams, place);
	if (!stream)
		return -TO_CORE;
	if (plan->verdict_count + 2 > HANDED_VERDICTS_MAX)
		return -TOO_FAR;
	u32 number = atomic_fetch_add(&stream[STREAM_NUMBERED], 1ull) & 0xffff;
	if (add_verdict(plan, number >> 8) || add_verdict(plan, number & 0xff))
		return -TOO_FAR;
	return (s32)number;
}

/* Gives the frame the next number of a stream, in a tag. */
CHECKED_ONCE int number_frame(struct plan *plan, u32 place)
{
	if (!plan || is_for_core(plan) || plan->work.form.trailer)
		return TO_CORE;
	s32 number = next_number(plan, place);
	if (number < 0)
		return -number;
	touch(plan);
	plan->work.form.redundancy = HAS_NUMBER | (u32)number;
	return GOES_ON;
}

/* The most bytes of a header of layer 4 that are looked at or changed. */
#define TRANSPORT_BYTES 18

/* Returns whether what is read of the frame depends on what it ends with, from `from` on: it is
 * a packet that says to be longer than it is. */
INLINE int reads_tail(const struct plan *plan, u32 from)
{
	const struct work *work = &plan->work;
	u32 type = u16_at(&work->form, TYPE_AT);
	if (from >= HEADER_BYTES || work->network == NETWORK_ARP)
		return 0;
	if (work->network == NETWORK_NONE)
		return type == TYPE_IPV4 || type == TYPE_IPV6 || type == TYPE_ARP;
	if (work->transport)
		return work->transport_at + TRANSPORT_BYTES > from;
	return work->packet_end >= from;
}

/* Returns whether the trailer of the frame is only for the core to find or to change. */
INLINE int trailer_is_for_core(const struct plan *plan)
{
	const struct form *form = &plan->work.form;
	u32 from = form->body - (form->trailer & HAS_NUMBER ? TRAILER_BYTES : 0);
	return is_for_core(plan) || form->redundancy || !(plan->needs & NEED_TRAILER) ||
	       form->trailer & TRAILER_UNSURE || reads_tail(plan, from);
}

/* Makes the trailer that the frame has, or one that it gets, this one. */
INLINE int put_trailer(struct plan *plan, u32 trailer)
{
	struct form *form = &plan->work.form;
	touch(plan);
	if (!(form->trailer & HAS_NUMBER)) {
		u32 length = length_now(plan);
		u32 padding = length < TRAILER_PADDED ? TRAILER_PADDED - length : 0;
		if (length + TRAILER_BYTES > FRAME_BYTES_MAX)
			return TO_CORE;
		form->body += padding + TRAILER_BYTES;
	}
	form->trailer = trailer;
	return GOES_ON;
}

/* Gives the frame the next number of a stream, in a trailer for the first LAN. */
CHECKED_ONCE int number_in_trailer(struct plan *plan, u32 place)
{
	if (!plan || trailer_is_for_core(plan))
		return TO_CORE;
	s32 number = next_number(plan, place);
	if (number < 0)
		return -number;
	return put_trailer(plan, LAN_A << TRAILER_LAN_AT | HAS_NUMBER | (u32)number);
}

/* Has the trailer of the frame name a LAN. */
CHECKED_ONCE int set_lan(struct plan *plan, u32 lan)
{
	if (!plan || trailer_is_for_core(plan))
		return TO_CORE;
	u32 trailer = plan->work.form.trailer;
	if (!(trailer & HAS_NUMBER))
		return GOES_ON;
	trailer &= HAS_NUMBER | 0xffff;
	return put_trailer(plan, lan << TRAILER_LAN_AT | trailer);
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

/* Returns whether a number is among the last ones that were handed on: four stand in a word,
 * and one of them is zero once what is looked for is taken off. */
INLINE int is_recent(const u64 *stream, u32 count, u32 number)
{
	const u64 ones_of_16 = 0x0001000100010001ull;
	u64 wanted = number * ones_of_16;
	for (u32 word = 0; word < STREAM_RECENT_WORDS; word++) {
		if (4 * word >= count)
			break;
		u64 gap = stream[STREAM_RECENT + word] ^ wanted;
		u64 zeros = (gap - ones_of_16) & ~gap & 0x8000800080008000ull;
		u32 left = count - 4 * word;
		if (zeros & (left >= 4 ? ~0ull : ones(16 * left)))
			return 1;
	}
	return 0;
}

/* Duplicate discard. */
INLINE int discard(u64 *stream, u32 length, u64 now, u32 number, s32 step)
{
	u64 span = stream[STREAM_SPAN];
	if (is_recent(stream, span < length ? (u32)span : length, number)) {
		add_word(stream, STREAM_DISCARDED);
		return 0;
	}
	if (step < 0)
		add_word(stream, STREAM_OUT_OF_ORDER);
	u64 carried = number;
	for (u32 word = 0; word < STREAM_RECENT_WORDS; word++) {
		u64 before = stream[STREAM_RECENT + word];
		WRITE_ONCE(stream[STREAM_RECENT + word], before << 16 | carried);
		carried = before >> 48;
	}
	WRITE_ONCE(stream[STREAM_SPAN], span < HISTORY_MAX ? span + 1 : HISTORY_MAX);
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
		WRITE_ONCE(stream[STREAM_RECENT], number);
		return pass_as_last(stream, now, number);
	}
	s32 step = (s16)(number - (u32)last);
	if (how & ELIMINATE_VECTOR)
		return look_up(stream, how & ELIMINATE_HISTORY, now, number, step);
	if (how & ELIMINATE_DUPLICATE_DISCARD)
		return discard(stream, how & ELIMINATE_HISTORY, now, number, step);
	return compare(stream, now, number, step);
}

/* Takes the number off the frame. */
INLINE int strip(struct plan *plan, u32 in_trailer)
{
	struct form *form = &plan->work.form;
	touch(plan);
	u32 length = length_now(plan);
	if (in_trailer) {
		form->body -= TRAILER_BYTES;
		form->trailer = 0;
	} else {
		form->redundancy = 0;
	}
	return keep_long_enough(plan, length);
}

/* Ends the frame if a copy of it was handed on before. */
CHECKED_ONCE int eliminate(struct plan *plan, const struct action *action)
{
	if (!plan || !action)
		return TO_CORE;
	const struct form *form = &plan->work.form;
	u32 in_trailer = (action->words[ACTION_VALUE] & ELIMINATE_IN_TRAILER) != 0;
	if (in_trailer ? trailer_is_for_core(plan) : is_for_core(plan) || form->trailer)
		return TO_CORE;
	u64 *stream = record(&streams, high(action->words[ACTION_WHAT]));
	if (!stream)
		return TO_CORE;
	if (plan->verdict_count >= HANDED_VERDICTS_MAX)
		return TOO_FAR;
	u32 number = in_trailer ? form->trailer & (HAS_NUMBER | 0xffff) : form->redundancy;
	if (!(number & HAS_NUMBER))
		number = 0;
	if (!lock(&stream[STREAM_LOCK]))
		return TO_CORE;
	int is_new = take_frame(stream, action, plan->now, number);
	unlock(&stream[STREAM_LOCK]);
	if (add_verdict(plan, !is_new))
		return TOO_FAR;
	if (!is_new)
		return ENDS;
	if (!number || !(action->words[ACTION_VALUE] & ELIMINATE_STRIPS_TAG))
		return GOES_ON;
	return strip(plan, in_trailer);
}
