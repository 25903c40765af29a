//! Whether a certificate proves its promises.
//!
//! The theorem is that of `docs/promises.md`: if at every stage, for every class
//! and after every failure provided for, the delay that follows from what all
//! flows may bring is within the budget, and the backlog within the buffer, then
//! nobody can be the first to be late, and each frame takes no longer than the
//! budgets on its way. All of it is calculated here from the document alone, at each
//! level for itself; what a change of level adds is calculated, too.

use std::collections::{BTreeMap, BTreeSet};

use units::Delay;

use crate::arrival::{FlowArrival, SourceTraffic, check_contract};
use crate::change;
use crate::document::{Certificate, Changes, Demand, Flow, Protection, Service};
use crate::load;
use crate::map::{LARGEST_UNPROMISED_FRAME, Map, NodeIndex, StageId};
use crate::reason::{FailureCase, LevelName, Objection, Reason};
use crate::stages::{Stages, bfd_packets, probes};
use crate::ways::{Ways, name_of};
use crate::windows::{self, Visit};

/// The most objections that are listed.
const MOST_OBJECTIONS: usize = 100;
/// The most flows of a certificate.
pub const MOST_FLOWS: usize = 262_144;
/// The most levels.
const MOST_LEVELS: usize = 8;
/// The most times that something is looked at: each flow at each stage in each case, and
/// each side beside each other.
pub const MOST_LOOKS: usize = 400_000_000;
/// What stands for the flow of what the controller and the switches send.
const SWITCHES: usize = usize::MAX;
/// The queue of BFD packets.
const MOST_URGENT: u8 = 7;
/// What a second copy is told by, in bits: a redundancy tag (IEEE 802.1CB), or a trailer (IEC
/// 62439-3), before which frames are padded that are shorter than 64 bytes.
const TAGS: std::ops::RangeInclusive<u64> = 48..=80;
/// How often BFD packets may be sent: once in a millisecond to once in a second.
const BFD_INTERVALS: std::ops::RangeInclusive<u64> = 1_000_000_000..=1_000_000_000_000;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// What a certificate proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Each flow with what is promised at each level at which it is served.
    pub promises: Vec<ProvenPromise>,
    /// At how many stages something is promised.
    pub stages: usize,
    /// In how many cases of stage, level and failure.
    pub cases: usize,
}

/// A promise that is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvenPromise {
    /// The flow.
    pub flow: String,
    /// The level, if there are several.
    pub level: Option<String>,
    /// The delay that no frame exceeds.
    pub guarantee: Delay,
    /// What was asked for.
    pub deadline: Delay,
}

/// Checks that a certificate proves all of its promises.
///
/// # Errors
///
/// What it does not prove, the first hundred of it.
pub fn check(certificate: &Certificate) -> Result<Proven, Vec<Objection>> {
    let alone = |(at, reason)| vec![Objection { at, reason }];
    let whole = |reason| alone(("certificate".to_owned(), reason));
    let (flows, levels) = (&certificate.flows, &certificate.levels);
    if flows.is_empty() {
        return Err(whole(Reason::Empty));
    }
    if levels.is_empty() {
        return Err(whole(Reason::Senseless("it has no level")));
    }
    if flows.len() > MOST_FLOWS || levels.len() > MOST_LEVELS {
        return Err(whole(Reason::TooMuch));
    }
    let map = Map::new(&certificate.network).map_err(alone)?;
    let mut at_levels = Vec::with_capacity(levels.len());
    for level in levels {
        at_levels.push(Stages::new(&map, level).map_err(alone)?);
    }
    let lateness = change::lateness(&map, certificate, &at_levels[0]).map_err(alone)?;
    let roads = roads(certificate, &map)?;
    if certificate.network.changes == Changes::Switches {
        let ports: Vec<_> = roads.iter().map(|ways| ports_of(ways, &map)).collect();
        change::check_queues(flows, &ports, &map).map_err(alone)?;
    }
    let mut moving: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, flow) in flows.iter().enumerate() {
        for alternative in &flow.alternatives {
            moving.entry(alternative.without).or_default().insert(at);
        }
    }
    let mut proof = Proof {
        certificate,
        roads: &roads,
        moving,
        lateness,
        looks: 0,
        proven: Proven {
            promises: Vec::new(),
            stages: 0,
            cases: 0,
        },
        objections: Vec::new(),
        at: BTreeSet::new(),
    };
    for (level, stages) in at_levels.iter().enumerate() {
        proof.check_level(level, stages);
    }
    proof.proven.stages = proof.at.len();
    match proof.objections.is_empty() {
        true => Ok(proof.proven),
        false => Err(proof.objections),
    }
}

