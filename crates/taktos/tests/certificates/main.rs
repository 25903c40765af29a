//! What certify writes, verify proves: scenarios drawn from seeds go through the code of
//! `taktos certify` and `taktos verify`, which share nothing but the document.
//!
//! In some networks restored flows are promised two copies instead, on the two ways that
//! they have, as if their hosts made and dropped second copies.
//!
//! `cargo xtask certificates` asks more of them; `TAKTOS_SEED=… cargo test -p taktos
//! --test certificates` has one again and shows it.

mod drawn_scenario;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use calculus::admission::{Hop, Redundant, Request, StageId, Tree};
use certificate::Certificate;
use certificate::document::Protection;
use controller::admission::LedgerPlace;
use controller::northbound::{PromisedFlow, Promises};
use run::experiment::{Admission, Experiment, certificate};
use scenario::Scenario;
use sim::servers::random::Random;
use units::{DataSize, Delay};

/// Networks in a run of the tests.
const NETWORKS: u64 = 2_000;
/// After how many networks it is said how far it has come.
const PROGRESS: u64 = 1_000;

/// What became of the flows of networks.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    networks: usize,
    promised: usize,
    refused: usize,
    restored: usize,
    peaks: usize,
    copies: usize,
    seamless: usize,
    turned: usize,
    sessions: usize,
}

impl Tally {
    fn and(self, other: Self) -> Self {
        Self {
            networks: self.networks + other.networks,
            promised: self.promised + other.promised,
            refused: self.refused + other.refused,
            restored: self.restored + other.restored,
            peaks: self.peaks + other.peaks,
            copies: self.copies + other.copies,
            seamless: self.seamless + other.seamless,
            turned: self.turned + other.turned,
            sessions: self.sessions + other.sessions,
        }
    }
}

#[test]
fn what_certify_writes_verify_proves() {
    let tally = match std::env::var("TAKTOS_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("a number");
            println!("{}", drawn_scenario::text(seed));
            certify_and_verify_all(seed, seed + 1)
        }
        Err(_) => certify_and_verify_all(0, NETWORKS),
    };

    println!("{tally:?}");
    // What promises nothing would be proven as well.
    if tally.networks > 1 {
        assert!(tally.promised > 2 * tally.networks, "{tally:?}");
        let often = [tally.restored, tally.peaks, tally.copies * 8];
        let seldom = [tally.seamless, tally.turned, tally.sessions].map(|there| there * 20);
        for there in often.into_iter().chain(seldom) {
            assert!(there > tally.networks, "{tally:?}");
        }
    }
}

/// The same for as long as somebody wants to wait.
#[test]
#[ignore = "takes long: cargo xtask certificates"]
fn of_many_networks_what_certify_writes_verify_proves() {
    let number = |name| std::env::var(name).map_or(0, |it| it.parse().expect("a number"));
    let (first, networks): (u64, u64) = (number("TAKTOS_FIRST"), number("TAKTOS_NETWORKS"));
    println!("{:#?}", certify_and_verify_all(first, first + networks));
}

/// A scenario that nobody could run would prove nothing.
#[test]
fn every_drawn_scenario_is_well_formed() {
    let mistakes = (0..NETWORKS).filter_map(|seed| {
        let mistake = scenario_of(seed).err()?;
        Some(format!(
            "{}\nseed {seed}: {mistake}\n",
            drawn_scenario::text(seed)
        ))
    });

    let mistakes: Vec<_> = mistakes.take(5).collect();

    assert!(mistakes.is_empty(), "{}", mistakes.concat());
}

/// Takes all seeds from `first` to before `end`, on two threads.
///
/// # Panics
///
/// At the first of which the certificate is not proven.
fn certify_and_verify_all(first: u64, end: u64) -> Tally {
    let next = AtomicU64::new(first);
    let work = || {
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return tally;
            }
            match certify_and_verify(seed) {
                Ok(of_network) => tally = tally.and(of_network),
                Err(why) => {
                    next.store(end, Ordering::Relaxed);
                    let text = drawn_scenario::text(seed);
                    panic!("{text}\nseed {seed}: {why}");
                }
            }
            if (seed - first + 1).is_multiple_of(PROGRESS) && end - first > NETWORKS {
                println!("{} networks", seed - first + 1);
            }
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let tally = work();
        tally.and(other.join().expect("every certificate is proven"))
    })
}

fn scenario_of(seed: u64) -> Result<Scenario, String> {
    let text = drawn_scenario::text(seed);
    let mut load = |file: &str| match file {
        drawn_scenario::RECORDING => Ok(drawn_scenario::recording(seed)),
        _ => unreachable!("{file} is not drawn"),
    };
    Scenario::parse("drawn.toml", &text, &mut load).map_err(|error| format!("{error:?}"))
}

