//! Several instances on one network and one store, under crashes, pauses and partitions
//! between every pair: nothing that was answered is lost, nobody acts who is no master, and
//! in the end one decides, everywhere, about the same.

mod staff;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use controller::northbound::{Accepted, Decision, FlowSummary, PromiseState};
use controller::store::{Epoch, Key, Office};
use controller::{Reply, Request, RequestId};
use sim::faulty_store::{StoreFault, StoreHealth};
use sim::parts::Fault;
use units::Duration;

use crate::blueprint::Blueprint;
use crate::run::load;
use crate::told_number;
use stage::Stage;

const INSTANCES: usize = 3;
/// How many networks are drawn in every run.
const NETWORKS: u64 = 40;
const STEPS: u64 = 40;
/// So many flows are promised before anything happens, and sent from then on, for so long.
const SENT: usize = 3;
const SENDING: Duration = Duration::from_secs(10);
/// How long all is left alone in the end: longer than a grudge, and a lease after it.
const QUIET: Duration = Duration::from_secs(45);

fn blueprint() -> Blueprint {
    Blueprint::few()
}

/// What is known of flows from answers.
#[derive(Default)]
struct Ledger {
    asked: BTreeMap<RequestId, usize>,
    /// Flows that are promised, and those that may be.
    promised: BTreeSet<String>,
    open: BTreeSet<String>,
    accepted: Vec<(usize, Accepted)>,
}

impl Ledger {
    fn ask(&mut self, stage: &mut Stage, place: usize, flow: usize, requirement: Request) {
        let id = stage.ask(place, requirement);
        self.asked.insert(id, flow);
        self.open.insert(format!("flow-{flow}"));
    }

    /// Takes answers.
    fn hear(&mut self, stage: &mut Stage) {
        for (id, reply) in std::mem::take(&mut stage.replies) {
            let Some(flow) = self.asked.remove(&id) else {
                continue;
            };
            if let Reply::Decisions(decisions) = reply
                && let Some(Decision::Accepted(accepted)) = decisions.into_iter().next()
            {
                self.promised.insert(format!("flow-{flow}"));
                self.accepted.push((flow, accepted));
            }
        }
    }
}

/// Returns the flows that the one knows that decides.
fn flows(stage: &mut Stage) -> Vec<FlowSummary> {
    let leaders = stage.leaders();
    let [leader] = leaders[..] else {
        panic!("one decides in the end, not {leaders:?}");
    };
    let id = stage.ask(leader, Request::Flows);
    match stage.replies.remove(&id) {
        Some(Reply::Flows(flows)) => flows,
        other => panic!("{other:?}"),
    }
}

/// Looks whether all is well once nothing has happened for long.
fn look(stage: &mut Stage, ledger: &mut Ledger) {
    stage.run_for(QUIET);
    ledger.hear(stage);
    let flows = flows(stage);
    let known: BTreeSet<_> = flows
        .iter()
        .map(|flow| flow.requirement.name.clone())
        .collect();
    let lost: Vec<_> = ledger.promised.difference(&known).collect();
    assert!(lost.is_empty(), "{lost:?} were promised and are gone");
    for name in &known {
        let was_asked = ledger.promised.contains(name) || ledger.open.contains(name);
        assert!(was_asked, "{name} was never asked for");
    }
    let broken: Vec<_> = flows
        .iter()
        .filter(|flow| flow.promise.state != PromiseState::Holds)
        .map(|flow| (&flow.requirement.name, &flow.promise))
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
}

fn start(seed: u64) -> Stage {
    let mut stage = Stage::new(blueprint().parts(), INSTANCES, seed);
    stage.run_for(Duration::from_secs(2));
    assert_eq!(stage.leaders().len(), 1, "one decides");
    assert_eq!(
        stage.changes_of_office, 1,
        "and nobody has taken it from it"
    );
    stage
}

fn admit(stage: &mut Stage, ledger: &mut Ledger, place: usize, flow: usize) {
    let request = Request::Admit(vec![blueprint().requirement(flow)]);
    ledger.ask(stage, place, flow, request);
}

