//! Frames through stages, one event after the other, in whole picoseconds.
//!
//! It shares nothing with the analysis but the description of the stages: a
//! processor takes its latency, if it is said to, whenever it starts to work; a
//! port serves the most urgent queue and never interrupts a frame; a flooded
//! port sends a frame without promise whenever nothing else waits.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use calculus::admission::{CLASSES, Request, Stage, Tree};
use units::{DataSize, Delay};

/// When a flow takes an alternative instead of its base tree.
#[derive(Clone, Copy, Debug)]
pub struct Detour {
    /// The place of the alternative among those of the flow.
    pub alternative: usize,
    pub from_ps: u64,
    pub until_ps: u64,
    pub caught: Caught,
}

/// What a change of trees does to frames that are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// They end on the tree on which they began.
    Never,
    /// At the first switch of both trees they take the other one.
    AtSharedStages,
}

/// How the surroundings behave.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Whether processors take their latency.
    pub processors_hesitate: bool,
    /// Whether ports are flooded, and when each is done with its first frame of
    /// that, unless that is a smaller one.
    pub flood_phase_ps: Option<u64>,
    /// For each flow; each is moved at a time of its own. None at all if there are
    /// fewer.
    pub detours: Vec<Option<Detour>>,
    pub outage: Option<Outage>,
}

/// A stage that loses what it has served, with frames under way behind it.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub stage: usize,
    pub from_ps: u64,
    pub until_ps: u64,
}

/// A frame as its source sends it.
#[derive(Clone, Copy, Debug)]
pub struct Emission {
    pub flow: usize,
    pub at_ps: u64,
    pub size: DataSize,
}

/// What happened to a frame.
#[derive(Clone, Copy, Debug)]
pub enum Observation {
    /// It came to a stage, where its class has so many frames now.
    Came {
        flow: usize,
        stage: usize,
        frames: usize,
        /// How long after it was sent.
        after: Delay,
    },
    /// It left a stage after some time there.
    Left {
        flow: usize,
        stage: usize,
        sojourn: Delay,
    },
    /// It reached a receiver, always on the base tree or not.
    Received {
        flow: usize,
        leaf: usize,
        on_base: bool,
        latency: Delay,
    },
}

/// Runs all emissions to their end and hands over every observation.
pub fn run(
    stages: &[Stage],
    flows: &[Request],
    emissions: &[Emission],
    conditions: &Conditions,
    mut observe: impl FnMut(Observation),
) {
    run_timed(stages, flows, emissions, conditions, |_, observation| {
        observe(observation);
    });
}

/// The same, and tells in picoseconds when each observation was made.
pub fn run_timed(
    stages: &[Stage],
    flows: &[Request],
    emissions: &[Emission],
    conditions: &Conditions,
    mut observe: impl FnMut(u64, Observation),
) {
    let mut simulation = Simulation {
        stages,
        flows,
        conditions,
        servers: stages.iter().map(|_| Server::default()).collect(),
        events: BTreeMap::new(),
        scheduled: 0,
        in_flight: 0,
        handed_on: BTreeSet::new(),
        held_until: BTreeMap::new(),
    };
    simulation.start_floods();
    for (number, emission) in emissions.iter().enumerate() {
        simulation.emit(number, *emission);
    }
    while let Some(((now, _), event)) = simulation.events.pop_first() {
        let mut observe = |observation| observe(now, observation);
        match event {
            Event::Arrive(frame) => simulation.arrive(now, frame, &mut observe),
            Event::Done(stage) => simulation.done(now, stage, &mut observe),
        }
        if simulation.in_flight == 0 {
            break; // Only floods are left.
        }
    }
}

struct Simulation<'a> {
    stages: &'a [Stage],
    flows: &'a [Request],
    conditions: &'a Conditions,
    servers: Vec<Server>,
    events: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    in_flight: u64,
    /// The frames of which an eliminator has seen a copy.
    handed_on: BTreeSet<usize>,
    /// Until when the frames of a flow are held back that an eliminator hands on.
    held_until: BTreeMap<usize, u64>,
}

#[derive(Clone, Copy)]
enum Event {
    Arrive(Frame),
    Done(usize),
}

#[derive(Clone, Copy)]
struct Frame {
    number: usize,
    flow: usize,
    route: Route,
    hop: usize,
    always_on_base: bool,
    size: DataSize,
    born_ps: u64,
    arrived_ps: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Base,
    /// The alternative in this place.
    Alternative(usize),
    /// That of second copies.
    Redundant,
}

#[derive(Default)]
struct Server {
    queues: [VecDeque<Frame>; CLASSES],
    busy: Option<Work>,
}

