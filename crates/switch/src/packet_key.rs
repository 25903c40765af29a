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
pub(crate) struct Place {
    word: usize,
    shift: u32,
    bits: u32,
}

impl Place {
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
    use super::Place;

    pub(crate) const IN_PORT: Place = Place::new(0, 32, 32);
    pub(crate) const ETH_TYPE: Place = Place::new(0, 16, 16);
    pub(crate) const VLAN_VID: Place = Place::new(0, 3, 13);
    pub(crate) const VLAN_PCP: Place = Place::new(0, 0, 3);
    pub(crate) const METADATA: Place = Place::new(1, 0, 64);
    pub(crate) const ETH_DST: Place = Place::new(2, 16, 48);
    pub(crate) const IP_PROTO: Place = Place::new(2, 8, 8);
    pub(crate) const IP_DSCP: Place = Place::new(2, 2, 6);
    pub(crate) const IP_ECN: Place = Place::new(2, 0, 2);
    pub(crate) const ETH_SRC: Place = Place::new(3, 16, 48);
    /// Source port of TCP, UDP or SCTP, or type of ICMP.
    pub(crate) const L4_SRC: Place = Place::new(3, 0, 16);
    /// Destination port of TCP, UDP or SCTP, or code of ICMP.
    pub(crate) const L4_DST: Place = Place::new(4, 48, 16);
    /// The level in force when the frame came (S2-5).
    pub(crate) const LEVEL: Place = Place::new(4, 29, 3);
    pub(crate) const IPV6_EXTHDR: Place = Place::new(4, 20, 9);
    pub(crate) const IPV6_FLOW_LABEL: Place = Place::new(4, 0, 20);
    pub(crate) const IPV4_SRC: Place = Place::new(5, 32, 32);
    pub(crate) const IPV4_DST: Place = Place::new(5, 0, 32);
    pub(crate) const ARP_OP: Place = L4_DST;
    pub(crate) const ARP_SPA: Place = IPV4_SRC;
    pub(crate) const ARP_TPA: Place = IPV4_DST;
    pub(crate) const ARP_SHA: Place = Place::new(6, 0, 48);
    pub(crate) const ARP_THA: Place = Place::new(7, 0, 48);
    pub(crate) const MPLS_LABEL: Place = Place::new(5, 12, 20);
    pub(crate) const MPLS_TC: Place = Place::new(5, 9, 3);
    pub(crate) const MPLS_BOS: Place = Place::new(5, 8, 1);
    pub(crate) const PBB_ISID: Place = Place::new(5, 0, 24);
    pub(crate) const IPV6_SRC: [Place; 2] = [Place::new(5, 0, 64), Place::new(6, 0, 64)];
    pub(crate) const IPV6_DST: [Place; 2] = [Place::new(7, 0, 64), Place::new(8, 0, 64)];
    pub(crate) const ND_TARGET: [Place; 2] = [Place::new(9, 0, 64), Place::new(10, 0, 64)];
    /// Link-layer address of the source of a solicitation, or of the target of
    /// an advertisement.
    pub(crate) const ND_LINK_LAYER: Place = Place::new(11, 0, 48);
    pub(crate) const TUNNEL_ID: Place = Place::new(12, 0, 64);
    pub(crate) const IN_PHYSICAL_PORT: Place = Place::new(13, 0, 32);
}

/// The fields of one frame, or the value or mask of an entry's match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PacketKey {
    words: [u64; WORDS],
}

impl PacketKey {
    /// Returns a field, at the right of a word.
    pub(crate) const fn get(&self, place: Place) -> u64 {
        (self.words[place.word] >> place.shift) & place.ones()
    }

    /// Sets a field that is zero so far, or adds bits to it.
    pub(crate) const fn put(&mut self, place: Place, value: u64) {
        self.words[place.word] |= (value & place.ones()) << place.shift;
    }

    /// Sets a field of 128 bits that is zero so far.
    pub(crate) fn put_wide(&mut self, places: [Place; 2], value: u128) {
        let [high, low] = halves(value);
        self.put(places[0], high);
        self.put(places[1], low);
    }

    pub(crate) const fn replace(&mut self, place: Place, value: u64) {
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
