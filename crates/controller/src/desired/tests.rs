use proptest::prelude::*;
use wire::openflow::PortNumber;

use super::*;
use crate::northbound::{ApplicationId, FlowId, IntentId};

#[test]
fn what_is_wanted_already_is_not_sent_again() {
    let mut desired = Desired::default();
    let subject = Subject::Intent(IntentId(1));

    let first = put(&mut desired, subject, rule(1, 1, 5));
    let again = put(&mut desired, subject, rule(1, 1, 5));
    let other = put(&mut desired, subject, rule(1, 1, 6));

    assert_eq!((first, again, other), (Sent::Add, Sent::Nothing, Sent::Add));
    assert_eq!(desired.count(DatapathId(1)), 1);
}

#[test]
fn the_stronger_has_what_two_want_and_the_weaker_gets_it_afterwards() {
    let mut desired = Desired::default();
    let (flow, intent) = (Subject::Flow(FlowId(1)), Subject::Intent(IntentId(1)));
    put(&mut desired, intent, rule(1, 1, 5));
    let wanted = rule(1, 1, 6);
    let spot = (wanted.datapath, wanted.place());

    let (_, contest) = desired.put(flow, spot, wanted.form());
    let contest = contest.unwrap();
    let given_back = matches!(desired.take(flow, spot), Order::Add(rule) if rule.subject == intent);

    assert_eq!((contest.loser, contest.holder), (intent, flow));
    assert!(given_back);
    assert!(desired.waiting.is_empty());
}

#[test]
fn of_equals_the_first_has_what_two_want() {
    let mut desired = Desired::default();
    let [one, other] = [1, 2].map(|id| Subject::Application(ApplicationId(id)));
    put(&mut desired, one, rule(1, 1, 5));
    let wanted = rule(1, 1, 6);
    let spot = (wanted.datapath, wanted.place());

    let (order, contest) = desired.put(other, spot, wanted.form());

    assert_eq!(order, Order::Nothing);
    let contest = contest.unwrap();
    assert_eq!((contest.loser, contest.holder), (other, one));
    assert_eq!(desired.content(other)[&spot], wanted.form());
}

#[test]
fn a_cookie_tells_whose_an_entry_is() {
    let mut desired = Desired::default();
    let subject = Subject::Flow(FlowId(7));
    put(&mut desired, subject, rule(1, 1, 5));
    let (place, rule) = desired.of_switch(DatapathId(1)).next().unwrap();

    let cookie = rule.cookie;

    let found = desired.by_cookie(DatapathId(1), cookie);
    assert_eq!(
        found.map(|(at, rule)| (at, rule.subject)),
        Some((place, subject))
    );
    assert_eq!(desired.by_cookie(DatapathId(2), cookie), None);
    assert!(cookie.matches(slice_cookie(place.slice()), COOKIE_MASK_SLICE));
    assert!(cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS));
}

#[test]
fn what_changes_while_a_switch_is_watched_is_noted() {
    let mut desired = Desired::default();
    let subject = Subject::Flow(FlowId(7));
    put(&mut desired, subject, rule(1, 1, 5));
    desired.watch(DatapathId(1));

    put(&mut desired, subject, rule(1, 2, 5));
    put(&mut desired, subject, rule(2, 1, 5));

    let expected = BTreeSet::from([rule(1, 2, 5).place()]);
    assert_eq!(desired.unwatch(DatapathId(1)), expected);
    assert_eq!(desired.unwatch(DatapathId(1)), BTreeSet::new());
}

proptest! {
    /// Whoever wants what in which order: what is sent, carried out, leads to
    /// what is wanted, and when nobody wants anything nothing is left.
    #[test]
    fn orders_lead_to_what_is_wanted(
        steps in prop::collection::vec(
            (0..4u8, any::<bool>(), 1..3u64, 1..4u32, 1..3u32), 0..60),
    ) {
        let mut desired = Desired::default();
        let mut tables: BTreeMap<Spot, Form> = BTreeMap::new();
        let end = (0..4u8).flat_map(|who| (1..3).flat_map(move |at| (1..4).map(move |input| {
            (who, false, at, input, 1)
        })));

        for (who, is_wanted, at, input, output) in steps.into_iter().chain(end) {
            let rule = rule(at, input, output);
            let spot = (rule.datapath, rule.place());
            let order = match is_wanted {
                true => desired.put(subject(who), spot, rule.form()).0,
                false => desired.take(subject(who), spot),
            };
            match order {
                Order::Nothing => {}
                Order::Add(rule) => {
                    tables.insert(spot, rule.form.clone());
                }
                Order::Delete(form) => {
                    prop_assert_eq!(tables.remove(&spot), Some(form));
                }
            }
            let wanted: BTreeMap<Spot, Form> = (1..3)
                .map(DatapathId)
                .flat_map(|at| {
                    desired.of_switch(at).map(move |(place, rule)| ((at, place), rule.form.clone()))
                })
                .collect();
            prop_assert_eq!(&tables, &wanted);
        }

        prop_assert!(tables.is_empty() && desired.waiting.is_empty());
        prop_assert_eq!(desired.count, 0);
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    Nothing,
    Add,
    Delete,
}

fn put(desired: &mut Desired, subject: Subject, rule: PlacedRule) -> Sent {
    let spot = (rule.datapath, rule.place());
    match desired.put(subject, spot, rule.form()).0 {
        Order::Nothing => Sent::Nothing,
        Order::Add(_) => Sent::Add,
        Order::Delete(_) => Sent::Delete,
    }
}

fn subject(who: u8) -> Subject {
    match who {
        0 => Subject::Flow(FlowId(1)),
        1 => Subject::Flow(FlowId(2)),
        2 => Subject::Intent(IntentId(1)),
        _ => Subject::Application(ApplicationId(1)),
    }
}

fn rule(datapath: u64, input: u32, output: u32) -> PlacedRule {
    PlacedRule {
        datapath: DatapathId(datapath),
        table: TableId(0),
        priority: 10,
        matching: vec![MatchField::InPort(PortNumber(input))],
        actions: vec![Action::output(PortNumber(output))],
    }
}
