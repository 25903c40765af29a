//! The data of a publication (IEC 61850-8-1 annex A, `Data` of ISO 9506).

use super::{Error, UtcTime};
use crate::process_bus::ber;
use crate::reader::Reader;
use crate::writer::Writer;

const TAG_ARRAY: u8 = 0xa1;
const TAG_STRUCTURE: u8 = 0xa2;
const TAG_BOOLEAN: u8 = 0x83;
const TAG_BIT_STRING: u8 = 0x84;
const TAG_INTEGER: u8 = 0x85;
const TAG_UNSIGNED: u8 = 0x86;
const TAG_FLOAT: u8 = 0x87;
const TAG_OCTET_STRING: u8 = 0x89;
const TAG_VISIBLE_STRING: u8 = 0x8a;
const TAG_UTC_TIME: u8 = 0x91;

/// A floating-point number of 4 bytes has an exponent of 8 bits.
const SINGLE_EXPONENT_BITS: u8 = 8;
const BITS_OF_A_BYTE: u8 = 8;

/// Data one after the other, as they stand in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataList<'a> {
    bytes: &'a [u8],
}

impl<'a> DataList<'a> {
    /// Returns the data that `bytes` hold, as [`Data::emit`] wrote them.
    #[must_use]
    pub const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the data in their order. The first that cannot be read is the
    /// last.
    pub fn iter(&self) -> impl Iterator<Item = Result<Data<'a>, Error>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            let data = Data::read(&mut reader);
            if data.is_err() {
                reader = Reader::new(&[]);
            }
            Some(data)
        })
    }
}

/// One of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data<'a> {
    /// Several of a kind.
    Array(DataList<'a>),
    /// Several that belong together.
    Structure(DataList<'a>),
    /// True or false.
    Boolean(bool),
    /// Bits, for instance a quality.
    BitString {
        /// How many bits of the last byte do not count, 0 to 7.
        unused: u8,
        /// The bits, first ones highest.
        bits: &'a [u8],
    },
    /// A signed number.
    Integer(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// A floating-point number.
    Float(f32),
    /// Bytes.
    OctetString(&'a [u8]),
    /// A text.
    VisibleString(&'a str),
    /// A time.
    UtcTime(UtcTime),
    /// What this module does not take apart.
    Other {
        /// The tag of the value.
        tag: u8,
        /// Its content.
        content: &'a [u8],
    },
}

impl<'a> Data<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let (tag, content) = ber::take(reader)?;
        let malformed = Error::Value { tag };
        Ok(match tag {
            TAG_ARRAY => Self::Array(DataList::from_bytes(content)),
            TAG_STRUCTURE => Self::Structure(DataList::from_bytes(content)),
            TAG_BOOLEAN => Self::Boolean(ber::boolean_content(tag, content)?),
            TAG_BIT_STRING => match content {
                [unused, bits @ ..] if *unused < BITS_OF_A_BYTE => Self::BitString {
                    unused: *unused,
                    bits,
                },
                _ => return Err(malformed),
            },
            TAG_INTEGER => Self::Integer(ber::signed_content(content).ok_or(malformed)?),
            TAG_UNSIGNED => Self::Unsigned(ber::unsigned_content(content).ok_or(malformed)?),
            TAG_FLOAT => match *content {
                [SINGLE_EXPONENT_BITS, a, b, c, d] => Self::Float(f32::from_be_bytes([a, b, c, d])),
                _ => Self::Other { tag, content },
            },
            TAG_OCTET_STRING => Self::OctetString(content),
            TAG_VISIBLE_STRING => Self::VisibleString(ber::text_content(tag, content)?),
            TAG_UTC_TIME => {
                let bytes = content.try_into().map_err(|_| malformed)?;
                Self::UtcTime(UtcTime::from_bytes(bytes))
            }
            _ => Self::Other { tag, content },
        })
    }

    /// Appends the value to `out`.
    ///
    /// # Panics
    ///
    /// If it is longer than a frame can be.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        let writer = &mut writer;
        match *self {
            Self::Array(list) => ber::put(writer, TAG_ARRAY, list.as_bytes()),
            Self::Structure(list) => ber::put(writer, TAG_STRUCTURE, list.as_bytes()),
            Self::Boolean(value) => ber::put(writer, TAG_BOOLEAN, &[u8::from(value)]),
            Self::BitString { unused, bits } => {
                ber::begin(writer, TAG_BIT_STRING, 1 + bits.len());
                writer.u8(unused).bytes(bits);
            }
            Self::Integer(number) => {
                let bytes = number.to_be_bytes();
                ber::put(writer, TAG_INTEGER, shortest_signed(&bytes));
            }
            Self::Unsigned(number) => {
                let mut bytes = [0; 9];
                bytes[1..].copy_from_slice(&number.to_be_bytes());
                ber::put(writer, TAG_UNSIGNED, shortest_signed(&bytes));
            }
            Self::Float(number) => {
                ber::begin(writer, TAG_FLOAT, 1 + size_of::<f32>());
                writer.u8(SINGLE_EXPONENT_BITS).bytes(&number.to_be_bytes());
            }
            Self::OctetString(bytes) => ber::put(writer, TAG_OCTET_STRING, bytes),
            Self::VisibleString(text) => ber::put(writer, TAG_VISIBLE_STRING, text.as_bytes()),
            Self::UtcTime(time) => ber::put(writer, TAG_UTC_TIME, &time.to_bytes()),
            Self::Other { tag, content } => ber::put(writer, tag, content),
        }
    }
}

/// Drops leading bytes that only repeat the sign.
fn shortest_signed(bytes: &[u8]) -> &[u8] {
    let mut shortest = bytes;
    while let [first, second, ..] = shortest
        && (*first == 0 && second & 0x80 == 0 || *first == 0xff && second & 0x80 != 0)
    {
        shortest = &shortest[1..];
    }
    shortest
}
