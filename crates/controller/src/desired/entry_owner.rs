//! Whose an entry is, and how its cookie says so.
//!
//! A cookie (OF13 clause 7.3.4.1) says whose an entry is, in which slice of all
//! entries it is, and what is in it:
//!
//! ```text
//! | 8 bits: 0x54 | 4 bits: kind | 6 bits: slice | 14 bits: digest | 32 bits: number |
//! ```
//!
//! Kind and number are those of the subject. One slice of a switch's entries can
//! be asked for by a mask of the cookie.

use std::fmt;

use wire::ethernet::MacAddress;
use wire::openflow::{Cookie, TransactionId};

use super::RulePlace;
use crate::northbound::{ApplicationId, FlowId, IntentId};
use crate::router::next_hops::HopTag;

/// The bits of a cookie that say that an entry is one of ours.
pub const COOKIE_OURS: Cookie = Cookie(0x54 << 56);
pub const COOKIE_MASK_OURS: Cookie = Cookie(0xff << 56);
/// Which bits say, with those, in which slice an entry is.
pub const COOKIE_MASK_SLICE: Cookie = Cookie(0xff << 56 | 0x3f << SLICE_SHIFT);

const KIND_SHIFT: u32 = 52;
const SLICE_SHIFT: u32 = 46;
const DIGEST_SHIFT: u32 = 32;
const DIGEST_MASK: u64 = 0x3fff;
/// Bit of a transaction id that marks an entry of a flow; the others name it.
const FLOW_TRANSACTION: u32 = 1 << 31;

/// Whose an entry is. The earlier is the stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryOwner {
    /// The controller's: what every switch needs.
    Service,
    /// The place of a host that is known.
    KnownHost(MacAddress),
    Flow(FlowId),
    /// A connectivity intent, a flow path or a match-action.
    Intent(IntentId),
    Application(ApplicationId),
    /// What a host sends to all whom intents connect it with.
    Gathering(MacAddress),
    /// The proactive route to a host; without one, of what goes to all.
    Route(Option<MacAddress>),
    /// How switches take part in agreeing on a mode.
    Modes,
    /// What a flow gets at the levels of criticality.
    Levels(FlowId),
    /// What keeps others from coming onto the way of a flow.
    Guard(FlowId),
    /// The way to a next hop of routes, by its tag.
    NextHop(HopTag),
    /// What leads between outside routers and the speaker, by the number of the peering.
    Peering(u32),
}

impl EntryOwner {
    /// Returns the intent whose it is, if it is that of one.
    #[must_use]
    pub const fn intent(self) -> Option<IntentId> {
        match self {
            Self::Intent(id) => Some(id),
            Self::Service
            | Self::KnownHost(_)
            | Self::Flow(_)
            | Self::Gathering(_)
            | Self::Route(_)
            | Self::Modes
            | Self::Levels(_)
            | Self::Guard(_)
            | Self::NextHop(_)
            | Self::Peering(_)
            | Self::Application(_) => None,
        }
    }

    /// Returns how strong it is; the lower is the stronger.
    pub(super) const fn rank(self) -> u8 {
        match self {
            Self::Service => 0,
            Self::KnownHost(_) => 1,
            Self::Flow(_) => 2,
            Self::Intent(_) => 3,
            Self::Application(_) => 4,
            Self::Gathering(_) => 5,
            Self::Route(_) => 6,
            Self::Modes => 7,
            Self::Levels(_) => 8,
            Self::Guard(_) => 9,
            Self::NextHop(_) => 10,
            Self::Peering(_) => 11,
        }
    }

    /// Returns whether somebody else's entry for some of the same frames is a conflict.
    pub(super) const fn may_conflict(self) -> bool {
        matches!(self, Self::Intent(_) | Self::Application(_))
    }

    /// Returns whose an entry with this cookie is, if the cookie alone says so: an address
    /// does not fit into one.
    pub(super) fn of_cookie(cookie: Cookie) -> Option<Self> {
        let [.., a, b, c, d] = cookie.0.to_be_bytes();
        let number = u32::from_be_bytes([a, b, c, d]);
        let named = [
            Self::Service,
            Self::Flow(FlowId(number)),
            Self::Intent(IntentId(number)),
            Self::Modes,
            Self::Levels(FlowId(number)),
            Self::Guard(FlowId(number)),
            Self::NextHop(HopTag(number)),
            Self::Peering(number),
        ];
        named.into_iter().find(|named| is_alike(*named, cookie))
    }

    /// Returns what a cookie says of it.
    const fn number(self) -> u32 {
        match self {
            Self::Service | Self::Modes | Self::Route(None) => 0,
            Self::KnownHost(MacAddress([_, _, a, b, c, d]))
            | Self::Gathering(MacAddress([_, _, a, b, c, d]))
            | Self::Route(Some(MacAddress([_, _, a, b, c, d]))) => u32::from_be_bytes([a, b, c, d]),
            Self::Flow(flow) | Self::Levels(flow) | Self::Guard(flow) => flow.0,
            Self::Intent(intent) => intent.0,
            Self::Application(application) => application.0 as u32,
            Self::NextHop(HopTag(number)) | Self::Peering(number) => number,
        }
    }

