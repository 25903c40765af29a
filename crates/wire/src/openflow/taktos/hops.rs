//! How long frames stayed in a switch, entry by entry, against the budget of the queue
//! through which they left: what a controller wants watched, what was seen, and what a
//! switch says unasked.
//!
//! What a controller says, and what it is told unasked, are experimenter messages (OF13
//! clause 7.5.4) under [`EXPERIMENTER`].

mod config;
mod event;
mod failed;
mod record;

pub use config::{HopConfig, WatchedQueue};
pub use event::HopEvent;
pub use failed::HopFailed;
pub use record::{HopCoverage, HopRecord, HopReply};

use super::EXPERIMENTER;
use crate::openflow::header::{begin, finish};
use crate::openflow::{DecodeError, MessageType, TransactionId};
use crate::reader::Reader;

const HOP_CONFIG: u32 = 6;
const HOP_EVENT: u32 = 7;

/// A message about how long frames stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopMessage<'a> {
    /// Says which queues are watched.
    Config(HopConfig<'a>),
    /// Says that frames of an entry stayed too long.
    Event(HopEvent),
}

impl<'a> HopMessage<'a> {
    /// Takes apart what follows the experimenter and the type; none if the type is
    /// not one of ours.
    pub(in crate::openflow) fn parse(
        kind: u32,
        data: &'a [u8],
    ) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match kind {
            HOP_CONFIG => Self::Config(HopConfig::parse(data)),
            HOP_EVENT => Self::Event(HopEvent::parse(Reader::new(data))?),
            _ => return Ok(None),
        }))
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(EXPERIMENTER).u32(self.number());
        match self {
            Self::Config(config) => config.write(&mut message),
            Self::Event(event) => event.write(&mut message),
        }
        finish(&mut message);
    }

    const fn number(&self) -> u32 {
        match self {
            Self::Config(_) => HOP_CONFIG,
            Self::Event(_) => HOP_EVENT,
        }
    }
}

#[cfg(test)]
mod tests;
