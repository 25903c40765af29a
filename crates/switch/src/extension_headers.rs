//! The extension headers between an IPv6 header and what it carries.
//!
//! Which there are is a match field of its own, a set of bits (OF13 clause
//! 7.2.3.7, `ofp_ipv6exthdr_flags`). Two of the bits tell of packets that are
//! made unlike RFC 8200 section 4.1 recommends: a header that is repeated, and
//! one that stands behind another that should follow it. Destination options
//! may stand twice, before the routing header and last of all.
//!
//! What stands in a later fragment or in an encrypted payload is not looked at.

use crate::headers::{IPV6_HEADER, bytes_at};

/// How many extension headers are looked through for the protocol.
const EXTENSION_HEADERS_MAX: usize = 8;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ENCRYPTION: u8 = 50;
const AUTHENTICATION: u8 = 51;
const NO_NEXT: u8 = 59;
const DESTINATION: u8 = 60;

/// The highest place in the order before the routing header.
const BEFORE_ROUTING: u8 = 1;

/// Which extension headers a packet has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    bits: u16,
    /// How far in the recommended order the last header stands.
    place: u8,
    destinations: u8,
}

impl Seen {
    pub(crate) const NO_NEXT: u16 = 1;
    pub(crate) const ENCRYPTION: u16 = 1 << 1;
    pub(crate) const AUTHENTICATION: u16 = 1 << 2;
    pub(crate) const DESTINATION: u16 = 1 << 3;
    pub(crate) const FRAGMENT: u16 = 1 << 4;
    pub(crate) const ROUTING: u16 = 1 << 5;
    pub(crate) const HOP_BY_HOP: u16 = 1 << 6;
    /// One of them is repeated.
    pub(crate) const REPEATED: u16 = 1 << 7;
    /// They stand in an unexpected order.
    pub(crate) const OUT_OF_ORDER: u16 = 1 << 8;

    /// Returns the bits as an entry matches them.
    pub(crate) const fn bits(self) -> u16 {
        self.bits
    }

    /// Takes note of the next header.
    const fn add(&mut self, header: u8) {
        let (bit, place) = match header {
            HOP_BY_HOP => (Self::HOP_BY_HOP, 0),
            DESTINATION if self.place <= BEFORE_ROUTING && self.destinations == 0 => {
                (Self::DESTINATION, BEFORE_ROUTING)
            }
            ROUTING => (Self::ROUTING, 2),
            FRAGMENT => (Self::FRAGMENT, 3),
            AUTHENTICATION => (Self::AUTHENTICATION, 4),
            ENCRYPTION => (Self::ENCRYPTION, 5),
            DESTINATION => (Self::DESTINATION, 6),
            NO_NEXT => (Self::NO_NEXT, 7),
            _ => return,
        };
        let again = match header {
            DESTINATION => {
                self.destinations += 1;
                self.destinations > 2
            }
            _ => self.bits & bit != 0,
        };
        if again {
            self.bits |= Self::REPEATED;
        }
        if place < self.place {
            self.bits |= Self::OUT_OF_ORDER;
        }
        self.bits |= bit;
        self.place = place;
    }
}

/// What stands behind the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadersEnd {
    /// Which extension headers stand before.
    pub(crate) seen: Seen,
    /// The number of the protocol, and where it stands.
    pub(crate) protocol: u8,
    pub(crate) protocol_at: usize,
    pub(crate) at: usize,
    /// Whether its header is there: later fragments have none.
    pub(crate) first_fragment: bool,
    /// Whether a routing header names another destination than the packet.
    pub(crate) routed: bool,
}

/// Walks over the extension headers of the whole IPv6 header at `at`.
pub(crate) fn walk(packet: &[u8], at: usize) -> HeadersEnd {
    let protocol_at = at + 6;
    let mut end = HeadersEnd {
        seen: Seen::default(),
        protocol: packet[protocol_at],
        protocol_at,
        at: at + IPV6_HEADER,
        first_fragment: true,
        routed: false,
    };
    for _ in 0..EXTENSION_HEADERS_MAX {
        if !end.step(packet) {
            break;
        }
    }
    end
}

