use std::collections::VecDeque;

use proptest::prelude::*;
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;
use wire::openflow::oxm::Masked;

use super::*;
use crate::northbound::{ApplicationId, FlowId, IntentId};

#[test]
fn what_is_wanted_already_is_not_sent_again() {
    let mut desired = Desired::default();
    let subject = EntryOwner::Intent(IntentId(1));

    let first = put(&mut desired, subject, rule(1, 1, 5));
    let again = put(&mut desired, subject, rule(1, 1, 5));
    let other = put(&mut desired, subject, rule(1, 1, 6));

    assert_eq!((first, again, other), (Kind::Add, Kind::Nothing, Kind::Add));
    assert_eq!(desired.count(DatapathId(1)), 1);
}

#[test]
fn the_stronger_has_what_two_want_and_the_weaker_gets_it_afterwards() {
    let mut desired = Desired::default();
    let (flow, intent) = (EntryOwner::Flow(FlowId(1)), EntryOwner::Intent(IntentId(1)));
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
    let [one, other] = [1, 2].map(|id| EntryOwner::Application(ApplicationId(id)));
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
    let subject = EntryOwner::Flow(FlowId(7));
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
    let subject = EntryOwner::Flow(FlowId(7));
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
        let mut tables: BTreeMap<RuleKey, Form> = BTreeMap::new();
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
            let wanted: BTreeMap<RuleKey, Form> = (1..3)
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

proptest! {
    /// Held against a look at every entry: whoever wants what in which order, and with
    /// whatever fields and priorities.
    #[test]
    fn rivals_are_all_that_may_be_for_the_same_frames(
        steps in prop::collection::vec((0..4u8, any::<bool>(), drawn_rule()), 0..60),
        asked in drawn_rule(),
    ) {
        let mut desired = Desired::default();
        for (who, is_wanted, rule) in steps {
            match is_wanted {
                true => drop(put(&mut desired, subject(who), rule)),
                false => drop(desired.take(subject(who), (rule.datapath, rule.place()))),
            }
            let form = asked.form();
            let meets = |present: &&Rule| {
                present.form.overlaps(&form) && present.form.priority() == form.priority()
            };
            let places = |rules: Vec<&Rule>| {
                let places = rules.into_iter().map(|rule| rule.form.place());
                places.collect::<BTreeSet<_>>()
            };
            let found = desired.rivals(asked.datapath, &form).filter(meets);
            let all = desired.of_switch(asked.datapath).map(|(_, rule)| rule).filter(meets);
            let all = all.filter(|rule| rule.subject.may_conflict());
            prop_assert_eq!(places(found.collect()), places(all.collect()));
        }
    }
}

/// Draws an entry of one of two switches, for few addresses of a size that they meet.
fn drawn_rule() -> impl Strategy<Value = PlacedRule> {
    let mac = |number: u8| MacAddress([2, 0, 0, 0, 0, number]);
    let field = (0..5u8, 1..4u8).prop_map(move |(kind, number)| match kind {
        0 => vec![MatchField::InPort(PortNumber(number.into()))],
        1 => vec![MatchField::EthDst(Masked::exact(mac(number)))],
        2 => vec![MatchField::EthDst(Masked::under(mac(1), mac(number)))],
        3 => vec![MatchField::EthSrc(Masked::exact(mac(number)))],
        _ => Vec::new(),
    });
    let fields = (field.clone(), field).prop_filter_map("each field once", |(mut one, other)| {
        let kinds = |fields: &[MatchField]| fields.first().map(MatchField::kind);
        let is_twice = kinds(&one).is_some() && kinds(&one) == kinds(&other);
        one.extend(other);
        (!is_twice).then_some(one)
    });
    let others = (1..3u64, 0..2u8, 1..3u16, 1..3u32);
    (fields, others).prop_map(
        |(matching, (datapath, table, priority, output))| PlacedRule {
            table: TableId(table),
            priority,
            matching,
            ..rule(datapath, 1, output)
        },
    )
}

/// A switch that takes messages in order, refuses some, and answers barriers.
#[derive(Default)]
struct Played {
    table: BTreeMap<RulePlace, Form>,
    /// What was sent to it and has not arrived.
    inbox: VecDeque<Message>,
    /// What it has said and has not arrived.
    said: VecDeque<Said>,
}

enum Message {
    Add(RulePlace, Form, Cookie),
    Delete(RulePlace),
    Barrier(u64),
}

enum Said {
    Done(u64),
    Refused(Cookie),
}

const SWITCH: DatapathId = DatapathId(1);

impl Played {
    fn send(&mut self, order: Order<'_>) {
        match order {
            Order::Nothing => {}
            Order::Add(rule) => {
                let place = rule.form.place();
                let add = Message::Add(place, rule.form.clone(), rule.cookie);
                self.inbox.push_back(add);
            }
            Order::Delete(form) => self.inbox.push_back(Message::Delete(form.place())),
        }
    }

    fn take_one(&mut self, refuses: bool) {
        match self.inbox.pop_front() {
            Some(Message::Add(_, _, cookie)) if refuses => {
                self.said.push_back(Said::Refused(cookie));
            }
            Some(Message::Add(place, form, _)) => drop(self.table.insert(place, form)),
            Some(Message::Delete(place)) => drop(self.table.remove(&place)),
            Some(Message::Barrier(covers)) => self.said.push_back(Said::Done(covers)),
            None => {}
        }
    }

    /// Lets the desired state hear one thing that the switch has said.
    fn say_one(&mut self, desired: &mut Desired) {
        match self.said.pop_front() {
            Some(Said::Done(covers)) => {
                desired.confirm_up_to(SWITCH, covers, true, |_, _| {});
            }
            Some(Said::Refused(cookie)) => {
                let refused = desired.by_cookie(SWITCH, cookie).map(|(place, _)| place);
                if let Some(place) = refused {
                    desired.set_standing((SWITCH, place), Standing::Refused);
                }
            }
            None => {}
        }
    }

    /// Takes and answers all that is under way, and is mended.
    fn come_to_rest(&mut self, desired: &mut Desired) {
        self.inbox
            .push_back(Message::Barrier(desired.messages(SWITCH)));
        while !self.inbox.is_empty() {
            self.take_one(false);
        }
        while !self.said.is_empty() {
            self.say_one(desired);
        }
        self.mend(desired);
    }

    /// Gives the switch what it lacks, but for what is under way, as a repair does in one
    /// bundle.
    fn mend(&mut self, desired: &mut Desired) {
        let rules = desired.of_switch(SWITCH);
        let settled =
            rules.filter(|(_, rule)| !rule.is_under_way() && rule.standing != Standing::Refused);
        let settled: Vec<_> = settled
            .map(|(place, rule)| (place, rule.form.clone()))
            .collect();
        desired.synchronise(SWITCH);
        for (place, form) in settled {
            self.table.insert(place, form);
            desired.confirm((SWITCH, place));
        }
    }
}

proptest! {
    /// Whatever is wanted, refused, written over, taken back, sent again, lost with a
    /// connection or mended, in whatever order answers come: what is called confirmed,
    /// its switch has.
    #[test]
    fn what_is_confirmed_its_switch_has(
        steps in prop::collection::vec((0..12u8, 0..4u8, 1..5u32, 1..4u32), 0..120),
    ) {
        let (mut desired, mut switch) = (Desired::default(), Played::default());
        let mut is_connected = false;
        for (step, who, input, output) in steps {
            let rule = rule(SWITCH.0, input, output);
            let spot = (SWITCH, rule.place());
            match step {
                0..=2 => {
                    let order = desired.put(subject(who), spot, rule.form()).0;
                    if is_connected {
                        switch.send(order);
                    }
                }
                3 => {
                    let order = desired.take(subject(who), spot);
                    if is_connected {
                        switch.send(order);
                    }
                }
                4 | 5 if is_connected => {
                    let covers = desired.messages(SWITCH);
                    switch.inbox.push_back(Message::Barrier(covers));
                }
                6 => switch.take_one(false),
                7 => switch.take_one(output == 1),
                8 => (0..3).for_each(|_| switch.say_one(&mut desired)),
                9 => {
                    let standing = desired.get(SWITCH, spot.1).map(|rule| rule.standing);
                    if is_connected && standing == Some(Standing::Refused) {
                        switch.send(desired.send_again(spot));
                    }
                }
                10 if is_connected && output == 1 => {
                    is_connected = false;
                    desired.disconnect(SWITCH);
                    switch.inbox.clear();
                    switch.said.clear();
                    switch.table.retain(|_, _| who == 0);
                }
                10 => {
                    is_connected = true;
                    desired.connect(SWITCH);
                }
                11 if is_connected => switch.mend(&mut desired),
                _ => {}
            }
            for (place, rule) in desired.of_switch(SWITCH) {
                let is_there = switch.table.get(&place) == Some(&rule.form);
                let is_confirmed = rule.standing == Standing::Confirmed;
                let is_said = is_confirmed && desired.is_synchronised(SWITCH);
                prop_assert!(!is_said || is_there, "{rule:?}");
            }
        }
        // And nothing is forgotten: in the end all is confirmed.
        desired.connect(SWITCH);
        switch.come_to_rest(&mut desired);
        let standings = desired.of_switch(SWITCH).map(|(_, rule)| rule.standing);
        prop_assert!(standings.into_iter().all(|it| it != Standing::Sent));
        let subjects = (0..4).map(subject);
        let sent = subjects.filter_map(|who| desired.owned(who)).map(|owned| owned.sent);
        prop_assert_eq!(sent.sum::<usize>(), 0);
    }
}

/// A number that was given to another entry meanwhile is not confirmed by the barrier of
/// the first one.
#[test]
fn a_barrier_confirms_nothing_that_took_the_place_of_what_it_covers() {
    let mut desired = Desired::default();
    desired.connect(SWITCH);
    desired.synchronise(SWITCH);
    let who = EntryOwner::Flow(FlowId(7));
    let (first, other) = (rule(1, 1, 5), rule(1, 2, 5));
    desired.put(who, (SWITCH, first.place()), first.form());
    let covers = desired.messages(SWITCH);
    desired.take(who, (SWITCH, first.place()));
    desired.put(who, (SWITCH, other.place()), other.form());

    desired.confirm_up_to(SWITCH, covers, true, |_, _| {});
    let early = desired.get(SWITCH, other.place()).unwrap().standing;
    desired.confirm_up_to(SWITCH, desired.messages(SWITCH), true, |_, _| {});
    let late = desired.get(SWITCH, other.place()).unwrap().standing;

    assert_eq!((early, late), (Standing::Sent, Standing::Confirmed));
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Add,
    Delete,
}

fn put(desired: &mut Desired, subject: EntryOwner, rule: PlacedRule) -> Kind {
    let spot = (rule.datapath, rule.place());
    match desired.put(subject, spot, rule.form()).0 {
        Order::Nothing => Kind::Nothing,
        Order::Add(_) => Kind::Add,
        Order::Delete(_) => Kind::Delete,
    }
}

fn subject(who: u8) -> EntryOwner {
    match who {
        0 => EntryOwner::Flow(FlowId(1)),
        1 => EntryOwner::Flow(FlowId(2)),
        2 => EntryOwner::Intent(IntentId(1)),
        _ => EntryOwner::Application(ApplicationId(1)),
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
