/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the headers of a frame are, and what stands in them: `headers` of the
 * core, as far as the program reads it. What it cannot read and somebody looks
 * at goes to the core: extension headers of IPv6, neighbour discovery, MPLS,
 * backbone tags, SNAP.
 */
#pragma once

#include "plan.h"

#define TYPE_VLAN 0x8100
#define TYPE_SERVICE_VLAN 0x88a8
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_ARP 0x0806
#define TYPE_MPLS 0x8847
#define TYPE_MPLS_UPSTREAM 0x8848
#define TYPE_BACKBONE 0x88e7
/* The lowest number that is a type. */
#define TYPE_MIN 0x0600
#define WITHOUT_TYPE 0x05ff

#define PROTO_ICMP 1
#define PROTO_IPV4 4
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_IPV6 41
#define PROTO_ICMPV6 58
#define PROTO_SCTP 132

#define VLAN_PRESENT 0x1000

/* More fragments follow, or this is not the first. */
#define IPV4_FRAGMENT 0x3fff
#define IPV4_OFFSET 0x1fff

#define TRANSPORT_AT_MAX (NETWORK_AT + 60)

INLINE int is_vlan(u32 type)
{
	return type == TYPE_VLAN || type == TYPE_SERVICE_VLAN;
}

/* The two bytes, four bytes at an even place of the headers. */
INLINE u32 u16_at(const struct form *form, u32 at)
{
	return be16(*(const u16 *)(form->bytes + GAP + at));
}

INLINE u32 u32_at(const struct form *form, u32 at)
{
	return u16_at(form, at) << 16 | u16_at(form, at + 2);
}

/* Takes the VLAN tags off that stand in the bytes of the frame, and reads what
 * follows them. */
CHECKED_ONCE int take_tags(struct __sk_buff *frame, struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	struct form *form = &plan->work.form;
	u32 outer = form->tag_count;
	u32 tags[LIMIT_TAGS];
	u32 count = 0;
	for (u32 i = 0; i <= LIMIT_TAGS; i++) {
		u16 tag[3] = {};
		/* A tag that the type below does not follow is none. */
		if (skb_load_bytes(frame, TYPE_AT + 4 * i, tag, sizeof(tag)))
			break;
		if (!is_vlan(be16(tag[0])))
			break;
		if (i == LIMIT_TAGS || outer + i >= LIMIT_TAGS)
			return TOO_FAR;
		tags[i & (LIMIT_TAGS - 1)] = be16(tag[0]) << 16 | be16(tag[1]);
		count = i + 1;
	}
	/* The innermost comes first; that of the metadata is the outermost. */
	u32 metadata = form->tags[0];
	for (u32 i = 0; i < LIMIT_TAGS; i++) {
		if (i < count)
			form->tags[i] = tags[(count - 1 - i) & (LIMIT_TAGS - 1)];
	}
	if (outer)
		form->tags[count & (LIMIT_TAGS - 1)] = metadata;
	form->tag_count = outer + count;
	form->body = frame->len - 4 * count;
	u32 rest = form->body < HEADER_BYTES ? form->body : HEADER_BYTES;
	rest -= TYPE_AT;
	forget(rest);
	if (rest < 2 || rest > HEADER_BYTES - TYPE_AT)
		return TO_CORE;
	if (skb_load_bytes(frame, TYPE_AT + 4 * count, form->bytes + GAP + TYPE_AT, rest))
		return TO_CORE;
	/* The kernel takes no tag off in front of one that is cut. */
	return is_vlan(u16_at(form, TYPE_AT)) ? TO_CORE : GOES_ON;
}

/* Takes the redundancy tag off that stands in the bytes of the frame behind its VLAN
 * tags, and reads what follows it. One that is cut short is none. */
