//! The OpenFlow agent of the firmware: messages in, replies and time out
//! (LOKO section 2.2.2).
//!
//! It speaks OpenFlow 1.0, in which the paper measured, and what of 1.3 says the
//! same ([`version13`]). Beside the flow table it knows which version was agreed
//! on and what is left of a message that has not arrived whole.
//!
//! # Where the times come from
//!
//! The paper gives the barrier (92 us), the longest deletion (2.3 ms at 128
//! entries), and says what depends on what (LOKO Figs. 6 and 7): adding on the
//! actions alone, walking linearly on the entries, strict orders faster than
//! others, consolidating slower than overwriting, and a modification that finds
//! nothing slower than a deletion that finds nothing. The echo is fitted to the
//! 450 requests a second at which LOKO Fig. 19a begins to lose. The other numbers
//! are ours, within those rules.
//!
//! # Left out
//!
//! Timeouts of entries: LOKO section 3.1 turns them off. Buffers for frames: a
//! frame is handed over whole.

mod version13;

use std::sync::Arc;

use units::{Delay, Duration};
use wire::openflow::{
    self, BufferId, ControllerLength, DatapathId, DecodeError, FlowModCommand, Framer, Header,
    Hello, HelloFailed, PacketInReason, Sequence, TableId, TransactionId,
};
use wire::openflow10::statistics::{
    AggregateStatistics, FlowStatistics, FlowStatisticsRequest, ReplyBody, RequestBody,
    StatisticsReply, StatisticsRequest,
};
use wire::openflow10::{
    Action, ActionKinds, Actions, BadAction, BadRequest, Capabilities, ErrorKind, ErrorMessage,
    FeaturesReply, FlowMod, FlowModFailed, Message, MessageType, PacketIn, PacketOut, PortNumber,
    SwitchConfig, VERSION,
};

use super::flow_table::{Entry, FlowTable, TableFull, Walk, Which, covers, sends_to};

/// A barrier: 92 us from port to port, of which 16.14 pass outside the processor.
const BARRIER: Delay = Delay::from_ns(75_860);
/// An echo: 107 us from port to port.
const ECHO: Delay = Delay::from_ns(90_860);
/// Any other message of fixed size.
const OTHER: Delay = Delay::from_ns(75_860);
/// What adding takes, and what each action adds to it.
const ADD: Delay = Delay::from_us(90);
const ADD_ACTION: Delay = Delay::from_us(4);
/// What an order that walks through the table takes before it walks.
const WALK: Delay = Delay::from_ns(90_200);
const COMPARE_STRICTLY: Delay = Delay::from_us(5);
const COMPARE_MASKED: Delay = Delay::from_us(10);
const OVERWRITE: Delay = Delay::from_us(5);
const CONSOLIDATE: Delay = Delay::from_ps(7_187_500);
/// What each entry adds to a reply of statistics.
const DESCRIBE: Delay = Delay::from_us(12);
/// Handing a frame to the controller.
pub(super) const PACKET_IN: Delay = Delay::from_us(150);

/// What the agent says of itself: OpenFlow 1.0 and 1.3.
const OURS: Hello = Hello {
    version: openflow::VERSION,
    versions: Some(1 << openflow::VERSION | 1 << VERSION),
};
const CONFIG: SwitchConfig = SwitchConfig {
    flags: 0,
    miss_send_length: ControllerLength::NO_BUFFER,
};

/// A frame that the controller had sent.
pub(super) struct Released {
    pub(super) actions: Vec<Action>,
    pub(super) in_port: PortNumber,
    pub(super) bytes: Arc<[u8]>,
}

/// What became of the bytes of one segment.
#[derive(Default)]
pub(super) struct Handled {
    pub(super) replies: Vec<u8>,
    pub(super) released: Vec<Released>,
    pub(super) time: Delay,
}

#[derive(Debug)]
pub(super) struct Agent {
    framer: Framer,
    pub(super) table: FlowTable,
    datapath: DatapathId,
    /// The version that was agreed on; 1.0 before that.
    version: u8,
}

impl Agent {
    pub(super) fn new(datapath: DatapathId) -> Self {
        Self {
            framer: Framer::new(),
            table: FlowTable::default(),
            datapath,
            version: VERSION,
        }
    }

    /// Takes the bytes that came next on the control connection.
    pub(super) fn handle(&mut self, bytes: &[u8]) -> Handled {
        let mut handled = Handled::default();
        let mut framer = std::mem::take(&mut self.framer);
        framer.push(bytes);
        loop {
            match framer.next_message() {
                Ok(Some(message)) => self.handle_message(message, &mut handled),
                Ok(None) => break,
                Err(_) => {
                    // Nobody knows where the next message begins: what came so
                    // far is forgotten.
                    framer = Framer::new();
                    refuse(
                        bytes,
                        ErrorKind::BadRequest(BadRequest::BadLength),
                        &mut handled,
                    );
                    break;
                }
            }
        }
        self.framer = framer;
        handled
    }

