//! Asks a switch of this machine over its control socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;
use wire::openflow::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{
    DecodeError, Echo, ErrorKind, Framer, FramingError, Hello, Message, TransactionId,
};

/// For how long a switch may say nothing.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many messages an answer may have: tables of a million entries fit.
const LONGEST_ANSWER: usize = 1 << 16;
const CHUNK_BYTES: usize = 1 << 16;

/// A switch does not answer as it should.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// The connection broke, or nothing came.
    #[error("the switch does not answer: {0}")]
    Connection(#[from] io::Error),
    /// It said what is no message.
    #[error("the switch says what is no OpenFlow: {0}")]
    Framing(#[from] FramingError),
    /// It said what cannot be read.
    #[error("the switch says what cannot be read: {0}")]
    Unreadable(#[from] DecodeError),
    #[error("the switch refuses: {0:?}")]
    Refused(ErrorKind),
    #[error("the answer has more than {LONGEST_ANSWER} parts")]
    Endless,
}

/// A connection to a switch.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    framer: Framer,
    asked: u32,
}

impl Client {
    /// Connects to the switch whose control socket is `path`.
    ///
    /// # Errors
    ///
    /// If nobody answers there.
    pub fn connect(path: &Path) -> Result<Self, AskError> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut client = Self {
            stream,
            framer: Framer::new(),
            asked: 0,
        };
        let mut hello = Vec::new();
        Hello::OURS.emit(TransactionId(0), &mut hello);
        client.stream.write_all(&hello)?;
        Ok(client)
    }

    /// Asks for something and hands every part of the answer to `take`.
    ///
    /// # Errors
    ///
    /// If the switch refuses, or says nothing or nonsense.
    pub fn ask(
        &mut self,
        question: RequestBody<'_>,
        mut take: impl FnMut(&ReplyBody<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), AskError> {
        self.asked += 1;
        let transaction = TransactionId(self.asked);
        let mut message = Vec::new();
        MultipartRequest::new(question).emit(transaction, &mut message);
        self.stream.write_all(&message)?;
        for _ in 0..LONGEST_ANSWER {
            if self.hear(transaction, &mut take)? == Heard::All {
                return Ok(());
            }
        }
        Err(AskError::Endless)
    }

    /// Takes the next message of the switch.
    fn hear(
        &mut self,
        transaction: TransactionId,
        take: &mut impl FnMut(&ReplyBody<'_>) -> Result<(), DecodeError>,
    ) -> Result<Heard, AskError> {
        let message = self.next_message()?;
        let (header, message) = Message::parse(&message)?;
        match message {
            Message::MultipartReply(MultipartReply { more, body })
                if header.transaction == transaction =>
            {
                take(&body)?;
                return Ok(match more {
                    true => Heard::Part,
                    false => Heard::All,
                });
            }
            Message::Error(error) if header.transaction == transaction => {
                return Err(AskError::Refused(error.kind));
            }
            Message::EchoRequest(Echo { data }) => {
                let mut reply = Vec::new();
                Echo { data }.emit_reply(header.transaction, &mut reply);
                self.stream.write_all(&reply)?;
            }
            // What the switch says to everybody: it is not what was asked for.
            _ => {}
        }
        Ok(Heard::Aside)
    }

    fn next_message(&mut self) -> Result<Vec<u8>, AskError> {
        let mut room = [0; CHUNK_BYTES];
        loop {
            if let Some(message) = self.framer.next_message()? {
                return Ok(message.to_vec());
            }
            match self.stream.read(&mut room)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                count => self.framer.push(&room[..count]),
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// A part of the answer; more follow.
    Part,
    /// The end of the answer.
    All,
    Aside,
}
