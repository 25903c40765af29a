//! The played network: switches that keep what they are given, and cables.

use std::collections::BTreeMap;
use std::time::Duration;

use controller::config::{
    Config, HostParameters, Metric, PortParameters, SwitchParameters, Timers,
};
use controller::northbound::{ApplicationKind, Asker, ForeignRules, Manifest, Reply, Request};
use controller::place::PortId;
use controller::{ConnectionId, Controller, Input, Output, RequestId, StoreEvent};
use units::{BitRate, DataSize, Delay, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::multipart::{
    FlowStatistics, MultipartReply, MultipartType, ReplyBody, ReplyWriter, RequestBody,
};
use wire::openflow::{
    Action, BadRequest, BufferId, Capabilities, Cookie, DatapathId, Echo, ErrorKind, ErrorMessage,
    FeaturesReply, FlowModCommand, Hello, MatchField, Message, PacketIn, PacketInReason,
    PortDescription, PortName, PortNumber, PortStatus, PortStatusReason, Sequence, TableId,
    TransactionId, first_message,
};

/// How many links end at each switch.
pub const LINKS_A_SWITCH: u32 = 20;
/// To which switches each one has a cable: those so many places further.
const STRIDES: [u32; 10] = [1, 2, 5, 12, 29, 70, 169, 211, 307, 408];
const HOST_PORT: u32 = LINKS_A_SWITCH + 1;
/// The port for a link that is added later.
const SPARE_PORT: u32 = LINKS_A_SWITCH + 2;

/// What switches have in their tables when they connect again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Nothing: they were without power.
    Empty,
    /// All that they were given.
    Kept,
}

pub fn host_name(switch: u32) -> String {
    format!("h{switch}")
}

#[derive(Default)]
struct Played {
    connection: u64,
    /// All flow-mods that added an entry, one behind the other.
    entries: Vec<u8>,
    count: usize,
}

/// A controller and its network.
pub struct Network {
    controller: Controller,
    now: Instant,
    played: Vec<Played>,
    /// Which switch is at the other end of a connection.
    at_connection: BTreeMap<u64, u32>,
    connections: u64,
    cables: BTreeMap<(u32, u32), (u32, u32)>,
    /// How many of the switches there are from the start.
    from_the_start: u32,
    /// What the controller has sent and nobody has taken yet.
    post: Vec<(u64, Vec<u8>)>,
    stored: Vec<StoreEvent>,
    replies: Vec<Reply>,
    flow_mods: usize,
    asked: u64,
    busy: Duration,
}

impl Network {
    /// Makes a network in which nobody is connected.
    pub fn new(switches: u32, application: ApplicationKind, timers: Timers) -> Self {
        let mut cables = BTreeMap::new();
        for switch in 0..switches {
            for (stride, place) in STRIDES.iter().zip(0..) {
                let far = (switch + stride) % switches;
                cables.insert((switch, 2 * place + 1), (far, 2 * place + 2));
                cables.insert((far, 2 * place + 2), (switch, 2 * place + 1));
            }
        }
        let config = config(switches, application, timers);
        let mut network = Self {
            controller: Controller::new(Instant::ZERO, config),
            now: Instant::ZERO,
            played: (0..switches).map(|_| Played::default()).collect(),
            at_connection: BTreeMap::new(),
            connections: 0,
            cables,
            from_the_start: switches,
            post: Vec::new(),
            stored: Vec::new(),
            replies: Vec::new(),
            flow_mods: 0,
            asked: 0,
            busy: Duration::ZERO,
        };
        network.handle(Input::Stored(StoreEvent::Replayed));
        network
    }

    /// Returns how many switches there are from the start.
    pub const fn switches(&self) -> u32 {
        self.from_the_start
    }

    /// Returns how many entries the switches have.
    pub fn entries(&self) -> usize {
        self.played.iter().map(|played| played.count).sum()
    }

    /// Returns how many flow-mods were sent.
    pub const fn flow_mods(&self) -> usize {
        self.flow_mods
    }

    /// Returns how many links the controller knows to be up.
    pub fn links(&self) -> usize {
        let links = self.controller.view().links().iter();
        links
            .filter(|link| self.controller.view().is_up(link.ends))
            .count()
    }

