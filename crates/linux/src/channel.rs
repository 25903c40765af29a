//! A connection that is never waited for: reads what is there, writes what fits,
//! and keeps a bounded rest.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use crate::stream::Stream;

/// The most bytes that wait to be sent, unless somebody says otherwise. A peer that
/// lets more pile up does not read; its connection is closed.
pub const BACKLOG_BYTES: usize = 4 << 20;
/// So much that was sent already is forgotten before more is kept.
const SENT_BYTES: usize = 1 << 16;

#[derive(Debug)]
pub struct Channel {
    stream: Stream,
    backlog: Vec<u8>,
    /// How much of the backlog has been sent already.
    sent: usize,
    /// The most that may wait.
    most: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// So many bytes, at least one.
    Bytes(usize),
    Nothing,
    /// The peer has closed, or the connection broke.
    Closed,
}

/// What is left after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsent {
    Nothing,
    /// Something: call [`Channel::flush`] when the connection is writable.
    Something,
    /// More than may be: the peer does not read.
    TooMuch,
    /// The connection is of no more use: it broke.
    Closed,
}

impl Channel {
    /// Takes over a connection.
    ///
    /// # Errors
    ///
    /// If it is broken already.
    pub fn new(stream: impl Into<Stream>) -> io::Result<Self> {
        let stream = stream.into();
        stream.never_wait()?;
        Ok(Self {
            stream,
            backlog: Vec::new(),
            sent: 0,
            most: BACKLOG_BYTES,
        })
    }

    /// Lets so many bytes wait, in place of [`BACKLOG_BYTES`].
    #[must_use]
    pub fn holding(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Returns how many bytes wait to be sent.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.backlog.len() - self.sent
    }

    /// Reads what is there into `room`.
    pub fn read(&mut self, room: &mut [u8]) -> Found {
        loop {
            match self.stream.read(room) {
                Ok(0) => return Found::Closed,
                Ok(count) => return Found::Bytes(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Found::Nothing,
                Err(_) => return Found::Closed,
            }
        }
    }

    /// Appends `bytes` to what [`flush`](Self::flush) sends.
    pub fn queue(&mut self, bytes: &[u8]) {
        self.forget_sent();
        self.backlog.extend_from_slice(bytes);
    }

    /// Sends `bytes` behind what waits, without a copy as far as the connection takes
    /// them at once.
    pub fn send(&mut self, bytes: &[u8]) -> Unsent {
        let mut rest = bytes;
        while self.waiting() == 0 && !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return Unsent::Closed,
            }
        }
        self.queue(rest);
        self.unsent()
    }

    /// Sends as much as the connection takes.
    pub fn flush(&mut self) -> Unsent {
        while self.sent < self.backlog.len() {
            match self.stream.write(&self.backlog[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.unsent(),
                Err(_) => return Unsent::Closed,
            }
        }
        Unsent::Nothing
    }

    fn unsent(&self) -> Unsent {
        match self.waiting() {
            0 => Unsent::Nothing,
            waiting if waiting > self.most => Unsent::TooMuch,
            _ => Unsent::Something,
        }
    }

    /// Gives up the memory of what was sent, where that moves less than it frees.
    fn forget_sent(&mut self) {
        if self.waiting() == 0 {
            self.backlog.clear();
            self.sent = 0;
            self.backlog.shrink_to(SENT_BYTES);
        } else if self.sent >= self.waiting().max(SENT_BYTES) {
            self.backlog.drain(..self.sent);
            self.sent = 0;
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (Channel, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        (Channel::new(stream).unwrap(), peer)
    }

    #[test]
    fn what_does_not_fit_is_sent_later_in_order() {
        let (mut channel, mut peer) = pair();
        let sent: Vec<u8> = (0..BACKLOG_BYTES).map(|n| n.to_be_bytes()[6]).collect();
        channel.queue(&sent);

        let mut received = vec![0; sent.len()];
        let mut filled = 0;
        while filled < received.len() {
            assert_ne!(channel.flush(), Unsent::Closed);
            filled += peer.read(&mut received[filled..]).unwrap();
        }

        assert_eq!(received, sent);
        assert_eq!(channel.flush(), Unsent::Nothing);
    }

    #[test]
    fn a_peer_that_never_reads_loses_its_connection() {
        let (mut channel, _peer) = pair();
        let chunk = vec![0; 1 << 20];

        let gave_up = (0..64).any(|_| {
            channel.queue(&chunk);
            channel.flush() == Unsent::TooMuch
        });

        assert!(gave_up);
    }

    #[test]
    fn what_was_sent_takes_no_memory_while_more_waits() {
        let (mut channel, mut peer) = pair();
        let chunk = vec![7; 1 << 18];
        let mut room = vec![0; chunk.len()];

        // More than may wait passes through, many times, and something always waits.
        for _ in 0..16 * BACKLOG_BYTES / chunk.len() {
            channel.send(&chunk);
            while channel.waiting() > chunk.len() {
                assert_ne!(peer.read(&mut room).unwrap(), 0);
                channel.flush();
            }

            let kept = channel.backlog.capacity();
            assert!(kept <= 8 * chunk.len(), "{kept} bytes kept");
        }
    }

    #[test]
    fn what_is_sent_at_once_stays_behind_what_waits() {
        let (mut channel, mut peer) = pair();
        channel.queue(b"first ");

        let unsent = channel.send(b"second");

        assert_eq!(unsent, Unsent::Something);
        assert_eq!(channel.flush(), Unsent::Nothing);
        let mut received = [0; 12];
        peer.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"first second");
    }

    #[test]
    fn a_peer_that_closes_is_noticed() {
        let (mut channel, peer) = pair();
        drop(peer);

        let mut room = [0; 16];
        let found = loop {
            match channel.read(&mut room) {
                Found::Nothing => std::thread::yield_now(),
                other => break other,
            }
        };

        assert_eq!(found, Found::Closed);
    }
}
