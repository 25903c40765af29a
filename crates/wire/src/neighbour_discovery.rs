//! IPv6 neighbour discovery: which station has an IPv6 address?
//!
//! Sources: RFC 4861 section 4 (messages) and sections 6.1, 7.1 (what makes
//! them valid); RFC 4862 section 5.4 (probes for duplicates).
//!
//! # Left out
//!
//! Redirects; of router advertisements all but who sends them.

use std::net::Ipv6Addr;

use thiserror::Error;

use crate::ethernet::MacAddress;
use crate::ipv6;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// What a packet on its first hop has left: nobody has forwarded it.
pub const HOP_LIMIT: u8 = 255;

const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
const OPTION_SOURCE: u8 = 1;
const OPTION_TARGET: u8 = 2;
/// Options are counted in units of so many bytes.
const OPTION_UNIT: usize = 8;
const CHECKSUM_OFFSET: usize = 2;

/// Bytes are no message of neighbour discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the message.
    #[error("message ends early")]
    Truncated,
    /// Another kind of message.
    #[error("message of type {kind} with code {code}")]
    Kind {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
    },
    /// It was forwarded, so its sender is no neighbour.
    #[error("hop limit {hop_limit}, not {HOP_LIMIT}")]
    Forwarded {
        /// What is left of its hops.
        hop_limit: u8,
    },
    /// The message was damaged.
    #[error("wrong checksum")]
    Checksum,
    /// An option has no length, or the target is a group.
    #[error("an option or the target cannot be")]
    Nonsense,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NdMessage {
    /// Who routes here?
    RouterSolicitation {
        /// The station that asks; absent if it has no address yet.
        station: Option<MacAddress>,
    },
    /// The sender routes here.
    RouterAdvertisement {
        /// Its station.
        station: Option<MacAddress>,
    },
    /// Who has this address?
    NeighbourSolicitation {
        /// The address.
        target: Ipv6Addr,
        /// The station that asks; absent in a probe for duplicates.
        station: Option<MacAddress>,
    },
    /// This station has this address.
    NeighbourAdvertisement {
        /// The address.
        target: Ipv6Addr,
        /// The station; the sender's if absent.
        station: Option<MacAddress>,
    },
}

impl NdMessage {
    /// Reads what stands behind an IPv6 header.
    ///
    /// # Errors
    ///
    /// If it is no valid message of these kinds.
    pub fn parse(ip: &ipv6::Header, message: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(message);
        let (kind, code) = (reader.u8()?, reader.u8()?);
        let is_known = (ROUTER_SOLICITATION..=NEIGHBOUR_ADVERTISEMENT).contains(&kind);
        if ip.next_header != ipv6::NEXT_HEADER_ICMP || !is_known || code != 0 {
            return Err(Error::Kind { kind, code });
        }
        if ip.hop_limit != HOP_LIMIT {
            let hop_limit = ip.hop_limit;
            return Err(Error::Forwarded { hop_limit });
        }
        if ip.sum(message).finish() != 0 {
            return Err(Error::Checksum);
        }
        reader.skip(6)?; // Checksum, flags, reserved.
        match kind {
            ROUTER_SOLICITATION => Ok(Self::RouterSolicitation {
                station: station(reader, OPTION_SOURCE)?,
            }),
            ROUTER_ADVERTISEMENT => {
                reader.skip(8)?; // Two timers.
                Ok(Self::RouterAdvertisement {
                    station: station(reader, OPTION_SOURCE)?,
                })
            }
            NEIGHBOUR_SOLICITATION => Ok(Self::NeighbourSolicitation {
                target: target(&mut reader)?,
                station: station(reader, OPTION_SOURCE)?,
            }),
            _ => Ok(Self::NeighbourAdvertisement {
                target: target(&mut reader)?,
                station: station(reader, OPTION_TARGET)?,
            }),
        }
    }

    /// Appends a whole packet to `out`: the header and the message. The
    /// header's next header is that of ICMPv6 and its hop limit that of a
    /// neighbour, whatever `ip` says.
    pub fn emit_packet(&self, ip: &ipv6::Header, out: &mut Vec<u8>) {
        let mut message = Vec::new();
        self.emit_body(&mut message);
        let header = ipv6::Header {
            next_header: ipv6::NEXT_HEADER_ICMP,
            hop_limit: HOP_LIMIT,
            ..*ip
        };
        let checksum = header.sum(&message).finish();
        Writer::at(&mut message, 0).patch_u16(CHECKSUM_OFFSET, checksum);
        header.emit(message.len(), out);
        out.extend_from_slice(&message);
    }

