//! The control connection to the OpenFlow agent of a device under test: tells it
//! what to do, and takes what it says with the moment at which it came.
//!
//! Questions about being alive are answered here and go no further.
//!
//! # Left out
//!
//! Moments are those of this program, right before it hands bytes over and right
//! after it got some: later than the kernel's own by some microseconds, and more
//! where the machine is busy.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use linux::clock;
use linux::stream::Stream;
use measure::trial::{PlayedStation, PortIndex};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, Buckets, ControllerLength, Fields, FlowMod, FlowModCommand, FragmentHandling,
    Framer, GroupId, GroupMod, GroupModCommand, GroupType, Hello, Instruction, Instructions,
    MatchField, Message, SwitchConfig, TableId, TransactionId, emit_barrier_request, emit_detour,
};

use crate::tester::Arrangement;

const ROOM_BYTES: usize = 64 << 10;
/// How long an agent may take to be there, or to answer.
pub const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_ms(10);
/// Between two looks for an answer that is waited for.
const LOOK: Duration = Duration::from_us(200);
const FIRST_OWN_TRANSACTION: u32 = 0xffff_0000;
/// What frames for a station meet.
const TO_STATION: u16 = 100;
/// What all other frames meet.
const ACROSS: u16 = 50;
/// The group of a way that has a detour, where it leads, and by where else.
const DETOUR: GroupId = GroupId(1);
const PROTECTED: PortIndex = PortIndex(1);
const BY_WAY_OF: PortIndex = PortIndex(2);

/// A connection to an agent, on which OpenFlow 1.3 is spoken.
#[derive(Debug)]
pub struct AgentConnection {
    stream: Stream,
    framer: Framer,
    out: Vec<u8>,
    /// How many bytes of `out` have gone.
    sent: usize,
    transactions: u32,
}

