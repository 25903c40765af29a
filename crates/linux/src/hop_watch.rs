//! How long frames stay that the kernel forwards, seen where they leave.
//!
//! The program of a switch lets a frame carry the number of its record and the time of its
//! arrival, if its queue is watched (`bpf/hops.h`). Another program, one for the whole
//! process, sees it behind the queue, where it is handed to the device, and enters how long
//! it stayed (`bpf/hop_watch.c`). It is at its tracepoint only as long as a switch of this
//! process wants to know: every frame of the machine passes there.
//!
//! The time stands in the frame's words for queueing disciplines (`cb`), behind what those
//! of the kernel use. Nobody reads them once the frame has left, so that whoever receives
//! it sees it as if nobody watched. A delivery time, which a frame may keep as well, would
//! be kept for frames of IP alone, and be in the way of the receiver's own stamp. A
//! discipline that writes there itself makes frames whose stay is not known.
//!
//! A kernel without types of its own, or that gives no right to tracepoints, has none of
//! this; its switches see the frames alone that their cores send, and say so.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use thiserror::Error;

use crate::bpf::kernel_types::KernelTypes;
use crate::bpf::map::{Map, MapError, MappedArray};
use crate::bpf::object::{Object, ObjectError};
use crate::bpf::program::{LoadError, Program};
use crate::bpf::tracepoint::Tracepoint;
use crate::port::KernelPort;
use crate::socket::namespace_cookie;
use switch::compiled::layout::Region;

/// How many switches of a process are seen: what a mark has room for.
pub const SWITCHES_MAX: usize = 1 << 10;

const OBJECT: &[u8] = include_bytes!("../bpf/hop_watch.o");
const MAIN: &str = "hop_left";
const TRACEPOINT: &str = "btf_trace_net_dev_start_xmit";
/// What the program reads, by the names that it has for it.
const MEMBERS: [(&str, &str, &str); 10] = [
    ("sk_buff_mark", "sk_buff", "mark"),
    ("sk_buff_cb", "sk_buff", "cb"),
    ("qdisc_skb_cb_data", "qdisc_skb_cb", "data"),
    ("sk_buff_tc_index", "sk_buff", "tc_index"),
    ("sk_buff_head", "sk_buff", "head"),
    ("sk_buff_end", "sk_buff", "end"),
    ("skb_shared_info_gso_size", "skb_shared_info", "gso_size"),
    ("net_device_ifindex", "net_device", "ifindex"),
    ("net_device_nd_net", "net_device", "nd_net"),
    ("net_net_cookie", "net", "net_cookie"),
];

/// Why frames are not seen where they leave.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HopWatchError {
    /// There is not the memory, or not the right to it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The kernel does not take the program.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel does not tell of its own types.
    #[error("the kernel's own types (CONFIG_DEBUG_INFO_BTF) cannot be read: {0}")]
    Types(io::Error),
    /// The kernel lacks something.
    #[error("the kernel has no {0}")]
    Lacking(&'static str),
    /// The kernel lets nobody attach there.
    #[error("cannot attach to the tracepoint net_dev_start_xmit: {0}")]
    Tracepoint(io::Error),
    /// There are [`SWITCHES_MAX`] others.
    #[error("frames of {SWITCHES_MAX} switches are seen already")]
    TooManySwitches,
    /// The switch could not be made known to the program.
    #[error("cannot make a switch known to the program that sees frames leave: {0}")]
    Known(io::Error),
}

impl From<ObjectError> for HopWatchError {
    fn from(error: ObjectError) -> Self {
        Self::Load(error.into())
    }
}

/// The program, for all switches of the process.
#[derive(Debug)]
struct HopWatch {
    program: Program,
    /// By the number of a switch, its records.
    spaces: Map,
    /// By the number of a switch, the cookie of its namespace.
    namespaces: MappedArray,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    taken: Vec<bool>,
    /// How many switches want to know.
    wanted: usize,
    attached: Option<Tracepoint>,
}

/// The one of this process, while a switch has it.
static WATCH: Mutex<Weak<HopWatch>> = Mutex::new(Weak::new());

impl HopWatch {
    /// Returns the one of this process.
    fn get(like: &MappedArray) -> Result<Arc<Self>, HopWatchError> {
        let mut watch = lock(&WATCH);
        if let Some(watch) = watch.upgrade() {
            return Ok(watch);
        }
        let new = Arc::new(Self::load(like)?);
        *watch = Arc::downgrade(&new);
        Ok(new)
    }

