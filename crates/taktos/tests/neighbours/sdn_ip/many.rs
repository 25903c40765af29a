//! Many prefixes, and how long a change of them takes.

use std::fmt::Write;
use std::fs;
use std::time::Instant;

use serde_json::Value;

use super::internet::{Internet, documented};

/// So many prefixes are announced in every run of the tests, and so many where somebody asks.
const SOME: u32 = 5_000;
const MANY: u32 = 100_000;
/// How often one prefix is withdrawn and announced again where that is measured.
const FLAPS: u32 = 101;
/// The file that BIRD's configuration includes.
const PLACE: &str = "route 10.2.0.0/16 unreachable;";

/// Returns what BIRD is told to announce so many prefixes beside what it has.
fn announcing(prefixes: u32) -> String {
    let mut routes = format!("{PLACE}\n");
    for number in 0..prefixes {
        let [_, b, c, d] = (number << 3).to_be_bytes();
        let (b, c) = (b + 64, c);
        writeln!(routes, "  route 20.{b}.{c}.{d}/29 unreachable;").unwrap();
    }
    documented("bird.conf").replace(PLACE, &routes)
}

impl Internet {
    fn announce(&self, prefixes: u32) {
        let path = self.bench.folder().join("bird.conf");
        fs::write(path, announcing(prefixes)).unwrap();
        let said = self.birdc("configure");
        assert!(
            said.contains("Reconfigured") || said.contains("in progress"),
            "{said}"
        );
    }

    /// Returns how many prefixes have a route, once all switches have confirmed all of them.
    fn confirmed(&self) -> Option<u64> {
        let status = &self.routes(&["--status"])["routing"];
        let is_confirmed = |it: &Value| it["waiting"] == 0 && it["unconfirmed"] == 0;
        let are_confirmed = status["ingresses"].as_array()?.iter().all(is_confirmed);
        status["prefixes"].as_u64().filter(|_| are_confirmed)
    }

    /// Waits until so many prefixes are installed beside the four that there are always.
    #[track_caller]
    fn await_prefixes(&self, prefixes: u32) {
        let all = Some(u64::from(prefixes) + 4);
        let what = format!("{prefixes} prefixes installed");
        self.bench.until(&what, || self.confirmed() == all);
    }

    /// Returns how many entries the switch where FRR is has.
    fn entries_at_frr(&self) -> u64 {
        let tables = self.bench.show("s2", "tables");
        let tables = tables["tables"].as_array().into_iter().flatten();
        tables
            .filter_map(|table: &Value| table["entries"].as_u64())
            .sum()
    }
}

fn begin(test: &str, prefixes: u32, switches: &[&str]) -> Option<Internet> {
    let peers = [documented("bgpd.conf"), announcing(prefixes)];
    let peers = [peers[0].as_str(), peers[1].as_str()];
    let internet = Internet::with_switches(test, peers, switches)?;
    internet.await_traffic();
    internet.await_prefixes(prefixes);
    Some(internet)
}

#[test]
fn thousands_of_prefixes_come_and_go_and_the_rest_stays() {
    let test = "thousands_of_prefixes_come_and_go_and_the_rest_stays";
    let Some(internet) = begin(test, SOME, &[]) else {
        return;
    };
    let with_all = internet.entries_at_frr();

    for prefixes in [0, SOME, SOME / 2, SOME] {
        internet.announce(prefixes);
        internet.await_prefixes(prefixes);
        assert!(internet.crosses());
    }

    assert_eq!(internet.entries_at_frr(), with_all);
    internet.await_traffic();
}

/// Prints what docs/sdn-ip.md tells: `cargo test --release --test neighbours -- --ignored
/// --nocapture how_long_a_change`.
#[test]
#[ignore = "takes minutes, and measures"]
fn how_long_a_change_of_many_prefixes_takes() {
    let test = "how_long_a_change_of_many_prefixes_takes";
    let Some(internet) = begin(test, 0, &["--table-size", "120000"]) else {
        return;
    };
    let begun = Instant::now();
    internet.announce(MANY);
    internet.await_prefixes(MANY);
    println!("{MANY} prefixes announced: {:?}", begun.elapsed());

    let mut took = Vec::new();
    for flap in 0..2 * FLAPS {
        let prefixes = MANY - 1 + flap % 2;
        let before = internet.entries_at_frr();
        internet.announce(prefixes);
        let begun = Instant::now();
        internet
            .bench
            .until("change", || internet.entries_at_frr() != before);
        if flap % 2 == 0 {
            took.push(begun.elapsed());
        }
    }
    took.sort_unstable();
    let (median, p99) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    println!("one withdrawn of {MANY}: median {median:?}, p99 {p99:?}");

    let begun = Instant::now();
    internet.announce(MANY - 10_000);
    internet.await_prefixes(MANY - 10_000);
    println!("10,000 withdrawn: {:?}", begun.elapsed());
}
