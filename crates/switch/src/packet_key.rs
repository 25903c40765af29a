//! What a flow table looks at: the headers of a frame, packed into words.
//!
//! A [`PacketKey`] has every field that an entry can match, at a fixed place in
//! a few 64-bit words. Matching is then a handful of masked comparisons, the
//! same for every field, and a mask is a key of the same shape. Fields that can
//! never occur together (IPv4 and IPv6 addresses, for instance) share a place:
//! OF13 clause 7.2.3.6 makes an entry name the protocol before it names such a
//! field, so the two are always told apart by another field of the same key.
//!
//! [`headers`](crate::headers) fills a key from a frame.
//!
//! Sources: OF13 clause 7.2.3.7 (fields).

/// How many words a key has.
pub(crate) const WORDS: usize = 14;

/// Set in [`field::VLAN_VID`] if the frame has a VLAN tag, OF13 clause 7.2.3.7
/// (`OFPVID_PRESENT`).
pub(crate) const VLAN_PRESENT: u64 = 0x1000;

/// Where a field of at most 64 bits lies in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyBits {
    word: usize,
    shift: u32,
    bits: u32,
}

impl KeyBits {
    const fn new(word: usize, shift: u32, bits: u32) -> Self {
        Self { word, shift, bits }
    }

    /// Returns the mask of the whole field, at the right of its word.
    pub(crate) const fn ones(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// The places of all fields.
pub(crate) mod field {
    use super::KeyBits;

    pub(crate) const IN_PORT: KeyBits = KeyBits::new(0, 32, 32);
    pub(crate) const ETH_TYPE: KeyBits = KeyBits::new(0, 16, 16);
    pub(crate) const VLAN_VID: KeyBits = KeyBits::new(0, 3, 13);
    pub(crate) const VLAN_PCP: KeyBits = KeyBits::new(0, 0, 3);
    pub(crate) const METADATA: KeyBits = KeyBits::new(1, 0, 64);
    pub(crate) const ETH_DST: KeyBits = KeyBits::new(2, 16, 48);
    pub(crate) const IP_PROTO: KeyBits = KeyBits::new(2, 8, 8);
    pub(crate) const IP_DSCP: KeyBits = KeyBits::new(2, 2, 6);
    pub(crate) const IP_ECN: KeyBits = KeyBits::new(2, 0, 2);
    pub(crate) const ETH_SRC: KeyBits = KeyBits::new(3, 16, 48);
    /// Source port of TCP, UDP or SCTP, or type of ICMP.
    pub(crate) const L4_SRC: KeyBits = KeyBits::new(3, 0, 16);
    /// Destination port of TCP, UDP or SCTP, or code of ICMP.
    pub(crate) const L4_DST: KeyBits = KeyBits::new(4, 48, 16);
    /// The level in force when the frame came (S2-5).
    pub(crate) const LEVEL: KeyBits = KeyBits::new(4, 29, 3);
    pub(crate) const IPV6_EXTHDR: KeyBits = KeyBits::new(4, 20, 9);
    pub(crate) const IPV6_FLOW_LABEL: KeyBits = KeyBits::new(4, 0, 20);
    pub(crate) const IPV4_SRC: KeyBits = KeyBits::new(5, 32, 32);
    pub(crate) const IPV4_DST: KeyBits = KeyBits::new(5, 0, 32);
    pub(crate) const ARP_OP: KeyBits = L4_DST;
    pub(crate) const ARP_SPA: KeyBits = IPV4_SRC;
    pub(crate) const ARP_TPA: KeyBits = IPV4_DST;
    pub(crate) const ARP_SHA: KeyBits = KeyBits::new(6, 0, 48);
    pub(crate) const ARP_THA: KeyBits = KeyBits::new(7, 0, 48);
    pub(crate) const MPLS_LABEL: KeyBits = KeyBits::new(5, 12, 20);
    pub(crate) const MPLS_TC: KeyBits = KeyBits::new(5, 9, 3);
    pub(crate) const MPLS_BOS: KeyBits = KeyBits::new(5, 8, 1);
    pub(crate) const PBB_ISID: KeyBits = KeyBits::new(5, 0, 24);
    pub(crate) const IPV6_SRC: [KeyBits; 2] = [KeyBits::new(5, 0, 64), KeyBits::new(6, 0, 64)];
    pub(crate) const IPV6_DST: [KeyBits; 2] = [KeyBits::new(7, 0, 64), KeyBits::new(8, 0, 64)];
    pub(crate) const ND_TARGET: [KeyBits; 2] = [KeyBits::new(9, 0, 64), KeyBits::new(10, 0, 64)];
    /// Link-layer address of the source of a solicitation, or of the target of
    /// an advertisement.
    pub(crate) const ND_LINK_LAYER: KeyBits = KeyBits::new(11, 0, 48);
    pub(crate) const TUNNEL_ID: KeyBits = KeyBits::new(12, 0, 64);
    pub(crate) const IN_PHYSICAL_PORT: KeyBits = KeyBits::new(13, 0, 32);
}

/// The fields of one frame, or the value or mask of an entry's match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PacketKey {
    words: [u64; WORDS],
}

impl PacketKey {
    /// Returns a field, at the right of a word.
    pub(crate) const fn get(&self, place: KeyBits) -> u64 {
        (self.words[place.word] >> place.shift) & place.ones()
    }

    /// Sets a field that is zero so far, or adds bits to it.
    pub(crate) const fn put(&mut self, place: KeyBits, value: u64) {
        self.words[place.word] |= (value & place.ones()) << place.shift;
    }

    /// Sets a field of 128 bits that is zero so far.
    pub(crate) fn put_wide(&mut self, places: [KeyBits; 2], value: u128) {
        let [high, low] = halves(value);
        self.put(places[0], high);
        self.put(places[1], low);
    }

    pub(crate) const fn replace(&mut self, place: KeyBits, value: u64) {
        self.words[place.word] &= !(place.ones() << place.shift);
        self.put(place, value);
    }

    pub(crate) const fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    /// Returns this key with only the bits of `mask`.
    pub(crate) fn masked(&self, mask: &Self) -> Self {
        let mut words = self.words;
        for (word, mask) in words.iter_mut().zip(mask.words) {
            *word &= mask;
        }
        Self { words }
    }
}

#[cfg(test)]
impl PacketKey {
    pub(crate) const fn from_words(words: [u64; WORDS]) -> Self {
        Self { words }
    }
}

/// Splits a wide value into its high and its low half.
#[expect(
    clippy::cast_possible_truncation,
    reason = "taking the halves is the purpose"
)]
pub(crate) const fn halves(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}
