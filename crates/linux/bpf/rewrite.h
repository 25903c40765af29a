/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overwrites fields of the copied headers, checksums included: `rewrite` and
 * `checksum` of the core. A frame that lacks the header in question stays as it
 * is.
 */
#pragma once

#include "headers.h"

#define IPV4_CHECKSUM 10
#define IPV4_SRC 12
#define IPV4_DST 16
#define IPV6_SRC 8
#define IPV6_DST 24
#define ARP_OP 6
#define ARP_SHA 8
#define ARP_SPA 14
#define ARP_THA 18
#define ARP_TPA 24

/* Notes that so many bytes from `at` on are changed. */
INLINE void mark(struct form *form, u32 at, u32 bytes)
{
	if (form->changes.from > at)
		form->changes.from = at;
	if (form->changes.to < at + bytes)
		form->changes.to = at + bytes;
}

INLINE void put_u8(struct form *form, u32 at, u32 value)
{
	form->bytes[GAP + at] = value;
	mark(form, at, 1);
}

INLINE void put_u16(struct form *form, u32 at, u32 value)
{
	*(u16 *)(form->bytes + GAP + at) = be16((u16)value);
	mark(form, at, 2);
}

INLINE void put_u32(struct form *form, u32 at, u32 value)
{
	put_u16(form, at, value >> 16);
	put_u16(form, at + 2, value);
}

/* What a sum of 16-bit words, in one's complement, grows by if `old` becomes
 * `new`: RFC 1624 Eq. (3). */
INLINE u32 growth16(u32 old, u32 new)
{
	return (~old & 0xffff) + (new & 0xffff);
}

INLINE u32 growth32(u32 old, u32 new)
{
	return growth16(old >> 16, new >> 16) + growth16(old, new);
}

INLINE u32 folded(u32 sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	return (sum >> 16) + (sum & 0xffff);
}

/* Works a growth into the checksum at `at`. */
INLINE void update_sum(struct form *form, u32 at, u32 growth)
{
	u32 sum = (~u16_at(form, at) & 0xffff) + growth;
	put_u16(form, at, ~folded(sum));
}

INLINE void update_ipv4_sum(struct form *form, u32 growth)
{
	update_sum(form, NETWORK_AT + IPV4_CHECKSUM, growth);
}

/* Returns where the checksum of layer 4 stands, or zero if there is none. */
INLINE u32 transport_sum(const struct work *work)
{
	u32 at = work->transport_at;
	switch (work->transport) {
	case PROTO_TCP:
		at += 16;
		break;
	case PROTO_UDP:
		at += 6;
		break;
	case PROTO_ICMP:
	case PROTO_ICMPV6:
		at += 2;
		break;
	default:
		return 0;
	}
	return at + 2 <= work->packet_end ? at : 0;
}

/* Returns whether the checksum of layer 4 is only that of the pseudo header, not
 * yet complemented. */
INLINE int sum_is_partial(const struct work *work)
{
	return work->is_partial && (work->transport == PROTO_TCP || work->transport == PROTO_UDP);
}

/* Works a growth into the checksum of layer 4, of which zero says in UDP that
 * there is none: RFC 768. Only one of the pseudo header, if that is all it covers. */
INLINE void update_transport_sum(struct work *work, u32 growth, u32 is_pseudo)
{
	u32 at = transport_sum(work);
	forget(at);
	if (at < NETWORK_AT || at > TRANSPORT_AT_MAX + 16)
		return;
	if (sum_is_partial(work)) {
		if (is_pseudo)
			put_u16(&work->form, at, folded(u16_at(&work->form, at) + growth));
		return;
	}
	if (work->transport != PROTO_UDP) {
		update_sum(&work->form, at, growth);
		return;
	}
	u32 sum = u16_at(&work->form, at);
	if (sum == 0)
		return;
	sum = ~folded((~sum & 0xffff) + growth) & 0xffff;
	put_u16(&work->form, at, sum ? sum : 0xffff);
}

/* The same for what the pseudo header has. */
INLINE void update_pseudo_sum(struct work *work, u32 growth)
{
	if (work->transport != PROTO_ICMP)
		update_transport_sum(work, growth, 1);
}

INLINE void set_address(struct plan *plan, u64 address, u32 at)
{
	struct form *form = &plan->work.form;
	put_u32(form, at, (u32)(address >> 16));
	put_u16(form, at + 4, (u32)address);
}

