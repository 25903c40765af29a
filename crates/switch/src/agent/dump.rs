//! Answers too long to be given at once: they are sent part by part, and frames
//! have their turn in between.

use units::Instant;

use super::engine_dump::EngineDump;
use super::group_statistics::GroupDump;
use super::hops::HopDump;
use super::inspection::{LossesDump, ResidenceDump, TallyDump};
use super::police::PolicedDump;
use super::session::Session;
use super::statistics::{EntryDump, PortDump, QueueDump};
use super::streams::StreamDump;
use super::table_features::TableDump;
use crate::pipeline::Pipeline;

/// What is left of an answer.
#[derive(Debug)]
pub(super) enum Dump {
    Entries(Box<EntryDump>),
    Groups(GroupDump),
    Ports(PortDump),
    Queues(QueueDump),
    /// It tells what the switch as a whole did.
    Tally(TallyDump),
    /// It lists what tables can do.
    Tables(TableDump),
    /// It lists how long frames stayed.
    Residence(ResidenceDump),
    /// It lists entries that lost frames.
    Losses(LossesDump),
    /// It lists entries that police.
    Policed(PolicedDump),
    /// It lists what is handled where.
    Engine(EngineDump),
    /// It lists how long the frames of entries stayed.
    Hops(HopDump),
    /// It lists streams that go over several ways.
    Streams(StreamDump),
}

impl Dump {
    /// Sends one part of the answer, and returns what is left of it.
    pub(super) fn send_part(
        self,
        now: Instant,
        pipeline: &Pipeline,
        session: &mut Session,
    ) -> Option<Self> {
        match self {
            Self::Entries(dump) => dump.send_part(now, pipeline, session).map(Self::Entries),
            Self::Groups(dump) => dump.send_part(now, pipeline, session).map(Self::Groups),
            Self::Ports(dump) => dump.send(now, pipeline, session),
            Self::Queues(dump) => dump.send(now, pipeline, session),
            Self::Tally(dump) => dump.send(pipeline, session),
            Self::Tables(dump) => dump.send_part(pipeline, session).map(Self::Tables),
            Self::Residence(dump) => dump.send_part(pipeline, session).map(Self::Residence),
            Self::Losses(dump) => dump.send_part(pipeline, session).map(Self::Losses),
            Self::Policed(dump) => dump.send_part(pipeline, session).map(Self::Policed),
            Self::Engine(dump) => dump.send_part(pipeline, session).map(Self::Engine),
            Self::Streams(dump) => dump.send_part(pipeline, session).map(Self::Streams),
            Self::Hops(dump) => dump.send_part(pipeline, session).map(Self::Hops),
        }
    }
}
