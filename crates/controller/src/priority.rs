//! Which of the entries that match a frame wins: the bands of priorities.
//!
//! Above all stand the probes by which links are found, then what was promised to
//! admitted flows. What is programmed without a promise stands below these, the
//! more particular above the more general; lowest is what happens to frames that
//! nobody claims.
//!
//! | band | whose |
//! |---|---|
//! | 65,535 | echoes, which are turned round |
//! | 65,534 | probes |
//! | 1,000 + twice the fields of the match | admitted flows; one more, what they get at a level |
//! | 900 | frames that look like those of an admitted flow and came in elsewhere |
//! | 600 to 699 | match-actions, by the priority they declare |
//! | 400 + fields of the match | points, multicast and flow paths |
//! | 300 | hosts that are connected with each other |
//! | 260 | what outside routers and the BGP speaker say to each other |
//! | 250 | packets of outside routers, and those on the way to one |
//! | 200 | routes kept for all known hosts |
//! | 100 | forwarding of what no flow claims |
//! | 50 | what a host sends to all with whom it is connected |
//! | 1 | known hosts, whose unclaimed frames are discarded |
//! | 0 | frames that nobody claims |

/// Echoes, which are probes that are turned round.
pub const ECHO: u16 = u16::MAX;
pub const PROBE: u16 = ECHO - 1;
/// Admitted flows; each field of a match adds two.
pub const FLOW: u16 = 1_000;
/// What looks like a frame of an admitted flow and is none.
pub const GUARD: u16 = 900;
/// Match-actions; what they declare is added.
pub const MATCH_ACTION: u16 = 600;
/// The highest priority that a match-action may declare.
pub const MATCH_ACTION_MAX: u8 = 99;
/// Connectivity between points; each field of a match adds one.
pub const CONNECTIVITY: u16 = 400;
pub const HOST_TO_HOST: u16 = 300;
/// Between outside routers and the BGP speaker.
pub const PEERING: u16 = 260;
/// Packets that come from outside routers, and that are on the way to one.
pub const ROUTER: u16 = 250;
/// Routes to all known hosts.
pub const PROACTIVE_ROUTES: u16 = 200;
pub const REACTIVE_FORWARDING: u16 = 100;
/// What a host sends to all: an application that floods takes it first.
pub const GATHERING: u16 = 50;
/// What a known host sends that nobody claims.
pub const KNOWN_HOST: u16 = 1;
pub const MISS: u16 = 0;
