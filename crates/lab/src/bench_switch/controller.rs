//! The other end of the OpenFlow connection of a switch that is measured.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

use linux::clock;
use units::Duration;
use wire::openflow::taktos::{ModeMessage, MonitorCommand, MonitorContract, MonitorId, MonitorMod};
use wire::openflow::{
    Action, Actions, Fields, FlowMod, FlowModCommand, Framer, Hello, Instruction, Instructions,
    MatchField, Message, Sequence, TableId, TransactionId, emit_barrier_request,
};

/// How long a switch may take to dial, and to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it is waited between two looks whether it has dialled.
const LOOK: Duration = Duration::from_ms(1);
const ANSWER_BYTES: usize = 4096;

/// A controller that adds entries and waits until they are there.
#[derive(Debug)]
pub(super) struct Controller {
    stream: TcpStream,
    framer: Framer,
}

impl Controller {
    /// Waits for the switch to dial.
    ///
    /// # Errors
    ///
    /// If it does not in time, or goes at once.
    pub(super) fn accept(listener: &TcpListener) -> io::Result<Self> {
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
        let framer = Framer::default();
        let mut controller = Self { stream, framer };
        controller.tell(|out| Hello::OURS.emit(TransactionId(1), out))?;
        Ok(controller)
    }

    /// Has the switch forget all entries.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.tell(|out| {
            let everything = FlowMod {
                command: FlowModCommand::Delete,
                ..FlowMod::add(TableId(0))
            };
            everything.emit(TransactionId(2), out);
        })
    }

    /// Has the switch begin to watch by a contract that nobody breaks.
    pub(super) fn watch(&mut self, monitor: MonitorId) -> io::Result<()> {
        let contracts = [MonitorContract {
            period: Duration::ZERO,
            size_bytes: u32::MAX,
        }];
        let monitor = MonitorMod {
            command: MonitorCommand::Add,
            monitor,
            jitter: Duration::ZERO,
            contracts: Sequence::of(&contracts),
        };
        self.tell(|out| ModeMessage::MonitorMod(monitor).emit(TransactionId(2), out))
    }

    pub(super) fn add(
        &mut self,
        priority: u16,
        fields: &[MatchField],
        actions: &[Action],
    ) -> io::Result<()> {
        let instructions = [Instruction::ApplyActions(Actions::of(actions))];
        self.tell(|out| {
            let flow_mod = FlowMod {
                priority,
                matching: Fields::of(fields),
                instructions: Instructions::of(&instructions),
                ..FlowMod::add(TableId(0))
            };
            flow_mod.emit(TransactionId(2), out);
        })
    }

    /// Waits until all that was said is done.
    ///
    /// # Errors
    ///
    /// If the switch refuses something, does not answer or goes.
    pub(super) fn await_all(&mut self) -> io::Result<()> {
        self.tell(|out| emit_barrier_request(TransactionId(3), out))?;
        let mut room = [0; ANSWER_BYTES];
        loop {
            while let Some(message) = self.framer.next_message().map_err(io::Error::other)? {
                match Message::parse(message).map_err(io::Error::other)? {
                    (_, Message::BarrierReply) => return Ok(()),
                    (_, Message::Error(error)) => {
                        return Err(io::Error::other(format!("the switch refuses: {error:?}")));
                    }
                    _ => {}
                }
            }
            match self.stream.read(&mut room)? {
                0 => return Err(io::Error::other("the switch has gone")),
                count => self.framer.push(&room[..count]),
            }
        }
    }

    fn tell(&mut self, emit: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        self.stream.write_all(&bytes)
    }
}
