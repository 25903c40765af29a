//! What controllers may ask about groups, OF13 clauses 7.3.5.9 to 7.3.5.11.
//!
//! Groups are listed part by part; one that is added or removed meanwhile may or
//! may not be among them.

use units::Instant;
use wire::openflow::multipart::{
    BucketCounters, GroupCapabilities, GroupDescription, GroupFeatures, GroupStatistics,
    MultipartReply, ReplyBody,
};
use wire::openflow::{Buckets, GroupId, GroupType, Message, Sequence, TransactionId};

use super::Agent;
use super::dump::Dump;
use super::session::{ConnectionId, Session};
use crate::group_table::{Group, GroupIndex, GroupTable};
use crate::pipeline::Pipeline;

/// How many bytes of groups go into one part of an answer, if it has more than
/// one group.
const PART_BYTES: usize = 8 * 1024;

/// What is to be told about groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupQuestion {
    Statistics,
    Description,
}

/// An answer that lists groups, part by part.
#[derive(Debug)]
pub(super) struct GroupDump {
    transaction: TransactionId,
    question: GroupQuestion,
    /// The group to go on with.
    next: GroupId,
    /// The last one that is asked for.
    last: GroupId,
}

impl Agent {
    /// Begins to answer what a group, or every group, did or is. One that is not
    /// there is left out of the answer.
    pub(super) fn tell_groups(
        &mut self,
        id: ConnectionId,
        transaction: TransactionId,
        question: GroupQuestion,
        group: GroupId,
    ) {
        let (next, last) = match group {
            GroupId::ALL => (GroupId(0), GroupId::MAX),
            group => (group, group),
        };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.dump = Some(Dump::Groups(GroupDump {
                transaction,
                question,
                next,
                last,
            }));
        }
    }
}

impl GroupDump {
    /// Sends one part of the answer, and returns what is left of it.
    pub(super) fn send_part(
        mut self,
        now: Instant,
        pipeline: &Pipeline,
        session: &mut Session,
    ) -> Option<Self> {
        let (part, next) = self.part(&pipeline.egress.groups);
        let more = next.is_some();
        let mut send = |body| {
            let reply = Message::MultipartReply(MultipartReply { more, body });
            session.send(self.transaction, &reply);
        };
        match self.question {
            GroupQuestion::Statistics => {
                let groups = &pipeline.egress.groups;
                let part: Vec<_> = part
                    .iter()
                    .filter_map(|it| groups.find(it.config.id))
                    .collect();
                let counted: Vec<_> = part.iter().map(|it| buckets(pipeline, *it)).collect();
                let both = part.iter().zip(&counted);
                let all: Vec<_> = both
                    .map(|(index, counted)| statistics(now, pipeline, *index, counted))
                    .collect();
                send(ReplyBody::Group(Sequence::of(&all)));
            }
            GroupQuestion::Description => {
                let all: Vec<_> = part.into_iter().map(description).collect();
                send(ReplyBody::GroupDescription(Sequence::of(&all)));
            }
        }
        self.next = next?;
        Some(self)
    }

    /// Returns the groups of the next part, and the one to go on with.
    fn part<'a>(&self, groups: &'a GroupTable) -> (Vec<&'a Group>, Option<GroupId>) {
        let mut part = Vec::new();
        let mut bytes = 0;
        for group in groups.iter_within(self.next..=self.last) {
            bytes += match self.question {
                GroupQuestion::Statistics => 40 + 16 * group.config.buckets.len(),
                GroupQuestion::Description => 8 + group.config.written.len(),
            };
            if bytes > PART_BYTES && !part.is_empty() {
                return (part, Some(group.config.id));
            }
            part.push(group);
        }
        (part, None)
    }
}

fn statistics<'a>(
    now: Instant,
    pipeline: &Pipeline,
    index: GroupIndex,
    buckets: &'a [BucketCounters],
) -> GroupStatistics<'a> {
    let (group, tally) = (
        pipeline.egress.groups.group(index),
        pipeline.group_tally(index),
    );
    GroupStatistics {
        group: group.config.id,
        references: group.references(),
        packets: tally.frames,
        bytes: tally.bytes,
        age: now - group.created,
        buckets: Sequence::of(buckets),
    }
}

fn buckets(pipeline: &Pipeline, index: GroupIndex) -> Vec<BucketCounters> {
    let tallies = pipeline.bucket_tallies(index);
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
