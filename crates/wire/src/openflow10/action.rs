//! What is done with a frame (OF10 section 5.2.4).

use std::net::Ipv4Addr;

use super::PortNumber;
use crate::ethernet::MacAddress;
use crate::openflow::{ActionError, ControllerLength, DecodeError, Element, QueueId, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// Actions in the order in which they are done.
pub type Actions<'a> = Sequence<'a, Action>;

const OUTPUT: u16 = 0;
const SET_VLAN_VID: u16 = 1;
const SET_VLAN_PCP: u16 = 2;
const STRIP_VLAN: u16 = 3;
const SET_DL_SRC: u16 = 4;
const SET_DL_DST: u16 = 5;
const SET_NW_SRC: u16 = 6;
const SET_NW_DST: u16 = 7;
const SET_NW_TOS: u16 = 8;
const SET_TP_SRC: u16 = 9;
const SET_TP_DST: u16 = 10;
const ENQUEUE: u16 = 11;
const VENDOR: u16 = 0xffff;

/// Type and length of an action.
const HEADER_LENGTH: usize = 4;
const SHORT_LENGTH: u16 = 8;
const LONG_LENGTH: u16 = 16;

/// One thing that is done with a frame. What a vendor defines is refused while
/// reading: nobody here could do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Sends the frame out of a port.
    Output {
        /// The port.
        port: PortNumber,
        /// How much of the frame the controller gets, if it is the port.
        max_length: ControllerLength,
    },
    /// Sets the VLAN of the tag, or of a new one if there is none.
    SetVlanVid(u16),
    /// Sets the priority of the tag, or of a new one if there is none.
    SetVlanPcp(u8),
    /// Takes the tag away, if there is one.
    StripVlan,
    /// Sets the source address of Ethernet.
    SetDlSrc(MacAddress),
    /// Sets the destination address of Ethernet.
    SetDlDst(MacAddress),
    /// Sets the source address of IPv4.
    SetNwSrc(Ipv4Addr),
    /// Sets the destination address of IPv4.
    SetNwDst(Ipv4Addr),
    /// Sets the upper six bits of the type of service to those of this byte.
    SetNwTos(u8),
    /// Sets the source port of TCP or UDP.
    SetTpSrc(u16),
    /// Sets the destination port of TCP or UDP.
    SetTpDst(u16),
    /// Sends the frame out of a port through one of its queues.
    Enqueue {
        /// The port.
        port: PortNumber,
        /// Its queue.
        queue: QueueId,
    },
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
        let fits = match Self::length(kind) {
            Some(expected) => length == expected,
            None => length % SHORT_LENGTH == 0,
        };
        if !fits {
            return Err(ActionError::Length);
        }
        Ok((Self::read_body(kind, body)?, reader.rest()))
    }

    /// Returns how long an action of this type is, if that is known.
    const fn length(kind: u16) -> Option<u16> {
        match kind {
            SET_DL_SRC | SET_DL_DST | ENQUEUE => Some(LONG_LENGTH),
            OUTPUT..=ENQUEUE => Some(SHORT_LENGTH),
            _ => None,
        }
    }

    fn read_body(kind: u16, body: &[u8]) -> Result<Self, ActionError> {
        let mut reader = Reader::new(body);
        Ok(match kind {
            OUTPUT => Self::Output {
                port: PortNumber(reader.u16()?),
                max_length: ControllerLength(reader.u16()?),
            },
            SET_VLAN_VID => Self::SetVlanVid(reader.u16()?),
            SET_VLAN_PCP => Self::SetVlanPcp(reader.u8()?),
            STRIP_VLAN => Self::StripVlan,
            SET_DL_SRC => Self::SetDlSrc(MacAddress(reader.array()?)),
            SET_DL_DST => Self::SetDlDst(MacAddress(reader.array()?)),
            SET_NW_SRC => Self::SetNwSrc(reader.u32()?.into()),
            SET_NW_DST => Self::SetNwDst(reader.u32()?.into()),
            SET_NW_TOS => Self::SetNwTos(reader.u8()?),
            SET_TP_SRC => Self::SetTpSrc(reader.u16()?),
            SET_TP_DST => Self::SetTpDst(reader.u16()?),
            ENQUEUE => {
                let port = PortNumber(reader.u16()?);
                reader.skip(6)?;
                let queue = QueueId(reader.u32()?);
                Self::Enqueue { port, queue }
            }
            VENDOR => {
                let experimenter = reader.u32()?;
                return Err(ActionError::Experimenter { experimenter });
            }
            _ => return Err(ActionError::Type { kind }),
        })
    }
}

impl<'a> Element<'a> for Action {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        Ok(Self::read(bytes)?)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        match *self {
            Self::Output { port, max_length } => {
                writer.u16(OUTPUT).u16(SHORT_LENGTH);
                writer.u16(port.0).u16(max_length.0);
            }
            Self::SetVlanVid(id) => emit_u16(&mut writer, SET_VLAN_VID, id),
            Self::SetVlanPcp(priority) => emit_u8(&mut writer, SET_VLAN_PCP, priority),
            Self::StripVlan => emit_u8(&mut writer, STRIP_VLAN, 0),
            Self::SetDlSrc(address) => emit_mac(&mut writer, SET_DL_SRC, address),
            Self::SetDlDst(address) => emit_mac(&mut writer, SET_DL_DST, address),
            Self::SetNwSrc(address) => emit_address(&mut writer, SET_NW_SRC, address),
            Self::SetNwDst(address) => emit_address(&mut writer, SET_NW_DST, address),
            Self::SetNwTos(tos) => emit_u8(&mut writer, SET_NW_TOS, tos),
            Self::SetTpSrc(port) => emit_u16(&mut writer, SET_TP_SRC, port),
            Self::SetTpDst(port) => emit_u16(&mut writer, SET_TP_DST, port),
            Self::Enqueue { port, queue } => {
                writer.u16(ENQUEUE).u16(LONG_LENGTH).u16(port.0);
                writer.zeros::<6>().u32(queue.0);
            }
        }
    }
}

fn emit_u8(writer: &mut Writer<'_>, kind: u16, value: u8) {
    writer.u16(kind).u16(SHORT_LENGTH).u8(value).zeros::<3>();
}

fn emit_u16(writer: &mut Writer<'_>, kind: u16, value: u16) {
    writer.u16(kind).u16(SHORT_LENGTH).u16(value).zeros::<2>();
}

fn emit_address(writer: &mut Writer<'_>, kind: u16, address: Ipv4Addr) {
    writer.u16(kind).u16(SHORT_LENGTH).u32(address.to_bits());
}

fn emit_mac(writer: &mut Writer<'_>, kind: u16, address: MacAddress) {
    writer.u16(kind).u16(LONG_LENGTH);
    writer.bytes(&address.0).zeros::<6>();
}
