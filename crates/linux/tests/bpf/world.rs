//! What the tests stand on: the probe's object and its maps.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use linux::bpf::map::{Map, MapKind, MapShape, MappedArray};
use linux::bpf::object::Object;

/// The program of `crates/linux/bpf/probe.c`.
pub const PROBE: &[u8] = include_bytes!("../../bpf/probe.o");
/// How long the ring of the tests is.
pub const RING_BYTES: u32 = 1 << 16;
const TALLIES: u32 = 8;

/// The maps of the probe.
#[derive(Debug)]
pub struct Maps {
    /// Frames by action.
    pub tallies: MappedArray,
    /// The beginnings of frames.
    pub records: Map,
}

impl Maps {
    /// Makes them, or says loudly that this process may not.
    ///
    /// With `TAKTOS_REQUIRE_NAMESPACES` set, as in continuous integration, a skip
    /// is a failure.
    pub fn make_or_skip(test: &str) -> Option<Self> {
        let tallies = match MappedArray::create("tallies", TALLIES, 1) {
            Ok(tallies) => tallies,
            Err(refusal) if refusal.source.kind() == io::ErrorKind::PermissionDenied => {
                skip(test);
                return None;
            }
            Err(refusal) => panic!("{refusal}"),
        };
        let ring = MapShape {
            kind: MapKind::Ring,
            key_bytes: 0,
            value_bytes: 0,
            entries: RING_BYTES,
        };
        let records = Map::create("records", ring).unwrap();
        Some(Self { tallies, records })
    }

    /// Returns them under the names that the program has for them.
    pub fn by_name(&self) -> BTreeMap<&str, BorrowedFd<'_>> {
        BTreeMap::from([
            ("tallies", self.tallies.as_fd()),
            ("records", self.records.as_fd()),
        ])
    }
}

/// Returns the probe's object.
pub fn probe() -> Object {
    Object::parse(PROBE).unwrap()
}

fn skip(test: &str) {
    let notice = format!("SKIPPED {test}: needs CAP_BPF and CAP_NET_ADMIN. Run it as root");
    assert!(
        std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_none(),
        "{notice}"
    );
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(io::stderr(), "\n{notice}\n");
}
