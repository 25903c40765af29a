//! The interface for programs of a controller that runs: REST, events, metrics
//! (S1-5, S1-8).
//!
//! HTTP is served by threads of its own. A request becomes a question to the
//! controller's desk, and waits ([`pending_requests`]); the thread that listens to the
//! controller brings answers to those who wait and events to those who watch
//! ([`feed`]). So no client, however many and however slow, holds up the
//! controller's thread; what many ask for is made once and shared ([`kept`]).

pub mod audit;
pub mod body;
pub mod describe;
pub mod document;
pub mod feed;
pub mod finished_run;
pub mod forwarding;
pub mod gate;
pub mod kept;
pub mod layout;
pub mod metrics;
pub mod observations;
pub mod operations;
pub mod page;
pub mod pending_requests;
pub mod problem;
pub mod query;
pub mod server;
pub mod site;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use controller::Config;
use linux::controller_loop::{Desk, Told};
use run::experiment::Wish;
use rustls::ServerConfig;
use tokio::runtime::{Builder, Runtime};
use wire::openflow::DatapathId;

use audit::Audit;
use describe::Names;
use document::AuditEntry;
use forwarding::Forwarding;
use gate::Gate;
use layout::Spot;
use site::{Inside, Site};

use crate::speaker::SharedReport;

/// How many threads serve HTTP.
const THREADS: usize = 2;
/// How long answers that are under way may take when the program ends.
pub const FAREWELL: Duration = Duration::from_millis(500);

/// How the interface is served.
#[derive(Debug)]
pub struct Terms {
    /// What the controller is called.
    pub id: String,
    pub gate: Gate,
    /// How the connection is enciphered, if it is.
    pub tls: Option<Arc<ServerConfig>>,
    /// The file for the audit log, if it outlives the program.
    pub audit: Option<PathBuf>,
    /// The file in which the controller keeps what outlives it, if there is one.
    pub store: Option<PathBuf>,
    /// Where switches stand by a topology file, as far as it says so.
    pub places: BTreeMap<DatapathId, Spot>,
    /// Who cuts and heals links, in a run.
    pub wishes: Option<Sender<Wish>>,
    /// What is known of the daemon that speaks BGP, if there is one.
    pub speaker: Option<SharedReport>,
}

impl Terms {
    /// Returns the terms of a controller with nothing that outlives it.
    #[must_use]
    pub const fn new(id: String, gate: Gate) -> Self {
        Self {
            id,
            gate,
            tls: None,
            audit: None,
            store: None,
            places: BTreeMap::new(),
            wishes: None,
            speaker: None,
        }
    }
}

/// The interface of a controller that runs. It ends when this value does.
#[derive(Debug)]
pub struct Web {
    site: Site,
    address: SocketAddr,
    /// Given up when the interface ends.
    runtime: Option<Runtime>,
}

impl Web {
    /// Serves on `listener` what is asked of the controller at `desk`, which was
    /// told `config`.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn start(
        listener: TcpListener,
        desk: Desk,
        config: &Config,
        terms: Terms,
    ) -> io::Result<Self> {
        Self::start_instance(listener, desk, config, (terms, None))
    }

    /// The same for an instance of a cluster, of which another one may decide.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn start_instance(
        listener: TcpListener,
        desk: Desk,
        config: &Config,
        (terms, cluster): (Terms, Option<Forwarding>),
    ) -> io::Result<Self> {
        let names = Names::of(config);
        let audit = Audit::open(terms.audit);
        let mut inside = Inside::new(desk, names, terms.id, terms.gate, audit);
        inside.store = terms.store;
        inside.places = terms.places;
        inside.wishes = terms.wishes;
        inside.speaker = terms.speaker;
        inside.cluster = cluster;
        let site = Arc::new(inside);
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("web")
            .enable_all()
            .build()?;
        let entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        drop(entered);
        runtime.spawn(server::serve(
            listener,
            terms.tls,
            operations::router(&site),
        ));
        runtime.spawn(operations::page::observe(Arc::clone(&site)));
        Ok(Self {
            site,
            address,
            runtime: Some(runtime),
        })
    }

    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what was changed, and what that was about, the latest last.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        let entries = self.site.audit.last(audit::KEPT).into_iter();
        // Who asks what would be decided gets an answer with another status.
        let is_answer = |it: &AuditEntry| (&*it.operation, it.status) == ("admit-flows", 200);
        entries
            .filter(|entry| entry.status < 400 && !is_answer(entry))
            .map(|entry| format!("{} {}", entry.operation, entry.about.join(" ")))
            .collect()
    }

    /// Returns what is behind the interface, for those of this program who ask as well.
    #[must_use]
    pub fn site(&self) -> Site {
        Arc::clone(&self.site)
    }

    /// Passes on what the controller tells.
    pub fn take(&self, told: Told) {
        self.site.take(told);
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
        }
    }
}