INLINE void set_mac(struct plan *plan, u64 address, u32 at)
{
	struct form *form = &plan->work.form;
	touch(plan);
	*(u16 *)(form->bytes + GAP + at) = be16((u16)(address >> 32));
	*(u16 *)(form->bytes + GAP + at + 2) = be16((u16)(address >> 16));
	*(u16 *)(form->bytes + GAP + at + 4) = be16((u16)address);
	form->changes.addresses = 1;
}

INLINE void set_type_of_service(struct plan *plan, u32 wanted, u32 kept)
{
	struct form *form = &plan->work.form;
	u32 old = u16_at(form, NETWORK_AT);
	if (plan->work.network == NETWORK_IPV4) {
		touch(plan);
		u32 new = (old & (0xff00 | kept)) | wanted;
		update_ipv4_sum(form, growth16(old, new));
		put_u16(form, NETWORK_AT, new);
	} else if (plan->work.network == NETWORK_IPV6) {
		touch(plan);
		put_u16(form, NETWORK_AT, (old & (0xf00f | kept << 4)) | wanted << 4);
	}
}

/* Returns the type of service of an IP packet. */
INLINE u32 type_of_service(const struct work *work)
{
	u32 first = u16_at(&work->form, NETWORK_AT);
	return (work->network == NETWORK_IPV6 ? first >> 4 : first) & 0xff;
}

/* Raises the drop precedence, which only code points of assured forwarding
 * have: RFC 2597 section 6. */
CHECKED_ONCE int raise_drop_precedence(struct plan *plan, u32 levels)
{
	if (!plan)
		return TO_CORE;
	if (!(plan->needs & NEED_NETWORK))
		return TO_CORE;
	u32 tos = type_of_service(&plan->work);
	u32 class = tos >> 5;
	u32 precedence = tos >> 3 & 3;
	if (class >= 1 && class <= 4 && precedence > 0 && !(tos & 4)) {
		precedence += levels & 0xff;
		if (precedence > 3)
			precedence = 3;
		tos = class << 5 | precedence << 3 | (tos & 3);
	}
	/* Even if nothing changes: the sum may have two forms of zero. */
	set_type_of_service(plan, tos, 0);
	return GOES_ON;
}

INLINE void set_ipv4(struct plan *plan, u32 address, u32 at)
{
	struct work *work = &plan->work;
	if (work->network != NETWORK_IPV4)
		return;
	touch(plan);
	u32 growth = growth32(u32_at(&work->form, at), address);
	update_ipv4_sum(&work->form, growth);
	update_pseudo_sum(work, growth);
	put_u32(&work->form, at, address);
}

INLINE void set_ipv6(struct plan *plan, const struct action *action, u32 word)
{
	struct work *work = &plan->work;
	if (work->network != NETWORK_IPV6)
		return;
	touch(plan);
	u64 old_high = be64(work->form.words[word]);
	u64 old_low = be64(work->form.words[word + 1]);
	u64 new_high = action->words[ACTION_VALUE];
	u64 new_low = action->words[ACTION_LOW];
	u32 growth = growth32(high(old_high), high(new_high)) + growth32(low(old_high), low(new_high)) +
		     growth32(high(old_low), high(new_low)) + growth32(low(old_low), low(new_low));
	update_pseudo_sum(work, growth);
	work->form.words[word] = be64(new_high);
	work->form.words[word + 1] = be64(new_low);
	mark(&work->form, 8 * word - GAP, 16);
}

INLINE void set_flow_label(struct plan *plan, u32 label)
{
	struct form *form = &plan->work.form;
	if (plan->work.network != NETWORK_IPV6)
		return;
	touch(plan);
	u32 first = u32_at(form, NETWORK_AT);
	put_u32(form, NETWORK_AT, (first & 0xfff00000) | (label & 0xfffff));
}

/* Sets the first two or the next two bytes of the header of layer 4: a port, or
 * type or code of ICMP. */
