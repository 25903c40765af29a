//! OpenFlow messages, version 1.3 (wire version 4).
//!
//! A [`Framer`] cuts the byte stream of a connection into messages; a
//! [`Message`] is one of them taken apart. Each kind of message has its own
//! file. Lists inside a message (match fields, actions, instructions, ports,
//! statistics) are a [`Sequence`]: either still in the bytes they came in, taken
//! apart while iterating, or a slice that the sender made. So one type serves
//! both for reading without a copy and for writing without an allocation:
//!
//! ```
//! use wire::openflow::{Action, Actions, Fields, FlowMod, Instruction, Instructions};
//! use wire::openflow::{MatchField, Message, PortNumber, TableId, TransactionId};
//!
//! let fields = [MatchField::InPort(PortNumber(1))];
//! let actions = [Action::output(PortNumber(2))];
//! let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
//! let flow_mod = FlowMod {
//!     priority: 100,
//!     matching: Fields::of(&fields),
//!     instructions: Instructions::of(&instructions),
//!     ..FlowMod::add(TableId(0))
//! };
//! let mut out = Vec::new();
//! flow_mod.emit(TransactionId(7), &mut out);
//!
//! let (header, message) = Message::parse(&out).unwrap();
//! assert_eq!(header.transaction, TransactionId(7));
//! assert_eq!(message, Message::FlowMod(flow_mod));
//! ```
//!
//! Whatever cannot be read is a [`DecodeError`], which knows what a switch has
//! to answer ([`DecodeError::kind`]).
//!
//! Sources: OF13 clause 7 (OpenFlow Switch Specification 1.3.5), and ONF-230
//! for bundles.

#[macro_use]
mod numbered;

mod action;
mod async_config;
mod bundle;
mod config;
mod decode_error;
mod echo;
mod error;
mod features;
mod flow_mod;
mod flow_removed;
mod framer;
mod group_mod;
mod header;
mod hello;
mod identifiers;
mod instruction;
mod message;
mod meter_mod;
pub mod multipart;
pub mod oxm;
mod packet_in;
mod packet_out;
mod port;
mod port_mod;
mod port_status;
mod queue;
mod role;
mod sequence;
mod table_mod;
pub mod taktos;

pub use action::{Action, ActionKind, Actions, ControllerLength};
pub use async_config::AsyncConfig;
pub use bundle::{
    BundleAdd, BundleControl, BundleControlKind, BundleFailed, BundleFlags, BundleId,
    BundleProperty, ONF_EXPERIMENTER,
};
pub use config::{FragmentHandling, SwitchConfig};
pub use decode_error::{ActionError, DecodeError, InstructionError};
pub use echo::Echo;
pub use error::{
    BadAction, BadInstruction, BadMatch, BadRequest, ErrorKind, ErrorMessage, FlowModFailed,
    GroupModFailed, HelloFailed, MeterModFailed, PortModFailed, QUOTED_BYTES, QueueOpFailed,
    RoleRequestFailed, SwitchConfigFailed, TableFeaturesFailed, TableModFailed,
};
pub use features::{Capabilities, FeaturesReply};
pub use flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
pub use flow_removed::{FlowRemoved, FlowRemovedReason};
pub use framer::{Framer, FramingError, first_message};
pub use group_mod::{Bucket, Buckets, GroupMod, GroupModCommand, GroupType, emit_detour};
pub use header::{HEADER_LENGTH, Header, MessageType, VERSION};
pub use hello::Hello;
pub use identifiers::{
    BufferId, Cookie, DatapathId, GroupId, MeterId, ParseDatapathError, PortNumber, QueueId,
    TableId, TransactionId,
};
pub use instruction::{Instruction, InstructionKind, Instructions};
pub use message::{Experimenter, Message, emit_barrier_reply, emit_barrier_request};
pub use meter_mod::{Band, Bands, MeterFlags, MeterMod, MeterModCommand};
pub use oxm::{FieldKind, Fields, Match, MatchError, MatchField};
pub use packet_in::{PacketIn, PacketInReason};
pub use packet_out::PacketOut;
pub use port::{PortConfig, PortDescription, PortFeatures, PortName, PortState};
pub use port_mod::PortMod;
pub use port_status::{PortStatus, PortStatusReason};
pub use queue::{QueueDescription, QueueGetConfigReply};
pub use role::{Role, RoleMessage};
pub use sequence::{Element, Elements, Sequence};
pub use table_mod::TableMod;
