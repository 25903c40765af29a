//! A network of real switch cores under a real controller core, in one thread: what
//! the controller does is timed by the clock on the wall, the rest happens between
//! the measurements.
//!
//! Time in the network stands still while something is measured and passes by hand
//! in between. Switches are those that ship; each decodes, checks and enters what
//! it is sent, and answers barriers when it has.

use std::collections::{BTreeMap, VecDeque};
use std::time;

use controller::config::{
    Config, HostParameters, Metric, PortParameters, SwitchParameters, Timers,
};
use controller::desired::is_guard;
use controller::northbound::{ApplicationKind, Asker, Event, ForeignRules, Manifest, RequestId};
use controller::place::PortId;
use controller::store::{Outcome, Store};
use controller::{ConnectionId, Controller, Input, Output, Reply, Request, StoreEvent, StoreWrite};
use switch::{Link, Peer, Switch};
use units::{BitRate, DataSize, Delay, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{Cookie, DatapathId, PortNumber};

use super::stopwatch::Start;
use super::wide_area::WideArea;

/// Hosts are attached to this port of their switch.
const HOST_PORT: PortNumber = PortNumber(1_000);
/// The class of promised flows.
pub const PROMISED: u8 = 6;
const RATE: BitRate = BitRate::from_mbps(10_000);
/// What a hop may add.
const BUDGET: Delay = Delay::from_us(400);
const CONTROL: switch::ConnectionId = switch::ConnectionId(0);
/// How many half seconds links may take to be found: one that breaks often is
/// believed late.
const PATIENCE: u32 = 600;
const HEADER_LENGTH: usize = 8;
const FLOW_MOD: u8 = 14;
/// Where the command is in a FlowMod.
const COMMAND_AT: usize = 25;
const ADD: u8 = 0;

/// What the controller sent in answer to something, and when. The FlowMods that keep
/// others from the ways of flows do not count, nor do those that delete: they follow
/// when the flows have their ways.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControllerReply {
    /// The time to the first FlowMod.
    pub first: Option<time::Duration>,
    pub last: Option<time::Duration>,
    /// The time until nothing was left to do.
    pub done: time::Duration,
    /// What of that this thread had a processor.
    processor: time::Duration,
    /// The same of the time to the last FlowMod.
    pub last_processor: time::Duration,
    pub flow_mods: u64,
}

impl ControllerReply {
    /// Appends what was sent next.
    fn go_on(&mut self, next: Self) {
        let first = next.first.map(|first| self.done + first);
        self.first = self.first.or(first);
        if let Some(last) = next.last {
            self.last = Some(self.done + last);
            self.last_processor = self.processor + next.last_processor;
        }
        self.done += next.done;
        self.processor += next.processor;
        self.flow_mods += next.flow_mods;
    }
}

pub struct Emulation<S> {
    /// The time in the network.
    pub now: Instant,
    /// What the controller has told since the last look.
    pub events: Vec<Event>,
    /// What it has answered since the last look.
    pub replies: Vec<(RequestId, Reply)>,
    /// What the controller has taken for all inputs so far, on the wall and on the
    /// processor.
    pub spent: [time::Duration; 2],
    controller: Controller,
    switches: Vec<Switch>,
    /// Where the cable of a port leads.
    cables: BTreeMap<(usize, PortNumber), (usize, PortNumber)>,
    down: Vec<(usize, PortNumber)>,
    store: S,
    /// Changes that wait to be kept together, if they are to.
    held: Option<Vec<StoreWrite>>,
    to_switches: VecDeque<(usize, Vec<u8>)>,
    to_controller: VecDeque<(usize, Vec<u8>)>,
    requests: u64,
}

impl<S: Store> Emulation<S> {
    /// Returns a network whose switches are not connected yet.
    #[must_use]
    pub fn new(map: &WideArea, store: S) -> Self {
        let mut controller = Controller::new(Instant::ZERO, config(map));
        controller.handle(Instant::ZERO, Input::Stored(StoreEvent::Replayed));
        let switches = (0..map.places.len()).map(|city| {
            let config = switch_config(map, city);
            Switch::new(Instant::ZERO, config)
        });
        let ends = map
            .links
            .iter()
            .flat_map(|[one, other]| [(*one, *other), (*other, *one)]);
        let cables = ends.map(|(from, to)| ((from, port_to(to)), (to, port_to(from))));
        let mut emulation = Self {
            now: Instant::ZERO,
            events: Vec::new(),
            replies: Vec::new(),
            spent: [time::Duration::ZERO; 2],
            controller,
            switches: switches.collect(),
            cables: cables.collect(),
            down: Vec::new(),
            store,
            held: None,
            to_switches: VecDeque::new(),
            to_controller: VecDeque::new(),
            requests: 0,
        };
        emulation.timed(Input::Timeout);
        emulation
    }

