//! What all requests share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use controller::northbound::{Asker, Event, Reply, Request};
use linux::clock::{self, WallTime};
use linux::controller_loop::{Desk, Told};
use run::experiment::Wish;
use wire::openflow::DatapathId;

use super::audit::Audit;
use super::describe::{self, Names};
use super::feed::Feed;
use super::forwarding::Forwarding;
use super::gate::Gate;
use super::kept::SharedAnswer;
use super::layout::{Layout, Shape, Spot};
use super::metrics::Meters;
use super::observations::Observations;
use super::operations;
use super::pending_requests::PendingRequests;
use super::problem::Problem;
use crate::speaker::SharedReport;

pub type Site = Arc<Inside>;

/// What is behind the interface.
#[derive(Debug)]
pub struct Inside {
    /// Where requests wait for the controller.
    pub office: PendingRequests,
    pub feed: Feed,
    pub gate: Gate,
    pub audit: Audit,
    pub meters: Meters,
    /// The file of the controller's store, if there is one.
    pub store: Option<PathBuf>,
    /// How the instances of its cluster are reached, if it is one of one.
    pub cluster: Option<Forwarding>,
    /// What the controller is called.
    pub id: String,
    /// Since when it runs, in nanoseconds since the beginning of 1970.
    pub since_ns: u64,
    pub names: Names,
    pub topology: SharedAnswer,
    /// The list of flows, written down.
    pub flows: SharedAnswer,
    /// What deadlines leave to spare, written down.
    pub room: SharedAnswer,
    /// What the page shows at first, written down.
    pub page: SharedAnswer,
    /// Where switches stand by a topology file, as far as it says so.
    pub places: BTreeMap<DatapathId, Spot>,
    /// Who cuts and heals links, in a run.
    pub wishes: Option<Sender<Wish>>,
    /// What is known of the daemon that speaks BGP, if there is one.
    pub speaker: Option<SharedReport>,
    /// The map of the network as it was last, and of which shape that was.
    layout: Mutex<(Shape, Arc<Layout>)>,
    observations: Mutex<Observations>,
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
    /// The switches of which another controller is the master, with their names.
    others: Mutex<BTreeMap<DatapathId, String>>,
}

impl Inside {
    /// Returns what is behind the interface of a controller that is called `id`.
    #[must_use]
    pub fn new(desk: Desk, names: Names, id: String, gate: Gate, audit: Audit) -> Self {
        let operations: Vec<_> = operations::all().iter().map(|it| it.id).collect();
        Self {
            office: PendingRequests::new(desk),
            feed: Feed::default(),
            gate,
            audit,
            meters: Meters::new(&operations),
            store: None,
            cluster: None,
            id,
            since_ns: WallTime::now().as_ns(),
            names,
            topology: SharedAnswer::default(),
            flows: SharedAnswer::default(),
            room: SharedAnswer::default(),
            page: SharedAnswer::default(),
            places: BTreeMap::new(),
            wishes: None,
            speaker: None,
            layout: Mutex::default(),
            observations: Mutex::default(),
            computing: tokio::sync::Mutex::new(()),
            changes: AtomicU64::new(0),
            ready: AtomicBool::new(false),
            store_fault: Mutex::default(),
            store_failures: AtomicU64::new(0),
            others: Mutex::default(),
        }
    }

    /// Passes on what the controller tells: answers to those who wait, events to
    /// those who watch.
    pub fn take(&self, told: Told) {
        let now = clock::now();
        let (at, what) = match told {
            Told::Reply { id, reply, .. } => return self.office.answer(id, reply),
            Told::Notice { at, mut notice } => {
                self.note(&notice);
                notice.move_moments(describe::wall_clock);
                (at, notice)
            }
            Told::Closed { peer, reason } => {
                let (peer, reason) = (peer.to_string(), reason.to_string());
                (now, Event::ConnectionClosed { peer, reason })
            }
            Told::StoreFailed { reason } => {
                self.store_failures.fetch_add(1, Ordering::Relaxed);
                *self.store_fault_slot() = Some(reason.clone());
                (now, Event::StoreFailed { reason })
            }
            Told::StoreRecovered => {
                *self.store_fault_slot() = None;
                (now, Event::StoreRecovered)
            }
            Told::StoodDown => {
                self.ready.store(false, Ordering::Relaxed);
                self.show_anew();
                return self.office.give_up();
            }
        };
        self.changes.fetch_add(1, Ordering::Relaxed);
        self.feed.publish(describe::wall_clock(at), what);
    }

    fn note(&self, notice: &Event) {
        let others = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        match notice {
            Event::Ready => self.ready.store(true, Ordering::Relaxed),
            Event::OtherMaster { datapath, name } => {
                others().insert(*datapath, name.clone());
            }
            Event::SwitchConnected { datapath, .. } => {
                others().remove(datapath);
            }
            _ => {}
        }
    }

    /// Returns the name of a switch of which another controller is the master, if there
    /// is one.
    #[must_use]
    pub fn other_master(&self) -> Option<String> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.values().next().cloned()
    }

    /// Returns what switches have seen of flows.
    pub fn observations(&self) -> MutexGuard<'_, Observations> {
        let observations = self.observations.lock();
        observations.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the map of a network of this shape, which is made where that is another one
    /// than before, apart from those who serve.
    pub async fn layout_of(&self, shape: Shape) -> Arc<Layout> {
        let held = || self.layout.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let (last, layout) = &*held();
            if *last == shape {
                return Arc::clone(layout);
            }
        }
        let made = tokio::task::spawn_blocking(move || (shape.layout(), shape)).await;
        let Ok((layout, shape)) = made else {
            return Arc::default();
        };
        let layout = Arc::new(layout);
        *held() = (shape, Arc::clone(&layout));
        layout
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
    /// As [`PendingRequests::ask`].
    pub async fn ask(&self, by: Asker, request: Request) -> Result<Reply, Problem> {
        self.office.ask(by, request).await
    }
}