/// Writes the certificate of a drawn scenario and has it verified.
///
/// # Errors
///
/// What the verifier has against it.
fn certify_and_verify(seed: u64) -> Result<Tally, String> {
    let scenario = scenario_of(seed)?;
    let stop = AtomicBool::new(false);
    let (admissions, mut promises) = Experiment::deciding(&scenario, &stop)
        .promises()
        .map_err(|error| format!("no decision: {error}"))?;
    let mut random = Random::new(seed);
    let mut tally = Tally {
        networks: 1,
        promised: promises.flows.len(),
        refused: admissions.iter().filter(|it| it.decision.is_err()).count(),
        ..Tally::default()
    };
    for request in promises
        .ledger
        .ids()
        .filter_map(|id| promises.ledger.request(id))
    {
        tally.restored += usize::from(!request.alternatives.is_empty());
        tally.seamless += usize::from(request.redundant.is_some());
        let is_repeated = |tree: &Tree| {
            let stages: BTreeSet<_> = tree.hops.iter().map(|hop| hop.stage).collect();
            stages.len() < tree.hops.len()
        };
        let mut alternatives = request.alternatives.iter();
        tally.turned += usize::from(alternatives.any(|(_, tree)| is_repeated(tree)));
        let is_session = request.class == 7 && request.largest_frame == DataSize::from_bytes(90);
        tally.sessions += usize::from(is_session);
        tally.peaks += usize::from(request.peak.is_some());
    }
    verify(&scenario, &admissions, &promises)?;
    // Those of a level are not the only ones that count.
    if scenario.modes.is_none() {
        let flows = scenario.flows.iter();
        let restored =
            flows.filter(|it| matches!(it.protection, scenario::Protection::Restore { .. }));
        let restored = restored.map(|flow| flow.name.as_str()).collect();
        tally.copies = promise_copies(&mut promises, &restored, &mut random);
    }
    if tally.copies > 0 {
        verify(&scenario, &[], &promises).map_err(|why| format!("with copies: {why}"))?;
    }
    Ok(tally)
}

/// Has the verifier read what is written, and compares what it proves with what was
/// promised.
fn verify(
    scenario: &Scenario,
    admissions: &[Admission],
    promises: &Promises,
) -> Result<(), String> {
    if promises.flows.is_empty() {
        return Ok(()); // Who promises nothing certifies nothing.
    }
    let mut certificate = certificate(scenario, promises);
    for flow in certificate
        .flows
        .iter_mut()
        .filter(|it| it.copies.is_some())
    {
        // Some were restored, and have got copies since (`promise_copies`).
        flow.demand.protection = Protection::Copies;
    }
    let written = certificate.seal().write();
    let read = Certificate::read(&written).map_err(|error| format!("unreadable: {error}"))?;
    let proven =
        certificate::check(&read).map_err(|objections| format!("not proven: {objections:#?}"))?;
    for admission in admissions {
        let Ok(accepted) = &admission.decision else {
            continue;
        };
        let Some(promised) = accepted.guarantee else {
            continue;
        };
        let name = &scenario.flows[admission.flow].name;
        let of_flow = proven.promises.iter().filter(|it| it.flow == *name);
        let found = of_flow.map(|it| it.guarantee).max();
        if found != Some(promised) {
            return Err(format!(
                "{name} was promised {promised}, proven is {found:?}"
            ));
        }
    }
    Ok(())
}

/// Promises some of the restored flows two copies of each frame, on the two ways that
/// they have, and returns how many that are. Others go to make room for them.
fn promise_copies(
    promises: &mut Promises,
    restored: &BTreeSet<&str>,
    random: &mut Random,
) -> usize {
    let is_restored = |flow: &PromisedFlow| restored.contains(flow.name.as_str());
    let mut copies = 0;
    for mut flow in std::mem::take(&mut promises.flows) {
        let id = flow.reservation;
        if random.in_percent(40) {
            promises.ledger.withdraw(id);
            continue;
        }
        let restored = promises.ledger.request(id);
        let restored = restored.filter(|request| !request.alternatives.is_empty());
        let restored = restored.filter(|_| is_restored(&flow) && random.in_percent(70));
        if let Some(doubled) = restored.and_then(|it| doubled(it, promises, random)) {
            promises.ledger.withdraw(id);
            let Ok(admitted) = promises.ledger.admit(doubled) else {
                continue;
            };
            flow.reservation = admitted.id;
            flow.guarantee = admitted.guarantee;
            flow.at_levels = vec![Some(admitted.guarantee)];
            copies += 1;
        }
        promises.flows.push(flow);
    }
    // Budgets may have been chosen anew for those with copies.
    for flow in &mut promises.flows {
        let guarantee = promises.ledger.guarantee_of(flow.reservation);
        flow.guarantee = guarantee.expect("it is promised");
        flow.at_levels = vec![guarantee];
    }
    copies
}

/// Returns a restored flow that sends two copies instead, if it has two ways that share
/// no link between switches. Who drops the second is the receiver, or the last switch
/// that both reach.
fn doubled(request: &Request, promises: &Promises, random: &mut Random) -> Option<Request> {
    let mut request = request.clone();
    let place = |stage: StageId| promises.places[usize::try_from(stage.0).expect("a place")];
    let cable = |hop: &Hop| match place(hop.stage) {
        LedgerPlace::Switch(_) => None,
        LedgerPlace::Port(port) => {
            let mut cables = promises.failures.iter();
            cables.position(|cable| cable.both().contains(&port))
        }
    };
    let between = |tree: &Tree| -> BTreeSet<usize> { tree.hops.iter().filter_map(cable).collect() };
    let of_base = between(&request.base);
    let alternatives = std::mem::take(&mut request.alternatives).into_iter();
    let mut trees = alternatives.map(|(_, tree)| tree);
    let tree = trees.find(|tree| between(tree).is_disjoint(&of_base))?;
    let mut both = request.base.hops.iter().rev().map(|hop| hop.stage);
    let last = both.find(|stage| {
        matches!(place(*stage), LedgerPlace::Switch(_))
            && tree.hops.iter().any(|hop| hop.stage == *stage)
    });
    request.redundant = Some(Box::new(Redundant {
        hold: Delay::ZERO,
        tree,
        eliminator: last.filter(|_| random.in_percent(60)),
    }));
    Some(request)
}