    /// Returns the answers since the last call.
    pub fn replies(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.replies)
    }

    /// Returns how long the controller has worked since the last call.
    pub fn took(&mut self) -> Duration {
        std::mem::take(&mut self.busy)
    }

    /// Returns the switch at the other end of the longest cable of a switch.
    pub fn far_end_of_longest(&self, switch: u32) -> u32 {
        self.cables[&(switch, LINKS_A_SWITCH - 1)].0
    }

    /// Returns the memory of this process without what the switches keep.
    pub fn memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|rest| rest.split_whitespace().next());
        let resident = kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10;
        let kept: usize = self
            .played
            .iter()
            .map(|played| played.entries.capacity())
            .sum();
        resident.saturating_sub(u64::try_from(kept).unwrap_or(0))
    }

    /// Connects all switches, and lets them say who they are.
    pub fn connect_all(&mut self) {
        for switch in 0..self.from_the_start {
            self.connect(switch);
        }
        self.settle();
    }

    /// Disconnects all switches, and connects them again.
    pub fn reconnect_all(&mut self, memory: Memory) {
        for switch in 0..self.from_the_start {
            let played = &mut self.played[switch as usize];
            let connection = played.connection;
            match memory {
                Memory::Empty => (played.entries, played.count) = (Vec::new(), 0),
                Memory::Kept => {}
            }
            self.at_connection.remove(&connection);
            self.handle(Input::Disconnected(ConnectionId(connection)));
        }
        self.settle();
        self.connect_all();
    }

    /// Lets time pass until all links are found. Returns how long the controller
    /// has worked.
    pub fn discover(&mut self) -> Duration {
        const MOST_STEPS: usize = 10_000;
        let wanted = self.cables.len() / 2;
        for _ in 0..MOST_STEPS {
            if self.links() >= wanted {
                return self.took();
            }
            self.now = self.now.max(self.controller.deadline());
            self.handle(Input::Timeout);
            self.settle();
        }
        panic!("{} links of {wanted} were found", self.links());
    }

    /// Lets a second pass: what lingers goes. The time that the controller works
    /// meanwhile is not counted.
    pub fn rest(&mut self) {
        const LENGTH: units::Duration = units::Duration::from_secs(1);
        let (end, busy) = (self.now + LENGTH, self.busy);
        while self.controller.deadline() < end {
            self.now = self.now.max(self.controller.deadline());
            self.handle(Input::Timeout);
            self.settle();
        }
        self.now = end;
        self.settle();
        self.busy = busy;
    }

    /// Connects one switch more, without a link.
    pub fn add_switch(&mut self) -> u32 {
        let switch = u32::try_from(self.played.len()).expect("few switches");
        self.played.push(Played::default());
        self.connect(switch);
        self.settle();
        switch
    }

    /// Lets the two probes of a new cable arrive: from the spare port of a switch to
    /// that of the one before.
    pub fn add_link(&mut self, switch: u32) {
        let ends = [(switch, SPARE_PORT - 1), (switch - 1, SPARE_PORT)];
        self.cables.insert(ends[0], ends[1]);
        self.cables.insert(ends[1], ends[0]);
        for (switch, port) in ends {
            // A port that comes up is probed.
            self.port_status(switch, port, true);
        }
        self.settle();
    }

    /// Takes the cable of [`add_link`](Self::add_link) away.
    pub fn lose_link(&mut self, switch: u32) {
        self.cut([(switch, SPARE_PORT - 1), (switch - 1, SPARE_PORT)]);
    }

    /// Takes the longest cable of a switch away.
    pub fn cut_longest(&mut self, switch: u32) {
        let end = (switch, LINKS_A_SWITCH - 1);
        self.cut([end, self.cables[&end]]);
    }

    fn cut(&mut self, ends: [(u32, u32); 2]) {
        for end in ends {
            self.cables.remove(&end);
            self.port_status(end.0, end.1, false);
        }
        self.settle();
    }

    /// Asks the controller, and lets everybody answer.
    pub fn ask(&mut self, request: Request) {
        self.ask_as(Asker::Operator, request);
    }

    /// Asks the controller as somebody else would.
    pub fn ask_as(&mut self, by: Asker, request: Request) {
        self.asked += 1;
        let id = RequestId(self.asked);
        self.handle(Input::Request { id, by, request });
        self.settle();
    }

    /// Hands the controller one input.
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    pub fn handle(&mut self, input: Input<'_>) {
        let started = std::time::Instant::now();
        self.controller.handle(self.now, input);
        while let Some(output) = self.controller.poll() {
            match output {
                Output::Send { connection, bytes } => {
                    self.post.push((connection.0, bytes.to_vec()));
                }
                Output::Store(write) => self.stored.push(StoreEvent::Written(write)),
                Output::Reply { reply, .. } => self.replies.push(reply),
                Output::Close { connection, reason } => panic!("{connection:?}: {reason:?}"),
                Output::Notify(_) => {}
            }
        }
        self.busy += started.elapsed();
    }

    /// Lets everybody answer until nobody has anything to say, and nothing is due.
    pub fn settle(&mut self) {
        loop {
            if self.controller.deadline() <= self.now {
                self.handle(Input::Timeout);
            } else if self.post.is_empty() && self.stored.is_empty() {
                return;
            }
            for event in std::mem::take(&mut self.stored) {
                self.handle(Input::Stored(event));
            }
            let mut said: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            for (connection, bytes) in std::mem::take(&mut self.post) {
                self.take(connection, &bytes, &mut said);
            }
            for (connection, bytes) in said {
                let connection = ConnectionId(connection);
                let bytes = &bytes[..];
                self.handle(Input::Received { connection, bytes });
            }
        }
    }

    fn connect(&mut self, switch: u32) {
        self.connections += 1;
        let connection = self.connections;
        self.played[switch as usize].connection = connection;
        self.at_connection.insert(connection, switch);
        self.handle(Input::Connected(ConnectionId(connection)));
    }

    fn port_status(&mut self, switch: u32, port: u32, is_up: bool) {
        let mut description = port_description(port);
        if !is_up {
            description.state = wire::openflow::PortState::LINK_DOWN;
        }
        let status = PortStatus {
            reason: PortStatusReason::Modify,
            port: description,
        };
        let mut bytes = Vec::new();
        status.emit(TransactionId(0), &mut bytes);
        let connection = ConnectionId(self.played[switch as usize].connection);
        let bytes = &bytes[..];
        self.handle(Input::Received { connection, bytes });
    }

    /// Lets a switch take what it is sent, and appends what is said for it.
    fn take(&mut self, connection: u64, bytes: &[u8], said: &mut BTreeMap<u64, Vec<u8>>) {
        let Some(switch) = self.at_connection.get(&connection).copied() else {
            return;
        };
        let mut rest = bytes;
        while let Some(bytes) = first_message(rest).expect("the controller sends whole messages") {
            rest = &rest[bytes.len()..];
            let (header, message) = Message::parse(bytes).expect("the controller writes well");
            if let Message::PacketOut(packet_out) = message {
                let outputs = packet_out.actions.iter().filter_map(|action| match action {
                    Ok(Action::Output { port, .. }) => Some(port),
                    _ => None,
                });
                for port in outputs {
                    if let Some((far, input)) = self.cables.get(&(switch, port.0)) {
                        let there = self.played[*far as usize].connection;
                        let out = said.entry(there).or_default();
                        emit_packet_in(*input, packet_out.data, out);
                    }
                }
                continue;
            }
            let played = &mut self.played[switch as usize];
            if let Message::FlowMod(flow_mod) = message {
                self.flow_mods += 1;
                if flow_mod.command == FlowModCommand::Add {
                    played.entries.extend_from_slice(bytes);
                    played.count += 1;
                }
                continue;
            }
            let out = said.entry(connection).or_default();
            answer(switch, played, header.transaction, bytes, &message, out);
        }
    }
}

