//! SipHash-2-4: a short tag that only the holder of a key can compute.
//!
//! Source: Aumasson, Bernstein: SipHash: a fast short-input PRF (2012),
//! section 2. The test vector is that of its appendix A.

/// Returns the tag of `message` under `key`.
#[must_use]
pub fn siphash_2_4(key: [u8; 16], message: &[u8]) -> u64 {
    let (low, high) = key.split_at(8);
    let mut state = State::new(word(low), word(high));
    let mut words = message.chunks_exact(8);
    for bytes in &mut words {
        state.absorb(word(bytes));
    }
    let mut last = [0; 8];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    last[7] = message.len().to_le_bytes()[0];
    state.absorb(u64::from_le_bytes(last));
    state.finish()
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("words have eight bytes"))
}

struct State([u64; 4]);

impl State {
    const fn new(low: u64, high: u64) -> Self {
        Self([
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ])
    }

    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        self.rounds(4);
        self.0.into_iter().fold(0, |tag, word| tag ^ word)
    }

    fn rounds(&mut self, count: u32) {
        let [a, b, c, d] = &mut self.0;
        for _ in 0..count {
            *a = a.wrapping_add(*b);
            *c = c.wrapping_add(*d);
            *b = b.rotate_left(13) ^ *a;
            *d = d.rotate_left(16) ^ *c;
            *a = a.rotate_left(32);
            *c = c.wrapping_add(*b);
            *a = a.wrapping_add(*d);
            *b = b.rotate_left(17) ^ *c;
            *d = d.rotate_left(21) ^ *a;
            *c = c.rotate_left(32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_of_the_paper_comes_out() {
        let key = std::array::from_fn(|index| u8::try_from(index).unwrap());
        let message: Vec<u8> = (0..15).collect();

        assert_eq!(siphash_2_4(key, &message), 0xa129_ca61_49be_45e5);
    }
}
