//! One of several instances: whether it leads, and when it takes over.
//!
//! It knows from the store who the others are and in which epoch the office is held, and
//! from [`Keepalive`]s who lives. It claims the office
//!
//! - at once if nobody has it, its holder says that it goes, or nobody listens any more
//!   where the holder did;
//! - after [`SILENCE`] if the holder says nothing, or that it does not lead; but not while
//!   another instance hears it, unless its lease has ended as well.
//!
//! Of several that could, the one with the lowest number is first, by [`STAGGER`]. Who was
//! replaced while it led does not take the office back because of a silence, for [`GRUDGE`]:
//! two instances that do not hear each other, and both reach the store, would take it from
//! each other for ever.
//!
//! Who leads has the store confirm it every [`CONFIRM_INTERVAL`]. After [`DOUBT`] without
//! that it says that it leads no more, so that another one may that reaches the store; after
//! [`TERM`] it gives up its switches, wherever the others are.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use units::{Duration, Instant};

use crate::store::Epoch;

use super::{Done, Keepalive, Member, MemberId, Task};

pub const KEEPALIVE_INTERVAL: Duration = Duration::from_ms(50);
/// After so long an instance that says nothing is taken to be gone.
pub const SILENCE: Duration = Duration::from_ms(200);
/// How often the store is asked whether all is as it was.
pub const CONFIRM_INTERVAL: Duration = Duration::from_ms(500);
/// For so long a sequencer that the store does not answer says that it leads.
const DOUBT: Duration = Duration::from_ms(1_500);
/// And for so long it is the master of its switches.
pub const TERM: Duration = Duration::from_secs(5);
/// How long the record of an instance stays that nobody renews.
pub const LEASE: Duration = Duration::from_secs(5);
/// How long a store that failed is left alone.
const RETRY_INTERVAL: Duration = Duration::from_ms(200);
const STAGGER: Duration = Duration::from_ms(40);
const GRUDGE: Duration = Duration::from_secs(30);
/// The most other instances.
const MAX_CONTACTS: usize = 32;

/// What an instance is told before it starts.
#[derive(Clone, Debug)]
pub struct Terms {
    pub id: MemberId,
    pub member: Member,
    /// What instances know, and nobody else.
    pub key: [u8; 16],
}

/// What an instance may be told.
#[derive(Debug)]
pub enum Input<'a> {
    /// A datagram has come.
    Received(&'a [u8]),
    /// Nobody listens at this address.
    Refused(SocketAddr),
    /// The task is done that it gave last.
    Done(Done),
    /// A write has found the office held in this epoch, by another one.
    Replaced(Epoch),
    /// A switch knows this term: as [`Controller::later_term`](crate::Controller::later_term).
    Later(u64),
    /// It is to go.
    Leave,
    /// Nothing happened, but [`Instance::deadline`] has come.
    Timeout,
}

/// What an instance asks of its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Send {
        to: SocketAddr,
        bytes: Vec<u8>,
    },
    /// To be done by the [`Clerk`](super::Clerk); there is one at a time. A controller that
    /// begins to lead by it is told by the driver, before anybody else.
    Task(Task),
    /// Whoever leads in this epoch does no more: its controller ends, with all its
    /// connections, and another one stands by.
    StandDown(Epoch),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Standby,
    Leads {
        epoch: Epoch,
        /// When the store was asked that has last said so.
        confirmed_at: Instant,
    },
    Gone,
}

/// What was heard of another instance.
#[derive(Clone, Copy, Debug)]
struct Contact {
    address: SocketAddr,
    heard_at: Instant,
    /// How many it had said before what it said last.
    count: u64,
    /// When it last said that it leads.
    led_at: Option<Instant>,
    hears: Option<MemberId>,
    is_leaving: bool,
    is_refused: bool,
}

/// What is known of the cluster, for people and for who forwards requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the epoch in which this instance leads.
    pub leads: Option<u64>,
    /// The number of the epoch in force, as far as it is known.
    pub epoch: Option<u64>,
    /// Sorted by number.
    pub members: Vec<MemberReport>,
    /// How often this instance began to lead.
    pub claims: u64,
}

