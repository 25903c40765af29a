//! A port of a switch (OF10 section 5.2.1).

use crate::ethernet::MacAddress;
use crate::openflow::{DecodeError, Element, PortName};
use crate::reader::Reader;
use crate::writer::Writer;

/// Names a port of a switch, or a way to leave it (`ofp_port`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNumber(pub u16);

impl PortNumber {
    /// From this number on ports have a meaning of their own.
    pub const MAX: Self = Self(0xff00);
    /// The port at which the frame arrived.
    pub const IN_PORT: Self = Self(0xfff8);
    /// The flow tables; only in a packet-out.
    pub const TABLE: Self = Self(0xfff9);
    /// The switch's ordinary forwarding.
    pub const NORMAL: Self = Self(0xfffa);
    /// Every port but the one of arrival and those that are not flooded to.
    pub const FLOOD: Self = Self(0xfffb);
    /// Every port but the one of arrival.
    pub const ALL: Self = Self(0xfffc);
    /// The controller.
    pub const CONTROLLER: Self = Self(0xfffd);
    /// The switch itself.
    pub const LOCAL: Self = Self(0xfffe);
    /// No port in particular.
    pub const NONE: Self = Self(0xffff);
}

flags! {
    /// What the controller set at a port (`ofp_port_config`).
    pub struct PortConfig: u32 {
        /// The port is switched off.
        PORT_DOWN = 1 << 0;
        /// The port takes no part in the spanning tree.
        NO_STP = 1 << 1;
        /// Drops every frame that arrives, but those of the spanning tree.
        NO_RECEIVE = 1 << 2;
        /// Drops frames of the spanning tree that arrive.
        NO_RECEIVE_STP = 1 << 3;
        /// Is left out of floods.
        NO_FLOOD = 1 << 4;
        /// Drops every frame that is to leave.
        NO_FORWARD = 1 << 5;
        /// Sends no packet-in for frames that arrive.
        NO_PACKET_IN = 1 << 6;
    }
}

flags! {
    /// What the switch sees at a port (`ofp_port_state`).
    pub struct PortState: u32 {
        /// No link.
        LINK_DOWN = 1 << 0;
        /// The spanning tree learns but does not forward.
        STP_LEARN = 1 << 8;
        /// The spanning tree forwards.
        STP_FORWARD = 2 << 8;
        /// The spanning tree blocks the port.
        STP_BLOCK = 3 << 8;
    }
}

flags! {
    /// What a port can do (`ofp_port_features`).
    pub struct PortFeatures: u32 {
        /// 10 Mbit/s, half duplex.
        MBPS_10_HALF = 1 << 0;
        /// 10 Mbit/s, full duplex.
        MBPS_10_FULL = 1 << 1;
        /// 100 Mbit/s, half duplex.
        MBPS_100_HALF = 1 << 2;
        /// 100 Mbit/s, full duplex.
        MBPS_100_FULL = 1 << 3;
        /// 1 Gbit/s, half duplex.
        GBPS_1_HALF = 1 << 4;
        /// 1 Gbit/s, full duplex.
        GBPS_1_FULL = 1 << 5;
        /// 10 Gbit/s, full duplex.
        GBPS_10_FULL = 1 << 6;
        /// Copper.
        COPPER = 1 << 7;
        /// Fibre.
        FIBER = 1 << 8;
        /// Negotiates by itself.
        AUTONEGOTIATION = 1 << 9;
        /// Can be paused.
        PAUSE = 1 << 10;
        /// Can be paused in one direction.
        PAUSE_ASYMMETRIC = 1 << 11;
    }
}

/// Describes a port (`ofp_phy_port`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortDescription {
    /// Its number.
    pub number: PortNumber,
    /// Its address.
    pub address: MacAddress,
    /// Its name.
    pub name: PortName,
    /// What the controller set.
    pub config: PortConfig,
    /// What the switch sees.
    pub state: PortState,
    /// What is in use.
    pub current: PortFeatures,
    /// What it tells its neighbour that it can do.
    pub advertised: PortFeatures,
    /// What it can do.
    pub supported: PortFeatures,
    /// What its neighbour says that it can do.
    pub peer: PortFeatures,
}

impl<'a> Element<'a> for PortDescription {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = Self {
            number: PortNumber(reader.u16()?),
            address: MacAddress(reader.array()?),
            name: PortName(reader.array()?),
            config: PortConfig(reader.u32()?),
            state: PortState(reader.u32()?),
            current: PortFeatures(reader.u32()?),
            advertised: PortFeatures(reader.u32()?),
            supported: PortFeatures(reader.u32()?),
            peer: PortFeatures(reader.u32()?),
        };
        Ok((port, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(self.number.0).bytes(&self.address.0);
        writer.bytes(&self.name.0);
        writer.u32(self.config.0).u32(self.state.0);
        writer.u32(self.current.0).u32(self.advertised.0);
        writer.u32(self.supported.0).u32(self.peer.0);
    }
}
