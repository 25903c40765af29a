//! Values in the basic encoding rules of ASN.1 (ITU-T X.690 clause 8), as far as
//! a process bus uses them.

use super::Error;
use crate::reader::Reader;
use crate::writer::Writer;

/// In the first byte of a length: the other bits count the bytes that follow.
const LONG_LENGTH: u8 = 0x80;
/// Lengths with more bytes fit no frame.
const LENGTH_BYTES_MAX: usize = 4;
/// In a tag: the number of the tag follows.
const LONG_TAG: u8 = 0x1f;

/// How many bytes an unsigned number of 32 bits takes if every number takes the
/// same: a zero in front keeps the largest ones from being negative
/// (fixed-length GOOSE, IEC 61850-8-1 annex A).
pub(crate) const FIXED_UNSIGNED_LENGTH: usize = 5;

/// Takes the next value off the front: its tag and its content.
#[inline]
pub(crate) fn take<'a>(reader: &mut Reader<'a>) -> Result<(u8, &'a [u8]), Error> {
    let tag = reader.u8()?;
    if tag & LONG_TAG == LONG_TAG {
        return Err(Error::Value { tag });
    }
    let first = reader.u8()?;
    if first & LONG_LENGTH == 0 {
        return Ok((tag, reader.take(usize::from(first))?));
    }
    let count = usize::from(first & !LONG_LENGTH);
    if count == 0 || count > LENGTH_BYTES_MAX {
        return Err(Error::Length);
    }
    let length = reader
        .take(count)?
        .iter()
        .fold(0_u32, |length, &byte| length << 8 | u32::from(byte));
    let length = usize::try_from(length).map_err(|_| Error::Length)?;
    Ok((tag, reader.take(length)?))
}

/// Takes the next value off the front, which has to have this tag.
#[inline]
pub(crate) fn expect<'a>(reader: &mut Reader<'a>, expected: u8) -> Result<&'a [u8], Error> {
    match take(reader)? {
        (found, content) if found == expected => Ok(content),
        (found, _) => Err(Error::Tag { found, expected }),
    }
}

/// Takes the next value off the front if it has this tag.
#[inline]
pub(crate) fn optional<'a>(reader: &mut Reader<'a>, tag: u8) -> Result<Option<&'a [u8]>, Error> {
    if reader.rest().first() == Some(&tag) {
        expect(reader, tag).map(Some)
    } else {
        Ok(None)
    }
}

/// Takes an unsigned number off the front.
#[inline]
pub(crate) fn unsigned(reader: &mut Reader<'_>, tag: u8) -> Result<u32, Error> {
    let content = expect(reader, tag)?;
    unsigned_content(content)
        .and_then(|number| u32::try_from(number).ok())
        .ok_or(Error::Value { tag })
}

/// Returns the number that a content stands for. Four bytes with the highest
/// bit set are taken as the large number that some publishers mean.
pub(crate) fn unsigned_content(content: &[u8]) -> Option<u64> {
    let digits = match content {
        [] => return None,
        [0, rest @ ..] => rest,
        all => all,
    };
    if digits.len() > size_of::<u64>() {
        return None;
    }
    Some(
        digits
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
    )
}

/// Returns the signed number that a content stands for.
pub(crate) fn signed_content(content: &[u8]) -> Option<i64> {
    let (&first, _) = content.split_first()?;
    if content.len() > size_of::<i64>() {
        return None;
    }
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Some(
        content
            .iter()
            .fold(sign, |number: i64, &byte| number << 8 | i64::from(byte)),
    )
}

/// Takes a text off the front.
#[inline]
pub(crate) fn text<'a>(reader: &mut Reader<'a>, tag: u8) -> Result<&'a str, Error> {
    text_content(tag, expect(reader, tag)?)
}

#[inline]
pub(crate) fn text_content(tag: u8, content: &[u8]) -> Result<&str, Error> {
    str::from_utf8(content).map_err(|_| Error::Value { tag })
}

/// Returns the truth value that a content stands for.
#[inline]
pub(crate) fn boolean_content(tag: u8, content: &[u8]) -> Result<bool, Error> {
    match content {
        [byte] => Ok(*byte != 0),
        _ => Err(Error::Value { tag }),
    }
}

