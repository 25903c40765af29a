//! How much of the processor a frame costs: the time that the subject's busiest
//! thread ran while it emptied a full ring, by the frames that were in it.
//!
//! The subject stands still while the ring is filled, so that no sender is too slow
//! to show the difference, and other work on the machine does not count. Only for
//! subjects that sleep when they have nothing to do.

use std::io;

use linux::clock;
use units::Duration;

use crate::stage::{RIGHT, Stage};
use crate::subject::Running;
use crate::traffic::{self, FLOWS};

/// Fits into every ring.
const FRAMES: u64 = (GROUPS * GROUP) as u64;
const GROUPS: usize = 64;
const GROUP: usize = 16;
const ATTEMPTS: usize = 40;
const SETTLING: Duration = Duration::from_ms(2);
const PATIENCE: Duration = Duration::from_ms(100);

/// Returns the median cost of a frame of `size` bytes, unless the subject never
/// carried a whole ring.
pub fn measure(stage: &Stage, running: &Running, size: usize) -> io::Result<Option<Duration>> {
    let mut sender = stage.fast_sender()?;
    let frames: Vec<_> = (0..FLOWS).map(|flow| traffic::frame(flow, size)).collect();
    let mut costs = Vec::new();
    for _ in 0..ATTEMPTS {
        running.pause()?;
        wait(SETTLING);
        let arrived = stage.arrived(RIGHT)?;
        for first in (0..FLOWS).cycle().step_by(GROUP).take(GROUPS) {
            for n in 0..GROUP {
                sender.enqueue(&frames[(first + n) % FLOWS]);
            }
            sender.flush();
        }
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
            costs.extend(ran.max().map(|ran| Duration::from_ns(ran.as_ns() / FRAMES)));
        }
    }
    costs.sort_unstable();
    Ok(costs.get(costs.len() / 2).copied())
}

fn wait(time: Duration) {
    clock::sleep_until(clock::now() + time);
}
