/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sees when a processor does not get on with frames.
 *
 * Frames of the kernel are moved in soft interrupts, and by the thread that sends one
 * from its queue to the device. Whoever moves them passes one of the places below every
 * few microseconds: a frame leaves its queue, is sent or received, an interrupt begins or
 * ends. If a processor that is amid that passes none for longer than LEAST, somebody else
 * had it: the hypervisor below, which is not always honest about that, a hard interrupt,
 * or soft interrupts that are not about frames. Each such time is taken down, with what
 * the processor was at.
 *
 * What else an ordinary thread does is none of this program's business: any interrupt
 * may come then at any time.
 *
 * A program at one place may interrupt that at another, on the same processor. Then the
 * one that was interrupted has read the clock before and writes after; times overlap by
 * what the other one took, and whoever reads them takes their union.
 */
#include "kernel.h"

MAP(processors);
MAP(spans);

/* The same numbers stand in `frame_watch.rs`. */
#define LEAST_NS 20000ULL
#define SPANS_EACH 1048576U
/* Numbers of soft interrupts: linux/interrupt.h. */
#define NET_TX 2ULL
#define NET_RX 3ULL

enum cause {
	FORWARDING = 1,
	HARD = 2,
	OTHER_SOFT = 3,
};

/* What a processor is at. */
struct processor {
	u64 place; /* whose times it has in `spans`, plus one; zero if it is not watched */
	u64 last; /* when it passed a place, in ns */
	u64 hard; /* how many hard interrupts it is in */
	u64 soft; /* the number of the soft interrupt that it is in, plus one */
	u64 sending; /* whether a frame has left its queue and is on its way to the device */
	u64 seen; /* how many times were taken down, or found no room */
};

struct span {
	u64 from;
	u64 to;
	u64 cause;
};

/* What tracepoints give: their arguments. */
struct arguments {
	u64 of[4];
};

INLINE u64 cause_of(const struct processor *processor)
{
	if (processor->hard)
		return HARD;
	if (processor->soft && processor->soft != NET_TX + 1 && processor->soft != NET_RX + 1)
		return OTHER_SOFT;
	return FORWARDING;
}

INLINE void take_down(struct processor *processor, u64 now)
{
	u64 seen = processor->seen++;
	if (seen >= SPANS_EACH)
		return;
	u32 key = (u32)(processor->place - 1) * SPANS_EACH + (u32)seen;
	struct span *span = map_lookup_elem(&spans, &key);
	if (!span)
		return;
	span->from = processor->last;
	span->to = now;
	span->cause = cause_of(processor);
}

/* Returns what the processor is at that runs this, if it is watched. */
INLINE struct processor *watched(void)
{
	u32 number = get_smp_processor_id();
	struct processor *processor = map_lookup_elem(&processors, &number);
	return processor && processor->place ? processor : 0;
}

/* Returns the processor that passes a place, and takes down what was before if that took
 * long. */
INLINE struct processor *pass(void)
{
	struct processor *processor = watched();
	if (!processor)
		return 0;
	u64 now = ktime_get_ns();
	u64 last = processor->last;
	u64 amid = processor->hard | processor->soft | processor->sending;
	if (amid && now > last && now - last >= LEAST_NS)
		take_down(processor, now);
	processor->last = now;
	return processor;
}

/* A queue was asked for a frame, and gave one or none. */
PROGRAM int dequeued(struct arguments *arguments)
{
	struct processor *processor = pass();
	if (processor)
		processor->sending = arguments->of[3] != 0;
	return 0;
}

/* A frame was handed to a device, which took it or did not. */
PROGRAM int sent(struct arguments *arguments)
{
	(void)arguments;
	struct processor *processor = pass();
	if (processor)
		processor->sending = 0;
	return 0;
}

PROGRAM int received(struct arguments *arguments)
{
	(void)arguments;
	pass();
	return 0;
}

PROGRAM int soft_entered(struct arguments *arguments)
{
	struct processor *processor = pass();
	if (processor)
		processor->soft = (u32)arguments->of[0] + 1ULL;
	return 0;
}

PROGRAM int soft_left(struct arguments *arguments)
{
	(void)arguments;
	struct processor *processor = pass();
	if (processor)
		processor->soft = 0;
	return 0;
}

PROGRAM int hard_entered(struct arguments *arguments)
{
	(void)arguments;
	struct processor *processor = pass();
	if (processor)
		processor->hard++;
	return 0;
}

PROGRAM int hard_left(struct arguments *arguments)
{
	(void)arguments;
	struct processor *processor = pass();
	if (processor && processor->hard)
		processor->hard--;
	return 0;
}

/* Another thread runs: nothing is under way, whatever was missed. */
PROGRAM int switched(struct arguments *arguments)
{
	(void)arguments;
	struct processor *processor = watched();
	if (processor) {
		processor->hard = 0;
		processor->soft = 0;
		processor->sending = 0;
	}
	return 0;
}
