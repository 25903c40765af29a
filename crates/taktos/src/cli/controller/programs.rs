//! Where programs ask the controller, and who may.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::network::places;
use crate::tls::{TlsError, TlsFiles};
use crate::web::Terms;
use crate::web::gate::tokens::{Tokens, TokensError};
use crate::web::gate::{Gate, Role};

/// Where programs ask.
const HTTP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8181);

/// What users say about where programs ask.
#[derive(Debug, clap::Args)]
pub struct Programs {
    /// Where programs ask, by HTTP. A loopback address is open to this machine; any
    /// other needs --http-tls-cert, --http-tls-key and --tokens.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = HTTP)]
    http: SocketAddr,
    /// The controller's certificate for HTTPS, in PEM.
    #[arg(long, value_name = "FILE")]
    http_tls_cert: Option<PathBuf>,
    /// The private key of that certificate, in PEM.
    #[arg(long, value_name = "FILE")]
    http_tls_key: Option<PathBuf>,
    /// The tokens of those who may ask; `taktos controller token` makes them.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

/// What is said of programs makes no sense.
#[derive(Debug, Error)]
pub enum ProgramsError {
    /// Anybody could ask, or read what others ask.
    #[error(
        "--http {0} can be reached from elsewhere: give --http-tls-cert, --http-tls-key and \
         --tokens, or a loopback address"
    )]
    Open(SocketAddr),
    /// The files do not suffice.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
}

impl Programs {
    /// Returns where programs ask.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.http
    }

    /// Returns how they are served, of a network that this file describes; what the controller
    /// is called, and where it logs, is left open.
    ///
    /// # Errors
    ///
    /// If that would be unsafe, or a file cannot be used.
    pub fn terms(&self, network: Option<&Path>) -> Result<Terms, ProgramsError> {
        let enciphered = self.is_enciphered();
        if !self.http.ip().is_loopback() && (!enciphered || self.tokens.is_none()) {
            return Err(ProgramsError::Open(self.http));
        }
        let files = TlsFiles {
            option: "--http-tls",
            key: self.http_tls_key.clone(),
            certificate: self.http_tls_cert.clone(),
            authority: None,
            peer_name: None,
        };
        let tls = enciphered.then(|| files.listening()).transpose()?;
        let gate = match &self.tokens {
            Some(path) => Gate::Tokens(Tokens::read(path)?),
            None => Gate::Loopback(Role::Administer),
        };
        Ok(Terms {
            tls,
            places: places(network),
            ..Terms::new(String::new(), gate)
        })
    }

    /// Returns where the interface and the page are that listen on `address`.
    #[must_use]
    pub fn url(&self, address: SocketAddr) -> String {
        format!("{}://{address}", self.scheme())
    }

    /// Returns how programs ask.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        match self.is_enciphered() {
            true => "https",
            false => "http",
        }
    }

    const fn is_enciphered(&self) -> bool {
        self.http_tls_cert.is_some() || self.http_tls_key.is_some()
    }
}
