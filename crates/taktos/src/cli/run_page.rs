//! The page of a run: live while a network of real things runs, and what came of it
//! afterwards.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use controller::Config;
use run::experiment::Wish;
use run::experiment::world::World;
use scenario::Scenario;
use wire::openflow::DatapathId;

use super::screen::say;
use crate::web::finished_run::FinishedRun;
use crate::web::gate::{Gate, Role};
use crate::web::layout::Spot;
use crate::web::{Terms, Web};

/// Where the page of a run is, unless somebody says otherwise.
pub const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8182);

/// The page of a run.
#[derive(Debug)]
pub struct RunPage {
    listener: TcpListener,
    /// What everybody on this machine may do while the run lasts.
    role: Role,
    /// Where switches stand by a topology file.
    places: BTreeMap<DatapathId, Spot>,
    /// Returns what was changed by hand.
    live: Option<JoinHandle<Vec<String>>>,
    /// What is to be done to links by hand.
    wishes: Option<Receiver<Wish>>,
}

impl RunPage {
    /// Opens the door. Who comes before there is something to see waits.
    ///
    /// # Errors
    ///
    /// If others than this machine could come, or the port is taken.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        if !address.ip().is_loopback() {
            let why = format!("{address} can be reached from elsewhere: give a loopback address");
            return Err(io::Error::other(why));
        }
        let listener = TcpListener::bind(address)
            .map_err(|error| io::Error::other(format!("cannot listen on {address}: {error}")))?;
        Ok(Self {
            listener,
            role: Role::Read,
            places: BTreeMap::new(),
            live: None,
            wishes: None,
        })
    }

    /// Lets everybody on this machine do so much to a run of this scenario.
    #[must_use]
    pub fn of(self, scenario: &Scenario, role: Role) -> Self {
        let places = places(scenario);
        Self {
            role,
            places,
            ..self
        }
    }

    /// Says where it is, and what else there is to say.
    ///
    /// # Errors
    ///
    /// If the system does not know.
    pub fn announce(self, more: &str) -> io::Result<Self> {
        say(format_args!(
            "page: http://{}/{more}",
            self.listener.local_addr()?
        ));
        Ok(self)
    }

    /// Shows what happens in a world from now on, whose time is ours.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn follow(&mut self, world: &mut dyn World, config: &Config) -> io::Result<()> {
        let Some((desk, told)) = world.lend_controller() else {
            return Ok(());
        };
        let (wishes, wished) = mpsc::channel();
        self.wishes = Some(wished);
        let terms = Terms {
            places: std::mem::take(&mut self.places),
            wishes: Some(wishes),
            ..Terms::new("run".to_owned(), Gate::Loopback(self.role))
        };
        let web = Web::start(self.listener.try_clone()?, desk, config, terms)?;
        let passing = move || {
            told.iter().for_each(|told| web.take(told));
            web.changes()
        };
        self.live = Some(
            thread::Builder::new()
                .name("page".to_owned())
                .spawn(passing)?,
        );
        Ok(())
    }

    /// Returns what somebody wants done to a link by hand, if anything.
    pub fn wish(&self) -> Option<Wish> {
        self.wishes.as_ref()?.try_recv().ok()
    }

    /// Ends what is shown live, which the world has ended, and returns what was changed by
    /// hand.
    pub fn end_live(&mut self) -> Vec<String> {
        self.wishes = None;
        let live = self.live.take();
        live.and_then(|live| live.join().ok()).unwrap_or_default()
    }

    /// Shows what came of it until `stop` is set.
    ///
    /// # Errors
    ///
    /// If the report cannot be shown, or the machine has no threads left.
    pub fn conclude(self, report: String, stop: &AtomicBool) -> io::Result<()> {
        let run = FinishedRun::parse(report).map_err(io::Error::other)?;
        run.serve(self.listener, stop)
    }
}

/// Returns where the switches of a scenario stand, as far as a topology file says so.
#[must_use]
pub fn places(scenario: &Scenario) -> BTreeMap<DatapathId, Spot> {
    let switches = scenario.switches.iter();
    let placed = switches.filter_map(|switch| {
        let place = switch.position?;
        let spot = [place.east, place.north.saturating_neg()];
        Some((DatapathId(switch.datapath_id), spot))
    });
    placed.collect()
}
