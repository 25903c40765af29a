/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to become of the frame at hand.
 *
 * The tables are walked without touching the frame: its headers are copied, the
 * copy is changed, and what is to leave is noted with the form that it has then.
 * Until all is known, nothing has happened that the core would have to take back
 * if the frame turns out to be one for it.
 */
#pragma once

#include "regions.h"

/* How large the value of the map `scratch` is. */
#define PLAN_BYTES 8448

/* What becomes of the walk. */
enum outcome {
	GOES_ON = 0,
	/* The frame goes no further; what was noted leaves. */
	ENDS,
	/* The core has to do it. */
	TO_CORE,
	/* The core has to do it since a limit was reached. */
	TOO_FAR,
	/* The group in `plan->group` comes next. */
	AT_GROUP,
	/* The frame is given up before the first table. */
	REFUSED,
	/* The same, since it is longer than any that is carried. */
	OVERSIZED,
};

/* Where headers stand in a frame without its VLAN tags. */
#define TYPE_AT 12
#define NETWORK_AT 14
#define HEADER_BYTES 126
/* In front of the headers, so that the network header is aligned. */
#define GAP 2

/* Which part of the headers is not as it came. */
struct changes {
	/* From the network header on: all from here up to there, if that is
	 * more than nothing. */
	u16 from;
	u16 to;
	/* Whether an address of the link is. */
	u32 addresses;
};

/* The longest frame that the core takes, `buffer_pool`. */
#define FRAME_BYTES_MAX 1984

#define TYPE_REDUNDANCY 0xf1c1
#define REDUNDANCY_BYTES 6
#define HAS_NUMBER 0x10000u
/* The longest frame that is moved to take a redundancy tag off. */
#define MOVED_BYTES 2048

/* A frame as it leaves: where it may differ from the frame that came. */
struct form {
	union {
		u64 words[(GAP + HEADER_BYTES) / 8];
		u32 halves[(GAP + HEADER_BYTES) / 4];
		u8 bytes[GAP + HEADER_BYTES];
	};
	/* Type and control information, the innermost first. */
	u32 tags[LIMIT_TAGS];
	u32 tag_count;
	/* How long it is without its tags. */
	u32 body;
	/* HAS_NUMBER and the number in its redundancy tag, which stands behind all
	 * others; zero if it has none. */
	u32 redundancy;
	/* What is known of a trailer, as below. */
	u32 trailer;
	struct changes changes;
};

/* The last bytes of a frame are a trailer of PRP: HAS_NUMBER and the number, the LAN in the
 * highest bits. Nothing is known of frames while nobody needs it. */
#define TRAILER_BYTES 6
#define TRAILER_SUFFIX 0x88fb
#define TRAILER_LAN_AT 28
#define LAN_A 0xau
#define LAN_B 0xbu
/* They only look like one: to put a redundancy tag on or take it off may make them one. */
#define TRAILER_BY_CHANCE 0x20000u
/* There may be one in front of padding, which the core finds. */
#define TRAILER_UNSURE 0x40000u
/* What a frame has at least before it gets a trailer. */
#define TRAILER_PADDED 64

enum network {
	NETWORK_NONE = 0,
	NETWORK_ARP,
	NETWORK_IPV4,
	NETWORK_IPV6,
};

/* The frame on its way, with what is read in it. */
struct work {
	struct form form;
	u64 key[14];
	u32 network;
	/* The protocol of layer 4 if its header is there, else zero. */
	u32 transport;
	u32 transport_at;
	/* Where the packet ends, without its padding. */
	u32 packet_end;
	/* Whether the checksum of TCP or UDP is only that of the pseudo header: the
	 * sender has left the rest to a card. */
	u32 is_partial;
	u32 unused;
};

/* A group on the way of the frame. */
struct level {
	u32 action;
	u32 action_end;
	u32 bucket;
	u32 bucket_end;
	/* What the frame came with: its queue, and the form that is like it. */
	u32 queue;
	u32 form;
	/* Whether `work` is as it came, and whether the frame is not. */
	u32 saved;
	u32 dirty;
	struct work work;
};

struct output {
	u32 bytes;
	u16 port;
	u8 queue;
	u8 form;
	/* Which of the visits asked for it. */
	u8 visit;
	/* Whether its port sends nothing. */
	u8 stays;
	u8 unused[2];
	/* What the frame carries if its queue is watched, or zero. */
	u32 mark;
};

/* A table on the way of the frame. */
struct visit {
	u32 table;
	/* The number of its entry plus one; zero if it has none. */
	u32 entry;
	u32 bytes;
	u32 unused;
};

struct noted {
	u32 tally;
	u32 bytes;
};

/* A packet of a monitored flow: its shim header, and how many bytes of the message
 * it carries. */
struct packet {
	u32 message;
	u32 size;
	u32 sequence;
	u32 carried;
};

/* What is to be shown to a monitor once the way of the frame is known. */
struct watched {
	u32 monitor;
	/* What it demanded. */
	u32 demand;
	struct packet packet;
	/* Whether it has a shim header. */
	u32 is_readable;
	u32 unused;
};

/* `plan->form` while no form is as the frame is now. */
#define FORM_NONE 0xffu
/* The form of the frame that came. It is kept only once it is changed. */
#define FORM_ARRIVED 0u

#define NUMBER_OF_KINDS 56

