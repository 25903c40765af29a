//! Names who broke promises, from what was seen of every hop.
//!
//! In virtual time every hop is seen. In the lab the switches say who exceeded a contract,
//! programs in the kernel who is slower than was said, and the taps of hosts who sends what
//! is of no flow; where the kernel does not forward, the controller says which switch is
//! slower than its profile. What none of that explains may have been the machine, and nobody
//! is named for it.

use std::collections::{BTreeMap, BTreeSet};

use controller::northbound::{Event, Saying};
use measure::culprit::{self, Culprit, Deviation, Excuse, Harmed, Suspect};
use measure::fault_losses::FaultSpell;
use measure::levels::given_up;
use measure::recorder::{FlowRecord, LossRun};
use measure::report::{CulpritKind, CulpritReport};
use measure::verdict::{Disturbance, Effect};
use measure::{FlowIndex, FlowPlan};
use scenario::{Change, HostIndex, Scenario, Treatment};
use sim::hop_watch::SeenHops;
use units::{Duration, Instant};

use super::mode_changes::spells;
use super::outcome::{Facts, disturbances, treatments};
use super::route::Atlas;
use super::traffic::describe;
use super::world::Happening;

/// How long after the first frame it is said that one exceeds a contract or stays too long.
const SAID_WITHIN: Duration = Duration::from_ms(250);

/// An admitted flow with what is known of it.
struct Known<'a> {
    index: FlowIndex,
    flow: &'a scenario::Flow,
    /// Its place in the scenario.
    place: usize,
    plan: &'a FlowPlan,
    record: &'a FlowRecord,
    disturbances: Vec<Disturbance>,
}

/// Returns who is to blame.
pub(super) fn culprits(facts: &Facts<'_>, happenings: &[Happening]) -> Vec<CulpritReport> {
    let flows = known(facts, happenings);
    let promised = || flows.iter().filter(|known| known.plan.promise.is_some());
    let told;
    let hops = match &facts.observed.hops {
        Some(hops) => hops,
        None => {
            told = told_by_switches(facts, &flows);
            &told
        }
    };
    let mut deviations = hops.deviations.clone();
    if facts.observed.hops.is_some() {
        let sources = promised().filter_map(|known| {
            let beyond = beyond(facts.scenario, known)?;
            let host = known.flow.source;
            (!was_pushed(facts.scenario, (&flows, hops), host, beyond)).then_some(beyond)
        });
        deviations.extend(sources);
    }
    let excuses = promised().flat_map(|it| excuses(facts, happenings, it));
    let excuses: Vec<_> = excuses.collect();
    let mut harmed = hops.late.clone();
    harmed.extend(promised().flat_map(|known| lost(known, hops)));
    let mut named = culprit::culprits(&deviations, &excuses, &harmed);
    if facts.observed.hops.is_none() {
        named.retain(|one| one.who != Suspect::Nobody);
    }
    let reports = named
        .iter()
        .map(|one| report(facts, (&flows, happenings), one));
    reports.collect()
}

/// Returns what switches and the controller said of who was not what he should be, and which
/// frames were late by the taps of receivers.
fn told_by_switches(facts: &Facts<'_>, flows: &[Known<'_>]) -> SeenHops {
    let seen = facts.observed.deviations.iter();
    let mut deviations: BTreeMap<_, _> = seen.map(|it| (it.who, *it)).collect();
    for said in &facts.run.said {
        let (who, by, frames) = match &said.what {
            Saying::Notice(Event::ContractExceeded { name, frames, .. }) => {
                let flow = flows.iter().find(|it| Some(&it.flow.name) == name.as_ref());
                let flow = flow.filter(|it| *frames > late_frames(facts, it));
                (
                    flow.map(|it| Suspect::Source(it.index)),
                    Duration::ZERO,
                    *frames,
                )
            }
            Saying::Notice(Event::ProfileContradicted {
                at,
                explained,
                longest,
                certain: true,
                ..
            }) if !facts.observed.watches_paces => {
                let by = longest.saturating_sub(*explained);
                if by <= facts.observed.interruptions.longest() {
                    // The machine can have held the frame up for as long.
                    continue;
                }
                let mut switches = facts.scenario.switches.iter();
                let place = switches.position(|it| it.name == at.switch);
                (place.map(Suspect::Switch), by, 1)
            }
            Saying::Notice(_) | Saying::Reply(..) => continue,
        };
        let Some(who) = who else { continue };
        let since = Instant::from_ns(said.at.as_ns().saturating_sub(SAID_WITHIN.as_ns()));
        let known = deviations.entry(who).or_insert(Deviation {
            frames: 0,
            ..Deviation::first(who, since, by)
        });
        (known.last, known.by) = (said.at, known.by.max(by));
        known.frames = known.frames.saturating_add(frames);
    }
    let late = flows
        .iter()
        .filter_map(|known| Some((known, known.plan.promise?)));
    let late = late.flat_map(|(known, promise)| {
        known.record.late_frames.iter().map(move |frame| Harmed {
            flow: known.index,
            from: frame.sent_at,
            until: frame.received_at,
            frames: 1,
            late_by: frame.latency().saturating_sub(promise.guarantee),
            excess: None,
        })
    });
    SeenHops {
        deviations: deviations.into_values().collect(),
        late: late.collect(),
        dropped: Vec::new(),
    }
}