CHECKED_ONCE int take_redundancy(struct __sk_buff *frame, struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	struct form *form = &plan->work.form;
	u32 at = TYPE_AT + 4 * (frame->vlan_present ? form->tag_count - 1 : form->tag_count);
	u16 tag[4];
	if (skb_load_bytes(frame, at, tag, sizeof(tag)))
		return GOES_ON;
	/* A card would repeat the number in each of many frames; and what is reserved is zero
	 * (IEEE 802.1CB clause 7.8) where a tag is put on again. */
	if (plan->segment || tag[1])
		return TO_CORE;
	form->redundancy = HAS_NUMBER | be16(tag[2]);
	form->body -= REDUNDANCY_BYTES;
	plan->sent_redundancy = form->redundancy;
	u32 rest = form->body < HEADER_BYTES ? form->body : HEADER_BYTES;
	rest = plan->needs ? rest - TYPE_AT : 2;
	forget(rest);
	if (rest < 2 || rest > HEADER_BYTES - TYPE_AT)
		return TO_CORE;
	if (skb_load_bytes(frame, at + REDUNDANCY_BYTES, form->bytes + GAP + TYPE_AT, rest))
		return TO_CORE;
	/* What would be a tag once this one is off. */
	u32 type = u16_at(form, TYPE_AT);
	return type == TYPE_REDUNDANCY || is_vlan(type) ? TO_CORE : GOES_ON;
}

/* Returns what the last bytes of a frame say that carries its payload in so many bytes, a
 * trailer included. */
INLINE u32 trailer_of(const u16 *tail, u32 carried)
{
	u32 lan = be16(tail[1]) >> 12;
	if ((be16(tail[1]) & 0xfff) != carried || (lan != LAN_A && lan != LAN_B))
		return TRAILER_BY_CHANCE;
	return lan << TRAILER_LAN_AT | HAS_NUMBER | be16(tail[0]);
}

/* Reads the trailer of PRP. */
INLINE void read_trailer(struct __sk_buff *frame, struct plan *plan)
{
	struct form *form = &plan->work.form;
	u16 tail[3];
	u32 length = frame->len;
	if (length < NETWORK_AT + TRAILER_BYTES ||
	    skb_load_bytes(frame, length - TRAILER_BYTES, tail, sizeof(tail)))
		return;
	u32 carried = form->body - NETWORK_AT + (form->redundancy ? REDUNDANCY_BYTES : 0);
	if (be16(tail[2]) == TRAILER_SUFFIX)
		form->trailer = trailer_of(tail, carried);
	else if (plan->length <= TRAILER_PADDED + 4 * LIMIT_TAGS + REDUNDANCY_BYTES &&
		 !(be16(tail[2]) & 0xff))
		form->trailer = TRAILER_UNSURE;
	plan->sent_trailer = form->trailer;
}

/* The shortest frame of Ethernet, without its check sequence. */
#define SHORTEST_FRAME 60

/* Eight, four, two bytes of a frame, anywhere. */
struct bytes_8 {
	u64 word;
} __attribute__((packed));
struct bytes_4 {
	u32 word;
} __attribute__((packed));
struct bytes_2 {
	u16 word;
} __attribute__((packed));

/* Copies addresses and type of a frame that has them. */
INLINE void copy_first(struct form *form, const u8 *data)
{
	u64 first = ((const struct bytes_4 *)data)->word;
	u64 second = ((const struct bytes_2 *)(data + 4))->word;
	form->words[0] = first << 16 | second << 48;
	form->words[1] = ((const struct bytes_8 *)(data + 6))->word;
}

/* Copies words of the headers that the frame has. */
INLINE void copy_words(struct form *form, const u8 *data, u32 first, u32 end)
{
#pragma unroll
	for (u32 word = first; word < end; word++)
		form->words[word] = ((const struct bytes_8 *)(data + 8 * word - GAP))->word;
}

