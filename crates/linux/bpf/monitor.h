/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notices that a flow sends more, or more often, than it agreed to:
 * `modes::FlowMonitor` of the core, on a record that both change. Whoever does
 * holds its lock.
 *
 * A demand is a number: the level in all bits but the lowest, which says that not
 * even the contract of that level is kept. So the stronger of two is the greater.
 */
#pragma once

#include "mode.h"
#include "plan.h"

/* How a number follows those before. */
enum order {
	ORDER_NEXT,
	ORDER_AHEAD,
	ORDER_BEHIND,
	ORDER_AGAIN,
};

#define WINDOW_BEGUN (1ull << 32)
#define WINDOW_NUMBERS 64

/* Enters a number among those that were seen. Returns how it follows them, and in
 * the high half how many were left out. */
INLINE u64 order_of(u64 *monitor, u32 number)
{
	u64 highest = monitor[MONITOR_HIGHEST];
	u32 ahead = number - low(highest);
	u32 behind = low(highest) - number;
	if (likely(highest >> 32 && ahead == 1)) {
		monitor[MONITOR_HIGHEST] = WINDOW_BEGUN | number;
		monitor[MONITOR_SEEN] = monitor[MONITOR_SEEN] << 1 | 1;
		return ORDER_NEXT;
	}
	if (!(highest >> 32)) {
		monitor[MONITOR_HIGHEST] = WINDOW_BEGUN | number;
		monitor[MONITOR_SEEN] = 1;
		return number ? (u64)number << 32 | ORDER_AHEAD : ORDER_NEXT;
	}
	if (ahead > 0 && ahead <= ~0u / 2) {
		u64 seen = ahead < WINDOW_NUMBERS ? monitor[MONITOR_SEEN] << (ahead & 63) : 0;
		monitor[MONITOR_HIGHEST] = WINDOW_BEGUN | number;
		monitor[MONITOR_SEEN] = seen | 1;
		return (u64)(ahead - 1) << 32 | ORDER_AHEAD;
	}
	if (behind >= WINDOW_NUMBERS) {
		/* Too far back to know: a sender that began anew, or a stray. */
		monitor[MONITOR_HIGHEST] = WINDOW_BEGUN | number;
		monitor[MONITOR_SEEN] = 1;
		return ORDER_BEHIND;
	}
	u64 bit = 1ull << (behind & 63);
	if (monitor[MONITOR_SEEN] & bit)
		return ORDER_AGAIN;
	monitor[MONITOR_SEEN] |= bit;
	return ORDER_BEHIND;
}

/* Returns how many levels have a contract. */
INLINE u32 contracts(const u64 *monitor)
{
	return low(monitor[MONITOR_CONTRACTS]);
}

/* What a message demands that keeps no contract. */
INLINE u32 beyond(const u64 *monitor)
{
	return (contracts(monitor) - 1) << 1 | 1;
}

/* Returns a word of what belongs to a level. */
INLINE u64 of_level(const u64 *monitor, u32 level, u32 word)
{
	return monitor[MONITOR_LEVELS + level * MONITOR_LEVEL_WORDS + word];
}

INLINE u32 demand_of_size(const u64 *monitor, u32 size)
{
	if (likely(size <= of_level(monitor, 0, MONITOR_SIZE)))
		return 0;
	u32 count = contracts(monitor);
	u32 demand = beyond(monitor);
#pragma unroll
	for (u32 at = LEVELS - 1; at > 0; at--) {
		if (at < count && size <= of_level(monitor, at, MONITOR_SIZE))
			demand = at << 1;
	}
	return demand;
}

INLINE u32 demand_of_time(const u64 *monitor, u64 now)
{
	if (likely(of_level(monitor, 0, MONITOR_GUIDE) <= now))
		return 0;
	u32 count = contracts(monitor);
	u32 demand = beyond(monitor);
#pragma unroll
	for (u32 at = LEVELS - 1; at > 0; at--) {
		if (at < count && of_level(monitor, at, MONITOR_GUIDE) <= now)
			demand = at << 1;
	}
	return demand;
}

/* Sets the guide times of the next message, this one having come at `arrival`. Those
 * of levels without a contract are that of the last one. */
INLINE void advance(u64 *monitor, u64 arrival)
{
	u64 jitter = monitor[MONITOR_JITTER];
	u64 released = arrival > jitter ? arrival - jitter : 0;
	u32 count = contracts(monitor);
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < LEVELS; at++) {
		if (at >= count)
			break;
		u64 guide = of_level(monitor, at, MONITOR_GUIDE);
		u64 from = guide > released ? guide : released;
		u64 next = from + of_level(monitor, at, MONITOR_PERIOD);
		monitor[MONITOR_LEVELS + at * MONITOR_LEVEL_WORDS + MONITOR_GUIDE] =
			next < from ? ~0ull : next;
	}
}

/* Counts a message once, however often its demand rises. */
INLINE void count_demand(u64 *monitor, u32 counted, u32 demand)
{
	if (demand && !counted)
		monitor[MONITOR_VIOLATIONS] += 1;
	if ((demand & 1) && !(counted & 1))
		monitor[MONITOR_BEYOND] += 1;
}

INLINE u32 saturated(u64 sum)
{
	return sum >> 32 ? ~0u : (u32)sum;
}

INLINE u64 message_words(u32 seen, u32 demand)
{
	u64 is_beyond = demand & 1 ? MONITOR_IS_BEYOND : 0;
	return MONITOR_IS_THERE | is_beyond | (u64)(demand >> 1) << 32 | seen;
}

