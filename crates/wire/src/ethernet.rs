//! Ethernet frames: addresses, types, VLAN tags, and their size on the wire.
//!
//! A frame here is what a packet socket carries: from the destination address
//! to the end of the payload, without preamble and without check sequence.
//! [`wire_size`] adds what the medium adds, so that a rate or a burst counts
//! what the link has to carry.
//!
//! Sources: IEEE 802.3 clause 3, IEEE 802.1Q clause 9.

mod address;
mod ether_type;
mod header;

pub use address::{MacAddress, ParseMacError};
pub use ether_type::EtherType;
pub use header::{Error, Header, TAG_LENGTH, UNTAGGED_HEADER_LENGTH, VlanTag};

use units::DataSize;

/// The shortest frame without its check sequence; shorter ones are padded.
pub const SHORTEST_FRAME: usize = 60;
/// The longest frame with one tag, without its check sequence.
pub const LONGEST_FRAME: usize = 1518;
/// What the medium adds to a frame: check sequence 4, preamble and delimiter 8,
/// gap to the next frame 12.
pub const WIRE_OVERHEAD: usize = 4 + 8 + 12;

/// Returns what a frame of `frame_len_without_fcs` bytes takes of a link.
///
/// # Panics
///
/// If the frame is longer than a number of bytes can be in 64 bits.
#[must_use]
pub const fn wire_size(frame_len_without_fcs: usize) -> DataSize {
    let padded = if frame_len_without_fcs < SHORTEST_FRAME {
        SHORTEST_FRAME
    } else {
        frame_len_without_fcs
    };
    DataSize::from_bytes((padded + WIRE_OVERHEAD) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_frame_takes_84_bytes_and_a_full_one_1538() {
        assert_eq!(wire_size(0), DataSize::from_bytes(84));
        assert_eq!(wire_size(60), DataSize::from_bytes(84));
        assert_eq!(wire_size(1514), DataSize::from_bytes(1538));
    }

    #[test]
    fn a_sampled_values_frame_of_120_bytes_takes_144() {
        assert_eq!(wire_size(120), DataSize::from_bytes(144));
    }
}