/// Returns how many frames of a flow may be beyond its contract because the machine had its
/// host send them late, and in a bunch.
fn late_frames(facts: &Facts<'_>, known: &Known<'_>) -> u64 {
    let observed = &facts.observed;
    let late = observed.called_late.max(observed.interruptions.longest());
    let contract = known.flow.contract();
    contract.map_or(0, |contract| {
        let bits = contract.rate.most_in(late.into()).as_bits();
        bits / contract.smallest_frame.as_bits().max(1) + 1
    })
}

fn known<'a>(facts: &Facts<'a>, happenings: &[Happening]) -> Vec<Known<'a>> {
    let scenario = facts.scenario;
    let atlas = Atlas::new(scenario);
    let accepted = facts.admissions.iter().filter_map(|admission| {
        let accepted = admission.decision.as_ref().ok()?;
        Some((admission.flow, accepted))
    });
    let observed = facts.run.plans.iter().zip(&facts.observed.records);
    let flows = (0..).map(FlowIndex).zip(accepted.zip(observed));
    let flows = flows.map(|(index, ((place, accepted), (plan, record)))| {
        let flow = &scenario.flows[place];
        Known {
            index,
            flow,
            place,
            plan,
            record,
            disturbances: disturbances(
                &atlas,
                flow,
                (accepted, &facts.run.readmissions),
                happenings,
            ),
        }
    });
    flows.collect()
}

/// Returns that a source was beyond its contract, unless the scenario has it send more at
/// a level, or violate what it agreed to so that the level rises.
fn beyond(scenario: &Scenario, known: &Known<'_>) -> Option<Deviation> {
    let (since, last) = known.record.beyond?;
    let mut violations = scenario.violations.iter();
    let is_meant = violations.any(|violation| violation.flow.0 == known.place);
    let grows = known.flow.by_level.iter().any(|at| match at {
        Treatment::Served(service) => service.message.is_some(),
        Treatment::Dropped => false,
    });
    (!is_meant && !grows).then_some(Deviation {
        who: Suspect::Source(known.index),
        since,
        last,
        by: Duration::ZERO,
        frames: known.record.out_of_contract,
    })
}

