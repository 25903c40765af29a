//! A world for one switch: it delivers nothing, it only notes what is asked of
//! it.

use std::collections::BTreeMap;

use switch::{
    CloseReason, Config, ConnectionId, Input, Link, Output, Pacing, Peer, PortConfig, Switch,
};
use units::{BitRate, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{
    Action, Actions, DatapathId, ErrorKind, Fields, FlowMod, Framer, Header, Hello, Instruction,
    Instructions, MatchField, Message, PortNumber, TableId, TransactionId,
};
use wire::openflow10;

pub const CONTROLLER: ConnectionId = ConnectionId(1);

/// A frame whose transmission began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub port: PortNumber,
    pub queue: u8,
    pub frame: Vec<u8>,
    pub begins: Instant,
    pub departs: Instant,
}

pub struct World {
    pub switch: Switch,
    pub now: Instant,
    pub sent: Vec<Sent>,
    pub closed: Vec<(ConnectionId, CloseReason)>,
    framers: BTreeMap<ConnectionId, Framer>,
}

impl World {
    pub fn new(config: Config) -> Self {
        Self {
            switch: Switch::new(Instant::ZERO, config),
            now: Instant::ZERO,
            sent: Vec::new(),
            closed: Vec::new(),
            framers: BTreeMap::new(),
        }
    }

    /// A switch with one controller whose hello has been answered.
    pub fn with_controller(config: Config) -> Self {
        let mut world = Self::new(config);
        world.greet(CONTROLLER);
        world
    }

    pub fn connect(&mut self, connection: ConnectionId, peer: Peer) {
        self.handle(Input::Connected { connection, peer });
    }

    pub fn greet(&mut self, connection: ConnectionId) {
        self.greet_as(connection, Peer::Controller);
    }

    pub fn greet_as(&mut self, connection: ConnectionId, peer: Peer) {
        self.greet_with(connection, peer, Hello::OURS);
    }

    pub fn greet_with(&mut self, connection: ConnectionId, peer: Peer, hello: Hello) {
        self.connect(connection, peer);
        let mut bytes = Vec::new();
        hello.emit(TransactionId(0), &mut bytes);
        self.receive(connection, &bytes);
        let answers = self.answers(connection);
        assert_eq!(answers.len(), 1, "the switch says hello and nothing else");
    }

    pub fn handle(&mut self, input: Input<'_>) {
        self.switch.handle(self.now, input);
        self.drain();
    }

    pub fn receive(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.handle(Input::Received { connection, bytes });
        self.run_until(self.now);
    }

    pub fn frame(&mut self, port: u32, bytes: &[u8]) {
        let port = PortNumber(port);
        let arrived = self.now;
        self.handle(Input::Frame {
            port,
            bytes,
            arrived,
        });
    }

    pub fn link(&mut self, port: u32, link: Link) {
        let port = PortNumber(port);
        self.handle(Input::Port { port, link });
    }

    /// Lets time pass, and the switch act at every deadline.
    pub fn run_until(&mut self, end: Instant) {
        while let Some(deadline) = self.switch.deadline()
            && deadline <= end
        {
            self.now = self.now.max(deadline);
            self.handle(Input::Timeout);
        }
        self.now = end;
    }

    /// Adds an entry to table 0 that does these actions at once.
    pub fn add(&mut self, priority: u16, fields: &[MatchField], actions: &[Action]) {
        let instructions = [Instruction::ApplyActions(Actions::of(actions))];
        self.tell(&Message::FlowMod(FlowMod {
            priority,
            matching: Fields::of(fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        }));
    }

    /// Returns the frames that left since the last time, with their ports.
    pub fn take_sent(&mut self) -> Vec<(u32, Vec<u8>)> {
        let sent = self.sent.drain(..);
        sent.map(|it| (it.port.0, it.frame)).collect()
    }

    /// Sends a message and returns the error that it is answered with.
    pub fn refused(&mut self, message: &Message<'_>) -> ErrorKind {
        let answers = self.ask(message);
        match answers.first().map(Answer::message) {
            Some(Message::Error(error)) => error.kind,
            other => panic!("not refused, but {other:?}"),
        }
    }

    /// Sends a message and returns the answers to it.
    pub fn ask(&mut self, message: &Message<'_>) -> Vec<Answer> {
        let mut bytes = Vec::new();
        message.emit(TransactionId(7), &mut bytes);
        self.receive(CONTROLLER, &bytes);
        self.answers(CONTROLLER)
    }

    /// Sends a message that is carried out without an answer.
    pub fn tell(&mut self, message: &Message<'_>) {
        let answers = self.ask(message);
        assert!(answers.is_empty(), "refused: {:?}", answers[0].message());
    }

    /// Returns the messages to a controller since the last time.
    pub fn answers(&mut self, connection: ConnectionId) -> Vec<Answer> {
        let framer = self.framers.entry(connection).or_default();
        let mut answers = Vec::new();
        while let Some(bytes) = framer
            .next_message()
            .expect("the switch sends whole messages")
        {
            answers.push(Answer(bytes.to_vec()));
        }
        answers
    }

    fn drain(&mut self) {
        while let Some(output) = self.switch.poll() {
            match output {
                Output::Transmit {
                    port,
                    queue,
                    bytes,
                    departs,
                    stay,
                } => {
                    self.sent.push(Sent {
                        port,
                        queue,
                        frame: bytes.to_vec(),
                        begins: self.now,
                        departs,
                    });
                    self.switch.left(stay, departs);
                }
                Output::Send { connection, bytes } => {
                    self.framers.entry(connection).or_default().push(bytes);
                }
                Output::Close { connection, reason } => self.closed.push((connection, reason)),
                Output::Count => {}
            }
        }
    }
}

/// A message from the switch.
pub struct Answer(Vec<u8>);

impl Answer {
    pub fn header(&self) -> Header {
        Header::parse(&self.0).expect("the switch sends whole messages")
    }

    /// The same, from a switch that speaks version 1.0.
    pub fn narrow(&self) -> openflow10::Message<'_> {
        let parsed = openflow10::Message::parse(&self.0);
        parsed.expect("the switch sends good messages").1
    }

    pub fn message(&self) -> Message<'_> {
        let (_, message) = Message::parse(&self.0).expect("the switch sends good messages");
        message
    }
}

/// Ports numbered from 1.
pub fn ports(count: u8, rate: Option<BitRate>) -> Vec<PortConfig> {
    let ports = (1..=count).map(|number| PortConfig {
        number: PortNumber(u32::from(number)),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, number]),
        rate,
        pacing: Pacing::Core,
    });
    ports.collect()
}

/// The action to send out of a port.
pub fn output(port: u32) -> Action {
    Action::output(PortNumber(port))
}

/// The match on the port of arrival.
pub fn from(port: u32) -> MatchField {
    MatchField::InPort(PortNumber(port))
}

/// A switch with three ports without a rate.
pub fn unpaced() -> Config {
    patient(Config::new(DatapathId(1), ports(3, None)))
}

/// A switch with three ports of 100 Mbit/s.
pub fn paced() -> Config {
    patient(Config::new(
        DatapathId(1),
        ports(3, Some(BitRate::from_mbps(100))),
    ))
}

/// The controllers of most tests say nothing unless the test wants it.
fn patient(config: Config) -> Config {
    Config {
        keep_alive: None,
        ..config
    }
}
