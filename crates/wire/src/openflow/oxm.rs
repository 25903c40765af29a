//! What a flow entry looks at: the extensible match (OF13 clause 7.2.3).
//!
//! A match is a list of [`MatchField`]s. [`Fields`] is such a list in the bytes
//! of a message, or a slice to be sent; [`Match`] is one that is kept. Reading a
//! field checks its length, its mask and its value; whether a list as a whole
//! makes sense (no field twice, every prerequisite before what needs it) is
//! checked by [`Fields::check`].

mod error;
mod field;
mod kept;
mod prerequisite;
mod value;

pub use error::MatchError;
pub use field::{FieldKind, MatchField};
pub use kept::Match;
pub use value::{Masked, VlanMatch};

use super::{DecodeError, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// The fields of a match in the order in which they stand there.
pub type Fields<'a> = Sequence<'a, MatchField>;

const TYPE_OXM: u16 = 1;
const MATCH_HEADER_LENGTH: u16 = 4;

impl Fields<'_> {
    /// Checks what one field cannot say: that none occurs twice, and that each
    /// stands behind its prerequisites (OF13 clause 7.2.3.6).
    ///
    /// # Errors
    ///
    /// If that is not so, or a field cannot be read.
    pub fn check(&self) -> Result<(), DecodeError> {
        let mut seen = prerequisite::Seen::default();
        for field in self.iter() {
            seen.add(field?)?;
        }
        Ok(())
    }
}

/// Takes a match with its padding off the front (`ofp_match`).
#[inline]
pub(super) fn parse_match<'a>(reader: &mut Reader<'a>) -> Result<Fields<'a>, DecodeError> {
    let kind = reader.u16()?;
    if kind != TYPE_OXM {
        return Err(MatchError::Type { kind }.into());
    }
    let length = reader.u16()?;
    let fields = length
        .checked_sub(MATCH_HEADER_LENGTH)
        .ok_or(MatchError::Length)?;
    let fields = reader
        .take(usize::from(fields))
        .map_err(|_| MatchError::Length)?;
    let length = usize::from(length);
    reader
        .skip(length.next_multiple_of(8) - length)
        .map_err(|_| MatchError::Length)?;
    Ok(Fields::from_bytes(fields))
}

/// Appends a match with its padding.
#[inline]
pub(super) fn emit_match(fields: &Fields<'_>, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    writer
        .u16(TYPE_OXM)
        .u16(0)
        .with(|out| fields.emit(out))
        .length_at(2)
        .pad_to_8();
}

#[cfg(test)]
mod tests;
