//! Runs a controller on a thread of its own: listens for switches, carries their
//! connections, its store, and the requests of applications.
//!
//! One wake-up reads all that waits on every connection, hands it to the
//! controller, and sends the answers together: what a message costs is the work on
//! it, not the system calls around it.

mod cluster_keeper;
mod connection_listener;
mod standby;
mod store_keeper;

pub use cluster_keeper::{ClusterReport, Membership};
pub use connection_listener::MOST_CONNECTIONS;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use controller::{
    Asker, CloseReason, Config, ConnectionId, Controller, Event as Notice, Input, Output, Reply,
    Request, RequestId, Store,
};
use thiserror::Error;
use units::Instant;

use crate::channel::{Found, Unsent};
use crate::clock;
use crate::privilege;
use crate::scheduling::{self, Wish};
use crate::stream::Stream;
use crate::time_histogram::TimeHistogram;
use crate::waker::Waker;
use cluster_keeper::ClusterKeeper;
use connection_listener::{ConnectionListener, Readiness};
use standby::Standby;
use store_keeper::{Kept, StoreKeeper};

/// How much is read from one connection before the others have their turn.
const CHUNK_BYTES: usize = 1 << 16;
/// The most switches that are let in at one wake-up.
const MOST_ACCEPTED_AT_ONCE: usize = 64;
/// How much that the store tells is taken before what follows from it is done.
const MOST_KEPT_AT_ONCE: usize = 1_024;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ListenError {
    #[error("another program listens on {address} already: stop it, or choose another port")]
    Occupied { address: SocketAddr },
    #[error("cannot listen on {address}: {reason}")]
    Refused {
        address: SocketAddr,
        reason: io::Error,
    },
}

/// Listens on `address` in the calling thread's namespace.
///
/// # Errors
///
/// If the port is occupied, or not ours to take.
pub fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    TcpListener::bind(address).map_err(|reason| match reason.kind() {
        io::ErrorKind::AddrInUse => ListenError::Occupied { address },
        _ => ListenError::Refused { address, reason },
    })
}

/// What the controller tells the program.
#[derive(Clone, Debug)]
pub enum Told {
    Notice {
        /// When the controller learned of it.
        at: Instant,
        notice: Notice,
    },
    /// The answer to a request.
    Reply {
        at: Instant,
        id: RequestId,
        reply: Reply,
    },
    /// The controller closed a connection.
    Closed {
        peer: SocketAddr,
        reason: CloseReason,
    },
    /// The store failed; the changes that were to be kept are not made.
    StoreFailed {
        reason: String,
    },
    StoreRecovered,
    /// This instance of a cluster leads no more; what was asked of it is not answered.
    StoodDown,
}

/// Where whoever made a connection hands it over to the controller: one that does
/// not come through its listening socket, such as a deciphered one.
#[derive(Clone, Debug)]
pub struct SideEntrance {
    arrivals: Sender<AcceptedStream>,
    waker: Waker,
}

/// A connection with the address of the switch at its other end.
type AcceptedStream = (Stream, SocketAddr);

impl SideEntrance {
    /// Hands over a connection to the switch at `peer`. A controller that has too
    /// many, or has ended, closes it.
    pub fn let_in(&self, stream: impl Into<Stream>, peer: SocketAddr) {
        let _ = self.arrivals.send((stream.into(), peer));
        self.waker.wake();
    }
}

/// Where a controller that runs can be asked, from any thread.
#[derive(Clone, Debug)]
pub struct Desk {
    requests: Sender<Asked>,
    waker: Waker,
    asked: Arc<AtomicU64>,
    packet_in_times: Arc<TimeHistogram>,
}

/// A question, by whom it is asked, and by which its reply is known.
type Asked = (RequestId, Asker, Request);

/// What is asked at a desk whose controller is driven by somebody else.
#[derive(Debug)]
pub struct Questions(Receiver<Asked>);

impl Questions {
    /// Returns the next one that has not been taken, if there is one.
    #[must_use]
    pub fn take(&self) -> Option<(RequestId, Asker, Request)> {
        self.0.try_recv().ok()
    }
}

