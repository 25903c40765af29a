//! The tables of switches become what they should be, whatever happens to them.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use std::collections::{BTreeMap, BTreeSet};

use controller::desired::EntryOwner;
use controller::northbound::{
    FlowId, ForeignRules, RuleOwner, RuleState, RuleSummary, SettingsChange, Travels,
};
use controller::{Event, Reply, Request, priority};
use proptest::prelude::*;
use units::Duration;
use wire::openflow::{Action, Cookie, DatapathId, MatchField, PortNumber};

use crate::fake::{FakeEntry, Habits, Network, group, port, requirement};

const DIAMOND: [(u64, u64); 4] = [(1, 2), (2, 4), (1, 3), (3, 4)];
/// A round for each slice, and a little.
const ALL_ROUNDS: Duration = Duration::from_secs(5 * 66);
const FEW_ROUNDS: Duration = Duration::from_secs(11);

#[test]
fn an_entry_that_was_changed_under_its_cookie_is_mended_within_all_rounds() {
    let mut network = with_a_flow(|_| {});
    let before = tables(&network);
    let entry = flow_entry(&mut network, 2);
    entry.actions = vec![Action::output(PortNumber(1))];

    network.pass(ALL_ROUNDS);

    assert_eq!(tables(&network), before);
    let mended = Event::Mended {
        datapath: DatapathId(2),
        added: 0,
        changed: 1,
        removed: 0,
    };
    assert!(network.events.contains(&mended));
    let consistent = Event::Consistent {
        datapath: DatapathId(2),
    };
    assert!(network.events.contains(&consistent));
}

#[test]
fn lost_entries_are_noticed_by_their_number_within_few_rounds() {
    let mut network = with_a_flow(|_| {});
    let before = tables(&network);
    network.switches.get_mut(&2).unwrap().entries.clear();

    network.pass(FEW_ROUNDS);

    assert_eq!(tables(&network), before);
}

#[test]
fn an_entry_that_a_switch_says_is_gone_is_back_at_once() {
    let mut network = with_a_flow(|habits| habits.tells_removals = true);
    let before = tables(&network);

    delete_flow_entries(&mut network, 2);
    network.pass(Duration::from_ms(20));

    assert_eq!(tables(&network), before);
}

#[test]
fn what_the_controller_deletes_itself_is_not_missed() {
    let mut network = with_a_flow(|habits| habits.tells_removals = true);
    network.events.clear();

    network.request(Request::Withdraw("trip".into()));
    network.pass(FEW_ROUNDS);

    let is_mended = |event: &Event| matches!(event, Event::Mended { .. });
    assert!(!network.events.iter().any(is_mended));
}

#[test]
fn rounds_that_find_nothing_change_nothing() {
    let mut network = with_a_flow(|_| {});
    let before = flow_mods(&network);

    network.pass(ALL_ROUNDS);

    assert_eq!(flow_mods(&network), before);
}

#[test]
fn a_switch_with_words_of_its_own_is_written_over_once_and_told_of_once() {
    let mut network = with_a_flow(|habits| habits.has_dialect = true);
    network.pass(ALL_ROUNDS);
    let before = flow_mods(&network);

    network.pass(ALL_ROUNDS);

    assert_eq!(flow_mods(&network), before);
    let of_two = |event: &&Event| matches!(event, Event::Dialect { datapath, .. } if *datapath == DatapathId(2));
    assert_eq!(network.events.iter().filter(of_two).count(), 1);
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
}

#[test]
fn a_switch_that_cannot_say_what_it_has_is_given_all_of_it() {
    let mut network = with_a_flow(|habits| habits.is_mute = true);
    let before = tables(&network);
    network.disconnect(2);
    network.switches.get_mut(&2).unwrap().entries.clear();

    network.connect(2);

    assert_eq!(tables(&network), before);
    assert!(is_installed(&mut network));
}

/// Its entries are right, so what it says of their sums is not asked for any more.
#[test]
fn a_switch_that_adds_up_wrongly_is_looked_at_as_one_that_does_not() {
    let mut network = with_a_flow(|habits| habits.adds_up_wrongly = true);
    let before = tables(&network);
    network.pass(FEW_ROUNDS);
    let asked = network.switches[&2].asked_for_sums;
    assert!((1..=2).contains(&asked), "{asked}");

    flow_entry(&mut network, 2).actions = vec![Action::output(PortNumber(1))];
    network.pass(ALL_ROUNDS);

    assert_eq!(tables(&network), before);
    assert_eq!(network.switches[&2].asked_for_sums, asked);
}

