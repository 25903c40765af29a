//! Criticality modes: what the network gives up, and when (S2).

use units::{DataSize, Duration};

use crate::{ClassIndex, Criticality, FlowIndex};

pub const MOST_LEVELS: usize = 8;
/// How long monitored flows have to be quiet before the level falls, if nothing else
/// is said.
pub(crate) const DEFAULT_HOLD: Duration = Duration::from_ms(500);
/// How often neighbours repeat the mode, if nothing else is said.
pub(crate) const DEFAULT_HEARTBEAT: Duration = Duration::from_ms(10);

/// The levels of a network, and how it changes between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The levels, the lowest first; at least two.
    pub levels: Vec<NamedLevel>,
    pub strategy: Strategy,
    /// How long every monitored flow has to be quiet before the level falls; if absent,
    /// it never does by itself.
    pub hold: Option<Duration>,
    /// The time between two heart-beats on a trunk.
    pub heartbeat: Duration,
    /// The level that a switch serves while its rules for the agreed one are not
    /// complete.
    pub default: LevelIndex,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedLevel {
    pub name: String,
    /// The least criticality of flows that are served at it.
    pub serves: Criticality,
}

/// Who changes the level when a flow demands it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    #[default]
    Taktos,
    /// The controller, by new rules (S2-9).
    StdSdn,
    /// Nobody: there are no modes and no monitors (S2-9).
    McAgnostic,
}

/// A place in [`Modes::levels`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LevelIndex(pub usize);

/// How a flow is treated at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    Served(Service),
    Dropped,
}

/// What a flow that is served at a level may ask for there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The class that it travels in.
    pub class: ClassIndex,
    /// How late a frame may be; best-effort flows have none.
    pub deadline: Option<Duration>,
    /// What it may send, if that is messages; other flows send the same at every
    /// level.
    pub message: Option<MessageContract>,
}

/// What a flow of messages may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageContract {
    /// The most of a message, headers not counted.
    pub size: DataSize,
    /// The least time between two messages.
    pub period: Duration,
}

/// A time in which a flow sends otherwise than it agreed to at the lowest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The flow; it sends messages.
    pub flow: FlowIndex,
    pub sent: MessageContract,
    /// From when, after the start of traffic.
    pub from: Duration,
    /// Until when; with the run if absent.
    pub until: Option<Duration>,
}

impl MessageContract {
    /// Returns whether whoever keeps `other` keeps this, too.
    #[must_use]
    pub fn grants(&self, other: &Self) -> bool {
        other.size <= self.size && other.period >= self.period
    }
}

impl Modes {
    #[must_use]
    pub fn level(&self, name: &str) -> Option<LevelIndex> {
        let level = self.levels.iter().position(|level| level.name == name);
        level.map(LevelIndex)
    }

    /// Returns the highest level at which flows of this criticality are served, unless
    /// they say otherwise.
    #[must_use]
    pub fn highest_for(&self, criticality: Criticality) -> LevelIndex {
        let serves = |level: &NamedLevel| level.serves <= criticality;
        LevelIndex(self.levels.iter().rposition(serves).unwrap_or(0))
    }
}
