//! A switch whose frames the kernel forwards.
//!
//! A program at each port ([`Hook`]) walks the compiled form of the switch's tables,
//! which lies in memory that it shares with this process ([`SharedTables`]). What it
//! cannot do it hands over by a ring ([`HandedFrames`]), from which the switch's core
//! takes it. So no thread has to be awake for a frame that an entry forwards.
//!
//! Everything of it is gone with this value and the ports that were plugged in. When the
//! process dies, all of it goes on forwarding if that is wanted (`retained_set`) until another
//! process goes on with it; else the kernel detaches by itself what a process held that dies.

mod handed_frames;
mod hook;
mod pacemaker;
mod retained_set;
mod shared_tables;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use pacemaker::{Pacemaker, Place};
use retained_set::RetainedSet;
use switch::compiled::{Overflow, Sizes};
use switch::{Config, StateLog};
use thiserror::Error;
use units::Duration;

pub use handed_frames::{Handed, HandedFrame, HandedFrames, Noticed};
pub use hook::{Hook, Manner, PortBindingError};
pub(crate) use hook::{Hung, Origin};
pub(crate) use retained_set::{Left, clear_left_at};
pub use retained_set::{RetentionError, clear_left};
pub use shared_tables::{SharedTables, SharedWords};

use crate::bpf::attachment::Preference;
use crate::bpf::features::{Feature, Features};
use crate::bpf::map::MapError;
use crate::bpf::program::LoadError;
use crate::hop_watch::{HopSpace, HopWatchError};
use switch::compiled::layout::Region;

/// How large the ring is: about five hundred of the longest frames.
pub const RING_BYTES: u32 = 1 << 20;

/// How large a kernel engine is, and what becomes of what it has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many entries fit, in all tables together.
    pub entries: usize,
    /// What becomes of those beyond.
    pub overflow: Overflow,
    /// The length of the ring to the core: a power of two, and whole pages.
    pub ring_bytes: u32,
    /// How ports are hung up.
    pub manner: Manner,
    pub lifetime: Lifetime,
}

/// What becomes of a kernel engine whose process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// It ends.
    OfProcess,
    /// It goes on forwarding, and the next process of the same switch goes on with it.
    OfSwitch,
}

/// Why the kernel cannot forward.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// There is not the memory, or not the right to it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The program is not taken.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A port cannot be hung up.
    #[error(transparent)]
    PortBinding(#[from] PortBindingError),
    /// The kernel lacks something that nothing can replace.
    #[error("this kernel ({release}) lacks {feature}")]
    Lacking { release: String, feature: Feature },
    /// The kernel does not say what it has.
    #[error("cannot load programs into the kernel: {_0}{}", privilege_hint(_0))]
    Features(io::Error),
    #[error("cannot give tables names by which they outlive this process: {0}")]
    Retention(io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The machine does not say how many processors it has.
    #[error("cannot read {POSSIBLE_PROCESSORS}: {0}")]
    Processors(io::Error),
}

/// The kernel's part of one switch.
#[derive(Debug)]
pub struct KernelEngine {
    /// Speaks for sessions that are late.
    pacemaker: Pacemaker,
    tables: SharedTables,
    frames: HandedFrames,
    hook: Arc<Hook>,
    overflow: Overflow,
    features: Features,
    /// Why nobody sees frames leave, if so.
    blindness: Option<HopWatchError>,
    /// What outlives the process, if anything does.
    retained: Option<RetainedSet>,
    /// What a process left that has ended, until this one goes on with it.
    left: Option<Left>,
    /// What is so of all that, in words.
    continuity: String,
}

impl KernelEngine {
    /// Makes the shared memory and loads the program for a switch of this
    /// configuration. No port has it yet.
    ///
    /// # Errors
    ///
    /// If the kernel lacks the memory, refuses the program, or does not let this
    /// process load any.
    pub fn open(config: &Config, settings: Settings) -> Result<Self, EngineError> {
        let features = Features::probe().map_err(EngineError::Features)?;
        if let Some(feature) = features.fatal_lack() {
            let release = features.release().to_owned();
            return Err(EngineError::Lacking { release, feature });
        }
        let processors = possible_processors().map_err(EngineError::Processors)?;
        let sizes = Sizes::new(config, settings.entries, processors);
        let Retention {
            set: retained,
            left,
            continuity,
        } = Retention::begin(config, &sizes, settings);
        let tables = match &left {
            Some(left) => SharedTables::beside(&left.tables)?,
            None => SharedTables::create(sizes)?,
        };
        if let Some(set) = &retained {
            set.pin(&tables).map_err(EngineError::Retention)?;
        }
        let (pin, turn) = retained.as_ref().map(RetainedSet::stand_in).unzip();
        let turn = turn.unwrap_or("a");
        let place = Place::of(config.datapath_id, turn, settings.manner.preference, pin);
        let pacemaker = Pacemaker::start(tables.clone(), place).map_err(EngineError::Thread)?;
        let frames = HandedFrames::create(settings.ring_bytes)?;
        let (hops, blindness) = match HopSpace::join(tables.array(Region::Hops)) {
            Ok(hops) => (Some(hops), None),
            Err(reason) => (None, Some(reason)),
        };
        let hook = Hook::load(
            &tables,
            &frames,
            config.ports.len(),
            (settings.manner, hops),
            retained.as_ref(),
        )?;
        Ok(Self {
            pacemaker,
            tables,
            frames,
            hook: Arc::new(hook),
            overflow: settings.overflow,
            features,
            blindness,
            retained,
            left,
            continuity,
        })
    }

    /// Returns what becomes of it when the process dies, and with what it began, in words.
    #[must_use]
    pub fn continuity(&self) -> &str {
        &self.continuity
    }

    /// Returns whether it goes on forwarding when this process dies.
    #[must_use]
    pub fn outlives_process(&self) -> bool {
        self.retained.is_some()
    }

    /// Returns what a process left that has ended, if this one is to go on with it.
    pub(crate) fn take_left(&mut self) -> Option<Left> {
        self.left.take()
    }

    /// Forgets it: this process has gone on, or begun anew.
    pub(crate) fn forget_left(&mut self) {
        if let Some(set) = &mut self.retained {
            set.forget_left();
        }
    }

    /// Returns where to write down what the next process needs to go on, and of which
    /// switch it is, if anything outlives this one.
    pub(crate) fn log(&self) -> Option<(Box<dyn StateLog>, Vec<u8>)> {
        let set = self.retained.as_ref()?;
        let file = set.file().ok()?;
        Some((Box::new(file), set.identity().to_vec()))
    }

    /// Speaks for sessions that are late, of which the quickest sends so often; for none any
    /// more if there is none.
    pub(crate) fn stand_in(&self, quickest: Option<Duration>) {
        self.pacemaker.want(quickest);
    }

    /// Returns what the kernel has and lacks.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns why nobody sees when frames leave that the kernel forwards, if so.
    #[must_use]
    pub fn blindness(&self) -> Option<&HopWatchError> {
        self.blindness.as_ref()
    }

    /// Returns what ports are hung on.
    #[must_use]
    pub fn hook(&self) -> Arc<Hook> {
        Arc::clone(&self.hook)
    }

    /// Returns the memory in which the compiled tables are.
    #[must_use]
    pub fn tables(&self) -> &SharedTables {
        &self.tables
    }

    /// Returns what becomes of entries that do not fit.
    #[must_use]
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Returns the frames for the core.
    pub fn frames(&mut self) -> &mut HandedFrames {
        &mut self.frames
    }
}

/// Is readable while frames for the core wait.
impl AsFd for KernelEngine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.frames.as_fd()
    }
}

