//! Leads whole switches through an ordeal: those that ship, told by OpenFlow how they
//! take part, between cables that lose, repeat and delay their signals.
//!
//! What is seen is what switches tell their controller: the modes that they enter and
//! the levels that they serve.

use units::{BitRate, Delay, Duration, Instant};
use wire::ethernet::EtherType;
use wire::mode_signal::{Level, Mode};
use wire::openflow::taktos::{
    LevelSet, ModeCommand, ModeConfig, ModeEvent, ModeEventKind, ModeFailed, ModeFlags, ModeKey,
    ModeMessage, ModeSet, Trunk,
};
use wire::openflow::{
    Action, Actions, Fields, FlowMod, Hello, Instruction, Instructions, MatchField, Message,
    PortNumber, Sequence, TableId, TransactionId,
};

use super::fault_schedule::{FaultSchedule, Forgery, Incident};
use super::finding::Finding;
use super::forged::{KEY, far_ahead, forged};
use super::signal_faults::SignalFaults;
use super::site::{datapath, switch_config};
use super::topology::HOST_PORT;
use crate::World;
use crate::conversation::{Conversation, Heard};
use crate::parts::{End, Fault, FaultAt, LinkPart, Node, Parts, Processing, SwitchPart};
use crate::servers::random::Random;

const RATE: BitRate = BitRate::from_mbps(1_000);
const PROPAGATION: Delay = Delay::from_ns(500);
const CONTROL_DELAY: Duration = Duration::from_us(50);
const CARRIER_DETECTION: Duration = Duration::from_us(100);
/// A switch that starts anew is connected, told how it takes part, and hears of its
/// links: what that adds to the time that all may take, and a few signals at a port to
/// each hop.
const JOINING: Duration = Duration::from_ms(1);
const AT_PORTS: Duration = Duration::from_us(30);
const TRANSACTION: TransactionId = TransactionId(0x4D0D_E001);
const FINDINGS_MAX: usize = 10;

/// What is wrong with a network, so that the check can be seen to notice it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    #[default]
    None,
    /// Those who forge signals know the key.
    KeyIsKnown,
    /// What switches hold is not repeated.
    Silent,
}

/// What came of an ordeal.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long after the last incident the last switch held what all held in the end.
    pub agreed_after: Duration,
    /// In how much time it should.
    pub agreed_within: Duration,
    /// How often a switch entered a mode.
    pub entered: u64,
    /// How many frames were taken for forged or sent again.
    pub refused_signals: u64,
    /// How often the way back was refused since a flow was not quiet.
    pub refused_ways_back: u64,
    /// What must never be seen.
    pub findings: Vec<Finding>,
}

/// Leads the switches of an ordeal through it.
#[must_use]
pub fn run(ordeal: &FaultSchedule, flaw: Flaw) -> Outcome {
    let mut run = Run::new(ordeal, flaw);
    let allowed = run.agreed_within();
    for (at, incident) in &ordeal.incidents {
        run.until(run.begins + (*at - Instant::ZERO));
        run.incident(*incident);
    }
    let end = run.world.now() + allowed;
    run.until(end);
    run.judge();
    // Nothing may change any more: look for a while whether it does.
    run.until(end + ordeal.heartbeat * 4u64);
    run.judge();
    run.outcome(allowed)
}

struct Run<'a> {
    ordeal: &'a FaultSchedule,
    flaw: Flaw,
    world: World,
    /// When all switches had been told how they take part.
    begins: Instant,
    random: Random,
    conversation: Conversation,
    crashed: Vec<bool>,
    cut: Vec<bool>,
    modes: Vec<Mode>,
    /// By switch and level, when it was last demanded.
    demands: Vec<(usize, Level, Instant)>,
    changed: Instant,
    entered: u64,
    refused_signals: u64,
    refused_ways_back: u64,
    findings: Vec<Finding>,
}

impl<'a> Run<'a> {
    fn new(ordeal: &'a FaultSchedule, flaw: Flaw) -> Self {
        let switches = ordeal.topology.switches;
        let mut world = World::new(parts(ordeal));
        for cable in 0..ordeal.topology.cables.len() {
            world.disturb(cable, SignalFaults::new(&ordeal.noise, cable, ordeal.seed));
        }
        let mut run = Self {
            ordeal,
            flaw,
            world,
            begins: Instant::ZERO + JOINING,
            random: Random::new(!ordeal.seed),
            conversation: Conversation::new(switches),
            crashed: vec![false; switches],
            cut: vec![false; ordeal.topology.cables.len()],
            modes: vec![Mode::default(); switches],
            demands: Vec::new(),
            changed: Instant::ZERO,
            entered: 0,
            refused_signals: 0,
            refused_ways_back: 0,
            findings: Vec::new(),
        };
        run.until(run.begins);
        run
    }

