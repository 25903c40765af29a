//! What proves that a packet is of whom it says: a password, or a hash under a key
//! (RFC 5880 sections 4.2 to 4.4, 6.7.2 and 6.7.4).

use std::fmt;

use super::{Error, LENGTH};
use crate::reader::Reader;
use crate::sha1::{self, sha1};
use crate::writer::Writer;

/// The length of a section with a hash.
pub(super) const HASHED_LENGTH: usize = 28;
/// Type, length and number of the key.
const PASSWORD_AT: usize = 3;
const PASSWORD_MAX: usize = 16;
const HASH_AT: usize = LENGTH + 8;

/// How packets are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationKind {
    /// A password that everybody can read who sees a packet.
    SimplePassword,
    /// A hash; a packet may be seen again for a while.
    KeyedSha1,
    /// A hash, and each packet counts once.
    MeticulousKeyedSha1,
}

impl AuthenticationKind {
    /// Returns its number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::SimplePassword => 1,
            Self::KeyedSha1 => 4,
            Self::MeticulousKeyedSha1 => 5,
        }
    }

    /// Returns the kind of this number, if there is one.
    #[must_use]
    pub const fn of_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::SimplePassword,
            4 => Self::KeyedSha1,
            5 => Self::MeticulousKeyedSha1,
            _ => return None,
        })
    }
}

/// A password or key of 1 to 20 bytes; a password has at most 16.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret {
    /// Filled up with zeros, as a hash is made of it.
    bytes: [u8; sha1::LENGTH],
    length: u8,
}

impl Secret {
    /// Returns the secret of these bytes, if it is long enough and not too long for this
    /// kind.
    #[must_use]
    pub fn new(kind: AuthenticationKind, secret: &[u8]) -> Option<Self> {
        let most = match kind {
            AuthenticationKind::SimplePassword => PASSWORD_MAX,
            AuthenticationKind::KeyedSha1 | AuthenticationKind::MeticulousKeyedSha1 => sha1::LENGTH,
        };
        if secret.is_empty() || secret.len() > most {
            return None;
        }
        let mut bytes = [0; sha1::LENGTH];
        bytes[..secret.len()].copy_from_slice(secret);
        Some(Self {
            bytes,
            length: u8::try_from(secret.len()).expect("at most twenty"),
        })
    }

    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// A secret stays one.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// How the packets of a session are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// By what.
    pub kind: AuthenticationKind,
    /// The number of the key, by which both ends know it.
    pub key: u8,
    /// The key.
    pub secret: Secret,
}

/// The number of an authenticated packet. It means nothing with a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceNumber(pub u32);

impl Authentication {
    pub(super) fn length(&self) -> usize {
        match self.kind {
            AuthenticationKind::SimplePassword => PASSWORD_AT + self.secret.bytes().len(),
            AuthenticationKind::KeyedSha1 | AuthenticationKind::MeticulousKeyedSha1 => {
                HASHED_LENGTH
            }
        }
    }

    /// Appends the section to a packet that begins at `start` and knows its length.
    pub(super) fn emit(&self, sequence: SequenceNumber, start: usize, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        let length = u8::try_from(self.length()).expect("at most 28 bytes");
        writer.u8(self.kind.number()).u8(length).u8(self.key);
        match self.kind {
            AuthenticationKind::SimplePassword => {
                writer.bytes(self.secret.bytes());
            }
            AuthenticationKind::KeyedSha1 | AuthenticationKind::MeticulousKeyedSha1 => {
                writer.zeros::<1>().u32(sequence.0);
                writer.bytes(&self.secret.bytes);
                let hash = sha1(&out[start..]);
                out[start + HASH_AT..].copy_from_slice(&hash);
            }
        }
    }
}

/// What a packet that came has for a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof<'a> {
    /// Of which kind it is.
    pub kind: AuthenticationKind,
    /// The number of the key.
    pub key: u8,
    /// The number of the packet, zero with a password.
    pub sequence: SequenceNumber,
    packet: &'a [u8],
}

impl<'a> Proof<'a> {
    /// Takes the section of a whole packet apart.
    pub(super) fn parse(packet: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(&packet[LENGTH..]);
        let (number, length, key) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let unknown = Error::Authentication {
            kind: number,
            length,
        };
        let kind = AuthenticationKind::of_number(number).ok_or(unknown)?;
        let bytes = usize::from(length);
        let fits = match kind {
            AuthenticationKind::SimplePassword => {
                (PASSWORD_AT + 1..=PASSWORD_AT + PASSWORD_MAX).contains(&bytes)
            }
            AuthenticationKind::KeyedSha1 | AuthenticationKind::MeticulousKeyedSha1 => {
                bytes == HASHED_LENGTH
            }
        };
        if !fits || packet.len() != LENGTH + bytes {
            return Err(unknown);
        }
        let sequence = match kind {
            AuthenticationKind::SimplePassword => SequenceNumber(0),
            AuthenticationKind::KeyedSha1 | AuthenticationKind::MeticulousKeyedSha1 => {
                reader.skip(1)?;
                SequenceNumber(reader.u32()?)
            }
        };
        Ok(Self {
            kind,
            key,
            sequence,
            packet,
        })
    }

    /// Returns whether somebody made it who knows the secret.
    #[must_use]
    pub fn is_of(&self, authentication: &Authentication) -> bool {
        if (self.kind, self.key) != (authentication.kind, authentication.key) {
            return false;
        }
        let secret = &authentication.secret;
        match self.kind {
            AuthenticationKind::SimplePassword => {
                self.packet.get(LENGTH + PASSWORD_AT..) == Some(secret.bytes())
            }
            AuthenticationKind::KeyedSha1 | AuthenticationKind::MeticulousKeyedSha1 => {
                let (signed, hash) = self.packet.split_at(HASH_AT);
                sha1(&[signed, &secret.bytes].concat()) == *hash
            }
        }
    }
}
