/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode that the switch is in: `modes::Agreement` of the core, on words that
 * both change. The pair of era and level is one word, and whoever changes it
 * compares and swaps, so that of two changes at once the greater mode remains.
 */
#pragma once

#include "regions.h"

/* Levels of criticality. */
#define LEVELS 8

/* How often a change is tried while others change the mode as well: each of them
 * makes it greater. */
#define MODE_TRIES 16

/* What came of a demand or of a signal, if no mode was entered. No mode is this
 * small: one that was entered has an era or a level. */
#define MODE_STAYS 0ull
/* The neighbour is behind. */
#define MODE_ANSWERS 1ull

#define LEVEL_AT 24
#define ERA_ONLY (~0ull << 32)

/* Returns the level of a mode. */
INLINE u32 level_of(u64 mode)
{
	return mode >> LEVEL_AT & (LEVELS - 1);
}

/* Returns the mode of the same era at another level. */
INLINE u64 at_level(u64 mode, u32 level)
{
	return (mode & ERA_ONLY) | (u64)level << LEVEL_AT;
}

/* Returns the level whose entries are in force. */
INLINE u32 level_served(const u64 *state)
{
	u32 level = level_of(READ_ONCE(state[MODES_MODE]));
	return READ_ONCE(state[MODES_SERVES]) >> 4 * level & (LEVELS - 1);
}

/* Returns the highest level that flows of this switch demanded within the hold
 * time, or zero. */
INLINE u32 held_level(const u64 *state, u64 now)
{
	u64 hold = READ_ONCE(state[MODES_HOLD]);
	u32 held = 0;
#pragma unroll
	for (u32 level = 1; level < LEVELS; level++) {
		u64 at = READ_ONCE(state[MODES_DEMANDED + level]);
		if (at && (now <= at || now - at < hold))
			held = level;
	}
	return held;
}

/* Notes that a mode has been entered, by which port plus one it came, if by any. */
INLINE void note_entry(u64 *state, u64 origin, u64 now, u64 came_by)
{
	WRITE_ONCE(state[MODES_ORIGIN], origin);
	WRITE_ONCE(state[MODES_CAME_BY], came_by);
	WRITE_ONCE(state[MODES_DETECTED], now);
	const u64 *setting = record(&settings, 0);
	WRITE_ONCE(state[MODES_CHANGED], setting && setting[SETTINGS_TRIAL_TIME] ? now : ktime_get_ns());
	atomic_add(&state[MODES_ENTERED], 1);
}

/* Takes that a flow of this switch demands a level. Returns the mode that was
 * entered, or that it stays. */
CHECKED_ONCE u64 demand_level(u64 now, u32 level)
{
	u64 *state = record(&modes, 0);
	level = slot(level, LEVELS);
	if (!state)
		return MODE_STAYS;
	/* Nobody demands the lowest level: there stands when anything was demanded. */
	WRITE_ONCE(state[MODES_DEMANDED], now);
	u64 flags = READ_ONCE(state[MODES_FLAGS]);
	if (!level || (flags & (MODES_LOCKED | MODES_ASKS)) == MODES_LOCKED)
		return MODE_STAYS;
	if (READ_ONCE(state[MODES_DEMANDED + level]) < now)
		WRITE_ONCE(state[MODES_DEMANDED + level], now);
	/* The controller decides. */
	if (flags & MODES_ASKS)
		return MODE_STAYS;
	level = held_level(state, now);
	for (u32 attempt = 0; attempt < MODE_TRIES; attempt++) {
		u64 mode = READ_ONCE(state[MODES_MODE]);
		if (level <= level_of(mode))
			break;
		u64 next = at_level(mode, level);
		if (atomic_compare_exchange(&state[MODES_MODE], mode, next) == mode) {
			note_entry(state, state[MODES_OWN], now, 0);
			return next;
		}
	}
	return MODE_STAYS;
}

/* Takes what a neighbour says. Returns the mode that was entered, or what else is
 * to be done. */
CHECKED_ONCE u64 hear(u64 now, u64 heard, u64 origin, u32 place)
{
	u64 *state = record(&modes, 0);
	if (!state)
		return MODE_STAYS;
	u32 held = READ_ONCE(state[MODES_FLAGS]) & MODES_LOCKED ? 0 : held_level(state, now);
	for (u32 attempt = 0; attempt < MODE_TRIES; attempt++) {
		u64 mode = READ_ONCE(state[MODES_MODE]);
		if (heard == mode)
			return MODE_STAYS;
		if (heard < mode)
			return MODE_ANSWERS;
		int raises = held > level_of(heard);
		u64 next = raises ? at_level(heard, held) : heard;
		if (atomic_compare_exchange(&state[MODES_MODE], mode, next) == mode) {
			note_entry(state, raises ? state[MODES_OWN] : origin, now,
				   raises ? 0 : place + 1);
			return next;
		}
	}
	return MODE_STAYS;
}
