//! Takes apart what the kernel sends: messages, one behind the other, and the
//! attributes in them.
//!
//! No length is trusted: what does not fit into what there is ends the list.

use super::{ALIGNMENT, HEADER_BYTES};

const ATTRIBUTE_HEADER_BYTES: usize = 4;
/// Bits of an attribute's type that say how its value is written.
const FLAGS: u16 = 0xc000;

/// One message of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetlinkMessage<'a> {
    pub kind: u16,
    /// The number of the request that it answers.
    pub sequence: u32,
    pub body: &'a [u8],
}

/// One attribute of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub kind: u16,
    /// How it says it; attributes again, for some kinds.
    pub value: &'a [u8],
}

/// Returns the messages in `bytes`.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(word(bytes, 0)?).ok()?;
        let message = NetlinkMessage {
            kind: half_word(bytes, 4)?,
            sequence: word(bytes, 8)?,
            body: bytes.get(HEADER_BYTES..length)?,
        };
        bytes = rest(bytes, length);
        Some(message)
    })
}

/// Returns the attributes in `bytes`.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    std::iter::from_fn(move || {
        let length = usize::from(half_word(bytes, 0)?);
        let attribute = Attribute {
            kind: half_word(bytes, 2)? & !FLAGS,
            value: bytes.get(ATTRIBUTE_HEADER_BYTES..length)?,
        };
        bytes = rest(bytes, length);
        Some(attribute)
    })
}

/// Returns what stands behind the first `length` bytes, which are filled up to
/// whole words.
fn rest(bytes: &[u8], length: usize) -> &[u8] {
    bytes
        .get(length.next_multiple_of(ALIGNMENT)..)
        .unwrap_or(&[])
}

/// Returns the 64 bits that stand `at` so many bytes into `bytes`.
pub(crate) fn double_word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the 32 bits that stand `at` so many bytes into `bytes`.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Purpose, Request};
    use super::*;

    #[test]
    fn messages_are_found_one_behind_the_other() {
        let mut bytes = Vec::new();
        for (kind, sequence, body) in [(20_u16, 7_u32, &b"abcde"[..]), (3, 7, b"")] {
            let length = u32::try_from(HEADER_BYTES + body.len()).unwrap();
            bytes.extend_from_slice(&length.to_ne_bytes());
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes.extend_from_slice(&sequence.to_ne_bytes());
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(body);
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        }

        let found = messages(&bytes).map(|it| (it.kind, it.sequence, it.body));

        let found: Vec<_> = found.collect();
        assert_eq!(found, [(20, 7, &b"abcde"[..]), (3, 7, b"")]);
    }

    #[test]
    fn attributes_are_found_as_they_are_written() {
        let request = Request::new(16, Purpose::Change, &[])
            .with(7, &[9])
            .with_nested(1, |_| ());

        let found = attributes(&request.bytes[HEADER_BYTES..]).map(|it| (it.kind, it.value));

        assert_eq!(found.collect::<Vec<_>>(), [(7, &[9][..]), (1, &[])]);
    }

    proptest! {
        /// Whatever arrives: what is found lies within it, and the search ends.
        #[test]
        fn any_bytes_are_taken_apart(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            let within = |part: &[u8]| bytes.as_ptr_range().contains(&part.as_ptr())
                || part.is_empty();
            for message in messages(&bytes) {
                prop_assert!(within(message.body));
                for attribute in attributes(message.body) {
                    prop_assert!(within(attribute.value));
                }
            }
            prop_assert!(attributes(&bytes).count() <= bytes.len() / ATTRIBUTE_HEADER_BYTES);
        }
    }
}
