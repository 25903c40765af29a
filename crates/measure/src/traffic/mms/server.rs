//! The station that is asked.

use wire::mms::{MmsMessage, PORT};
use wire::tcp::Flags;

use super::super::datagram::{Addresses, MTU};
use super::segment::{self, Numbers};

/// The most bytes of a value: what a segment of one frame holds beside its headers.
pub const LONGEST_VALUE: usize = MTU - 20 - 20 - 60;
const FIRST_SEQUENCE: u32 = 1;

/// Answers every request with the same value.
#[derive(Debug)]
pub struct Server {
    clients: Addresses,
    value: Vec<u8>,
    connection: Option<Connection>,
    message: Vec<u8>,
}

/// The connection of the client.
#[derive(Clone, Copy, Debug)]
struct Connection {
    port: u16,
    /// The number of the next byte to send, and of that of the last answer.
    sequence: u32,
    answered_at: u32,
    expected: u32,
}

impl Server {
    /// Returns who answers clients that send with these addresses, from any port of
    /// theirs, with a value of `length` bytes.
    ///
    /// # Panics
    ///
    /// If the value is longer than [`LONGEST_VALUE`].
    #[must_use]
    pub fn new(clients: Addresses, length: usize) -> Self {
        assert!(length <= LONGEST_VALUE, "a value of {length} bytes");
        Self {
            clients: Addresses {
                destination_port: PORT,
                ..clients
            },
            value: vec![0; length],
            connection: None,
            message: Vec::with_capacity(MTU),
        }
    }

    /// Takes a frame that arrived, and puts an answer into `answer` if it asks for one.
    /// Returns the length of the answer.
    pub fn received(&mut self, frame: &[u8], answer: &mut Vec<u8>) -> Option<usize> {
        let (header, payload) = segment::between(frame, &self.clients)?;
        if header.flags == Flags::SYN {
            let connection = Connection {
                port: header.source_port,
                sequence: FIRST_SEQUENCE + 1,
                answered_at: FIRST_SEQUENCE + 1,
                expected: header.sequence.wrapping_add(1),
            };
            self.connection = Some(connection);
            self.message.clear();
            let numbers = Numbers {
                flags: Flags::SYN_ACK,
                sequence: FIRST_SEQUENCE,
                acknowledgement: connection.expected,
            };
            return Some(self.send(connection.port, numbers, answer));
        }
        let mut connection = self.connection?;
        if header.source_port != connection.port || payload.is_empty() {
            return None;
        }
        if header.sequence == connection.expected {
            self.prepare(payload)?;
            let length = |bytes: &[u8]| u32::try_from(bytes.len()).expect("below the MTU");
            connection.expected = connection.expected.wrapping_add(length(payload));
            connection.answered_at = connection.sequence;
            connection.sequence = connection.sequence.wrapping_add(length(&self.message));
            self.connection = Some(connection);
        }
        // What was answered before is answered in the same words.
        let numbers = Numbers {
            flags: Flags::PSH_ACK,
            sequence: connection.answered_at,
            acknowledgement: connection.expected,
        };
        Some(self.send(connection.port, numbers, answer))
    }

    /// Makes the answer to a message, if it asks for one.
    fn prepare(&mut self, payload: &[u8]) -> Option<()> {
        let (message, _) = MmsMessage::parse(payload).ok()?;
        let answer = match message {
            MmsMessage::ConnectRequest => MmsMessage::ConnectConfirm,
            MmsMessage::Associate => MmsMessage::Accept,
            MmsMessage::Read { invocation, .. } => MmsMessage::Value {
                invocation: invocation
                    .clamp(wire::mms::FIRST_INVOCATION, wire::mms::LAST_INVOCATION),
                value: &self.value,
            },
            MmsMessage::ConnectConfirm | MmsMessage::Accept | MmsMessage::Value { .. } => {
                return None;
            }
        };
        self.message.clear();
        answer.emit(&mut self.message);
        Some(())
    }

    fn send(&self, port: u16, numbers: Numbers, answer: &mut Vec<u8>) -> usize {
        let back = Addresses {
            destination_port: port,
            ..self.clients.reversed()
        };
        segment::fill(&back, numbers, &self.message, answer);
        answer.len()
    }
}
