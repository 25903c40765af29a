use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Makes changes, and expects them to be made.
fn commit(store: &mut EmbeddedStore, writes: &[StoreWrite]) {
    let outcome = store.write(writes);
    assert!(matches!(outcome, Outcome::Committed(_)), "{outcome:?}");
}

fn read_all(store: &mut EmbeddedStore) -> Result<Vec<StoreWrite>, EmbeddedStoreError> {
    let records = store.snapshot()?.records.into_iter();
    Ok(records.map(StoreWrite::from).collect())
}

fn admission(flow: u32, value: Option<&[u8]>) -> StoreWrite {
    StoreWrite {
        key: Key::Admission(flow),
        value: value.map(<[u8]>::to_vec),
    }
}

#[test]
fn records_survive_a_restart_in_order_of_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data").join("store.redb");

    let mut store = EmbeddedStore::open(&path).unwrap();
    commit(
        &mut store,
        &[admission(9, Some(b"nine")), admission(2, Some(b"two"))],
    );
    commit(&mut store, &[admission(9, None), admission(300, Some(b""))]);
    drop(store);
    let kept = read_all(&mut EmbeddedStore::open(&path).unwrap()).unwrap();

    assert_eq!(
        kept,
        vec![admission(2, Some(b"two")), admission(300, Some(b""))]
    );
}

#[test]
fn a_store_in_use_and_a_file_that_is_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let other = folder.path().join("letter.txt");
    std::fs::write(&other, "Dear Sirs").unwrap();

    let _first = EmbeddedStore::open(&path).unwrap();
    let second = EmbeddedStore::open(&path).unwrap_err();
    let letter = EmbeddedStore::open(&other).unwrap_err();

    assert!(
        matches!(second, EmbeddedStoreError::Open { .. }),
        "{second}"
    );
    assert!(
        matches!(letter, EmbeddedStoreError::Open { .. }),
        "{letter}"
    );
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "Dear Sirs");
}

#[test]
fn it_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let mut stores = 0;

    controller::store::contract::check(
        || {
            stores += 1;
            EmbeddedStore::open(&folder.path().join(format!("{stores}.redb"))).unwrap()
        },
        || (),
    );
}

#[test]
fn revisions_go_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let mut store = EmbeddedStore::open(&path).unwrap();
    commit(&mut store, &[admission(1, Some(b"one"))]);
    commit(&mut store, &[admission(2, Some(b"two"))]);
    let before = store.snapshot().unwrap().revision;
    drop(store);

    let mut store = EmbeddedStore::open(&path).unwrap();
    let after = store.snapshot().unwrap();
    commit(&mut store, &[admission(1, None)]);

    assert!(before <= after.revision, "{before:?}, then {after:?}");
    assert!(after.records.iter().all(|it| it.revision <= after.revision));
    assert!(store.snapshot().unwrap().revision > after.revision);
}

#[test]
fn records_of_an_earlier_version_are_taken_over_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let old = Database::create(&path).unwrap();
    let transaction = old.begin_write().unwrap();
    let key = Key::Admission(7).to_bytes();
    let mut records = transaction.open_table(UNSEALED).unwrap();
    records.insert(&key[..], &b"seven"[..]).unwrap();
    drop(records);
    transaction.commit().unwrap();
    drop(old);

    let mut store = EmbeddedStore::open(&path).unwrap();
    commit(&mut store, &[admission(8, Some(b"eight"))]);
    drop(store);
    let kept = read_all(&mut EmbeddedStore::open(&path).unwrap()).unwrap();

    assert_eq!(
        kept,
        [admission(7, Some(b"seven")), admission(8, Some(b"eight"))]
    );
}

#[test]
fn the_file_is_the_owners_alone_and_no_link_to_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    std::fs::write(folder.path().join("victim"), "").unwrap();
    let link = folder.path().join("link.redb");
    std::os::unix::fs::symlink(folder.path().join("victim"), &link).unwrap();

    drop(EmbeddedStore::open(&path).unwrap());
    let linked = EmbeddedStore::open(&link);

    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, PRIVATE);
    assert!(matches!(linked, Err(EmbeddedStoreError::File { .. })));
}

#[test]
fn an_empty_file_is_not_taken_for_a_store_without_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    std::fs::write(&path, "").unwrap();

    let error = EmbeddedStore::open(&path).unwrap_err();

    assert!(error.to_string().contains("it is empty"), "{error}");
}

/// Makes a store of many records, and returns them with the bytes of the file.
fn many(path: &Path) -> (Vec<StoreWrite>, Vec<u8>) {
    let mut store = EmbeddedStore::open(path).unwrap();
    for flow in 0..600_u32 {
        let value = flow.to_be_bytes().repeat(10 + flow as usize % 50);
        commit(&mut store, &[admission(flow, Some(&value))]);
    }
    for flow in (0..600).step_by(5) {
        commit(&mut store, &[admission(flow, None)]);
    }
    let kept = read_all(&mut store).unwrap();
    drop(store);
    (kept, std::fs::read(path).unwrap())
}

#[test]
fn whatever_bits_flip_records_are_those_that_were_written_or_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let (records, bytes) = many(&path);
    let mut runner = TestRunner::new(Config::with_cases(100));
    // Half of the flips hit a record, where they hurt: most of the file is empty.
    let written: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let flips = prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8, any::<bool>()), 1..6);
    let outcomes = std::cell::Cell::new([0_usize; 2]);

    let result = runner.run(&flips, |flips| {
        let mut damaged = bytes.clone();
        for (index, bit, hits) in flips {
            let at = match hits {
                true => *index.get(&written),
                false => index.index(bytes.len()),
            };
            damaged[at] ^= 1 << bit;
        }
        std::fs::write(&path, &damaged).unwrap();
        let salvaged = EmbeddedStore::salvage(&path);
        std::fs::write(&path, &damaged).unwrap();
        let read = EmbeddedStore::open(&path).and_then(|mut store| read_all(&mut store));

        let [whole, found] = outcomes.get();
        outcomes.set([
            whole + usize::from(read.is_ok()),
            found + usize::from(read.is_err()),
        ]);
        if let Ok(read) = read {
            prop_assert_eq!(&read, &records);
        }
        if let Ok(salvaged) = salvaged {
            prop_assert!(salvaged.records.iter().all(|it| records.contains(it)));
        }
        Ok(())
    });

    result.unwrap();
    let [whole, found] = outcomes.get();
    assert!(whole > 0 && found > 15, "{whole} whole, {found} found");
}

#[test]
fn what_is_whole_beside_a_damaged_record_is_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let (records, mut bytes) = many(&path);
    let value = records[100].value.clone().unwrap();
    let places = bytes.windows(value.len()).enumerate();
    let places: Vec<usize> = places
        .filter(|(_, it)| *it == value)
        .map(|it| it.0)
        .collect();
    for at in places {
        bytes[at] ^= 1;
    }
    std::fs::write(&path, &bytes).unwrap();

    let opened = EmbeddedStore::open(&path);
    let salvaged = EmbeddedStore::salvage(&path).unwrap();

    assert!(
        matches!(opened, Err(EmbeddedStoreError::Damaged(_))),
        "{opened:?}"
    );
    assert_eq!(salvaged.lost, Some(1));
    assert_eq!(salvaged.records.len(), records.len() - 1);
    assert!(!salvaged.records.contains(&records[100]));
}