    /// Connects all switches, and waits until all links are found.
    pub fn connect_all(&mut self) {
        for city in 0..self.switches.len() {
            self.connect(city);
            self.settle();
        }
        self.find_links();
    }

    /// Lets time pass until all links are found.
    ///
    /// # Panics
    ///
    /// If they are not.
    pub fn find_links(&mut self) {
        let links = self.cables.len() / 2;
        for _ in 0..PATIENCE {
            if self.links_up() == links {
                return;
            }
            self.pass(Duration::from_ms(500));
        }
        panic!("{} of {links} links were found", self.links_up());
    }

    /// Lets a switch call the controller, and returns the time that the controller
    /// took. What both say waits to be delivered.
    pub fn connect(&mut self, city: usize) -> time::Duration {
        let peer = Peer::Controller;
        let connected = switch::Input::Connected {
            connection: CONTROL,
            peer,
        };
        self.switches[city].handle(self.now, connected);
        self.drain_switch(city);
        self.timed(Input::Connected(connection_of(city))).done
    }

    /// Returns how many links are up as the controller sees it.
    #[must_use]
    pub fn links_up(&self) -> usize {
        let view = self.controller.view();
        view.links()
            .iter()
            .filter(|link| view.is_up(link.ends))
            .count()
    }

    /// Hands the controller an input and times what it sends, the answers of the
    /// store included.
    pub fn timed(&mut self, input: Input<'_>) -> ControllerReply {
        let start = Start::now();
        self.controller.handle(self.now, input);
        let mut sent = ControllerReply::default();
        loop {
            let mut writes = Vec::new();
            self.carry_out(start, &mut writes, &mut sent);
            match &mut self.held {
                Some(held) => held.append(&mut writes),
                None if writes.is_empty() => break,
                None => self.keep(writes),
            }
            if self.held.is_some() {
                break;
            }
        }
        sent.done = start.elapsed();
        sent.processor = start.processor();
        self.spent[0] += sent.done;
        self.spent[1] += sent.processor;
        sent
    }

    /// Hands the controller an input, and calls it again as long as it asks for that at
    /// once; times what it sends.
    pub fn timed_to_the_end(&mut self, input: Input<'_>) -> ControllerReply {
        let mut sent = self.timed(input);
        while self.held.is_none() && self.controller.deadline() <= self.now {
            let next = self.timed(Input::Timeout);
            sent.go_on(next);
        }
        sent
    }

    /// From now on changes wait for [`keep_held`](Self::keep_held).
    pub fn hold(&mut self) {
        self.held = Some(Vec::new());
    }

    /// Returns whether changes wait to be kept together.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Keeps all changes that wait at once, and times that.
    pub fn keep_held(&mut self) -> time::Duration {
        let start = Start::now();
        if let Some(held) = self.held.take() {
            self.keep(held);
        }
        let mut more = Vec::new();
        self.carry_out(start, &mut more, &mut ControllerReply::default());
        let elapsed = start.elapsed();
        self.keep(more);
        elapsed
    }

    /// Makes changes durable and says so.
    fn keep(&mut self, writes: Vec<StoreWrite>) {
        assert!(
            matches!(self.store.write(&writes), Outcome::Committed(_)),
            "the store keeps what it is given"
        );
        for write in writes {
            let stored = Input::Stored(StoreEvent::Written(write));
            self.controller.handle(self.now, stored);
        }
    }