/* Copies bytes of the headers from one place on. Returns whether it could not. */
INLINE int copy_rest(struct __sk_buff *frame, struct form *form, u32 from)
{
	u32 end = form->body < HEADER_BYTES ? form->body : HEADER_BYTES;
	u32 bytes = end - from;
	forget(bytes);
	return bytes < 1 || bytes > HEADER_BYTES - from ||
	       skb_load_bytes(frame, from, form->bytes + GAP + from, bytes);
}

/* Copies the headers of a frame, as many as anybody looks at. */
INLINE int copy_headers(struct __sk_buff *frame, struct plan *plan)
{
	struct form *form = &plan->work.form;
	const u8 *data = (const u8 *)(long)frame->data;
	const u8 *end = (const u8 *)(long)frame->data_end;
	if (data + NETWORK_AT > end)
		return copy_rest(frame, form, 0);
	copy_first(form, data);
	if (!plan->needs || form->body == NETWORK_AT)
		return 0;
	if (data + HEADER_BYTES <= end) {
		copy_words(form, data, 2, 16);
		return 0;
	}
	if (data + SHORTEST_FRAME > end)
		return copy_rest(frame, form, NETWORK_AT);
	copy_words(form, data, 2, 7);
	*(u32 *)&form->words[7] = ((const struct bytes_4 *)(data + 54))->word;
	*(u16 *)(form->bytes + GAP + 58) = ((const struct bytes_2 *)(data + 58))->word;
	return form->body > SHORTEST_FRAME && copy_rest(frame, form, SHORTEST_FRAME);
}

/* Takes the headers of a frame. */
INLINE int load(struct __sk_buff *frame, struct plan *plan)
{
	struct form *form = &plan->work.form;
	form->body = frame->len;
	if (frame->vlan_present) {
		form->tags[0] = be16((u16)frame->vlan_proto) << 16 | (frame->vlan_tci & 0xffff);
		form->tag_count = 1;
	}
	if (copy_headers(frame, plan))
		return TO_CORE;
	int outcome = is_vlan(u16_at(form, TYPE_AT)) ? take_tags(frame, plan) : GOES_ON;
	if (!outcome && unlikely(u16_at(form, TYPE_AT) == TYPE_REDUNDANCY))
		outcome = take_redundancy(frame, plan);
	plan->sent_tag_count = form->tag_count;
	if (form->tag_count) {
		for (u32 i = 0; i < LIMIT_TAGS; i++)
			plan->sent_tags[i] = form->tags[i];
	}
	return outcome;
}

/* Reads the header of layer 4. */
INLINE int read_transport(struct plan *plan, u32 protocol, u32 at)
{
	struct work *work = &plan->work;
	if (at + 4 > work->packet_end || at > TRANSPORT_AT_MAX)
		return GOES_ON;
	u32 first = u32_at(&work->form, at);
	switch (protocol) {
	case PROTO_TCP:
	case PROTO_UDP:
	case PROTO_SCTP:
		work->key[3] |= first >> 16;
		work->key[4] |= (u64)first << 48;
		break;
	case PROTO_ICMPV6:
		/* A solicitation or an advertisement of a neighbour. */
		if ((plan->needs & NEED_DISCOVERY) && (first >> 24 == 135 || first >> 24 == 136))
			return TO_CORE;
		/* fall through */
	case PROTO_ICMP:
		work->key[3] |= first >> 24;
		work->key[4] |= (u64)(first >> 16 & 0xff) << 48;
		break;
	case PROTO_IPV4:
	case PROTO_IPV6:
		break;
	default:
		return GOES_ON;
	}
	work->transport = protocol;
	work->transport_at = at;
	return GOES_ON;
}

/* Returns where the packet ends that begins with its payload at `begin`. One that
 * cannot say so has no padding. */
INLINE u32 packet_end(const struct form *form, u32 begin, u32 end)
{
	return begin < end && end < form->body ? end : form->body;
}