#[test]
fn another_instance_goes_on_with_what_was_promised() {
    let (mut stage, mut ledger) = (start(1), Ledger::default());
    let mut written = BTreeSet::new();
    for flow in 0..4 {
        let leader = stage.leaders()[0];
        admit(&mut stage, &mut ledger, leader, flow);
        stage.run_for(Duration::from_ms(100));
        ledger.hear(&mut stage);
        let promised = ledger.promised.len();
        assert_eq!(promised, flow + 1);
        let (sums, entries) = (stage.asked_for_sums, stage.asked_for_entries);
        let writes = stage.flow_mods;
        stage.crash(leader);
        stage.run_for(Duration::from_ms(500));
        let asked = (
            stage.asked_for_sums - sums,
            stage.asked_for_entries - entries,
        );
        assert_eq!(
            asked,
            (stage.switches, 0),
            "none is read where all is right"
        );
        written.insert(stage.flow_mods - writes);
        let successors = stage.leaders();
        assert!(
            successors.len() == 1 && successors[0] != leader,
            "{successors:?} after {leader}"
        );
        stage.start(leader);
        stage.run_for(Duration::from_secs(1));
    }

    look(&mut stage, &mut ledger);

    assert_eq!(written.len(), 1, "no entry of a flow: {written:?}");
    assert_eq!(stage.changes_of_office, 5);
    assert!(stage.writes_of_masters > 0);
}

#[test]
fn who_was_stopped_is_refused_by_the_store_and_by_switches() {
    let (mut stage, mut ledger) = (start(2), Ledger::default());
    let former = stage.leaders()[0];
    admit(&mut stage, &mut ledger, former, 0);
    stage.run_for(Duration::from_ms(200));
    ledger.hear(&mut stage);

    let staff = stage.staff[former].as_mut().unwrap();
    staff.paused_until = stage.world.now() + Duration::from_ms(1_600);
    stage.run_for(Duration::from_ms(1_499));
    let believe = stage.leaders();
    // It goes on, and hears nobody but the store and switches.
    let until = stage.now() + Duration::from_ms(200);
    for other in (0..INSTANCES).filter(|other| *other != former) {
        let pair = (former.min(other), former.max(other));
        stage.deaf.insert(pair, until);
    }
    let staff = stage.staff[former].as_mut().unwrap();
    staff.paused_until = stage.world.now();
    admit(&mut stage, &mut ledger, former, 1);
    stage.run_for(Duration::from_ms(90));
    ledger.hear(&mut stage);
    let decides = stage.leaders();
    let promised = ledger.promised.clone();
    look(&mut stage, &mut ledger);

    assert_eq!(believe.len(), 2, "{believe:?}");
    assert!(decides.len() == 1 && decides[0] != former, "{decides:?}");
    assert_eq!(promised.into_iter().collect::<Vec<_>>(), ["flow-0"]);
    assert!(stage.changes_of_office == 2);
}

#[test]
fn who_does_not_reach_the_store_gives_up_and_another_one_goes_on() {
    let (mut stage, mut ledger) = (start(3), Ledger::default());
    let former = stage.leaders()[0];
    let staff = stage.staff[former].as_mut().unwrap();
    staff.cut_until = stage.world.now() + Duration::from_secs(20);

    stage.run_for(Duration::from_secs(6));

    let leaders = stage.leaders();
    assert!(leaders.len() == 1 && leaders[0] != former, "{leaders:?}");
    admit(&mut stage, &mut ledger, leaders[0], 0);
    stage.run_for(Duration::from_secs(1));
    ledger.hear(&mut stage);
    assert_eq!(ledger.promised.len(), 1);
    look(&mut stage, &mut ledger);
}

#[test]
fn without_the_store_nobody_decides_and_all_comes_back_with_it() {
    let (mut stage, mut ledger) = (start(4), Ledger::default());
    let leader = stage.leaders()[0];
    admit(&mut stage, &mut ledger, leader, 0);
    stage.run_for(Duration::from_secs(1));
    ledger.hear(&mut stage);

    stage.store.become_as(StoreHealth::Gone);
    stage.run_for(Duration::from_secs(6));
    let without = stage.leaders();
    stage.store.mend();

    look(&mut stage, &mut ledger);
    assert_eq!((without.len(), ledger.promised.len()), (0, 1));
}

#[test]
fn two_that_hear_nobody_do_not_take_the_office_from_each_other_for_ever() {
    let (mut stage, mut ledger) = (start(5), Ledger::default());
    let until = stage.now() + Duration::from_secs(60);
    for pair in [(0, 1), (0, 2), (1, 2)] {
        stage.deaf.insert(pair, until);
    }

    stage.run_for(Duration::from_secs(60));

    // Each of them takes it once for a silence, and then bears a grudge; twice a minute.
    assert!(stage.changes_of_office <= 8, "{}", stage.changes_of_office);
    look(&mut stage, &mut ledger);
}

