//! A controller of the simplest kind, over any stream.

use std::io::{Read, Write};

use wire::openflow::multipart::{
    FlowStatisticsRequest, MultipartReply, MultipartRequest, ReplyBody, RequestBody,
};
use wire::openflow::{
    Action, Actions, AsyncConfig, Bucket, Buckets, BufferId, Fields, FlowMod, Framer, GroupId,
    GroupMod, GroupModCommand, GroupType, Hello, Instruction, Instructions, MatchField, Message,
    PacketOut, PortNumber, PortStatus, TableId, TransactionId, emit_barrier_request,
};

/// Connected to a switch, the greetings exchanged.
pub struct Client<S> {
    pub stream: S,
    framer: Framer,
}

impl<S: Read + Write> Client<S> {
    /// Greets, and waits for the switch's greeting.
    #[track_caller]
    pub fn greet(stream: S) -> Self {
        let mut client = Self {
            stream,
            framer: Framer::default(),
        };
        client.tell(|out| Hello::OURS.emit(TransactionId(1), out));
        client.await_message(|message| matches!(message, Message::Hello(_)).then_some(()));
        client
    }

    pub fn tell(&mut self, emit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        emit(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// Asks for what the switch says unasked, which those who connect to it do not
    /// get otherwise.
    #[track_caller]
    pub fn want_news(&mut self) {
        self.tell(|out| AsyncConfig::DEFAULT.emit_set(TransactionId(4), out));
        self.pass_barrier();
    }

    /// Has frames that come in at `from` leave at `to`, and waits until it is so.
    #[track_caller]
    pub fn join(&mut self, from: u32, to: u32) {
        self.ask_to_join(from, to);
        self.pass_barrier();
    }

    /// Has frames that come in at `from` leave at `to`.
    pub fn ask_to_join(&mut self, from: u32, to: u32) {
        let fields = [MatchField::InPort(PortNumber(from))];
        self.ask_to_do(1, &fields, &[Action::output(PortNumber(to))]);
    }

    /// Adds an entry that does something to frames with these fields, and waits until
    /// it is so.
    #[track_caller]
    pub fn add(&mut self, priority: u16, fields: &[MatchField], actions: &[Action]) {
        self.ask_to_do(priority, fields, actions);
        self.pass_barrier();
    }

    fn ask_to_do(&mut self, priority: u16, fields: &[MatchField], actions: &[Action]) {
        let instructions = [Instruction::ApplyActions(Actions::of(actions))];
        let flow_mod = FlowMod {
            priority,
            matching: Fields::of(fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        self.tell(|out| flow_mod.emit(TransactionId(2), out));
    }

    /// Adds a group that takes the first of two ports that is up, and waits until it
    /// is there.
    #[track_caller]
    pub fn add_failover(&mut self, group: GroupId, ports: [u32; 2]) {
        let outputs = ports.map(|port| [Action::output(PortNumber(port))]);
        let actions = outputs.each_ref().map(|output| Actions::of(output));
        let buckets = [0, 1].map(|n| Bucket {
            watch_port: PortNumber(ports[n]),
            ..Bucket::new(actions[n])
        });
        let group_mod = GroupMod {
            command: GroupModCommand::Add,
            kind: GroupType::FastFailover,
            group,
            buckets: Buckets::of(&buckets),
        };
        self.tell(|out| group_mod.emit(TransactionId(7), out));
        self.pass_barrier();
    }

    pub fn send_out(&mut self, port: u32, frame: &[u8]) {
        let actions = [Action::output(PortNumber(port))];
        let packet_out = PacketOut {
            buffer: BufferId::NONE,
            in_port: PortNumber::CONTROLLER,
            actions: Actions::of(&actions),
            data: frame,
        };
        self.tell(|out| packet_out.emit(TransactionId(6), out));
    }

    /// Waits for the next frame that the switch sends to its controllers.
    #[track_caller]
    pub fn await_packet_in(&mut self) -> Vec<u8> {
        self.await_message(|message| match message {
            Message::PacketIn(packet_in) => Some(packet_in.data.to_vec()),
            _ => None,
        })
    }

    pub fn ask_for_flows(&mut self) {
        let question = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
        self.tell(|out| MultipartRequest::new(question).emit(TransactionId(5), out));
    }

    /// Returns how many entries the answer has.
    #[track_caller]
    pub fn count_flows(&mut self) -> usize {
        let mut found = 0;
        loop {
            let (count, more) = self.await_message(|message| match message {
                Message::MultipartReply(MultipartReply {
                    more,
                    body: ReplyBody::Flow(flows),
                }) => Some((flows.iter().count(), *more)),
                _ => None,
            });
            found += count;
            if !more {
                return found;
            }
        }
    }

    /// Waits until everything before is done.
    #[track_caller]
    pub fn pass_barrier(&mut self) {
        self.tell(|out| emit_barrier_request(TransactionId(3), out));
        self.await_message(|message| matches!(message, Message::BarrierReply).then_some(()));
    }

    /// Waits for the news of a port.
    #[track_caller]
    pub fn await_port_status(&mut self) -> PortStatus {
        self.await_message(|message| match message {
            Message::PortStatus(status) => Some(*status),
            _ => None,
        })
    }

    #[track_caller]
    fn await_message<R>(&mut self, wanted: impl Fn(&Message<'_>) -> Option<R>) -> R {
        let mut room = [0; 4096];
        loop {
            while let Some(message) = self.framer.next_message().unwrap() {
                let (_, message) = Message::parse(message).unwrap();
                if let Some(found) = wanted(&message) {
                    return found;
                }
            }
            let count = self.stream.read(&mut room).unwrap();
            assert_ne!(count, 0, "the switch has closed the connection");
            self.framer.push(&room[..count]);
        }
    }
}
