//! The way of a frame through an emulated device, up to the queue of its port.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, Instant};
use wire::openflow::PortNumber;

use super::{Behaviour, Dice};

/// What becomes of a frame that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The device is done with it at this time.
    Ready(Instant),
    NoRoom,
    /// It was lost for no reason that is seen from outside.
    Lost,
}

/// Decides about frames. Knows their times, not the frames.
#[derive(Clone, Debug)]
pub struct ProcessingQueue {
    behaviour: Behaviour,
    dice: Dice,
    /// When the shared stage is done with each frame that waits for it or is in it.
    occupied: VecDeque<Instant>,
    ports: BTreeMap<PortNumber, Port>,
}

/// What is known of a port.
#[derive(Clone, Copy, Debug)]
struct Port {
    /// When the last frame came.
    arrived: Instant,
    /// When it was done: a frame never overtakes one that came in ahead of it.
    ready: Instant,
}

impl ProcessingQueue {
    /// Returns the stage of an idle device.
    #[must_use]
    pub fn new(behaviour: Behaviour, dice: Dice) -> Self {
        Self {
            behaviour,
            dice,
            occupied: VecDeque::new(),
            ports: BTreeMap::new(),
        }
    }

    /// Decides about a frame of so many bytes whose last bit arrived at `port`.
    pub fn arrive(&mut self, now: Instant, port: PortNumber, bytes: usize) -> Fate {
        while self.occupied.front().is_some_and(|done| *done <= now) {
            self.occupied.pop_front();
        }
        if self.dice.happens(self.behaviour.loss_ppm) {
            return Fate::Lost;
        }
        if self.occupied.len() >= self.behaviour.capacity {
            return Fate::NoRoom;
        }
        let before = self.ports.get(&port).copied();
        let gap = before.map_or(Duration::from_ns(u64::MAX), |port| now - port.arrived);
        let begins = self.occupied.back().copied().unwrap_or(now).max(now);
        let done = begins + self.behaviour.occupancy(bytes).round_up();
        let hold = self.behaviour.hold(bytes, gap, self.dice.per_million());
        let earliest = before.map_or(Instant::ZERO, |port| port.ready);
        let ready = (begins + hold.round_up()).max(done).max(earliest);
        if done > now {
            self.occupied.push_back(done);
        }
        let arrived = now;
        self.ports.insert(port, Port { arrived, ready });
        Fate::Ready(ready)
    }

    /// Forgets all frames: the device crashed.
    pub fn clear(&mut self) {
        self.occupied.clear();
        self.ports.clear();
    }

    /// Returns how long the device takes this time to notice that a port has lost its
    /// carrier, if its profile says so.
    pub fn notice_loss(&mut self) -> Option<Duration> {
        let spread = self.behaviour.link_down.as_ref()?;
        Some(self.dice.draw(spread).round_up())
    }
}
