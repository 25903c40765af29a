//! Revisions of records, and the last changes: what a store that has one user at a
//! time knows beside its records.

use std::collections::{BTreeMap, VecDeque};

use super::{
    Change, Changes, Epoch, Found, Key, Record, Refusal, Revision, StoreWrite, Transaction,
};

/// How many changes are remembered.
const MAX_CHANGES: usize = 1024;
/// How many bytes of values are remembered in them.
const MAX_BYTES: usize = 1 << 22;

/// Judges transactions and remembers changes.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    revision: Revision,
    /// Changes up to this revision are forgotten.
    forgotten: Revision,
    revisions: BTreeMap<Key, Revision>,
    changes: VecDeque<Change>,
    bytes: usize,
}

impl Journal {
    /// Begins at a revision, at which these keys are taken to have been written.
    #[must_use]
    pub fn at(revision: Revision, keys: impl IntoIterator<Item = Key>) -> Self {
        Self {
            revision,
            forgotten: revision,
            revisions: keys.into_iter().map(|key| (key, revision)).collect(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns when a record was written last; none if there is none.
    #[must_use]
    pub fn revision_of(&self, key: Key) -> Option<Revision> {
        self.revisions.get(&key).copied()
    }

    /// Returns what stands against a transaction; records that play a role are read.
    ///
    /// # Errors
    ///
    /// If one cannot be read.
    pub fn refusal<E>(
        &self,
        transaction: &Transaction,
        mut read: impl FnMut(Key) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Option<Refusal>, E> {
        if let Some(invalid) = transaction.fault() {
            return Ok(Some(Refusal::Invalid(invalid)));
        }
        if let Some(fence) = transaction.fence {
            let found = read(Key::Epoch(fence.office))?;
            let found = found.and_then(|value| Epoch::from_bytes(&value));
            if found != Some(fence.epoch) {
                return Ok(Some(Refusal::Fenced { found }));
            }
        }
        let mut differs = Vec::new();
        for condition in &transaction.conditions {
            let key = condition.key;
            let revision = self.revision_of(key);
            if revision == condition.revision {
                continue;
            }
            let record = match revision {
                Some(revision) => read(key)?.map(|value| Record {
                    key,
                    revision,
                    value,
                }),
                None => None,
            };
            differs.push(Found { key, record });
        }
        Ok((!differs.is_empty()).then_some(Refusal::Differs(differs)))
    }

    /// Enters changes that were made together. Returns the revision to which they led:
    /// the same as before if there was nothing to change.
    pub fn enter(&mut self, writes: &[StoreWrite]) -> Revision {
        let next = Revision(self.revision.0 + 1);
        for write in writes {
            match write.value {
                Some(_) => self.revisions.insert(write.key, next),
                None => match self.revisions.remove(&write.key) {
                    None => continue,
                    known => known,
                },
            };
            self.revision = next;
            self.bytes += length(write);
            self.changes.push_back(Change {
                revision: next,
                write: write.clone(),
            });
        }
        while self.changes.len() > MAX_CHANGES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.changes.front().map(|change| change.revision) else {
                break;
            };
            self.forget(oldest);
        }
        self.revision
    }

    /// Forgets the changes up to a revision.
    pub fn forget(&mut self, upto: Revision) {
        self.forgotten = self.forgotten.max(upto.min(self.revision));
        while let Some(change) = self.changes.front()
            && change.revision <= upto
        {
            self.bytes -= length(&change.write);
            self.changes.pop_front();
        }
    }

    /// Returns what has changed after a revision.
    #[must_use]
    pub fn after(&self, revision: Revision) -> Changes {
        if revision < self.forgotten || revision > self.revision {
            return Changes::Lost;
        }
        let first = self.changes.partition_point(|it| it.revision <= revision);
        Changes::Known(self.changes.range(first..).cloned().collect())
    }
}

fn length(write: &StoreWrite) -> usize {
    write.value.as_ref().map_or(0, Vec::len)
}