    /// Returns the transaction id of messages about its entries.
    #[must_use]
    pub const fn transaction(self) -> TransactionId {
        match self {
            Self::Flow(flow) => TransactionId(FLOW_TRANSACTION | flow.0),
            Self::Service
            | Self::KnownHost(_)
            | Self::Intent(_)
            | Self::Application(_)
            | Self::Gathering(_)
            | Self::Route(_)
            | Self::Modes
            | Self::Levels(_)
            | Self::Guard(_)
            | Self::NextHop(_)
            | Self::Peering(_) => TransactionId(0),
        }
    }
}

impl fmt::Display for EntryOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("the controller"),
            Self::KnownHost(mac) => write!(f, "host {mac}"),
            Self::Flow(flow) => write!(f, "flow {}", flow.0),
            Self::Modes => f.write_str("the modes"),
            Self::Levels(flow) => write!(f, "flow {} at its levels", flow.0),
            Self::Guard(flow) => write!(f, "the guard of flow {}", flow.0),
            Self::NextHop(HopTag(tag)) => write!(f, "the way to next hop {tag:08x}"),
            Self::Peering(number) => write!(f, "peering {number}"),
            Self::Intent(intent) => write!(f, "intent {}", intent.0),
            Self::Application(application) => write!(f, "application {}", application.0),
            Self::Gathering(mac) => write!(f, "what host {mac} sends to all"),
            Self::Route(Some(mac)) => write!(f, "the route to host {mac}"),
            Self::Route(None) => f.write_str("what goes to all"),
        }
    }
}

/// Returns whether an entry with this cookie is one that is found anew from the
/// network after a restart, unlike those that the store keeps.
#[must_use]
pub fn is_derived(cookie: Cookie) -> bool {
    let none = MacAddress::ZERO;
    let derived = [
        EntryOwner::Intent(IntentId(0)),
        EntryOwner::Gathering(none),
        EntryOwner::Route(None),
        EntryOwner::Modes,
        EntryOwner::Levels(FlowId(0)),
        EntryOwner::Guard(FlowId(0)),
        EntryOwner::NextHop(HopTag(0)),
        EntryOwner::Peering(0),
    ];
    derived.iter().any(|one| is_alike(*one, cookie))
}

/// Returns whether an entry with this cookie keeps others from the way of a flow.
#[must_use]
pub fn is_guard(cookie: Cookie) -> bool {
    cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS) && is_alike(EntryOwner::Guard(FlowId(0)), cookie)
}

/// Returns whether an entry with this cookie leads between outside routers and the speaker.
#[must_use]
pub fn is_of_peering(cookie: Cookie) -> bool {
    cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS) && is_alike(EntryOwner::Peering(0), cookie)
}

/// Returns whether an entry with this cookie leads to a next hop of routes, or between outside
/// routers and the speaker.
#[must_use]
pub fn is_of_routes(cookie: Cookie) -> bool {
    let owners = [EntryOwner::NextHop(HopTag(0)), EntryOwner::Peering(0)];
    cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS) && owners.iter().any(|one| is_alike(*one, cookie))
}

/// Returns whether one of our cookies names a subject of the same kind.
fn is_alike(subject: EntryOwner, cookie: Cookie) -> bool {
    u64::from(subject.rank()) == cookie.0 >> KIND_SHIFT & 0xf
}

/// Returns the flow that a FlowMod with this transaction id was for, or `None`
/// if it was for no flow.
#[must_use]
pub const fn flow_of(transaction: TransactionId) -> Option<FlowId> {
    match transaction.0 & FLOW_TRANSACTION {
        0 => None,
        _ => Some(FlowId(transaction.0 & !FLOW_TRANSACTION)),
    }
}

/// Returns the cookie of a subject's entry with this place and digest.
#[must_use]
pub fn cookie(subject: EntryOwner, place: RulePlace, digest: u64) -> Cookie {
    let kind = u64::from(subject.rank()) << KIND_SHIFT;
    let slice = u64::from(place.slice()) << SLICE_SHIFT;
    let digest = (digest & DIGEST_MASK) << DIGEST_SHIFT;
    Cookie(COOKIE_OURS.0 | kind | slice | digest | u64::from(subject.number()))
}

/// Returns the cookie, under [`COOKIE_MASK_SLICE`], of the entries of a slice.
#[must_use]
pub const fn slice_cookie(slice: u8) -> Cookie {
    Cookie(COOKIE_OURS.0 | (slice as u64) << SLICE_SHIFT)
}

/// Returns the slice that an entry with this cookie is in.
#[must_use]
pub const fn slice_of(cookie: Cookie) -> u8 {
    (cookie.0 >> SLICE_SHIFT & 0x3f) as u8
}
