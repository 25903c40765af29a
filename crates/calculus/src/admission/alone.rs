//! How long a flow takes alone in the network: no deadline below that can be kept.

use units::Delay;

use super::fit::Spare;
use super::ledger::Ledger;
use super::request::{MAX_DELAY, Request};

impl Ledger {
    /// Returns the longest that a frame of `request` takes on any way that it may take
    /// where nothing else is promised, beside the work without promise that is declared
    /// and with the least budgets that there may be; nothing where budgets are fixed, or
    /// if it cannot be promised anything even alone.
    #[must_use]
    pub fn alone(&self, request: &Request) -> Option<Delay> {
        let mut empty = self.emptied()?;
        let patient = Request {
            deadline: MAX_DELAY,
            ..request.clone()
        };
        let id = empty.admit(patient).ok()?.id;
        empty.guarantee_of(id)
    }

    /// Returns a ledger of the same stages, with the work without promise that is declared,
    /// in which nothing is promised; nothing where budgets are fixed.
    pub(super) fn emptied(&self) -> Option<Self> {
        let floors = self.fit.as_ref()?.floors.clone();
        let mut empty = Self::fitted(floors, Spare::None);
        for (stage, frames) in self.unpromised_work() {
            empty.count_unpromised(stage, frames).ok()?;
        }
        Some(empty)
    }
}

#[cfg(test)]
mod tests {
    use units::{BitRate, DataSize};

    use super::*;
    use crate::admission::{CLASSES, Stage, StageId, Tree};

    /// A full frame in the way and its own, at each of two ports; whoever else is there
    /// does not matter, and a least budget that somebody wants does.
    #[test]
    fn alone_a_frame_waits_for_what_is_in_the_way_and_for_budgets_that_are_wanted() {
        let port = |budget| {
            let mut budgets = [None; CLASSES];
            budgets[5] = Some(budget);
            Stage::Port {
                rate: BitRate::from_mbps(100),
                propagation: Delay::ZERO,
                budgets,
                buffers: [None; CLASSES],
                largest_frame: DataSize::from_bytes(1_250),
            }
        };
        let flow = |deadline_us| Request {
            class: 5,
            rate: BitRate::from_mbps(1),
            burst: DataSize::from_bytes(250),
            peak: None,
            frames: None,
            largest_frame: DataSize::from_bytes(250),
            smallest_frame: DataSize::from_bytes(250),
            deadline: Delay::from_us(deadline_us),
            initial: Delay::ZERO,
            base: Tree::path([StageId(0), StageId(1)]),
            alternatives: Vec::new(),
            redundant: None,
            is_held_back: false,
        };
        let alone = |floor| {
            let stages = vec![port(Delay::ZERO), port(floor)];
            let mut ledger = Ledger::fitted(stages, Spare::Shared);
            for _ in 0..5 {
                ledger.admit(flow(50_000)).unwrap();
            }
            let alone = ledger.alone(&flow(100)).unwrap();
            let mut empty = Ledger::fitted(ledger.fit.unwrap().floors, Spare::None);
            assert!(empty.admits(&flow(alone.as_ps().div_ceil(1_000_000))));
            assert!(!empty.admits(&flow(alone.as_ps() / 1_000_000 - 1)));
            alone
        };

        // Two times 100 us in the way and 20 us of its own; over the first link its frames
        // come one behind the other, so the second is shaped.
        assert_eq!(alone(Delay::ZERO).as_ps() / 1_000_000, 240);
        assert_eq!(alone(Delay::from_us(700)), Delay::from_us(820));
    }
}
