//! Takes server-sent events out of the bytes of an answer (WHATWG HTML section
//! 9.2.6).
//!
//! # Left out
//!
//! `retry:`, as our own pauses between attempts are what users see, and the byte
//! order mark, which no controller sends.

use std::mem;

use thiserror::Error;

pub const LONGEST_EVENT: usize = 1 << 20;

/// Something that happened, as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its number, if it has one; what was sent after it follows when a new stream
    /// is asked for with it.
    pub id: Option<String>,
    /// Its kind; `message` if nothing is said.
    pub kind: Option<String>,
    pub data: String,
}

/// An event does not end.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("an event is longer than {LONGEST_EVENT} bytes")]
pub struct EndlessEvent;

/// Bytes go in, events come out.
#[derive(Debug, Default)]
pub struct EventStream {
    line: Vec<u8>,
    /// Whether the last byte ended a line with CR, so that LF says nothing more.
    after_return: bool,
    event: ServerEvent,
    has_data: bool,
    size: usize,
}

impl EventStream {
    /// Returns a stream of which nothing has been read.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes as they came and hands every event that they complete to `take`.
    ///
    /// # Errors
    ///
    /// If an event exceeds [`LONGEST_EVENT`]; the stream cannot be used any more.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(ServerEvent),
    ) -> Result<(), EndlessEvent> {
        for &byte in bytes {
            let ends_pair = mem::replace(&mut self.after_return, byte == b'\r') && byte == b'\n';
            match byte {
                b'\n' if ends_pair => {}
                b'\n' | b'\r' => {
                    if let Some(event) = self.end_line() {
                        take(event);
                    }
                }
                byte => {
                    self.size += 1;
                    if self.size > LONGEST_EVENT {
                        return Err(EndlessEvent);
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<ServerEvent> {
        let line = mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => self.event.kind = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            // A comment keeps the connection alive, and takes no room.
            "" => self.size = self.size.saturating_sub(line.len()),
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<ServerEvent> {
        self.size = 0;
        let event = mem::take(&mut self.event);
        mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(bytes: &[u8]) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        EventStream::new()
            .push(bytes, |event| events.push(event))
            .unwrap();
        events
    }

    #[test]
    fn an_event_has_its_number_its_kind_and_its_lines() {
        let stream = "id: 7\nevent: link-lost\ndata: one\ndata:  two\n\n: still here\n\ndata\n\n";

        assert_eq!(
            events(stream.as_bytes()),
            [
                ServerEvent {
                    id: Some("7".to_owned()),
                    kind: Some("link-lost".to_owned()),
                    data: "one\n two".to_owned(),
                },
                ServerEvent::default(),
            ]
        );
    }

    #[test]
    fn an_event_that_was_cut_short_is_none() {
        assert_eq!(events(b"data: whole\n\ndata: half\n").len(), 1);
        assert_eq!(events(b"event: nothing\n\n"), []);
    }

    #[test]
    fn an_endless_event_ends_the_stream() {
        let mut stream = EventStream::new();
        let line = [b"data: ".as_slice(), &[b'x'; 1000], b"\n"].concat();

        let refused = (0..).find_map(|_| stream.push(&line, |_| ()).err());

        assert_eq!(refused, Some(EndlessEvent));
    }

    #[test]
    fn comments_without_end_are_no_event() {
        let mut stream = EventStream::new();

        for _ in 0..2 * LONGEST_EVENT / 16 {
            stream.push(b": keep waiting..\n", |_| ()).unwrap();
        }
    }

    proptest! {
        #[test]
        fn no_bytes_harm_it(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = events(&bytes);
        }

        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(
            lines in prop::collection::vec("(data|event|id|:|x)(: ?[a-zé]{0,5})?|", 0..20),
            ending in prop::sample::select(vec!["\n", "\r", "\r\n"]),
            piece in 1_usize..7,
        ) {
            let text = lines.join(ending) + ending;
            let mut cut = Vec::new();
            let mut stream = EventStream::new();

            for piece in text.as_bytes().chunks(piece) {
                stream.push(piece, |event| cut.push(event)).unwrap();
            }

            prop_assert_eq!(cut, events(text.as_bytes()));
        }
    }
}
