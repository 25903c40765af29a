//! What every store has to do, in a form that runs: tests of each implementation call
//! [`check`] with a function that returns a new store without records, and one that
//! waits a little for changes that are still to be told.

use std::fmt::Debug;

use units::Duration;
use wire::siphash::siphash_2_4;

use super::{
    Change, Changes, Condition, Epoch, Fence, Invalid, Key, Lease, MAX_OPERATIONS,
    MAX_VALUE_LENGTH, MemoryStore, Office, Outcome, Refusal, Replica, Revision, Snapshot, Store,
    StoreWrite, Transaction,
};

/// How many random transactions a store makes beside one in memory.
const STEPS: u64 = 200;
/// How many keys these are about.
const KEYS: u64 = 5;
const OFFICE: Office = Office(7);
/// How often a store is asked for a change that it owes.
const ASKED: usize = 10_000;

/// Holds stores to the contract.
///
/// # Panics
///
/// If one breaks it.
pub fn check<S>(mut open: impl FnMut() -> S, wait: impl Fn())
where
    S: Store,
    S::Error: Debug,
{
    a_transaction_is_made_whole(&mut open());
    of_two_that_rest_on_the_same_one_is_made(&mut open());
    a_later_epoch_makes_an_earlier_one_void(&mut open());
    what_is_too_large_changes_nothing(&mut open());
    the_largest_is_made(&mut open());
    changes_are_told_in_order(&mut open(), &wait);
    a_lease_is_that_of_its_record(&mut open());
    it_does_what_one_in_memory_does(&mut open(), &wait);
}

fn put(flow: u32, value: &[u8]) -> StoreWrite {
    StoreWrite {
        key: Key::Admission(flow),
        value: Some(value.to_vec()),
    }
}

fn remove(flow: u32) -> StoreWrite {
    StoreWrite {
        key: Key::Admission(flow),
        value: None,
    }
}

fn on(flow: u32, revision: Option<Revision>) -> Condition {
    Condition {
        key: Key::Admission(flow),
        revision,
    }
}

fn plain(writes: Vec<StoreWrite>) -> Transaction {
    Transaction {
        writes,
        ..Transaction::default()
    }
}

fn commit<S: Store>(store: &mut S, transaction: &Transaction) -> Revision
where
    S::Error: Debug,
{
    match store.transact(transaction) {
        Outcome::Committed(revision) => revision,
        other => panic!("{other:?} in place of a commit of {transaction:?}"),
    }
}

fn refuse<S: Store>(store: &mut S, transaction: &Transaction) -> Refusal
where
    S::Error: Debug,
{
    match store.transact(transaction) {
        Outcome::Refused(refusal) => refusal,
        other => panic!("{other:?} in place of a refusal of {transaction:?}"),
    }
}

fn read<S: Store>(store: &mut S) -> Snapshot
where
    S::Error: Debug,
{
    match store.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => panic!("no snapshot: {error:?}"),
    }
}

fn values(snapshot: Snapshot) -> Vec<StoreWrite> {
    let records = snapshot.records.into_iter();
    records.map(StoreWrite::from).collect()
}

fn a_transaction_is_made_whole<S: Store>(store: &mut S)
where
    S::Error: Debug,
{
    let first = commit(store, &plain(vec![put(1, b"a"), put(2, b"")]));
    let snapshot = read(store);
    let second = commit(store, &plain(vec![remove(1), put(3, b"c")]));

    assert!(first < second, "{first:?} before {second:?}");
    assert_eq!(snapshot.revision, first);
    assert!(snapshot.records.iter().all(|it| it.revision == first));
    assert_eq!(values(snapshot), [put(1, b"a"), put(2, b"")]);
    let snapshot = read(store);
    let revisions: Vec<_> = snapshot.records.iter().map(|it| it.revision).collect();
    assert_eq!(revisions, [first, second]);
    assert_eq!(values(snapshot), [put(2, b""), put(3, b"c")]);
}

fn of_two_that_rest_on_the_same_one_is_made<S: Store>(store: &mut S)
where
    S::Error: Debug,
{
    let rests_on = |revision, value: &[u8]| Transaction {
        conditions: vec![on(1, revision), on(2, None)],
        writes: vec![put(1, value), put(9, value)],
        ..Transaction::default()
    };
    let first = commit(store, &rests_on(None, b"first"));
    let refused = refuse(store, &rests_on(None, b"late"));
    let second = commit(store, &rests_on(Some(first), b"second"));
    let outdated = refuse(store, &rests_on(Some(first), b"late"));
    let missing = Transaction {
        conditions: vec![on(3, Some(second))],
        ..plain(vec![put(9, b"late")])
    };
    let missing = refuse(store, &missing);

    for (refusal, revision, value) in [(refused, first, "first"), (outdated, second, "second")] {
        let Refusal::Differs(found) = refusal else {
            panic!("{refusal:?} in place of what was found");
        };
        assert_eq!(found.len(), 1, "only what differs: {found:?}");
        let record = found[0].record.as_ref();
        let record = record.map(|it| (it.key, it.revision, &it.value[..]));
        assert_eq!(
            record,
            Some((Key::Admission(1), revision, value.as_bytes()))
        );
    }
    let Refusal::Differs(found) = missing else {
        panic!("{missing:?} in place of what was not found");
    };
    assert!(found.iter().all(|it| it.record.is_none()) && found.len() == 1);
    assert_eq!(values(read(store)), [put(1, b"second"), put(9, b"second")]);
}

