//! As much of the Manufacturing Message Specification as a station needs to read a
//! value from another one over TCP port 102: what IEC 61850-8-1 maps reports, controls
//! and reads to.
//!
//! Six layers stand on each other, each with a header of its own:
//!
//! | layer | here | source |
//! |---|---|---|
//! | packets on TCP | version 3 and a length | RFC 1006 section 6 |
//! | transport, class 0 | connect request and confirm, data | ITU-T X.224 |
//! | session | connect, accept, then give-tokens and data | ITU-T X.225 |
//! | presentation | contexts 1 (association) and 3 (MMS) in the basic encoding rules | ITU-T X.226 |
//! | association | request and response | ITU-T X.227 |
//! | MMS | initiate, read | ISO 9506-2 |
//!
//! # Left out
//!
//! Every other service. Associations are always offered and accepted in the same
//! words, and messages that are longer than a TPDU; so whoever talks to real devices
//! wants a library of its own.

use thiserror::Error;

use crate::process_bus::ber;
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// The port of TCP at which associations are accepted (RFC 1006 section 4).
pub const PORT: u16 = 102;
/// Numbers of requests have four bytes in the shortest encoding from here on, up to
/// [`LAST_INVOCATION`], so that all messages of a kind are equally long.
pub const FIRST_INVOCATION: u32 = 1 << 24;
/// The last such number.
pub const LAST_INVOCATION: u32 = (1 << 31) - 1;
/// The longest name of a domain or of an item (ISO 9506-2 clause 7.5.2).
pub const LONGEST_NAME: usize = 32;
/// The most bytes of a value that a message carries.
pub const LONGEST_VALUE: usize = 8_000;

const VERSION: u8 = 3;
const PACKET_HEADER_LENGTH: usize = 4;
/// Data, the last TPDU of its message.
const DATA: [u8; 3] = [2, 0xf0, 0x80];
/// Give-tokens and data-transfer, each without parameters.
const SESSION_DATA: [u8; 4] = [1, 0, 1, 0];
const MMS_CONTEXT: [u8; 3] = [2, 1, 3];

const FULLY_ENCODED: u8 = 0x61;
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VISIBLE_STRING: u8 = 0x1a;
const CONFIRMED_REQUEST: u8 = 0xa0;
const CONFIRMED_RESPONSE: u8 = 0xa1;
const READ: u8 = 0xa4;
const OCTET_STRING: u8 = 0x89;
/// Constructed values of a context, by their numbers.
const CONTEXT_0: u8 = 0xa0;
const CONTEXT_1: u8 = 0xa1;

