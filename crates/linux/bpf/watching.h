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

/* Returns whether there are more ports than the program tells of a mode. */
INLINE int has_many_ports(void)
{
	const u64 *setting = record(&settings, 0);
	return !setting || setting[SETTINGS_PORTS] > LIMIT_PORTS_TO_ALL;
}

/* Notes that the frame is to be shown to a monitor, and what of it. */
CHECKED_ONCE int note_packet(struct plan *plan, u32 number)
{
	if (!plan || has_many_ports())
		return TO_CORE;
	struct work *work = &plan->work;
	u32 count = plan->watched_count;
	if (count >= LIMIT_MONITORS)
		return TOO_FAR;
	struct watched *watched = &plan->watched[slot(count, LIMIT_MONITORS)];
	watched->monitor = number;
	plan->watched_count = count + 1;
	u32 at = work->transport_at + UDP_BYTES;
	watched->is_readable =
		work->transport == PROTO_UDP && at + SHIM_BYTES <= work->packet_end;
	if (!watched->is_readable)
		return GOES_ON;
	forget(at);
	if (at < NETWORK_AT || at > TRANSPORT_AT_MAX + UDP_BYTES)
		return TO_CORE;
	watched->packet.message = u32_at(&work->form, at);
	watched->packet.size = u32_at(&work->form, at + 4);
	watched->packet.sequence = u32_at(&work->form, at + 8);
	watched->packet.carried = work->packet_end - at - SHIM_BYTES;
	return GOES_ON;
}

/* Notes that the frame is a signal, as it is now. */
CHECKED_ONCE int note_signal(struct plan *plan)
{
	if (!plan || plan->depth || has_many_ports())
		return TO_CORE;
	const struct form *form = &plan->work.form;
#pragma unroll
	for (u32 word = 0; word < SIGNAL_WORDS; word++)
		plan->signal[word] = form->words[(GAP + NETWORK_AT) / 8 + word];
	int is_signal = !form->tag_count && u16_at(form, TYPE_AT) == TYPE_SIGNAL;
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
	if (!low(monitor[MONITOR_CONTRACTS]))
		return 0;
	if (!watched->is_readable) {
		monitor[MONITOR_UNREADABLE] += 1;
		return 0;
	}
	u32 demand = watch(monitor, now, &watched->packet);
	u64 is_beyond = demand & 1 ? MONITOR_IS_BEYOND : 0;
	monitor[MONITOR_DEMANDED] = MONITOR_IS_THERE | is_beyond | demand >> 1;
	if (likely(!demand))
		return 0;
	monitor[MONITOR_VIOLATED] = now;
	u64 told = MONITOR_IS_THERE | is_beyond | (u64)(demand >> 1) << 32 | watched->packet.message;
	if (monitor[MONITOR_TOLD] == told)
		return demand;
	monitor[MONITOR_TOLD] = told;
	return demand | DEMAND_IS_NEWS;
}

/* Shows a packet to its monitor. Returns what it demands. */
CHECKED_ONCE u32 observe(struct plan *plan, u32 at)
{
	if (!plan || at >= LIMIT_MONITORS)
		return 0;
	const struct watched *watched = &plan->watched[slot(at, LIMIT_MONITORS)];
	u64 *monitor = record(&monitors, watched->monitor);
	if (!monitor)
		return 0;
	u32 attempt = 0;
	while (atomic_compare_exchange(&monitor[MONITOR_LOCK], 0ull, 1ull)) {
		attempt += 1;
		if (attempt == WATCH_TRIES)
			return DEMAND_NONE;
	}
	u32 demand = show(monitor, watched, plan->now);
	u64 held = atomic_compare_exchange(&monitor[MONITOR_LOCK], 1ull, 0ull);
	forget(held);
	return demand;
}
