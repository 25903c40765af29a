//! A network of the simplest switches that answer a controller truthfully, a
//! store in memory, and time that passes by hand.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

mod mode;
mod switch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use mode::FakeMode;
use switch::Said;
pub use switch::{ENTRY_PACKETS, FakeEntry, FakeSwitch, Habits, carried};

use controller::config::{
    Config, HostParameters, Metric, PortParameters, ProcessingParameters, SwitchParameters, Timers,
};
use controller::northbound::{
    Accepted, ApplicationKind, Cover, Decision, ExceedAction, FlowMatch, Manifest, Protection,
    Requirement, TopologyCount, Traffic,
};
use controller::place::{LinkEnds, PortId};
use controller::refusal::Refusal;
use controller::store::Key;
use controller::{
    CloseReason, ConnectionId, Controller, Event, Input, Output, Reply, Request, RequestId,
    StoreEvent, StoreWrite,
};
use units::{BitRate, DataSize, Delay, Duration, Instant};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::{
    BufferId, Cookie, DatapathId, Hello, MatchField, PacketIn, PacketInReason, PortDescription,
    PortName, PortNumber, PortState, PortStatus, PortStatusReason, Sequence, TableId,
    TransactionId, first_message,
};

/// Hosts are attached to this port of their switch.
pub const HOST_PORT: u32 = 100;
pub const PROMISED: u8 = 6;
/// The cookie of a frame that no entry in particular hands over.
pub const UNCLAIMED: Cookie = Cookie(0);

pub struct Network {
    pub controller: Controller,
    pub now: Instant,
    pub switches: BTreeMap<u64, FakeSwitch>,
    pub links: BTreeMap<PortId, PortId>,
    pub cut: BTreeSet<PortId>,
    pub events: Vec<Event>,
    pub closed: Vec<(ConnectionId, CloseReason)>,
    pub replies: Vec<(RequestId, Reply)>,
    pub records: BTreeMap<Vec<u8>, StoreWrite>,
    /// How many changes the store was asked to keep.
    pub writes: usize,
    pub store_works: bool,
    /// Which writes it rejects all the same, counted from now on: 0 is the next.
    pub rejected_writes: Vec<usize>,
    /// Whether switches answer barriers at once, or when they are released.
    pub barriers_work: bool,
    withheld: Vec<(ConnectionId, Vec<u8>)>,
    /// Whether what is sent to switches arrives at once, or one message at a
    /// time when it is delivered.
    pub delivery_works: bool,
    undelivered: BTreeMap<ConnectionId, VecDeque<Vec<u8>>>,
    pending: VecDeque<(ConnectionId, Vec<u8>)>,
    /// Frames that are about to arrive at a port of a switch.
    travelling: VecDeque<(PortId, Vec<u8>)>,
    /// How often a frame arrived at the host of a switch, and the queues that
    /// frames travelled in, since the last trace began.
    reached: BTreeMap<u64, usize>,
    queues: BTreeSet<u32>,
    /// How many frames of hosts left by each port.
    pub sent: BTreeMap<PortId, usize>,
    /// The probe that last left by each port.
    pub probes: BTreeMap<PortId, Vec<u8>>,
    next_connection: u64,
    next_request: u64,
}

impl Network {
    /// Links join port `b` of switch `a` with port `a` of switch `b`; every
    /// switch `n` has the host `h<n>`.
    pub fn new(switches: u64, links: &[(u64, u64)]) -> Self {
        Self::with(switches, links, |_| {})
    }

