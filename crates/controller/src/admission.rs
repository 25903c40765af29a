//! Decides whether the network can keep one more promise.
//!
//! A tree through the network becomes a tree of stages: at each switch the
//! processing stage that its ports share, then a port for each output (S4-5).
//! The ledger of `calculus` knows what every stage has promised and whether it
//! can promise more (S4-6). A flow that is to be restored is reserved on its
//! base tree and, for the failure of each link of it, on the alternative as
//! well, so that the promise holds on every way that the flow may take.
//!
//! The network does work that no flow accounts for, and every bound contains it:
//!
//! - what hosts send without a promise occupies the processing stages. A port
//!   where a host is configured brings what that host may send. Any other port
//!   may bring whatever its link carries, if any host sends without a promise:
//!   what queued up before is no smoother than that. A link passes frames one
//!   after the other, so the burst is a frame.
//! - probes for links leave every port, in the lowest class that has promises
//!   there: below it they could starve, and a link would seem lost.

use std::collections::BTreeMap;

use calculus::admission::{FailureId, Hop, Ledger, MAX_DELAY, Request, Stage, StageId, Unpromised};
use calculus::min_plus::TokenBucket;
use thiserror::Error;
use units::{BitRate, DataSize, Delay, Duration};
use wire::openflow::DatapathId;

use crate::config::{Config, PortParameters, SwitchParameters, UnpromisedTraffic};
use crate::northbound::Requirement;
use crate::path::Tree;
use crate::place::{LinkEnds, PortId};

pub use calculus::admission::{Constraint, Fits, FlowId as ReservationId};

/// A probe as it occupies the wire: the smallest frame with its overhead holds
/// it.
const PROBE_SIZE: DataSize = DataSize::from_bytes(128);
/// Probes that may leave a port at once: the periodic one, one for a port that
/// came up, one that answers a probe from the other side, and one in reserve.
const PROBE_BURST: u64 = 4;
/// Longer than any deadline: work that we account for and that has none.
const NO_DEADLINE: Delay = MAX_DELAY;

/// Why a requirement cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Another flow has its name.
    #[error("another flow is called {name}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// There are too many flows.
    #[error("there are {limit} flows, and there cannot be more")]
    TooManyFlows {
        /// The limit.
        limit: usize,
    },
    /// Nobody knows a host of this name.
    #[error("host {name} is not known")]
    UnknownHost {
        /// The name.
        name: String,
    },
    /// The host is known by name only.
    #[error("nobody knows where host {name} is: no frame of it has arrived")]
    HostNotFound {
        /// The name.
        name: String,
    },
    /// The number of destinations is none or too many.
    #[error("{count} destinations, where 1 to {limit} are possible")]
    Destinations {
        /// The number.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// The class is not for such a flow.
    #[error("class {class} is for flows {expected}")]
    Class {
        /// The class.
        class: u8,
        /// Which flows it is for.
        expected: &'static str,
    },
    /// Its frames cannot be told from those of another flow.
    #[error("its frames cannot be told from those of {other}")]
    Indistinguishable {
        /// The name of the other flow.
        other: String,
    },
    /// No path leads to a destination.
    #[error("no path leads from {from} to {to}")]
    NoPath {
        /// The source.
        from: String,
        /// The destination.
        to: String,
    },
    /// A link cannot be done without.
    #[error("without {link} no path leads from {from} to {to}")]
    NoAlternative {
        /// The link.
        link: String,
        /// The source.
        from: String,
        /// The destination.
        to: String,
    },
    /// The network has not enough left.
    #[error("{0}")]
    Shortage(Box<Shortage>),
    /// The store did not keep it.
    #[error("the store could not keep it")]
    NotStored,
}

/// What the network has not enough of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The link or switch that has not enough left, by name, or `None` if it is
    /// no matter of one.
    pub place: Option<String>,
    /// The link after whose failure it would not have enough, by name, or
    /// `None` if it has not anyway.
    pub after: Option<String>,
    /// What would not hold.
    pub constraint: Constraint,
    /// The rate that was asked for.
    pub rate: BitRate,
    /// What would have been admitted instead.
    pub fits: Fits,
}