fn answer(
    switch: u32,
    played: &Played,
    transaction: TransactionId,
    bytes: &[u8],
    message: &Message<'_>,
    out: &mut Vec<u8>,
) {
    match message {
        Message::Hello(_) => Hello::OURS.emit(transaction, out),
        Message::FeaturesRequest => {
            let features = FeaturesReply {
                datapath: datapath(switch),
                buffers: 0,
                tables: 1,
                auxiliary: 0,
                capabilities: Capabilities::NONE,
            };
            features.emit(transaction, out);
        }
        Message::EchoRequest(Echo { data }) => Echo { data }.emit_reply(transaction, out),
        Message::BarrierRequest => Message::BarrierReply.emit(transaction, out),
        Message::MultipartRequest(request) => match &request.body {
            RequestBody::PortDescription => {
                let ports: Vec<_> = (1..=SPARE_PORT).map(port_description).collect();
                let body = ReplyBody::PortDescription(Sequence::of(&ports));
                MultipartReply::new(body).emit(transaction, out);
            }
            RequestBody::Flow(asked) => {
                let which = |cookie: Cookie| cookie.matches(asked.cookie, asked.cookie_mask);
                report(played, transaction, which, out);
            }
            _ => refuse(bytes, transaction, out),
        },
        Message::Experimenter(_) | Message::BundleControl(_) | Message::BundleAdd(_) => {
            refuse(bytes, transaction, out);
        }
        _ => {}
    }
}

