//! What the levels of a network did during a run (S2-10), and what each flow saw of
//! them.

use serde::Serialize;
use units::Duration;

use super::flow::Latency;
use crate::levels::{AtLevel, Treatment};

/// The levels and their changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModesReport {
    /// The names of the levels, the lowest first.
    pub levels: Vec<String>,
    pub strategy: String,
    /// The longest that a change may take; nothing where none is promised.
    pub change_bound_ns: Option<u64>,
    /// The changes, in order of time.
    pub changes: Vec<ModeChangeReport>,
    /// What demanded them, as the controller was told, in order of time.
    pub violations: Vec<ViolationReport>,
    /// What the switches told each other, in the order of the scenario; those that know
    /// modes.
    pub signals: Vec<SignalsReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModeChangeReport {
    /// When it was noticed that something demands it, after the start of traffic.
    pub at_ns: u64,
    /// How often the level had been lowered.
    pub era: u32,
    /// The name of the new level.
    pub level: String,
    /// Where it began: a switch, or the controller.
    pub origin: String,
    /// From there until the last switch had changed.
    pub took_ns: u64,
    pub switches: usize,
    /// When each of them did, as far as they said so, in order of time.
    pub entered: Vec<EnteredReport>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnteredReport {
    pub switch: String,
    /// How long after the change had been demanded.
    pub after_ns: u64,
}

/// A flow that demanded more than the lowest level grants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViolationReport {
    /// When the switch noticed it, after the start of traffic.
    pub at_ns: u64,
    pub flow: String,
    /// The switch that watches it.
    pub switch: String,
    /// The level that it asks for.
    pub level: String,
    /// How often since the switch had told last.
    pub count: u64,
}

/// What a switch told its neighbours of modes, and was told. Heart-beats are signals,
/// too, and counted apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignalsReport {
    pub switch: String,
    pub sent: u64,
    pub received: u64,
    /// Signals of the mode that it held already.
    pub duplicate: u64,
    /// Signals of a lesser mode.
    pub stale: u64,
    pub beats_sent: u64,
    pub beats_received: u64,
    /// Signals that did not count.
    pub refused: RefusedSignals,
    /// Demands for more of flows that it watches.
    pub demanded: u64,
    pub entered: u64,
    /// Frames given up that already stood in its queues.
    pub queued_dropped: u64,
    /// Frames moved to another queue that stood in one.
    pub queued_moved: u64,
}

/// Signals that did not count, by what was wrong with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RefusedSignals {
    pub forged: u64,
    /// The port: it leads to no switch.
    pub misplaced: u64,
    /// They were not from the other end of the cable.
    pub replayed: u64,
    /// Cut short or of an unknown form.
    pub malformed: u64,
}

impl RefusedSignals {
    /// Returns how many there were.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.forged + self.misplaced + self.replayed + self.malformed
    }
}

/// What a flow had at a level of criticality, and what was observed of it there.
#[derive(Clone, Debug, Serialize)]
pub struct LevelReport {
    /// The name of the level.
    pub level: String,
    /// Whether the flow is served there.
    pub served: bool,
    /// How late a frame may be, as asked for.
    pub deadline_ns: Option<u64>,
    /// How late one may be, as calculated, a change of level included.
    pub guarantee_ns: Option<u64>,
    /// Deliveries that were due: frames sent, for each receiver.
    pub sent: u64,
    pub received: u64,
    /// Those that did not although the flow was served.
    pub lost: u64,
    /// Those that did not since the flow was given up.
    pub given_up: u64,
    /// Deliveries later than the guarantee.
    pub late: u64,
    /// Of them, those that the machine held up.
    pub stalled: u64,
    /// Deliveries later than the deadline.
    pub missed_deadline: u64,
    /// How long the frames travelled.
    pub latency_ns: Option<Latency>,
    /// The longest, but for frames that were late because the machine held them up.
    pub highest_ns: Option<u64>,
}

impl LevelReport {
    /// Returns what is said of a flow at a level.
    #[must_use]
    pub fn observed(level: &str, treatment: Treatment, at: &AtLevel) -> Self {
        let (served, guarantee, deadline) = match treatment {
            Treatment::GivenUp => (false, None, None),
            Treatment::Served {
                guarantee,
                deadline,
            } => (true, guarantee, deadline),
        };
        Self {
            level: level.to_owned(),
            served,
            deadline_ns: deadline.map(Duration::as_ns),
            guarantee_ns: guarantee.map(Duration::as_ns),
            sent: at.sent,
            received: at.received,
            lost: at.lost,
            given_up: at.given_up,
            late: at.late,
            stalled: at.stalled,
            missed_deadline: at.missed_deadline,
            latency_ns: Latency::of(&at.latency),
            highest_ns: at.highest.map(Duration::as_ns),
        }
    }
}
