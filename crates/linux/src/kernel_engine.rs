//! A switch whose frames the kernel forwards.
//!
//! A program at each port ([`Hook`]) walks the compiled form of the switch's tables,
//! which lies in memory that it shares with this process ([`SharedTables`]). What it
//! cannot do it hands over by a ring ([`HandedFrames`]), from which the switch's core
//! takes it. So no thread has to be awake for a frame that an entry forwards.
//!
//! Everything of it is gone with this value and the ports that were plugged in: the
//! kernel detaches by itself what a process held that dies.

mod handed_frames;
mod hook;
mod shared_tables;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use switch::Config;
use switch::compiled::{Overflow, Sizes};
use thiserror::Error;

pub use handed_frames::{Handed, HandedFrame, HandedFrames, Noticed};
pub(crate) use hook::Hung;
pub use hook::{Hook, Manner, PortBindingError};
pub use shared_tables::{SharedTables, SharedWords};

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
    /// The machine does not say how many processors it has.
    #[error("cannot read {POSSIBLE_PROCESSORS}: {0}")]
    Processors(io::Error),
}

/// The kernel's part of one switch.
#[derive(Debug)]
pub struct KernelEngine {
    tables: SharedTables,
    frames: HandedFrames,
    hook: Arc<Hook>,
    overflow: Overflow,
    features: Features,
    /// Why nobody sees frames leave, if so.
    blindness: Option<HopWatchError>,
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
        let tables = SharedTables::create(sizes)?;
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
        )?;
        Ok(Self {
            tables,
            frames,
            hook: Arc::new(hook),
            overflow: settings.overflow,
            features,
            blindness,
        })
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