impl std::fmt::Display for Shortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place} ")?;
        }
        match &self.constraint {
            Constraint::Rate {
                needed_bps,
                allowed,
                ..
            } => {
                let taken = needed_bps.saturating_sub(self.rate.as_bps());
                match allowed.left_after(taken) {
                    Some(left) => write!(f, "has {left} of {allowed} left for its class")?,
                    None => write!(f, "has nothing of {allowed} left for its class")?,
                }
            }
            other if self.place.is_some() => write!(f, "cannot take it: {other}")?,
            other => write!(f, "{other}")?,
        }
        if let Some(link) = &self.after {
            write!(f, " while {link} is down")?;
        }
        match (self.fits.rate, self.fits.burst) {
            (Some(rate), _) => write!(f, "; {rate} would fit"),
            (None, Some(burst)) => write!(f, "; a burst of {burst} would fit"),
            (None, None) => Ok(()),
        }
    }
}

/// Where a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The processing stage of a switch.
    Switch(DatapathId),
    /// A port.
    Port(PortId),
}

/// Why the ledger refused, with places instead of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where.
    pub place: Option<Place>,
    /// After the failure of which link, if after one.
    pub after: Option<LinkEnds>,
    /// What would not hold.
    pub constraint: Constraint,
    /// What would have been admitted.
    pub fits: Fits,
}

/// What was reserved for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// By which it is given back.
    pub id: ReservationId,
    /// The longest delay on any way that the flow may take.
    pub guarantee: Delay,
}

/// All reservations in the network.
#[derive(Clone, Debug)]
pub struct Reservations {
    switches: BTreeMap<DatapathId, SwitchParameters>,
    unknown_switch: SwitchParameters,
    work: WithoutPromise,
    ledger: Ledger,
    places: Vec<Place>,
    stages: BTreeMap<Place, StageId>,
    links: Vec<LinkEnds>,
    failures: BTreeMap<LinkEnds, FailureId>,
}

