//! The simplest switch that answers a controller truthfully, if it has no habit
//! that keeps it from that.

use std::collections::{BTreeMap, BTreeSet};

use controller::{ConnectionId, priority};
use units::Duration;
use wire::ethernet::{Header, MacAddress};
use wire::openflow::multipart::{
    AggregateStatistics, FlowStatistics, FlowStatisticsRequest, MultipartReply, MultipartType,
    PortStatistics, ReplyBody, ReplyWriter, RequestBody, TableStatistics,
};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::taktos::{
    Answer, CookieClass, DigestSum, HopCoverage, HopMessage, HopRecord, HopReply, PortSession,
    Question, SwitchFeatures, TableDigest, WatchedQueue,
};
use wire::openflow::{
    Action, Actions, BadRequest, BundleControl, BundleControlKind, BundleFailed, Capabilities,
    Cookie, DatapathId, ErrorKind, ErrorMessage, Experimenter, FeaturesReply, Fields, FlowMod,
    FlowModCommand, FlowModFailed, FlowModFlags, FlowRemoved, FlowRemovedReason, GroupId,
    GroupModCommand, GroupModFailed, Instruction, Instructions, MatchField, Message, PortNumber,
    QueueId, Role, RoleMessage, Sequence, TableId, TransactionId,
};

use super::description;
use super::mode::FakeMode;

/// How many frames every entry says that it has matched.
pub const ENTRY_PACKETS: u64 = 7;

#[derive(Default)]
pub struct FakeSwitch {
    /// How often it was asked what its ports have carried.
    pub asked_for_counts: usize,
    /// How often it was asked what its entries add up to.
    pub asked_for_sums: usize,
    pub connection: Option<ConnectionId>,
    /// The generation of the last election of a master.
    pub generation: Option<u64>,
    pub ports: BTreeMap<u32, bool>,
    pub entries: Vec<FakeEntry>,
    pub groups: BTreeSet<GroupId>,
    /// How many FlowMods it was sent, in bundles or not.
    pub flow_mods: usize,
    /// How many entries were deleted.
    pub deleted: usize,
    /// How many messages it was sent.
    pub messages: usize,
    /// How many bundles it has committed.
    pub bundles: usize,
    pub habits: Habits,
    /// What is in the bundle that it is told.
    pub bundle: Vec<Vec<u8>>,
    /// What it holds of criticality modes; nothing if it knows none.
    pub mode: Option<FakeMode>,
    /// The queues that it was told to watch.
    pub watched: Vec<WatchedQueue>,
    /// The sessions that its ports were told to have.
    pub sessions: Vec<PortSession>,
    /// What it says of hops: of each entry with this cookie, by this port, the longest stay.
    pub hops: Vec<(Cookie, u32, Duration)>,
    /// Of how many frames it says that; nothing is as good as seven.
    pub hop_frames: Option<u64>,
}

/// What a switch does otherwise than the truthful one.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Has room for so many entries.
    pub capacity: Option<usize>,
    pub has_bundles: bool,
    /// Ignores every FlowMod whose number this divides.
    pub drops_every: Option<usize>,
    /// Says that it cannot list entries.
    pub is_mute: bool,
    /// Does not answer questions for entries at all.
    pub is_silent: bool,
    /// Does not answer questions of our extension, nor refuses them.
    pub ignores_ours: bool,
    /// Adds up digests, and is always wrong.
    pub adds_up_wrongly: bool,
    /// Says entries in words of its own: without their queues, and with another
    /// port of entrance.
    pub has_dialect: bool,
    pub tells_removals: bool,
    /// Holds sources to their contracts.
    pub polices: bool,
    /// Holds frames back to keep them in order.
    pub orders: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeEntry {
    pub cookie: Cookie,
    pub priority: u16,
    pub matching: Vec<MatchField>,
    pub actions: Vec<Action>,
    pub outputs: Vec<u32>,
    pub queue: Option<u32>,
}

impl FakeEntry {
    /// Returns a frame as it leaves.
    pub fn rewritten(&self, frame: &[u8]) -> Vec<u8> {
        let mut frame = frame.to_vec();
        for action in &self.actions {
            if let Action::SetField(MatchField::EthDst(mac)) = action {
                frame[..6].copy_from_slice(&mac.value.0);
            }
        }
        frame
    }
}

