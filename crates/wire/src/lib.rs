//! The bytes that cross a wire: Ethernet and what Taktos speaks above it.
//!
//! Every module reads and writes one format. Reading borrows: a parsed value is
//! a view of the bytes that it came from, and nothing is allocated. Writing
//! appends to a buffer of the caller. Two laws hold everywhere: no bytes make a
//! parser panic, and `parse(emit(x))` gives `x` back.
//!
//! | module | format | source |
//! |---|---|---|
//! | [`ethernet`] | frames, VLAN tags, time on the wire | IEEE 802.3, IEEE 802.1Q |
//! | [`ipv4`], [`udp`] | packets and datagrams of measurement traffic | RFC 791, RFC 768 |
//! | [`icmp`], [`tcp`] | echoes and segments, to measure round trips | RFC 792, RFC 9293 |
//! | [`arp`], [`ipv6`], [`neighbour_discovery`], [`dhcp`] | who has which address | RFC 826, RFC 8200, RFC 4861, RFC 2131 |
//! | [`message_shim`] | where messages begin | S2-2 |
//! | [`redundancy_tag`] | the number of a frame in its stream | IEEE 802.1CB clause 7.8 |
//! | [`prp`] | what goes through two networks | IEC 62439-3 clause 4 |
//! | [`mode_signal`] | in which mode a network is | S2-4 |
//! | [`bfd`] | whether a neighbour is there, within milliseconds | RFC 5880, RFC 5881 |
//! | [`sha1`] | a hash that a standard names | FIPS 180-4 |
//! | [`siphash`] | a short tag that only the holder of a key can compute | Aumasson, Bernstein 2012 |
//! | [`lldp`] | who is at the other end of a link | IEEE 802.1AB |
//! | [`goose`], [`sampled_values`] | what protects a substation | IEC 61850-8-1, IEC 61850-9-2 |
//! | [`mms`] | how a station reads values from another one | RFC 1006, ISO 9506-2 |
//! | [`openflow`] | messages between switch and controller | OF13 clause 7 |
//! | [`openflow10`] | the same in version 1.0, for old controllers | OF10 section 5 |

#![warn(missing_docs)]

pub mod arp;
pub mod bfd;
pub mod dhcp;
pub mod ethernet;
pub mod goose;
pub mod icmp;
pub mod internet_checksum;
pub mod ipv4;
pub mod ipv6;
pub mod lldp;
pub mod message_shim;
pub mod mms;
pub mod mode_signal;
pub mod neighbour_discovery;
#[macro_use]
pub mod openflow;
pub mod openflow10;
pub mod process_bus;
pub mod prp;
mod reader;
pub mod redundancy_tag;

pub mod sampled_values;
mod serial;
pub mod sha1;
pub mod siphash;
pub mod tcp;
pub mod udp;
#[cfg(test)]
mod vectors;
mod writer;
