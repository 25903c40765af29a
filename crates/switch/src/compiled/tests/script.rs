//! A switch, its controller, and walks that begin and end at any time.

use proptest::prelude::*;
use units::{Duration, Instant, Seeded};
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::MonitorId;
use wire::openflow::{
    Action, Actions, Band, Bands, Bucket, Buckets, BundleAdd, BundleControl, BundleControlKind,
    BundleFlags, BundleId, DatapathId, Fields, FlowMod, FlowModCommand, GroupId, GroupMod,
    GroupModCommand, GroupType, Hello, Instruction, Instructions, MatchField, Message, MeterFlags,
    MeterId, MeterMod, MeterModCommand, PortNumber, Sequence, TableId, TransactionId,
};

use super::super::form::Form;
use super::super::layout::{Region, busy, line, settings};
use super::super::publication::{Carried, Overflow};
use super::super::walk::Walk;
use super::super::{Memory, Sizes};
use super::description::{Describing, Seen};
use super::expected;
use crate::packet_key::PacketKey;
use crate::{Config, ConnectionId, Input, Link, Pacing, Peer, PortConfig, Switch};

const CONNECTION: ConnectionId = ConnectionId(1);
const TABLES: u8 = 3;
const PROCESSORS: usize = 2;
const PORTS: u8 = 4;
const BUNDLE: BundleId = BundleId(1);

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Add {
        table: u8,
        mask: u8,
        value: u8,
        does: u8,
    },
    Modify {
        table: u8,
        mask: u8,
        value: u8,
        does: u8,
    },
    Delete {
        table: u8,
        mask: u8,
        value: u8,
    },
    DeleteMany {
        table: u8,
        value: u8,
    },
    AddGroup {
        group: u8,
        does: u8,
    },
    ChangeGroup {
        group: u8,
        does: u8,
    },
    DeleteGroup {
        group: u8,
    },
    AddMeter {
        meter: u8,
        does: u8,
    },
    ChangeMeter {
        meter: u8,
        does: u8,
    },
    DeleteMeter {
        meter: u8,
    },
    Link {
        port: u8,
        up: bool,
    },
    OpenBundle,
    CommitBundle,
    /// A bundle that fails at its end.
    SpoilBundle,
    Publish,
    BeginWalk,
    EndWalk {
        oldest: bool,
    },
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let entry = || (0..TABLES, 0u8..12, 0u8..8, any::<u8>());
    let small = || (0u8..6, any::<u8>());
    let step = prop_oneof![
        8 => entry().prop_map(|(table, mask, value, does)| Step::Add { table, mask, value, does }),
        3 => entry().prop_map(|(table, mask, value, does)| Step::Modify { table, mask, value, does }),
        3 => entry().prop_map(|(table, mask, value, _)| Step::Delete { table, mask, value }),
        1 => (0..TABLES, 0u8..8).prop_map(|(table, value)| Step::DeleteMany { table, value }),
        3 => small().prop_map(|(group, does)| Step::AddGroup { group, does }),
        4 => small().prop_map(|(group, does)| Step::ChangeGroup { group, does }),
        1 => (0u8..6).prop_map(|group| Step::DeleteGroup { group }),
        1 => small().prop_map(|(meter, does)| Step::AddMeter { meter, does }),
        1 => small().prop_map(|(meter, does)| Step::ChangeMeter { meter, does }),
        1 => (0u8..6).prop_map(|meter| Step::DeleteMeter { meter }),
        1 => (1..=PORTS, any::<bool>()).prop_map(|(port, up)| Step::Link { port, up }),
        1 => Just(Step::OpenBundle),
        1 => Just(Step::CommitBundle),
        1 => Just(Step::SpoilBundle),
        6 => Just(Step::Publish),
        2 => Just(Step::BeginWalk),
        2 => any::<bool>().prop_map(|oldest| Step::EndWalk { oldest }),
    ];
    prop::collection::vec(step, 1..150)
}

/// A walk with everything that it saw at its beginning.
struct UnderWay {
    processor: usize,
    generation: u64,
    saw: Vec<Seen>,
}

pub(super) struct Script {
    switch: Switch,
    now: Instant,
    /// Whether messages go into a bundle.
    bundling: bool,
    walks: Vec<UnderWay>,
    transaction: u32,
}

