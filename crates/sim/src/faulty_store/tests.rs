use std::collections::BTreeMap;

use controller::StoreWrite;
use controller::store::{ExactWriter, Replica, StoreEvent, TakeOver, Trouble};
use units::Duration;

use super::*;
use crate::servers::random::Random;

/// How many histories are drawn.
const HISTORIES: u64 = 400;
const STEPS: u64 = 60;
const KEYS: u32 = 4;
const PATIENCE: usize = 20;

type Values = BTreeMap<Key, Vec<u8>>;

fn values(snapshot: Snapshot) -> Values {
    let records = snapshot.records.into_iter();
    let of_offices = |key: &Key| matches!(key, Key::Epoch(_));
    records
        .filter(|record| !of_offices(&record.key))
        .map(|record| (record.key, record.value))
        .collect()
}

fn put(flow: u32, value: u64) -> StoreWrite {
    StoreWrite {
        key: Key::Admission(flow),
        value: Some(value.to_be_bytes().to_vec()),
    }
}

fn draw_flow(random: &mut Random) -> u32 {
    u32::try_from(random.below(KEYS.into())).unwrap()
}

fn apply(values: &mut Values, write: StoreWrite) {
    match write.value {
        Some(value) => values.insert(write.key, value),
        None => values.remove(&write.key),
    };
}

#[test]
fn without_a_fault_it_keeps_the_contract() {
    controller::store::contract::check(FaultyStore::default, || ());
}

/// One instance, what it was told, and what it was not told yet.
struct History {
    store: FaultyStore,
    writer: ExactWriter<FaultyStore>,
    lives: u64,
    told: Values,
    open: Vec<StoreWrite>,
}

impl History {
    fn begin() -> Self {
        let store = FaultyStore::default();
        let mut history = Self {
            writer: ExactWriter::new(store.clone(), 0),
            store,
            lives: 0,
            told: Values::new(),
            open: Vec::new(),
        };
        history.start_anew();
        history
    }

    /// Whatever is open may have been made, or not.
    fn start_anew(&mut self) {
        self.lives += 1;
        self.writer = ExactWriter::new(self.store.clone(), self.lives);
        let records = loop {
            if let Ok(records) = self.writer.start(TakeOver::FromAnybody) {
                break records;
            }
            self.store.mend();
        };
        let records = records.into_iter();
        let found: Values = records
            .map(|write| (write.key, write.value.unwrap()))
            .collect();
        let mut possible = vec![self.told.clone()];
        let mut made = self.told.clone();
        for write in self.open.drain(..) {
            apply(&mut made, write);
        }
        possible.push(made);
        assert!(
            possible.contains(&found),
            "{found:?} is none of {possible:?}"
        );
        self.told = found;
    }

    fn write(&mut self, writes: Vec<StoreWrite>) -> Option<Trouble<FaultyStoreError>> {
        self.open.extend(writes.iter().cloned());
        let (events, trouble) = self.writer.write(writes);
        for event in events {
            let of_key = |key: Key| move |write: &StoreWrite| write.key == key;
            match event {
                StoreEvent::Written(write) => {
                    let at = self.open.iter().position(|it| *it == write).unwrap();
                    self.open.remove(at);
                    apply(&mut self.told, write);
                }
                StoreEvent::Rejected(key) => {
                    let at = self.open.iter().position(of_key(key)).unwrap();
                    self.open.remove(at);
                }
                StoreEvent::Replayed => panic!("that was before"),
            }
        }
        trouble
    }

    /// Mends the store and waits until all is told and true.
    fn settle(&mut self) {
        self.store.mend();
        for _ in 0..PATIENCE {
            if self.write(Vec::new()).is_none() {
                assert_eq!(self.open, [], "nothing stays in doubt");
                assert_eq!(values(self.store.truth()), self.told, "what was told is so");
                return;
            }
        }
        panic!("the store works, and the writer does not");
    }
}