/// What is retained, at the beginning of a process.
struct Retention {
    set: Option<RetainedSet>,
    left: Option<Left>,
    continuity: String,
}

impl Retention {
    /// Looks for what a process has left, and makes room for what this one is to leave.
    fn begin(config: &Config, sizes: &Sizes, settings: Settings) -> Self {
        let nothing = |continuity| Self {
            set: None,
            left: None,
            continuity,
        };
        match settings.lifetime {
            Lifetime::OfProcess => return nothing(String::new()),
            Lifetime::OfSwitch => {}
        }
        if settings.manner.preference == Preference::Filter {
            return nothing("ends with this process: by a filter, as was asked for".to_owned());
        }
        let identity = identity(config, settings);
        let (set, left) = match RetainedSet::open(config, sizes, identity) {
            Ok(opened) => opened,
            Err(reason) => return nothing(format!("ends with this process: {reason}")),
        };
        const STAYS: &str = "goes on forwarding when this process dies";
        let continuity = match &left {
            None => STAYS.to_owned(),
            Some(Ok(_)) => format!("{STAYS}; goes on from a process that has ended"),
            Some(Err(reason)) => {
                format!("{STAYS}; not from the process that has ended: {reason}")
            }
        };
        Self {
            set: Some(set),
            left: left.and_then(Result::ok),
            continuity,
        }
    }
}

/// Returns what has to be the same where one process goes on from another.
fn identity(config: &Config, settings: Settings) -> String {
    let ports = config.ports.iter();
    let ports: Vec<_> = ports
        .map(|it| (it.number, &it.name, it.mac, it.rate))
        .collect();
    let Settings {
        overflow, manner, ..
    } = settings;
    format!(
        "{:?}",
        (config.datapath_id, config.tables, ports, overflow, manner)
    )
}

fn privilege_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root, or CAP_BPF and CAP_NET_ADMIN",
        _ => "",
    }
}

const POSSIBLE_PROCESSORS: &str = "/sys/devices/system/cpu/possible";

/// Returns how many numbers of processors there can be: one more than the highest.
fn possible_processors() -> io::Result<usize> {
    let ranges = std::fs::read_to_string(POSSIBLE_PROCESSORS)?;
    let last = ranges.trim().rsplit(['-', ',']).next();
    let last = last.and_then(|number| number.parse::<usize>().ok());
    Ok(last.ok_or(io::ErrorKind::InvalidData)? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_processors_possible_as_run_this_test_or_more() {
        let running = std::thread::available_parallelism().unwrap();

        assert!(possible_processors().unwrap() >= running.get());
    }
}
