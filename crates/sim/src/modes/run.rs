//! Leads a network through an ordeal and notes what must never be seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::{Duration, Instant};
use wire::mode_signal::{Level, Mode, ModeSignal};
use wire::openflow::{DatapathId, PortNumber};

use super::finding::Finding;
use super::ordeal::{Forgery, Incident, Ordeal};
use super::station::{Flaw, KEY, Station, far_ahead, frame_of};
use super::topology::HOST_PORT;
use super::whims::SignalWhims;
use crate::calendar::Calendar;
use crate::frames::{FrameId, Frames};
use crate::parts::{End, Node};
use crate::servers::random::Random;

/// How many signals a host has overheard that it may send again.
const OVERHEARD_MAX: usize = 64;
/// No more findings of one ordeal are kept.
const FINDINGS_MAX: usize = 10;

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

/// Leads the network of an ordeal through it.
#[must_use]
pub fn run(ordeal: &Ordeal, flaw: Flaw) -> Outcome {
    let mut run = Run::new(ordeal, flaw);
    let allowed = ordeal.agreed_within();
    let end = ordeal.ends() + allowed;
    run.until(end);
    run.judge();
    // Nothing may change any more: look for a while whether it does.
    run.until(end + ordeal.heartbeat * 4u64);
    run.judge();
    run.outcome(allowed)
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival {
        cable: usize,
        end: usize,
        breaks: u32,
        frame: FrameId,
    },
    FromHost {
        switch: usize,
        port: PortNumber,
        frame: FrameId,
    },
    Beat {
        switch: usize,
        restarts: u32,
    },
    Incident {
        index: usize,
    },
}

#[derive(Clone, Debug)]
struct Wire {
    cut: bool,
    breaks: u32,
    whims: SignalWhims,
}

#[derive(Debug)]
struct Run<'a> {
    ordeal: &'a Ordeal,
    flaw: Flaw,
    now: Instant,
    calendar: Calendar<Event>,
    frames: Frames,
    random: Random,
    stations: Vec<Option<Station>>,
    restarts: Vec<u32>,
    wires: Vec<Wire>,
    /// The modes that switches have begun.
    begun: BTreeSet<Mode>,
    overheard: VecDeque<ModeSignal>,
    /// By switch, the last demand of each level.
    demands: BTreeMap<(usize, Level), Instant>,
    changed: Instant,
    entered: u64,
    refused_signals: u64,
    refused_ways_back: u64,
    findings: Vec<Finding>,
}

impl<'a> Run<'a> {
    fn new(ordeal: &'a Ordeal, flaw: Flaw) -> Self {
        let switches = ordeal.topology.switches;
        let mut run = Self {
            ordeal,
            flaw,
            now: Instant::ZERO,
            calendar: Calendar::default(),
            frames: Frames::default(),
            random: Random::new(!ordeal.seed),
            stations: (0..switches).map(|_| None).collect(),
            restarts: vec![0; switches],
            wires: (0..ordeal.topology.cables.len())
                .map(|cable| Wire {
                    cut: false,
                    breaks: 0,
                    whims: SignalWhims::new(&ordeal.noise, cable, ordeal.seed),
                })
                .collect(),
            begun: BTreeSet::from([Mode::default()]),
            overheard: VecDeque::new(),
            demands: BTreeMap::new(),
            changed: Instant::ZERO,
            entered: 0,
            refused_signals: 0,
            refused_ways_back: 0,
            findings: Vec::new(),
        };
        for switch in 0..switches {
            run.start(switch);
        }
        for (index, (at, _)) in ordeal.incidents.iter().enumerate() {
            run.calendar.schedule(*at, Event::Incident { index });
        }
        run
    }

    fn until(&mut self, end: Instant) {
        while let Some((now, event)) = self.calendar.next(end) {
            self.now = self.now.max(now);
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrival {
                cable,
                end,
                breaks,
                frame,
            } => {
                let wire = &self.wires[cable];
                let End { node, port } = self.ordeal.topology.cables[cable][end];
                match node {
                    Node::Switch(switch) if !wire.cut && wire.breaks == breaks => {
                        self.arrive(switch, port, frame);
                    }
                    Node::Switch(_) | Node::Host(_) => self.frames.release(frame),
                }
            }
            Event::FromHost {
                switch,
                port,
                frame,
            } => self.arrive(switch, port, frame),
            Event::Beat { switch, restarts } => {
                if self.restarts[switch] == restarts {
                    self.tell(switch, |station, now| station.wake(now));
                    self.plan_beat(switch);
                }
            }
            Event::Incident { index } => self.incident(self.ordeal.incidents[index].1),
        }
    }

