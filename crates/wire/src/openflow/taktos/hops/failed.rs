//! Why a switch does not watch what a controller wants watched.

use crate::openflow::ErrorKind;
use crate::openflow::taktos::EXPERIMENTER;

numbered! {
    /// Why a list of queues to watch was refused, as codes of errors of
    /// [`EXPERIMENTER`]. Those about modes have the others.
    pub enum HopFailed: u16 {
        /// There is no such port.
        BadPort = 5,
        /// The port has no such queue.
        BadQueue = 13,
        /// More queues than the switch has.
        TooManyQueues = 14,
    }
}

impl HopFailed {
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

impl From<HopFailed> for ErrorKind {
    fn from(failed: HopFailed) -> Self {
        failed.into_kind()
    }
}
