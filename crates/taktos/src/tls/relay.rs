//! Passes bytes between an encrypted connection and a pair of sockets, never
//! waiting for either: whoever carries it says when one of its ends is ready.
//!
//! Each direction holds a bounded number of bytes; while they do not go on, no
//! more are read. Once one end has closed, the other one gets what was said before.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustls::{Connection, IoState};

use super::claim::{self, Claim};
use super::{broken, is_for_later};

/// How much is read at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// One connection with both its ends.
#[derive(Debug)]
pub struct Relay {
    connection: Connection,
    stream: TcpStream,
    plain: UnixStream,
    /// Deciphered bytes that the holder has not taken.
    inbound: Pending,
    /// Plain bytes that the connection has not taken.
    outbound: Pending,
    /// Who the peer is, while that is still to be heard.
    claim: Option<Claim>,
    stage: Stage,
}

/// The ends of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The peer, with whom everything is enciphered.
    Peer,
    /// Whoever holds the other one of the pair of sockets.
    Holder,
}

/// How far a relay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Passing,
    /// This end has left, and the other one gets the rest.
    Leaving(End),
    /// Nothing is left to be passed on.
    Over,
}

/// What a relay waits for at one of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub reading: bool,
    pub writing: bool,
}

/// Whether an end has said its last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Something,
    Nothing,
    End,
}

impl Relay {
    /// Takes over a connection on which hands were shaken; returns its plain end as
    /// well. With a `claim`, the peer has to be who it says.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn new(
        stream: TcpStream,
        connection: Connection,
        claim: Option<Claim>,
    ) -> io::Result<(UnixStream, Self)> {
        let (theirs, plain) = UnixStream::pair()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        plain.set_nonblocking(true)?;
        let relay = Self {
            connection,
            stream,
            plain,
            inbound: Pending::default(),
            outbound: Pending::default(),
            claim,
            stage: Stage::Passing,
        };
        Ok((theirs, relay))
    }

    #[must_use]
    pub fn socket(&self, end: End) -> BorrowedFd<'_> {
        match end {
            End::Peer => self.stream.as_fd(),
            End::Holder => self.plain.as_fd(),
        }
    }

    /// Returns how far it is.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Returns what it waits for at an end; `None` if that end does not matter any
    /// more.
    #[must_use]
    pub fn wish(&self, end: End) -> Option<Wish> {
        match (self.stage, end) {
            (Stage::Passing, End::Peer) => Some(Wish {
                reading: self.inbound.is_empty(),
                writing: self.connection.wants_write(),
            }),
            (Stage::Passing, End::Holder) => Some(Wish {
                reading: self.outbound.is_empty(),
                writing: !self.inbound.is_empty(),
            }),
            (Stage::Leaving(End::Holder), End::Peer) | (Stage::Leaving(End::Peer), End::Holder) => {
                Some(Wish {
                    reading: false,
                    writing: true,
                })
            }
            (Stage::Leaving(_) | Stage::Over, _) => None,
        }
    }

    /// Is told that an end was found broken, or closed in both directions.
    pub fn hung_up(&mut self, end: End) {
        let waits = match end {
            End::Peer => !self.inbound.is_empty(),
            End::Holder => !self.outbound.is_empty(),
        };
        // Else the next read tells, and whatever came before is read first.
        if self.stage == Stage::Passing && waits {
            self.stage = Stage::Leaving(end);
        }
    }

    /// Passes on what can be passed on now.
    ///
    /// # Errors
    ///
    /// If an end broke; the other one learns of it when the relay is dropped.
    pub fn step(&mut self) -> io::Result<Stage> {
        if self.stage == Stage::Passing {
            self.pass()?;
        }
        match self.stage {
            Stage::Leaving(End::Peer) => self.finish_inbound()?,
            Stage::Leaving(End::Holder) => self.finish_outbound()?,
            Stage::Passing | Stage::Over => {}
        }
        Ok(self.stage)
    }

    fn pass(&mut self) -> io::Result<()> {
        // What came with the last part of the handshake waits already.
        if self.inbound.is_empty() && self.receive()? == Heard::End {
            self.stage = Stage::Leaving(End::Peer);
        }
        self.inbound.pass_on(&mut self.plain)?;
        if self.outbound.is_empty() && self.collect()? == Heard::End {
            self.stage = Stage::Leaving(End::Holder);
        }
        self.encipher()
    }

    /// Takes what the peer sent.
    fn receive(&mut self) -> io::Result<Heard> {
        let mut ended = false;
        let state = loop {
            let read = self.connection.read_tls(&mut self.stream);
            let state = self.connection.process_new_packets().map_err(broken)?;
            match read {
                Ok(0) => ended = true,
                Ok(_) if goes_on(&state) => continue,
                Ok(_) => {}
                Err(error) if is_for_later(&error) => {}
                Err(error) => return Err(error),
            }
            break state;
        };
        let waiting = state.plaintext_bytes_to_read();
        self.inbound.bytes.resize(waiting, 0);
        let room = &mut self.inbound.bytes;
        self.connection.reader().read_exact(room)?;
        if let Some(claim) = &mut self.claim
            && claim.listen(room).map_err(io::Error::other)? == claim::Heard::Settled
        {
            self.claim = None;
        }
        Ok(match (ended || state.peer_has_closed(), waiting) {
            (true, _) => Heard::End,
            (false, 0) => Heard::Nothing,
            (false, _) => Heard::Something,
        })
    }

    /// Takes what the holder says.
    fn collect(&mut self) -> io::Result<Heard> {
        self.outbound.bytes.resize(CHUNK_BYTES, 0);
        let read = self.plain.read(&mut self.outbound.bytes);
        self.outbound.bytes.truncate(*read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Ok(Heard::End),
            Ok(_) => Ok(Heard::Something),
            Err(error) if is_for_later(&error) => Ok(Heard::Nothing),
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

    /// Hands the holder what the peer sent before it closed.
    fn finish_inbound(&mut self) -> io::Result<()> {
        loop {
            self.inbound.pass_on(&mut self.plain)?;
            if !self.inbound.is_empty() {
                return Ok(());
            }
            if self.receive()? != Heard::Something && self.inbound.is_empty() {
                self.stage = Stage::Over;
                return Ok(());
            }
        }
    }

    /// Sends the peer what the holder said before it closed, and a farewell.
    fn finish_outbound(&mut self) -> io::Result<()> {
        loop {
            self.encipher()?;
            if !self.outbound.is_empty() || self.connection.wants_write() {
                return Ok(());
            }
            if self.collect()? != Heard::Something {
                self.connection.send_close_notify();
                self.encipher()?;
                self.stage = Stage::Over;
                return self.stream.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Whether there is room for what may still wait in the socket.
fn goes_on(state: &IoState) -> bool {
    !state.peer_has_closed() && state.plaintext_bytes_to_read() < CHUNK_BYTES
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
