//! Link Layer Discovery Protocol: how the controller finds the links.
//!
//! The controller lets a switch send such a frame out of a port; the switch at
//! the other end hands it back to the controller, which then knows both ends.
//! Who sent it stands in an organisationally specific item of our own, an
//! [`Origin`]: an ordinary neighbour skips it and still reads the chassis and
//! the port. The tag in it is for the controller, which may recognise its own
//! frames by it.
//!
//! Source: IEEE 802.1AB-2016 clauses 8 and 9.

use thiserror::Error;

use crate::ethernet::{self, EtherType, MacAddress};
use crate::openflow::{DatapathId, PortNumber};
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

const TLV_END: u16 = 0;
const TLV_CHASSIS: u16 = 1;
const TLV_PORT: u16 = 2;
const TLV_TIME_TO_LIVE: u16 = 3;
const TLV_ORGANISATION: u16 = 127;

/// A type has 7 bits, a length 9.
const LENGTH_BITS: u16 = 9;
const LENGTH_MASK: u16 = (1 << LENGTH_BITS) - 1;

const SUBTYPE_LOCAL: u8 = 7;
/// No vendor's identifier: the bit that marks local assignment is set.
const ORGANISATION: [u8; 3] = [0x02, 0x74, 0x6b];
const SUBTYPE_ORIGIN: u8 = 1;
const ORIGIN_LENGTH: u16 = 3 + 1 + 8 + 4;
const TAG_LENGTH: u16 = 8;

/// Bytes are no LLDP frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within an item.
    #[error("frame ends within an item")]
    Truncated,
    /// Chassis, port and time to live do not come first, in this order.
    #[error("item of type {found} where type {expected} is due")]
    Order {
        /// The type of the item.
        found: u16,
        /// The type that has to be there.
        expected: u16,
    },
    /// A mandatory item is empty or too short.
    #[error("item of type {kind} is too short")]
    Item {
        /// The type of the item.
        kind: u16,
    },
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// Names a chassis or a port in one of several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identifier<'a> {
    /// Which way; the numbers differ between chassis and port.
    pub subtype: u8,
    /// The name.
    pub value: &'a [u8],
}

/// Which port of which switch sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The switch.
    pub datapath: DatapathId,
    /// The port.
    pub port: PortNumber,
    /// What the controller wrote on it to know it again.
    pub tag: Option<u64>,
}

/// What a frame says about its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lldp<'a> {
    /// Names the sender.
    pub chassis: Identifier<'a>,
    /// Names its port.
    pub port: Identifier<'a>,
    /// For how many seconds this holds.
    pub time_to_live_s: u16,
    /// Names both, if a Taktos controller had it sent.
    pub origin: Option<Origin>,
}

impl<'a> Lldp<'a> {
    /// Takes apart what stands behind the Ethernet header.
    ///
    /// # Errors
    ///
    /// If the mandatory items are not there, or the bytes end within an item.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(payload);
        let chassis = identifier(&mut reader, TLV_CHASSIS)?;
        let port = identifier(&mut reader, TLV_PORT)?;
        let time_to_live_s = Reader::new(mandatory(&mut reader, TLV_TIME_TO_LIVE)?)
            .u16()
            .map_err(|Truncated| Error::Item {
                kind: TLV_TIME_TO_LIVE,
            })?;
        let mut origin = None;
        while !reader.is_empty() {
            let (kind, value) = item(&mut reader)?;
            match kind {
                TLV_END => break,
                TLV_ORGANISATION => origin = origin.or(Origin::parse(value)),
                _ => {} // Whatever else the neighbour tells.
            }
        }
        Ok(Self {
            chassis,
            port,
            time_to_live_s,
            origin,
        })
    }
}

impl Origin {
    /// Returns the origin that an organisation's item names, if it is ours.
    fn parse(value: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(value);
        let ours = reader.array() == Ok(ORGANISATION) && reader.u8() == Ok(SUBTYPE_ORIGIN);
        if !ours {
            return None;
        }
        Some(Self {
            datapath: DatapathId(reader.u64().ok()?),
            port: PortNumber(reader.u32().ok()?),
            tag: reader.u64().ok(),
        })
    }

    /// Appends a whole frame to [`MacAddress::NEAREST_BRIDGE`] that names this origin,
    /// also to neighbours that only know the standard.
    pub fn emit_frame(&self, source: MacAddress, time_to_live_s: u16, out: &mut Vec<u8>) {
        self.emit_frame_to(MacAddress::NEAREST_BRIDGE, source, time_to_live_s, out);
    }

