//! What a switch does with frames when nobody tells it otherwise: the reserved
//! port `NORMAL` (OF13 clause 4.5), and every frame while no controller is there
//! if the switch is to stand alone then (OF13 clause 6.3.2).
//!
//! A bridge that learns: a frame goes to the port behind which its destination
//! was heard, in its VLAN, and to all ports if it was not heard or the
//! destination is a group; never back to where it came from. Frames that are
//! meant for the next bridge only go no further.
//!
//! Sources: IEEE 802.1Q clauses 8.6.3 (reserved addresses), 8.7 and 8.8.

use units::Instant;

use crate::egress::Egress;
use crate::mac_table::Station;
use crate::packet::Packet;
use crate::packet_key::{VLAN_PRESENT, field};

/// The first of the addresses that a bridge keeps to its own link, and how many
/// there are: IEEE 802.1Q table 8-1.
const LINK_ONLY: (u64, u64) = (0x0180_c200_0000, 16);
/// Set in the address of a group of stations.
const GROUP: u64 = 1 << 40;

impl Egress {
    /// Treats a frame like a bridge.
    pub(crate) fn bridge(&mut self, now: Instant, packet: &mut Packet) {
        packet.refresh(&self.pool);
        let tag = packet.key.get(field::VLAN_VID) & !VLAN_PRESENT;
        let vlan = u16::try_from(tag).expect("twelve bits");
        let source = packet.key.get(field::ETH_SRC);
        let destination = packet.key.get(field::ETH_DST);
        if let Some(port) = packet.port
            && source & GROUP == 0
        {
            self.stations.learn(now, Station::new(vlan, source), port);
        }
        if destination.wrapping_sub(LINK_ONLY.0) < LINK_ONLY.1 {
            return;
        }
        let known = match destination & GROUP {
            0 => self.stations.find(now, Station::new(vlan, destination)),
            _ => None,
        };
        match known {
            Some(port) if packet.port == Some(port) => {}
            Some(port) => self.send(now, packet, port),
            None => self.flood(now, packet),
        }
    }
}