/// It is not waited for for ever.
#[test]
fn a_switch_that_does_not_say_whether_it_polices_is_compared_all_the_same() {
    let mut network = with_a_flow(|_| {});
    let before = tables(&network);
    network.disconnect(2);
    let fake = network.switches.get_mut(&2).unwrap();
    (fake.habits.ignores_ours, fake.entries) = (true, Vec::new());

    network.connect(2);
    network.pass(FEW_ROUNDS);

    assert_eq!(tables(&network), before);
}

/// Whoever takes a turn and never ends it keeps nobody else from theirs.
#[test]
fn switches_that_stall_do_not_keep_others_from_being_compared() {
    let links: Vec<(u64, u64)> = (1..40).map(|at| (at, at + 1)).collect();
    let mut network = Network::started(40, &links);
    for at in 1..=39 {
        network.switches.get_mut(&at).unwrap().habits.is_silent = true;
    }
    let before = tables(&network)[&40].clone();
    network.pass(FEW_ROUNDS);
    network.switches.get_mut(&40).unwrap().entries.clear();

    network.pass(ALL_ROUNDS);

    assert_eq!(tables(&network)[&40], before);
}

#[test]
fn what_is_mended_goes_in_one_bundle_where_there_are_bundles() {
    let mut network = with_a_flow(|habits| habits.has_bundles = true);
    let before = tables(&network);
    let bundles = network.switches[&2].bundles;
    network.switches.get_mut(&2).unwrap().entries.clear();

    network.pass(FEW_ROUNDS);

    assert_eq!(tables(&network), before);
    assert_eq!(network.switches[&2].bundles, bundles + 1);
}

#[test]
fn foreign_entries_are_left_alone_until_they_are_to_go() {
    let mut network = with_a_flow(|_| {});
    let before = tables(&network);
    network
        .switches
        .get_mut(&2)
        .unwrap()
        .entries
        .push(foreign());

    network.pass(ALL_ROUNDS);
    let kept = network.switches[&2].entries.contains(&foreign());
    let change = SettingsChange {
        foreign_rules: Some(ForeignRules::Remove),
        ..SettingsChange::default()
    };
    network.request(Request::Configure(change));

    assert!(kept);
    assert_eq!(tables(&network), before);
}

#[test]
fn a_full_table_is_not_called_a_success_and_made_good_when_there_is_room() {
    let mut network = with_a_flow(|_| {});
    network.switches.get_mut(&2).unwrap().habits.capacity =
        Some(network.switches[&2].entries.len());
    network
        .admit(requirement("late", 2, &[1], group(2)))
        .unwrap();
    let while_full = is_installed(&mut network);
    let refused = summaries(&mut network, 2)
        .iter()
        .any(|rule| matches!(rule.state, RuleState::Refused { .. }));

    network.request(Request::Withdraw("trip".into()));
    network.pass(Duration::from_ms(1));

    assert!(!while_full && refused);
    assert!(is_installed(&mut network));
    assert_eq!(network.trace(2, group(2)).0, BTreeMap::from([(1, 1)]));
}

#[test]
fn a_refused_entry_is_sent_again_later_and_later_and_then_given_up() {
    let mut network = with_a_flow(|_| {});
    network.switches.get_mut(&2).unwrap().habits.capacity =
        Some(network.switches[&2].entries.len());
    network
        .admit(requirement("late", 2, &[1], group(2)))
        .unwrap();

    network.pass(Duration::from_secs(600));

    let is_refused = |event: &&Event| matches!(event, Event::EntryRefused { flow: Some(_), name, .. } if name.as_deref() == Some("late"));
    let given_up = network.events.iter().filter_map(|event| match event {
        Event::GivenUp { subject, .. } => Some(subject.clone()),
        _ => None,
    });
    let given_up: BTreeSet<_> = given_up.collect();
    assert_eq!(network.events.iter().filter(is_refused).count(), 8);
    let late = FlowId(2);
    let both = [EntryOwner::Flow(late), EntryOwner::Guard(late)].map(|it| it.to_string());
    assert_eq!(given_up, BTreeSet::from(both));
    network.switches.get_mut(&2).unwrap().habits.capacity = None;
    network.request(Request::Reconcile(Some(DatapathId(2))));
    assert!(is_installed(&mut network));
}