impl Reservations {
    /// Starts with the stages of the switches that are configured. Others are
    /// added when a flow first uses them.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let mut reservations = Self {
            switches: config.switches.clone(),
            unknown_switch: config.unknown_switch.clone(),
            work: WithoutPromise::new(config),
            ledger: Ledger::new(Vec::new()),
            places: Vec::new(),
            stages: BTreeMap::new(),
            links: Vec::new(),
            failures: BTreeMap::new(),
        };
        for (datapath, switch) in &config.switches {
            reservations.add_switch(*datapath);
            for port in switch.ports.keys() {
                reservations.add_port(PortId::new(*datapath, *port));
            }
        }
        reservations
    }

    /// Returns what is known of a switch.
    #[must_use]
    pub fn parameters(&self, datapath: DatapathId) -> &SwitchParameters {
        self.switches.get(&datapath).unwrap_or(&self.unknown_switch)
    }

    /// Returns the queue in which probes leave a port: the lowest that has
    /// promises there, or the most urgent if none has.
    #[must_use]
    pub fn probe_class(&self, port: PortId) -> u8 {
        probe_class(self.parameters(port.datapath).port(port.port))
    }

    /// Returns the delay that a flow of `class` may have by leaving a switch by
    /// a port: the budgets and the propagation.
    #[must_use]
    pub fn hop_delay(&self, port: PortId, class: u8) -> Delay {
        let switch = self.parameters(port.datapath);
        let processing = switch.processing.map(|processing| processing.budget);
        let parameters = switch.port(port.port);
        let budget = parameters
            .budgets
            .get(usize::from(class))
            .copied()
            .flatten();
        let queue =
            budget.unwrap_or_else(|| parameters.rate.time_to_send(parameters.largest_frame));
        processing.unwrap_or_default() + queue + parameters.propagation
    }

    /// Reserves what a flow requires on all of its trees.
    ///
    /// # Errors
    ///
    /// Where and why that is not possible, and what would be.
    ///
    /// # Panics
    ///
    /// If the requirement has no deadline: best effort reserves nothing.
    pub fn reserve(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        base: &Tree,
        alternatives: &[(LinkEnds, Tree)],
    ) -> Result<Reserved, Box<Refused>> {
        let deadline = requirement
            .deadline
            .expect("only a deadline can be promised");
        let traffic = requirement.traffic;
        let first = *self.parameters(source.datapath).port(source.port);
        let base = self.stages_of(base);
        let mut others: Vec<(FailureId, calculus::admission::Tree)> = alternatives
            .iter()
            .map(|(link, tree)| (self.failure(*link), self.stages_of(tree)))
            .collect();
        others.sort_by_key(|(failure, _)| *failure);
        let request = Request {
            class: requirement.class,
            rate: traffic.rate,
            burst: traffic.burst,
            largest_frame: traffic.largest_frame,
            smallest_frame: traffic.smallest_frame,
            deadline,
            initial: first.rate.time_to_send(traffic.largest_frame) + first.propagation,
            base,
            alternatives: others,
        };
        let admitted = self.ledger.admit(request).map_err(|refusal| {
            Box::new(Refused {
                place: refusal.stage.map(|stage| self.places[stage.0 as usize]),
                after: refusal
                    .failure
                    .map(|failure| self.links[failure.0 as usize]),
                constraint: refusal.constraint,
                fits: refusal.fits,
            })
        })?;
        let on_alternatives = admitted.alternatives.iter().map(|(_, delay)| *delay);
        Ok(Reserved {
            id: admitted.id,
            guarantee: on_alternatives.fold(admitted.guarantee, Delay::max),
        })
    }

    /// Gives back what was reserved for a flow.
    pub fn release(&mut self, id: ReservationId) {
        self.ledger.withdraw(id);
    }

    /// Returns the stages that frames on this tree pass, each behind the one
    /// before it.
    fn stages_of(&mut self, tree: &Tree) -> calculus::admission::Tree {
        let mut hops: Vec<Hop> = Vec::new();
        let mut exits = BTreeMap::new();
        for (index, branch) in tree.branches.iter().enumerate() {
            let mut parent = branch.parent.and_then(|before| exits.get(&before).copied());
            if let Some(stage) = self.add_switch(branch.datapath) {
                hops.push(Hop { stage, parent });
                parent = Some(hops.len() - 1);
            }
            for port in &branch.outputs {
                let stage = self.add_port(PortId::new(branch.datapath, *port));
                hops.push(Hop { stage, parent });
                exits.insert((index, *port), hops.len() - 1);
            }
        }
        calculus::admission::Tree { hops }
    }

    fn failure(&mut self, link: LinkEnds) -> FailureId {
        let next = FailureId(small(self.links.len()));
        *self.failures.entry(link).or_insert_with(|| {
            self.links.push(link);
            next
        })
    }

    /// Returns the processing stage of a switch, or `None` if it has none.
    fn add_switch(&mut self, datapath: DatapathId) -> Option<StageId> {
        let place = Place::Switch(datapath);
        if let Some(stage) = self.stages.get(&place) {
            return Some(*stage);
        }
        let processing = self.parameters(datapath).processing?;
        let parameters = self.parameters(datapath).clone();
        let work = self.work.at(datapath, &parameters);
        let mut stage = Stage::Processing {
            latency: processing.latency,
            per_frame: processing.per_frame,
            budget: processing.budget,
            buffer_frames: processing.buffer_frames,
        };
        let mut alone = Ledger::new(vec![stage.clone()]);
        let mut declared = work
            .iter()
            .map(|work| alone.declare_unpromised(StageId(0), *work));
        let keeps_up = declared.all(|declared| declared.is_ok());
        if let Stage::Processing { budget, .. } = &mut stage
            && !keeps_up
        {
            // It may work without end on what nothing is promised for: no delay
            // can be promised, and no flow fits a budget of none.
            *budget = Delay::ZERO;
        }
        let id = self.add_stage(place, stage);
        for work in work.into_iter().filter(|_| keeps_up) {
            let declared = self.ledger.declare_unpromised(id, work);
            declared.expect("it fitted the same stage a moment ago");
        }
        Some(id)
    }

    fn add_port(&mut self, port: PortId) -> StageId {
        let place = Place::Port(port);
        if let Some(stage) = self.stages.get(&place) {
            return *stage;
        }
        let parameters = *self.parameters(port.datapath).port(port.port);
        let mut stage = port_stage(&parameters);
        let mut alone = Ledger::new(vec![stage.clone()]);
        let probe = self.work.probe(&parameters);
        let fits = |probe: &Request| alone.admit(on_one_stage(probe, StageId(0))).is_ok();
        let has_room = probe.as_ref().is_none_or(fits);
        if let Stage::Port { budgets, .. } = &mut stage
            && !has_room
        {
            // Probes alone break the lowest budget: nothing is promised here.
            *budgets = [None; 8];
        }
        let id = self.add_stage(place, stage);
        if let Some(probe) = probe.filter(|_| has_room) {
            let admitted = self.ledger.admit(on_one_stage(&probe, id));
            admitted.expect("it fitted the same stage a moment ago");
        }
        id
    }

    fn add_stage(&mut self, place: Place, stage: Stage) -> StageId {
        let id = self.ledger.add_stage(stage);
        self.places.push(place);
        self.stages.insert(place, id);
        id
    }
}

