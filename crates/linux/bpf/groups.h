/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of the frame through groups: `group_walk` and `bucket_choice` of the
 * core. Groups that lead to groups are kept on a stack; every bucket gets the
 * frame as it came to its group.
 */
#pragma once

#include "actions.h"
#include "lookup.h"

#define KIND_SELECT 1
#define KIND_FAST_FAILOVER 3

/* Buckets of a group that chooses among them. */
#define CHOICE_MAX 64

/* Notes that a group or bucket is to be counted. */
INLINE int note(struct plan *plan, u32 tally)
{
	u32 count = plan->noted_count;
	if (count >= LIMIT_TALLIES)
		return TOO_FAR;
	plan->noted[count].tally = tally;
	plan->noted[count].bytes = length_now(plan);
	plan->noted_count = count + 1;
	return GOES_ON;
}

/* Returns whether frames may go through a bucket. */
INLINE int lives(const u64 *bucket)
{
	u64 flags = bucket[BUCKET_ACTIONS] >> 48;
	if (!(flags & (BUCKET_WATCHES_PORT | BUCKET_WATCHES_GROUP)))
		return 1;
	u64 watched = bucket[BUCKET_WATCHES];
	if (flags & BUCKET_WATCHES_PORT) {
		const u64 *port = record(&ports, low(watched));
		if (port && high(READ_ONCE(port[PORT_INTERFACE])) & PORT_IS_LIVE)
			return 1;
	}
	if (flags & BUCKET_WATCHES_GROUP) {
		const u64 *group = record(&groups, high(watched));
		if (group && READ_ONCE(group[GROUP_LIVE]))
			return 1;
	}
	return 0;
}

CHECKED_ONCE int is_live(u32 number)
{
	const u64 *bucket = record(&buckets, number);
	return bucket ? lives(bucket) : 0;
}

/* Returns the share of a bucket if it is alive, else zero. */
CHECKED_ONCE u32 live_share(u32 number)
{
	const u64 *bucket = record(&buckets, number);
	if (!bucket)
		return 0;
	u32 share = low(bucket[BUCKET_SHARE]);
	return share && lives(bucket) ? share : 0;
}

/* Works a word into a hash: both halves of a product of 128 bits. */
INLINE u64 mix(u64 hash, u64 word)
{
	u64 one = hash ^ word;
	u64 one_low = low(one);
	u64 one_high = high(one);
	u64 two_low = low(HASH_MULTIPLIER);
	u64 two_high = high(HASH_MULTIPLIER);
	u64 middle = one_high * two_low + high(one_low * two_low);
	u64 other = one_low * two_high + low(middle);
	u64 upper = one_high * two_high + high(middle) + high(other);
	return one * HASH_MULTIPLIER ^ upper;
}

/* Returns the hash of the flow that the frame belongs to. */
CHECKED_ONCE u64 flow_hash(struct plan *plan)
{
	const u64 *setting = record(&settings, 0);
	if (!plan || !setting)
		return 0;
	const u64 *key = plan->work.key;
	/* Ports are left out for fragments, of which only the first has them. */
	int whole = !is_fragment(plan);
	u64 type_and_vlan = 0xffff0000 | 0xfff8;
	u64 address = ~0xffffull;
	u64 hash = setting[SETTINGS_FLOW_SEED];
	hash = mix(hash, key[0] & type_and_vlan);
	hash = mix(hash, key[2] & (address | 0xff00));
	hash = mix(hash, key[3] & (whole ? ~0ull : address));
	if (whole)
		hash = mix(hash, key[4] & 0xffff000000000000);
	hash = mix(hash, key[5]);
	hash = mix(hash, key[6]);
	hash = mix(hash, key[7]);
	return mix(hash, key[8]);
}

/* Returns where a hash falls among shares. */
INLINE u32 scaled(u32 hash, u32 shares)
{
	return high((u64)hash * shares);
}

/* Returns the first bucket that ends behind a point among all shares, as a number
 * among those of the group, or their number. */
CHECKED_ONCE u32 home_of(u32 point, u32 first, u32 count)
{
	for (u32 at = 0; at < CHOICE_MAX; at++) {
		if (at >= count)
			break;
		const u64 *bucket = record(&buckets, first + at);
		if (!bucket)
			break;
		if (high(bucket[BUCKET_SHARE]) > point)
			return at;
	}
	return count;
}

/* Returns the shares of all buckets that are alive. */
CHECKED_ONCE u32 live_shares(u32 first, u32 count)
{
	u32 sum = 0;
	for (u32 at = 0; at < CHOICE_MAX; at++) {
		if (at >= count)
			break;
		sum += live_share(first + at);
	}
	return sum;
}

/* The same as `home_of`, among those that are alive. */
CHECKED_ONCE u32 live_home_of(u32 point, u32 first, u32 count)
{
	for (u32 at = 0; at < CHOICE_MAX; at++) {
		if (at >= count)
			break;
		u32 share = live_share(first + at);
		if (point < share)
			return at;
		point -= share;
	}
	return count;
}

/* Returns the bucket of a flow: the one in whose share its hash falls or, if that
 * is dead, another. */
INLINE u32 choose(u64 hash, u32 first, u32 count, u32 shares)
{
	u32 home = home_of(scaled(high(hash), shares), first, count);
	if (home < count && is_live(first + home))
		return home;
	u32 point = scaled(low(hash), live_shares(first, count));
	return live_home_of(point, first, count);
}

