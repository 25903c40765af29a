//! Lets the switches that ship go through a trial, and takes down when messages arrived.

use measure::capture::Captures;
use measure::identity::Catalogue;
use measure::load::{HostLoad, Load, QueuedSource};
use measure::recorder::Settings;
use measure::traffic::{MessageSource as Messages, Source, message};
use measure::{Contract, FlowPlan, Recorder};
use units::{Duration, Instant};
use wire::mode_signal::Level;
use wire::openflow::taktos::{
    ModeCommand, ModeEventKind, ModeFailed, ModeMessage, ModeSet, MonitorContract,
};
use wire::openflow::{Message, TransactionId};

use super::bound::QUEUE_FRAMES;
use super::times::Span;
use super::{Trial, TrialFlow, after};
use crate::World;
use crate::conversation::{Conversation, Heard};
use crate::modes::deployment::{Deployment, LevelTreatment, RuledFlow};
use crate::modes::fault_schedule::Incident;
use crate::modes::forged::forged;
use crate::modes::run::Flaw;
use crate::modes::signal_faults::SignalFaults;
use crate::modes::site::{Device, addresses, hops, parts, port_of, trunk_ends};
use crate::modes::stage::{BURST, READY};
use crate::parts::{Fault, FaultAt};
use crate::servers::random::Random;

const TRANSACTION: TransactionId = TransactionId(0x4D0D_E002);

#[derive(Clone, Debug, Default)]
pub(super) struct PlayRecord {
    /// By flow, how long each of its messages took from when it was due, if it arrived
    /// whole.
    pub(super) arrivals: Vec<Vec<Option<Duration>>>,
    /// By switch, when it held which level, from then on.
    held: Vec<Vec<(Duration, u8)>>,
}

impl PlayRecord {
    /// Returns the highest level that a switch held in some time.
    pub(super) fn highest_level(&self, switch: usize, span: Span) -> u8 {
        let held = &self.held[switch];
        let mut before = held.iter().filter(|(at, _)| *at <= span.from);
        let within = held.iter().filter(|(at, _)| span.has(*at));
        let before = before.next_back().map_or(0, |(_, level)| *level);
        within.map(|(_, level)| *level).fold(before, u8::max)
    }
}

pub(super) fn play(trial: &Trial) -> PlayRecord {
    let start = Instant::ZERO + READY;
    let mut play = Play::new(trial);
    play.until(start);
    play.world.begin(trial.load(start));
    for (at, incident) in &trial.incidents {
        play.until(start + *at);
        play.incident(*incident);
    }
    play.until(start + trial.duration);
    play.record.arrivals = trial.arrivals(&play.world, start);
    play.record
}

struct Play<'a> {
    trial: &'a Trial,
    world: World,
    deployment: Deployment,
    random: Random,
    conversation: Conversation,
    crashed: Vec<bool>,
    cut: Vec<bool>,
    record: PlayRecord,
}

impl<'a> Play<'a> {
    fn new(trial: &'a Trial) -> Self {
        let switches = trial.topology.switches;
        let device = Device {
            processing: trial.processing,
            behaviour: None,
            queue_frames: usize::try_from(QUEUE_FRAMES).expect("a few thousand"),
        };
        let hosts = trial.hosts();
        let mut world = World::new(parts(
            trial.seed,
            (&trial.topology, &hosts),
            &device,
            trial.rate,
        ));
        world.watch();
        for cable in 0..trial.topology.cables.len() {
            world.disturb(cable, SignalFaults::new(&trial.noise, cable, trial.seed));
        }
        Self {
            trial,
            world,
            deployment: trial.deployment(),
            random: Random::new(!trial.seed),
            conversation: Conversation::new(switches),
            crashed: vec![false; switches],
            cut: vec![false; trial.topology.cables.len()],
            record: PlayRecord {
                arrivals: Vec::new(),
                held: vec![Vec::new(); switches],
            },
        }
    }

    fn until(&mut self, end: Instant) {
        while self.world.now() < end {
            let greeting = |switch| self.deployment.greeting(switch);
            let heard = self.conversation.hear(&mut self.world, end, greeting);
            for Heard { switch, bytes, .. } in heard {
                self.listen(switch, &bytes);
            }
        }
    }

    fn listen(&mut self, switch: usize, bytes: &[u8]) {
        match Message::parse(bytes) {
            Ok((_, Message::Mode(ModeMessage::Event(event)))) => match event.kind {
                ModeEventKind::Entered => {
                    let at = after(Instant::ZERO + READY, event.changed);
                    self.record.held[switch].push((at, event.mode.level.number()));
                }
                ModeEventKind::Violation(_)
                | ModeEventKind::SignalsRefused(_)
                | ModeEventKind::Incomplete => {}
            },
            Ok((_, Message::Error(error))) => match ModeFailed::of(error.kind) {
                Some(ModeFailed::NotQuiet | ModeFailed::NotLower) => {}
                Some(_) | None => panic!("switch {switch} refuses: {error:?}"),
            },
            Ok(_) | Err(_) => {}
        }
    }

