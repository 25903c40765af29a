//! The kernel's program as the engine of a switch.
//!
//! A frame comes to the program in one of two ways: over a cable, as frames do, or in
//! a trial, in which the kernel makes a frame, hands it to the program as if it had
//! arrived at a port, and forgets it. In both, what the program sends leaves by real
//! interfaces, and time stands still meanwhile, as it does for the core.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant as WallInstant};

use linux::bpf::attachment::{Attachment, Preference};
use linux::bpf::map::{Map, MapError, MapKind, MapShape, MappedArray};
use linux::bpf::object::Object;
use linux::bpf::program::Program;
use linux::bpf::record_ring::RecordRing;
use linux::bpf::test_run::Context;
use linux::hold::Hold;
use linux::kernel_engine::{Handed, SharedWords};
use linux::sender::{ClassId, Queued, Sender};
use switch::compiled::layout::{Region, handed, settings, total};
use switch::compiled::{Carried, Memory, Overflow, Sizes};
use switch::modes::Violation;
use switch::{Input, Switch};
use units::Instant;
use wire::openflow::PortNumber;

use crate::cables::Cables;
use crate::case::Setup;
use crate::subject::{Engine, Leaving, config};

const OBJECT: &[u8] = include_bytes!("../../bpf/switch.o");
const MAIN: &str = "taktos_switch";
/// What a walk notes, `PLAN_BYTES` in `bpf/plan.h`.
const SCRATCH_BYTES: u32 = 8448;
const RING_BYTES: u32 = 1 << 16;
/// More processors than machines have that run tests.
const PROCESSORS: usize = 256;
/// How long the kernel may take with a frame before the test fails.
const PATIENCE: Duration = Duration::from_secs(5);
/// The kernel itself drops a shorter frame that comes over a cable and has the type
/// of a tag.
const SHORTEST_TAGGED: usize = 20;
/// Ports, and everything else that a case may have.
const PORTS_MAX: u8 = 33;
const LARGEST: Setup = Setup {
    ports: PORTS_MAX,
    tables: 18,
    masks: 64,
    room: 128,
    seed: 0,
    standalone: 0,
};

/// How frames come to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In trials, if the kernel makes such frames.
    Trial,
    /// Over cables, if the kernel lets such frames through.
    Cable,
}

/// The program with its maps, and the cables of its ports.
#[derive(Debug)]
pub struct Kernel {
    pub cables: Cables,
    way: Way,
    regions: BTreeMap<Region, Arc<MappedArray>>,
    ring: RecordRing,
    program: Program,
    senders: Vec<Sender>,
    _attachments: Vec<Attachment>,
    /// Frames that went through the core.
    pub handed: u64,
    /// How often the core was told of something without a frame.
    pub rung: u64,
}

impl Kernel {
    /// Makes it, in a namespace of its own into which this thread moves.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` without the right to.
    pub fn begin(way: Way) -> io::Result<Self> {
        let cables = Cables::lay(PORTS_MAX)?;
        let regions = regions()?;
        let ring = RecordRing::create("handed", RING_BYTES).map_err(refused)?;
        let program = load(&cables, &regions, &ring)?;
        let ports = 1..=PORTS_MAX;
        let attachments = ports.clone().map(|port| {
            let hold = Hold::take(cables.interface(port)).unwrap();
            Attachment::attach(&program, &hold, Preference::Best).unwrap()
        });
        let attachments = attachments.collect();
        let class = ClassId { major: 0, minor: 0 };
        let senders = ports.map(|port| Sender::open(cables.far(port), class));
        let senders = senders.collect::<io::Result<_>>()?;
        Ok(Self {
            cables,
            way,
            regions,
            ring,
            program,
            senders,
            _attachments: attachments,
            handed: 0,
            rung: 0,
        })
    }

    /// Returns what has arrived at the other ends since the last time.
    pub fn take_arrived(&mut self) -> Vec<Leaving> {
        self.cables.take_arrived()
    }

    fn words(&self, region: Region) -> &[AtomicU64] {
        self.regions[&region].words()
    }

    fn set(&self, place: usize, value: u64) {
        self.words(Region::Settings)[place].store(value, Ordering::SeqCst);
    }

    fn total(&self, places: &[usize]) -> u64 {
        let words = self.words(Region::Totals);
        let words = places
            .iter()
            .map(|place| words[*place].load(Ordering::SeqCst));
        words.sum()
    }

