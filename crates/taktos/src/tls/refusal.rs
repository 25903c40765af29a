//! Why somebody is not let in, in words that say what to do.

use std::io;

use rustls::{AlertDescription, CertificateError, Error};
use thiserror::Error as ThisError;
use wire::openflow::DatapathId;

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum TlsRefusal {
    /// It says something else than TLS.
    #[error("it does not speak TLS; a plain connection needs a tcp: address")]
    NoTls,
    /// It does not say who it is.
    #[error("it showed no certificate")]
    NoCertificate,
    /// Somebody says who it is whom we do not trust.
    #[error("its certificate is not of the authority that is trusted here")]
    Stranger,
    /// Its certificate is too old.
    #[error("its certificate has expired")]
    Expired,
    /// Its certificate is too new.
    #[error("its certificate is not valid yet; are both clocks right?")]
    Early,
    /// Its certificate is no good for another reason.
    #[error("its certificate is not valid: {0}")]
    Certificate(String),
    /// Its certificate is another switch's.
    #[error("it says that it is switch {_0}, and its certificate does not bear `dpid-{_0}`")]
    Impostor(DatapathId),
    /// It does not trust us.
    #[error("it does not trust the certificate that is shown here ({0})")]
    Distrust(String),
    /// It has not shaken hands in time.
    #[error("it did not shake hands in time")]
    Late,
    /// It left before hands were shaken.
    #[error("it left while hands were shaken")]
    Left,
    /// There are as many as there may be.
    #[error("there are too many connections")]
    Full,
    /// Another one in its place was more likely to shake hands.
    #[error("it kept others waiting, who were too many")]
    Crowded,
    /// Both have no version or cipher in common, or the like.
    #[error("{0}")]
    Other(String),
}

impl TlsRefusal {
    /// Returns why hands were not shaken.
    #[must_use]
    pub fn of_handshake(error: io::Error) -> Self {
        let reason = error
            .into_inner()
            .and_then(|it| it.downcast::<Error>().ok());
        reason.map_or(Self::Left, |reason| Self::from(*reason))
    }

    /// Returns what was wrong with a connection that broke, unless it just did.
    #[must_use]
    pub fn of_broken(error: io::Error) -> Option<Self> {
        match error.into_inner()?.downcast::<Self>() {
            Ok(refusal) => Some(*refusal),
            Err(other) => {
                let reason = other.downcast::<Error>().ok()?;
                Some(Self::Other(format!("the connection was closed: {reason}")))
            }
        }
    }
}

impl From<Error> for TlsRefusal {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidMessage(_) => Self::NoTls,
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::InvalidCertificate(reason) => of_certificate(&reason),
            Error::AlertReceived(alert) => of_alert(alert),
            other => Self::Other(other.to_string()),
        }
    }
}

fn of_certificate(reason: &CertificateError) -> TlsRefusal {
    match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsRefusal::Stranger,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsRefusal::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsRefusal::Early
        }
        other => TlsRefusal::Certificate(other.to_string()),
    }
}

fn of_alert(alert: AlertDescription) -> TlsRefusal {
    match alert {
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::DecryptError
        | AlertDescription::UnsupportedCertificate => TlsRefusal::Distrust(format!("{alert:?}")),
        other => TlsRefusal::Other(format!("it ended the handshake: {other:?}")),
    }
}
