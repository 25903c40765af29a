//! Does at the store what an instance wants done, and says what came of it.
//!
//! It keeps a copy of what the store holds, which follows changes and is compared with the
//! store from time to time, since changes can be missed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{
    Changes, Epoch, ExactWriter, Key, Lease, Office, Outcome, Replica, Store, StoreEvent,
    StoreWrite, TakeOver, Transaction, Trouble,
};

use super::{LEASE, Member, MemberId};

/// How many times changes are followed between two comparisons.
const ATTENDANCES_BETWEEN_AUDITS: u32 = 64;

/// What an instance wants done at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// See that its record is there, look who else is, and whether the office is still held.
    Attend,
    /// Take the office from whoever held it in this epoch, for one beyond a number.
    Claim { from: Option<Epoch>, above: u64 },
    /// Take the office, which it holds, for an epoch beyond a number.
    Raise { above: u64 },
    /// Remove its record: it goes.
    Strike,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// This is so, and the office is held if it was.
    Attended {
        members: BTreeMap<MemberId, Member>,
        /// The epoch in force.
        epoch: Option<Epoch>,
    },
    /// It has the office. With these records it begins.
    Claimed {
        epoch: Epoch,
        records: Vec<StoreWrite>,
    },
    /// It has it in another epoch; this came of changes that were in doubt.
    Raised {
        epoch: Epoch,
        events: Vec<StoreEvent>,
    },
    /// Another one has it; this came of changes that were in doubt.
    Lost {
        by: Epoch,
        events: Vec<StoreEvent>,
    },
    /// The store does not do it, and says why.
    Failed {
        reason: String,
        events: Vec<StoreEvent>,
    },
    Struck,
}

/// The one hand of an instance at the store.
#[derive(Debug)]
pub struct Clerk<S> {
    /// Always there, but for the moment in which it begins another life.
    writer: Option<ExactWriter<S>>,
    id: MemberId,
    record: Vec<u8>,
    life: u16,
    leads: bool,
    is_enlisted: bool,
    replica: Arc<Mutex<Replica>>,
    attendances: u32,
}

