//! A process that goes on from what another one wrote down before it died: as far as
//! controllers and frames can tell, it is the same switch.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use switch::compiled::layout::{Region, settings};
use switch::compiled::{Carried, Memory, Overflow, Sizes, Words};
use switch::{Config, Input, ResumeError, RetainedState, StateLog, Switch};
use units::{BitRate, DataSize, Duration};
use wire::ethernet::EtherType;
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{ExceedAction, Police, Question, StreamHandle};
use wire::openflow::{
    Action, Actions, Band, Bands, Bucket, Buckets, ControllerLength, Fields, FlowMod,
    FlowModCommand, FragmentHandling, GroupId, GroupMod, GroupModCommand, GroupType, Instruction,
    Instructions, MatchField, Message, MeterFlags, MeterId, MeterMod, MeterModCommand, PortConfig,
    PortFeatures, PortMod, PortNumber, SwitchConfig, TableId,
};

use crate::frames::frame;
use crate::world::{CONTROLLER, World, output, ports, unpaced};

const STREAM: StreamHandle = StreamHandle(3);
const CONTRACT: Police = Police {
    smallest: DataSize::from_bytes(84),
    largest: DataSize::from_bytes(1_000),
    rate: BitRate::from_mbps(8),
    burst: DataSize::from_bytes(3_000),
    frames: None,
    excess: ExceedAction::Drop,
};

/// Words of two processes.
#[derive(Clone, Debug)]
struct Shared(Arc<Vec<AtomicU64>>);

impl Words for Shared {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn get(&self, at: usize) -> u64 {
        self.0[at].load(Ordering::Relaxed)
    }

    fn set(&self, at: usize, value: u64) {
        self.0[at].store(value, Ordering::Relaxed);
    }

    fn replace(&self, at: usize, before: u64, after: u64) -> bool {
        let relaxed = Ordering::Relaxed;
        let replaced = self.0[at].compare_exchange(before, after, relaxed, relaxed);
        replaced.is_ok()
    }

    fn lock(&self, at: usize) {
        assert!(self.replace(at, 0, 1), "nobody else could unlock it");
    }

    fn unlock(&self, at: usize) {
        self.set(at, 0);
    }

    fn fence(&self) {}
}

/// The words of a process that may die.
struct Tables {
    sizes: Sizes,
    regions: Vec<Shared>,
}

impl Tables {
    fn new(config: &Config) -> Self {
        let sizes = Sizes::new(config, 64, 1);
        let regions = Region::ALL.map(|region| {
            let count = sizes.records(region) * region.record_words();
            Shared(Arc::new((0..count).map(|_| AtomicU64::new(0)).collect()))
        });
        let regions = regions.into();
        Self { sizes, regions }
    }

    fn memory(&self) -> Memory {
        let region = |region: Region| Box::new(self.regions[region as usize].clone()) as _;
        Memory::new(self.sizes.clone(), region)
    }

    /// Returns those of a process that goes on.
    fn beside(&self, config: &Config) -> Self {
        let mut tables = Self::new(config);
        for region in [Region::Modes, Region::Streams] {
            tables.regions[region as usize] = self.regions[region as usize].clone();
        }
        tables
    }
}

/// A log that stays when its writer is gone.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl StateLog for Log {
    fn append(&mut self, bytes: &[u8]) -> bool {
        self.0.lock().expect("nobody panicked").extend(bytes);
        true
    }

    fn replace(&mut self, bytes: &[u8]) -> bool {
        *self.0.lock().expect("nobody panicked") = bytes.to_vec();
        true
    }
}

/// A switch that writes down what it has.
struct Process {
    world: World,
    tables: Tables,
    log: Log,
}

impl Process {
    fn start() -> Self {
        let (config, log) = (unpaced(), Log::default());
        let tables = Tables::new(&config);
        let mut world = World::with_controller(config);
        world.switch.compile_into(tables.memory(), Overflow::ToCore);
        world.switch.retain(Box::new(log.clone()), b"this switch");
        let mut process = Self { world, tables, log };
        process.carry();
        process
    }

