//! The other end of a switch's OpenFlow connection, for whoever tells a switch something
//! or asks it, and waits until it has answered.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use thiserror::Error;
use units::Duration;
use wire::openflow::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{
    Action, Actions, DecodeError, ErrorKind, Fields, FlowMod, Framer, FramingError, Hello,
    Instruction, Instructions, MatchField, Message, TableId, TransactionId, emit_barrier_request,
};

use crate::clock;

/// For how long a switch may say nothing.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long it is waited between two looks whether it has dialled.
const LOOK: Duration = Duration::from_ms(1);
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

impl From<AskError> for io::Error {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Connection(error) => error,
            other => Self::other(other),
        }
    }
}

/// A connection to a switch, on which OpenFlow 1.3 is spoken.
#[derive(Debug)]
pub struct Client<S = UnixStream> {
    pub stream: S,
    framer: Framer,
    asked: u32,
}

impl Client {
    /// Connects to the switch of this machine whose control socket is `path`.
    ///
    /// # Errors
    ///
    /// If nobody answers there.
    pub fn connect(path: &Path) -> Result<Self, AskError> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE.into()))?;
        stream.set_write_timeout(Some(PATIENCE.into()))?;
        Ok(Self::greet(stream)?)
    }
}

impl Client<TcpStream> {
    /// Waits for a switch to dial.
    ///
    /// # Errors
    ///
    /// If it does not in time, or goes at once.
    pub fn accept(listener: &TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let until = clock::now() + PATIENCE;
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if clock::now() > until {
                return Err(io::Error::other("the switch did not dial"));
            }
            clock::sleep_until(clock::now() + LOOK);
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE.into()))?;
        Self::greet(stream)
    }
}

impl<S: Read + Write> Client<S> {
    /// Says hello. For how long it is waited is for the stream to say.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub fn greet(stream: S) -> io::Result<Self> {
        let mut client = Self {
            stream,
            framer: Framer::new(),
            asked: 0,
        };
        client.tell(|out| Hello::OURS.emit(TransactionId(0), out))?;
        Ok(client)
    }

    /// Tells it something.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub fn tell(&mut self, emit: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        self.stream.write_all(&bytes)
    }

    /// Tells it to do something with frames that have these fields.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub fn add(
        &mut self,
        priority: u16,
        fields: &[MatchField],
        actions: &[Action],
    ) -> io::Result<()> {
        let instructions = [Instruction::ApplyActions(Actions::of(actions))];
        let flow_mod = FlowMod {
            priority,
            matching: Fields::of(fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        let transaction = self.next_transaction();
        self.tell(|out| flow_mod.emit(transaction, out))
    }

    /// Waits until all that was said is done.
    ///
    /// # Errors
    ///
    /// If the switch refuses something, or says nothing or nonsense.
    pub fn await_all(&mut self) -> Result<(), AskError> {
        let transaction = self.next_transaction();
        self.tell(|out| emit_barrier_request(transaction, out))?;
        self.hear(|_, message| match message {
            Message::BarrierReply => Ok(Some(())),
            Message::Error(error) => Err(AskError::Refused(error.kind)),
            _ => Ok(None),
        })
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
        let asked = self.next_transaction();
        self.tell(|out| MultipartRequest::new(question).emit(asked, out))?;
        let mut heard = 0;
        self.hear(|transaction, message| {
            heard += 1;
            match message {
                Message::MultipartReply(MultipartReply { more, body }) if transaction == asked => {
                    take(body)?;
                    if !more {
                        return Ok(Some(()));
                    }
                }
                Message::Error(error) if transaction == asked => {
                    return Err(AskError::Refused(error.kind));
                }
                // What the switch says to everybody: it is not what was asked for.
                _ => {}
            }
            match heard < LONGEST_ANSWER {
                true => Ok(None),
                false => Err(AskError::Endless),
            }
        })
    }

    /// Listens until `take` has what it wants. Whether this end is alive is answered.
    ///
    /// # Errors
    ///
    /// If the switch says nothing or nonsense, or what `take` says.
    pub fn hear<R>(
        &mut self,
        mut take: impl FnMut(TransactionId, &Message<'_>) -> Result<Option<R>, AskError>,
    ) -> Result<R, AskError> {
        let mut room = vec![0; CHUNK_BYTES];
        loop {
            while let Some(message) = self.framer.next_message()? {
                let (header, message) = Message::parse(message)?;
                if let Message::EchoRequest(echo) = &message {
                    let mut reply = Vec::new();
                    echo.emit_reply(header.transaction, &mut reply);
                    self.stream.write_all(&reply)?;
                }
                if let Some(wanted) = take(header.transaction, &message)? {
                    return Ok(wanted);
                }
            }
            match self.stream.read(&mut room)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                count => self.framer.push(&room[..count]),
            }
        }
    }

    fn next_transaction(&mut self) -> TransactionId {
        self.asked += 1;
        TransactionId(self.asked)
    }
}