    fn emit_body(&self, out: &mut Vec<u8>) {
        let (kind, option, station) = match *self {
            Self::RouterSolicitation { station } => (ROUTER_SOLICITATION, OPTION_SOURCE, station),
            Self::RouterAdvertisement { station } => (ROUTER_ADVERTISEMENT, OPTION_SOURCE, station),
            Self::NeighbourSolicitation { station, .. } => {
                (NEIGHBOUR_SOLICITATION, OPTION_SOURCE, station)
            }
            Self::NeighbourAdvertisement { station, .. } => {
                (NEIGHBOUR_ADVERTISEMENT, OPTION_TARGET, station)
            }
        };
        let mut writer = Writer::new(out);
        writer.u8(kind).zeros::<7>();
        match self {
            Self::RouterSolicitation { .. } => {}
            Self::RouterAdvertisement { .. } => {
                writer.zeros::<8>();
            }
            Self::NeighbourSolicitation { target, .. }
            | Self::NeighbourAdvertisement { target, .. } => {
                writer.bytes(&target.octets());
            }
        }
        if let Some(station) = station {
            writer.u8(option).u8(1).bytes(&station.0);
        }
    }
}

fn target(reader: &mut Reader<'_>) -> Result<Ipv6Addr, Error> {
    let target = Ipv6Addr::from(reader.array()?);
    match target.is_multicast() {
        true => Err(Error::Nonsense),
        false => Ok(target),
    }
}

/// Returns the link-layer address in the option of this kind.
fn station(mut reader: Reader<'_>, wanted: u8) -> Result<Option<MacAddress>, Error> {
    let mut found = None;
    while !reader.is_empty() {
        let (kind, units) = (reader.u8()?, usize::from(reader.u8()?));
        if units == 0 {
            return Err(Error::Nonsense);
        }
        let value = reader.take(units * OPTION_UNIT - 2)?;
        if kind == wanted
            && let Ok(address) = value.try_into()
        {
            found = found.or(Some(MacAddress(address)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A probe for duplicates, by hand from RFC 4861 section 4.3: no source, no
    /// option.
    #[test]
    fn a_probe_for_duplicates_is_read() {
        let ip = header(0);
        let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
        message.extend(Ipv6Addr::from(7).octets());
        let sum = ip.sum(&message).finish();
        message[2..4].copy_from_slice(&sum.to_be_bytes());

        let read = NdMessage::parse(&ip, &message);

        let expected = NdMessage::NeighbourSolicitation {
            target: Ipv6Addr::from(7),
            station: None,
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn what_a_router_has_forwarded_is_refused() {
        let message = [135; 24];
        let ip = ipv6::Header {
            hop_limit: 254,
            ..header(1)
        };

        let forwarded = Error::Forwarded { hop_limit: 254 };
        let mut message = message;
        message[1] = 0;
        assert_eq!(NdMessage::parse(&ip, &message), Err(forwarded));
    }

    #[test]
    fn an_option_without_a_length_is_refused() {
        let ip = header(1);
        let mut message = vec![133, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        let sum = ip.sum(&message).finish();
        message[2..4].copy_from_slice(&sum.to_be_bytes());

        assert_eq!(NdMessage::parse(&ip, &message), Err(Error::Nonsense));
    }

    #[test]
    fn a_damaged_message_is_noticed() {
        let mut packet = Vec::new();
        solicitation().emit_packet(&header(1), &mut packet);
        let last = packet.len() - 1;
        packet[last] ^= 1;

        let (ip, message) = ipv6::Header::parse(&packet).unwrap();

        assert_eq!(NdMessage::parse(&ip, message), Err(Error::Checksum));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            kind in 130u8..140,
            mut bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let ip = header(1);
            let _ = NdMessage::parse(&ip, &bytes);
            if bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&[kind, 0, 0, 0]);
                let sum = ip.sum(&bytes).finish();
                bytes[2..4].copy_from_slice(&sum.to_be_bytes());
            }
            let _ = NdMessage::parse(&ip, &bytes);
        }

        #[test]
        fn a_message_is_read_as_it_was_written(
            kind in 0..4,
            station: Option<[u8; 6]>,
            target in any::<u128>().prop_map(|it| it >> 8),
            source: u128,
        ) {
            let (station, target) = (station.map(MacAddress), Ipv6Addr::from(target));
            let message = match kind {
                0 => NdMessage::RouterSolicitation { station },
                1 => NdMessage::RouterAdvertisement { station },
                2 => NdMessage::NeighbourSolicitation { target, station },
                _ => NdMessage::NeighbourAdvertisement { target, station },
            };
            let mut packet = Vec::new();

            message.emit_packet(&header(source), &mut packet);

            let (ip, read) = ipv6::Header::parse(&packet).unwrap();
            prop_assert_eq!(NdMessage::parse(&ip, read), Ok(message));
        }
    }

    fn solicitation() -> NdMessage {
        NdMessage::NeighbourSolicitation {
            target: Ipv6Addr::from(7),
            station: Some(MacAddress([2; 6])),
        }
    }

    fn header(source: u128) -> ipv6::Header {
        ipv6::Header {
            source: source.into(),
            destination: Ipv6Addr::from(9),
            next_header: ipv6::NEXT_HEADER_ICMP,
            hop_limit: HOP_LIMIT,
        }
    }
}
