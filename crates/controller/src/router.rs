//! The network as a router among others: what its parts keep, without switches and time of
//! their own (S1-10).
//!
//! | module | what |
//! |---|---|
//! | [`table`] | routes, and which of them need an entry |
//! | [`next_hops`] | where packets leave, and who is asked for that |
//! | [`entries`] | the entries that lead them there |
//! | [`acceptance`] | which routes are taken |
//! | [`damping`] | routes that come and go (RFC 2439) |
//! | [`delivery`] | what each switch has of the entries of prefixes |
//!
//! A packet of an outside router goes through three tables ([decision
//! 0038](../../../docs/decisions/0038-a-prefix-names-its-next-hop.md)): the first one takes what
//! is for the router's address, the second one finds the prefix and notes the number of its next
//! hop, the third one sends to that. So a route is an entry that names its next hop and nothing
//! else, and whatever happens inside the network concerns the entries of next hops alone.

pub mod acceptance;
pub mod damping;
pub mod delivery;
pub mod entries;
#[cfg(test)]
mod fixture;
pub mod next_hops;
pub mod table;
