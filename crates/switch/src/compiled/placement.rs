//! Where frames are handled that meet an entry, a group, a meter or a table, and
//! why.

use wire::openflow::MeterId;
use wire::openflow::taktos::CoreReason as Reason;

use super::form::Form;
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::pipeline::Pipeline;
use crate::timeouts::EntryId;

impl Form {
    /// Returns which state of the tables is in force outside of the core.
    pub(crate) const fn generation(&self) -> u64 {
        self.store.next() - 1
    }

    /// Returns why frames that come to a table go to the core, if they do.
    pub(crate) fn why_table(&self, table: usize) -> Option<Reason> {
        self.tables[table].reason()
    }

    /// Returns why frames that meet an entry go to the core, if they do.
    pub(crate) fn why_entry(&self, pipeline: &Pipeline, id: EntryId) -> Option<Reason> {
        let program = &pipeline.entry(id).program;
        let table = usize::from(id.table.0);
        let meter = || {
            let reason = self.why_meter(pipeline, program.meter?);
            reason.map(|_| Reason::Meter)
        };
        let mut groups = program.groups().into_iter();
        self.tables[table]
            .reason_of(id.index)
            .or_else(meter)
            .or_else(|| {
                let reason = groups.find_map(|group| self.why_group(pipeline, group));
                reason.map(|_| Reason::Group)
            })
    }

    /// Returns why frames that come to a group go to the core, if they do.
    pub(crate) fn why_group(&self, pipeline: &Pipeline, index: GroupIndex) -> Option<Reason> {
        self.groups.reason(index).or_else(|| {
            let group = pipeline.egress.groups.group(index);
            let mut used = group.uses().iter();
            let through = used.find_map(|group| self.why_group(pipeline, *group));
            through.map(|_| Reason::Group)
        })
    }

    /// Returns why frames that come to a meter go to the core, if they do.
    pub(crate) fn why_meter(&self, pipeline: &Pipeline, index: MeterIndex) -> Option<Reason> {
        match pipeline.egress.meters.meter(index).config.id {
            MeterId::CONTROLLER => Some(Reason::Controller),
            _ => self.meters.reason(index),
        }
    }
}
