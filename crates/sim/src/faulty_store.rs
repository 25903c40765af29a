//! A store in memory that several instances share, with the faults of real ones, each
//! planted where a test wants it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use controller::store::{
    Changes, Key, Lease, MemoryStore, Outcome, Revision, Snapshot, Store, Transaction,
};

/// How many revisions back a repetition goes.
const REPEATED: u64 = 3;

/// What happens to the next transaction, or to the next changes that are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// It is made, and nobody hears of it.
    AnswerLost,
    /// It is not made, and nobody hears of it.
    RequestLost,
    /// It is given up, and made [later](FaultyStore::deliver_late) if it still may be.
    RequestLate,
    /// The latest change is never told.
    ChangeLost,
    /// Changes that were told come again.
    ChangeRepeated,
}

/// What the store is able to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreHealth {
    #[default]
    Whole,
    /// It can be read, but nothing more is written into it.
    Full,
    /// Nobody can reach it.
    Gone,
}

/// Why a transaction was not made, or is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultyStoreError {
    Unanswered,
    Full,
    Gone,
}

impl std::fmt::Display for FaultyStoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unanswered => "the store gave no answer",
            Self::Full => "the store is full",
            Self::Gone => "the store is gone",
        })
    }
}

#[derive(Debug, Default)]
struct Shared {
    store: MemoryStore,
    health: StoreHealth,
    faults: VecDeque<StoreFault>,
    late: Vec<Transaction>,
    lost: BTreeSet<(Revision, Key)>,
    backup: Option<MemoryStore>,
}

/// The store as an instance reaches it; its clones reach the same one.
#[derive(Clone, Debug, Default)]
pub struct FaultyStore {
    shared: Rc<RefCell<Shared>>,
    /// Whether those who reach it this way cannot.
    is_cut: Rc<Cell<bool>>,
}

impl FaultyStore {
    /// Returns another way to the same store.
    #[must_use]
    pub fn another_way(&self) -> Self {
        Self {
            shared: Rc::clone(&self.shared),
            is_cut: Rc::default(),
        }
    }

    /// Says whether this way leads nowhere.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.set(is_cut);
    }

    fn health(&self) -> StoreHealth {
        match self.is_cut.get() {
            true => StoreHealth::Gone,
            false => self.shared.borrow().health,
        }
    }

    /// Lets a fault happen at the next occasion, behind those that wait for theirs.
    pub fn plant(&self, fault: StoreFault) {
        self.shared.borrow_mut().faults.push_back(fault);
    }

    /// Forgets the faults that still wait for their occasion.
    pub fn mend(&self) {
        let mut shared = self.shared.borrow_mut();
        shared.faults.clear();
        shared.health = StoreHealth::Whole;
    }

    pub fn become_as(&self, health: StoreHealth) {
        self.shared.borrow_mut().health = health;
    }

    /// Makes transactions that were given up, as far as they still may be made.
    pub fn deliver_late(&self) {
        let mut shared = self.shared.borrow_mut();
        for transaction in std::mem::take(&mut shared.late) {
            shared.store.transact(&transaction);
        }
    }

    /// Forgets all changes until now.
    pub fn compact(&self) {
        let mut shared = self.shared.borrow_mut();
        shared.store.compact(Revision(u64::MAX));
    }

    /// Ends a record's lease.
    pub fn expire(&self, key: Key) {
        self.shared.borrow_mut().store.expire(key);
    }

    pub fn back_up(&self) {
        let mut shared = self.shared.borrow_mut();
        shared.backup = Some(shared.store.clone());
    }

    /// Goes back to the backup, and its revision, if there is one.
    pub fn restore(&self) {
        let mut shared = self.shared.borrow_mut();
        if let Some(backup) = shared.backup.clone() {
            shared.store = backup;
            shared.lost.clear();
        }
    }

    /// Returns what is in the store, whatever its health.
    #[must_use]
    pub fn truth(&self) -> Snapshot {
        let Ok(snapshot) = self.shared.borrow_mut().store.snapshot();
        snapshot
    }
}

impl Shared {
    fn take(&mut self, wanted: &[StoreFault]) -> Option<StoreFault> {
        let at = self.faults.iter().position(|it| wanted.contains(it))?;
        self.faults.remove(at)
    }

    fn transact(&mut self, transaction: &Transaction) -> Outcome<FaultyStoreError> {
        let grows = transaction.writes.iter().any(|it| it.value.is_some());
        match self.health {
            StoreHealth::Gone => return Outcome::Failed(FaultyStoreError::Gone),
            StoreHealth::Full if grows => return Outcome::Failed(FaultyStoreError::Full),
            StoreHealth::Full | StoreHealth::Whole => {}
        }
        match self.take(&[
            StoreFault::AnswerLost,
            StoreFault::RequestLost,
            StoreFault::RequestLate,
        ]) {
            Some(StoreFault::RequestLost) => Outcome::Unknown(FaultyStoreError::Unanswered),
            Some(StoreFault::RequestLate) => {
                self.late.push(transaction.clone());
                Outcome::Unknown(FaultyStoreError::Unanswered)
            }
            fault => match (self.store.transact(transaction), fault) {
                (_, Some(_)) => Outcome::Unknown(FaultyStoreError::Unanswered),
                (Outcome::Committed(revision), None) => Outcome::Committed(revision),
                (Outcome::Refused(refusal), None) => Outcome::Refused(refusal),
            },
        }
    }

    fn changes(&mut self, after: Revision) -> Changes {
        let repeated = self.take(&[StoreFault::ChangeRepeated]).is_some();
        let from = match repeated {
            true => Revision(after.0.saturating_sub(REPEATED)),
            false => after,
        };
        let told = match self.store.changes(from) {
            Ok(Changes::Lost) if repeated => self.store.changes(after),
            told => told,
        };
        let Ok(Changes::Known(mut changes)) = told else {
            return Changes::Lost;
        };
        if let Some(last) = changes.last()
            && self.take(&[StoreFault::ChangeLost]).is_some()
        {
            self.lost.insert((last.revision, last.write.key));
        }
        changes.retain(|it| !self.lost.contains(&(it.revision, it.write.key)));
        Changes::Known(changes)
    }
}

impl Store for FaultyStore {
    type Error = FaultyStoreError;

    const SHARED: bool = true;

    fn transact(&mut self, transaction: &Transaction) -> Outcome<FaultyStoreError> {
        match self.is_cut.get() {
            true => Outcome::Failed(FaultyStoreError::Gone),
            false => self.shared.borrow_mut().transact(transaction),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot, FaultyStoreError> {
        match self.health() {
            StoreHealth::Gone => Err(FaultyStoreError::Gone),
            StoreHealth::Full | StoreHealth::Whole => Ok(self.truth()),
        }
    }

    fn changes(&mut self, after: Revision) -> Result<Changes, FaultyStoreError> {
        match self.health() {
            StoreHealth::Gone => Err(FaultyStoreError::Gone),
            StoreHealth::Full | StoreHealth::Whole => Ok(self.shared.borrow_mut().changes(after)),
        }
    }

    fn renew(&mut self, key: Key) -> Result<Lease, FaultyStoreError> {
        match self.health() {
            StoreHealth::Gone => Err(FaultyStoreError::Gone),
            StoreHealth::Full | StoreHealth::Whole => {
                match self.shared.borrow_mut().store.renew(key) {
                    Ok(lease) => Ok(lease),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
