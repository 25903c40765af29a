//! Ports and what they carried (OF10 sections 5.2.1 and 5.3.5).

use super::super::statistics::{PortStatistics, QueueStatistics};
use super::super::{PortConfig, PortDescription, PortFeatures, PortNumber, PortState};
use crate::openflow::{self, multipart};

/// What version 1.3 puts before the last two bytes of a number that has a meaning of
/// its own.
const RESERVED: u32 = 0xffff_0000;

/// What both versions know of a port's rate, by the same bits.
const COMMON_RATES: u32 = 0x7f;

impl PortNumber {
    /// Returns the number by which version 1.3 names the same.
    #[must_use]
    pub const fn to_of13(self) -> openflow::PortNumber {
        // `u32::from` is not const.
        let number = self.0 as u32;
        openflow::PortNumber(match self.0 >= Self::MAX.0 {
            true => RESERVED | number,
            false => number,
        })
    }

    /// Returns the number of a port that version 1.3 names so, unless it is beyond what
    /// this version can name.
    #[must_use]
    pub fn from_of13(wide: openflow::PortNumber) -> Option<Self> {
        let narrow = Self(u16::try_from(wide.0 & 0xffff).expect("two bytes"));
        (narrow.to_of13() == wide).then_some(narrow)
    }
}

impl PortConfig {
    /// What both versions know of a port's configuration, by the same bits.
    pub const COMMON: Self = Self::PORT_DOWN
        .with(Self::NO_RECEIVE)
        .with(Self::NO_FORWARD)
        .with(Self::NO_PACKET_IN);
}

impl PortDescription {
    /// Takes over what both versions say of a port by the same bits: its name, whether
    /// it is switched off, whether its link is down.
    #[must_use]
    pub fn to_of13(&self) -> openflow::PortDescription {
        let config = self.config.0 & PortConfig::PORT_DOWN.0;
        let state = self.state.0 & PortState::LINK_DOWN.0;
        openflow::PortDescription {
            config: openflow::PortConfig(config),
            state: openflow::PortState(state),
            ..openflow::PortDescription::new(self.number.to_of13(), self.address, self.name)
        }
    }

    /// Returns what version 1.0 can say of a port; nothing if its number is too large.
    /// Whether it is left out of floods has no name in version 1.3, and the same bit.
    #[must_use]
    pub fn from_of13(wide: &openflow::PortDescription) -> Option<Self> {
        let down = wide.state.contains(openflow::PortState::LINK_DOWN);
        let config = PortConfig::COMMON.with(PortConfig::NO_FLOOD);
        Some(Self {
            number: PortNumber::from_of13(wide.number)?,
            address: wide.address,
            name: wide.name,
            config: PortConfig(wide.config.0 & config.0),
            state: match down {
                true => PortState::LINK_DOWN,
                false => PortState::NONE,
            },
            current: features(wide.current),
            advertised: features(wide.advertised),
            supported: features(wide.supported),
            peer: features(wide.peer),
        })
    }
}

fn features(wide: openflow::PortFeatures) -> PortFeatures {
    use openflow::PortFeatures as Wide;
    let renamed = [
        (Wide::COPPER, PortFeatures::COPPER),
        (Wide::FIBER, PortFeatures::FIBER),
        (Wide::AUTONEGOTIATION, PortFeatures::AUTONEGOTIATION),
        (Wide::PAUSE, PortFeatures::PAUSE),
        (Wide::PAUSE_ASYMMETRIC, PortFeatures::PAUSE_ASYMMETRIC),
    ];
    let rates = PortFeatures(wide.0 & COMMON_RATES);
    let present = renamed.iter().filter(|(name, _)| wide.contains(*name));
    present.fold(rates, |all, (_, narrow)| all.with(*narrow))
}

impl PortStatistics {
    /// Returns what version 1.0 can say of what a port carried; nothing if its number is
    /// too large.
    #[must_use]
    pub fn from_of13(wide: &multipart::PortStatistics) -> Option<Self> {
        Some(Self {
            port: PortNumber::from_of13(wide.port)?,
            received_packets: wide.received_packets,
            sent_packets: wide.sent_packets,
            received_bytes: wide.received_bytes,
            sent_bytes: wide.sent_bytes,
            received_dropped: wide.received_dropped,
            sent_dropped: wide.sent_dropped,
            received_errors: wide.received_errors,
            sent_errors: wide.sent_errors,
            frame_errors: wide.frame_errors,
            overrun_errors: wide.overrun_errors,
            crc_errors: wide.crc_errors,
            collisions: wide.collisions,
        })
    }
}

impl QueueStatistics {
    /// Returns what version 1.0 can say of what a queue carried; nothing if the number of
    /// its port is too large.
    #[must_use]
    pub fn from_of13(wide: &multipart::QueueStatistics) -> Option<Self> {
        Some(Self {
            port: PortNumber::from_of13(wide.port)?,
            queue: wide.queue,
            sent_bytes: wide.sent_bytes,
            sent_packets: wide.sent_packets,
            sent_errors: wide.sent_errors,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reserved_number_has_its_namesake_in_version_1_3() {
        for (narrow, wide) in [
            (PortNumber(1), openflow::PortNumber(1)),
            (PortNumber(0xfeff), openflow::PortNumber(0xfeff)),
            (PortNumber::IN_PORT, openflow::PortNumber::IN_PORT),
            (PortNumber::TABLE, openflow::PortNumber::TABLE),
            (PortNumber::NORMAL, openflow::PortNumber::NORMAL),
            (PortNumber::FLOOD, openflow::PortNumber::FLOOD),
            (PortNumber::ALL, openflow::PortNumber::ALL),
            (PortNumber::CONTROLLER, openflow::PortNumber::CONTROLLER),
            (PortNumber::LOCAL, openflow::PortNumber::LOCAL),
            (PortNumber::NONE, openflow::PortNumber::ANY),
        ] {
            assert_eq!(narrow.to_of13(), wide);
            assert_eq!(PortNumber::from_of13(wide), Some(narrow));
        }
    }

    #[test]
    fn a_port_with_a_large_number_has_no_name_in_this_version() {
        for wide in [0xff00, 0xffff, 0x1_0001, 0xffff_0001] {
            assert_eq!(PortNumber::from_of13(openflow::PortNumber(wide)), None);
        }
    }
}
