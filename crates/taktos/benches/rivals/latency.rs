//! One-way latency by the kernel's stamps: from where the left host's driver takes
//! a frame to where the right host's driver hands it up.

use std::io;

use linux::clock;
use linux::sender::{ClassId, Sender};
use linux::tap::{Captured, Direction, Tap};
use measure::statistics::Distribution;
use units::{Duration, Instant};

use crate::disturbance::{Disturbance, Watch};
use crate::running::Running;
use crate::traffic::{self, FLOWS};
use lab::stage::{LEFT, RIGHT, Testbed};

/// Holds 2048 frames.
const RING_BYTES: usize = 4 << 20;
const FRAME_BYTES: usize = 64;
/// Frames that go first and do not count: what keeps a cache of flows has each
/// flow then, and caches are warm.
const WARM_UP: usize = 2 * FLOWS;
const SETTLING: Duration = Duration::from_ms(20);
/// veth has no queueing discipline and so no classes.
const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };

/// What one turn of a subject showed.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Of the frames that arrived.
    pub latency: Distribution,
    /// How many did not arrive.
    pub lost: u64,
    /// What the machine did meanwhile.
    pub disturbance: Disturbance,
}

impl Slot {
    /// Sums up the ways of frames.
    pub fn of(flights: &[Flight], disturbance: Disturbance) -> Self {
        let mut latency = Distribution::default();
        let mut lost = 0;
        for flight in flights {
            match flight {
                Flight {
                    left: Some(left),
                    arrived: Some(arrived),
                } => latency.record(arrived.saturating_since(*left)),
                Flight { .. } => lost += 1,
            }
        }
        Self {
            latency,
            lost,
            disturbance,
        }
    }
}

/// Sends `frames` frames, one every `spacing`.
pub fn measure(
    stage: &Testbed,
    running: &Running,
    spacing: Duration,
    frames: usize,
) -> io::Result<Slot> {
    let mut capture = Capture::open(stage, FRAME_BYTES)?;
    send(&mut capture, Duration::from_us(100), WARM_UP)?;
    let watch = Watch::start(running);
    let sent = send(&mut capture, spacing, frames)?;
    let disturbance = watch.finish(running, sent.late);
    Ok(Slot::of(&sent.flights, disturbance))
}

struct Sent {
    flights: Vec<Flight>,
    late: Distribution,
}

fn send(capture: &mut Capture, spacing: Duration, frames: usize) -> io::Result<Sent> {
    let mut sent = Sent {
        flights: vec![Flight::default(); frames],
        late: Distribution::default(),
    };
    let mut due = clock::now() + SETTLING;
    for number in 0..frames {
        clock::sleep_until(due);
        sent.late.record(clock::now().saturating_since(due));
        capture.send(number)?;
        capture.note(&mut sent.flights);
        due += spacing;
    }
    clock::sleep_until(clock::now() + SETTLING);
    capture.note(&mut sent.flights);
    Ok(sent)
}

/// The way of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    left: Option<Instant>,
    arrived: Option<Instant>,
}

/// Sends frames of all flows in turn and takes down when each left and arrived.
pub struct Capture {
    sender: Sender,
    left: Tap,
    right: Tap,
    frames: Vec<Vec<u8>>,
}

impl Capture {
    /// Begins to look at both hosts; frames have `size` bytes with check sequence.
    pub fn open(stage: &Testbed, size: usize) -> io::Result<Self> {
        let [left, right] = [LEFT, RIGHT].map(|side| stage.interface(side));
        Ok(Self {
            sender: stage.hosts[LEFT].run(|| Sender::open(left, NO_CLASS))?,
            left: stage.hosts[LEFT].run(|| Tap::open(left, RING_BYTES))?,
            right: stage.hosts[RIGHT].run(|| Tap::open(right, RING_BYTES))?,
            frames: (0..FLOWS).map(|flow| traffic::frame(flow, size)).collect(),
        })
    }

    /// Sends the frame of this number.
    pub fn send(&mut self, number: usize) -> io::Result<()> {
        let frame = &mut self.frames[number % FLOWS];
        traffic::sign(frame, u32::try_from(number).expect("few frames"), 0);
        self.sender.send(frame)?;
        Ok(())
    }

    /// Takes down what has left and arrived.
    pub fn note(&mut self, flights: &mut [Flight]) {
        let mut left = |seen: Captured<'_>| {
            if seen.direction == Direction::Out
                && let Some(flight) = flight(&seen, flights)
            {
                flight.left = Some(Instant::from_ns(seen.stamp.as_ns()));
            }
        };
        while self.left.take(&mut left).is_some() {}
        let mut arrived = |seen: Captured<'_>| {
            if let Some(flight) = flight(&seen, flights) {
                flight.arrived = Some(Instant::from_ns(seen.stamp.as_ns()));
            }
        };
        while self.right.take(&mut arrived).is_some() {}
    }
}

fn flight<'a>(seen: &Captured<'_>, flights: &'a mut [Flight]) -> Option<&'a mut Flight> {
    let number = traffic::number(seen.bytes)?;
    flights.get_mut(usize::try_from(number).ok()?)
}
