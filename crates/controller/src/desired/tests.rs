use proptest::prelude::*;
use wire::openflow::PortNumber;

use super::*;

#[test]
fn a_change_is_the_smallest_difference() {
    let mut desired = Desired::default();
    let subject = Subject::Intent(IntentId(1));
    let first = [rule(1, 1, 5), rule(1, 2, 5), rule(2, 1, 5)];
    let _ = desired.replace(subject, &first).unwrap();

    let second = [rule(1, 1, 5), rule(1, 2, 6), rule(3, 1, 5)];
    let difference = desired.replace(subject, &second).unwrap();

    assert_eq!(switches(&difference), [vec![3], vec![1], vec![2]]);
}

#[test]
fn the_same_again_makes_no_difference() {
    let mut desired = Desired::default();
    let subject = Subject::Intent(IntentId(1));
    let rules = [rule(1, 1, 5), rule(2, 1, 5)];
    let _ = desired.replace(subject, &rules).unwrap();

    let again = desired.replace(subject, &rules).unwrap();

    assert_eq!(again, Difference::default());
}

#[test]
fn the_stronger_has_what_two_want_and_the_weaker_gets_it_afterwards() {
    let mut desired = Desired::default();
    let (flow, intent) = (Subject::Flow(FlowId(1)), Subject::Intent(IntentId(1)));
    let _ = desired.replace(intent, &[rule(1, 1, 5)]).unwrap();

    let taken = desired.replace(flow, &[rule(1, 1, 6)]).unwrap();
    let given_back = desired.replace(flow, &[]).unwrap();

    assert_eq!(taken.contested, [(DatapathId(1), intent, flow)]);
    assert_eq!(switches(&taken), [vec![], vec![1], vec![]]);
    assert_eq!(switches(&given_back), [vec![], vec![1], vec![]]);
    let (_, kept) = desired.of_switch(DatapathId(1)).next().unwrap();
    assert_eq!(kept.subject, intent);
}

#[test]
fn of_equals_the_first_has_what_two_want() {
    let mut desired = Desired::default();
    let [one, other] = [1, 2].map(|id| Subject::Application(ApplicationId(id)));
    let _ = desired.replace(one, &[rule(1, 1, 5)]).unwrap();

    let refused = desired.replace(other, &[rule(1, 1, 6)]).unwrap();

    assert_eq!(refused.contested, [(DatapathId(1), other, one)]);
    assert_eq!(switches(&refused), [vec![], vec![], vec![]]);
}

#[test]
fn a_cookie_tells_whose_an_entry_is() {
    let mut desired = Desired::default();
    let subject = Subject::Flow(FlowId(7));
    let _ = desired.replace(subject, &[rule(1, 1, 5)]).unwrap();
    let (place, rule) = desired.of_switch(DatapathId(1)).next().unwrap();

    let cookie = rule.cookie();

    assert_eq!(desired.owner(DatapathId(1), cookie), Some(subject));
    assert_eq!(desired.owner(DatapathId(2), cookie), None);
    assert!(cookie.matches(slice_cookie(place.slice()), COOKIE_MASK_SLICE));
    assert!(cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS));
}

proptest! {
    /// Whoever wants what in which order: the differences, carried out, lead to
    /// what is wanted, and when nobody wants anything nothing is left.
    #[test]
    fn differences_lead_to_what_is_wanted(
        steps in prop::collection::vec(
            (0..4u8, prop::collection::vec((1..3u64, 1..4u32, 1..3u32), 0..5)), 0..20),
    ) {
        let mut desired = Desired::default();
        let mut tables: BTreeMap<Spot, Rule> = BTreeMap::new();
        let end = (0..4).map(|who| (who, Vec::new()));

        for (who, rules) in steps.into_iter().chain(end) {
            let rules: Vec<PlacedRule> =
                rules.into_iter().map(|(at, input, output)| rule(at, input, output)).collect();
            let difference = desired.replace(subject(who), &rules).unwrap();
            carry_out(difference, &mut tables);
            let wanted: BTreeMap<Spot, Rule> = (1..3)
                .map(DatapathId)
                .flat_map(|at| {
                    desired.of_switch(at).map(move |(place, rule)| ((at, place), rule.clone()))
                })
                .collect();
            prop_assert_eq!(&tables, &wanted);
        }

        prop_assert!(tables.is_empty() && desired.waiting.is_empty());
        prop_assert_eq!(desired.count, 0);
    }
}

fn carry_out(difference: Difference, tables: &mut BTreeMap<Spot, Rule>) {
    for (at, rule) in difference.removed {
        assert_eq!(tables.remove(&(at, rule.form.place())), Some(rule));
    }
    for (at, rule) in difference.added {
        assert_eq!(tables.insert((at, rule.form.place()), rule), None);
    }
    for (at, former, rule) in difference.changed {
        assert_eq!(tables.insert((at, rule.form.place()), rule), Some(former));
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

fn switches(difference: &Difference) -> [Vec<u64>; 3] {
    let changed = difference.changed.iter();
    [
        difference.added.iter().map(|(at, _)| at.0).collect(),
        changed.map(|(at, ..)| at.0).collect(),
        difference.removed.iter().map(|(at, _)| at.0).collect(),
    ]
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