/// Tells whether somebody else at a host deviated before one of its sources did: what waits
/// behind other frames in the host's interface, or for its link, leaves in a bunch.
fn was_pushed(
    scenario: &Scenario,
    (flows, hops): (&[Known<'_>], &SeenHops),
    host: HostIndex,
    source: Deviation,
) -> bool {
    let at_host = [
        Suspect::Host(host.0),
        Suspect::Link(scenario.hosts[host.0].link.0),
    ];
    let mut seen = hops.deviations.iter();
    let others = flows.iter().filter(|other| other.flow.source == host);
    seen.any(|it| at_host.contains(&it.who) && it.since <= source.since)
        || others
            .filter_map(|other| other.record.beyond)
            .any(|(since, _)| since < source.since)
}

/// Returns what excuses the network towards a flow.
fn excuses(facts: &Facts<'_>, happenings: &[Happening], known: &Known<'_>) -> Vec<Excuse> {
    let allowed = known.plan.promise.and_then(|promise| promise.interruption);
    let failures = known.disturbances.iter().enumerate();
    let failures = failures.filter(|(_, it)| it.effect == Effect::Failure);
    let failures = failures.map(|(place, failure)| Excuse {
        who: Suspect::Failure(place),
        from: failure.at,
        until: allowed.map_or(Instant::FAR_FUTURE, |allowed| failure.at + allowed),
        flow: known.index,
    });
    let spells = spells(facts.scenario, &facts.run.said);
    let treated = treatments(facts.scenario, known.flow, known.plan);
    let modes = given_up(&spells, &treated).into_iter().map(|it| Excuse {
        who: Suspect::Mode,
        from: it.from,
        until: it.until,
        flow: known.index,
    });
    let taken = facts.observed.fault_losses.of(known.index);
    let taken = taken.filter_map(|spell| {
        let place = impaired_by(happenings, spell)?;
        Some(Excuse {
            who: Suspect::Failure(place),
            from: spell.from,
            until: spell.to + allowed.unwrap_or_default(),
            flow: known.index,
        })
    });
    failures.chain(modes).chain(taken).collect()
}

/// Returns the event by which a cable began to take frames, the last one before it did.
fn impaired_by(happenings: &[Happening], spell: &FaultSpell) -> Option<usize> {
    happenings
        .iter()
        .rposition(|happening| match happening.change {
            Change::Impair {
                link,
                one_in: Some(_),
                ..
            } => link.0 == spell.cable && happening.at <= spell.from,
            Change::Impair { one_in: None, .. }
            | Change::Cut(_)
            | Change::Heal(_)
            | Change::HostMoves { .. }
            | Change::SwitchCrash(_)
            | Change::SwitchKill(_)
            | Change::SwitchRestart(_)
            | Change::Isolate(_)
            | Change::Rejoin(_) => false,
        })
}

/// Returns the losses of a flow, with what was seen of where they were lost.
fn lost<'a>(known: &'a Known<'_>, hops: &'a SeenHops) -> impl Iterator<Item = Harmed> + 'a {
    let promise = known.plan.promise;
    let reach = promise.map_or(Duration::ZERO, |promise| promise.deadline);
    let runs = known.record.receivers.iter().flat_map(|it| &it.loss_runs);
    runs.map(move |run: &LossRun| {
        let seen = hops.dropped.iter().find(|drop| {
            let sent = run.first_sent..=run.last_sent;
            drop.flow == known.index && sent.contains(&drop.from)
        });
        Harmed {
            flow: known.index,
            from: run.first_sent,
            until: run.last_sent + reach,
            frames: run.count,
            late_by: Duration::ZERO,
            excess: seen.and_then(|drop| drop.excess),
        }
    })
}

fn report(
    facts: &Facts<'_>,
    (flows, happenings): (&[Known<'_>], &[Happening]),
    culprit: &Culprit,
) -> CulpritReport {
    let scenario = facts.scenario;
    let name_of = |flow: &FlowIndex| flows[flow.as_usize()].flow.name.clone();
    let (kind, name) = match culprit.who {
        Suspect::Host(host) => (CulpritKind::Foreign, scenario.hosts[host].name.clone()),
        Suspect::Source(flow) => (CulpritKind::Source, name_of(&flow)),
        Suspect::Switch(at) => (CulpritKind::Switch, scenario.switches[at].name.clone()),
        Suspect::Link(link) => (CulpritKind::Link, scenario.links[link].name.clone()),
        Suspect::Failure(place) => {
            let change: Change = happenings[place].change;
            (CulpritKind::Failure, describe(scenario, change))
        }
        Suspect::Mode => (CulpritKind::Mode, String::new()),
        Suspect::Nobody => (CulpritKind::Nobody, String::new()),
    };
    let flows: BTreeSet<_> = culprit.flows.iter().map(name_of).collect();
    CulpritReport {
        kind,
        name,
        since_ns: culprit.since.saturating_since(facts.run.start).as_ns(),
        by_ns: (culprit.by > Duration::ZERO).then(|| culprit.by.as_ns()),
        by_is_mean: facts.observed.hops.is_none(),
        seen: culprit.seen,
        frames: culprit.frames,
        flows: flows.into_iter().collect(),
    }
}
