//! Probes that find the links between switches.
//!
//! A probe is an LLDP frame that names the port by which it leaves. The
//! controller has it sent by a packet-out; the switch at the other end of the
//! link hands it back, and the packet-in names the port where it arrived. Any
//! other neighbour never forwards it (IEEE 802.1AB-2016 clause 7.1).
//!
//! With a key, a probe carries a tag that only its holder can compute: SipHash
//! over the port's name. A host that forges probes then makes no links.

use wire::ethernet::MacAddress;
use wire::lldp::{Lldp, Origin};
use wire::openflow::{Action, Actions, BufferId, PacketOut, PortNumber, QueueId, TransactionId};

use crate::place::PortId;
use crate::siphash::siphash_2_4;

/// How long a neighbour that keeps what LLDP tells may believe a probe.
const TIME_TO_LIVE_S: u16 = 10;

/// Makes probes and recognises them.
#[derive(Clone, Debug)]
pub struct Prober {
    key: Option<[u8; 16]>,
    /// The frame that is sent; kept for its memory.
    frame: Vec<u8>,
}

impl Prober {
    /// Makes probes with or without a key.
    #[must_use]
    pub const fn new(key: Option<[u8; 16]>) -> Self {
        Self {
            key,
            frame: Vec::new(),
        }
    }

    /// Appends the order to send a probe from a port with this address, by the
    /// queue of `class`.
    pub fn emit(&mut self, port: PortId, mac: MacAddress, class: u8, out: &mut Vec<u8>) {
        let origin = Origin {
            datapath: port.datapath,
            port: port.port,
            tag: self.tag(port),
        };
        self.frame.clear();
        origin.emit_frame(mac, TIME_TO_LIVE_S, &mut self.frame);
        let actions = [
            Action::SetQueue(QueueId(u32::from(class))),
            Action::output(port.port),
        ];
        let packet_out = PacketOut {
            buffer: BufferId::NONE,
            in_port: PortNumber::CONTROLLER,
            actions: Actions::of(&actions),
            data: &self.frame,
        };
        packet_out.emit(TransactionId(0), out);
    }

    /// Returns the port by which a probe left, or `None` if what stands behind
    /// the header of an LLDP frame is no probe of ours.
    #[must_use]
    pub fn origin(&self, payload: &[u8]) -> Option<PortId> {
        let origin = Lldp::parse(payload).ok()?.origin?;
        let port = PortId::new(origin.datapath, origin.port);
        let is_ours = self.key.is_none() || origin.tag == self.tag(port);
        is_ours.then_some(port)
    }

    fn tag(&self, port: PortId) -> Option<u64> {
        let key = self.key?;
        let mut name = [0; 12];
        name[..8].copy_from_slice(&port.datapath.0.to_be_bytes());
        name[8..].copy_from_slice(&port.port.0.to_be_bytes());
        Some(siphash_2_4(key, &name))
    }
}

#[cfg(test)]
mod tests {
    use wire::ethernet::Header;
    use wire::openflow::{DatapathId, Message};

    use super::*;

    const KEY: [u8; 16] = [7; 16];

    #[test]
    fn a_probe_names_the_port_by_which_it_left() {
        let mut prober = Prober::new(None);

        let frame = probe(&mut prober);

        assert_eq!(prober.origin(&frame), Some(port()));
    }

    #[test]
    fn a_probe_without_the_key_is_not_believed() {
        let forged = probe(&mut Prober::new(None));
        let mistaken = probe(&mut Prober::new(Some([8; 16])));
        let mut prober = Prober::new(Some(KEY));
        let own = probe(&mut prober);

        assert_eq!(prober.origin(&forged), None);
        assert_eq!(prober.origin(&mistaken), None);
        assert_eq!(prober.origin(&own), Some(port()));
    }

    fn probe(prober: &mut Prober) -> Vec<u8> {
        let mut out = Vec::new();
        prober.emit(port(), MacAddress([2; 6]), 7, &mut out);
        match Message::parse(&out).unwrap().1 {
            Message::PacketOut(packet_out) => {
                let (_, payload) = Header::parse(packet_out.data).unwrap();
                payload.to_vec()
            }
            other => panic!("{other:?}"),
        }
    }

    fn port() -> PortId {
        PortId::new(DatapathId(0x1_0000_0002), PortNumber(3))
    }
}