const CONNECT_REQUEST: &[u8] = b"\x11\xe0\x00\x00\x00\x01\x00\xc0\x01\x0d\xc2\x02\x00\x01\xc1\x02\
\x00\x01";
const CONNECT_CONFIRM: &[u8] = b"\x11\xd0\x00\x01\x00\x02\x00\xc0\x01\x0d\xc2\x02\x00\x01\xc1\x02\
\x00\x01";
/// Session, presentation and association requests around an initiate request: at most
/// five services at once, values nested ten deep.
const ASSOCIATE: &[u8] =
    b"\x0d\x9e\x05\x06\x13\x01\x00\x16\x01\x02\x14\x02\x00\x02\x33\x02\x00\x01\
\x34\x02\x00\x01\xc1\x88\x31\x81\x85\xa0\x03\x80\x01\x01\xa2\x7e\x81\x04\x00\x00\x00\x01\x82\x04\
\x00\x00\x00\x01\xa4\x23\x30\x0f\x02\x01\x01\x06\x04\x52\x01\x00\x01\x30\x04\x06\x02\x51\x01\x30\
\x10\x02\x01\x03\x06\x05\x28\xca\x22\x02\x01\x30\x04\x06\x02\x51\x01\x88\x02\x06\x00\x61\x47\x30\
\x45\x02\x01\x01\xa0\x40\x60\x3e\xa1\x07\x06\x05\x28\xca\x22\x02\x03\xbe\x33\x28\x31\x06\x02\x51\
\x01\x02\x01\x03\xa0\x28\xa8\x26\x80\x03\x00\xfd\xe8\x81\x01\x05\x82\x01\x05\x83\x01\x0a\xa4\x16\
\x80\x01\x01\x81\x03\x05\xf1\x00\x82\x0c\x03\xee\x1c\x00\x00\x04\x08\x00\x00\x79\xef\x18";
/// The same, accepted.
const ACCEPT: &[u8] = b"\x0e\x8e\x05\x06\x13\x01\x00\x16\x01\x02\x14\x02\x00\x02\x34\x02\x00\x01\
\xc1\x7c\x31\x7a\xa0\x03\x80\x01\x01\xa2\x73\x83\x04\x00\x00\x00\x01\xa5\x12\x30\x07\x80\x01\x00\
\x81\x02\x51\x01\x30\x07\x80\x01\x00\x81\x02\x51\x01\x88\x02\x06\x00\x61\x53\x30\x51\x02\x01\x01\
\xa0\x4c\x61\x4a\xa1\x07\x06\x05\x28\xca\x22\x02\x03\xa2\x03\x02\x01\x00\xa3\x05\xa1\x03\x02\x01\
\x00\xbe\x33\x28\x31\x06\x02\x51\x01\x02\x01\x03\xa0\x28\xa9\x26\x80\x03\x00\xfd\xe8\x81\x01\x05\
\x82\x01\x05\x83\x01\x0a\xa4\x16\x80\x01\x01\x81\x03\x05\xf1\x00\x82\x0c\x03\xee\x1c\x00\x00\x04\
\x08\x00\x00\x79\xef\x18";

/// Bytes are no message that is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end within a message.
    #[error("the bytes end within a message")]
    Truncated,
    /// The packet is of another version of RFC 1006.
    #[error("packet of version {0} where {VERSION} is due")]
    Version(u8),
    /// It is something else than what a read needs.
    #[error("a message that is not understood")]
    Unknown,
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

impl From<crate::process_bus::Error> for Error {
    fn from(error: crate::process_bus::Error) -> Self {
        match error {
            crate::process_bus::Error::Truncated => Self::Truncated,
            _ => Self::Unknown,
        }
    }
}

/// A message of an association, in the order in which they follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MmsMessage<'a> {
    /// The caller asks for a transport connection.
    ConnectRequest,
    /// The called side gives it.
    ConnectConfirm,
    /// The caller asks for an association.
    Associate,
    /// The called side accepts it.
    Accept,
    /// The caller asks for the value of an item.
    Read {
        /// The number of the request.
        invocation: u32,
        /// The name of the logical device.
        domain: &'a str,
        /// The name of the item in it.
        item: &'a str,
    },
    /// The called side sends the value.
    Value {
        /// The number of the request.
        invocation: u32,
        /// The value: an octet string.
        value: &'a [u8],
    },
}

