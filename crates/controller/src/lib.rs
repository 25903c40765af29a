//! What should the network do? The controller core.
//!
//! [`Controller`] speaks OpenFlow 1.3 to switches, and 1.0 to those that know
//! nothing newer, finds the links between them
//! and the hosts at them, admits flows with a deadline only if their promises
//! can be kept on every way they may take, installs their entries, and moves
//! them to ways prepared beforehand when a link breaks. It is a state machine:
//! inputs go in with the time at which they happened, outputs are drained. It
//! owns no clock, no socket and no file; its store is outside, too.
//!
//! | module | question |
//! |---|---|
//! | [`controller`] | what goes in and comes out? |
//! | [`config`] | what is the controller told before it starts? |
//! | [`northbound`] | what may applications ask, and what are they told? |
//! | [`store`], [`record`], [`inventory`] | what outlives the controller, in which form? |
//! | [`session`], [`outbox`], [`confirmation`] | how does it speak with switches? |
//! | [`mastery`] | does it decide, or another controller? |
//! | [`cluster`] | which of several instances decides? |
//! | [`view`], [`place`] | what is known of the network? |
//! | [`discovery`], [`hosts`] | how does it become known? |
//! | [`link_trust`] | which links are believed? |
//! | [`echoes`] | does a switch forward that cannot be heard? |
//! | [`packet_in_classes`] | which frames are taken from switches? |
//! | [`path`], [`ways`] | which way should a flow take? |
//! | [`admission`], [`best_effort`], [`refusal`] | can its promise be kept there? |
//! | [`budgets`] | how much delay may each hop add? |
//! | [`flows`], [`rules`] | which entries does it have? |
//! | [`desired`], [`audit`] | which entries should each switch have, and has it? |
//! | [`priority`] | which of the entries that match a frame wins? |
//! | [`intents`] | what else was programmed, and how is it kept? |
//! | [`transition`] | how does it change its way? |
//! | [`router`] | how is the network a router among others? |
//! | [`routes`] | how are known hosts connected before they send? |
//! | [`forwarding`] | what if nobody has asked for a flow? |
//! | [`applications`] | who may ask what? |
//! | [`telemetry`] | what have ports and flows carried? |
//! | [`hop_audit`] | what of that can be? |
//! | [`sent_series`] | which contracts does a source keep? |
//!
//! # Left out
//!
//! Other applications, and programming below the level of
//! flows; the store contract and the separation of deciding from acting leave
//! room for them. The failure of a switch: a flow with an end there is lost, and
//! one that only passes is moved when the neighbours' ports go down, or when the echoes
//! cease that they sent there.

pub mod admission;
pub mod applications;
pub mod audit;
pub mod best_effort;
pub mod budgets;
pub mod cluster;
pub mod config;
pub mod confirmation;
pub mod controller;
pub mod desired;
pub mod discovery;
pub mod echoes;
mod failover;
pub mod flows;
pub mod forwarding;
pub mod hop_audit;
pub mod hosts;
pub mod intents;
pub mod inventory;
pub mod link_trust;
mod mac_table;
pub mod mastery;
pub mod modes;
pub mod neighbour_sessions;
pub mod northbound;
pub mod outbox;
pub mod packet_in_classes;
pub mod path;
pub mod priority;
pub mod record;
pub mod refusal;
pub mod router;
pub mod routes;
pub mod rules;
pub mod seamless;
mod search;
pub mod sent_series;
pub mod session;
mod slab;
pub mod store;
pub mod telemetry;
pub mod transition;
mod version10;
pub mod view;
pub mod ways;

pub use api::{Counters, place};
pub use config::Config;
pub use controller::{Controller, Input};
pub use northbound::{Asker, Event, Reply, Request, RequestId, Requirement};
pub use outbox::Output;
pub use session::{CloseReason, ConnectionId};
pub use store::{Store, StoreEvent, StoreWrite};