#[test]
fn whatever_the_store_answers_what_is_told_is_true() {
    let mut faults = 0;
    for seed in 0..HISTORIES {
        println!("seed {seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed);
        let mut history = History::begin();
        for step in 0..STEPS {
            match random.below(24) {
                0..3 => {
                    let kinds = [
                        StoreFault::AnswerLost,
                        StoreFault::RequestLost,
                        StoreFault::RequestLate,
                    ];
                    history.store.plant(kinds[random.index(kinds.len())]);
                    faults += 1;
                }
                3 => history.store.become_as(StoreHealth::Full),
                4 => history.store.become_as(StoreHealth::Gone),
                5..8 => history.store.become_as(StoreHealth::Whole),
                8..10 => history.store.deliver_late(),
                10 => history.store.back_up(),
                11 => {
                    history.store.restore();
                    // Nobody can put back what only a controller knew that crashes now.
                    history.settle();
                }
                12 => history.start_anew(),
                13 => history.settle(),
                _ => {
                    let flow = draw_flow(&mut random);
                    let mut writes = vec![put(flow, step)];
                    if random.below(3) == 0 {
                        let key = Key::Admission((flow + 1) % KEYS);
                        writes.push(StoreWrite { key, value: None });
                    }
                    // Which of two changes of one record was rejected, nobody is told.
                    let is_open =
                        |write: &StoreWrite| history.open.iter().any(|open| open.key == write.key);
                    if !writes.iter().any(is_open) {
                        history.write(writes);
                    }
                }
            }
        }
        history.settle();
        history.store.deliver_late();
        history.settle();
    }
    assert!(faults > HISTORIES, "{faults} faults");
}

#[test]
fn whoever_was_replaced_changes_nothing_more() {
    let store = FaultyStore::default();
    let mut first = ExactWriter::new(store.clone(), 1);
    first.start(TakeOver::FromAnybody).unwrap();
    first.write(vec![put(1, 1)]);
    store.plant(StoreFault::RequestLate);
    store.plant(StoreFault::RequestLost);
    first.write(vec![put(1, 2)]);

    let mut second = ExactWriter::new(store.clone(), 2);
    let records = second.start(TakeOver::FromAnybody).unwrap();
    let (events, trouble) = first.write(vec![put(3, 3)]);
    store.deliver_late();
    let (told, none) = second.write(vec![put(2, 4)]);

    assert_eq!(records, [put(1, 1)]);
    let rejected = [1, 3].map(|flow| StoreEvent::Rejected(Key::Admission(flow)));
    assert_eq!(events, rejected);
    assert!(matches!(trouble, Some(Trouble::Replaced { by }) if by.holder == 2));
    assert_eq!((told.len(), none), (1, None));
    let now = values(store.truth());
    assert_eq!(
        now.into_values().collect::<Vec<_>>(),
        [1_u64, 4].map(|it| it.to_be_bytes().to_vec())
    );
}

#[test]
fn a_restored_store_is_given_back_what_it_lacks() {
    let mut history = History::begin();
    history.write(vec![put(1, 1)]);
    history.store.back_up();
    history.write(vec![put(2, 2)]);
    let before = history.store.truth().revision;

    history.store.restore();
    let restored = history.store.truth().revision;
    history.write(vec![put(3, 3)]);

    assert!(restored < before);
    assert_eq!(history.told.len(), 3);
    history.settle();
}

/// Follows a store until it is told all, or needs a snapshot.
fn follow(replica: &mut Replica, store: &mut FaultyStore) {
    match store.changes(replica.revision()) {
        Ok(Changes::Known(changes)) => {
            replica.follow(changes);
        }
        Ok(Changes::Lost) | Err(_) => {}
    }
}

#[test]
fn an_audit_finds_what_changes_did_not_tell() {
    let mut missed = 0;
    for seed in 0..HISTORIES {
        println!("seed {seed}"); // Shown only if the test fails.
        let mut random = Random::new(seed);
        let mut store = FaultyStore::default();
        let mut replica = Replica::default();
        for step in 0..STEPS {
            match random.below(12) {
                0 => store.plant(StoreFault::ChangeLost),
                1 => store.plant(StoreFault::ChangeRepeated),
                2 => store.compact(),
                3 => store.back_up(),
                4 => store.restore(),
                5 => {
                    replica.audit(store.snapshot().unwrap());
                    assert_eq!(replica.snapshot(), store.truth());
                }
                6..8 => follow(&mut replica, &mut store),
                _ => {
                    store.write(&[put(draw_flow(&mut random), step)]);
                }
            }
        }
        store.mend();
        follow(&mut replica, &mut store);
        missed += usize::from(replica.snapshot() != store.truth());
        let before = replica.snapshot();
        let news = replica.audit(store.snapshot().unwrap());
        assert_eq!(replica.snapshot(), store.truth());
        let differs = values(before) != values(store.truth());
        assert_eq!(!news.is_empty(), differs);
    }
    assert!(missed > 0, "without audits, something was always missed");
}

#[test]
fn a_lease_that_ends_takes_one_record() {
    let mut store = FaultyStore::default();
    for flow in [1, 2] {
        let leased = Transaction {
            writes: vec![put(flow, 0)],
            lease: Some(Duration::from_secs(2)),
            ..Transaction::default()
        };
        store.transact(&leased);
    }

    store.expire(Key::Admission(1));

    assert_eq!(store.renew(Key::Admission(1)), Ok(Lease::Gone));
    assert_eq!(store.renew(Key::Admission(2)), Ok(Lease::Renewed));
    assert_eq!(values(store.truth()).len(), 1);
}
