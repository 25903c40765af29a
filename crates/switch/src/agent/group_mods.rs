//! Changes of the group table, OF13 clauses 6.5 and 7.3.4.2.
//!
//! A group-mod is checked and compiled before anything is changed, so that one
//! that is refused changes nothing. An entry goes with the group that it sends
//! frames to; a group that another one uses stays.
//!
//! Of the reasons to refuse a group three never arise: weights can be unequal,
//! every port and group can be watched, and no group is forbidden. A chain that
//! is longer than [`CHAIN_MAX`](crate::group_table::CHAIN_MAX) is refused as
//! chaining that is not supported.

use units::Instant;
use wire::openflow::{
    ErrorKind, FlowRemovedReason, GroupId, GroupMod, GroupModCommand, GroupModFailed, GroupType,
    PortNumber,
};

use super::Agent;
use super::flow_mods::bytes_of;
use crate::action::{Action, Target};
use crate::action_set::ActionSet;
use crate::counters::Tally;
use crate::egress::Egress;
use crate::group_table::{Bucket, GroupConfig, GroupIndex, Watch};
use crate::pipeline::Pipeline;
use crate::program::{Compiler, InstructionSite};

impl Agent {
    pub(crate) fn group_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        group_mod: &GroupMod<'_>,
    ) -> Result<(), ErrorKind> {
        let id = group_mod.group;
        let all = id == GroupId::ALL && group_mod.command == GroupModCommand::Delete;
        if id > GroupId::MAX && !all {
            return refuse(GroupModFailed::InvalidGroup);
        }
        let found = pipeline.egress.groups.find(id);
        match (group_mod.command, found) {
            (GroupModCommand::Add, Some(_)) => refuse(GroupModFailed::GroupExists),
            (GroupModCommand::Modify, None) => refuse(GroupModFailed::UnknownGroup),
            (GroupModCommand::Add, None) => {
                let config = compile(pipeline, group_mod)?;
                let Egress { groups, ports, .. } = &mut pipeline.egress;
                groups.add(now, config, ports).or_else(refuse)
            }
            (GroupModCommand::Modify, Some(_)) => {
                let config = compile(pipeline, group_mod)?;
                let Egress { groups, ports, .. } = &mut pipeline.egress;
                groups.modify(config, ports).or_else(refuse)
            }
            (GroupModCommand::Delete, Some(index)) => self.delete_group(now, pipeline, index),
            (GroupModCommand::Delete, None) => {
                if all {
                    self.delete_groups(now, pipeline);
                }
                Ok(())
            }
        }
    }

    fn delete_group(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        index: GroupIndex,
    ) -> Result<(), ErrorKind> {
        let group = pipeline.egress.groups.group(index);
        if group.is_chained() {
            return refuse(GroupModFailed::ChainedGroup);
        }
        let users = usize::try_from(group.entries()).expect("32 bits fit");
        let users = pipeline.entries_with(users, |program| program.sends_to(index));
        for id in users {
            self.remove(now, pipeline, id, FlowRemovedReason::GroupDelete);
        }
        let Egress { groups, ports, .. } = &mut pipeline.egress;
        groups.remove(index, ports).or_else(refuse)
    }

    fn delete_groups(&mut self, now: Instant, pipeline: &mut Pipeline) {
        let users = pipeline.entries_with(usize::MAX, |program| !program.groups().is_empty());
        for id in users {
            self.remove(now, pipeline, id, FlowRemovedReason::GroupDelete);
        }
        pipeline.egress.groups.clear();
    }
}

/// Checks a group-mod as if it were carried out now, but for what hangs on
/// which groups there are.
pub(super) fn check_mod(pipeline: &Pipeline, group_mod: &GroupMod<'_>) -> Result<(), ErrorKind> {
    match group_mod.command {
        GroupModCommand::Add | GroupModCommand::Modify => compile(pipeline, group_mod).map(drop),
        GroupModCommand::Delete => Ok(()),
    }
}

fn refuse(code: GroupModFailed) -> Result<(), ErrorKind> {
    Err(ErrorKind::GroupModFailed(code))
}

