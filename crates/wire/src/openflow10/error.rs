//! Error messages: every type and code (OF10 section 5.4.4).

use super::MessageType;
use super::header::{begin, finish};
use crate::openflow::{DecodeError, QUOTED_BYTES, TransactionId};
use crate::reader::Reader;

pub use crate::openflow::{HelloFailed, QueueOpFailed};

numbered! {
    /// Why a request was not understood.
    pub enum BadRequest: u16 {
        /// The version is not supported.
        BadVersion = 0,
        /// The type is not supported.
        BadType = 1,
        /// The type of statistics is not supported.
        BadStatistics = 2,
        /// The vendor is unknown.
        BadVendor = 3,
        /// The vendor's type is unknown.
        BadSubtype = 4,
        /// Not allowed.
        PermissionDenied = 5,
        /// The length is wrong.
        BadLength = 6,
        /// The buffer has been used already.
        BufferEmpty = 7,
        /// The buffer does not exist.
        BufferUnknown = 8,
    }
}

numbered! {
    /// Why an action was refused.
    pub enum BadAction: u16 {
        /// The type is unknown or not supported.
        BadType = 0,
        /// The length is wrong.
        BadLength = 1,
        /// The vendor is unknown.
        BadVendor = 2,
        /// The vendor's type is unknown.
        BadVendorType = 3,
        /// The port does not exist.
        BadOutPort = 4,
        /// An argument is bad.
        BadArgument = 5,
        /// Not allowed.
        PermissionDenied = 6,
        /// Too many actions.
        TooMany = 7,
        /// The queue does not exist.
        BadQueue = 8,
    }
}

numbered! {
    /// Why a change of flow tables failed.
    pub enum FlowModFailed: u16 {
        /// The tables are full.
        AllTablesFull = 0,
        /// The entry overlaps another one and asked to be told.
        Overlap = 1,
        /// Not allowed.
        PermissionDenied = 2,
        /// An emergency entry has a timeout.
        BadEmergencyTimeout = 3,
        /// The command is unknown.
        BadCommand = 4,
        /// What is asked for is not supported.
        Unsupported = 5,
    }
}

numbered! {
    /// Why a change of a port failed.
    pub enum PortModFailed: u16 {
        /// The port does not exist.
        BadPort = 0,
        /// The address is not that of the port.
        BadHardwareAddress = 1,
    }
}

/// What went wrong: the type of an error with its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// No version could be agreed on.
    HelloFailed(HelloFailed),
    /// The request was not understood.
    BadRequest(BadRequest),
    /// An action was refused.
    BadAction(BadAction),
    /// Flow tables could not be changed.
    FlowModFailed(FlowModFailed),
    /// A port could not be changed.
    PortModFailed(PortModFailed),
    /// Queues could not be asked about.
    QueueOpFailed(QueueOpFailed),
    /// What this version does not know.
    Unknown {
        /// The type of error.
        kind: u16,
        /// The code within the type.
        code: u16,
    },
}

impl ErrorKind {
    /// Returns what a type and a code stand for.
    #[must_use]
    pub fn from_numbers(kind: u16, code: u16) -> Self {
        let known = match kind {
            0 => HelloFailed::from_number(code).map(Self::HelloFailed),
            1 => BadRequest::from_number(code).map(Self::BadRequest),
            2 => BadAction::from_number(code).map(Self::BadAction),
            3 => FlowModFailed::from_number(code).map(Self::FlowModFailed),
            4 => PortModFailed::from_number(code).map(Self::PortModFailed),
            5 => QueueOpFailed::from_number(code).map(Self::QueueOpFailed),
            _ => None,
        };
        known.unwrap_or(Self::Unknown { kind, code })
    }

    /// Returns the type and the code.
    #[must_use]
    pub const fn numbers(self) -> (u16, u16) {
        match self {
            Self::HelloFailed(code) => (0, code.number()),
            Self::BadRequest(code) => (1, code.number()),
            Self::BadAction(code) => (2, code.number()),
            Self::FlowModFailed(code) => (3, code.number()),
            Self::PortModFailed(code) => (4, code.number()),
            Self::QueueOpFailed(code) => (5, code.number()),
            Self::Unknown { kind, code } => (kind, code),
        }
    }
}

/// Says what was wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorMessage<'a> {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The beginning of the bad message, or a text if no version could be
    /// agreed on.
    pub data: &'a [u8],
}

impl<'a> ErrorMessage<'a> {
    /// Returns the answer to `message`, quoting its first 64 bytes.
    #[must_use]
    pub fn about(message: &'a [u8], kind: ErrorKind) -> Self {
        Self {
            kind,
            data: &message[..message.len().min(QUOTED_BYTES)],
        }
    }

    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            kind: ErrorKind::from_numbers(reader.u16()?, reader.u16()?),
            data: reader.rest(),
        })
    }

    /// Appends the message to `out`. The answer to a message has the
    /// transaction of that message.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let (kind, code) = self.kind.numbers();
        let mut message = begin(MessageType::Error, transaction, out);
        finish(message.u16(kind).u16(code).bytes(self.data));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_code_keeps_its_number() {
        for kind in 0..=6 {
            for code in 0..=10 {
                assert_eq!(ErrorKind::from_numbers(kind, code).numbers(), (kind, code));
            }
        }
    }
}
