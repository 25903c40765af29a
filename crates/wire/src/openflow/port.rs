//! A port of a switch (OF13 clause 7.2.1).

use std::fmt;

use super::{DecodeError, Element, PortNumber};
use crate::ethernet::MacAddress;
use crate::reader::Reader;
use crate::writer::Writer;

const NAME_LENGTH: usize = 16;

flags! {
    /// What the controller set at a port (`ofp_port_config`).
    pub struct PortConfig: u32 {
        /// The port is switched off.
        PORT_DOWN = 1 << 0;
        /// Drops every frame that arrives.
        NO_RECEIVE = 1 << 2;
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
        /// The port would close a loop.
        BLOCKED = 1 << 1;
        /// The port is alive for a group that watches it.
        LIVE = 1 << 2;
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
        /// 40 Gbit/s, full duplex.
        GBPS_40_FULL = 1 << 7;
        /// 100 Gbit/s, full duplex.
        GBPS_100_FULL = 1 << 8;
        /// 1 Tbit/s, full duplex.
        TBPS_1_FULL = 1 << 9;
        /// Another rate; the description says which.
        OTHER = 1 << 10;
        /// Copper.
        COPPER = 1 << 11;
        /// Fibre.
        FIBER = 1 << 12;
        /// Negotiates by itself.
        AUTONEGOTIATION = 1 << 13;
        /// Can be paused.
        PAUSE = 1 << 14;
        /// Can be paused in one direction.
        PAUSE_ASYMMETRIC = 1 << 15;
    }
}

/// The name of a port: at most 15 bytes and a zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortName(pub(crate) [u8; NAME_LENGTH]);

impl PortName {
    /// Returns the name, cut off if it is too long.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut end = name.len().min(NAME_LENGTH - 1);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        let mut bytes = [0; NAME_LENGTH];
        bytes[..end].copy_from_slice(&name.as_bytes()[..end]);
        Self(bytes)
    }

    /// Returns the name as text, as far as it is text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0);
        let bytes = &self.0[..end.unwrap_or(NAME_LENGTH)];
        match str::from_utf8(bytes) {
            Ok(name) => name,
            Err(error) => str::from_utf8(&bytes[..error.valid_up_to()])
                .expect("the bytes before the first bad one are text"),
        }
    }
}

impl fmt::Debug for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Describes a port (`ofp_port`).
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
    /// The rate in use in kbit/s.
    pub current_speed_kbps: u32,
    /// The highest rate in kbit/s.
    pub max_speed_kbps: u32,
}

impl PortDescription {
    /// Returns a port about which nothing else is known.
    #[must_use]
    pub fn new(number: PortNumber, address: MacAddress, name: PortName) -> Self {
        Self {
            number,
            address,
            name,
            config: PortConfig::NONE,
            state: PortState::NONE,
            current: PortFeatures::NONE,
            advertised: PortFeatures::NONE,
            supported: PortFeatures::NONE,
            peer: PortFeatures::NONE,
            current_speed_kbps: 0,
            max_speed_kbps: 0,
        }
    }

    /// Tells whether the port is switched on and has a link.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        !self.config.contains(PortConfig::PORT_DOWN) && !self.state.contains(PortState::LINK_DOWN)
    }
}

impl<'a> Element<'a> for PortDescription {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let number = PortNumber(reader.u32()?);
        reader.skip(4)?;
        let address = MacAddress(reader.array()?);
        reader.skip(2)?;
        let port = Self {
            number,
            address,
            name: PortName(reader.array()?),
            config: PortConfig(reader.u32()?),
            state: PortState(reader.u32()?),
            current: PortFeatures(reader.u32()?),
            advertised: PortFeatures(reader.u32()?),
            supported: PortFeatures(reader.u32()?),
            peer: PortFeatures(reader.u32()?),
            current_speed_kbps: reader.u32()?,
            max_speed_kbps: reader.u32()?,
        };
        Ok((port, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.number.0).zeros::<4>();
        writer.bytes(&self.address.0).zeros::<2>();
        writer.bytes(&self.name.0);
        writer.u32(self.config.0).u32(self.state.0);
        writer.u32(self.current.0).u32(self.advertised.0);
        writer.u32(self.supported.0).u32(self.peer.0);
        writer.u32(self.current_speed_kbps).u32(self.max_speed_kbps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_cut_between_characters() {
        assert_eq!(PortName::new("s1-eth0").as_str(), "s1-eth0");
        assert_eq!(
            PortName::new("0123456789abcdefgh").as_str(),
            "0123456789abcde"
        );
        assert_eq!(PortName::new("0123456789abcdé").as_str(), "0123456789abcd");
    }

    #[test]
    fn a_name_from_outside_may_be_anything() {
        assert_eq!(PortName([0xff; 16]).as_str(), "");
        assert_eq!(PortName(*b"0123456789abcdef").as_str(), "0123456789abcdef");
    }
}
