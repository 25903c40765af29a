//! Cases from seeds.

use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, RequestBody};
use wire::openflow::taktos::Question;
use wire::openflow::{
    BundleAdd, BundleControl, BundleControlKind, BundleFlags, BundleId, GroupId, Hello, Message,
    MeterId, PortNumber, QueueId, Sequence, TableId, TransactionId,
};
use wire::openflow10;

use crate::actions::Repertoire;
use crate::case::{Case, Setup, Step};
use crate::changes::Changes;
use crate::frame;
use crate::modes;
use crate::old_changes;
use crate::random::Random;
use crate::template::Template;

const CONTROLLER: u32 = 1;
/// A controller that speaks version 1.0, which is told about misses.
const OLD_CONTROLLER: u32 = 2;
/// Frames between two looks at everything that was counted.
const FRAMES_BETWEEN_COUNTS: usize = 24;

/// Returns the case of a seed, with so many frames.
pub fn draw(seed: u64, frames: usize) -> Case {
    let mut draft = Draft::begin(seed);
    draft.connect();
    draft.fill();
    for count in 1..=frames {
        draft.disturb();
        let port = draft.port();
        let frame = draft.frame(port);
        draft.steps.push(Step::Frame(port, frame));
        if count % FRAMES_BETWEEN_COUNTS == 0 || count == frames {
            draft.ask();
        }
    }
    Case {
        setup: draft.setup,
        steps: draft.steps,
    }
}

/// A case in the making.
struct Draft {
    random: Random,
    setup: Setup,
    templates: Vec<Template>,
    changes: Changes,
    /// Changes by the controller of version 1.0.
    old: usize,
    /// Whether modes have to do with it.
    modes: bool,
    steps: Vec<Step>,
}

impl Draft {
    fn begin(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let setup = Setup {
            ports: match random.once_in(80) {
                true => 33,
                false => random.pick(&[2, 3, 3, 4, 6]),
            },
            tables: match random.once_in(60) {
                true => 18,
                false => random.pick(&[1, 1, 2, 3, 4]),
            },
            masks: random.pick(&[4, 64, 64, 64]),
            room: random.pick(&[64, 64, 64, 128]),
            seed: random.number(),
            standalone: u8::from(random.once_in(30)),
        };
        let templates = (0..random.between(2, 8)).map(|_| Template::draw(&mut random));
        let templates = templates.collect();
        let repertoire = Repertoire {
            ports: setup.ports,
            groups: Vec::new(),
            exotic: random.pick(&[0, 0, 0, 1, 5]),
            chains: random.pick(&[15, 15, 70]),
        };
        let gotos = random.pick(&[30, 70]);
        let modes = random.once_in(3);
        Self {
            random,
            setup,
            templates,
            changes: Changes::new(repertoire, setup.tables, gotos),
            old: 0,
            modes,
            steps: Vec::new(),
        }
    }

    fn connect(&mut self) {
        let mut hello = Vec::new();
        Hello::OURS.emit(TransactionId(0), &mut hello);
        self.steps.push(Step::Connect(CONTROLLER));
        self.steps.push(Step::Message(CONTROLLER, hello));
        if self.random.once_in(12) {
            let mut hello = Vec::new();
            let old = Hello {
                version: openflow10::VERSION,
                versions: None,
            };
            old.emit(TransactionId(0), &mut hello);
            self.steps.push(Step::Connect(OLD_CONTROLLER));
            self.steps.push(Step::Message(OLD_CONTROLLER, hello));
            for _ in 0..self.random.pick(&[0, 2, 8]) {
                self.change_as_old();
            }
        }
    }

    /// Lets the controller of version 1.0 change an entry.
    fn change_as_old(&mut self) {
        let at = self.random.between(0, self.templates.len() - 1);
        let (template, ports) = (&self.templates[at], self.setup.ports);
        let message = old_changes::draw(&mut self.random, template, ports);
        self.steps.push(Step::Message(OLD_CONTROLLER, message));
        self.old += 1;
    }

    fn fill(&mut self) {
        for _ in 0..self.random.pick(&[0, 2, 4, 6]) {
            let message = self.changes.meter(&mut self.random);
            self.tell(message);
        }
        for _ in 0..self.random.pick(&[0, 2, 4, 6]) {
            let message = self.changes.group(&mut self.random);
            self.tell(message);
        }
        for table in 0..self.setup.tables {
            if self.random.percent(60) {
                let message = self.changes.add_last(&mut self.random, table);
                self.tell(message);
            }
        }
        if self.modes {
            let message = modes::config(&mut self.random, self.setup.ports);
            self.tell(message);
            for _ in 0..self.random.between(1, 6) {
                let message = modes::message(&mut self.random, self.setup.ports);
                self.tell(message);
                let message = modes::entry(&mut self.random, self.setup.ports);
                self.tell(message);
            }
        }
        let entries = self.random.pick(&[1, 3, 8, 20, 40, 80]);
        for _ in 0..entries {
            let message = self.add();
            self.tell(message);
        }
    }

