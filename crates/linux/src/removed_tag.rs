//! A VLAN tag that the kernel took out of a received frame and reports beside it.

use libc::c_uint;

/// How many bytes it takes in a frame.
pub(crate) const TAG_BYTES: usize = 4;
/// Bytes before the tag: both addresses.
const ADDRESSES_BYTES: usize = 12;
const DEFAULT_PROTOCOL: u16 = 0x8100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemovedTag {
    protocol: u16,
    control: u16,
}

impl RemovedTag {
    /// Reads what a packet socket says of a frame: its status and the two words of the
    /// tag.
    #[inline]
    pub(crate) fn of(status: c_uint, control: u16, protocol: u16) -> Option<Self> {
        if status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => DEFAULT_PROTOCOL,
            _ => protocol,
        };
        Some(Self { protocol, control })
    }

    /// Puts it back into the frame that stands in `room` from `begin` to `end`: moves both
    /// addresses to the front, writes the tag behind them and returns where the frame now
    /// begins. A frame without two whole addresses stays as it is.
    ///
    /// # Panics
    ///
    /// Without room for the tag in front.
    #[inline]
    pub(crate) fn put_back(self, room: &mut [u8], begin: usize, end: usize) -> usize {
        if end.saturating_sub(begin) < ADDRESSES_BYTES {
            return begin;
        }
        let front = begin.checked_sub(TAG_BYTES);
        let front = front.expect("there is room for the tag in front of a frame");
        room.copy_within(begin..begin + ADDRESSES_BYTES, front);
        let tag = front + ADDRESSES_BYTES;
        room[tag..tag + 2].copy_from_slice(&self.protocol.to_be_bytes());
        room[tag + 2..tag + TAG_BYTES].copy_from_slice(&self.control.to_be_bytes());
        front
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_stands_behind_both_addresses_again() {
        let status = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let mut room = [0; 20];
        room[4..].copy_from_slice(b"AAAAAABBBBBBtype");

        let begin = RemovedTag::of(status, 0x6064, 0x88a8).map(|it| it.put_back(&mut room, 4, 20));

        assert_eq!(begin, Some(0));
        assert_eq!(&room, b"AAAAAABBBBBB\x88\xa8\x60\x64type");
    }

    #[test]
    fn a_frame_that_had_none_or_is_too_short_for_one_stays_as_it_is() {
        let mut room = [7; 12];
        let tag = RemovedTag::of(libc::TP_STATUS_VLAN_VALID, 100, 0);

        assert_eq!(RemovedTag::of(0, 100, 0x8100), None);
        assert_eq!(tag.map(|it| it.put_back(&mut room, 4, 12)), Some(4));
        assert_eq!(tag.map(|it| it.protocol), Some(DEFAULT_PROTOCOL));
        assert_eq!(room, [7; 12]);
    }
}
