//! Whether the single steps of modes mean in the kernel what they mean in the core:
//! the monitor of a flow, and the tag of a signal.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use linux::bpf::map::MappedArray;
use linux::bpf::object::Object;
use linux::bpf::program::Program;
use linux::bpf::test_run::Context;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use switch::compiled::layout::{Region, modes, monitor};
use switch::modes::{Contract, Contracts, Demand, FlowMonitor, MonitorCounters, Packet};
use units::{Duration, Instant};
use wire::message_shim::MessageShim;
use wire::siphash::siphash_2_4;

use crate::world::skip;

/// The programs of `crates/linux/bpf/modes_probe.c`.
const PROBE: &[u8] = include_bytes!("../../bpf/modes_probe.o");
/// What is in front of the words of a request.
const HEADER: usize = 16;
/// Messages go by these periods, or nearly.
const PERIOD: u64 = 1000;

/// A program of the probe, and what it works on.
struct Probe {
    program: Program,
    modes: MappedArray,
    monitors: MappedArray,
}

impl Probe {
    fn load_or_skip(test: &str, main: &str) -> Option<Self> {
        let array = |region: Region| {
            let words = u32::try_from(region.record_words()).unwrap();
            MappedArray::create(region.name(), 1, words)
        };
        let modes = match array(Region::Modes) {
            Ok(modes) => modes,
            Err(refusal) if refusal.source.kind() == io::ErrorKind::PermissionDenied => {
                skip(test);
                return None;
            }
            Err(refusal) => panic!("{refusal}"),
        };
        let monitors = array(Region::Monitors).unwrap();
        let maps = BTreeMap::from([("modes", modes.as_fd()), ("monitors", monitors.as_fd())]);
        let program = Program::load(&Object::parse(PROBE).unwrap(), main, &maps).unwrap();
        Some(Self {
            program,
            modes,
            monitors,
        })
    }

    fn run(&self, request: &[u8]) -> i32 {
        let context = Context::default();
        self.program.test_run(request, context, 1).unwrap().verdict
    }

    /// Begins to watch, as the core has a monitor begin.
    fn begin(&self, contracts: &[Contract], jitter: Duration) {
        let words = self.monitors.words();
        words
            .iter()
            .for_each(|word| word.store(0, Ordering::SeqCst));
        let set = |at: usize, value: u64| words[at].store(value, Ordering::SeqCst);
        set(monitor::CONTRACTS, u64::try_from(contracts.len()).unwrap());
        set(monitor::JITTER, jitter.as_ns());
        for (level, contract) in contracts.iter().enumerate() {
            let place = |word| monitor::LEVELS + level * monitor::LEVEL_WORDS + word;
            set(place(monitor::PERIOD), contract.period.as_ns());
            set(place(monitor::SIZE), contract.size_bytes.into());
        }
    }

    fn watch(&self, now: Instant, packet: &Packet) -> i32 {
        let mut request = vec![0; HEADER];
        request.extend(now.as_ns().to_ne_bytes());
        let shim = packet.shim;
        for word in [shim.message, shim.size_bytes, shim.sequence] {
            request.extend(word.to_ne_bytes());
        }
        request.extend(packet.carried_bytes.to_ne_bytes());
        request.extend([0; 40]);
        self.run(&request)
    }

    /// Returns what the last packet demanded, as the words tell it.
    fn last(&self) -> Option<i32> {
        let word = |at: usize| self.monitors.words()[at].load(Ordering::SeqCst);
        let current = word(monitor::CURRENT_SEEN);
        let seen = match current & monitor::STRAGGLER {
            0 => current,
            _ => word(monitor::BEFORE_SEEN),
        };
        let level = i32::try_from(seen >> 32 & 0xff).unwrap() << 1;
        let demand = level | i32::from(seen & monitor::IS_BEYOND != 0);
        (seen & monitor::IS_THERE != 0).then_some(demand)
    }

    fn counters(&self) -> MonitorCounters {
        let word = |at: usize| self.monitors.words()[at].load(Ordering::SeqCst);
        MonitorCounters {
            packets: word(monitor::PACKETS),
            messages: word(monitor::MESSAGES),
            violations: word(monitor::VIOLATIONS),
            beyond: word(monitor::BEYOND),
            missing: word(monitor::MISSING),
            duplicates: word(monitor::DUPLICATES),
            reordered: word(monitor::REORDERED),
        }
    }
}

