//! Error messages: every type and code (OF13 clause 7.4.4).

use super::header::{begin, finish};
use super::{DecodeError, MessageType, TransactionId};
use crate::reader::Reader;

/// How many bytes of a bad message an error message quotes at least, if there
/// are so many (OF13 clause 7.4.4).
pub const QUOTED_BYTES: usize = 64;

const EXPERIMENTER_TYPE: u16 = 0xffff;

numbered! {
    /// Why no version could be agreed on.
    pub enum HelloFailed: u16 {
        /// No common version.
        Incompatible = 0,
        /// Not allowed.
        PermissionDenied = 1,
    }
}

numbered! {
    /// Why a request was not understood.
    pub enum BadRequest: u16 {
        /// The version is not supported.
        BadVersion = 0,
        /// The type is not supported.
        BadType = 1,
        /// The multipart type is not supported.
        BadMultipart = 2,
        /// The experimenter is unknown.
        BadExperimenter = 3,
        /// The experimenter's type is unknown.
        BadExperimenterType = 4,
        /// Not allowed.
        PermissionDenied = 5,
        /// The length is wrong.
        BadLength = 6,
        /// The buffer has been used already.
        BufferEmpty = 7,
        /// The buffer does not exist.
        BufferUnknown = 8,
        /// The table does not exist.
        BadTableId = 9,
        /// The controller is a slave.
        IsSlave = 10,
        /// The port is invalid or missing.
        BadPort = 11,
        /// The frame in a packet-out is invalid.
        BadPacket = 12,
        /// Too many parts to keep.
        MultipartBufferOverflow = 13,
    }
}

numbered! {
    /// Why an action was refused.
    pub enum BadAction: u16 {
        /// The type is unknown or not supported.
        BadType = 0,
        /// The length is wrong.
        BadLength = 1,
        /// The experimenter is unknown.
        BadExperimenter = 2,
        /// The experimenter's type is unknown.
        BadExperimenterType = 3,
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
        /// The group is invalid.
        BadOutGroup = 9,
        /// The action does not suit the match.
        MatchInconsistent = 10,
        /// The order is not supported.
        UnsupportedOrder = 11,
        /// The tag or its type is not supported.
        BadTag = 12,
        /// The field to set is not supported.
        BadSetType = 13,
        /// The length of the field to set is wrong.
        BadSetLength = 14,
        /// The value of the field to set is bad.
        BadSetArgument = 15,
    }
}

numbered! {
    /// Why an instruction was refused.
    pub enum BadInstruction: u16 {
        /// Nobody knows the instruction.
        UnknownInstruction = 0,
        /// The instruction is not supported.
        UnsupportedInstruction = 1,
        /// The table to go to is invalid.
        BadTableId = 2,
        /// The metadata is not supported.
        UnsupportedMetadata = 3,
        /// The mask of the metadata is not supported.
        UnsupportedMetadataMask = 4,
        /// The experimenter is unknown.
        BadExperimenter = 5,
        /// The experimenter's type is unknown.
        BadExperimenterType = 6,
        /// The length is wrong.
        BadLength = 7,
        /// Not allowed.
        PermissionDenied = 8,
    }
}

numbered! {
    /// Why a match was refused.
    pub enum BadMatch: u16 {
        /// The type of match is not supported.
        BadType = 0,
        /// The length is wrong.
        BadLength = 1,
        /// A tag is not supported.
        BadTag = 2,
        /// The mask of an Ethernet address is not supported.
        BadDatalinkAddressMask = 3,
        /// The mask of a network address is not supported.
        BadNetworkAddressMask = 4,
        /// The combination of wildcards is not supported.
        BadWildcards = 5,
        /// The field is not supported.
        BadField = 6,
        /// The value of a field is bad.
        BadValue = 7,
        /// The mask of a field is not supported.
        BadMask = 8,
        /// A prerequisite is missing.
        BadPrerequisite = 9,
        /// A field occurs twice.
        DuplicateField = 10,
        /// Not allowed.
        PermissionDenied = 11,
    }
}

