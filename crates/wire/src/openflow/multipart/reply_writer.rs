//! An answer of any length, spread over as many messages as it needs.

use super::{FLAG_MORE, MultipartType};
use crate::openflow::header::begin;
use crate::openflow::{Element, MessageType, TransactionId};

const FLAGS_OFFSET: usize = 10;
const HEADER_LENGTH: usize = 16;
/// The longest message.
const LONGEST: usize = 0xffff;

/// Writes an answer item by item, and begins a further message where the item
/// would not fit any more.
#[derive(Debug)]
pub struct ReplyWriter<'a> {
    kind: MultipartType,
    transaction: TransactionId,
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> ReplyWriter<'a> {
    /// Begins the answer to a question of this kind.
    #[must_use]
    pub fn new(kind: MultipartType, transaction: TransactionId, out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        let mut writer = Self {
            kind,
            transaction,
            out,
            start,
        };
        writer.begin();
        writer
    }

    /// Appends one item.
    ///
    /// # Panics
    ///
    /// If the item alone does not fit a message.
    pub fn push<'b, T: Element<'b>>(&mut self, item: &T) {
        let end = self.out.len();
        item.emit(self.out);
        if self.out.len() - self.start <= LONGEST {
            return;
        }
        let item_length = self.out.len() - end;
        assert!(
            HEADER_LENGTH + item_length <= LONGEST,
            "an item fits a message"
        );
        self.begin();
        // The item moves behind the header of the further message.
        self.out[end..].rotate_left(item_length);
        self.close(end, FLAG_MORE);
        self.start = end;
    }

    /// Completes the last message.
    pub fn finish(self) {
        let mut this = self;
        let end = this.out.len();
        this.close(end, 0);
    }

    fn begin(&mut self) {
        let mut message = begin(MessageType::MultipartReply, self.transaction, self.out);
        message.u16(self.kind.number()).zeros::<6>();
    }

    /// Fills in the length and the flags of the message that ends at `end`.
    fn close(&mut self, end: usize, flags: u16) {
        let length = u16::try_from(end - self.start).expect("a message fits its length");
        let message = &mut self.out[self.start..];
        message[2..4].copy_from_slice(&length.to_be_bytes());
        message[FLAGS_OFFSET..FLAGS_OFFSET + 2].copy_from_slice(&flags.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MultipartReply, ReplyBody, TableStatistics};
    use super::*;
    use crate::openflow::{Framer, Message, TableId};

    #[test]
    fn a_long_answer_is_spread_and_only_its_last_message_is_the_last() {
        let items = 6000;
        let mut out = Vec::new();

        let mut writer = ReplyWriter::new(MultipartType::Table, TransactionId(9), &mut out);
        for entries in 0..items {
            writer.push(&TableStatistics {
                table: TableId(1),
                entries,
                ..TableStatistics::default()
            });
        }
        writer.finish();

        let mut framer = Framer::new();
        framer.push(&out);
        let (mut found, mut more) = (Vec::new(), Vec::new());
        while let Some(message) = framer.next_message().unwrap() {
            let (header, message) = Message::parse(message).unwrap();
            assert_eq!(header.transaction, TransactionId(9));
            let Message::MultipartReply(MultipartReply {
                more: this_more,
                body: ReplyBody::Table(tables),
            }) = message
            else {
                panic!("another message: {message:?}");
            };
            more.push(this_more);
            found.extend(tables.iter().map(|table| table.unwrap().entries));
        }
        assert_eq!(more, [true, true, false]);
        assert!(found.into_iter().eq(0..items));
    }
}