impl Server {
    /// Returns how many frames of a queue are here, the one in service included.
    fn holds(&self, queue: usize, flows: &[Request]) -> usize {
        let in_service = match &self.busy {
            Some(Work::Frame(frame)) => usize::from(flows[frame.flow].class) == queue,
            Some(Work::Flood) | None => false,
        };
        self.queues[queue].len() + usize::from(in_service)
    }
}

enum Work {
    Frame(Frame),
    Flood,
}

impl Simulation<'_> {
    fn start_floods(&mut self) {
        let Some(phase) = self.conditions.flood_phase_ps else {
            return;
        };
        for (at, stage) in self.stages.iter().enumerate() {
            if let Stage::Port {
                rate,
                largest_frame,
                ..
            } = stage
            {
                let first = phase.min(rate.time_to_send(*largest_frame).as_ps());
                self.servers[at].busy = Some(Work::Flood);
                self.schedule(first, Event::Done(at));
            }
        }
    }

    fn emit(&mut self, number: usize, emission: Emission) {
        let request = &self.flows[emission.flow];
        let route = self.route_at(emission.at_ps, emission.flow);
        let tree = tree(request, route);
        for (hop, _) in tree
            .hops
            .iter()
            .enumerate()
            .filter(|(_, hop)| hop.parent.is_none())
        {
            let frame = Frame {
                number,
                flow: emission.flow,
                route,
                hop,
                always_on_base: route == Route::Base,
                size: emission.size,
                born_ps: emission.at_ps,
                arrived_ps: 0,
            };
            // The first link takes a small frame less time than the largest.
            let share = request.initial.as_ps() / request.largest_frame.as_bits();
            let at = emission.at_ps + share * emission.size.as_bits();
            self.in_flight += 1;
            self.schedule(at, Event::Arrive(frame));
        }
    }

    fn arrive(&mut self, now: u64, mut frame: Frame, observe: &mut impl FnMut(Observation)) {
        frame.arrived_ps = now;
        let request = &self.flows[frame.flow];
        let stage = index(tree(request, frame.route).hops[frame.hop].stage.0);
        let queue = match &self.stages[stage] {
            Stage::Processing { .. } => 0,
            Stage::Port { .. } => usize::from(request.class),
        };
        self.servers[stage].queues[queue].push_back(frame);
        observe(Observation::Came {
            flow: frame.flow,
            stage,
            frames: self.servers[stage].holds(queue, self.flows),
            after: Delay::from_ps(now - frame.born_ps),
        });
        if self.servers[stage].busy.is_none() {
            let hesitation = match &self.stages[stage] {
                Stage::Processing { latency, .. } if self.conditions.processors_hesitate => {
                    *latency
                }
                Stage::Processing { .. } | Stage::Port { .. } => Delay::ZERO,
            };
            self.serve_next(now + hesitation.as_ps(), stage);
        }
    }

    fn done(&mut self, now: u64, stage: usize, observe: &mut impl FnMut(Observation)) {
        let work = self.servers[stage].busy.take().expect("it was busy");
        self.serve_next(now, stage);
        let Work::Frame(frame) = work else { return };
        observe(Observation::Left {
            flow: frame.flow,
            stage,
            sojourn: Delay::from_ps(now - frame.arrived_ps),
        });
        self.forward(now, frame, stage, observe);
    }

    fn serve_next(&mut self, now: u64, at: usize) {
        let server = &mut self.servers[at];
        let next = server.queues.iter_mut().rev().find_map(VecDeque::pop_front);
        let (work, time) = match (&self.stages[at], next) {
            (Stage::Processing { per_frame, .. }, Some(frame)) => (Work::Frame(frame), *per_frame),
            (Stage::Port { rate, .. }, Some(frame)) => {
                (Work::Frame(frame), rate.time_to_send(frame.size))
            }
            (
                Stage::Port {
                    rate,
                    largest_frame,
                    ..
                },
                None,
            ) if self.conditions.flood_phase_ps.is_some() => {
                (Work::Flood, rate.time_to_send(*largest_frame))
            }
            (Stage::Processing { .. } | Stage::Port { .. }, None) => return,
        };
        server.busy = Some(work);
        self.schedule(now + time.as_ps(), Event::Done(at));
    }

    /// Sends a frame on to the hops behind a stage, or to its receiver.
    fn forward(
        &mut self,
        now: u64,
        mut frame: Frame,
        stage: usize,
        observe: &mut impl FnMut(Observation),
    ) {
        self.in_flight -= 1;
        let request = &self.flows[frame.flow];
        let lost = self.conditions.outage.is_some_and(|outage| {
            outage.stage == stage && (outage.from_ps..outage.until_ps).contains(&now)
        });
        if lost || self.is_second_copy(frame, stage) {
            return;
        }
        let at = self.let_go_at(now, frame.flow, stage) + self.stages[stage].propagation().as_ps();
        let passed = &tree(request, frame.route).hops[..frame.hop];
        // What is turned back comes in by other ports, and goes on as it is led from there.
        let is_back = passed.iter().any(|hop| index(hop.stage.0) == stage);
        if frame.route != Route::Redundant && !is_back && self.catches_frames(frame.flow) {
            let route = self.route_at(now, frame.flow);
            let hops = &tree(request, route).hops;
            if let Some(hop) = hops.iter().position(|hop| index(hop.stage.0) == stage) {
                frame = Frame {
                    route,
                    hop,
                    ..frame
                };
                frame.always_on_base &= route == Route::Base;
            }
        }
        if let Some(doubled) = doubled(request, frame) {
            for hop in doubled {
                self.in_flight += 1;
                let route = Route::Redundant;
                self.schedule(
                    at,
                    Event::Arrive(Frame {
                        hop,
                        route,
                        ..frame
                    }),
                );
            }
        }
        let hops = &tree(request, frame.route).hops;
        let mut is_leaf = true;
        for (hop, _) in hops
            .iter()
            .enumerate()
            .filter(|(_, hop)| hop.parent == Some(frame.hop))
        {
            is_leaf = false;
            self.in_flight += 1;
            self.schedule(at, Event::Arrive(Frame { hop, ..frame }));
        }
        if is_leaf {
            observe(Observation::Received {
                flow: frame.flow,
                leaf: frame.hop,
                on_base: frame.always_on_base,
                latency: Delay::from_ps(at - frame.born_ps),
            });
        }
    }

    /// Returns whether this is the eliminator and another copy was here before.
    fn is_second_copy(&mut self, frame: Frame, stage: usize) -> bool {
        let redundant = self.flows[frame.flow].redundant.as_ref();
        let eliminator = redundant.and_then(|redundant| redundant.eliminator);
        eliminator.is_some_and(|at| index(at.0) == stage) && !self.handed_on.insert(frame.number)
    }

    /// Returns when a frame goes on that a stage is done with. One that puts frames in order
    /// holds back as many as it can for as long as it can, and lets them go together.
    fn let_go_at(&mut self, now: u64, flow: usize, stage: usize) -> u64 {
        let redundant = self.flows[flow].redundant.as_ref();
        let holds = redundant.filter(|it| it.eliminator.is_some_and(|at| index(at.0) == stage));
        let Some(redundant) = holds.filter(|redundant| redundant.hold > Delay::ZERO) else {
            return now;
        };
        let until = self.held_until.entry(flow).or_default();
        if *until < now {
            *until = now + redundant.hold.as_ps();
        }
        *until
    }

    fn detour(&self, flow: usize) -> Option<Detour> {
        self.conditions.detours.get(flow).copied().flatten()
    }

    fn catches_frames(&self, flow: usize) -> bool {
        let detour = self.detour(flow);
        detour.is_some_and(|detour| detour.caught == Caught::AtSharedStages)
    }

    fn route_at(&self, now: u64, flow: usize) -> Route {
        match self.detour(flow) {
            Some(detour) if (detour.from_ps..detour.until_ps).contains(&now) => {
                Route::Alternative(detour.alternative)
            }
            Some(_) | None => Route::Base,
        }
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }
}

