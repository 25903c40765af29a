//! Changes entries that are in force at some levels only (S2-5).

use super::{LevelSet, ModeFailed};
use crate::openflow::{DecodeError, FlowMod};
use crate::reader::Reader;
use crate::writer::Writer;

/// A change of entries, once for each of some levels: the same as a change whose
/// match has the level as one more field, for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShadowMod<'a> {
    /// At which levels.
    pub levels: LevelSet,
    /// The change. Its match names no level.
    pub entry: FlowMod<'a>,
}

impl<'a> ShadowMod<'a> {
    pub(super) fn parse(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let levels = LevelSet(reader.u8()?);
        reader.skip(7)?;
        if levels == LevelSet::NONE {
            return Err(DecodeError::Value {
                field: "levels",
                value: 0,
                kind: ModeFailed::BadLevel.into_kind(),
            });
        }
        let entry = FlowMod::parse(reader.rest())?;
        Ok(Self { levels, entry })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u8(self.levels.0).zeros::<7>();
        self.entry.write(writer);
    }
}
