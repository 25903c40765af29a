//! What the simplest switch holds of criticality modes.

use std::collections::BTreeMap;

use units::Duration;
use wire::mode_signal::{Level, Mode};
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::taktos::{
    Answer, LevelSet, ModeCommand, ModeCounters, ModeFailed, ModeFlags, ModeKey, ModeMessage,
    ModeStatus, MonitorCommand, MonitorContract, Trunk,
};
use wire::openflow::{DatapathId, ErrorKind, Sequence, TransactionId};

/// A switch's share in the mode of its network; it has no neighbours.
#[derive(Clone, Debug, Default)]
pub struct FakeMode {
    pub mode: Mode,
    pub complete: LevelSet,
    pub default: Level,
    pub flags: ModeFlags,
    /// What signals are tagged with.
    pub key: Option<ModeKey>,
    pub trunks: Vec<Trunk>,
    pub monitors: BTreeMap<u32, Vec<MonitorContract>>,
    pub quiet: Option<Duration>,
    pub waiting: u64,
    /// How often it was told how it takes part.
    pub configured: usize,
    /// How often it was asked to lower the level.
    pub lowerings: usize,
    /// Refuses to lower the level.
    pub is_restless: bool,
}

impl FakeMode {
    pub fn served(&self) -> Level {
        match self.complete.contains(self.mode.level) {
            true => self.mode.level,
            false => self.default,
        }
    }

    pub fn take(&mut self, message: &ModeMessage<'_>) -> Result<(), ErrorKind> {
        match message {
            ModeMessage::MonitorMod(order) => match order.command {
                MonitorCommand::Add => {
                    let contracts = order.contracts.iter().map(Result::unwrap);
                    self.monitors.insert(order.monitor.0, contracts.collect());
                }
                MonitorCommand::Delete => drop(self.monitors.remove(&order.monitor.0)),
            },
            ModeMessage::Config(config) => {
                self.configured += 1;
                self.complete = config.complete;
                self.default = config.default;
                self.flags = config.flags;
                self.key = Some(config.key);
                self.trunks = config.trunks.iter().map(Result::unwrap).collect();
            }
            ModeMessage::Set(order) => {
                if order.command == ModeCommand::Lower {
                    self.lowerings += 1;
                    if self.is_restless {
                        return Err(ModeFailed::NotQuiet.into());
                    }
                }
                self.mode.era += 1;
                self.mode.level = order.level;
            }
            ModeMessage::ShadowMod(_) | ModeMessage::Event(_) => panic!("{message:?}"),
        }
        Ok(())
    }

    pub fn report(&self, transaction: TransactionId, answers: &mut Vec<u8>) {
        let status = ModeStatus {
            mode: self.mode,
            origin: DatapathId(1),
            served: self.served(),
            complete: self.complete,
            default: self.default,
            flags: self.flags,
            quiet: self.quiet,
            waiting: self.waiting,
            counters: ModeCounters::default(),
            trunks: Sequence::EMPTY,
        };
        let mut data = Vec::new();
        let body = ReplyBody::Experimenter(Answer::Modes(status).body(&mut data));
        MultipartReply::new(body).emit(transaction, answers);
    }
}
