//! Records in memory, for as long as the program runs.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use super::{
    Changes, Journal, Key, Lease, Outcome, Record, Revision, Snapshot, Store, StoreWrite,
    Transaction,
};

/// Never fails. A lease in it ends when the world [says so](Self::expire).
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<Key, Vec<u8>>,
    leased: BTreeSet<Key>,
    journal: Journal,
}

impl MemoryStore {
    /// Ends the lease of a record, which is removed; does nothing if it has none.
    pub fn expire(&mut self, key: Key) {
        if self.leased.remove(&key) {
            self.apply(&[StoreWrite { key, value: None }]);
        }
    }

    /// Forgets the changes up to a revision.
    pub fn compact(&mut self, upto: Revision) {
        self.journal.forget(upto);
    }

    fn apply(&mut self, writes: &[StoreWrite]) -> Revision {
        for StoreWrite { key, value } in writes {
            match value {
                Some(value) => self.records.insert(*key, value.clone()),
                None => self.records.remove(key),
            };
        }
        self.journal.enter(writes)
    }
}

impl Store for MemoryStore {
    type Error = Infallible;

    const SHARED: bool = false;

    fn transact(&mut self, transaction: &Transaction) -> Outcome<Infallible> {
        let read = |key| Ok::<_, Infallible>(self.records.get(&key).cloned());
        let Ok(refusal) = self.journal.refusal(transaction, read);
        if let Some(refusal) = refusal {
            return Outcome::Refused(refusal);
        }
        for write in &transaction.writes {
            match transaction.lease {
                Some(_) if write.value.is_some() => self.leased.insert(write.key),
                _ => self.leased.remove(&write.key),
            };
        }
        Outcome::Committed(self.apply(&transaction.writes))
    }

    fn snapshot(&mut self) -> Result<Snapshot, Infallible> {
        let records = self.records.iter().map(|(key, value)| Record {
            key: *key,
            revision: self.journal.revision_of(*key).unwrap_or_default(),
            value: value.clone(),
        });
        Ok(Snapshot {
            revision: self.journal.revision(),
            records: records.collect(),
        })
    }

    fn changes(&mut self, after: Revision) -> Result<Changes, Infallible> {
        Ok(self.journal.after(after))
    }

    fn renew(&mut self, key: Key) -> Result<Lease, Infallible> {
        Ok(match self.leased.contains(&key) {
            true => Lease::Renewed,
            false => Lease::Gone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_contract() {
        super::super::contract::check(MemoryStore::default, || ());
    }

    #[test]
    fn whoever_asks_for_forgotten_changes_is_told_so() {
        let mut store = MemoryStore::default();
        let write = |value: u8| StoreWrite {
            key: Key::Mode,
            value: Some(vec![value]),
        };
        for value in 0..4 {
            store.write(&[write(value)]);
        }

        store.compact(Revision(2));

        assert_eq!(store.changes(Revision(1)), Ok(Changes::Lost));
        let Ok(Changes::Known(known)) = store.changes(Revision(2)) else {
            panic!("what came after is known");
        };
        assert_eq!(known.len(), 2);
    }

    #[test]
    fn a_history_without_end_is_forgotten_from_its_beginning() {
        let mut store = MemoryStore::default();
        let long = |at: u32| StoreWrite {
            key: Key::Admission(at % 3),
            value: Some(vec![0; 1 << 20]),
        };

        for at in 0..40 {
            store.write(&[long(at)]);
        }

        assert_eq!(store.changes(Revision(30)), Ok(Changes::Lost));
        assert!(matches!(store.changes(Revision(37)), Ok(Changes::Known(_))));
    }
}