fn port_stage(parameters: &PortParameters) -> Stage {
    Stage::Port {
        rate: parameters.rate,
        propagation: parameters.propagation,
        budgets: parameters.budgets,
        buffers: parameters.buffers,
        largest_frame: parameters.largest_frame,
    }
}

fn probe_class(port: &PortParameters) -> u8 {
    let lowest = (1..8u8).find(|class| port.budgets[usize::from(*class)].is_some());
    lowest.unwrap_or(7)
}

fn on_one_stage(request: &Request, stage: StageId) -> Request {
    Request {
        base: calculus::admission::Tree::path([stage]),
        ..request.clone()
    }
}

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("the view bounds the number of links and ports")
}

/// What arrives at the switches without any promise.
#[derive(Clone, Debug)]
struct WithoutPromise {
    probe_interval: Duration,
    by_port: BTreeMap<PortId, Option<UnpromisedTraffic>>,
    /// The extremes of what any host may send.
    any: Option<UnpromisedTraffic>,
}

impl WithoutPromise {
    fn new(config: &Config) -> Self {
        let hosts = config.hosts.iter();
        let by_port = hosts.filter_map(|host| Some((host.attachment?, host.unpromised)));
        let any = config.hosts.iter().filter_map(|host| host.unpromised);
        Self {
            probe_interval: config.timers.probe_interval,
            by_port: by_port.collect(),
            any: any.reduce(|one, other| UnpromisedTraffic {
                rate: one.rate.max(other.rate),
                largest_frame: one.largest_frame.max(other.largest_frame),
                smallest_frame: one.smallest_frame.min(other.smallest_frame),
            }),
        }
    }

    /// Returns the work that arrives at a switch.
    fn at(&self, datapath: DatapathId, switch: &SwitchParameters) -> Vec<Unpromised> {
        let mut work = Vec::new();
        for (number, port) in &switch.ports {
            let host = self.by_port.get(&PortId::new(datapath, *number));
            let traffic = match host {
                Some(traffic) => *traffic,
                None => self.any.map(|any| UnpromisedTraffic {
                    rate: port.rate,
                    ..any
                }),
            };
            if let Some(traffic) = traffic {
                work.push(Unpromised {
                    traffic: TokenBucket::new(traffic.rate, traffic.largest_frame),
                    smallest_frame: traffic.smallest_frame,
                });
            }
            if host.is_none() {
                work.extend(self.probe_rate().map(|rate| Unpromised {
                    traffic: TokenBucket::new(rate, PROBE_SIZE * PROBE_BURST),
                    smallest_frame: PROBE_SIZE,
                }));
            }
        }
        work
    }

    /// Returns the probes that leave a port, as a request without a way.
    fn probe(&self, port: &PortParameters) -> Option<Request> {
        port.budgets[usize::from(probe_class(port))]?;
        Some(Request {
            class: probe_class(port),
            rate: self.probe_rate()?,
            burst: PROBE_SIZE * PROBE_BURST,
            largest_frame: PROBE_SIZE,
            smallest_frame: PROBE_SIZE,
            deadline: NO_DEADLINE,
            initial: Delay::ZERO,
            base: calculus::admission::Tree::default(),
            alternatives: Vec::new(),
        })
    }

    fn probe_rate(&self) -> Option<BitRate> {
        BitRate::of(PROBE_SIZE * PROBE_BURST, self.probe_interval.into())
    }
}