/// Checks what can be seen of each flow by itself, and lays out its ways.
fn roads(certificate: &Certificate, map: &Map<'_>) -> Result<Vec<Ways>, Vec<Objection>> {
    let (mut roads, mut objections) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for flow in &certificate.flows {
        let demand = &flow.demand;
        let ways = match names.insert(demand.name.as_str()) {
            false => Err(Reason::Twice("name")),
            true => check_demand(flow, certificate).and_then(|()| Ways::of(flow, map)),
        };
        match ways {
            Ok(ways) => roads.push(ways),
            Err(reason) if objections.len() < MOST_OBJECTIONS => objections.push(Objection {
                at: format!("flow `{}`", demand.name),
                reason,
            }),
            Err(_) => {}
        }
    }
    match objections.is_empty() {
        true => Ok(roads),
        false => Err(objections),
    }
}

fn check_demand(flow: &Flow, certificate: &Certificate) -> Result<(), Reason> {
    let levels = certificate.levels.len();
    let (asked, promised) = (&flow.demand.levels, &flow.guarantees_ps);
    let alike = asked
        .iter()
        .zip(promised)
        .all(|(asked, promised)| asked.is_some() == promised.is_some());
    if asked.len() != levels || promised.len() != levels || !alike {
        return Err(Reason::Levels(levels));
    }
    if asked.first().copied().flatten().is_none() {
        return Err(Reason::Senseless("it is not served at the lowest level"));
    }
    for service in asked.iter().flatten() {
        check_contract(service, &certificate.network.classes)?;
    }
    check_additions(&flow.demand)?;
    match certificate.network.changes {
        Changes::Switches => change::check_services(flow),
        Changes::Nobody | Changes::Controller => Ok(()),
    }
}

/// Checks a promise and the deadline that it is for against the latest that follows.
fn check_promise(
    (promised, deadline): (Delay, Delay),
    latest: Option<u64>,
    named: &LevelName,
) -> Result<(), Reason> {
    let calculated = Delay::from_ps(latest.ok_or(Reason::TooLate)?);
    let level = || named.clone();
    if promised < calculated {
        return Err(Reason::Guarantee {
            level: level(),
            promised,
            calculated,
        });
    }
    match promised > deadline {
        true => Err(Reason::Deadline {
            level: level(),
            promised,
            deadline,
        }),
        false => Ok(()),
    }
}

/// Checks what switches are stated to add to a flow.
fn check_additions(demand: &Demand) -> Result<(), Reason> {
    let Demand {
        protection,
        tag_bit,
        hold_ps,
        bfd_interval_ps,
        ..
    } = demand;
    let is_tagged = *tag_bit > 0;
    let largest = demand
        .levels
        .iter()
        .flatten()
        .map(|it| it.largest_frame_bit);
    let what = if is_tagged && (*protection != Protection::Copies || !TAGS.contains(tag_bit)) {
        "a tag of 6 bytes, and up to 4 of padding, is what switches give second copies, and nothing else"
    } else if is_tagged
        && largest
            .max()
            .is_some_and(|largest| largest > LARGEST_UNPROMISED_FRAME - tag_bit)
    {
        "its largest frame has no room for a tag"
    } else if *hold_ps > 0 && !is_tagged {
        "only where second copies are dropped frames are held back, by the number in their tag"
    } else if bfd_interval_ps.is_some() && *protection != Protection::FastFailover {
        "links are watched for frames that are turned back, and for nothing else"
    } else if bfd_interval_ps.is_some_and(|interval| !BFD_INTERVALS.contains(&interval)) {
        "no such interval between BFD packets"
    } else {
        return Ok(());
    };
    Err(Reason::Senseless(what))
}

/// Returns the ports of all ways of a flow.
fn ports_of(ways: &Ways, map: &Map<'_>) -> BTreeSet<usize> {
    let others = ways.without.iter().map(|(_, steps)| steps);
    let second = ways.second.iter().map(|second| &second.path);
    let all = others.chain(second).chain([&ways.path]).flatten();
    all.map(|(stage, _)| *stage)
        .filter(|stage| matches!(map.place(*stage), Some(StageId::Port { .. })))
        .collect()
}

/// What was looked at so far.
struct Proof<'a> {
    certificate: &'a Certificate,
    roads: &'a [Ways],
    /// The flows that take an alternative without a link.
    moving: BTreeMap<usize, BTreeSet<usize>>,
    /// How late a change of level may make a frame.
    lateness: u64,
    looks: usize,
    proven: Proven,
    objections: Vec<Objection>,
    /// The stages at which something is promised.
    at: BTreeSet<usize>,
}

/// What comes to the stages at a level.
#[derive(Default)]
struct LevelArrivals {
    always: BTreeMap<usize, Vec<FlowArrival>>,
    /// By stage and link that is broken.
    without: BTreeMap<(usize, usize), Vec<FlowArrival>>,
    /// What is promised something: stages, with the class at ports.
    promised: BTreeSet<(usize, Option<u8>)>,
}

