//! A Taktos switch on interfaces of this machine, with its control connections.
//!
//! One thread carries frames and control ([`linux::packet_loop`]); each controller
//! that is dialled and each address that is listened on has a small thread of its
//! own, which hands connections over. Interfaces are left as they were found,
//! whatever ends the process: what is changed about them hangs on descriptors that
//! close with it.

pub mod control_socket;
pub mod endpoint;
pub mod opened_port;
pub mod port_plan;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use linux::carrier_watch::CarrierWatch;
use linux::connection::{Connection, Origin};
use linux::dialer::{self, Dialer};
use linux::listener::{Door, Listener};
use linux::packet_loop::{Command, PacketLoop, Plug, Record, Station, Waiting};
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use linux::stream::Stream;
use switch::Config;
use thiserror::Error;
use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use control_socket::{ControlSocket, usual_path};
use endpoint::Endpoint;
use opened_port::{EngineChoice, OpenedPort};
use port_plan::PortPlan;

/// The most connections that one address lets in at once.
pub const MOST_ACCEPTED: usize = 8;
/// From which length on a gap in the loop is taken down as a stall.
const STALL_THRESHOLD: Duration = Duration::from_us(100);
/// The one switch of the loop.
const STATION: usize = 0;

/// What a switch is to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its ports.
    pub ports: Vec<PortPlan>,
    /// How they are carried.
    pub engine: EngineChoice,
    /// Its name towards controllers; made of the first port's address, if none.
    pub datapath_id: Option<DatapathId>,
    /// How many flow tables it has.
    pub tables: u8,
    /// How many entries a table holds.
    pub table_size: usize,
    /// The controllers that it connects to.
    pub controllers: Vec<Endpoint>,
    /// Where it lets others connect.
    pub listeners: Vec<Endpoint>,
    /// How the loop waits for frames.
    pub waiting: Waiting,
    /// The processor that the loop runs on, if it is tied to one.
    pub processor: Option<usize>,
    /// Where the control socket is to be, if the user says so.
    pub control: Option<PathBuf>,
}

/// Why a switch cannot be started on this machine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DatapathError {
    /// There is no such interface here.
    #[error("no interface `{0}`")]
    NoInterface(String),
    /// An interface cannot be a port.
    #[error("cannot open `{interface}`: {reason}{}", privilege_hint(reason))]
    Port {
        /// Which.
        interface: String,
        /// What the kernel says.
        reason: io::Error,
    },
    /// Nobody can connect there.
    #[error("cannot listen on {endpoint}: {reason}")]
    Listen {
        /// Where.
        endpoint: String,
        /// What the kernel says.
        reason: io::Error,
    },
    /// Tools could not reach the switch.
    #[error("cannot make the control socket {}: {reason}", path.display())]
    Control {
        /// Where.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// Another switch of this identity runs.
    #[error(
        "a switch answers at {} already: give this one another --dpid, or another --control",
        _0.display()
    )]
    Running(PathBuf),
    /// The process has no descriptors or threads left.
    #[error("cannot start: {0}")]
    Exhausted(#[from] io::Error),
}

fn privilege_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => {
            "; a port needs root, or CAP_NET_RAW and CAP_NET_ADMIN, and AF_XDP CAP_BPF besides"
        }
        _ => "",
    }
}

/// A switch that runs. It ends when this value does.
#[derive(Debug)]
pub struct Datapath {
    /// Its name towards controllers.
    pub datapath_id: DatapathId,
    /// A line about each port.
    pub ports: Vec<String>,
    /// The control socket, or why there is none.
    pub control: io::Result<ControlSocket>,
    dialers: Vec<Dialer>,
    listeners: Vec<Listener>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Record>>,
}

impl Datapath {
    /// Opens the ports and starts the switch.
    ///
    /// # Errors
    ///
    /// If this machine lacks an interface, a privilege or a free address. Nothing
    /// is left changed then.
    pub fn start(plan: &Plan) -> Result<Self, DatapathError> {
        let opened = plan
            .ports
            .iter()
            .map(|port| OpenedPort::open(port, plan.engine))
            .collect::<Result<Vec<_>, _>>()?;
        let doors = plan
            .listeners
            .iter()
            .map(open_door)
            .collect::<Result<Vec<_>, _>>()?;
        let config = configuration(plan, &opened);
        let datapath_id = config.datapath_id;
        let ports = opened.iter().map(describe).collect();
        let (control, tools) = open_control(plan.control.as_deref(), datapath_id)?;
        let (commands, obeyed) = mpsc::channel();
        let dialers: Vec<_> = plan
            .controllers
            .iter()
            .map(|controller| dial(controller.clone(), commands.clone()))
            .collect();
        let (mut plugs, mut interfaces) = (Vec::new(), Vec::new());
        for (place, port) in opened.into_iter().enumerate() {
            plugs.push(Plug::new(port.config.number, port.port, place));
            interfaces.push(port.interface);
        }
        let station = dialers
            .iter()
            .fold(Station::new(config, plugs), |station, dialer| {
                station.dialled_by(dialer.wanted())
            });
        let carriers = CarrierWatch::start(interfaces, beside(plan.processor));
        let packets = PacketLoop::new(
            vec![station],
            carriers,
            obeyed,
            plan.waiting,
            STALL_THRESHOLD,
        )?;
        let listeners = doors
            .into_iter()
            .chain(tools.map(Door::Unix))
            .map(|door| let_in(door, commands.clone()))
            .collect::<io::Result<Vec<_>>>()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (should_stop, wish) = (Arc::clone(&stop), own(plan.processor));
        let thread = thread::Builder::new()
            .name("packets".to_owned())
            .spawn(move || {
                scheduling::apply(wish);
                packets.run(&should_stop)
            })?;
        Ok(Self {
            datapath_id,
            ports,
            control,
            dialers,
            listeners,
            stop,
            thread: Some(thread),
        })
    }

