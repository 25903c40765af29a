//! A network with flows, one of which breaks its contract at some time: what becomes of
//! its message, and how long it takes until all switches treat frames accordingly.
//!
//! # Differs from the paper
//!
//! Who changes the mode without modes is a controller of given times
//! ([`ControllerTimes`]); its messages take effect switch by switch, each switch's all
//! at once.

use measure::capture::Captures;
use measure::identity::Catalogue;
use measure::load::{HostLoad, Load, QueuedSource};
use measure::recorder::Settings;
use measure::traffic::{MessageSource as Messages, Source, message};
use measure::{Contract, FlowPlan, Recorder};
use units::{BitRate, DataSize, Duration, Instant};
use wire::openflow::Message;
use wire::openflow::taktos::{ModeEvent, ModeEventKind, ModeMessage, MonitorContract};

use super::deployment::{Deployment, FLAG_DSCP, LEVELS, LevelTreatment, RuledFlow, Strategy};
use super::site::{CONTROL_DELAY, addresses, datapath, hops, parts, trunk_ends};
use super::topology::ModeTopology;
use crate::World;
use crate::conversation::{Conversation, Heard};

pub use super::site::{Device, PROPAGATION, port_of};

/// What the link of a host lets through at once: a full frame.
pub(super) const BURST: DataSize = DataSize::from_bytes(1_538);
/// When the switches have been told everything, and hosts begin to send.
pub const READY: Duration = Duration::from_ms(300);
/// How often neighbours repeat what they hold.
pub const HEARTBEAT: Duration = Duration::from_ms(10);

/// How long the controller takes that changes the mode without modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerTimes {
    /// From the request's leaving the switch to the first message to a switch.
    pub reaction: Duration,
    /// From one message to the next, of all switches together.
    pub per_message: Duration,
    /// What a switch takes for each, beyond what its profile says.
    pub per_entry: Duration,
}

/// A flow of the experiment.
#[derive(Clone, Debug)]
pub struct StagedFlow {
    pub from: usize,
    pub to: usize,
    /// The switches on its way.
    pub route: Vec<usize>,
    /// The time between two messages.
    pub period: Duration,
    /// What a message has in the usual case.
    pub size_bytes: u32,
    /// When the first message is due, after everything is ready.
    pub phase: Duration,
    /// What becomes of it at each level.
    pub treatments: [LevelTreatment; 2],
    /// The message that breaks the contract, if one does.
    pub breach: Option<Breach>,
    /// From when on messages come more often than agreed, if they do.
    pub quickens: Option<Quickening>,
}

/// From some time on messages come more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quickening {
    /// When the first of them is due, after everything is ready.
    pub from: Duration,
    /// The time between two of them.
    pub period: Duration,
}

/// A message that is larger than agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Which message of the flow, counted from 0.
    pub number: u32,
    pub size_bytes: u32,
}

#[derive(Clone, Debug)]
pub struct ModeSetup {
    /// Everything random follows from it.
    pub seed: u64,
    /// The switches and their cables.
    pub topology: ModeTopology,
    /// At which switch each host is.
    pub hosts: Vec<usize>,
    /// The flows; the n-th goes to the UDP port [`port_of`] it.
    pub flows: Vec<StagedFlow>,
    pub strategy: Strategy,
    /// How many entries of each switch change.
    pub rules: usize,
    pub device: Device,
    /// What the controller is, where one is asked.
    pub controller: ControllerTimes,
    /// The rate of all links.
    pub rate: BitRate,
    /// How long frames are sent.
    pub duration: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedChange {
    /// When a switch noticed that the contract was broken.
    pub detected: Option<Instant>,
    /// When the last switch treated frames by the entries of the higher level, if all
    /// came to do so.
    pub changed: Option<Instant>,
    /// When a frame that the higher level drops last began to leave a switch, if that
    /// was after the detection.
    pub out_of_mode: Option<Instant>,
    /// From when the large message was due until its last packet arrived.
    pub message: Option<Duration>,
    /// The longest time that a whole message of each flow took from when it was due.
    pub longest: Vec<Option<Duration>>,
    /// By flow, the numbers of its messages with when all of each had arrived, after
    /// everything was ready; if it did.
    pub arrivals: Vec<Vec<(u32, Option<Duration>)>>,
    /// How many messages of each flow arrived whole.
    pub whole: Vec<u64>,
}

impl ObservedChange {
    /// Returns from the detection until all switches had changed and no frame out of
    /// mode left any more.
    #[must_use]
    pub fn mode_change(&self) -> Option<Duration> {
        let ends = self.changed?.max(self.out_of_mode.unwrap_or_default());
        ends.checked_since(self.detected?)
    }
}

impl StagedFlow {
    /// Returns when a message is due, after everything is ready. Its number counts from 0.
    #[must_use]
    pub fn due(&self, number: u32) -> Duration {
        let number = u64::from(number);
        let slow = |number: u64| self.phase + self.period * number;
        let Some(quick) = self.quickens else {
            return slow(number);
        };
        let before = quick.from.saturating_sub(self.phase).as_ns();
        let slow_ones = before.div_ceil(self.period.as_ns());
        match number.checked_sub(slow_ones) {
            Some(number) => quick.from + quick.period * number,
            None => slow(number),
        }
    }

