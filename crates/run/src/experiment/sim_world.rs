//! A scenario in virtual time.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use controller::northbound::{Request, RequestId, Said, Saying};
use controller::{Asker, Config};
use linux::clock;
use linux::controller_loop::{Desk, Questions, Told};
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

/// A watched world goes on for so long before it is looked who asks something.
const SLICE: Duration = Duration::from_ms(10);

/// A scenario in virtual time.
#[derive(Debug)]
pub struct SimWorld {
    world: sim::World,
    changes: Vec<Happening>,
    watched: Option<Watched>,
}

/// Who watches a world, whose time is then the clock's, or later where it does not keep up.
#[derive(Debug)]
struct Watched {
    desk: Desk,
    questions: Questions,
    tell: Option<Sender<Told>>,
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
        Self::beginning_at(Instant::ZERO, scenario, controller, engine)
    }

    /// The same, no faster than the clock, so that others can watch it and ask its
    /// controller.
    ///
    /// # Errors
    ///
    /// If the machine has no descriptors left.
    pub fn watched(scenario: &Scenario, controller: Config, engine: SimEngine) -> io::Result<Self> {
        let (desk, questions) = Desk::open()?;
        let mut world = Self::beginning_at(clock::now(), scenario, controller, engine);
        world.watched = Some(Watched {
            desk,
            questions,
            tell: None,
        });
        Ok(world)
    }

    fn beginning_at(
        begins: Instant,
        scenario: &Scenario,
        controller: Config,
        engine: SimEngine,
    ) -> Self {
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
            world: sim::World::beginning_at(begins, parts, engine),
            changes: Vec::new(),
            watched: None,
        }
    }

    /// Returns what the run has done so far.
    #[must_use]
    pub fn counts(&self) -> sim::world::Counts {
        self.world.counts()
    }
}

impl Watched {
    /// Tells whoever watches what the controller has said.
    fn pass_on(&self, said: &[Said]) {
        let Some(tell) = &self.tell else { return };
        for Said { at, what } in said.iter().cloned() {
            let told = match what {
                Saying::Notice(notice) => Told::Notice { at, notice },
                Saying::Reply(id, reply) => Told::Reply { at, id, reply },
            };
            // Who has gone does not want to know.
            let _ = tell.send(told);
        }
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
        let Some(watched) = &self.watched else {
            return self.world.request(request);
        };
        let id = watched.desk.next_id();
        self.world.request_as(id, Asker::Operator, request);
        id
    }

    fn lend_controller(&mut self) -> Option<(Desk, Receiver<Told>)> {
        let watched = self.watched.as_mut()?;
        let (tell, told) = mpsc::channel();
        watched.tell = Some(tell);
        Some((watched.desk.clone(), told))
    }

    fn listen(&mut self, until: Instant) -> Result<Vec<Said>, ExperimentError> {
        let Some(watched) = &self.watched else {
            return Ok(self.world.run_until_said(until));
        };
        loop {
            let next = until.min(self.world.now() + SLICE);
            thread::sleep(next.saturating_since(clock::now()).into());
            while let Some((id, by, request)) = watched.questions.take() {
                self.world.request_as(id, by, request);
            }
            let said = self.world.run_until_said(next);
            watched.pass_on(&said);
            if !said.is_empty() || self.world.now() >= until {
                return Ok(said);
            }
        }
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