    /// Tells whether the switch runs, as it should until it is stopped.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Datapath {
    fn drop(&mut self) {
        self.dialers.iter().for_each(Dialer::stop);
        self.dialers.clear();
        self.listeners.clear();
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the loop's own thread asks for.
fn own(processor: Option<usize>) -> Wish {
    Wish {
        nice: HIGHEST_NICE,
        placement: processor.map_or(Placement::Anywhere, Placement::Only),
    }
}

/// What the threads beside the loop ask for.
fn beside(processor: Option<usize>) -> Wish {
    Wish {
        nice: 0,
        placement: processor.map_or(Placement::Anywhere, Placement::AllBut),
    }
}

fn configuration(plan: &Plan, opened: &[OpenedPort]) -> Config {
    let ports: Vec<_> = opened.iter().map(|port| port.config.clone()).collect();
    let first = ports.first().map_or(MacAddress::ZERO, |port| port.mac);
    let datapath_id = plan.datapath_id.unwrap_or_else(|| named_after(first));
    let mut config = Config::new(datapath_id, ports);
    config.tables = plan.tables;
    config.table_capacity = plan.table_size;
    // Every state of the standard library's hasher is seeded anew.
    config.seed = RandomState::new().hash_one(0);
    config
}

/// Returns the identity of a switch whose first port has this address: the lower
/// 48 bits (OF13 clause 7.3.1).
fn named_after(mac: MacAddress) -> DatapathId {
    let [a, b, c, d, e, f] = mac.0;
    DatapathId(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

fn describe(port: &OpenedPort) -> String {
    let rate = port
        .config
        .rate
        .map(|rate| format!(", {rate}"))
        .unwrap_or_default();
    format!(
        "port {}: {}, {}{rate}",
        port.config.number.0, port.config.name, port.carried
    )
}

fn open_door(endpoint: &Endpoint) -> Result<Door, DatapathError> {
    let bound = endpoint
        .resolve()
        .and_then(|addresses| TcpListener::bind(&*addresses.collect::<Vec<_>>()));
    bound
        .map(Door::Tcp)
        .map_err(|reason| DatapathError::Listen {
            endpoint: endpoint.to_string(),
            reason,
        })
}

/// Makes the control socket. A place that nobody asked for may be out of reach, as
/// for an ordinary user; the switch then runs without.
fn open_control(
    asked: Option<&Path>,
    datapath_id: DatapathId,
) -> Result<(io::Result<ControlSocket>, Option<UnixListener>), DatapathError> {
    let path = asked.map_or_else(|| usual_path(datapath_id), Path::to_owned);
    match ControlSocket::bind(&path) {
        Ok((socket, listener)) => Ok((Ok(socket), Some(listener))),
        Err(reason) if reason.kind() == io::ErrorKind::AddrInUse => {
            Err(DatapathError::Running(path))
        }
        Err(reason) if asked.is_none() => Ok((Err(reason), None)),
        Err(reason) => Err(DatapathError::Control { path, reason }),
    }
}

fn let_in(door: Door, commands: Sender<Command>) -> io::Result<Listener> {
    Listener::start(door, MOST_ACCEPTED, move |stream, lease| {
        hand_over(
            &commands,
            Connection {
                stream,
                lease,
                origin: Origin::Accepted,
            },
        );
    })
}

fn dial(controller: Endpoint, commands: Sender<Command>) -> Dialer {
    Dialer::start(
        move || connect(&controller),
        move |connection| hand_over(&commands, connection),
    )
}

/// Tries the addresses of a controller, one after the other.
fn connect(controller: &Endpoint) -> io::Result<Stream> {
    let mut tried = Err(io::ErrorKind::NotFound.into());
    for address in controller.resolve()? {
        tried = dialer::connect(address);
        if tried.is_ok() {
            break;
        }
    }
    tried
}

fn hand_over(commands: &Sender<Command>, connection: Connection) {
    // The loop ends last; nobody misses a connection then.
    let _ = commands.send(Command::Connected {
        station: STATION,
        connection,
    });
}