impl Proof<'_> {
    fn object(&mut self, at: String, reason: Reason) {
        if self.objections.len() < MOST_OBJECTIONS {
            self.objections.push(Objection { at, reason });
        }
    }

    /// Checks all that is promised at a level.
    fn check_level(&mut self, level: usize, stages: &Stages<'_>) {
        let named = LevelName(self.certificate.levels[level].name.clone());
        let mut arrivals = LevelArrivals::default();
        let before = self.objections.len();
        for (at, flow) in self.certificate.flows.iter().enumerate() {
            if let Err(reason) = self.check_flow((at, flow), (level, &named), stages, &mut arrivals)
            {
                self.object(format!("flow `{}`", flow.demand.name), reason);
            }
        }
        if self.objections.len() > before {
            return;
        }
        self.at
            .extend(arrivals.promised.iter().map(|(stage, _)| *stage));
        self.add_signals(level, stages, &mut arrivals);
        if let Err(reason) = self.add_sessions(stages, &mut arrivals) {
            self.object("BFD packets".to_owned(), reason);
            return;
        }
        for (stage, class) in stages.beside(&arrivals.promised) {
            self.object(stages.map.name_of(stage), Reason::UnusedBudget(class));
        }
        self.check_stages(&named, stages, &mut arrivals);
    }

    /// Follows a flow at a level, and checks what is promised to it.
    fn check_flow(
        &mut self,
        (at, flow): (usize, &Flow),
        (level, named): (usize, &LevelName),
        stages: &Stages<'_>,
        arrivals: &mut LevelArrivals,
    ) -> Result<(), Reason> {
        let ways = &self.roads[at];
        let asked = &flow.demand.levels;
        let is_served_above = asked.iter().skip(1).any(Option::is_some);
        let lateness = if is_served_above { self.lateness } else { 0 };
        let link = &stages.map.network().links[ways.first_link];
        let initial = |service: &Service| {
            sending_ps(service.largest_frame_bit, link.rate_bps) + link.propagation_ps
        };
        let (Some(service), Some(promised)) = (asked[level], flow.guarantees_ps[level]) else {
            // Its source goes on sending, and its first switch looks at each frame.
            if let Some(service) = asked[0] {
                let sent = SourceTraffic::over(&service, link.rate_bps, 0);
                arrivals.come(at, &sent, &given_up(ways, initial(&service)));
            }
            return Ok(());
        };
        let mut visits = windows::follow(ways, stages, service.class, initial(&service))?;
        let tag = flow.copies.as_ref().map_or(0, |_| flow.demand.tag_bit);
        if asked.len() > 1 || tag > 0 {
            // A change of level may hold frames back for longer than budgets say, and what
            // came over a link was shorter before it got its tag.
            visits.forget_links();
        }
        let [promised, deadline] = [promised, service.deadline_ps].map(Delay::from_ps);
        check_promise(
            (promised, deadline),
            visits.latest.checked_add(lateness),
            named,
        )?;
        // What a change held back comes in one burst.
        let held = if level > 0 { lateness } else { 0 };
        let sent = match tag {
            0 => SourceTraffic::over(&service, link.rate_bps, held),
            tag => SourceTraffic::tagged(&service, tag, held),
        };
        for visit in &visits.path {
            arrivals.come(at, &sent, visit);
        }
        for (link, visits) in &visits.without {
            for visit in visits {
                let key = (visit.stage, *link);
                let arrival = sent.at(at, visit);
                arrivals.without.entry(key).or_default().push(arrival);
            }
        }
        let all = visits.path.iter().chain(visits.without.values().flatten());
        let classes = all.map(|visit| (visit.stage, stages.class_at(visit.stage, service.class)));
        arrivals.promised.extend(classes);
        self.proven.promises.push(ProvenPromise {
            flow: flow.demand.name.clone(),
            level: named.0.clone(),
            guarantee: promised,
            deadline,
        });
        Ok(())
    }

    /// Adds the BFD packets of links on the path of flows that rely on them: they leave by
    /// the most urgent queue, and the processor behind the link has each of them to look at.
    fn add_sessions(
        &self,
        stages: &Stages<'_>,
        arrivals: &mut LevelArrivals,
    ) -> Result<(), Reason> {
        let map = stages.map;
        let mut intervals: BTreeMap<usize, u64> = BTreeMap::new();
        for flow in &self.certificate.flows {
            let Some(asked) = flow.demand.bfd_interval_ps else {
                continue;
            };
            for link in flow.path.iter().filter(|link| map.is_trunk(**link)) {
                let interval = intervals.entry(*link).or_insert(asked);
                *interval = asked.min(*interval);
            }
        }
        let ends = intervals.iter().flat_map(|it| [(it, 0), (it, 1)]);
        for ((link, interval), end) in ends {
            let sent = SourceTraffic::of(bfd_packets(*interval), MOST_URGENT);
            let port = Visit::first(map.port(*link, end), 0);
            let window = windows::behind(port, stages, MOST_URGENT)?;
            arrivals.come(SWITCHES, &sent, &port);
            arrivals.promised.insert((port.stage, Some(MOST_URGENT)));
            let far = map.ends(*link).map(|ends| ends[1 - end]);
            if let Some(NodeIndex::Switch(switch)) = far {
                let processor = Visit {
                    window,
                    from: Some(port.stage),
                    ..Visit::first(map.processor(switch), 0)
                };
                arrivals.come(SWITCHES, &sent, &processor);
                arrivals.promised.insert((processor.stage, None));
            }
        }
        Ok(())
    }

    /// Adds the processors that signals of a change of level pass: the budgets there, at
    /// the lowest level, are part of how late a change may be.
    fn add_signals(&self, level: usize, stages: &Stages<'_>, arrivals: &mut LevelArrivals) {
        if level == 0 && change::is_promised(self.certificate) {
            let switches = 0..self.certificate.network.switches.len();
            let processors = switches.map(|switch| (stages.map.processor(switch), None));
            arrivals.promised.extend(processors);
        }
    }

    /// Checks every stage at which something is promised, in every case.
    fn check_stages(
        &mut self,
        named: &LevelName,
        stages: &Stages<'_>,
        arrivals: &mut LevelArrivals,
    ) {
        arrivals.add_probes(stages);
        let mut promised: BTreeMap<usize, BTreeSet<u8>> = BTreeMap::new();
        for (stage, class) in &arrivals.promised {
            promised.entry(*stage).or_default().extend(class);
        }
        let nothing = Vec::new();
        for (stage, classes) in promised {
            let always = arrivals.always.get(&stage).unwrap_or(&nothing);
            let mut case = FailureCase {
                level: named.clone(),
                without: None,
            };
            let mut result = load::check(always.iter(), &classes, (stage, stages), &case);
            let sides = sides(always);
            self.looks += always.len() + sides * sides;
            self.proven.cases += 1;
            let range = (stage, 0)..=(stage, usize::MAX);
            for ((_, link), moved) in arrivals.without.range(range) {
                self.looks += always.len() + moved.len() + (sides + self::sides(moved)).pow(2);
                if result.is_err() || self.looks > MOST_LOOKS {
                    break;
                }
                case.without = Some(name_of(stages.map, *link));
                let moving = self.moving.get(link);
                let moves = |it: &&FlowArrival| moving.is_some_and(|all| all.contains(&it.flow));
                let staying = always.iter().filter(|it| !moves(it));
                let arriving = staying.chain(moved);
                result = load::check(arriving, &classes, (stage, stages), &case);
                self.proven.cases += 1;
            }
            if self.looks > MOST_LOOKS {
                self.object("certificate".to_owned(), Reason::TooMuch);
                return;
            }
            if let Err(reason) = result {
                self.object(stages.map.name_of(stage), reason);
            }
        }
    }
}