#[test]
fn a_store_that_went_back_is_given_back_and_switches_follow() {
    let (mut stage, mut ledger) = (start(6), Ledger::default());
    let leader = stage.leaders()[0];
    stage.store.back_up();
    // Epochs go on after the backup.
    stage.crash(leader);
    stage.run_for(Duration::from_secs(1));
    stage.start(leader);
    let leader = stage.leaders()[0];
    admit(&mut stage, &mut ledger, leader, 0);
    stage.run_for(Duration::from_secs(1));
    ledger.hear(&mut stage);
    assert_eq!(ledger.promised.len(), 1);

    stage.store.restore();
    stage.run_for(Duration::from_secs(2));
    let leader = stage.leaders()[0];
    stage.crash(leader);
    stage.run_for(Duration::from_secs(1));

    look(&mut stage, &mut ledger);
}

#[test]
fn a_switch_that_knows_a_later_epoch_is_had_in_one_beyond_it() {
    let mut stage = start(7);
    stage.store.back_up();
    for _ in 0..2 {
        let leader = stage.leaders()[0];
        stage.crash(leader);
        stage.run_for(Duration::from_secs(1));
        stage.start(leader);
    }
    let before = epoch(&stage);

    // Nobody is left who knows what the store has forgotten.
    stage.store.restore();
    let restored = epoch(&stage);
    let leader = stage.leaders()[0];
    stage.crash(leader);
    stage.run_for(Duration::from_secs(3));

    let leader = stage.leaders()[0];
    let id = stage.ask(leader, Request::Topology);
    let Some(Reply::Topology(count)) = stage.replies.remove(&id) else {
        panic!("it is known at any time");
    };
    assert!(restored < before && before < epoch(&stage));
    assert_eq!(count.switches, stage.switches);
}

fn epoch(stage: &Stage) -> u64 {
    let truth = stage.store.truth();
    let record = truth.record(Key::Epoch(Office::SEQUENCER)).unwrap();
    Epoch::from_bytes(&record.value).unwrap().number
}

/// Draws what happens to instances, switches, links and the store, and holds against it
/// what was answered. Returns how often another one came to decide, and how many changes
/// switches refused.
fn ordeal(seed: u64) -> (usize, usize) {
    println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
    let (mut stage, mut ledger) = (start(seed), Ledger::default());
    send_some(&mut stage, &mut ledger);
    let mut next_flow = SENT;
    // In every other one nothing fails but instances, their store, and what is between them.
    let is_whole = seed.is_multiple_of(2);
    let links = blueprint().links.len();
    for _ in 0..STEPS {
        let place = stage.random.index(INSTANCES);
        match stage.random.below(16) {
            0 => stage.crash(place),
            1 => pause(&mut stage, place),
            2 => cut_store(&mut stage, place),
            3 => deafen(&mut stage, place),
            4 => part(&mut stage, place),
            5 => plant(&mut stage),
            6 | 7 if is_whole => {}
            6 => {
                let link = stage.random.index(links);
                stage.fault(Fault::Cut { link });
                stage.run_for(Duration::from_ms(30));
                stage.fault(Fault::Heal { link });
            }
            7 => {
                let switch = stage.random.index(stage.switches);
                stage.restart_switch(switch);
            }
            8 => {
                let id = stage.staff[place].as_ref().map(|it| it.id.number());
                if let Some(number) = id {
                    stage.store.expire(Key::Instance(number));
                }
            }
            _ => {
                // Whoever believes that he decides is asked.
                let leaders = stage.leaders();
                if !leaders.is_empty() && next_flow < blueprint().wishes.len() {
                    let leader = stage.random.pick(&leaders);
                    admit(&mut stage, &mut ledger, leader, next_flow);
                    next_flow += 1;
                }
            }
        }
        let time = stage.random.time_below(Duration::from_ms(700));
        stage.run_for(time);
        ledger.hear(&mut stage);
        if stage.random.in_percent(30) {
            revive(&mut stage);
        }
    }
    revive(&mut stage);
    stage.store.mend();
    stage.store.deliver_late();
    look(&mut stage, &mut ledger);
    let seen = (stage.changes_of_office, stage.refused);
    look_at_frames(stage, is_whole);
    seen
}

