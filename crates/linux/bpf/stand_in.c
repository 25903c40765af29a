/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speaks for sessions whose process is late: `switch::bfd` keeps how and when.
 *
 * A blank frame goes round through a pair of interfaces of the switch's own. A queueing
 * discipline holds it up at one end, and this program meets it where it comes in at the
 * other: it sends a copy through each port whose neighbour should have heard of the
 * switch by now, and lets the frame go round again. So nobody has to be awake.
 */
#include "regions.h"

/* The interface by which the frame goes round. */
CONSTANT(pacing_interface);

/* A switch has no more, `switch::Config`. */
#define PORTS_MAX 256
#define SOURCE_AT 6
/* wire::bfd::STAND_IN_BYTES and STAND_IN_TURN_AT. */
#define STAND_IN_BYTES 60
#define STAND_IN_TURN_AT 20
#define HIGHEST_QUEUE 7

/* Returns whether the session of a port is late, and its neighbour is to hear of the switch:
 * not if nothing was heard of that one either, as it has to notice. */
INLINE int is_due(u64 *times, u64 every, u64 now)
{
	u64 due = READ_ONCE(times[FRAME_TIMES_STAND_IN_DUE]);
	u64 came = READ_ONCE(times[FRAME_TIMES_CAME]);
	if (now < due || now > came + READ_ONCE(times[FRAME_TIMES_STAND_IN_SILENCE]))
		return 0;
	/* No sooner than the process would speak again, be this one late itself. */
	u64 soonest = now + every - every / 4;
	u64 next = due + every > soonest ? due + every : soonest;
	/* The process speaks, or another frame goes round on another processor. */
	return atomic_compare_exchange(&times[FRAME_TIMES_STAND_IN_DUE], due, next) == due;
}

/* Speaks for the session of a port if that is late. */
CHECKED_ONCE int stand_in(struct __sk_buff *frame, u32 place)
{
	u64 *times = record(&frame_times, place);
	const u64 *port = record(&ports, place);
	u64 *queue = record(&queues, 8 * place + HIGHEST_QUEUE);
	u64 *total = record(&totals, 0);
	if (!times || !port || !queue || !total)
		return 0;
	u64 every = READ_ONCE(times[FRAME_TIMES_STAND_IN_EVERY]);
	u64 interface = READ_ONCE(port[PORT_INTERFACE]);
	if (!every || !(high(interface) & PORT_SENDS) || !is_due(times, every, ktime_get_ns()))
		return 0;
	u64 source = be64(port[PORT_ADDRESS]) >> 16;
	if (skb_store_bytes(frame, SOURCE_AT, &source, 6, 0))
		return 0;
	u32 class = high(port[PORT_NUMBER]);
	frame->priority = class ? class + HIGHEST_QUEUE : 0;
	atomic_add(&queue[QUEUE_FRAMES], 1);
	atomic_add(&queue[QUEUE_BYTES], STAND_IN_BYTES);
	atomic_add(&total[TOTAL_OUTPUTS], 1);
	atomic_add(&total[TOTAL_SENT], 1);
	atomic_add(&times[FRAME_TIMES_STAND_INS], 1);
	clone_redirect(frame, low(interface), 0);
	return 0;
}

/* The program. A frame of an earlier turn ends here: those of the next one are there before
 * it is the turn. */
PROGRAM int taktos_stand_in(struct __sk_buff *frame)
{
	const u64 *setting = record(&settings, 0);
	const u64 *first = record(&frame_times, 0);
	u8 turn;
	if (!setting || !first || frame->len != STAND_IN_BYTES ||
	    skb_load_bytes(frame, STAND_IN_TURN_AT, &turn, 1))
		return TC_ACT_SHOT;
	u64 count = setting[SETTINGS_PORTS];
#pragma clang loop unroll(disable)
	for (u32 place = 0; place < PORTS_MAX; place++) {
		if (place >= count)
			break;
		stand_in(frame, place);
	}
	if ((u8)(turn - READ_ONCE(first[FRAME_TIMES_TURN])) > 1)
		return TC_ACT_SHOT;
	return redirect((u32)constant(pacing_interface), 0);
}