/// What a switch says to what it was sent.
#[derive(Default)]
pub struct Said {
    pub answers: Vec<u8>,
    pub barriers: Vec<u8>,
    pub frames: Vec<(u32, Vec<u8>)>,
}

impl FakeSwitch {
    pub fn lookup(&self, input: PortNumber, header: &Header) -> Option<FakeEntry> {
        let matching = self.entries.iter().filter(|entry| {
            entry.matching.iter().all(|field| match field {
                MatchField::InPort(port) => *port == input,
                MatchField::EthSrc(mac) => is_under(*mac, header.source),
                MatchField::EthDst(mac) => is_under(*mac, header.destination),
                MatchField::EthType(ether_type) => *ether_type == header.ether_type,
                MatchField::Level(level) => self
                    .mode
                    .as_ref()
                    .is_some_and(|mode| *level == Masked::exact(mode.served().number())),
                MatchField::VlanVid(tag) => {
                    let tagged = header.vlan.map(|tag| VlanMatch::tagged(tag.id));
                    *tag == Masked::exact(tagged.unwrap_or(VlanMatch::UNTAGGED))
                }
                other => panic!("{other:?}"),
            })
        });
        matching.max_by_key(|entry| entry.priority).cloned()
    }

    pub fn take(&mut self, datapath: u64, bytes: &[u8], said: &mut Said) {
        let (header, message) = Message::parse(bytes).unwrap();
        let answers = &mut said.answers;
        let transaction = header.transaction;
        self.messages += 1;
        match message {
            Message::FeaturesRequest => FeaturesReply {
                datapath: DatapathId(datapath),
                buffers: 0,
                tables: 1,
                auxiliary: 0,
                capabilities: Capabilities::NONE,
            }
            .emit(transaction, answers),
            Message::MultipartRequest(request) => {
                self.answer(&request.body, transaction, bytes, answers);
            }
            Message::BarrierRequest => {
                Message::BarrierReply.emit(transaction, &mut said.barriers);
            }
            Message::EchoRequest(echo) => echo.emit_reply(transaction, answers),
            Message::RoleRequest(asked) => {
                let generation = match asked.role {
                    Role::NoChange => self.generation.unwrap_or(u64::MAX),
                    _ => *self.generation.insert(asked.generation),
                };
                let role = match self.generation {
                    Some(_) => Role::Master,
                    None => Role::Equal,
                };
                RoleMessage { role, generation }.emit_reply(transaction, answers);
            }
            Message::FlowMod(flow_mod) => {
                if let Err(kind) = self.change(&flow_mod, answers) {
                    ErrorMessage::about(bytes, kind).emit(transaction, answers);
                }
            }
            Message::GroupMod(group_mod) => {
                if let Err(why) = self.change_group(group_mod.command, group_mod.group) {
                    let kind = ErrorKind::GroupModFailed(why);
                    ErrorMessage::about(bytes, kind).emit(transaction, answers);
                }
            }
            Message::BundleControl(_) | Message::BundleAdd(_) if !self.habits.has_bundles => {
                let kind = ErrorKind::BadRequest(BadRequest::BadExperimenter);
                ErrorMessage::about(bytes, kind).emit(transaction, answers);
            }
            Message::BundleAdd(add) => self.bundle.push(add.message.to_vec()),
            Message::BundleControl(control) => self.control(&control, transaction, bytes, answers),
            Message::PacketOut(packet_out) => self.send_out(&packet_out, said),
            Message::Hop(_) | Message::Bfd(_) if self.habits.polices => self.note(&message),
            Message::Mode(message) => {
                let refused = match &mut self.mode {
                    Some(mode) => mode.take(&message),
                    None => Err(ErrorKind::BadRequest(BadRequest::BadExperimenter)),
                };
                if let Err(kind) = refused {
                    ErrorMessage::about(bytes, kind).emit(transaction, answers);
                }
            }
            Message::Hello(_)
            | Message::SetConfig(_)
            | Message::EchoReply(_)
            | Message::Error(_) => {}
            other => panic!("{other:?}"),
        }
    }

    fn change_group(
        &mut self,
        command: GroupModCommand,
        group: GroupId,
    ) -> Result<(), GroupModFailed> {
        let is_new = self.groups.insert(group);
        match (command, is_new) {
            (GroupModCommand::Add, false) => Err(GroupModFailed::GroupExists),
            (GroupModCommand::Modify, true) => Err(GroupModFailed::UnknownGroup),
            _ => Ok(()),
        }
    }

