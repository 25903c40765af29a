//! Which failures the promise of an interruption covers.

use std::fmt;

/// Which failures the promise of an interruption covers. The greater covers more.
///
/// A switch says at once that a port has lost its carrier. A fault that is silent (a
/// cable that carries nothing while both ends see a carrier, a switch whose process has
/// died) is found by probes and echoes, and that takes as long as their timers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cover {
    /// Links whose ends lose the carrier.
    #[default]
    CarrierLoss,
    /// Silent faults of a link as well.
    Any,
}

impl Cover {
    /// Returns its name, as programs and scenarios spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CarrierLoss => "carrier-loss",
            Self::Any => "any",
        }
    }
}

impl fmt::Display for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CarrierLoss => "carrier loss only",
            Self::Any => "carrier loss and silent faults",
        })
    }
}
