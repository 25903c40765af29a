//! Cuts the byte stream of a connection into messages.

use thiserror::Error;

use super::{HEADER_LENGTH, Header};

/// The stream cannot be cut any further: the connection has to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FramingError {
    /// A message claims to be shorter than its header, so that nobody can say
    /// where the next one begins.
    #[error("message of type {kind} claims a length of {length} bytes, less than its header")]
    Length {
        /// The kind of message.
        kind: u8,
        /// What it claims.
        length: u16,
    },
}

/// Cuts the byte stream of a connection into messages, however the stream was
/// cut in transit.
///
/// Give it what arrived by [`push`](Self::push), then call
/// [`next_message`](Self::next_message) until it returns `None`. Between two pushes it
/// then keeps less than one message, which is at most 65535 bytes.
#[derive(Debug, Default)]
pub struct Framer {
    buffer: Vec<u8>,
    taken: usize,
}

impl Framer {
    /// Begins at the start of a stream.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buffer: Vec::new(),
            taken: 0,
        }
    }

    /// Takes the bytes that arrived next.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the header of the next message as soon as it has arrived, so that
    /// nobody has to wait for the rest of what is not wanted.
    #[must_use]
    pub fn next_header(&self) -> Option<Header> {
        Header::parse(&self.buffer[self.taken..]).ok()
    }

    /// Returns the next message, if it has arrived whole.
    ///
    /// # Errors
    ///
    /// If it is impossible to say where the next message begins. Every later
    /// call returns the same.
    #[inline]
    pub fn next_message(&mut self) -> Result<Option<&[u8]>, FramingError> {
        match first_message(&self.buffer[self.taken..])? {
            Some(message) => {
                let start = self.taken;
                self.taken += message.len();
                Ok(Some(&self.buffer[start..self.taken]))
            }
            None => Ok(None),
        }
    }
}

/// Returns the message that `stream` begins with, if it is there whole.
///
/// # Errors
///
/// If it is impossible to say where the message ends.
#[inline]
pub fn first_message(stream: &[u8]) -> Result<Option<&[u8]>, FramingError> {
    let Ok(header) = Header::parse(stream) else {
        return Ok(None);
    };
    if usize::from(header.length) < HEADER_LENGTH {
        return Err(FramingError::Length {
            kind: header.kind,
            length: header.length,
        });
    }
    Ok(stream.get(..usize::from(header.length)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(length: u16) -> Vec<u8> {
        let mut bytes = vec![4, 2, 0, 0, 0, 0, 0, 9];
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes.resize(usize::from(length).max(HEADER_LENGTH), 0xab);
        bytes
    }

    #[test]
    fn a_header_is_known_before_its_message() {
        let mut framer = Framer::new();
        framer.push(&message(300)[..9]);

        assert_eq!(framer.next_header().map(|header| header.length), Some(300));
        assert_eq!(framer.next_message(), Ok(None));
    }

    #[test]
    fn a_message_shorter_than_its_header_ends_the_stream() {
        let mut framer = Framer::new();

        framer.push(&message(7));

        let expected = Err(FramingError::Length { kind: 2, length: 7 });
        assert_eq!(framer.next_message(), expected);
        assert_eq!(framer.next_message(), expected);
    }

    proptest! {
        #[test]
        fn any_cut_of_the_stream_gives_the_same_messages(
            lengths in prop::collection::vec(8u16..300, 0..20),
            cuts in prop::collection::vec(1usize..400, 1..40),
        ) {
            let messages: Vec<_> = lengths.into_iter().map(message).collect();
            let stream = messages.concat();
            let mut framer = Framer::new();
            let mut found = Vec::new();

            let mut rest = &stream[..];
            let mut cuts = cuts.into_iter().cycle();
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(cuts.next().unwrap().min(rest.len()));
                rest = later;
                framer.push(piece);
                while let Some(message) = framer.next_message().unwrap() {
                    found.push(message.to_vec());
                }
            }

            prop_assert_eq!(found, messages);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut framer = Framer::new();

            framer.push(&bytes);

            while let Ok(Some(_)) = framer.next_message() {}
        }
    }
}
