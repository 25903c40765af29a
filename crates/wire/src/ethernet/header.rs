//! The header of a frame, with at most one VLAN tag taken apart.

use thiserror::Error;

use super::{EtherType, MacAddress};
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The length of two addresses and a type.
pub const UNTAGGED_HEADER_LENGTH: usize = 14;
/// The length of a VLAN tag.
pub const TAG_LENGTH: usize = 4;

const PRIORITY_SHIFT: u16 = 13;
const DROP_ELIGIBLE_BIT: u16 = 0x1000;
const ID_MASK: u16 = 0x0fff;

/// A frame has no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the header.
    #[error("frame ends within its header, after {length} bytes")]
    Truncated {
        /// How many bytes there are.
        length: usize,
    },
}

/// The control information of a VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanTag {
    /// The priority code point, 0 to 7.
    pub priority: u8,
    /// Whether this frame goes first when frames have to be dropped.
    pub drop_eligible: bool,
    /// The VLAN, 0 to 4095; 0 means that the tag only carries a priority.
    pub id: u16,
}

impl VlanTag {
    /// Returns the tag that 16 bits of control information stand for.
    #[must_use]
    pub const fn from_control(control: u16) -> Self {
        Self {
            priority: control.to_be_bytes()[0] >> (PRIORITY_SHIFT - 8),
            drop_eligible: control & DROP_ELIGIBLE_BIT != 0,
            id: control & ID_MASK,
        }
    }

    /// Returns the 16 bits of control information. What does not fit its
    /// field is cut off.
    #[must_use]
    pub const fn control(self) -> u16 {
        let drop_eligible = if self.drop_eligible {
            DROP_ELIGIBLE_BIT
        } else {
            0
        };
        ((self.priority & 7) as u16) << PRIORITY_SHIFT | drop_eligible | self.id & ID_MASK
    }
}

/// Who sends a frame to whom, and what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the frame goes.
    pub destination: MacAddress,
    /// Where it comes from.
    pub source: MacAddress,
    /// The outermost tag, if it is a customer tag (0x8100).
    pub vlan: Option<VlanTag>,
    /// The type of what follows: behind the tag if there is one.
    pub ether_type: EtherType,
}

impl Header {
    /// Returns the header of `frame` and what follows it.
    ///
    /// # Errors
    ///
    /// If the frame ends within the header.
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), Error> {
        Self::read(frame).map_err(|Truncated| Error::Truncated {
            length: frame.len(),
        })
    }

    fn read(frame: &[u8]) -> Result<(Self, &[u8]), Truncated> {
        let mut reader = Reader::new(frame);
        let destination = MacAddress(reader.array()?);
        let source = MacAddress(reader.array()?);
        let mut ether_type = EtherType(reader.u16()?);
        let mut vlan = None;
        if ether_type == EtherType::VLAN {
            vlan = Some(VlanTag::from_control(reader.u16()?));
            ether_type = EtherType(reader.u16()?);
        }
        let header = Self {
            destination,
            source,
            vlan,
            ether_type,
        };
        Ok((header, reader.rest()))
    }

    /// Returns how many bytes [`emit`](Self::emit) appends.
    #[must_use]
    pub const fn length(&self) -> usize {
        match self.vlan {
            Some(_) => UNTAGGED_HEADER_LENGTH + TAG_LENGTH,
            None => UNTAGGED_HEADER_LENGTH,
        }
    }

    /// Appends the header to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.bytes(&self.destination.0).bytes(&self.source.0);
        if let Some(tag) = self.vlan {
            writer.u16(EtherType::VLAN.0).u16(tag.control());
        }
        writer.u16(self.ether_type.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_priority_tag_is_taken_apart() {
        let mut frame = vec![1, 12, 205, 4, 0, 0, 2, 0, 0, 0, 0, 2];
        frame.extend([0x81, 0x00, 0x80, 0x07, 0x88, 0xba, 0x40]);

        let (header, payload) = Header::parse(&frame).unwrap();

        let tag = VlanTag {
            priority: 4,
            drop_eligible: false,
            id: 7,
        };
        assert_eq!(header.vlan, Some(tag));
        assert_eq!(header.ether_type, EtherType::SAMPLED_VALUES);
        assert_eq!(payload, [0x40]);
    }

    #[test]
    fn a_frame_that_ends_within_its_tag_has_no_header() {
        let frame = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0x00, 0x80];

        assert_eq!(Header::parse(&frame), Err(Error::Truncated { length: 15 }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Header::parse(&bytes);
        }

        #[test]
        fn a_tag_survives_its_control_bits(control: u16) {
            prop_assert_eq!(VlanTag::from_control(control).control(), control);
        }

        #[test]
        fn a_header_is_read_as_it_was_written(
            destination: [u8; 6],
            source: [u8; 6],
            control: Option<u16>,
            ether_type in any::<u16>().prop_filter("a second tag", |&it| it != 0x8100),
        ) {
            let header = Header {
                destination: MacAddress(destination),
                source: MacAddress(source),
                vlan: control.map(VlanTag::from_control),
                ether_type: EtherType(ether_type),
            };
            let mut out = Vec::new();

            header.emit(&mut out);

            prop_assert_eq!(out.len(), header.length());
            prop_assert_eq!(Header::parse(&out), Ok((header, &[][..])));
        }
    }
}