INLINE u32 demand_in(u64 state)
{
	return (state >> 32 & 0xff) << 1 | !!(state & MONITOR_IS_BEYOND);
}

/* Adds a packet to the current message. */
INLINE u32 continue_current(u64 *monitor, const struct packet *packet, u32 carried)
{
	u64 state = monitor[MONITOR_CURRENT_SEEN];
	u32 seen = saturated((u64)low(state) + carried);
	u32 counted = demand_in(state);
	u32 demand = counted;
	u32 size = packet->size > seen ? packet->size : seen;
	if (unlikely(size > high(monitor[MONITOR_CURRENT]))) {
		monitor[MONITOR_CURRENT] = (u64)size << 32 | packet->message;
		u32 of_size = demand_of_size(monitor, size);
		if (of_size > demand)
			demand = of_size;
		count_demand(monitor, counted, demand);
	}
	monitor[MONITOR_CURRENT_SEEN] = message_words(seen, demand);
	return demand;
}

/* Adds a packet to the message before the current one. Returns whether it belongs
 * to it. */
INLINE int continue_before(u64 *monitor, const struct packet *packet, u32 carried)
{
	u64 state = monitor[MONITOR_BEFORE_SEEN];
	u64 message = monitor[MONITOR_BEFORE];
	if (!(state & MONITOR_IS_THERE) || low(message) != packet->message)
		return 0;
	u32 seen = saturated((u64)low(state) + carried);
	monitor[MONITOR_BEFORE_SEEN] = message_words(seen, demand_in(state));
	if (seen > high(message))
		return 0;
	monitor[MONITOR_CURRENT_SEEN] |= MONITOR_STRAGGLER;
	return 1;
}

/* Begins a message. */
INLINE u32 begin_message(u64 *monitor, u64 now, const struct packet *packet, u32 order)
{
	u32 size = packet->size > packet->carried ? packet->size : packet->carried;
	u64 earliest = order == ORDER_NEXT ? now : monitor[MONITOR_LAST_SEEN];
	u32 demand = demand_of_size(monitor, size);
	u32 of_time = demand_of_time(monitor, now);
	if (of_time > demand)
		demand = of_time;
	advance(monitor, earliest);
	monitor[MONITOR_BEFORE] = monitor[MONITOR_CURRENT];
	monitor[MONITOR_BEFORE_SEEN] = monitor[MONITOR_CURRENT_SEEN] & ~MONITOR_STRAGGLER;
	monitor[MONITOR_CURRENT] = (u64)size << 32 | packet->message;
	monitor[MONITOR_CURRENT_SEEN] = message_words(packet->carried, demand);
	monitor[MONITOR_MESSAGES] += 1;
	count_demand(monitor, 0, demand);
	return demand;
}

/* Finds the message of a packet and adds the packet to it. */
INLINE u32 place_packet(u64 *monitor, u64 now, const struct packet *packet, u32 order)
{
	u32 carried = order == ORDER_AGAIN ? 0 : packet->carried;
	if (likely(monitor[MONITOR_CURRENT_SEEN] & MONITOR_IS_THERE &&
		   low(monitor[MONITOR_CURRENT]) == packet->message))
		return continue_current(monitor, packet, carried);
	if (continue_before(monitor, packet, carried))
		return demand_in(monitor[MONITOR_BEFORE_SEEN]);
	return begin_message(monitor, now, packet, order);
}

/* Adds the next packet of the current message, if the message has demanded nothing
 * and this one does not either: nearly all are like this, and all that it takes lies
 * in one cache line. Returns whether it is one. */
INLINE int go_on(u64 *monitor, u64 now, const struct packet *packet)
{
	u64 number = WINDOW_BEGUN | packet->sequence;
	u64 message = monitor[MONITOR_CURRENT];
	u64 seen = monitor[MONITOR_CURRENT_SEEN] + packet->carried;
	u32 size = packet->size > low(seen) ? packet->size : low(seen);
	if (monitor[MONITOR_HIGHEST] + 1 != number || low(message) != packet->message ||
	    high(seen) != high(MONITOR_IS_THERE) || size > high(message))
		return 0;
	monitor[MONITOR_HIGHEST] = number;
	monitor[MONITOR_SEEN] = monitor[MONITOR_SEEN] << 1 | 1;
	monitor[MONITOR_CURRENT_SEEN] = seen;
	monitor[MONITOR_LAST_SEEN] = now;
	monitor[MONITOR_PACKETS] += 1;
	return 1;
}

/* Returns what the message demands that a packet belongs to, as far as is known.
 * The lock is held. */
INLINE u32 watch(u64 *monitor, u64 now, const struct packet *packet)
{
	if (likely(go_on(monitor, now, packet)))
		return 0;
	if (!contracts(monitor))
		return 0;
	monitor[MONITOR_PACKETS] += 1;
	u64 how = order_of(monitor, packet->sequence);
	u32 order = low(how);
	if (unlikely(order != ORDER_NEXT)) {
		if (order == ORDER_AHEAD && monitor[MONITOR_CURRENT_SEEN] & MONITOR_IS_THERE)
			monitor[MONITOR_MISSING] += high(how);
		else if (order == ORDER_BEHIND)
			monitor[MONITOR_REORDERED] += 1;
		else if (order == ORDER_AGAIN)
			monitor[MONITOR_DUPLICATES] += 1;
	}
	u32 demand = place_packet(monitor, now, packet, order);
	monitor[MONITOR_LAST_SEEN] = now;
	return demand;
}
