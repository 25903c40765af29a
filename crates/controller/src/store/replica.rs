//! What an instance knows of the records of a store that others write as well.

use std::collections::BTreeMap;

use super::{Change, Key, Record, Revision, Snapshot, StoreWrite};

/// A copy of all records: follows what it is told, and is put right by snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    revision: Revision,
    records: BTreeMap<Key, (Revision, Vec<u8>)>,
}

impl Replica {
    /// Returns up to where changes are known.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns when a record was written last and what it says.
    #[must_use]
    pub fn record(&self, key: Key) -> Option<(Revision, &[u8])> {
        let (revision, value) = self.records.get(&key)?;
        Some((*revision, value))
    }

    /// Returns what the records of all keys say, sorted by key.
    pub fn records(&self) -> impl Iterator<Item = (Key, &[u8])> {
        let records = self.records.iter();
        records.map(|(key, (_, value))| (*key, value.as_slice()))
    }

    /// Returns all records, as at the revision up to which changes are known.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let records = self.records.iter().map(|(key, (revision, value))| Record {
            key: *key,
            revision: *revision,
            value: value.clone(),
        });
        Snapshot {
            revision: self.revision,
            records: records.collect(),
        }
    }

    /// Takes changes, and returns those that are news: a change that comes again, or
    /// late, is none.
    pub fn follow(&mut self, changes: Vec<Change>) -> Vec<StoreWrite> {
        let known = self.revision;
        let mut news = Vec::new();
        for Change { revision, write } in changes {
            if revision <= known {
                continue;
            }
            self.know(revision, write.clone());
            news.push(write);
        }
        news
    }

    /// Takes a change of which it is known that the store holds it.
    pub fn know(&mut self, revision: Revision, write: StoreWrite) {
        self.revision = self.revision.max(revision);
        match write.value {
            Some(value) => self.records.insert(write.key, (revision, value)),
            None => self.records.remove(&write.key),
        };
    }

    /// Becomes what the store says it holds, at whatever revision, and returns in what that
    /// differs: what was missed, or what is different in a store that was restored.
    pub fn audit(&mut self, snapshot: Snapshot) -> Vec<StoreWrite> {
        let mut news = Vec::new();
        let mut gone = std::mem::take(&mut self.records);
        self.revision = snapshot.revision;
        for Record {
            key,
            revision,
            value,
        } in snapshot.records
        {
            if gone.remove(&key).is_none_or(|(_, known)| known != value) {
                news.push(StoreWrite {
                    key,
                    value: Some(value.clone()),
                });
            }
            self.records.insert(key, (revision, value));
        }
        let gone = gone.into_keys();
        news.extend(gone.map(|key| StoreWrite { key, value: None }));
        news
    }
}
