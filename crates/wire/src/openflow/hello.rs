//! Agreeing on a version (OF13 clause 7.5.1).

use super::header::{begin, finish};
use super::{DecodeError, Header, MessageType, TransactionId, VERSION};
use crate::reader::Reader;

const VERSION_BITMAP: u16 = 1;
const ELEMENT_HEADER_LENGTH: usize = 4;
const BITMAP_LENGTH: usize = 4;

/// The first message of each side, with the versions that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The highest version, which the header names.
    pub version: u8,
    /// Bit n is set if version n is spoken; nothing if the sender did not say.
    /// Versions above 31 are not kept: there are none.
    pub versions: Option<u32>,
}

impl Hello {
    /// Says that OpenFlow 1.3 is spoken and nothing else.
    pub const OURS: Self = Self {
        version: VERSION,
        versions: Some(1 << VERSION),
    };

    /// Returns the highest version that both speak, if there is one
    /// (OF13 clause 6.3.1).
    #[must_use]
    pub fn agree(&self, other: &Self) -> Option<u8> {
        let smaller = self.version.min(other.version);
        let (Some(ours), Some(theirs)) = (self.versions, other.versions) else {
            return (self.speaks(smaller) && other.speaks(smaller)).then_some(smaller);
        };
        let common = (ours & theirs).checked_ilog2()?;
        u8::try_from(common).ok()
    }

    fn speaks(&self, version: u8) -> bool {
        match self.versions {
            Some(versions) => versions.checked_shr(u32::from(version)).unwrap_or(0) & 1 == 1,
            None => version <= self.version,
        }
    }

    /// Takes elements as far as they make sense: what a later version adds
    /// must not keep the two from agreeing on an earlier one.
    pub(crate) fn parse(header: Header, body: &[u8]) -> Result<Self, DecodeError> {
        let mut hello = Self {
            version: header.version,
            versions: None,
        };
        let mut reader = Reader::new(body);
        while !reader.is_empty() {
            let (kind, length) = (reader.u16()?, usize::from(reader.u16()?));
            let content = length
                .checked_sub(ELEMENT_HEADER_LENGTH)
                .ok_or(DecodeError::Length)?;
            let content = reader.take(content)?;
            if kind == VERSION_BITMAP && hello.versions.is_none() {
                hello.versions = Some(Reader::new(content).u32()?);
            }
            let padding = length.next_multiple_of(8) - length;
            reader.skip(padding.min(reader.rest().len()))?;
        }
        Ok(hello)
    }

    /// Appends the message to `out`.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Hello, transaction, out);
        if let Some(versions) = self.versions {
            let length = u16::try_from(ELEMENT_HEADER_LENGTH + BITMAP_LENGTH)
                .expect("an element with one bitmap has 8 bytes");
            message.u16(VERSION_BITMAP).u16(length).u32(versions);
        }
        message.patch_u8(0, self.version);
        finish(&mut message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(version: u8, versions: Option<u32>) -> Hello {
        Hello { version, versions }
    }

    #[test]
    fn without_bitmaps_the_smaller_version_is_agreed_on() {
        assert_eq!(hello(4, None).agree(&hello(1, None)), Some(1));
        assert_eq!(hello(4, None).agree(&hello(6, None)), Some(4));
    }

    #[test]
    fn with_bitmaps_the_highest_common_version_is_agreed_on() {
        let both = hello(6, Some(1 << 6 | 1 << 4 | 1 << 1));

        assert_eq!(Hello::OURS.agree(&both), Some(4));
        assert_eq!(both.agree(&hello(5, Some(1 << 5))), None);
    }

    #[test]
    fn one_bitmap_alone_decides_whether_the_smaller_version_is_spoken() {
        assert_eq!(Hello::OURS.agree(&hello(1, None)), None);
        assert_eq!(Hello::OURS.agree(&hello(5, None)), Some(4));
    }
}