    fn answer(
        &mut self,
        question: &RequestBody<'_>,
        transaction: TransactionId,
        bytes: &[u8],
        answers: &mut Vec<u8>,
    ) {
        match question {
            RequestBody::PortDescription => {
                let ports = self.ports.iter();
                let ports: Vec<_> = ports.map(|(port, up)| description(*port, *up)).collect();
                let body = ReplyBody::PortDescription(Sequence::of(&ports));
                MultipartReply::new(body).emit(transaction, answers);
            }
            RequestBody::Flow(_) | RequestBody::Aggregate(_) if self.habits.is_silent => {}
            RequestBody::Flow(_) | RequestBody::Aggregate(_) if self.habits.is_mute => {
                let kind = ErrorKind::BadRequest(BadRequest::BadMultipart);
                ErrorMessage::about(bytes, kind).emit(transaction, answers);
            }
            RequestBody::Flow(request) => {
                let mut reply = ReplyWriter::new(MultipartType::Flow, transaction, answers);
                for entry in self.asked(request) {
                    let entry = self.in_its_words(entry);
                    let instructions = [Instruction::ApplyActions(Actions::of(&entry.actions))];
                    reply.push(&statistics(&entry, &instructions));
                }
                reply.finish();
            }
            RequestBody::Aggregate(request) => {
                let flows = self.asked(request).count().try_into().unwrap();
                let body = ReplyBody::Aggregate(AggregateStatistics {
                    packets: 0,
                    bytes: 0,
                    flows,
                });
                MultipartReply::new(body).emit(transaction, answers);
            }
            RequestBody::PortStatistics(_) => {
                self.asked_for_counts += 1;
                let ports: Vec<_> = self.ports.keys().map(|port| carried(*port)).collect();
                let body = ReplyBody::PortStatistics(Sequence::of(&ports));
                MultipartReply::new(body).emit(transaction, answers);
            }
            RequestBody::Table => {
                let table = TableStatistics {
                    entries: u32::try_from(self.entries.len()).unwrap(),
                    ..TableStatistics::default()
                };
                let body = ReplyBody::Table(Sequence::of(std::slice::from_ref(&table)));
                MultipartReply::new(body).emit(transaction, answers);
            }
            RequestBody::Experimenter(asked) => {
                let is_of_sums = Question::of(asked) == Some(Question::Digests);
                self.asked_for_sums += usize::from(is_of_sums);
                self.answer_ours(asked, transaction, bytes, answers);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Answers a question of the extension.
    fn answer_ours(
        &self,
        asked: &Experimenter<'_>,
        transaction: TransactionId,
        bytes: &[u8],
        answers: &mut Vec<u8>,
    ) {
        match (Question::of(asked), &self.mode) {
            _ if self.habits.is_silent || self.habits.ignores_ours => {}
            (Some(Question::Digests), _) if self.habits.adds_up_wrongly => {
                let nobodys = TableDigest {
                    table: TableId(0),
                    class: CookieClass(0x54f),
                    sum: DigestSum { entries: 1, sum: 7 },
                };
                let mut data = Vec::new();
                let answer = Answer::Digests(Sequence::of(std::slice::from_ref(&nobodys)));
                let body = ReplyBody::Experimenter(answer.body(&mut data));
                MultipartReply::new(body).emit(transaction, answers);
            }
            (Some(Question::Policed), _) if self.habits.polices => {
                let mut data = Vec::new();
                let answer = Answer::Policed(Sequence::EMPTY);
                let body = ReplyBody::Experimenter(answer.body(&mut data));
                MultipartReply::new(body).emit(transaction, answers);
            }
            (Some(Question::Features), _) if self.habits.orders => {
                let mut data = Vec::new();
                let orders_streams = true;
                let answer = Answer::Features(SwitchFeatures { orders_streams });
                let body = ReplyBody::Experimenter(answer.body(&mut data));
                MultipartReply::new(body).emit(transaction, answers);
            }
            (Some(Question::Hops), _) if self.habits.polices => {
                self.report_hops(transaction, answers);
            }
            (Some(Question::Modes), Some(mode)) => mode.report(transaction, answers),
            _ => {
                let kind = ErrorKind::BadRequest(BadRequest::BadExperimenter);
                ErrorMessage::about(bytes, kind).emit(transaction, answers);
            }
        }
    }

    fn report_hops(&self, transaction: TransactionId, answers: &mut Vec<u8>) {
        let records = self.hops.iter().map(|(cookie, port, longest)| HopRecord {
            table: TableId(0),
            priority: 1,
            cookie: *cookie,
            port: PortNumber(*port),
            queue: QueueId(1),
            frames: self.hop_frames.unwrap_or(7),
            longest: *longest,
            above: 2,
            budget: None,
            untimed: 0,
            buckets: Sequence::EMPTY,
            matching: Fields::EMPTY,
        });
        let records: Vec<_> = records.collect();
        let mut data = Vec::new();
        let answer = Answer::Hops(HopReply {
            coverage: HopCoverage::All,
            no_room: 0,
            records: Sequence::of(&records),
        });
        let body = ReplyBody::Experimenter(answer.body(&mut data));
        MultipartReply::new(body).emit(transaction, answers);
    }

    fn asked(&self, request: &FlowStatisticsRequest<'_>) -> impl Iterator<Item = &FakeEntry> {
        let (cookie, mask) = (request.cookie, request.cookie_mask);
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.cookie.matches(cookie, mask))
    }

    fn in_its_words(&self, entry: &FakeEntry) -> FakeEntry {
        let mut entry = entry.clone();
        if self.habits.has_dialect {
            let is_queue = |action: &Action| matches!(action, Action::SetQueue(_));
            entry.actions.retain(|action| !is_queue(action));
            if let Some(MatchField::InPort(port)) = entry.matching.first_mut() {
                port.0 += 1_000;
            }
        }
        entry
    }

    /// Notes what is to be watched, and which sessions there are to be.
    fn note(&mut self, message: &Message<'_>) {
        match message {
            Message::Hop(HopMessage::Config(config)) => {
                self.watched = config.queues.iter().map(Result::unwrap).collect();
            }
            Message::Bfd(config) => {
                self.sessions = config.sessions.iter().map(Result::unwrap).collect();
            }
            _ => {}
        }
    }

    fn control(
        &mut self,
        control: &BundleControl<'_>,
        transaction: TransactionId,
        bytes: &[u8],
        answers: &mut Vec<u8>,
    ) {
        let kind = match control.kind {
            BundleControlKind::OpenRequest => {
                self.bundle.clear();
                BundleControlKind::OpenReply
            }
            BundleControlKind::CloseRequest => BundleControlKind::CloseReply,
            BundleControlKind::DiscardRequest => BundleControlKind::DiscardReply,
            BundleControlKind::CommitRequest => {
                if !self.commit() {
                    let kind = BundleFailed::MessageFailed.into();
                    ErrorMessage::about(bytes, kind).emit(transaction, answers);
                    return;
                }
                BundleControlKind::CommitReply
            }
            other => panic!("{other:?}"),
        };
        let reply = BundleControl { kind, ..*control };
        reply.emit(transaction, answers);
    }

    /// Does all that is in the bundle, or nothing.
    fn commit(&mut self) -> bool {
        let before = self.entries.clone();
        for message in std::mem::take(&mut self.bundle) {
            let Ok((_, Message::FlowMod(flow_mod))) = Message::parse(&message) else {
                panic!("only FlowMods")
            };
            if self.change(&flow_mod, &mut Vec::new()).is_err() {
                self.entries = before;
                return false;
            }
        }
        self.bundles += 1;
        true
    }

    fn send_out(&self, packet_out: &wire::openflow::PacketOut<'_>, said: &mut Said) {
        let ports: Vec<u32> = self.ports.keys().copied().collect();
        for action in packet_out.actions {
            let frame = packet_out.data.to_vec();
            match action.unwrap() {
                Action::Output { port, .. } if port == PortNumber::FLOOD => {
                    let others = ports.iter().filter(|port| **port != packet_out.in_port.0);
                    let copies = others.map(|port| (*port, frame.clone()));
                    said.frames.extend(copies);
                }
                Action::Output { port, .. } => said.frames.push((port.0, frame)),
                Action::SetQueue(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn change(&mut self, flow_mod: &FlowMod<'_>, answers: &mut Vec<u8>) -> Result<(), ErrorKind> {
        self.flow_mods += 1;
        let number = self.flow_mods;
        if self
            .habits
            .drops_every
            .is_some_and(|every| number.is_multiple_of(every))
        {
            return Ok(());
        }
        flow_mod.matching.check().unwrap();
        let matching: Vec<MatchField> = flow_mod.matching.iter().map(Result::unwrap).collect();
        let same =
            |entry: &FakeEntry| entry.matching == matching && entry.priority == flow_mod.priority;
        match flow_mod.command {
            FlowModCommand::Add => {
                let is_new = !self.entries.iter().any(same);
                if is_new && self.habits.capacity == Some(self.entries.len()) {
                    return Err(ErrorKind::FlowModFailed(FlowModFailed::TableFull));
                }
                self.entries.retain(|entry| !same(entry));
                self.entries.push(entry_of(flow_mod, matching));
            }
            FlowModCommand::DeleteStrict => self.delete(same, answers),
            FlowModCommand::Delete => {
                let (cookie, mask) = (flow_mod.cookie, flow_mod.cookie_mask);
                let is_under =
                    |entry: &FakeEntry| matching.iter().all(|field| entry.matching.contains(field));
                let is_it = |entry: &FakeEntry| entry.cookie.matches(cookie, mask);
                self.delete(|entry| is_it(entry) && is_under(entry), answers);
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    }

    /// Deletes entries, and tells of that if it does so.
    pub fn delete(&mut self, is_it: impl Fn(&FakeEntry) -> bool, answers: &mut Vec<u8>) {
        let gone: Vec<FakeEntry> = self.entries.extract_if(.., |entry| is_it(entry)).collect();
        self.deleted += gone.len();
        for entry in gone.iter().filter(|_| self.habits.tells_removals) {
            let removed = FlowRemoved {
                cookie: entry.cookie,
                priority: entry.priority,
                reason: FlowRemovedReason::Delete,
                table: TableId(0),
                age: Duration::ZERO,
                idle_timeout_s: 0,
                hard_timeout_s: 0,
                packets: 0,
                bytes: 0,
                matching: Sequence::of(&entry.matching),
            };
            removed.emit(TransactionId(0), answers);
        }
    }

    pub fn flow_entries(&self) -> impl Iterator<Item = &FakeEntry> {
        self.entries
            .iter()
            .filter(|entry| entry.priority >= 1_000 && entry.priority < priority::PROBE)
    }
}

fn is_under(wanted: Masked<MacAddress>, found: MacAddress) -> bool {
    let mask = wanted.mask.map_or([0xff; 6], |mask| mask.0);
    let pairs = wanted.value.0.iter().zip(found.0).zip(mask);
    pairs
        .into_iter()
        .all(|((wanted, found), mask)| *wanted == found & mask)
}

fn entry_of(flow_mod: &FlowMod<'_>, matching: Vec<MatchField>) -> FakeEntry {
    let mut entry = FakeEntry {
        cookie: flow_mod.cookie,
        priority: flow_mod.priority,
        matching,
        actions: Vec::new(),
        outputs: Vec::new(),
        queue: None,
    };
    for instruction in flow_mod.instructions {
        let Instruction::ApplyActions(actions) = instruction.unwrap() else {
            panic!("only actions that apply")
        };
        entry.actions.extend(actions.iter().map(Result::unwrap));
    }
    for action in &entry.actions {
        match action {
            Action::Output { port, .. } => entry.outputs.push(port.0),
            Action::SetQueue(queue) => entry.queue = Some(queue.0),
            Action::FlowMonitor(_)
            | Action::Group(_)
            | Action::Police(_)
            | Action::Sequence(_)
            | Action::Eliminate(_)
            | Action::Trailer(_)
            | Action::ModeArrange
            | Action::QueuedFrame(_)
            | Action::SetField(MatchField::EthDst(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    entry
}

fn statistics<'a>(entry: &'a FakeEntry, instructions: &'a [Instruction<'a>]) -> FlowStatistics<'a> {
    FlowStatistics {
        table: TableId(0),
        age: Duration::ZERO,
        priority: entry.priority,
        idle_timeout_s: 0,
        hard_timeout_s: 0,
        flags: FlowModFlags::NONE,
        cookie: entry.cookie,
        packets: ENTRY_PACKETS,
        bytes: 0,
        matching: Sequence::of(&entry.matching),
        instructions: Instructions::of(instructions),
    }
}

pub fn carried(port: u32) -> PortStatistics {
    PortStatistics {
        port: PortNumber(port),
        sent_packets: u64::from(port) * 100,
        ..PortStatistics::default()
    }
}