impl<'a> MmsMessage<'a> {
    /// Reads the message at the beginning of `bytes`. Returns what follows it, too.
    ///
    /// # Errors
    ///
    /// If it is not whole, or none that is understood.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let mut reader = Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(Error::Version(version));
        }
        reader.skip(1)?;
        let length = usize::from(reader.u16()?);
        let length = length.checked_sub(PACKET_HEADER_LENGTH);
        let packet = reader.take(length.ok_or(Error::Unknown)?)?;
        Ok((Self::of_packet(packet)?, reader.rest()))
    }

    fn of_packet(packet: &'a [u8]) -> Result<Self, Error> {
        const REQUEST: u8 = 0xe0;
        const CONFIRM: u8 = 0xd0;
        match packet.get(1) {
            Some(&REQUEST) => return Ok(Self::ConnectRequest),
            Some(&CONFIRM) => return Ok(Self::ConnectConfirm),
            Some(_) | None => {}
        }
        let session = packet.strip_prefix(&DATA).ok_or(Error::Unknown)?;
        let presented = match session.first() {
            Some(&first) if first == ASSOCIATE[0] => return Ok(Self::Associate),
            Some(&first) if first == ACCEPT[0] => return Ok(Self::Accept),
            Some(_) | None => session.strip_prefix(&SESSION_DATA),
        };
        let mut reader = Reader::new(presented.ok_or(Error::Unknown)?);
        let mut reader = Reader::new(ber::expect(&mut reader, FULLY_ENCODED)?);
        let list = ber::expect(&mut reader, SEQUENCE)?;
        let data = list.strip_prefix(&MMS_CONTEXT).ok_or(Error::Unknown)?;
        let mut reader = Reader::new(ber::expect(&mut Reader::new(data), CONTEXT_0)?);
        let (kind, content) = ber::take(&mut reader)?;
        let mut content = Reader::new(content);
        let invocation = ber::unsigned(&mut content, INTEGER)?;
        let service = ber::expect(&mut content, READ)?;
        match kind {
            CONFIRMED_REQUEST => read_request(invocation, service),
            CONFIRMED_RESPONSE => {
                let results = ber::expect(&mut Reader::new(service), CONTEXT_1)?;
                let value = ber::expect(&mut Reader::new(results), OCTET_STRING)?;
                Ok(Self::Value { invocation, value })
            }
            _ => Err(Error::Unknown),
        }
    }

    /// Appends the message.
    ///
    /// # Panics
    ///
    /// If the number of a request is not one from [`FIRST_INVOCATION`] to
    /// [`LAST_INVOCATION`], a name is longer than [`LONGEST_NAME`], or a value longer
    /// than [`LONGEST_VALUE`].
    pub fn emit(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([VERSION, 0, 0, 0]);
        match self {
            Self::ConnectRequest => out.extend(CONNECT_REQUEST),
            Self::ConnectConfirm => out.extend(CONNECT_CONFIRM),
            Self::Associate => {
                out.extend(DATA);
                out.extend(ASSOCIATE);
            }
            Self::Accept => {
                out.extend(DATA);
                out.extend(ACCEPT);
            }
            Self::Read {
                invocation,
                domain,
                item,
            } => emit_read(*invocation, domain, item, out),
            Self::Value { invocation, value } => emit_value(*invocation, value, out),
        }
        let length = u16::try_from(out.len() - begin).expect("names and values are short");
        Writer::at(out, begin).patch_u16(2, length);
    }
}

/// What a request for a single item of a domain has around its names.
const NESTED: [u8; 5] = [CONTEXT_1, CONTEXT_0, SEQUENCE, CONTEXT_0, CONTEXT_1];

fn read_request(invocation: u32, service: &[u8]) -> Result<MmsMessage<'_>, Error> {
    let mut content = service;
    for tag in NESTED {
        content = ber::expect(&mut Reader::new(content), tag)?;
    }
    let mut names = Reader::new(content);
    Ok(MmsMessage::Read {
        invocation,
        domain: ber::text(&mut names, VISIBLE_STRING)?,
        item: ber::text(&mut names, VISIBLE_STRING)?,
    })
}

fn emit_read(invocation: u32, domain: &str, item: &str, out: &mut Vec<u8>) {
    for name in [domain, item] {
        assert!(name.len() <= LONGEST_NAME, "a name of {} bytes", name.len());
    }
    let names = ber::length(domain.len()) + ber::length(item.len());
    let service = NESTED.iter().fold(names, |content, _| ber::length(content));
    let mut writer = begin_service(CONFIRMED_REQUEST, invocation, service, out);
    let mut content = service;
    for tag in NESTED {
        // Everything is shorter than 128 bytes, so that a header has two.
        content -= 2;
        ber::begin(&mut writer, tag, content);
    }
    ber::put(&mut writer, VISIBLE_STRING, domain.as_bytes());
    ber::put(&mut writer, VISIBLE_STRING, item.as_bytes());
}

fn emit_value(invocation: u32, value: &[u8], out: &mut Vec<u8>) {
    assert!(
        value.len() <= LONGEST_VALUE,
        "a value of {} bytes",
        value.len()
    );
    let results = ber::length(value.len());
    let service = ber::length(results);
    let mut writer = begin_service(CONFIRMED_RESPONSE, invocation, service, out);
    ber::begin(&mut writer, CONTEXT_1, results);
    ber::put(&mut writer, OCTET_STRING, value);
}

