//! What can be wrong with a message, and what to answer.

use thiserror::Error;

use super::oxm::MatchError;
use super::{BadAction, BadInstruction, BadRequest, ErrorKind};
use crate::reader::Truncated;

/// A message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// It speaks another version.
    #[error("message of version {version}, which was not agreed on")]
    Version {
        /// The version of the message.
        version: u8,
    },
    /// Nobody knows messages of this type.
    #[error("message of unknown type {kind}")]
    Type {
        /// The type of the message.
        kind: u8,
    },
    /// A length contradicts the content.
    #[error("a length contradicts the content")]
    Length,
    /// A number has no meaning where it stands.
    #[error("{field} has the value {value}, which has no meaning")]
    Value {
        /// What the specification calls the field.
        field: &'static str,
        /// The number.
        value: u32,
        /// What to answer.
        kind: ErrorKind,
    },
    /// The match is bad.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// An action is bad.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// An instruction is bad.
    #[error(transparent)]
    Instruction(#[from] InstructionError),
}

impl DecodeError {
    /// Returns what a switch answers to such a message (OF13 clause 7.4.4).
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match *self {
            Self::Version { .. } => ErrorKind::BadRequest(BadRequest::BadVersion),
            Self::Type { .. } => ErrorKind::BadRequest(BadRequest::BadType),
            Self::Length => ErrorKind::BadRequest(BadRequest::BadLength),
            Self::Value { kind, .. } => kind,
            Self::Match(error) => ErrorKind::BadMatch(error.code()),
            Self::Action(error) => ErrorKind::BadAction(error.code()),
            Self::Instruction(error) => ErrorKind::BadInstruction(error.code()),
        }
    }
}

impl From<Truncated> for DecodeError {
    fn from(Truncated: Truncated) -> Self {
        Self::Length
    }
}

/// An action cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ActionError {
    /// Nobody knows actions of this type.
    #[error("action of unknown type {kind}")]
    Type {
        /// The type of the action.
        kind: u16,
    },
    /// The length does not fit the action or what follows.
    #[error("an action's length does not fit it")]
    Length,
    /// Nobody knows this experimenter's actions.
    #[error("action of unknown experimenter {experimenter:#x}")]
    Experimenter {
        /// Who defines the action.
        experimenter: u32,
    },
    /// Our experimenter has no such action.
    #[error("action of unknown type {kind} of Taktos")]
    ExperimenterKind {
        /// The type of the action.
        kind: u16,
    },
    /// The argument has no meaning.
    #[error("an action's argument has no meaning")]
    Argument,
    /// The field to set is bad.
    #[error("action that sets a field: {0}")]
    SetField(MatchError),
}

impl ActionError {
    /// Returns the code to answer with.
    #[must_use]
    pub const fn code(self) -> BadAction {
        match self {
            Self::Type { .. } => BadAction::BadType,
            Self::Length => BadAction::BadLength,
            Self::Experimenter { .. } => BadAction::BadExperimenter,
            Self::ExperimenterKind { .. } => BadAction::BadExperimenterType,
            Self::Argument => BadAction::BadArgument,
            Self::SetField(error) => match error {
                MatchError::Type { .. } | MatchError::UnknownField { .. } => BadAction::BadSetType,
                MatchError::Length => BadAction::BadSetLength,
                MatchError::Mask { .. } => BadAction::BadSetType,
                MatchError::Wildcards { .. }
                | MatchError::Value { .. }
                | MatchError::Prerequisite { .. }
                | MatchError::Duplicate { .. } => BadAction::BadSetArgument,
            },
        }
    }
}

impl From<Truncated> for ActionError {
    fn from(Truncated: Truncated) -> Self {
        Self::Length
    }
}

/// An instruction cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InstructionError {
    /// Nobody knows instructions of this type.
    #[error("instruction of unknown type {kind}")]
    Type {
        /// The type of the instruction.
        kind: u16,
    },
    /// The length does not fit the instruction or what follows.
    #[error("an instruction's length does not fit it")]
    Length,
    /// Nobody knows this experimenter's instructions.
    #[error("instruction of unknown experimenter {experimenter:#x}")]
    Experimenter {
        /// Who defines the instruction.
        experimenter: u32,
    },
}

impl InstructionError {
    /// Returns the code to answer with.
    #[must_use]
    pub const fn code(self) -> BadInstruction {
        match self {
            Self::Type { .. } => BadInstruction::UnknownInstruction,
            Self::Length => BadInstruction::BadLength,
            Self::Experimenter { .. } => BadInstruction::BadExperimenter,
        }
    }
}

impl From<Truncated> for InstructionError {
    fn from(Truncated: Truncated) -> Self {
        Self::Length
    }
}