INLINE int read_ipv4(struct plan *plan)
{
	struct work *work = &plan->work;
	u64 first = be64(work->form.words[2]);
	u32 length = (first >> 56 & 0xf) * 4;
	if (work->form.body < NETWORK_AT + 20 || first >> 60 != 4 || length < 20 ||
	    work->form.body < NETWORK_AT + length)
		return GOES_ON;
	u64 second = be64(work->form.words[3]);
	u32 protocol = second >> 48 & 0xff;
	work->network = NETWORK_IPV4;
	work->key[2] |= protocol << 8 | (first >> 48 & 0xff);
	work->key[5] = second << 32 | be32(*(u32 *)&work->form.words[4]);
	if (first & IPV4_OFFSET || !(plan->needs & NEED_TRANSPORT))
		return GOES_ON;
	u32 total = first >> 32 & 0xffff;
	work->packet_end = packet_end(&work->form, NETWORK_AT + length, NETWORK_AT + total);
	return read_transport(plan, protocol, NETWORK_AT + length);
}

#define EXTENSION_HOP_BY_HOP 0
#define EXTENSION_ROUTING 43
#define EXTENSION_FRAGMENT 44
#define EXTENSION_ENCRYPTION 50
#define EXTENSION_AUTHENTICATION 51
#define EXTENSION_NO_NEXT 59
#define EXTENSION_DESTINATION 60
/* Their bits in the field of extension headers. */
#define SEEN_NO_NEXT 1
#define SEEN_ENCRYPTION 2

INLINE int read_ipv6(struct plan *plan)
{
	struct work *work = &plan->work;
	u64 first = be64(work->form.words[2]);
	if (work->form.body < NETWORK_AT + 40 || first >> 60 != 6)
		return GOES_ON;
	u32 next = first >> 8 & 0xff;
	u64 seen = 0;
	switch (next) {
	case EXTENSION_HOP_BY_HOP:
	case EXTENSION_ROUTING:
	case EXTENSION_FRAGMENT:
	case EXTENSION_AUTHENTICATION:
	case EXTENSION_DESTINATION:
		return TO_CORE;
	case EXTENSION_ENCRYPTION:
		seen = SEEN_ENCRYPTION;
		break;
	case EXTENSION_NO_NEXT:
		seen = SEEN_NO_NEXT;
		break;
	}
	work->network = NETWORK_IPV6;
	work->key[2] |= next << 8 | (first >> 52 & 0xff);
	work->key[4] |= seen << 20 | (first >> 32 & 0xfffff);
	work->key[5] = be64(work->form.words[3]);
	work->key[6] = be64(work->form.words[4]);
	work->key[7] = be64(work->form.words[5]);
	work->key[8] = be64(work->form.words[6]);
	if (!(plan->needs & NEED_TRANSPORT))
		return GOES_ON;
	u32 begin = NETWORK_AT + 40;
	u32 payload = first >> 16 & 0xffff;
	work->packet_end = packet_end(&work->form, begin, begin + payload);
	return read_transport(plan, next, begin);
}

INLINE void read_arp(struct work *work)
{
	const u64 ethernet_and_ipv4 = 0x000108000604;
	u64 first = be64(work->form.words[2]);
	if (work->form.body < NETWORK_AT + 28 || first >> 16 != ethernet_and_ipv4)
		return;
	work->network = NETWORK_ARP;
	work->key[4] |= first << 48;
	u64 second = be64(work->form.words[3]);
	u64 third = be64(work->form.words[4]);
	u64 target = be32(*(u32 *)&work->form.words[5]);
	work->key[6] = second >> 16;
	work->key[5] = (second & 0xffff) << 48 | third >> 48 << 32 | target;
	work->key[7] = third & 0xffffffffffff;
}

