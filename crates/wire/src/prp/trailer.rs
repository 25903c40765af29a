//! The redundancy control trailer of a frame (IEC 62439-3 clause 4.2.7.3).
//!
//! Six bytes: the sequence number; four bits that tell the network and twelve with the
//! size of what the frame carries (its payload and the trailer: neither addresses, type
//! nor VLAN tags count); 0x88fb. A frame whose last bytes are 0x88fb by chance has a
//! trailer only if the size is right as well.
//!
//! A short frame is padded before it gets its trailer, to 64 bytes with its tag or room
//! for one, so that a bridge that takes the tag off need not pad it again. Who does pad
//! it, as senders of the first edition did, puts zeros behind the trailer: in a frame
//! that is no longer than padding makes it, these are skipped.

use thiserror::Error;

use crate::ethernet::{EtherType, SHORTEST_FRAME, TAG_LENGTH};

/// The bytes of the trailer.
pub const TRAILER_LENGTH: usize = 6;
/// What a frame has at least before it gets its trailer: the shortest frame and a tag.
const PADDED: usize = SHORTEST_FRAME + TAG_LENGTH;
/// Where the type of an untagged frame stands.
const TYPE_AT: usize = 12;
const TYPE_LENGTH: usize = 2;
/// How many VLAN tags may stand in front.
const VLAN_TAGS_MAX: usize = 8;
/// The greatest size that twelve bits can say.
const SIZE_MAX: usize = 0xfff;
const SUFFIX: u16 = EtherType::PRP.0;

numbered! {
    /// Which of the two networks a frame went through.
    pub enum Lan: u16 {
        /// The first.
        A = 0xa,
        /// The second.
        B = 0xb,
    }
}

/// A frame has no trailer, or cannot get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TrailerError {
    /// The frame is too short for addresses, type and trailer.
    #[error("frame of {length} bytes has no room for a trailer")]
    Truncated {
        /// How long it is.
        length: usize,
    },
    /// It does not end as a frame with a trailer does.
    #[error("no 0x88fb at the end of the frame")]
    Suffix,
    /// It ends like that by chance.
    #[error("trailer tells of {told} bytes, and the frame carries {carried}")]
    Size {
        /// The size that stands in the trailer.
        told: usize,
        /// The size that the frame has.
        carried: usize,
    },
    /// The number of the network is neither 10 nor 11.
    #[error("there is no network {number}")]
    Lan {
        /// The number that stands in the trailer.
        number: u16,
    },
    /// The frame carries more than a trailer can tell.
    #[error("frame carries {carried} bytes, of which a trailer can tell 4,095")]
    TooLong {
        /// What it would carry with a trailer.
        carried: usize,
    },
}

/// What the trailer of a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Counts the frames of a station, and begins again after 65,535.
    pub sequence: u16,
    /// The network that it was sent through.
    pub lan: Lan,
}

impl Trailer {
    /// Returns the trailer of a frame, and how long the frame is without it.
    ///
    /// # Errors
    ///
    /// If the frame has none.
    pub fn of_frame(frame: &[u8]) -> Result<(Self, usize), TrailerError> {
        let mut end = frame.len();
        let first = Self::ending_at(frame, end);
        // Zeros behind a trailer are there only to make the frame long enough.
        while end > TRAILER_LENGTH && end <= PADDED && frame[end - 1] == 0 {
            end -= 1;
            if let Ok(found) = Self::ending_at(frame, end) {
                return Ok(found);
            }
        }
        first
    }

    fn ending_at(frame: &[u8], end: usize) -> Result<(Self, usize), TrailerError> {
        let header = header_of(frame);
        let truncated = TrailerError::Truncated {
            length: frame.len(),
        };
        let payload = frame.get(header..end).ok_or(truncated)?;
        let bytes = payload.last_chunk::<TRAILER_LENGTH>().ok_or(truncated)?;
        let [s0, s1, l0, l1, x0, x1] = *bytes;
        if u16::from_be_bytes([x0, x1]) != SUFFIX {
            return Err(TrailerError::Suffix);
        }
        let network_and_size = u16::from_be_bytes([l0, l1]);
        let told = usize::from(network_and_size) & SIZE_MAX;
        let carried = payload.len();
        if told != carried {
            return Err(TrailerError::Size { told, carried });
        }
        let number = network_and_size >> 12;
        let lan = Lan::from_number(number).ok_or(TrailerError::Lan { number })?;
        let sequence = u16::from_be_bytes([s0, s1]);
        Ok((Self { sequence, lan }, end - TRAILER_LENGTH))
    }

    /// Writes the trailer over the last bytes of a frame.
    ///
    /// # Errors
    ///
    /// If the frame is too short, or carries more than a trailer can tell.
    pub fn put(self, frame: &mut [u8]) -> Result<(), TrailerError> {
        let (length, header) = (frame.len(), header_of(frame));
        let truncated = TrailerError::Truncated { length };
        let payload = frame.get_mut(header..).ok_or(truncated)?;
        let carried = payload.len();
        let bytes = payload.last_chunk_mut().ok_or(truncated)?;
        let size = u16::try_from(carried).ok().filter(|_| carried <= SIZE_MAX);
        let size = size.ok_or(TrailerError::TooLong { carried })?;
        let [s0, s1] = self.sequence.to_be_bytes();
        let [l0, l1] = (self.lan.number() << 12 | size).to_be_bytes();
        let [x0, x1] = SUFFIX.to_be_bytes();
        *bytes = [s0, s1, l0, l1, x0, x1];
        Ok(())
    }
}

