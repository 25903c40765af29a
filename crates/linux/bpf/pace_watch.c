/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Holds switches and links to what was said of them: how long a switch works on a frame,
 * and at which rate a link takes frames that wait for it.
 *
 * Whoever is slower is not told by one frame, which anybody may have held up, but by many
 * in a row. Each slow one is a point, and one that is not takes points back; from so many
 * points on it is shown. Both are seen in front of the wire:
 *
 * - A frame that a switch has marked (hops.h) says when it came. When it is about to enter
 *   the queue of a port, the switch is done with it.
 * - A frame that was in a queue when the one before it left has waited for nothing but the
 *   rate of its link. Gaps between such frames in a row are added up to some milliseconds:
 *   the timer of a queue is late for one and early for the next, so that no more than one
 *   such time is in the sum. Shorter rows show nothing. The first frames of a row leave by the
 *   burst that the queue lets through.
 *
 * It reads the kernel's own structures, as hop_watch.c does
 * (docs/decisions/0029-one-program-has-two-licences.md).
 */
#include "kernel.h"
#include "layout.h"

/* By the number of an interface, what it should be like and what was seen of it. */
MAP(devices);

/* Where the running kernel keeps things. */
CONSTANT(sk_buff_mark);
CONSTANT(sk_buff_cb);
CONSTANT(qdisc_skb_cb_data);
CONSTANT(sk_buff_len);
CONSTANT(sk_buff_dev);
CONSTANT(net_device_ifindex);
CONSTANT(net_device_nd_net);
CONSTANT(net_net_cookie);
CONSTANT(net_device__tx);
CONSTANT(netdev_queue_qdisc);
CONSTANT(Qdisc_q);
CONSTANT(qdisc_skb_head_qlen);

#define AT(type, pointer, place) (*(type const *)((const u8 *)(pointer) + constant(place)))

/* One frame of four is looked at: those whose arrival has these bits clear, which no sender
 * chooses. */
#define LOOKED_AT 0xc0
/* So many points show that somebody is slow: frames of a switch, spans of a link. */
#define FRAMES_ENOUGH 16
#define SPANS_ENOUGH 6
/* What a frame that was not slow takes back, and a span, of which there are few. */
#define FRAME_TAKES_BACK 2
#define SPAN_TAKES_BACK 1
/* How long a row of frames is looked at. */
#define SPAN_NS 3000000ull
/* A gap that is a quarter longer and this is one in which the processor did something else,
 * unless most are. */
#define HELD_UP_NS 20000ull
/* A link is slow that takes a fortieth longer. */
#define TOLERANCE 40
/* Bytes that may leave faster than the link, twice over. */
#define BURST_BYTES 3200
#define SHORTEST_BYTES 60
#define WIRE_BYTES 24
/* Who worked for longer has brought another time along. */
#define LONGEST_BELIEVED 3600000000000ull

/* The same words stand in `pace_watch.rs`. */
struct slowness {
	u64 points;
	u64 begun; /* when the first of the points was had */
	u64 since; /* when the first of those was had that show something, or zero */
	u64 last;
	u64 frames; /* how many were slow since then */
	u64 taken; /* how long these took, in ns */
	u64 expected; /* how long they should have taken at most */
};

struct device {
	u64 cookie; /* of its namespace; zero if nobody watches it */
	u64 most; /* how long the switch may work on a frame, in ns; zero if it is none */
	u64 byte_ps; /* how long the link takes for a byte; zero if it has no rate */
	u64 last; /* when a frame left, in ns */
	u64 last_bytes; /* its bytes on the wire */
	u64 waits; /* whether another one waited then */
	u64 row_bytes; /* what has left since one found the queue empty */
	u64 span_frames;
	u64 span_taken;
	u64 span_expected;
	u64 span_held; /* the frames of these that were held up */
	u64 span_held_taken; /* by these and the one behind each */
	u64 span_held_expected;
	u64 was_held; /* whether the last one was */
	struct slowness processor;
	struct slowness link;
};

/* What a tracepoint gives. */
struct arguments {
	u64 of[2];
};

INLINE struct device *watched(const u8 *device)
{
	u32 number = AT(u32, device, net_device_ifindex);
	struct device *found = map_lookup_elem(&devices, &number);
	if (!found || !found->cookie)
		return 0;
	const u8 *net = AT(const u8 *, device, net_device_nd_net);
	return AT(u64, net, net_net_cookie) == found->cookie ? found : 0;
}

struct look {
	u64 frames;
	u64 taken;
	u64 expected;
	int is_slow;
};