    /// Returns the message that hands a frame to the controller.
    pub(super) fn packet_in(
        &self,
        in_port: PortNumber,
        reason: PacketInReason,
        frame: &[u8],
    ) -> Vec<u8> {
        if self.version == openflow::VERSION {
            return version13::packet_in(in_port, reason, frame);
        }
        let packet_in = PacketIn {
            buffer: BufferId::NONE,
            total_length: u16::try_from(frame.len()).unwrap_or(u16::MAX),
            in_port,
            reason,
            data: frame,
        };
        let mut bytes = Vec::new();
        packet_in.emit(TransactionId(0), &mut bytes);
        bytes
    }

    fn handle_message(&mut self, bytes: &[u8], handled: &mut Handled) {
        let is_hello = bytes.get(1) == Some(&MessageType::Hello.number());
        if !is_hello && bytes.first() == Some(&openflow::VERSION) {
            return self.handle_version13(bytes, handled);
        }
        let (header, message) = match Message::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => return refuse(bytes, reason_of(&error), handled),
        };
        match message {
            Message::Hello(hello) => self.greet(header, &hello, bytes, handled),
            Message::EchoRequest(echo) => reply(header, Message::EchoReply(echo), ECHO, handled),
            Message::BarrierRequest => reply(header, Message::BarrierReply, BARRIER, handled),
            Message::FeaturesRequest => {
                let features = self.features();
                reply(header, Message::FeaturesReply(features), OTHER, handled);
            }
            Message::GetConfigRequest => {
                reply(header, Message::GetConfigReply(CONFIG), OTHER, handled);
            }
            Message::FlowMod(order) => self.change(bytes, &order, handled),
            Message::PacketOut(order) => release(bytes, &order, handled),
            Message::StatisticsRequest(StatisticsRequest { body }) => {
                self.report(header, bytes, body, handled);
            }
            Message::SetConfig(_)
            | Message::EchoReply(_)
            | Message::Error(_)
            | Message::BarrierReply => handled.time += OTHER,
            Message::Vendor(_) => {
                refuse(bytes, ErrorKind::BadRequest(BadRequest::BadVendor), handled);
            }
            Message::FeaturesReply(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::PortMod(_)
            | Message::StatisticsReply(_)
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_) => {
                refuse(bytes, ErrorKind::BadRequest(BadRequest::BadType), handled);
            }
        }
    }

    /// Answers a hello with ours, or says that there is no common version.
    fn greet(&mut self, header: Header, hello: &Hello, bytes: &[u8], handled: &mut Handled) {
        let spoken = [VERSION, openflow::VERSION];
        match OURS.agree(hello).filter(|it| spoken.contains(it)) {
            Some(version) => {
                self.version = version;
                reply(header, Message::Hello(OURS), OTHER, handled);
            }
            None => {
                let kind = ErrorKind::HelloFailed(HelloFailed::Incompatible);
                refuse(bytes, kind, handled);
            }
        }
    }

    fn features(&self) -> FeaturesReply<'static> {
        FeaturesReply {
            datapath: self.datapath,
            buffers: 0,
            tables: 1,
            capabilities: Capabilities::FLOW_STATISTICS,
            actions: ActionKinds::ALL,
            ports: Sequence::EMPTY,
        }
    }

    fn change(&mut self, bytes: &[u8], order: &FlowMod<'_>, handled: &mut Handled) {
        let actions: Result<Vec<_>, _> = order.actions.iter().collect();
        let actions = match actions {
            Ok(actions) => actions,
            Err(error) => return refuse(bytes, reason_of(&error), handled),
        };
        let entry = Entry {
            matching: order.matching,
            priority: order.priority,
            cookie: order.cookie,
            actions,
            packets: 0,
            bytes: 0,
        };
        if let Err(TableFull) = self.apply(order.command, entry, order.out_port, handled) {
            let kind = ErrorKind::FlowModFailed(FlowModFailed::AllTablesFull);
            refuse(bytes, kind, handled);
        }
    }

    fn apply(
        &mut self,
        command: FlowModCommand,
        entry: Entry,
        out_port: PortNumber,
        handled: &mut Handled,
    ) -> Result<(), TableFull> {
        let covered = Which::Covered(entry.matching);
        let strictly = Which::Strict(entry.matching, entry.priority);
        match command {
            FlowModCommand::Add => return self.add(entry, handled),
            FlowModCommand::Modify => return self.modify(covered, entry, handled),
            FlowModCommand::ModifyStrict => return self.modify(strictly, entry, handled),
            FlowModCommand::Delete => self.delete(covered, out_port, handled),
            FlowModCommand::DeleteStrict => self.delete(strictly, out_port, handled),
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry, handled: &mut Handled) -> Result<(), TableFull> {
        handled.time += ADD + ADD_ACTION * entry.actions.len() as u64;
        self.table.add(entry)
    }

    fn modify(
        &mut self,
        which: Which,
        entry: Entry,
        handled: &mut Handled,
    ) -> Result<(), TableFull> {
        let walk = self.table.modify(which, &entry);
        handled.time += walking_time(which, walk) + OVERWRITE * walk.touched as u64;
        match walk.touched {
            0 => self.add(entry, handled),
            _ => Ok(()),
        }
    }

    fn delete(&mut self, which: Which, out_port: PortNumber, handled: &mut Handled) {
        let walk = self.table.delete(which, out_port);
        handled.time += walking_time(which, walk) + CONSOLIDATE * walk.touched as u64;
    }

    fn report(
        &self,
        header: Header,
        bytes: &[u8],
        request: RequestBody<'_>,
        handled: &mut Handled,
    ) {
        match request {
            RequestBody::Flow(request) => self.report_entries(header, &request, handled),
            RequestBody::Aggregate(request) => {
                let entries = self.reported(&request);
                let none = AggregateStatistics {
                    packets: 0,
                    bytes: 0,
                    flows: 0,
                };
                let sum = entries.fold(none, |sum, entry| AggregateStatistics {
                    packets: sum.packets + entry.packets,
                    bytes: sum.bytes + entry.bytes,
                    flows: sum.flows + 1,
                });
                let time = OTHER + COMPARE_MASKED * self.table.entries().len() as u64;
                let body = ReplyBody::Aggregate(sum);
                let more = false;
                let statistics = Message::StatisticsReply(StatisticsReply { more, body });
                reply(header, statistics, time, handled);
            }
            RequestBody::Description
            | RequestBody::Table
            | RequestBody::Port(_)
            | RequestBody::Queue { .. }
            | RequestBody::Vendor { .. } => {
                let kind = ErrorKind::BadRequest(BadRequest::BadStatistics);
                refuse(bytes, kind, handled);
            }
        }
    }

    fn report_entries(
        &self,
        header: Header,
        request: &FlowStatisticsRequest,
        handled: &mut Handled,
    ) {
        let described: Vec<_> = self.reported(request).map(described).collect();
        let time = OTHER
            + COMPARE_MASKED * self.table.entries().len() as u64
            + DESCRIBE * described.len() as u64;
        let body = ReplyBody::Flow(Sequence::of(&described));
        let more = false;
        let statistics = Message::StatisticsReply(StatisticsReply { more, body });
        reply(header, statistics, time, handled);
    }

    fn reported(&self, request: &FlowStatisticsRequest) -> impl Iterator<Item = &Entry> {
        let (matching, out_port) = (request.matching, request.out_port);
        let entries = self.table.entries();
        entries.filter(move |it| covers(&matching, &it.matching) && sends_to(it, out_port))
    }
}

