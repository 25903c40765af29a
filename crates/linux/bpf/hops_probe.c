/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends frames back that look as if a switch had let them carry a mark and a time, for
 * tests of who sees them leave. Both stand in the frame, where its payload is if it is TCP
 * over IPv4.
 */
#include "kernel.h"
#include "layout.h"

#define PAYLOAD_AT 54

struct said {
	u32 mark;
	u32 low;
	u32 high;
	u32 frames;
};

PROGRAM int bounce(struct __sk_buff *frame)
{
	struct said said;
	if (skb_load_bytes(frame, PAYLOAD_AT, &said, sizeof(said)))
		return TC_ACT_SHOT;
	frame->mark = said.mark;
	frame->tc_index = (u16)said.frames;
	frame->cb[HOP_CAME_LOW] = said.low;
	frame->cb[HOP_CAME_HIGH] = said.high;
	return (int)redirect(frame->ifindex, 0);
}