    fn carry(&mut self) {
        for port in 1..=3 {
            let carried = Carried {
                interface: port,
                class: 0,
            };
            self.world.switch.carry_port(PortNumber(port), carried);
        }
        self.publish();
    }

    fn publish(&mut self) {
        crate::compiled::publish(&mut self.world);
    }

    fn written(&self) -> Vec<u8> {
        self.log.0.lock().expect("nobody panicked").clone()
    }

    /// Returns the process that goes on when this one has died.
    fn next(&self) -> Result<Self, ResumeError> {
        let before = self.tables.memory();
        let state = RetainedState::read(&self.written(), &before)?;
        assert_eq!(state.identity(), b"this switch");
        let (config, log) = (unpaced(), Log::default());
        let tables = self.tables.beside(&config);
        let to = (tables.memory(), Overflow::ToCore);
        let (now, log_to) = (self.world.now, Box::new(log.clone()));
        let (switch, resumption) = Switch::resume(now, config.clone(), to, log_to, &state)?;
        let mut world = World::new(config);
        (world.switch, world.now) = (switch, now);
        let mut process = Self { world, tables, log };
        process.carry();
        process.world.switch.fill_meters(&resumption, &before);
        process.world.switch.count_on(&resumption, &before);
        process.publish();
        process.world.greet(CONTROLLER);
        Ok(process)
    }

    /// Returns what a controller can ask for, entries in any order; but what the core's code
    /// counts itself here, and words of walks in the kernel.
    fn shown(&mut self) -> Vec<BTreeSet<String>> {
        let flows = FlowStatisticsRequest::all(TableId::ALL);
        let bodies = [
            RequestBody::Flow(flows),
            RequestBody::GroupDescription,
            RequestBody::MeterConfig(MeterId::ALL),
            RequestBody::PortDescription,
            RequestBody::Table,
            RequestBody::Experimenter(Question::Digests.body()),
        ];
        let mut shown: Vec<_> = bodies.into_iter().map(|body| self.ask(body)).collect();
        let config = self.world.ask(&Message::GetConfigRequest);
        shown.push(
            config
                .iter()
                .map(|it| format!("{:?}", it.message()))
                .collect(),
        );
        shown
    }

    fn ask(&mut self, body: RequestBody<'_>) -> BTreeSet<String> {
        let request = MultipartRequest::new(body);
        let answers = self.world.ask(&Message::MultipartRequest(request));
        let mut items = BTreeSet::new();
        for answer in &answers {
            let Message::MultipartReply(reply) = answer.message() else {
                panic!("{:?}", answer.message());
            };
            match reply.body {
                ReplyBody::Flow(flows) => items.extend(flows.iter().map(|it| format!("{it:?}"))),
                other => {
                    items.insert(format!("{other:?}"));
                }
            }
        }
        items
    }

    /// Has a frame walk the compiled form, and returns where it came out and how.
    fn walk(&mut self, ether_type: u16) -> Vec<(u32, Vec<u8>)> {
        let bytes = frame(ether_type, &[7; 46]);
        let arrived = self.world.now;
        self.world.handle(Input::Walked {
            port: PortNumber(1),
            bytes: &bytes,
            arrived,
        });
        self.publish();
        self.world.take_sent()
    }

    fn do_all(&mut self, deeds: &[Deed]) {
        for deed in deeds {
            deed.done(self);
            self.publish();
            self.world.run_until(self.world.now + Duration::from_us(10));
            self.publish();
        }
    }
}

/// Something that changes a switch.
#[derive(Clone, Debug)]
enum Deed {
    Add { priority: u16, kind: u8, does: u8 },
    Delete { kind: u8 },
    DeleteAll,
    Group { id: u32, port: u32, chained: bool },
    DeleteGroup { id: u32 },
    Meter { id: u32, rate: u32 },
    DeleteMeter { id: u32 },
    Forbid { port: u32, bits: bool },
    Configure { drops: bool },
    Frame { kind: u8 },
}

