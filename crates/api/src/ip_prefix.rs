//! IPv4 and IPv6 prefixes.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A prefix of IPv4 or IPv6 addresses, its host bits zero. As text `10.0.0.0/8`.
///
/// Prefixes are in the order of their family, their length and their address: IPv4 first, the
/// shortest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct IpPrefix {
    address: IpAddr,
    length: u8,
}

/// A text or an address is no prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IpPrefixError {
    /// The text does not read as one.
    #[error("expected an address and a length, as in `10.0.0.0/8` or `2001:db8::/32`")]
    Unreadable,
    /// There are fewer bits in an address.
    #[error("a prefix of {address} has at most {longest} bits, not {length}")]
    TooLong {
        /// The address.
        address: IpAddr,
        /// The length that was given.
        length: u8,
        /// The longest that there is.
        longest: u8,
    },
    /// Bits behind the prefix are set.
    #[error("{address}/{length} has bits behind its prefix: {prefix} is meant, or an address")]
    HostBits {
        /// The address.
        address: IpAddr,
        /// The length that was given.
        length: u8,
        /// The same without these bits.
        prefix: IpPrefix,
    },
}

/// Returns how many bits an address of the family of this one has.
const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl IpPrefix {
    /// Returns the prefix of this length.
    ///
    /// # Errors
    ///
    /// If it is too long, or bits behind it are set.
    pub fn new(address: IpAddr, length: u8) -> Result<Self, IpPrefixError> {
        let prefix = Self::of(address, length)?;
        match prefix.address == address {
            true => Ok(prefix),
            false => Err(IpPrefixError::HostBits {
                address,
                length,
                prefix,
            }),
        }
    }

    /// Returns the prefix of this length that an address is in.
    ///
    /// # Errors
    ///
    /// If an address has fewer bits.
    pub fn of(address: IpAddr, length: u8) -> Result<Self, IpPrefixError> {
        let longest = width(address);
        if length > longest {
            return Err(IpPrefixError::TooLong {
                address,
                length,
                longest,
            });
        }
        let address = match (address, mask(address, length)) {
            (IpAddr::V4(address), IpAddr::V4(mask)) => IpAddr::V4(address & mask),
            (IpAddr::V6(address), IpAddr::V6(mask)) => IpAddr::V6(address & mask),
            (address, _) => address,
        };
        Ok(Self { address, length })
    }

    /// Returns the first address.
    #[must_use]
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Returns how many bits it has.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Returns the mask that spares its bits.
    #[must_use]
    pub fn mask(self) -> IpAddr {
        mask(self.address, self.length)
    }

    /// Returns whether it is all addresses of a family.
    #[must_use]
    pub const fn is_default(self) -> bool {
        self.length == 0
    }

    /// Returns whether an address is in it.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Self::of(address, self.length).is_ok_and(|prefix| prefix == self)
    }

    /// Returns whether all addresses of another one are in it.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }
}

fn mask(address: IpAddr, length: u8) -> IpAddr {
    let host_bits = u32::from(width(address).saturating_sub(length));
    match address {
        IpAddr::V4(_) => {
            let bits = u32::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(bits))
        }
        IpAddr::V6(_) => {
            let bits = u128::MAX.checked_shl(host_bits).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
    }
}

impl Ord for IpPrefix {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |it: &Self| (it.address.is_ipv6(), it.length, it.address);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for IpPrefix {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for IpPrefix {
    type Err = IpPrefixError;

    fn from_str(text: &str) -> Result<Self, IpPrefixError> {
        let (address, length) = text.split_once('/').ok_or(IpPrefixError::Unreadable)?;
        let address = address.parse().map_err(|_| IpPrefixError::Unreadable)?;
        let length = length.parse().map_err(|_| IpPrefixError::Unreadable)?;
        Self::new(address, length)
    }
}

impl Serialize for IpPrefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpPrefix {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_comes_back_from_its_text() {
        for text in [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.1.2.3/32",
            "::/0",
            "2001:db8::/32",
            "::1/128",
        ] {
            let prefix: IpPrefix = text.parse().unwrap();

            assert_eq!(prefix.to_string(), text);
        }
        for wrong in [
            "",
            "10.0.0.0",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "::/129",
            "10/8",
            "a::/-1",
        ] {
            assert!(wrong.parse::<IpPrefix>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_meant_is_said_where_bits_are_set_behind_the_prefix() {
        let error = "10.1.2.3/8".parse::<IpPrefix>().unwrap_err();

        assert!(error.to_string().contains("10.0.0.0/8 is meant"), "{error}");
    }

    #[test]
    fn a_prefix_covers_what_begins_with_its_bits() {
        let prefix = |text: &str| text.parse::<IpPrefix>().unwrap();

        assert!(prefix("10.0.0.0/8").covers(prefix("10.1.0.0/16")));
        assert!(prefix("10.0.0.0/8").covers(prefix("10.0.0.0/8")));
        assert!(!prefix("10.1.0.0/16").covers(prefix("10.0.0.0/8")));
        assert!(!prefix("0.0.0.0/0").covers(prefix("::/0")));
        assert!(prefix("::/0").contains("::1".parse().unwrap()));
    }
}
