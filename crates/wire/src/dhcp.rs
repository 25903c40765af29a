//! DHCP, as far as it tells which station has which IPv4 address.
//!
//! Sources: RFC 2131 section 2 (form), section 4.3.2 (which field of a request
//! says what); RFC 2132 sections 9.1 and 9.6 (options).
//!
//! # Left out
//!
//! All other options, and options in the fields for names (RFC 2132 section
//! 9.3).

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::ethernet::MacAddress;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The port of servers.
pub const SERVER_PORT: u16 = 67;
/// The port of clients.
pub const CLIENT_PORT: u16 = 68;

const OPERATION_REQUEST: u8 = 1;
const OPERATION_REPLY: u8 = 2;
const HARDWARE_ETHERNET: u8 = 1;
const HARDWARE_LENGTH: u8 = 6;
const MAGIC: u32 = 0x6382_5363;
/// The server's address, the relay's, and the rest of the client's hardware
/// address; the names of server and file.
const GATEWAY_AND_SERVER_LENGTH: usize = 8;
const PADDING_AND_NAMES_LENGTH: usize = 10 + 64 + 128;
const OPTION_PAD: u8 = 0;
const OPTION_END: u8 = 255;
const OPTION_REQUESTED: u8 = 50;
const OPTION_KIND: u8 = 53;

/// Bytes are no DHCP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within the message.
    #[error("message ends early")]
    Truncated,
    /// It is neither request nor reply, or not about Ethernet.
    #[error("not about Ethernet")]
    Hardware,
    /// It has no options: it is BOOTP, not DHCP.
    #[error("no DHCP options")]
    Magic,
    /// It does not say what it is.
    #[error("no message type that is known")]
    Kind,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client looks for servers.
    Discover,
    /// A server offers an address.
    Offer,
    /// A client asks for an address, or to keep the one it has.
    Request,
    /// A client found that somebody else has the address.
    Decline,
    /// A server gives an address.
    Acknowledge,
    /// A server refuses.
    Refuse,
    /// A client gives its address back.
    Release,
    /// A client that has an address asks for other parameters.
    Inform,
}

impl Kind {
    const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Discover,
            2 => Self::Offer,
            3 => Self::Request,
            4 => Self::Decline,
            5 => Self::Acknowledge,
            6 => Self::Refuse,
            7 => Self::Release,
            8 => Self::Inform,
            _ => return None,
        })
    }

    const fn number(self) -> u8 {
        match self {
            Self::Discover => 1,
            Self::Offer => 2,
            Self::Request => 3,
            Self::Decline => 4,
            Self::Acknowledge => 5,
            Self::Refuse => 6,
            Self::Release => 7,
            Self::Inform => 8,
        }
    }

    /// Returns whether servers send it.
    #[must_use]
    pub const fn is_reply(self) -> bool {
        match self {
            Self::Offer | Self::Acknowledge | Self::Refuse => true,
            Self::Discover | Self::Request | Self::Decline | Self::Release | Self::Inform => false,
        }
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dhcp {
    /// What it is.
    pub kind: Kind,
    /// Pairs replies with requests; chosen by the client.
    pub transaction: u32,
    /// The address that the client uses already; else unspecified.
    pub client: Ipv4Addr,
    /// The address that the server gives.
    pub given: Ipv4Addr,
    /// The client's station.
    pub station: MacAddress,
    /// The address that a client asks for.
    pub requested: Option<Ipv4Addr>,
}

impl Dhcp {
    /// Reads the payload of a datagram.
    ///
    /// # Errors
    ///
    /// If it is no DHCP message of an Ethernet station.
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(payload);
        let operation = reader.u8()?;
        let hardware = (reader.u8()?, reader.u8()?);
        if hardware != (HARDWARE_ETHERNET, HARDWARE_LENGTH) {
            return Err(Error::Hardware);
        }
        reader.skip(1)?; // Relays passed.
        let transaction = reader.u32()?;
        reader.skip(4)?; // Seconds and flags.
        let client = Ipv4Addr::from(reader.array()?);
        let given = Ipv4Addr::from(reader.array()?);
        reader.skip(GATEWAY_AND_SERVER_LENGTH)?;
        let station = MacAddress(reader.array()?);
        reader.skip(PADDING_AND_NAMES_LENGTH)?;
        if reader.u32()? != MAGIC {
            return Err(Error::Magic);
        }
        let (kind, requested) = options(reader)?;
        let kind = kind.ok_or(Error::Kind)?;
        if operation != operation_of(kind) {
            return Err(Error::Kind);
        }
        Ok(Self {
            kind,
            transaction,
            client,
            given,
            station,
            requested,
        })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(operation_of(self.kind)).u8(HARDWARE_ETHERNET);
        writer.u8(HARDWARE_LENGTH).u8(0).u32(self.transaction);
        writer.zeros::<4>().bytes(&self.client.octets());
        writer.bytes(&self.given.octets());
        writer.zeros::<GATEWAY_AND_SERVER_LENGTH>();
        writer.bytes(&self.station.0);
        writer.zeros::<PADDING_AND_NAMES_LENGTH>().u32(MAGIC);
        writer.u8(OPTION_KIND).u8(1).u8(self.kind.number());
        if let Some(requested) = self.requested {
            writer.u8(OPTION_REQUESTED).u8(4);
            writer.bytes(&requested.octets());
        }
        writer.u8(OPTION_END);
    }
}

