//! What version 1.0 calls an error, OF10 section 5.4.4. What it has no word for
//! gets the one that comes nearest.

use wire::openflow::{
    BadAction, BadRequest, ErrorKind, FlowModFailed, PortModFailed, SwitchConfigFailed,
};
use wire::openflow10;

type Narrow = openflow10::ErrorKind;

/// Returns the error of version 1.0 that says the most of this one.
pub(super) fn narrowed(kind: ErrorKind) -> Narrow {
    match kind {
        ErrorKind::HelloFailed(code) => Narrow::HelloFailed(code),
        ErrorKind::BadRequest(code) => bad_request(code),
        ErrorKind::BadAction(code) => bad_action(code),
        ErrorKind::BadInstruction(_) | ErrorKind::BadMatch(_) => unsupported(),
        ErrorKind::FlowModFailed(code) => Narrow::FlowModFailed(flow_mod_failed(code)),
        ErrorKind::PortModFailed(code) => port_mod_failed(code),
        ErrorKind::QueueOpFailed(code) => Narrow::QueueOpFailed(code),
        ErrorKind::SwitchConfigFailed(
            SwitchConfigFailed::BadFlags
            | SwitchConfigFailed::BadLength
            | SwitchConfigFailed::PermissionDenied,
        ) => denied(),
        ErrorKind::Experimenter { .. } => Narrow::BadRequest(openflow10::BadRequest::BadVendor),
        ErrorKind::GroupModFailed(_)
        | ErrorKind::TableModFailed(_)
        | ErrorKind::RoleRequestFailed(_)
        | ErrorKind::MeterModFailed(_)
        | ErrorKind::TableFeaturesFailed(_)
        | ErrorKind::Unknown { .. } => Narrow::BadRequest(openflow10::BadRequest::BadType),
    }
}

const fn bad_request(code: BadRequest) -> Narrow {
    use openflow10::BadRequest as Code;
    Narrow::BadRequest(match code {
        BadRequest::BadVersion => Code::BadVersion,
        BadRequest::BadType => Code::BadType,
        BadRequest::BadMultipart | BadRequest::BadTableId => Code::BadStatistics,
        BadRequest::BadExperimenter => Code::BadVendor,
        BadRequest::BadExperimenterType => Code::BadSubtype,
        BadRequest::PermissionDenied | BadRequest::IsSlave => Code::PermissionDenied,
        BadRequest::BadLength | BadRequest::BadPacket | BadRequest::MultipartBufferOverflow => {
            Code::BadLength
        }
        BadRequest::BufferEmpty => Code::BufferEmpty,
        BadRequest::BufferUnknown => Code::BufferUnknown,
        BadRequest::BadPort => return Narrow::BadAction(openflow10::BadAction::BadOutPort),
    })
}

const fn bad_action(code: BadAction) -> Narrow {
    use openflow10::BadAction as Code;
    Narrow::BadAction(match code {
        BadAction::BadType | BadAction::BadSetType => Code::BadType,
        BadAction::BadLength | BadAction::BadSetLength => Code::BadLength,
        BadAction::BadExperimenter => Code::BadVendor,
        BadAction::BadExperimenterType => Code::BadVendorType,
        BadAction::BadOutPort => Code::BadOutPort,
        BadAction::PermissionDenied => Code::PermissionDenied,
        BadAction::TooMany => Code::TooMany,
        BadAction::BadQueue => Code::BadQueue,
        BadAction::BadArgument
        | BadAction::BadOutGroup
        | BadAction::MatchInconsistent
        | BadAction::BadTag
        | BadAction::BadSetArgument => Code::BadArgument,
        BadAction::UnsupportedOrder => return unsupported(),
    })
}

const fn flow_mod_failed(code: FlowModFailed) -> openflow10::FlowModFailed {
    use openflow10::FlowModFailed as Code;
    match code {
        FlowModFailed::TableFull => Code::AllTablesFull,
        FlowModFailed::Overlap => Code::Overlap,
        FlowModFailed::PermissionDenied => Code::PermissionDenied,
        FlowModFailed::BadCommand => Code::BadCommand,
        FlowModFailed::Unknown
        | FlowModFailed::BadTableId
        | FlowModFailed::BadTimeout
        | FlowModFailed::BadFlags => Code::Unsupported,
    }
}

const fn port_mod_failed(code: PortModFailed) -> Narrow {
    use openflow10::PortModFailed as Code;
    match code {
        PortModFailed::BadPort => Narrow::PortModFailed(Code::BadPort),
        PortModFailed::BadHardwareAddress => Narrow::PortModFailed(Code::BadHardwareAddress),
        PortModFailed::BadConfig
        | PortModFailed::BadAdvertise
        | PortModFailed::PermissionDenied => denied(),
    }
}

const fn unsupported() -> Narrow {
    Narrow::FlowModFailed(openflow10::FlowModFailed::Unsupported)
}

const fn denied() -> Narrow {
    Narrow::BadRequest(openflow10::BadRequest::PermissionDenied)
}