impl Script {
    pub(super) fn new(entries: usize) -> Self {
        let config = config();
        let sizes = Sizes::new(&config, entries, PROCESSORS);
        let mut script = Self {
            switch: Switch::new(Instant::ZERO, config),
            now: Instant::ZERO,
            bundling: false,
            walks: Vec::new(),
            transaction: 1,
        };
        script
            .switch
            .compile_into(Memory::private(sizes), Overflow::ToCore);
        for number in 1..PORTS {
            let carried = Carried {
                interface: number.into(),
                class: 0x0001_0010,
            };
            script.switch.carry_port(PortNumber(number.into()), carried);
        }
        script.handle(Input::Connected {
            connection: CONNECTION,
            peer: Peer::Controller,
        });
        let mut hello = Vec::new();
        Hello::OURS.emit(TransactionId(0), &mut hello);
        script.receive(&hello);
        script
    }

    pub(super) fn form(&self) -> &Form {
        self.switch.pipeline.form.as_deref().expect("it is kept")
    }

    fn memory(&self) -> &Memory {
        self.form().store.memory()
    }

    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Add {
                table,
                mask,
                value,
                does,
            } => {
                self.flow_mod(FlowModCommand::Add, table, mask, value, does);
            }
            Step::Modify {
                table,
                mask,
                value,
                does,
            } => {
                self.flow_mod(FlowModCommand::ModifyStrict, table, mask, value, does);
            }
            Step::Delete { table, mask, value } => {
                self.flow_mod(FlowModCommand::DeleteStrict, table, mask, value, 0);
            }
            Step::DeleteMany { table, value } => {
                self.flow_mod(FlowModCommand::Delete, table, 1, value, 0);
            }
            Step::AddGroup { group, does } => self.group_mod(GroupModCommand::Add, group, does),
            Step::ChangeGroup { group, does } => {
                self.group_mod(GroupModCommand::Modify, group, does);
            }
            Step::DeleteGroup { group } => self.group_mod(GroupModCommand::Delete, group, 0),
            Step::AddMeter { meter, does } => self.meter_mod(MeterModCommand::Add, meter, does),
            Step::ChangeMeter { meter, does } => {
                self.meter_mod(MeterModCommand::Modify, meter, does);
            }
            Step::DeleteMeter { meter } => self.meter_mod(MeterModCommand::Delete, meter, 0),
            Step::Link { port, up } => {
                let link = if up { Link::Up } else { Link::Down };
                let port = PortNumber(port.into());
                self.handle(Input::Port { port, link });
            }
            Step::OpenBundle => {
                self.control(BundleControlKind::OpenRequest);
                self.bundling = true;
            }
            Step::CommitBundle => self.end_bundle(),
            Step::SpoilBundle => {
                // No message before made such a group.
                self.group_mod(GroupModCommand::Modify, 99, 0);
                self.end_bundle();
            }
            Step::Publish => self.publish(),
            Step::BeginWalk => self.begin_walk(),
            Step::EndWalk { oldest } if !self.walks.is_empty() => {
                let at = if oldest { 0 } else { self.walks.len() - 1 };
                self.end_walk(at);
            }
            Step::EndWalk { .. } => {}
        }
    }

    /// Asserts that every walk still sees what it saw at its beginning.
    pub(super) fn check_walks(&self) {
        for walk in &self.walks {
            let again = Describing(Walk::at(self.memory(), walk.generation));
            assert_eq!(saw(&again), walk.saw);
        }
    }

    /// Ends all walks, and asserts that a new one sees the tables as they are.
    pub(super) fn check_present(&mut self) {
        self.finish();
        assert!(self.switch.is_published());
        let walk = Describing(Walk::begin(self.memory()));
        for table in 0..TABLES {
            for key in keys() {
                let found = walk.find(table.into(), &key);
                expected::check(&self.switch.pipeline, table, &key, &found);
                expected::check_step(&self.switch.pipeline, table, &key, &walk.0);
            }
        }
        expected::check_groups(&self.switch.pipeline, &walk);
    }

    pub(super) fn finish(&mut self) {
        while !self.walks.is_empty() {
            self.end_walk(0);
        }
        while !self.switch.is_published() {
            self.publish();
        }
        assert!(self.switch.settle());
    }

    pub(super) fn delete_entries(&mut self) {
        self.bundling = false;
        let all = FlowMod {
            command: FlowModCommand::Delete,
            ..FlowMod::add(TableId::ALL)
        };
        self.tell(&Message::FlowMod(all));
        self.finish();
    }

    pub(super) fn delete_all(&mut self) {
        self.delete_entries();
        self.tell(&Message::GroupMod(GroupMod {
            command: GroupModCommand::Delete,
            kind: GroupType::All,
            group: GroupId::ALL,
            buckets: Buckets::EMPTY,
        }));
        self.tell(&Message::MeterMod(MeterMod {
            command: MeterModCommand::Delete,
            flags: MeterFlags::default(),
            meter: MeterId::ALL,
            bands: Bands::EMPTY,
        }));
        self.finish();
    }

    /// Returns whether nothing is left to be waited for.
    pub(super) fn settles(&mut self) -> bool {
        self.switch.settle()
    }

    /// Adds entries of one mask.
    pub(super) fn fill(&mut self, values: std::ops::Range<u16>) {
        values.for_each(|value| self.change_filled(FlowModCommand::Add, value));
        self.finish();
    }

    pub(super) fn unfill(&mut self, values: std::ops::Range<u16>) {
        values.for_each(|value| self.change_filled(FlowModCommand::DeleteStrict, value));
        self.finish();
    }

    /// Asserts that each of these entries is found if it is there.
    pub(super) fn check_filled(&self, values: std::ops::Range<u16>) {
        let walk = Describing(Walk::begin(self.memory()));
        for value in values {
            let mut words = [0; crate::packet_key::WORDS];
            words[2] = scattered(value) << 16;
            let key = PacketKey::from_words(words);
            expected::check(&self.switch.pipeline, 0, &key, &walk.find(0, &key));
        }
    }

    /// Adds entries that differ only in priority, or removes them.
    pub(super) fn pile(&mut self, command: FlowModCommand, priorities: std::ops::Range<u16>) {
        for priority in priorities {
            let actions = [output(1)];
            let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
            let fields = [MatchField::EthDst(Masked::exact(MacAddress([2; 6])))];
            self.tell(&Message::FlowMod(FlowMod {
                command,
                priority,
                matching: Fields::of(&fields),
                instructions: Instructions::of(&instructions),
                ..FlowMod::add(TableId(0))
            }));
        }
        self.finish();
    }

    /// Asserts that a frame meets the best of them.
    pub(super) fn check_pile(&self) {
        let mut words = [0; crate::packet_key::WORDS];
        words[2] = 0x0202_0202_0202 << 16;
        let key = PacketKey::from_words(words);
        let found = Describing(Walk::begin(self.memory())).find(0, &key);
        expected::check(&self.switch.pipeline, 0, &key, &found);
        assert_eq!(
            self.form().why_table(0),
            None,
            "no table is left to the core"
        );
    }

    /// Returns how many lines have entries elsewhere.
    pub(super) fn spilled(&self) -> usize {
        let memory = self.memory();
        let lines = 0..memory.sizes().records(Region::Lines);
        let spilled = lines.filter(|line| {
            let words = memory.record(Region::Lines, *line);
            words.get(line::SPILLED) > 0
        });
        spilled.count()
    }

    fn change_filled(&mut self, command: FlowModCommand, value: u16) {
        let [_, _, a, b, c, d, e, f] = scattered(value).to_be_bytes();
        let address = MacAddress([a, b, c, d, e, f]);
        let fields = [MatchField::EthDst(Masked::exact(address))];
        let actions = [output(1)];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        self.tell(&Message::FlowMod(FlowMod {
            command,
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        }));
    }

    fn publish(&mut self) {
        if self.switch.settle() {
            self.switch.publish();
            if self.switch.is_published() {
                let walk = Describing(Walk::begin(self.memory()));
                for (table, key) in (0..TABLES).cycle().zip(keys().take(12)) {
                    let found = walk.find(table.into(), &key);
                    expected::check(&self.switch.pipeline, table, &key, &found);
                }
            }
        }
    }

    fn begin_walk(&mut self) {
        let busy = |it: usize| self.walks.iter().any(|walk| walk.processor == it);
        if let Some(processor) = (0..PROCESSORS).find(|it| !busy(*it)) {
            self.mark(processor);
            let settings = self.memory().record(Region::Settings, 0);
            let generation = settings.get(settings::GENERATION);
            let saw = saw(&Describing(Walk::at(self.memory(), generation)));
            self.walks.push(UnderWay {
                processor,
                generation,
                saw,
            });
        }
    }

    fn end_walk(&mut self, at: usize) {
        let UnderWay {
            processor,
            generation,
            saw: expected,
        } = self.walks.remove(at);
        let walk = Describing(Walk::at(self.memory(), generation));
        assert_eq!(saw(&walk), expected);
        self.mark(processor);
    }

    /// Marks that a walk begins on a processor, or ends there.
    fn mark(&self, processor: usize) {
        let busy = self.memory().record(Region::Busy, processor);
        busy.set(busy::WALKS, busy.get(busy::WALKS) + 1);
    }

    fn end_bundle(&mut self) {
        self.bundling = false;
        self.control(BundleControlKind::CommitRequest);
    }

    fn control(&mut self, kind: BundleControlKind) {
        self.bundling = false;
        self.tell(&Message::BundleControl(BundleControl {
            bundle: BUNDLE,
            kind,
            flags: FLAGS,
            properties: Sequence::EMPTY,
        }));
    }

    fn flow_mod(&mut self, command: FlowModCommand, table: u8, mask: u8, value: u8, does: u8) {
        let fields = fields(mask, value);
        let actions = actions(does);
        let written = [output(does % PORTS + 1)];
        let mut instructions = vec![Instruction::ApplyActions(Actions::of(&actions))];
        if does.is_multiple_of(5) {
            instructions.push(Instruction::WriteActions(Actions::of(&written)));
        }
        if does.is_multiple_of(7) {
            instructions.push(Instruction::Meter(MeterId(u32::from(does % 6) + 1)));
        }
        if does.is_multiple_of(3) && table + 1 < TABLES {
            instructions.push(Instruction::GotoTable(TableId(table + 1)));
        }
        self.tell(&Message::FlowMod(FlowMod {
            command,
            priority: u16::from(value % 4) + u16::from(mask),
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(table))
        }));
    }

    fn group_mod(&mut self, command: GroupModCommand, group: u8, does: u8) {
        let kind = [
            GroupType::All,
            GroupType::Select,
            GroupType::Indirect,
            GroupType::FastFailover,
        ][usize::from(does % 4)];
        let lists: Vec<_> = (0..does / 4 % 4)
            .map(|bucket| {
                vec![
                    output((does / 16 + bucket) % PORTS + 1),
                    chained(group, does),
                ]
            })
            .collect();
        let buckets = lists.iter().map(|actions| Bucket {
            weight: u16::from(kind == GroupType::Select),
            watch_port: match kind {
                GroupType::FastFailover => PortNumber(u32::from(does % PORTS) + 1),
                _ => PortNumber::ANY,
            },
            watch_group: GroupId::ANY,
            actions: Actions::of(actions),
        });
        let buckets: Vec<_> = buckets.collect();
        self.tell(&Message::GroupMod(GroupMod {
            command,
            kind,
            group: GroupId(group.into()),
            buckets: Buckets::of(&buckets),
        }));
    }

    fn meter_mod(&mut self, command: MeterModCommand, meter: u8, does: u8) {
        let band = Band::Drop {
            rate: u32::from(does) + 1,
            burst: 0,
        };
        let bands = vec![band; usize::from(does % 4)];
        self.tell(&Message::MeterMod(MeterMod {
            command,
            flags: MeterFlags::KBPS,
            meter: MeterId(u32::from(meter) + 1),
            bands: Bands::of(&bands),
        }));
    }

    /// Sends a message, or adds it to the bundle; it may well be refused.
    fn tell(&mut self, message: &Message<'_>) {
        self.transaction += 1;
        let transaction = TransactionId(self.transaction);
        let (mut bytes, mut outer) = (Vec::new(), Vec::new());
        message.emit(transaction, &mut bytes);
        if self.bundling {
            let add = BundleAdd {
                bundle: BUNDLE,
                flags: FLAGS,
                message: &bytes,
                properties: Sequence::EMPTY,
            };
            Message::BundleAdd(add).emit(transaction, &mut outer);
            return self.receive(&outer);
        }
        self.receive(&bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.handle(Input::Received {
            connection: CONNECTION,
            bytes,
        });
        while self.switch.deadline().is_some_and(|at| at <= self.now) {
            self.handle(Input::Timeout);
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.now += Duration::from_us(1);
        self.switch.handle(self.now, input);
        while self.switch.poll().is_some() {}
    }
}

/// Returns an address without pattern for each value.
fn scattered(value: u16) -> u64 {
    Seeded::new(value.into()).number() >> 16
}

/// A switch of some ports and tables.
pub(super) fn config() -> Config {
    let ports = (1..=PORTS).map(|number| PortConfig {
        number: PortNumber(number.into()),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, number]),
        rate: None,
        pacing: Pacing::World,
    });
    Config {
        tables: TABLES,
        keep_alive: None,
        seed: 0x5eed,
        ..Config::new(DatapathId(1), ports.collect())
    }
}