impl Desk {
    /// Returns a desk, and what is asked there.
    ///
    /// # Errors
    ///
    /// If the machine has no descriptors left.
    pub fn open() -> io::Result<(Self, Questions)> {
        let (requests, asked) = mpsc::channel();
        let desk = Self {
            requests,
            waker: Waker::new()?,
            asked: Arc::default(),
            packet_in_times: Arc::default(),
        };
        Ok((desk, Questions(asked)))
    }

    /// Asks the controller; the reply comes among what the controller tells, and
    /// never if it has ended.
    pub fn ask(&self, by: Asker, request: Request) -> RequestId {
        let id = self.next_id();
        self.ask_as(id, by, request);
        id
    }

    /// Returns how long frames that switches hand over take in the controller: from when
    /// they were read until all that follows from what was read with them has been
    /// written or queued.
    #[must_use]
    pub fn packet_in_times(&self) -> &TimeHistogram {
        &self.packet_in_times
    }

    /// Returns a name for a question that nobody has used.
    #[must_use]
    pub fn next_id(&self) -> RequestId {
        RequestId(self.asked.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks the controller under a name from [`next_id`](Self::next_id), which was
    /// noted before so that the reply finds who waits for it.
    pub fn ask_as(&self, id: RequestId, by: Asker, request: Request) {
        // A controller that has ended answers nobody.
        let _ = self.requests.send((id, by, request));
        self.waker.wake();
    }
}

/// A controller that runs. It ends when this value does.
#[derive(Debug)]
pub struct ControllerHandle {
    side_entrance: SideEntrance,
    desk: Desk,
    told: Receiver<Told>,
    waker: Waker,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    cluster: Option<ClusterKeeper>,
}

impl ControllerHandle {
    /// Starts a controller that listens on `listener`, if there is one, and keeps
    /// what it must in `store`; its thread is run as `wish` says.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn start<S>(
        listener: impl Into<Option<TcpListener>>,
        config: Config,
        store: S,
        wish: Wish,
    ) -> io::Result<Self>
    where
        S: Store + Send + 'static,
        S::Error: Display,
    {
        let waker = Waker::new()?;
        let keeper = StoreKeeper::start(store, waker.clone());
        Self::run(listener.into(), (config, None), (keeper, waker), wish)
    }

    fn run(
        listener: Option<TcpListener>,
        (config, cluster): (Config, Option<Standby>),
        (keeper, waker): (StoreKeeper, Waker),
        wish: Wish,
    ) -> io::Result<Self> {
        let (requests, asked) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let doorway = ConnectionListener::open(listener, &waker)?;
        let (arrivals, arrived) = mpsc::channel();
        let side_entrance = SideEntrance {
            arrivals,
            waker: waker.clone(),
        };
        let (should_stop, own_waker) = (Arc::clone(&stop), waker.clone());
        let packet_in_times = Arc::new(TimeHistogram::default());
        let times = Arc::clone(&packet_in_times);
        let thread = thread::Builder::new().name("controller".to_owned());
        let thread = thread.spawn(move || {
            scheduling::apply(wish);
            renounce();
            let now = clock::now();
            let mut carried = Loop {
                controller: match &cluster {
                    Some(_) => Controller::stand_by(now, config),
                    None => Controller::new(now, config),
                },
                cluster,
                doorway,
                arrived,
                keeper,
                requests: asked,
                tell,
                waker: own_waker,
                spoken_to: BTreeSet::new(),
                room: vec![0; CHUNK_BYTES],
                packet_in_times: times,
            };
            while !should_stop.load(Ordering::Relaxed) {
                carried.turn();
            }
        })?;
        let desk = Desk {
            requests,
            waker: waker.clone(),
            asked: Arc::default(),
            packet_in_times,
        };
        Ok(Self {
            side_entrance,
            desk,
            told,
            waker,
            stop,
            thread: Some(thread),
            cluster: None,
        })
    }

    /// Returns what is known of the cluster, if it is an instance of one.
    #[must_use]
    pub fn cluster(&self) -> Option<ClusterReport> {
        self.cluster.as_ref().map(|it| it.report.clone())
    }

    /// Hands over to the other instances of its cluster, if it is one of one.
    pub fn leave(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.leave();
        }
    }