    pub fn with(switches: u64, links: &[(u64, u64)], change: impl Fn(&mut Config)) -> Self {
        let mut config = config(switches, links);
        change(&mut config);
        let mut network = Self {
            controller: Controller::new(Instant::ZERO, config),
            now: Instant::ZERO,
            switches: BTreeMap::new(),
            links: BTreeMap::new(),
            cut: BTreeSet::new(),
            events: Vec::new(),
            closed: Vec::new(),
            replies: Vec::new(),
            records: BTreeMap::new(),
            writes: 0,
            store_works: true,
            rejected_writes: Vec::new(),
            barriers_work: true,
            withheld: Vec::new(),
            delivery_works: true,
            undelivered: BTreeMap::new(),
            pending: VecDeque::new(),
            travelling: VecDeque::new(),
            reached: BTreeMap::new(),
            queues: BTreeSet::new(),
            sent: BTreeMap::new(),
            probes: BTreeMap::new(),
            next_connection: 0,
            next_request: 0,
        };
        for (one, other) in links {
            let (a, b) = (port(*one, *other), port(*other, *one));
            network.links.extend([(a, b), (b, a)]);
        }
        for switch in 1..=switches {
            let ends = network.links.keys().filter(|end| end.datapath.0 == switch);
            let mut ports: BTreeMap<u32, bool> = ends.map(|end| (end.port.0, true)).collect();
            ports.insert(HOST_PORT, true);
            let fake = FakeSwitch {
                ports,
                ..FakeSwitch::default()
            };
            network.switches.insert(switch, fake);
        }
        network.input(Input::Stored(StoreEvent::Replayed));
        network
    }

    /// Connects all switches, in order, and lets everything settle.
    pub fn started(switches: u64, links: &[(u64, u64)]) -> Self {
        let mut network = Self::new(switches, links);
        network.connect_all();
        network
    }

    pub fn connect_all(&mut self) {
        for switch in self.switches.keys().copied().collect::<Vec<_>>() {
            self.connect(switch);
        }
    }

    pub fn connect(&mut self, switch: u64) -> ConnectionId {
        self.next_connection += 1;
        let connection = ConnectionId(self.next_connection);
        self.switches.get_mut(&switch).unwrap().connection = Some(connection);
        self.input(Input::Connected(connection));
        let mut hello = Vec::new();
        Hello::OURS.emit(TransactionId(0), &mut hello);
        self.pending.push_back((connection, hello));
        self.settle();
        connection
    }

    pub fn disconnect(&mut self, switch: u64) {
        let connection = self.switches.get_mut(&switch).unwrap().connection.take();
        self.input(Input::Disconnected(connection.unwrap()));
        self.settle();
    }

    /// Cuts a link; both of its switches say so.
    pub fn cut(&mut self, one: u64, other: u64) {
        self.set_link(one, other, false);
    }

    pub fn heal(&mut self, one: u64, other: u64) {
        self.set_link(one, other, true);
    }

    fn set_link(&mut self, one: u64, other: u64, up: bool) {
        for end in [port(one, other), port(other, one)] {
            match up {
                true => self.cut.remove(&end),
                false => self.cut.insert(end),
            };
            self.tell_carrier(end, up);
        }
        self.settle();
    }

    /// Pulls the plug out of a port, or puts it in again; its switch says so.
    pub fn set_carrier(&mut self, at: PortId, up: bool) {
        self.tell_carrier(at, up);
        self.settle();
    }

    /// A port sees a carrier, and its switch hears nobody behind it any more, or again.
    pub fn set_live(&mut self, at: PortId, is_live: bool) {
        let mut port = description(at.port.0, true);
        if !is_live {
            port.state = PortState::NONE;
        }
        let reason = PortStatusReason::Modify;
        let mut bytes = Vec::new();
        PortStatus { reason, port }.emit(TransactionId(0), &mut bytes);
        let connection = self.switches[&at.datapath.0].connection;
        self.receive(connection.expect("it is connected"), &bytes);
    }

    fn tell_carrier(&mut self, at: PortId, up: bool) {
        let switch = self.switches.get_mut(&at.datapath.0).unwrap();
        switch.ports.insert(at.port.0, up);
        if let Some(connection) = switch.connection {
            let mut bytes = Vec::new();
            let status = PortStatus {
                reason: PortStatusReason::Modify,
                port: description(at.port.0, up),
            };
            status.emit(TransactionId(0), &mut bytes);
            self.pending.push_back((connection, bytes));
        }
    }

