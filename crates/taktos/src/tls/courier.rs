//! Shakes hands and carries the enciphered connections of a switch: to a controller that
//! it dials, or of all who come to an address of it.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::{Dialling, HANDSHAKE_PATIENCE, relay, runtime, unblocked};

/// The thread. It ends when this value does, and with it all connections.
#[derive(Debug)]
pub struct Courier(Runtime);

impl Courier {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If the process has no threads or descriptors left.
    pub fn start() -> io::Result<Self> {
        runtime().map(Self)
    }

    /// Shakes hands with a controller that was dialled; returns the plain end of the
    /// connection.
    ///
    /// # Errors
    ///
    /// If the two do not trust each other, or the controller takes too long.
    pub fn dial(&self, stream: TcpStream, dialling: &Dialling) -> io::Result<UnixStream> {
        let connector = TlsConnector::from(Arc::clone(&dialling.config));
        self.0.block_on(async {
            let handshake = connector.connect(dialling.name.clone(), unblocked(stream)?);
            let enciphered = timeout(HANDSHAKE_PATIENCE, handshake).await;
            let enciphered = enciphered.map_err(|_| ErrorKind::TimedOut)??;
            let (theirs, plain) = relay::pair()?;
            self.0.spawn(relay::carry(enciphered, plain, None));
            Ok(theirs)
        })
    }

    /// Begins to shake hands with somebody who connected, and hands the plain end to
    /// `take` if the two trust each other.
    pub fn accept(
        &self,
        stream: TcpStream,
        config: Arc<ServerConfig>,
        take: impl FnOnce(UnixStream) + Send + 'static,
    ) {
        // Who is not trusted is not let in, and there is nobody else to tell.
        self.0.spawn(async move {
            let handshake = TlsAcceptor::from(config).accept(unblocked(stream)?);
            let enciphered = timeout(HANDSHAKE_PATIENCE, handshake).await??;
            let (theirs, plain) = relay::pair()?;
            take(theirs);
            relay::carry(enciphered, plain, None).await
        });
    }
}
