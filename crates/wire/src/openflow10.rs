//! OpenFlow messages, version 1.0 (wire version 1), for controllers that speak
//! nothing newer.
//!
//! Built like [`openflow`](crate::openflow), whose framing, lists and numbers it
//! shares: a [`Message`] is one message taken apart, and lists inside are a
//! [`Sequence`](crate::openflow::Sequence). What is the same in both versions is
//! one type; what is not has its own type here, by the same name.
//!
//! ```
//! use wire::openflow::TransactionId;
//! use wire::openflow10::{Action, Actions, FlowMod, Match10, Message, PortNumber};
//!
//! let actions = [Action::output(PortNumber(2))];
//! let flow_mod = FlowMod {
//!     priority: 100,
//!     matching: Match10 { in_port: Some(PortNumber(1)), ..Match10::ANY },
//!     actions: Actions::of(&actions),
//!     ..FlowMod::ADD
//! };
//! let mut out = Vec::new();
//! flow_mod.emit(TransactionId(7), &mut out);
//!
//! let (header, message) = Message::parse(&out).unwrap();
//! assert_eq!(header.transaction, TransactionId(7));
//! assert_eq!(message, Message::FlowMod(flow_mod));
//! ```
//!
//! What cannot be read is a [`DecodeError`](crate::openflow::DecodeError), which
//! names the error in the words of version 1.3; [`ErrorKind`] says how version
//! 1.0 numbers its own.
//!
//! Source: OF10 section 5 (OpenFlow Switch Specification 1.0.0).
//!
//! # Left out
//!
//! Nothing. What vendors define is handed over as bytes.

mod action;
mod error;
mod features;
mod flow_match;
mod flow_mod;
mod flow_removed;
mod header;
mod message;
mod packet_in;
mod packet_out;
mod port;
mod port_mod;
mod port_status;
mod queue;
pub mod statistics;
mod switch_config;
mod translation;
mod vendor;

pub use action::{Action, Actions};
pub use error::{
    BadAction, BadRequest, ErrorKind, ErrorMessage, FlowModFailed, HelloFailed, PortModFailed,
    QueueOpFailed,
};
pub use features::{ActionKinds, Capabilities, FeaturesReply};
pub use flow_match::{AddressPrefix, Match10, Wildcards};
pub use flow_mod::{FlowMod, FlowModFlags};
pub use flow_removed::FlowRemoved;
pub use header::{MessageType, VERSION};
pub use message::Message;
pub use packet_in::PacketIn;
pub use packet_out::PacketOut;
pub use port::{PortConfig, PortDescription, PortFeatures, PortNumber, PortState};
pub use port_mod::PortMod;
pub use port_status::PortStatus;
pub use queue::{QueueDescription, QueueGetConfigReply};
pub use switch_config::SwitchConfig;
pub use vendor::Vendor;
