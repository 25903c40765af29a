/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the processor for a while with each frame that leaves by an interface, in front of
 * its queue: whoever forwards there is slower by so much.
 */
#include "kernel.h"

/* How long, in ns. */
CONSTANT(extra_ns);

/* Looks at the clock in one part: some hundred microseconds. */
#define LOOKS 4096
/* More parts than the longest time takes. */
#define PARTS 64

/* Returns whether it is that time. */
CHECKED_ONCE int linger(u64 until)
{
	for (u32 look = 0; look < LOOKS; look++) {
		if (ktime_get_ns() >= until)
			return 1;
	}
	return 0;
}

PROGRAM int slow_down(struct __sk_buff *frame)
{
	u64 until = ktime_get_ns() + constant(extra_ns);
	for (u32 part = 0; part < PARTS; part++) {
		if (linger(until))
			break;
	}
	forget(frame);
	return TC_ACT_UNSPEC;
}
