//! A scenario in virtual time.

use controller::Config;
use controller::northbound::{Request, RequestId, Said};
use measure::interruptions::Interruptions;
use measure::load::Load;
use scenario::{Change, Node, Scenario, SwitchIndex};
use sim::emulation::Behaviour;
use sim::parts::{End, Fault, FaultAt, LinkPart, Parts, Processing, SwitchPart};
use units::{Duration, Instant};
use wire::openflow::PortNumber;

use super::plan::{compiled_entries, switch_config};
use super::world::{Happening, Observed, World};
use super::{ExperimentError, SimEngine, capture, errors};

/// How long a simulated switch takes to notice that a port has lost its
/// carrier: what polling it every millisecond gives at worst.
const CARRIER_DETECTION: Duration = Duration::from_ms(1);
/// How much later than they were due frames may be policed: those of several flows wait for
/// each other in the interface of their host, which no contract counts.
const HOST_TOLERANCE: Duration = Duration::from_ms(1);
/// Virtual time begins with the year 2026, so that stamps in frames are dates.
pub const UNIX_ORIGIN_NS: u64 = 1_767_225_600_000_000_000;

/// A scenario in virtual time.
#[derive(Debug)]
pub struct SimWorld {
    world: sim::World,
    changes: Vec<Happening>,
}

impl SimWorld {
    /// Builds the network of the scenario, under this controller.
    #[must_use]
    pub fn new(scenario: &Scenario, controller: Config) -> Self {
        Self::with_engine(scenario, controller, SimEngine::Tables)
    }

    /// The same, with switches that look frames up by an engine.
    #[must_use]
    pub fn with_engine(scenario: &Scenario, controller: Config, engine: SimEngine) -> Self {
        let switches = (0..scenario.switches.len()).map(|index| {
            let profile = scenario.profile_of(SwitchIndex(index));
            SwitchPart {
                config: switch_config(scenario, SwitchIndex(index)),
                processing: Processing {
                    latency: profile.longest_latency(),
                    per_frame: profile.longest_per_frame(),
                    capacity: usize::try_from(profile.pool_frames.value).unwrap_or(usize::MAX),
                },
                emulation: Behaviour::of(profile),
            }
        });
        let hosts = scenario
            .hosts
            .iter()
            .map(|host| scenario.links[host.link.0].rate);
        let parts = Parts {
            seed: scenario.seed,
            switches: switches.collect(),
            hosts: hosts.collect(),
            links: scenario.links.iter().map(link_part).collect(),
            controller: Some(exact(scenario, controller)),
            control_delay: scenario.control.channel_delay.round_up(),
            carrier_detection: CARRIER_DETECTION,
        };
        let engine = match engine {
            SimEngine::Tables => sim::Engine::Tables,
            SimEngine::Compiled => sim::Engine::Compiled {
                entries: compiled_entries(scenario),
            },
        };
        Self {
            world: sim::World::with_engine(parts, engine),
            changes: Vec::new(),
        }
    }

    /// Returns what the run has done so far.
    #[must_use]
    pub fn counts(&self) -> sim::world::Counts {
        self.world.counts()
    }
}

/// Returns the same configuration with contracts policed as exactly as hosts allow, unless the
/// scenario says how exactly.
fn exact(scenario: &Scenario, controller: Config) -> Config {
    let tolerance = scenario.control.policing_tolerance;
    Config {
        policing: controller
            .policing
            .and(Some(tolerance.unwrap_or(HOST_TOLERANCE))),
        ..controller
    }
}

impl World for SimWorld {
    fn building(&self) -> Option<Duration> {
        None
    }

    fn now(&self) -> Instant {
        self.world.now()
    }

    fn unix_origin_ns(&self) -> u64 {
        UNIX_ORIGIN_NS
    }

    fn is_undisturbed(&self) -> bool {
        true
    }

    fn request(&mut self, request: Request) -> RequestId {
        self.world.request(request)
    }

