//! What the verifier takes and what it refuses.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use linux::bpf::features::Features;
use linux::bpf::map::{Map, MapKind, MapShape, MappedArray};
use linux::bpf::object::Object;
use linux::bpf::program::{LoadError, Program};

use switch::compiled::layout::Region;

use crate::world::{Probe, object};

/// At least what the program of the switch has in mind for each processor.
const SCRATCH_BYTES: u32 = 1 << 14;

#[test]
fn the_probe_is_verified_with_its_types_and_says_what_that_cost() {
    let test = "the_probe_is_verified_with_its_types_and_says_what_that_cost";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };

    let verified = probe.program.verified();

    println!("{verified:#?}");
    assert_eq!(verified.without_types, None);
    assert!(verified.processed.is_some_and(|count| count > 0));
}

/// The kernel gives up at 1,000,000 instructions.
#[test]
fn the_program_of_the_switch_is_verified_with_room_to_spare() {
    const INSTRUCTIONS_MAX: u64 = 500_000;
    let test = "the_program_of_the_switch_is_verified_with_room_to_spare";
    if Probe::load_or_skip(test).is_none() {
        return;
    }
    let object = Object::parse(include_bytes!("../../bpf/switch.o")).unwrap();
    let own = [
        ("interfaces", MapKind::Hash, [4, 4, 8]),
        ("scratch", MapKind::ArrayPerProcessor, [4, SCRATCH_BYTES, 1]),
        ("handed", MapKind::Ring, [0, 0, 1 << 16]),
    ];
    let own = own.map(|(name, kind, [key_bytes, value_bytes, entries])| {
        let shape = MapShape {
            kind,
            key_bytes,
            value_bytes,
            entries,
        };
        (name, Map::create(name, shape).unwrap())
    });
    let tables = Region::ALL.map(|region| {
        let words = region.record_words().try_into().unwrap();
        let array = MappedArray::create(region.name(), 64, words);
        (region.name(), array.unwrap())
    });
    let tables = tables.iter().map(|(name, map)| (*name, map.as_fd()));
    let own = own.iter().map(|(name, map)| (*name, map.as_fd()));

    let program = Program::load(&object, "taktos_switch", &tables.chain(own).collect()).unwrap();

    let verified = program.verified();
    println!("{verified:#?}");
    assert_eq!(verified.without_types, None);
    assert!(
        verified
            .processed
            .is_some_and(|count| count < INSTRUCTIONS_MAX)
    );
}

#[test]
fn a_map_that_was_not_made_is_named() {
    let Err(LoadError::Object(error)) = Program::load(&object(), "probe", &BTreeMap::new()) else {
        panic!("loaded without maps");
    };

    assert_eq!(
        error.to_string(),
        "the program uses the map `tallies`, which has not been made"
    );
}

#[test]
fn a_refusal_shows_the_verifiers_reason() {
    let Some(probe) = Probe::load_or_skip("a_refusal_shows_the_verifiers_reason") else {
        return;
    };
    let mut maps = probe.maps();
    // The probe reserves room in it, which only a ring has.
    maps.insert("records", probe.tallies.as_fd());

    let error = Program::load(&object(), "probe", &maps).unwrap_err();

    let said = error.to_string();
    assert!(said.contains("`probe` of 97 instructions"), "{said}");
    assert!(said.contains("cannot pass map_type 2 into func"), "{said}");
    assert!(said.contains("processed "), "{said}");
}

#[test]
fn a_map_that_no_kernel_has_room_for_says_how_large_it_was_to_be() {
    let test = "a_map_that_no_kernel_has_room_for_says_how_large_it_was_to_be";
    if Probe::load_or_skip(test).is_none() {
        return;
    }
    let shape = MapShape {
        kind: MapKind::Array,
        key_bytes: 4,
        value_bytes: 1 << 20,
        entries: u32::MAX,
    };

    let error = Map::create("entries", shape).unwrap_err();

    let said = error.to_string();
    let expected = "cannot make the map `entries` of 4294967295 times 1048576 bytes";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_hash_gives_back_what_it_was_given() {
    if Probe::load_or_skip("a_hash_gives_back_what_it_was_given").is_none() {
        return;
    }
    let shape = MapShape {
        kind: MapKind::Hash,
        key_bytes: 2,
        value_bytes: 3,
        entries: 1,
    };
    let map = Map::create("names", shape).unwrap();
    let mut value = [0; 3];

    assert!(!map.lookup(b"ab", &mut value).unwrap());
    map.update(b"ab", b"cde").unwrap();
    assert!(map.lookup(b"ab", &mut value).unwrap());
    assert_eq!(&value, b"cde");
    assert!(map.update(b"xy", b"cde").is_err(), "it has room for one");
    assert!(map.delete(b"ab").unwrap());
    assert!(!map.delete(b"ab").unwrap());
}

#[test]
fn the_running_kernel_has_what_our_programs_cannot_do_without() {
    if Probe::load_or_skip("the_running_kernel_has_what_our_programs_cannot_do_without").is_none() {
        return;
    }

    let features = Features::probe().unwrap();

    println!("{features:?}");
    assert_eq!(features.fatal_lack(), None);
}
