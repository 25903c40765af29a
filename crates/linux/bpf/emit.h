/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the frame as planned: brings it to the form of one output after the
 * other, and hands a copy to each port, the frame itself to the last.
 */
#pragma once

#include "headers.h"
#include "tallies.h"

/* Makes the tags of the frame those of a form. */
INLINE int shape_tags(struct __sk_buff *frame, struct plan *plan, const struct form *form)
{
	u32 same = 0;
	for (u32 i = 0; i < LIMIT_TAGS; i++) {
		if (i >= plan->sent_tag_count || i >= form->tag_count ||
		    plan->sent_tags[i] != form->tags[i])
			break;
		same = i + 1;
	}
	for (u32 i = 0; i < LIMIT_TAGS; i++) {
		if (plan->sent_tag_count <= same)
			break;
		if (skb_vlan_pop(frame))
			return 1;
		plan->sent_tag_count -= 1;
	}
	for (u32 i = 0; i < LIMIT_TAGS; i++) {
		u32 count = plan->sent_tag_count;
		if (count >= form->tag_count || count >= LIMIT_TAGS)
			break;
		count = slot(count, LIMIT_TAGS);
		u32 tag = form->tags[count];
		if (skb_vlan_push(frame, be16(tag >> 16), tag))
			return 1;
		plan->sent_tags[count] = tag;
		plan->sent_tag_count = count + 1;
	}
	return 0;
}

/* Takes the redundancy tag off at a place: what is behind it is moved. */
INLINE int cut_redundancy(struct __sk_buff *frame, struct plan *plan, u32 at)
{
	u32 bytes = frame->len - at - REDUNDANCY_BYTES;
	forget(bytes);
	if (bytes < 2 || bytes > MOVED_BYTES)
		return 1;
	return skb_load_bytes(frame, at + REDUNDANCY_BYTES, plan->moved, bytes) ||
	       skb_store_bytes(frame, at, plan->moved, bytes, BPF_F_RECOMPUTE_CSUM) ||
	       skb_change_tail(frame, frame->len - REDUNDANCY_BYTES, 0);
}

/* Behind a tag up to so many bytes are moved. More of them, and the kernel does better to
 * make room in front of the frame, for which it copies all of it where there is none. */
#define MOVED_FOR_A_TAG 256

/* Puts a redundancy tag into a short frame: what is behind it is moved. */
INLINE int insert_redundancy(struct __sk_buff *frame, struct plan *plan, const u16 *tag, u32 at)
{
	u32 bytes = frame->len - at;
	forget(bytes);
	if (bytes < 2 || bytes > MOVED_FOR_A_TAG)
		return 1;
	if (skb_load_bytes(frame, at, plan->moved + REDUNDANCY_BYTES, bytes))
		return 1;
	__builtin_memcpy(plan->moved, tag, REDUNDANCY_BYTES);
	return skb_change_tail(frame, frame->len + REDUNDANCY_BYTES, 0) ||
	       skb_store_bytes(frame, at, plan->moved, bytes + REDUNDANCY_BYTES,
			       BPF_F_RECOMPUTE_CSUM);
}

/* Puts a redundancy tag into a frame: what is before it is moved. */
INLINE int prepend_redundancy(struct __sk_buff *frame, struct plan *plan, const u16 *tag, u32 at)
{
	if (skb_change_head(frame, REDUNDANCY_BYTES, 0))
		return 1;
	forget(at);
	if (at < TYPE_AT || at > TYPE_AT + 4 * LIMIT_TAGS)
		return 1;
	if (skb_load_bytes(frame, REDUNDANCY_BYTES, plan->moved, at))
		return 1;
	__builtin_memcpy(plan->moved + at, tag, REDUNDANCY_BYTES);
	return skb_store_bytes(frame, 0, plan->moved, at + REDUNDANCY_BYTES, BPF_F_RECOMPUTE_CSUM);
}

/* Makes the redundancy tag of the frame, behind all others, that of a form. */
CHECKED_ONCE int shape_redundancy(struct __sk_buff *frame, struct plan *plan, u32 wanted, u32 at)
{
	if (!plan)
		return 1;
	u32 sent = plan->sent_redundancy;
	plan->sent_redundancy = wanted;
	if (!wanted)
		return cut_redundancy(frame, plan, at);
	u16 tag[] = {be16(TYPE_REDUNDANCY), 0, be16((u16)wanted)};
	if (sent)
		return skb_store_bytes(frame, at + 4, &tag[2], 2, BPF_F_RECOMPUTE_CSUM);
	return frame->len - at > MOVED_FOR_A_TAG ? prepend_redundancy(frame, plan, tag, at)
						  : insert_redundancy(frame, plan, tag, at);
}

/* Takes the trailer off that a form has no more, so that nothing of it is left in what the
 * frame is padded with. */
INLINE int cut_trailer(struct __sk_buff *frame, const struct plan *plan, const struct form *form)
{
	if (!(plan->sent_trailer & HAS_NUMBER) || form->trailer & HAS_NUMBER)
		return 0;
	return skb_change_tail(frame, frame->len - TRAILER_BYTES, 0);
}

/* Makes the last bytes of the frame the trailer of a form that carries its payload in so many
 * bytes. */
