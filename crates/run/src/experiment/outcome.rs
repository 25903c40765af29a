//! Puts together what was promised and what was observed.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use calculus::admission::Slowdown;
use controller::Config;
use controller::northbound::{Accepted, Cover, Event, Said, Saying};
use controller::place::LinkEnds;
use measure::interruptions::Interruptions;
use measure::levels::{Spell, Treatment, at_levels, given_up};
use measure::recorder::{FlowRecord, Settings};
use measure::report::{
    Completion, Discovery, EventKind, EventReport, FlowFacts, FlowKind, FlowReport, LevelReport,
    LinkReport, NodeKind, NodeReport, PlatformReport, ProfileReport, Report, Restoration, Topology,
};
use measure::unseen::Unseen;
use measure::verdict::{Assessment, Bound, Circumstances, Disturbance, Effect, assess};
use measure::{FlowIndex, FlowPlan};
use scenario::{
    Change, Direction, Flow, Impairment, LinkIndex, Node, Protection, Scenario, SwitchIndex,
    Traffic,
};
use units::{Duration, Instant};

use super::calculation::calculation;
use super::culprits::culprits;
use super::mode_changes::{modes_report, spells};
use super::plan::cover;
use super::readmissions::Readmissions;
use super::route::Atlas;

use super::world::{Happening, Observed};
use super::{Admission, Carrying, Discovered, Run, WorldChoice};
use crate::room::Room;

/// Everything that a report is made of.
#[derive(Debug)]
pub struct Facts<'a> {
    pub scenario: &'a Scenario,
    /// What its switches are taken to be.
    pub profiles: &'a [ProfileReport],
    /// Whether the machine carries what all flows send.
    pub carrying: Carrying,
    pub place: WorldChoice,
    /// What the controller was told.
    pub config: &'a Config,
    pub found: Discovered,
    pub took: Duration,
    pub admissions: &'a [Admission],
    pub run: &'a Run,
    pub observed: &'a Observed,
    /// What deadlines leave to spare.
    pub room: &'a Room,
}

