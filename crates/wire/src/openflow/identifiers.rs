//! The numbers by which OpenFlow names things, each with a type of its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Names a switch (OF13 clause 7.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatapathId(pub u64);

impl fmt::Display for DatapathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text is no datapath id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no datapath id: expected at most 16 digits of hexadecimal")]
pub struct ParseDatapathError;

impl FromStr for DatapathId {
    type Err = ParseDatapathError;

    /// Reads hexadecimal, with or without `0x` or leading zeros.
    fn from_str(text: &str) -> Result<Self, ParseDatapathError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let all = (1..=16).contains(&digits.len())
            && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| all);
        number.map(Self).ok_or(ParseDatapathError)
    }
}

/// Pairs a request with its replies (OF13 clause 7.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(pub u32);

impl TransactionId {
    /// Writes this number over the one in `message`, so that one message can
    /// serve as a template for many.
    ///
    /// # Panics
    ///
    /// If `message` is shorter than a header.
    #[inline]
    pub fn patch(self, message: &mut [u8]) {
        message[4..8].copy_from_slice(&self.0.to_be_bytes());
    }
}

/// Names a port of a switch, or a way to leave it (OF13 clause 7.2.1).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct PortNumber(pub u32);

impl PortNumber {
    /// The largest number of a port; larger ones have a meaning of their own.
    pub const MAX: Self = Self(0xffff_ff00);
    /// The port at which the frame arrived.
    pub const IN_PORT: Self = Self(0xffff_fff8);
    /// The first flow table; only in a packet-out.
    pub const TABLE: Self = Self(0xffff_fff9);
    /// The switch's ordinary forwarding.
    pub const NORMAL: Self = Self(0xffff_fffa);
    /// Every port of the VLAN but the one of arrival.
    pub const FLOOD: Self = Self(0xffff_fffb);
    /// Every port but the one of arrival.
    pub const ALL: Self = Self(0xffff_fffc);
    /// The controller.
    pub const CONTROLLER: Self = Self(0xffff_fffd);
    /// The switch itself.
    pub const LOCAL: Self = Self(0xffff_fffe);
    /// No port in particular; only in requests.
    pub const ANY: Self = Self(0xffff_ffff);

    /// Tells whether this can be the number of a port.
    #[must_use]
    pub const fn is_ordinary(self) -> bool {
        self.0 > 0 && self.0 <= Self::MAX.0
    }
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::IN_PORT => "in-port",
            Self::TABLE => "table",
            Self::NORMAL => "normal",
            Self::FLOOD => "flood",
            Self::ALL => "all",
            Self::CONTROLLER => "controller",
            Self::LOCAL => "local",
            Self::ANY => "any",
            Self(number) => return write!(f, "{number}"),
        };
        f.write_str(name)
    }
}

/// Names a frame that a switch keeps until it is told what to do with it
/// (OF13 clause 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

impl BufferId {
    /// No frame is kept; the message carries it whole.
    pub const NONE: Self = Self(0xffff_ffff);
}

/// Names a flow table (OF13 clause 7.3.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u8);

impl TableId {
    /// The largest number of a table.
    pub const MAX: Self = Self(0xfe);
    /// Every table; only to delete and to ask.
    pub const ALL: Self = Self(0xff);
}

/// Names a group (OF13 clause 7.3.4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

impl GroupId {
    /// The largest number of a group.
    pub const MAX: Self = Self(0xffff_ff00);
    /// Every group; only to delete.
    pub const ALL: Self = Self(0xffff_fffc);
    /// No group in particular; only in requests.
    pub const ANY: Self = Self(0xffff_ffff);
}

/// Names a meter (OF13 clause 7.3.4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MeterId(pub u32);

impl MeterId {
    /// The largest number of a meter that a flow can use.
    pub const MAX: Self = Self(0xffff_0000);
    /// The meter of the path through the switch's processor.
    pub const SLOW_PATH: Self = Self(0xffff_fffd);
    /// The meter of the path to the controller.
    pub const CONTROLLER: Self = Self(0xffff_fffe);
    /// Every meter; only to delete and to ask.
    pub const ALL: Self = Self(0xffff_ffff);
}

/// Names a queue of a port (OF13 clause 7.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl QueueId {
    /// Every queue; only in requests.
    pub const ALL: Self = Self(0xffff_ffff);
}

/// What the controller writes on an entry to know it again
/// (OF13 clause 6.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

impl Cookie {
    /// The cookie of entries that have none, and the mask that restricts
    /// nothing.
    pub const NONE: Self = Self(0);
    /// The mask under which a cookie has to be equal in every bit.
    pub const EXACT: Self = Self(u64::MAX);

    /// Tells whether this cookie equals `other` where `mask` has ones.
    #[must_use]
    pub const fn matches(self, other: Self, mask: Self) -> bool {
        self.0 & mask.0 == other.0 & mask.0
    }
}
