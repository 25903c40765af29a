//! What a walk should see, said by the tables themselves.

use super::super::engine::Meant;
use super::super::layout::{Region, entry, group};
use super::super::operations::{Places, words_of};
use super::super::walk::{Found, Walk};
use super::description::{Describing, Seen};
use crate::action::Action;
use crate::entry::Entry;
use crate::group_table::GroupIndex;
use crate::meter_band::BandAction;
use crate::packet_key::PacketKey;
use crate::pipeline::Pipeline;
use crate::port::PortIndex;
use crate::timeouts::EntryId;
use wire::openflow::TableId;
use wire::openflow::taktos::{MonitorId, StreamHandle};

/// Everything can be named; groups by their place in the group table, and the only
/// monitor, number 1, by the first place.
struct Everything;

impl Places for Everything {
    fn ports(&self) -> usize {
        1
    }

    fn reaches(&self, _: PortIndex) -> bool {
        true
    }

    fn monitor(&self, monitor: MonitorId) -> Option<u32> {
        monitor.0.checked_sub(1)
    }

    fn group(&self, group: GroupIndex) -> Option<u32> {
        Some(group.0)
    }

    fn stream(&self, stream: StreamHandle) -> Option<u32> {
        Some(stream.0)
    }
}

/// Asserts that a walk found in a table what the table itself finds.
pub(super) fn check(pipeline: &Pipeline, table: u8, key: &PacketKey, found: &Seen) {
    let form = pipeline.form.as_deref().expect("it is kept");
    let at = usize::from(table);
    if form.why_table(at).is_some() {
        return assert_eq!(*found, Seen::ToCore);
    }
    let flows = &pipeline.tables[at].flows;
    let Some(index) = flows.lookup(key) else {
        return assert_eq!(*found, Seen::Nothing);
    };
    let table = TableId(table);
    if form.tables[at].reason_of(index).is_some() {
        assert!(form.why_entry(pipeline, EntryId { table, index }).is_some());
        return assert_eq!(*found, Seen::ToCore);
    }
    let (rank, entry) = flows.ranked_entry(index).expect("it was found");
    let does = does(pipeline, entry);
    assert_eq!(*found, Seen::Entry { rank: rank.0, does });
}

/// Asserts that what an entry does can be read out of its words.
pub(super) fn check_step(pipeline: &Pipeline, table: u8, key: &PacketKey, walk: &Walk<'_>) {
    let Found::Entry(_, record) = walk.find(table.into(), key) else {
        return;
    };
    let (form, egress) = (
        pipeline.form.as_deref().expect("it is kept"),
        &pipeline.egress,
    );
    let flows = &pipeline.tables[usize::from(table)].flows;
    let index = flows.lookup(key).expect("a walk found it");
    let id = EntryId {
        table: TableId(table),
        index,
    };
    let meters = &form.meters;
    match walk.step(record, &Meant { egress, meters }) {
        Ok(step) => assert_eq!(step.program, flows.entry(index).program),
        Err(_) => assert!(form.why_entry(pipeline, id).is_some()),
    }
}

/// Asserts that a walk sees every group as it is, whether an entry leads there or
/// not.
pub(super) fn check_groups(pipeline: &Pipeline, walk: &Describing<'_>) {
    let form = pipeline.form.as_deref().expect("it is kept");
    for (index, group) in pipeline.egress.groups.iter() {
        let (mut seen, mut expected) = (Vec::new(), Vec::new());
        if let Some(record) = form.groups.record(index) {
            walk.describe_group(record, 1, &mut seen);
            describe_group(pipeline, index, 1, &mut expected);
            assert_eq!(seen, expected);
            let live = form.store.word(Region::Groups, record, group::LIVE);
            assert_eq!(live, u64::from(group.is_live()));
        }
    }
}

fn does(pipeline: &Pipeline, entry: &Entry) -> Vec<u64> {
    let program = &entry.program;
    let flags = if program.clear { entry::CLEARS } else { 0 };
    let next = program.goto.map_or(entry::LAST, |next| next.0.into());
    let (value, mask) = program.metadata.map_or((0, 0), |it| (it.value, it.mask));
    let (monitor, apply) = match &program.apply[..] {
        [Action::FlowMonitor(monitor), others @ ..] => (u64::from(monitor.0), others),
        all => (0, all),
    };
    let mut does = vec![flags, next, value, mask, monitor];
    match program.meter {
        None => does.push(0),
        Some(index) => {
            let meter = pipeline.egress.meters.meter(index);
            let bands = &meter.config.bands;
            does.push(u64::try_from(bands.len()).unwrap() << 16);
            for band in bands {
                let what = match band.treatment {
                    BandAction::Drop => 0,
                    BandAction::BestEffort => 2,
                    BandAction::Remark(levels) => 1 | u64::from(levels) << 8,
                };
                does.extend([what, band.rate, band.burst]);
            }
        }
    }
    describe_actions(pipeline, apply, 0, &mut does);
    describe_actions(pipeline, &program.write, 0, &mut does);
    does
}

fn describe_actions(pipeline: &Pipeline, actions: &[Action], level: usize, does: &mut Vec<u64>) {
    does.push(u64::try_from(actions.len()).unwrap());
    for action in actions {
        match action {
            Action::Group(index) => describe_group(pipeline, *index, level + 1, does),
            action => does.extend(words_of(*action, &Everything).unwrap()),
        }
    }
}

fn describe_group(pipeline: &Pipeline, index: GroupIndex, level: usize, does: &mut Vec<u64>) {
    let form = pipeline.form.as_deref().expect("it is kept");
    let group = pipeline.egress.groups.group(index);
    let buckets = &group.config.buckets;
    let reason = form.groups.reason(index);
    let kind = u64::from(group.config.kind.number());
    let shares = buckets.last().map_or(0, |it| it.shares_up_to);
    match reason {
        Some(_) => does.push(kind | group::TO_CORE),
        None => does.push(kind | u64::try_from(buckets.len()).unwrap() << 16),
    }
    does.extend([u64::from(shares), group.config.id.0.into()]);
    if reason.is_some() || level > super::super::layout::limit::LEVELS {
        return;
    }
    for bucket in buckets {
        let watched = bucket.watch.port.map_or(0, |port| port.0);
        does.extend([u64::from(bucket.watch.port.is_some()), watched.into()]);
        does.push(u64::from(bucket.share) | u64::from(bucket.shares_up_to) << 32);
        let actions = &group.config.actions[bucket.actions()];
        describe_actions(pipeline, actions, level, does);
    }
}