fn described(entry: &Entry) -> FlowStatistics<'_> {
    FlowStatistics {
        table: TableId(0),
        matching: entry.matching,
        age: Duration::from_ns(0),
        priority: entry.priority,
        idle_timeout_s: 0,
        hard_timeout_s: 0,
        cookie: entry.cookie,
        packets: entry.packets,
        bytes: entry.bytes,
        actions: Actions::of(&entry.actions),
    }
}

fn walking_time(which: Which, walk: Walk) -> Delay {
    let comparison = match which {
        Which::Strict(..) => COMPARE_STRICTLY,
        Which::Covered(_) => COMPARE_MASKED,
    };
    WALK + comparison * walk.seen as u64
}

fn release(bytes: &[u8], order: &PacketOut<'_>, handled: &mut Handled) {
    handled.time += OTHER;
    let actions: Result<Vec<_>, _> = order.actions.iter().collect();
    match actions {
        Ok(_) if order.buffer != BufferId::NONE => {
            let kind = ErrorKind::BadRequest(BadRequest::BufferUnknown);
            refuse(bytes, kind, handled);
        }
        Ok(actions) => handled.released.push(Released {
            actions,
            in_port: order.in_port,
            bytes: order.data.into(),
        }),
        Err(error) => refuse(bytes, reason_of(&error), handled),
    }
}

fn reply(header: Header, message: Message<'_>, time: Delay, handled: &mut Handled) {
    handled.time += time;
    message.emit(header.transaction, &mut handled.replies);
}

fn refuse(bytes: &[u8], kind: ErrorKind, handled: &mut Handled) {
    handled.time += OTHER;
    let transaction = Header::parse(bytes).map_or(TransactionId(0), |it| it.transaction);
    ErrorMessage::about(bytes, kind).emit(transaction, &mut handled.replies);
}

/// Returns what to answer to a message that cannot be read.
fn reason_of(error: &DecodeError) -> ErrorKind {
    match error {
        DecodeError::Version { .. } => ErrorKind::BadRequest(BadRequest::BadVersion),
        DecodeError::Length => ErrorKind::BadRequest(BadRequest::BadLength),
        DecodeError::Value {
            field: "command", ..
        } => ErrorKind::FlowModFailed(FlowModFailed::BadCommand),
        DecodeError::Action(_) => ErrorKind::BadAction(BadAction::BadType),
        DecodeError::Type { .. }
        | DecodeError::Value { .. }
        | DecodeError::Match(_)
        | DecodeError::Instruction(_) => ErrorKind::BadRequest(BadRequest::BadType),
    }
}

#[cfg(test)]
mod tests;
