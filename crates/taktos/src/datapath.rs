//! A Taktos switch on interfaces of this machine, with its control connections.
//!
//! One thread carries frames and control ([`linux::packet_loop`]). Beside it stand
//! small threads that wait where it must not: one for each controller that is
//! dialled and each address that is listened on ([`doors`]), another one where that is
//! enciphered ([`tls`](crate::tls)), and one that looks after the interfaces
//! ([`port_keeper`]), which are left as they were found.

pub mod bfd_choice;
pub mod carriage;
pub mod control_socket;
pub mod doors;
pub mod endpoint;
pub mod event;
pub mod opened_port;
pub mod port_keeper;
pub mod port_plan;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::{self, JoinHandle};

use linux::carrier_watch::{CarrierWatch, Effort};
use linux::dialer::Dialer;
use linux::interface_guard::InterfaceGuardError;
use linux::kernel_engine::{EngineError, KernelEngine, PortBindingError};
use linux::listener::Listener;
use linux::packet_loop::{Closed, Command, PacketLoop, PortBinding, Record, Station, Waiting};
use linux::scheduling::{self, HIGHEST_NICE, Placement, Rank, Wish};
use switch::{CONNECTIONS_MAX, Config, FailMode};
use thiserror::Error;
use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::taktos::PortSession;
use wire::openflow::{DatapathId, PortNumber};

use carriage::{EngineChoice, KernelPlan, OpenedEngine};
use control_socket::{ControlSocket, usual_path};
use doors::{DialledController, Entrance};
use event::{ClosedNotices, DatapathEvent, EVENTS_WAITING};
use opened_port::{FoundPort, OpenedPort};
use port_keeper::{KeptPort, PortKeeper};
use port_plan::PortPlan;

/// From which length on a gap in the loop is taken down as a stall.
const STALL_THRESHOLD: Duration = Duration::from_us(100);
/// How often a port is asked for its carrier. At four times as often, one frame in
/// a hundred comes while the other processor is busy with asking.
const CARRIER_INTERVAL: Duration = Duration::from_ms(2);
/// The most controllers that a switch dials and addresses on which it listens,
/// together: each is kept a connection free.
pub const MOST_WAYS: usize = CONNECTIONS_MAX - 1;
/// The one switch of the loop.
const STATION: usize = 0;

/// What a switch is to be.
#[derive(Clone, Debug)]
pub struct DatapathPlan {
    pub ports: Vec<PortPlan>,
    pub engine: EngineChoice,
    /// What is wanted of the kernel, if it carries them.
    pub kernel: KernelPlan,
    /// Its name towards controllers; made of the first port's address, if none.
    pub datapath_id: Option<DatapathId>,
    /// What becomes of frames while no controller is there.
    pub fail_mode: FailMode,
    /// How many flow tables it has.
    pub tables: u8,
    /// How many entries a table holds.
    pub table_size: usize,
    /// The controllers that it connects to.
    pub controllers: Vec<DialledController>,
    /// Where it lets others connect.
    pub entrances: Vec<Entrance>,
    /// How the loop waits for frames.
    pub waiting: Waiting,
    /// The processor that the loop runs on, if it is tied to one.
    pub processor: Option<usize>,
    /// Over which ports it asks its neighbours whether they are there.
    pub sessions: Vec<PortSession>,
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
        interface: String,
        reason: io::Error,
    },
    /// Somebody else has an interface.
    #[error("`{interface}` cannot be a port: {reason}")]
    Taken {
        interface: String,
        /// Who, and what to do.
        reason: Box<InterfaceGuardError>,
    },
    /// The kernel cannot forward for this switch.
    #[error("{_0}; `--engine packet` does without")]
    Kernel(Box<EngineError>),
    /// The kernel cannot forward for one of its ports.
    #[error(
        "the kernel cannot forward for `{interface}`: {reason}; `--engine packet` does without"
    )]
    Hanging {
        interface: String,
        reason: Box<PortBindingError>,
    },
    #[error("cannot listen on {endpoint}: {reason}")]
    Listen { endpoint: String, reason: io::Error },
    /// Tools could not reach the switch.
    #[error("cannot make the control socket {}: {reason}", path.display())]
    Control { path: PathBuf, reason: io::Error },
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
    pub datapath_id: DatapathId,
    /// Which engine carries the ports, and why.
    pub engine: String,
    /// How the loop waits for frames.
    pub waiting: Waiting,
    /// Whether the kernel goes on forwarding when this process dies.
    pub outlives_process: bool,
    /// A line about each port.
    pub ports: Vec<String>,
    /// The control socket, or why there is none.
    pub control: io::Result<ControlSocket>,
    events: Receiver<DatapathEvent>,
    closed: Receiver<Closed>,
    told: ClosedNotices,
    dialers: Vec<Dialer>,
    listeners: Vec<Listener>,
    packets: PacketThread,
    _keeper: PortKeeper,
}

