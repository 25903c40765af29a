//! Takes down when messages of many packets (S2-1) leave their hosts, leave switches
//! and arrive.
//!
//! A message is known by the UDP port that it goes to, by its number and by its size
//! (S2-2), so flows have ports of their own.

use std::collections::BTreeMap;

use units::Instant;
use wire::ethernet::{EtherType, Header};
use wire::message_shim::MessageShim;
use wire::{ipv4, udp};

/// A message of a flow: its number and its size in bytes.
pub type MessageId = (u32, u32);

/// What is known of messages.
#[derive(Clone, Debug, Default)]
pub struct MessageWatch {
    messages: BTreeMap<(u16, MessageId), Passage>,
    /// By switch and UDP port, when the last frame began to leave.
    departures: BTreeMap<(usize, u16), Instant>,
}

/// What is known of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When its first packet began to leave the host.
    pub left: Instant,
    /// When the last packet so far arrived.
    pub arrived: Option<Instant>,
    /// Bytes of the whole message.
    pub size_bytes: u32,
    pub arrived_bytes: u64,
}

impl Passage {
    /// Tells whether all of it has arrived.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.arrived_bytes >= self.size_bytes as u64
    }
}

impl MessageWatch {
    /// Returns the messages of the flow to a UDP port, by number.
    pub fn messages(&self, port: u16) -> impl Iterator<Item = (MessageId, &Passage)> {
        let all = (port, (0, 0))..=(port, (u32::MAX, u32::MAX));
        let of_flow = self.messages.range(all);
        of_flow.map(|((_, message), passage)| (*message, passage))
    }

    /// Returns when a frame of one of these flows last began to leave any switch.
    #[must_use]
    pub fn last_departure(&self, ports: &[u16]) -> Option<Instant> {
        let of_flows = self.departures.iter();
        let of_flows = of_flows.filter(|((_, port), _)| ports.contains(port));
        of_flows.map(|(_, at)| *at).max()
    }

    /// Takes down that a frame begins to leave a host.
    pub fn leaves_host(&mut self, now: Instant, frame: &[u8]) {
        let Some(view) = view(frame) else { return };
        let id = (view.port, (view.shim.message, view.shim.size_bytes));
        self.messages.entry(id).or_insert(Passage {
            left: now,
            arrived: None,
            size_bytes: view.shim.size_bytes,
            arrived_bytes: 0,
        });
    }

    /// Takes down that a frame begins to leave a switch.
    pub fn leaves_switch(&mut self, now: Instant, switch: usize, frame: &[u8]) {
        if let Some(view) = view(frame) {
            self.departures.insert((switch, view.port), now);
        }
    }

    /// Takes down that a frame has arrived at a host.
    pub fn arrived(&mut self, now: Instant, frame: &[u8]) {
        let Some(view) = view(frame) else { return };
        let id = (view.port, (view.shim.message, view.shim.size_bytes));
        if let Some(passage) = self.messages.get_mut(&id) {
            passage.arrived = Some(now);
            passage.arrived_bytes += view.carried_bytes;
        }
    }
}

/// A packet of a message.
#[derive(Clone, Copy, Debug)]
struct View {
    port: u16,
    shim: MessageShim,
    carried_bytes: u64,
}

fn view(frame: &[u8]) -> Option<View> {
    let (header, packet) = Header::parse(frame).ok()?;
    if header.ether_type != EtherType::IPV4 {
        return None;
    }
    let (ip, datagram) = ipv4::Header::parse(packet).ok()?;
    if ip.protocol != ipv4::PROTOCOL_UDP {
        return None;
    }
    let (udp, payload) = udp::Header::parse(datagram).ok()?;
    let (shim, carried) = MessageShim::parse(payload).ok()?;
    Some(View {
        port: udp.destination_port,
        shim,
        carried_bytes: carried.len() as u64,
    })
}