fn a_later_epoch_makes_an_earlier_one_void<S: Store>(store: &mut S)
where
    S::Error: Debug,
{
    let fence = |number| Fence {
        office: OFFICE,
        epoch: Epoch { number, holder: 3 },
    };
    let within = |number, writes| Transaction {
        fence: Some(fence(number)),
        ..plain(writes)
    };

    let unclaimed = refuse(store, &within(1, vec![put(1, b"early")]));
    let claimed = commit(store, &Transaction::claim(fence(1), None));
    commit(store, &within(1, vec![put(1, b"one")]));
    refuse(store, &Transaction::claim(fence(2), None));
    commit(store, &Transaction::claim(fence(2), Some(claimed)));
    let void = refuse(store, &within(1, vec![put(1, b"late")]));
    let probe = refuse(store, &within(1, Vec::new()));
    commit(store, &within(2, vec![put(2, b"two")]));

    let found = Some(fence(2).epoch);
    assert_eq!(unclaimed, Refusal::Fenced { found: None });
    assert_eq!(void, Refusal::Fenced { found });
    assert_eq!(probe, Refusal::Fenced { found });
    let epoch = StoreWrite {
        key: Key::Epoch(OFFICE),
        value: Some(fence(2).epoch.to_bytes()),
    };
    assert_eq!(values(read(store)), [epoch, put(1, b"one"), put(2, b"two")]);
}

fn what_is_too_large_changes_nothing<S: Store>(store: &mut S)
where
    S::Error: Debug,
{
    let long = put(1, &vec![0; MAX_VALUE_LENGTH + 1]);
    let half = vec![1; MAX_VALUE_LENGTH / 2];
    let many = |count: u32| (0..count).map(|flow| put(flow, b"x")).collect::<Vec<_>>();
    let most = u32::try_from(MAX_OPERATIONS).unwrap_or(u32::MAX);
    let conditions = (0..most).map(|flow| on(flow, None));
    let conditional = Transaction {
        fence: Some(Fence {
            office: OFFICE,
            epoch: Epoch {
                number: 1,
                holder: 1,
            },
        }),
        conditions: conditions.collect(),
        ..plain(vec![put(1, b"x")])
    };
    let leased = Transaction {
        lease: Some(Duration::from_secs(60)),
        ..plain(many(2))
    };
    let refused = [
        (plain(vec![put(2, b"x"), long]), "a record"),
        (
            plain((0..3).map(|flow| put(flow, &half)).collect()),
            "bytes",
        ),
        (plain(many(most + 1)), "operations"),
        (conditional, "operations"),
        (plain(vec![put(1, b"x"), remove(1)]), "twice"),
        (leased, "lease"),
    ];

    for (transaction, reason) in refused {
        let refusal = refuse(store, &transaction);

        assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal:?}");
        assert!(
            refusal.to_string().contains(reason),
            "{refusal}, not {reason}"
        );
    }
    assert_eq!(values(read(store)), []);
}

fn the_largest_is_made<S: Store>(store: &mut S)
where
    S::Error: Debug,
{
    let most = u32::try_from(MAX_OPERATIONS).unwrap_or(u32::MAX);
    let fence = Fence {
        office: OFFICE,
        epoch: Epoch {
            number: 1,
            holder: 1,
        },
    };
    commit(store, &Transaction::claim(fence, None));
    let longest = vec![7; MAX_VALUE_LENGTH];
    let length = MAX_VALUE_LENGTH / 4 / MAX_OPERATIONS - 16;
    let mut writes = vec![put(0, &longest)];
    writes.extend((1..most).map(|flow| put(flow, &vec![1; length])));
    let largest = Transaction {
        fence: Some(fence),
        conditions: (1..most).map(|flow| on(flow, None)).collect(),
        ..plain(writes.clone())
    };

    let fault: Option<Invalid> = largest.fault();
    commit(store, &largest);

    assert_eq!(fault, None);
    assert_eq!(values(read(store))[1..], writes);
}

/// Returns changes after a revision up to another, for which a store may need a while.
fn changes_until<S: Store>(
    store: &mut S,
    wait: &impl Fn(),
    after: Revision,
    until: Revision,
) -> Vec<Change>
where
    S::Error: Debug,
{
    let (mut told, mut known) = (Vec::new(), after);
    for _ in 0..ASKED {
        match store.changes(known) {
            Ok(Changes::Known(changes)) => told.extend(changes),
            other => panic!("{other:?} after {known:?}"),
        }
        known = told.last().map_or(after, |it: &Change| it.revision);
        if known >= until {
            return told;
        }
        wait();
    }
    panic!("only {told:?} is told until {until:?}");
}