/// A flow that a switch refuses to carry back stays on the way that works.
#[test]
fn a_flow_stays_where_it_is_while_its_way_back_is_refused() {
    let mut network = with_a_flow(|_| {});
    network.cut(1, 2);
    network.disconnect(2);
    let fake = network.switches.get_mut(&2).unwrap();
    fake.entries.clear();
    fake.habits.capacity = Some(2);
    network.connect(2);
    network.heal(1, 2);

    network.pass(Duration::from_secs(2));
    let meanwhile = network.trace(1, group(1)).0;
    network.switches.get_mut(&2).unwrap().habits.capacity = None;
    network.request(Request::Reconcile(None));
    network.pass(Duration::from_secs(120));

    assert_eq!(meanwhile, BTreeMap::from([(4, 1)]));
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    assert!(is_installed(&mut network));
}

#[test]
fn a_change_is_sent_only_to_the_switches_that_it_concerns() {
    let mut network = with_a_flow(|_| {});
    let before = messages(&network);

    network
        .admit(requirement("small", 3, &[4], group(3)))
        .unwrap();

    let after = messages(&network);
    let touched = before.iter().filter(|(at, count)| after[at] != **count);
    let touched: Vec<u64> = touched.map(|(at, _)| *at).collect();
    assert_eq!(touched, [3, 4]);
}

#[test]
fn the_rules_of_a_switch_are_shown_as_they_are() {
    let mut network = with_a_flow(|_| {});
    let fake = network.switches.get_mut(&2).unwrap();
    fake.entries.push(foreign());
    let all_there = summaries(&mut network, 2);
    flow_entry(&mut network, 2).actions.clear();
    let changed = summaries(&mut network, 2);
    let is_flow = |entry: &FakeEntry| entry.priority >= 1_000 && entry.priority < priority::PROBE;
    let fake = network.switches.get_mut(&2).unwrap();
    fake.entries.retain(|entry| !is_flow(entry));
    let lost = summaries(&mut network, 2);
    network.disconnect(2);
    let away = summaries(&mut network, 2);

    let of_flow = |rules: &[RuleSummary]| {
        let mut rules = rules.iter();
        let owned = |rule: &&RuleSummary| matches!(&rule.owner, RuleOwner::Flow { name, .. } if name == "trip");
        rules.find(owned).unwrap().state.clone()
    };
    let foreign = all_there
        .iter()
        .filter(|rule| rule.owner == RuleOwner::Foreign);
    assert_eq!(foreign.count(), 1);
    assert_eq!(of_flow(&all_there), RuleState::Present);
    assert_eq!(of_flow(&changed), RuleState::Different);
    assert_eq!(of_flow(&lost), RuleState::Missing);
    assert_eq!(of_flow(&away), RuleState::Away);
}

