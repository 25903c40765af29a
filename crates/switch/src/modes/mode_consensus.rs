//! How all switches of a network come to serve one mode (S2-4, S2-11).
//!
//! The mode is a pair (era, level) with an order, and every switch holds the greatest
//! that it has heard of. A switch whose flows demand more raises the level; whoever
//! hears of something greater takes it over and passes it on; whoever hears of
//! something lesser answers with what it has. Neighbours repeat what they hold. So
//! signals may be lost, repeated and reordered, switches may start anew, and parts of
//! the network may have been apart: while neighbours hear each other now and then, all of them end up
//! with the greatest.
//!
//! The way back begins a new era. A violation that the one who began it has not heard
//! of cannot be lost by it: a switch remembers what its own flows demanded for a
//! *hold time*, and raises the level in the new era again. A switch whose flows
//! were not quiet for that long refuses to begin one.
//!
//! What a switch *serves* may differ from what is agreed: a level whose rules are not
//! complete is not served, but the level that was chosen for that case.

use units::{Duration, Instant};
use wire::mode_signal::{LEVELS, Level, Mode};
use wire::openflow::DatapathId;

mod words;

pub(crate) use words::{mode_of, word_of};

const LEVELS_COUNT: usize = LEVELS as usize;

/// Whether violations raise the level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restraint {
    #[default]
    Free,
    /// They are counted and nothing else: an operator has fixed the level.
    Locked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The mode that it holds.
    pub mode: Mode,
    pub origin: DatapathId,
}

/// What is to be done after something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsensusStep {
    Stay,
    /// Another mode is agreed on: tell all neighbours, and the controller.
    Enter(Mode),
    /// The neighbour is behind: tell it.
    Answer,
}

/// Why the level is not lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayReason {
    /// A flow demanded more not long ago. It may be lowered at this time if none
    /// does until then.
    NotQuiet(Instant),
    /// There is no lower level than that, or no further era.
    NotLower,
}

/// What one switch holds of the mode of its network.
#[derive(Clone, Debug)]
pub struct ModeConsensus {
    mode: Mode,
    origin: DatapathId,
    own: DatapathId,
    /// None: demands keep their levels up for ever.
    hold: Option<Duration>,
    restraint: Restraint,
    /// When flows of this switch last demanded each level.
    demanded: [Option<Instant>; LEVELS_COUNT],
    complete: [bool; LEVELS_COUNT],
    default: Level,
    disregarded: u64,
}

impl ModeConsensus {
    /// Begins with the lowest mode, as a switch does that knows nothing. `hold` is how long its
    /// flows have to be quiet before the level may fall.
    #[must_use]
    pub fn new(own: DatapathId, hold: Duration) -> Self {
        let mut complete = [false; LEVELS_COUNT];
        complete[0] = true;
        Self {
            mode: Mode::default(),
            origin: own,
            own,
            hold: Some(hold),
            restraint: Restraint::Free,
            demanded: [None; LEVELS_COUNT],
            complete,
            default: Level::LOWEST,
            disregarded: 0,
        }
    }

    /// Returns the mode that is agreed on, as far as this switch knows.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns at which switch it began.
    #[must_use]
    pub const fn origin(&self) -> DatapathId {
        self.origin
    }

    /// Returns the level whose rules are in force.
    #[must_use]
    pub fn serves(&self) -> Level {
        self.serves_at(self.mode.level)
    }

    /// Returns the level whose rules are in force while another is agreed on: that one if
    /// its rules are complete, else the chosen default if its are, else the lowest.
    #[must_use]
    pub fn serves_at(&self, agreed: Level) -> Level {
        let is_complete = |level: &Level| self.complete[index(*level)];
        let mut choice = [agreed, self.default].into_iter();
        choice.find(is_complete).unwrap_or(Level::LOWEST)
    }

    /// Returns how many demands a lock kept from having their effect.
    #[must_use]
    pub const fn disregarded(&self) -> u64 {
        self.disregarded
    }

    /// Says for how long its flows have to be quiet before the level may fall; if
    /// none, it never may.
    pub const fn set_hold(&mut self, hold: Option<Duration>) {
        self.hold = hold;
    }

