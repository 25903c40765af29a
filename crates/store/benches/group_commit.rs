//! What keeping records in etcd costs: changes of many admissions as few transactions, and
//! beside them, in the same run, the same bytes in raw batches of puts from eight clients
//! at once.
//!
//! Start it with `cargo bench -p store --bench group_commit`; it starts members of etcd by
//! itself (`TAKTOS_ETCD` names the program) and prints medians of three rounds.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

#[path = "../src/etcd/tests/cluster.rs"]
#[expect(dead_code, reason = "tests do more with members")]
mod cluster;

use std::time::Instant;

use cluster::{Cluster, Extras};
use controller::store::{
    ExactWriter, Key, MAX_OPERATIONS, Outcome, Store, StoreWrite, TakeOver, Transaction,
};
use store::EtcdStore;
use store::etcd::EtcdTerms;

/// Bytes of an admission's record.
const VALUE: usize = 100;
const RECORDS: u32 = 32_768;
const CLIENTS: u32 = 8;
const ROUNDS: usize = 3;
/// As many as the controller hands over at once.
const PROPOSED: usize = 1024;

fn main() {
    println!("changes/s: raw batches of {MAX_OPERATIONS} from {CLIENTS} clients; one exact writer");
    for members in [1, 3] {
        let name = format!("{members} members");
        let Some(cluster) = Cluster::start_or_skip(&name, members, Extras::default()) else {
            return;
        };
        let mut rounds: Vec<_> = (0..ROUNDS)
            .map(|_| [raw(&cluster), exact(&cluster)])
            .collect();
        rounds.sort_by_key(|[raw, exact]| exact * 1000 / raw);
        let [raw, exact] = rounds[ROUNDS / 2];
        let percent = exact * 100 / raw;
        println!("{members} member(s): {raw:>8} {exact:>8}  ratio {percent} %");
    }
}

fn terms(cluster: &Cluster, prefix: &str) -> EtcdTerms {
    EtcdTerms {
        members: cluster.urls(),
        prefix: prefix.as_bytes().to_vec(),
        ..EtcdTerms::default()
    }
}

fn open(cluster: &Cluster, prefix: &str) -> EtcdStore {
    let mut store = EtcdStore::open(&terms(cluster, prefix)).unwrap();
    while store.snapshot().is_err() {
        std::thread::yield_now();
    }
    store
}

fn writes(flows: std::ops::Range<u32>) -> Vec<StoreWrite> {
    let write = |flow| StoreWrite {
        key: Key::Admission(flow),
        value: Some(vec![7; VALUE]),
    };
    flows.map(write).collect()
}

/// Returns how many changes a second are made.
fn rate(start: Instant) -> u64 {
    let elapsed_us = u64::try_from(start.elapsed().as_micros()).unwrap();
    u64::from(RECORDS) * 1_000_000 / elapsed_us
}

fn raw(cluster: &Cluster) -> u64 {
    let each = RECORDS / CLIENTS;
    let stores: Vec<_> = (0..CLIENTS).map(|_| open(cluster, "raw/")).collect();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (client, mut store) in (0..).zip(stores) {
            scope.spawn(move || {
                for batch in Transaction::batches(writes(client * each..(client + 1) * each), None)
                {
                    let outcome = store.transact(&batch);
                    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
                }
            });
        }
    });
    rate(start)
}

fn exact(cluster: &Cluster) -> u64 {
    let mut writer = ExactWriter::new(open(cluster, "exact/"), 1);
    writer.start(TakeOver::FromAnybody).unwrap();
    let writes = writes(0..RECORDS);
    let start = Instant::now();
    for proposed in writes.chunks(PROPOSED) {
        let (events, trouble) = writer.write(proposed.to_vec());
        assert_eq!((events.len(), trouble), (proposed.len(), None));
    }
    rate(start)
}
