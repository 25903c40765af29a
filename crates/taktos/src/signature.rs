//! Ed25519 signatures of certificates, with keys as `openssl genpkey` writes them.
//!
//! What is signed is a fixed line and the digest of the certificate, so a signature
//! stands for nothing else that anybody may have signed with the same key.

use std::path::{Path, PathBuf};

use certificate::Certificate;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use thiserror::Error;

/// What stands before the digest.
const SUBJECT: &str = "taktos certificate signature 1\n";
/// What a public key of Ed25519 begins with in DER (RFC 8410 section 4).
const PUBLIC_KEY: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// The length of a public key of Ed25519.
const KEY_LENGTH: usize = 32;

/// Why something is not signed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// A file holds no key.
    #[error(
        "{} holds no {what} key of Ed25519 in PEM ({reason}): make one with `openssl genpkey \
         -algorithm ed25519 -out key.pem`, and its public half with `openssl pkey -in key.pem \
         -pubout -out public.pem`", path.display()
    )]
    Key {
        path: PathBuf,
        /// Which half it should be.
        what: &'static str,
        reason: String,
    },
    #[error("nobody signed it")]
    Missing,
    /// Somebody else signed, or something else was signed.
    #[error("its signature is not of this key")]
    Wrong,
}

/// Signs a certificate, which is sealed, with the private key in a file.
///
/// # Errors
///
/// If the file holds none.
pub fn sign(certificate: &mut Certificate, key: &Path) -> Result<(), SignatureError> {
    let none = |reason: String| SignatureError::Key {
        path: key.to_owned(),
        what: "private",
        reason,
    };
    let der = PrivatePkcs8KeyDer::from_pem_file(key).map_err(|error| none(error.to_string()))?;
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
    let pair = pair.map_err(|error| none(error.to_string()))?;
    let signature = pair.sign(message(certificate).as_bytes());
    let digits = signature.as_ref().iter().map(|byte| format!("{byte:02x}"));
    certificate.signature = Some(digits.collect());
    Ok(())
}

/// Checks that a certificate was signed with the private half of the public key in a
/// file.
///
/// # Errors
///
/// If it was not, or the file holds none.
pub fn check(certificate: &Certificate, key: &Path) -> Result<(), SignatureError> {
    let none = |reason: String| SignatureError::Key {
        path: key.to_owned(),
        what: "public",
        reason,
    };
    let der =
        SubjectPublicKeyInfoDer::from_pem_file(key).map_err(|error| none(error.to_string()))?;
    let public = der.strip_prefix(&PUBLIC_KEY);
    let public = public.filter(|public| public.len() == KEY_LENGTH);
    let public = public.ok_or_else(|| none("it is of another kind".to_owned()))?;
    let signature = certificate.signature.as_deref();
    let signature = signature.ok_or(SignatureError::Missing)?;
    let signature = bytes(signature).ok_or(SignatureError::Wrong)?;
    UnparsedPublicKey::new(&ED25519, public)
        .verify(message(certificate).as_bytes(), &signature)
        .map_err(|_| SignatureError::Wrong)
}

fn message(certificate: &Certificate) -> String {
    format!("{SUBJECT}{}", certificate.sha256)
}

/// Returns the bytes that hexadecimal digits stand for.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match std::str::from_utf8(pair) {
            Ok(pair) if pair.len() == 2 && pair.bytes().all(|it| it.is_ascii_hexdigit()) => {
                u8::from_str_radix(pair, 16).ok()
            }
            Ok(_) | Err(_) => None,
        })
        .collect()
}
