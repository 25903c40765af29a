//! The frames by which a station says that it is there, through both networks (IEC
//! 62439-3 clause 4.2.7.6).

use thiserror::Error;

use crate::ethernet::{EtherType, Header, MacAddress, SHORTEST_FRAME};
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The only version that there is since the second edition.
const VERSION: u16 = 1;
const REDBOX: u8 = 30;
const ADDRESS_LENGTH: u8 = 6;
const END: u8 = 0;

numbered! {
    /// What a station does with what comes second.
    pub enum SupervisionKind: u8 {
        /// It discards duplicates.
        DuplicateDiscard = 20,
        /// It accepts them.
        DuplicateAccept = 21,
    }
}

/// A frame tells of no station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SupervisionError {
    /// The bytes end too soon.
    #[error("supervision frame ends after {length} bytes of payload")]
    Truncated {
        /// How many there are.
        length: usize,
    },
    /// The version is of another protocol, or of the first edition.
    #[error("supervision of version {version}, and not 1")]
    Version {
        /// The version.
        version: u16,
    },
    /// The first value is of another kind, as stations in rings have.
    #[error("supervision of kind {kind}, which neither discards nor accepts duplicates")]
    Kind {
        /// The kind.
        kind: u8,
    },
    /// A value is not as long as an address.
    #[error("value {kind} of {length} bytes where an address has 6")]
    Length {
        /// The kind of the value.
        kind: u8,
        /// Its length.
        length: u8,
    },
}

/// Says that a station is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supervision {
    /// Counts the supervision frames of the sender.
    pub sequence: u16,
    /// What the station does with duplicates.
    pub kind: SupervisionKind,
    /// The address of the station.
    pub station: MacAddress,
    /// The address of who speaks for the station, if it does not do so itself.
    pub redbox: Option<MacAddress>,
}

impl Supervision {
    /// Returns the group that supervision frames are sent to; the last byte is for the
    /// operator to choose.
    #[must_use]
    pub const fn group(last: u8) -> MacAddress {
        MacAddress([0x01, 0x15, 0x4e, 0x00, 0x01, last])
    }

    /// Returns what a payload of type 0x88fb tells.
    ///
    /// # Errors
    ///
    /// If it ends too soon, or is of another version or kind.
    pub fn parse(payload: &[u8]) -> Result<Self, SupervisionError> {
        let truncated = |Truncated| SupervisionError::Truncated {
            length: payload.len(),
        };
        let mut reader = Reader::new(payload);
        let version = reader.u16().map_err(truncated)?;
        if version != VERSION {
            return Err(SupervisionError::Version { version });
        }
        let sequence = reader.u16().map_err(truncated)?;
        let number = reader.u8().map_err(truncated)?;
        let kind =
            SupervisionKind::from_number(number).ok_or(SupervisionError::Kind { kind: number })?;
        let station = address(number, &mut reader).map_err(truncated)??;
        let redbox = match reader.u8() {
            Ok(REDBOX) => Some(address(REDBOX, &mut reader).map_err(truncated)??),
            // What else may follow says nothing of the station.
            Ok(_) | Err(Truncated) => None,
        };
        Ok(Self {
            sequence,
            kind,
            station,
            redbox,
        })
    }

    /// Appends the frame to `out`, without a trailer, from `source` to the group with
    /// this last byte.
    pub fn emit_frame(&self, source: MacAddress, group: u8, out: &mut Vec<u8>) {
        let start = out.len();
        let header = Header {
            destination: Self::group(group),
            source,
            vlan: None,
            ether_type: EtherType::PRP,
        };
        header.emit(out);
        let mut writer = Writer::new(out);
        writer.u16(VERSION).u16(self.sequence);
        writer.u8(self.kind.number()).u8(ADDRESS_LENGTH);
        writer.bytes(&self.station.0);
        if let Some(redbox) = self.redbox {
            writer.u8(REDBOX).u8(ADDRESS_LENGTH).bytes(&redbox.0);
        }
        writer.u8(END).u8(0);
        out.resize(start + SHORTEST_FRAME, 0);
    }
}

/// Reads the length of a value and the address that it is.
fn address(
    kind: u8,
    reader: &mut Reader<'_>,
) -> Result<Result<MacAddress, SupervisionError>, Truncated> {
    let length = reader.u8()?;
    if length != ADDRESS_LENGTH {
        return Ok(Err(SupervisionError::Length { kind, length }));
    }
    Ok(Ok(MacAddress(reader.array()?)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FIRST: [u8; 12] = [0, 1, 0, 9, 20, 6, 2, 0, 0, 0, 0, 1];

    #[test]
    fn a_station_speaks_for_itself() {
        let told = Supervision::parse(&FIRST);

        let expected = Supervision {
            sequence: 9,
            kind: SupervisionKind::DuplicateDiscard,
            station: MacAddress([2, 0, 0, 0, 0, 1]),
            redbox: None,
        };
        assert_eq!(told, Ok(expected));
    }

    #[test]
    fn other_versions_kinds_and_lengths_are_named() {
        let with = |at: usize, value: u8| {
            let mut bytes = FIRST;
            bytes[at] = value;
            Supervision::parse(&bytes)
        };

        assert_eq!(with(1, 0), Err(SupervisionError::Version { version: 0 }));
        assert_eq!(with(4, 23), Err(SupervisionError::Kind { kind: 23 }));
        let length = SupervisionError::Length {
            kind: 20,
            length: 5,
        };
        assert_eq!(with(5, 5), Err(length));
        let cut = Supervision::parse(&FIRST[..11]);
        assert_eq!(cut, Err(SupervisionError::Truncated { length: 11 }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Supervision::parse(&bytes);
        }

        #[test]
        fn a_station_is_read_as_it_was_written(
            sequence: u16,
            accepts: bool,
            station: [u8; 6],
            redbox: Option<[u8; 6]>,
        ) {
            let kind = match accepts {
                true => SupervisionKind::DuplicateAccept,
                false => SupervisionKind::DuplicateDiscard,
            };
            let redbox = redbox.map(MacAddress);
            let told = Supervision { sequence, kind, station: MacAddress(station), redbox };
            let mut frame = Vec::new();

            told.emit_frame(MacAddress::ZERO, 0, &mut frame);

            let (header, payload) = Header::parse(&frame).unwrap();
            prop_assert_eq!(header.destination, Supervision::group(0));
            prop_assert_eq!(frame.len(), SHORTEST_FRAME);
            prop_assert_eq!(Supervision::parse(payload), Ok(told));
        }
    }
}