numbered! {
    /// Why a change of flow tables failed.
    pub enum FlowModFailed: u16 {
        /// Nobody knows.
        Unknown = 0,
        /// The table is full.
        TableFull = 1,
        /// The table does not exist.
        BadTableId = 2,
        /// The entry overlaps another one and asked to be told.
        Overlap = 3,
        /// Not allowed.
        PermissionDenied = 4,
        /// The timeout is not supported.
        BadTimeout = 5,
        /// The command is unknown or not supported.
        BadCommand = 6,
        /// The flags are unknown or not supported.
        BadFlags = 7,
    }
}

numbered! {
    /// Why a change of groups failed.
    pub enum GroupModFailed: u16 {
        /// The group is there already.
        GroupExists = 0,
        /// The group is invalid.
        InvalidGroup = 1,
        /// Unequal shares are not supported.
        WeightUnsupported = 2,
        /// The group table is full.
        OutOfGroups = 3,
        /// Too many buckets.
        OutOfBuckets = 4,
        /// Groups that use groups are not supported.
        ChainingUnsupported = 5,
        /// What to watch cannot be watched.
        WatchUnsupported = 6,
        /// The group would use itself.
        Loop = 7,
        /// The group to change does not exist.
        UnknownGroup = 8,
        /// Another group uses the group to delete.
        ChainedGroup = 9,
        /// The type is unknown or not supported.
        BadType = 10,
        /// The command is unknown or not supported.
        BadCommand = 11,
        /// A bucket is wrong.
        BadBucket = 12,
        /// What a bucket watches is wrong.
        BadWatch = 13,
        /// Not allowed.
        PermissionDenied = 14,
    }
}

numbered! {
    /// Why a change of a port failed.
    pub enum PortModFailed: u16 {
        /// The port does not exist.
        BadPort = 0,
        /// The address is not that of the port.
        BadHardwareAddress = 1,
        /// The configuration is invalid.
        BadConfig = 2,
        /// What to advertise is invalid.
        BadAdvertise = 3,
        /// Not allowed.
        PermissionDenied = 4,
    }
}

numbered! {
    /// Why a change of a table failed.
    pub enum TableModFailed: u16 {
        /// The table does not exist.
        BadTable = 0,
        /// The configuration is invalid.
        BadConfig = 1,
        /// Not allowed.
        PermissionDenied = 2,
    }
}

numbered! {
    /// Why a question about queues failed.
    pub enum QueueOpFailed: u16 {
        /// The port does not exist.
        BadPort = 0,
        /// The queue does not exist.
        BadQueue = 1,
        /// Not allowed.
        PermissionDenied = 2,
    }
}

numbered! {
    /// Why a change of the configuration failed.
    pub enum SwitchConfigFailed: u16 {
        /// The flags are invalid.
        BadFlags = 0,
        /// The length is invalid.
        BadLength = 1,
        /// Not allowed.
        PermissionDenied = 2,
    }
}

numbered! {
    /// Why a role was refused.
    pub enum RoleRequestFailed: u16 {
        /// A younger master was seen.
        Stale = 0,
        /// Changing roles is not supported.
        Unsupported = 1,
        /// The role is invalid.
        BadRole = 2,
    }
}

numbered! {
    /// Why a change of meters failed.
    pub enum MeterModFailed: u16 {
        /// Nobody knows.
        Unknown = 0,
        /// The meter is there already.
        MeterExists = 1,
        /// The meter is invalid.
        InvalidMeter = 2,
        /// The meter does not exist.
        UnknownMeter = 3,
        /// The command is unknown or not supported.
        BadCommand = 4,
        /// The flags are not supported.
        BadFlags = 5,
        /// The rate is not supported.
        BadRate = 6,
        /// The burst is not supported.
        BadBurst = 7,
        /// The band is not supported.
        BadBand = 8,
        /// The value of a band is not supported.
        BadBandValue = 9,
        /// No more meters.
        OutOfMeters = 10,
        /// No more bands.
        OutOfBands = 11,
    }
}

