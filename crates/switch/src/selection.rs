//! Which entries a request means, OF13 clauses 6.4 and 7.3.5.2.

use wire::openflow::{ControllerLength, Cookie, GroupId, PortNumber, TableId};

use crate::action::{Action, Program, Target};
use crate::egress::Egress;
use crate::entry::Entry;
use crate::flow_table::Rule;
use crate::group_table::GroupIndex;
use crate::port::PortIndex;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection {
    /// Those of this table, or of all.
    pub(crate) table: TableId,
    /// Those whose match this one covers; its priority does not count.
    pub(crate) rule: Rule,
    /// Those whose cookie is this one.
    pub(crate) cookie: Cookie,
    pub(crate) cookie_mask: Cookie,
    /// Those that send to this port.
    pub(crate) out: OutPort,
    /// Those that send to this group.
    pub(crate) group: OutGroup,
}

/// A choice by where entries send to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutPort {
    Any,
    To(Target),
    /// A port that no entry can send to.
    Nowhere,
}

/// A choice by the group that entries send to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutGroup {
    Any,
    To(GroupIndex),
    /// A group that is not there.
    Nowhere,
}

impl OutGroup {
    pub(crate) fn new(egress: &Egress, group: GroupId) -> Self {
        match group {
            GroupId::ANY => Self::Any,
            group => egress.groups.find(group).map_or(Self::Nowhere, Self::To),
        }
    }

    pub(crate) fn includes(self, program: &Program) -> bool {
        match self {
            Self::Any => true,
            Self::Nowhere => false,
            Self::To(group) => program.sends_to(group),
        }
    }
}

impl OutPort {
    pub(crate) fn new(egress: &Egress, port: PortNumber) -> Self {
        match port {
            PortNumber::ANY => Self::Any,
            PortNumber::IN_PORT => Self::To(Target::InPort),
            PortNumber::ALL => Self::To(Target::All),
            PortNumber::FLOOD => Self::To(Target::Flood),
            PortNumber::NORMAL => Self::To(Target::Normal),
            PortNumber::CONTROLLER => Self::To(Target::Controller(ControllerLength::NO_BUFFER)),
            port => egress.find_port(port).map_or(Self::Nowhere, Self::port),
        }
    }

    const fn port(port: PortIndex) -> Self {
        Self::To(Target::Port(port))
    }

    fn includes(self, program: &Program) -> bool {
        match self {
            Self::Any => true,
            Self::Nowhere => false,
            Self::To(target) => {
                let mut actions = program.apply.iter().chain(&program.write);
                actions.any(|action| matches!(action, Action::Output(to) if to.is_like(target)))
            }
        }
    }
}

impl Selection {
    /// Returns whether entries of this table may be meant.
    pub(crate) fn includes_table(&self, table: TableId) -> bool {
        self.table == TableId::ALL || self.table == table
    }

    /// Returns whether an entry is meant, its table apart.
    pub(crate) fn includes(&self, entry: &Entry) -> bool {
        self.rule.covers(&entry.rule) && self.includes_exactly(entry)
    }

    /// Returns whether an entry that has the very rule is meant.
    pub(crate) fn includes_exactly(&self, entry: &Entry) -> bool {
        entry.cookie.matches(self.cookie, self.cookie_mask)
            && self.out.includes(&entry.program)
            && self.group.includes(&entry.program)
    }
}