fn changes_are_told_in_order<S: Store>(store: &mut S, wait: &impl Fn())
where
    S::Error: Debug,
{
    let start = read(store).revision;
    let first = commit(store, &plain(vec![put(2, b"b"), put(1, b"a")]));
    let second = commit(store, &plain(vec![put(1, b"c")]));
    let third = commit(store, &plain(vec![remove(2), remove(8)]));
    let unchanged = commit(store, &plain(vec![remove(8)]));

    let mut told = changes_until(store, wait, start, third);

    assert_eq!(unchanged, third);
    told.sort_by_key(|it| (it.revision, it.write.key));
    let told: Vec<_> = told.into_iter().map(|it| (it.revision, it.write)).collect();
    let expected = [
        (first, put(1, b"a")),
        (first, put(2, b"b")),
        (second, put(1, b"c")),
        (third, remove(2)),
    ];
    assert_eq!(told, expected);
    let later = changes_until(store, wait, first, third);
    assert!(later.iter().all(|it| it.revision > first) && later.len() == 2);
    let ahead = Revision(third.0 + 1000);
    assert!(matches!(store.changes(ahead), Ok(Changes::Lost)));
}

fn a_lease_is_that_of_its_record<S: Store>(store: &mut S)
where
    S::Error: Debug,
{
    let renew = |store: &mut S, flow| match store.renew(Key::Admission(flow)) {
        Ok(lease) => lease,
        Err(error) => panic!("not renewed: {error:?}"),
    };
    let leased = Transaction {
        lease: Some(Duration::from_secs(600)),
        ..plain(vec![put(1, b"here")])
    };
    commit(store, &leased);
    commit(store, &plain(vec![put(2, b"for good")]));

    assert_eq!(renew(store, 1), Lease::Renewed);
    assert_eq!(renew(store, 2), Lease::Gone);
    assert_eq!(renew(store, 3), Lease::Gone);
    commit(store, &plain(vec![remove(1)]));
    assert_eq!(renew(store, 1), Lease::Gone);
}

/// A number below another, the same for the same step and purpose.
fn random(step: u64, purpose: u64, below: u64) -> u64 {
    let message = [step.to_be_bytes(), purpose.to_be_bytes()].concat();
    siphash_2_4(*b"a store's trials", &message) % below
}

/// A transaction of up to three writes on up to two conditions, most of which hold.
fn random_transaction(step: u64, snapshot: &Snapshot) -> Transaction {
    let key = |purpose| Key::Admission(u32::try_from(random(step, purpose, KEYS)).unwrap_or(0));
    let mut transaction = Transaction::default();
    for purpose in 0..random(step, 10, 3) {
        let key = key(20 + purpose);
        let revision = snapshot.record(key).map(|record| record.revision);
        let revision = match random(step, 30 + purpose, 6) {
            0 => None,
            1 => Some(Revision(snapshot.revision.0 + 1)),
            _ => revision,
        };
        transaction.conditions.push(Condition { key, revision });
    }
    for purpose in 0..=random(step, 40, 3) {
        let key = key(50 + purpose);
        let value = (random(step, 60 + purpose, 3) > 0).then(|| step.to_be_bytes().to_vec());
        if transaction.writes.iter().all(|write| write.key != key) {
            transaction.writes.push(StoreWrite { key, value });
        }
    }
    transaction
}

/// What was found in place of what a condition says.
type FoundValues = Vec<(Key, Option<Vec<u8>>)>;

/// Returns what an outcome says, but for revisions, which each store counts by itself.
fn said<E: Debug>(outcome: Outcome<E>) -> Result<(), FoundValues> {
    match outcome {
        Outcome::Committed(_) => Ok(()),
        Outcome::Refused(Refusal::Differs(found)) => {
            let found = found.into_iter();
            Err(found
                .map(|it| (it.key, it.record.map(|it| it.value)))
                .collect())
        }
        other => panic!("{other:?} of a transaction that is in order"),
    }
}

fn it_does_what_one_in_memory_does<S: Store>(store: &mut S, wait: &impl Fn())
where
    S::Error: Debug,
{
    let mut model = MemoryStore::default();
    let mut replica = Replica::default();
    replica.audit(read(store));
    for step in 0..STEPS {
        let (expected, actual) = (read(&mut model), read(store));
        assert_eq!(
            values(expected.clone()),
            values(actual.clone()),
            "step {step}"
        );

        let expected = model.transact(&random_transaction(step, &expected));
        let actual = store.transact(&random_transaction(step, &actual));

        assert_eq!(said(expected), said(actual), "step {step}");
    }
    let last = read(store);
    let changes = changes_until(store, wait, replica.revision(), last.revision);
    replica.follow(changes);
    assert_eq!(replica.snapshot(), last, "whoever follows knows all");
}
