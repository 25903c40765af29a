//! Changing flow tables (OF13 clause 7.3.4.1).

use super::header::{begin, finish};
use super::oxm::{emit_match, parse_match};
use super::{
    BufferId, Cookie, DecodeError, ErrorKind, Fields, FlowModFailed, GroupId, Instructions,
    MessageType, PortNumber, TableId, TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

numbered! {
    /// What to do with the entries (`ofp_flow_mod_command`).
    pub enum FlowModCommand: u8 {
        /// Adds an entry, in place of one with the same match and priority.
        Add = 0,
        /// Changes every entry that the match covers.
        Modify = 1,
        /// Changes the entry with the same match and priority.
        ModifyStrict = 2,
        /// Deletes every entry that the match covers.
        Delete = 3,
        /// Deletes the entry with the same match and priority.
        DeleteStrict = 4,
    }
}

flags! {
    /// How an entry behaves (`ofp_flow_mod_flags`).
    pub struct FlowModFlags: u16 {
        /// Tells the controller when the entry goes.
        SEND_FLOW_REMOVED = 1 << 0;
        /// Refuses the entry if it overlaps one of the same priority.
        CHECK_OVERLAP = 1 << 1;
        /// Sets the counters of a changed entry back.
        RESET_COUNTS = 1 << 2;
        /// Does not count frames.
        NO_PACKET_COUNTS = 1 << 3;
        /// Does not count bytes.
        NO_BYTE_COUNTS = 1 << 4;
    }
}

/// Changes entries of a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowMod<'a> {
    /// What the controller writes on the entry.
    pub cookie: Cookie,
    /// Which bits of the cookie an entry must share to be changed or deleted.
    pub cookie_mask: Cookie,
    /// Which table.
    pub table: TableId,
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
    /// Deletes only entries that use this group.
    pub out_group: GroupId,
    /// How the entry behaves.
    pub flags: FlowModFlags,
    /// Which frames.
    pub matching: Fields<'a>,
    /// What the entry does with them.
    pub instructions: Instructions<'a>,
}

impl<'a> FlowMod<'a> {
    /// Returns the order to add an entry that matches every frame, does nothing
    /// and stays. Give it a priority, a match and instructions.
    #[must_use]
    pub const fn add(table: TableId) -> Self {
        Self {
            cookie: Cookie::NONE,
            cookie_mask: Cookie::NONE,
            table,
            command: FlowModCommand::Add,
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            priority: 0,
            buffer: BufferId::NONE,
            out_port: PortNumber::ANY,
            out_group: GroupId::ANY,
            flags: FlowModFlags::NONE,
            matching: Fields::EMPTY,
            instructions: Instructions::EMPTY,
        }
    }

    /// Returns the order to delete every entry. Give it a match or a cookie
    /// with a mask to spare some.
    #[must_use]
    pub const fn delete(table: TableId) -> Self {
        let mut order = Self::add(table);
        order.command = FlowModCommand::Delete;
        order
    }

    #[inline]
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let cookie = Cookie(reader.u64()?);
        let cookie_mask = Cookie(reader.u64()?);
        let table = TableId(reader.u8()?);
        let command = reader.u8()?;
        let command = FlowModCommand::from_number(command).ok_or(DecodeError::Value {
            field: "command",
            value: u32::from(command),
            kind: ErrorKind::FlowModFailed(FlowModFailed::BadCommand),
        })?;
        let idle_timeout_s = reader.u16()?;
        let hard_timeout_s = reader.u16()?;
        let priority = reader.u16()?;
        let buffer = BufferId(reader.u32()?);
        let out_port = PortNumber(reader.u32()?);
        let out_group = GroupId(reader.u32()?);
        let flags = FlowModFlags(reader.u16()?);
        reader.skip(2)?;
        Ok(Self {
            cookie,
            cookie_mask,
            table,
            command,
            idle_timeout_s,
            hard_timeout_s,
            priority,
            buffer,
            out_port,
            out_group,
            flags,
            matching: parse_match(&mut reader)?,
            instructions: Instructions::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    #[inline]
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::FlowMod, transaction, out);
        self.write(&mut message);
        finish(&mut message);
    }

    /// Appends what follows the header.
    #[inline]
    pub(super) fn write(&self, message: &mut Writer<'_>) {
        message.u64(self.cookie.0).u64(self.cookie_mask.0);
        message.u8(self.table.0).u8(self.command.number());
        message.u16(self.idle_timeout_s).u16(self.hard_timeout_s);
        message.u16(self.priority).u32(self.buffer.0);
        message.u32(self.out_port.0).u32(self.out_group.0);
        message.u16(self.flags.0).zeros::<2>();
        message.with(|out| emit_match(&self.matching, out));
        message.with(|out| self.instructions.emit(out));
    }
}
