//! Makes changes of which it is known in the end whether they were made, whatever the
//! store answers.
//!
//! A store that is shared may leave a transaction unanswered and apply it later. So
//! changes are made in an [`Office`]. Where an answer is missing the office is claimed
//! anew, which makes void what is still under way, and then what the store holds says
//! whether the transaction was applied. Whoever finds the epoch of another was replaced,
//! and changes nothing more. Whoever finds an epoch before its own, or records that are
//! not as it left them, stands before a store that was restored from a backup, and puts
//! back what is missing in it: it has been promised.

use std::fmt::Display;

use thiserror::Error;

use super::{
    Epoch, Fence, Key, Office, Outcome, Refusal, Replica, Snapshot, Store, StoreEvent, StoreWrite,
    Transaction,
};

/// How often an office is claimed in a row while others claim it as well.
const CLAIMS: usize = 4;

/// Why changes are not made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble<E: Display> {
    /// The store does not work.
    #[error("{0}")]
    Store(E),
    /// The store takes no such change.
    #[error(transparent)]
    Refused(Refusal),
    /// Another instance decides from now on.
    #[error("another controller has taken over (epoch {})", .by.number)]
    Replaced {
        /// Its epoch.
        by: Epoch,
    },
}

/// From whom an office is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeOver {
    FromAnybody,
    FromOurselves,
    /// From the instance that held it in this epoch, or from nobody; not from another one
    /// that was quicker.
    From(Option<Epoch>),
}

/// Writes for one instance, in an office if the store is shared.
#[derive(Debug)]
pub struct ExactWriter<S> {
    store: S,
    holder: u64,
    /// None if the office has to be claimed first.
    fence: Option<Fence>,
    /// Who has it for good.
    replaced: Option<Epoch>,
    /// The last epoch that was asked for, and the last one that was had.
    asked: u64,
    held: u64,
    /// What the store holds, if it is shared.
    replica: Replica,
    /// Changes that may have been made.
    doubtful: Vec<StoreWrite>,
}

