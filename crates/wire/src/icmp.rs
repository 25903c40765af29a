//! Echo requests and their replies: what `ping` sends.
//!
//! Source: RFC 792.

use thiserror::Error;

use crate::internet_checksum::Checksum;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of what stands before the payload.
pub const HEADER_LENGTH: usize = 8;

const REPLY: u8 = 0;
const REQUEST: u8 = 8;
const CHECKSUM_OFFSET: usize = 2;

/// Bytes are no echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the header.
    #[error("echo message ends early")]
    Truncated,
    /// Another message of ICMP.
    #[error("ICMP message of type {kind}, code {code}, where an echo was expected")]
    Other {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
    },
    /// The message was damaged.
    #[error("wrong checksum of an echo message")]
    Checksum,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// Which way an echo goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Asks for a reply.
    Request,
    /// Gives the payload back.
    Reply,
}

/// What tells one echo from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Which way it goes.
    pub kind: Kind,
    /// Who asks.
    pub identifier: u16,
    /// Which of its requests this is, or answers.
    pub sequence: u16,
}

impl Echo {
    /// Returns the header of a whole message, and its payload.
    ///
    /// # Errors
    ///
    /// If it is no echo, or damaged.
    pub fn parse(message: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (echo, payload) = Self::parse_begin(message)?;
        match Checksum::default().with(message).finish() {
            0 => Ok((echo, payload)),
            _ => Err(Error::Checksum),
        }
    }

    /// Returns the same for a message whose end may be missing, as in the first of
    /// several fragments: the checksum is not looked at.
    ///
    /// # Errors
    ///
    /// If the bytes end within the header, or it is no echo.
    pub fn parse_begin(message: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(message);
        let (kind, code) = (reader.u8()?, reader.u8()?);
        reader.skip(2)?;
        let (identifier, sequence) = (reader.u16()?, reader.u16()?);
        let kind = match (kind, code) {
            (REQUEST, 0) => Kind::Request,
            (REPLY, 0) => Kind::Reply,
            _ => return Err(Error::Other { kind, code }),
        };
        let echo = Self {
            kind,
            identifier,
            sequence,
        };
        Ok((echo, reader.rest()))
    }

    /// Appends a whole message to `out`.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let kind = match self.kind {
            Kind::Request => REQUEST,
            Kind::Reply => REPLY,
        };
        let mut writer = Writer::new(out);
        writer.u8(kind).u8(0).u16(0);
        writer.u16(self.identifier).u16(self.sequence);
        writer.bytes(payload);
        let checksum = Checksum::default().with(&out[start..]).finish();
        Writer::at(out, start).patch_u16(CHECKSUM_OFFSET, checksum);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_damaged_echo_is_noticed() {
        let mut out = Vec::new();
        echo(Kind::Request).emit(b"takt", &mut out);
        out[9] ^= 4;

        assert_eq!(Echo::parse(&out), Err(Error::Checksum));
        assert!(Echo::parse_begin(&out).is_ok());
    }

    #[test]
    fn another_message_of_icmp_is_no_echo() {
        let unreachable = [3, 1, 0, 0, 0, 0, 0, 0];

        assert_eq!(
            Echo::parse(&unreachable),
            Err(Error::Other { kind: 3, code: 1 })
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Echo::parse(&bytes);
        }

        #[test]
        fn an_echo_is_read_as_it_was_written(
            reply: bool, identifier: u16, sequence: u16,
            payload in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let kind = match reply {
                true => Kind::Reply,
                false => Kind::Request,
            };
            let echo = Echo { kind, identifier, sequence };
            let mut out = Vec::new();

            echo.emit(&payload, &mut out);

            prop_assert_eq!(Echo::parse(&out), Ok((echo, &payload[..])));
        }
    }

    fn echo(kind: Kind) -> Echo {
        Echo {
            kind,
            identifier: 7,
            sequence: 9,
        }
    }
}
