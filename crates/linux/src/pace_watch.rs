//! Who works on frames, or takes them, more slowly than was said.
//!
//! Where the kernel forwards, two programs (`bpf/pace_watch.c`) see frames of a network
//! whose interfaces are all known here: when a switch is done with a frame, and the gaps
//! between frames that waited for a link. One frame shows nothing, since anybody may have
//! the processor for a while; many in a row do. So a switch shows after some sixty frames, of
//! which one in four is looked at, and a link after some six rows of frames that waited for it for three milliseconds each.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;
use units::{BitRate, Duration, Instant};

use crate::bpf::kernel_types::KernelTypes;
use crate::bpf::map::{MapError, MappedArray};
use crate::bpf::object::{Object, ObjectError};
use crate::bpf::program::{LoadError, Program};
use crate::bpf::tracepoint::Tracepoint;

const OBJECT: &[u8] = include_bytes!("../bpf/pace_watch.o");
/// The programs, and the types of the tracepoints at which they are.
const PROGRAMS: [(&str, &str); 2] = [
    ("pace_queued", "btf_trace_net_dev_queue"),
    ("pace_left", "btf_trace_net_dev_start_xmit"),
];
/// What they read, by the names that they have for it.
const MEMBERS: [(&str, &str, &str); 12] = [
    ("sk_buff_mark", "sk_buff", "mark"),
    ("sk_buff_cb", "sk_buff", "cb"),
    ("qdisc_skb_cb_data", "qdisc_skb_cb", "data"),
    ("sk_buff_len", "sk_buff", "len"),
    ("sk_buff_dev", "sk_buff", "dev"),
    ("net_device_ifindex", "net_device", "ifindex"),
    ("net_device_nd_net", "net_device", "nd_net"),
    ("net_net_cookie", "net", "net_cookie"),
    ("net_device__tx", "net_device", "_tx"),
    ("netdev_queue_qdisc", "netdev_queue", "qdisc"),
    ("Qdisc_q", "Qdisc", "q"),
    ("qdisc_skb_head_qlen", "qdisc_skb_head", "qlen"),
];

/// The words of an interface: what it should be like, then what was seen of it.
const COOKIE: usize = 0;
const MOST: usize = 1;
const BYTE_PS: usize = 2;
const PROCESSOR: usize = 14;
const LINK: usize = PROCESSOR + SLOWNESS_WORDS;
const DEVICE_WORDS: usize = LINK + SLOWNESS_WORDS;
/// The words of what shows that somebody is slow, from when on first.
const SLOWNESS_WORDS: usize = 7;
const SINCE: usize = 2;
/// The largest number of an interface.
const NUMBER_MAX: u32 = 1 << 20;

/// What an interface should be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedPace {
    /// The number of the interface.
    pub interface: u32,
    /// The cookie of its namespace.
    pub namespace: u64,
    /// How long the switch whose port it is may work on a frame.
    pub processing: Option<Duration>,
    /// The rate of its link.
    pub rate: BitRate,
}

/// What shows that somebody was slower than was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowness {
    pub since: Instant,
    pub last: Instant,
    /// The frames that were slow.
    pub frames: u64,
    /// How long these took.
    pub taken: Duration,
    /// How long they should have taken at most.
    pub expected: Duration,
}

/// What was seen of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenPace {
    /// Of the switch whose port it is.
    pub processor: Option<Slowness>,
    pub link: Option<Slowness>,
}

/// Why nobody is watched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PaceWatchError {
    /// There is not the memory, or not the right to it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel does not take a program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel does not tell of its own types.
    #[error("the kernel's own types (CONFIG_DEBUG_INFO_BTF) cannot be read: {0}")]
    Types(io::Error),
    /// The kernel lacks something.
    #[error("the kernel has no {0}")]
    Lacking(&'static str),
    /// The kernel lets nobody attach there.
    #[error("cannot attach to the tracepoints of frames that leave: {0}")]
    Tracepoint(io::Error),
    /// The number of an interface is too large.
    #[error("interface number {0} is too large to be watched")]
    Number(u32),
}

