//! MAC addresses.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An Ethernet address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// No station.
    pub const ZERO: Self = Self([0; 6]);
    /// The nearest bridge, which never forwards it: where LLDP is sent to
    /// (IEEE 802.1Q table 8-1).
    pub const NEAREST_BRIDGE: Self = Self([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

    /// Tells whether this is a group address; broadcast is one.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Tells whether this is the address of all stations.
    #[must_use]
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }

    /// Tells whether bridges keep this address to themselves
    /// (01-80-C2-00-00-0x, IEEE 802.1Q table 8-1).
    #[must_use]
    pub const fn is_link_local(self) -> bool {
        matches!(self.0, [0x01, 0x80, 0xc2, 0x00, 0x00, last] if last < 0x10)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is no MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not six bytes in hexadecimal, as in `01:0c:cd:04:00:01`")]
pub struct ParseMacError;

impl FromStr for MacAddress {
    type Err = ParseMacError;

    /// Reads six bytes in hexadecimal, separated by `:` or `-`.
    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let mut parts = text.split([':', '-']);
        let mut bytes = [0; 6];
        for byte in &mut bytes {
            let part = parts.next().ok_or(ParseMacError)?;
            let digits = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            if part.len() != 2 || !digits {
                return Err(ParseMacError);
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| ParseMacError)?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(ParseMacError),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_separators_are_read() {
        let expected = Ok(MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, 1]));

        assert_eq!("01:0c:cd:04:00:01".parse(), expected);
        assert_eq!("01-0C-CD-04-00-01".parse(), expected);
    }

    #[test]
    fn anything_else_is_no_address() {
        for text in [
            "",
            "01:0c:cd:04:00",
            "01:0c:cd:04:00:01:02",
            "+1:0c:cd:04:00:01",
            "é",
        ] {
            assert_eq!(text.parse::<MacAddress>(), Err(ParseMacError), "{text}");
        }
    }

    #[test]
    fn groups_are_told_from_stations() {
        assert!(MacAddress::BROADCAST.is_multicast());
        assert!(MacAddress::NEAREST_BRIDGE.is_link_local());
        assert!(!MacAddress([2, 0, 0, 0, 0, 1]).is_multicast());
        assert!(!MacAddress([1, 0x80, 0xc2, 0, 0, 0x10]).is_link_local());
    }

    proptest! {
        #[test]
        fn text_gives_the_address_back(bytes: [u8; 6]) {
            let address = MacAddress(bytes);

            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }
    }
}
