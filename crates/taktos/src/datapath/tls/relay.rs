//! Passes bytes between an encrypted connection and a pair of sockets.
//!
//! Each direction holds a bounded number of bytes; while they do not go on, no
//! more are read.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::{Dialling, broken};

/// How long the peer may take to prove who it is.
pub const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);
/// How long an end may take to take the last bytes of the other.
const PARTING: Duration = Duration::from_secs(2);
/// How much is read at once.
const CHUNK_BYTES: usize = 16 * 1024;

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
        .spawn(move || relay.run())?;
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
                relay.run();
            }
        });
    begun.map(drop)
}

/// Shakes hands, waiting.
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
    let (plain, ours) = UnixStream::pair()?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    ours.set_nonblocking(true)?;
    let relay = Relay {
        connection,
        stream,
        plain: ours,
        inbound: Pending::default(),
        outbound: Pending::default(),
    };
    Ok((plain, relay))
}

/// One connection with both its ends.
#[derive(Debug)]
struct Relay {
    connection: Connection,
    stream: TcpStream,
    plain: UnixStream,
    /// Deciphered bytes that the packet loop has not taken.
    inbound: Pending,
    /// Plain bytes that the connection has not taken.
    outbound: Pending,
}

/// Which end has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    Neither,
    Peer,
    Switch,
}

impl Relay {
    /// Passes bytes on until one end closes or breaks.
    fn run(mut self) {
        let closed = loop {
            match self.turn() {
                Ok(Closed::Neither) => {}
                Ok(closed) => break closed,
                // Whichever end broke, the other one is told by its end.
                Err(_) => return,
            }
        };
        // Who does not take the last bytes in time does without them.
        let _ = match closed {
            Closed::Neither | Closed::Peer => self.finish_inbound(),
            Closed::Switch => self.finish_outbound(),
        };
    }

    fn turn(&mut self) -> io::Result<Closed> {
        // What came with the last part of the handshake waits already.
        if self.inbound.is_empty() && self.receive()? == Closed::Peer {
            return Ok(Closed::Peer);
        }
        self.inbound.pass_on(&mut self.plain)?;
        if self.outbound.is_empty() && self.collect()? == Closed::Switch {
            return Ok(Closed::Switch);
        }
        self.encipher()?;
        self.wait()
    }

    /// Waits until one of the ends can do what is to be done, or has closed while
    /// something for the other waits.
    fn wait(&mut self) -> io::Result<Closed> {
        let mut peer = PollFlags::empty();
        let mut switch = PollFlags::empty();
        match self.inbound.is_empty() {
            true => peer |= PollFlags::IN,
            false => switch |= PollFlags::OUT,
        }
        if self.outbound.is_empty() {
            switch |= PollFlags::IN;
        }
        if self.connection.wants_write() {
            peer |= PollFlags::OUT;
        }
        let mut ends = [
            PollFd::new(&self.stream, peer),
            PollFd::new(&self.plain, switch),
        ];
        match poll(&mut ends, None::<&Timespec>) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let over = PollFlags::HUP | PollFlags::ERR;
        let [peer, switch] = ends.map(|end| end.revents().intersects(over));
        Ok(match (peer, switch) {
            (true, _) if !self.inbound.is_empty() => Closed::Peer,
            (_, true) if !self.outbound.is_empty() => Closed::Switch,
            _ => Closed::Neither,
        })
    }

    /// Takes what the peer sent.
    fn receive(&mut self) -> io::Result<Closed> {
        let mut closed = Closed::Neither;
        match self.connection.read_tls(&mut self.stream) {
            Ok(0) => closed = Closed::Peer,
            Ok(_) => {}
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(error),
        }
        let state = self.connection.process_new_packets().map_err(broken)?;
        if state.peer_has_closed() {
            closed = Closed::Peer;
        }
        self.inbound
            .bytes
            .resize(state.plaintext_bytes_to_read(), 0);
        self.connection
            .reader()
            .read_exact(&mut self.inbound.bytes)?;
        Ok(closed)
    }

    /// Takes what the switch says.
    fn collect(&mut self) -> io::Result<Closed> {
        self.outbound.bytes.resize(CHUNK_BYTES, 0);
        let read = self.plain.read(&mut self.outbound.bytes);
        self.outbound.bytes.truncate(*read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Ok(Closed::Switch),
            Ok(_) => Ok(Closed::Neither),
            Err(error) if is_for_later(&error) => Ok(Closed::Neither),
            Err(error) => Err(error),
        }
    }

    /// Enciphers what waits and sends as much as the network takes.
    fn encipher(&mut self) -> io::Result<()> {
        loop {
            // Its own buffer is bounded: it takes what it has room for.
            self.outbound.pass_on(&mut self.connection.writer())?;
            if !self.connection.wants_write() {
                return Ok(());
            }
            match self.connection.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if is_for_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands the packet loop what the peer sent before it closed.
    fn finish_inbound(&mut self) -> io::Result<()> {
        self.plain.set_nonblocking(false)?;
        self.plain.set_write_timeout(Some(PARTING))?;
        self.inbound.pass_on(&mut self.plain)
    }

    /// Sends the peer what the switch said before it closed, and a farewell.
    fn finish_outbound(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(PARTING))?;
        let give_up = Instant::now() + PARTING;
        while Instant::now() < give_up {
            self.encipher()?;
            if self.outbound.is_empty() && self.collect()? == Closed::Switch {
                self.connection.send_close_notify();
                self.encipher()?;
                return self.stream.shutdown(Shutdown::Both);
            }
        }
        Ok(())
    }
}

/// Bytes on their way, of which some have gone on.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    passed: usize,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.passed == self.bytes.len()
    }

    /// Passes on as much as `to` takes.
    fn pass_on(&mut self, to: &mut impl Write) -> io::Result<()> {
        while !self.is_empty() {
            match to.write(&self.bytes[self.passed..]) {
                Ok(0) => return Ok(()),
                Ok(count) => self.passed += count,
                Err(error) if is_for_later(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.passed = 0;
        Ok(())
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
