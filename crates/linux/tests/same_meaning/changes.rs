//! Messages that change the tables of a switch.

use units::{BitRate, DataSize, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::taktos::{
    Eliminate, ExceedAction, FrameLimit, Police, RecoveryAlgorithm, SequenceEncoding, StreamHandle,
    TrailerAction,
};
use wire::openflow::{
    Action, Actions, Band, Bands, Bucket, Buckets, BufferId, ControllerLength, Cookie, Fields,
    FlowMod, FlowModCommand, FlowModFlags, FragmentHandling, GroupId, GroupMod, GroupModCommand,
    GroupType, Instruction, Instructions, Message, MeterFlags, MeterId, MeterMod, MeterModCommand,
    PacketOut, PortConfig, PortFeatures, PortMod, PortNumber, SwitchConfig, TableId, TransactionId,
};
use wire::prp::Lan;

use crate::actions::{Repertoire, bucket};
use crate::matching::Matching;
use crate::pools::METADATA;
use crate::random::Random;
use crate::template::Template;

const GROUPS: [u32; 6] = [1, 2, 3, 4, 5, 6];
const METERS: [u32; 4] = [1, 2, 3, 4];

/// Draws changes of one switch, and remembers what they made.
#[derive(Debug)]
pub struct Changes {
    pub repertoire: Repertoire,
    pub tables: u8,
    pub meters: Vec<u32>,
    /// How often in a hundred an entry that is not in the last table leads on.
    pub gotos: u64,
    /// What entries were added for, with their tables and priorities.
    pub entries: Vec<(u8, u16, Matching)>,
    transaction: u32,
}

/// What one entry is to do.
#[derive(Debug, Default)]
struct Doing {
    meter: Option<u32>,
    apply: Vec<Action>,
    clear: bool,
    write: Vec<Action>,
    metadata: Option<(u64, u64)>,
    goto: Option<u8>,
}

impl Changes {
    pub fn new(repertoire: Repertoire, tables: u8, gotos: u64) -> Self {
        Self {
            repertoire,
            tables,
            meters: Vec::new(),
            gotos,
            entries: Vec::new(),
            transaction: 0,
        }
    }

    /// Returns a message's bytes, with a number of its own.
    pub fn bytes(&mut self, message: &Message<'_>) -> Vec<u8> {
        self.transaction += 1;
        let mut bytes = Vec::new();
        message.emit(TransactionId(self.transaction), &mut bytes);
        bytes
    }

    /// Adds an entry for frames like the template.
    pub fn add(&mut self, random: &mut Random, template: &Template) -> Vec<u8> {
        let table = self.table(random);
        let matching = Matching::draw(random, template, self.repertoire.ports, table);
        let priority = random.pick(&[1, 5, 5, 7, 9]);
        self.entries.push((table, priority, matching.clone()));
        let flow_mod = FlowMod {
            cookie: Cookie(random.below(4)),
            priority,
            flags: flags(random),
            idle_timeout_s: seconds(random),
            hard_timeout_s: seconds(random),
            ..FlowMod::add(TableId(table))
        };
        self.flow_mod(random, flow_mod, &matching)
    }

    /// Adds an entry for all frames that no other is for.
    pub fn add_last(&mut self, random: &mut Random, table: u8) -> Vec<u8> {
        let flow_mod = FlowMod::add(TableId(table));
        self.flow_mod(random, flow_mod, &Matching::default())
    }

    pub fn change(&mut self, random: &mut Random) -> Vec<u8> {
        let default = (0, 0, Matching::default());
        let (table, priority, mut matching) = match self.entries.len() {
            0 => default,
            count => self.entries[random.between(0, count - 1)].clone(),
        };
        if random.percent(30) {
            matching.fields.truncate(1);
        }
        let command = match random.below(8) {
            0..=2 => FlowModCommand::Modify,
            3 | 4 => FlowModCommand::ModifyStrict,
            5 | 6 => FlowModCommand::DeleteStrict,
            _ => FlowModCommand::Delete,
        };
        let everywhere = command == FlowModCommand::Delete && random.percent(10);
        let flow_mod = FlowMod {
            command,
            priority,
            flags: flags(random),
            ..FlowMod::add(if everywhere {
                TableId::ALL
            } else {
                TableId(table)
            })
        };
        self.flow_mod(random, flow_mod, &matching)
    }

    fn table(&self, random: &mut Random) -> u8 {
        let most = usize::from(self.tables) - 1;
        let one = random.between(0, most);
        u8::try_from(one.min(random.between(0, most))).unwrap()
    }

    fn flow_mod(
        &mut self,
        random: &mut Random,
        flow_mod: FlowMod<'_>,
        matching: &Matching,
    ) -> Vec<u8> {
        let table = match flow_mod.table {
            TableId::ALL => 0,
            TableId(table) => table,
        };
        let mut doing = self.doing(random, table, matching);
        if random.percent(12) {
            let at = random.between(0, doing.apply.len());
            doing.apply.insert(at, of_stream(random));
        }
        if doing.meter.is_none() && random.percent(15) {
            doing.apply.insert(0, Action::Police(contract(random)));
        }
        let mut instructions = Vec::new();
        instructions.extend(doing.meter.map(|meter| Instruction::Meter(MeterId(meter))));
        if !doing.apply.is_empty() {
            instructions.push(Instruction::ApplyActions(Actions::of(&doing.apply)));
        }
        if doing.clear {
            instructions.push(Instruction::ClearActions);
        }
        if !doing.write.is_empty() {
            instructions.push(Instruction::WriteActions(Actions::of(&doing.write)));
        }
        let metadata = doing.metadata;
        instructions
            .extend(metadata.map(|(metadata, mask)| Instruction::WriteMetadata { metadata, mask }));
        let goto = doing.goto;
        instructions.extend(goto.map(|table| Instruction::GotoTable(TableId(table))));
        self.bytes(&Message::FlowMod(FlowMod {
            matching: Fields::of(&matching.fields),
            instructions: Instructions::of(&instructions),
            ..flow_mod
        }))
    }

    fn doing(&self, random: &mut Random, table: u8, matching: &Matching) -> Doing {
        let mut doing = Doing::default();
        let goto = table + 1 < self.tables && random.percent(self.gotos);
        if goto {
            let next = random.between(usize::from(table) + 1, usize::from(self.tables) - 1);
            doing.goto = u8::try_from(next).ok();
        }
        if !self.meters.is_empty() && random.percent(30) {
            doing.meter = Some(random.pick(&self.meters));
        }
        if random.percent(if goto { 50 } else { 85 }) {
            let most = if random.percent(3) { 40 } else { 5 };
            doing.apply = self.repertoire.list(random, matching, most);
            if random.percent(50) {
                doing.apply.push(self.repertoire.output(random));
            }
        }
        if random.percent(30) {
            let known = match table {
                0 => matching.clone(),
                _ => Matching::default(),
            };
            doing.write = self.repertoire.list(random, &known, 4);
            if random.percent(60) {
                doing.write.push(self.repertoire.output(random));
            }
        }
        doing.clear = random.percent(6);
        if random.percent(15) {
            doing.metadata = Some((random.pick(&METADATA), random.pick(&METADATA)));
        }
        doing
    }

    /// Adds, changes or removes a group.
    pub fn group(&mut self, random: &mut Random) -> Vec<u8> {
        let group = random.pick(&GROUPS);
        let known = self.repertoire.groups.contains(&group);
        let command = match (known, random.below(12)) {
            (true, 0) => GroupModCommand::Delete,
            (true, _) => GroupModCommand::Modify,
            (false, _) => GroupModCommand::Add,
        };
        match command {
            GroupModCommand::Add => self.repertoire.groups.push(group),
            GroupModCommand::Modify => {}
            GroupModCommand::Delete => self.repertoire.groups.retain(|it| *it != group),
        }
        let kind = random.pick(&[
            GroupType::All,
            GroupType::Select,
            GroupType::Select,
            GroupType::Indirect,
            GroupType::FastFailover,
            GroupType::FastFailover,
        ]);
        // Groups lead to those of lower numbers, or it might be a loop.
        let below = self.repertoire.groups.iter().copied();
        let below: Vec<u32> = below.filter(|it| *it < group).collect();
        let count = match kind {
            GroupType::Indirect => 1,
            GroupType::All | GroupType::Select | GroupType::FastFailover => {
                match random.once_in(40) {
                    true => random.between(60, 70),
                    false => random.between(0, 4),
                }
            }
        };
        let lists: Vec<_> = (0..count)
            .map(|_| bucket(&self.repertoire, random, &below))
            .collect();
        let buckets = lists.iter().map(|actions| Bucket {
            actions: Actions::of(actions),
            ..self.watching(random, kind, &below)
        });
        let buckets: Vec<_> = buckets.collect();
        let buckets = match command {
            GroupModCommand::Add | GroupModCommand::Modify => Buckets::of(&buckets),
            GroupModCommand::Delete => Buckets::EMPTY,
        };
        self.bytes(&Message::GroupMod(GroupMod {
            command,
            kind,
            group: GroupId(group),
            buckets,
        }))
    }

    /// Returns a bucket without actions.
    fn watching(&self, random: &mut Random, kind: GroupType, groups: &[u32]) -> Bucket<'static> {
        let port = random.between(1, usize::from(self.repertoire.ports));
        let port = PortNumber(u32::try_from(port).unwrap());
        let failover = kind == GroupType::FastFailover;
        let watches_group = !groups.is_empty() && random.percent(15);
        let mut bucket = Bucket::new(Actions::EMPTY);
        if watches_group {
            bucket.watch_group = GroupId(random.pick(groups));
        }
        if failover && (!watches_group || random.percent(20)) || random.percent(15) {
            bucket.watch_port = port;
        }
        if kind == GroupType::Select {
            bucket.weight = random.pick(&[0, 1, 1, 2, 7, 0xffff]);
        }
        bucket
    }

    /// Adds, changes or removes a meter.
    pub fn meter(&mut self, random: &mut Random) -> Vec<u8> {
        let meter = random.pick(&METERS);
        let known = self.meters.contains(&meter);
        let command = match (known, random.below(10)) {
            (true, 0) => MeterModCommand::Delete,
            (true, _) => MeterModCommand::Modify,
            (false, _) => MeterModCommand::Add,
        };
        match command {
            MeterModCommand::Add => self.meters.push(meter),
            MeterModCommand::Modify => {}
            MeterModCommand::Delete => self.meters.retain(|it| *it != meter),
        }
        let unit = random.pick(&[MeterFlags::KBPS, MeterFlags::PACKETS_PER_SECOND]);
        let burst = random.pick(&[0, MeterFlags::BURST.0]);
        let bands: Vec<_> = (0..random.between(0, 3)).map(|_| band(random)).collect();
        self.bytes(&Message::MeterMod(MeterMod {
            command,
            flags: MeterFlags(unit.0 | burst),
            meter: MeterId(meter),
            bands: Bands::of(&bands),
        }))
    }

    /// Changes what a port may do.
    pub fn port(&mut self, random: &mut Random) -> Vec<u8> {
        let number = random.between(1, usize::from(self.repertoire.ports));
        let number = u8::try_from(number).unwrap();
        let no_flood = PortConfig(1 << 4);
        let mask = random.pick(&[
            PortConfig::PORT_DOWN,
            PortConfig::NO_RECEIVE,
            PortConfig::NO_FORWARD,
            PortConfig::NO_PACKET_IN,
            no_flood,
        ]);
        let config = match random.percent(40) {
            true => mask,
            false => PortConfig::NONE,
        };
        self.bytes(&Message::PortMod(PortMod {
            port: PortNumber(u32::from(number)),
            address: address(number),
            config,
            mask,
            advertise: PortFeatures::NONE,
        }))
    }

    pub fn packet_out(&mut self, random: &mut Random, frame: &[u8]) -> Vec<u8> {
        let in_port = random.pick(&[PortNumber::CONTROLLER, PortNumber(1), PortNumber(2)]);
        let mut actions = self.repertoire.list(random, &Matching::default(), 3);
        actions.push(match random.percent(60) {
            true => Action::output(PortNumber::TABLE),
            false => self.repertoire.output(random),
        });
        self.bytes(&Message::PacketOut(PacketOut {
            buffer: BufferId::NONE,
            in_port,
            actions: Actions::of(&actions),
            data: frame,
        }))
    }

    /// Says what becomes of fragments.
    pub fn fragments(&mut self, random: &mut Random) -> Vec<u8> {
        let fragments = random.pick(&[FragmentHandling::Normal, FragmentHandling::Drop]);
        self.bytes(&Message::SetConfig(SwitchConfig {
            fragments,
            miss_send_length: ControllerLength(128),
        }))
    }
}

