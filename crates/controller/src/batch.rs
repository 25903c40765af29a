//! Messages for several switches, encoded beforehand.

use std::ops::Range;

use wire::openflow::DatapathId;

/// Encoded messages, in the order in which they are to be sent, cut into pieces
/// by switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    pieces: Vec<(DatapathId, Range<usize>)>,
    messages: usize,
}

impl Batch {
    /// Appends one message, which `emit` writes, for a switch.
    pub fn push(&mut self, datapath: DatapathId, emit: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        emit(&mut self.bytes);
        let end = self.bytes.len();
        self.messages += 1;
        match self.pieces.last_mut() {
            Some((last, range)) if *last == datapath => range.end = end,
            Some(_) | None => self.pieces.push((datapath, start..end)),
        }
    }

    /// Appends all messages of another batch.
    pub fn extend(&mut self, other: &Self) {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.messages += other.messages;
        let pieces = other.pieces.iter();
        self.pieces.extend(
            pieces.map(|(datapath, range)| (*datapath, range.start + offset..range.end + offset)),
        );
    }

    /// Returns the pieces with the switches they are for.
    pub fn pieces(&self) -> impl Iterator<Item = (DatapathId, &[u8])> + '_ {
        let pieces = self.pieces.iter();
        pieces.map(|(datapath, range)| (*datapath, &self.bytes[range.clone()]))
    }

    /// Returns how many messages there are.
    #[must_use]
    pub const fn messages(&self) -> usize {
        self.messages
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.messages == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_for_one_switch_in_a_row_are_one_piece() {
        let mut batch = Batch::default();
        batch.push(DatapathId(1), |out| out.push(1));
        batch.push(DatapathId(1), |out| out.push(2));
        batch.push(DatapathId(2), |out| out.push(3));

        let mut twice = batch.clone();
        twice.extend(&batch);

        let pieces: Vec<(u64, &[u8])> = twice.pieces().map(|(at, bytes)| (at.0, bytes)).collect();
        assert_eq!(
            pieces,
            [(1, &[1, 2][..]), (2, &[3]), (1, &[1, 2]), (2, &[3])]
        );
        assert_eq!(twice.messages(), 6);
    }
}
