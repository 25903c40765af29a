//! What the levels of a network did during a run (S2-10).

use serde::Serialize;

/// The levels and their changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModesReport {
    /// The names of the levels, the lowest first.
    pub levels: Vec<String>,
    /// Who changes the level.
    pub strategy: String,
    /// The longest that a change may take; nothing where none is promised.
    pub change_bound_ns: Option<u64>,
    /// The changes, in order of time.
    pub changes: Vec<ModeChangeReport>,
}

/// A change of mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModeChangeReport {
    /// When it was noticed that something demands it, after the start of traffic.
    pub at_ns: u64,
    /// How often the level had been lowered.
    pub era: u32,
    /// The name of the new level.
    pub level: String,
    /// The switch at which it began.
    pub origin: String,
    /// From there until the last switch had changed.
    pub took_ns: u64,
    /// How many switches changed.
    pub switches: usize,
}