INLINE void note(struct slowness *slowness, u64 now, const struct look *look, u64 enough,
		 u64 taken_back)
{
	if (likely(!look->is_slow)) {
		u64 points = slowness->points;
		slowness->points = points > taken_back ? points - taken_back : 0;
		return;
	}
	if (!slowness->points)
		slowness->begun = now;
	if (slowness->points < 2 * enough)
		slowness->points++;
	if (slowness->points < enough)
		return;
	if (!slowness->since)
		slowness->since = slowness->begun;
	slowness->last = now;
	slowness->frames += look->frames;
	slowness->taken += look->taken;
	slowness->expected += look->expected;
}

/* A frame is about to enter the queue of a device. */
PROGRAM int pace_queued(struct arguments *arguments)
{
	const u8 *frame = (const u8 *)arguments->of[0];
	if (AT(u32, frame, sk_buff_mark) >> HOP_MARK_SIGN_AT != HOP_MARK_SIGN)
		return 0;
	const u8 *words = frame + constant(sk_buff_cb) + constant(qdisc_skb_cb_data);
	u64 came = *(const u32 *)(words + 4 * HOP_CAME_LOW);
	if (came & LOOKED_AT)
		return 0;
	came |= (u64)*(const u32 *)(words + 4 * HOP_CAME_HIGH) << 32;
	struct device *device = watched(AT(const u8 *, frame, sk_buff_dev));
	if (!device || !device->most)
		return 0;
	u64 now = ktime_get_ns();
	if (came > now || now - came > LONGEST_BELIEVED)
		return 0;
	struct look look = {
		.frames = 1,
		.taken = now - came,
		.expected = device->most,
		.is_slow = now - came > device->most,
	};
	note(&device->processor, now, &look, FRAMES_ENOUGH, FRAME_TAKES_BACK);
	return 0;
}

/* Returns whether a link was slow for a span: most gaps were far too long, or the others
 * were together. */
INLINE int is_slow_span(const struct device *device)
{
	u64 held_taken = device->span_held_taken, held_expected = device->span_held_expected;
	u64 taken = device->span_taken - held_taken;
	u64 expected = device->span_expected - held_expected;
	return 4 * device->span_held > 3 * device->span_frames ||
	       taken > expected + expected / TOLERANCE;
}

INLINE void begin_span(struct device *device)
{
	device->span_frames = 0;
	device->span_taken = 0;
	device->span_expected = 0;
	device->span_held = 0;
	device->span_held_taken = 0;
	device->span_held_expected = 0;
}

/* Adds the gap before a frame that had waited. */
INLINE void gap_ended(struct device *device, u64 now)
{
	u64 taken = now - device->last;
	u64 expected = device->last_bytes * device->byte_ps / 1000;
	device->span_frames += 1;
	device->span_taken += taken;
	device->span_expected += expected;
	u64 is_held = taken > expected + expected / 4 + HELD_UP_NS;
	device->span_held += is_held;
	/* The next one leaves the earlier by that. */
	if (is_held || device->was_held) {
		device->span_held_taken += taken;
		device->span_held_expected += expected;
	}
	device->was_held = is_held;
	if (device->span_expected < SPAN_NS)
		return;
	struct look look = {
		.frames = device->span_frames,
		.taken = device->span_taken,
		.expected = device->span_expected,
		.is_slow = is_slow_span(device),
	};
	note(&device->link, now, &look, SPANS_ENOUGH, SPAN_TAKES_BACK);
	begin_span(device);
}

/* A frame is handed to a device. */
PROGRAM int pace_left(struct arguments *arguments)
{
	const u8 *from = (const u8 *)arguments->of[1];
	struct device *device = watched(from);
	if (!device || !device->byte_ps)
		return 0;
	const u8 *queue = AT(const u8 *, from, net_device__tx);
	const u8 *qdisc = AT(const u8 *, queue, netdev_queue_qdisc);
	const u8 *length_of = qdisc + constant(Qdisc_q);
	u64 waits = *(const u32 *)(length_of + constant(qdisc_skb_head_qlen)) > 0;
	u64 waited = device->waits;
	if (likely(!waits && !waited))
		return 0;
	u64 now = ktime_get_ns();
	if (waited && device->row_bytes > BURST_BYTES && now > device->last)
		gap_ended(device, now);
	u32 length = AT(u32, (const u8 *)arguments->of[0], sk_buff_len);
	u64 bytes = (length > SHORTEST_BYTES ? length : SHORTEST_BYTES) + WIRE_BYTES;
	device->row_bytes = waited ? device->row_bytes + bytes : bytes;
	if (!waited)
		begin_span(device);
	device->waits = waits;
	device->last = now;
	device->last_bytes = bytes;
	return 0;
}
