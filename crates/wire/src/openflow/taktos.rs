//! What a Taktos switch can be asked that OpenFlow 1.3 has no words for.
//!
//! Each question and each answer is an experimenter multipart (OF13 clause
//! 7.3.5.15) under the number [`EXPERIMENTER`]; `docs/openflow-extension.md`
//! gives them byte by byte. Questions have no body. What is said of criticality
//! modes are messages of the same experimenter, [`ModeMessage`], actions among
//! [`Action`](super::Action) and a field among [`MatchField`](super::MatchField); what is
//! said of how long frames stay are messages as well, [`HopMessage`], and so is which
//! neighbours are asked whether they are there, [`BfdConfig`].

mod bfd;
mod cost;
mod digests;
mod engine;
mod features;
mod hops;
mod losses;
mod mode;
mod nodes;
mod police;
mod residence;
mod streams;
mod tally;

pub(in crate::openflow) use bfd::BFD_CONFIG;
pub use bfd::{BfdConfig, BfdCounters, BfdFailed, BfdReport, PortSession, SessionOwner, StandIn};
pub use cost::{CostReply, TableCost, Work};
pub use digests::{CookieClass, DigestSum, EntryContent, TableDigest};
pub use engine::{CoreReason, EngineItem, EngineReply, EngineSubject};
pub use features::SwitchFeatures;
pub use hops::{
    HopConfig, HopCoverage, HopEvent, HopFailed, HopMessage, HopRecord, HopReply, WatchedQueue,
};
pub use losses::EntryLosses;
pub use mode::{
    Demanded, HEART_BEAT_MAX, HEART_BEAT_MIN, HOLD_MAX, LevelSet, ModeCommand, ModeConfig,
    ModeCounters, ModeEvent, ModeEventKind, ModeFailed, ModeFlags, ModeKey, ModeMessage, ModeSet,
    ModeStatus, MonitorCommand, MonitorContract, MonitorId, MonitorMod, MonitorReport,
    QueuedFrameAction, QueuedFrameActions, ShadowMod, SignalFault, Trunk, TrunkStatus,
};
pub use nodes::{LanSight, NodeCounters, NodeReply, NodeReport};
pub(in crate::openflow) use police::POLICE_EVENT;
pub use police::{ExceedAction, FrameLimit, Police, PoliceEvent, PolicedEntry};
pub use residence::{QueueResidence, ResidenceBucket};
pub(in crate::openflow) use streams::STREAM_EVENT;
pub use streams::{
    Eliminate, RecoveryAlgorithm, SequenceEncoding, StreamCounters, StreamEvent, StreamHandle,
    StreamReport, TrailerAction,
};
pub use tally::SwitchTally;

use super::{DecodeError, Experimenter, Sequence};
use crate::reader::Reader;

/// The experimenter: an address block of no manufacturer, since it is
/// administered locally.
pub const EXPERIMENTER: u32 = 0x0006_746b;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// What a frame costs at most.
    Cost,
    /// How long frames stayed in each queue.
    Residence,
    /// Which entries lost frames at ports.
    Losses,
    /// What the switch as a whole did.
    Tally,
    /// What is handled where.
    Engine,
    /// What the switch holds of the mode.
    Modes,
    /// What monitors saw.
    Monitors,
    /// What entries that police have seen.
    Policed,
    /// How long the frames of each entry stayed.
    Hops,
    /// What was counted of streams that go over several ways.
    Streams,
    /// What sessions of BFD stand, and what they heard.
    Sessions,
    /// Which stations said to be there, by PRP.
    Nodes,
    /// What entries the tables have, in a few numbers.
    Digests,
    /// What the switch does that not all do.
    Features,
}