/// Reports the entries whose cookie is asked for.
fn report(
    played: &Played,
    transaction: TransactionId,
    which: impl Fn(Cookie) -> bool,
    out: &mut Vec<u8>,
) {
    let mut writer = ReplyWriter::new(MultipartType::Flow, transaction, out);
    let mut rest = &played.entries[..];
    while let Some(bytes) = first_message(rest).expect("kept as it came") {
        rest = &rest[bytes.len()..];
        let Ok((_, Message::FlowMod(entry))) = Message::parse(bytes) else {
            continue;
        };
        if which(entry.cookie) {
            writer.push(&FlowStatistics {
                table: entry.table,
                age: units::Duration::ZERO,
                priority: entry.priority,
                idle_timeout_s: entry.idle_timeout_s,
                hard_timeout_s: entry.hard_timeout_s,
                flags: entry.flags,
                cookie: entry.cookie,
                packets: 0,
                bytes: 0,
                matching: entry.matching,
                instructions: entry.instructions,
            });
        }
    }
    writer.finish();
}

fn refuse(asked: &[u8], transaction: TransactionId, out: &mut Vec<u8>) {
    let kind = ErrorKind::BadRequest(BadRequest::BadType);
    ErrorMessage::about(asked, kind).emit(transaction, out);
}

fn emit_packet_in(in_port: u32, frame: &[u8], out: &mut Vec<u8>) {
    let fields = [MatchField::InPort(PortNumber(in_port))];
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: u16::try_from(frame.len()).expect("a frame is short"),
        reason: PacketInReason::Action,
        table: TableId(0),
        cookie: Cookie(0),
        fields: Sequence::of(&fields),
        data: frame,
    };
    packet_in.emit(TransactionId(0), out);
}

fn port_description(number: u32) -> PortDescription {
    PortDescription::new(PortNumber(number), MacAddress([2; 6]), PortName::new("p"))
}

fn datapath(switch: u32) -> DatapathId {
    DatapathId(u64::from(switch) + 1)
}

fn config(switches: u32, application: ApplicationKind, timers: Timers) -> Config {
    let unknown_switch = SwitchParameters {
        name: String::new(),
        processing: None,
        ports: BTreeMap::new(),
        other_ports: PortParameters {
            rate: BitRate::from_mbps(10_000),
            propagation: Delay::ZERO,
            budgets: [None; 8],
            buffers: [None; 8],
            largest_frame: DataSize::from_bytes(1_542),
        },
    };
    let host = |switch: u32| {
        let [a, b, c, d] = switch.to_be_bytes();
        HostParameters {
            name: host_name(switch),
            mac: MacAddress([2, 0, a, b, c, d]),
            ipv4: None,
            is_fixed: false,
            attachment: Some(PortId::new(datapath(switch), PortNumber(HOST_PORT))),
            unpromised: None,
        }
    };
    Config {
        switches: BTreeMap::new(),
        unknown_switch,
        hosts: (0..switches).map(host).collect(),
        applications: vec![Manifest::built_in(application)],
        foreign_rules: ForeignRules::Keep,
        modes: None,
        watch_hops: true,
        interrupted: false,
        policing: None,
        fit: None,
        metric: Metric::Links,
        timers,
        probe_key: None,
        claim: controller::mastery::Claim::default(),
        seed: 1,
    }
}
