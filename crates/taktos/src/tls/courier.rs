//! Carries one encrypted connection on a thread of its own.

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::relay::{End, Relay, Stage};
use super::{Dialling, HANDSHAKE_PATIENCE, PARTING, broken};

/// Shakes hands with a controller that was dialled; returns the plain end of the
/// connection.
///
/// # Errors
///
/// If the two do not trust each other, or the controller takes too long.
pub fn dial(stream: TcpStream, dialling: &Dialling) -> io::Result<UnixStream> {
    let (config, name) = (dialling.config.clone(), dialling.name.clone());
    let connection = ClientConnection::new(config, name).map_err(broken)?;
    let (plain, relay) = prepare(stream, connection.into())?;
    thread::Builder::new()
        .name("tls".to_owned())
        .spawn(move || carry(relay))?;
    Ok(plain)
}

/// Shakes hands with somebody who connected, on a thread of its own, and hands the
/// plain end to `take` if the two trust each other.
///
/// # Errors
///
/// If the process has no threads left.
pub fn accept(
    stream: TcpStream,
    connection: ServerConnection,
    take: impl FnOnce(UnixStream) + Send + 'static,
) -> io::Result<()> {
    let begun = thread::Builder::new()
        .name("tls".to_owned())
        .spawn(move || {
            // Who is not trusted is not let in, and there is nobody else to tell.
            if let Ok((plain, relay)) = prepare(stream, connection.into()) {
                take(plain);
                carry(relay);
            }
        });
    begun.map(drop)
}

fn prepare(mut stream: TcpStream, mut connection: Connection) -> io::Result<(UnixStream, Relay)> {
    let give_up = Instant::now() + HANDSHAKE_PATIENCE;
    while connection.is_handshaking() {
        let left = give_up.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        stream.set_write_timeout(Some(left))?;
        connection.complete_io(&mut stream)?;
    }
    Relay::new(stream, connection, None)
}

/// Passes bytes on until an end closes or breaks, and the other one has taken what
/// was said before, or not in time.
fn carry(mut relay: Relay) {
    let mut give_up = None;
    loop {
        let left = match relay.step() {
            Ok(Stage::Passing) => None,
            Ok(Stage::Leaving(_)) => {
                let give_up = *give_up.get_or_insert_with(|| Instant::now() + PARTING);
                Some(give_up.saturating_duration_since(Instant::now()))
            }
            Ok(Stage::Over) | Err(_) => return,
        };
        if left.is_some_and(|left| left.is_zero()) || wait(&mut relay, left).is_err() {
            return;
        }
    }
}

/// Waits until an end is ready for what is to be done there, at most for `left`.
fn wait(relay: &mut Relay, left: Option<Duration>) -> io::Result<()> {
    // An end that has left would be reported again and again.
    let watched = match relay.stage() {
        Stage::Passing => 0..2,
        Stage::Leaving(End::Holder) => 0..1,
        Stage::Leaving(End::Peer) => 1..2,
        Stage::Over => 0..0,
    };
    let mut sockets = [End::Peer, End::Holder].map(|end| socket(relay, end));
    let timeout = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut sockets[watched], timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR;
    let [peer, holder] = sockets.map(|socket| socket.revents().intersects(gone));
    if peer {
        relay.hung_up(End::Peer);
    }
    if holder {
        relay.hung_up(End::Holder);
    }
    Ok(())
}

fn socket(relay: &Relay, end: End) -> PollFd<'_> {
    let wish = relay.wish(end).unwrap_or_default();
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, wish.reading);
    flags.set(PollFlags::OUT, wish.writing);
    PollFd::from_borrowed_fd(relay.socket(end), flags)
}
