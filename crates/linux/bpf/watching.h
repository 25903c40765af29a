/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows frames to the monitors of their flows. What a monitor is to see is noted
 * when the frame comes to it, and shown once its whole way is known: a frame that
 * goes on to the core was seen by none.
 */
#pragma once

#include "monitor.h"
#include "headers.h"

#define TYPE_SIGNAL 0x0f00
#define UDP_BYTES 8
#define SHIM_BYTES 12

/* How often a walk tries to get a monitor that others observe by. */
#define WATCH_TRIES 256

/* Notes that the frame is to be shown to a monitor, and what of it. */
INLINE int note_packet(struct plan *plan, u32 number)
{
	const struct work *work = &plan->work;
	/* Packets are shown one by one. */
	if (plan->segment)
		return TO_CORE;
	u32 count = plan->watched_count;
	if (count >= LIMIT_MONITORS)
		return TOO_FAR;
	struct watched *watched = &plan->watched[slot(count, LIMIT_MONITORS)];
	watched->monitor = number;
	watched->demand = 0;
	plan->watched_count = count + 1;
	u32 at = work->transport_at + UDP_BYTES;
	watched->is_readable =
		work->transport == PROTO_UDP && at + SHIM_BYTES <= work->packet_end;
	if (!watched->is_readable)
		return GOES_ON;
	watched->packet.carried = work->packet_end - at - SHIM_BYTES;
	/* The headers in front of it are whole words of 32 bits. */
	u32 word = (GAP + at) / 4;
	forget(word);
	if (word > (GAP + TRANSPORT_AT_MAX + UDP_BYTES) / 4)
		return TO_CORE;
	const u32 *shim = work->form.halves + word;
	watched->packet.message = be32(shim[0]);
	watched->packet.size = be32(shim[1]);
	watched->packet.sequence = be32(shim[2]);
	return GOES_ON;
}

/* Notes that the frame is a signal, as it is now. */
CHECKED_ONCE int note_signal(struct plan *plan)
{
	if (!plan || plan->depth)
		return TO_CORE;
	const struct form *form = &plan->work.form;
#pragma unroll
	for (u32 word = 0; word < SIGNAL_WORDS; word++)
		plan->signal[word] = form->words[(GAP + NETWORK_AT) / 8 + word];
	int is_signal = !form->tag_count && !form->redundancy &&
			u16_at(form, TYPE_AT) == TYPE_SIGNAL;
	plan->signal_bytes = is_signal ? form->body : 0;
	plan->arranges = 1;
	return ENDS;
}

/* No monitor could be had. */
#define DEMAND_NONE 0xffffffffu
/* The message has not demanded this much before. */
#define DEMAND_IS_NEWS 0x100u

/* Shows a packet to a monitor whose lock is held. */
INLINE u32 show(u64 *monitor, const struct watched *watched, u64 now)
{
	if (unlikely(!watched->is_readable)) {
		if (contracts(monitor))
			monitor[MONITOR_UNREADABLE] += 1;
		return 0;
	}
	u32 demand = watch(monitor, now, &watched->packet);
	if (likely(!demand))
		return 0;
	monitor[MONITOR_VIOLATED] = now;
	u64 told = message_words(watched->packet.message, demand);
	if (monitor[MONITOR_TOLD] == told)
		return demand;
	monitor[MONITOR_TOLD] = told;
	return demand | DEMAND_IS_NEWS;
}

/* Waits for a monitor that somebody else observes by. Returns whether it could be
 * had. */
CHECKED_ONCE int await_monitor(u32 number)
{
	u64 *monitor = record(&monitors, number);
	if (!monitor)
		return 0;
	for (u32 attempt = 0; attempt < WATCH_TRIES; attempt++) {
		if (!atomic_compare_exchange(&monitor[MONITOR_LOCK], 0ull, 1ull))
			return 1;
	}
	return 0;
}

/* Shows a packet to its monitor. Returns what it demands. */
INLINE u32 observe(const struct watched *watched, u64 now)
{
	u64 *monitor = record(&monitors, watched->monitor);
	if (!monitor)
		return 0;
	if (unlikely(atomic_compare_exchange(&monitor[MONITOR_LOCK], 0ull, 1ull)) &&
	    !await_monitor(watched->monitor))
		return DEMAND_NONE;
	u32 demand = show(monitor, watched, now);
	u64 held = atomic_compare_exchange(&monitor[MONITOR_LOCK], 1ull, 0ull);
	forget(held);
	return demand;
}
