//! Keeps an instance in touch with the others of its cluster, on a thread of its own: signs
//! of life wait for no controller and no store.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use controller::cluster::{
    Done, Input, Instance, KEEPALIVE_LENGTH, Output, Report, SILENCE, Task, Terms,
};
use controller::store::Epoch;

use crate::clock;
use crate::poller::Poller;
use crate::waker::Waker;

const SOCKET: u64 = 0;
const WAKER: u64 = 1;
/// The most addresses that are remembered.
const MOST_PEERS: usize = 64;
/// The most datagrams that are read before time is looked at again.
const MOST_AT_ONCE: usize = 64;

/// How a controller is one of a cluster.
#[derive(Debug)]
pub struct Membership {
    /// Where it hears the others.
    pub socket: UdpSocket,
    pub terms: Terms,
}

/// What an instance is told by the other threads.
#[derive(Debug)]
pub(super) enum Call {
    Done(Done),
    /// This epoch has put an end to ours.
    Replaced(Epoch),
    Later(u64),
    Leave(Sender<()>),
    End,
}

/// Where the other threads call the instance.
#[derive(Clone, Debug)]
pub(super) struct Line {
    calls: Sender<Call>,
    waker: Waker,
}

impl Line {
    pub(super) fn call(&self, call: Call) {
        // An instance that has ended hears nobody.
        let _ = self.calls.send(call);
        self.waker.wake();
    }
}

/// What the instance wants of the other threads.
pub(super) struct Wants {
    pub task: Box<dyn Fn(Task) + Send>,
    pub stand_down: Box<dyn Fn(Epoch) + Send>,
}

/// What is known of the cluster, for whoever wants to know.
#[derive(Clone, Debug, Default)]
pub struct ClusterReport {
    report: Arc<Mutex<Report>>,
}

impl ClusterReport {
    /// Returns how things are now.
    #[must_use]
    pub fn read(&self) -> Report {
        self.held().clone()
    }

    fn held(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread with the instance.
#[derive(Debug)]
pub(super) struct ClusterKeeper {
    line: Line,
    pub(super) report: ClusterReport,
    thread: Option<JoinHandle<()>>,
}

/// A thread that is still to be started, and how it is called.
pub(super) struct Prepared {
    pub line: Line,
    calls: Receiver<Call>,
}

/// Prepares a thread, so that those that it wants something of know how it is called.
pub(super) fn prepare() -> io::Result<Prepared> {
    let (tell, calls) = mpsc::channel();
    let waker = Waker::new()?;
    let line = Line { calls: tell, waker };
    Ok(Prepared { line, calls })
}

impl Prepared {
    pub(super) fn start(self, membership: Membership, wants: Wants) -> io::Result<ClusterKeeper> {
        let Membership { socket, terms } = membership;
        socket.set_nonblocking(true)?;
        let poller = Poller::new()?;
        poller.add(&socket, SOCKET)?;
        poller.add(&self.line.waker, WAKER)?;
        let report = ClusterReport::default();
        let mut keeper = Keeper {
            instance: Instance::new(clock::now(), terms),
            socket,
            peers: BTreeMap::new(),
            poller,
            calls: self.calls,
            waker: self.line.waker.clone(),
            wants,
            report: report.clone(),
            left: None,
        };
        let thread = thread::Builder::new().name("cluster".to_owned());
        let thread = thread.spawn(move || {
            super::renounce();
            while keeper.turn() {}
        })?;
        Ok(ClusterKeeper {
            line: self.line,
            report,
            thread: Some(thread),
        })
    }
}

impl ClusterKeeper {
    /// Hands over to the others, and waits until the store has forgotten this instance, but
    /// not long.
    pub(super) fn leave(&self) {
        let (tell, left) = mpsc::channel();
        self.line.call(Call::Leave(tell));
        match left.recv_timeout(SILENCE.into()) {
            // Its record ends with its lease.
            Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

impl Drop for ClusterKeeper {
    fn drop(&mut self) {
        self.line.call(Call::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Keeper {
    instance: Instance,
    socket: UdpSocket,
    /// By address, a socket that hears when nobody listens there.
    peers: BTreeMap<SocketAddr, UdpSocket>,
    poller: Poller,
    calls: Receiver<Call>,
    waker: Waker,
    wants: Wants,
    report: ClusterReport,
    /// Who waits until the instance is gone.
    left: Option<Sender<()>>,
}

impl Keeper {
    /// Waits for what happens next, and does what follows. Returns whether it goes on.
    fn turn(&mut self) -> bool {
        let wait = self.instance.deadline().saturating_since(clock::now());
        self.poller.wait(Some(wait));
        let mut is_called = false;
        while let Some(mark) = self.poller.next() {
            is_called |= mark == WAKER;
        }
        // What was due is due first: whoever was stopped for long gives up what it held
        // before it hears anybody.
        self.input(Input::Timeout);
        if is_called {
            self.waker.clear();
            while let Ok(call) = self.calls.try_recv() {
                match call {
                    Call::Done(done) => self.done(done),
                    Call::Replaced(by) => self.input(Input::Replaced(by)),
                    Call::Later(term) => self.input(Input::Later(term)),
                    Call::Leave(tell) => {
                        self.left = Some(tell);
                        self.input(Input::Leave);
                    }
                    Call::End => return false,
                }
            }
        }
        let mut room = [0; KEEPALIVE_LENGTH + 1];
        for _ in 0..MOST_AT_ONCE {
            let Ok(length) = self.socket.recv(&mut room) else {
                break;
            };
            self.input(Input::Received(&room[..length]));
        }
        *self.report.held() = self.instance.report();
        true
    }

    fn done(&mut self, done: Done) {
        let is_struck = done == Done::Struck;
        self.input(Input::Done(done));
        if is_struck && let Some(tell) = self.left.take() {
            let _ = tell.send(());
        }
    }

    fn input(&mut self, input: Input<'_>) {
        self.instance.handle(clock::now(), input);
        let mut refused = Vec::new();
        while let Some(output) = self.instance.poll() {
            match output {
                Output::Task(task) => (self.wants.task)(task),
                Output::StandDown(epoch) => (self.wants.stand_down)(epoch),
                Output::Send { to, bytes } => {
                    if self.send(to, &bytes) == Heard::Nobody {
                        refused.push(to);
                    }
                }
            }
        }
        for address in refused {
            self.instance.handle(clock::now(), Input::Refused(address));
        }
    }

    /// Sends a datagram, and looks whether anybody listens there.
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> Heard {
        if self.peers.len() > MOST_PEERS {
            self.peers.clear();
        }
        if !self.peers.contains_key(&to)
            && let Ok(socket) = connected(to)
        {
            self.peers.insert(to, socket);
        }
        let Some(peer) = self.peers.get(&to) else {
            return Heard::Perhaps;
        };
        let sent = peer.send(bytes);
        // An answer to what was just sent, where both are on one machine.
        let outcomes = [sent.err(), peer.recv(&mut [0; 1]).err()];
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        match outcomes.iter().flatten().any(is_refused) {
            true => Heard::Nobody,
            false => Heard::Perhaps,
        }
    }
}

/// Whether a datagram found somebody.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Perhaps,
    Nobody,
}

fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    socket.connect(to)?;
    Ok(socket)
}
