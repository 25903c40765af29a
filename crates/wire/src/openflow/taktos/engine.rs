//! Where frames are handled: by those who walk the compiled tables (a program in the
//! kernel, for instance), or by the switch's own core, and why.

use std::fmt;

use crate::openflow::{
    BadRequest, Cookie, DecodeError, Element, ErrorKind, Fields, GroupId, MeterId, Sequence,
    TableId,
};
use crate::reader::Reader;
use crate::writer::Writer;

const ITEM_BYTES: usize = 24;

/// What is handled where, or a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineReply<'a> {
    /// Which state of the tables is in force outside of the core; zero if the core
    /// handles everything.
    pub generation: u64,
    /// Frames that never came to the core.
    pub frames: u64,
    /// Frames that were given to the core.
    pub handed: u64,
    /// Frames that should have been and were lost, since the core did not keep up.
    pub lost: u64,
    /// Of those that were given to the core, those whose way was too long.
    pub too_long: u64,
    /// Tables that have entries, groups, meters and entries.
    pub items: Sequence<'a, EngineItem<'a>>,
}

/// One table, group, meter or entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineItem<'a> {
    /// Which.
    pub subject: EngineSubject<'a>,
    /// Why frames that come there go to the core, if they do.
    pub reason: Option<CoreReason>,
}

/// What frames come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineSubject<'a> {
    /// A table.
    Table(TableId),
    /// A group.
    Group(GroupId),
    /// A meter.
    Meter(MeterId),
    /// An entry.
    Entry {
        /// Its table.
        table: TableId,
        /// Its priority.
        priority: u16,
        /// Its cookie.
        cookie: Cookie,
        /// Its match, without padding.
        matching: Fields<'a>,
    },
}

/// Why frames go to the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoreReason {
    /// They go on to the controllers.
    Controller,
    /// They are treated as a bridge would.
    Bridge,
    /// They go to a port that only the core reaches.
    Port,
    /// They go to all ports, which are too many.
    Ports,
    /// They are changed in a way that only the core knows.
    Change,
    /// The list of actions is too long.
    Actions,
    /// They go to a group that the core handles.
    Group,
    /// The groups lead too deep.
    Chain,
    /// They go through a meter that the core handles.
    Meter,
    /// The meter has too many bands.
    Bands,
    /// The entries of the table have too many masks.
    Masks,
    /// There is no room for it outside of the core.
    Room,
    /// They have to do with modes in a way that only the core knows.
    Mode,
    /// They are held back until earlier ones came.
    Order,
}

impl CoreReason {
    /// All reasons.
    pub const ALL: [Self; 14] = [
        Self::Controller,
        Self::Bridge,
        Self::Port,
        Self::Ports,
        Self::Change,
        Self::Actions,
        Self::Group,
        Self::Chain,
        Self::Meter,
        Self::Bands,
        Self::Masks,
        Self::Room,
        Self::Mode,
        Self::Order,
    ];

    const fn number(self) -> u8 {
        match self {
            Self::Controller => 1,
            Self::Bridge => 2,
            Self::Port => 3,
            Self::Ports => 4,
            Self::Change => 5,
            Self::Actions => 6,
            Self::Group => 7,
            Self::Chain => 8,
            Self::Meter => 9,
            Self::Bands => 10,
            Self::Masks => 11,
            Self::Room => 12,
            Self::Mode => 13,
            Self::Order => 14,
        }
    }

    fn of_number(number: u8) -> Result<Option<Self>, DecodeError> {
        let mut reasons = Self::ALL.into_iter();
        match (number, reasons.find(|reason| reason.number() == number)) {
            (0, _) => Ok(None),
            (_, Some(reason)) => Ok(Some(reason)),
            (_, None) => Err(unknown("reason", number)),
        }
    }
}

impl fmt::Display for CoreReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Controller => "goes to controllers",
            Self::Bridge => "is bridged",
            Self::Port => "goes to a port that only the core reaches",
            Self::Ports => "goes to too many ports",
            Self::Change => "is changed as only the core can",
            Self::Actions => "has too many actions",
            Self::Group => "goes to a group that the core handles",
            Self::Chain => "leads through too many groups",
            Self::Meter => "goes through a meter that the core handles",
            Self::Bands => "has too many bands",
            Self::Masks => "has too many masks",
            Self::Room => "has no room outside of the core",
            Self::Mode => "has to do with modes as only the core can",
            Self::Order => "is held back until earlier ones came",
        })
    }
}

impl<'a> EngineReply<'a> {
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        Ok(Self {
            generation: reader.u64()?,
            frames: reader.u64()?,
            handed: reader.u64()?,
            lost: reader.u64()?,
            too_long: reader.u64()?,
            items: Sequence::from_bytes(reader.rest()),
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u64(self.generation).u64(self.frames);
        writer.u64(self.handed).u64(self.lost).u64(self.too_long);
        self.items.emit(out);
    }
}

impl<'a> EngineSubject<'a> {
    /// Returns the kind of subject, its number, and what only entries have.
    const fn parts(&self) -> (u8, u32, u16, Cookie, Fields<'a>) {
        const NONE: (u16, Cookie, Fields<'static>) = (0, Cookie(0), Fields::EMPTY);
        match *self {
            Self::Table(table) => (0, table.0 as u32, NONE.0, NONE.1, NONE.2),
            Self::Group(group) => (1, group.0, NONE.0, NONE.1, NONE.2),
            Self::Meter(meter) => (2, meter.0, NONE.0, NONE.1, NONE.2),
            Self::Entry {
                table,
                priority,
                cookie,
                matching,
            } => (3, table.0 as u32, priority, cookie, matching),
        }
    }
}

impl<'a> Element<'a> for EngineItem<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?);
        let (kind, reason) = (reader.u8()?, CoreReason::of_number(reader.u8()?)?);
        let (number, priority) = (reader.u32()?, reader.u16()?);
        reader.skip(6)?;
        let cookie = Cookie(reader.u64()?);
        let (fields, rest) = length
            .checked_sub(ITEM_BYTES)
            .and_then(|length| reader.rest().split_at_checked(length))
            .ok_or(DecodeError::Length)?;
        let table = || u8::try_from(number).map(TableId);
        let table = || table().map_err(|_| DecodeError::Length);
        let subject = match kind {
            0 => EngineSubject::Table(table()?),
            1 => EngineSubject::Group(GroupId(number)),
            2 => EngineSubject::Meter(MeterId(number)),
            3 => EngineSubject::Entry {
                table: table()?,
                priority,
                cookie,
                matching: Fields::from_bytes(fields),
            },
            _ => return Err(unknown("subject", kind)),
        };
        Ok((Self { subject, reason }, rest))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let (kind, number, priority, cookie, matching) = self.subject.parts();
        let reason = self.reason.map_or(0, CoreReason::number);
        let mut writer = Writer::new(out);
        writer.u16(0).u8(kind).u8(reason).u32(number);
        writer.u16(priority).zeros::<6>().u64(cookie.0);
        matching.emit(out);
        let length = u16::try_from(out.len() - start).expect("a match is short");
        out[start..start + 2].copy_from_slice(&length.to_be_bytes());
    }
}

fn unknown(field: &'static str, value: u8) -> DecodeError {
    DecodeError::Value {
        field,
        value: value.into(),
        kind: ErrorKind::BadRequest(BadRequest::BadExperimenterType),
    }
}
