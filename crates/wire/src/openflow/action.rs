//! What is done with a frame (OF13 clause 7.2.5), the actions of ours included.

use super::taktos::{
    self, Eliminate, MonitorId, Police, QueuedFrameActions, StreamHandle, TrailerAction,
};
use super::{
    ActionError, DecodeError, Element, GroupId, MatchField, PortNumber, QueueId, Sequence,
};
use crate::ethernet::EtherType;
use crate::prp::Lan;
use crate::reader::Reader;
use crate::writer::Writer;

/// Actions in the order in which they are done.
pub type Actions<'a> = Sequence<'a, Action>;

const EXPERIMENTER: u16 = 0xffff;

/// Type and length of an action.
const HEADER_LENGTH: usize = 4;
const SHORT_LENGTH: u16 = 8;
const OUTPUT_LENGTH: u16 = 16;
/// Actions of ours: a number of 2 bytes and an argument of 4.
const TAKTOS_LENGTH: usize = 16;
const FLOW_MONITOR: u16 = 1;
const MODE_ARRANGE: u16 = 2;
const QUEUED_FATE: u16 = 3;
const POLICE: u16 = 4;
const SEQUENCE: u16 = 5;
const ELIMINATE: u16 = 6;
const TRAILER: u16 = 7;
const TRAILER_LAN: u16 = 8;
const SUPERVISE: u16 = 9;

numbered! {
    /// Which action (`ofp_action_type`).
    pub enum ActionKind: u16 {
        /// Sends the frame out of a port.
        Output = 0,
        /// Copies the time to live outwards.
        CopyTtlOut = 11,
        /// Copies the time to live inwards.
        CopyTtlIn = 12,
        /// Sets the time to live of the MPLS header.
        SetMplsTtl = 15,
        /// Counts down the time to live of the MPLS header.
        DecrementMplsTtl = 16,
        /// Puts a VLAN tag in front.
        PushVlan = 17,
        /// Takes the outermost VLAN tag away.
        PopVlan = 18,
        /// Puts an MPLS header in front.
        PushMpls = 19,
        /// Takes the outermost MPLS header away.
        PopMpls = 20,
        /// Chooses the queue for a later output.
        SetQueue = 21,
        /// Hands the frame to a group.
        Group = 22,
        /// Sets the time to live of the IP header.
        SetNetworkTtl = 23,
        /// Counts down the time to live of the IP header.
        DecrementNetworkTtl = 24,
        /// Sets a field.
        SetField = 25,
        /// Puts a backbone service tag in front.
        PushPbb = 26,
        /// Takes the outermost backbone service tag away.
        PopPbb = 27,
    }
}

/// How many bytes of a frame go to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerLength(pub u16);

impl ControllerLength {
    /// The most that can be asked for while the switch keeps the frame.
    pub const MAX: Self = Self(0xffe5);
    /// The whole frame; the switch keeps nothing.
    pub const NO_BUFFER: Self = Self(0xffff);
}

/// One thing that is done with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Sends the frame out of a port.
    Output {
        /// The port.
        port: PortNumber,
        /// How much of the frame the controller gets, if it is the port.
        max_length: ControllerLength,
    },
    /// Copies the time to live from the next to the outermost header.
    CopyTtlOut,
    /// Copies the time to live from the outermost header to the next.
    CopyTtlIn,
    /// Sets the time to live of the MPLS header.
    SetMplsTtl(u8),
    /// Counts down the time to live of the MPLS header.
    DecrementMplsTtl,
    /// Puts a VLAN tag of this type in front.
    PushVlan(EtherType),
    /// Takes the outermost VLAN tag away.
    PopVlan,
    /// Puts an MPLS header of this type in front.
    PushMpls(EtherType),
    /// Takes the outermost MPLS header away; the payload is of this type.
    PopMpls(EtherType),
    /// Chooses the queue for a later output.
    SetQueue(QueueId),
    /// Hands the frame to a group.
    Group(GroupId),
    /// Sets the time to live of the IP header.
    SetNetworkTtl(u8),
    /// Counts down the time to live of the IP header.
    DecrementNetworkTtl,
    /// Sets a field; the field has no mask.
    SetField(MatchField),
    /// Puts a backbone service tag of this type in front.
    PushPbb(EtherType),
    /// Takes the outermost backbone service tag away.
    PopPbb,
    /// Shows the frame to a monitor, of Taktos.
    FlowMonitor(MonitorId),
    /// The frame tells the mode of a neighbour, of Taktos; it goes no further.
    ModeArrange,
    /// Says what becomes of the frame if it still waits when a level is in force,
    /// of Taktos.
    QueuedFrame(QueuedFrameActions),
    /// Drops frames that exceed a contract, of Taktos. It stands first.
    Police(Police),
    /// Gives the frame the next number of a stream in a redundancy tag, of Taktos (IEEE
    /// 802.1CB clause 7.4.1).
    Sequence(StreamHandle),
    /// Ends the frame if a copy of it was handed on before, of Taktos.
    Eliminate(Eliminate),
    /// Numbers the frame in a trailer of PRP, or changes that trailer, of Taktos (IEC
    /// 62439-3).
    Trailer(TrailerAction),
}