    /// The time of the ordeal, with what real ports and connections add.
    fn agreed_within(&self) -> Duration {
        let heard = self.ordeal.heard_at_the_end();
        let hops = self.ordeal.topology.diameter(&heard) * 2;
        self.ordeal.agreed_within() + AT_PORTS * hops + JOINING
    }

    fn until(&mut self, end: Instant) {
        while self.world.now() < end {
            let greeting = |switch| greeting(self.ordeal, self.flaw, switch);
            let heard = self.conversation.hear(&mut self.world, end, greeting);
            for Heard { switch, bytes, .. } in heard {
                self.listen(switch, &bytes);
            }
        }
    }

    fn listen(&mut self, switch: usize, bytes: &[u8]) {
        match Message::parse(bytes) {
            Ok((_, Message::Mode(ModeMessage::Event(event)))) => self.note(switch, &event),
            Ok((_, Message::Error(error))) => match ModeFailed::of(error.kind) {
                Some(ModeFailed::NotQuiet | ModeFailed::NotLower) => self.refused_ways_back += 1,
                Some(_) | None => panic!("switch {switch} refuses: {error:?}"),
            },
            Ok(_) | Err(_) => {}
        }
    }

    /// Takes down what a switch says of the mode.
    fn note(&mut self, switch: usize, event: &ModeEvent) {
        let at = event.changed;
        match event.kind {
            ModeEventKind::Entered => {
                self.entered += 1;
                self.modes[switch] = event.mode;
                self.changed = self.changed.max(at);
                let level = event.served;
                if self.ordeal.incomplete.contains(&(switch, level)) {
                    self.find(Finding::ServesIncomplete { switch, level, at });
                }
                if event.mode.era >= far_ahead().era {
                    let mode = event.mode;
                    self.find(Finding::FromNowhere { switch, mode, at });
                }
            }
            ModeEventKind::SignalsRefused(_) => self.refused_signals += event.count,
            ModeEventKind::Violation(_) | ModeEventKind::Incomplete => {}
        }
    }