/// Returns the address of a port.
pub fn address(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 1, number])
}

fn flags(random: &mut Random) -> FlowModFlags {
    let mut flags = FlowModFlags::NONE.0;
    for (flag, often) in [
        (FlowModFlags::SEND_FLOW_REMOVED, 20),
        (FlowModFlags::CHECK_OVERLAP, 4),
        (FlowModFlags::RESET_COUNTS, 10),
        (FlowModFlags::NO_PACKET_COUNTS, 4),
        (FlowModFlags::NO_BYTE_COUNTS, 4),
    ] {
        if random.percent(often) {
            flags |= flag.0;
        }
    }
    FlowModFlags(flags)
}

fn seconds(random: &mut Random) -> u16 {
    match random.percent(8) {
        true => random.pick(&[1, 2, 5]),
        false => 0,
    }
}

fn band(random: &mut Random) -> Band {
    let rate = random.pick(&[1, 10, 100, 1_000, 100_000, u32::MAX]);
    let burst = random.pick(&[1, 2, 16, 100]);
    match random.percent(50) {
        true => Band::Drop { rate, burst },
        false => Band::DscpRemark {
            rate,
            burst,
            levels: random.pick(&[0, 1, 2, 3]),
        },
    }
}

/// Returns what numbers frames of a stream, or ends copies.
fn of_stream(random: &mut Random) -> Action {
    let stream = StreamHandle(random.pick(&[1, 2]));
    match random.below(10) {
        0..2 => return Action::Sequence(stream),
        2..4 => return Action::Trailer(TrailerAction::Number(stream)),
        4 => return Action::Trailer(TrailerAction::Lan(random.pick(&[Lan::A, Lan::B]))),
        _ => {}
    }
    Action::Eliminate(Eliminate {
        stream,
        algorithm: random.pick(&[
            RecoveryAlgorithm::Vector,
            RecoveryAlgorithm::Match,
            RecoveryAlgorithm::DuplicateDiscard,
        ]),
        history: random.pick(&[2, 4, 63, 64]),
        reset: Duration::from_ms(random.pick(&[1, 100, 3_600_000])),
        takes_unnumbered: random.percent(50),
        strips_tag: random.percent(50),
        encoding: random.pick(&[SequenceEncoding::RTag, SequenceEncoding::Prp]),
        ways: None,
        tolerance: 0,
        hold: Duration::ZERO,
    })
}

/// Returns a contract that frames of the pools keep and exceed.
fn contract(random: &mut Random) -> Police {
    let largest = DataSize::from_bytes(random.pick(&[84, 700, 1_600]));
    let limit = FrameLimit {
        rate: random.pick(&[1, 2_000_000_000, 1 << 60]),
        burst: random.pick(&[1_000_000, 3_500_000, 9_000_000_000]),
    };
    Police {
        smallest: DataSize::from_bytes(random.pick(&[0, 84])),
        largest,
        rate: BitRate::from_bps(random.pick(&[1, 10_000_000, 1 << 60])),
        burst: largest + DataSize::from_bytes(random.pick(&[0, 100, 5_000, 1_000_000_000])),
        frames: random.percent(50).then_some(limit),
        excess: random.pick(&[ExceedAction::Drop, ExceedAction::BestEffort]),
    }
}
