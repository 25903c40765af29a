//! A handshake with somebody who connected, never waiting for anything.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use rustls::{ServerConfig, ServerConnection};

use super::is_for_later;
use super::refusal::Refusal;
use super::relay::Wish;

/// Somebody who connected and has not shown yet who it is.
#[derive(Debug)]
pub struct Handshake {
    /// With whom hands are shaken.
    pub stream: TcpStream,
    pub connection: ServerConnection,
    pub peer: SocketAddr,
    pub since: Instant,
}

/// How far a handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The other end has to be ready for this first.
    Waiting(Wish),
    Done,
}

impl Handshake {
    /// Begins.
    ///
    /// # Errors
    ///
    /// If the connection broke already.
    pub fn begin(
        stream: TcpStream,
        peer: SocketAddr,
        config: &Arc<ServerConfig>,
    ) -> Result<Self, Refusal> {
        stream.set_nonblocking(true)?;
        let connection = ServerConnection::new(Arc::clone(config))?;
        Ok(Self {
            stream,
            connection,
            peer,
            since: Instant::now(),
        })
    }

    /// Goes on as far as possible now.
    ///
    /// # Errors
    ///
    /// If one of the two does not trust the other, or breaks off. The other end has
    /// been told.
    pub fn step(&mut self) -> Result<Progress, Refusal> {
        loop {
            if self.send()? {
                return Ok(self.waiting());
            }
            if !self.connection.is_handshaking() {
                return Ok(Progress::Done);
            }
            match self.connection.read_tls(&mut self.stream) {
                Ok(0) => return Err(Refusal::Left),
                Ok(_) => {}
                Err(error) if is_for_later(&error) => return Ok(self.waiting()),
                Err(error) => return Err(error.into()),
            }
            if let Err(error) = self.connection.process_new_packets() {
                // Tells the other end what is wrong, if it listens.
                let _ = self.send();
                return Err(error.into());
            }
        }
    }

    /// Sends what waits; returns whether something still does.
    fn send(&mut self) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if is_for_later(&error) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn waiting(&self) -> Progress {
        Progress::Waiting(Wish {
            reading: true,
            writing: self.connection.wants_write(),
        })
    }
}
