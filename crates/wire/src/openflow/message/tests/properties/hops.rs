//! Messages about how long frames stay, and about sessions of BFD, of arbitrary numbers.

use units::{Duration, Instant};

use super::{Message, Seeds};
use crate::bfd::{Encapsulation, SessionConfig};
use crate::openflow::taktos::{
    BfdConfig, HopConfig, HopEvent, HopMessage, PortSession, WatchedQueue,
};
use crate::openflow::{Cookie, PortNumber, QueueId, Sequence, TableId};

/// Calls `visit` with every message about how long frames stay.
pub(super) fn visit(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let mut say = |message: HopMessage<'_>| visit(&Message::Hop(message));
    let queue = |budget| WatchedQueue {
        port: PortNumber(seeds.u32(0)),
        queue: QueueId(seeds.u32(1)),
        budget,
    };
    let queues = [None, Some(Duration::from_ns(u64::from(seeds.u32(2))))].map(queue);
    for queues in [Sequence::EMPTY, Sequence::of(&queues)] {
        say(HopMessage::Config(HopConfig { queues }));
    }
    say(HopMessage::Event(HopEvent {
        table: TableId(seeds.u8(3)),
        priority: seeds.u16(4),
        unsaid: seeds.u32(5),
        cookie: Cookie(seeds.u64(6)),
        port: PortNumber(seeds.u32(7)),
        queue: QueueId(seeds.u32(8)),
        budget: Duration::from_ns(seeds.u64(9)),
        longest: Duration::from_ns(seeds.u64(10)),
        frames: seeds.u64(11),
        at: Instant::from_ns(seeds.u64(12)),
    }));
    visit_sessions(seeds, visit);
}

fn visit_sessions(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let session = PortSession {
        port: PortNumber(seeds.u32(0)),
        session: SessionConfig {
            encapsulation: Encapsulation::Ethernet,
            desired_min_tx_us: seeds.u32(1),
            required_min_rx_us: seeds.u32(2),
            detect_multiplier: seeds.u8(3),
            heart_beat_us: seeds.u16(4).into(),
            authentication: None,
        },
    };
    let sessions = [session; 2];
    for sessions in [Sequence::EMPTY, Sequence::of(&sessions)] {
        visit(&Message::Bfd(BfdConfig { sessions }));
    }
}
