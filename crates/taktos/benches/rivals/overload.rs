//! How long sparse frames of the most urgent class take while every lower class is
//! overloaded.
//!
//! The port towards the right host has a rate. A frame on its way is finished, so
//! that an urgent one waits for one long frame at most: that is what scheduling
//! without preemption costs, and what goes beyond is the switch's.

use std::fmt;
use std::io;

use linux::clock;
use linux::port::PacketPort;
use measure::statistics::Distribution;
use units::{BitRate, Duration, Instant, Seeded};
use wire::ethernet::wire_size;

use crate::disturbance::Watch;
use crate::latency::{Capture, Flight, Slot};
use crate::running::Running;
use crate::traffic::{self, LOADED_QUEUES};
use lab::stage::{LEFT, Testbed};

/// The rate of the port.
pub const RATE: BitRate = BitRate::from_mbps(100);
/// What is offered to a class that is overloaded.
pub const OFFERED: BitRate = BitRate::from_mbps(114);
/// The longest frame, without check sequence.
const LOAD_BYTES: usize = 1514;
const CHECK_SEQUENCE_BYTES: usize = 4;
/// The shortest frame, with check sequence.
const URGENT_BYTES: usize = 64;
const SENDER_BYTES: usize = 1 << 16;
/// How far apart urgent frames are at least, and how much more at most: they meet a
/// long frame at every moment of its way.
const SPACING: Duration = Duration::from_us(400);
const SPREAD_NS: u64 = 200_000;
/// How long the load is there before anybody measures.
const RISE: Duration = Duration::from_ms(100);
const DRAIN: Duration = Duration::from_ms(20);
/// All subjects meet the same frames at the same times.
const SEED: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overload {
    LowestClass,
    /// All but the most urgent one, each of them by itself.
    EveryLowerClass,
}

impl Overload {
    pub const ALL: [Self; 2] = [Self::LowestClass, Self::EveryLowerClass];

    fn queues(self) -> std::ops::Range<u8> {
        match self {
            Self::LowestClass => LOADED_QUEUES.start..LOADED_QUEUES.start + 1,
            Self::EveryLowerClass => LOADED_QUEUES,
        }
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LowestClass => write!(f, "{OFFERED} into the lowest class"),
            Self::EveryLowerClass => {
                write!(f, "{OFFERED} into each of the seven lower classes")
            }
        }
    }
}

/// Returns for how long one frame of the load keeps the port.
pub fn blocking() -> Duration {
    RATE.time_to_send(wire_size(LOAD_BYTES)).round_up()
}

/// Sends `frames` urgent frames beside the load.
pub fn measure(
    stage: &Testbed,
    running: &Running,
    overload: Overload,
    frames: usize,
) -> io::Result<Slot> {
    let mut bench = Bench::open(stage, overload)?;
    bench.send_load_for(RISE);
    let watch = Watch::start(running);
    bench.measure(frames)?;
    let disturbance = watch.finish(running, bench.late);
    Ok(Slot::of(&bench.flights, disturbance))
}

struct Bench {
    capture: Capture,
    sender: PacketPort,
    load: Vec<Vec<u8>>,
    spacing: Duration,
    /// When the next one is due.
    due: Instant,
    flights: Vec<Flight>,
    late: Distribution,
    random: Seeded,
}

impl Bench {
    fn open(stage: &Testbed, overload: Overload) -> io::Result<Self> {
        let left = stage.interface(LEFT);
        let size = LOAD_BYTES + CHECK_SEQUENCE_BYTES;
        Ok(Self {
            capture: Capture::open(stage, URGENT_BYTES)?,
            // Past the tap of the left host, which has enough to do.
            sender: stage.hosts[LEFT].run(|| PacketPort::open(left, SENDER_BYTES))?,
            load: overload
                .queues()
                .map(|queue| traffic::load(queue, size))
                .collect(),
            spacing: OFFERED.time_to_send(wire_size(LOAD_BYTES)).round_up(),
            due: clock::now(),
            flights: Vec::new(),
            late: Distribution::default(),
            random: Seeded::new(SEED),
        })
    }

    fn send_load_for(&mut self, time: Duration) {
        self.send_load_until(clock::now() + time);
    }

    /// Sends a frame to each overloaded queue whenever they are due, until `end`.
    fn send_load_until(&mut self, end: Instant) {
        while self.due < end {
            clock::sleep_until(self.due);
            let now = clock::now();
            self.late.record(now.saturating_since(self.due));
            for frame in &self.load {
                self.sender.send(frame);
            }
            // What was missed while the machine stood still is not made up for.
            self.due = (self.due + self.spacing).max(now);
            self.capture.note(&mut self.flights);
        }
        clock::sleep_until(end);
    }

    fn measure(&mut self, frames: usize) -> io::Result<()> {
        self.flights = vec![Flight::default(); frames];
        let mut due = clock::now() + SPACING;
        for number in 0..frames {
            self.send_load_until(due);
            self.capture.send(number)?;
            due += SPACING + Duration::from_ns(self.random.below(SPREAD_NS));
        }
        self.send_load_for(DRAIN);
        Ok(())
    }
}
