//! One instance in virtual time: its controller, its place in the cluster and its hand at
//! the store, as the threads of a program hold them together.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use controller::cluster::{Clerk, Done, Input, Instance, Member, MemberId, Task, Terms};
use controller::store::{Epoch, StoreEvent, StoreWrite, Trouble};
use controller::{Config, ConnectionId, Controller};
use sim::faulty_store::FaultyStore;
use sim::world::Line;
use units::Instant;

const KEY: [u8; 16] = *b"what members say";

/// What is asked for at the store.
#[derive(Clone, Debug)]
pub enum Work {
    Write(StoreWrite),
    Task(Task),
}

/// What comes back from there.
#[derive(Clone, Debug)]
pub enum Kept {
    Event(StoreEvent),
    Leads(Epoch, bool),
    /// For the instance.
    Done(Done),
    Replaced(Epoch),
}

/// An instance that runs.
pub struct Staff {
    pub config: Config,
    pub controller: Controller,
    pub instance: Instance,
    pub clerk: Clerk<FaultyStore>,
    pub store: FaultyStore,
    pub id: MemberId,
    pub leads: Option<Epoch>,
    pub later: Option<u64>,
    /// Its connections to switches, and those that were begun.
    pub lines: BTreeMap<ConnectionId, Line>,
    pub next_connection: u64,
    /// What waits for the store, and whether something is under way there.
    pub work: VecDeque<Work>,
    pub is_at_store: bool,
    /// Until when it is stopped.
    pub paused_until: Instant,
    pub renewed_at: Instant,
    /// Until when it does not reach the store.
    pub cut_until: Instant,
}

impl Staff {
    pub fn start(
        now: Instant,
        place: usize,
        random: u64,
        config: Config,
        store: FaultyStore,
    ) -> Self {
        let id = MemberId::new(random | 1 << 63);
        let address = SocketAddr::from(([10, 0, 0, 1], u16::try_from(place).unwrap()));
        let member = Member {
            name: format!("instance-{place}"),
            address,
            url: String::new(),
            options: 0,
        };
        let terms = Terms {
            id,
            member: member.clone(),
            key: KEY,
        };
        Self {
            controller: Controller::stand_by(now, config.clone()),
            config,
            instance: Instance::new(now, terms),
            clerk: Clerk::new(store.clone(), id, &member),
            store,
            id,
            leads: None,
            later: None,
            lines: BTreeMap::new(),
            next_connection: 0,
            work: VecDeque::new(),
            is_at_store: false,
            paused_until: now,
            renewed_at: now,
            cut_until: now,
        }
    }

    /// Does at the store what is asked for next, writes together, and returns what comes
    /// back.
    pub fn work(&mut self, now: Instant) -> Vec<Kept> {
        let mut writes = Vec::new();
        let mut task = None;
        while let Some(next) = self.work.pop_front() {
            match next {
                Work::Write(write) => writes.push(write),
                Work::Task(next) => {
                    task = Some(next);
                    break;
                }
            }
        }
        let mut back = Vec::new();
        if !writes.is_empty() {
            let (events, trouble) = self.clerk.write(writes);
            back.extend(events.into_iter().map(Kept::Event));
            if let Some(Trouble::Replaced { by }) = trouble {
                back.push(Kept::Replaced(by));
            }
        }
        if let Some(task) = task {
            let done = self.clerk.attend(task);
            if matches!(done, Done::Attended { .. }) {
                self.renewed_at = now;
            }
            back.extend(told(&done));
            back.push(Kept::Done(done));
        }
        back
    }

    pub fn is_stopped(&self, now: Instant) -> bool {
        now < self.paused_until
    }

    /// Takes what time or others say to the instance; what it wants is drained by the world.
    pub fn tell(&mut self, now: Instant, input: Input<'_>) {
        self.instance.handle(now, input);
    }
}

/// Returns what the controller is told of a task that is done.
fn told(done: &Done) -> Vec<Kept> {
    let events =
        |events: &[StoreEvent]| -> Vec<Kept> { events.iter().cloned().map(Kept::Event).collect() };
    match done {
        Done::Claimed { epoch, records } => {
            let written = records.iter().cloned().map(StoreEvent::Written);
            let records = written.chain([StoreEvent::Replayed]).map(Kept::Event);
            [Kept::Leads(*epoch, true)]
                .into_iter()
                .chain(records)
                .collect()
        }
        Done::Raised {
            epoch,
            events: said,
        } => {
            let mut all = events(said);
            all.push(Kept::Leads(*epoch, false));
            all
        }
        Done::Lost { events: said, .. } | Done::Failed { events: said, .. } => events(said),
        Done::Attended { .. } | Done::Struck => Vec::new(),
    }
}