    fn arrive(&mut self, switch: usize, port: PortNumber, frame: FrameId) {
        let bytes = self.frames.bytes(frame).to_vec();
        self.frames.release(frame);
        self.tell(switch, |station, now| station.receive(now, port, &bytes));
    }

    fn incident(&mut self, incident: Incident) {
        match incident {
            Incident::Violation { switch, level } => {
                if self.stations[switch].is_some() {
                    self.demands.insert((switch, level), self.now);
                }
                self.begin(switch, |station, now| station.demand(now, level));
            }
            Incident::Lower { switch, level } => {
                self.begin(switch, |station, now| station.lower(now, level));
            }
            Incident::Force { switch, level } => {
                self.demands.retain(|(at, _), _| *at != switch);
                self.begin(switch, |station, _| station.force(level));
            }
            Incident::Crash { switch } => self.crash(switch),
            Incident::Restart { switch } => {
                if self.stations[switch].is_none() {
                    self.start(switch);
                }
            }
            Incident::Cut { cable } => {
                let wire = &mut self.wires[cable];
                wire.breaks += u32::from(!wire.cut);
                wire.cut = true;
            }
            Incident::Heal { cable } => self.wires[cable].cut = false,
            Incident::Forge { switch, forgery } => self.forge(switch, forgery),
        }
    }

    fn crash(&mut self, switch: usize) {
        if let Some(station) = self.stations[switch].take() {
            self.count(&station);
        }
        self.restarts[switch] += 1;
        self.demands.retain(|(at, _), _| *at != switch);
    }

    fn start(&mut self, switch: usize) {
        let ordeal = self.ordeal;
        let neighbours = ordeal.topology.trunks(switch);
        let neighbours = neighbours.map(|(port, far, _)| (port, (datapath_of(far.node), far.port)));
        let times = (ordeal.hold, ordeal.heartbeat);
        let own = datapath(switch);
        let mut station = Station::new(self.now, own, neighbours.collect(), times, self.flaw);
        for level in Level::all().take(usize::from(ordeal.levels)) {
            station.set_complete(level, !ordeal.incomplete.contains(&(switch, level)));
        }
        self.stations[switch] = Some(station);
        self.changed = self.now;
        self.plan_beat(switch);
    }

    fn plan_beat(&mut self, switch: usize) {
        if let Some(station) = &self.stations[switch] {
            let restarts = self.restarts[switch];
            let event = Event::Beat { switch, restarts };
            self.calendar.schedule(station.deadline(), event);
        }
    }

    /// Lets a station do something that may begin a mode.
    fn begin(&mut self, switch: usize, act: impl FnOnce(&mut Station, Instant)) {
        let Some(station) = &mut self.stations[switch] else {
            return;
        };
        act(station, self.now);
        self.begun.insert(station.agreement().mode());
        self.changed = self.now;
        self.entered += 1;
        self.settle(switch);
    }

    /// Lets a station do something that may take over a mode, or raise the level of one.
    fn tell(&mut self, switch: usize, act: impl FnOnce(&mut Station, Instant)) {
        let Some(station) = &mut self.stations[switch] else {
            return;
        };
        let before = station.agreement().mode();
        act(station, self.now);
        let agreement = station.agreement();
        let mode = agreement.mode();
        if mode != before {
            self.changed = self.now;
            self.entered += 1;
            let raised = agreement.origin() == datapath(switch)
                && self.begun.iter().any(|begun| begun.era == mode.era);
            if !raised && !self.begun.contains(&mode) {
                let at = self.now;
                self.note(Finding::FromNowhere { switch, mode, at });
            }
            self.begun.insert(mode);
        }
        self.settle(switch);
    }

    /// Looks at what a station serves, and sends what it has to say.
    fn settle(&mut self, switch: usize) {
        let Some(station) = &mut self.stations[switch] else {
            return;
        };
        let level = station.agreement().serves();
        let outgoing = station.take_outgoing();
        if self.ordeal.incomplete.contains(&(switch, level)) {
            let at = self.now;
            self.note(Finding::ServesIncomplete { switch, level, at });
        }
        let ordeal = self.ordeal;
        for out in outgoing {
            let mut trunks = ordeal.topology.trunks(switch);
            if let Some((_, far, cable)) = trunks.find(|(port, _, _)| *port == out.port) {
                let ends = ordeal.topology.cables[cable];
                let end = usize::from(ends[1] == far);
                self.send(cable, end, &out.signal);
            }
        }
    }

    /// Puts a signal on a cable, towards one of its ends.
    fn send(&mut self, cable: usize, end: usize, signal: &ModeSignal) {
        if self.overheard.len() == OVERHEARD_MAX {
            self.overheard.pop_front();
        }
        self.overheard.push_back(*signal);
        let wire = &mut self.wires[cable];
        if wire.cut {
            return;
        }
        for late in wire.whims.next(end).into_iter().flatten() {
            self.carry(cable, end, (signal, late));
        }
    }