/// Takes a truth value off the front; it is false if it is not there.
#[inline]
pub(crate) fn boolean(reader: &mut Reader<'_>, tag: u8) -> Result<bool, Error> {
    match optional(reader, tag)? {
        Some(content) => boolean_content(tag, content),
        None => Ok(false),
    }
}

/// Takes a content of exactly `N` bytes off the front.
#[inline]
pub(crate) fn octets<const N: usize>(reader: &mut Reader<'_>, tag: u8) -> Result<[u8; N], Error> {
    expect(reader, tag)?
        .try_into()
        .map_err(|_| Error::Value { tag })
}

/// Takes a content of exactly `N` bytes off the front if it has this tag.
#[inline]
pub(crate) fn optional_octets<const N: usize>(
    reader: &mut Reader<'_>,
    tag: u8,
) -> Result<Option<[u8; N]>, Error> {
    let Some(content) = optional(reader, tag)? else {
        return Ok(None);
    };
    let octets = content.try_into().map_err(|_| Error::Value { tag })?;
    Ok(Some(octets))
}

/// Returns how many bytes a value with this content takes.
pub(crate) const fn length(content: usize) -> usize {
    let header = match content {
        0..=0x7f => 2,
        0x80..=0xff => 3,
        _ => 4,
    };
    header + content
}

/// Appends tag and length of a content.
///
/// # Panics
///
/// If the content is longer than a frame can be.
pub(crate) fn begin(writer: &mut Writer<'_>, tag: u8, content: usize) {
    let content = u16::try_from(content).expect("we build no frame above 64 KiB");
    let [high, low] = content.to_be_bytes();
    writer.u8(tag);
    match content {
        0..=0x7f => writer.u8(low),
        0x80..=0xff => writer.bytes(&[LONG_LENGTH | 1, low]),
        0x100.. => writer.bytes(&[LONG_LENGTH | 2, high, low]),
    };
}

/// Appends a value.
pub(crate) fn put(writer: &mut Writer<'_>, tag: u8, content: &[u8]) {
    begin(writer, tag, content.len());
    writer.bytes(content);
}

/// Appends an unsigned number that takes as many bytes as any other.
pub(crate) fn put_fixed_unsigned(writer: &mut Writer<'_>, tag: u8, number: u32) {
    begin(writer, tag, FIXED_UNSIGNED_LENGTH);
    writer.u8(0).u32(number);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn taken(bytes: &[u8]) -> Result<(u8, &[u8]), Error> {
        take(&mut Reader::new(bytes))
    }

    #[test]
    fn lengths_have_a_short_and_a_long_form() {
        assert_eq!(taken(&[0x80, 1, 7]), Ok((0x80, &[7][..])));
        assert_eq!(taken(&[0x80, 0x81, 1, 7]), Ok((0x80, &[7][..])));
        assert_eq!(taken(&[0x80, 0x82, 0, 1, 7]), Ok((0x80, &[7][..])));
    }

    #[test]
    fn an_indefinite_length_is_refused() {
        assert_eq!(taken(&[0x80, 0x80, 7, 0, 0]), Err(Error::Length));
        assert_eq!(taken(&[0x80, 0x85, 0, 0, 0, 0, 1, 7]), Err(Error::Length));
        assert_eq!(
            taken(&[0x80, 0x84, 255, 255, 255, 255]),
            Err(Error::Truncated)
        );
    }

    #[test]
    fn signed_numbers_keep_their_sign() {
        assert_eq!(signed_content(&[0xff]), Some(-1));
        assert_eq!(signed_content(&[0x00, 0xff]), Some(255));
        assert_eq!(signed_content(&i64::MIN.to_be_bytes()), Some(i64::MIN));
        assert_eq!(signed_content(&[]), None);
    }

    proptest! {
        #[test]
        fn a_value_is_read_as_it_was_written(tag in 0x80u8..0x9f, length in 0usize..700) {
            let content = vec![0x5a; length];
            let mut out = Vec::new();

            put(&mut Writer::new(&mut out), tag, &content);

            prop_assert_eq!(out.len(), super::length(length));
            prop_assert_eq!(taken(&out), Ok((tag, &content[..])));
        }

        #[test]
        fn an_unsigned_number_is_read_as_it_was_written(number: u32) {
            let mut out = Vec::new();

            put_fixed_unsigned(&mut Writer::new(&mut out), 0x85, number);

            prop_assert_eq!(unsigned(&mut Reader::new(&out), 0x85), Ok(number));
        }
    }
}
