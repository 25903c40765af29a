//! Lets in whoever can prove who it is, on one thread for all.
//!
//! The thread accepts, shakes hands, and then carries every connection between the
//! network and a pair of sockets, the other one of which it hands over. Nobody can
//! hold up others: a handshake ends after [`HANDSHAKE_PATIENCE`], and while
//! [`MOST_HANDSHAKES`] are under way, the oldest gives way to who comes, once it has
//! had [`HANDSHAKE_GRACE`]; until then who comes waits. What a connection can make
//! the thread keep is bounded by the buffers of its [`Relay`].

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use rustls::ServerConfig;

use super::claim::{Claim, Naming};
use super::complaints::{Complaint, Complaints};
use super::handshake::{Handshake, Progress};
use super::refusal::Refusal;
use super::relay::{End, Relay, Stage, Wish};
use super::watch::{Happened, Mark, Watch};
use super::{HANDSHAKE_PATIENCE, PARTING};

/// The most handshakes under way.
pub const MOST_HANDSHAKES: usize = 256;
/// For how long a handshake gives way to nobody.
pub const HANDSHAKE_GRACE: Duration = Duration::from_secs(1);
/// How many are let in before those who are inside have their turn.
const MOST_ACCEPTED_AT_ONCE: usize = 16;
/// How long the thread rests when the kernel has nothing left to accept with.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);
/// The marks of what is no connection; theirs count up from zero.
const LISTENER: Mark = Mark(u64::MAX);
const ALARM: Mark = Mark(u64::MAX - 1);
const READING: Wish = Wish {
    reading: true,
    writing: false,
};

#[derive(Clone, Debug)]
pub struct Terms {
    /// What is trusted and shown.
    pub config: Arc<ServerConfig>,
    /// What certificates have to name.
    pub naming: Naming,
    /// How many at a time.
    pub most: usize,
}