    /// Returns where connections are handed over that were made elsewhere.
    #[must_use]
    pub fn side_entrance(&self) -> SideEntrance {
        self.side_entrance.clone()
    }

    /// Asks the controller in the name of the program around it; the reply comes
    /// among what it tells.
    pub fn ask(&self, request: Request) -> RequestId {
        self.desk.ask(Asker::Operator, request)
    }

    /// Returns where other threads can ask.
    #[must_use]
    pub fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Returns what the controller tells.
    #[must_use]
    pub fn told(&self) -> &Receiver<Told> {
        &self.told
    }
}

impl Drop for ControllerHandle {
    fn drop(&mut self) {
        // It wants things of the threads that end next.
        self.cluster = None;
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Gives up what the calling thread does not need. A kernel that knows nothing of it
/// leaves things as they are everywhere else.
fn renounce() {
    let _ = privilege::renounce();
}

struct Loop {
    controller: Controller,
    cluster: Option<Standby>,
    doorway: ConnectionListener,
    arrived: Receiver<AcceptedStream>,
    keeper: StoreKeeper,
    requests: Receiver<Asked>,
    tell: Sender<Told>,
    waker: Waker,
    /// The connections for which something was queued and not yet sent.
    spoken_to: BTreeSet<ConnectionId>,
    room: Vec<u8>,
    packet_in_times: Arc<TimeHistogram>,
}

impl Loop {
    fn turn(&mut self) {
        let now = clock::now();
        let deadline = self.controller.deadline();
        self.doorway.wait(Some(deadline.saturating_since(now)));
        while let Some(knock) = self.doorway.knock() {
            match knock {
                Readiness::Listener => self.let_in(),
                Readiness::Waker => self.waker.clear(),
                Readiness::Connection(id) => self.listen_to(id),
            }
        }
        self.let_in_aside();
        while let Ok((id, by, request)) = self.requests.try_recv() {
            self.ask((id, by, request));
        }
        self.take_kept();
        if clock::now() >= self.controller.deadline() {
            self.input(Input::Timeout);
        }
        self.speak();
        self.tell_of_later_term();
    }

    fn let_in(&mut self) {
        for _ in 0..MOST_ACCEPTED_AT_ONCE {
            let Some(id) = self.doorway.accept() else {
                return;
            };
            self.input(Input::Connected(id));
        }
    }

    fn let_in_aside(&mut self) {
        while let Ok((stream, peer)) = self.arrived.try_recv() {
            if let Some(id) = self.doorway.take(stream, peer) {
                self.input(Input::Connected(id));
            }
        }
    }

    /// Takes what a switch has said. What could not be sent before may go now, and
    /// goes first.
    fn listen_to(&mut self, id: ConnectionId) {
        if self.doorway.is_behind(id) {
            let unsent = self.doorway.flush(id);
            self.settle(id, unsent);
        }
        let mut room = std::mem::take(&mut self.room);
        match self.doorway.read(id, &mut room) {
            Found::Bytes(count) => {
                let bytes = &room[..count];
                self.hear(id, bytes);
            }
            Found::Nothing => {}
            Found::Closed => {
                self.lose(id);
            }
        }
        self.room = room;
    }

    /// Hands over what a switch has said; what it is answered is sent at once.
    fn hear(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let input = Input::Received { connection, bytes };
        let (read, before) = (clock::now(), self.controller.counters().packet_ins);
        self.controller.handle(read, input);
        while let Some(output) = self.controller.poll() {
            match output {
                Output::Send {
                    connection: to,
                    bytes,
                } if to == connection => {
                    let unsent = self.doorway.send(to, bytes);
                    match unsent {
                        Unsent::Nothing | Unsent::Something => {}
                        // It is dealt with at the end of the turn.
                        Unsent::TooMuch | Unsent::Closed => {
                            self.spoken_to.insert(to);
                        }
                    }
                }
                other => carry_out(
                    other,
                    &mut self.doorway,
                    &mut self.spoken_to,
                    &self.keeper,
                    &self.tell,
                ),
            }
        }
        let packet_ins = self.controller.counters().packet_ins - before;
        if packet_ins > 0 {
            let took = clock::now().saturating_since(read);
            self.packet_in_times.add(packet_ins, took);
        }
    }

    fn speak(&mut self) {
        while let Some(id) = self.spoken_to.pop_first() {
            let unsent = self.doorway.flush(id);
            self.settle(id, unsent);
        }
    }

    /// Parts with a connection that is of no more use.
    fn settle(&mut self, id: ConnectionId, unsent: Unsent) {
        match unsent {
            Unsent::Nothing | Unsent::Something => {}
            Unsent::TooMuch => {
                if let Some(peer) = self.lose(id) {
                    let reason = CloseReason::Unread;
                    self.tell(Told::Closed { peer, reason });
                }
            }
            Unsent::Closed => {
                self.lose(id);
            }
        }
    }

    /// Parts with a connection, and returns whose it was.
    fn lose(&mut self, id: ConnectionId) -> Option<SocketAddr> {
        self.spoken_to.remove(&id);
        let peer = self.doorway.close(id)?;
        self.input(Input::Disconnected(id));
        Some(peer)
    }

    /// Takes what the store has to tell, and does what follows from it a good many at a
    /// time: a switch is asked once to confirm all that it is sent then.
    fn take_kept(&mut self) {
        let mut taken = 0;
        while let Some(kept) = self.keeper.next() {
            match kept {
                Kept::Leads(epoch, begins) => self.lead(epoch, begins),
                Kept::StandDown(epoch) => self.stand_down_in(epoch),
                // It is for one that led before.
                Kept::Event(_) if self.stands_by() => {}
                Kept::Event(event) => {
                    self.controller.handle(clock::now(), Input::Stored(event));
                    taken += 1;
                }
                Kept::Failed(reason) => self.tell(Told::StoreFailed { reason }),
                Kept::Recovered => self.tell(Told::StoreRecovered),
            }
            if taken == MOST_KEPT_AT_ONCE {
                taken = 0;
                self.drain();
            }
        }
        if taken > 0 {
            self.drain();
        }
    }

    fn input(&mut self, input: Input<'_>) {
        self.controller.handle(clock::now(), input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.controller.poll() {
            carry_out(
                output,
                &mut self.doorway,
                &mut self.spoken_to,
                &self.keeper,
                &self.tell,
            );
        }
    }

    fn tell(&self, told: Told) {
        tell(&self.tell, told);
    }
}

/// Does what the controller asks for. What is sent is queued: a turn that speaks to a
/// switch many times writes to it once.
fn carry_out(
    output: Output<'_>,
    doorway: &mut ConnectionListener,
    spoken_to: &mut BTreeSet<ConnectionId>,
    keeper: &StoreKeeper,
    told: &Sender<Told>,
) {
    match output {
        Output::Send { connection, bytes } => {
            doorway.queue(connection, bytes);
            spoken_to.insert(connection);
        }
        Output::Close { connection, reason } => {
            // The last words, such as an error message, as far as they fit.
            doorway.flush(connection);
            spoken_to.remove(&connection);
            if let Some(peer) = doorway.close(connection) {
                tell(told, Told::Closed { peer, reason });
            }
        }
        Output::Store(write) => keeper.write(write),
        Output::Notify(notice) => {
            // What was to be sent before is sent before, so that the time of the
            // notice is that of the sending.
            flush(doorway, spoken_to);
            let at = clock::now();
            tell(told, Told::Notice { at, notice });
        }
        Output::Reply { id, reply } => {
            let at = clock::now();
            tell(told, Told::Reply { at, id, reply });
        }
    }
}

/// Sends what waits. Connections that turn out broken are dealt with at the end of
/// the turn.
fn flush(doorway: &mut ConnectionListener, spoken_to: &BTreeSet<ConnectionId>) {
    for id in spoken_to {
        doorway.flush(*id);
    }
}

/// Tells the program, unless it has stopped to listen.
fn tell(to: &Sender<Told>, told: Told) {
    let _ = to.send(told);
}
