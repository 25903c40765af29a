//! From a tree of servers to a linear program, after PLP.
//!
//! Follow the last bit of an unlucky packet backwards. It leaves the root at
//! time 0; all times are counted from there into the past. Each server has *dates*
//! (`dates`):
//!
//! - For each date of the server behind it (for the root: the time 0): when did what
//!   leaves then arrive? First in, first out makes this the same time for all flows.
//! - For some or all of those: since when has the server served at least what its
//!   service curve says? With one of them a server has one date more than the one
//!   behind it, as in PLP; with all it has twice as many, as in the exponential
//!   program of panco, which bounds less where several flows part and join on the way.
//!
//! Time is a variable for each date: the delay at a server, or the time since the
//! start of service. Flows that enter the tree at the same server, over the same arc,
//! and leave it at the same are a *class*. Data is a variable for each class and each
//! date but the newest: how much of it arrived since then, until the next newer date
//! of its chain. By first in, first out these are the same at all servers that the
//! class crosses, which is why there are so few.
//!
//! | constraint | says |
//! |------------|------|
//! | order      | what arrived earlier left earlier |
//! | delay      | nothing stays in a server longer than its delay |
//! | service    | since the start of service a server has done its duty |
//! | arrivals   | a class keeps its buckets between each two dates where it enters |
//! | group      | so do all flows of an arc together |
//! | shaping    | and they keep the rate of the link before them |
//!
//! Two things are asked. The longest *delay* along a path: the time since the date
//! 0 of its first server. The largest *burst* of some flows behind the root: by
//! how much more than at their rate can they arrive at the first server until
//! some time, than has left the root at time 0?

use units::fine::{Data, Rate};

use crate::analysis::budget::Budget;
use crate::analysis::{FlowId, RateLatency, ServerId};

use super::dates::{Dates, Starts};
use super::facts::{ArcId, FactMap};
use super::program::{LinearTerms, Program, Quantity, QuantityId};
use super::scale::{ONE, Scale};
use super::tree::ServerTree;
use super::work;

/// What a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objective<'a> {
    /// The longest time from the first server of the path to the last.
    Delay,
    /// The largest burst of some flows, in the order of their numbers, behind
    /// the last server.
    Burst(&'a [FlowId]),
}

/// Flows with the same way through the tree.
#[derive(Debug)]
struct Class {
    way: TreePath,
    /// Who, and the hop where they enter.
    flows: Vec<(FlowId, u32)>,
    /// The place of the variable of its second date.
    data: u32,
}

/// How often a constraint matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// Often between consecutive dates.
    Some,
    /// Seldom: something much like it has been said before.
    Little,
}

/// A way through the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TreePath {
    entry: usize,
    exit: usize,
    /// Over which arc it enters, unless it begins there.
    arc: Option<ArcId>,
    /// Whether the question is about it.
    asked: bool,
}

/// A program while it is written.
struct Writer<'a> {
    map: &'a FactMap<'a>,
    tree: &'a ServerTree,
    question: Objective<'a>,
    program: Program,
    /// By node, its dates, and the place of the variable of the first.
    dates: Vec<(Dates, u32)>,
    starts: Starts,
    classes: Vec<Class>,
    terms: LinearTerms,
    nothing: QuantityId,
}

/// The most steps of a budget for a program with all starts of service: one of five
/// servers with some ten flows.
const MOST_FOR_ALL_STARTS: u64 = 3_000_000;

/// Why there is no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwritten {
    /// It would be more work than allowed.
    TooLarge,
    /// Rates are too far apart.
    NoScale,
}

/// Returns the program for a question about a tree, if it is no more work than
/// `most` steps of a budget. Looking at it is spent.
pub(super) fn program(
    map: &FactMap,
    tree: &ServerTree,
    question: Objective,
    starts: Starts,
    (budget, most): (&Budget, u64),
) -> Result<Program, Unwritten> {
    let crossings = tree.nodes().iter();
    let crossings = crossings.map(|node| map.network.crossings(node.server).len() as u64);
    let looking = crossings
        .sum::<u64>()
        .saturating_mul(work::STEPS_A_CROSSING);
    if looking > most / 4 {
        return Err(Unwritten::TooLarge);
    }
    budget.spend(looking);
    let services = tree
        .nodes()
        .iter()
        .map(|node| best_service(map, node.server).rate);
    let slowest = services.min().ok_or(Unwritten::NoScale)?;
    let scale = Scale::below(slowest);
    let mut program = Program::new(scale);
    let nothing = program.quantity(Quantity::known(Data::ZERO));
    let mut writer = Writer {
        map,
        tree,
        question,
        program,
        dates: Vec::new(),
        starts,
        classes: Vec::new(),
        terms: LinearTerms::default(),
        nothing,
    };
    writer.begin().ok_or(Unwritten::NoScale)?;
    // All starts gain less than servers do where work is scarce.
    let most = match starts {
        Starts::All => (most / 8).min(MOST_FOR_ALL_STARTS),
        Starts::Oldest => most,
    };
    if work::steps(writer.program.variables()) > most {
        return Err(Unwritten::TooLarge);
    }
    writer.write().ok_or(Unwritten::NoScale)?;
    Ok(writer.program)
}