/// The thread. It ends when this value does, and with it all connections.
#[derive(Debug)]
pub struct Gate {
    alarm: Arc<OwnedFd>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gate {
    /// Begins to let in who comes to `listener` and satisfies the `terms`; `take`
    /// gets the plain end of each connection, `tell` who was refused and why.
    ///
    /// # Errors
    ///
    /// If the process has no threads or descriptors left.
    pub fn open(
        listener: TcpListener,
        terms: Terms,
        take: impl FnMut(UnixStream, SocketAddr) + Send + 'static,
        tell: impl FnMut(Complaint) + Send + 'static,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let alarm = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let stop = Arc::new(AtomicBool::new(false));
        let watch = Watch::new()?;
        watch.set(&alarm, ALARM, None, Some(READING))?;
        let mut keeper = Keeper {
            listener,
            listens: None,
            terms,
            take,
            tell,
            watch,
            rests_until: None,
            handshakes: BTreeMap::new(),
            lines: BTreeMap::new(),
            leaving: VecDeque::new(),
            complaints: Complaints::new(Instant::now()),
            next: 0,
        };
        let should_stop = Arc::clone(&stop);
        let thread = thread::Builder::new().name("tls".to_owned());
        let thread = thread.spawn(move || {
            while !should_stop.load(Ordering::Relaxed) {
                keeper.turn();
            }
        })?;
        Ok(Self {
            alarm,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A full counter wakes the thread as well.
        let _ = rustix::io::write(&self.alarm, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Numbers a connection; never used again for another.
type Number = u64;

struct Keeper<T, L> {
    listener: TcpListener,
    /// What is wished of the listener at the moment.
    listens: Option<Wish>,
    terms: Terms,
    take: T,
    tell: L,
    watch: Watch,
    rests_until: Option<Instant>,
    /// By age, since numbers count up.
    handshakes: BTreeMap<Number, (Handshake, Option<Wish>)>,
    lines: BTreeMap<Number, Line>,
    /// Lines of which an end has left, with when the rest is given up.
    leaving: VecDeque<(Instant, Number)>,
    complaints: Complaints,
    next: Number,
}

/// Somebody who was let in.
struct Line {
    relay: Relay,
    peer: SocketAddr,
    /// What is wished of the ends at the moment.
    wishes: [Option<Wish>; 2],
    stage: Stage,
}

impl<T, L> Keeper<T, L>
where
    T: FnMut(UnixStream, SocketAddr),
    L: FnMut(Complaint),
{
    fn turn(&mut self) {
        let now = Instant::now();
        self.give_up_the_late(now);
        let deadline = self.listen(now);
        let patience = deadline.map(|deadline| deadline.saturating_duration_since(now));
        self.watch.wait(patience);
        while let Some(happened) = self.watch.found() {
            match happened.mark {
                LISTENER => self.accept(),
                // Whoever rings wants the thread to end.
                ALARM => {}
                Mark(mark) => self.attend(mark >> 1, happened),
            }
        }
    }

    fn give_up_the_late(&mut self, now: Instant) {
        while let Some(oldest) = self.handshakes.first_entry()
            && oldest.get().0.since + HANDSHAKE_PATIENCE <= now
        {
            let peer = oldest.remove().0.peer;
            self.refuse(peer, Refusal::Late);
        }
        while let Some((_, number)) = self.leaving.pop_front_if(|(until, _)| *until <= now) {
            self.lines.remove(&number);
        }
    }

    /// Listens for further ones if they may come; returns when to look again.
    fn listen(&mut self, now: Instant) -> Option<Instant> {
        self.rests_until = self.rests_until.filter(|until| *until > now);
        let oldest = self.handshakes.values().next();
        let oldest = oldest.map(|(handshake, _)| handshake.since);
        let crowded = self
            .is_crowded()
            .then(|| oldest.map(|it| it + HANDSHAKE_GRACE));
        let crowded = crowded.flatten().filter(|until| *until > now);
        let wish = (self.rests_until.or(crowded).is_none()).then_some(READING);
        if self
            .watch
            .set(&self.listener, LISTENER, self.listens, wish)
            .is_ok()
        {
            self.listens = wish;
        }
        let late = oldest.map(|it| it + HANDSHAKE_PATIENCE);
        let parting = self.leaving.front().map(|(until, _)| *until);
        [self.rests_until, crowded, late, parting]
            .into_iter()
            .flatten()
            .min()
    }

    fn is_crowded(&self) -> bool {
        self.handshakes.len() >= MOST_HANDSHAKES
    }

    fn accept(&mut self) {
        for _ in 0..MOST_ACCEPTED_AT_ONCE {
            let now = Instant::now();
            let oldest = self.handshakes.values().next();
            let gives_way = oldest.is_none_or(|(it, _)| it.since + HANDSHAKE_GRACE <= now);
            if self.is_crowded() && !gives_way {
                return;
            }
            match self.listener.accept() {
                Ok((stream, peer)) => self.receive(stream, peer),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Of descriptors, or memory: who knocks is still there afterwards.
                Err(_) => {
                    self.rests_until = Some(now + SHORTAGE_PAUSE);
                    return;
                }
            }
        }
    }

    fn receive(&mut self, stream: TcpStream, peer: SocketAddr) {
        if self.lines.len() + self.handshakes.len() >= self.terms.most {
            self.refuse(peer, Refusal::Full);
            return;
        }
        if self.is_crowded()
            && let Some((_, (oldest, _))) = self.handshakes.pop_first()
        {
            self.refuse(oldest.peer, Refusal::Crowded);
        }
        match Handshake::begin(stream, peer, &self.terms.config) {
            Ok(handshake) => {
                let number = self.next;
                self.next += 1;
                self.handshakes.insert(number, (handshake, None));
                self.shake_hands(number);
            }
            Err(reason) => self.refuse(peer, reason),
        }
    }

    fn attend(&mut self, number: Number, happened: Happened) {
        if self.handshakes.contains_key(&number) {
            self.shake_hands(number);
        } else if let Some(line) = self.lines.get_mut(&number) {
            if happened.hung_up {
                line.relay.hung_up(end_of(happened.mark));
            }
            self.carry(number);
        }
    }

    fn shake_hands(&mut self, number: Number) {
        let Some((handshake, wish)) = self.handshakes.get_mut(&number) else {
            return;
        };
        let stepped = match handshake.step() {
            Ok(Progress::Waiting(wanted)) => {
                let mark = mark_of(number, End::Peer);
                let before = wish.replace(wanted);
                let set = self
                    .watch
                    .set(&handshake.stream, mark, before, Some(wanted));
                match set {
                    Ok(()) => return,
                    Err(error) => Err(error.into()),
                }
            }
            Ok(Progress::Done) => Ok(()),
            Err(reason) => Err(reason),
        };
        let (handshake, wish) = self.handshakes.remove(&number).expect("just seen");
        match stepped {
            Ok(()) => self.let_in(number, handshake, wish),
            Err(reason) => self.refuse(handshake.peer, reason),
        }
    }

    fn let_in(&mut self, number: Number, handshake: Handshake, wish: Option<Wish>) {
        let peer = handshake.peer;
        let shown = handshake.connection.peer_certificates();
        let claim = match (self.terms.naming, shown.and_then(<[_]>::first)) {
            (Naming::DatapathId, Some(shown)) => Some(Claim::new(shown.clone().into_owned())),
            (Naming::DatapathId, None) | (Naming::Any, _) => None,
        };
        match Relay::new(handshake.stream, handshake.connection.into(), claim) {
            Ok((plain, relay)) => {
                (self.take)(plain, peer);
                let line = Line {
                    relay,
                    peer,
                    wishes: [wish, None],
                    stage: Stage::Passing,
                };
                self.lines.insert(number, line);
                self.carry(number);
            }
            Err(error) => self.refuse(peer, Refusal::Other(error.to_string())),
        }
    }

    fn carry(&mut self, number: Number) {
        let Some(line) = self.lines.get_mut(&number) else {
            return;
        };
        let before = line.stage;
        match line.step(&self.watch, number) {
            Ok(Stage::Passing) => {}
            Ok(stage @ Stage::Leaving(_)) if before == Stage::Passing => {
                line.stage = stage;
                self.leaving.push_back((Instant::now() + PARTING, number));
            }
            Ok(Stage::Leaving(_)) => {}
            Ok(Stage::Over) => {
                self.lines.remove(&number);
            }
            Err(error) => {
                let peer = line.peer;
                self.lines.remove(&number);
                // What breaks as connections do is noticed by whoever used it.
                if let Some(reason) = Refusal::of_broken(error) {
                    self.refuse(peer, reason);
                }
            }
        }
    }

    fn refuse(&mut self, peer: SocketAddr, reason: Refusal) {
        for complaint in self.complaints.about(Instant::now(), peer, reason) {
            (self.tell)(complaint);
        }
    }
}

impl Line {
    /// Passes on what can be passed on, and says what to wait for next.
    fn step(&mut self, watch: &Watch, number: Number) -> io::Result<Stage> {
        let stage = self.relay.step()?;
        for (end, before) in [End::Peer, End::Holder].into_iter().zip(&mut self.wishes) {
            let wish = self.relay.wish(end);
            let mark = mark_of(number, end);
            watch.set(self.relay.socket(end), mark, *before, wish)?;
            *before = wish;
        }
        Ok(stage)
    }
}

fn mark_of(number: Number, end: End) -> Mark {
    Mark(number << 1 | u64::from(end == End::Holder))
}

fn end_of(mark: Mark) -> End {
    match mark.0 & 1 {
        0 => End::Peer,
        _ => End::Holder,
    }
}