impl Action {
    /// Returns the action that sends a frame out of `port`; the controller
    /// would get it whole.
    #[must_use]
    pub const fn output(port: PortNumber) -> Self {
        Self::Output {
            port,
            max_length: ControllerLength::NO_BUFFER,
        }
    }

    fn read(bytes: &[u8]) -> Result<(Self, &[u8]), ActionError> {
        let mut reader = Reader::new(bytes);
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let body = usize::from(length)
            .checked_sub(HEADER_LENGTH)
            .ok_or(ActionError::Length)?;
        let body = reader.take(body)?;
        if length % SHORT_LENGTH != 0 {
            return Err(ActionError::Length);
        }
        Ok((Self::read_body(kind, body)?, reader.rest()))
    }

    fn read_body(kind: u16, body: &[u8]) -> Result<Self, ActionError> {
        let mut reader = Reader::new(body);
        if kind == EXPERIMENTER {
            let experimenter = reader.u32()?;
            return match experimenter {
                taktos::EXPERIMENTER => Self::read_ours(body.len(), reader),
                _ => Err(ActionError::Experimenter { experimenter }),
            };
        }
        let kind = ActionKind::from_number(kind).ok_or(ActionError::Type { kind })?;
        let action = match kind {
            ActionKind::Output => Self::Output {
                port: PortNumber(reader.u32()?),
                max_length: ControllerLength(reader.u16()?),
            },
            ActionKind::CopyTtlOut => Self::CopyTtlOut,
            ActionKind::CopyTtlIn => Self::CopyTtlIn,
            ActionKind::SetMplsTtl => Self::SetMplsTtl(reader.u8()?),
            ActionKind::DecrementMplsTtl => Self::DecrementMplsTtl,
            ActionKind::PushVlan => Self::PushVlan(EtherType(reader.u16()?)),
            ActionKind::PopVlan => Self::PopVlan,
            ActionKind::PushMpls => Self::PushMpls(EtherType(reader.u16()?)),
            ActionKind::PopMpls => Self::PopMpls(EtherType(reader.u16()?)),
            ActionKind::SetQueue => Self::SetQueue(QueueId(reader.u32()?)),
            ActionKind::Group => Self::Group(GroupId(reader.u32()?)),
            ActionKind::SetNetworkTtl => Self::SetNetworkTtl(reader.u8()?),
            ActionKind::DecrementNetworkTtl => Self::DecrementNetworkTtl,
            ActionKind::SetField => return Self::read_set_field(body),
            ActionKind::PushPbb => Self::PushPbb(EtherType(reader.u16()?)),
            ActionKind::PopPbb => Self::PopPbb,
        };
        let length = if kind == ActionKind::Output {
            OUTPUT_LENGTH
        } else {
            SHORT_LENGTH
        };
        if body.len() + HEADER_LENGTH == usize::from(length) {
            Ok(action)
        } else {
            Err(ActionError::Length)
        }
    }

    /// Reads what stands behind our number.
    fn read_ours(body: usize, mut reader: Reader<'_>) -> Result<Self, ActionError> {
        let kind = reader.u16()?;
        reader.skip(2)?;
        let length = match kind {
            POLICE => usize::from(Police::ACTION_BYTES),
            ELIMINATE => usize::from(Eliminate::ACTION_BYTES),
            _ => TAKTOS_LENGTH,
        };
        if body + HEADER_LENGTH != length {
            return Err(ActionError::Length);
        }
        if kind == POLICE {
            let police = Police::parse(&mut reader).map_err(|_| ActionError::Length)?;
            return police.map(Self::Police).ok_or(ActionError::Argument);
        }
        if kind == ELIMINATE {
            let eliminate = Eliminate::parse(&mut reader).map_err(|_| ActionError::Length)?;
            return eliminate.map(Self::Eliminate).ok_or(ActionError::Argument);
        }
        let argument = reader.u32()?;
        match kind {
            SEQUENCE => Ok(Self::Sequence(StreamHandle(argument))),
            TRAILER => Ok(Self::Trailer(TrailerAction::Number(StreamHandle(argument)))),
            TRAILER_LAN => {
                let lan = u16::try_from(argument).ok().and_then(Lan::from_number);
                let lan = lan.ok_or(ActionError::Argument)?;
                Ok(Self::Trailer(TrailerAction::Lan(lan)))
            }
            SUPERVISE => Ok(Self::Trailer(TrailerAction::Supervise)),
            FLOW_MONITOR => Ok(Self::FlowMonitor(MonitorId(argument))),
            MODE_ARRANGE => Ok(Self::ModeArrange),
            QUEUED_FATE => QueuedFrameActions::from_number(argument)
                .map(Self::QueuedFrame)
                .ok_or(ActionError::Argument),
            kind => Err(ActionError::ExperimenterKind { kind }),
        }
    }

