//! Encrypted control connections (OF13 clause 6.3.3).
//!
//! TLS ends in a thread beside the loop that uses a connection: a [`relay`] passes
//! plain bytes on over a pair of sockets, so that the loop does no cryptography, and
//! cannot be delayed by any. Each controller that a switch dials and each address on
//! which it listens has such a thread ([`courier`]), and so has each address of a
//! controller ([`gate`]).
//!
//! Both ends prove who they are by certificates of one authority, which belongs to
//! the site. A controller's certificate has to bear the name under which it is
//! dialled, or the one that the user says instead.

pub mod claim;
pub mod complaints;
pub mod courier;
pub mod gate;
pub mod refusal;
pub mod relay;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

/// How long the peer may take to prove who it is.
pub const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);
/// How long an end may take to take the last bytes of the other.
pub const PARTING: Duration = Duration::from_secs(2);

/// The files that say who this end is and whom it trusts.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// How the options are called by which users name the files: `--tls` for
    /// `--tls-key`.
    pub option: &'static str,
    /// The private key, in PEM.
    pub key: Option<PathBuf>,
    /// The certificate of that key, and those between it and the authority.
    pub certificate: Option<PathBuf>,
    /// The certificates of the authority that peers have to be certified by.
    pub authority: Option<PathBuf>,
    /// The name that controllers' certificates bear, if it is not the one under
    /// which they are dialled.
    pub peer_name: Option<String>,
}

/// The files do not suffice for encrypted connections.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// Whom to trust is not said.
    #[error("tls: needs {0}-ca, the authority that certifies those at the other end")]
    NoAuthority(&'static str),
    /// Who this end is is not said.
    #[error("listening on tls: needs {0}-key and {0}-cert, to show who is at this end")]
    NoIdentity(&'static str),
    /// Only one half of the identity is given.
    #[error("{0}-key and {0}-cert belong together")]
    HalfIdentity(&'static str),
    /// A file cannot be used.
    #[error("cannot use {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// The name of a controller is none that a certificate could bear.
    #[error("`{0}` is no name that a certificate could bear")]
    Name(String),
    /// Key and certificate do not belong together, or the like.
    #[error("the key and the certificates make no sense together: {0}")]
    Contradiction(String),
}

/// A certificate chain with its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// How to talk to a controller that is dialled.
#[derive(Clone, Debug)]
pub struct Dialling {
    /// What is trusted and shown.
    pub config: Arc<ClientConfig>,
    /// The name that the controller's certificate bears.
    pub name: ServerName<'static>,
}

impl TlsFiles {
    /// Returns how to talk to the controller `host`.
    ///
    /// # Errors
    ///
    /// If the files do not suffice or cannot be read.
    pub fn dialling(&self, host: &str) -> Result<Dialling, TlsError> {
        let authority = self
            .authority
            .as_deref()
            .ok_or(TlsError::NoAuthority(self.option))?;
        let trusted = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(contradiction)?
            .with_root_certificates(roots(authority)?);
        let config = match self.identity()? {
            Some((chain, key)) => trusted
                .with_client_auth_cert(chain, key)
                .map_err(contradiction)?,
            None => trusted.with_no_client_auth(),
        };
        let name = self.peer_name.as_deref().unwrap_or(host).to_owned();
        Ok(Dialling {
            config: Arc::new(config),
            name: ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name))?,
        })
    }

    /// Returns how to talk to those who connect. With an authority, they have to
    /// show a certificate of it.
    ///
    /// # Errors
    ///
    /// If the files do not suffice or cannot be read.
    pub fn listening(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let (chain, key) = self.identity()?.ok_or(TlsError::NoIdentity(self.option))?;
        let begun = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(contradiction)?;
        let checked = match self.authority.as_deref() {
            Some(authority) => {
                let roots = Arc::new(roots(authority)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                begun.with_client_cert_verifier(verifier.build().map_err(contradiction)?)
            }
            None => begun.with_no_client_auth(),
        };
        let mut config = checked
            .with_single_cert(chain, key)
            .map_err(contradiction)?;
        // Nobody comes back so often that it pays, and whoever leaves with a ticket
        // unread resets the connection, which loses its last words.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// Returns how to talk to those who connect, all of whom have to show a
    /// certificate of the authority.
    ///
    /// # Errors
    ///
    /// If the files do not suffice or cannot be read.
    pub fn listening_to_certified(&self) -> Result<Arc<ServerConfig>, TlsError> {
        match self.authority {
            Some(_) => self.listening(),
            None => Err(TlsError::NoAuthority(self.option)),
        }
    }

    fn identity(&self) -> Result<Option<Identity>, TlsError> {
        let (key, certificate) = match (&self.key, &self.certificate) {
            (Some(key), Some(certificate)) => (key, certificate),
            (None, None) => return Ok(None),
            (Some(_), None) | (None, Some(_)) => return Err(TlsError::HalfIdentity(self.option)),
        };
        let loaded = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
        Ok(Some((certificates(certificate)?, loaded)))
    }
}

pub(crate) fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Reads the authorities in a file.
///
/// # Errors
///
/// If it cannot be read, or holds none.
pub(crate) fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(path, error))?;
    }
    Ok(roots)
}

/// Reads at least one certificate.
///
/// # Errors
///
/// If the file cannot be read, or holds none.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unusable(path, "no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(path, error)),
    }
}

fn unusable(path: &Path, reason: impl ToString) -> TlsError {
    TlsError::File {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

fn contradiction(error: impl ToString) -> TlsError {
    TlsError::Contradiction(error.to_string())
}

/// Starts the thread on which TLS ends.
fn runtime() -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("tls").enable_all();
    builder.build()
}

/// Takes over a connection that was waited for.
fn unblocked(stream: std::net::TcpStream) -> io::Result<TcpStream> {
    // A message is one write: waiting for more only delays it.
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}