/// A demand as the program says it.
fn number_of(demand: Demand) -> i32 {
    let level = i32::from(demand.level().number()) << 1;
    match demand {
        Demand::Level(_) => level,
        Demand::Beyond(_) => level | 1,
    }
}

/// Contracts of which each grants more than the one below.
fn any_contracts() -> impl Strategy<Value = Vec<Contract>> {
    let more = (0..PERIOD / 4, 0u32..800);
    prop::collection::vec(more, 1..=8).prop_map(|more| {
        let mut last = Contract {
            period: Duration::from_ns(PERIOD * 2),
            size_bytes: 0,
        };
        let grant = |(faster, larger): (u64, u32)| {
            last.period = Duration::from_ns(last.period.as_ns() - faster.min(last.period.as_ns()));
            last.size_bytes += larger;
            last
        };
        more.into_iter().map(grant).collect()
    })
}

/// Packets: the time since the one before, and what numbers and sizes they have.
fn any_packets() -> impl Strategy<Value = Vec<(u64, Packet)>> {
    let size = prop_oneof![4 => 0u32..3000, 1 => Just(u32::MAX)];
    let sequence = prop_oneof![8 => Just(1u32), 2 => 0u32..80, 1 => any::<u32>()];
    let message = prop_oneof![6 => Just(0u32), 3 => Just(1), 1 => Just(u32::MAX)];
    let one = (0..PERIOD * 2, message, size, sequence, 0u32..1500);
    prop::collection::vec(one, 1..120).prop_map(|all| {
        let (mut message, mut sequence) = (0u32, u32::MAX);
        let packet = |(pause, step, size_bytes, ahead, carried_bytes)| {
            message = message.wrapping_add(step);
            // Back by as much as 40, or on.
            sequence = match ahead {
                41..80 => sequence.wrapping_sub(ahead - 40),
                ahead => sequence.wrapping_add(ahead),
            };
            let shim = MessageShim {
                message,
                size_bytes,
                sequence,
            };
            let packet = Packet {
                shim,
                carried_bytes,
            };
            (pause, packet)
        };
        all.into_iter().map(packet).collect()
    })
}

#[test]
fn a_monitor_of_the_kernel_sees_what_that_of_the_core_sees() {
    let test = "a_monitor_of_the_kernel_sees_what_that_of_the_core_sees";
    let Some(probe) = Probe::load_or_skip(test, "watch_one") else {
        return;
    };
    let input = (any_contracts(), 0..PERIOD, any_packets());
    let outcome = TestRunner::default().run(&input, |(contracts, jitter, packets)| {
        let jitter = Duration::from_ns(jitter);
        probe.begin(&contracts, jitter);
        let mut core = FlowMonitor::new(Contracts::new(&contracts, jitter).unwrap());
        let mut now = Instant::from_ns(1);
        for (pause, packet) in packets {
            now += Duration::from_ns(pause);
            let expected = number_of(core.observe(now, &packet));
            prop_assert_eq!(probe.watch(now, &packet), expected, "{:?}", packet);
            prop_assert_eq!(probe.last(), Some(expected), "{:?}", packet);
        }
        prop_assert_eq!(&probe.counters(), core.counters());
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn a_tag_of_the_kernel_is_that_of_the_core() {
    let Some(probe) = Probe::load_or_skip("a_tag_of_the_kernel", "tag_one") else {
        return;
    };
    let input = (any::<[u8; 16]>(), any::<[u8; 32]>(), any::<[u8; 4]>());
    let outcome = TestRunner::default().run(&input, |(key, words, last)| {
        for (place, half) in modes::KEY.into_iter().zip(key.as_chunks::<8>().0) {
            let half = u64::from_le_bytes(*half);
            probe.modes.words()[place].store(half, Ordering::SeqCst);
        }
        let mut request = vec![0; HEADER + 24];
        request.extend(words);
        request.extend(last);
        request.extend([0; 4]);
        probe.run(&request);

        let tag = probe.modes.words()[modes::ORIGIN].load(Ordering::SeqCst);
        let signed = [words.as_slice(), &last].concat();
        prop_assert_eq!(tag, siphash_2_4(key, &signed));
        Ok(())
    });
    outcome.unwrap();
}
