//! Frames that faults of cables took: whose, where and when.
//!
//! Whoever plants a fault knows each frame that it hits, and tells it here. A frame that did
//! not arrive may be one of those; only what goes beyond their number was lost otherwise.

use std::collections::BTreeMap;

use units::{Duration, Instant};

use crate::FlowIndex;

/// The most spells that are kept one by one; further frames make the last one of their flow
/// and cable longer.
pub const MOST_SPELLS: usize = 1 << 16;
/// Frames that are no further apart than this are one spell.
const ONE_SPELL: Duration = Duration::from_ms(10);

/// What a fault did to frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Harm {
    /// They did not arrive.
    Lost,
    /// They went on with another bit than they had: to nowhere, or as another frame.
    Corrupted,
}

/// A time in which a cable took frames of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSpell {
    /// The place of the cable.
    pub cable: usize,
    pub flow: FlowIndex,
    pub harm: Harm,
    /// When it had the first of them.
    pub from: Instant,
    /// When it had the last of them.
    pub to: Instant,
    pub frames: u64,
}

/// What faults of cables took of all flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultLosses {
    spells: Vec<FaultSpell>,
    latest: BTreeMap<(usize, FlowIndex, Harm), usize>,
}

impl FaultLosses {
    /// Takes down that a cable lost or corrupted a frame of a flow.
    pub fn add(&mut self, cable: usize, flow: FlowIndex, harm: Harm, at: Instant) {
        let is_full = self.spells.len() >= MOST_SPELLS;
        let latest = self.latest.get(&(cable, flow, harm)).copied();
        let near = latest.filter(|spell| is_full || at <= self.spells[*spell].to + ONE_SPELL);
        match near {
            Some(spell) => {
                let spell = &mut self.spells[spell];
                spell.to = spell.to.max(at);
                spell.frames += 1;
            }
            None if is_full => {}
            None => {
                self.latest.insert((cable, flow, harm), self.spells.len());
                self.spells.push(FaultSpell {
                    cable,
                    flow,
                    harm,
                    from: at,
                    to: at,
                    frames: 1,
                });
            }
        }
    }

    /// Returns the spells of a flow, in the order of their beginnings.
    pub fn of(&self, flow: FlowIndex) -> impl Iterator<Item = &FaultSpell> {
        self.spells.iter().filter(move |spell| spell.flow == flow)
    }

    /// Returns how many frames were taken, of all flows.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.spells.iter().map(|spell| spell.frames).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn frames_of_one_flow_that_follow_each_other_on_one_cable_are_one_spell() {
        let [flow, other] = [0, 1].map(FlowIndex);
        let mut losses = FaultLosses::default();
        for (cable, flow, ms) in [
            (3, flow, 5),
            (3, other, 6),
            (3, flow, 12),
            (4, flow, 13),
            (3, flow, 40),
        ] {
            losses.add(cable, flow, Harm::Lost, at(ms));
        }

        let spells = losses
            .of(flow)
            .map(|it| (it.cable, it.from, it.to, it.frames));
        let expected = [
            (3, at(5), at(12), 2),
            (4, at(13), at(13), 1),
            (3, at(40), at(40), 1),
        ];
        assert!(spells.eq(expected));
        assert_eq!(losses.frames(), 5);
    }

    #[test]
    fn beyond_the_limit_frames_are_counted_with_the_last_spell() {
        let mut losses = FaultLosses::default();
        let many = MOST_SPELLS as u64 + 9;
        for number in 0..many {
            losses.add(0, FlowIndex(0), Harm::Lost, at(100 * number));
        }

        assert_eq!(losses.spells.len(), MOST_SPELLS);
        assert_eq!(losses.frames(), many);
    }
}