/// The service of the highest rate.
fn best_service(map: &FactMap, server: ServerId) -> RateLatency {
    let services = map.network.server(server).service.iter();
    let best = services.max_by_key(|service| service.rate);
    best.copied().expect("a server has a service")
}

impl Writer<'_> {
    /// Adds all variables but those of a question.
    fn begin(&mut self) -> Option<()> {
        for node in 0..self.tree.nodes().len() {
            self.add_node(node)?;
        }
        self.add_classes()
    }

    fn write(&mut self) -> Option<()> {
        for node in 0..self.tree.nodes().len() {
            self.keep_order(node);
            self.keep_delay(node);
            self.serve(node);
            self.keep_arcs(node)?;
        }
        for class in 0..self.classes.len() {
            self.keep_buckets(class)?;
        }
        self.ask()
    }

    fn add_node(&mut self, node: usize) -> Option<()> {
        let at = self.tree.nodes()[node];
        let crossings = self.map.network.crossings(at.server);
        let service = best_service(self.map, at.server);
        let rate = self.map.rate(crossings.iter().map(|it| it.flow))?;
        let late = service
            .rate
            .most_in(service.latency)?
            .checked_add(self.unsent(node))?;
        let backlog = self.program.quantity(Quantity::Data {
            known: late,
            facts: crossings
                .iter()
                .map(|it| self.map.burst(it.flow, it.hop))
                .collect(),
        });
        let scale = self.program.scale;
        let spare = scale.service(service.rate) - scale.arrivals(rate)?;
        self.program.node(at.parent, backlog, spare);
        let behind = at.parent.map(|parent| &self.dates[parent].0);
        let dates = Dates::before(behind, self.starts);
        let first = self.program.time(node);
        for _ in 1..dates.len() {
            self.program.time(node);
        }
        self.dates.push((dates, first));
        Some(())
    }

    /// The most that a server has served of a packet that has not left it when
    /// some other packet leaves, or at any time that nothing is known of.
    fn unsent(&self, node: usize) -> Data {
        let server = self.tree.nodes()[node].server;
        let exact = node == 0 && self.question == Objective::Delay;
        if exact || !self.map.network.packetizer {
            return Data::ZERO;
        }
        let crossings = self.map.network.crossings(server).iter();
        let packets = crossings.map(|it| self.map.network.max_packet(it.flow));
        packets.max().unwrap_or_default()
    }

    fn add_classes(&mut self) -> Option<()> {
        let mut ways = self.ways();
        ways.sort_unstable();
        for run in ways.chunk_by(|a, b| a.0 == b.0) {
            let way = run[0].0;
            let flows: Vec<_> = run.iter().map(|it| (it.1, it.2)).collect();
            let (rate, burst) = self.bucket(flows.iter().copied(), false)?;
            let data = self.program.data(way.entry, rate, burst);
            for _ in 2..self.dates[way.entry].0.len() {
                self.program.data(way.entry, rate, burst);
            }
            self.classes.push(Class { way, flows, data });
        }
        Some(())
    }

    /// Each flow's ways through the tree, and the hop where it enters.
    fn ways(&self) -> Vec<(TreePath, FlowId, u32)> {
        let mut ways = Vec::new();
        for (entry, node) in self.tree.nodes().iter().enumerate() {
            for crossing in self.map.network.crossings(node.server) {
                let path = self.map.network.path(crossing.flow);
                let hop = crossing.hop as usize;
                let before = hop.checked_sub(1);
                if before.is_some_and(|hop| self.tree.onward(path, hop).is_some()) {
                    continue;
                }
                let (mut exit, mut at) = (entry, hop);
                while let Some(parent) = self.tree.onward(path, at) {
                    (exit, at) = (parent, at + 1);
                }
                let arc = before.and_then(|hop| self.map.arc_between(path[hop], node.server));
                let asked = matches!(self.question, Objective::Burst(flows)
                    if exit == 0 && flows.binary_search(&crossing.flow).is_ok());
                let way = TreePath {
                    entry,
                    exit,
                    arc,
                    asked,
                };
                ways.push((way, crossing.flow, crossing.hop));
            }
        }
        ways
    }

    /// What bounds some flows together: their lowest rates, or their highest.
    fn bucket(
        &mut self,
        flows: impl Iterator<Item = (FlowId, u32)>,
        peak: bool,
    ) -> Option<(i64, QuantityId)> {
        let mut rate = Rate::ZERO;
        let mut facts = Vec::new();
        for (flow, hop) in flows {
            if peak && self.map.has_peak(flow) {
                rate = rate.checked_add(self.map.short_lived(flow).rate)?;
                facts.push(self.map.peak(flow, hop));
            } else {
                rate = rate.checked_add(self.map.lasting(flow).rate)?;
                facts.push(self.map.burst(flow, hop));
            }
        }
        let known = Data::ZERO;
        let burst = self.program.quantity(Quantity::Data { known, facts });
        Some((self.program.scale.arrivals(rate)?, burst))
    }

    /// The variables whose sum is the time from date `date` of a node until 0.
    fn age(&self, mut node: usize, mut date: usize) -> Vec<u32> {
        let mut variables = Vec::new();
        loop {
            if let Some(arrival) = self.dates[node].0.arrival_of(date) {
                variables.push(self.date(node, date));
                date = arrival;
            }
            variables.push(self.date(node, date));
            match self.tree.nodes()[node].parent {
                Some(parent) => node = parent,
                None => return variables,
            }
        }
    }

    fn date(&self, node: usize, date: usize) -> u32 {
        self.dates[node].1 + u32::try_from(date).expect("a program has few dates")
    }

    /// Adds what arrives of a class between two dates, times a coefficient.
    fn add_between(&mut self, class: usize, (earlier, later): (usize, usize), coefficient: i64) {
        let Class { way, data, .. } = self.classes[class];
        let dates = &self.dates[way.entry].0;
        let at = |date: usize| data + u32::try_from(date - 1).expect("a program has few dates");
        self.terms
            .add_all(dates.chain(earlier).map(at), coefficient);
        self.terms.add_all(dates.chain(later).map(at), -coefficient);
    }

    /// What is older is older, and of each class no less had arrived at what is newer.
    fn keep_order(&mut self, node: usize) {
        for (older, newer) in self.dates[node].0.known().to_vec() {
            if self.dates[node].0.arrival_of(older) == Some(newer) {
                continue; // It is so by what the variables mean.
            }
            let (later, earlier) = (self.age(node, newer), self.age(node, older));
            self.terms.add_all(later, ONE);
            self.terms.add_all(earlier, -ONE);
            self.program.at_most(&mut self.terms, self.nothing);
            if self.dates[node].0.follows(older, newer) {
                continue;
            }
            for class in 0..self.classes.len() {
                if self.classes[class].way.entry == node {
                    self.add_between(class, (older, newer), -ONE);
                    self.program.at_most(&mut self.terms, self.nothing);
                }
            }
        }
    }

    fn keep_delay(&mut self, node: usize) {
        let at = self.tree.nodes()[node];
        if node == 0 && self.tree.begin() == 0 && self.question == Objective::Delay {
            return; // It is what the program asks for.
        }
        let delay = self
            .program
            .quantity(Quantity::Delay(self.map.delay(at.server)));
        for date in 0..self.dates[node].0.arrivals() {
            self.terms.add(self.date(node, date), ONE);
            self.program.at_most(&mut self.terms, delay);
        }
    }

    fn serve(&mut self, node: usize) {
        let unsent = self.unsent(node);
        let map = self.map;
        let server = self.tree.nodes()[node].server;
        for service in &map.network.server(server).service {
            let late = service.rate.most_in(service.latency);
            let Some(known) = late.and_then(|late| late.checked_add(unsent)) else {
                continue; // So late that it helps nobody.
            };
            let right = self.program.quantity(Quantity::known(known));
            let rate = self.program.scale.service(service.rate);
            let starts: Vec<_> = self.dates[node].0.starts().collect();
            for (start, arrival) in starts {
                self.terms.add(self.date(node, arrival), rate);
                self.terms.add(self.date(node, start), rate);
                for class in 0..self.classes.len() {
                    if self.crosses(class, node) {
                        self.add_between(class, (start, arrival), -ONE);
                    }
                }
                self.program.at_most(&mut self.terms, right);
            }
        }
    }

    fn crosses(&self, class: usize, node: usize) -> bool {
        self.crossed(class).any(|at| at == node)
    }

    /// The nodes that a class crosses, one after the other.
    fn crossed(&self, class: usize) -> impl Iterator<Item = usize> + use<'_> {
        let TreePath { entry, exit, .. } = self.classes[class].way;
        let tree = self.tree;
        std::iter::successors(Some(entry), move |at| {
            tree.nodes()[*at].parent.filter(|_| *at != exit)
        })
    }

    /// What comes over each arc keeps the burst of the group and the rate of
    /// the link.
    fn keep_arcs(&mut self, node: usize) -> Option<()> {
        let server = self.tree.nodes()[node].server;
        let map = self.map;
        for arc in map.arcs_into(server) {
            let classes = self.over(arc, node);
            let crossings = &map.arc(arc).crossings;
            let flows = crossings.iter().map(|it| it.flow);
            if crossings.len() > 1 {
                let rate = self.program.scale.arrivals(map.rate(flows.clone())?)?;
                let group = self.program.quantity(Quantity::Data {
                    known: Data::ZERO,
                    facts: vec![map.group(arc)],
                });
                self.keep(&classes, node, (rate, group), Weight::Some);
            }
            let link = map.network.server(map.arc(arc).from).link;
            if let Some(link) = link.filter(|_| map.network.line_shaping) {
                let packets = flows.map(|flow| map.network.max_packet(flow));
                let packet = packets.filter(|_| map.network.packetizer).max();
                let burst = self
                    .program
                    .quantity(Quantity::known(packet.unwrap_or_default()));
                let rate = self.program.scale.arrivals(link)?;
                self.keep(&classes, node, (rate, burst), Weight::Some);
            }
        }
        Some(())
    }

    /// The classes that come to a node over an arc.
    fn over(&self, arc: ArcId, node: usize) -> Vec<usize> {
        let from = self.tree.place(self.map.arc(arc).from);
        let inside = from.filter(|from| self.tree.nodes()[*from].parent == Some(node));
        let comes = |class: &usize| match inside {
            Some(from) => self.classes[*class].way.exit != from && self.crosses(*class, from),
            None => self.classes[*class].way.arc == Some(arc),
        };
        (0..self.classes.len()).filter(comes).collect()
    }

    /// What comes of a class keeps its buckets at each server that it crosses.
    fn keep_buckets(&mut self, class: usize) -> Option<()> {
        let crossed: Vec<usize> = self.crossed(class).collect();
        for (hop, node) in (0..).zip(crossed) {
            for (rate, burst) in self.buckets(class, hop)? {
                let weight = if hop == 0 {
                    Weight::Some
                } else {
                    Weight::Little
                };
                self.keep(&[class], node, (rate, burst), weight);
            }
        }
        Some(())
    }

    /// What bounds a class a number of hops after it entered.
    fn buckets(&mut self, class: usize, hop: u32) -> Option<Vec<(i64, QuantityId)>> {
        let flows = self.classes[class].flows.clone();
        let there = flows.iter().map(|(flow, entered)| (*flow, entered + hop));
        let mut buckets = vec![self.bucket(there.clone(), false)?];
        if flows.iter().any(|(flow, _)| self.map.has_peak(*flow)) {
            buckets.push(self.bucket(there, true)?);
        }
        Some(buckets)
    }

    /// Between each two dates of a node, no more comes of some classes than a
    /// bucket lets through.
    fn keep(
        &mut self,
        classes: &[usize],
        node: usize,
        (rate, burst): (i64, QuantityId),
        weight: Weight,
    ) {
        let pairs: Vec<_> = self.dates[node].0.pairs().collect();
        for (earlier, later) in pairs {
            for class in classes {
                self.add_between(*class, (earlier, later), ONE);
            }
            self.terms.add_all(self.age(node, earlier), -rate);
            self.terms.add_all(self.age(node, later), rate);
            if weight == Weight::Some && self.dates[node].0.follows(earlier, later) {
                self.program.at_most(&mut self.terms, burst);
            } else {
                self.program.at_most_perhaps(&mut self.terms, burst);
            }
        }
    }

    fn ask(&mut self) -> Option<()> {
        if self.question == Objective::Delay {
            let age = self.age(self.tree.begin(), 0);
            self.program.maximize(age);
            return Some(());
        }
        for class in 0..self.classes.len() {
            if self.classes[class].way.asked {
                self.ask_burst(class)?;
            }
        }
        Some(())
    }

    /// How far can a class be ahead of what has left the root, seen from any
    /// server that it crosses?
    fn ask_burst(&mut self, class: usize) -> Option<()> {
        let entry = self.classes[class].way.entry;
        let (rate, burst) = self.buckets(class, 0)?[0];
        let ahead = self.program.data(entry, rate, burst);
        self.program.maximize([ahead]);
        let crossed: Vec<usize> = self.crossed(class).collect();
        for (hop, node) in (0..).zip(crossed) {
            let (rate, burst) = self.buckets(class, hop)?[0];
            for date in 0..self.dates[node].0.len() {
                self.terms.add(ahead, ONE);
                self.add_between(class, (date, 0), ONE);
                self.terms.add_all(self.age(node, date), -rate);
                if hop == 0 {
                    self.program.at_most(&mut self.terms, burst);
                } else {
                    self.program.at_most_perhaps(&mut self.terms, burst);
                }
            }
        }
        Some(())
    }
}
