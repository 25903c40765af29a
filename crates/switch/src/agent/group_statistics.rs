//! What controllers may ask about groups, OF13 clauses 7.3.5.9 to 7.3.5.11.

use units::Instant;
use wire::openflow::multipart::{
    BucketCounters, GroupCapabilities, GroupDescription, GroupFeatures, GroupStatistics, ReplyBody,
};
use wire::openflow::{Buckets, GroupId, GroupType, Sequence, TransactionId};

use super::Agent;
use super::session::ConnectionId;
use crate::group_table::{Group, GroupTable};
use crate::pipeline::Pipeline;

impl Agent {
    /// Answers what a group did, or all did. One that is not there did nothing.
    pub(super) fn group_statistics(
        &mut self,
        now: Instant,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        group: GroupId,
    ) {
        let meant: Vec<_> = match group {
            GroupId::ALL => pipeline.egress.groups.iter().collect(),
            group => {
                let groups = &pipeline.egress.groups;
                groups
                    .find(group)
                    .map(|it| groups.group(it))
                    .into_iter()
                    .collect()
            }
        };
        let counted: Vec<Vec<_>> = meant.iter().map(|group| buckets(group)).collect();
        let both = meant.iter().zip(&counted);
        let all: Vec<_> = both
            .map(|(group, buckets)| statistics(now, group, buckets))
            .collect();
        self.list(id, transaction, &all, ReplyBody::Group);
    }

    /// Answers what groups are.
    pub(super) fn group_descriptions(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
    ) {
        let groups = pipeline.egress.groups.iter();
        let all: Vec<_> = groups.map(description).collect();
        self.list(id, transaction, &all, ReplyBody::GroupDescription);
    }
}

fn statistics<'a>(
    now: Instant,
    group: &Group,
    buckets: &'a [BucketCounters],
) -> GroupStatistics<'a> {
    GroupStatistics {
        group: group.config.id,
        references: group.references(),
        packets: group.tally.frames,
        bytes: group.tally.bytes,
        age: now - group.created,
        buckets: Sequence::of(buckets),
    }
}

fn buckets(group: &Group) -> Vec<BucketCounters> {
    let tallies = group.config.buckets.iter().map(|bucket| bucket.tally);
    let counters = tallies.map(|tally| BucketCounters {
        packets: tally.frames,
        bytes: tally.bytes,
    });
    counters.collect()
}

fn description(group: &Group) -> GroupDescription<'_> {
    GroupDescription {
        kind: group.config.kind,
        group: group.config.id,
        buckets: Buckets::from_bytes(&group.config.written),
    }
}

/// Returns what groups can be: all kinds, with every action.
pub(super) fn features(groups: &GroupTable) -> GroupFeatures {
    /// Output, the TTL, tag and field actions, queue and group: all that OF13
    /// clause 7.2.5 numbers.
    const ACTIONS: u32 = 1 | 0x0fff_9800;
    let types = GroupType::ALL.iter().map(|kind| 1 << kind.number()).sum();
    let capacity = u32::try_from(groups.capacity()).unwrap_or(u32::MAX);
    GroupFeatures {
        types,
        capabilities: GroupCapabilities::SELECT_WEIGHT
            .with(GroupCapabilities::SELECT_LIVENESS)
            .with(GroupCapabilities::CHAINING)
            .with(GroupCapabilities::CHAINING_CHECKS),
        max_groups: [capacity; 4],
        actions: [ACTIONS; 4],
    }
}