/* Words of a signal that are looked at. */
#define SIGNAL_WORDS 6

struct plan {
	u64 generation;
	u64 seed;
	u64 needs;
	u64 now;
	u64 set_used;
	u64 best_rank;
	u32 best_entry;
	u32 flags;
	u32 port;
	/* Of what came, tags included. */
	u32 length;
	/* How many frames it is on a wire, and the bytes of all of them: more than one
	 * if its sender has left the cutting to a card. */
	u32 frames;
	u32 arrived;
	/* The payload of each of them; zero if it is one frame. */
	u32 segment;
	/* What their headers are beyond the one that is there, without tags. */
	u32 repeated;
	u32 queue;
	u32 group;
	/* The next table, or ENTRY_LAST. */
	u32 next;
	u32 form;
	u32 forms;
	u32 kept;
	u32 depth;
	u32 visits;
	u32 noted_count;
	u32 output_count;
	u32 sent;
	u32 verdict_count;
	/* How many copies groups have made. */
	u32 copies;
	/* Whether the key is not that of the headers any more. */
	u32 stale;
	u32 metered;
	/* Whether it leaves by queue 0, as it exceeds a contract. */
	u32 exceeds;
	u32 missed;
	/* Whether every output is a copy, for trials. */
	u32 copies_only;
	/* The level that was served when the frame came. */
	u32 level;
	u32 watched_count;
	/* Whether the frame is a signal. */
	u32 arranges;
	union {
		u8 verdicts[HANDED_VERDICTS_MAX];
		u64 verdict_words[HANDED_VERDICTS_MAX / 8];
	};
	struct work work;
	struct watched watched[LIMIT_MONITORS];
	/* What the frame itself is like: as it came, then in one form after the
	 * other. */
	u32 sent_form;
	struct changes sent_changes;
	u32 sent_tag_count;
	u32 sent_tags[LIMIT_TAGS];
	u32 sent_redundancy;
	u32 sent_trailer;
	/* The last of the outputs that leave. */
	u32 last;
	struct visit visited[LIMIT_TABLES];
	struct output outputs[LIMIT_OUTPUTS];
	struct noted noted[LIMIT_TALLIES];
	/* What a signal was when that was met: its length, or zero if it has tags or
	 * another type, and what is behind its addresses and type. */
	u32 signal_bytes;
	u64 signal[SIGNAL_WORDS];
	u32 set[NUMBER_OF_KINDS];
	struct form shapes[LIMIT_FORMS];
	struct level levels[LIMIT_LEVELS];
	u8 moved[MOVED_BYTES];
};

_Static_assert(sizeof(struct plan) <= PLAN_BYTES, "the plan fits its map");

/* How many copies of a frame groups make at most, as `group_walk` has it. */
#define GROUP_COPIES_A_FRAME 512

/* Returns the length of the frame as it is now, of all frames together if it is
 * several on a wire. */
INLINE u32 length_now(const struct plan *plan)
{
	u32 tags = 4 * plan->work.form.tag_count * plan->frames;
	u32 redundancy = plan->work.form.redundancy ? REDUNDANCY_BYTES : 0;
	return plan->work.form.body + plan->repeated + tags + redundancy;
}

/* Begins anew for a frame. */
INLINE void reset(struct plan *plan)
{
	const struct changes nothing = {HEADER_BYTES, 0, 0};
	plan->set_used = 0;
	plan->queue = 0;
	plan->form = FORM_ARRIVED;
	plan->forms = 1;
	plan->kept = 0;
	plan->depth = 0;
	plan->visits = 0;
	plan->noted_count = 0;
	plan->output_count = 0;
	plan->sent = 0;
	plan->verdict_count = 0;
	plan->watched_count = 0;
	plan->arranges = 0;
	plan->copies = 0;
	plan->stale = 0;
	plan->metered = 0;
	plan->exceeds = 0;
	plan->missed = 0;
	plan->sent_form = FORM_ARRIVED;
	plan->sent_changes = nothing;
	plan->last = LIMIT_OUTPUTS;
	plan->work.form.tag_count = 0;
	plan->work.form.redundancy = 0;
	plan->sent_redundancy = 0;
	plan->work.form.trailer = 0;
	plan->sent_trailer = 0;
	plan->work.is_partial = 0;
	plan->work.form.changes = nothing;
	plan->work.key[1] = 0;
	plan->work.key[12] = 0;
}

/* Keeps of the frame what somebody may come back to once it is changed. */
CHECKED_ONCE int keep(struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	if (plan->form == FORM_ARRIVED && !plan->kept && (plan->output_count || plan->depth)) {
		plan->shapes[FORM_ARRIVED] = plan->work.form;
		plan->kept = 1;
	}
	u32 depth = plan->depth;
	if (depth > 0 && depth <= LIMIT_LEVELS) {
		struct level *level = &plan->levels[slot(depth - 1, LIMIT_LEVELS)];
		if (!level->saved)
			level->work = plan->work;
		if (!level->dirty)
			level->form = plan->form;
		level->saved = 1;
		level->dirty = 1;
	}
	return GOES_ON;
}

/* To be called before the frame is changed. */
INLINE void touch(struct plan *plan)
{
	if (plan->depth || plan->output_count)
		keep(plan);
	plan->form = FORM_NONE;
	plan->stale = 1;
}