const fn operation_of(kind: Kind) -> u8 {
    match kind.is_reply() {
        true => OPERATION_REPLY,
        false => OPERATION_REQUEST,
    }
}

/// Returns the message type and the requested address.
fn options(mut reader: Reader<'_>) -> Result<(Option<Kind>, Option<Ipv4Addr>), Error> {
    let (mut kind, mut requested) = (None, None);
    while !reader.is_empty() {
        let option = reader.u8()?;
        match option {
            OPTION_PAD => continue,
            OPTION_END => break,
            _ => {}
        }
        let length = usize::from(reader.u8()?);
        match (option, reader.take(length)?) {
            (OPTION_KIND, [number]) => kind = Kind::from_number(*number),
            (OPTION_REQUESTED, [a, b, c, d]) => requested = Some(Ipv4Addr::new(*a, *b, *c, *d)),
            _ => {} // Whatever else is agreed upon.
        }
    }
    Ok((kind, requested))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn padding_before_and_after_the_options_is_skipped() {
        let mut message = Vec::new();
        request().emit(&mut message);
        let options = 240;
        message.splice(options..options, [0, 0, 0]);
        message.extend([0; 30]);

        assert_eq!(Dhcp::parse(&message), Ok(request()));
    }

    #[test]
    fn bootp_without_options_is_not_dhcp() {
        let mut message = Vec::new();
        request().emit(&mut message);
        message[236..240].fill(0);

        assert_eq!(Dhcp::parse(&message), Err(Error::Magic));
    }

    #[test]
    fn a_client_does_not_acknowledge() {
        let mut message = Vec::new();
        request().emit(&mut message);
        message[242] = Kind::Acknowledge.number();

        assert_eq!(Dhcp::parse(&message), Err(Error::Kind));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(options in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Dhcp::parse(&options);
            let mut message = Vec::new();
            request().emit(&mut message);
            message.truncate(240);
            message.extend(&options);
            let _ = Dhcp::parse(&message);
        }

        #[test]
        fn an_end_of_a_good_message_missing_makes_no_panic(length in 0usize..260) {
            let mut message = Vec::new();
            request().emit(&mut message);
            message.truncate(length);
            let _ = Dhcp::parse(&message);
        }

        #[test]
        fn a_message_is_read_as_it_was_written(
            kind in 1u8..=8,
            transaction: u32,
            addresses: [u32; 2],
            station: [u8; 6],
            requested: Option<u32>,
        ) {
            let message = Dhcp {
                kind: Kind::from_number(kind).unwrap(),
                transaction,
                client: addresses[0].into(),
                given: addresses[1].into(),
                station: MacAddress(station),
                requested: requested.map(Ipv4Addr::from),
            };
            let mut out = Vec::new();

            message.emit(&mut out);

            prop_assert_eq!(Dhcp::parse(&out), Ok(message));
        }
    }

    fn request() -> Dhcp {
        Dhcp {
            kind: Kind::Request,
            transaction: 7,
            client: Ipv4Addr::UNSPECIFIED,
            given: Ipv4Addr::UNSPECIFIED,
            station: MacAddress([2, 0, 0, 0, 0, 1]),
            requested: Some(Ipv4Addr::new(10, 0, 0, 9)),
        }
    }
}
