//! What the tester itself adds to a latency: the way of a frame over the two bare
//! cables, from the stamp at one end to the stamp at the other.
//!
//! The first cable is crossed from the tester to the device's port, the second from
//! the device's port to the tester, before there is a device. Each is crossed [`FRAMES`]
//! times by a thread that runs as a tester does, and what a quarter of the frames does
//! not exceed is added up: a busy machine makes the others take longer, and to take that
//! off would make a device faster than it is.
//!
//! A device in the kernel hands on the very buffer that the tester sent, and the kernel
//! stamps it once more where it leaves the device. How much longer that takes than to
//! send the same frame without a stamp is a bias of its own.

use std::io;
use std::thread;

use linux::clock::{self, WallTime};
use linux::departures::{StampedBy, StampedSender};
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::sender::{ClassId, Sender};
use linux::tap::{Captured, Direction, Tap};
use measure::statistics::Distribution;
use units::{Duration, Instant};
use wire::ethernet::EtherType;

use super::round::EARLY;
use crate::device_under_test;
use crate::stage::{LEFT, RIGHT, Testbed};

/// How many frames cross a cable.
pub const FRAMES: u32 = 400;
const QUARTER: u32 = 250;
/// Longer than the thread is awake beforehand, as in most trials.
const SPACING: Duration = Duration::from_us(500);
const SETTLING: Duration = Duration::from_ms(10);
/// A frame that the machine has held up for longer is lost.
const PATIENCE: Duration = Duration::from_secs(2);
const RING_BYTES: usize = 2 << 20;
const FRAME_BYTES: usize = 60;
const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };
/// For experiments, IEEE Std 802 clause 9.2.4.
const EXPERIMENTAL: EtherType = EtherType(0x88b5);
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 0xab];

/// What the tester adds to a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// From the first port to the second.
    pub bias: Duration,
    /// By the stamp where a frame leaves a device that is in the kernel.
    pub by_stamp: Duration,
}

