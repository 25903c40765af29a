//! Encrypted control connections (OF13 clause 6.3.3).
//!
//! TLS ends in a thread of its own for each connection ([`relay`]), which passes
//! plain bytes on to the packet loop over a pair of sockets: the loop does no
//! cryptography, and cannot be delayed by any.
//!
//! Both ends prove who they are by certificates of one authority, which belongs to
//! the site. A controller's certificate has to bear the name under which it is
//! dialled, or the one that the user says instead.

pub mod relay;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

/// The files that say who this switch is and whom it trusts.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The switch's private key, in PEM.
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
    #[error("a tls: controller needs --tls-ca, the authority that certified it")]
    NoAuthority,
    /// Who the switch is is not said.
    #[error("listening on tls: needs --tls-key and --tls-cert, to show who this switch is")]
    NoIdentity,
    /// Only one half of the identity is given.
    #[error("--tls-key and --tls-cert belong together")]
    HalfIdentity,
    /// A file cannot be used.
    #[error("cannot use {}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The name of a controller is none that a certificate could bear.
    #[error("`{0}` is no name that a certificate could bear")]
    Name(String),
    /// Key and certificate do not belong together, or the like.
    #[error("the key and the certificates make no sense together: {0}")]
    Contradiction(String),
}

/// The switch's certificate chain with its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// How to talk to controllers that the switch dials.
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
        let authority = self.authority.as_deref().ok_or(TlsError::NoAuthority)?;
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
        let (chain, key) = self.identity()?.ok_or(TlsError::NoIdentity)?;
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
        let config = checked.with_single_cert(chain, key);
        config.map(Arc::new).map_err(contradiction)
    }

    fn identity(&self) -> Result<Option<Identity>, TlsError> {
        let (key, certificate) = match (&self.key, &self.certificate) {
            (Some(key), Some(certificate)) => (key, certificate),
            (None, None) => return Ok(None),
            (Some(_), None) | (None, Some(_)) => return Err(TlsError::HalfIdentity),
        };
        let loaded = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
        Ok(Some((certificates(certificate)?, loaded)))
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(path, error))?;
    }
    Ok(roots)
}

/// Reads at least one certificate.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
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

/// Returns a failure of TLS as one of the connection.
fn broken(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
