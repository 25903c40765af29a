//! What GOOSE and Sampled Values have in common: the header in front of the
//! protocol's data, its encoding, and its time.
//!
//! Behind the Ethernet header stand an application's number (APPID), the length
//! from there to the end, and two reserved words, of which one bit says that the
//! data are simulated. Then follows one value in the basic encoding rules of
//! ASN.1, of which only definite lengths and tags of one byte occur.
//!
//! Sources: IEC 61850-8-1 annex C, IEC 61850-9-2 annex A, ITU-T X.690 clause 8.

pub(crate) mod ber;
mod utc_time;

pub use utc_time::{TimeQuality, UtcTime};

use thiserror::Error;

use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of what stands between the Ethernet header and the data.
pub const HEADER_LENGTH: usize = 8;

const SIMULATED: u16 = 0x8000;

/// Bytes are no frame of a process bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within a value.
    #[error("frame ends within a value")]
    Truncated,
    /// A length is indefinite, or contradicts the content.
    #[error("a length is indefinite or contradicts the content")]
    Length,
    /// Another value was due.
    #[error("value with tag {found:#04x} where {expected:#04x} is due")]
    Tag {
        /// The tag that is there.
        found: u8,
        /// The tag that has to be there.
        expected: u8,
    },
    /// A value does not have the form of its kind.
    #[error("value with tag {tag:#04x} is malformed")]
    Value {
        /// The tag of the value.
        tag: u8,
    },
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// What stands between the Ethernet header and the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationHeader {
    /// The number of the application (APPID): 0x0000 to 0x3fff for GOOSE,
    /// 0x4000 to 0x7fff for Sampled Values.
    pub app_id: u16,
    /// Whether the data come from a test device.
    pub simulated: bool,
}

impl ApplicationHeader {
    /// Returns the header and the data behind it, without what pads the frame.
    ///
    /// # Errors
    ///
    /// If the bytes end early or the length is too small.
    #[inline]
    pub fn parse(payload: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut reader = Reader::new(payload);
        let app_id = reader.u16()?;
        let length = usize::from(reader.u16()?);
        let simulated = reader.u16()? & SIMULATED != 0;
        reader.skip(2)?;
        let data = length.checked_sub(HEADER_LENGTH).ok_or(Error::Length)?;
        Ok((Self { app_id, simulated }, reader.take(data)?))
    }

    /// Appends the header of `data_length` bytes of data to `out`.
    ///
    /// # Panics
    ///
    /// If the data are longer than a frame can be.
    pub(crate) fn emit(self, data_length: usize, out: &mut Vec<u8>) {
        let length =
            u16::try_from(HEADER_LENGTH + data_length).expect("we build no frame above 64 KiB");
        let mut writer = Writer::new(out);
        writer.u16(self.app_id).u16(length);
        writer.u16(if self.simulated { SIMULATED } else { 0 });
        writer.zeros::<2>();
    }
}