/// Returns by how much a latency from the first port to the second is too long. A
/// thread of its own finds out, which runs as a tester does: what is started later is
/// not to inherit that.
///
/// # Errors
///
/// Without CAP_NET_RAW, or if frames do not arrive.
pub fn of_cables(stage: &Testbed) -> io::Result<Added> {
    thread::scope(|scope| {
        let crossed = scope.spawn(|| {
            super::settle(device_under_test::own_processor());
            cross_both(stage)
        });
        match crossed.join() {
            Ok(added) => added,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn cross_both(stage: &Testbed) -> io::Result<Added> {
    let [here, there] = [LEFT, RIGHT].map(|side| (&stage.hosts[side], stage.interface_name(side)));
    let [near, far] = [LEFT, RIGHT].map(|side| (&stage.room, stage.ports()[side]));
    let usual = |crossed: &Distribution| {
        let usual = crossed.quantile(QUARTER);
        usual.ok_or_else(|| io::Error::other("no frame crosses a bare cable"))
    };
    let (first, second) = (crossing(here, near)?, crossing(far, there)?);
    let [with, without] = sending(far, there)?;
    Ok(Added {
        bias: usual(&first)? + usual(&second)?,
        by_stamp: usual(&with)?.saturating_sub(usual(&without)?),
    })
}

/// An interface in its namespace.
type NamespacedInterface<'a> = (&'a Namespace, &'a str);

/// Sends over one bare cable, and returns how long frames take from the stamp of the
/// driver to the one at the other end.
fn crossing(
    from: NamespacedInterface<'_>,
    to: NamespacedInterface<'_>,
) -> io::Result<Distribution> {
    let mut sender = from
        .0
        .run(|| StampedSender::open(index(from)?, StampedBy::Driver))?;
    let mut cable = BareCable::listen(to, FRAMES)?;
    let mut left = vec![None; FRAMES as usize];
    for number in 0..FRAMES {
        sender.send(cable.frame(number))?;
        sender.departures(|it| {
            let place = usize::try_from(it.number).ok();
            if let Some(place) = place.and_then(|at| left.get_mut(at)) {
                *place = it.stamps.kernel;
            }
        })?;
    }
    Ok(spread(&left, &cable.arrivals()))
}

/// Sends over one bare cable, in turns with a stamp of the driver and without one, and
/// returns how long frames take from the beginning of the system call to the stamp at the
/// other end.
fn sending(
    from: NamespacedInterface<'_>,
    to: NamespacedInterface<'_>,
) -> io::Result<[Distribution; 2]> {
    let (mut stamped, mut plain) = from.0.run(|| -> io::Result<_> {
        let index = index(from)?;
        let stamped = StampedSender::open(index, StampedBy::Driver)?;
        Ok((stamped, Sender::open(index, NO_CLASS)?))
    })?;
    let mut cable = BareCable::listen(to, 2 * FRAMES)?;
    let mut began = [vec![], vec![]];
    for number in 0..2 * FRAMES {
        let frame = cable.frame(number);
        let now = WallTime::now();
        let is_plain = number % 2 == 1;
        match is_plain {
            true => plain.send(frame).map(|_| ())?,
            false => stamped.send(frame).map(|_| ())?,
        }
        began[usize::from(is_plain)].push(Some(now));
        began[usize::from(!is_plain)].push(None);
    }
    let arrived = cable.arrivals();
    Ok(began.map(|began| spread(&began, &arrived)))
}

fn index(at: NamespacedInterface<'_>) -> io::Result<u32> {
    at.0.run(|| Interface::named(at.1)).map(|it| it.index())
}

/// Returns the times from the first stamp of each frame to the second.
fn spread(from: &[Option<WallTime>], to: &[Option<WallTime>]) -> Distribution {
    let mut times = Distribution::default();
    for (from, to) in from.iter().zip(to) {
        if let (Some(from), Some(to)) = (from, to) {
            let ns = to.as_ns().saturating_sub(from.as_ns());
            times.record(Duration::from_ns(ns));
        }
    }
    times
}

/// The far end of a bare cable, and the frames that are to cross it.
struct BareCable {
    arriving: Tap,
    frames: u32,
    due: Instant,
    frame: [u8; FRAME_BYTES],
}

impl BareCable {
    fn listen(to: NamespacedInterface<'_>, frames: u32) -> io::Result<Self> {
        let arriving = to.0.run(|| Tap::open(index(to)?, RING_BYTES))?;
        let mut frame = [0; FRAME_BYTES];
        frame[..12].copy_from_slice(&ADDRESSES);
        frame[12..14].copy_from_slice(&EXPERIMENTAL.0.to_be_bytes());
        Ok(Self {
            arriving,
            frames,
            due: clock::now() + SETTLING,
            frame,
        })
    }

    /// Waits for the next moment to send, as a trial does, and returns what to send.
    fn frame(&mut self, number: u32) -> &[u8] {
        self.frame[14..18].copy_from_slice(&number.to_be_bytes());
        clock::sleep_until(self.due);
        let due = self.due + EARLY;
        while clock::now() < due {
            std::hint::spin_loop();
        }
        self.due += SPACING;
        &self.frame
    }

    /// Waits until all frames have arrived, or nothing has for a while, and returns when
    /// each did.
    fn arrivals(mut self) -> Vec<Option<WallTime>> {
        let mut arrived = vec![None; self.frames as usize];
        let (mut count, mut give_up) = (0, clock::now() + PATIENCE);
        while count < arrived.len() && clock::now() < give_up {
            clock::sleep_until(clock::now() + SETTLING);
            self.note(&mut arrived);
            let now = arrived.iter().flatten().count();
            if now > count {
                (count, give_up) = (now, clock::now() + PATIENCE);
            }
        }
        arrived
    }

    /// Enters what arrived until now.
    fn note(&mut self, arrived: &mut [Option<WallTime>]) {
        let mut note = |seen: Captured<'_>| {
            let is_ours = seen.bytes.get(12..14) == Some(&EXPERIMENTAL.0.to_be_bytes());
            let number = seen.bytes.get(14..18).and_then(|it| it.try_into().ok());
            let number = number.map_or(u32::MAX, u32::from_be_bytes);
            let place = usize::try_from(number).ok();
            if seen.direction == Direction::In
                && is_ours
                && let Some(place) = place.and_then(|at| arrived.get_mut(at))
            {
                *place = Some(seen.stamp);
            }
        };
        while self.arriving.take(&mut note).is_some() {}
    }
}