/// What is known of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberReport {
    pub member: Member,
    pub is_this: bool,
    /// Whether it holds the office, and has just said that it leads.
    pub is_sequencer: bool,
    /// Whether it lives, as far as is heard.
    pub is_heard: bool,
}

impl Report {
    /// Returns the instance that decides, if one is known that lives.
    #[must_use]
    pub fn sequencer(&self) -> Option<&MemberReport> {
        let mut members = self.members.iter();
        members.find(|it| it.is_sequencer && it.is_heard)
    }
}

/// An instance. Knows no clock, no socket and no store.
#[derive(Debug)]
pub struct Instance {
    terms: Terms,
    now: Instant,
    role: Role,
    members: BTreeMap<MemberId, Member>,
    contacts: BTreeMap<MemberId, Contact>,
    /// The epoch in force, and since when it is known.
    in_force: (Option<Epoch>, Instant),
    /// Whether the store has told who has the office.
    knows_office: bool,
    /// A later term than ours that a switch knows.
    later: u64,
    grudge_until: Instant,
    /// When the task was given that is under way.
    asked_at: Option<Instant>,
    attend_at: Instant,
    claim_at: Option<Instant>,
    retry_at: Instant,
    keepalive_at: Instant,
    is_struck: bool,
    said: u64,
    claims: u64,
    outputs: VecDeque<Output>,
}

impl Instance {
    #[must_use]
    pub fn new(now: Instant, terms: Terms) -> Self {
        Self {
            terms,
            now,
            role: Role::Standby,
            members: BTreeMap::new(),
            contacts: BTreeMap::new(),
            in_force: (None, now),
            knows_office: false,
            later: 0,
            grudge_until: now,
            asked_at: None,
            attend_at: now,
            claim_at: None,
            retry_at: now,
            keepalive_at: now,
            is_struck: false,
            said: 0,
            claims: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Takes one input, at the time it happened.
    ///
    /// # Panics
    ///
    /// If `now` is earlier than in an earlier call.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        assert!(now >= self.now, "time ran backwards");
        self.now = now;
        match input {
            Input::Received(bytes) => {
                if let Some(keepalive) = Keepalive::from_bytes(self.terms.key, bytes) {
                    self.hear(&keepalive);
                }
            }
            Input::Refused(address) => {
                let contacts = self.contacts.values_mut();
                contacts
                    .filter(|it| it.address == address)
                    .for_each(|it| it.is_refused = true);
            }
            Input::Done(done) => self.done(done),
            Input::Replaced(by) => {
                self.know(Some(by));
                self.replaced();
            }
            Input::Later(term) => self.later = self.later.max(term),
            Input::Leave => {
                self.stand_down();
                self.role = Role::Gone;
                self.keepalive_at = now;
            }
            Input::Timeout => {}
        }
        self.act();
    }

    /// Returns the next thing to do, or `None` once all is done.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns when to call [`handle`](Self::handle) if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let mut at = self.keepalive_at;
        if let Role::Leads { confirmed_at, .. } = self.role {
            at = at.min(confirmed_at + TERM);
        }
        if self.asked_at.is_none() && self.role != Role::Gone {
            at = at.min(self.attend_at);
            if let Some(claim_at) = self.claim_at {
                at = at.min(claim_at.max(self.retry_at));
            }
        }
        at
    }

    /// Returns the epoch in which it leads.
    #[must_use]
    pub const fn leads(&self) -> Option<Epoch> {
        match self.role {
            Role::Leads { epoch, .. } => Some(epoch),
            Role::Standby | Role::Gone => None,
        }
    }

    /// Returns what is known of the cluster.
    #[must_use]
    pub fn report(&self) -> Report {
        let holder = self.holder();
        let members = self.members.iter().map(|(id, member)| {
            let is_this = *id == self.terms.id;
            let is_sequencer = match is_this {
                true => self.leads().is_some(),
                false => holder == Some(*id) && self.is_heard_to_lead(*id),
            };
            let contact = self.contacts.get(id);
            MemberReport {
                member: member.clone(),
                is_this,
                is_sequencer,
                is_heard: is_this || contact.is_some_and(|it| self.lives(it)),
            }
        });
        Report {
            leads: self.leads().map(|epoch| epoch.number),
            epoch: self.in_force.0.map(|epoch| epoch.number),
            members: members.collect(),
            claims: self.claims,
        }
    }