    /// Says whether violations raise the level.
    pub const fn restrain(&mut self, restraint: Restraint) {
        self.restraint = restraint;
    }

    /// Says whether all rules of a level are there.
    pub const fn set_complete(&mut self, level: Level, complete: bool) {
        self.complete[index(level)] = complete;
    }

    /// Chooses the level that is served while the agreed one is not complete.
    pub const fn set_default(&mut self, level: Level) {
        self.default = level;
    }

    /// Takes that a flow of this switch demands a level.
    pub fn demand(&mut self, now: Instant, level: Level) -> ConsensusStep {
        if level == Level::LOWEST {
            return ConsensusStep::Stay;
        }
        if self.restraint == Restraint::Locked {
            self.disregarded += 1;
            return ConsensusStep::Stay;
        }
        self.demanded[index(level)] = Some(now);
        self.raise(now)
    }

    /// Takes that a flow of this switch demands a level, of which somebody else decides
    /// what comes of it.
    pub fn note(&mut self, now: Instant, level: Level) {
        self.demanded[index(level)] = Some(now);
    }

    /// Takes what a neighbour says.
    pub fn hear(&mut self, now: Instant, heard: Heard) -> ConsensusStep {
        if heard.mode == self.mode {
            return ConsensusStep::Stay;
        }
        if heard.mode < self.mode {
            return ConsensusStep::Answer;
        }
        self.mode = heard.mode;
        self.origin = heard.origin;
        match self.raise(now) {
            ConsensusStep::Stay | ConsensusStep::Answer => ConsensusStep::Enter(self.mode),
            ConsensusStep::Enter(mode) => ConsensusStep::Enter(mode),
        }
    }

    /// Begins a new era at a lower level, as the controller or an operator asks.
    ///
    /// # Errors
    ///
    /// If flows of this switch were not quiet for the hold time, or if `level` is not
    /// lower.
    pub fn lower(&mut self, now: Instant, level: Level) -> Result<ConsensusStep, StayReason> {
        if level >= self.mode.level {
            return Err(StayReason::NotLower);
        }
        if let Some(until) = self.held_until(now, level) {
            return Err(StayReason::NotQuiet(until));
        }
        self.begin_era(level)
    }

    /// Begins a new era at any level, whatever flows demand: an operator forces it.
    /// What flows demanded before is forgotten.
    ///
    /// # Errors
    ///
    /// If there is no further era.
    pub fn force(&mut self, level: Level) -> Result<ConsensusStep, StayReason> {
        self.demanded = [None; LEVELS_COUNT];
        self.begin_era(level)
    }

    /// Returns until when a level is kept up by what flows of this switch demanded
    /// above `level`, or nothing if they were quiet for the hold time.
    #[must_use]
    pub fn held_until(&self, now: Instant, level: Level) -> Option<Instant> {
        let above = self.demanded.iter().skip(index(level) + 1);
        let last = above.flatten().max()?;
        let until = self.hold.map_or(Instant::FAR_FUTURE, |hold| *last + hold);
        (now < until).then_some(until)
    }

    fn begin_era(&mut self, level: Level) -> Result<ConsensusStep, StayReason> {
        let era = self.mode.era.checked_add(1).ok_or(StayReason::NotLower)?;
        self.mode = Mode { era, level };
        self.origin = self.own;
        Ok(ConsensusStep::Enter(self.mode))
    }

    /// Raises the level to what was demanded within the hold time.
    fn raise(&mut self, now: Instant) -> ConsensusStep {
        let hold = self.hold;
        let is_held = |at: &Instant| *at == now || hold.is_none_or(|hold| now < *at + hold);
        let demanded = Level::all().zip(&self.demanded);
        let held = demanded.filter(|(_, at)| at.as_ref().is_some_and(is_held));
        match held.last() {
            Some((level, _)) if level > self.mode.level && self.restraint == Restraint::Free => {
                self.mode.level = level;
                self.origin = self.own;
                ConsensusStep::Enter(self.mode)
            }
            Some(_) | None => ConsensusStep::Stay,
        }
    }
}

const fn index(level: Level) -> usize {
    level.number() as usize
}

#[cfg(test)]
mod tests;