#[test]
fn an_unknown_switch_has_no_rules() {
    let mut network = with_a_flow(|_| {});

    let replies = network.request(Request::Rules(DatapathId(77)));

    assert_eq!(replies, [Reply::UnknownSwitch(DatapathId(77))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is admitted, withdrawn, cut, lost, changed by others and
    /// disconnected in which order, with whatever habits: in the end every
    /// switch has what it should have, and every flow travels.
    #[test]
    fn any_sequence_of_losses_ends_with_what_should_be(
        steps in prop::collection::vec((0..9u8, 1..5u64, 0..4u8), 1..25),
        has_bundles in any::<bool>(),
        tells_removals in any::<bool>(),
        drops_every in prop::option::of(3..6usize),
    ) {
        let mut network = Network::started(4, &DIAMOND);
        for fake in network.switches.values_mut() {
            fake.habits = Habits { has_bundles, tells_removals, drops_every, ..Habits::default() };
        }
        let mut admitted = BTreeSet::new();
        for (what, at, number) in steps {
            step(&mut network, &mut admitted, (what, at, number));
        }
        for (one, other) in DIAMOND {
            network.heal(one, other);
        }
        for at in 1..5 {
            if network.switches[&at].connection.is_none() {
                network.connect(at);
            }
            network.switches.get_mut(&at).unwrap().habits.drops_every = None;
        }

        network.pass(ALL_ROUNDS);

        for number in &admitted {
            let reached = network.trace(1, group(*number)).0;
            prop_assert_eq!(reached, BTreeMap::from([(4, 1)]));
        }
        for at in 1..5 {
            let rules = summaries(&mut network, at);
            let is_there = |rule: &RuleSummary| rule.state == RuleState::Present;
            prop_assert!(rules.iter().all(is_there), "{rules:?}");
        }
        prop_assert_eq!(travels(&mut network), vec![Travels::Base; admitted.len()]);
    }
}

fn step(network: &mut Network, admitted: &mut BTreeSet<u8>, (what, at, number): (u8, u64, u8)) {
    let (one, other) = DIAMOND[usize::from(number)];
    let name = format!("flow{number}");
    match what {
        0 => {
            let wanted = requirement(&name, 1, &[4], group(number));
            admitted.extend(network.admit(wanted).is_ok().then_some(number));
        }
        1 if admitted.remove(&number) => {
            network.request(Request::Withdraw(name));
        }
        2 => network.cut(one, other),
        3 => network.heal(one, other),
        4 if network.switches[&at].connection.is_some() => network.disconnect(at),
        5 if network.switches[&at].connection.is_none() => {
            network.connect(at);
        }
        6 => network.switches.get_mut(&at).unwrap().entries.clear(),
        7 => delete_flow_entries(network, at),
        8 => network.pass(Duration::from_ms(u64::from(number) * 400)),
        _ => {}
    }
}

/// Returns a network with a flow from 1 to 4 whose switches have a habit.
fn with_a_flow(habit: impl Fn(&mut Habits)) -> Network {
    let mut network = Network::new(4, &DIAMOND);
    for fake in network.switches.values_mut() {
        habit(&mut fake.habits);
    }
    network.connect_all();
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    network.pass(Duration::from_ms(1));
    network
}

fn flow_entry(network: &mut Network, at: u64) -> &mut FakeEntry {
    let entries = network.switches.get_mut(&at).unwrap().entries.iter_mut();
    let mut of_flows =
        entries.filter(|entry| entry.priority >= 1_000 && entry.priority < priority::PROBE);
    of_flows.next().unwrap()
}

/// Somebody deletes the entries of flows.
fn delete_flow_entries(network: &mut Network, at: u64) {
    let mut said = Vec::new();
    let fake = network.switches.get_mut(&at).unwrap();
    fake.delete(
        |entry| entry.priority >= 1_000 && entry.priority < priority::PROBE,
        &mut said,
    );
    if let Some(connection) = fake.connection
        && !said.is_empty()
    {
        network.receive(connection, &said);
    }
}

fn foreign() -> FakeEntry {
    FakeEntry {
        cookie: Cookie(7),
        priority: 5,
        matching: vec![MatchField::InPort(port(2, 100).port)],
        actions: Vec::new(),
        outputs: Vec::new(),
        queue: None,
    }
}

/// Cookie, priority, match and actions of an entry.
type Row = (Cookie, u16, Vec<MatchField>, Vec<Action>);

fn tables(network: &Network) -> BTreeMap<u64, Vec<Row>> {
    let rows = |entries: &[FakeEntry]| {
        let row = |entry: &FakeEntry| {
            let (matching, actions) = (entry.matching.clone(), entry.actions.clone());
            (entry.cookie, entry.priority, matching, actions)
        };
        let mut rows: Vec<Row> = entries.iter().map(row).collect();
        rows.sort();
        rows
    };
    let switches = network.switches.iter();
    switches
        .map(|(at, fake)| (*at, rows(&fake.entries)))
        .collect()
}

fn summaries(network: &mut Network, at: u64) -> Vec<RuleSummary> {
    match &network.request(Request::Rules(DatapathId(at)))[..] {
        [Reply::Rules(rules)] => rules.clone(),
        other => panic!("{other:?}"),
    }
}

fn is_installed(network: &mut Network) -> bool {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows.iter().all(|flow| flow.installed),
        other => panic!("{other:?}"),
    }
}

fn travels(network: &mut Network) -> Vec<Travels> {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows.iter().map(|flow| flow.travels).collect(),
        other => panic!("{other:?}"),
    }
}

fn messages(network: &Network) -> BTreeMap<u64, usize> {
    let switches = network.switches.iter();
    switches.map(|(at, fake)| (*at, fake.messages)).collect()
}

fn flow_mods(network: &Network) -> usize {
    network.switches.values().map(|fake| fake.flow_mods).sum()
}
