//! What all requests share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use controller::northbound::{Asker, Event, Reply, Request};
use linux::clock::{self, WallTime};
use linux::controller_loop::{Desk, Told};
use wire::openflow::DatapathId;

use super::audit::Audit;
use super::describe::{self, Names};
use super::document::EventKind;
use super::feed::Feed;
use super::gate::Gate;
use super::kept::Kept;
use super::metrics::Meters;
use super::office::Office;
use super::operations;
use super::problem::Problem;

pub type Site = Arc<Inside>;

/// What is behind the interface.
#[derive(Debug)]
pub struct Inside {
    /// Where requests wait for the controller.
    pub office: Office,
    pub feed: Feed,
    pub gate: Gate,
    pub audit: Audit,
    pub meters: Meters,
    /// The file of the controller's store, if there is one.
    pub store: Option<PathBuf>,
    /// What the controller is called.
    pub id: String,
    /// Since when it runs, in nanoseconds since the beginning of 1970.
    pub since_ns: u64,
    pub names: Names,
    pub topology: Kept,
    /// The list of flows, written down.
    pub flows: Kept,
    /// What deadlines leave to spare, written down.
    pub room: Kept,
    /// Held while something is computed that takes long.
    pub computing: tokio::sync::Mutex<()>,
    /// How often something was told or changed.
    changes: AtomicU64,
    /// Whether all that the store kept is known.
    ready: AtomicBool,
    /// Why the store fails, while it does.
    store_fault: Mutex<Option<String>>,
    /// How many changes at once it could not keep.
    store_failures: AtomicU64,
    /// The names of the flows that there are, by their numbers.
    flow_names: Mutex<BTreeMap<u32, String>>,
    /// The switches of which another controller is the master.
    others: Mutex<BTreeSet<DatapathId>>,
}

impl Inside {
    /// Returns what is behind the interface of a controller that is called `id`.
    #[must_use]
    pub fn new(desk: Desk, names: Names, id: String, gate: Gate, audit: Audit) -> Self {
        let operations: Vec<_> = operations::all().iter().map(|it| it.id).collect();
        Self {
            office: Office::new(desk),
            feed: Feed::default(),
            gate,
            audit,
            meters: Meters::new(&operations),
            store: None,
            id,
            since_ns: WallTime::now().as_ns(),
            names,
            topology: Kept::default(),
            flows: Kept::default(),
            room: Kept::default(),
            computing: tokio::sync::Mutex::new(()),
            changes: AtomicU64::new(0),
            ready: AtomicBool::new(false),
            store_fault: Mutex::default(),
            store_failures: AtomicU64::new(0),
            flow_names: Mutex::default(),
            others: Mutex::default(),
        }
    }

    /// Passes on what the controller tells: answers to those who wait, events to
    /// those who watch.
    pub fn take(&self, told: Told) {
        let now = clock::now();
        let (at, what) = match told {
            Told::Reply { id, reply, .. } => return self.office.answer(id, reply),
            Told::Notice { at, notice } => {
                let mut what = self.names.event(&notice);
                self.name_flow(&mut what);
                self.note(&notice);
                (at, what)
            }
            Told::Closed { peer, reason } => {
                let (peer, reason) = (peer.to_string(), describe::why_closed(reason).to_owned());
                (now, EventKind::ConnectionClosed { peer, reason })
            }
            Told::StoreFailed { reason } => {
                self.store_failures.fetch_add(1, Ordering::Relaxed);
                *self.store_fault_slot() = Some(reason.clone());
                (now, EventKind::StoreFailed { reason })
            }
            Told::StoreRecovered => {
                *self.store_fault_slot() = None;
                (now, EventKind::StoreRecovered)
            }
        };
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.feed.publish(describe::unix_ns(at), what);
    }

    fn note(&self, notice: &Event) {
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        match notice {
            Event::Ready => self.ready.store(true, Ordering::Relaxed),
            Event::OtherMaster { datapath } => {
                others().insert(*datapath);
            }
            Event::SwitchConnected { datapath, .. } => {
                others().remove(datapath);
            }
            Event::Admitted { flow, name } => {
                self.flow_names().insert(flow.0, name.clone());
            }
            Event::Withdrawn { flow, .. } => {
                self.flow_names().remove(&flow.0);
            }
            _ => {}
        }
    }

    /// Names the flow that an event is about.
    fn name_flow(&self, what: &mut EventKind) {
        if let Some((flow, name)) = what.unnamed_flow() {
            *name = self.flow_names().get(&flow).cloned();
        }
    }

    fn flow_names(&self) -> MutexGuard<'_, BTreeMap<u32, String>> {
        self.flow_names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of a switch of which another controller is the master, if there
    /// is one.
    #[must_use]
    pub fn other_master(&self) -> Option<String> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.first().map(|datapath| self.names.switch(*datapath))
    }

    /// Returns why the store fails, while it does.
    #[must_use]
    pub fn store_fault(&self) -> Option<String> {
        self.store_fault_slot().clone()
    }

    /// Returns how often the store failed to keep what was asked for.
    #[must_use]
    pub fn store_failures(&self) -> u64 {
        self.store_failures.load(Ordering::Relaxed)
    }

    fn store_fault_slot(&self) -> MutexGuard<'_, Option<String>> {
        self.store_fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything shown anew: somebody changed something, and is to see it at
    /// once.
    pub fn show_anew(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how often something was told or changed.
    #[must_use]
    pub fn change(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns whether all that the store kept is known.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Asks the controller.
    ///
    /// # Errors
    ///
    /// As [`Office::ask`].
    pub async fn ask(&self, by: Asker, request: Request) -> Result<Reply, Problem> {
        self.office.ask(by, request).await
    }
}

#[cfg(test)]
mod tests {
    use controller::Config;
    use controller::northbound::{ApplicationKind, FlowId};
    use linux::controller_loop::ControllerHandle;
    use linux::scheduling::{Placement, Wish};

    use super::*;
    use controller::store::MemoryStore;

    #[test]
    fn an_event_names_its_flow_as_long_as_there_is_one() {
        let config = Config::without_promises(ApplicationKind::Deterministic);
        let names = Names::of(&config);
        let wish = Wish {
            nice: 0,
            placement: Placement::Anywhere,
        };
        let handle = ControllerHandle::start(None, config, MemoryStore::default(), wish).unwrap();
        let (id, audit) = ("test".to_owned(), Audit::open(None));
        let site = Inside::new(handle.desk(), names, id, Gate::Loopback, audit);
        let (flow, name) = (FlowId(7), "trip".to_owned());
        let named = || {
            let mut what = EventKind::Installed {
                flow: 7,
                name: None,
            };
            site.name_flow(&mut what);
            what
        };

        site.note(&Event::Admitted {
            flow,
            name: name.clone(),
        });
        let while_there = named();
        site.note(&Event::Withdrawn { flow, name });

        let of = |name: Option<&str>| EventKind::Installed {
            flow: 7,
            name: name.map(str::to_owned),
        };
        assert_eq!(while_there, of(Some("trip")));
        assert_eq!(named(), of(None));
    }
}