impl HeadersEnd {
    /// Goes on to the next header, unless this is the last.
    fn step(&mut self, packet: &[u8]) -> bool {
        if matches!(self.protocol, ENCRYPTION | NO_NEXT) {
            self.seen.add(self.protocol);
            return false;
        }
        let is_extension = matches!(
            self.protocol,
            HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION
        );
        let Some(header) = bytes_at::<8>(packet, self.at).filter(|_| is_extension) else {
            return false;
        };
        self.seen.add(self.protocol);
        let units = usize::from(header[1]);
        let length = match self.protocol {
            FRAGMENT => {
                self.first_fragment = u16::from_be_bytes([header[2], header[3]]) & 0xfff8 == 0;
                8
            }
            // Authentication counts in other units, RFC 4302 section 2.2.
            AUTHENTICATION => units * 4 + 8,
            ROUTING => {
                self.routed |= header[3] != 0;
                units * 8 + 8
            }
            _ => units * 8 + 8,
        };
        self.protocol = header[0];
        self.protocol_at = self.at;
        self.at += length;
        self.first_fragment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: u8 = 6;

    /// A packet with these extension headers of 8 bytes each, and its end.
    fn walked(numbers: &[u8]) -> HeadersEnd {
        let mut packet = vec![0; 6];
        packet.push(numbers[0]);
        packet.resize(IPV6_HEADER, 0);
        for next in &numbers[1..] {
            packet.extend([*next, 0, 0, 0, 0, 0, 0, 0]);
        }
        walk(&packet, 0)
    }

    /// OF13 clause 7.2.3.7 with the order of RFC 8200 section 4.1.
    #[test]
    fn the_bits_say_which_headers_there_are_and_what_is_odd_about_them() {
        for (numbers, expected) in [
            (&[TCP][..], 0),
            (&[NO_NEXT], Seen::NO_NEXT),
            (
                &[HOP_BY_HOP, AUTHENTICATION, TCP],
                Seen::HOP_BY_HOP | Seen::AUTHENTICATION,
            ),
            (&[DESTINATION, ROUTING, FRAGMENT, ENCRYPTION], 0x3a),
            (
                &[DESTINATION, ROUTING, DESTINATION, TCP],
                Seen::DESTINATION | Seen::ROUTING,
            ),
            (&[DESTINATION, DESTINATION, TCP], Seen::DESTINATION),
            (
                &[DESTINATION, DESTINATION, DESTINATION, TCP],
                Seen::DESTINATION | Seen::REPEATED,
            ),
            (&[ROUTING, ROUTING, TCP], Seen::ROUTING | Seen::REPEATED),
            (
                &[ROUTING, HOP_BY_HOP, TCP],
                Seen::ROUTING | Seen::HOP_BY_HOP | Seen::OUT_OF_ORDER,
            ),
            (
                &[DESTINATION, DESTINATION, ROUTING, TCP],
                Seen::DESTINATION | Seen::ROUTING | Seen::OUT_OF_ORDER,
            ),
        ] {
            assert_eq!(walked(numbers).seen.bits(), expected, "{numbers:?}");
        }
    }

    #[test]
    fn the_protocol_is_found_behind_all_headers_or_where_they_end() {
        let behind_two = walked(&[HOP_BY_HOP, ROUTING, TCP]);
        assert_eq!(
            (behind_two.protocol, behind_two.protocol_at, behind_two.at),
            (TCP, 48, 56)
        );

        // The frame is cut before the header that the last one names.
        let mut packet = vec![0; IPV6_HEADER];
        packet[6] = DESTINATION;
        assert_eq!(walk(&packet, 0).protocol, DESTINATION);

        let most = [&[HOP_BY_HOP; EXTENSION_HEADERS_MAX + 1][..], &[TCP]].concat();
        assert_eq!(walked(&most).protocol, HOP_BY_HOP);
    }

    /// RFC 8200 section 4.5: what follows is the middle of something.
    #[test]
    fn nothing_is_read_in_a_later_fragment() {
        let mut packet = vec![0; IPV6_HEADER];
        packet[6] = FRAGMENT;
        packet.extend([DESTINATION, 0, 0, 8, 0, 0, 0, 0]);
        packet.extend([TCP, 0, 0, 0, 0, 0, 0, 0]);

        let end = walk(&packet, 0);

        assert_eq!((end.protocol, end.first_fragment), (DESTINATION, false));
        assert_eq!(end.seen.bits(), Seen::FRAGMENT);
    }
}