/* What everybody's flows are told apart by. */
#define NEED_FLOWS (NEED_NETWORK | NEED_TRANSPORT | NEED_ARP)

/* Leaves of the buckets of a group that chooses only the one that it chooses. */
INLINE int choose_bucket(struct plan *plan, struct level *level, const u64 *version)
{
	u32 count = level->bucket_end - level->bucket;
	if (count > CHOICE_MAX)
		return TOO_FAR;
	if ((plan->needs & NEED_FLOWS) != NEED_FLOWS)
		return TO_CORE;
	if (plan->stale && read_headers(plan))
		return TO_CORE;
	u32 type = plan->work.key[0] >> 16 & 0xffff;
	if (type == TYPE_MPLS || type == TYPE_MPLS_UPSTREAM || type == TYPE_BACKBONE)
		return TO_CORE;
	u64 hash = mix(flow_hash(plan), (version[GROUP_NUMBER] & 0xffffffff) + 1);
	u32 chosen = choose(hash, level->bucket, count, low(version[GROUP_SHARES]));
	if (chosen < count) {
		level->bucket += chosen;
		level->bucket_end = level->bucket + 1;
	} else {
		level->bucket = level->bucket_end;
	}
	return GOES_ON;
}

/* Leaves of the buckets of a group that fails over only the first that lives. */
INLINE int first_live_bucket(struct level *level)
{
	u32 first = level->bucket;
	u32 end = level->bucket_end;
	if (end - first > CHOICE_MAX)
		return TOO_FAR;
	for (u32 at = 0; at < CHOICE_MAX; at++) {
		if (first + at >= end)
			break;
		if (is_live(first + at)) {
			level->bucket = first + at;
			level->bucket_end = first + at + 1;
			return GOES_ON;
		}
	}
	level->bucket = end;
	return GOES_ON;
}

/* Enters the group in `plan->group`. */
CHECKED_ONCE int enter_group(struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	const u64 *group = record(&groups, plan->group);
	if (!group)
		return TO_CORE;
	int which = version_seen(READ_ONCE(group[GROUP_SINCE_0]), READ_ONCE(group[GROUP_SINCE_1]),
				 plan->generation);
	if (which < 0)
		return TO_CORE;
	const u64 *version = group + (which ? GROUP_VERSIONS_1 : GROUP_VERSIONS_0);
	u64 head = version[GROUP_HEAD];
	u32 depth = plan->depth;
	if (head & GROUP_TO_CORE)
		return TO_CORE;
	if (depth >= LIMIT_LEVELS)
		return TOO_FAR;
	struct level *level = &plan->levels[slot(depth, LIMIT_LEVELS)];
	level->action = 0;
	level->action_end = 0;
	level->bucket = high(head);
	level->bucket_end = high(head) + (head >> 16 & 0xffff);
	level->queue = plan->queue;
	level->saved = 0;
	level->dirty = 0;
	plan->depth = depth + 1;
	int outcome = note(plan, high(version[GROUP_SHARES]));
	if (outcome)
		return outcome;
	if ((head & 0xff) == KIND_SELECT)
		return choose_bucket(plan, level, version);
	if ((head & 0xff) == KIND_FAST_FAILOVER)
		return first_live_bucket(level);
	return GOES_ON;
}

/* Makes the frame what it was when it came to the group. */
INLINE void restore(struct plan *plan, struct level *level)
{
	plan->queue = level->queue;
	if (!level->dirty)
		return;
	plan->work = level->work;
	plan->form = level->form;
	plan->stale = 1;
	level->dirty = 0;
}

/* Begins with the next bucket of a group. */
INLINE int enter_bucket(struct plan *plan, struct level *level)
{
	u32 number = level->bucket;
	level->bucket = number + 1;
	if (!is_live(number))
		return GOES_ON;
	const u64 *bucket = record(&buckets, number);
	if (!bucket)
		return TO_CORE;
	u64 tally = bucket[BUCKET_TALLY];
	plan->copies += high(tally);
	if (high(tally) > GROUP_COPIES_A_FRAME || plan->copies > GROUP_COPIES_A_FRAME)
		return TOO_FAR;
	u64 list = bucket[BUCKET_ACTIONS];
	level->action = low(list);
	level->action_end = low(list) + (high(list) & 0xffff);
	return note(plan, low(tally));
}

/* Does the next thing in the group at hand. */
CHECKED_ONCE int step(struct plan *plan)
{
	if (!plan)
		return TO_CORE;
	u32 depth = plan->depth;
	if (depth < 1 || depth > LIMIT_LEVELS)
		return TO_CORE;
	struct level *level = &plan->levels[slot(depth - 1, LIMIT_LEVELS)];
	u32 action = level->action;
	if (action < level->action_end) {
		level->action = action + 1;
		int outcome = act(plan, action);
		return outcome == AT_GROUP ? enter_group(plan) : outcome;
	}
	restore(plan, level);
	if (level->bucket < level->bucket_end)
		return enter_bucket(plan, level);
	plan->depth = depth - 1;
	return GOES_ON;
}

/* Sends the frame through the group in `plan->group`, after which it is as it was
 * before. */
CHECKED_ONCE int visit_group(struct plan *plan)
{
	int outcome = enter_group(plan);
	if (outcome || !plan)
		return outcome;
	for (u32 steps = 0; steps < LIMIT_STEPS; steps++) {
		if (plan->depth == 0)
			return GOES_ON;
		outcome = step(plan);
		if (outcome)
			return outcome;
	}
	return plan->depth == 0 ? GOES_ON : TOO_FAR;
}
