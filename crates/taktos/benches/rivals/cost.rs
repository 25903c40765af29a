//! How much of the processor a frame costs, so that no sender is too slow to show
//! the difference and other work on the machine hardly counts.
//!
//! A subject that is a program stands still while its ring is filled; then counts
//! the time that its busiest thread ran while it emptied the ring, by the frames
//! that were in it. Only for those that sleep when they have nothing to do.
//!
//! What the kernel carries has no thread. It works on the processor of the sender,
//! between two frames: so it costs what a frame takes there beyond what it takes
//! where nothing carries it on. That is the wall clock's time on one processor, a
//! median over short bursts; the kernel's own account of such work (`softirq` in
//! `/proc/stat`) has ticks of some milliseconds.

use std::io;

use linux::clock;
use linux::port::XdpPort;
use measure::statistics::middle;
use units::Duration;

use crate::running::Running;
use crate::traffic::{self, FLOWS};
use lab::stage::{RIGHT, Testbed};

const FRAMES: u64 = (GROUPS * GROUP) as u64;
const GROUPS: usize = 64;
const GROUP: usize = 16;
const ATTEMPTS: usize = 40;
/// Bursts on each of the two ways.
const BURSTS: usize = 200;
const SETTLING: Duration = Duration::from_ms(2);
const PATIENCE: Duration = Duration::from_ms(100);

/// Returns the median cost of a frame of `size` bytes, unless the subject never
/// carried a whole ring.
pub fn of_programs(
    stage: &Testbed,
    running: &Running,
    size: usize,
) -> io::Result<Option<Duration>> {
    let mut bursts = Bursts::open(stage, size)?;
    let mut costs = Vec::new();
    for _ in 0..ATTEMPTS {
        running.pause()?;
        wait(SETTLING);
        let arrived = stage.arrived(RIGHT)?;
        bursts.send();
        let before = running.busy();
        running.resume()?;
        let end = clock::now() + PATIENCE;
        while stage.arrived(RIGHT)? < arrived + FRAMES && clock::now() < end {
            wait(SETTLING);
        }
        wait(SETTLING);
        if stage.arrived(RIGHT)? == arrived + FRAMES {
            let after = running.busy();
            let ran = after.iter().map(|(thread, ran)| {
                ran.saturating_sub(before.get(thread).copied().unwrap_or_default())
            });
            costs.extend(ran.max());
        }
    }
    Ok(middle(&mut costs, Ord::cmp).map(of_a_frame))
}

/// Returns what a frame of `size` bytes takes longer where the kernel carries it on
/// than on an `empty` stage, if the subject carried all of them. To be called by a
/// thread that keeps to one processor.
pub fn of_the_kernel(
    stage: &Testbed,
    empty: &Testbed,
    size: usize,
) -> io::Result<Option<Duration>> {
    let mut bursts = [Bursts::open(stage, size)?, Bursts::open(empty, size)?];
    bursts.iter_mut().for_each(Bursts::send);
    let arrived = stage.arrived(RIGHT)?;
    let mut took = [Vec::new(), Vec::new()];
    for _ in 0..BURSTS {
        for (bursts, took) in bursts.iter_mut().zip(&mut took) {
            let began = clock::now();
            bursts.send();
            took.push(clock::now() - began);
        }
    }
    wait(SETTLING);
    let carried = stage.arrived(RIGHT)? - arrived;
    let [Some(with), Some(without)] = took.map(|mut took| middle(&mut took, Ord::cmp)) else {
        return Ok(None);
    };
    let all = FRAMES * u64::try_from(BURSTS).expect("few");
    Ok((carried >= all).then(|| of_a_frame(with.saturating_sub(without))))
}

/// Sends bursts of frames that fit into every ring.
struct Bursts {
    sender: XdpPort,
    frames: Vec<Vec<u8>>,
}

impl Bursts {
    fn open(stage: &Testbed, size: usize) -> io::Result<Self> {
        Ok(Self {
            sender: stage.fast_sender()?,
            frames: (0..FLOWS).map(|flow| traffic::frame(flow, size)).collect(),
        })
    }

    fn send(&mut self) {
        for first in (0..FLOWS).cycle().step_by(GROUP).take(GROUPS) {
            for n in 0..GROUP {
                self.sender.enqueue(&self.frames[(first + n) % FLOWS]);
            }
            self.sender.flush();
        }
    }
}

fn of_a_frame(burst: Duration) -> Duration {
    Duration::from_ns(burst.as_ns() / FRAMES)
}

fn wait(time: Duration) {
    clock::sleep_until(clock::now() + time);
}