numbered! {
    /// Why a change of table features failed.
    pub enum TableFeaturesFailed: u16 {
        /// The table does not exist.
        BadTable = 0,
        /// The mask of the metadata is invalid.
        BadMetadata = 1,
        /// A property is unknown.
        BadType = 2,
        /// The length of a property is wrong.
        BadLength = 3,
        /// A value is not supported.
        BadArgument = 4,
        /// Not allowed.
        PermissionDenied = 5,
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
    /// An instruction was refused.
    BadInstruction(BadInstruction),
    /// The match was refused.
    BadMatch(BadMatch),
    /// Flow tables could not be changed.
    FlowModFailed(FlowModFailed),
    /// Groups could not be changed.
    GroupModFailed(GroupModFailed),
    /// A port could not be changed.
    PortModFailed(PortModFailed),
    /// A table could not be changed.
    TableModFailed(TableModFailed),
    /// Queues could not be asked about.
    QueueOpFailed(QueueOpFailed),
    /// The configuration could not be changed.
    SwitchConfigFailed(SwitchConfigFailed),
    /// The role was refused.
    RoleRequestFailed(RoleRequestFailed),
    /// Meters could not be changed.
    MeterModFailed(MeterModFailed),
    /// Table features could not be changed.
    TableFeaturesFailed(TableFeaturesFailed),
    /// What an experimenter defines.
    Experimenter {
        /// The experimenter's code.
        code: u16,
        /// Who defines the code.
        experimenter: u32,
    },
    /// What this version does not know.
    Unknown {
        /// The type of error.
        kind: u16,
        /// The code within the type.
        code: u16,
    },
}

impl ErrorKind {
    /// Returns what a type and a code stand for. Experimenters' errors need
    /// more than these two and come out as unknown.
    #[must_use]
    pub fn from_numbers(kind: u16, code: u16) -> Self {
        let known = match kind {
            0 => HelloFailed::from_number(code).map(Self::HelloFailed),
            1 => BadRequest::from_number(code).map(Self::BadRequest),
            2 => BadAction::from_number(code).map(Self::BadAction),
            3 => BadInstruction::from_number(code).map(Self::BadInstruction),
            4 => BadMatch::from_number(code).map(Self::BadMatch),
            5 => FlowModFailed::from_number(code).map(Self::FlowModFailed),
            6 => GroupModFailed::from_number(code).map(Self::GroupModFailed),
            7 => PortModFailed::from_number(code).map(Self::PortModFailed),
            8 => TableModFailed::from_number(code).map(Self::TableModFailed),
            9 => QueueOpFailed::from_number(code).map(Self::QueueOpFailed),
            10 => SwitchConfigFailed::from_number(code).map(Self::SwitchConfigFailed),
            11 => RoleRequestFailed::from_number(code).map(Self::RoleRequestFailed),
            12 => MeterModFailed::from_number(code).map(Self::MeterModFailed),
            13 => TableFeaturesFailed::from_number(code).map(Self::TableFeaturesFailed),
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
            Self::BadInstruction(code) => (3, code.number()),
            Self::BadMatch(code) => (4, code.number()),
            Self::FlowModFailed(code) => (5, code.number()),
            Self::GroupModFailed(code) => (6, code.number()),
            Self::PortModFailed(code) => (7, code.number()),
            Self::TableModFailed(code) => (8, code.number()),
            Self::QueueOpFailed(code) => (9, code.number()),
            Self::SwitchConfigFailed(code) => (10, code.number()),
            Self::RoleRequestFailed(code) => (11, code.number()),
            Self::MeterModFailed(code) => (12, code.number()),
            Self::TableFeaturesFailed(code) => (13, code.number()),
            Self::Experimenter { code, .. } => (EXPERIMENTER_TYPE, code),
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
        let (kind, code) = (reader.u16()?, reader.u16()?);
        let kind = match kind {
            EXPERIMENTER_TYPE => ErrorKind::Experimenter {
                code,
                experimenter: reader.u32()?,
            },
            _ => ErrorKind::from_numbers(kind, code),
        };
        let data = reader.rest();
        Ok(Self { kind, data })
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
        message.u16(kind).u16(code);
        if let ErrorKind::Experimenter { experimenter, .. } = self.kind {
            message.u32(experimenter);
        }
        message.bytes(self.data);
        finish(&mut message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_code_keeps_its_number() {
        for kind in 0..=14 {
            for code in 0..=20 {
                assert_eq!(ErrorKind::from_numbers(kind, code).numbers(), (kind, code));
            }
        }
    }

    #[test]
    fn an_answer_quotes_64_bytes_of_the_bad_message() {
        let bad = [7; 100];

        let answer = ErrorMessage::about(&bad, ErrorKind::BadRequest(BadRequest::BadType));

        assert_eq!(answer.data, [7; QUOTED_BYTES]);
    }
}