    /// Takes all that the controller wants done.
    fn carry_out(
        &mut self,
        start: Start,
        writes: &mut Vec<StoreWrite>,
        sent: &mut ControllerReply,
    ) {
        let before = sent.flow_mods;
        while let Some(output) = self.controller.poll() {
            match output {
                Output::Send { connection, bytes } => {
                    let flow_mods = count_flow_mods(bytes);
                    if flow_mods > 0 {
                        let at = start.elapsed();
                        sent.first.get_or_insert(at);
                        sent.last = Some(at);
                        sent.flow_mods += flow_mods;
                    }
                    let city = city_of(connection);
                    self.to_switches.push_back((city, bytes.to_vec()));
                }
                Output::Store(write) => writes.push(write),
                Output::Notify(event) => self.events.push(event),
                Output::Reply { id, reply } => self.replies.push((id, reply)),
                Output::Close { connection, reason } => {
                    panic!("the controller closes {connection:?}: {reason:?}")
                }
            }
        }
        // A system call, which would be a part of what is measured after each message.
        if sent.flow_mods > before {
            sent.last_processor = start.processor();
        }
    }

    /// Asks the controller for something and times what it sends.
    pub fn request(&mut self, request: Request) -> ControllerReply {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.timed_to_the_end(Input::Request {
            id,
            by: Asker::Operator,
            request,
        })
    }

    /// Takes the next message that waits for the controller, with the number of its
    /// switch.
    pub fn next_for_controller(&mut self) -> Option<(ConnectionId, Vec<u8>)> {
        let (city, bytes) = self.to_controller.pop_front()?;
        Some((connection_of(city), bytes))
    }

    /// Plugs the cable of a link out or in at both ends. What the switches say of
    /// it waits for the controller.
    pub fn set_link(&mut self, link: [usize; 2], state: Link) {
        let [one, other] = link;
        for (city, port) in [(one, port_to(other)), (other, port_to(one))] {
            self.down.retain(|down| *down != (city, port));
            if state == Link::Down {
                self.down.push((city, port));
            }
            let input = switch::Input::Port { port, link: state };
            self.switches[city].handle(self.now, input);
            self.drain_switch(city);
        }
    }

    /// Delivers what waits for the switches.
    pub fn deliver_to_switches(&mut self) {
        while let Some((city, bytes)) = self.to_switches.pop_front() {
            self.deliver(city, &bytes);
        }
    }

    /// Delivers what waits and lets everybody go on who could, until nobody has
    /// anything to do at this time.
    pub fn settle(&mut self) {
        loop {
            self.deliver_to_switches();
            if let Some((connection, bytes)) = self.next_for_controller() {
                let bytes = &bytes[..];
                self.timed(Input::Received { connection, bytes });
            } else if !self.wake_next(self.now) {
                return;
            }
        }
    }

    /// Lets time pass in the network, waking whoever asks for it.
    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle();
        while self.wake_next(end) {
            self.settle();
        }
        self.now = end;
    }

    /// Wakes whoever asked for it first, if that is before `end`.
    fn wake_next(&mut self, end: Instant) -> bool {
        let deadlines = self.switches.iter().map(Switch::deadline).enumerate();
        let switch = deadlines.filter_map(|(city, at)| Some((at?, city))).min();
        let controller = self.controller.deadline();
        match switch {
            Some((at, city)) if at <= end && at <= controller => {
                self.now = self.now.max(at);
                self.switches[city].handle(self.now, switch::Input::Timeout);
                self.drain_switch(city);
                true
            }
            Some(_) | None if controller <= end => {
                self.now = self.now.max(controller);
                self.timed(Input::Timeout);
                true
            }
            Some(_) | None => false,
        }
    }

    fn deliver(&mut self, city: usize, bytes: &[u8]) {
        let received = switch::Input::Received {
            connection: CONTROL,
            bytes,
        };
        self.switches[city].handle(self.now, received);
        self.drain_switch(city);
    }

    /// Carries out what a switch wants; frames arrive at once.
    fn drain_switch(&mut self, city: usize) {
        let mut frames = VecDeque::new();
        self.take_outputs(city, &mut frames);
        while let Some((city, port, frame)) = frames.pop_front() {
            let (bytes, arrived) = (&frame[..], self.now);
            let input = switch::Input::Frame {
                port,
                bytes,
                arrived,
            };
            self.switches[city].handle(self.now, input);
            self.take_outputs(city, &mut frames);
        }
    }

    fn take_outputs(&mut self, city: usize, frames: &mut VecDeque<(usize, PortNumber, Vec<u8>)>) {
        while let Some(output) = self.switches[city].poll() {
            match output {
                switch::Output::Transmit { port, bytes, .. } => {
                    let arrives = !self.down.contains(&(city, port));
                    let to = self.cables.get(&(city, port)).filter(|_| arrives);
                    frames.extend(to.map(|(to, port)| (*to, *port, bytes.to_vec())));
                }
                switch::Output::Send { bytes, .. } => {
                    self.to_controller.push_back((city, bytes.to_vec()));
                }
                switch::Output::Close { reason, .. } => {
                    panic!("switch {city} closes its connection: {reason:?}")
                }
                switch::Output::Count => {}
            }
        }
    }
}

