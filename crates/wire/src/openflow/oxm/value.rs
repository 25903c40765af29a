//! The values of match fields, and how they stand in bytes.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{FieldKind, MatchError};
use crate::ethernet::{EtherType, MacAddress};
use crate::openflow::PortNumber;

/// A value of which only some bits may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Masked<T> {
    /// The value; zero where the mask is zero.
    pub value: T,
    /// Which bits count, or nothing if all do.
    pub mask: Option<T>,
}

impl<T> Masked<T> {
    /// Returns a value of which every bit counts.
    #[must_use]
    pub const fn exact(value: T) -> Self {
        Self { value, mask: None }
    }

    /// Returns a value of which the bits of `mask` count.
    #[must_use]
    pub const fn under(value: T, mask: T) -> Self {
        Self {
            value,
            mask: Some(mask),
        }
    }
}

impl<T> From<T> for Masked<T> {
    fn from(value: T) -> Self {
        Self::exact(value)
    }
}

/// The VLAN of a frame as a match sees it: a number with a bit that tells a tag
/// from no tag (OF13 clause 7.2.3.7, `ofp_vlan_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanMatch(pub u16);

impl VlanMatch {
    /// The frame has no tag.
    pub const UNTAGGED: Self = Self(0);
    /// The frame has a tag: the bit that says so, also as a mask for any tag.
    pub const PRESENT: Self = Self(0x1000);

    /// Returns what a frame with a tag of VLAN `id` looks like.
    #[must_use]
    pub const fn tagged(id: u16) -> Self {
        Self(Self::PRESENT.0 | id & 0x0fff)
    }

    /// Returns the VLAN, or nothing if the frame has no tag.
    #[must_use]
    pub const fn id(self) -> Option<u16> {
        match self.0 & Self::PRESENT.0 {
            0 => None,
            _ => Some(self.0 & 0x0fff),
        }
    }
}

/// The longest value: an IPv6 address.
pub(super) const LONGEST: usize = 16;

/// A value that stands in bytes, most significant first.
pub(super) trait Bytes: Copy + Eq {
    /// How many bytes.
    const LENGTH: usize;

    /// Returns the value of exactly [`LENGTH`](Self::LENGTH) bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;

    /// Writes the value over exactly [`LENGTH`](Self::LENGTH) bytes.
    fn write(self, bytes: &mut [u8]);
}

/// Implements [`Bytes`] for a type that turns into an array and back.
macro_rules! bytes {
    ($($name:ty: $length:literal, $from:expr, $to:expr;)+) => {
        $(impl Bytes for $name {
            const LENGTH: usize = $length;

            #[inline]
            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                <[u8; $length]>::try_from(bytes).ok().map($from)
            }

            #[inline]
            fn write(self, bytes: &mut [u8]) {
                let array: [u8; $length] = $to(self);
                bytes.copy_from_slice(&array);
            }
        })+
    };
}

bytes! {
    u8: 1, |[byte]| byte, |byte| [byte];
    u16: 2, u16::from_be_bytes, u16::to_be_bytes;
    u32: 4, u32::from_be_bytes, u32::to_be_bytes;
    u64: 8, u64::from_be_bytes, u64::to_be_bytes;
    PortNumber: 4, |bytes| Self(u32::from_be_bytes(bytes)), |port: Self| port.0.to_be_bytes();
    EtherType: 2, |bytes| Self(u16::from_be_bytes(bytes)), |kind: Self| kind.0.to_be_bytes();
    VlanMatch: 2, |bytes| Self(u16::from_be_bytes(bytes)), |vlan: Self| vlan.0.to_be_bytes();
    MacAddress: 6, MacAddress, |address: Self| address.0;
    Ipv4Addr: 4, Self::from, |address: Self| address.octets();
    Ipv6Addr: 16, Self::from, |address: Self| address.octets();
    [u8; 3]: 3, |bytes| bytes, |bytes| bytes;
}

/// What a field may hold: a plain value, or one with a mask.
pub(super) trait Payload: Copy {
    /// How many bytes the value has, without a mask.
    const LENGTH: usize;
    /// Whether there can be a mask.
    const MASKABLE: bool;

    /// Reads what stands behind the header of `field`, whose values have
    /// `bits` bits.
    fn parse(
        bytes: &[u8],
        has_mask: bool,
        field: FieldKind,
        bits: usize,
    ) -> Result<Self, MatchError>;

    /// Writes the payload to the front of `bytes` and returns its length and
    /// whether it has a mask.
    fn write(self, bytes: &mut [u8; 2 * LONGEST]) -> (usize, bool);
}

impl<T: Bytes> Payload for T {
    const LENGTH: usize = <T as Bytes>::LENGTH;
    const MASKABLE: bool = false;

    #[inline]
    fn parse(
        bytes: &[u8],
        has_mask: bool,
        field: FieldKind,
        bits: usize,
    ) -> Result<Self, MatchError> {
        if has_mask {
            return Err(MatchError::Mask { field });
        }
        let value = T::from_bytes(bytes).ok_or(MatchError::Length)?;
        if !fits(bytes, bits) {
            return Err(MatchError::Value { field });
        }
        Ok(value)
    }

    #[inline]
    fn write(self, bytes: &mut [u8; 2 * LONGEST]) -> (usize, bool) {
        Bytes::write(self, &mut bytes[..<T as Bytes>::LENGTH]);
        (<T as Bytes>::LENGTH, false)
    }
}

impl<T: Bytes> Payload for Masked<T> {
    const LENGTH: usize = <T as Bytes>::LENGTH;
    const MASKABLE: bool = true;

    #[inline]
    fn parse(
        bytes: &[u8],
        has_mask: bool,
        field: FieldKind,
        bits: usize,
    ) -> Result<Self, MatchError> {
        if !has_mask {
            return T::parse(bytes, false, field, bits).map(Self::exact);
        }
        let (value, mask) = bytes
            .split_at_checked(<T as Bytes>::LENGTH)
            .ok_or(MatchError::Length)?;
        if value
            .iter()
            .zip(mask)
            .any(|(value, mask)| value & !mask != 0)
        {
            return Err(MatchError::Wildcards { field });
        }
        Ok(Self {
            value: T::parse(value, false, field, bits)?,
            mask: Some(T::from_bytes(mask).ok_or(MatchError::Length)?),
        })
    }

    #[inline]
    fn write(self, bytes: &mut [u8; 2 * LONGEST]) -> (usize, bool) {
        Bytes::write(self.value, &mut bytes[..<T as Bytes>::LENGTH]);
        let Some(mask) = self.mask else {
            return (<T as Bytes>::LENGTH, false);
        };
        Bytes::write(
            mask,
            &mut bytes[<T as Bytes>::LENGTH..2 * <T as Bytes>::LENGTH],
        );
        (2 * <T as Bytes>::LENGTH, true)
    }
}

/// Tells whether only the lowest `bits` bits are used.
#[inline]
fn fits(bytes: &[u8], bits: usize) -> bool {
    let unused = (8 * bytes.len()).saturating_sub(bits);
    match (unused, bytes) {
        (0, _) | (_, []) => true,
        (1..8, [first, ..]) => first.leading_zeros() as usize >= unused,
        (_, [first, rest @ ..]) => *first == 0 && fits(rest, bits),
    }
}
