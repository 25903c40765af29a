//! Work of the network for which nothing is promised, and which every bound
//! contains all the same.
//!
//! - What hosts send without a promise occupies the processing stages. A port
//!   where a host is configured brings what that host may send. Any other port
//!   may bring whatever its link carries, if any host sends without a promise:
//!   what queued up before is no smoother than that. A link passes frames one
//!   after the other, so the burst is a frame.
//! - Probes for links leave every port, in the lowest class that has promises
//!   there: below it they could starve, and a link would seem lost.

use std::collections::BTreeMap;

use calculus::admission::{BestEffort, MAX_DELAY, Request, Tree};
use calculus::min_plus::TokenBucket;
use units::{BitRate, DataSize, Delay, Duration};
use wire::openflow::DatapathId;

use crate::config::{BestEffortTraffic, Config, PortParameters, SwitchParameters};
use crate::place::PortId;

/// A probe as it occupies the wire, at most: 64 bytes and their overhead make 88.
const PROBE_SIZE: DataSize = DataSize::from_bytes(128);
/// Probes that may leave a port at once: the periodic one, one for a port that came up,
/// one that answers a probe from the other side, an echo, and the echo of the other side
/// that the switch turns round.
const PROBE_BURST: u64 = 5;
/// Longer than any deadline: work that we account for and that has none.
const NO_DEADLINE: Delay = MAX_DELAY;

/// What arrives at the switches without any promise.
#[derive(Clone, Debug)]
pub struct WithoutPromise {
    probe_interval: Duration,
    by_port: BTreeMap<PortId, Option<BestEffortTraffic>>,
    /// The extremes of what any host may send.
    any: Option<BestEffortTraffic>,
}

impl WithoutPromise {
    /// Takes what the configuration says of hosts and probes.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let hosts = config.hosts.iter();
        let by_port = hosts.filter_map(|host| Some((host.attachment?, host.unpromised)));
        let any = config.hosts.iter().filter_map(|host| host.unpromised);
        Self {
            probe_interval: config.timers.probe_interval,
            by_port: by_port.collect(),
            any: any.reduce(|one, other| BestEffortTraffic {
                rate: one.rate.max(other.rate),
                largest_frame: one.largest_frame.max(other.largest_frame),
                smallest_frame: one.smallest_frame.min(other.smallest_frame),
            }),
        }
    }

    /// Returns the work that arrives at a switch.
    #[must_use]
    pub fn at(&self, datapath: DatapathId, switch: &SwitchParameters) -> Vec<BestEffort> {
        let mut work = Vec::new();
        for (number, port) in &switch.ports {
            let host = self.by_port.get(&PortId::new(datapath, *number));
            let traffic = match host {
                Some(traffic) => *traffic,
                None => self.any.map(|any| BestEffortTraffic {
                    rate: port.rate,
                    ..any
                }),
            };
            if let Some(traffic) = traffic {
                work.push(BestEffort {
                    traffic: TokenBucket::new(traffic.rate, traffic.largest_frame),
                    smallest_frame: traffic.smallest_frame,
                });
            }
            if host.is_none() {
                work.extend(self.probe_rate().map(|rate| BestEffort {
                    traffic: TokenBucket::new(rate, PROBE_SIZE * PROBE_BURST),
                    smallest_frame: PROBE_SIZE,
                }));
            }
        }
        work
    }

    /// Returns the probes that leave a port, as a request without a way.
    #[must_use]
    pub fn probe(&self, port: &PortParameters) -> Option<Request> {
        port.budgets[usize::from(probe_class(port))]?;
        Some(Request {
            class: probe_class(port),
            rate: self.probe_rate()?,
            burst: PROBE_SIZE * PROBE_BURST,
            peak: None,
            frames: None,
            largest_frame: PROBE_SIZE,
            smallest_frame: PROBE_SIZE,
            deadline: NO_DEADLINE,
            initial: Delay::ZERO,
            base: Tree::default(),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        })
    }

    fn probe_rate(&self) -> Option<BitRate> {
        BitRate::of(PROBE_SIZE * PROBE_BURST, self.probe_interval.into())
    }
}

/// Returns the class in which probes leave a port: the lowest that has promises
/// there, or the most urgent if none has.
#[must_use]
pub fn probe_class(port: &PortParameters) -> u8 {
    let lowest = (1..8u8).find(|class| port.budgets[usize::from(*class)].is_some());
    lowest.unwrap_or(7)
}
