//! What the tester itself adds to a latency: the way of a frame over the two bare
//! cables, from the stamp at one end to the stamp at the other.
//!
//! The first cable is crossed from the tester to the device's port, the second from
//! the device's port to the tester, before there is a device. Each is crossed [`FRAMES`]
//! times by a thread that runs as a tester does, and what a quarter of the frames does
//! not exceed is added up: a busy machine makes the others take longer, and to take that
//! off would make a device faster than it is.
//!
//! To see a frame leave, the kernel copies it after it has stamped it, and only then
//! hands it to the driver. At the tester's port that copy is part of every latency; at
//! the device's there is none in a trial, and it is taken off again. How long it takes
//! is what a second capture at the same port adds.

use std::io;
use std::thread;

use linux::clock;
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::sender::{ClassId, Sender};
use linux::tap::{Direction, Tap};
use measure::statistics::Distribution;
use units::Duration;
use wire::ethernet::EtherType;

use super::round::EARLY;
use crate::stage::{LEFT, RIGHT, Stage};
use crate::subject;

/// How many frames cross a cable.
pub const FRAMES: u32 = 400;
/// In thousandths.
const QUARTER: u32 = 250;
const SPACING: Duration = Duration::from_us(250);
const SETTLING: Duration = Duration::from_ms(10);
const RING_BYTES: usize = 2 << 20;
const FRAME_BYTES: usize = 60;
const NO_CLASS: ClassId = ClassId { major: 0, minor: 0 };
/// For experiments, IEEE Std 802 clause 9.2.4.
const EXPERIMENTAL: EtherType = EtherType(0x88b5);
/// Nobody's address.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 0xaa, 2, 0, 0, 0, 0, 0xab];

/// What the tester adds to a latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// From the first port to the second.
    pub bias: Duration,
    /// By each further capture at a port that a frame leaves by.
    pub by_capture: Duration,
}

/// Returns by how much a latency from the first port to the second is too long. A
/// thread of its own finds out, which runs as a tester does: what is started later is
/// not to inherit that.
///
/// # Errors
///
/// Without CAP_NET_RAW, or if frames do not arrive.
pub fn of_cables(stage: &Stage) -> io::Result<Added> {
    thread::scope(|scope| {
        let crossed = scope.spawn(|| {
            super::settle(subject::own_processor());
            cross_both(stage)
        });
        match crossed.join() {
            Ok(added) => added,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn cross_both(stage: &Stage) -> io::Result<Added> {
    let [here, there] = [LEFT, RIGHT].map(|side| (&stage.hosts[side], stage.interface_name(side)));
    let [near, far] = [LEFT, RIGHT].map(|side| (&stage.room, stage.ports()[side]));
    let usual = |from: Place<'_>, to: Place<'_>, captures: usize| {
        let crossed = crossing(from, to, captures)?.quantile(QUARTER);
        crossed.ok_or_else(|| io::Error::other("no frame crosses a bare cable"))
    };
    let (first, second) = (usual(here, near, 1)?, usual(far, there, 1)?);
    let by_capture = usual(far, there, 2)?.saturating_sub(second);
    Ok(Added {
        bias: first + second.saturating_sub(by_capture),
        by_capture,
    })
}

/// An interface in its namespace.
type Place<'a> = (&'a Namespace, &'a str);

/// Sends over one bare cable, with so many captures where frames leave, and returns the
/// differences of the stamps.
fn crossing(from: Place<'_>, to: Place<'_>, captures: usize) -> io::Result<Distribution> {
    let index = |(room, name): Place<'_>| room.run(|| Interface::named(name)).map(|it| it.index());
    let (here, there) = (index(from)?, index(to)?);
    let mut sender = from.0.run(|| Sender::open(here, NO_CLASS))?;
    let mut leaving = from.0.run(|| Tap::open(here, RING_BYTES))?;
    let further = (1..captures).map(|_| from.0.run(|| Tap::open(here, RING_BYTES)));
    let _further = further.collect::<io::Result<Vec<_>>>()?;
    let mut arriving = to.0.run(|| Tap::open(there, RING_BYTES))?;
    let mut frame = ADDRESSES.to_vec();
    frame.extend_from_slice(&EXPERIMENTAL.0.to_be_bytes());
    frame.resize(FRAME_BYTES, 0);
    let mut due = clock::now() + SETTLING;
    for number in 0..FRAMES {
        frame[14..18].copy_from_slice(&number.to_be_bytes());
        clock::sleep_until(due);
        // As in a trial.
        while clock::now() < due + EARLY {
            std::hint::spin_loop();
        }
        sender.send(&frame)?;
        due += SPACING;
    }
    clock::sleep_until(clock::now() + SETTLING);
    let mut left = vec![None; FRAMES as usize];
    let number = |bytes: &[u8]| {
        let ours = bytes.get(12..14) == Some(&EXPERIMENTAL.0.to_be_bytes());
        let number = bytes.get(14..18)?.try_into().ok()?;
        ours.then(|| usize::try_from(u32::from_be_bytes(number)).ok())?
    };
    let mut note = |seen: linux::tap::Captured<'_>| match (seen.direction, number(seen.bytes)) {
        (Direction::Out, Some(number)) if number < left.len() => left[number] = Some(seen.stamp),
        (Direction::Out | Direction::In, _) => {}
    };
    while leaving.take(&mut note).is_some() {}
    let mut crossed = Distribution::default();
    while let Some(seen) = arriving.take(|seen| {
        let number = number(seen.bytes).filter(|_| seen.direction == Direction::In)?;
        Some((*left.get(number)?.as_ref()?, seen.stamp))
    }) {
        if let Some((left, arrived)) = seen {
            let ns = arrived.as_ns().saturating_sub(left.as_ns());
            crossed.record(Duration::from_ns(ns));
        }
    }
    Ok(crossed)
}
