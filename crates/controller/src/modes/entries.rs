//! Turns what flows get at levels into entries.
//!
//! Over the entry of a flow at a switch stands one for each level, which matches the
//! level in force as well and is one priority above it. So a level is one field of the
//! key, and the entries of all levels stand beforehand. The first switch shows frames to
//! the monitor of the flow.
//!
//! In a network whose controller writes entries anew (`std-sdn`) there is one such
//! entry, for the level that holds now, and it does not match levels.

use wire::ethernet::EtherType;
use wire::mode_signal::Level;
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::MonitorId;
use wire::openflow::{Action, DatapathId, MatchField, QueueId, TableId};

use crate::desired::PlacedRule;
use crate::flows::{BEST_EFFORT, Entry, Flow};
use crate::northbound::FlowId;
use crate::place::PortId;
use crate::priority;
use crate::rules::priority_of;

use super::{Modes, Service, Strategy};

const TABLE: TableId = TableId(0);

/// Which entries stand over those of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variants {
    OfAllLevels,
    Of(Level),
}

/// Returns the monitor that watches a flow.
pub(crate) const fn monitor_of(flow: FlowId) -> MonitorId {
    MonitorId(flow.0)
}

/// Returns the entry that takes in signals of neighbours.
pub(crate) fn signal_entry(datapath: DatapathId) -> PlacedRule {
    PlacedRule {
        datapath,
        table: TABLE,
        priority: priority::PROBE,
        matching: vec![MatchField::EthType(EtherType::MODE_SIGNAL)],
        actions: vec![Action::ModeArrange],
    }
}

/// Returns the entries that stand over those of a flow, at the switches that
/// `has_modes` names.
pub(crate) fn variants(
    modes: &Modes,
    flow: &Flow,
    which: Variants,
    has_modes: &dyn Fn(DatapathId) -> bool,
) -> Vec<PlacedRule> {
    let levels: Vec<Level> = match (modes.strategy, which) {
        (Strategy::McAgnostic, _) => Vec::new(),
        (_, Variants::OfAllLevels) => modes.all().collect(),
        (_, Variants::Of(level)) => vec![level],
    };
    let mut rules = Vec::new();
    for (at, entry) in flow.entries(&flow.way) {
        if !has_modes(at.datapath) {
            continue;
        }
        for level in &levels {
            let mut rule = variant(modes, flow, (at, &entry), *level);
            if which == Variants::OfAllLevels {
                rule.matching
                    .push(MatchField::Level(Masked::exact(level.number())));
            }
            rules.push(rule);
        }
    }
    rules
}

/// Returns the entry of a flow at a level, without the level.
fn variant(modes: &Modes, flow: &Flow, (at, entry): (PortId, &Entry), level: Level) -> PlacedRule {
    let requirement = &flow.admission.requirement;
    let is_first = at == flow.admission.source;
    let mut actions = Vec::new();
    if is_first && modes.is_watched(requirement) {
        actions.push(Action::FlowMonitor(monitor_of(flow.id)));
    }
    match modes.service(requirement, level) {
        Service::Dropped => {}
        Service::Served { class, .. } => {
            // A detour has no promise at any level.
            let class = match entry.class {
                BEST_EFFORT => BEST_EFFORT,
                _ => class,
            };
            if modes.strategy == Strategy::Taktos && entry.class != BEST_EFFORT {
                let fates = modes.fates(requirement, level);
                actions.push(Action::QueuedFrame(fates));
            }
            actions.push(Action::SetQueue(QueueId(u32::from(class))));
            actions.extend(entry.sends(at.port));
        }
    }
    let mut matching = vec![MatchField::InPort(at.port)];
    matching.extend_from_slice(flow.rule.fields());
    PlacedRule {
        datapath: at.datapath,
        table: TABLE,
        priority: priority_of(flow.rule.fields()) + 1,
        matching,
        actions,
    }
}