    /// Lets time pass, waking the controller whenever it asks for it.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.controller.deadline() <= end {
            self.now = self.now.max(self.controller.deadline());
            self.input(Input::Timeout);
            self.settle();
        }
        self.now = end;
    }

    pub fn request(&mut self, request: Request) -> Vec<Reply> {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        self.input(Input::Request {
            id,
            by: controller::Asker::Operator,
            request,
        });
        self.settle();
        let replies = self.replies.iter().filter(|(to, _)| *to == id);
        replies.map(|(_, reply)| reply.clone()).collect()
    }

    pub fn admit(&mut self, requirement: Requirement) -> Result<Accepted, Refusal> {
        match &self.request(Request::Admit(vec![requirement]))[..] {
            [Reply::Decisions(decisions)] => match &decisions[..] {
                [Decision::Accepted(accepted)] => Ok(accepted.clone()),
                [Decision::Refused { reason, .. }] => Err(reason.clone()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    /// Returns how many flows the store keeps.
    pub fn admissions(&self) -> usize {
        let keys = self.records.values().map(|record| record.key);
        keys.filter(|key| matches!(key, Key::Admission(_))).count()
    }

    pub fn topology(&mut self) -> TopologyCount {
        match self.request(Request::Topology)[..] {
            [Reply::Topology(topology)] => topology,
            ref other => panic!("{other:?}"),
        }
    }

    pub fn input(&mut self, input: Input<'_>) {
        self.controller.handle(self.now, input);
        self.drain();
    }

    pub fn receive(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.input(Input::Received { connection, bytes });
        self.settle();
    }

    /// Delivers messages and frames until nobody has anything to say.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            if let Some((connection, bytes)) = self.pending.pop_front() {
                let bytes = &bytes[..];
                self.input(Input::Received { connection, bytes });
            } else if let Some((at, frame)) = self.travelling.pop_front() {
                self.forward(at, &frame);
            } else {
                return;
            }
        }
        panic!("it never settles: a frame loops");
    }

    /// Delivers one message to one of the switches that have some to come.
    /// Returns whether there was any.
    pub fn deliver(&mut self, choice: usize) -> bool {
        self.undelivered.retain(|_, queue| !queue.is_empty());
        let count = self.undelivered.len().max(1);
        let Some((connection, queue)) = self.undelivered.iter_mut().nth(choice % count) else {
            return false;
        };
        let connection = *connection;
        let message = queue.pop_front().unwrap();
        let mut fakes = self.switches.iter_mut();
        let fake = fakes.find(|(_, fake)| fake.connection == Some(connection));
        let Some((datapath, fake)) = fake else {
            return true;
        };
        let datapath = DatapathId(*datapath);
        let mut said = Said::default();
        fake.take(datapath.0, &message, &mut said);
        match self.barriers_work {
            true => said.answers.extend(said.barriers),
            false if said.barriers.is_empty() => {}
            false => self.withheld.push((connection, said.barriers)),
        }
        if !said.answers.is_empty() {
            self.pending.push_back((connection, said.answers));
        }
        for (output, frame) in said.frames {
            self.transmit(datapath, output, &frame);
        }
        true
    }

    /// Lets the switches answer the barriers that they have withheld. Returns
    /// whether there were any.
    pub fn release(&mut self) -> bool {
        let withheld = std::mem::take(&mut self.withheld);
        let any = !withheld.is_empty();
        self.pending.extend(withheld);
        self.settle();
        any
    }

    /// Restarts the controller with what the store has.
    pub fn restart_controller(&mut self, switches: u64, links: &[(u64, u64)]) {
        self.restart_controller_as(config(switches, links));
    }

    /// Restarts the controller with another configuration and what the store has.
    pub fn restart_controller_as(&mut self, config: Config) {
        self.controller = Controller::new(self.now, config);
        self.events.clear();
        self.pending.clear();
        self.replay();
        self.connect_all();
    }

    /// Restarts the controller with what the store has, while some switches are
    /// switched off.
    pub fn restart_controller_without(&mut self, off: &[u64]) {
        self.controller = Controller::new(self.now, config(4, &[]));
        self.pending.clear();
        self.replay();
        for switch in self.switches.keys().copied().collect::<Vec<_>>() {
            if off.contains(&switch) {
                self.switches.get_mut(&switch).unwrap().connection = None;
            } else {
                self.connect(switch);
            }
        }
    }

    /// Restarts the controller, with switches that are faster than the store.
    /// Returns what the store has yet to tell.
    pub fn restart_controller_with_slow_store(&mut self) -> Vec<StoreWrite> {
        self.controller = Controller::new(self.now, config(4, &[]));
        self.events.clear();
        self.pending.clear();
        self.connect_all();
        self.records.values().cloned().collect()
    }

    fn replay(&mut self) {
        for record in self.records.values().cloned().collect::<Vec<_>>() {
            self.input(Input::Stored(StoreEvent::Written(record)));
        }
        self.input(Input::Stored(StoreEvent::Replayed));
    }

    /// Sends a frame of a host into the network and returns which hosts it
    /// reaches how often, and in which queues it travels.
    pub fn trace(&mut self, from: u64, to: MacAddress) -> (BTreeMap<u64, usize>, BTreeSet<u32>) {
        self.trace_from(from, port(from, u64::from(HOST_PORT)), to)
    }

    /// Plugs the host of a switch into the port of another one's host, where it
    /// sends a frame.
    pub fn move_host(&mut self, host: u64, to: u64) {
        self.plug(port(host, u64::from(HOST_PORT)), false);
        self.trace_from(host, port(to, u64::from(HOST_PORT)), MacAddress::BROADCAST);
    }

    /// Plugs or unplugs what is at a port; its switch says so.
    pub fn plug(&mut self, at: PortId, is_up: bool) {
        let status = PortStatus {
            reason: PortStatusReason::Modify,
            port: description(at.port.0, is_up),
        };
        let mut bytes = Vec::new();
        status.emit(TransactionId(0), &mut bytes);
        let connection = self.switches[&at.datapath.0].connection;
        self.receive(connection.expect("it is connected"), &bytes);
    }

    /// Lets a host ask for an address at the port of another one's host, and returns
    /// whom that reaches how often.
    pub fn ask_for_address(&mut self, host: u64, at: u64) -> BTreeMap<u64, usize> {
        let header = Header {
            destination: MacAddress::BROADCAST,
            source: mac(host),
            vlan: None,
            ether_type: EtherType::ARP,
        };
        let mut frame = Vec::new();
        header.emit(&mut frame);
        frame.extend([0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(mac(host).0);
        frame.extend([10, 0, 0, u8::try_from(host).unwrap()]);
        frame.resize(60, 0);
        self.send(port(at, u64::from(HOST_PORT)), frame)
    }

    /// Does the same as [`trace`](Self::trace) for a host that is attached
    /// elsewhere.
    pub fn trace_from(
        &mut self,
        from: u64,
        at: PortId,
        to: MacAddress,
    ) -> (BTreeMap<u64, usize>, BTreeSet<u32>) {
        let mut frame = Vec::new();
        let header = Header {
            destination: to,
            source: mac(from),
            vlan: None,
            ether_type: EtherType::GOOSE,
        };
        header.emit(&mut frame);
        frame.resize(60, 0);
        let reached = self.send(at, frame);
        (reached, self.queues.clone())
    }

    fn send(&mut self, at: PortId, frame: Vec<u8>) -> BTreeMap<u64, usize> {
        self.reached.clear();
        self.queues.clear();
        self.travelling.push_back((at, frame));
        self.settle();
        self.reached.clone()
    }

    /// Does with a frame what the entries of its switch say.
    fn forward(&mut self, at: PortId, frame: &[u8]) {
        let (header, _) = Header::parse(frame).unwrap();
        let Some(entry) = self.switches[&at.datapath.0].lookup(at.port, &header) else {
            return;
        };
        self.queues.extend(entry.queue);
        let rewritten = entry.rewritten(frame);
        let frame = &rewritten[..];
        for output in entry.outputs {
            if output == PortNumber::IN_PORT.0 {
                self.transmit(at.datapath, at.port.0, frame);
                continue;
            }
            if output == PortNumber::CONTROLLER.0 {
                self.punt(at, entry.cookie, frame);
            } else if output != at.port.0 {
                self.transmit(at.datapath, output, frame);
            }
        }
    }

    fn transmit(&mut self, datapath: DatapathId, output: u32, frame: &[u8]) {
        let out = PortId::new(datapath, PortNumber(output));
        let (header, _) = Header::parse(frame).unwrap();
        if header.destination == MacAddress::NEAREST_BRIDGE {
            self.probes.insert(out, frame.to_vec());
        } else {
            *self.sent.entry(out).or_insert(0) += 1;
        }
        if output == HOST_PORT {
            *self.reached.entry(datapath.0).or_insert(0) += 1;
        } else if let Some(to) = self.links.get(&out).filter(|_| !self.cut.contains(&out)) {
            self.travelling.push_back((*to, frame.to_vec()));
        }
    }

    fn punt(&mut self, at: PortId, cookie: Cookie, frame: &[u8]) {
        if let Some(connection) = self.switches[&at.datapath.0].connection {
            let mut bytes = Vec::new();
            emit_packet_in(at.port, cookie, frame, &mut bytes);
            self.pending.push_back((connection, bytes));
        }
    }

    /// Takes what the controller wants done. Events, replies and records are
    /// kept; bytes go to the switches at once.
    fn drain(&mut self) {
        let mut stored = Vec::new();
        while let Some(output) = self.controller.poll() {
            match output {
                Output::Send { connection, bytes } => {
                    let mut rest = bytes;
                    while let Some(message) = first_message(rest).unwrap() {
                        rest = &rest[message.len()..];
                        let queue = self.undelivered.entry(connection).or_default();
                        queue.push_back(message.to_vec());
                    }
                    assert!(rest.is_empty(), "whole messages");
                }
                Output::Close { connection, reason } => self.closed.push((connection, reason)),
                Output::Store(write) => stored.push(write),
                Output::Notify(event) => self.events.push(event),
                Output::Reply { id, reply } => self.replies.push((id, reply)),
            }
        }
        while self.delivery_works && self.deliver(0) {}
        for write in stored {
            self.writes += 1;
            let is_rejected = self.rejected_writes.first() == Some(&0);
            self.rejected_writes.retain(|turn| *turn > 0);
            self.rejected_writes.iter_mut().for_each(|turn| *turn -= 1);
            let event = match self.store_works && !is_rejected {
                true => {
                    let key = write.key.to_bytes();
                    match write.value {
                        Some(_) => self.records.insert(key, write.clone()),
                        None => self.records.remove(&key),
                    };
                    StoreEvent::Written(write)
                }
                false => StoreEvent::Rejected(write.key),
            };
            self.input(Input::Stored(event));
        }
    }
}

pub fn emit_packet_in(port: PortNumber, cookie: Cookie, frame: &[u8], out: &mut Vec<u8>) {
    let fields = [MatchField::InPort(port)];
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_length: u16::try_from(frame.len()).unwrap(),
        reason: PacketInReason::Action,
        table: TableId(0),
        cookie,
        fields: Sequence::of(&fields),
        data: frame,
    };
    packet_in.emit(TransactionId(0), out);
}

pub fn description(number: u32, up: bool) -> PortDescription {
    let mut description = PortDescription::new(
        PortNumber(number),
        MacAddress([2, 0, 0, 0, 1, 1]),
        PortName::new("port"),
    );
    description.state = match up {
        true => PortState::LIVE,
        false => PortState::LINK_DOWN,
    };
    description
}

pub fn mac(host: u64) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, u8::try_from(host).unwrap()])
}

