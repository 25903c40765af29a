//! What the words of an [`action`](super::action) say that is to be done.

/// Output to the port in place `number`, unless the frame came from there.
pub const OUTPUT: u8 = 1;
/// Output to the port that the frame came from.
pub const OUTPUT_IN_PORT: u8 = 2;
/// Output to all ports but that.
pub const OUTPUT_ALL: u8 = 3;
/// Output to all ports but that, as far as they take floods.
pub const OUTPUT_FLOOD: u8 = 4;
/// Choose queue `number`.
pub const SET_QUEUE: u8 = 5;
/// Go through the group in place `number`.
pub const GROUP: u8 = 6;
/// Push a VLAN tag of type `number`.
pub const PUSH_VLAN: u8 = 7;
/// Push a VLAN tag of type 0x8100 if there is none.
pub const ENSURE_TAG: u8 = 8;
/// Pop the first VLAN tag, if there is one.
pub const POP_VLAN: u8 = 9;
/// Set a field to the value.
pub const SET_ETH_DST: u8 = 10;
pub const SET_ETH_SRC: u8 = 11;
pub const SET_VLAN_VID: u8 = 12;
pub const SET_VLAN_PCP: u8 = 13;
pub const SET_IP_DSCP: u8 = 14;
pub const SET_IP_ECN: u8 = 15;
pub const SET_IPV4_SRC: u8 = 16;
pub const SET_IPV4_DST: u8 = 17;
/// As before, by two words.
pub const SET_IPV6_SRC: u8 = 18;
/// As before, by two words.
pub const SET_IPV6_DST: u8 = 19;
pub const SET_IPV6_FLOW_LABEL: u8 = 20;
/// As before, of TCP, UDP, ICMP (type) or ICMPv6 (type).
pub const SET_L4_SRC: u8 = 21;
/// As before, of TCP, UDP, ICMP (code) or ICMPv6 (code).
pub const SET_L4_DST: u8 = 22;
pub const SET_ARP_OP: u8 = 23;
pub const SET_ARP_SPA: u8 = 24;
pub const SET_ARP_TPA: u8 = 25;
pub const SET_ARP_SHA: u8 = 26;
pub const SET_ARP_THA: u8 = 27;
/// As before, of no header.
pub const SET_TUNNEL: u8 = 28;
/// Show the frame to the monitor in place `number`.
pub const FLOW_MONITOR: u8 = 29;
/// Take the frame for a signal of a mode, and end it.
pub const MODE_ARRANGE: u8 = 30;
/// Note what becomes of the frame while it waits: four bits of the value a
/// level.
pub const QUEUED_FATE: u8 = 31;
/// Give the frame the next number of the stream in place `number`.
pub const SEQUENCE: u8 = 32;
/// End the frame if a copy of it was handed on by the stream in place `number`: bits
/// of [`super::eliminate`] in the value, the time after which numbers are forgotten in
/// the second one, in nanoseconds.
pub const ELIMINATE: u8 = 33;
/// Give the frame the next number of the stream in place `number`, in a trailer.
pub const TRAILER: u8 = 34;
/// Have the trailer of the frame name LAN `number`: 10 or 11.
pub const TRAILER_LAN: u8 = 35;
