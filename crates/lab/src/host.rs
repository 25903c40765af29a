//! A host as traffic sees it: the interfaces through which it may be plugged in,
//! of which one is in use.

use std::io;

use linux::clock;
use linux::namespace::Namespace;
use linux::parallel;
use linux::sender::{Queued, Sender};
use linux::tap::{RING_BYTES, Tap};
use measure::unseen::{Gap, Unseen};
use units::{BitRate, Instant};

use crate::network::{LabNetwork, Place};
use crate::veth::Power;
use linux::qdisc::{self, Length, Shape};

/// The queue of what has none of its own.
const BEST_EFFORT: u8 = 0;
/// The most memory that the taps of all hosts take together.
const ALL_RINGS_BYTES: usize = 512 << 20;

/// Frames that one queue of a host holds at least before it drops.
pub const LEAST_QUEUE_FRAMES: u32 = 512;

/// Returns how a host paces a link of this rate, each queue of which has to hold so many
/// frames.
pub(crate) fn shape(rate: BitRate, frames: u32) -> Shape {
    Shape {
        rate,
        length: Length::Frames(frames.max(LEAST_QUEUE_FRAMES)),
    }
}

#[derive(Debug)]
pub struct LabHost {
    pub(crate) sockets: Vec<HostSocket>,
    /// The place of the socket in use.
    active: usize,
}

/// One interface of a host.
#[derive(Debug)]
pub(crate) struct HostSocket {
    /// The cable in the network's list.
    pub(crate) cable: usize,
    pub(crate) tap: Tap,
    sender: Sender,
    /// The stamp of the last frame that was read.
    seen_until: Instant,
    /// How many frames the tap had missed then.
    missed: u64,
    unseen: Unseen,
}

impl LabHost {
    /// Opens the interfaces of every host of the network.
    ///
    /// # Errors
    ///
    /// Without the privilege or the memory.
    pub(crate) fn open_all(network: &LabNetwork) -> io::Result<Vec<Self>> {
        let places = network.cables.iter().flat_map(|cable| &cable.sockets);
        let interfaces = places
            .filter(|socket| matches!(socket.place, Place::Host(_)))
            .count();
        let ring_bytes = RING_BYTES.min(ALL_RINGS_BYTES / interfaces.max(1));
        parallel::each(&network.hosts, |host, room| {
            Self::open(network, (host, room), ring_bytes)
        })
    }

    fn open(
        network: &LabNetwork,
        (host, room): (usize, &Namespace),
        ring_bytes: usize,
    ) -> io::Result<Self> {
        let (mut sockets, mut active) = (Vec::new(), 0);
        for (number, cable) in network.cables.iter().enumerate() {
            for socket in cable
                .sockets
                .iter()
                .filter(|socket| socket.place == Place::Host(host))
            {
                if cable.power() == Power::On {
                    active = sockets.len();
                }
                let index = socket.interface.index();
                sockets.push(room.run(|| HostSocket::open(number, index, ring_bytes))?);
            }
        }
        Ok(Self { sockets, active })
    }

    /// Sends a frame through queue `queue` of the interface in use.
    ///
    /// # Errors
    ///
    /// If the interface is of no use; never for a full queue or a cut cable.
    pub(crate) fn send(&mut self, queue: u8, frame: &[u8]) -> io::Result<Queued> {
        match self.sockets.get_mut(self.active) {
            Some(socket) => socket.sender.send_through(qdisc::class(queue), frame),
            None => Ok(Queued::Down),
        }
    }

    /// From now on the host sends through its end of `cable`.
    pub(crate) fn plug_into(&mut self, cable: usize) {
        if let Some(n) = self.sockets.iter().position(|socket| socket.cable == cable) {
            self.active = n;
        }
    }
}

impl HostSocket {
    fn open(cable: usize, index: u32, ring_bytes: usize) -> io::Result<Self> {
        Ok(Self {
            cable,
            tap: Tap::open(index, ring_bytes)?,
            sender: Sender::open(index, qdisc::class(BEST_EFFORT))?,
            seen_until: clock::now(),
            missed: 0,
            unseen: Unseen::default(),
        })
    }

    /// Forgets what the tap has seen and missed so far.
    pub(crate) fn forget_the_past(&mut self) {
        while self.tap.take(|_| ()).is_some() {}
        (self.missed, self.seen_until) = (self.tap.lost(), clock::now());
    }

    /// Takes note that a frame was read which is stamped so.
    pub(crate) fn has_seen(&mut self, at: Instant) {
        if self.tap.is_losing() {
            self.count_missed();
        }
        self.seen_until = at;
    }

    /// Returns what the tap has missed since the past was forgotten.
    pub(crate) fn close(&mut self) -> Unseen {
        self.count_missed();
        std::mem::take(&mut self.unseen)
    }

    fn count_missed(&mut self) {
        let missed = self.tap.lost();
        self.unseen.add(Gap {
            from: self.seen_until,
            to: clock::now(),
            frames: missed.saturating_sub(self.missed),
        });
        self.missed = missed;
    }
}