const FLAGS: BundleFlags = BundleFlags::ATOMIC.with(BundleFlags::ORDERED);

fn saw(walk: &Describing<'_>) -> Vec<Seen> {
    let tables = (0..TABLES).flat_map(|table| keys().map(move |key| (table, key)));
    tables
        .map(|(table, key)| walk.find(table.into(), &key))
        .collect()
}

fn output(port: u8) -> Action {
    Action::output(PortNumber(port.into()))
}

/// Group 0 leads nowhere, group 1 to group 0, and so on.
fn chained(group: u8, does: u8) -> Action {
    match does.is_multiple_of(3) && group > 0 {
        true => Action::Group(GroupId(u32::from(group) - 1)),
        false => Action::SetQueue(wire::openflow::QueueId(u32::from(does % 8))),
    }
}

/// Some lists that the compiled form can have, and some that it cannot.
fn actions(does: u8) -> Vec<Action> {
    let port = output(does % 3 + 1);
    let monitor = Action::FlowMonitor(MonitorId(1));
    match does % 11 {
        0 => Vec::new(),
        1 => vec![Action::output(PortNumber::CONTROLLER)],
        2 => vec![Action::Group(GroupId(u32::from(does / 11 % 6)))],
        3 => vec![port; usize::from(does / 4)],
        4 => vec![Action::PushVlan(wire::ethernet::EtherType::VLAN), port],
        5 => vec![Action::output(PortNumber::ALL)],
        6 => vec![output(PORTS)],
        7 => vec![port, Action::SetQueue(wire::openflow::QueueId(1)), port],
        9 => vec![monitor, port],
        10 => vec![monitor, port, monitor],
        _ => vec![port],
    }
}