/// An answer, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// What a frame costs at most.
    Cost(CostReply<'a>),
    /// How long frames stayed, queue by queue.
    Residence(Sequence<'a, QueueResidence<'a>>),
    /// Entries that lost frames.
    Losses(Sequence<'a, EntryLosses<'a>>),
    /// What the switch as a whole did.
    Tally(SwitchTally),
    /// What is handled where.
    Engine(EngineReply<'a>),
    /// What the switch holds of the mode.
    Modes(ModeStatus<'a>),
    /// What monitors saw, one by one.
    Monitors(Sequence<'a, MonitorReport>),
    /// What entries that police have seen, one by one.
    Policed(Sequence<'a, PolicedEntry>),
    /// How long the frames of each entry stayed, of queues that are watched.
    Hops(HopReply<'a>),
    /// What was counted of streams that go over several ways, one by one.
    Streams(Sequence<'a, StreamReport>),
    /// What sessions of BFD stand, port by port.
    Sessions(Sequence<'a, BfdReport>),
    /// Which stations said to be there, by PRP.
    Nodes(NodeReply<'a>),
    /// What entries the tables have, class by class.
    Digests(Sequence<'a, TableDigest>),
    /// What the switch does that not all do.
    Features(SwitchFeatures),
}

impl Question {
    const ALL: [Self; 14] = [
        Self::Cost,
        Self::Residence,
        Self::Losses,
        Self::Tally,
        Self::Engine,
        Self::Modes,
        Self::Monitors,
        Self::Policed,
        Self::Hops,
        Self::Streams,
        Self::Sessions,
        Self::Nodes,
        Self::Digests,
        Self::Features,
    ];

    const fn number(self) -> u32 {
        match self {
            Self::Cost => 1,
            Self::Residence => 2,
            Self::Losses => 3,
            Self::Tally => 4,
            Self::Engine => 5,
            Self::Modes => 6,
            Self::Monitors => 7,
            Self::Policed => 9,
            Self::Hops => 8,
            Self::Streams => 10,
            Self::Sessions => 11,
            Self::Nodes => 12,
            Self::Digests => 13,
            Self::Features => 14,
        }
    }

    /// Returns the question that a multipart request asks; none if it is not one
    /// of ours.
    #[must_use]
    pub fn of(asked: &Experimenter<'_>) -> Option<Self> {
        let ours = asked.experimenter == EXPERIMENTER && asked.data.is_empty();
        let mut questions = Self::ALL.into_iter().filter(|_| ours);
        questions.find(|question| question.number() == asked.kind)
    }

    /// Returns the body of the multipart request that asks it.
    #[must_use]
    pub const fn body(self) -> Experimenter<'static> {
        Experimenter {
            experimenter: EXPERIMENTER,
            kind: self.number(),
            data: &[],
        }
    }
}

impl<'a> Answer<'a> {
    /// Takes the body of a multipart reply apart; none if it is not one of ours.
    /// Lists inside are checked only while iterating.
    ///
    /// # Errors
    ///
    /// If it is cut short.
    pub fn parse(body: &Experimenter<'a>) -> Result<Option<Self>, DecodeError> {
        let asked = Experimenter { data: &[], ..*body };
        let Some(question) = Question::of(&asked) else {
            return Ok(None);
        };
        Ok(Some(match question {
            Question::Cost => Self::Cost(CostReply::parse(body.data)?),
            Question::Residence => Self::Residence(Sequence::from_bytes(body.data)),
            Question::Losses => Self::Losses(Sequence::from_bytes(body.data)),
            Question::Tally => Self::Tally(SwitchTally::parse(&mut Reader::new(body.data))?),
            Question::Engine => Self::Engine(EngineReply::parse(body.data)?),
            Question::Modes => Self::Modes(ModeStatus::parse(body.data)?),
            Question::Monitors => Self::Monitors(Sequence::from_bytes(body.data)),
            Question::Policed => Self::Policed(Sequence::from_bytes(body.data)),
            Question::Hops => Self::Hops(HopReply::parse(body.data)?),
            Question::Streams => Self::Streams(Sequence::from_bytes(body.data)),
            Question::Sessions => Self::Sessions(Sequence::from_bytes(body.data)),
            Question::Nodes => Self::Nodes(NodeReply::parse(body.data)?),
            Question::Digests => Self::Digests(Sequence::from_bytes(body.data)),
            Question::Features => Self::Features(SwitchFeatures::parse(body.data)?),
        }))
    }

    /// Returns the question that it answers.
    #[must_use]
    pub const fn question(&self) -> Question {
        match self {
            Self::Cost(_) => Question::Cost,
            Self::Residence(_) => Question::Residence,
            Self::Losses(_) => Question::Losses,
            Self::Tally(_) => Question::Tally,
            Self::Engine(_) => Question::Engine,
            Self::Modes(_) => Question::Modes,
            Self::Monitors(_) => Question::Monitors,
            Self::Policed(_) => Question::Policed,
            Self::Hops(_) => Question::Hops,
            Self::Streams(_) => Question::Streams,
            Self::Sessions(_) => Question::Sessions,
            Self::Nodes(_) => Question::Nodes,
            Self::Digests(_) => Question::Digests,
            Self::Features(_) => Question::Features,
        }
    }

    /// Writes what it says into `data`, and returns the body of the multipart
    /// reply.
    pub fn body<'b>(&self, data: &'b mut Vec<u8>) -> Experimenter<'b> {
        data.clear();
        match self {
            Self::Cost(cost) => cost.emit(data),
            Self::Residence(queues) => queues.emit(data),
            Self::Losses(entries) => entries.emit(data),
            Self::Tally(tally) => tally.emit(data),
            Self::Engine(engine) => engine.emit(data),
            Self::Modes(status) => status.emit(data),
            Self::Monitors(monitors) => monitors.emit(data),
            Self::Policed(entries) => entries.emit(data),
            Self::Hops(hops) => hops.emit(data),
            Self::Streams(streams) => streams.emit(data),
            Self::Sessions(sessions) => sessions.emit(data),
            Self::Nodes(nodes) => nodes.emit(data),
            Self::Digests(tables) => tables.emit(data),
            Self::Features(features) => features.emit(data),
        }
        Experimenter {
            experimenter: EXPERIMENTER,
            kind: self.question().number(),
            data,
        }
    }
}

#[cfg(test)]
mod tests;