    fn listen(&mut self, until: Instant) -> Result<Vec<Said>, ExperimentError> {
        Ok(self.world.run_until_said(until))
    }

    fn announce(&mut self, host: usize, frame: &[u8]) {
        self.world.announce(host, frame);
    }

    fn plant(&mut self, scenario: &Scenario, start: Instant) {
        self.world.watch_hops(scenario.links.len());
        self.world.plan(&errors::faults(scenario, start));
    }

    fn begin(&mut self, load: Load, changes: &[(Instant, Change)]) -> Result<(), ExperimentError> {
        let faults: Vec<_> = changes
            .iter()
            .map(|(at, change)| FaultAt {
                at: *at,
                fault: fault(*change),
            })
            .collect();
        let planned = changes.iter();
        let planned = planned.map(|(at, change)| Happening {
            at: *at,
            change: *change,
            is_by_hand: false,
        });
        self.changes = planned.collect();
        self.world.plan(&faults);
        self.world.begin(load);
        Ok(())
    }

    fn change(&mut self, change: Change) {
        let at = self.world.now();
        let fault = fault(change);
        self.world.plan(&[FaultAt { at, fault }]);
        let is_by_hand = true;
        let happening = Happening {
            at,
            change,
            is_by_hand,
        };
        let place = self.changes.partition_point(|it| it.at <= at);
        self.changes.insert(place, happening);
    }

    fn finish(self: Box<Self>) -> Result<Observed, ExperimentError> {
        let counts = self.world.counts();
        let end = self.world.now();
        let observed = self.world.finish();
        let mut notes = vec![format!(
            "{} frames were put on a link, {} were lost on one that was cut or impaired, {} found no room \
             before a processor.",
            counts.hops, counts.lost_on_cables, counts.dropped_before_processor
        )];
        if counts.lost_by_devices > 0 {
            notes.push(format!(
                "Emulated devices lost {} frames, as their profiles have it.",
                counts.lost_by_devices
            ));
        }
        notes.extend(capture::notes(&observed.captures));
        Ok(Observed {
            happenings: (self.changes.into_iter())
                .filter(|it| it.at <= end)
                .collect(),
            records: observed.flows,
            stamps: "virtual time, exact".to_owned(),
            stalls: None,
            interruptions: Interruptions::default(),
            called_late: Duration::ZERO,
            overflowed: 0,
            unseen: Vec::new(),
            hops: observed.hops,
            deviations: Vec::new(),
            watches_paces: true,
            fault_losses: observed.fault_losses,
            busy: None,
            notes,
            machine: None,
        })
    }
}

fn link_part(link: &scenario::Link) -> LinkPart {
    LinkPart {
        ends: link.ends.map(|end| End {
            node: node(end.node),
            port: PortNumber(end.port),
        }),
        propagation: link.propagation,
    }
}

fn node(node: Node) -> sim::parts::Node {
    match node {
        Node::Switch(switch) => sim::parts::Node::Switch(switch.0),
        Node::Host(host) => sim::parts::Node::Host(host.0),
    }
}

fn fault(change: Change) -> Fault {
    match change {
        Change::Cut(link) => Fault::Cut { link: link.0 },
        Change::Heal(link) => Fault::Heal { link: link.0 },
        Change::SwitchCrash(switch) => Fault::Crash { switch: switch.0 },
        Change::SwitchKill(switch) => Fault::Kill { switch: switch.0 },
        Change::SwitchRestart(switch) => Fault::Restart { switch: switch.0 },
        Change::Impair {
            link,
            direction,
            impairment,
            one_in,
        } => Fault::Impair {
            link: link.0,
            direction,
            impairment,
            one_in,
        },
        Change::Isolate(switch) => Fault::Isolate { switch: switch.0 },
        Change::Rejoin(switch) => Fault::Rejoin { switch: switch.0 },
        Change::HostMoves { host, to } => Fault::HostMoves {
            host: host.0,
            to: End {
                node: node(to.node),
                port: PortNumber(to.port),
            },
        },
    }
}