    fn read_set_field(body: &[u8]) -> Result<Self, ActionError> {
        let (field, padding) = MatchField::parse(body).map_err(ActionError::SetField)?;
        if field.has_mask() {
            let field = field.kind();
            return Err(ActionError::SetField(super::MatchError::Mask { field }));
        }
        if padding.len() >= usize::from(SHORT_LENGTH) {
            return Err(ActionError::Length);
        }
        Ok(Self::SetField(field))
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match *self {
            Self::Output { port, max_length } => {
                let [a, b, c, d] = port.0.to_be_bytes();
                let [e, f] = max_length.0.to_be_bytes();
                writer.bytes(&[0, 0, 0, 16, a, b, c, d, e, f, 0, 0, 0, 0, 0, 0]);
            }
            Self::CopyTtlOut => short(&mut writer, ActionKind::CopyTtlOut, [0; 4]),
            Self::CopyTtlIn => short(&mut writer, ActionKind::CopyTtlIn, [0; 4]),
            Self::SetMplsTtl(ttl) => short(&mut writer, ActionKind::SetMplsTtl, [ttl, 0, 0, 0]),
            Self::DecrementMplsTtl => short(&mut writer, ActionKind::DecrementMplsTtl, [0; 4]),
            Self::PushVlan(it) => short(&mut writer, ActionKind::PushVlan, type_bytes(it)),
            Self::PopVlan => short(&mut writer, ActionKind::PopVlan, [0; 4]),
            Self::PushMpls(it) => short(&mut writer, ActionKind::PushMpls, type_bytes(it)),
            Self::PopMpls(it) => short(&mut writer, ActionKind::PopMpls, type_bytes(it)),
            Self::SetQueue(QueueId(id)) => {
                short(&mut writer, ActionKind::SetQueue, id.to_be_bytes())
            }
            Self::Group(GroupId(id)) => short(&mut writer, ActionKind::Group, id.to_be_bytes()),
            Self::SetNetworkTtl(ttl) => {
                short(&mut writer, ActionKind::SetNetworkTtl, [ttl, 0, 0, 0])
            }
            Self::DecrementNetworkTtl => {
                short(&mut writer, ActionKind::DecrementNetworkTtl, [0; 4])
            }
            Self::SetField(field) => {
                writer.u16(ActionKind::SetField.number()).u16(0);
                writer.with(|out| field.emit(out)).pad_to_8().length_at(2);
            }
            Self::PushPbb(it) => short(&mut writer, ActionKind::PushPbb, type_bytes(it)),
            Self::PopPbb => short(&mut writer, ActionKind::PopPbb, [0; 4]),
            Self::FlowMonitor(MonitorId(id)) => ours(&mut writer, FLOW_MONITOR, id),
            Self::ModeArrange => ours(&mut writer, MODE_ARRANGE, 0),
            Self::QueuedFrame(fates) => ours(&mut writer, QUEUED_FATE, fates.number()),
            Self::Sequence(StreamHandle(id)) => ours(&mut writer, SEQUENCE, id),
            Self::Trailer(TrailerAction::Number(StreamHandle(id))) => {
                ours(&mut writer, TRAILER, id)
            }
            Self::Trailer(TrailerAction::Lan(lan)) => {
                ours(&mut writer, TRAILER_LAN, lan.number().into())
            }
            Self::Trailer(TrailerAction::Supervise) => ours(&mut writer, SUPERVISE, 0),
            Self::Eliminate(eliminate) => {
                writer.u16(EXPERIMENTER).u16(Eliminate::ACTION_BYTES);
                writer.u32(taktos::EXPERIMENTER).u16(ELIMINATE).zeros::<2>();
                eliminate.emit(&mut writer);
            }
            Self::Police(police) => {
                writer.u16(EXPERIMENTER).u16(Police::ACTION_BYTES);
                writer.u32(taktos::EXPERIMENTER).u16(POLICE).zeros::<2>();
                police.emit(&mut writer);
            }
        }
    }
}

impl<'a> Element<'a> for Action {
    #[inline]
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        Ok(Self::read(bytes)?)
    }

    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        self.write(out);
    }
}

/// Writes an action of 8 bytes.
#[inline]
fn short(writer: &mut Writer<'_>, kind: ActionKind, argument: [u8; 4]) {
    let [kind_high, kind_low] = kind.number().to_be_bytes();
    let [a, b, c, d] = argument;
    writer.bytes(&[kind_high, kind_low, 0, 8, a, b, c, d]);
}

/// Writes an action of ours.
fn ours(writer: &mut Writer<'_>, kind: u16, argument: u32) {
    writer.u16(EXPERIMENTER).u16(16).u32(taktos::EXPERIMENTER);
    writer.u16(kind).zeros::<2>().u32(argument);
}

const fn type_bytes(ether_type: EtherType) -> [u8; 4] {
    let [high, low] = ether_type.0.to_be_bytes();
    [high, low, 0, 0]
}