    /// Lets the program have a frame, and returns what left; nothing if the kernel
    /// makes no such frames.
    fn try_out(&mut self, port: u8, frame: &[u8]) -> Option<Vec<Leaving>> {
        self.set(settings::TRIAL_COPIES, 1);
        let interface = self.cables.interface(port);
        let context = Context {
            ingress_interface: interface,
            interface,
            ..Context::default()
        };
        match self.program.test_run(frame, context, 1) {
            Ok(_) => Some(self.cables.take_left()),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends a frame to the program, and returns what left.
    fn send(&mut self, port: u8, frame: &[u8]) -> Vec<Leaving> {
        self.set(settings::TRIAL_COPIES, 0);
        self.cables.take_arrived();
        let came = self.total(&[total::FRAMES, total::TO_CORE]);
        let sent = self.total(&[total::SENT]);
        let sender = &mut self.senders[usize::from(port) - 1];
        assert_eq!(sender.send(frame).unwrap(), Queued::Taken);
        await_that("a frame in the program", || {
            self.total(&[total::FRAMES, total::TO_CORE]) > came
        });
        let count = usize::try_from(self.total(&[total::SENT]) - sent).unwrap();
        let mut arrived = Vec::new();
        await_that("frames at the other ends", || {
            arrived.extend(self.cables.take_arrived());
            arrived.len() >= count
        });
        arrived
    }

    fn hand_over(&mut self, switch: &mut Switch, now: Instant) {
        let (handed, rung) = (&mut self.handed, &mut self.rung);
        let read = |record: &[u8]| {
            let input = match Handed::parse(record) {
                Some(Handed::Bell) => Some(Input::Bell),
                Some(Handed::Noticed(seen)) => Some(Input::Violation(Violation {
                    port: PortNumber(u32::try_from(seen.port).unwrap() + 1),
                    at: seen.at,
                    monitor: seen.monitor,
                    demand: seen.demand,
                })),
                Some(Handed::Frame(_)) | None => None,
            };
            if let Some(input) = input {
                *rung += 1;
                return switch.handle(now, input);
            }
            let word = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().unwrap());
            let number = |at: usize| usize::try_from(word(at)).unwrap();
            let verdicts = number(handed::VERDICTS_COUNT);
            *handed += 1;
            switch.handle(
                now,
                Input::Handed {
                    port: PortNumber(word(handed::PORT) + 1),
                    bytes: &record[handed::BYTES..][..number(handed::LENGTH)],
                    arrived: now,
                    verdicts: &record[handed::VERDICTS..][..verdicts],
                },
            );
        };
        assert_eq!(self.ring.receive(read).unwrap(), Some(()));
    }
}

impl Engine for Kernel {
    fn begin(&mut self, switch: &mut Switch, setup: &Setup) {
        for array in self.regions.values() {
            let words = array.words().iter();
            words.for_each(|word| word.store(0, Ordering::Relaxed));
        }
        let sizes = Sizes::new(&config(setup), setup.room, PROCESSORS);
        let memory = Memory::new(sizes, |region| {
            Box::new(SharedWords(Arc::clone(&self.regions[&region])))
        });
        switch.compile_into(memory, Overflow::ToCore);
        for port in 1..=setup.ports {
            let interface = self.cables.interface(port);
            let class = 0;
            switch.carry_port(PortNumber(port.into()), Carried { interface, class });
        }
        self.heed(switch);
    }

    fn receive(
        &mut self,
        switch: &mut Switch,
        now: Instant,
        port: u8,
        frame: &[u8],
    ) -> Vec<Leaving> {
        self.set(settings::TRIAL_TIME, now.as_ns());
        let tagged = matches!(frame[12..14], [0x81, 0x00] | [0x88, 0xa8]);
        let left = match self.way {
            Way::Cable if !tagged || frame.len() >= SHORTEST_TAGGED => None,
            Way::Cable | Way::Trial => self.try_out(port, frame),
        };
        let left = left.unwrap_or_else(|| self.send(port, frame));

        while self.ring.is_ready() {
            self.hand_over(switch, now);
        }
        left
    }

    fn heed(&mut self, switch: &mut Switch) {
        if !switch.is_published() {
            await_that("the walks that are under way", || switch.settle());
            switch.publish();
        }
    }
}

/// Makes the memory of the largest case.
fn regions() -> io::Result<BTreeMap<Region, Arc<MappedArray>>> {
    let sizes = Sizes::new(&config(&LARGEST), LARGEST.room, PROCESSORS);
    let regions = Region::ALL.into_iter().map(|region| {
        let count = u32::try_from(sizes.records(region)).unwrap();
        let words = u32::try_from(region.record_words()).unwrap();
        let array = MappedArray::create(region.name(), count, words);
        Ok((region, Arc::new(array.map_err(refused)?)))
    });
    regions.collect()
}

fn load(
    cables: &Cables,
    regions: &BTreeMap<Region, Arc<MappedArray>>,
    ring: &RecordRing,
) -> io::Result<Program> {
    let shape = |kind, value_bytes, entries| MapShape {
        kind,
        key_bytes: 4,
        value_bytes,
        entries,
    };
    let interfaces = shape(MapKind::Hash, 4, PORTS_MAX.into());
    let interfaces = Map::create("interfaces", interfaces).map_err(refused)?;
    for place in 0..PORTS_MAX {
        let interface = cables.interface(place + 1).to_ne_bytes();
        interfaces.update(&interface, &u32::from(place).to_ne_bytes())?;
    }
    let scratch = shape(MapKind::ArrayPerProcessor, SCRATCH_BYTES, 1);
    let scratch = Map::create("scratch", scratch).map_err(refused)?;
    let arrays = regions
        .iter()
        .map(|(region, array)| (region.name(), array.as_fd()));
    let mut maps: BTreeMap<_, _> = arrays.collect();
    maps.insert("interfaces", interfaces.as_fd());
    maps.insert("scratch", scratch.as_fd());
    maps.insert("handed", ring.as_fd());
    Ok(Program::load(&Object::parse(OBJECT).unwrap(), MAIN, &maps).unwrap())
}

fn refused(error: MapError) -> io::Error {
    error.source
}

/// Waits until something is so.
#[track_caller]
fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = WallInstant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::yield_now();
    }
}
