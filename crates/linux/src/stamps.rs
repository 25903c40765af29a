//! The stamps of one frame, as they come beside a message: the kernel's, the network
//! card's, or both.
//!
//! What stands beside a message is a list of entries, each with a level, a kind and data.
//! A `struct scm_timestamping` is one of them: three times of which the first is the
//! kernel's, the second of no use any more, and the third the card's, each zero if there
//! is none.
//!
//! Source: Documentation/networking/timestamping.rst of Linux; cmsg(3).

use std::mem::size_of;

use libc::c_int;

use crate::clock::WallTime;

const NS_PER_SECOND: u64 = 1_000_000_000;
/// `struct cmsghdr`: length, level, kind.
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
const WORD_BYTES: usize = size_of::<usize>();
/// Seconds and nanoseconds, a word each.
const TIME_BYTES: usize = 2 * WORD_BYTES;

/// A point in time on the clock of a network card, whose origin is the card's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CardTime {
    ns: u64,
}

impl CardTime {
    /// Returns the time `ns` nanoseconds after the clock's origin.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Returns the nanoseconds since the clock's origin.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.ns
    }
}

/// Who stamped a frame, and when by whose clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The kernel, at the driver.
    pub kernel: Option<WallTime>,
    pub card: Option<CardTime>,
}

impl Stamps {
    /// Reads a `struct scm_timestamping`.
    pub(crate) fn of(data: &[u8]) -> Self {
        Self {
            kernel: time(data, 0).map(WallTime::from_ns),
            card: time(data, 2).map(CardTime::from_ns),
        }
    }
}

/// Reads the n-th time, in nanoseconds, if it is one.
fn time(data: &[u8], n: usize) -> Option<u64> {
    let [seconds, ns] = [0, WORD_BYTES].map(|at| word(data, n * TIME_BYTES + at));
    let [seconds, ns] = [u64::try_from(seconds?).ok()?, u64::try_from(ns?).ok()?];
    let time = seconds.checked_mul(NS_PER_SECOND)?.checked_add(ns)?;
    (time > 0 && ns < NS_PER_SECOND).then_some(time)
}

/// Something that stands beside a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ControlEntry<'a> {
    level: u32,
    kind: u32,
    pub(crate) data: &'a [u8],
}

impl ControlEntry<'_> {
    /// Tells whether it is of this level and kind.
    pub(crate) fn is(&self, level: c_int, kind: c_int) -> bool {
        (self.level, self.kind) == (level.cast_unsigned(), kind.cast_unsigned())
    }
}

/// Goes through what stands beside a message, as far as it is whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = ControlEntry<'a>;

    fn next(&mut self) -> Option<ControlEntry<'a>> {
        let length = word(self.0, 0).filter(|it| *it >= HEADER_BYTES)?;
        let entry = ControlEntry {
            data: self.0.get(HEADER_BYTES..length)?,
            level: half(self.0, WORD_BYTES)?,
            kind: half(self.0, WORD_BYTES + 4)?,
        };
        let following = length.next_multiple_of(WORD_BYTES);
        self.0 = self.0.get(following..).unwrap_or(&[]);
        Some(entry)
    }
}

/// Reads a word of the machine.
fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..at + WORD_BYTES)?;
    Some(usize::from_ne_bytes(word.try_into().ok()?))
}

/// Reads 32 bits.
pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u32> {
    let half = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(half.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One entry, as the kernel puts it beside a message.
    pub(crate) fn entry(level: c_int, kind: c_int, data: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER_BYTES + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
        bytes
    }

    /// A `struct scm_timestamping` with the kernel's time and the card's, in seconds and
    /// nanoseconds.
    pub(crate) fn times(kernel: [u64; 2], card: [u64; 2]) -> Vec<u8> {
        let words = [kernel, [0, 0], card].concat();
        words.iter().flat_map(|it| it.to_ne_bytes()).collect()
    }

    #[test]
    fn the_first_time_is_the_kernels_and_the_third_the_cards() {
        let both = Stamps::of(&times([3, 5], [7, 11]));
        let [kernel, card] = [times([3, 5], [0, 0]), times([0, 0], [7, 11])];

        assert_eq!(both.kernel, Some(WallTime::from_ns(3_000_000_005)));
        assert_eq!(both.card, Some(CardTime::from_ns(7_000_000_011)));
        assert_eq!(Stamps::of(&kernel).card, None);
        assert_eq!(Stamps::of(&card).kernel, None);
    }

    #[test]
    fn a_time_that_is_none_or_cut_off_is_not_told() {
        let before_the_origin = times([0, 0], [u64::MAX, 5]);
        let of_long_seconds = times([0, 0], [7, NS_PER_SECOND]);

        assert_eq!(Stamps::of(&before_the_origin), Stamps::default());
        assert_eq!(Stamps::of(&of_long_seconds), Stamps::default());
        assert_eq!(Stamps::of(&times([0, 0], [7, 11])[..40]), Stamps::default());
    }

    #[test]
    fn entries_come_in_their_order_until_one_is_not_whole() {
        let bytes = [entry(1, 2, &[7; 5]), entry(3, 4, &[9; 16])].concat();

        let all: Vec<_> = Entries(&bytes).map(|it| it.data.len()).collect();
        let cut: Vec<_> = Entries(&bytes[..bytes.len() - 1]).collect();

        assert_eq!(all, [5, 16]);
        assert!(cut.len() == 1 && cut[0].is(1, 2) && !cut[0].is(1, 3));
    }

    proptest! {
        #[test]
        fn no_bytes_beside_a_message_make_it_panic_or_go_on_for_ever(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..192),
            length in 0usize..256,
        ) {
            prop_assert!(Entries(&bytes).count() <= bytes.len());
            if let Some(first) = bytes.get_mut(..WORD_BYTES) {
                first.copy_from_slice(&length.to_ne_bytes());
            }
            for entry in Entries(&bytes) {
                Stamps::of(entry.data);
            }
        }
    }
}
