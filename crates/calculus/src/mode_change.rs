//! How late a change of mode may make a frame (S2-8).
//!
//! A flow behaves as only a higher level allows. A switch notices, changes to that
//! level and tells its neighbours, which tell theirs, until every switch treats
//! frames by the rules of that level; and what waits in queues since before must get
//! out of the way. The delay of a mode change is the longest that may take:
//!
//! ```text
//! D_mc = detection + spread + local change + drain
//! ```
//!
//! Where the level also falls, flows may be later, see
//! [`ModeChange::total_where_it_falls`].
//!
//! [`mc_sdn`] has the paper's formulas and figures, MC-SDN Eqs. (1) to (4). The rest is
//! a bound of our own: each hop of a signal is [analysed](SignalHop), not measured;
//! the [spread](Trunks::spread) is the longest of the shortest ways over the trunks that are left
//! when some are lost; the [local change](LocalChange) is one word in our switch; and
//! what is [ahead](Ahead) is nothing but a frame that is being sent, where queues
//! are reserved.
//!
//! Why that is a bound, and on what it rests, is in `docs/modes.md`.
//!
//! # Differs from the paper
//!
//! The paper counts hops times the slowest hop; ways here add up their own hops. It
//! takes the frames below its queues for all that a signal waits for; here signals
//! wait for each other, too. It measures by confidence intervals of a mean, which
//! a single change exceeds almost every other time.

pub mod mc_sdn;
mod signal_hop;
mod spread;

pub use signal_hop::{SIGNAL_ON_WIRE, SIGNALS_AHEAD, SignalHop};
pub use spread::{Hop, MOST_SEARCHES, Trunks};

use units::{BitRate, DataSize, Delay};

/// The parts of the delay of a mode change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeChange {
    /// From the last bit of the violating frame at a switch to the decision.
    pub detection: Delay,
    /// From there until the last switch knows, see [`Trunks::spread`].
    pub spread: Delay,
    /// From there until that switch treats frames by the new rules.
    pub local: Delay,
    /// From there until what has to go first is gone.
    pub drain: Delay,
}

impl ModeChange {
    /// Returns what flows of higher levels may be later for a change.
    #[must_use]
    pub fn total(&self) -> Delay {
        self.detection + self.spread + self.local + self.drain
    }

    /// Returns the same where the level also falls.
    ///
    /// While it falls, a switch that watches may still grant what the higher level does,
    /// and tell nobody: what others know of the lower level has to reach it, and that it
    /// raises the level again has to reach them. And the fall may have been asked for
    /// before a rise was heard of. So up to three waves cross the network, and after two
    /// of them something may still be ahead.
    #[must_use]
    pub fn total_where_it_falls(&self) -> Delay {
        self.detection + (self.spread + self.local) * 3_u64 + self.drain * 2_u64
    }
}

/// What a switch needs for a change of its own rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalChange {
    /// Whatever there is to change.
    pub fixed: Delay,
    /// For each rule; zero where a mode is one word.
    pub per_rule: Delay,
    /// For each frame that waits; zero where a frame is judged when its turn comes.
    pub per_frame: Delay,
}

impl LocalChange {
    /// Returns how long it takes with so many `rules` and waiting `frames`.
    #[must_use]
    pub fn bound(&self, rules: Rules, frames: FrameCount) -> Delay {
        self.fixed + self.per_rule * rules.0 + self.per_frame * frames.0
    }
}

/// A number of rules that a change concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules(pub u64);

/// A number of frames in queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCount(pub u64);

/// What of the time before a change may stand ahead of a favoured frame at one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// The favoured flows have queues that no frame of a lower level enters: only the
    /// frames that can no longer be overtaken.
    Reserved {
        /// These, on the wire.
        blocking: DataSize,
    },
    /// Frames of the old rules are given up when their turn comes.
    GivenUp {
        /// The frames that can no longer be overtaken, on the wire.
        blocking: DataSize,
        /// How many wait at most.
        frames: FrameCount,
        /// How long it takes to give one up.
        each: Delay,
    },
    /// Frames of the old rules are sent.
    Sent {
        /// Everything that may be queued, on the wire.
        backlog: DataSize,
    },
}

impl Ahead {
    /// Returns how long it takes at a port of this rate until that is gone; or `None`
    /// if that is longer than 213 days.
    #[must_use]
    pub fn bound(&self, rate: BitRate) -> Option<Delay> {
        match *self {
            Self::Reserved { blocking } => rate.checked_time_to_send(blocking),
            Self::GivenUp {
                blocking,
                frames,
                each,
            } => {
                let each = u128::from(each.as_ps()) * u128::from(frames.0);
                let given_up = Delay::from_ps(u64::try_from(each).ok()?);
                rate.checked_time_to_send(blocking)?.checked_add(given_up)
            }
            Self::Sent { backlog } => rate.checked_time_to_send(backlog),
        }
    }
}

#[cfg(test)]
mod tests;
