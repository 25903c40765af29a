//! Changing flow tables (OF10 section 5.3.3).

use super::header::{begin, finish};
use super::{Actions, Match10, MessageType, PortNumber};
use crate::openflow::{
    self, BufferId, Cookie, DecodeError, ErrorKind, FlowModCommand, TransactionId,
};
use crate::reader::Reader;

flags! {
    /// How an entry behaves (`ofp_flow_mod_flags`).
    pub struct FlowModFlags: u16 {
        /// Tells the controller when the entry goes.
        SEND_FLOW_REMOVED = 1 << 0;
        /// Refuses the entry if it overlaps one of the same priority.
        CHECK_OVERLAP = 1 << 1;
        /// The entry is for the time without a controller.
        EMERGENCY = 1 << 2;
    }
}

/// Changes entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowMod<'a> {
    /// Which frames.
    pub matching: Match10,
    /// What the controller writes on the entry.
    pub cookie: Cookie,
    /// What to do.
    pub command: FlowModCommand,
    /// Seconds without a frame until the entry goes; 0 for never.
    pub idle_timeout_s: u16,
    /// Seconds until the entry goes; 0 for never.
    pub hard_timeout_s: u16,
    /// Which of the entries that match a frame wins: the highest.
    pub priority: u16,
    /// A frame that the switch keeps and is to treat by the new entry.
    pub buffer: BufferId,
    /// Deletes only entries that send out of this port.
    pub out_port: PortNumber,
    /// How the entry behaves.
    pub flags: FlowModFlags,
    /// What the entry does with frames.
    pub actions: Actions<'a>,
}

impl<'a> FlowMod<'a> {
    /// The order to add an entry that matches every frame, drops it and stays.
    pub const ADD: Self = Self {
        matching: Match10::ANY,
        cookie: Cookie::NONE,
        command: FlowModCommand::Add,
        idle_timeout_s: 0,
        hard_timeout_s: 0,
        priority: 0,
        buffer: BufferId::NONE,
        out_port: PortNumber::NONE,
        flags: FlowModFlags::NONE,
        actions: Actions::EMPTY,
    };

    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let matching = Match10::parse(&mut reader)?;
        let cookie = Cookie(reader.u64()?);
        let command = reader.u16()?;
        let known = u8::try_from(command).ok();
        let known = known.and_then(FlowModCommand::from_number);
        Ok(Self {
            matching,
            cookie,
            command: known.ok_or(DecodeError::Value {
                field: "command",
                value: u32::from(command),
                kind: ErrorKind::FlowModFailed(openflow::FlowModFailed::BadCommand),
            })?,
            idle_timeout_s: reader.u16()?,
            hard_timeout_s: reader.u16()?,
            priority: reader.u16()?,
            buffer: BufferId(reader.u32()?),
            out_port: PortNumber(reader.u16()?),
            flags: FlowModFlags(reader.u16()?),
            actions: Actions::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::FlowMod, transaction, out);
        self.matching.emit(&mut message);
        message.u64(self.cookie.0);
        message.u16(u16::from(self.command.number()));
        message.u16(self.idle_timeout_s).u16(self.hard_timeout_s);
        message.u16(self.priority).u32(self.buffer.0);
        message.u16(self.out_port.0).u16(self.flags.0);
        message.with(|out| self.actions.emit(out));
        finish(&mut message);
    }
}
