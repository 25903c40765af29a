//! The checksum of SCTP, kept right while the bytes under it change.
//!
//! A cyclic redundancy check is linear: what a change of some bytes does to it
//! depends on those bytes and on how many follow, not on what follows. With `P`
//! the polynomial, `d` the old bytes exclusive-or the new ones and `n` the number
//! of bytes behind, the check changes by `d * x^(8n) mod P`. So the work does not
//! grow with the packet, and a check that was wrong stays wrong.
//!
//! Polynomials are kept with the lowest power in the highest bit, as the bytes
//! go over the wire. Sources: RFC 9260 appendix A (polynomial, order of bytes).

/// CRC-32C but for its highest power.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// The polynomial 1.
const ONE: u32 = 1 << 31;

/// How many bits the length of a frame has.
const LENGTH_BITS: usize = 16;
/// `x^(8 * 2^k)` for each bit `k` of a length.
const POWERS: [u32; LENGTH_BITS] = powers();

/// Returns the check, as it stands in a packet, after the bytes `old` under it
/// have become `new`. Behind them are `following` bytes.
pub(crate) fn updated(check: [u8; 4], old: &[u8], new: &[u8], following: usize) -> [u8; 4] {
    let mut change = 0;
    for (old, new) in old.iter().zip(new) {
        change = next(change, old ^ new);
    }
    let mut power = ONE;
    for (bit, square) in POWERS.iter().enumerate() {
        if following >> bit & 1 == 1 {
            power = product(power, *square);
        }
    }
    (u32::from_le_bytes(check) ^ product(change, power)).to_le_bytes()
}

/// Returns the remainder after one more byte.
const fn next(remainder: u32, byte: u8) -> u32 {
    let mut remainder = remainder ^ byte as u32;
    let mut bit = 0;
    while bit < 8 {
        remainder = times_x(remainder);
        bit += 1;
    }
    remainder
}

const fn times_x(polynomial: u32) -> u32 {
    polynomial >> 1 ^ (POLYNOMIAL & (polynomial & 1).wrapping_neg())
}

const fn product(one: u32, mut other: u32) -> u32 {
    let mut sum = 0;
    let mut bit = 32;
    while bit > 0 {
        bit -= 1;
        sum ^= other & (one >> bit & 1).wrapping_neg();
        other = times_x(other);
    }
    sum
}

const fn powers() -> [u32; LENGTH_BITS] {
    let mut powers = [ONE >> 8; LENGTH_BITS];
    let mut at = 1;
    while at < LENGTH_BITS {
        powers[at] = product(powers[at - 1], powers[at - 1]);
        at += 1;
    }
    powers
}

/// Returns the check over `bytes`, as it stands in a packet.
#[must_use]
pub fn of(bytes: &[u8]) -> [u8; 4] {
    let remainder = bytes.iter().fold(u32::MAX, |rest, byte| next(rest, *byte));
    (!remainder).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 3720 appendix B.4 prints these for the same polynomial.
    #[test]
    fn the_checks_that_were_printed_come_out() {
        let ascending: Vec<u8> = (0..32).collect();

        assert_eq!(of(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(of(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
        assert_eq!(of(&ascending), [0x4e, 0x79, 0xdd, 0x46]);
    }

    proptest! {
        #[test]
        fn an_updated_check_is_that_of_the_new_bytes(
            mut bytes in prop::collection::vec(any::<u8>(), 12..2000),
            new: [u8; 2],
            at: prop::sample::Index,
        ) {
            let before = of(&bytes);
            let at = at.index(bytes.len() - 1);
            let old: [u8; 2] = bytes[at..at + 2].try_into().unwrap();
            bytes[at..at + 2].copy_from_slice(&new);

            let after = updated(before, &old, &new, bytes.len() - at - 2);

            prop_assert_eq!(after, of(&bytes));
        }
    }
}