/// Checks what a controller wants of a group and makes it ready for frames.
fn compile(pipeline: &Pipeline, group_mod: &GroupMod<'_>) -> Result<GroupConfig, ErrorKind> {
    let mut actions = Vec::new();
    let mut buckets = Vec::new();
    let mut shares = 0;
    for bucket in group_mod.buckets.iter() {
        let bucket = bucket.map_err(|error| error.kind())?;
        if buckets.len() == pipeline.egress.groups.buckets_max() {
            return Err(ErrorKind::GroupModFailed(GroupModFailed::OutOfBuckets));
        }
        let share = u32::from(bucket.weight);
        shares += share;
        let first = place_after(&actions);
        let own = bucket_actions(pipeline, group_mod.group, &bucket)?;
        let copies = copies(&pipeline.egress, &own);
        actions.extend(own);
        buckets.push(Bucket {
            first,
            end: place_after(&actions),
            shares_up_to: shares,
            share,
            copies,
            watch: watch(&pipeline.egress, group_mod, &bucket)
                .map_err(ErrorKind::GroupModFailed)?,
            tally: Tally::default(),
        });
    }
    // A weight means something to select groups only.
    let weighty = shares > 0 && group_mod.kind != GroupType::Select;
    if weighty || buckets.len() > 1 && group_mod.kind == GroupType::Indirect {
        return Err(ErrorKind::GroupModFailed(GroupModFailed::InvalidGroup));
    }
    Ok(GroupConfig {
        id: group_mod.group,
        kind: group_mod.kind,
        buckets: buckets.into(),
        actions: actions.into(),
        written: bytes_of(|out| group_mod.buckets.emit(out)),
    })
}

fn place_after(actions: &[Action]) -> u32 {
    u32::try_from(actions.len()).expect("a message is short")
}

/// Returns how many copies of a frame a bucket makes at most: as many as there
/// are ports if it floods.
fn copies(egress: &Egress, actions: &[Action]) -> u32 {
    let floods = actions.iter().any(|action| match action {
        Action::Output(target) => match target {
            Target::All | Target::Flood | Target::Normal => true,
            Target::Port(_) | Target::InPort | Target::Controller(_) | Target::Tables => false,
        },
        Action::SetQueue(_)
        | Action::Push(_)
        | Action::EnsureTag
        | Action::Pop(_)
        | Action::SetTtl(..)
        | Action::DecrementTtl(_)
        | Action::CopyTtl(_)
        | Action::SetField(_)
        | Action::Group(_)
        | Action::FlowMonitor(_)
        | Action::ModeArrange
        | Action::QueuedFrame(_)
        | Action::Sequence(_)
        | Action::Eliminate(_)
        | Action::Trailer(_) => false,
    });
    match floods {
        true => u32::try_from(egress.ports.len()).expect("there are at most 256 ports"),
        false => 1,
    }
}

/// Returns the actions of a bucket in the order of an action set, OF13 clause
/// 5.6.
fn bucket_actions(
    pipeline: &Pipeline,
    group: GroupId,
    bucket: &wire::openflow::Bucket<'_>,
) -> Result<Vec<Action>, ErrorKind> {
    let own = wire::openflow::Action::Group(group);
    if bucket.actions.iter().any(|action| action == Ok(own)) {
        return Err(ErrorKind::GroupModFailed(GroupModFailed::Loop));
    }
    let compiler = Compiler {
        egress: &pipeline.egress,
        tables: u8::try_from(pipeline.tables.len()).expect("made from a u8"),
        place: InstructionSite::Bucket,
    };
    let mut set = ActionSet::new();
    set.write(&compiler.actions(&bucket.actions)?);
    Ok(set.in_order().collect())
}

/// Returns what a bucket watches. In a fast-failover group every bucket has to
/// watch something: behind one that does not no other would ever be reached.
fn watch(
    egress: &Egress,
    group_mod: &GroupMod<'_>,
    bucket: &wire::openflow::Bucket<'_>,
) -> Result<Watch, GroupModFailed> {
    let mut watch = Watch::default();
    if bucket.watch_port != PortNumber::ANY {
        let port = egress.find_port(bucket.watch_port);
        watch.port = Some(port.ok_or(GroupModFailed::BadWatch)?);
    }
    if bucket.watch_group == group_mod.group {
        return Err(GroupModFailed::Loop);
    }
    if bucket.watch_group != GroupId::ANY {
        let group = egress.groups.find(bucket.watch_group);
        watch.group = Some(group.ok_or(GroupModFailed::BadWatch)?);
    }
    match group_mod.kind {
        GroupType::FastFailover if watch == Watch::default() => Err(GroupModFailed::BadWatch),
        GroupType::All | GroupType::Select | GroupType::Indirect | GroupType::FastFailover => {
            Ok(watch)
        }
    }
}
