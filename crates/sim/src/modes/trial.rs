//! Is every message in time, at every level and while the level changes, whatever happens
//! to the signals (S2-8, S2-11)?
//!
//! Flows of several criticalities share a way through a random network of 2 to 8 levels.
//! Some of their messages are as large as only a higher level allows, several at once,
//! while a level changes and while it falls. Cables lose signals (all but those of a tree
//! lose every one), repeat and delay them; cables away from the flows and on their way
//! break and heal, switches crash and start anew, other switches demand levels, and hosts
//! forge signals. A controller that knows what is quiet asks for the way back.
//!
//! Each message of a flow that is served has a bound (`bound`), and has to be whole
//! within it. Set apart are, and counted by their reason:
//!
//! - messages of flows that are given up, since a level holds on their way at which they
//!   are not served;
//! - messages whose way was cut, or a switch of which was away: these flows have no
//!   protection;
//! - messages on a way some switches of which no signal could reach at that time.
//!
//! # Left out
//!
//! Ways of flows that cross each other: what each then adds to the delay of others is
//! what the ledger computes, and holds at each level by itself (`calculus::admission`).
//! Here all flows share one way, so that a bound follows from first principles.

mod bound;
mod draw;
mod play;
mod times;

use std::collections::BTreeMap;
use std::fmt;

use units::{BitRate, Duration, Instant};

use super::deployment::Strategy;
use super::fault_schedule::{Incident, Noise};
use super::topology::ModeTopology;
use crate::parts::Processing;

use bound::Bounded;
use play::PlayRecord;

pub(super) use draw::way;

/// A network, its flows, and what happens to them.
#[derive(Clone, Debug)]
pub struct Trial {
    pub seed: u64,
    pub strategy: Strategy,
    /// The switches and their cables.
    pub topology: ModeTopology,
    /// How many levels there are.
    pub levels: u8,
    /// The rate of all links.
    pub rate: BitRate,
    /// The stage that the ports of a switch share.
    pub processing: Processing,
    pub noise: Noise,
    /// How long flows have to be quiet before the level may fall.
    pub hold: Duration,
    /// How often neighbours repeat what they hold.
    pub heartbeat: Duration,
    /// The switches on the way of all flows.
    pub route: Vec<usize>,
    /// The time between two messages of any flow.
    pub period: Duration,
    pub flows: Vec<TrialFlow>,
    /// What happens, and how long after hosts begin to send, in order.
    pub incidents: Vec<(Duration, Incident)>,
    pub duration: Duration,
}

#[derive(Clone, Debug)]
pub struct TrialFlow {
    /// The highest level at which it is served.
    pub highest: u8,
    /// What a message may have at each level, in bytes.
    pub sizes: Vec<u32>,
    /// The queue in which it travels at each level at which it is served.
    pub queues: Vec<u8>,
    /// When its first message is due.
    pub phase: Duration,
    /// The messages that are larger than the lowest level allows, and the level that
    /// allows them; in order.
    pub breaches: Vec<(u32, u8)>,
}

/// What came of a trial.
#[derive(Clone, Debug, Default)]
pub struct TrialVerdict {
    /// Messages that were in time.
    pub in_time: u64,
    /// Those of them whose bound has to do with a change of mode.
    pub in_changes: u64,
    /// Of a thousand, how much of its bound the closest message took.
    pub closest_permille: u64,
    /// Messages that were set apart, by the reason.
    pub apart: BTreeMap<Apart, u64>,
    /// Those that were late or lost.
    pub missed: Vec<Missed>,
}

/// Why nothing is promised to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Apart {
    /// A level holds at which its flow is not served.
    GivenUp,
    /// A cable or a switch of its way was away.
    WayCut,
    /// No signal could reach a switch of its way.
    NoWayForSignals,
    /// More would have to wait than a queue holds.
    QueueTooShort,
    /// It is due shortly before the end.
    AtTheEnd,
}

/// A message that was not in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    pub flow: usize,
    pub number: u32,
    /// When it was due, after hosts began to send.
    pub due: Duration,
    /// How long it took, if it arrived whole.
    pub took: Option<Duration>,
    pub within: Duration,
}

impl Trial {
    /// Draws the trial of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        draw::draw(seed)
    }

    /// Lets everything happen, and looks at every message.
    #[must_use]
    pub fn verdict(&self) -> TrialVerdict {
        let record = play::play(self);
        let mut verdict = TrialVerdict::default();
        for (flow, arrivals) in record.arrivals.iter().enumerate() {
            for (number, took) in arrivals.iter().enumerate() {
                let number = u32::try_from(number).expect("a few messages");
                verdict.count(self, &record, (flow, number), *took);
            }
        }
        verdict
    }

    /// Returns when a message is due, after hosts begin to send.
    fn due(&self, flow: usize, number: u32) -> Duration {
        self.flows[flow].phase + self.period * u64::from(number)
    }

    /// Returns how large a message is.
    fn size(&self, flow: usize, number: u32) -> u32 {
        let flow = &self.flows[flow];
        let breach = flow.breaches.iter().find(|(breach, _)| *breach == number);
        flow.sizes[breach.map_or(0, |(_, level)| usize::from(*level))]
    }
}

impl TrialVerdict {
    /// Tells whether every message that something was promised to was in time.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.missed.is_empty()
    }

    fn count(
        &mut self,
        trial: &Trial,
        record: &PlayRecord,
        (flow, number): (usize, u32),
        took: Option<Duration>,
    ) {
        let due = trial.due(flow, number);
        let Bounded { within, in_change } = match bound::of(trial, record, (flow, number)) {
            Ok(bounded) => bounded,
            Err(apart) => {
                *self.apart.entry(apart).or_default() += 1;
                return;
            }
        };
        match took {
            Some(took) if took <= within => {
                self.in_time += 1;
                self.in_changes += u64::from(in_change);
                let share = took.as_ns() * 1_000 / within.as_ns().max(1);
                self.closest_permille = self.closest_permille.max(share);
            }
            Some(_) | None => self.missed.push(Missed {
                flow,
                number,
                due,
                took,
                within,
            }),
        }
    }

    /// Adds what came of another trial.
    pub fn merge(&mut self, other: Self) {
        self.in_time += other.in_time;
        self.in_changes += other.in_changes;
        self.closest_permille = self.closest_permille.max(other.closest_permille);
        for (reason, count) in other.apart {
            *self.apart.entry(reason).or_default() += count;
        }
        self.missed.extend(other.missed);
    }
}

impl Apart {
    /// Returns the reason in words.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::GivenUp => "of flows that the level gives up",
            Self::WayCut => "whose way was cut, without protection",
            Self::NoWayForSignals => "on a way that signals could not reach whole",
            Self::QueueTooShort => "for which a queue is too short",
            Self::AtTheEnd => "shortly before the end",
        }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flow, number) = (self.flow, self.number);
        let (due, within) = (self.due, self.within);
        write!(out, "message {number} of flow {flow}, due at {due}, ")?;
        match self.took {
            Some(took) => write!(out, "took {took}, promised {within}"),
            None => write!(out, "is lost, promised {within}"),
        }
    }
}

/// Returns the time from when hosts began to send.
fn after(start: Instant, at: Instant) -> Duration {
    at.saturating_since(start)
}
