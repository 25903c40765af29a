//! What walks see of a switch that random controllers change.

mod expected;
mod script;
mod walk;

use proptest::prelude::*;

use super::layout::Region;
use super::store::Store;
use script::{Script, Step, steps};

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
