//! The checksum of IPv4, UDP and ICMPv6 (RFC 1071).

/// The sum of 16-bit words so far. Pieces are added in their order; every piece
/// but the last has an even length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u64,
}

impl Checksum {
    /// Returns the sum with the words of `bytes`; an odd end is filled up with
    /// a zero.
    #[must_use]
    pub fn with(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<2>();
        for word in words {
            self.sum += u64::from(u16::from_be_bytes(*word));
        }
        if let [last] = rest {
            self.sum += u64::from(u16::from_be_bytes([*last, 0]));
        }
        self
    }

    /// Returns the complement of the sum, which is zero over bytes that
    /// contain their own checksum.
    #[must_use]
    pub fn finish(self) -> u16 {
        let mut sum = self.sum;
        while sum > u64::from(u16::MAX) {
            sum = (sum & u64::from(u16::MAX)) + (sum >> u16::BITS);
        }
        !u16::try_from(sum).expect("a folded sum has 16 bits")
    }
}

/// Returns the checksum once one 16-bit word is another, whatever else it is over
/// (RFC 1624 Eq. 3).
#[must_use]
pub fn replaced(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u64::from(!checksum) + u64::from(!old) + u64::from(new);
    Checksum { sum }.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_that_is_replaced_changes_the_checksum_as_summing_up_again_does(
            mut bytes in prop::collection::vec(any::<u8>(), 4..40),
            new: u16,
        ) {
            // A header that is all zero does not occur, and its sum has two forms.
            bytes[3] |= 1;
            let before = Checksum::default().with(&bytes).finish();
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);

            bytes[..2].copy_from_slice(&new.to_be_bytes());

            let after = Checksum::default().with(&bytes).finish();
            prop_assert_eq!(replaced(before, old, new), after);
        }
    }

    #[test]
    fn the_example_of_rfc_1071_section_3_gives_its_sum() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];

        assert_eq!(!Checksum::default().with(&bytes).finish(), 0xddf2);
    }
}