fn ether_type(kind: u8) -> u16 {
    0x4000 + u16::from(kind)
}

impl Deed {
    /// Does it; what is refused changes nothing.
    fn done(&self, process: &mut Process) {
        let world = &mut process.world;
        match *self {
            Self::Add {
                priority,
                kind,
                does,
            } => add(world, priority, kind, does),
            Self::Delete { kind } => {
                delete(world, &[MatchField::EthType(EtherType(ether_type(kind)))])
            }
            Self::DeleteAll => delete(world, &[]),
            Self::Group { id, port, chained } => group(world, id, port, chained),
            Self::DeleteGroup { id } => {
                let buckets = Buckets::EMPTY;
                let (command, kind) = (GroupModCommand::Delete, GroupType::All);
                let group = GroupId(id);
                world.ask(&Message::GroupMod(GroupMod {
                    command,
                    kind,
                    group,
                    buckets,
                }));
            }
            Self::Meter { id, rate } => meter(world, id, rate),
            Self::DeleteMeter { id } => {
                let (flags, bands) = (MeterFlags::KBPS, Bands::EMPTY);
                let (command, meter) = (MeterModCommand::Delete, MeterId(id));
                world.ask(&Message::MeterMod(MeterMod {
                    command,
                    flags,
                    meter,
                    bands,
                }));
            }
            Self::Forbid { port, bits } => {
                let config = match bits {
                    true => PortConfig::NO_FORWARD,
                    false => PortConfig::NONE,
                };
                let number = usize::try_from(port - 1).expect("a small number");
                world.ask(&Message::PortMod(PortMod {
                    port: PortNumber(port),
                    address: ports(3, None)[number].mac,
                    config,
                    mask: PortConfig::NO_FORWARD,
                    advertise: PortFeatures::NONE,
                }));
            }
            Self::Configure { drops } => {
                let fragments = match drops {
                    true => FragmentHandling::Drop,
                    false => FragmentHandling::Normal,
                };
                world.ask(&Message::SetConfig(SwitchConfig {
                    fragments,
                    miss_send_length: ControllerLength::NO_BUFFER,
                }));
            }
            Self::Frame { kind } => {
                process.walk(ether_type(kind));
            }
        }
    }
}

fn add(world: &mut World, priority: u16, kind: u8, does: u8) {
    let actions = match does {
        0 => vec![output(2)],
        1 => vec![output(2), output(3)],
        2 => vec![Action::Group(GroupId(1))],
        3 => vec![Action::Group(GroupId(2))],
        4 => vec![Action::Sequence(STREAM), output(2)],
        5 => vec![Action::Police(CONTRACT), output(3)],
        _ => vec![output(3)],
    };
    let mut instructions = vec![Instruction::ApplyActions(Actions::of(&actions))];
    if does == 6 {
        instructions.insert(0, Instruction::Meter(MeterId(1)));
    }
    let fields = [MatchField::EthType(EtherType(ether_type(kind)))];
    world.ask(&Message::FlowMod(FlowMod {
        priority,
        hard_timeout_s: u16::from(does),
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));
}

fn delete(world: &mut World, fields: &[MatchField]) {
    world.ask(&Message::FlowMod(FlowMod {
        command: FlowModCommand::Delete,
        matching: Fields::of(fields),
        ..FlowMod::add(TableId(0))
    }));
}

fn group(world: &mut World, id: u32, port: u32, chained: bool) {
    let actions = match chained {
        true => [Action::Group(GroupId(3 - id))],
        false => [output(port)],
    };
    let bucket = Bucket {
        weight: 0,
        watch_port: PortNumber(port),
        watch_group: GroupId::ANY,
        actions: Actions::of(&actions),
    };
    for command in [GroupModCommand::Add, GroupModCommand::Modify] {
        world.ask(&Message::GroupMod(GroupMod {
            command,
            kind: GroupType::FastFailover,
            group: GroupId(id),
            buckets: Buckets::of(&[bucket]),
        }));
    }
}

fn meter(world: &mut World, id: u32, rate: u32) {
    let bands = [Band::Drop { rate, burst: 1 }];
    for command in [MeterModCommand::Add, MeterModCommand::Modify] {
        world.ask(&Message::MeterMod(MeterMod {
            command,
            flags: MeterFlags::PACKETS_PER_SECOND.with(MeterFlags::BURST),
            meter: MeterId(id),
            bands: Bands::of(&bands),
        }));
    }
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        8 => (1..4_u16, 0..4_u8, 0..8_u8)
            .prop_map(|(priority, kind, does)| Deed::Add { priority, kind, does }),
        2 => (0..4_u8).prop_map(|kind| Deed::Delete { kind }),
        1 => Just(Deed::DeleteAll),
        3 => (1..3_u32, 1..4_u32, any::<bool>())
            .prop_map(|(id, port, chained)| Deed::Group { id, port, chained }),
        1 => (1..3_u32).prop_map(|id| Deed::DeleteGroup { id }),
        2 => (1..3_u32, 1..9_u32).prop_map(|(id, rate)| Deed::Meter { id, rate }),
        1 => (1..3_u32).prop_map(|id| Deed::DeleteMeter { id }),
        1 => (1..4_u32, any::<bool>()).prop_map(|(port, bits)| Deed::Forbid { port, bits }),
        1 => any::<bool>().prop_map(|drops| Deed::Configure { drops }),
        6 => (0..4_u8).prop_map(|kind| Deed::Frame { kind }),
    ];
    prop::collection::vec(deed, 0..30)
}

