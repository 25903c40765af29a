//! Lets in whoever can prove who it is, on one thread for all.
//!
//! The thread accepts, shakes hands, and then carries every connection between the
//! network and a pair of sockets, the other one of which it hands over. Nobody can
//! hold up others: a handshake ends after [`HANDSHAKE_PATIENCE`], and while
//! [`MOST_HANDSHAKES`] are under way, the oldest gives way to who comes, once it has
//! had [`HANDSHAKE_GRACE`]; until then who comes waits. What a connection can make
//! the thread keep is bounded by the buffers of its [`relay`].

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener as Listener};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::claim::{Claim, Naming};
use super::complaints::{Complaint, Complaints};
use super::refusal::TlsRefusal;
use super::{HANDSHAKE_PATIENCE, relay, runtime};

/// The most handshakes under way.
pub const MOST_HANDSHAKES: usize = 256;
/// For how long a handshake gives way to nobody.
pub const HANDSHAKE_GRACE: Duration = Duration::from_secs(1);
/// How long nobody is let in when the kernel has nothing left to accept with.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);

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
    _thread: Runtime,
}

impl Gate {
    /// Begins to let in who comes to `listener` and satisfies the `terms`; `take`
    /// gets the plain end of each connection, `tell` who was refused and why.
    ///
    /// # Errors
    ///
    /// If the process has no threads or descriptors left.
    pub fn open(
        listener: Listener,
        terms: Terms,
        take: impl Fn(UnixStream, SocketAddr) + Send + Sync + 'static,
        tell: impl Fn(Complaint) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let thread = runtime()?;
        let entered = thread.enter();
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        drop(entered);
        let keeper = Keeper {
            acceptor: TlsAcceptor::from(terms.config),
            naming: terms.naming,
            take,
            tell,
            complaints: Mutex::new(Complaints::new(Instant::now())),
            handshakes: Mutex::default(),
        };
        thread.spawn(Arc::new(keeper).keep(listener, terms.most));
        Ok(Self { _thread: thread })
    }
}

struct Keeper<T, L> {
    acceptor: TlsAcceptor,
    naming: Naming,
    take: T,
    tell: L,
    complaints: Mutex<Complaints>,
    /// By age, since numbers count up.
    handshakes: Mutex<BTreeMap<u64, Handshake>>,
}

/// Somebody who has not shown yet who it is.
struct Handshake {
    peer: SocketAddr,
    since: Instant,
    task: AbortHandle,
}

impl<T, L> Keeper<T, L>
where
    T: Fn(UnixStream, SocketAddr) + Send + Sync + 'static,
    L: Fn(Complaint) + Send + Sync + 'static,
{
    async fn keep(self: Arc<Self>, listener: TcpListener, most: usize) {
        let places = Arc::new(Semaphore::new(most));
        let hands = Arc::new(Semaphore::new(MOST_HANDSHAKES));
        for number in 0.. {
            let (stream, peer) = accept(&listener).await;
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                self.refuse(peer, TlsRefusal::Full);
                continue;
            };
            let hand = self.free_hand(&hands).await;
            // Before the task looks for itself among them.
            let mut handshakes = lock(&self.handshakes);
            let receiving = Arc::clone(&self).receive(number, stream, peer, hand, place);
            let handshake = Handshake {
                peer,
                since: Instant::now(),
                task: tokio::spawn(receiving).abort_handle(),
            };
            handshakes.insert(number, handshake);
        }
    }

    /// Waits for a hand to be shaken; the oldest handshake gives way once it may.
    async fn free_hand(&self, hands: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        let oldest = lock(&self.handshakes).values().next().map(|it| it.since);
        let grace = oldest.map_or(HANDSHAKE_GRACE, |since| {
            HANDSHAKE_GRACE.saturating_sub(since.elapsed())
        });
        let hand = match timeout(grace, Arc::clone(hands).acquire_owned()).await {
            Ok(hand) => hand,
            Err(_) => {
                self.show_out_the_oldest();
                Arc::clone(hands).acquire_owned().await
            }
        };
        hand.expect("hands are never closed")
    }

    fn show_out_the_oldest(&self) {
        let oldest = lock(&self.handshakes).pop_first();
        if let Some((_, handshake)) = oldest {
            handshake.task.abort();
            self.refuse(handshake.peer, TlsRefusal::Crowded);
        }
    }

    async fn receive(
        self: Arc<Self>,
        number: u64,
        stream: TcpStream,
        peer: SocketAddr,
        hand: OwnedSemaphorePermit,
        _place: OwnedSemaphorePermit,
    ) {
        // A message is one write: waiting for more only delays it.
        let _ = stream.set_nodelay(true);
        let shaken = timeout(HANDSHAKE_PATIENCE, self.acceptor.accept(stream)).await;
        if lock(&self.handshakes).remove(&number).is_none() {
            return;
        }
        drop(hand);
        let reason = match shaken {
            Ok(Ok(enciphered)) => self.carry(enciphered, peer).await,
            Ok(Err(error)) => Some(TlsRefusal::of_handshake(error)),
            Err(_) => Some(TlsRefusal::Late),
        };
        if let Some(reason) = reason {
            self.refuse(peer, reason);
        }
    }

    /// Lets somebody in until it leaves; returns what is wrong with it, if something is.
    async fn carry(
        &self,
        enciphered: TlsStream<TcpStream>,
        peer: SocketAddr,
    ) -> Option<TlsRefusal> {
        let shown = enciphered.get_ref().1.peer_certificates();
        let claim = match (self.naming, shown.and_then(<[_]>::first)) {
            (Naming::DatapathId, Some(shown)) => Some(Claim::new(shown.clone().into_owned())),
            (Naming::DatapathId, None) | (Naming::Any, _) => None,
        };
        let (theirs, plain) = match relay::pair() {
            Ok(pair) => pair,
            Err(error) => return Some(TlsRefusal::Other(error.to_string())),
        };
        (self.take)(theirs, peer);
        let ended = relay::carry(enciphered, plain, claim).await;
        // What breaks as connections do is noticed by whoever used it.
        TlsRefusal::of_broken(ended.err()?)
    }

    fn refuse(&self, peer: SocketAddr, reason: TlsRefusal) {
        let told = lock(&self.complaints).about(Instant::now(), peer, reason);
        told.into_iter().for_each(&self.tell);
    }
}

/// Accepts somebody. Without descriptors or memory left, who knocks is still there
/// afterwards.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(_) => sleep(SHORTAGE_PAUSE).await,
        }
    }
}

fn lock<V>(shared: &Mutex<V>) -> MutexGuard<'_, V> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
