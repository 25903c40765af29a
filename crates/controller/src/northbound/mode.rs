//! What is asked, answered and told of criticality modes (S2-11).

use units::Duration;
use wire::mode_signal::{Level, Mode};
use wire::openflow::DatapathId;
use wire::openflow::taktos::{LevelSet, ModeCounters, ModeFailed};

use crate::modes::Strategy;

/// Why a level is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeRefusal {
    /// The network has no modes.
    NoModes,
    /// No level has this name.
    UnknownLevel(String),
    /// No switch that knows modes is connected.
    NoSwitch,
    BySwitch {
        datapath: DatapathId,
        failed: ModeFailed,
    },
    /// The connection of the switch that was asked is gone.
    Away(DatapathId),
}

/// In which mode a network is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeReport {
    /// The names of the levels, the lowest first.
    pub levels: Vec<String>,
    pub strategy: Strategy,
    /// The greatest mode that a switch holds.
    pub mode: Mode,
    /// Where it began, if a switch has said so.
    pub origin: Option<DatapathId>,
    /// Whether violations are kept from raising the level.
    pub is_locked: bool,
    /// The level that was forced, while it is.
    pub forced: Option<Level>,
    /// How long all have to be quiet before the level falls; nothing if it does not by
    /// itself.
    pub hold: Option<Duration>,
    /// What is served where the level is not complete.
    pub default: Level,
    /// The switches, by datapath id.
    pub switches: Vec<SwitchMode>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchMode {
    pub datapath: DatapathId,
    /// What it said last; nothing if it knows no modes or has not answered.
    pub held: Option<HeldMode>,
}

/// What a switch said of the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldMode {
    /// The mode that is agreed on, as far as it knows.
    pub mode: Mode,
    pub origin: DatapathId,
    pub served: Level,
    /// The levels whose entries are all there.
    pub complete: LevelSet,
    /// How long ago a flow of it last demanded more, if one did.
    pub quiet: Option<Duration>,
    /// Frames that waited in its queues.
    pub waiting: u64,
    pub counters: ModeCounters,
}