    /// Returns what the flow may send at each level, if it breaks the contract of the
    /// lowest.
    fn contracts(&self) -> Option<[MonitorContract; 2]> {
        let agreed = MonitorContract {
            period: self.period,
            size_bytes: self.size_bytes,
        };
        let larger = self.breach.map(|breach| MonitorContract {
            size_bytes: breach.size_bytes,
            ..agreed
        });
        let oftener = self.quickens.map(|quick| MonitorContract {
            period: quick.period,
            ..agreed
        });
        larger.or(oftener).map(|higher| [agreed, higher])
    }
}

impl ModeSetup {
    #[must_use]
    pub fn play(&self) -> ObservedChange {
        let deployment = self.deployment();
        let mut world = World::new(parts(
            self.seed,
            (&self.topology, &self.hosts),
            &self.device,
            self.rate,
        ));
        world.watch();
        let start = Instant::ZERO + READY;
        let mut play = Play {
            stage: self,
            deployment,
            conversation: Conversation::new(self.topology.switches),
            changed: vec![None; self.topology.switches],
            detected: None,
        };
        play.until(&mut world, start);
        world.begin(self.load(start));
        play.until(&mut world, start + self.duration);
        play.seen(&world, start)
    }

    fn deployment(&self) -> Deployment {
        let flows = self.flows.iter().enumerate();
        let flows = flows.map(|(number, flow)| RuledFlow {
            port: port_of(number),
            hops: hops(&self.topology, &flow.route, flow.to),
            treatments: flow.treatments.to_vec(),
            contracts: flow.contracts().map(Vec::from).unwrap_or_default(),
        });
        Deployment {
            strategy: self.strategy,
            flows: flows.collect(),
            rules: self.rules,
            trunks: trunk_ends(&self.topology),
            heartbeat: HEARTBEAT,
            hold: None,
            levels: LEVELS.len(),
        }
    }

    fn load(&self, start: Instant) -> Load {
        let mut load = Load {
            hosts: self.hosts.iter().map(|_| HostLoad::default()).collect(),
            recorder: Recorder::new(start, Settings::default()),
            catalogue: Catalogue::default(),
            captures: Captures::default(),
        };
        for (number, flow) in self.flows.iter().enumerate() {
            let index = load.recorder.add(FlowPlan {
                receivers: 1,
                promise: None,
                contract: None,
                period: None,
            });
            for source in self.sources(number, flow, start) {
                load.hosts[flow.from].sources.push(QueuedSource {
                    source: Source::Message(source),
                    flow: index,
                    queue: match flow.treatments[0] {
                        LevelTreatment::Queue(queue) => queue,
                        LevelTreatment::Drop => 0,
                    },
                });
            }
        }
        load
    }

    /// Returns what sends a flow: the messages up to the large one, that one, and those
    /// behind it.
    fn sources(&self, number: usize, flow: &StagedFlow, start: Instant) -> Vec<Messages> {
        let first = start + flow.phase;
        let until = start + self.duration;
        let config = |size_bytes, dscp, from, until| message::MessageConfig {
            addresses: addresses(number, [flow.from, flow.to], dscp),
            message_length: size_bytes,
            period: flow.period,
            contract: Contract {
                rate: self.rate,
                burst: BURST,
            },
            start: from,
            until: Some(until),
        };
        if let Some(quick) = flow.quickens {
            let from = start + quick.from;
            let oftener = message::MessageConfig {
                period: quick.period,
                ..config(flow.size_bytes, FLAG_DSCP, from, until)
            };
            let agreed = Messages::new(&config(flow.size_bytes, 0, first, from));
            return vec![agreed.then(&oftener)];
        }
        let Some(breach) = flow.breach else {
            return vec![Messages::new(&config(flow.size_bytes, 0, first, until))];
        };
        let at = first + flow.period * u64::from(breach.number);
        let behind = at + flow.period;
        let configs = [
            config(flow.size_bytes, 0, first, at),
            config(breach.size_bytes, FLAG_DSCP, at, at + Duration::from_ns(1)),
            config(flow.size_bytes, 0, behind, until),
        ];
        configs.iter().map(Messages::new).collect()
    }
}

/// An experiment that goes on.
#[derive(Debug)]
struct Play<'a> {
    stage: &'a ModeSetup,
    deployment: Deployment,
    conversation: Conversation,
    changed: Vec<Option<Instant>>,
    detected: Option<Instant>,
}

