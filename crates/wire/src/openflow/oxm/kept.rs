//! A match that is kept.

use std::fmt;

use super::{FieldKind, Fields, MatchField};
use crate::openflow::DecodeError;

/// A match that is kept: at most one value a field, in the order of the fields'
/// numbers, which puts every prerequisite before what needs it. Two matches are
/// equal if and only if they match the same.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match {
    fields: Vec<MatchField>,
}

impl Match {
    /// Returns the match that every frame fulfils.
    #[must_use]
    pub const fn any() -> Self {
        Self { fields: Vec::new() }
    }

    /// Returns this match with one more field. A former value of the field is
    /// replaced.
    #[must_use]
    pub fn with(mut self, field: MatchField) -> Self {
        self.set(field);
        self
    }

    /// Sets a field. A former value of the field is replaced.
    pub fn set(&mut self, field: MatchField) {
        match self.position(field.kind()) {
            Ok(index) => self.fields[index] = field,
            Err(index) => self.fields.insert(index, field),
        }
    }

    /// Returns the match that the fields of a message make.
    ///
    /// # Errors
    ///
    /// If a field cannot be read, occurs twice or lacks its prerequisite.
    pub fn parse(fields: &Fields<'_>) -> Result<Self, DecodeError> {
        fields.check()?;
        let mut kept = Self::any();
        for field in fields.iter() {
            kept.set(field?);
        }
        Ok(kept)
    }

    /// Returns the value of a field, if it has to have one.
    #[must_use]
    pub fn get(&self, kind: FieldKind) -> Option<&MatchField> {
        self.position(kind).ok().map(|index| &self.fields[index])
    }

    /// Returns the fields, ordered by their numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[MatchField] {
        &self.fields
    }

    /// Returns the fields as a message takes them.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        Fields::of(&self.fields)
    }

    fn position(&self, kind: FieldKind) -> Result<usize, usize> {
        self.fields.binary_search_by_key(&kind, MatchField::kind)
    }
}

impl FromIterator<MatchField> for Match {
    fn from_iter<I: IntoIterator<Item = MatchField>>(fields: I) -> Self {
        fields.into_iter().fold(Self::any(), Self::with)
    }
}

impl fmt::Debug for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.fields).finish()
    }
}