/// Returns how long a frame of this length is once it is padded and has a trailer.
#[must_use]
pub fn length_with_trailer(length: usize) -> usize {
    length.max(PADDED) + TRAILER_LENGTH
}

/// Pads a frame and appends a trailer to it.
///
/// # Errors
///
/// If it has no header, or carries more than a trailer can tell; it stays as it is then.
pub fn append(frame: &mut Vec<u8>, trailer: Trailer) -> Result<(), TrailerError> {
    let length = frame.len();
    if length < header_of(frame) {
        return Err(TrailerError::Truncated { length });
    }
    frame.resize(length_with_trailer(length), 0);
    trailer.put(frame).inspect_err(|_| frame.truncate(length))
}

/// Returns how long the header of a frame is, with its VLAN tags.
fn header_of(frame: &[u8]) -> usize {
    let is_tag = |at: usize| {
        let kind = frame.get(at..).and_then(|rest| rest.first_chunk());
        kind.is_some_and(|kind| EtherType(u16::from_be_bytes(*kind)).is_vlan())
    };
    let mut tags = (TYPE_AT..).step_by(TAG_LENGTH).take(VLAN_TAGS_MAX);
    let type_at = tags.find(|at| !is_tag(*at));
    type_at.unwrap_or(TYPE_AT + VLAN_TAGS_MAX * TAG_LENGTH) + TYPE_LENGTH
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRAILER: Trailer = Trailer {
        sequence: 0x1234,
        lan: Lan::B,
    };

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([0x88, 0xb8]);
        frame.extend(payload);
        frame
    }

    #[test]
    fn the_size_counts_payload_padding_and_trailer() {
        let mut short = frame(&[7; 3]);

        append(&mut short, TRAILER).unwrap();

        assert_eq!(short.len(), 70);
        assert_eq!(short[64..], [0x12, 0x34, 0xb0, 56, 0x88, 0xfb]);
    }

    #[test]
    fn tags_do_not_count() {
        let mut tagged = frame(&[7; 100]);
        tagged.splice(12..12, [0x81, 0, 0x80, 0]);

        append(&mut tagged, TRAILER).unwrap();

        assert_eq!(tagged[120..], [0xb0, 106, 0x88, 0xfb]);
        assert_eq!(Trailer::of_frame(&tagged), Ok((TRAILER, 118)));
        // A provider puts another one in front.
        tagged.splice(12..12, [0x88, 0xa8, 0, 1]);
        assert_eq!(Trailer::of_frame(&tagged), Ok((TRAILER, 122)));
    }

    #[test]
    fn zeros_behind_the_trailer_of_a_short_frame_are_skipped() {
        let mut old = frame(&[7; 20]);
        old.extend([0x12, 0x34, 0xb0, 26, 0x88, 0xfb]);
        old.resize(60, 0);

        assert_eq!(Trailer::of_frame(&old), Ok((TRAILER, 34)));
    }

    #[test]
    fn a_frame_that_ends_like_one_by_chance_has_none() {
        let mut chance = frame(&[7; 60]);
        chance.extend([0x12, 0x34, 0xb0, 65, 0x88, 0xfb]);

        let error = TrailerError::Size {
            told: 65,
            carried: 66,
        };
        assert_eq!(Trailer::of_frame(&chance), Err(error));
    }

    #[test]
    fn there_are_two_networks() {
        let mut third = frame(&[7; 60]);
        third.extend([0x12, 0x34, 0xc0, 66, 0x88, 0xfb]);

        assert_eq!(
            Trailer::of_frame(&third),
            Err(TrailerError::Lan { number: 0xc })
        );
    }

    #[test]
    fn what_carries_too_much_gets_no_trailer_and_stays_as_it_is() {
        let mut jumbo = frame(&[7; 4090]);

        let error = append(&mut jumbo, TRAILER);

        assert_eq!(error, Err(TrailerError::TooLong { carried: 4096 }));
        assert_eq!(jumbo, frame(&[7; 4090]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            let _ = Trailer::of_frame(&bytes);
            let _ = append(&mut bytes, TRAILER);
        }

        #[test]
        fn a_trailer_is_read_as_it_was_appended(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            sequence: u16,
            is_second: bool,
        ) {
            let lan = if is_second { Lan::B } else { Lan::A };
            let trailer = Trailer { sequence, lan };
            let before = frame(&payload);
            let mut after = before.clone();

            append(&mut after, trailer).unwrap();

            let (found, length) = Trailer::of_frame(&after).unwrap();
            prop_assert_eq!(found, trailer);
            prop_assert_eq!(&after[..before.len()], &before[..]);
            prop_assert_eq!(length, before.len().max(PADDED));
        }
    }
}