/// Returns the report of a run.
#[must_use]
pub fn report(facts: &Facts<'_>) -> Report {
    let Facts {
        scenario,
        run,
        observed,
        ..
    } = facts;
    let happenings = &observed.happenings;
    let mut judged = judge(facts, happenings);
    for ((report, _), admission) in judged.iter_mut().zip(facts.admissions) {
        let accepted = admission.decision.as_ref().ok();
        let slowdown = accepted.and_then(|accepted| facts.room.of_flow(accepted.id));
        report.slowdown_thousandths = slowdown.map(Slowdown::thousandths);
    }
    let events = happenings
        .iter()
        .enumerate()
        .map(|(place, happening)| event_report(facts, happenings, place, *happening, &judged));
    Report {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        world: match facts.place {
            WorldChoice::Sim(_) => "sim".to_owned(),
            WorldChoice::Lab(_) => "lab".to_owned(),
        },
        seed: scenario.seed,
        duration_ns: run.duration.as_ns(),
        completion: if run.complete {
            Completion::Complete
        } else {
            Completion::Partial
        },
        topology: topology(scenario),
        profiles: facts.profiles.to_vec(),
        discovery: Some(Discovery {
            switches: facts.found.switches,
            links: facts.found.links,
            hosts: facts.found.hosts,
            took_ns: facts.took.as_ns(),
        }),
        events: events.collect(),
        by_hand: Vec::new(),
        culprits: culprits(facts, happenings),
        flows: judged.into_iter().map(|(report, _)| report).collect(),
        platform: platform(scenario, run, observed),
        modes: modes_report(scenario, facts.config, run),
        assumptions: assumptions(scenario, facts.place),
        room: facts.room.sentences(),
        versions: BTreeMap::from([("taktos".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
        machine: observed.machine.clone(),
    }
}

/// Returns the report of each flow, and what was made of its observations.
fn judge(facts: &Facts<'_>, happenings: &[Happening]) -> Vec<(FlowReport, Option<Assessment>)> {
    let Facts {
        scenario,
        run,
        observed,
        ..
    } = facts;
    let overloaded = facts.carrying == Carrying::Part;
    let bound = match facts.place {
        WorldChoice::Sim(_) => Bound::Certain,
        WorldChoice::Lab(_) => Bound::OfProfile,
    };
    let spells = spells(scenario, &run.said);
    let atlas = Atlas::new(scenario);
    let mut records = (0..).zip(run.plans.iter().zip(&observed.records));
    let judged = facts
        .admissions
        .iter()
        .map(|Admission { flow, decision, .. }| {
            let flow = &scenario.flows[*flow];
            match decision {
                Err(reason) => {
                    let facts = flow_facts(scenario, flow);
                    (
                        FlowReport::refused(facts, reason.clone(), flow.deadline),
                        None,
                    )
                }
                Ok(accepted) => {
                    let (index, (plan, record)) =
                        records.next().expect("a record for each admitted flow");
                    let facts = FlowFacts {
                        path: accepted.route.switches.clone(),
                        protection: protection(flow, accepted),
                        routes: routes(&atlas, scenario, flow, &accepted.route),
                        alternatives: accepted
                            .alternatives
                            .iter()
                            .flat_map(|it| routes(&atlas, scenario, flow, &it.route))
                            .collect(),
                        calculation: calculation(scenario, facts.config, flow, accepted),
                        ..flow_facts(scenario, flow)
                    };
                    let promised = (accepted, &run.readmissions);
                    let disturbances = disturbances(&atlas, flow, promised, happenings);
                    let treatments = treatments(scenario, flow, plan);
                    let spells_of_faults = observed.fault_losses.of(FlowIndex(index));
                    let fault_spells: Vec<_> = spells_of_faults.copied().collect();
                    let amid = Circumstances {
                        fault_spells: &fault_spells,
                        disturbances: &disturbances,
                        interruptions: &observed.interruptions,
                        unseen: &unseen_by_receivers(observed, flow),
                        unseen_at_sender: unseen_by(observed, flow.source).frames(),
                        given_up: &given_up(&spells, &treatments),
                        later_guarantees: &run.readmissions.guarantees(accepted.id),
                        bound,
                        overloaded,
                    };
                    let assessment = assess(plan, record, amid);
                    let mut report = FlowReport::observed(facts, plan, record, &assessment);
                    let modal = (&spells[..], &treatments[..]);
                    let taken = &observed.interruptions;
                    report.levels = level_reports(scenario, plan, record, modal, taken);
                    (report, Some(assessment))
                }
            }
        });
    judged.collect()
}

/// Returns what the observer of each receiver missed.
fn unseen_by_receivers(observed: &Observed, flow: &Flow) -> Vec<Unseen> {
    let receivers = flow.receivers.iter();
    receivers.map(|host| unseen_by(observed, *host)).collect()
}

fn unseen_by(observed: &Observed, host: scenario::HostIndex) -> Unseen {
    observed.unseen.get(host.0).cloned().unwrap_or_default()
}

/// Returns what a flow gets at each level, the lowest first; nothing without levels.
pub(super) fn treatments(scenario: &Scenario, flow: &Flow, plan: &FlowPlan) -> Vec<Treatment> {
    if scenario.modes.is_none() {
        return Vec::new();
    }
    let treated = flow.by_level.iter().map(|treatment| match treatment {
        scenario::Treatment::Dropped => Treatment::GivenUp,
        scenario::Treatment::Served(service) => Treatment::Served {
            guarantee: plan.promise.map(|promise| promise.guarantee),
            deadline: service.deadline,
        },
    });
    treated.collect()
}

/// Returns what was observed of a flow at each level.
fn level_reports(
    scenario: &Scenario,
    plan: &FlowPlan,
    record: &FlowRecord,
    (spells, treatments): (&[Spell], &[Treatment]),
    interruptions: &Interruptions,
) -> Vec<LevelReport> {
    let promised = plan.promise.map(|promise| promise.guarantee);
    // Where nothing is promised, a frame may be under way until it counts as lost.
    let reach = promised.unwrap_or(Settings::default().patience);
    let observed = at_levels(record, (spells, treatments), reach, interruptions);
    let names = scenario.modes.iter().flat_map(|modes| &modes.levels);
    let levels = names.zip(treatments.iter().zip(&observed));
    let levels =
        levels.map(|(level, (treatment, at))| LevelReport::observed(&level.name, *treatment, at));
    levels.collect()
}

/// Returns what each happening means for a flow.
pub(super) fn disturbances(
    atlas: &Atlas<'_>,
    flow: &Flow,
    (first, readmissions): (&Accepted, &Readmissions),
    happenings: &[Happening],
) -> Vec<Disturbance> {
    let mut broken: Vec<LinkIndex> = Vec::new();
    let disturbances = happenings.iter().map(|Happening { at, change, .. }| {
        let accepted = readmissions.at(*at, first);
        let route = atlas.route_while(accepted, &broken);
        let hit = match change {
            Change::Cut(link) => atlas.links_of(flow, route).contains(link),
            Change::SwitchCrash(switch) | Change::SwitchKill(switch) => {
                let ways = atlas.ways(flow, route);
                ways.iter()
                    .any(|way| way.nodes.contains(&Node::Switch(*switch)))
            }
            Change::HostMoves { host, .. } => flow.source == *host || flow.receivers.contains(host),
            // Whose frames an impaired link takes is known one by one; an interruption by
            // that is promised to those who asked for one that any failure may cause.
            Change::Impair {
                link,
                impairment: Impairment::Loss,
                one_in: Some(NonZeroU32::MIN),
                direction,
            } => {
                let least = match direction {
                    Direction::Both => Cover::Any,
                    Direction::From(_) => Cover::OneWay,
                };
                accepted.cover >= Some(least) && atlas.links_of(flow, route).contains(link)
            }
            Change::Heal(_)
            | Change::SwitchRestart(_)
            | Change::Impair { .. }
            | Change::Isolate(_)
            | Change::Rejoin(_) => false,
        };
        match change {
            Change::Cut(link) => broken.push(*link),
            Change::Heal(link) => broken.retain(|other| other != link),
            Change::HostMoves { .. }
            | Change::SwitchCrash(_)
            | Change::SwitchKill(_)
            | Change::SwitchRestart(_)
            | Change::Impair { .. }
            | Change::Isolate(_)
            | Change::Rejoin(_) => {}
        }
        Disturbance {
            at: *at,
            effect: if hit {
                Effect::Failure
            } else {
                Effect::Harmless
            },
        }
    });
    disturbances.collect()
}

fn event_report(
    facts: &Facts<'_>,
    happenings: &[Happening],
    place: usize,
    happening: Happening,
    judged: &[(FlowReport, Option<Assessment>)],
) -> EventReport {
    let (scenario, Happening { at, change, .. }) = (facts.scenario, happening);
    let link_name = |link: LinkIndex| scenario.links[link.0].name.clone();
    let switch_name = |switch: SwitchIndex| scenario.switches[switch.0].name.clone();
    let (kind, target) = match change {
        Change::Cut(link) => (EventKind::Cut, link_name(link)),
        Change::Heal(link) => (EventKind::Heal, link_name(link)),
        Change::HostMoves { host, .. } => {
            (EventKind::HostMove, scenario.hosts[host.0].name.clone())
        }
        Change::SwitchCrash(switch) => (EventKind::SwitchCrash, switch_name(switch)),
        Change::SwitchKill(switch) => (EventKind::SwitchKill, switch_name(switch)),
        Change::SwitchRestart(switch) => (EventKind::SwitchRestart, switch_name(switch)),
        Change::Impair {
            link,
            impairment,
            one_in,
            ..
        } => {
            let kind = match (impairment, one_in) {
                (Impairment::Loss, Some(_)) => EventKind::Lossy,
                (Impairment::Corruption, Some(_)) => EventKind::Corrupting,
                (_, None) => EventKind::Unimpaired,
            };
            (kind, link_name(link))
        }
        Change::Isolate(switch) => (EventKind::Isolate, switch_name(switch)),
        Change::Rejoin(switch) => (EventKind::Rejoin, switch_name(switch)),
    };
    let outages = judged.iter().filter_map(|(report, assessment)| {
        let outage = assessment.as_ref()?.outages.get(place)?;
        (*outage > Duration::ZERO).then(|| (report.facts.name.clone(), outage.as_ns()))
    });
    let until = happenings
        .get(place + 1)
        .map_or(Instant::FAR_FUTURE, |next| next.at);
    let restoration = match change {
        Change::Cut(link)
        | Change::Impair {
            link,
            one_in: Some(_),
            ..
        } => Atlas::new(scenario)
            .ends(link)
            .and_then(|ends| restoration(&facts.run.said, ends, at, until)),
        Change::Heal(_)
        | Change::HostMoves { .. }
        | Change::SwitchCrash(_)
        | Change::SwitchKill(_)
        | Change::SwitchRestart(_)
        | Change::Impair { one_in: None, .. }
        | Change::Isolate(_)
        | Change::Rejoin(_) => None,
    };
    EventReport {
        at_ns: at.saturating_since(facts.run.start).as_ns(),
        kind,
        target,
        outage_ns: outages.collect(),
        restoration,
        is_by_hand: happening.is_by_hand,
    }
}

/// Returns how the controller restored what the failure of a link had broken,
/// if it said so between two moments.
fn restoration(said: &[Said], cut: LinkEnds, at: Instant, until: Instant) -> Option<Restoration> {
    let window = said.iter().filter(|said| said.at >= at && said.at < until);
    let mut sent_at = None;
    for said in window {
        match &said.what {
            Saying::Notice(Event::RestorationSent { link, .. }) if *link == cut => {
                sent_at = sent_at.or(Some(said.at));
            }
            Saying::Notice(Event::Restored {
                link,
                detected_at,
                took,
                flows,
                flow_mods,
                ..
            }) if *link == cut => {
                let sent_at = sent_at.unwrap_or(*detected_at);
                return Some(Restoration {
                    detection_ns: detected_at.saturating_since(at).as_ns(),
                    controller_ns: sent_at.saturating_since(*detected_at).as_ns(),
                    programming_ns: (*detected_at + *took).saturating_since(sent_at).as_ns(),
                    flows: *flows,
                    flow_mods: *flow_mods,
                });
            }
            Saying::Notice(_) | Saying::Reply(..) => {}
        }
    }
    None
}

/// Says what happens when a link breaks, and for which failures that was promised.
fn protection(flow: &Flow, accepted: &Accepted) -> String {
    let cover = accepted.cover.iter();
    let cover: String = cover.map(|cover| format!(", {cover}")).collect();
    format!("{}{cover}", asked_protection(flow.protection))
}

/// Returns the protection that was asked for, in words.
fn asked_protection(protection: Protection) -> String {
    match protection.interruption() {
        None | Some(Duration::ZERO) => protection.name().to_owned(),
        Some(interruption) => format!("{} within {interruption}", protection.name()),
    }
}

fn flow_facts(scenario: &Scenario, flow: &Flow) -> FlowFacts {
    let name = |host: &scenario::HostIndex| scenario.hosts[host.0].name.clone();
    FlowFacts {
        name: flow.name.clone(),
        kind: match flow.traffic {
            Traffic::SampledValues(_) => FlowKind::SampledValues,
            Traffic::Goose(_) => FlowKind::Goose,
            Traffic::Udp(_) => FlowKind::Udp,
            Traffic::Message(_) => FlowKind::Message,
            Traffic::Trace(_) => FlowKind::Trace,
            Traffic::Mms(_) => FlowKind::Mms,
            Traffic::BestEffort(_) => FlowKind::BestEffort,
        },
        source: name(&flow.source),
        destinations: flow.receivers.iter().map(name).collect(),
        queue: Some(scenario.class_of(flow).queue),
        protection: asked_protection(flow.protection),
        path: Vec::new(),
        routes: Vec::new(),
        alternatives: Vec::new(),
        calculation: Vec::new(),
    }
}

fn routes(
    atlas: &Atlas<'_>,
    scenario: &Scenario,
    flow: &Flow,
    route: &controller::northbound::Route,
) -> Vec<Vec<String>> {
    let ways = atlas.ways(flow, route).into_iter();
    ways.map(|way| {
        way.nodes
            .iter()
            .map(|node| scenario.name_of(*node).to_owned())
            .collect()
    })
    .collect()
}

fn topology(scenario: &Scenario) -> Topology {
    let switches = scenario.switches.iter().map(|switch| NodeReport {
        name: switch.name.clone(),
        kind: NodeKind::Switch,
        // From the top to the bottom, as pictures are drawn.
        position: switch
            .position
            .map(|it| (f64::from(it.east) / 1e6, -f64::from(it.north) / 1e6)),
    });
    let hosts = scenario.hosts.iter().map(|host| NodeReport {
        name: host.name.clone(),
        kind: NodeKind::Host,
        position: None,
    });
    let links = scenario.links.iter().map(|link| LinkReport {
        name: link.name.clone(),
        a: scenario.name_of(link.ends[0].node).to_owned(),
        b: scenario.name_of(link.ends[1].node).to_owned(),
        rate_bps: link.rate.as_bps(),
    });
    Topology {
        nodes: switches.chain(hosts).collect(),
        links: links.collect(),
    }
}

fn platform(scenario: &Scenario, run: &Run, observed: &Observed) -> PlatformReport {
    let report = match &observed.stalls {
        Some(stalls) => {
            let taken = &observed.interruptions;
            PlatformReport::watched(&observed.stamps, run.start, stalls, taken)
        }
        None => PlatformReport::virtual_time(),
    };
    let mut notes = observed.notes.clone();
    let cover = cover(scenario).round_up();
    if cover > Duration::ZERO {
        let taken = observed.interruptions.iter();
        let longer = taken.filter(|it| it.taken > cover).count();
        notes.push(format!(
            "Of {} interruptions of the machine {longer} were longer than the {cover} that the \
             bounds cover.",
            observed.interruptions.count()
        ));
    }
    PlatformReport { notes, ..report }
}

fn assumptions(scenario: &Scenario, place: WorldChoice) -> Vec<String> {
    let mut assumptions = vec![
        "Every flow keeps its contract where it leaves the interface of its host; frames beyond \
         it are counted."
            .to_owned(),
        "At most one link between switches is broken at a time.".to_owned(),
        "What hosts send without a promise is limited by their own links.".to_owned(),
    ];
    let machine = scenario
        .profiles
        .iter()
        .filter_map(|it| it.machine.as_ref());
    for share in machine {
        assumptions.push(format!(
            "The machine adds {} at most, once on the way of a frame, but to one frame in {} ({} % \
             confidence); {}.",
            share.cover, share.one_in, share.confidence_percent, share.about
        ));
    }
    for profile in &scenario.profiles {
        assumptions.push(format!(
            "Switches of profile {} take at most {} and {} a frame: {}",
            profile.name,
            profile.longest_latency(),
            profile.longest_per_frame(),
            profile.about
        ));
    }
    match place {
        WorldChoice::Lab(_) => assumptions.push(
            "The machine takes no processor away; where it did while a frame was under way, that \
             time is taken off, and the frame is set apart if it would have been in time."
                .to_owned(),
        ),
        WorldChoice::Sim(_) => assumptions.push(
            "A simulated processor takes exactly the time of its profile, for every frame, but for \
             the errors that the scenario plants."
                .to_owned(),
        ),
    }
    assumptions
}