impl Datapath {
    /// Opens the ports and starts the switch.
    ///
    /// # Errors
    ///
    /// If this machine lacks an interface, a privilege or a free address. Nothing
    /// is left changed then.
    pub fn start(plan: &DatapathPlan) -> Result<Self, DatapathError> {
        // Before any other thread is there, since threads inherit where they run.
        scheduling::apply(beside(plan.processor));
        let carried = OpenedEngine::take(plan)?;
        let engine = carried.describe();
        let datapath_id = carried.config.datapath_id;
        let waiting = carried.waiting(plan.waiting);
        let ports = carried.ports.iter().map(introduce).collect();
        let outlives_process = carried
            .engine
            .as_ref()
            .is_some_and(KernelEngine::outlives_process);
        let (control, tools) = open_control(plan.control.as_deref(), datapath_id)?;
        let (commands, obeyed) = mpsc::channel();
        let (tell, events) = mpsc::sync_channel(EVENTS_WAITING);
        let listeners = let_in(plan, tools, &commands)?;
        let dialers: Vec<_> = dial(plan, &commands, &tell)?;
        let board = Board::of(carried.ports, plan)?;
        let keeper = PortKeeper::start(board.kept, carried.carriage, commands, tell)?;
        let (tell, closed) = mpsc::sync_channel(EVENTS_WAITING);
        let station = Station::new(carried.config, board.bindings).telling(tell);
        let station = match carried.engine {
            Some(engine) => station.carried_by(engine),
            None => station,
        };
        let station = dialers.iter().fold(station, |station, dialer| {
            station.dialled_by(dialer.wanted())
        });
        let carriers = CarrierWatch::start(
            board.interfaces,
            CARRIER_INTERVAL,
            Effort::Thrifty,
            (beside(plan.processor), Some(Rank::Carry)),
        )?;
        let stations = vec![station];
        let packets = PacketLoop::new(stations, carriers, obeyed, waiting, STALL_THRESHOLD)?;
        Ok(Self {
            datapath_id,
            engine,
            waiting,
            outlives_process,
            ports,
            control,
            events,
            closed,
            told: ClosedNotices::default(),
            dialers,
            listeners,
            packets: PacketThread::start(packets, own(plan.processor))?,
            _keeper: keeper,
        })
    }

    /// Returns something that happened, if something does within `patience`.
    pub fn next_event(&mut self, patience: std::time::Duration) -> Option<DatapathEvent> {
        while let Ok(closed) = self.closed.try_recv() {
            if let Some(event) = self.told.news(closed) {
                return Some(event);
            }
        }
        self.events.recv_timeout(patience).ok()
    }

    /// Tells whether the switch runs, as it should until it is stopped.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self
            .packets
            .thread
            .as_ref()
            .is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Datapath {
    fn drop(&mut self) {
        // Before the loop, which follows when its fields are dropped.
        self.dialers.drain(..).for_each(Dialer::abandon);
        self.listeners.clear();
    }
}

/// The thread of the packet loop, which ends with this value.
#[derive(Debug)]
struct PacketThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Record>>,
}

