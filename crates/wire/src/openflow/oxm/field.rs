//! Every match field of OpenFlow 1.3 (OF13 clause 7.2.3.7, table 11), and one that
//! Taktos adds as an experimenter (OF13 clause 7.2.3.8): the level in force.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::MatchError;
use super::value::{LONGEST, Masked, Payload, VlanMatch};
use crate::ethernet::{EtherType, MacAddress};
use crate::openflow::taktos::EXPERIMENTER;
use crate::openflow::{DecodeError, Element, PortNumber};
use crate::reader::Reader;

const CLASS_BASIC: u16 = 0x8000;
const CLASS_EXPERIMENTER: u16 = 0xffff;
const HEADER_LENGTH: usize = 4;
const EXPERIMENTER_LENGTH: usize = 4;
const HAS_MASK: u8 = 1;

/// The number that the level has among the fields of [`EXPERIMENTER`].
const EXPERIMENTER_LEVEL: u8 = 1;
/// The bits that a level has.
const LEVEL_BITS: u8 = 7;

/// Declares the fields: name, number, type of the value, bits that count.
macro_rules! fields {
    ($($(#[$meta:meta])* $name:ident = $number:literal: $value:ty, $bits:literal;)+) => {
        numbered! {
            /// Which field of a frame, or of what is known about it.
            pub enum FieldKind: u8 {
                $($(#[$meta])* $name = $number,)+
            }
        }

        /// A field and the value that it must have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum MatchField {
            $($(#[$meta])* $name($value),)+
        }

        impl FieldKind {
            /// Returns how many bytes a value of the field has.
            #[must_use]
            pub const fn length(self) -> usize {
                match self {
                    $(Self::$name => <$value as Payload>::LENGTH,)+
                }
            }

            /// Tells whether a match can look at some bits of the field only.
            #[must_use]
            pub const fn can_have_mask(self) -> bool {
                match self {
                    $(Self::$name => <$value as Payload>::MASKABLE,)+
                }
            }
        }

        impl MatchField {
            /// Returns which field this is.
            #[must_use]
            pub const fn kind(&self) -> FieldKind {
                match self {
                    $(Self::$name(_) => FieldKind::$name,)+
                }
            }

            #[inline]
            fn parse_payload(
                field: u8,
                has_mask: bool,
                bytes: &[u8],
            ) -> Result<Self, MatchError> {
                match field {
                    $($number => Payload::parse(bytes, has_mask, FieldKind::$name, $bits)
                        .map(Self::$name),)+
                    _ => Err(MatchError::UnknownField { class: CLASS_BASIC, field }),
                }
            }

            #[inline]
            fn write_payload(&self, bytes: &mut [u8; 2 * LONGEST]) -> (usize, bool) {
                match *self {
                    $(Self::$name(payload) => payload.write(bytes),)+
                }
            }
        }
    };
}

fields! {
    /// The port at which the frame arrived.
    InPort = 0: PortNumber, 32;
    /// The physical port behind a logical one.
    InPhysicalPort = 1: PortNumber, 32;
    /// What an earlier table wrote down.
    Metadata = 2: Masked<u64>, 64;
    /// Ethernet destination.
    EthDst = 3: Masked<MacAddress>, 48;
    /// Ethernet source.
    EthSrc = 4: Masked<MacAddress>, 48;
    /// Type of the payload, behind VLAN tags.
    EthType = 5: EtherType, 16;
    /// VLAN of the outermost tag.
    VlanVid = 6: Masked<VlanMatch>, 13;
    /// Priority of the outermost tag.
    VlanPcp = 7: u8, 3;
    /// Differentiated services code point.
    IpDscp = 8: u8, 6;
    /// Explicit congestion notification.
    IpEcn = 9: u8, 2;
    /// Protocol above IP.
    IpProto = 10: u8, 8;
    /// IPv4 source.
    Ipv4Src = 11: Masked<Ipv4Addr>, 32;
    /// IPv4 destination.
    Ipv4Dst = 12: Masked<Ipv4Addr>, 32;
    /// TCP source port.
    TcpSrc = 13: u16, 16;
    /// TCP destination port.
    TcpDst = 14: u16, 16;
    /// UDP source port.
    UdpSrc = 15: u16, 16;
    /// UDP destination port.
    UdpDst = 16: u16, 16;
    /// SCTP source port.
    SctpSrc = 17: u16, 16;
    /// SCTP destination port.
    SctpDst = 18: u16, 16;
    /// ICMP type.
    Icmpv4Type = 19: u8, 8;
    /// ICMP code.
    Icmpv4Code = 20: u8, 8;
    /// ARP operation.
    ArpOp = 21: u16, 16;
    /// ARP sender's IPv4 address.
    ArpSpa = 22: Masked<Ipv4Addr>, 32;
    /// ARP target's IPv4 address.
    ArpTpa = 23: Masked<Ipv4Addr>, 32;
    /// ARP sender's Ethernet address.
    ArpSha = 24: Masked<MacAddress>, 48;
    /// ARP target's Ethernet address.
    ArpTha = 25: Masked<MacAddress>, 48;
    /// IPv6 source.
    Ipv6Src = 26: Masked<Ipv6Addr>, 128;
    /// IPv6 destination.
    Ipv6Dst = 27: Masked<Ipv6Addr>, 128;
    /// IPv6 flow label.
    Ipv6Flabel = 28: Masked<u32>, 20;
    /// ICMPv6 type.
    Icmpv6Type = 29: u8, 8;
    /// ICMPv6 code.
    Icmpv6Code = 30: u8, 8;
    /// Target of a neighbour discovery.
    Ipv6NdTarget = 31: Ipv6Addr, 128;
    /// Link-layer source of a neighbour discovery.
    Ipv6NdSll = 32: MacAddress, 48;
    /// Link-layer target of a neighbour discovery.
    Ipv6NdTll = 33: MacAddress, 48;
    /// Label of the first MPLS header.
    MplsLabel = 34: u32, 20;
    /// Traffic class of the first MPLS header.
    MplsTc = 35: u8, 3;
    /// Bottom-of-stack bit of the first MPLS header.
    MplsBos = 36: u8, 1;
    /// Service instance of the first backbone tag.
    PbbIsid = 37: Masked<[u8; 3]>, 24;
    /// What a logical port knows about its tunnel.
    TunnelId = 38: Masked<u64>, 64;
    /// Which IPv6 extension headers there are.
    Ipv6Exthdr = 39: Masked<u16>, 9;
    /// The level that is in force at the switch: a field of Taktos, and number 40
    /// in no message.
    Level = 40: Masked<u8>, 3;
}

impl FieldKind {
    /// Returns the number of an experimenter's field, if it is one of ours.
    pub(in crate::openflow) const fn of_experimenter(experimenter: u32, field: u8) -> Option<Self> {
        match (experimenter, field) {
            (EXPERIMENTER, EXPERIMENTER_LEVEL) => Some(Self::Level),
            _ => None,
        }
    }

    /// Returns what stands in the header of the field: its class and its number
    /// there, and the experimenter, if it has one.
    pub(in crate::openflow) const fn header(self) -> (u16, u8, Option<u32>) {
        match self {
            Self::Level => (CLASS_EXPERIMENTER, EXPERIMENTER_LEVEL, Some(EXPERIMENTER)),
            _ => (CLASS_BASIC, self.number(), None),
        }
    }
}

impl MatchField {
    /// Returns the field that `bytes` begin with and what follows it.
    ///
    /// # Errors
    ///
    /// If the bytes end within it, nobody knows it, or its mask or value is
    /// none that it can have.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), MatchError> {
        let mut reader = Reader::new(bytes);
        let class = reader.u16()?;
        let field = reader.u8()?;
        let length = reader.u8()?;
        let payload = reader.take(usize::from(length))?;
        let (field, has_mask) = (field >> 1, field & HAS_MASK == HAS_MASK);
        let field = match class {
            CLASS_BASIC if field != FieldKind::Level.number() => {
                Self::parse_payload(field, has_mask, payload)?
            }
            CLASS_EXPERIMENTER => Self::parse_experimenter(field, has_mask, payload)?,
            _ => return Err(MatchError::UnknownField { class, field }),
        };
        Ok((field, reader.rest()))
    }

    fn parse_experimenter(field: u8, has_mask: bool, bytes: &[u8]) -> Result<Self, MatchError> {
        let mut reader = Reader::new(bytes);
        let kind = FieldKind::of_experimenter(reader.u32()?, field);
        let class = CLASS_EXPERIMENTER;
        let kind = kind.ok_or(MatchError::UnknownField { class, field })?;
        let read = Self::parse_payload(kind.number(), has_mask, reader.rest())?;
        match read {
            Self::Level(level) if level.mask.is_some_and(|mask| mask > LEVEL_BITS) => {
                Err(MatchError::Mask { field: kind })
            }
            read => Ok(read),
        }
    }

    /// Appends the field to `out`.
    #[inline]
    pub fn emit(&self, out: &mut Vec<u8>) {
        let mut payload = [0; 2 * LONGEST];
        let (length, has_mask) = self.write_payload(&mut payload);
        let (class, field, experimenter) = self.kind().header();
        let [class_high, class_low] = class.to_be_bytes();
        let field = field << 1 | u8::from(has_mask);
        let short = u8::try_from(length).expect("a payload has at most 32 bytes");
        out.reserve(HEADER_LENGTH + EXPERIMENTER_LENGTH + length);
        match experimenter {
            None => out.extend_from_slice(&[class_high, class_low, field, short]),
            Some(experimenter) => {
                out.extend_from_slice(&[class_high, class_low, field, short + 4]);
                out.extend_from_slice(&experimenter.to_be_bytes());
            }
        }
        out.extend_from_slice(&payload[..length]);
    }

    /// Tells whether this field only looks at some bits of the value.
    #[must_use]
    pub fn has_mask(&self) -> bool {
        self.write_payload(&mut [0; 2 * LONGEST]).1
    }
}

impl<'a> Element<'a> for MatchField {
    #[inline]
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        Ok(Self::parse(bytes)?)
    }

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        Self::emit(self, out);
    }
}
