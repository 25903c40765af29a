//! What a store is asked for, and what it answers.

use std::collections::BTreeSet;

use thiserror::Error;
use units::Duration;

use super::{Key, MAX_VALUE_LENGTH, StoreWrite};

/// The most conditions, and the most writes, of a transaction: etcd's own limit.
pub const MAX_OPERATIONS: usize = 128;
/// The most bytes of all writes of a transaction; etcd takes 1.5 MiB with all around them.
pub const MAX_TRANSACTION_LENGTH: usize = MAX_VALUE_LENGTH + MAX_VALUE_LENGTH / 4;

/// A state of the store. Each transaction that changes something leads to a higher one;
/// only a store that was restored from a backup goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// What one instance at a time holds, such as the right to admit flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Office(pub u64);

impl Office {
    /// Whoever decides about admissions.
    pub const SEQUENCER: Self = Self(0);
}

/// One term of an office. Numbers grow; after a backup was restored one may come
/// again, but with another holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    pub number: u64,
    /// Who holds the office: a number that no two instances, and no two lives of one, share.
    pub holder: u64,
}

impl Epoch {
    /// Returns the epoch as a store keeps it.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        [self.number.to_be_bytes(), self.holder.to_be_bytes()].concat()
    }

    /// Returns the epoch that a store kept as `bytes`, or `None` if it is none.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (number, holder) = bytes.split_first_chunk()?;
        Some(Self {
            number: u64::from_be_bytes(*number),
            holder: u64::from_be_bytes(holder.try_into().ok()?),
        })
    }
}

/// In whose name a transaction is made: it is void unless just this epoch is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub office: Office,
    pub epoch: Epoch,
}

/// What a transaction rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub key: Key,
    /// The revision at which the record was written last; none if there must be no record.
    pub revision: Option<Revision>,
}

/// Changes that are made together, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    pub fence: Option<Fence>,
    pub conditions: Vec<Condition>,
    /// Each key once.
    pub writes: Vec<StoreWrite>,
    /// How long its only write stays unless it is [renewed](super::Store::renew): each record
    /// has a lease of its own, since a watcher may miss some of those that go together.
    pub lease: Option<Duration>,
}

impl Transaction {
    /// Returns the transaction that takes an office for an epoch, if the record of the
    /// last one is `found` still as it was.
    #[must_use]
    pub fn claim(fence: Fence, found: Option<Revision>) -> Self {
        let key = Key::Epoch(fence.office);
        Self {
            conditions: vec![Condition {
                key,
                revision: found,
            }],
            writes: vec![StoreWrite {
                key,
                value: Some(fence.epoch.to_bytes()),
            }],
            ..Self::default()
        }
    }

    /// Puts changes, in order, into as few transactions as they fit in. Changes that no
    /// transaction holds are in one of their own, which a store refuses.
    #[must_use]
    pub fn batches(writes: Vec<StoreWrite>, fence: Option<Fence>) -> Vec<Self> {
        let mut batches: Vec<Self> = Vec::new();
        let (mut keys, mut length) = (BTreeSet::new(), 0);
        for write in writes {
            let added = length_of(&write);
            let fits = keys.len() < MAX_OPERATIONS && length + added <= MAX_TRANSACTION_LENGTH;
            match batches.last_mut() {
                Some(batch) if fits && keys.insert(write.key) => {
                    length += added;
                    batch.writes.push(write);
                }
                _ => {
                    keys = BTreeSet::from([write.key]);
                    length = added;
                    batches.push(Self {
                        fence,
                        writes: vec![write],
                        ..Self::default()
                    });
                }
            }
        }
        batches
    }

    /// Says why no store takes the transaction, whatever is in it; nothing if one does.
    #[must_use]
    pub fn fault(&self) -> Option<Invalid> {
        let conditions = self.conditions.len() + usize::from(self.fence.is_some());
        let operations = self.writes.len().max(conditions);
        if operations > MAX_OPERATIONS {
            return Some(Invalid::Operations(operations));
        }
        let mut length = 0;
        let mut keys = BTreeSet::new();
        for write in &self.writes {
            if !keys.insert(write.key) {
                return Some(Invalid::Twice(write.key));
            }
            let value = write.value.as_ref().map_or(0, Vec::len);
            if value > MAX_VALUE_LENGTH {
                return Some(Invalid::Value(value));
            }
            length += length_of(write);
        }
        if length > MAX_TRANSACTION_LENGTH {
            return Some(Invalid::Length(length));
        }
        let leased = self.lease.is_none() || self.writes.len() == 1;
        (!leased).then_some(Invalid::Lease)
    }
}

fn length_of(write: &StoreWrite) -> usize {
    write.key.to_bytes().len() + write.value.as_ref().map_or(0, Vec::len)
}

/// What came of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<E> {
    /// It is durable, and has led to this revision.
    Committed(Revision),
    /// It was not applied and never will be: something stands against it.
    Refused(Refusal),
    /// It was not applied and never will be: the store does not work.
    Failed(E),
    /// It may have been applied, or may be even later. Who has to know claims the
    /// office anew, after which it is not applied any more, and reads.
    Unknown(E),
}

/// What stands against a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Another epoch is in force, or none.
    #[error("another epoch is in force: {found:?}")]
    Fenced {
        /// That one.
        found: Option<Epoch>,
    },
    /// These are not as the conditions say.
    #[error("{} records are not as they were", .0.len())]
    Differs(Vec<Found>),
    /// No store would take it.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Why no store takes a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Invalid {
    /// It has more conditions or writes than it may.
    #[error("a transaction of {0} operations: at most {MAX_OPERATIONS} are made together")]
    Operations(usize),
    /// It is longer than it may be.
    #[error("a transaction of {0} bytes: at most {MAX_TRANSACTION_LENGTH} are made together")]
    Length(usize),
    /// A record is longer than it may be.
    #[error("a record of {0} bytes: at most {MAX_VALUE_LENGTH} are kept")]
    Value(usize),
    /// A key is written twice.
    #[error("{0:?} is written twice in one transaction")]
    Twice(Key),
    /// A lease covers another number of records than one.
    #[error("a lease covers one record")]
    Lease,
}

/// What there is of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub key: Key,
    pub record: Option<Record>,
}

/// A record as it is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub key: Key,
    /// When it was written last.
    pub revision: Revision,
    pub value: Vec<u8>,
}

impl From<Record> for StoreWrite {
    fn from(record: Record) -> Self {
        Self {
            key: record.key,
            value: Some(record.value),
        }
    }
}

/// All records at one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub revision: Revision,
    /// Sorted by key.
    pub records: Vec<Record>,
}

impl Snapshot {
    /// Returns the record of a key.
    #[must_use]
    pub fn record(&self, key: Key) -> Option<&Record> {
        let at = self.records.binary_search_by_key(&key, |it| it.key).ok()?;
        self.records.get(at)
    }
}

/// A change that led to a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub revision: Revision,
    pub write: StoreWrite,
}

/// What is known to have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// These, the oldest first; those of one revision are told together.
    Known(Vec<Change>),
    /// More than is remembered, or the store is another one than it was: take a snapshot.
    Lost,
}

/// What is left of a record's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It runs anew.
    Renewed,
    /// The record has none, or is gone.
    Gone,
}
