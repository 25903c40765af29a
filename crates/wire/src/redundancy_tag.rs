//! The redundancy tag, which numbers the frames of a stream so that copies of one can be
//! told (IEEE 802.1CB clause 7.8).
//!
//! Behind the addresses and all VLAN tags: the type 0xf1c1, two bytes that are reserved
//! (sent as zero, not looked at when they come), and the sequence number. What the frame
//! carried before follows, with its own type.

use thiserror::Error;

use crate::ethernet::{EtherType, TAG_LENGTH};
use crate::reader::{Reader, Truncated};

/// The bytes of the tag, its type included.
pub const LENGTH: usize = 6;
/// Where the type of an untagged frame stands.
const TYPE_AT: usize = 12;
/// How many VLAN tags may stand in front.
const VLAN_TAGS_MAX: usize = 8;

/// There is no tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end before the tag and the type behind it do.
    #[error("frame ends within its redundancy tag, after {length} bytes")]
    Truncated {
        /// How many bytes there are.
        length: usize,
    },
    /// Something else follows.
    #[error("type {found} where a redundancy tag has 0xf1c1")]
    Type {
        /// The type that stands there.
        found: EtherType,
    },
}

/// The number of a frame in its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedundancyTag {
    /// Counts the frames of the stream, and begins again after 65,535.
    pub sequence: u16,
}

impl RedundancyTag {
    /// Returns the tag at the front of `bytes`, which begin with its type, and what
    /// follows it: a type and its payload.
    ///
    /// # Errors
    ///
    /// If the bytes begin with another type, or end before the type behind the tag does.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (found, sequence, rest) = Self::read(bytes).map_err(|Truncated| Error::Truncated {
            length: bytes.len(),
        })?;
        match found {
            EtherType::REDUNDANCY_TAG => Ok((Self { sequence }, rest)),
            found => Err(Error::Type { found }),
        }
    }

    fn read(bytes: &[u8]) -> Result<(EtherType, u16, &[u8]), Truncated> {
        let mut reader = Reader::new(bytes);
        let found = EtherType(reader.u16()?);
        reader.skip(2)?;
        let sequence = reader.u16()?;
        let rest = reader.rest();
        reader.u16()?;
        Ok((found, sequence, rest))
    }

    /// Returns the tag of a whole frame, and where it stands: behind the addresses and
    /// all VLAN tags.
    ///
    /// # Errors
    ///
    /// If it has none, or ends within it.
    pub fn of_frame(frame: &[u8]) -> Result<(Self, usize), Error> {
        let mut at = TYPE_AT;
        for _ in 0..VLAN_TAGS_MAX {
            let kind = frame.get(at..).and_then(|rest| rest.first_chunk());
            if !kind.is_some_and(|kind| EtherType(u16::from_be_bytes(*kind)).is_vlan()) {
                break;
            }
            at += TAG_LENGTH;
        }
        let (tag, _) = Self::parse(frame.get(at..).unwrap_or_default())?;
        Ok((tag, at))
    }

    /// Returns the bytes of the tag.
    #[must_use]
    pub const fn bytes(self) -> [u8; LENGTH] {
        let [kind_high, kind_low] = EtherType::REDUNDANCY_TAG.0.to_be_bytes();
        let [high, low] = self.sequence.to_be_bytes();
        [kind_high, kind_low, 0, 0, high, low]
    }

    /// Appends the tag to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tag_stands_behind_the_vlan_tags() {
        let mut frame = vec![0; TYPE_AT];
        frame.extend([0x81, 0, 0x80, 7, 0xf1, 0xc1, 0, 0, 0x12, 0x34, 0x88, 0xba]);

        let found = RedundancyTag::of_frame(&frame);

        assert_eq!(found, Ok((RedundancyTag { sequence: 0x1234 }, 16)));
    }

    #[test]
    fn a_tag_without_a_type_behind_it_is_cut_short() {
        let bytes = [0xf1, 0xc1, 0, 0, 0, 1, 0x88];

        assert_eq!(
            RedundancyTag::parse(&bytes),
            Err(Error::Truncated { length: 7 })
        );
    }

    #[test]
    fn another_type_is_named() {
        let bytes = [0x88, 0xba, 0, 0, 0, 1, 0x88, 0xba];

        let found = EtherType::SAMPLED_VALUES;
        assert_eq!(RedundancyTag::parse(&bytes), Err(Error::Type { found }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = RedundancyTag::parse(&bytes);
            let _ = RedundancyTag::of_frame(&bytes);
        }

        #[test]
        fn a_tag_is_read_as_it_was_written(sequence: u16, ether_type: u16) {
            let tag = RedundancyTag { sequence };
            let mut out = Vec::new();

            tag.emit(&mut out);
            prop_assert_eq!(out.len(), LENGTH);
            out.extend(ether_type.to_be_bytes());

            prop_assert_eq!(RedundancyTag::parse(&out), Ok((tag, &out[LENGTH..])));
        }
    }
}
