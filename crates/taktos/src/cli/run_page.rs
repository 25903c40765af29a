//! The page of a run: live while a network of real things runs, and what came of it
//! afterwards.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use controller::Config;
use run::experiment::world::World;

use super::screen::say;
use crate::web::finished_run::FinishedRun;
use crate::web::gate::Gate;
use crate::web::{Terms, Web};

/// Where the page of a run is, unless somebody says otherwise.
pub const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8182);

/// The page of a run.
#[derive(Debug)]
pub struct RunPage {
    listener: TcpListener,
    live: Option<JoinHandle<()>>,
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
        let page = Self {
            listener,
            live: None,
        };
        say(format_args!("page: {}", page.url()?));
        Ok(page)
    }

    /// Returns where it is.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    fn url(&self) -> io::Result<String> {
        Ok(format!("http://{}/", self.listener.local_addr()?))
    }

    /// Shows what happens in a world from now on, if its time is ours.
    ///
    /// # Errors
    ///
    /// If the machine has no threads or descriptors left.
    pub fn follow(&mut self, world: &mut dyn World, config: &Config) -> io::Result<()> {
        let Some((desk, told)) = world.lend_controller() else {
            say(
                "page: in virtual time there is nothing to watch; it shows the run when that is over",
            );
            return Ok(());
        };
        let terms = Terms {
            id: "run".to_owned(),
            gate: Gate::Loopback,
            tls: None,
            audit: None,
            store: None,
        };
        let web = Web::start(self.listener.try_clone()?, desk, config, terms)?;
        let passing = move || told.iter().for_each(|told| web.take(told));
        self.live = Some(
            thread::Builder::new()
                .name("page".to_owned())
                .spawn(passing)?,
        );
        Ok(())
    }

    /// Shows what came of it until `stop` is set.
    ///
    /// # Errors
    ///
    /// If the report cannot be shown, or the machine has no threads left.
    pub fn conclude(self, report: String, stop: &AtomicBool) -> io::Result<()> {
        // It ends with the world, and gives up the door.
        if let Some(live) = self.live {
            let _ = live.join();
        }
        let run = FinishedRun::parse(report).map_err(io::Error::other)?;
        run.serve(self.listener, stop)
    }
}
