//! The header between transport and application that tells where messages
//! begin and whether one is missing (S2-2).
//!
//! A message larger than a frame comes in fragments. Each fragment carries the
//! header: the message's number and size, and the number of the fragment within
//! the stream.

use thiserror::Error;

use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of the header.
pub const LENGTH: usize = 12;

/// There is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the header.
    #[error("payload ends within the message header, after {length} bytes")]
    Truncated {
        /// How many bytes there are.
        length: usize,
    },
}

/// Tells which message a payload belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageShim {
    /// The number of the message.
    pub message: u32,
    /// The size of the whole message in bytes.
    pub size_bytes: u32,
    /// Counts what the sender sent.
    pub sequence: u32,
}

impl MessageShim {
    /// Returns the header of `payload` and what follows it.
    ///
    /// # Errors
    ///
    /// If the payload ends within the header.
    #[inline]
    pub fn parse(payload: &[u8]) -> Result<(Self, &[u8]), Error> {
        Self::read(payload).map_err(|Truncated| Error::Truncated {
            length: payload.len(),
        })
    }

    fn read(payload: &[u8]) -> Result<(Self, &[u8]), Truncated> {
        let mut reader = Reader::new(payload);
        let shim = Self {
            message: reader.u32()?,
            size_bytes: reader.u32()?,
            sequence: reader.u32()?,
        };
        Ok((shim, reader.rest()))
    }

    /// Appends the header to `out`.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.message).u32(self.size_bytes);
        writer.u32(self.sequence);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(MessageShim::parse(&bytes).is_ok(), bytes.len() >= LENGTH);
        }

        #[test]
        fn a_header_is_read_as_it_was_written(message: u32, size_bytes: u32, sequence: u32) {
            let shim = MessageShim { message, size_bytes, sequence };
            let mut out = Vec::new();

            shim.emit(&mut out);

            prop_assert_eq!(out.len(), LENGTH);
            prop_assert_eq!(MessageShim::parse(&out), Ok((shim, &[][..])));
        }
    }
}