INLINE int shape_trailer(struct __sk_buff *frame, u32 trailer, u32 carried)
{
	u16 tail[] = {be16((u16)trailer),
		      be16((u16)(trailer >> TRAILER_LAN_AT << 12 | (carried & 0xfff))),
		      be16(TRAILER_SUFFIX)};
	return skb_store_bytes(frame, frame->len - TRAILER_BYTES, tail, sizeof(tail),
			       BPF_F_RECOMPUTE_CSUM);
}

/* Makes the headers of the frame those of a form, of which tags of so many bytes stand
 * in the bytes of the frame. */
INLINE int shape_headers(struct __sk_buff *frame, struct plan *plan, const struct form *form,
			 u32 tags)
{
	struct changes *sent = &plan->sent_changes;
	u32 from = form->changes.from < sent->from ? form->changes.from : sent->from;
	u32 to = form->changes.to > sent->to ? form->changes.to : sent->to;
	if (from < to) {
		u32 bytes = to - from;
		forget(from);
		forget(bytes);
		if (from < NETWORK_AT || from >= HEADER_BYTES || bytes < 1 || bytes > HEADER_BYTES)
			return 1;
		if (skb_store_bytes(frame, from + tags, form->bytes + GAP + from, bytes,
				    BPF_F_RECOMPUTE_CSUM))
			return 1;
	}
	if ((form->changes.addresses || sent->addresses) &&
	    skb_store_bytes(frame, 0, form->bytes + GAP, TYPE_AT, BPF_F_RECOMPUTE_CSUM))
		return 1;
	*sent = form->changes;
	return 0;
}

/* Brings the frame to a form. Returns whether the kernel could not. */
CHECKED_ONCE int shape(struct __sk_buff *frame, struct plan *plan, u32 number)
{
	if (!plan || number >= LIMIT_FORMS)
		return 1;
	const struct form *form = &plan->shapes[slot(number, LIMIT_FORMS)];
	if (shape_tags(frame, plan, form))
		return 1;
	u32 inside = frame->vlan_present ? plan->sent_tag_count - 1 : plan->sent_tag_count;
	u32 tags = 4 * inside;
	if (form->redundancy != plan->sent_redundancy &&
	    shape_redundancy(frame, plan, form->redundancy, TYPE_AT + tags))
		return 1;
	if (form->redundancy)
		tags += REDUNDANCY_BYTES;
	u32 length = form->body + tags;
	if (unlikely(form->trailer != plan->sent_trailer) && cut_trailer(frame, plan, form))
		return 1;
	if (frame->len != length && skb_change_tail(frame, length, 0))
		return 1;
	if (shape_headers(frame, plan, form, tags))
		return 1;
	if (unlikely(form->trailer != plan->sent_trailer)) {
		plan->sent_trailer = form->trailer;
		if (form->trailer & HAS_NUMBER &&
		    shape_trailer(frame, form->trailer, form->body - NETWORK_AT))
			return 1;
	}
	plan->sent_form = number;
	return 0;
}

/* What became of an output. */
enum sending {
	/* It is the last: the program is to return this. */
	REDIRECTED = TC_ACT_REDIRECT,
	DONE = TC_ACT_OK,
	/* The kernel could not. */
	FAILED = TC_ACT_SHOT,
};

/* Sends the frame through one port. */
INLINE int send(struct __sk_buff *frame, struct plan *plan, const struct output *output, int is_last)
{
	if (output->stays)
		return DONE;
	const u64 *port = record(&ports, output->port);
	if (!port)
		return FAILED;
	if (output->form != plan->sent_form && shape(frame, plan, output->form))
		return FAILED;
	u32 class = high(port[PORT_NUMBER]);
	frame->priority = class ? class + output->queue : 0;
	mark_frame(frame, plan, output->mark);
	u32 interface = low(port[PORT_INTERFACE]);
	if (is_last && !plan->copies_only)
		return (int)redirect(interface, 0);
	clone_redirect(frame, interface, 0);
	return DONE;
}

/* The same where frames leave by several ports. */
CHECKED_ONCE int send_one(struct __sk_buff *frame, struct plan *plan, u32 at)
{
	if (!plan || at >= LIMIT_OUTPUTS)
		return FAILED;
	return send(frame, plan, &plan->outputs[slot(at, LIMIT_OUTPUTS)], at == plan->last);
}

/* Sends the frame through all its ports. */
INLINE int emit(struct __sk_buff *frame, struct plan *plan)
{
	if (likely(plan->output_count == 1))
		return send(frame, plan, &plan->outputs[0], 1);
	for (u32 at = 0; at < LIMIT_OUTPUTS; at++) {
		if (at >= plan->output_count)
			break;
		int result = send_one(frame, plan, at);
		if (result != DONE)
			return result;
	}
	return DONE;
}

/* Does what the plan says. */
CHECKED_ONCE int carry_out(struct __sk_buff *frame, struct plan *plan)
{
	if (!plan)
		return TC_ACT_SHOT;
	count(plan);
	int result = emit(frame, plan);
	if (result == REDIRECTED)
		return result;
	if (result == FAILED)
		add_total(TOTAL_ABANDONED, plan->frames);
	return TC_ACT_SHOT;
}