/// Appends everything up to the content of a read service, which has `service` bytes.
fn begin_service(kind: u8, invocation: u32, service: usize, out: &mut Vec<u8>) -> Writer<'_> {
    assert!(
        (FIRST_INVOCATION..=LAST_INVOCATION).contains(&invocation),
        "request {invocation}"
    );
    let number = invocation.to_be_bytes();
    let confirmed = ber::length(number.len()) + ber::length(service);
    let message = ber::length(confirmed);
    let list = MMS_CONTEXT.len() + ber::length(message);
    let mut writer = Writer::new(out);
    writer.bytes(&DATA).bytes(&SESSION_DATA);
    ber::begin(&mut writer, FULLY_ENCODED, ber::length(list));
    ber::begin(&mut writer, SEQUENCE, list);
    writer.bytes(&MMS_CONTEXT);
    ber::begin(&mut writer, CONTEXT_0, message);
    ber::begin(&mut writer, kind, confirmed);
    ber::put(&mut writer, INTEGER, &number);
    ber::begin(&mut writer, READ, service);
    writer
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn emitted(message: &MmsMessage<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.emit(&mut out);
        out
    }

    #[test]
    fn a_read_has_these_bytes() {
        let read = MmsMessage::Read {
            invocation: FIRST_INVOCATION,
            domain: "LD0",
            item: "XCBR1",
        };

        let expected = b"\x03\x00\x00\x34\x02\xf0\x80\x01\x00\x01\x00\x61\x27\x30\x25\x02\x01\x03\
            \xa0\x20\xa0\x1e\x02\x04\x01\x00\x00\x00\xa4\x16\xa1\x14\xa0\x12\x30\x10\xa0\x0e\xa1\
            \x0c\x1a\x03LD0\x1a\x05XCBR1";
        assert_eq!(emitted(&read), expected[..]);
    }

    #[test]
    fn what_opens_an_association_is_told_apart() {
        for message in [
            MmsMessage::ConnectRequest,
            MmsMessage::ConnectConfirm,
            MmsMessage::Associate,
            MmsMessage::Accept,
        ] {
            let mut bytes = emitted(&message);
            bytes.extend([3, 0]);

            assert_eq!(MmsMessage::parse(&bytes), Ok((message, &[3, 0][..])));
        }
    }

    #[test]
    fn what_is_none_of_ours_is_an_error() {
        let mut bytes = emitted(&MmsMessage::Accept);
        bytes[0] = 4;
        assert_eq!(MmsMessage::parse(&bytes), Err(Error::Version(4)));
        assert_eq!(MmsMessage::parse(&[3, 0, 0, 3]), Err(Error::Unknown));
        assert_eq!(MmsMessage::parse(&[3, 0, 0, 9, 2]), Err(Error::Truncated));
        let conclude = [3, 0, 0, 9, 2, 0xf0, 0x80, 9, 0];
        assert_eq!(MmsMessage::parse(&conclude), Err(Error::Unknown));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            invocation in FIRST_INVOCATION..=LAST_INVOCATION,
            domain in "[A-Za-z0-9]{1,32}",
            item in "[A-Za-z0-9$]{1,32}",
            value in prop::collection::vec(any::<u8>(), 0..1_000),
        ) {
            for message in [
                MmsMessage::Read { invocation, domain: &domain, item: &item },
                MmsMessage::Value { invocation, value: &value },
            ] {
                let bytes = emitted(&message);
                prop_assert_eq!(MmsMessage::parse(&bytes), Ok((message, &[][..])));
                for end in 0..bytes.len() {
                    prop_assert_eq!(MmsMessage::parse(&bytes[..end]), Err(Error::Truncated));
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..80),
            is_like: bool,
        ) {
            if is_like && bytes.len() >= 20 {
                bytes[..13].copy_from_slice(
                    b"\x03\x00\x00\x14\x02\xf0\x80\x01\x00\x01\x00\x61\x07",
                );
            }
            let _ = MmsMessage::parse(&bytes);
        }
    }
}