    fn incident(&mut self, incident: Incident) {
        match incident {
            Incident::Violation { switch, level } => {
                if self.set(switch, ModeCommand::Demand, level) {
                    let at = self.world.now() + CONTROL_DELAY;
                    self.demands.push((switch, level, at));
                }
            }
            Incident::Lower { switch, level } => {
                self.set(switch, ModeCommand::Lower, level);
            }
            Incident::Force { switch, level } => {
                if self.set(switch, ModeCommand::Force, level) {
                    self.demands.retain(|(at, _, _)| *at != switch);
                }
            }
            Incident::Crash { switch } => {
                self.crashed[switch] = true;
                self.conversation.forget(switch);
                self.modes[switch] = Mode::default();
                self.demands.retain(|(at, _, _)| *at != switch);
                self.fault(Fault::Crash { switch });
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
            Incident::Forge { switch, forgery } => self.forge(switch, forgery),
        }
    }

    /// Tells a switch that takes part another level. Returns whether there is one.
    fn set(&mut self, switch: usize, command: ModeCommand, level: Level) -> bool {
        let is_greeted = self.conversation.is_greeted(switch);
        if is_greeted {
            let mut out = Vec::new();
            let set = ModeSet { command, level };
            ModeMessage::Set(set).emit(TRANSACTION, &mut out);
            self.world.tell(self.world.now(), switch, &out);
        }
        is_greeted
    }

    fn restart(&mut self, switch: usize) {
        if !std::mem::take(&mut self.crashed[switch]) {
            return;
        }
        self.changed = self.world.now();
        self.fault(Fault::Restart { switch });
        // Starting mends the cables of a switch; those that were cut stay so.
        let cables: Vec<usize> = self.ordeal.topology.trunks(switch).map(|it| it.2).collect();
        for link in cables {
            if self.cut[link] {
                self.fault(Fault::Cut { link });
            }
        }
    }

    fn fault(&mut self, fault: Fault) {
        let at = self.world.now();
        self.world.plan(&[FaultAt { at, fault }]);
        self.until(at);
        self.world.run_until(at);
    }

    /// Sends what looks like a signal, as a host or over a cable that is tapped.
    fn forge(&mut self, switch: usize, forgery: Forgery) {
        forged(
            &mut self.world,
            (&self.ordeal.topology, switch),
            (forgery, self.flaw),
            &mut self.random,
        );
    }

    /// Looks whether those who are connected agree.
    fn judge(&mut self) {
        let heard = self.ordeal.heard_at_the_end();
        let groups = self.ordeal.topology.groups(&heard);
        let modes = self.modes.clone();
        if (0..modes.len()).any(|at| modes[at] != modes[groups[at]]) {
            let within = self.agreed_within();
            self.find(Finding::NotAgreed { modes, within });
        }
        let now = self.world.now();
        for (switch, level, at) in self.demands.clone() {
            let mode = self.modes[switch];
            if now < at + self.ordeal.hold && mode.level < level {
                self.find(Finding::DemandLost {
                    switch,
                    level,
                    mode,
                });
            }
        }
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }

    fn outcome(self, agreed_within: Duration) -> Outcome {
        let last = self.begins + (self.ordeal.ends() - Instant::ZERO);
        Outcome {
            agreed_after: self.changed.saturating_since(last),
            agreed_within,
            entered: self.entered,
            refused_signals: self.refused_signals,
            refused_ways_back: self.refused_ways_back,
            findings: self.findings,
        }
    }
}

fn parts(ordeal: &FaultSchedule) -> Parts {
    let topology = &ordeal.topology;
    let latency = Delay::from_ns(ordeal.travel.as_ns());
    let switches = (0..topology.switches).map(|switch| {
        let trunks = topology.trunks(switch).map(|(port, _, _)| port);
        let ports = trunks.chain([HOST_PORT]).collect();
        SwitchPart {
            config: switch_config(switch, ports, RATE, 64),
            processing: Processing {
                latency,
                per_frame: Delay::from_ns(100),
                capacity: 1_024,
            },
            emulation: None,
        }
    });
    let link = |ends| LinkPart {
        ends,
        propagation: PROPAGATION,
    };
    let trunks = topology.cables.iter().map(|ends| link(*ends));
    let hosts = (0..topology.switches).map(|host| {
        let end = |node, port| End { node, port };
        link([
            end(Node::Host(host), PortNumber(1)),
            end(Node::Switch(host), HOST_PORT),
        ])
    });
    Parts {
        seed: ordeal.seed,
        switches: switches.collect(),
        hosts: vec![RATE; topology.switches],
        links: trunks.chain(hosts).collect(),
        controller: None,
        control_delay: CONTROL_DELAY,
        carrier_detection: CARRIER_DETECTION,
    }
}

/// Returns what a switch is told when it is connected.
fn greeting(ordeal: &FaultSchedule, flaw: Flaw, switch: usize) -> Vec<u8> {
    let mut out = Vec::new();
    Hello::OURS.emit(TRANSACTION, &mut out);
    let actions = [Action::ModeArrange];
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let signals = [MatchField::EthType(EtherType::MODE_SIGNAL)];
    let entry = FlowMod {
        priority: 1,
        matching: Fields::of(&signals),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    entry.emit(TRANSACTION, &mut out);
    let complete = Level::all().take(usize::from(ordeal.levels));
    let complete = complete.filter(|level| !ordeal.incomplete.contains(&(switch, *level)));
    let trunks = ordeal.topology.trunks(switch);
    let trunks: Vec<Trunk> = trunks
        .filter_map(|(port, far, _)| match far.node {
            Node::Switch(neighbour) => Some(Trunk {
                port,
                far_port: far.port,
                far_switch: datapath(neighbour),
            }),
            Node::Host(_) => None,
        })
        .collect();
    let config = ModeConfig {
        hold: Some(ordeal.hold),
        heart_beat: match flaw {
            Flaw::None | Flaw::KeyIsKnown => Some(ordeal.heartbeat),
            Flaw::Silent => None,
        },
        key: ModeKey(KEY),
        complete: complete.collect::<LevelSet>(),
        default: Level::LOWEST,
        flags: ModeFlags::NONE,
        trunks: Sequence::of(&trunks),
    };
    ModeMessage::Config(config).emit(TRANSACTION, &mut out);
    out
}