/* Reads the type, and the first header behind it. */
INLINE int read_network(struct plan *plan, u32 type)
{
	switch (type) {
	case TYPE_IPV4:
		return plan->needs & (NEED_NETWORK | NEED_TRANSPORT) ? read_ipv4(plan) : GOES_ON;
	case TYPE_IPV6:
		if (!(plan->needs & (NEED_NETWORK | NEED_TRANSPORT | NEED_EXTENSIONS)))
			return GOES_ON;
		return read_ipv6(plan);
	case TYPE_ARP:
		if (plan->needs & NEED_ARP)
			read_arp(&plan->work);
		return GOES_ON;
	case TYPE_MPLS:
	case TYPE_MPLS_UPSTREAM:
		return plan->needs & NEED_MPLS ? TO_CORE : GOES_ON;
	case TYPE_BACKBONE:
		return plan->needs & NEED_BACKBONE ? TO_CORE : GOES_ON;
	default:
		return GOES_ON;
	}
}

/* Fills the key from the headers. */
INLINE int read_key(struct plan *plan)
{
	struct work *work = &plan->work;
	u64 source_and_type = be64(work->form.words[1]);
	u32 type = source_and_type & 0xffff;
	if (type < TYPE_MIN)
		type = WITHOUT_TYPE;
	u32 tag_count = work->form.tag_count;
	u32 tag = 0;
	if (tag_count > 0 && tag_count <= LIMIT_TAGS) {
		u32 control = work->form.tags[tag_count - 1] & 0xffff;
		tag = ((control & 0xfff) | VLAN_PRESENT) << 3 | control >> 13;
	}
	work->key[0] = work->key[13] << 32 | (u64)type << 16 | tag;
	work->key[2] = be64(work->form.words[0]) << 16;
	work->key[3] = source_and_type & ~0xffffull;
	work->key[4] = (u64)plan->level << 29;
	work->key[5] = 0;
	work->key[6] = 0;
	work->key[7] = 0;
	work->key[8] = 0;
	work->key[9] = 0;
	work->key[10] = 0;
	work->key[11] = 0;
	work->network = NETWORK_NONE;
	work->transport = 0;
	plan->stale = 0;
	return read_network(plan, type);
}

/* The same, once the headers are changed. */
CHECKED_ONCE int read_headers(struct plan *plan)
{
	return plan ? read_key(plan) : TO_CORE;
}

#define TYPE_BFD 0x0f01
#define BFD_PORT 3784

/* Returns whether a frame may be of the neighbour's session with this port, which is the
 * core's: bare, over IPv4, or a question for an address. Options of IPv4 are the core's
 * to read. */
INLINE int may_be_of_session(struct __sk_buff *frame, const struct plan *plan)
{
	const struct form *form = &plan->work.form;
	if (form->tag_count || form->redundancy)
		return 0;
	u32 type = u16_at(form, TYPE_AT);
	if (type == TYPE_BFD || type == TYPE_ARP)
		return 1;
	u8 packet[24];
	if (type != TYPE_IPV4 || skb_load_bytes(frame, NETWORK_AT, packet, sizeof(packet)))
		return 0;
	return packet[9] == PROTO_UDP &&
	       (packet[0] != 0x45 || (packet[22] << 8 | packet[23]) == BFD_PORT);
}

/* Returns whether a frame of type 802.3 has another type in a header of its own,
 * which the core reads. */
INLINE int has_snap(struct __sk_buff *frame, const struct plan *plan)
{
	const u64 snap = 0xaaaa03000000;
	const struct form *form = &plan->work.form;
	if (u16_at(form, TYPE_AT) >= TYPE_MIN)
		return 0;
	u64 header = 0;
	u32 tags = frame->vlan_present ? form->tag_count - 1 : form->tag_count;
	u32 at = NETWORK_AT + 4 * tags + (form->redundancy ? REDUNDANCY_BYTES : 0);
	if (skb_load_bytes(frame, at, &header, sizeof(header)))
		return 0;
	return be64(header) >> 16 == snap;
}

/* Returns whether the frame carries a piece of an IPv4 packet. */
INLINE int is_fragment(const struct plan *plan)
{
	return plan->work.network == NETWORK_IPV4 &&
	       (u16_at(&plan->work.form, NETWORK_AT + 6) & IPV4_FRAGMENT);
}
