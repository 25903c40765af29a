//! What instances tell each other while they live: one datagram.
//!
//! | bytes | what |
//! |---|---|
//! | 0–3 | `TKA1` |
//! | 4–11 | who says it |
//! | 12–19 | how many it has said before: one that comes again, or late, counts no more |
//! | 20–27 | the number of the epoch in which it leads; zero if it does not |
//! | 28–35 | the instance that it hears say that it leads; zero if it hears none |
//! | 36–53 | where it is told: an IPv6 address, mapped if it is one of IPv4, and a port |
//! | 54 | 1 if it is about to go, else 0 |
//! | 55–62 | a tag under the key of the cluster ([`siphash`](wire::siphash)) |
//!
//! Numbers are big-endian.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use wire::siphash::siphash_2_4;

use super::MemberId;

pub const KEEPALIVE_LENGTH: usize = 63;
const MAGIC: [u8; 4] = *b"TKA1";

/// A sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    pub from: MemberId,
    /// How many it has said before.
    pub count: u64,
    /// The number of the epoch in which it leads.
    pub leads: Option<u64>,
    /// Which instance it hears say that it leads.
    pub hears: Option<MemberId>,
    /// Where it is told.
    pub address: SocketAddr,
    /// Whether it is about to go.
    pub is_leaving: bool,
}

impl Keepalive {
    /// Returns the datagram.
    #[must_use]
    pub fn to_bytes(&self, key: [u8; 16]) -> Vec<u8> {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.from.number().to_be_bytes());
        bytes.extend(self.count.to_be_bytes());
        bytes.extend(self.leads.unwrap_or_default().to_be_bytes());
        bytes.extend(self.hears.map_or(0, MemberId::number).to_be_bytes());
        bytes.extend(ip.octets());
        bytes.extend(self.address.port().to_be_bytes());
        bytes.push(self.is_leaving.into());
        bytes.extend(siphash_2_4(key, &bytes).to_be_bytes());
        bytes
    }

    /// Reads a datagram; none if nobody of the cluster has made it.
    #[must_use]
    pub fn from_bytes(key: [u8; 16], bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; KEEPALIVE_LENGTH] = bytes.try_into().ok()?;
        let (said, tag) = bytes.split_last_chunk()?;
        if siphash_2_4(key, said) != u64::from_be_bytes(*tag) {
            return None;
        }
        let number = |at: usize| {
            let bytes = said.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_be_bytes(bytes))
        };
        let from = MemberId::new(number(4)?);
        let ip: [u8; 16] = said.get(36..52)?.try_into().ok()?;
        let port = u16::from_be_bytes(said.get(52..54)?.try_into().ok()?);
        let is_leaving = match said.get(54)? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let are_ids = [4, 28]
            .iter()
            .all(|at| number(*at).is_some_and(MemberId::is_one));
        let is_ours = said.starts_with(&MAGIC) && are_ids;
        is_ours.then_some(Self {
            from,
            count: number(12)?,
            leads: Some(number(20)?).filter(|number| *number > 0),
            hears: Some(MemberId::new(number(28)?)).filter(|id| id.number() > 0),
            address: SocketAddr::new(Ipv6Addr::from(ip).to_canonical(), port),
            is_leaving,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: [u8; 16] = *b"known to members";

    fn keepalive() -> impl Strategy<Value = Keepalive> {
        let epoch = || proptest::option::of(1..=u64::MAX);
        let ip = any::<IpAddr>().prop_map(|ip| ip.to_canonical());
        let about = (any::<u64>(), any::<u64>(), any::<bool>());
        let hears = epoch().prop_map(|it| it.map(MemberId::new).filter(|it| it.number() > 0));
        (about, epoch(), hears, ip, any::<u16>()).prop_map(
            |((from, count, is_leaving), leads, hears, ip, port)| Keepalive {
                from: MemberId::new(from),
                count,
                leads,
                hears,
                address: SocketAddr::new(ip, port),
                is_leaving,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_said_is_heard(keepalive in keepalive()) {
            let bytes = keepalive.to_bytes(KEY);

            prop_assert_eq!(bytes.len(), KEEPALIVE_LENGTH);
            prop_assert_eq!(Keepalive::from_bytes(KEY, &bytes), Some(keepalive));
        }

        #[test]
        fn what_was_changed_on_the_way_is_not_heard(
            keepalive in keepalive(),
            at in 0..KEEPALIVE_LENGTH,
            bit in 0..8_u32,
        ) {
            let mut bytes = keepalive.to_bytes(KEY);
            bytes[at] ^= 1 << bit;

            prop_assert_eq!(Keepalive::from_bytes(KEY, &bytes), None);
            let other = keepalive.to_bytes(*b"known to nobody!");
            prop_assert_eq!(Keepalive::from_bytes(KEY, &other), None);
        }

        #[test]
        fn any_bytes_with_a_true_tag_are_read_or_refused(
            mut said in proptest::collection::vec(any::<u8>(), KEEPALIVE_LENGTH - 8),
            is_ours: bool,
        ) {
            if is_ours {
                said[..4].copy_from_slice(&MAGIC);
            }
            said.extend(siphash_2_4(KEY, &said).to_be_bytes());
            if let Some(read) = Keepalive::from_bytes(KEY, &said) {
                let again = Keepalive::from_bytes(KEY, &read.to_bytes(KEY));
                prop_assert_eq!(again, Some(read));
            }
        }
    }
}