    fn holder(&self) -> Option<MemberId> {
        let (epoch, _) = self.in_force;
        epoch.map(|epoch| MemberId::of_holder(epoch.holder))
    }

    fn lives(&self, contact: &Contact) -> bool {
        !contact.is_leaving && self.now < contact.heard_at + SILENCE
    }

    fn hear(&mut self, said: &Keepalive) {
        let is_known = self.contacts.contains_key(&said.from);
        let is_late = |it: &Contact| said.count <= it.count;
        if said.from == self.terms.id
            || self.contacts.get(&said.from).is_some_and(is_late)
            || !is_known && self.contacts.len() >= MAX_CONTACTS
        {
            return;
        }
        let led_at = match said.leads {
            Some(_) => Some(self.now),
            None => self.contacts.get(&said.from).and_then(|it| it.led_at),
        };
        let contact = Contact {
            address: said.address,
            heard_at: self.now,
            count: said.count,
            led_at,
            hears: said.hears,
            is_leaving: said.is_leaving,
            is_refused: false,
        };
        self.contacts.insert(said.from, contact);
        if !is_known {
            // It knows us as little, and may wait for a sign of life of the sequencer.
            self.say_to(contact.address);
        }
        let (in_force, _) = self.in_force;
        let is_news = said.leads > in_force.map(|epoch| epoch.number);
        if said.leads.is_some() && is_news {
            self.attend_at = self.now;
            if self.leads().is_some() {
                self.replaced();
            }
        }
    }

    /// Gives up the office because another one has it.
    fn replaced(&mut self) {
        if self.leads().is_some() {
            self.grudge_until = self.now + GRUDGE;
            self.stand_down();
        }
    }

    fn stand_down(&mut self) {
        if let Role::Leads { epoch, .. } = self.role {
            self.role = Role::Standby;
            self.outputs.push_back(Output::StandDown(epoch));
            self.attend_at = self.now;
            self.keepalive_at = self.now;
        }
    }

    fn done(&mut self, done: Done) {
        let asked_at = self.asked_at.take().unwrap_or(self.now);
        self.attend_at = self.now + CONFIRM_INTERVAL;
        match done {
            Done::Attended { members, epoch } => {
                self.knows_office = true;
                self.contacts.retain(|id, contact| {
                    members.contains_key(id) || self.now < contact.heard_at + LEASE
                });
                self.members = members;
                self.know(epoch);
                if let (Role::Leads { .. }, Some(epoch)) = (self.role, epoch) {
                    self.role = Role::Leads {
                        epoch,
                        confirmed_at: asked_at,
                    };
                }
            }
            Done::Claimed { epoch, .. } | Done::Raised { epoch, .. } => {
                self.know(Some(epoch));
                self.claim_at = None;
                self.keepalive_at = self.now;
                let is_new = matches!(done, Done::Claimed { .. });
                match self.role {
                    Role::Standby if is_new => self.claims += 1,
                    Role::Leads { .. } => {}
                    // It gave it up meanwhile.
                    Role::Standby | Role::Gone => {
                        self.outputs.push_back(Output::StandDown(epoch));
                        return;
                    }
                }
                self.role = Role::Leads {
                    epoch,
                    confirmed_at: asked_at,
                };
            }
            Done::Lost { by, .. } => {
                self.know(Some(by));
                self.replaced();
                self.claim_at = None;
                // Where the other one is, its record says.
                self.attend_at = self.now;
            }
            Done::Failed { .. } => {
                self.retry_at = self.now + RETRY_INTERVAL;
                self.attend_at = self.retry_at;
            }
            Done::Struck => {}
        }
    }

    fn know(&mut self, epoch: Option<Epoch>) {
        if self.in_force.0 != epoch {
            self.in_force = (epoch, self.now);
        }
    }

