//! Where a controller is, and by what right we ask there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;
use ureq::http::Uri;

/// Where a controller is when nobody says otherwise.
pub const DEFAULT_URL: &str = "http://127.0.0.1:8181";
const LONGEST_TOKEN: usize = 4096;

/// A place and a right.
#[derive(Clone)]
pub struct Access {
    /// The scheme, the host and the port, without a slash at the end.
    pub(super) url: String,
    /// What shows who we are.
    pub(super) token: Option<String>,
    /// Whom the controller's certificate has to come from.
    pub(super) authorities: Vec<CertificateDer<'static>>,
}

// The token is a secret: no message shows it.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// What was said about a controller cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccessError {
    #[error("`{0}` is no address of a controller: write it as in {DEFAULT_URL}")]
    Url(String),
    /// An encrypted address, and no authority.
    #[error("{0} is encrypted: name the authority that certified the controller with --ca FILE")]
    NoAuthority(String),
    /// A secret would travel in the clear.
    #[error("a token does not go to {0}, where anybody could read it: use https:// and --ca FILE")]
    OpenToken(String),
    /// A file cannot be used.
    #[error("cannot use {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("the token has to be one line of at most {LONGEST_TOKEN} visible characters")]
    Token,
}

impl Access {
    /// Returns the way to the controller at `url`, whose certificate has to be one
    /// of the authority in the file `authority`, with a token that says who asks.
    ///
    /// # Errors
    ///
    /// If the address is none, the file cannot be used, or a token would travel
    /// unencrypted to another machine.
    pub fn new(
        url: &str,
        token: Option<&str>,
        authority: Option<&Path>,
    ) -> Result<Self, AccessError> {
        let parsed: Uri = url.parse().map_err(|_| AccessError::Url(url.to_owned()))?;
        let host = parsed.host().filter(|host| !host.is_empty());
        let (Some(scheme), Some(host)) = (parsed.scheme_str(), host) else {
            return Err(AccessError::Url(url.to_owned()));
        };
        let bare = parsed.query().is_none() && matches!(parsed.path(), "" | "/");
        if !bare || url.contains('@') {
            return Err(AccessError::Url(url.to_owned()));
        }
        match (scheme, authority) {
            ("http", _) if token.is_some() && !is_loopback(host) => {
                return Err(AccessError::OpenToken(url.to_owned()));
            }
            ("http", _) | ("https", Some(_)) => {}
            ("https", None) => return Err(AccessError::NoAuthority(url.to_owned())),
            _ => return Err(AccessError::Url(url.to_owned())),
        }
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            token: token.map(checked).transpose()?,
            authorities: authority.map(certificates).transpose()?.unwrap_or_default(),
        })
    }
}

/// Reads the token in a file.
///
/// # Errors
///
/// If the file cannot be read.
pub fn token_in(path: &Path) -> Result<String, AccessError> {
    let text = fs::read_to_string(path).map_err(|error| unusable(path, &error))?;
    Ok(text.trim().to_owned())
}

fn checked(token: &str) -> Result<String, AccessError> {
    let visible = token.bytes().all(|byte| byte.is_ascii_graphic());
    match visible && (1..=LONGEST_TOKEN).contains(&token.len()) {
        true => Ok(token.to_owned()),
        false => Err(AccessError::Token),
    }
}

/// Reads the certificates in a file.
///
/// # Errors
///
/// If it cannot be read, or holds none.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let found = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| AccessError::File {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
    match found.is_empty() {
        true => Err(AccessError::File {
            path: path.to_owned(),
            reason: "no certificate is in it".to_owned(),
        }),
        false => Ok(found),
    }
}

fn unusable(path: &Path, error: &io::Error) -> AccessError {
    AccessError::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_controllers_are_taken() {
        for good in [
            "http://127.0.0.1:8181",
            "http://localhost:1/",
            "http://[::1]:8181",
        ] {
            let access = Access::new(good, None, None).unwrap();
            assert_eq!(access.url, good.trim_end_matches('/'));
        }
        for bad in [
            "",
            "127.0.0.1:8181",
            "http://",
            "ftp://127.0.0.1",
            "http://127.0.0.1/api",
            "http://127.0.0.1/?a=b",
            "http://user:word@127.0.0.1",
            "http://127.0.0.1:8181 ",
            "http://127.0.0.1\r\nX: y",
        ] {
            let refused = Access::new(bad, None, None);
            assert!(
                matches!(refused, Err(AccessError::Url(_))),
                "{bad}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_token_travels_encrypted_or_not_at_all_beyond_this_machine() {
        let here = Access::new("http://127.0.0.1:8181", Some("secret"), None).unwrap();

        assert_eq!(here.token.as_deref(), Some("secret"));
        assert!(!format!("{here:?}").contains("secret"));
        for far in ["http://10.0.0.1:8181", "http://localhost.example:8181"] {
            let refused = Access::new(far, Some("secret"), None);
            assert!(matches!(refused, Err(AccessError::OpenToken(_))), "{far}");
        }
    }

    #[test]
    fn an_encrypted_address_needs_an_authority() {
        let refused = Access::new("https://10.0.0.1:8181", None, None);

        assert!(
            matches!(refused, Err(AccessError::NoAuthority(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn a_token_that_could_forge_a_header_is_none() {
        for bad in ["", "a b", "a\r\nX-Y: z", "ä"] {
            let refused = Access::new("http://[::1]:8181", Some(bad), None);
            assert!(matches!(refused, Err(AccessError::Token)), "{bad:?}");
        }
    }
}
