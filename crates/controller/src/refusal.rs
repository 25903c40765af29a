//! Why a requirement cannot be met, in words for whoever asked.

use std::fmt;

use calculus::admission::{Constraint, Fits, Request};
use thiserror::Error;
use units::{BitRate, Delay, Duration};

use crate::modes::ModalFlowError;
use crate::seamless::SeamlessError;

/// Why a requirement cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Another flow has its name.
    #[error("another flow is called {name}")]
    NameTaken { name: String },
    /// It was to be met together with another one, and that cannot be.
    #[error("{with} is refused, and it was asked for all or none")]
    Together {
        /// The name of the other requirement.
        with: String,
    },
    #[error("there are {limit} flows, and there cannot be more")]
    TooManyFlows { limit: usize },
    /// Nobody knows a host of this name.
    #[error("host {name} is not known")]
    UnknownHost { name: String },
    /// The host is known by name only.
    #[error("nobody knows where host {name} is: no frame of it has arrived")]
    HostNotFound { name: String },
    /// The number of destinations is none or too many.
    #[error("{count} destinations, where 1 to {limit} are possible")]
    Destinations { count: usize, limit: usize },
    /// It would be sent to where it comes from.
    #[error("its source, {name}, is a destination, too")]
    ToItself { name: String },
    /// The class is not for such a flow.
    #[error("class {class} is for flows {expected}")]
    Class {
        class: u8,
        /// Which flows it is for.
        expected: &'static str,
    },
    /// It says something of levels of criticality, and the network has none.
    #[error("it says what it gets at levels of criticality, and this network has none")]
    NoModes,
    /// What it says of levels of criticality cannot be.
    #[error(transparent)]
    Modes(#[from] ModalFlowError),
    /// There are too many flows that say something of levels of criticality.
    #[error("{limit} flows say what they get at levels, and there cannot be more")]
    TooManyModalFlows { limit: usize },
    /// Its frames cannot be told from those of another flow.
    #[error("its frames cannot be told from those of {other}")]
    Indistinguishable {
        /// The name of the other flow.
        other: String,
    },
    /// No path leads to a destination.
    #[error("no path leads from {from} to {to}")]
    NoPath { from: String, to: String },
    /// A link cannot be done without.
    #[error("without {link} no path leads from {from} to {to}")]
    NoAlternative {
        link: String,
        from: String,
        to: String,
    },
    /// It cannot go over two ways at the same time.
    #[error(transparent)]
    Seamless(#[from] SeamlessError),
    /// Failures that nobody reports are noticed too late.
    #[error(
        "an interruption of {interruption} covers carrier loss only: silent faults take up to \
         {least} to be noticed and made up for"
    )]
    Unnoticed {
        interruption: Duration,
        /// The least that can be promised whatever fails.
        least: Duration,
    },
    /// Switches cannot make up for a break by themselves.
    #[error("its switches cannot make up for a broken link by themselves: {why}")]
    NoFastFailover { why: LocalLack },
    /// Nobody would drop what exceeds its contract.
    #[error("switch {switch} cannot police it: its contract would be trusted, not enforced")]
    NotEnforced { switch: String },
    /// The network has not enough left.
    #[error("{0}")]
    Shortage(Box<Shortage>),
    /// The store did not keep it.
    #[error("the store could not keep it")]
    NotStored,
}

/// What it takes for switches to make up for a broken link by themselves, and is not there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LocalLack {
    /// Where frames of a flow branch, those that come back cannot be told from those that
    /// go out.
    #[error("it has {count} receivers, and one is possible")]
    Receivers { count: usize },
    #[error("it says what it gets at levels of criticality")]
    Levels,
    /// The switch has no fast-failover groups (OpenFlow 1.0), or more ports than ids of
    /// groups can name.
    #[error("switch {switch} has no group for it")]
    Group { switch: String },
    /// Its frames would meet entries there that lead them elsewhere.
    #[error("without {link} its frames would come back to where others of them pass")]
    Ambiguous { link: String },
}

/// What the network has not enough of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The link or switch that has not enough left, by name, or `None` if it is
    /// no matter of one.
    pub place: Option<String>,
    /// The link after whose failure it would not have enough, by name, or
    /// `None` if it has not anyway.
    pub after: Option<String>,
    /// The level of criticality at which it would not, by name, or `None` if at the
    /// lowest.
    pub level: Option<String>,
    pub constraint: Constraint,
    /// What the controller's own probes break there already, if that is why nothing can
    /// be promised.
    pub probes_break: Option<Constraint>,
    /// The rate that was asked for.
    pub rate: BitRate,
    /// What would have been admitted instead.
    pub fits: Fits,
    /// What the ledger was asked for, by its own numbers.
    pub asked: Request,
    /// The longest that it takes on the way that was asked for if nothing else is
    /// promised: no deadline below that can be kept. Nothing if it would be in time.
    pub alone: Option<Delay>,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(level) = &self.level {
            write!(f, "at level {level}, ")?;
        }
        if let Some(place) = &self.place {
            write!(f, "{place} ")?;
        }
        match &self.constraint {
            Constraint::Rate {
                needed_bps,
                allowed,
                ..
            } => {
                let taken = needed_bps.saturating_sub(self.rate.as_bps());
                match allowed.left_after(taken) {
                    Some(left) => write!(f, "has {left} of {allowed} left for its class")?,
                    None => write!(f, "has nothing of {allowed} left for its class")?,
                }
            }
            // Such a budget has a switch that can promise nothing to anybody.
            Constraint::Delay { allowed, .. } if *allowed == Delay::ZERO => write!(
                f,
                "can promise nothing: probes and traffic without promise alone may exceed its \
                 processor or its buffer"
            )?,
            Constraint::NoBudget { .. } if let Some(broken) = &self.probes_break => write!(
                f,
                "can promise nothing: with the controller's probes alone, {broken}"
            )?,
            other if self.place.is_some() => write!(f, "cannot take it: {other}")?,
            other => write!(f, "{other}")?,
        }
        if let Some(link) = &self.after {
            write!(f, " while {link} is down")?;
        }
        if let Some(alone) = self.alone {
            write!(f, "; alone in the network it takes up to {alone}")?;
        }
        match (self.fits.rate, self.fits.burst) {
            (Some(rate), _) => write!(f, "; {rate} would fit"),
            (None, Some(burst)) => write!(f, "; a burst of {burst} would fit"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use calculus::admission::{StageId, Tree};
    use units::DataSize;

    use super::*;

    #[test]
    fn a_switch_that_can_promise_nothing_says_so_and_not_that_its_budget_is_zero() {
        let frame = DataSize::from_bytes(306);
        let shortage = Shortage {
            place: Some("s1".to_owned()),
            after: None,
            level: None,
            constraint: Constraint::Delay {
                class: 7,
                needed: Delay::from_us(257),
                allowed: Delay::ZERO,
            },
            rate: BitRate::from_mbps(1),
            fits: Fits::default(),
            alone: None,
            probes_break: None,
            asked: Request {
                class: 7,
                rate: BitRate::from_mbps(1),
                burst: frame,
                peak: None,
                frames: None,
                largest_frame: frame,
                smallest_frame: frame,
                deadline: Delay::from_us(5_000),
                initial: Delay::ZERO,
                base: Tree::path([StageId(0)]),
                alternatives: Vec::new(),
                is_held_back: false,
                redundant: None,
            },
        };

        let said = shortage.to_string();

        assert!(said.starts_with("s1 can promise nothing: probes"), "{said}");
        assert!(!said.contains("0 ns"), "{said}");
    }
}