pub fn group(number: u8) -> MacAddress {
    MacAddress([1, 0xc, 0xcd, 1, 0, number])
}

pub fn port(switch: u64, number: u64) -> PortId {
    PortId::new(
        DatapathId(switch),
        PortNumber(u32::try_from(number).unwrap()),
    )
}

pub fn link(one: u64, other: u64) -> LinkEnds {
    LinkEnds::new(port(one, other), port(other, one))
}

/// Returns a requirement that a few hundred can share a link with.
pub fn requirement(name: &str, source: u64, destinations: &[u64], to: MacAddress) -> Requirement {
    Requirement {
        name: name.into(),
        source: format!("h{source}"),
        destinations: destinations.iter().map(|host| format!("h{host}")).collect(),
        matching: FlowMatch {
            ether_type: Some(EtherType::GOOSE),
            destination: Some(to),
            ..FlowMatch::default()
        },
        class: PROMISED,
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: Traffic {
            rate: BitRate::from_bps(100_000),
            burst: DataSize::from_bytes(150),
            largest_frame: DataSize::from_bytes(150),
            smallest_frame: DataSize::from_bytes(150),
            frames: None,
        },
        deadline: Some(Delay::from_us(20_000)),
        protection: Protection::Restore {
            interruption: Duration::from_ms(10),
            covers: Cover::CarrierLoss,
        },
        modes: None,
    }
}