impl LevelArrivals {
    /// Has a flow come to a stage, whatever is broken.
    fn come(&mut self, flow: usize, sent: &SourceTraffic, visit: &Visit) {
        let arrival = sent.at(flow, visit);
        self.always.entry(visit.stage).or_default().push(arrival);
    }

    /// Has the controller's probes leave every port at which something is promised.
    fn add_probes(&mut self, stages: &Stages<'_>) {
        let Some(class) = stages.probe_class() else {
            return;
        };
        let sent = SourceTraffic::of(probes(stages.map.network().probe_interval_ps), class);
        let promised = self.promised.iter().filter(|(_, class)| class.is_some());
        let ports: BTreeSet<usize> = promised.map(|(stage, _)| *stage).collect();
        for stage in ports {
            self.come(SWITCHES, &sent, &Visit::first(stage, 0));
        }
    }
}

/// Returns from how many sides something arrives: what is looked at grows with its
/// square.
fn sides(arrivals: &[FlowArrival]) -> usize {
    let side = |arrival: &FlowArrival| (arrival.from, arrival.link, arrival.class);
    let sides = arrivals.iter().map(side);
    sides.collect::<BTreeSet<_>>().len()
}

/// Returns where frames arrive of a flow that is given up.
fn given_up(ways: &Ways, latest: u64) -> Visit {
    // A way begins with the processor of the first switch.
    Visit::first(ways.path[0].0, latest)
}

/// Returns how long so many bits take at a rate, in picoseconds, rounded up.
fn sending_ps(bits: u64, rate_bps: u64) -> u64 {
    let ps = (u128::from(bits) * PS_PER_SECOND).div_ceil(rate_bps.into());
    u64::try_from(ps).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests;
