//! The ways to a switch's control connections: controllers that it dials, and
//! addresses on which it lets others in.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};
use std::time::Instant;

use linux::connection::{Connection, ConnectionOrigin, Lease};
use linux::dialer::{Dialer, PATIENCE};
use linux::listener::{Door, Listener};
use linux::packet_loop::Command;
use linux::stream::Stream;
use rustls::ServerConfig;

use super::STATION;
use super::endpoint::Endpoint;
use super::event::{DatapathEvent, QUIET, tell};
use crate::tls::Dialling;
use crate::tls::courier::Courier;

/// How much is told about one controller in [`QUIET`].
const MOST_TOLD: u32 = 8;

/// A controller to be dialled.
#[derive(Clone, Debug)]
pub struct DialledController {
    pub endpoint: Endpoint,
    /// How to encipher, if so.
    pub tls: Option<Dialling>,
}

/// An address on which others are let in.
#[derive(Clone, Debug)]
pub struct Entrance {
    pub endpoint: Endpoint,
    /// How to encipher, if so.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Begins to dial a controller, whenever there is no connection to it.
///
/// # Errors
///
/// If the process has no threads or descriptors left.
pub fn dial(
    controller: DialledController,
    commands: Sender<Command>,
    events: SyncSender<DatapathEvent>,
) -> io::Result<Dialer> {
    let mut contact = Contact::new(controller, events)?;
    Ok(Dialer::start(
        move || contact.connect(),
        move |connection| hand_over(&commands, connection),
    ))
}

/// Opens an entrance.
///
/// # Errors
///
/// If its address is not ours, or taken.
pub fn open(entrance: &Entrance) -> io::Result<TcpListener> {
    let addresses: Vec<_> = entrance.endpoint.resolve()?.collect();
    TcpListener::bind(&*addresses)
}

/// Begins to let in who comes to an open entrance, at most `most` at a time.
///
/// # Errors
///
/// If the process has no threads or descriptors left.
pub fn let_in(
    listener: TcpListener,
    most: usize,
    tls: Option<Arc<ServerConfig>>,
    commands: Sender<Command>,
) -> io::Result<Listener> {
    let tls = tls.map(carried).transpose()?;
    Listener::start(Door::Tcp(listener), most, move |stream, lease| {
        match (stream, &tls) {
            (Stream::Tcp(stream), Some((courier, config))) => {
                let commands = commands.clone();
                courier.accept(stream, Arc::clone(config), move |plain| {
                    hand_over(&commands, accepted(plain.into(), lease));
                });
            }
            (stream, _) => hand_over(&commands, accepted(stream, lease)),
        }
    })
}

/// Begins to let in the tools of this machine, at most `most` at a time.
///
/// # Errors
///
/// If the process has no threads or descriptors left.
pub fn let_in_tools(
    listener: UnixListener,
    most: usize,
    commands: Sender<Command>,
) -> io::Result<Listener> {
    Listener::start(Door::Unix(listener), most, move |stream, lease| {
        hand_over(&commands, accepted(stream, lease));
    })
}

/// Adds who carries connections with these terms.
fn carried<T>(terms: T) -> io::Result<(Courier, T)> {
    Ok((Courier::start()?, terms))
}

fn accepted(stream: Stream, lease: Lease) -> Connection {
    Connection {
        stream,
        lease,
        origin: ConnectionOrigin::Accepted,
    }
}

fn hand_over(commands: &Sender<Command>, connection: Connection) {
    // The loop ends last; nobody misses a connection then.
    let _ = commands.send(Command::Connected {
        station: STATION,
        connection,
    });
}

/// A controller as the switch has found it so far.
struct Contact {
    endpoint: Endpoint,
    tls: Option<(Courier, Dialling)>,
    state: ControllerState,
    events: SyncSender<DatapathEvent>,
    told: u32,
    since: Instant,
}

/// What users know of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControllerState {
    Untried,
    Connected,
    Lost,
    Unreachable,
}

impl Contact {
    fn new(controller: DialledController, events: SyncSender<DatapathEvent>) -> io::Result<Self> {
        let tls = controller.tls.map(carried);
        Ok(Self {
            endpoint: controller.endpoint,
            tls: tls.transpose()?,
            state: ControllerState::Untried,
            events,
            told: 0,
            since: Instant::now(),
        })
    }

    /// Tries once. To be called again when the connection is lost.
    fn connect(&mut self) -> io::Result<Stream> {
        if self.state == ControllerState::Connected {
            self.state = ControllerState::Lost;
            self.tell(DatapathEvent::Lost(self.endpoint.clone()));
        }
        let tried = self.dial();
        match &tried {
            Ok(_) => {
                self.state = ControllerState::Connected;
                self.tell(DatapathEvent::Connected(self.endpoint.clone()));
            }
            Err(_) if self.state == ControllerState::Unreachable => {}
            Err(error) => {
                self.state = ControllerState::Unreachable;
                let reason = io::Error::new(error.kind(), error.to_string());
                self.tell(DatapathEvent::Unreachable(self.endpoint.clone(), reason));
            }
        }
        tried
    }

    /// Tries its addresses, one after the other.
    fn dial(&self) -> io::Result<Stream> {
        let mut tried = Err(io::ErrorKind::NotFound.into());
        for address in self.endpoint.resolve()? {
            tried = TcpStream::connect_timeout(&address, PATIENCE.into());
            if tried.is_ok() {
                break;
            }
        }
        match &self.tls {
            None => tried.map(Stream::Tcp),
            Some((courier, dialling)) => courier.dial(tried?, dialling).map(Stream::Unix),
        }
    }

    /// Tells users, but not more than they want to read.
    fn tell(&mut self, event: DatapathEvent) {
        if self.since.elapsed() >= QUIET {
            self.told = 0;
            self.since = Instant::now();
        }
        self.told += 1;
        match self.told.cmp(&MOST_TOLD) {
            std::cmp::Ordering::Less => tell(&self.events, event),
            std::cmp::Ordering::Equal => {
                let endpoint = self.endpoint.clone();
                tell(&self.events, DatapathEvent::Restless(endpoint));
            }
            std::cmp::Ordering::Greater => {}
        }
    }
}
