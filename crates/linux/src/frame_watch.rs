//! Times in which a processor that forwards frames did not get on.
//!
//! Where the kernel forwards, frames are moved in soft interrupts of a processor, and by the
//! thread that sends one between its queue and the device. Who moves them passes a tracepoint every few microseconds; a program at those tracepoints
//! (`bpf/frame_watch.c`) takes down when none was passed for longer than [`LEAST`] amid
//! that. A frame needs a microsecond or two at each switch, so that such a time is no
//! forwarding: somebody else had the processor.
//!
//! Threads cannot see that. A sleeper who is woken up late only knows that soft interrupts
//! came first, and a hypervisor that does not let a machine's timers be set at once does
//! not count that as time it has stolen. On two virtual processors that compile beside,
//! setting a timer took up to 0.9 ms in place of 2 us, several times in a row.
//!
//! What stands between two tracepoints is known to the nanosecond. Times may overlap by a
//! microsecond or two, since interrupts interrupt each other.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;
use units::{Duration, Instant};

use crate::bpf::map::{MapError, MappedArray};
use crate::bpf::object::Object;
use crate::bpf::program::{LoadError, Program};
use crate::bpf::tracepoint::Tracepoint;

/// What is shorter may be work on a frame.
pub const LEAST: Duration = Duration::from_us(20);
/// The most times that are kept of each processor: 24 MiB, a quarter of an hour beside a
/// load on every processor.
pub const MOST_KEPT: usize = 1 << 20;

const OBJECT: &[u8] = include_bytes!("../bpf/frame_watch.o");
const PROCESSOR_WORDS: usize = 6;
/// Whose times a processor has, plus one.
const PLACE: usize = 0;
const SEEN: usize = 5;
const SPAN_WORDS: usize = 3;

/// What the kernel passes. Ends come first: whoever is amid something when it begins to be
/// watched has never begun.
const PLACES: [(&CStr, &str, Presence); 10] = [
    (c"sched_switch", "switched", Presence::Everywhere),
    (c"softirq_exit", "soft_left", Presence::Everywhere),
    (c"irq_handler_exit", "hard_left", Presence::Everywhere),
    (c"local_timer_exit", "hard_left", Presence::SomeMachines),
    (c"net_dev_xmit", "sent", Presence::Everywhere),
    (c"netif_receive_skb", "received", Presence::Everywhere),
    (c"qdisc_dequeue", "dequeued", Presence::Everywhere),
    (c"softirq_entry", "soft_entered", Presence::Everywhere),
    (c"irq_handler_entry", "hard_entered", Presence::Everywhere),
    (c"local_timer_entry", "hard_entered", Presence::SomeMachines),
];

/// Where a tracepoint is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// On every machine that we are written for.
    Everywhere,
    /// Where timers do not come as other interrupts do (x86).
    SomeMachines,
}

/// What a processor was at when it did not get on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It was sending or forwarding a frame, and stood still.
    Forwarding,
    /// A hard interrupt, such as that of a timer.
    HardInterrupt,
    /// A soft interrupt that is not about frames.
    OtherSoftInterrupt,
}

/// A time in which a processor did not get on with frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    /// The last sign before it.
    pub from: Instant,
    pub to: Instant,
    /// What the processor was at.
    pub cause: Cause,
}

/// What was seen of one processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    pub processor: usize,
    /// The first [`MOST_KEPT`] times, in order of their ends.
    pub halts: Vec<Halt>,
    /// How many more there were.
    pub unkept: u64,
}

/// Why processors cannot be watched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WatchError {
    /// There is not the memory, or not the right to it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel does not take the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel has no such tracepoint, or gives no right to it.
    #[error("cannot attach to the tracepoint {name}: {source}")]
    Tracepoint { name: String, source: io::Error },
}

/// Watches processors until this value is dropped.
#[derive(Debug)]
pub struct FrameWatch {
    processors: Vec<usize>,
    states: MappedArray,
    spans: MappedArray,
    _tracepoints: Vec<Tracepoint>,
}

impl FrameWatch {
    /// Begins to watch these processors, if any.
    ///
    /// # Errors
    ///
    /// Without CAP_BPF and CAP_PERFMON, or if the kernel lacks something.
    pub fn begin(processors: &[usize]) -> Result<Self, WatchError> {
        let count = processors.iter().max().map_or(1, |last| last + 1);
        let states = MappedArray::create("processors", small(count), small(PROCESSOR_WORDS))?;
        let kept = small(processors.len().max(1) * MOST_KEPT);
        let spans = MappedArray::create("spans", kept, small(SPAN_WORDS))?;
        let maps = [("processors", states.as_fd()), ("spans", spans.as_fd())].into();
        let tracepoints = match processors {
            [] => Vec::new(),
            _ => attach(&maps)?,
        };
        for (place, processor) in (1..).zip(processors) {
            word(&states, processor * PROCESSOR_WORDS + PLACE).store(place, Ordering::Release);
        }
        Ok(Self {
            processors: processors.to_vec(),
            states,
            spans,
            _tracepoints: tracepoints,
        })
    }

    /// Returns what was seen so far, processor by processor.
    #[must_use]
    pub fn seen(&self) -> Vec<Watched> {
        let processors = self.processors.iter().enumerate();
        processors
            .map(|(place, &processor)| {
                let state = processor * PROCESSOR_WORDS;
                let seen = word(&self.states, state + SEEN).load(Ordering::Acquire);
                let kept = usize::try_from(seen).unwrap_or(usize::MAX).min(MOST_KEPT);
                let halts = (0..kept).filter_map(|span| self.halt(place * MOST_KEPT + span));
                Watched {
                    processor,
                    halts: halts.collect(),
                    unkept: seen - kept as u64,
                }
            })
            .collect()
    }

    /// Returns a time that was taken down; nothing if it is being written.
    fn halt(&self, span: usize) -> Option<Halt> {
        let read = |offset| word(&self.spans, span * SPAN_WORDS + offset).load(Ordering::Acquire);
        Some(Halt {
            from: Instant::from_ns(read(0)),
            to: Instant::from_ns(read(1)),
            cause: match read(2) {
                1 => Cause::Forwarding,
                2 => Cause::HardInterrupt,
                3 => Cause::OtherSoftInterrupt,
                _ => return None,
            },
        })
    }
}

fn attach(maps: &BTreeMap<&str, BorrowedFd<'_>>) -> Result<Vec<Tracepoint>, WatchError> {
    let object = Object::parse(OBJECT).map_err(LoadError::from)?;
    let mut tracepoints = Vec::with_capacity(PLACES.len());
    for (name, main, presence) in PLACES {
        let program = Program::load_for_tracepoint(&object, main, maps)?;
        match Tracepoint::attach(&program, name) {
            Ok(tracepoint) => tracepoints.push(tracepoint),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && presence == Presence::SomeMachines => {}
            Err(source) => {
                let name = name.to_string_lossy().into_owned();
                return Err(WatchError::Tracepoint { name, source });
            }
        }
    }
    Ok(tracepoints)
}

fn word(array: &MappedArray, place: usize) -> &AtomicU64 {
    &array.words()[place]
}

fn small(count: usize) -> u32 {
    u32::try_from(count).expect("as many processors as a machine has")
}
