//! One port of a switch on its interface, with the frame that is being sent.
//!
//! The core says when a transmission begins and when its last bit leaves; the
//! interface takes a frame in no time at all. So a paced frame is held for as
//! long as its bits would take, and handed over when the last would have left.

use switch::{FRAME_BYTES_MAX, Link, QUEUES, QueueTally, Stay, Unreceived};
use units::Instant;
use wire::openflow::PortNumber;

use crate::interface::Carrier;
use crate::port::{Port, Sent};

/// A port in its place.
#[derive(Debug)]
pub struct PortBinding {
    pub(super) number: PortNumber,
    pub(super) port: Port,
    /// Its place in the carrier watch.
    pub(super) watched: usize,
    pub(super) link: Link,
    held: Vec<u8>,
    held_queue: u8,
    stay: Option<Stay>,
    departs: Instant,
    pub(super) counters: PortBindingCounters,
    /// What of those the core was told.
    told: Unreceived,
    /// How many frames the next batch has at most.
    pub(super) batch: usize,
    /// When the ring was last found empty.
    pub(super) empty: Instant,
}

/// When the kernel gets what a frame sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handing {
    AtOnce,
    /// Together with what the next frame sends, which waits already.
    Together,
}

/// A frame that is leaving.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving<'a> {
    /// The queue of the port through which it goes.
    pub(super) queue: u8,
    pub(super) bytes: &'a [u8],
    /// When its last bit leaves.
    pub(super) departs: Instant,
    /// Since when it is in the switch.
    pub(super) stay: Stay,
}

/// What went through a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortBindingCounters {
    pub received: u64,
    pub sent: u64,
    /// Frames that the interface did not take: its link was down.
    pub refused: u64,
    /// Frames that were longer than a port carries; dropped.
    pub oversized: u64,
    /// Frames that came while the ring was full; dropped by the kernel.
    pub lost: u64,
}

impl PortBinding {
    /// Plugs `port` in as number `number`; its carrier is the `watched`th of the
    /// carrier watch.
    #[must_use]
    pub fn new(number: PortNumber, port: Port, watched: usize) -> Self {
        Self {
            number,
            port,
            watched,
            link: Link::Up,
            held: Vec::with_capacity(FRAME_BYTES_MAX),
            held_queue: 0,
            stay: None,
            departs: Instant::FAR_FUTURE,
            counters: PortBindingCounters::default(),
            told: Unreceived::default(),
            batch: 1,
            empty: Instant::ZERO,
        }
    }

    /// Takes a frame whose last bit leaves at `departs`, while none is held. One
    /// that is due already goes now.
    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        frame: Leaving<'_>,
        handing: Handing,
    ) -> Option<Stay> {
        let Leaving {
            queue,
            bytes,
            departs,
            stay,
        } = frame;
        if departs <= now {
            let sent = match handing {
                Handing::AtOnce => {
                    self.flush();
                    self.port.send(queue, bytes)
                }
                Handing::Together => self.port.enqueue(queue, bytes),
            };
            Self::note(&mut self.counters, sent);
            return Some(stay);
        }
        self.held.extend_from_slice(bytes);
        self.held_queue = queue;
        self.stay = Some(stay);
        self.departs = departs;
        None
    }

    /// Lets the held frame go if its time has come.
    #[inline]
    pub(super) fn depart(&mut self, now: Instant) -> Option<Stay> {
        if self.departs > now {
            return None;
        }
        let stay = self.stay.take()?;
        self.flush();
        let sent = self.port.send(self.held_queue, &self.held);
        Self::note(&mut self.counters, sent);
        self.forget();
        Some(stay)
    }

    /// Returns when the held frame goes; never, if none is held.
    #[inline]
    pub(super) fn departs(&self) -> Instant {
        self.departs
    }

    /// Returns all that went through.
    pub(super) fn total(&mut self) -> PortBindingCounters {
        PortBindingCounters {
            lost: self.counters.lost + self.port.lost(),
            ..self.counters
        }
    }

    /// Returns what came and could not be received since this was last asked, if
    /// anything did.
    pub(super) fn unreceived(&mut self) -> Option<Unreceived> {
        let total = self.total();
        let now = Unreceived {
            oversized: total.oversized,
            overrun: total.lost,
        };
        let before = std::mem::replace(&mut self.told, now);
        let more = Unreceived {
            oversized: now.oversized - before.oversized,
            overrun: now.overrun - before.overrun,
        };
        (more != Unreceived::default()).then_some(more)
    }

    /// Asks the kernel what its queues have carried and lost, if it has any here.
    pub(super) fn read_queues(&mut self) -> Option<[QueueTally; QUEUES]> {
        match &mut self.port {
            Port::Kernel(port) => port.read_queues(),
            Port::Packet(_) | Port::Xdp(_) => None,
        }
    }

    /// Is on another interface from now on. Returns the way to the former one.
    pub(super) fn replace(&mut self, port: Port) -> Port {
        self.forget();
        let mut former = std::mem::replace(&mut self.port, port);
        self.counters.lost += former.lost();
        former
    }

    /// Has a port that is down wake nobody up for being so.
    pub(super) fn calm(&self) {
        if self.link == Link::Down {
            self.port.take_error();
        }
    }

    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.stay = None;
        self.departs = Instant::FAR_FUTURE;
    }

    /// Returns the link as the carrier shows it, if that is a change.
    pub(super) fn change(&mut self, carrier: Carrier) -> Option<Link> {
        let link = match carrier {
            Carrier::Present => Link::Up,
            Carrier::Lost => Link::Down,
        };
        (std::mem::replace(&mut self.link, link) != link).then_some(link)
    }

    /// Hands the kernel what was kept to be sent together.
    #[inline]
    pub(super) fn flush(&mut self) {
        let dropped = self.port.flush();
        self.counters.sent -= dropped;
        self.counters.refused += dropped;
    }

    fn note(counters: &mut PortBindingCounters, sent: Sent) {
        match sent {
            Sent::Taken => counters.sent += 1,
            Sent::Dropped => counters.refused += 1,
        }
    }
}