    /// Does something between two frames, or nothing.
    fn disturb(&mut self) {
        if self.random.percent(15) {
            let ns = self
                .random
                .pick(&[1, 1_000, 100_000, 10_000_000, 700_000_000, 2_000_000_000]);
            self.steps.push(Step::Wait(ns));
        }
        if !self.random.percent(18) {
            return;
        }
        if self.modes && self.random.percent(25) {
            let message = modes::message(&mut self.random, self.setup.ports);
            return self.tell(message);
        }
        match self.random.below(40) {
            0..=9 => {
                let message = self.add();
                self.tell(message);
            }
            10..=19 => {
                let message = self.changes.change(&mut self.random);
                self.tell(message);
            }
            20..=23 => {
                let message = self.changes.group(&mut self.random);
                self.tell(message);
            }
            24..=26 => {
                let message = self.changes.meter(&mut self.random);
                self.tell(message);
            }
            27..=29 => {
                let message = self.changes.port(&mut self.random);
                self.tell(message);
            }
            30..=33 => {
                let up = u8::from(self.random.percent(60));
                let port = self.port();
                self.steps.push(Step::Link(port, up));
            }
            34 | 35 => self.bundle(),
            36 if self.old > 0 => self.change_as_old(),
            36 | 37 => {
                let frame = frame::draw(&mut self.random, &self.templates);
                let message = self.changes.packet_out(&mut self.random, &frame);
                self.tell(message);
            }
            38 => {
                let message = self.changes.fragments(&mut self.random);
                self.tell(message);
            }
            _ => self.reconnect(),
        }
    }

    fn reconnect(&mut self) {
        if self.setup.standalone == 1 {
            self.steps.push(Step::Disconnect(CONTROLLER));
            for _ in 0..self.random.between(0, 4) {
                let frame = frame::draw(&mut self.random, &self.templates);
                let port = self.port();
                self.steps.push(Step::Frame(port, frame));
            }
            let mut hello = Vec::new();
            Hello::OURS.emit(TransactionId(0), &mut hello);
            self.steps.push(Step::Connect(CONTROLLER));
            self.steps.push(Step::Message(CONTROLLER, hello));
        }
    }

    fn bundle(&mut self) {
        let bundle = BundleId(7);
        let flags = BundleFlags(self.random.pick(&[0, 1, 2, 3]));
        let mut messages = Vec::new();
        for _ in 0..self.random.between(1, 6) {
            messages.push(match self.random.below(10) {
                0 => self.changes.group(&mut self.random),
                1..=4 => self.changes.change(&mut self.random),
                _ => self.add(),
            });
        }
        self.control(bundle, flags, BundleControlKind::OpenRequest);
        for message in messages {
            // The envelope has the number of what is in it.
            let mut bytes = Vec::new();
            let transaction = TransactionId(u32::from_be_bytes(message[4..8].try_into().unwrap()));
            Message::BundleAdd(BundleAdd {
                bundle,
                flags,
                message: &message,
                properties: Sequence::EMPTY,
            })
            .emit(transaction, &mut bytes);
            self.tell(bytes);
        }
        self.control(bundle, flags, BundleControlKind::CloseRequest);
        let end = match self.random.percent(85) {
            true => BundleControlKind::CommitRequest,
            false => BundleControlKind::DiscardRequest,
        };
        self.control(bundle, flags, end);
    }

    fn control(&mut self, bundle: BundleId, flags: BundleFlags, kind: BundleControlKind) {
        let message = self.changes.bytes(&Message::BundleControl(BundleControl {
            bundle,
            kind,
            flags,
            properties: Sequence::EMPTY,
        }));
        self.tell(message);
    }

    /// Asks for everything that was counted.
    fn ask(&mut self) {
        for body in [
            RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL)),
            RequestBody::Aggregate(FlowStatisticsRequest::all(TableId::ALL)),
            RequestBody::Table,
            RequestBody::PortStatistics(PortNumber::ANY),
            RequestBody::Queue {
                port: PortNumber::ANY,
                queue: QueueId::ALL,
            },
            RequestBody::Group(GroupId::ALL),
            RequestBody::Meter(MeterId::ALL),
            RequestBody::Experimenter(Question::Losses.body()),
            RequestBody::Experimenter(Question::Policed.body()),
            RequestBody::Experimenter(Question::Streams.body()),
            RequestBody::Experimenter(Question::Modes.body()),
            RequestBody::Experimenter(Question::Monitors.body()),
        ] {
            let request = Message::MultipartRequest(MultipartRequest::new(body));
            let message = self.changes.bytes(&request);
            self.tell(message);
        }
    }

    fn add(&mut self) -> Vec<u8> {
        let at = self.random.between(0, self.templates.len() - 1);
        self.changes.add(&mut self.random, &self.templates[at])
    }

    fn tell(&mut self, message: Vec<u8>) {
        self.steps.push(Step::Message(CONTROLLER, message));
    }

    fn frame(&mut self, port: u8) -> Vec<u8> {
        match self.modes && self.random.percent(50) {
            true => modes::frame(&mut self.random, port),
            false => frame::draw(&mut self.random, &self.templates),
        }
    }

    fn port(&mut self) -> u8 {
        u8::try_from(self.random.between(1, usize::from(self.setup.ports))).unwrap()
    }
}