    fn load(like: &MappedArray) -> Result<Self, HopWatchError> {
        let types = KernelTypes::read().map_err(HopWatchError::Types)?;
        let object = types.tell(Object::parse(OBJECT)?, &MEMBERS);
        let object = object.map_err(HopWatchError::Lacking)?;
        let tracepoint = types.named(TRACEPOINT);
        let tracepoint = tracepoint.ok_or(HopWatchError::Lacking(TRACEPOINT))?;
        let count = u32::try_from(SWITCHES_MAX).expect("a thousand");
        let spaces = Map::of_arrays("spaces", count, like)?;
        let namespaces = MappedArray::create("namespaces", count, 1)?;
        let maps = BTreeMap::from([
            ("spaces", spaces.as_fd()),
            ("namespaces", namespaces.as_fd()),
        ]);
        let program = Program::load_for_typed_tracepoint(&object, MAIN, &maps, tracepoint)?;
        // Whether the kernel lets us is to be known before anybody asks.
        drop(Tracepoint::attach_typed(&program).map_err(HopWatchError::Tracepoint)?);
        Ok(Self {
            program,
            spaces,
            namespaces,
            state: Mutex::new(State {
                taken: vec![false; SWITCHES_MAX],
                wanted: 0,
                attached: None,
            }),
        })
    }

    fn attach(&self, state: &mut State) -> Result<(), HopWatchError> {
        if state.attached.is_none() {
            let attached = Tracepoint::attach_typed(&self.program);
            state.attached = Some(attached.map_err(HopWatchError::Tracepoint)?);
        }
        Ok(())
    }
}

/// The place of a switch among those whose frames are seen.
#[derive(Debug)]
pub struct HopSpace {
    watch: Arc<HopWatch>,
    number: u32,
    /// Whether its frames are seen now.
    is_watched: Mutex<bool>,
}

impl HopSpace {
    /// Makes the records of a switch, which [`records`](Self::records) makes, known.
    ///
    /// # Errors
    ///
    /// If the kernel lacks something, or does not let this process.
    pub fn join(records: &MappedArray) -> Result<Self, HopWatchError> {
        let watch = HopWatch::get(records)?;
        let number = {
            let mut state = lock(&watch.state);
            let free = state.taken.iter().position(|taken| !taken);
            let free = free.ok_or(HopWatchError::TooManySwitches)?;
            state.taken[free] = true;
            u32::try_from(free).expect("a thousand")
        };
        let space = Self {
            watch,
            number,
            is_watched: Mutex::new(false),
        };
        let known = space.watch.spaces.put(number, records);
        known.map_err(HopWatchError::Known)?;
        Ok(space)
    }

    /// Makes memory for the records of so many hops.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory, or this process no right to it.
    pub fn records(count: u32) -> Result<MappedArray, MapError> {
        let words = u32::try_from(Region::Hops.record_words()).expect("a few dozen");
        MappedArray::nested(Region::Hops.name(), count, words)
    }

    /// Returns the number of the switch.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Says in which namespace the ports of the switch are.
    ///
    /// # Errors
    ///
    /// If the kernel gives namespaces no cookies (before Linux 5.14).
    pub fn know_port(&self, port: &KernelPort) -> io::Result<()> {
        let cookie = namespace_cookie(port.as_fd())?;
        let place = usize::try_from(self.number).expect("a thousand");
        self.watch.namespaces.words()[place].store(cookie, Ordering::Release);
        Ok(())
    }

    /// Says whether frames of the switch are to be seen.
    ///
    /// # Errors
    ///
    /// If the kernel does not let the program see any.
    pub fn want(&self, is_wanted: bool) -> Result<(), HopWatchError> {
        let mut is_watched = lock(&self.is_watched);
        if *is_watched == is_wanted {
            return Ok(());
        }
        let mut state = lock(&self.watch.state);
        if is_wanted {
            self.watch.attach(&mut state)?;
            state.wanted += 1;
        } else {
            state.wanted -= 1;
            if state.wanted == 0 {
                state.attached = None;
            }
        }
        *is_watched = is_wanted;
        Ok(())
    }
}

impl Drop for HopSpace {
    fn drop(&mut self) {
        // To see no more frames cannot fail.
        let _ = self.want(false);
        let _ = self.watch.spaces.delete(&self.number.to_ne_bytes());
        let place = usize::try_from(self.number).expect("a thousand");
        lock(&self.watch.state).taken[place] = false;
    }
}

/// What is behind a lock is whole whenever a thread may end.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