    fn incident(&mut self, incident: Incident) {
        match incident {
            Incident::Violation { switch, level } => self.set(switch, ModeCommand::Demand, level),
            Incident::Lower { switch, level } => self.set(switch, ModeCommand::Lower, level),
            Incident::Force { switch, level } => self.set(switch, ModeCommand::Force, level),
            Incident::Crash { switch } => {
                self.crashed[switch] = true;
                self.conversation.forget(switch);
                self.fault(Fault::Crash { switch });
                let at = after(Instant::ZERO + READY, self.world.now());
                self.record.held[switch].push((at, 0));
            }
            Incident::Restart { switch } => self.restart(switch),
            Incident::Cut { cable } => {
                self.cut[cable] = true;
                self.fault(Fault::Cut { link: cable });
            }
            Incident::Heal { cable } => {
                self.cut[cable] = false;
                self.fault(Fault::Heal { link: cable });
            }
            Incident::Forge { switch, forgery } => forged(
                &mut self.world,
                (&self.trial.topology, switch),
                (forgery, Flaw::None),
                &mut self.random,
            ),
        }
    }

    fn set(&mut self, switch: usize, command: ModeCommand, level: Level) {
        if self.conversation.is_greeted(switch) {
            let mut out = Vec::new();
            ModeMessage::Set(ModeSet { command, level }).emit(TRANSACTION, &mut out);
            self.world.tell(self.world.now(), switch, &out);
        }
    }

    fn restart(&mut self, switch: usize) {
        if !std::mem::take(&mut self.crashed[switch]) {
            return;
        }
        self.fault(Fault::Restart { switch });
        // Starting mends the cables of a switch; those that were cut stay so.
        let cables: Vec<usize> = self.trial.topology.trunks(switch).map(|it| it.2).collect();
        for link in cables {
            if self.cut[link] {
                self.fault(Fault::Cut { link });
            }
        }
    }

    fn fault(&mut self, fault: Fault) {
        let at = self.world.now();
        self.world.plan(&[FaultAt { at, fault }]);
        self.world.run_until(at);
    }
}

impl Trial {
    /// Each flow has a host at either end of the way.
    fn hosts(&self) -> Vec<usize> {
        let ends = [
            self.route[0],
            *self.route.last().expect("a way has switches"),
        ];
        self.flows.iter().flat_map(|_| ends).collect()
    }

    fn deployment(&self) -> Deployment {
        let flows = self.flows.iter().enumerate();
        let flows = flows.map(|(number, flow)| RuledFlow {
            port: port_of(number),
            hops: hops(&self.topology, &self.route, 2 * number + 1),
            treatments: self.treatments(flow),
            contracts: self.contracts(flow),
        });
        Deployment {
            strategy: self.strategy,
            flows: flows.collect(),
            rules: 0,
            trunks: trunk_ends(&self.topology),
            heartbeat: self.heartbeat,
            hold: Some(self.hold),
            levels: usize::from(self.levels),
        }
    }

    fn treatments(&self, flow: &TrialFlow) -> Vec<LevelTreatment> {
        let levels = 0..usize::from(self.levels);
        let at = levels.map(|level| {
            let queue = flow.queues.get(level);
            queue.map_or(LevelTreatment::Drop, |queue| LevelTreatment::Queue(*queue))
        });
        at.collect()
    }

    /// Flows that are served at the lowest level alone are watched by nobody.
    fn contracts(&self, flow: &TrialFlow) -> Vec<MonitorContract> {
        let sizes = flow.sizes.iter().filter(|_| flow.highest > 0);
        let contracts = sizes.map(|size| MonitorContract {
            period: self.period,
            size_bytes: *size,
        });
        contracts.collect()
    }

    fn load(&self, start: Instant) -> Load {
        let mut load = Load {
            hosts: self.hosts().iter().map(|_| HostLoad::default()).collect(),
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
            load.hosts[2 * number].sources.push(QueuedSource {
                source: Source::Message(self.source(number, start)),
                flow: index,
                queue: flow.queues[0],
            });
        }
        load
    }

    /// Returns what sends a flow: messages as agreed, and between them those that are not.
    fn source(&self, number: usize, start: Instant) -> Messages {
        let config = |size_bytes, from: u32, until: Instant| message::MessageConfig {
            addresses: addresses(number, [2 * number, 2 * number + 1], 0),
            message_length: size_bytes,
            period: self.period,
            contract: Contract {
                rate: self.rate,
                burst: BURST,
            },
            start: start + self.due(number, from),
            until: Some(until),
        };
        let flow = &self.flows[number];
        let mut configs = Vec::new();
        let mut from = 0;
        for (breach, level) in &flow.breaches {
            let at = start + self.due(number, *breach);
            if from < *breach {
                configs.push(config(flow.sizes[0], from, at));
            }
            let large = flow.sizes[usize::from(*level)];
            configs.push(config(large, *breach, at + Duration::from_ns(1)));
            from = breach + 1;
        }
        configs.push(config(flow.sizes[0], from, start + self.duration));
        let (first, others) = configs.split_first().expect("there is the last");
        let others = others.iter();
        others.fold(Messages::new(first), |all, next| all.then(next))
    }

    /// Returns how long messages took.
    fn arrivals(&self, world: &World, start: Instant) -> Vec<Vec<Option<Duration>>> {
        let flows = self.flows.iter().enumerate().map(|(number, flow)| {
            let sent = self.duration.saturating_sub(flow.phase).as_ns();
            let count = sent.div_ceil(self.period.as_ns());
            let mut took = vec![None; usize::try_from(count).expect("a few messages")];
            let messages = world.watched().into_iter();
            for ((message, _), passage) in messages.flat_map(|it| it.messages(port_of(number))) {
                let due = start + self.due(number, message);
                let arrived = passage.arrived.filter(|_| passage.is_whole());
                if let Some(place) = took.get_mut(message as usize) {
                    *place = arrived.map(|arrived| arrived.saturating_since(due));
                }
            }
            took
        });
        flows.collect()
    }
}