    /// Appends such a frame to another address: one that is no neighbour's, so that
    /// whoever has no entry for it takes it for what it is, a frame of nobody's.
    pub fn emit_frame_to(
        &self,
        destination: MacAddress,
        source: MacAddress,
        time_to_live_s: u16,
        out: &mut Vec<u8>,
    ) {
        let header = ethernet::Header {
            destination,
            source,
            vlan: None,
            ether_type: EtherType::LLDP,
        };
        header.emit(out);
        let mut writer = Writer::new(out);
        begin_item(&mut writer, TLV_CHASSIS, 9);
        writer.u8(SUBTYPE_LOCAL).u64(self.datapath.0);
        begin_item(&mut writer, TLV_PORT, 5);
        writer.u8(SUBTYPE_LOCAL).u32(self.port.0);
        begin_item(&mut writer, TLV_TIME_TO_LIVE, 2);
        writer.u16(time_to_live_s);
        let tag_length = if self.tag.is_some() { TAG_LENGTH } else { 0 };
        begin_item(&mut writer, TLV_ORGANISATION, ORIGIN_LENGTH + tag_length);
        writer.bytes(&ORGANISATION).u8(SUBTYPE_ORIGIN);
        writer.u64(self.datapath.0).u32(self.port.0);
        if let Some(tag) = self.tag {
            writer.u64(tag);
        }
        begin_item(&mut writer, TLV_END, 0);
    }
}

fn begin_item(writer: &mut Writer<'_>, kind: u16, length: u16) {
    writer.u16(kind << LENGTH_BITS | length);
}

/// Takes the next item off the front: its type and its value.
fn item<'a>(reader: &mut Reader<'a>) -> Result<(u16, &'a [u8]), Error> {
    let header = reader.u16()?;
    let value = reader.take(usize::from(header & LENGTH_MASK))?;
    Ok((header >> LENGTH_BITS, value))
}

fn mandatory<'a>(reader: &mut Reader<'a>, expected: u16) -> Result<&'a [u8], Error> {
    match item(reader)? {
        (found, value) if found == expected => Ok(value),
        (found, _) => Err(Error::Order { found, expected }),
    }
}

fn identifier<'a>(reader: &mut Reader<'a>, kind: u16) -> Result<Identifier<'a>, Error> {
    match mandatory(reader, kind)? {
        [] | [_] => Err(Error::Item { kind }),
        [subtype, value @ ..] => Ok(Identifier {
            subtype: *subtype,
            value,
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The smallest frame that the standard allows, by hand from its clause 8.
    const NEIGHBOUR: [u8; 19] = [
        0x02, 7, 4, 2, 0, 0, 0, 0, 1, // chassis: a MAC address
        0x04, 2, 5, b'1', // port: the name of an interface
        0x06, 2, 0, 120, // time to live
        0, 0, // end
    ];

    fn emitted(origin: Origin) -> Vec<u8> {
        let mut frame = Vec::new();
        origin.emit_frame(MacAddress([2, 0, 0, 0, 0, 1]), 120, &mut frame);
        frame
    }

    #[test]
    fn an_ordinary_neighbour_is_understood() {
        let neighbour = Lldp::parse(&NEIGHBOUR).unwrap();

        let chassis = Identifier {
            subtype: 4,
            value: &[2, 0, 0, 0, 0, 1],
        };
        assert_eq!(neighbour.chassis, chassis);
        assert_eq!(neighbour.port.value, b"1");
        assert_eq!(neighbour.time_to_live_s, 120);
        assert_eq!(neighbour.origin, None);
    }

    #[test]
    fn the_mandatory_items_have_their_order() {
        let error = Lldp::parse(&NEIGHBOUR[9..]).unwrap_err();

        assert_eq!(
            error,
            Error::Order {
                found: 2,
                expected: 1
            }
        );
    }

    #[test]
    fn a_foreign_organisation_names_no_origin() {
        let mut frame = NEIGHBOUR[..17].to_vec();
        frame.extend([0xfe, 6, 0x00, 0x80, 0xc2, 1, 0, 5]);

        assert_eq!(Lldp::parse(&frame).unwrap().origin, None);
    }

    #[test]
    fn a_frame_goes_to_the_nearest_bridge_only() {
        let frame = emitted(Origin {
            datapath: DatapathId(1),
            port: PortNumber(2),
            tag: None,
        });

        let (header, _) = ethernet::Header::parse(&frame).unwrap();
        assert_eq!(header.destination, MacAddress::NEAREST_BRIDGE);
        assert_eq!(header.ether_type, EtherType::LLDP);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Lldp::parse(&bytes);
        }

        #[test]
        fn an_end_of_a_good_frame_missing_makes_no_panic(length in 0usize..60) {
            let frame = emitted(Origin {
                datapath: DatapathId(7),
                port: PortNumber(8),
                tag: Some(9),
            });

            let _ = Lldp::parse(&frame[14..][..length.min(frame.len() - 14)]);
        }

        #[test]
        fn an_origin_is_read_as_it_was_written(datapath: u64, port: u32, tag: Option<u64>) {
            let origin = Origin {
                datapath: DatapathId(datapath),
                port: PortNumber(port),
                tag,
            };

            let frame = emitted(origin);

            let lldp = Lldp::parse(&frame[14..]).unwrap();
            prop_assert_eq!(lldp.origin, Some(origin));
            prop_assert_eq!(lldp.chassis.value, datapath.to_be_bytes());
            prop_assert_eq!(lldp.port.value, port.to_be_bytes());
            prop_assert_eq!(lldp.time_to_live_s, 120);
        }
    }
}