proptest! {
    /// After any changes and frames, both show the same and treat frames alike, and so does
    /// the next one that goes on from the second after changes of its own.
    #[test]
    fn a_process_that_goes_on_shows_and_does_what_the_one_before_would(
        first in deeds(), second in deeds(), third in deeds(),
    ) {
        let mut process = Process::start();
        process.do_all(&first);

        for deeds in [second, third] {
            let mut next = process.next().unwrap();
            prop_assert_eq!(process.shown(), next.shown());
            next.do_all(&deeds);
            process = next;
        }
        let mut last = process.next().unwrap();
        for kind in 0..4 {
            // Streams count on in words that both have: one of the two is asked.
            let treated = |process: &mut Process| {
                let ports = process.walk(ether_type(kind)).into_iter();
                ports.map(|(port, bytes)| (port, bytes.len())).collect::<Vec<_>>()
            };
            prop_assert_eq!(treated(&mut process), treated(&mut last));
        }
    }
}

#[test]
fn numbers_of_a_stream_go_on() {
    let mut process = Process::start();
    add(&mut process.world, 1, 0, 4);
    process.publish();
    let number = |process: &mut Process| process.walk(ether_type(0))[0].1[17];

    let before = [number(&mut process), number(&mut process)];
    let mut next = process.next().unwrap();
    let between = number(&mut process);
    let after = number(&mut next);

    assert_eq!([before[0], before[1], between, after], [0, 1, 2, 3]);
}

#[test]
fn an_older_log_is_refused_and_a_batch_that_never_came_into_force_is_left_out() {
    let mut process = Process::start();
    add(&mut process.world, 1, 0, 0);
    process.publish();
    let older = process.written();
    add(&mut process.world, 1, 1, 0);
    process.publish();
    let memory = process.tables.memory();

    let refused = RetainedState::read(&older, &memory);
    let words = memory.record(Region::Settings, 0);
    let newer = words.get(settings::STATE);
    let unlike = newer ^ 1;
    words.set(settings::STATE, unlike);
    words.set(settings::STATE_NEXT, unlike);

    assert_eq!(refused, Err(ResumeError::Altered));
    let refused = RetainedState::read(&process.written(), &memory);
    assert_eq!(refused, Err(ResumeError::Altered));
    words.set(settings::STATE_NEXT, newer);
    assert!(RetainedState::read(&process.written(), &memory).is_ok());
}