    fn act(&mut self) {
        if let Role::Leads { confirmed_at, .. } = self.role
            && self.now >= confirmed_at + TERM
        {
            self.stand_down();
        }
        match self.role {
            Role::Standby if self.is_office_free() => {
                let wait = STAGGER * self.rank();
                self.claim_at.get_or_insert(self.now + wait);
            }
            Role::Standby | Role::Leads { .. } | Role::Gone => self.claim_at = None,
        }
        if self.asked_at.is_none()
            && let Some(task) = self.next_task()
        {
            self.asked_at = Some(self.now);
            self.outputs.push_back(Output::Task(task));
        }
        if self.now >= self.keepalive_at {
            self.keepalive_at = self.now + KEEPALIVE_INTERVAL;
            self.say_to_all();
        }
    }

    fn next_task(&mut self) -> Option<Task> {
        match self.role {
            Role::Gone if !self.is_struck => {
                self.is_struck = true;
                return Some(Task::Strike);
            }
            Role::Gone => return None,
            Role::Leads { epoch, .. }
                if self.later >= epoch.number && self.now >= self.retry_at =>
            {
                return Some(Task::Raise { above: self.later });
            }
            Role::Leads { .. } | Role::Standby => {}
        }
        let is_due = |at: &Instant| self.now >= *at && self.now >= self.retry_at;
        if self.claim_at.as_ref().is_some_and(is_due) {
            let (from, above) = (self.in_force.0, self.later);
            return Some(Task::Claim { from, above });
        }
        (self.now >= self.attend_at).then_some(Task::Attend)
    }

    /// Tells whether the office may be claimed.
    fn is_office_free(&self) -> bool {
        let (Some(epoch), known_since) = self.in_force else {
            return self.knows_office;
        };
        let holder = MemberId::of_holder(epoch.holder);
        if holder == self.terms.id {
            return true;
        }
        let contact = self.contacts.get(&holder);
        if let Some(contact) = contact {
            let is_late = self.now >= contact.heard_at + KEEPALIVE_INTERVAL * 2u64;
            if contact.is_leaving || contact.is_refused && is_late {
                return true;
            }
        }
        if self.now < known_since + SILENCE || self.is_heard_to_lead(holder) {
            return false;
        }
        let hears = |it: &Contact| it.hears == Some(holder) && self.lives(it);
        let is_heard = self.contacts.values().any(hears);
        let is_held_against_us = is_heard || self.now < self.grudge_until;
        !(self.members.contains_key(&holder) && is_held_against_us)
    }

    /// Tells whether an instance has just said that it leads.
    fn is_heard_to_lead(&self, holder: MemberId) -> bool {
        let led_at = self.contacts.get(&holder).and_then(|it| it.led_at);
        led_at.is_some_and(|at| self.now < at + SILENCE)
    }

    /// Returns how many go before it when the office is free.
    fn rank(&self) -> u64 {
        let holder = self.holder();
        let before = self.contacts.iter().filter(|(id, contact)| {
            **id < self.terms.id && Some(**id) != holder && self.lives(contact)
        });
        before.count() as u64
    }

    fn say_to_all(&mut self) {
        let members = self.members.iter();
        let others = members.filter(|(id, _)| **id != self.terms.id);
        let mut addresses: Vec<_> = others.map(|(_, member)| member.address).collect();
        addresses.extend(self.contacts.values().map(|it| it.address));
        addresses.sort_unstable();
        addresses.dedup();
        for address in addresses {
            self.say_to(address);
        }
    }

    fn say_to(&mut self, to: SocketAddr) {
        self.said += 1;
        let leads = match self.role {
            Role::Leads {
                epoch,
                confirmed_at,
            } if self.now < confirmed_at + DOUBT => Some(epoch.number),
            Role::Leads { .. } | Role::Standby | Role::Gone => None,
        };
        let heard = self.holder().filter(|it| self.is_heard_to_lead(*it));
        let keepalive = Keepalive {
            from: self.terms.id,
            count: self.said,
            leads,
            hears: heard,
            address: self.terms.member.address,
            is_leaving: self.role == Role::Gone,
        };
        let bytes = keepalive.to_bytes(self.terms.key);
        self.outputs.push_back(Output::Send { to, bytes });
    }
}