/// Has some flows promised, and sends them.
fn send_some(stage: &mut Stage, ledger: &mut Ledger) {
    let leader = stage.leaders()[0];
    for flow in 0..SENT {
        admit(stage, ledger, leader, flow);
    }
    stage.run_for(Duration::from_secs(1));
    ledger.hear(stage);
    assert_eq!(ledger.accepted.len(), SENT, "all fit");
    let start = stage.now();
    let load = load(&blueprint(), &ledger.accepted, start, start + SENDING);
    stage.world.begin(load);
}

/// Looks whether what was sent arrived as promised, whatever became of the instances: in time
/// and once, and all of it where nothing but they and their store failed.
fn look_at_frames(stage: Stage, is_whole: bool) {
    let (hops, switches) = (stage.world.counts().hops, stage.switches as u64);
    let flows = stage.world.finish().flows;
    let mut sent = 0;
    for (number, flow) in flows.iter().enumerate() {
        sent += flow.sent;
        assert!(flow.sent > 0, "flow {number} was sent");
        assert_eq!(flow.late, 0, "flow {number}");
        let doubled: u64 = flow.receivers.iter().map(|it| it.duplicates).sum();
        assert_eq!(doubled, 0, "flow {number}");
        assert!(
            !is_whole || flow.lost == 0,
            "flow {number} lost {}",
            flow.lost
        );
    }
    // A frame that goes round in a loop is put on a cable every dozen microseconds; probes
    // are some a second and link.
    let most = sent * 2 * (switches + 2) + 10_000 * switches;
    assert!(hops <= most, "{hops} of {most}");
}

fn revive(stage: &mut Stage) {
    for place in 0..INSTANCES {
        if stage.staff[place].is_none() {
            stage.start(place);
        }
    }
}

fn some_time(stage: &mut Stage) -> Duration {
    let longest = stage
        .random
        .pick(&[100, 1_000, 8_000].map(Duration::from_ms));
    stage.random.time_below(longest)
}

fn pause(stage: &mut Stage, place: usize) {
    let until = stage.now() + some_time(stage);
    let now = stage.now();
    if let Some(staff) = &mut stage.staff[place]
        && !staff.is_stopped(now)
    {
        staff.paused_until = until;
    }
}

fn cut_store(stage: &mut Stage, place: usize) {
    let until = stage.now() + some_time(stage);
    if let Some(staff) = &mut stage.staff[place] {
        staff.cut_until = until;
    }
}

fn deafen(stage: &mut Stage, place: usize) {
    let other = (place + 1) % INSTANCES;
    let until = stage.now() + some_time(stage);
    let pair = (place.min(other), place.max(other));
    stage.deaf.insert(pair, until);
}

fn part(stage: &mut Stage, place: usize) {
    let switch = stage.random.index(stage.switches);
    let until = stage.now() + some_time(stage);
    let now = stage.now();
    let known = stage.apart.entry((place, switch)).or_insert(now);
    if *known <= now {
        *known = until;
    }
}

fn plant(stage: &mut Stage) {
    let fault = stage.random.pick(&[
        StoreFault::AnswerLost,
        StoreFault::RequestLost,
        StoreFault::RequestLate,
        StoreFault::ChangeLost,
        StoreFault::ChangeRepeated,
    ]);
    match stage.random.below(8) {
        0 => stage.store.deliver_late(),
        1 => stage.store.compact(),
        _ => stage.store.plant(fault),
    }
}

#[test]
fn a_link_whose_ends_were_not_heard_in_turn_is_not_lost() {
    // The one that decides does not reach one end of a link, and then not the other: probes
    // were missing all the time, and say nothing; in the second, echoes.
    for seed in [21_160, 23_288] {
        ordeal(seed);
    }
}

#[test]
fn a_host_does_not_move_to_where_a_switch_is_that_is_not_reached_yet() {
    // Frames of three hosts are handed over at the far end of a link while the switch of
    // those hosts, and so the link, is not seen by the one that begins to decide.
    ordeal(44_777);
}

#[test]
fn of_many_clusters_none_loses_what_it_answered() {
    let first = told_number("TAKTOS_FIRST", 0);
    let networks = told_number("TAKTOS_NETWORKS", NETWORKS);
    let (mut changes, mut refused) = (0, 0);
    for seed in first..first + networks {
        let seen = ordeal(seed);
        changes += seen.0;
        refused += seen.1;
    }
    println!(
        "{networks} clusters: the office changed hands {changes} times, switches refused {refused} changes"
    );
    // One alone may be a quiet one.
    assert!(networks < NETWORKS || changes > 2 * usize::try_from(networks).unwrap());
}
