//! The part of an agreement that walks of the compiled form change as well.
//!
//! The mode is one word. Whoever changes it compares and swaps, so a step of the
//! core is taken on what walks have left, and taken again if one of them was
//! quicker.

use units::Instant;
use wire::mode_signal::{Level, Mode};
use wire::openflow::DatapathId;

use super::ModeConsensus;
use crate::compiled::Record;
use crate::compiled::layout::modes as at;

const LEVEL_SHIFT: u32 = 24;
const ERA_SHIFT: u32 = 32;

/// Returns the word of a mode: the greater mode has the greater word.
pub(crate) fn word_of(mode: Mode) -> u64 {
    u64::from(mode.era) << ERA_SHIFT | u64::from(mode.level.number()) << LEVEL_SHIFT
}

pub(crate) fn mode_of(word: u64) -> Mode {
    let [a, b, c, d, level, ..] = word.to_be_bytes();
    Mode {
        era: u32::from_be_bytes([a, b, c, d]),
        level: Level::new(level).unwrap_or(Level::HIGHEST),
    }
}

impl ModeConsensus {
    /// Takes a step on what walks have left, and leaves them what came of it.
    pub(crate) fn share<R>(
        &mut self,
        words: Record<'_>,
        mut step: impl FnMut(&mut Self) -> R,
    ) -> R {
        loop {
            let before = words.get(at::MODE);
            self.read(words, before);
            let mut next = self.clone();
            let outcome = step(&mut next);
            let after = word_of(next.mode);
            if !words.replace(at::MODE, before, after) {
                continue;
            }
            next.write(words);
            *self = next;
            return outcome;
        }
    }

    /// Takes over what walks know.
    fn read(&mut self, words: Record<'_>, mode: u64) {
        self.mode = mode_of(mode);
        self.origin = DatapathId(words.get(at::ORIGIN));
        for (level, demanded) in self.demanded.iter_mut().enumerate().skip(1) {
            let ns = words.get(at::DEMANDED + level);
            *demanded = (ns != 0).then(|| Instant::from_ns(ns));
        }
    }

    fn write(&self, words: Record<'_>) {
        words.set(at::ORIGIN, self.origin.0);
        for (level, demanded) in self.demanded.iter().enumerate().skip(1) {
            let ns = demanded.map_or(0, Instant::as_ns);
            words.set(at::DEMANDED + level, ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use units::{Duration, Instant};

    use super::super::{ConsensusStep, Heard, StayReason};
    use super::*;
    use crate::compiled::layout::Region;

    const NOW: Instant = Instant::from_ns(5_000);
    const OWN: DatapathId = DatapathId(3);

    fn mode(era: u32, level: u8) -> Mode {
        let level = Level::new(level).unwrap();
        Mode { era, level }
    }

    fn shared() -> (ModeConsensus, Vec<Cell<u64>>) {
        let words = vec![Cell::new(0); Region::Modes.record_words()];
        (ModeConsensus::new(OWN, Duration::from_us(1)), words)
    }

    fn record(words: &Vec<Cell<u64>>) -> Record<'_> {
        Record::of(words, Region::Modes, 0)
    }

    #[test]
    fn a_mode_is_its_word_and_the_greater_one_is_greater() {
        let modes = [mode(0, 0), mode(0, 7), mode(1, 0), mode(u32::MAX, 3)];

        assert!(modes.map(word_of).is_sorted());
        assert_eq!(modes.map(word_of).map(mode_of), modes);
    }

    #[test]
    fn what_a_walk_entered_is_what_the_core_goes_on_from() {
        let (mut agreement, words) = shared();
        words[at::MODE].set(word_of(mode(0, 2)));
        words[at::DEMANDED + 2].set(NOW.as_ns());

        let lowered = agreement.share(record(&words), |it| it.lower(NOW, Level::LOWEST));

        let until = NOW + Duration::from_us(1);
        assert_eq!(lowered, Err(StayReason::NotQuiet(until)));
        assert_eq!(agreement.mode(), mode(0, 2));
        let forced = agreement.share(record(&words), |it| it.force(Level::LOWEST));
        assert_eq!(forced, Ok(ConsensusStep::Enter(mode(1, 0))));
        assert_eq!(words[at::MODE].get(), word_of(mode(1, 0)));
        assert_eq!(words[at::DEMANDED + 2].get(), 0);
    }

    #[test]
    fn a_step_that_a_walk_has_overtaken_is_taken_again() {
        let (mut agreement, words) = shared();
        let mut overtaken = false;
        let heard = Heard {
            mode: mode(0, 1),
            origin: DatapathId(9),
        };

        let step = agreement.share(record(&words), |it| {
            if !std::mem::replace(&mut overtaken, true) {
                words[at::MODE].set(word_of(mode(0, 3)));
            }
            it.hear(NOW, heard)
        });

        assert_eq!(step, ConsensusStep::Answer, "the lesser mode does not win");
        assert_eq!(words[at::MODE].get(), word_of(mode(0, 3)));
    }
}
