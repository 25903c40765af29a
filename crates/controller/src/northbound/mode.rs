//! Why a criticality mode is not changed (S2-11).

use wire::openflow::DatapathId;
use wire::openflow::taktos::ModeFailed;

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