/// The match of a rule: which fields, and which values.
fn fields(mask: u8, value: u8) -> Vec<MatchField> {
    let address = |last: u8| MacAddress([2, 0, 0, 0, 0, last]);
    let bits = MacAddress([0xff, 0xff, 0xff, 0xff, 0xff, 0xff << (mask % 3)]);
    let mut fields = Vec::new();
    if mask & 1 != 0 {
        fields.push(MatchField::InPort(PortNumber(u32::from(value % 4) + 1)));
    }
    if mask & 2 != 0 {
        fields.push(MatchField::EthDst(Masked::under(
            address(value & bits.0[5]),
            bits,
        )));
    }
    if mask & 4 != 0 {
        fields.push(MatchField::EthSrc(Masked::exact(address(value))));
    }
    if mask & 8 != 0 {
        fields.push(MatchField::Metadata(Masked::under(u64::from(value % 4), 3)));
    }
    fields
}

/// Frames that match many rules.
pub(super) fn keys() -> impl Iterator<Item = PacketKey> {
    (0u64..8).flat_map(|value| {
        (0u64..3).map(move |other| {
            let mut words = [0; crate::packet_key::WORDS];
            words[0] = (value % 4 + 1) << 32;
            words[1] = value;
            words[2] = (0x0200_0000_0000 | ((value + other) % 8)) << 16;
            words[3] = (0x0200_0000_0000 | value) << 16;
            PacketKey::from_words(words)
        })
    })
}