impl<S: Store> Clerk<S>
where
    S::Error: Display,
{
    #[must_use]
    pub fn new(store: S, id: MemberId, member: &Member) -> Self {
        Self {
            writer: Some(ExactWriter::new(store, id.holder(0))),
            id,
            record: member.to_bytes(),
            life: 0,
            leads: false,
            is_enlisted: false,
            replica: Arc::default(),
            attendances: 0,
        }
    }

    /// Returns what is known of the store, whoever leads. It is locked while it is brought
    /// up to date, and not while the store is asked.
    #[must_use]
    pub fn replica(&self) -> Arc<Mutex<Replica>> {
        Arc::clone(&self.replica)
    }

    fn known(&self) -> MutexGuard<'_, Replica> {
        self.replica.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes changes that the controller wants kept, and says what came of them. While
    /// another one leads, nothing does.
    pub fn write(
        &mut self,
        writes: Vec<StoreWrite>,
    ) -> (Vec<StoreEvent>, Option<Trouble<S::Error>>) {
        if !self.leads {
            let rejected = writes.iter().map(|it| StoreEvent::Rejected(it.key));
            return (rejected.collect(), None);
        }
        let (events, trouble) = self.writer().write(writes);
        self.leads &= !matches!(trouble, Some(Trouble::Replaced { .. }));
        (events, trouble)
    }

    /// Returns why nothing can be written, if this one leads and so writes.
    pub fn try_out(&mut self) -> Option<Trouble<S::Error>> {
        self.leads.then(|| self.writer().try_out()).flatten()
    }

    /// Does what is wanted.
    pub fn attend(&mut self, task: Task) -> Done {
        match task {
            Task::Attend => self.look_after(),
            Task::Claim { from, above } => self.claim(from, above),
            Task::Raise { above } => self.raise(above),
            Task::Strike => self.strike(),
        }
    }

    fn writer(&mut self) -> &mut ExactWriter<S> {
        self.writer.as_mut().expect("it is there between two lives")
    }

    fn look_after(&mut self) -> Done {
        let mut events = Vec::new();
        if self.leads {
            let (told, trouble) = self.writer().write(Vec::new());
            events = told;
            if let Some(trouble) = trouble {
                return self.failed(trouble, events);
            }
        }
        let looked = self.enlist().and_then(|()| self.follow());
        match looked {
            Ok(()) if events.is_empty() => Done::Attended {
                members: self.members(),
                epoch: match self.leads {
                    true => self.writer().epoch(),
                    false => self.epoch(),
                },
            },
            // What was in doubt is told; the next time the rest is.
            Ok(()) => match self.writer().epoch() {
                Some(epoch) => Done::Raised { epoch, events },
                None => Done::Failed {
                    reason: "the office is not held".to_owned(),
                    events,
                },
            },
            Err(reason) => Done::Failed { reason, events },
        }
    }

    fn failed(&mut self, trouble: Trouble<S::Error>, events: Vec<StoreEvent>) -> Done {
        match trouble {
            Trouble::Replaced { by } => {
                self.leads = false;
                Done::Lost { by, events }
            }
            Trouble::Store(_) | Trouble::Refused(_) => Done::Failed {
                reason: trouble.to_string(),
                events,
            },
        }
    }

    /// Renews its record, or writes it again.
    fn enlist(&mut self) -> Result<(), String> {
        let key = Key::Instance(self.id.number());
        if self.is_enlisted {
            match self.writer().store().renew(key) {
                Ok(Lease::Renewed) => return Ok(()),
                Ok(Lease::Gone) => self.is_enlisted = false,
                Err(error) => return Err(error.to_string()),
            }
        }
        let record = StoreWrite {
            key,
            value: Some(self.record.clone()),
        };
        let enlist = Transaction {
            writes: vec![record],
            lease: Some(LEASE),
            ..Transaction::default()
        };
        match self.writer().store().transact(&enlist) {
            Outcome::Committed(_) => {
                self.is_enlisted = true;
                Ok(())
            }
            Outcome::Refused(refusal) => Err(refusal.to_string()),
            Outcome::Failed(error) | Outcome::Unknown(error) => Err(error.to_string()),
        }
    }

    fn strike(&mut self) -> Done {
        let record = StoreWrite {
            key: Key::Instance(self.id.number()),
            value: None,
        };
        let strike = Transaction {
            writes: vec![record],
            ..Transaction::default()
        };
        // Where it stays, it stays no longer than its lease.
        let _ = self.writer().store().transact(&strike);
        self.leads = false;
        Done::Struck
    }

    fn follow(&mut self) -> Result<(), String> {
        let is_due = self.attendances.is_multiple_of(ATTENDANCES_BETWEEN_AUDITS);
        let known = self.known().revision();
        let changes = match is_due {
            true => Changes::Lost,
            false => {
                let changes = self.writer().store().changes(known);
                changes.map_err(|error| error.to_string())?
            }
        };
        match changes {
            Changes::Known(changes) => {
                self.known().follow(changes);
            }
            Changes::Lost => {
                let snapshot = self.writer().store().snapshot();
                let snapshot = snapshot.map_err(|error| error.to_string())?;
                self.known().audit(snapshot);
            }
        }
        self.attendances = self.attendances.wrapping_add(1);
        Ok(())
    }

    fn members(&self) -> BTreeMap<MemberId, Member> {
        let mut members = BTreeMap::new();
        for (key, value) in self.known().records() {
            if let Key::Instance(number) = key
                && let Some(member) = Member::from_bytes(value)
            {
                members.insert(MemberId::new(number), member);
            }
        }
        members
    }

    fn epoch(&self) -> Option<Epoch> {
        let known = self.known();
        let (_, value) = known.record(Key::Epoch(Office::SEQUENCER))?;
        Epoch::from_bytes(value)
    }

    fn claim(&mut self, from: Option<Epoch>, above: u64) -> Done {
        self.leads = false;
        self.life = self.life.wrapping_add(1);
        let holder = self.id.holder(self.life);
        self.writer = self.writer.take().map(|writer| writer.anew(holder));
        let writer = self.writer();
        writer.ask_above(above);
        let claimed = writer.start(TakeOver::From(from));
        let (records, epoch) = match claimed {
            Ok(records) => (records, writer.epoch()),
            Err(trouble) => return self.failed(trouble, Vec::new()),
        };
        self.leads = true;
        match epoch {
            Some(epoch) => Done::Claimed { epoch, records },
            None => Done::Failed {
                reason: "a store that is not shared has no offices".to_owned(),
                events: Vec::new(),
            },
        }
    }

    fn raise(&mut self, above: u64) -> Done {
        let (events, trouble) = self.writer().raise(above);
        match (trouble, self.writer().epoch()) {
            (None, Some(epoch)) => Done::Raised { epoch, events },
            (None, None) => Done::Failed {
                reason: "the office is not held".to_owned(),
                events,
            },
            (Some(trouble), _) => self.failed(trouble, events),
        }
    }
}
