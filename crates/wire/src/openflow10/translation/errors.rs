//! Errors (OF10 section 5.4.4, OF13 clause 7.5.4). What a version has no word for gets
//! the one that comes nearest.

use super::super::{BadAction, BadRequest, ErrorKind, FlowModFailed, PortModFailed};
use crate::openflow::{self, SwitchConfigFailed};

impl ErrorKind {
    /// Returns the error of version 1.3 that says the most of this one.
    #[must_use]
    pub fn to_of13(self) -> openflow::ErrorKind {
        use openflow::ErrorKind as Wide;
        match self {
            Self::HelloFailed(code) => Wide::HelloFailed(code),
            Self::QueueOpFailed(code) => Wide::QueueOpFailed(code),
            // The first codes of these are the same in both versions.
            Self::BadRequest(code) => Wide::BadRequest(
                openflow::BadRequest::from_number(code.number())
                    .unwrap_or(openflow::BadRequest::BadType),
            ),
            Self::BadAction(code) => Wide::BadAction(
                openflow::BadAction::from_number(code.number())
                    .unwrap_or(openflow::BadAction::BadType),
            ),
            Self::FlowModFailed(code) => Wide::FlowModFailed(code.to_of13()),
            Self::PortModFailed(_) => {
                Wide::PortModFailed(openflow::PortModFailed::PermissionDenied)
            }
            Self::Unknown { kind, code } => Wide::Unknown { kind, code },
        }
    }

    /// Returns the error of version 1.0 that says the most of this one.
    #[must_use]
    pub fn from_of13(wide: openflow::ErrorKind) -> Self {
        use openflow::ErrorKind as Wide;
        match wide {
            Wide::HelloFailed(code) => Self::HelloFailed(code),
            Wide::BadRequest(code) => bad_request(code),
            Wide::BadAction(code) => bad_action(code),
            Wide::BadInstruction(_) | Wide::BadMatch(_) => UNSUPPORTED,
            Wide::FlowModFailed(code) => Self::FlowModFailed(FlowModFailed::from_of13(code)),
            Wide::PortModFailed(code) => port_mod_failed(code),
            Wide::QueueOpFailed(code) => Self::QueueOpFailed(code),
            Wide::SwitchConfigFailed(
                SwitchConfigFailed::BadFlags
                | SwitchConfigFailed::BadLength
                | SwitchConfigFailed::PermissionDenied,
            ) => DENIED,
            Wide::Experimenter { .. } => Self::BadRequest(BadRequest::BadVendor),
            Wide::GroupModFailed(_)
            | Wide::TableModFailed(_)
            | Wide::RoleRequestFailed(_)
            | Wide::MeterModFailed(_)
            | Wide::TableFeaturesFailed(_)
            | Wide::Unknown { .. } => Self::BadRequest(BadRequest::BadType),
        }
    }
}

const UNSUPPORTED: ErrorKind = ErrorKind::FlowModFailed(FlowModFailed::Unsupported);
const DENIED: ErrorKind = ErrorKind::BadRequest(BadRequest::PermissionDenied);

impl FlowModFailed {
    const fn to_of13(self) -> openflow::FlowModFailed {
        use openflow::FlowModFailed as Wide;
        match self {
            Self::AllTablesFull => Wide::TableFull,
            Self::Overlap => Wide::Overlap,
            Self::PermissionDenied => Wide::PermissionDenied,
            Self::BadEmergencyTimeout => Wide::BadTimeout,
            Self::BadCommand => Wide::BadCommand,
            Self::Unsupported => Wide::Unknown,
        }
    }

    const fn from_of13(wide: openflow::FlowModFailed) -> Self {
        use openflow::FlowModFailed as Wide;
        match wide {
            Wide::TableFull => Self::AllTablesFull,
            Wide::Overlap => Self::Overlap,
            Wide::PermissionDenied => Self::PermissionDenied,
            Wide::BadCommand => Self::BadCommand,
            Wide::Unknown | Wide::BadTableId | Wide::BadTimeout | Wide::BadFlags => {
                Self::Unsupported
            }
        }
    }
}

const fn bad_request(wide: openflow::BadRequest) -> ErrorKind {
    use openflow::BadRequest as Wide;
    ErrorKind::BadRequest(match wide {
        Wide::BadVersion => BadRequest::BadVersion,
        Wide::BadType => BadRequest::BadType,
        Wide::BadMultipart | Wide::BadTableId => BadRequest::BadStatistics,
        Wide::BadExperimenter => BadRequest::BadVendor,
        Wide::BadExperimenterType => BadRequest::BadSubtype,
        Wide::PermissionDenied | Wide::IsSlave => BadRequest::PermissionDenied,
        Wide::BadLength | Wide::BadPacket | Wide::MultipartBufferOverflow => BadRequest::BadLength,
        Wide::BufferEmpty => BadRequest::BufferEmpty,
        Wide::BufferUnknown => BadRequest::BufferUnknown,
        Wide::BadPort => return ErrorKind::BadAction(BadAction::BadOutPort),
    })
}

const fn bad_action(wide: openflow::BadAction) -> ErrorKind {
    use openflow::BadAction as Wide;
    ErrorKind::BadAction(match wide {
        Wide::BadType | Wide::BadSetType => BadAction::BadType,
        Wide::BadLength | Wide::BadSetLength => BadAction::BadLength,
        Wide::BadExperimenter => BadAction::BadVendor,
        Wide::BadExperimenterType => BadAction::BadVendorType,
        Wide::BadOutPort => BadAction::BadOutPort,
        Wide::PermissionDenied => BadAction::PermissionDenied,
        Wide::TooMany => BadAction::TooMany,
        Wide::BadQueue => BadAction::BadQueue,
        Wide::BadArgument
        | Wide::BadOutGroup
        | Wide::MatchInconsistent
        | Wide::BadTag
        | Wide::BadSetArgument => BadAction::BadArgument,
        Wide::UnsupportedOrder => return UNSUPPORTED,
    })
}

const fn port_mod_failed(wide: openflow::PortModFailed) -> ErrorKind {
    use openflow::PortModFailed as Wide;
    match wide {
        Wide::BadPort => ErrorKind::PortModFailed(PortModFailed::BadPort),
        Wide::BadHardwareAddress => ErrorKind::PortModFailed(PortModFailed::BadHardwareAddress),
        Wide::BadConfig | Wide::BadAdvertise | Wide::PermissionDenied => DENIED,
    }
}