impl From<ObjectError> for PaceWatchError {
    fn from(error: ObjectError) -> Self {
        Self::Load(error.into())
    }
}

/// Watches interfaces until this value is dropped.
#[derive(Debug)]
pub struct PaceWatch {
    interfaces: Vec<u32>,
    devices: MappedArray,
    _tracepoints: Vec<Tracepoint>,
}

impl PaceWatch {
    /// Begins to watch these interfaces, each of another number.
    ///
    /// # Errors
    ///
    /// Without CAP_BPF and CAP_PERFMON, or if the kernel lacks something.
    pub fn begin(expected: &[ExpectedPace]) -> Result<Self, PaceWatchError> {
        let interfaces: Vec<_> = expected.iter().map(|it| it.interface).collect();
        let largest = interfaces.iter().max().copied().unwrap_or(0);
        if largest > NUMBER_MAX {
            return Err(PaceWatchError::Number(largest));
        }
        let words = u32::try_from(DEVICE_WORDS).expect("a few");
        let devices = MappedArray::create("devices", largest + 1, words)?;
        let watch = Self {
            _tracepoints: attach(&devices)?,
            interfaces,
            devices,
        };
        for pace in expected {
            let most = pace.processing.map_or(0, Duration::as_ns);
            let word = |at| watch.word(pace.interface, at);
            word(MOST).store(most, Ordering::Relaxed);
            word(BYTE_PS).store(pico_seconds_a_byte(pace.rate), Ordering::Relaxed);
            word(COOKIE).store(pace.namespace, Ordering::Release);
        }
        Ok(watch)
    }

    /// Returns what was seen so far of each, in the order in which they were told.
    pub fn seen(&self) -> Vec<SeenPace> {
        let seen = self.interfaces.iter().map(|interface| SeenPace {
            processor: self.slowness(*interface, PROCESSOR),
            link: self.slowness(*interface, LINK),
        });
        seen.collect()
    }

    fn slowness(&self, interface: u32, at: usize) -> Option<Slowness> {
        let read = |word| {
            self.word(interface, at + SINCE + word)
                .load(Ordering::Acquire)
        };
        let [since, last, frames, taken, expected] = [0, 1, 2, 3, 4].map(read);
        (since > 0).then_some(Slowness {
            since: Instant::from_ns(since),
            last: Instant::from_ns(last),
            frames,
            taken: Duration::from_ns(taken),
            expected: Duration::from_ns(expected),
        })
    }

    fn word(&self, interface: u32, at: usize) -> &AtomicU64 {
        let device = usize::try_from(interface).expect("of 32 bits");
        &self.devices.words()[device * DEVICE_WORDS + at]
    }
}

impl Slowness {
    /// Returns how much longer a frame took than it should have, on average.
    #[must_use]
    pub fn excess(&self) -> Duration {
        let excess = self.taken.saturating_sub(self.expected).as_ns();
        Duration::from_ns(excess / self.frames.max(1))
    }
}

fn attach(devices: &MappedArray) -> Result<Vec<Tracepoint>, PaceWatchError> {
    let types = KernelTypes::read().map_err(PaceWatchError::Types)?;
    let object = types.tell(Object::parse(OBJECT)?, &MEMBERS);
    let object = object.map_err(PaceWatchError::Lacking)?;
    let maps = [("devices", devices.as_fd())].into();
    let attached = PROGRAMS.map(|(main, tracepoint)| {
        let of = types.named(tracepoint);
        let of = of.ok_or(PaceWatchError::Lacking(tracepoint))?;
        let program = Program::load_for_typed_tracepoint(&object, main, &maps, of)?;
        Tracepoint::attach_typed(&program).map_err(PaceWatchError::Tracepoint)
    });
    attached.into_iter().collect()
}

/// Returns how long a byte takes, in 10⁻¹² s, and at least one of these.
fn pico_seconds_a_byte(rate: BitRate) -> u64 {
    const PS_TIMES_BITS: u64 = 8_000_000_000_000;
    (PS_TIMES_BITS / rate.as_bps().max(1)).max(1)
}