    fn carry(&mut self, cable: usize, end: usize, (signal, late): (&ModeSignal, Duration)) {
        let Some(frame) = self.frames.keep(&frame_of(signal, KEY)) else {
            return;
        };
        let breaks = self.wires[cable].breaks;
        let event = Event::Arrival {
            cable,
            end,
            breaks,
            frame,
        };
        let at = self.now + self.ordeal.travel + late;
        self.calendar.schedule(at, event);
    }

    fn forge(&mut self, switch: usize, forgery: Forgery) {
        let recorded = match self.overheard.len() {
            0 => None,
            heard => Some(self.overheard[self.random.index(heard)]),
        };
        let mut signal = recorded.unwrap_or(ModeSignal {
            kind: wire::mode_signal::Kind::Signal,
            mode: far_ahead(),
            origin: datapath(switch),
            sender: datapath(switch),
            port: HOST_PORT,
        });
        let mut bytes = frame_of(&signal, KEY);
        let mut port = HOST_PORT;
        match forgery {
            Forgery::OtherKey | Forgery::NoTag | Forgery::Truncated => {
                // A cable may be tapped: it need not be a port of hosts.
                if self.random.in_percent(50) {
                    let tapped = self.ordeal.topology.trunks(switch).next();
                    let (near, far, _) = tapped.expect("every switch has a neighbour");
                    port = near;
                    signal.sender = datapath_of(far.node);
                    signal.port = far.port;
                }
                signal.mode = far_ahead();
                bytes = self.falsify(&signal, forgery);
            }
            Forgery::Recorded => {}
            Forgery::Elsewhere => {
                let trunks: Vec<_> = self.ordeal.topology.trunks(switch).collect();
                let (near, far, _) = trunks[self.random.index(trunks.len())];
                let from_there = datapath_of(far.node) == signal.sender && far.port == signal.port;
                if !from_there {
                    port = near;
                }
            }
        }
        if let Some(frame) = self.frames.keep(&bytes) {
            let event = Event::FromHost {
                switch,
                port,
                frame,
            };
            self.calendar.schedule(self.now, event);
        }
    }

    /// Makes the bytes of a signal without the key.
    fn falsify(&mut self, signal: &ModeSignal, forgery: Forgery) -> Vec<u8> {
        let mut bytes = frame_of(signal, [7; 16]);
        match forgery {
            Forgery::NoTag => {
                let length = bytes.len();
                bytes[length - 8..].fill(0);
            }
            Forgery::Truncated => bytes.truncate(self.random.index(bytes.len())),
            Forgery::OtherKey | Forgery::Recorded | Forgery::Elsewhere => {}
        }
        bytes
    }

    /// Looks whether those who are connected agree.
    fn judge(&mut self) {
        let modes: Vec<Mode> = self
            .stations
            .iter()
            .map(|station| station.as_ref().map_or_else(Mode::default, mode_of))
            .collect();
        let heard = self.ordeal.heard_at_the_end();
        let groups = self.ordeal.topology.groups(&heard);
        if (0..modes.len()).any(|at| modes[at] != modes[groups[at]]) {
            let within = self.ordeal.agreed_within();
            self.note(Finding::NotAgreed {
                modes: modes.clone(),
                within,
            });
        }
        let held = self.demands.iter().filter_map(|((switch, level), at)| {
            let mode = modes[*switch];
            let lost = self.now < *at + self.ordeal.hold && mode.level < *level;
            lost.then_some(Finding::DemandLost {
                switch: *switch,
                level: *level,
                mode,
            })
        });
        for finding in held.collect::<Vec<_>>() {
            self.note(finding);
        }
    }

    fn note(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }

    fn count(&mut self, station: &Station) {
        let counts = station.counts();
        self.refused_signals += counts.forged + counts.replayed;
        self.refused_ways_back += counts.refused;
    }

    fn outcome(mut self, agreed_within: Duration) -> Outcome {
        for station in std::mem::take(&mut self.stations).into_iter().flatten() {
            self.count(&station);
        }
        Outcome {
            agreed_after: self.changed.saturating_since(self.ordeal.ends()),
            agreed_within,
            entered: self.entered,
            refused_signals: self.refused_signals,
            refused_ways_back: self.refused_ways_back,
            findings: self.findings,
        }
    }
}

fn mode_of(station: &Station) -> Mode {
    station.agreement().mode()
}

fn datapath(switch: usize) -> DatapathId {
    DatapathId(switch as u64 + 1)
}

fn datapath_of(node: Node) -> DatapathId {
    match node {
        Node::Switch(switch) => datapath(switch),
        Node::Host(host) => panic!("host {host} is at no cable between switches"),
    }
}
