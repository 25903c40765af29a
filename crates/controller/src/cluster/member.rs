//! Who belongs to a cluster, as the store says it.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The version of the form of a record.
const VERSION: u8 = 2;
/// The longest name or address of programs.
const LONGEST: usize = 512;
/// How many bits of a holder's number count its lives: so often it may have had an office.
const LIFE_BITS: u32 = 16;

/// The number of an instance, which no other one has, and none had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberId(u64);

impl MemberId {
    /// Returns the number that follows from a random one.
    #[must_use]
    pub const fn new(random: u64) -> Self {
        Self(random >> LIFE_BITS << LIFE_BITS)
    }

    /// Returns the instance that is the holder of an epoch.
    #[must_use]
    pub const fn of_holder(holder: u64) -> Self {
        Self::new(holder)
    }

    /// Returns as who it holds an office in one of its lives.
    #[must_use]
    pub fn holder(self, life: u16) -> u64 {
        self.0 | u64::from(life)
    }

    /// Tells whether a number is that of an instance, not of one of its lives.
    #[must_use]
    pub const fn is_one(number: u64) -> bool {
        number == Self::new(number).0
    }

    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// An instance, for the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What people call it.
    pub name: String,
    /// Where the others tell it that they live.
    pub address: SocketAddr,
    /// Where programs ask it.
    pub url: String,
    /// A digest of what all instances have to be told alike.
    pub options: u64,
}

impl Member {
    /// Returns the record of it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_extend(self, vec![VERSION])
            .expect("addresses and texts always have a form, and a vector has room")
    }

    /// Reads a record; none if it is of another version, or none of ours.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [VERSION, content @ ..] = bytes else {
            return None;
        };
        let (member, rest): (Self, _) = postcard::take_from_bytes(content).ok()?;
        let is_short = member.name.len() <= LONGEST && member.url.len() <= LONGEST;
        (rest.is_empty() && is_short).then_some(member)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_member_comes_back_from_its_record(
            name in ".{0,40}",
            // What follows from an interface of one machine means nothing to others.
            at: (IpAddr, u16),
            url in ".{0,40}",
            options: u64,
        ) {
            let address = SocketAddr::from(at);
            let member = Member { name, address, url, options };
            let bytes = member.to_bytes();

            prop_assert_eq!(Member::from_bytes(&bytes), Some(member));
            prop_assert_eq!(Member::from_bytes(&bytes[..bytes.len() - 1]), None);
        }

        #[test]
        fn any_bytes_are_a_member_or_none(bytes: Vec<u8>) {
            if let Some(member) = Member::from_bytes(&bytes) {
                prop_assert_eq!(Member::from_bytes(&member.to_bytes()), Some(member));
            }
        }

        #[test]
        fn all_lives_of_an_instance_are_its_own(random: u64, life: u16) {
            let id = MemberId::new(random);

            prop_assert_eq!(MemberId::of_holder(id.holder(life)), id);
        }
    }
}