impl AgentConnection {
    /// Connects to a socket of this machine, as soon as somebody listens, unless
    /// `has_ended`.
    ///
    /// # Errors
    ///
    /// If nobody listens within [`PATIENCE`].
    pub fn connect(socket: &Path, mut has_ended: impl FnMut() -> bool) -> io::Result<Self> {
        let end = clock::now() + PATIENCE;
        loop {
            match UnixStream::connect(socket) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    return Self::over(stream.into());
                }
                Err(error) if clock::now() >= end => return Err(error),
                Err(_) if has_ended() => return Err(io::Error::other("it ended at its start")),
                Err(_) => clock::sleep_until(clock::now() + PAUSE),
            }
        }
    }

    /// Connects to an agent that listens at `address`.
    ///
    /// # Errors
    ///
    /// If it does not answer.
    pub fn dial(address: SocketAddr) -> io::Result<Self> {
        Self::over_tcp(TcpStream::connect_timeout(&address, PATIENCE.into())?)
    }

    /// Waits at `address` for an agent that connects, as switches do to their
    /// controller.
    ///
    /// # Errors
    ///
    /// If none comes within [`PATIENCE`].
    pub fn await_at(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let end = clock::now() + PATIENCE;
        loop {
            match listener.accept() {
                Ok((stream, _)) => return Self::over_tcp(stream),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) if clock::now() >= end => return Err(io::ErrorKind::TimedOut.into()),
                Err(_) => clock::sleep_until(clock::now() + PAUSE),
            }
        }
    }

    fn over_tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Self::over(stream.into())
    }

    fn over(stream: Stream) -> io::Result<Self> {
        let mut agent = Self {
            stream,
            framer: Framer::default(),
            out: Vec::new(),
            sent: 0,
            transactions: FIRST_OWN_TRANSACTION,
        };
        Hello::OURS.emit(TransactionId(0), &mut agent.out);
        // Whoever only connects to a management socket is told nothing unasked before
        // it has said how much of a frame it wants (OF13 clause 7.3.2).
        let whole_frames = SwitchConfig {
            fragments: FragmentHandling::Normal,
            miss_send_length: ControllerLength::NO_BUFFER,
        };
        Message::SetConfig(whole_frames).emit(TransactionId(0), &mut agent.out);
        agent.flush()?;
        Ok(agent)
    }

    /// Has the device forward between so many ports, and nothing else.
    ///
    /// # Errors
    ///
    /// If it refuses, or does not answer.
    pub fn arrange(&mut self, ports: usize, arrangement: Arrangement) -> io::Result<()> {
        let delete = FlowMod {
            command: FlowModCommand::Delete,
            ..FlowMod::add(TableId::ALL)
        };
        let transaction = self.next_transaction();
        delete.emit(transaction, &mut self.out);
        self.replace_detour(ports, arrangement);
        for port in (0..ports).map(PortIndex) {
            let station = PlayedStation::at(port);
            let towards = |port: PortIndex| match (arrangement, port) {
                (Arrangement::Detour, PROTECTED) if ports > BY_WAY_OF.0 => Action::Group(DETOUR),
                (Arrangement::Detour | Arrangement::Stations, _) => {
                    Action::output(PlayedStation::at(port).device_port)
                }
            };
            let wanted = MatchField::EthDst(Masked::<MacAddress>::exact(station.mac));
            self.add(TO_STATION, wanted, towards(port));
            let partner = PortIndex(port.0 ^ 1);
            if partner.0 < ports {
                let wanted = MatchField::InPort(station.device_port);
                self.add(ACROSS, wanted, towards(partner));
            }
        }
        self.finish()
    }

    /// Makes the group that leads to the second port, or to the third while the
    /// second has no carrier (OF13 clause 5.6.1).
    fn replace_detour(&mut self, ports: usize, arrangement: Arrangement) {
        let delete = GroupMod {
            command: GroupModCommand::Delete,
            kind: GroupType::All,
            group: GroupId::ALL,
            buckets: Buckets::of(&[]),
        };
        let transaction = self.next_transaction();
        delete.emit(transaction, &mut self.out);
        if arrangement == Arrangement::Stations || ports <= BY_WAY_OF.0 {
            return;
        }
        let ports = [PROTECTED, BY_WAY_OF].map(|port| PlayedStation::at(port).device_port);
        let transaction = self.next_transaction();
        emit_detour(DETOUR, &ports, transaction, &mut self.out);
    }

    fn add(&mut self, priority: u16, wanted: MatchField, action: Action) {
        let actions = [action];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let wanted = [wanted];
        let entry = FlowMod {
            priority,
            matching: Fields::of(&wanted),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        let transaction = self.next_transaction();
        entry.emit(transaction, &mut self.out);
    }

    /// Waits until the agent has done what it was told.
    fn finish(&mut self) -> io::Result<()> {
        let transaction = self.next_transaction();
        emit_barrier_request(transaction, &mut self.out);
        let end = clock::now() + PATIENCE;
        loop {
            self.flush()?;
            let (mut answered, mut refused) = (false, None);
            self.listen_to_all(&mut |_, bytes| match Message::parse(bytes) {
                Ok((header, Message::BarrierReply)) => {
                    answered |= header.transaction == transaction;
                }
                Ok((_, Message::Error(error))) => refused = Some(format!("{error:?}")),
                // Nothing else was asked for.
                Ok(_) | Err(_) => {}
            })?;
            if let Some(refused) = refused {
                return Err(io::Error::other(format!("the agent refuses: {refused}")));
            }
            if answered {
                return Ok(());
            }
            if clock::now() >= end {
                return Err(io::Error::other("the agent does not answer a barrier"));
            }
            clock::sleep_until(clock::now() + LOOK);
        }
    }

    /// Tells it something: whole messages. Returns when that was handed over.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub fn tell(&mut self, bytes: &[u8]) -> io::Result<Instant> {
        self.out.extend_from_slice(bytes);
        let at = clock::now();
        self.flush()?;
        Ok(at)
    }

    /// Sends what has not gone yet, as far as there is room.
    ///
    /// # Errors
    ///
    /// If the connection is lost.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
    }

    /// Takes what the agent has said, without waiting. Answers to what the tester
    /// itself asked are left out.
    ///
    /// # Errors
    ///
    /// If the connection is lost, or what comes is no OpenFlow.
    pub fn listen(&mut self, hear: &mut dyn FnMut(Instant, &[u8])) -> io::Result<()> {
        self.listen_to_all(&mut |at, bytes| match Message::parse(bytes) {
            Ok((header, _)) if header.transaction.0 >= FIRST_OWN_TRANSACTION => {}
            Ok((_, Message::Hello(_))) => {}
            Ok(_) | Err(_) => hear(at, bytes),
        })
    }

    fn listen_to_all(&mut self, hear: &mut dyn FnMut(Instant, &[u8])) -> io::Result<()> {
        let mut room = [0; ROOM_BYTES];
        match self.stream.read(&mut room) {
            Ok(0) => {
                let kind = io::ErrorKind::UnexpectedEof;
                return Err(io::Error::new(kind, "its agent has hung up"));
            }
            Ok(count) => {
                let at = clock::now();
                self.framer.push(&room[..count]);
                while let Some(bytes) = self.framer.next_message().map_err(io::Error::other)? {
                    match Message::parse(bytes) {
                        Ok((header, Message::EchoRequest(echo))) => {
                            echo.emit_reply(header.transaction, &mut self.out);
                        }
                        Ok(_) | Err(_) => hear(at, bytes),
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        self.flush()
    }

    fn next_transaction(&mut self) -> TransactionId {
        self.transactions = self
            .transactions
            .checked_add(1)
            .unwrap_or(FIRST_OWN_TRANSACTION);
        TransactionId(self.transactions)
    }
}