/// Returns how many of some whole messages are FlowMods that lead a flow (OpenFlow 1.3.5,
/// clause 7.3.4.1).
fn count_flow_mods(bytes: &[u8]) -> u64 {
    let mut rest = bytes;
    let mut flow_mods = 0;
    while let [_, kind, high, low, ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let cookie = rest[HEADER_LENGTH.min(rest.len())..].first_chunk::<8>();
        let is_add = rest.get(COMMAND_AT) == Some(&ADD);
        let leads = cookie.is_some_and(|cookie| !is_guard(Cookie(u64::from_be_bytes(*cookie))));
        flow_mods += u64::from(*kind == FLOW_MOD && is_add && leads);
        rest = rest.get(length.max(HEADER_LENGTH)..).unwrap_or_default();
    }
    flow_mods
}

fn connection_of(city: usize) -> ConnectionId {
    ConnectionId(u64::try_from(city).unwrap_or(u64::MAX))
}

fn city_of(connection: ConnectionId) -> usize {
    usize::try_from(connection.0).unwrap_or(usize::MAX)
}

/// Returns the port of a switch that leads to another.
#[must_use]
pub fn port_to(city: usize) -> PortNumber {
    PortNumber(number(city) + 1)
}

fn number(city: usize) -> u32 {
    u32::try_from(city).unwrap_or(u32::MAX)
}

fn datapath(city: usize) -> DatapathId {
    DatapathId(u64::from(number(city)) + 1)
}

/// Returns the number of a switch of the controller.
#[must_use]
pub fn city_at(datapath: DatapathId) -> usize {
    usize::try_from(datapath.0.saturating_sub(1)).unwrap_or(usize::MAX)
}

#[must_use]
pub fn host_name(city: usize) -> String {
    format!("h{city}")
}

#[must_use]
pub fn host_address(city: usize) -> MacAddress {
    let [a, b, c, d] = number(city).to_be_bytes();
    MacAddress([2, 0, a, b, c, d])
}

/// Returns what the controller is told of a network.
#[must_use]
pub fn config(map: &WideArea) -> Config {
    let hosts = (0..map.places.len()).map(|city| HostParameters {
        name: host_name(city),
        mac: host_address(city),
        ipv4: None,
        is_fixed: false,
        attachment: Some(PortId::new(datapath(city), HOST_PORT)),
        unpromised: None,
    });
    let parameters = SwitchParameters {
        name: String::new(),
        processing: None,
        ports: BTreeMap::new(),
        other_ports: port_parameters(),
    };
    Config {
        switches: BTreeMap::new(),
        unknown_switch: parameters,
        hosts: hosts.collect(),
        applications: vec![Manifest::built_in(ApplicationKind::Deterministic)],
        foreign_rules: ForeignRules::Keep,
        modes: None,
        watch_hops: true,
        interrupted: false,
        policing: None,
        fit: None,
        metric: Metric::Links,
        timers: Timers::default(),
        probe_key: Some([7; 16]),
        claim: controller::mastery::Claim::default(),
        seed: 1,
    }
}

fn port_parameters() -> PortParameters {
    let mut budgets = [None; 8];
    budgets[usize::from(PROMISED)] = Some(BUDGET);
    PortParameters {
        rate: RATE,
        propagation: Delay::from_us(50),
        budgets,
        buffers: [None; 8],
        largest_frame: DataSize::from_bytes(1_542),
    }
}

/// Returns what the switch of a city is told.
#[must_use]
pub fn switch_config(map: &WideArea, city: usize) -> switch::Config {
    let neighbours = map.neighbours(city).iter().map(|(to, _)| port_to(*to));
    let ports = neighbours
        .chain([HOST_PORT])
        .map(|port| switch::PortConfig {
            number: port,
            name: format!("p{}", port.0),
            mac: host_address(city),
            rate: Some(RATE),
            pacing: switch::Pacing::World,
        });
    let mut config = switch::Config::new(datapath(city), ports.collect());
    config.table_capacity = 1 << 17;
    config.buffers = 256;
    config.packet_buffers.frames = 16;
    config
}
