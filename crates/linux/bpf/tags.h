/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts VLAN tags on the copied headers and takes them off: `tags` of the core.
 */
#pragma once

#include "headers.h"

INLINE int push_tag(struct plan *plan, u32 type)
{
	struct form *form = &plan->work.form;
	if (form->tag_count >= LIMIT_TAGS)
		return TOO_FAR;
	touch(plan);
	u32 count = slot(form->tag_count, LIMIT_TAGS);
	u32 inherited = count > 0 ? form->tags[count - 1] & 0xffff : 0;
	form->tags[count] = type << 16 | inherited;
	form->tag_count = count + 1;
	return GOES_ON;
}

/* The most bytes that a tag has. */
#define TAG_BYTES_MAX 6

/* Lets a frame that had a length before a tag was taken off remain long enough for the
 * medium; the zeros at its end may be read as headers. */
INLINE int keep_long_enough(struct plan *plan, u32 length)
{
	struct form *form = &plan->work.form;
	u32 now = length_now(plan);
	if (length < SHORTEST_FRAME || now >= SHORTEST_FRAME)
		return GOES_ON;
	/* It would not end with its trailer any more. */
	if (form->trailer)
		return TO_CORE;
	u32 end = form->body;
	form->body += SHORTEST_FRAME - now;
	forget(end);
	if (end < NETWORK_AT || end > SHORTEST_FRAME)
		return TO_CORE;
	for (u32 i = 0; i < TAG_BYTES_MAX; i++)
		form->bytes[GAP + end + i] = 0;
	return read_headers(plan);
}

/* Takes the first tag off. */
INLINE int pop_tag(struct plan *plan)
{
	struct form *form = &plan->work.form;
	if (!form->tag_count)
		return GOES_ON;
	touch(plan);
	u32 length = length_now(plan);
	form->tag_count -= 1;
	return keep_long_enough(plan, length);
}

/* Changes the control information of the first tag. */
INLINE int set_tag(struct plan *plan, u32 kept, u32 value)
{
	struct form *form = &plan->work.form;
	if (!form->tag_count)
		return GOES_ON;
	touch(plan);
	u32 first = slot(form->tag_count - 1, LIMIT_TAGS);
	form->tags[first] = (form->tags[first] & (0xffff0000 | kept)) | value;
	return GOES_ON;
}

/* Does what an action says about tags. */
INLINE int change_tags(struct plan *plan, const struct action *action)
{
	u64 what = action->words[ACTION_WHAT];
	u32 value = low(action->words[ACTION_VALUE]);
	switch (what & 0xff) {
	case OPERATION_PUSH_VLAN:
		return push_tag(plan, high(what));
	case OPERATION_ENSURE_TAG:
		return plan->work.form.tag_count ? GOES_ON : push_tag(plan, TYPE_VLAN);
	case OPERATION_POP_VLAN:
		return pop_tag(plan);
	case OPERATION_SET_VLAN_VID:
		return set_tag(plan, 0xf000, value & 0xfff);
	case OPERATION_SET_VLAN_PCP:
		return set_tag(plan, 0x1fff, (value & 7) << 13);
	default:
		return TO_CORE;
	}
}
