//! Changing groups (OF13 clause 7.3.4.2).

use super::header::{begin, finish};
use super::{
    Action, Actions, DecodeError, Element, ErrorKind, GroupId, GroupModFailed, MessageType,
    PortNumber, Sequence, TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

const BUCKET_HEADER_LENGTH: usize = 16;

numbered! {
    /// What to do with a group (`ofp_group_mod_command`).
    pub enum GroupModCommand: u16 {
        /// Adds it.
        Add = 0,
        /// Changes it.
        Modify = 1,
        /// Deletes it.
        Delete = 2,
    }
}

numbered! {
    /// Which buckets of a group a frame goes through (`ofp_group_type`).
    pub enum GroupType: u8 {
        /// Every one: multicast.
        All = 0,
        /// One, chosen by the switch.
        Select = 1,
        /// The only one.
        Indirect = 2,
        /// The first one that is alive.
        FastFailover = 3,
    }
}

impl GroupType {
    pub(super) fn parse(number: u8) -> Result<Self, DecodeError> {
        Self::from_number(number).ok_or(DecodeError::Value {
            field: "type",
            value: u32::from(number),
            kind: ErrorKind::GroupModFailed(GroupModFailed::BadType),
        })
    }
}

/// The buckets of a group.
pub type Buckets<'a> = Sequence<'a, Bucket<'a>>;

/// Actions of a group (`ofp_bucket`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket<'a> {
    /// Its share, if the switch chooses.
    pub weight: u16,
    /// It is alive if this port is.
    pub watch_port: PortNumber,
    /// It is alive if this group is.
    pub watch_group: GroupId,
    /// What it does.
    pub actions: Actions<'a>,
}

impl<'a> Bucket<'a> {
    /// Returns a bucket that watches nothing and has no share.
    #[must_use]
    pub const fn new(actions: Actions<'a>) -> Self {
        Self {
            weight: 0,
            watch_port: PortNumber::ANY,
            watch_group: GroupId::ANY,
            actions,
        }
    }
}

impl<'a> Element<'a> for Bucket<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = reader.u16()?;
        let weight = reader.u16()?;
        let watch_port = PortNumber(reader.u32()?);
        let watch_group = GroupId(reader.u32()?);
        reader.skip(4)?;
        let actions = usize::from(length)
            .checked_sub(BUCKET_HEADER_LENGTH)
            .filter(|actions| actions % 8 == 0)
            .and_then(|actions| reader.take(actions).ok())
            .ok_or(DecodeError::Value {
                field: "bucket length",
                value: u32::from(length),
                kind: ErrorKind::GroupModFailed(GroupModFailed::BadBucket),
            })?;
        let bucket = Self {
            weight,
            watch_port,
            watch_group,
            actions: Actions::from_bytes(actions),
        };
        Ok((bucket, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(0).u16(self.weight);
        writer.u32(self.watch_port.0).u32(self.watch_group.0);
        writer.zeros::<4>();
        writer.with(|out| self.actions.emit(out)).length_at(0);
    }
}

/// Changes a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMod<'a> {
    /// What to do.
    pub command: GroupModCommand,
    /// Which buckets a frame goes through.
    pub kind: GroupType,
    /// Which group.
    pub group: GroupId,
    /// Its buckets.
    pub buckets: Buckets<'a>,
}

impl<'a> GroupMod<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let command = reader.u16()?;
        let command = GroupModCommand::from_number(command).ok_or(DecodeError::Value {
            field: "command",
            value: u32::from(command),
            kind: ErrorKind::GroupModFailed(GroupModFailed::BadCommand),
        })?;
        let kind = GroupType::parse(reader.u8()?)?;
        reader.skip(1)?;
        Ok(Self {
            command,
            kind,
            group: GroupId(reader.u32()?),
            buckets: Buckets::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::GroupMod, transaction, out);
        message.u16(self.command.number());
        message.u8(self.kind.number()).zeros::<1>();
        message.u32(self.group.0);
        message.with(|out| self.buckets.emit(out));
        finish(&mut message);
    }
}
/// Appends a message that adds a fast-failover group, which sends by the first of these
/// ports that has a carrier (OF13 clause 5.6.1).
pub fn emit_detour(
    group: GroupId,
    ports: &[PortNumber],
    transaction: TransactionId,
    out: &mut Vec<u8>,
) {
    let ways: Vec<_> = ports.iter().map(|port| [Action::output(*port)]).collect();
    let buckets = ports.iter().zip(&ways).map(|(port, actions)| Bucket {
        weight: 0,
        watch_port: *port,
        watch_group: GroupId::ANY,
        actions: Actions::of(actions),
    });
    let buckets: Vec<_> = buckets.collect();
    let addition = GroupMod {
        command: GroupModCommand::Add,
        kind: GroupType::FastFailover,
        group,
        buckets: Buckets::of(&buckets),
    };
    addition.emit(transaction, out);
}