impl Play<'_> {
    /// Lets things happen until a time, and does what a controller does.
    fn until(&mut self, world: &mut World, end: Instant) {
        while world.now() < end {
            let greeting = |switch| self.deployment.greeting(switch);
            for Heard { at, switch, bytes } in self.conversation.hear(world, end, greeting) {
                self.listen(world, at, switch, &bytes);
            }
        }
    }

    fn listen(&mut self, world: &mut World, at: Instant, switch: usize, bytes: &[u8]) {
        match Message::parse(bytes) {
            Ok((_, Message::Mode(ModeMessage::Event(event)))) => self.note(switch, &event),
            Ok((_, Message::PacketIn(_))) if self.detected.is_none() => {
                let asked = at - CONTROL_DELAY;
                self.detected = Some(asked);
                self.change(world, asked);
            }
            Ok((_, Message::Error(error))) => panic!("switch {switch} refuses: {error:?}"),
            Ok(_) | Err(_) => {}
        }
    }

    /// Takes down what a switch says of the mode.
    fn note(&mut self, switch: usize, event: &ModeEvent) {
        match event.kind {
            ModeEventKind::Violation(_) => {
                self.detected.get_or_insert(event.detected);
            }
            ModeEventKind::Entered if event.served == LEVELS[1] => {
                self.changed[switch].get_or_insert(event.changed);
                // Where the mode begins, the frame that caused it is the violating one.
                if event.origin == datapath(switch) {
                    self.detected.get_or_insert(event.detected);
                }
            }
            ModeEventKind::Entered
            | ModeEventKind::SignalsRefused(_)
            | ModeEventKind::Incomplete => {}
        }
    }

    /// Changes the mode as a controller does: by new entries for every switch.
    fn change(&mut self, world: &mut World, asked: Instant) {
        let times = self.stage.controller;
        let mut sent = asked + CONTROL_DELAY + times.reaction;
        for switch in 0..self.stage.topology.switches {
            let entries = self.deployment.entries_of(switch).max(self.stage.rules) as u64;
            let messages = self.deployment.change(switch, LEVELS[1]);
            // A device whose profile says how long it works on each begins with the
            // first, others are done with all some time after the last has come.
            let at = match self.stage.device.behaviour {
                Some(_) => sent + times.per_message,
                None => sent + (times.per_message + times.per_entry) * entries,
            };
            self.changed[switch] = Some(world.tell(at, switch, &messages));
            sent += times.per_message * entries;
        }
    }

    fn seen(&self, world: &World, start: Instant) -> ObservedChange {
        let Some(watch) = world.watched() else {
            return ObservedChange::default();
        };
        let stage = self.stage;
        let flows = stage.flows.iter().enumerate();
        let dropped = flows.clone();
        let dropped = dropped.filter(|(_, flow)| flow.treatments[1] == LevelTreatment::Drop);
        let dropped = dropped.map(|(number, _)| port_of(number));
        let dropped: Vec<u16> = dropped.collect();
        let changes = match stage.strategy {
            Strategy::McAgnostic => false,
            Strategy::Taktos | Strategy::StdSdn => true,
        };
        let after = |at: &Instant| self.detected.is_some_and(|detected| *at > detected);
        let last = watch.last_departure(&dropped).filter(|_| changes);
        let all: Option<Vec<Instant>> = self.changed.iter().copied().collect();
        let mut seen = ObservedChange {
            detected: self.detected,
            changed: all.and_then(|all| all.into_iter().max()),
            out_of_mode: last.filter(after),
            ..ObservedChange::default()
        };
        for (number, flow) in flows {
            let (mut longest, mut whole) = (None, 0);
            let mut arrivals = Vec::new();
            for ((message, size), passage) in watch.messages(port_of(number)) {
                let large = flow.breach.filter(|breach| breach.size_bytes == size);
                let arrived = passage.arrived.filter(|_| passage.is_whole());
                let took = match large {
                    Some(breach) => {
                        let due = start + flow.phase + flow.period * u64::from(breach.number);
                        let took = arrived.map(|arrived| arrived - due);
                        seen.message = took;
                        took
                    }
                    None if flow.breach.is_none() => {
                        let due = start + flow.due(message);
                        arrived.map(|arrived| arrived - due)
                    }
                    None => None,
                };
                whole += u64::from(arrived.is_some());
                let after = arrived.map(|arrived| arrived.saturating_since(start));
                arrivals.push((message, after));
                longest = longest.max(took);
            }
            seen.longest.push(longest);
            seen.arrivals.push(arrivals);
            seen.whole.push(whole);
        }
        seen
    }
}
