//! What the verifier takes and what it refuses.

use std::collections::BTreeMap;

use linux::bpf::program::{LoadError, Program};

use crate::world::{Maps, probe};

#[test]
fn the_probe_is_verified_with_its_types_and_says_what_that_cost() {
    let Some(maps) = Maps::make_or_skip("the_probe_is_verified") else {
        return;
    };

    let program = Program::load(&probe(), "probe", &maps.by_name()).unwrap();

    let verified = program.verified();
    println!("{verified:#?}");
    assert_eq!(verified.without_types, None);
    assert!(verified.processed.is_some_and(|count| count > 0));
}

#[test]
fn a_map_that_was_not_made_is_named() {
    let Err(LoadError::Object(error)) = Program::load(&probe(), "probe", &BTreeMap::new()) else {
        panic!("loaded without maps");
    };

    assert_eq!(
        error.to_string(),
        "the program uses the map `tallies`, which has not been made"
    );
}