INLINE int set_transport(struct plan *plan, u32 protocol, u32 value, u32 is_destination)
{
	struct work *work = &plan->work;
	if (protocol == PROTO_SCTP)
		return TO_CORE;
	if (work->transport != protocol || !transport_sum(work))
		return GOES_ON;
	u32 at = work->transport_at;
	int is_icmp = protocol == PROTO_ICMP || protocol == PROTO_ICMPV6;
	if (is_destination && !is_icmp)
		at += 2;
	forget(at);
	if (at < NETWORK_AT || at > TRANSPORT_AT_MAX + 2)
		return TO_CORE;
	touch(plan);
	u32 old = u16_at(&work->form, at);
	u32 new = value & 0xffff;
	/* Type and code share one word of the sum. */
	if (is_icmp)
		new = is_destination ? (old & 0xff00) | (value & 0xff) : value << 8 | (old & 0xff);
	update_transport_sum(work, growth16(old, new), 0);
	put_u16(&work->form, at, new);
	return GOES_ON;
}

INLINE int is_arp(struct plan *plan)
{
	if (plan->work.network != NETWORK_ARP)
		return 0;
	touch(plan);
	return 1;
}

/* Returns what has to have been read for an action to do what it says. */
INLINE u64 needs_of(u32 operation)
{
	switch (operation) {
	case OPERATION_SET_IP_DSCP:
	case OPERATION_SET_IP_ECN:
	case OPERATION_SET_IPV6_FLOW_LABEL:
		return NEED_NETWORK;
	case OPERATION_SET_IPV4_SRC:
	case OPERATION_SET_IPV4_DST:
	case OPERATION_SET_IPV6_SRC:
	case OPERATION_SET_IPV6_DST:
	case OPERATION_SET_L4_SRC:
	case OPERATION_SET_L4_DST:
		return NEED_NETWORK | NEED_TRANSPORT;
	case OPERATION_SET_ARP_OP:
	case OPERATION_SET_ARP_SPA:
	case OPERATION_SET_ARP_TPA:
	case OPERATION_SET_ARP_SHA:
	case OPERATION_SET_ARP_THA:
		return NEED_ARP;
	default:
		return 0;
	}
}

/* Overwrites one field. */
INLINE int set_field(struct plan *plan, const struct action *action)
{
	struct form *form = &plan->work.form;
	u64 value = action->words[ACTION_VALUE];
	u32 what = low(action->words[ACTION_WHAT]);
	u32 operation = what & 0xff;
	u64 needs = needs_of(operation);
	if ((plan->needs & needs) != needs)
		return TO_CORE;
	switch (operation) {
	case OPERATION_SET_ETH_DST:
		set_mac(plan, value, 0);
		break;
	case OPERATION_SET_ETH_SRC:
		set_mac(plan, value, 6);
		break;
	case OPERATION_SET_IP_DSCP:
		set_type_of_service(plan, (value & 0x3f) << 2, 3);
		break;
	case OPERATION_SET_IP_ECN:
		set_type_of_service(plan, value & 3, 0xfc);
		break;
	case OPERATION_SET_IPV4_SRC:
		set_ipv4(plan, value, NETWORK_AT + IPV4_SRC);
		break;
	case OPERATION_SET_IPV4_DST:
		set_ipv4(plan, value, NETWORK_AT + IPV4_DST);
		break;
	case OPERATION_SET_IPV6_SRC:
		set_ipv6(plan, action, 3);
		break;
	case OPERATION_SET_IPV6_DST:
		set_ipv6(plan, action, 5);
		break;
	case OPERATION_SET_IPV6_FLOW_LABEL:
		set_flow_label(plan, value);
		break;
	case OPERATION_SET_L4_SRC:
		return set_transport(plan, what >> 16 & 0xff, value, 0);
	case OPERATION_SET_L4_DST:
		return set_transport(plan, what >> 16 & 0xff, value, 1);
	case OPERATION_SET_ARP_OP:
		if (is_arp(plan))
			put_u16(form, NETWORK_AT + ARP_OP, value);
		break;
	case OPERATION_SET_ARP_SPA:
		if (is_arp(plan))
			put_u32(form, NETWORK_AT + ARP_SPA, value);
		break;
	case OPERATION_SET_ARP_TPA:
		if (is_arp(plan))
			put_u32(form, NETWORK_AT + ARP_TPA, value);
		break;
	case OPERATION_SET_ARP_SHA:
		if (is_arp(plan))
			set_address(plan, value, NETWORK_AT + ARP_SHA);
		break;
	case OPERATION_SET_ARP_THA:
		if (is_arp(plan))
			set_address(plan, value, NETWORK_AT + ARP_THA);
		break;
	case OPERATION_SET_TUNNEL:
		touch(plan);
		plan->work.key[12] = value;
		break;
	default:
		return TO_CORE;
	}
	return GOES_ON;
}
