use proptest::prelude::*;
use units::Instant;
use wire::openflow::{Cookie, FlowModFlags};

use super::*;
use crate::action::Program;
use crate::counters::EntryCounters;
use crate::packet_key::WORDS;

const SEED: u64 = 0x5eed;

/// What a table is: a list, searched from one end to the other.
#[derive(Default)]
struct Model {
    rules: Vec<(Rule, EntryIndex)>,
}

impl Model {
    /// The highest priority wins, and among equal ones the oldest.
    fn lookup(&self, key: &PacketKey) -> Option<EntryIndex> {
        let matching = self
            .rules
            .iter()
            .filter(|(rule, _)| key.masked(&rule.mask) == rule.value);
        // Of several maxima the last one is taken: the oldest, seen from behind.
        let best = matching.rev().max_by_key(|(rule, _)| rule.priority);
        best.map(|(_, index)| *index)
    }
}

/// What is done to a table.
#[derive(Clone, Debug)]
enum Step {
    Insert(Box<Rule>),
    Remove(prop::sample::Index),
}

proptest! {
    #[test]
    fn lookup_finds_what_a_linear_search_finds(
        steps in prop::collection::vec(step(), 1..60),
        keys in prop::collection::vec(key(), 40),
    ) {
        let mut table = FlowTable::new(40, 8, SEED);
        let mut model = Model::default();

        for step in steps {
            apply(step, &mut table, &mut model);

            for key in &keys {
                prop_assert_eq!(table.lookup(key), model.lookup(key));
            }
        }
        prop_assert_eq!(table.len(), model.rules.len());
    }

    #[test]
    fn every_entry_is_found_by_its_rule(steps in prop::collection::vec(step(), 1..60)) {
        let mut table = FlowTable::new(40, 8, SEED);
        let mut model = Model::default();

        for step in steps {
            apply(step, &mut table, &mut model);
        }

        for (rule, index) in &model.rules {
            prop_assert_eq!(table.find(rule), Some(*index));
        }
    }

    #[test]
    fn one_rule_covers_another_if_and_only_if_no_frame_tells_otherwise(
        (wide, narrow) in (rule(), rule()),
        keys in prop::collection::vec(key(), 200),
    ) {
        let matches = |rule: &Rule, key: &PacketKey| key.masked(&rule.mask) == rule.value;
        let both = |key: &PacketKey| matches(&wide, key) && matches(&narrow, key);

        if wide.covers(&narrow) {
            prop_assert!(keys.iter().all(|key| !matches(&narrow, key) || matches(&wide, key)));
        }
        if keys.iter().any(both) {
            prop_assert!(wide.meets(&narrow));
        }
    }
}

#[test]
fn a_full_table_refuses_an_entry_and_a_free_place_takes_it() {
    let mut table = FlowTable::new(2, 8, SEED);
    let first = table.insert(entry(exact(1, 0))).unwrap();
    table.insert(entry(exact(2, 0))).unwrap();

    assert_eq!(table.insert(entry(exact(3, 0))), Err(TableFull));
    table.remove(first);

    assert!(table.insert(entry(exact(3, 0))).is_ok());
}

#[test]
fn one_mask_too_many_is_refused_until_another_is_gone() {
    let mut table = FlowTable::new(10, 1, SEED);
    let first = table.insert(entry(exact(1, 0))).unwrap();
    let any = Rule {
        value: PacketKey::default(),
        mask: PacketKey::default(),
        priority: 0,
    };

    assert_eq!(table.insert(entry(any)), Err(TableFull));
    table.remove(first);

    assert!(table.insert(entry(any)).is_ok());
    assert_eq!(table.masks(), 1);
}

#[test]
fn ten_thousand_entries_are_all_found() {
    let mut table = FlowTable::new(10_000, 8, SEED);

    for value in 0..10_000 {
        table.insert(entry(exact(value, 5))).unwrap();
    }

    for value in 0..10_000 {
        let found = table.lookup(&exact(value, 5).value).unwrap();
        assert_eq!(table.entry(found).rule, exact(value, 5));
    }
    assert_eq!(table.lookup(&exact(10_000, 5).value), None);
}

fn apply(step: Step, table: &mut FlowTable, model: &mut Model) {
    match step {
        Step::Insert(rule) => {
            if table.find(&rule).is_none()
                && let Ok(index) = table.insert(entry(*rule))
            {
                model.rules.push((*rule, index));
            }
        }
        Step::Remove(which) if !model.rules.is_empty() => {
            let (_, index) = model.rules.remove(which.index(model.rules.len()));
            table.remove(index);
        }
        Step::Remove(_) => {}
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => rule().prop_map(|rule| Step::Insert(Box::new(rule))),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
    ]
}

/// Keys of few values, so that matches and overlaps are common.
fn key() -> impl Strategy<Value = PacketKey> {
    [0u64..4, 0..4, 0..4].prop_map(key_of)
}

fn rule() -> impl Strategy<Value = Rule> {
    let mask = prop::sample::select(vec![0u64, 1, 3]);
    (key(), [mask.clone(), mask.clone(), mask], 0u16..4).prop_map(|(value, mask, priority)| {
        let mask = key_of(mask);
        Rule {
            value: value.masked(&mask),
            mask,
            priority,
        }
    })
}

/// A key with values in the first, a middle and the last word.
fn key_of([first, middle, last]: [u64; 3]) -> PacketKey {
    let mut words = [0; WORDS];
    (words[0], words[5], words[WORDS - 1]) = (first, middle, last);
    PacketKey::from_words(words)
}

fn exact(value: u64, priority: u16) -> Rule {
    Rule {
        value: key_of([0, value, 0]),
        mask: key_of([0, u64::MAX, 0]),
        priority,
    }
}

fn entry(rule: Rule) -> Entry {
    Entry {
        rule,
        counters: EntryCounters::default(),
        program: Program::default(),
        cookie: Cookie(0),
        flags: FlowModFlags::NONE,
        idle_timeout: 0,
        hard_timeout: 0,
        created: Instant::ZERO,
        timer: None,
        fields: Box::default(),
        instructions: Box::default(),
    }
}
