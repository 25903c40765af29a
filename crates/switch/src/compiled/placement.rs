//! Where frames are handled that meet an entry, a group, a meter or a table, and
//! why.

use std::fmt;

use super::form::Form;
use crate::group_table::GroupIndex;
use crate::meter_table::MeterIndex;
use crate::pipeline::Pipeline;
use crate::timeouts::EntryId;

/// Why frames go to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// They go on to the controllers.
    Controller,
    /// They are treated as a bridge would.
    Bridge,
    /// They go to a port that only the core reaches.
    Port,
    /// They go to all ports, which are too many.
    Ports,
    /// They are changed in a way that only the core knows.
    Change,
    /// The list of actions is too long.
    Actions,
    /// The group has no place among those of the compiled form, or is itself left to the core.
    Group,
    /// The groups lead too deep.
    Chain,
    /// The meter has no place among those of the compiled form.
    Meter,
    /// The meter has too many bands.
    Bands,
    /// The entries of the table have too many masks.
    Masks,
    /// The compiled form is full.
    Room,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 12] = [
        Self::Controller,
        Self::Bridge,
        Self::Port,
        Self::Ports,
        Self::Change,
        Self::Actions,
        Self::Group,
        Self::Chain,
        Self::Meter,
        Self::Bands,
        Self::Masks,
        Self::Room,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Controller => "goes to controllers",
            Self::Bridge => "is bridged",
            Self::Port => "goes to a port that only the core reaches",
            Self::Ports => "goes to too many ports",
            Self::Change => "is changed as only the core can",
            Self::Actions => "has too many actions",
            Self::Group => "goes to a group that the core handles",
            Self::Chain => "goes through too many groups",
            Self::Meter => "has a meter beyond the room",
            Self::Bands => "has too many bands",
            Self::Masks => "has too many masks",
            Self::Room => "exceeds the room",
        })
    }
}

#[cfg_attr(not(test), expect(dead_code, reason = "asked for in tests so far"))]
impl Form {
    /// Returns why frames that come to a table go to the core, if they do.
    pub(crate) fn why_table(&self, table: usize) -> Option<Reason> {
        self.tables[table].reason()
    }

    /// Returns why frames that meet an entry go to the core, if they do.
    pub(crate) fn why_entry(&self, pipeline: &Pipeline, id: EntryId) -> Option<Reason> {
        let program = &pipeline.entry(id).program;
        let table = usize::from(id.table.0);
        let meter = || program.meter.and_then(|meter| self.why_meter(meter));
        let mut groups = program.groups().into_iter();
        self.tables[table]
            .reason_of(id.index)
            .or_else(meter)
            .or_else(|| groups.find_map(|group| self.why_group(pipeline, group)))
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
    pub(crate) fn why_meter(&self, index: MeterIndex) -> Option<Reason> {
        self.meters.reason(index)
    }
}
