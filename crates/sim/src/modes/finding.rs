//! What must never be seen.

use std::fmt;

use units::{Duration, Instant};
use wire::mode_signal::{Level, Mode};

/// Something that must never be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Switches that are connected do not hold the same mode in time.
    NotAgreed {
        modes: Vec<Mode>,
        /// In how much time after the last incident they should.
        within: Duration,
    },
    /// A switch serves a level whose entries it does not have.
    ServesIncomplete {
        switch: usize,
        level: Level,
        at: Instant,
    },
    /// A switch has entered a mode that no switch began.
    FromNowhere {
        switch: usize,
        mode: Mode,
        at: Instant,
    },
    /// The level is lower than what a flow demanded not long ago.
    DemandLost {
        switch: usize,
        level: Level,
        mode: Mode,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAgreed { modes, within } => {
                write!(out, "not agreed within {within:?}:")?;
                for (switch, mode) in modes.iter().enumerate() {
                    let (era, level) = (mode.era, mode.level.number());
                    write!(out, " s{switch} ({era}, {level})")?;
                }
                Ok(())
            }
            Self::ServesIncomplete { switch, level, at } => {
                let level = level.number();
                write!(out, "s{switch} serves level {level}, incomplete, at {at:?}")
            }
            Self::FromNowhere { switch, mode, at } => {
                let (era, level) = (mode.era, mode.level.number());
                write!(
                    out,
                    "s{switch} enters ({era}, {level}) at {at:?}, which no switch began"
                )
            }
            Self::DemandLost {
                switch,
                level,
                mode,
            } => {
                let (demanded, held) = (level.number(), mode.level.number());
                write!(out, "s{switch} demanded level {demanded}, held is {held}")
            }
        }
    }
}
