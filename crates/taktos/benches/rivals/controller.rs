//! A controller that says what the comparison needs, over the socket that a
//! subject listens at.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use linux::clock;
use units::Duration;
use wire::openflow::{
    Action, Actions, BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId, Fields,
    FlowMod, FlowModCommand, Framer, Hello, Instruction, Instructions, MatchField, Message,
    PortNumber, QueueId, Sequence, TableId, TransactionId, emit_barrier_request,
};

use crate::traffic::Entry;

const ROOM_BYTES: usize = 64 << 10;
const STEP_BYTES: usize = 16 << 10;
/// How long a subject may take to be there, or to answer.
const PATIENCE: Duration = Duration::from_secs(20);
const TABLE: TableId = TableId(0);
const BUNDLE: BundleId = BundleId(1);

/// A connection on which OpenFlow 1.3 is spoken.
#[derive(Debug)]
pub struct Controller {
    stream: UnixStream,
    framer: Framer,
    transactions: u32,
    out: Vec<u8>,
    /// How many bytes of `out` have gone.
    sent: usize,
    envelope: Envelope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    None,
    /// In a bundle that is committed in one step.
    Bundle,
}

/// What a rule does with a frame.
#[derive(Clone, Debug)]
pub struct Treatment {
    /// What is done with it first.
    pub mark: Option<MatchField>,
    /// In which queue it goes, if that is said.
    pub queue: Option<QueueId>,
    pub output: PortNumber,
}

/// A barrier that has been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barrier(TransactionId);

impl Controller {
    /// Connects, as soon as the subject listens, unless it has ended.
    pub fn connect(socket: &Path, mut has_ended: impl FnMut() -> bool) -> io::Result<Self> {
        let end = clock::now() + PATIENCE;
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) if clock::now() >= end => return Err(error),
                Err(_) if has_ended() => return Err(io::Error::other("it ended at its start")),
                Err(_) => clock::sleep_until(clock::now() + Duration::from_ms(10)),
            }
        };
        let mut controller = Self {
            stream,
            framer: Framer::default(),
            transactions: 0,
            out: Vec::new(),
            sent: 0,
            envelope: Envelope::None,
        };
        Hello::OURS.emit(TransactionId(0), &mut controller.out);
        controller.flush()?;
        Ok(controller)
    }

    /// Replaces all entries by these, and waits until that is done.
    pub fn replace_entries(&mut self, entries: &[Entry]) -> io::Result<()> {
        let delete = FlowMod {
            command: FlowModCommand::Delete,
            ..FlowMod::add(TABLE)
        };
        self.say(&delete);
        for entry in entries {
            let treatment = Treatment {
                mark: None,
                queue: entry.queue,
                output: entry.output,
            };
            self.change(
                FlowModCommand::Add,
                entry.priority,
                &entry.fields,
                &treatment,
            );
        }
        self.finish()
    }

    /// Says a flow-mod; [`flush`](Self::flush) sends it.
    pub fn change(
        &mut self,
        command: FlowModCommand,
        priority: u16,
        fields: &[MatchField],
        treatment: &Treatment,
    ) {
        let mark = treatment.mark.map(Action::SetField);
        let queue = treatment.queue.map(Action::SetQueue);
        let output = Some(Action::output(treatment.output));
        let actions: Vec<Action> = [mark, queue, output].into_iter().flatten().collect();
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let flow_mod = FlowMod {
            command,
            priority,
            matching: Fields::of(fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TABLE)
        };
        self.say(&flow_mod);
    }

    /// Begins a bundle: what is said from now on is done when it is committed.
    pub fn open_bundle(&mut self) {
        self.say_about_bundle(BundleControlKind::OpenRequest);
        self.envelope = Envelope::Bundle;
    }

    pub fn commit_bundle(&mut self) {
        self.envelope = Envelope::None;
        self.say_about_bundle(BundleControlKind::CommitRequest);
    }

    /// Asks for a barrier; [`flush`](Self::flush) sends it.
    pub fn barrier(&mut self) -> Barrier {
        let transaction = self.next_transaction();
        emit_barrier_request(transaction, &mut self.out);
        Barrier(transaction)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.write_all(&self.out[self.sent..])?;
        self.forget_sent();
        Ok(())
    }

    /// Sends as much of what was said as takes a few microseconds and the subject
    /// has room for.
    pub fn flush_step(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.stream.set_nonblocking(true)?;
        let rest = &self.out[self.sent..];
        match self.stream.write(&rest[..rest.len().min(STEP_BYTES)]) {
            Ok(count) => self.sent += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if self.sent == self.out.len() {
            self.forget_sent();
        }
        Ok(())
    }

    fn forget_sent(&mut self) {
        self.out.clear();
        self.sent = 0;
    }

    /// Looks whether the barrier has been answered, without waiting.
    pub fn has_answered(&mut self, barrier: Barrier) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let mut room = [0; ROOM_BYTES];
        match self.stream.read(&mut room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.framer.push(&room[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        self.read_messages(barrier)
    }

    /// Sends what was said and waits until the subject has done it.
    pub fn finish(&mut self) -> io::Result<()> {
        let barrier = self.barrier();
        self.flush()?;
        let end = clock::now() + PATIENCE;
        while !self.has_answered(barrier)? {
            if clock::now() >= end {
                return Err(io::Error::other("no answer to a barrier"));
            }
            clock::sleep_until(clock::now() + Duration::from_us(200));
        }
        Ok(())
    }

    fn read_messages(&mut self, barrier: Barrier) -> io::Result<bool> {
        let mut answered = false;
        while let Some(bytes) = self.framer.next_message().map_err(io::Error::other)? {
            match Message::parse(bytes) {
                Ok((header, Message::BarrierReply)) => {
                    answered |= header.transaction == barrier.0;
                }
                Ok((header, Message::EchoRequest(echo))) => {
                    echo.emit_reply(header.transaction, &mut self.out);
                }
                Ok((_, Message::Error(error))) => {
                    return Err(io::Error::other(format!("refused: {error:?}")));
                }
                // Nothing else is asked for.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(answered)
    }

    fn say(&mut self, flow_mod: &FlowMod<'_>) {
        let transaction = self.next_transaction();
        match self.envelope {
            Envelope::None => flow_mod.emit(transaction, &mut self.out),
            Envelope::Bundle => {
                let mut message = Vec::new();
                flow_mod.emit(transaction, &mut message);
                let add = BundleAdd {
                    bundle: BUNDLE,
                    flags: BundleFlags::ATOMIC,
                    message: &message,
                    properties: Sequence::EMPTY,
                };
                add.emit(transaction, &mut self.out);
            }
        }
    }

    fn say_about_bundle(&mut self, kind: BundleControlKind) {
        let transaction = self.next_transaction();
        let control = BundleControl {
            bundle: BUNDLE,
            kind,
            flags: BundleFlags::ATOMIC,
            properties: Sequence::EMPTY,
        };
        control.emit(transaction, &mut self.out);
    }

    fn next_transaction(&mut self) -> TransactionId {
        self.transactions += 1;
        TransactionId(self.transactions)
    }
}
