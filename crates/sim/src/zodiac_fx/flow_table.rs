//! The flow table of the firmware: a list, searched from its beginning.
//!
//! Its rules are those of LOKO section 2.2.2, down to what they get wrong:
//!
//! - A new entry goes to the end, also if one like it is there already.
//! - Deleting moves the last entry into the hole.
//! - Once an entry has matched, those of lower priority are passed over. Every
//!   other one is compared in all fields that it matches on, so that the time
//!   does not depend on which of them differ.

use calculus::loko::processing_time::{MatchField, MatchFields, glance_time};
use units::Delay;
use wire::openflow::Cookie;
use wire::openflow10::{Action, Match10, PortNumber};

use super::frame::Fields;

/// The most entries that the table holds, LOKO section 2.2.2.
pub const ENTRIES_MAX: usize = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub matching: Match10,
    /// Which of several comes first: the highest.
    pub priority: u16,
    /// What the controller wrote on it.
    pub cookie: Cookie,
    /// What happens to its frames.
    pub actions: Vec<Action>,
    pub packets: u64,
    /// Their bytes, without check sequences.
    pub bytes: u64,
}

/// Which entries an order is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those with the same match and priority.
    Strict(Match10, u16),
    /// Those that the match covers.
    Covered(Match10),
}

/// What an order came across; the time that it took follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Entries that were looked at.
    pub seen: usize,
    /// Entries that were changed or deleted.
    pub touched: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    entries: Vec<Listed>,
}

#[derive(Clone, Debug)]
struct Listed {
    entry: Entry,
    comparison_time: Delay,
}

impl FlowTable {
    /// Puts an entry at the end.
    ///
    /// # Errors
    ///
    /// If the table is full.
    pub fn add(&mut self, entry: Entry) -> Result<(), TableFull> {
        if self.entries.len() >= ENTRIES_MAX {
            return Err(TableFull);
        }
        self.entries.push(Listed::new(entry));
        Ok(())
    }

    /// Overwrites each of these entries with `entry`.
    pub fn modify(&mut self, which: Which, entry: &Entry) -> Walk {
        let mut walk = Walk::default();
        for listed in &mut self.entries {
            walk.seen += 1;
            if which.names(&listed.entry) {
                walk.touched += 1;
                *listed = Listed::new(entry.clone());
            }
        }
        walk
    }

    /// Deletes these entries, if they send out of `out_port` or any port is
    /// meant. The last entry takes the place of each.
    pub fn delete(&mut self, which: Which, out_port: PortNumber) -> Walk {
        let mut walk = Walk::default();
        let mut place = 0;
        while let Some(listed) = self.entries.get(place) {
            walk.seen += 1;
            if which.names(&listed.entry) && sends_to(&listed.entry, out_port) {
                walk.touched += 1;
                self.entries.swap_remove(place);
            } else {
                place += 1;
            }
        }
        walk
    }

    /// Returns the entries in their order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter().map(|listed| &listed.entry)
    }

    /// Returns the entry of a frame and how long the search took.
    pub(super) fn search(&mut self, fields: &Fields) -> (Option<&mut Entry>, Delay) {
        let mut best: Option<(usize, u16)> = None;
        let mut time = Delay::ZERO;
        for (place, listed) in self.entries.iter().enumerate() {
            let priority = listed.entry.priority;
            if best.is_some_and(|(_, found)| priority < found) {
                time += glance_time();
                continue;
            }
            time += listed.comparison_time;
            let better = best.is_none_or(|(_, found)| priority > found);
            if better && fields.agree_with(&listed.entry.matching) {
                best = Some((place, priority));
            }
        }
        let entry = best.map(|(place, _)| &mut self.entries[place].entry);
        (entry, time)
    }
}

impl Listed {
    fn new(entry: Entry) -> Self {
        let comparison_time = fields_of(&entry.matching).comparison_time();
        Self {
            entry,
            comparison_time,
        }
    }
}

impl Which {
    fn names(&self, entry: &Entry) -> bool {
        match self {
            Self::Strict(matching, priority) => {
                entry.matching == *matching && entry.priority == *priority
            }
            Self::Covered(matching) => covers(matching, &entry.matching),
        }
    }
}

/// Tells whether every frame of `inner` is one of `outer` (OF10 section 4.6).
pub(super) fn covers(outer: &Match10, inner: &Match10) -> bool {
    fn of<T: PartialEq>(outer: Option<T>, inner: Option<T>) -> bool {
        outer.is_none() || outer == inner
    }
    let network = |outer: wire::openflow10::AddressPrefix,
                   inner: wire::openflow10::AddressPrefix| {
        let mask = outer.mask().to_bits();
        outer.prefix_length() <= inner.prefix_length()
            && inner.address().to_bits() & mask == outer.address().to_bits()
    };
    of(outer.in_port, inner.in_port)
        && of(outer.dl_src, inner.dl_src)
        && of(outer.dl_dst, inner.dl_dst)
        && of(outer.dl_vlan, inner.dl_vlan)
        && of(outer.dl_vlan_pcp, inner.dl_vlan_pcp)
        && of(outer.dl_type, inner.dl_type)
        && of(outer.nw_tos, inner.nw_tos)
        && of(outer.nw_proto, inner.nw_proto)
        && of(outer.tp_src, inner.tp_src)
        && of(outer.tp_dst, inner.tp_dst)
        && network(outer.nw_src, inner.nw_src)
        && network(outer.nw_dst, inner.nw_dst)
}

pub(super) fn sends_to(entry: &Entry, out_port: PortNumber) -> bool {
    let mut ports = entry.actions.iter().filter_map(|action| match action {
        Action::Output { port, .. } | Action::Enqueue { port, .. } => Some(*port),
        Action::SetVlanVid(_)
        | Action::SetVlanPcp(_)
        | Action::StripVlan
        | Action::SetDlSrc(_)
        | Action::SetDlDst(_)
        | Action::SetNwSrc(_)
        | Action::SetNwDst(_)
        | Action::SetNwTos(_)
        | Action::SetTpSrc(_)
        | Action::SetTpDst(_) => None,
    });
    out_port == PortNumber::NONE || ports.any(|port| port == out_port)
}

/// Returns the fields that a match looks at.
fn fields_of(matching: &Match10) -> MatchFields {
    let fields = [
        (matching.in_port.is_some(), MatchField::InPort),
        (matching.dl_src.is_some(), MatchField::DlSrc),
        (matching.dl_dst.is_some(), MatchField::DlDst),
        (matching.dl_vlan.is_some(), MatchField::DlVlan),
        (matching.dl_vlan_pcp.is_some(), MatchField::DlVlanPcp),
        (matching.dl_type.is_some(), MatchField::DlType),
        (matching.nw_tos.is_some(), MatchField::NwTos),
        (matching.nw_proto.is_some(), MatchField::NwProto),
        (matching.nw_src.prefix_length() > 0, MatchField::NwSrc),
        (matching.nw_dst.prefix_length() > 0, MatchField::NwDst),
        (matching.tp_src.is_some(), MatchField::TpSrc),
        (matching.tp_dst.is_some(), MatchField::TpDst),
    ];
    let there = fields.into_iter().filter(|(is_there, _)| *is_there);
    there.fold(MatchFields::default(), |all, (_, field)| all.with(field))
}

#[cfg(test)]
mod tests;
