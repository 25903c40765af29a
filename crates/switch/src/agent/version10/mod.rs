//! Sessions in OpenFlow 1.0, over the one data plane.
//!
//! The switch thinks in version 1.3. What a controller of version 1.0 asks for
//! is turned into that at the edge (`requests`), and what the switch says is
//! turned back (`replies`), so that controllers of both versions may be there at
//! once; the words are those of `wire::openflow10`. Such a controller sees a switch with one table, which is table 0. What
//! is *narrow* here is in the words of version 1.0, what is *wide* in those of
//! version 1.3.
//!
//! Where the versions differ:
//!
//! - A frame that no entry matches goes to the controllers of version 1.0
//!   (OF10 section 3.4), and to no other: those of version 1.3 hear of it only
//!   by a table-miss entry (OF13 clause 5.4). The pipeline is told whether there
//!   is anybody to hear of it (`Pipeline::misses`).
//! - An entry whose match names all twelve fields comes before every other
//!   (OF10 section 3.4): it gets the highest priority, and tells that one when
//!   asked.
//! - A modification that meets no entry adds one (OF10 section 4.6).
//! - Fields that a frame of the match's protocol does not have do not count,
//!   whatever the match says of them.
//! - An action that does not fit a frame leaves the frame alone, where version
//!   1.3 refuses the entry. Setting a field of the VLAN tag makes a tag if there
//!   is none (`Action::EnsureTag`).
//!
//! - A port can be closed to floods. Controllers of version 1.3 are shown the
//!   same bit of its configuration, which has no name there.
//!
//! An entry of a controller of version 1.3 is listed with the fields and
//! actions that version 1.0 has words for: its match may look wider and its
//! actions fewer than they are. An entry of version 1.0 looks in version 1.3
//! like one that does the same, except that a tag that may have to be made is
//! not spoken of, and that a port of a transport protocol is set for TCP and for
//! UDP.
//!
//! Sources: OF10 sections 3 to 5.
//!
//! # Differs from the specification
//!
//! An entry with all twelve fields ties with one of the highest priority that
//! has fewer; then the older one wins. Setting the type of service or a port
//! changes packets of IPv6 too, of which the specification does not speak.
//!
//! # Left out
//!
//! The emergency flow table (OF10 section 4.3): it has room for no entry. The
//! EtherType 0x05ff for frames that have none.

mod actions;
mod flow_mods;
mod packet_out;
mod ports;
mod replies;
mod requests;
mod statistics;

pub(super) use replies::emit;
