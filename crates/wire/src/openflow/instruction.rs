//! What a flow entry does with a frame that it matches (OF13 clause 7.2.4).

use super::{Actions, DecodeError, Element, InstructionError, MeterId, Sequence, TableId};
use crate::reader::Reader;
use crate::writer::Writer;

/// The instructions of an entry. At most one of a kind makes sense; their order
/// has no meaning (OF13 clause 5.9).
pub type Instructions<'a> = Sequence<'a, Instruction<'a>>;

const EXPERIMENTER: u16 = 0xffff;

const HEADER_LENGTH: usize = 4;
/// Every instruction's length is a multiple of this.
const ALIGNMENT: u16 = 8;

numbered! {
    /// Which instruction (`ofp_instruction_type`).
    pub enum InstructionKind: u16 {
        /// Continues at a later table.
        GotoTable = 1,
        /// Writes down something for later tables.
        WriteMetadata = 2,
        /// Adds to the actions done at the end.
        WriteActions = 3,
        /// Does actions at once.
        ApplyActions = 4,
        /// Forgets the actions to be done at the end.
        ClearActions = 5,
        /// Lets a meter look at the frame first.
        Meter = 6,
    }
}

/// One thing that an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction<'a> {
    /// Continues at a later table.
    GotoTable(TableId),
    /// Writes down something for later tables.
    WriteMetadata {
        /// The bits to write.
        metadata: u64,
        /// Where to write them.
        mask: u64,
    },
    /// Adds actions to those done at the end of the pipeline.
    WriteActions(Actions<'a>),
    /// Does actions at once.
    ApplyActions(Actions<'a>),
    /// Forgets the actions to be done at the end of the pipeline.
    ClearActions,
    /// Lets a meter look at the frame first.
    Meter(MeterId),
}

impl<'a> Instruction<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), InstructionError> {
        let mut reader = Reader::new(bytes);
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let body = usize::from(length)
            .checked_sub(HEADER_LENGTH)
            .ok_or(InstructionError::Length)?;
        let body = reader.take(body)?;
        if length % ALIGNMENT != 0 {
            return Err(InstructionError::Length);
        }
        Ok((Self::read_body(kind, body)?, reader.rest()))
    }

    fn read_body(kind: u16, body: &'a [u8]) -> Result<Self, InstructionError> {
        let mut reader = Reader::new(body);
        if kind == EXPERIMENTER {
            let experimenter = reader.u32()?;
            return Err(InstructionError::Experimenter { experimenter });
        }
        let kind = InstructionKind::from_number(kind).ok_or(InstructionError::Type { kind })?;
        let instruction = match kind {
            InstructionKind::GotoTable => {
                let table = TableId(reader.u8()?);
                reader.skip(3)?;
                Self::GotoTable(table)
            }
            InstructionKind::WriteMetadata => {
                reader.skip(4)?;
                Self::WriteMetadata {
                    metadata: reader.u64()?,
                    mask: reader.u64()?,
                }
            }
            InstructionKind::WriteActions => {
                reader.skip(4)?;
                return Ok(Self::WriteActions(Actions::from_bytes(reader.rest())));
            }
            InstructionKind::ApplyActions => {
                reader.skip(4)?;
                return Ok(Self::ApplyActions(Actions::from_bytes(reader.rest())));
            }
            InstructionKind::ClearActions => {
                reader.skip(4)?;
                Self::ClearActions
            }
            InstructionKind::Meter => Self::Meter(MeterId(reader.u32()?)),
        };
        if reader.is_empty() {
            Ok(instruction)
        } else {
            Err(InstructionError::Length)
        }
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match self {
            Self::GotoTable(table) => {
                writer
                    .u16(InstructionKind::GotoTable.number())
                    .u16(8)
                    .u8(table.0)
                    .zeros::<3>();
            }
            Self::WriteMetadata { metadata, mask } => {
                writer
                    .u16(InstructionKind::WriteMetadata.number())
                    .u16(24)
                    .zeros::<4>();
                writer.u64(*metadata).u64(*mask);
            }
            Self::WriteActions(actions) => {
                write_actions(&mut writer, InstructionKind::WriteActions, actions)
            }
            Self::ApplyActions(actions) => {
                write_actions(&mut writer, InstructionKind::ApplyActions, actions)
            }
            Self::ClearActions => {
                writer
                    .u16(InstructionKind::ClearActions.number())
                    .u16(8)
                    .zeros::<4>();
            }
            Self::Meter(meter) => {
                writer
                    .u16(InstructionKind::Meter.number())
                    .u16(8)
                    .u32(meter.0);
            }
        }
    }
}

#[inline]
fn write_actions(writer: &mut Writer<'_>, kind: InstructionKind, actions: &Actions<'_>) {
    let [kind_high, kind_low] = kind.number().to_be_bytes();
    writer
        .bytes(&[kind_high, kind_low, 0, 8, 0, 0, 0, 0])
        .with(|out| actions.emit(out))
        .length_at(2);
}

impl<'a> Element<'a> for Instruction<'a> {
    #[inline]
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        Ok(Self::read(bytes)?)
    }

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.write(out);
    }
}
