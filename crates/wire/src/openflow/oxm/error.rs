//! What can be wrong with a match.

use thiserror::Error;

use super::FieldKind;
use crate::openflow::BadMatch;
use crate::reader::Truncated;

/// A match cannot be read or makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MatchError {
    /// It is not an extensible match.
    #[error("match of unknown type {kind}")]
    Type {
        /// The type of the match.
        kind: u16,
    },
    /// The length of the match or of a field is wrong.
    #[error("a length in the match contradicts its content")]
    Length,
    /// Nobody knows the field.
    #[error("unknown match field {field} of class {class:#x}")]
    UnknownField {
        /// Who defines the field.
        class: u16,
        /// The number of the field.
        field: u8,
    },
    /// The field cannot have a mask.
    #[error("match field {field:?} cannot have a mask")]
    Mask {
        /// The field.
        field: FieldKind,
    },
    /// The value has ones where the mask has zeros.
    #[error("match field {field:?} has ones where its mask has zeros")]
    Wildcards {
        /// The field.
        field: FieldKind,
    },
    /// The value does not fit the field.
    #[error("the value of match field {field:?} is too large")]
    Value {
        /// The field.
        field: FieldKind,
    },
    /// The field makes sense only behind another one, which is missing.
    #[error("match field {field:?} lacks the field that it depends on")]
    Prerequisite {
        /// The field.
        field: FieldKind,
    },
    /// The field occurs twice.
    #[error("match field {field:?} occurs twice")]
    Duplicate {
        /// The field.
        field: FieldKind,
    },
}

impl MatchError {
    /// Returns the code to answer with.
    #[must_use]
    pub const fn code(self) -> BadMatch {
        match self {
            Self::Type { .. } => BadMatch::BadType,
            Self::Length => BadMatch::BadLength,
            Self::UnknownField { .. } => BadMatch::BadField,
            Self::Mask { .. } => BadMatch::BadMask,
            Self::Wildcards { .. } => BadMatch::BadWildcards,
            Self::Value { .. } => BadMatch::BadValue,
            Self::Prerequisite { .. } => BadMatch::BadPrerequisite,
            Self::Duplicate { .. } => BadMatch::DuplicateField,
        }
    }
}

impl From<Truncated> for MatchError {
    fn from(Truncated: Truncated) -> Self {
        Self::Length
    }
}