impl<S: Store> ExactWriter<S>
where
    S::Error: Display,
{
    /// Returns a writer that holds nothing yet. No two writers, and no two lives of one,
    /// have the same number as `holder`.
    #[must_use]
    pub fn new(store: S, holder: u64) -> Self {
        Self {
            store,
            holder,
            fence: None,
            replaced: None,
            asked: 0,
            held: 0,
            replica: Replica::default(),
            doubtful: Vec::new(),
        }
    }

    /// Returns a writer for another life, which holds nothing either.
    #[must_use]
    pub fn anew(self, holder: u64) -> Self {
        Self::new(self.store, holder)
    }

    /// Returns the store, to read what others write in it.
    pub fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// Returns the epoch in which the office is held.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.fence.map(|fence| fence.epoch)
    }

    /// Has the next epoch that is asked for be beyond a number.
    pub fn ask_above(&mut self, number: u64) {
        self.asked = self.asked.max(number);
    }

    /// Claims the office, which it holds, anew for an epoch beyond a number. Says what came
    /// of changes that were in doubt, and why it is not held if it is not.
    pub fn raise(&mut self, above: u64) -> (Vec<StoreEvent>, Option<Trouble<S::Error>>) {
        self.ask_above(above);
        self.fence = None;
        let mut events = Vec::new();
        let trouble = self.settle(&mut events).err();
        (events, trouble)
    }

    /// Returns all records, which from then on only this writer changes.
    ///
    /// # Errors
    ///
    /// If the office cannot be had, or nothing can be read.
    pub fn start(&mut self, take_over: TakeOver) -> Result<Vec<StoreWrite>, Trouble<S::Error>> {
        if !S::SHARED {
            let snapshot = self.snapshot()?;
            return Ok(snapshot.records.into_iter().map(StoreWrite::from).collect());
        }
        let fence = self.claim(take_over)?;
        let snapshot = self.snapshot()?;
        self.fence = Some(fence);
        let mut records = self.replica.audit(snapshot);
        records.retain(|write| is_of_the_network(write.key));
        Ok(records)
    }

    /// Makes changes, in order, and says what came of them and what the trouble is, if
    /// there is any; without changes, whether they could be made. A change that has no event
    /// yet gets one from a later call.
    pub fn write(
        &mut self,
        writes: Vec<StoreWrite>,
    ) -> (Vec<StoreEvent>, Option<Trouble<S::Error>>) {
        let mut events = Vec::new();
        let mut trouble = self.settle(&mut events).err();
        let mut transactions = Transaction::batches(writes, None);
        if transactions.is_empty() {
            transactions.push(Transaction::default());
        }
        for mut transaction in transactions {
            if trouble.is_none() {
                transaction.fence = self.fence;
                trouble = self.make(transaction, &mut events).err();
            } else {
                events.extend(rejections(transaction.writes));
            }
        }
        (events, trouble)
    }

    /// Writes the office that it holds once more: a store that is full answers all that
    /// changes nothing. Returns the trouble if it cannot be written.
    pub fn try_out(&mut self) -> Option<Trouble<S::Error>> {
        // Without an office it is claimed first, by writing it.
        let fence = self.fence?;
        let office = StoreWrite {
            key: Key::Epoch(fence.office),
            value: Some(fence.epoch.to_bytes()),
        };
        let transaction = Transaction {
            writes: vec![office],
            fence: Some(fence),
            ..Transaction::default()
        };
        match self.store.transact(&transaction) {
            // Who holds it instead is found out by what is written next.
            Outcome::Committed(_) | Outcome::Refused(_) => None,
            Outcome::Failed(error) | Outcome::Unknown(error) => Some(Trouble::Store(error)),
        }
    }

    /// Makes one transaction; each change of it has an event afterwards, or is in doubt.
    fn make(
        &mut self,
        transaction: Transaction,
        events: &mut Vec<StoreEvent>,
    ) -> Result<(), Trouble<S::Error>> {
        let outcome = self.store.transact(&transaction);
        let writes = transaction.writes;
        match outcome {
            Outcome::Committed(revision) => {
                // Only what is written for sure leads on, and all else that is there was
                // written by this instance.
                let known = self.replica.revision();
                let leads_on = writes.iter().any(|write| write.value.is_some());
                if S::SHARED && (revision < known || leads_on && revision == known) {
                    self.fence = None;
                }
                for write in writes {
                    if S::SHARED {
                        self.replica.know(revision, write.clone());
                    }
                    events.push(StoreEvent::Written(write));
                }
            }
            Outcome::Unknown(_) if S::SHARED => {
                self.fence = None;
                self.doubtful = writes;
            }
            Outcome::Refused(Refusal::Fenced { .. }) => {
                self.fence = None;
                events.extend(rejections(writes));
            }
            Outcome::Refused(refusal) => {
                events.extend(rejections(writes));
                return Err(Trouble::Refused(refusal));
            }
            Outcome::Failed(error) | Outcome::Unknown(error) => {
                events.extend(rejections(writes));
                return Err(Trouble::Store(error));
            }
        }
        self.settle(events)
    }

    /// Sees to it that the office is held, that nothing is in doubt, and that the store
    /// holds what it is known to hold.
    fn settle(&mut self, events: &mut Vec<StoreEvent>) -> Result<(), Trouble<S::Error>> {
        if !S::SHARED || self.fence.is_some() {
            return Ok(());
        }
        let claimed = self.claim(TakeOver::FromOurselves);
        if !matches!(claimed, Ok(_) | Err(Trouble::Replaced { .. })) {
            return claimed.map(|_| ());
        }
        // In another epoch nothing that is under way is applied any more.
        let snapshot = self.snapshot()?;
        for write in std::mem::take(&mut self.doubtful) {
            let record = snapshot.record(write.key);
            if record.map(|record| &record.value) == write.value.as_ref() {
                self.replica.know(snapshot.revision, write.clone());
                events.push(StoreEvent::Written(write));
            } else {
                events.push(StoreEvent::Rejected(write.key));
            }
        }
        let fence = claimed?;
        self.put_back(fence, snapshot)?;
        self.fence = Some(fence);
        Ok(())
    }

    /// Gives back to a store that was restored what it held.
    fn put_back(&mut self, fence: Fence, snapshot: Snapshot) -> Result<(), Trouble<S::Error>> {
        let mut restored = Replica::default();
        restored.audit(snapshot.clone());
        let mut missing = restored.audit(self.replica.snapshot());
        missing.retain(|write| is_of_the_network(write.key));
        if missing.is_empty() {
            self.replica.audit(snapshot);
            return Ok(());
        }
        for transaction in Transaction::batches(missing, Some(fence)) {
            match self.store.transact(&transaction) {
                Outcome::Committed(_) => {}
                Outcome::Refused(refusal) => return Err(Trouble::Refused(refusal)),
                Outcome::Failed(error) | Outcome::Unknown(error) => {
                    return Err(Trouble::Store(error));
                }
            }
        }
        let snapshot = self.snapshot()?;
        self.replica.audit(snapshot);
        Ok(())
    }

    /// Claims the office for a new epoch.
    fn claim(&mut self, take_over: TakeOver) -> Result<Fence, Trouble<S::Error>> {
        if let Some(by) = self.replaced {
            return Err(Trouble::Replaced { by });
        }
        let mut refusal = Refusal::Fenced { found: None };
        let mut found = None;
        for _ in 0..CLAIMS {
            self.asked += 1;
            let fence = Fence {
                office: Office::SEQUENCER,
                epoch: Epoch {
                    number: self.asked,
                    holder: self.holder,
                },
            };
            match self.store.transact(&Transaction::claim(fence, found)) {
                Outcome::Committed(_) => {
                    self.held = self.asked;
                    return Ok(fence);
                }
                Outcome::Refused(Refusal::Differs(differs)) => {
                    let record = differs.first().and_then(|it| it.record.as_ref());
                    let epoch = record.and_then(|record| Epoch::from_bytes(&record.value));
                    found = record.map(|record| record.revision);
                    if let Some(epoch) = epoch {
                        self.judge(epoch, take_over)?;
                    }
                    refusal = Refusal::Differs(differs);
                }
                Outcome::Refused(other) => return Err(Trouble::Refused(other)),
                Outcome::Failed(error) | Outcome::Unknown(error) => {
                    return Err(Trouble::Store(error));
                }
            }
        }
        Err(Trouble::Refused(refusal))
    }

    /// Looks at the epoch that is in force.
    fn judge(&mut self, found: Epoch, take_over: TakeOver) -> Result<(), Trouble<S::Error>> {
        let is_anothers = found.holder != self.holder;
        let is_lost = match take_over {
            TakeOver::FromAnybody => false,
            TakeOver::FromOurselves => is_anothers && found.number >= self.held,
            TakeOver::From(expected) => is_anothers && Some(found) != expected,
        };
        if is_lost {
            self.replaced = Some(found);
            return Err(Trouble::Replaced { by: found });
        }
        self.asked = self.asked.max(found.number);
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, Trouble<S::Error>> {
        self.store.snapshot().map_err(Trouble::Store)
    }
}

/// Tells whether a record is one of those that the holder of the office alone writes.
fn is_of_the_network(key: Key) -> bool {
    !matches!(key, Key::Epoch(_) | Key::Instance(_))
}

fn rejections(writes: Vec<StoreWrite>) -> impl Iterator<Item = StoreEvent> {
    writes
        .into_iter()
        .map(|write| StoreEvent::Rejected(write.key))
}
