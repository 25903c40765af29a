//! How large a scenario may be. Reaching a limit is a mistake of the file with
//! a message, never an exhausted machine.

/// The longest file that is read, in bytes.
pub const LONGEST_FILE: usize = 16 << 20;
/// The most switches and hosts together.
pub const MOST_NODES: u32 = 10_000;
pub const MOST_LINKS: usize = 100_000;
pub const MOST_FLOWS: u32 = 1_000_000;
/// The most receivers of one flow.
pub const MOST_RECEIVERS: u32 = 64;
/// The most flows to groups of receivers: group addresses end in 16 bits.
pub const MOST_GROUPS: usize = 1 << 16;
pub const MOST_EVENTS: usize = 10_000;
/// The most recordings that flows send.
pub const MOST_RECORDINGS: usize = 64;
/// The most state changes that one GOOSE flow lists.
pub const MOST_CHANGES: usize = 100_000;
pub const MOST_PROFILES: usize = 64;
/// The most settings for which a profile states the same quantity.
pub const MOST_SETTINGS: usize = 256;
/// The longest file with a network of servers, in bytes.
pub const LONGEST_NETWORK: usize = 256 << 20;
/// The most servers of such a network.
pub const MOST_SERVERS: usize = 1_000_000;
/// The most flows of such a network.
pub const MOST_SERVED_FLOWS: usize = 2_000_000;
/// The most token buckets of such a flow, and rate-latency curves of a server.
pub const MOST_PIECES: usize = 64;
