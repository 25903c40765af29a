//! The properties of a table (`ofp_table_feature_prop_header` and what follows).

use crate::openflow::{
    ActionKind, DecodeError, Element, ErrorKind, FieldKind, InstructionKind, Sequence,
    TableFeaturesFailed, TableId,
};
use crate::reader::Reader;
use crate::writer::Writer;

const HEADER_LENGTH: usize = 4;
const CLASS_BASIC: u16 = 0x8000;
const CLASS_EXPERIMENTER: u16 = 0xffff;
const EXPERIMENTER: u16 = 0xffff;
const HAS_MASK: u8 = 1;

const INSTRUCTIONS: u16 = 0;
const INSTRUCTIONS_MISS: u16 = 1;
const NEXT_TABLES: u16 = 2;
const NEXT_TABLES_MISS: u16 = 3;
const WRITE_ACTIONS: u16 = 4;
const WRITE_ACTIONS_MISS: u16 = 5;
const APPLY_ACTIONS: u16 = 6;
const APPLY_ACTIONS_MISS: u16 = 7;
const MATCH: u16 = 8;
const WILDCARDS: u16 = 10;
const WRITE_SET_FIELD: u16 = 12;
const WRITE_SET_FIELD_MISS: u16 = 13;
const APPLY_SET_FIELD: u16 = 14;
const APPLY_SET_FIELD_MISS: u16 = 15;
const EXPERIMENTER_PROPERTY: u16 = 0xfffe;
const EXPERIMENTER_PROPERTY_MISS: u16 = 0xffff;

