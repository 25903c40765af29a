//! Which frames an entry matches: the twelve fields (OF10 section 5.2.3).

use std::net::Ipv4Addr;

use super::PortNumber;
use crate::ethernet::{EtherType, MacAddress};
use crate::openflow::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

const NETWORK_WILDCARD_BITS: u32 = 0x3f;
const NW_SRC_SHIFT: u32 = 8;
const NW_DST_SHIFT: u32 = 14;

flags! {
    /// Which fields of a match do not count (`ofp_flow_wildcards`). The two
    /// network addresses have a number of bits each, see [`AddressPrefix`].
    pub struct Wildcards: u32 {
        /// The port of arrival.
        IN_PORT = 1 << 0;
        /// The VLAN.
        DL_VLAN = 1 << 1;
        /// The source address of Ethernet.
        DL_SRC = 1 << 2;
        /// The destination address of Ethernet.
        DL_DST = 1 << 3;
        /// The EtherType.
        DL_TYPE = 1 << 4;
        /// The protocol of IP, or the operation of ARP.
        NW_PROTO = 1 << 5;
        /// The source port, or the type of ICMP.
        TP_SRC = 1 << 6;
        /// The destination port, or the code of ICMP.
        TP_DST = 1 << 7;
        /// The whole source address of IPv4 or ARP.
        NW_SRC_ALL = 32 << NW_SRC_SHIFT;
        /// The whole destination address of IPv4 or ARP.
        NW_DST_ALL = 32 << NW_DST_SHIFT;
        /// The priority of the VLAN tag.
        DL_VLAN_PCP = 1 << 20;
        /// The type of service.
        NW_TOS = 1 << 21;
        /// Everything, as a switch says that it can leave every field out.
        ALL = (1 << 22) - 1;
    }
}

/// The addresses that share their first bits with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressPrefix {
    address: Ipv4Addr,
    prefix_length: u8,
}

impl AddressPrefix {
    /// Every address.
    pub const ANY: Self = Self {
        address: Ipv4Addr::UNSPECIFIED,
        prefix_length: 0,
    };

    /// Returns the addresses that share the first `prefix_length` bits, of which
    /// there are 32 at most, with this one.
    #[must_use]
    pub fn new(address: Ipv4Addr, prefix_length: u8) -> Self {
        let prefix_length = prefix_length.min(32);
        let address = address & mask(prefix_length);
        Self {
            address,
            prefix_length,
        }
    }

    /// Returns this address alone.
    #[must_use]
    pub const fn host(address: Ipv4Addr) -> Self {
        Self {
            address,
            prefix_length: 32,
        }
    }

    /// Returns the first of the addresses.
    #[must_use]
    pub const fn address(self) -> Ipv4Addr {
        self.address
    }

    /// Returns the mask of the bits that count.
    #[must_use]
    pub fn mask(self) -> Ipv4Addr {
        mask(self.prefix_length)
    }

    /// Returns how many bits count.
    #[must_use]
    pub const fn prefix_length(self) -> u8 {
        self.prefix_length
    }

    /// Takes a number of bits that do not count; more than 32 mean all.
    fn parse(address: u32, wildcard_bits: u32) -> Self {
        let ignored = u8::try_from(wildcard_bits.min(32)).expect("at most 32");
        Self::new(address.into(), 32 - ignored)
    }

    fn wildcard_bits(self) -> u32 {
        32 - u32::from(self.prefix_length)
    }
}

impl Default for AddressPrefix {
    fn default() -> Self {
        Self::ANY
    }
}

fn mask(prefix_length: u8) -> Ipv4Addr {
    let ignored = 32 - u32::from(prefix_length);
    u32::MAX.checked_shl(ignored).unwrap_or(0).into()
}

/// Which frames an entry matches (`ofp_match`): those that have every field
/// that is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match10 {
    /// The port of arrival.
    pub in_port: Option<PortNumber>,
    /// The source address of Ethernet.
    pub dl_src: Option<MacAddress>,
    /// The destination address of Ethernet.
    pub dl_dst: Option<MacAddress>,
    /// The VLAN, or [`Match10::NO_VLAN`].
    pub dl_vlan: Option<u16>,
    /// The priority of the VLAN tag.
    pub dl_vlan_pcp: Option<u8>,
    /// The EtherType.
    pub dl_type: Option<EtherType>,
    /// The type of service, of which the upper six bits count.
    pub nw_tos: Option<u8>,
    /// The protocol of IP, or the lower byte of the operation of ARP.
    pub nw_proto: Option<u8>,
    /// The source address of IPv4, or that in an ARP packet.
    pub nw_src: AddressPrefix,
    /// The destination address of IPv4, or that in an ARP packet.
    pub nw_dst: AddressPrefix,
    /// The source port of TCP or UDP, or the type of ICMP.
    pub tp_src: Option<u16>,
    /// The destination port of TCP or UDP, or the code of ICMP.
    pub tp_dst: Option<u16>,
}

impl Match10 {
    /// Says of a frame that it has no VLAN tag (`OFP_VLAN_NONE`).
    pub const NO_VLAN: u16 = 0xffff;

    /// Every frame.
    pub const ANY: Self = Self {
        in_port: None,
        dl_src: None,
        dl_dst: None,
        dl_vlan: None,
        dl_vlan_pcp: None,
        dl_type: None,
        nw_tos: None,
        nw_proto: None,
        nw_src: AddressPrefix::ANY,
        nw_dst: AddressPrefix::ANY,
        tp_src: None,
        tp_dst: None,
    };

