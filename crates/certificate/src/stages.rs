//! What each stage may take at a level, and what it has to do without promise.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{BestEffort, Level};
use crate::map::{LONGEST_PS, Map, NodeIndex, StageId};
use crate::reason::Reason;

/// The size of a probe on the wire, at most, in bits: 64 bytes and what surrounds them
/// are fewer.
const PROBE: u64 = 128 * 8;
/// A BFD packet with a hash right behind the Ethernet header, on the wire, in bits.
const BFD_PACKET: u64 = 90 * 8;
/// Probes that may leave a port at once.
const PROBES_AT_ONCE: u64 = 5;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// In any interval of length `t`, at most `burst + rate * t` arrives, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The rate, in bits per second.
    pub rate: u64,
    /// The burst, in bits.
    pub burst: u64,
    /// The smallest frame, in bits.
    pub smallest: u64,
}

/// The stages of a network with the budgets of a level.
#[derive(Clone, Debug)]
pub struct Stages<'a> {
    /// The network.
    pub map: &'a Map<'a>,
    /// By stage, and by class at a port.
    budgets: BTreeMap<(usize, Option<u8>), u64>,
}

impl<'a> Stages<'a> {
    /// Gives the stages of a network the budgets of a level.
    ///
    /// # Errors
    ///
    /// A budget of what is not there, and where.
    pub fn new(map: &'a Map<'a>, level: &Level) -> Result<Self, (String, Reason)> {
        let mut budgets = BTreeMap::new();
        let processors = level.processors.iter();
        let processors = processors.map(|it| (&it.switch, None, None, it.budget_ps));
        let ports = level.ports.iter();
        let ports = ports.map(|it| (&it.switch, Some(it.port), Some(it.class), it.budget_ps));
        for (name, port, class, budget) in processors.chain(ports) {
            let here = |reason| (format!("budget at `{name}`"), reason);
            let Some(NodeIndex::Switch(switch)) = map.node(name) else {
                return Err(here(Reason::Unknown("switch", name.clone())));
            };
            let stage = match port {
                None => map.processor(switch),
                Some(port) => {
                    let unknown = || here(Reason::Unknown("port", port.to_string()));
                    map.port_numbered(switch, port).ok_or_else(unknown)?
                }
            };
            if budget > LONGEST_PS {
                return Err(here(Reason::TooMuch));
            }
            if budgets.insert((stage, class), budget).is_some() {
                return Err(here(Reason::Twice("budget")));
            }
        }
        Ok(Self { map, budgets })
    }

    /// Returns how long a frame of a class may be at a stage.
    ///
    /// # Errors
    ///
    /// If nothing is said of that.
    pub fn budget(&self, stage: usize, class: u8) -> Result<u64, Reason> {
        let class = self.class_at(stage, class);
        let budget = self.budgets.get(&(stage, class));
        budget.copied().ok_or_else(|| Reason::NoBudget {
            stage: self.map.name_of(stage),
            class,
        })
    }

    /// Returns the class by which a stage tells frames apart: none at a processor.
    #[must_use]
    pub fn class_at(&self, stage: usize, class: u8) -> Option<u8> {
        match self.map.place(stage) {
            Some(StageId::Port { .. }) => Some(class),
            Some(StageId::Processor { .. }) | None => None,
        }
    }

    /// Returns the budgets that are not among those that are used.
    pub fn beside(
        &self,
        used: &BTreeSet<(usize, Option<u8>)>,
    ) -> impl Iterator<Item = (usize, Option<u8>)> {
        let all = self.budgets.keys().copied();
        all.filter(|budget| !used.contains(budget))
    }

    /// Returns how long the link behind a stage takes.
    #[must_use]
    pub fn propagation(&self, stage: usize) -> u64 {
        match self.map.place(stage) {
            Some(StageId::Port { link, .. }) => self.map.network().links[link].propagation_ps,
            Some(StageId::Processor { .. }) | None => 0,
        }
    }

    /// Returns the class of the controller's probes, which leave every port: the least
    /// urgent that has promises.
    #[must_use]
    pub fn probe_class(&self) -> Option<u8> {
        self.map.network().classes.last().copied()
    }
}

/// Returns the controller's probes, as they leave each port.
#[must_use]
pub fn probes(interval_ps: u64) -> Bucket {
    let burst = PROBE * PROBES_AT_ONCE;
    let rate = (u128::from(burst) * PS_PER_SECOND).div_ceil(u128::from(interval_ps));
    Bucket {
        rate: u64::try_from(rate).unwrap_or(u64::MAX),
        burst,
        smallest: PROBE,
    }
}

/// Returns the BFD packets that an end of a link sends, of which one is to come at each
/// interval: these at three quarters of it (RFC 5880 section 6.8.7), and in four intervals
/// one that says what is new and one that answers; so three may leave at once.
#[must_use]
pub fn bfd_packets(interval_ps: u64) -> Bucket {
    let rate = (u128::from(22 * BFD_PACKET) * PS_PER_SECOND).div_ceil(12 * u128::from(interval_ps));
    Bucket {
        rate: u64::try_from(rate).unwrap_or(u64::MAX),
        burst: 3 * BFD_PACKET,
        smallest: BFD_PACKET,
    }
}

/// Returns what comes to the processor of a switch without a promise: from a host what
/// it may send, and over a link from another switch whatever the link carries if any
/// host sends without a promise, for what queued up before is no smoother; and probes.
#[must_use]
pub fn unpromised(map: &Map<'_>, switch: usize) -> Vec<Bucket> {
    let network = map.network();
    let any = anybody(map);
    let mut work = Vec::new();
    for (link, end) in map.links_at(switch) {
        let rate = network.links[*link].rate_bps;
        let far = map.ends(*link).map(|ends| ends[1 - end]);
        let sends = match far {
            Some(NodeIndex::Host(host)) => network.hosts[host].unpromised.map(|own| BestEffort {
                rate_bps: own.rate_bps.min(rate),
                ..own
            }),
            Some(NodeIndex::Switch(_)) | None => any.map(|any| BestEffort {
                rate_bps: rate,
                ..any
            }),
        };
        work.extend(sends.map(|sends| Bucket {
            rate: sends.rate_bps,
            burst: sends.largest_frame_bit,
            smallest: sends.smallest_frame_bit,
        }));
        if map.is_trunk(*link) {
            work.push(probes(network.probe_interval_ps));
        }
    }
    work
}

/// Returns the extremes of what any host may send without a promise.
fn anybody(map: &Map<'_>) -> Option<BestEffort> {
    let hosts = map.network().hosts.iter();
    let sends = hosts.filter_map(|host| host.unpromised);
    sends.reduce(|one, other| BestEffort {
        rate_bps: one.rate_bps.max(other.rate_bps),
        largest_frame_bit: one.largest_frame_bit.max(other.largest_frame_bit),
        smallest_frame_bit: one.smallest_frame_bit.min(other.smallest_frame_bit),
    })
}
