//! Why a switch refuses what a controller wants of modes.

use super::EXPERIMENTER;
use crate::openflow::ErrorKind;

numbered! {
    /// Why something about modes was refused, as codes of errors of
    /// [`EXPERIMENTER`].
    pub enum ModeFailed: u16 {
        /// Flows of the switch demanded more not long ago.
        NotQuiet = 1,
        /// The level is not lower, or there is no further era.
        NotLower = 2,
        /// There is no such monitor.
        UnknownMonitor = 3,
        /// The contracts of a monitor make no sense together.
        BadContracts = 4,
        /// There is no such port.
        BadPort = 5,
        /// No room for another monitor.
        TooManyMonitors = 6,
        /// There is no such level, or none at all.
        BadLevel = 7,
        /// The hold time or the interval of heart-beats is out of bounds.
        BadTime = 8,
        /// The command is unknown.
        BadCommand = 9,
        /// Too many trunk ports.
        TooManyPorts = 10,
        /// A flag is unknown.
        BadFlags = 11,
        /// Entries refer to the monitor.
        MonitorInUse = 12,
    }
}

impl ModeFailed {
    /// Returns what to answer.
    #[must_use]
    pub const fn into_kind(self) -> ErrorKind {
        ErrorKind::Experimenter {
            code: self.number(),
            experimenter: EXPERIMENTER,
        }
    }

    /// Returns what an error says, if it is one of these.
    #[must_use]
    pub const fn of(kind: ErrorKind) -> Option<Self> {
        match kind {
            ErrorKind::Experimenter {
                code,
                experimenter: EXPERIMENTER,
            } => Self::from_number(code),
            _ => None,
        }
    }
}

impl From<ModeFailed> for ErrorKind {
    fn from(failed: ModeFailed) -> Self {
        failed.into_kind()
    }
}