impl PacketThread {
    fn start(packets: PacketLoop, wish: Wish) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let should_stop = Arc::clone(&stop);
        let (tell, started) = mpsc::channel();
        let thread = thread::Builder::new().name("packets".to_owned());
        let thread = thread.spawn(move || {
            scheduling::apply(wish);
            // Nobody waits any more if the switch was given up meanwhile.
            packets.run_telling(&should_stop, || {
                let _ = tell.send(());
            })
        })?;
        // Who is told that the switch runs expects it to forward. A thread that has died
        // tells nothing, and is found out later.
        let _ = started.recv();
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for PacketThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The ports, taken apart for those who need a piece of each.
struct Board {
    bindings: Vec<PortBinding>,
    interfaces: Vec<linux::interface::Interface>,
    kept: Vec<KeptPort>,
}

impl Board {
    fn of(opened: Vec<OpenedPort>, plan: &DatapathPlan) -> io::Result<Self> {
        let mut board = Self {
            bindings: Vec::new(),
            interfaces: Vec::new(),
            kept: Vec::new(),
        };
        for (port, plan) in opened.into_iter().zip(&plan.ports) {
            let watched = board.interfaces.len();
            board.interfaces.push(port.guard.interface().try_clone()?);
            board
                .bindings
                .push(PortBinding::new(plan.number, port.port, watched));
            board.kept.push(KeptPort {
                plan: plan.clone(),
                guard: Some(port.guard),
            });
        }
        Ok(board)
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

fn configuration(plan: &DatapathPlan, found: &[FoundPort]) -> Config {
    let ports: Vec<_> = found.iter().map(|port| port.config.clone()).collect();
    let first = ports.first().map_or(MacAddress::ZERO, |port| port.mac);
    let datapath_id = plan.datapath_id.unwrap_or_else(|| named_after(first));
    let mut config = Config::new(datapath_id, ports);
    config.fail_mode = plan.fail_mode;
    config.tables = plan.tables;
    config.table_capacity = plan.table_size;
    config.sessions.clone_from(&plan.sessions);
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

fn introduce(port: &OpenedPort) -> String {
    format!("port {}: {}", port.config.number, port.introduction())
}

/// Returns what a port is called where its users read of it.
fn port_title(number: PortNumber, interface: &str) -> String {
    format!("port {number} ({interface})")
}

fn dial(
    plan: &DatapathPlan,
    commands: &Sender<Command>,
    tell: &SyncSender<DatapathEvent>,
) -> io::Result<Vec<Dialer>> {
    let controllers = plan.controllers.iter().cloned();
    let dial = |controller| doors::dial(controller, commands.clone(), tell.clone());
    controllers.map(dial).collect()
}

/// Lets others in, by the plan's entrances and by the control socket; by each so
/// many that nobody takes the place of a controller that is dialled.
fn let_in(
    plan: &DatapathPlan,
    tools: Option<UnixListener>,
    commands: &Sender<Command>,
) -> Result<Vec<Listener>, DatapathError> {
    let doors = plan.entrances.len() + usize::from(tools.is_some());
    let most = (CONNECTIONS_MAX - plan.controllers.len()) / doors.max(1);
    let mut listeners = Vec::new();
    for entrance in &plan.entrances {
        let open = doors::open(entrance).map_err(|reason| DatapathError::Listen {
            endpoint: entrance.endpoint.to_string(),
            reason,
        })?;
        let tls = entrance.tls.clone();
        listeners.push(doors::let_in(open, most, tls, commands.clone())?);
    }
    if let Some(tools) = tools {
        listeners.push(doors::let_in_tools(tools, most, commands.clone())?);
    }
    Ok(listeners)
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