fn tree(request: &Request, route: Route) -> &Tree {
    match route {
        Route::Base => &request.base,
        Route::Alternative(at) => &request.alternatives[at].1,
        Route::Redundant => &request.redundant.as_ref().expect("it has copies").tree,
    }
}

/// Returns the hops to which a second copy goes when a frame leaves the last stage
/// that it passes undoubled: those of the redundant tree behind that stage which are
/// not the same in the base tree.
fn doubled(request: &Request, frame: Frame) -> Option<Vec<usize>> {
    let redundant = &request.redundant.as_ref()?.tree;
    if frame.route != Route::Base {
        return None;
    }
    let at = twin(&request.base, redundant, frame.hop)?;
    let hops = redundant.hops.iter().enumerate();
    let behind = hops.filter(|(_, hop)| hop.parent == Some(at));
    let parts = behind.filter(|(hop, _)| twin(redundant, &request.base, *hop).is_none());
    Some(parts.map(|(hop, _)| hop).collect())
}

/// Returns the hop of `other` to which the same stages lead as to one of `tree`.
fn twin(tree: &Tree, other: &Tree, hop: usize) -> Option<usize> {
    let before = match tree.hops[hop].parent {
        None => None,
        Some(parent) => Some(twin(tree, other, parent)?),
    };
    let stage = tree.hops[hop].stage;
    let mut hops = other.hops.iter();
    hops.position(|hop| hop.stage == stage && hop.parent == before)
}

fn index(stage: u32) -> usize {
    usize::try_from(stage).expect("a stage number fits an address")
}
