//! What walks see of a switch that random controllers change.

mod both_layouts;
mod description;
mod expected;
mod script;

use proptest::prelude::*;

use super::layout::{Region, entry};
use super::masks::Masks;
use super::store::Store;
use super::{Memory, Sizes};
use crate::packet_key::{PacketKey, WORDS};
use script::{Script, Step, steps};
use wire::openflow::FlowModCommand;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// Whoever walks sees the tables as they are, or as they were when it began.
    #[test]
    fn every_walk_sees_the_tables_of_its_generation(steps in steps(), entries in 0usize..3) {
        let mut script = Script::new([16, 64, 512][entries]);
        for step in &steps {
            script.take(*step);
            script.check_walks();
        }
        script.check_present();
    }

    /// Whatever was there, once it is gone all of its room is free.
    #[test]
    fn what_is_gone_leaves_nothing_behind(steps in steps(), entries in 0usize..3) {
        let mut script = Script::new([16, 64, 512][entries]);
        for step in steps {
            script.take(step);
        }

        script.delete_all();

        let store = &script.form().store;
        prop_assert_eq!(free(store), all(store));
        prop_assert_eq!(store.needs.bits(), 0);
    }

    /// What did not fit is back as soon as it does.
    #[test]
    fn a_table_that_was_left_to_the_core_comes_back(steps in steps()) {
        let mut script = Script::new(16);
        for step in steps {
            script.take(step);
        }

        script.delete_entries();
        script.take(Step::Add { table: 0, mask: 1, value: 3, does: 2 });
        script.finish();

        prop_assert_eq!(script.form().why_table(0), None);
        script.check_present();
    }
}

/// A walk that began after an entry was removed may still have read where it
/// stood, just before that place was given up.
#[test]
fn the_record_of_an_entry_outlives_all_walks_that_may_have_read_its_place() {
    let (mask, value, does) = (1, 3, 8);
    let mut script = Script::new(64);
    script.take(Step::Add {
        table: 0,
        mask,
        value,
        does,
    });
    script.take(Step::Publish);
    script.take(Step::BeginWalk);
    script.take(Step::Delete {
        table: 0,
        mask,
        value,
    });
    script.take(Step::Publish);
    script.take(Step::BeginWalk);

    script.take(Step::EndWalk { oldest: true });
    assert!(!script.settles(), "the second walk may know the place");
    script.take(Step::EndWalk { oldest: true });
    assert!(script.settles());
}

/// A walk follows the buckets of the group that it came to, whatever that becomes.
#[test]
fn a_walk_sees_the_buckets_of_its_generation() {
    let mut script = Script::new(64);
    for step in [
        Step::AddGroup { group: 0, does: 8 },
        Step::Add {
            table: 0,
            mask: 1,
            value: 3,
            // Sends to group 0.
            does: 2,
        },
        Step::Publish,
        Step::BeginWalk,
        Step::ChangeGroup { group: 0, does: 24 },
        Step::Publish,
        Step::BeginWalk,
    ] {
        script.take(step);
        script.check_walks();
    }
}

/// Lines that are full send entries to another one, and tables grow.
#[test]
fn hundreds_of_entries_of_one_mask_are_all_found_in_any_state() {
    // Just below the load from which on there are more lines.
    const FULL: u16 = 440;
    let mut script = Script::new(512);
    script.fill(0..FULL);
    assert!(script.spilled() > 0, "another seed is needed");
    script.check_filled(0..512);

    for gone in [0..100, 50..300, 0..FULL] {
        script.unfill(gone.clone());
        script.check_filled(0..512);
        script.fill(gone.start..512);
        script.check_filled(0..512);
    }
}

/// They would all stand in the same two lines, where there is room for fourteen.
#[test]
fn of_entries_that_differ_in_priority_alone_the_best_is_found() {
    const MANY: u16 = 128;
    let mut script = Script::new(512);
    for first in [0, MANY / 2] {
        script.pile(FlowModCommand::Add, first..MANY);
        script.check_pile();
    }
    for best in (0..MANY).rev().step_by(37) {
        script.pile(FlowModCommand::DeleteStrict, best..MANY);
        script.check_pile();
    }
    script.pile(FlowModCommand::Add, 0..MANY);
    script.check_pile();
}

/// Fields stand anywhere in a word, some in its highest bits alone.
#[test]
fn entries_that_differ_in_any_eight_bits_of_the_key_find_places() {
    let sizes = Sizes::new(&script::config(), 4096, 1);
    for (word, shift) in (0..WORDS).flat_map(|word| (0..=56).map(move |shift| (word, shift))) {
        let mut store = Store::new(Memory::private(sizes.clone()));
        let mut masks = Masks::new(7);
        let mut key = [0; WORDS];
        key[word] = 0xff << shift;
        let mask = masks.make(&mut store, PacketKey::from_words(key)).unwrap();

        for number in 0..=0xff {
            let value = u64::from(number) << shift;
            store.set(Region::Entries, number, entry::VALUE + word, value);

            let linked = masks.link(&mut store, mask, number);

            assert_eq!(linked, Ok(()), "bits from {shift} of word {word}");
        }
    }
}

/// A thousand entries fit what hundreds of switches on one machine can have each.
#[test]
fn a_thousand_entries_take_less_than_two_megabytes_and_a_half() {
    let config = script::config();

    let bytes = Sizes::new(&config, 1024, 2).bytes();

    assert!((500_000..2_500_000).contains(&bytes), "{bytes}");
}

fn free(store: &Store) -> [usize; 9] {
    let rooms = &store.rooms;
    [
        rooms.entries.free(),
        rooms.tallies.free(),
        rooms.masks.free(),
        rooms.groups.free(),
        rooms.meters.free(),
        rooms.lines.free(),
        rooms.actions.free(),
        rooms.buckets.free(),
        rooms.bands.free(),
    ]
}

fn all(store: &Store) -> [usize; 9] {
    let regions = [
        Region::Entries,
        Region::Tallies,
        Region::Masks,
        Region::Groups,
        Region::Meters,
        Region::Lines,
        Region::Actions,
        Region::Buckets,
        Region::Bands,
    ];
    regions.map(|region| store.memory().sizes().records(region))
}
