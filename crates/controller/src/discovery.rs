//! Probes that find the links between switches.
//!
//! A probe is an LLDP frame that names the port by which it leaves. The
//! controller has it sent by a packet-out; the switch at the other end of the
//! link hands it back, and the packet-in names the port where it arrived. Any
//! other neighbour never forwards it (IEEE 802.1AB-2016 clause 7.1).
//!
//! With a key, a probe carries a tag that only its holder can compute: SipHash
//! over the port's name and the time. A host that forges probes then makes no
//! links, nor does one that recorded a probe and sends it later, or to a controller
//! that was restarted with another seed. One that relays probes at once is the
//! concern of [`crate::link_trust`].
//!
//! An echo is a probe that the switch at the other end turns round by itself, by an
//! entry that it was given: it comes back to the port by which it left, whatever has
//! become of the control connection of the switch that turned it round
//! ([`crate::echoes`]).

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::lldp::{Lldp, Origin};
use wire::openflow::{Action, Actions, BufferId, PacketOut, PortNumber, QueueId, TransactionId};

use crate::place::PortId;
use wire::siphash::siphash_2_4;

/// How long a neighbour that keeps what LLDP tells may believe a probe.
const TIME_TO_LIVE_S: u16 = 10;

/// Where an echo goes: every switch has an entry for it.
pub const ECHO: MacAddress = MacAddress([0x02, 0x74, 0x6b, 0, 0, 1]);
/// Where it goes once it was turned round.
pub const ECHOED: MacAddress = MacAddress([0x02, 0x74, 0x6b, 0, 0, 2]);

/// A probe is believed in the epoch in which it was sent, and in the next one.
pub const EPOCH: Duration = Duration::from_secs(2);

/// Makes probes and recognises them.
#[derive(Clone, Debug)]
pub struct Prober {
    key: Option<[u8; 16]>,
    /// Tells this run of the controller from others.
    seed: u64,
    /// The frame that is sent; kept for its memory.
    frame: Vec<u8>,
}

impl Prober {
    /// Makes probes with or without a key.
    #[must_use]
    pub const fn new(key: Option<[u8; 16]>, seed: u64) -> Self {
        Self {
            key,
            seed,
            frame: Vec::new(),
        }
    }

    /// Appends the order to send a probe to `destination` from a port with this
    /// address, by the queue of `class`.
    pub fn emit(
        &mut self,
        now: Instant,
        (destination, port): (MacAddress, PortId),
        mac: MacAddress,
        class: u8,
        out: &mut Vec<u8>,
    ) {
        let kind = ProbeKind::of(destination);
        let origin = Origin {
            datapath: port.datapath,
            port: port.port,
            tag: self.tag(epoch(now), port, kind),
        };
        self.frame.clear();
        origin.emit_frame_to(destination, mac, TIME_TO_LIVE_S, &mut self.frame);
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

    /// Returns the port by which a probe to this address left, or `None` if what
    /// stands behind the header of an LLDP frame is no probe of ours, or one of
    /// another time.
    #[must_use]
    pub fn origin(&self, now: Instant, destination: MacAddress, payload: &[u8]) -> Option<PortId> {
        let origin = Lldp::parse(payload).ok()?.origin?;
        let port = PortId::new(origin.datapath, origin.port);
        let (epoch, kind) = (epoch(now), ProbeKind::of(destination));
        let is_ours = self.key.is_none()
            || origin.tag == self.tag(epoch, port, kind)
            || epoch > 0 && origin.tag == self.tag(epoch - 1, port, kind);
        is_ours.then_some(port)
    }

    fn tag(&self, epoch: u64, port: PortId, kind: ProbeKind) -> Option<u64> {
        let key = self.key?;
        let mut name = [0; 29];
        name[..8].copy_from_slice(&port.datapath.0.to_be_bytes());
        name[8..12].copy_from_slice(&port.port.0.to_be_bytes());
        name[12..20].copy_from_slice(&epoch.to_be_bytes());
        name[20..28].copy_from_slice(&self.seed.to_be_bytes());
        name[28] = kind as u8;
        Some(siphash_2_4(key, &name))
    }
}

/// What a probe is for: one that says where a link ends is no echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeKind {
    Link = 0,
    Echo = 1,
}

impl ProbeKind {
    fn of(destination: MacAddress) -> Self {
        match destination == ECHO || destination == ECHOED {
            true => Self::Echo,
            false => Self::Link,
        }
    }
}

fn epoch(now: Instant) -> u64 {
    now.as_ns() / EPOCH.as_ns()
}

#[cfg(test)]
mod tests {
    use wire::ethernet::Header;
    use wire::openflow::{DatapathId, Message};

    use super::*;

    const KEY: [u8; 16] = [7; 16];
    const NOW: Instant = Instant::from_ns(100_000_000_000);
    const BRIDGE: MacAddress = MacAddress::NEAREST_BRIDGE;

    #[test]
    fn a_probe_that_was_recorded_is_not_believed_later_or_in_another_run() {
        let mut prober = Prober::new(Some(KEY), 1);
        let recorded = probe(&mut prober);

        let soon = prober.origin(NOW + EPOCH, BRIDGE, &recorded);
        let later = prober.origin(NOW + EPOCH + EPOCH, BRIDGE, &recorded);
        let restarted = Prober::new(Some(KEY), 2).origin(NOW, BRIDGE, &recorded);

        assert_eq!((soon, later, restarted), (Some(port()), None, None));
    }

    #[test]
    fn a_probe_names_the_port_by_which_it_left() {
        let mut prober = Prober::new(None, 1);

        let frame = probe(&mut prober);

        assert_eq!(prober.origin(NOW, BRIDGE, &frame), Some(port()));
    }

    #[test]
    fn a_probe_without_the_key_is_not_believed() {
        let forged = probe(&mut Prober::new(None, 1));
        let mistaken = probe(&mut Prober::new(Some([8; 16]), 1));
        let mut prober = Prober::new(Some(KEY), 1);
        let own = probe(&mut prober);

        assert_eq!(prober.origin(NOW, BRIDGE, &forged), None);
        assert_eq!(prober.origin(NOW, BRIDGE, &mistaken), None);
        assert_eq!(prober.origin(NOW, BRIDGE, &own), Some(port()));
    }

    #[test]
    fn a_probe_for_a_link_is_no_echo() {
        let mut prober = Prober::new(Some(KEY), 1);
        let (probe, echo) = (probe(&mut prober), probe_to(&mut prober, ECHO));

        assert_eq!(prober.origin(NOW, ECHOED, &echo), Some(port()));
        assert_eq!(prober.origin(NOW, ECHOED, &probe), None);
        assert_eq!(prober.origin(NOW, BRIDGE, &echo), None);
    }

    fn probe(prober: &mut Prober) -> Vec<u8> {
        probe_to(prober, BRIDGE)
    }

    fn probe_to(prober: &mut Prober, destination: MacAddress) -> Vec<u8> {
        let mut out = Vec::new();
        prober.emit(NOW, (destination, port()), MacAddress([2; 6]), 7, &mut out);
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
