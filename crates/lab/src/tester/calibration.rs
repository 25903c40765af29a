//! What the tester itself adds to a latency: the way of a frame over the two bare
//! cables, from the stamp at one end to the stamp at the other.
//!
//! The first cable is crossed from the tester to the device's port, the second from
//! the device's port to the tester, before there is a device. Each direction is sent
//! through [`FRAMES`] times, after as much looking at the clock as in a trial, and what a
//! quarter of them does not exceed is added up: a busy machine makes the others take
//! longer, and to take that off would make a device faster than it is.
//!
//! # Left out
//!
//! To see a frame leave the device's port, the kernel copies it before the driver gets
//! it. There is no such copy in a trial, and it stays in the bias: some tenths of a
//! microsecond, which a device that forwards in the kernel seems to be too fast by.

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

/// Returns by how much a latency from the first port to the second is too long. A
/// thread of its own finds out, which runs as a tester does: what is started later is
/// not to inherit that.
///
/// # Errors
///
/// Without CAP_NET_RAW, or if frames do not arrive.
pub fn of_cables(stage: &Stage) -> io::Result<Duration> {
    thread::scope(|scope| {
        let crossed = scope.spawn(|| {
            super::settle(subject::own_processor());
            cross_both(stage)
        });
        match crossed.join() {
            Ok(bias) => bias,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn cross_both(stage: &Stage) -> io::Result<Duration> {
    let there = crossing(
        (&stage.hosts[LEFT], stage.interface_name(LEFT)),
        (&stage.room, stage.ports()[LEFT]),
    )?;
    let back = crossing(
        (&stage.room, stage.ports()[RIGHT]),
        (&stage.hosts[RIGHT], stage.interface_name(RIGHT)),
    )?;
    let usual = |crossing: &Distribution| crossing.quantile(QUARTER);
    match (usual(&there), usual(&back)) {
        (Some(there), Some(back)) => Ok(there + back),
        (None, _) | (_, None) => Err(io::Error::other("no frame crosses a bare cable")),
    }
}

/// An interface in its namespace.
type Place<'a> = (&'a Namespace, &'a str);

/// Sends over one bare cable and returns the differences of the stamps.
///
/// # Errors
///
/// Without CAP_NET_RAW.
pub fn crossing(from: Place<'_>, to: Place<'_>) -> io::Result<Distribution> {
    let index = |(room, name): Place<'_>| room.run(|| Interface::named(name)).map(|it| it.index());
    let (here, there) = (index(from)?, index(to)?);
    let mut sender = from.0.run(|| Sender::open(here, NO_CLASS))?;
    let mut leaving = from.0.run(|| Tap::open(here, RING_BYTES))?;
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
