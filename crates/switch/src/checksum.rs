//! Internet checksums, kept right while the bytes under them change.
//!
//! A change is worked into the checksum without looking at the rest of the
//! packet: `HC' = ~(~HC + ~m + m')` in one's complement, RFC 1624 Eq. (3). So a
//! checksum that was wrong stays wrong, and the receiver still notices.

/// How the bytes of a change lie against the 16-bit words that are summed.
const WORD: usize = 2;

/// Returns `checksum` after the bytes `old` under it have become `new`. Both
/// begin at an even distance from where the sum begins and have the same even
/// length.
pub(crate) fn updated(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    let mut sum = u32::from(!checksum);
    for (old, new) in old.chunks_exact(WORD).zip(new.chunks_exact(WORD)) {
        sum += u32::from(!u16::from_be_bytes([old[0], old[1]]));
        sum += u32::from(u16::from_be_bytes([new[0], new[1]]));
    }
    !folded(sum)
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    u16::try_from(sum).expect("folded into 16 bits")
}

#[cfg(test)]
pub(crate) fn of(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(WORD).map(|word| match *word {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => unreachable!("chunks of one or two"),
    });
    !folded(words.sum())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Both forms of zero (0 and 0xffff) mean the same sum.
        #[test]
        fn an_updated_checksum_is_that_of_the_new_bytes(
            mut bytes in prop::collection::vec(any::<u8>(), 40),
            new: [u8; 4],
            at in 0usize..18,
        ) {
            bytes[0] = 0x45; // Never all zero, as no IP header is.
            let (before, at) = (of(&bytes), at * 2);
            let old: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            bytes[at..at + 4].copy_from_slice(&new);

            let after = updated(before, &old, &new);

            prop_assert_eq!(after % 0xffff, of(&bytes) % 0xffff);
        }
    }
}
