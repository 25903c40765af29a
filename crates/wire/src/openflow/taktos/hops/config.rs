//! Which queues are watched.

use units::Duration;

use crate::openflow::taktos::mode::{or_never, unless_never};
use crate::openflow::{DecodeError, Element, PortNumber, QueueId, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// Says which queues are watched. It replaces what was said before; without a queue
/// nothing is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopConfig<'a> {
    /// The queues. Of one that stands there twice the last counts.
    pub queues: Sequence<'a, WatchedQueue>,
}

/// A queue through which frames leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedQueue {
    /// Its port.
    pub port: PortNumber,
    /// Which queue of the port.
    pub queue: QueueId,
    /// How long frames that leave through it may stay in the switch, if that is
    /// bounded.
    pub budget: Option<Duration>,
}

impl<'a> HopConfig<'a> {
    pub(super) const fn parse(data: &'a [u8]) -> Self {
        let queues = Sequence::from_bytes(data);
        Self { queues }
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.with(|out| self.queues.emit(out));
    }
}

impl<'a> Element<'a> for WatchedQueue {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let watched = Self {
            port: PortNumber(reader.u32()?),
            queue: QueueId(reader.u32()?),
            budget: unless_never(reader.u64()?),
        };
        Ok((watched, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).u32(self.queue.0);
        writer.u64(or_never(self.budget));
    }
}
