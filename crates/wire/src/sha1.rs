//! SHA-1, which the authentication of BFD has (RFC 5880 section 6.7.4).
//!
//! Source: FIPS 180-4 section 6.1. It is of use only where a standard names it: for
//! tags of our own there is [`siphash`](crate::siphash).

/// How long a hash is.
pub const LENGTH: usize = 20;

const BLOCK: usize = 64;
/// How a round mixes three of the words.
type Choose = fn(u32, u32, u32) -> u32;

const ROUNDS: [(u32, Choose); 4] = [
    (0x5a82_7999, |b, c, d| (b & c) | (!b & d)),
    (0x6ed9_eba1, |b, c, d| b ^ c ^ d),
    (0x8f1b_bcdc, |b, c, d| (b & c) | (b & d) | (c & d)),
    (0xca62_c1d6, |b, c, d| b ^ c ^ d),
];

/// Returns the hash of a message.
#[must_use]
pub fn sha1(message: &[u8]) -> [u8; LENGTH] {
    let mut state = [
        0x6745_2301_u32,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    let mut padded = message.to_vec();
    padded.push(0x80);
    let length = (padded.len() + 8).next_multiple_of(BLOCK);
    padded.resize(length - 8, 0);
    let bits = u64::try_from(message.len()).expect("64 bits suffice") * 8;
    padded.extend(bits.to_be_bytes());
    for block in padded.chunks_exact(BLOCK) {
        absorb(&mut state, block);
    }
    let mut hash = [0; LENGTH];
    for (to, word) in hash.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    hash
}

fn absorb(state: &mut [u32; 5], block: &[u8]) {
    let mut schedule = [0_u32; 80];
    for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().expect("words have four bytes"));
    }
    for at in 16..schedule.len() {
        let mixed = schedule[at - 3] ^ schedule[at - 8] ^ schedule[at - 14] ^ schedule[at - 16];
        schedule[at] = mixed.rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for (at, word) in schedule.into_iter().enumerate() {
        let (constant, choose) = ROUNDS[at / 20];
        let mixed = a.rotate_left(5).wrapping_add(choose(b, c, d));
        let next = mixed.wrapping_add(e).wrapping_add(constant);
        (e, d, c, b) = (d, c, b.rotate_left(30), a);
        a = next.wrapping_add(word);
    }
    for (kept, more) in state.iter_mut().zip([a, b, c, d, e]) {
        *kept = kept.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of FIPS 180, and RFC 3174 section 7.3.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let million = vec![b'a'; 1_000_000];
        let cases: [(&[u8], &str); 4] = [
            (b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            (&million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ];
        for (message, expected) in cases {
            let hash = sha1(message).map(|byte| format!("{byte:02x}")).concat();

            assert_eq!(hash, expected);
        }
    }
}