/// One thing that is said about a table (`ofp_table_feature_prop_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableProperty<'a> {
    /// Instructions of entries.
    Instructions(Sequence<'a, InstructionId>),
    /// Instructions of the table-miss entry.
    InstructionsMiss(Sequence<'a, InstructionId>),
    /// Tables that entries can go to.
    NextTables(Sequence<'a, TableId>),
    /// Tables that the table-miss entry can go to.
    NextTablesMiss(Sequence<'a, TableId>),
    /// Actions that entries can write to the action set.
    WriteActions(Sequence<'a, ActionId>),
    /// Actions that the table-miss entry can write to the action set.
    WriteActionsMiss(Sequence<'a, ActionId>),
    /// Actions that entries can apply.
    ApplyActions(Sequence<'a, ActionId>),
    /// Actions that the table-miss entry can apply.
    ApplyActionsMiss(Sequence<'a, ActionId>),
    /// Fields that entries can look at.
    Match(Sequence<'a, FieldId>),
    /// Fields that entries need not look at.
    Wildcards(Sequence<'a, FieldId>),
    /// Fields that entries can set in the action set.
    WriteSetField(Sequence<'a, FieldId>),
    /// Fields that the table-miss entry can set in the action set.
    WriteSetFieldMiss(Sequence<'a, FieldId>),
    /// Fields that entries can set at once.
    ApplySetField(Sequence<'a, FieldId>),
    /// Fields that the table-miss entry can set at once.
    ApplySetFieldMiss(Sequence<'a, FieldId>),
    /// What an experimenter says about entries.
    Experimenter {
        /// Who says it.
        experimenter: u32,
        /// Which of the experimenter's properties.
        kind: u32,
        /// The property.
        data: &'a [u8],
    },
    /// What an experimenter says about the table-miss entry.
    ExperimenterMiss {
        /// Who says it.
        experimenter: u32,
        /// Which of the experimenter's properties.
        kind: u32,
        /// The property.
        data: &'a [u8],
    },
}

impl<'a> Element<'a> for TableProperty<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let padded = usize::from(length).next_multiple_of(8);
        let padding = padded - usize::from(length);
        let body = usize::from(length)
            .checked_sub(HEADER_LENGTH)
            .and_then(|body| reader.take(body).ok());
        let body = body.ok_or_else(|| bad_length(length))?;
        reader.skip(padding).map_err(|_| bad_length(length))?;
        Ok((Self::parse_body(kind, length, body)?, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(self.number()).u16(0);
        match *self {
            Self::Instructions(it) | Self::InstructionsMiss(it) => writer.with(|out| it.emit(out)),
            Self::NextTables(it) | Self::NextTablesMiss(it) => writer.with(|out| it.emit(out)),
            Self::WriteActions(it)
            | Self::WriteActionsMiss(it)
            | Self::ApplyActions(it)
            | Self::ApplyActionsMiss(it) => writer.with(|out| it.emit(out)),
            Self::Match(it)
            | Self::Wildcards(it)
            | Self::WriteSetField(it)
            | Self::WriteSetFieldMiss(it)
            | Self::ApplySetField(it)
            | Self::ApplySetFieldMiss(it) => writer.with(|out| it.emit(out)),
            Self::Experimenter {
                experimenter,
                kind,
                data,
            }
            | Self::ExperimenterMiss {
                experimenter,
                kind,
                data,
            } => writer.u32(experimenter).u32(kind).bytes(data),
        };
        writer.length_at(2).pad_to_8();
    }
}

impl<'a> TableProperty<'a> {
    fn parse_body(kind: u16, length: u16, body: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(match kind {
            INSTRUCTIONS => Self::Instructions(Sequence::from_bytes(body)),
            INSTRUCTIONS_MISS => Self::InstructionsMiss(Sequence::from_bytes(body)),
            NEXT_TABLES => Self::NextTables(Sequence::from_bytes(body)),
            NEXT_TABLES_MISS => Self::NextTablesMiss(Sequence::from_bytes(body)),
            WRITE_ACTIONS => Self::WriteActions(Sequence::from_bytes(body)),
            WRITE_ACTIONS_MISS => Self::WriteActionsMiss(Sequence::from_bytes(body)),
            APPLY_ACTIONS => Self::ApplyActions(Sequence::from_bytes(body)),
            APPLY_ACTIONS_MISS => Self::ApplyActionsMiss(Sequence::from_bytes(body)),
            MATCH => Self::Match(Sequence::from_bytes(body)),
            WILDCARDS => Self::Wildcards(Sequence::from_bytes(body)),
            WRITE_SET_FIELD => Self::WriteSetField(Sequence::from_bytes(body)),
            WRITE_SET_FIELD_MISS => Self::WriteSetFieldMiss(Sequence::from_bytes(body)),
            APPLY_SET_FIELD => Self::ApplySetField(Sequence::from_bytes(body)),
            APPLY_SET_FIELD_MISS => Self::ApplySetFieldMiss(Sequence::from_bytes(body)),
            EXPERIMENTER_PROPERTY | EXPERIMENTER_PROPERTY_MISS => {
                Self::parse_experimenter(kind, body).ok_or_else(|| bad_length(length))?
            }
            _ => {
                return Err(DecodeError::Value {
                    field: "property type",
                    value: u32::from(kind),
                    kind: ErrorKind::TableFeaturesFailed(TableFeaturesFailed::BadType),
                });
            }
        })
    }

    fn parse_experimenter(property: u16, body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let (experimenter, kind) = (reader.u32().ok()?, reader.u32().ok()?);
        let data = reader.rest();
        Some(match property {
            EXPERIMENTER_PROPERTY_MISS => Self::ExperimenterMiss {
                experimenter,
                kind,
                data,
            },
            _ => Self::Experimenter {
                experimenter,
                kind,
                data,
            },
        })
    }

    /// Returns the number of the property's type.
    #[must_use]
    pub const fn number(&self) -> u16 {
        match self {
            Self::Instructions(_) => INSTRUCTIONS,
            Self::InstructionsMiss(_) => INSTRUCTIONS_MISS,
            Self::NextTables(_) => NEXT_TABLES,
            Self::NextTablesMiss(_) => NEXT_TABLES_MISS,
            Self::WriteActions(_) => WRITE_ACTIONS,
            Self::WriteActionsMiss(_) => WRITE_ACTIONS_MISS,
            Self::ApplyActions(_) => APPLY_ACTIONS,
            Self::ApplyActionsMiss(_) => APPLY_ACTIONS_MISS,
            Self::Match(_) => MATCH,
            Self::Wildcards(_) => WILDCARDS,
            Self::WriteSetField(_) => WRITE_SET_FIELD,
            Self::WriteSetFieldMiss(_) => WRITE_SET_FIELD_MISS,
            Self::ApplySetField(_) => APPLY_SET_FIELD,
            Self::ApplySetFieldMiss(_) => APPLY_SET_FIELD_MISS,
            Self::Experimenter { .. } => EXPERIMENTER_PROPERTY,
            Self::ExperimenterMiss { .. } => EXPERIMENTER_PROPERTY_MISS,
        }
    }
}

fn bad_length(length: u16) -> DecodeError {
    DecodeError::Value {
        field: "property length",
        value: u32::from(length),
        kind: ErrorKind::TableFeaturesFailed(TableFeaturesFailed::BadLength),
    }
}

fn bad_argument(field: &'static str, value: u32) -> DecodeError {
    DecodeError::Value {
        field,
        value,
        kind: ErrorKind::TableFeaturesFailed(TableFeaturesFailed::BadArgument),
    }
}

impl<'a> Element<'a> for TableId {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        Ok((Self(reader.u8()?), reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
}

/// Names an instruction without saying what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionId {
    /// One of the specification.
    Standard(InstructionKind),
    /// One of this experimenter.
    Experimenter(u32),
}

impl<'a> Element<'a> for InstructionId {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let (kind, experimenter, rest) = parse_id(bytes)?;
        let id = match (experimenter, InstructionKind::from_number(kind)) {
            (Some(experimenter), _) => Self::Experimenter(experimenter),
            (None, Some(kind)) => Self::Standard(kind),
            (None, None) => return Err(bad_argument("instruction type", u32::from(kind))),
        };
        Ok((id, rest))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Standard(kind) => emit_id(kind.number(), None, out),
            Self::Experimenter(experimenter) => emit_id(EXPERIMENTER, Some(experimenter), out),
        }
    }
}

/// Names an action without saying what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionId {
    /// One of the specification.
    Standard(ActionKind),
    /// One of this experimenter.
    Experimenter(u32),
}

impl<'a> Element<'a> for ActionId {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let (kind, experimenter, rest) = parse_id(bytes)?;
        let id = match (experimenter, ActionKind::from_number(kind)) {
            (Some(experimenter), _) => Self::Experimenter(experimenter),
            (None, Some(kind)) => Self::Standard(kind),
            (None, None) => return Err(bad_argument("action type", u32::from(kind))),
        };
        Ok((id, rest))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Standard(kind) => emit_id(kind.number(), None, out),
            Self::Experimenter(experimenter) => emit_id(EXPERIMENTER, Some(experimenter), out),
        }
    }
}

/// Takes type and length off the front, and the experimenter if it is one.
fn parse_id(bytes: &[u8]) -> Result<(u16, Option<u32>, &[u8]), DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut read = || -> Result<_, crate::reader::Truncated> {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let experimenter = match kind {
            EXPERIMENTER => Some(reader.u32()?),
            _ => None,
        };
        Ok((kind, length, experimenter))
    };
    let (kind, length, experimenter) = read().map_err(|_| bad_length(0))?;
    if usize::from(length) != bytes.len() - reader.rest().len() {
        return Err(bad_length(length));
    }
    Ok((kind, experimenter, reader.rest()))
}

fn emit_id(kind: u16, experimenter: Option<u32>, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    writer.u16(kind).u16(0);
    if let Some(experimenter) = experimenter {
        writer.u32(experimenter);
    }
    writer.length_at(2);
}

/// Names a field without saying what value it has: the header of a match field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldId {
    /// One of the specification.
    Standard {
        /// The field.
        field: FieldKind,
        /// Whether there can be a mask.
        has_mask: bool,
    },
    /// One of an experimenter.
    Experimenter {
        /// Who defines the field.
        experimenter: u32,
        /// The field's number, with the lowest bit for the mask.
        field: u8,
        /// The length of its value, with mask.
        length: u8,
    },
    /// One that nobody knows.
    Unknown {
        /// Class, number and length.
        header: u32,
    },
}

impl FieldId {
    /// Names a field that is looked at whole.
    #[must_use]
    pub const fn exact(field: FieldKind) -> Self {
        let has_mask = false;
        Self::Standard { field, has_mask }
    }
}

impl<'a> Element<'a> for FieldId {
    /// The length of a field of the specification is not looked at: the field
    /// has only one.
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let header = reader.u32().map_err(|_| bad_length(0))?;
        let [class_high, class_low, field, length] = header.to_be_bytes();
        let id = match u16::from_be_bytes([class_high, class_low]) {
            CLASS_BASIC => match FieldKind::from_number(field >> 1) {
                Some(FieldKind::Level) | None => Self::Unknown { header },
                Some(kind) => Self::Standard {
                    field: kind,
                    has_mask: field & HAS_MASK == HAS_MASK,
                },
            },
            CLASS_EXPERIMENTER => {
                let experimenter = reader.u32().map_err(|_| bad_length(0))?;
                match FieldKind::of_experimenter(experimenter, field >> 1) {
                    Some(kind) => Self::Standard {
                        field: kind,
                        has_mask: field & HAS_MASK == HAS_MASK,
                    },
                    None => Self::Experimenter {
                        experimenter,
                        field,
                        length,
                    },
                }
            }
            _ => Self::Unknown { header },
        };
        Ok((id, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match *self {
            Self::Standard { field, has_mask } => {
                let length = field.length() << u8::from(has_mask);
                let length = u8::try_from(length).expect("a value and a mask have 32 bytes");
                let (class, number, experimenter) = field.header();
                writer.u16(class);
                writer.u8(number << 1 | u8::from(has_mask));
                match experimenter {
                    None => writer.u8(length),
                    Some(experimenter) => writer.u8(length + 4).u32(experimenter),
                };
            }
            Self::Experimenter {
                experimenter,
                field,
                length,
            } => {
                writer.u16(CLASS_EXPERIMENTER).u8(field).u8(length);
                writer.u32(experimenter);
            }
            Self::Unknown { header } => {
                writer.u32(header);
            }
        }
    }
}