    /// Tells whether every field is there: whatever its priority says, such an
    /// entry comes first (OF10 section 3.4).
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.wildcards() == Wildcards::NONE
    }

    /// Returns which fields do not count.
    #[must_use]
    pub fn wildcards(&self) -> Wildcards {
        let fields = [
            (self.in_port.is_none(), Wildcards::IN_PORT),
            (self.dl_vlan.is_none(), Wildcards::DL_VLAN),
            (self.dl_src.is_none(), Wildcards::DL_SRC),
            (self.dl_dst.is_none(), Wildcards::DL_DST),
            (self.dl_type.is_none(), Wildcards::DL_TYPE),
            (self.nw_proto.is_none(), Wildcards::NW_PROTO),
            (self.tp_src.is_none(), Wildcards::TP_SRC),
            (self.tp_dst.is_none(), Wildcards::TP_DST),
            (self.dl_vlan_pcp.is_none(), Wildcards::DL_VLAN_PCP),
            (self.nw_tos.is_none(), Wildcards::NW_TOS),
        ];
        let absent = fields.into_iter().filter(|(absent, _)| *absent);
        let flags = absent.fold(0, |all, (_, flag)| all | flag.0);
        let networks = self.nw_src.wildcard_bits() << NW_SRC_SHIFT
            | self.nw_dst.wildcard_bits() << NW_DST_SHIFT;
        Wildcards(flags | networks)
    }

    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let wildcards = Wildcards(reader.u32()?);
        let in_port = PortNumber(reader.u16()?);
        let dl_src = MacAddress(reader.array()?);
        let dl_dst = MacAddress(reader.array()?);
        let dl_vlan = reader.u16()?;
        let dl_vlan_pcp = reader.u8()?;
        reader.skip(1)?;
        let dl_type = EtherType(reader.u16()?);
        let nw_tos = reader.u8()?;
        let nw_proto = reader.u8()?;
        reader.skip(2)?;
        let (nw_src, nw_dst) = (reader.u32()?, reader.u32()?);
        let (tp_src, tp_dst) = (reader.u16()?, reader.u16()?);
        let bits = |shift: u32| wildcards.0 >> shift & NETWORK_WILDCARD_BITS;
        Ok(Self {
            in_port: wildcards.unless(Wildcards::IN_PORT, in_port),
            dl_src: wildcards.unless(Wildcards::DL_SRC, dl_src),
            dl_dst: wildcards.unless(Wildcards::DL_DST, dl_dst),
            dl_vlan: wildcards.unless(Wildcards::DL_VLAN, dl_vlan),
            dl_vlan_pcp: wildcards.unless(Wildcards::DL_VLAN_PCP, dl_vlan_pcp),
            dl_type: wildcards.unless(Wildcards::DL_TYPE, dl_type),
            nw_tos: wildcards.unless(Wildcards::NW_TOS, nw_tos),
            nw_proto: wildcards.unless(Wildcards::NW_PROTO, nw_proto),
            nw_src: AddressPrefix::parse(nw_src, bits(NW_SRC_SHIFT)),
            nw_dst: AddressPrefix::parse(nw_dst, bits(NW_DST_SHIFT)),
            tp_src: wildcards.unless(Wildcards::TP_SRC, tp_src),
            tp_dst: wildcards.unless(Wildcards::TP_DST, tp_dst),
        })
    }

    pub(super) fn emit(&self, writer: &mut Writer<'_>) {
        let none = MacAddress([0; 6]);
        writer.u32(self.wildcards().0);
        writer.u16(self.in_port.unwrap_or(PortNumber(0)).0);
        writer.bytes(&self.dl_src.unwrap_or(none).0);
        writer.bytes(&self.dl_dst.unwrap_or(none).0);
        writer.u16(self.dl_vlan.unwrap_or(0));
        writer.u8(self.dl_vlan_pcp.unwrap_or(0)).zeros::<1>();
        writer.u16(self.dl_type.unwrap_or(EtherType(0)).0);
        writer.u8(self.nw_tos.unwrap_or(0));
        writer.u8(self.nw_proto.unwrap_or(0)).zeros::<2>();
        writer.u32(self.nw_src.address.to_bits());
        writer.u32(self.nw_dst.address.to_bits());
        writer.u16(self.tp_src.unwrap_or(0));
        writer.u16(self.tp_dst.unwrap_or(0));
    }
}

impl Wildcards {
    /// Returns a field, unless it does not count.
    const fn unless<T: Copy>(self, field: Self, value: T) -> Option<T> {
        match self.contains(field) {
            true => None,
            false => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_32_wildcard_bits_mean_every_address() {
        assert_eq!(AddressPrefix::parse(0x0a00_0001, 32), AddressPrefix::ANY);
        assert_eq!(AddressPrefix::parse(0x0a00_0001, 63), AddressPrefix::ANY);
    }

    #[test]
    fn bits_behind_the_prefix_do_not_count() {
        let network = AddressPrefix::parse(0x0a01_02ff, 8);

        assert_eq!(network, AddressPrefix::new([10, 1, 2, 0].into(), 24));
        assert_eq!(network.mask(), Ipv4Addr::new(255, 255, 255, 0));
    }

    #[test]
    fn a_match_without_fields_has_every_wildcard() {
        let expected = Wildcards::ALL.0 & !(31 << NW_SRC_SHIFT | 31 << NW_DST_SHIFT);

        assert_eq!(Match10::ANY.wildcards(), Wildcards(expected));
    }
}