pub fn config(switches: u64, links: &[(u64, u64)]) -> Config {
    let hosts = (1..=switches).map(|switch| HostParameters {
        name: format!("h{switch}"),
        mac: mac(switch),
        ipv4: None,
        is_fixed: false,
        attachment: Some(port(switch, u64::from(HOST_PORT))),
        unpromised: None,
    });
    let parameters = |switch: u64| {
        let ends = links
            .iter()
            .flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
        let mut ports: BTreeMap<PortNumber, PortParameters> = ends
            .filter(|(at, _)| *at == switch)
            .map(|(_, to)| (PortNumber(u32::try_from(to).unwrap()), port_parameters()))
            .collect();
        ports.insert(PortNumber(HOST_PORT), port_parameters());
        SwitchParameters {
            name: format!("s{switch}"),
            processing: Some(ProcessingParameters {
                latency: Delay::from_us(10),
                per_frame: Delay::from_us(3),
                budget: Delay::from_us(500),
                buffer_frames: None,
            }),
            ports,
            other_ports: port_parameters(),
        }
    };
    Config {
        switches: (1..=switches)
            .map(|switch| (DatapathId(switch), parameters(switch)))
            .collect(),
        unknown_switch: parameters(0),
        hosts: hosts.collect(),
        applications: vec![Manifest::built_in(ApplicationKind::Deterministic)],
        metric: Metric::Links,
        timers: Timers::default(),
        probe_key: Some([3; 16]),
        claim: controller::mastery::Claim::default(),
        foreign_rules: controller::northbound::ForeignRules::Keep,
        fit: None,
        modes: None,
        watch_hops: true,
        interrupted: false,
        policing: Some(units::Duration::ZERO),
        seed: 1,
    }
}

fn port_parameters() -> PortParameters {
    let mut budgets = [None; 8];
    budgets[usize::from(PROMISED)] = Some(Delay::from_us(500));
    PortParameters {
        rate: BitRate::from_mbps(100),
        propagation: Delay::from_ns(500),
        budgets,
        buffers: [None; 8],
        largest_frame: DataSize::from_bytes(1_542),
    }
}
