//! The program of a switch, ready to be put at its ports.
//!
//! A port is hung up in three steps: its interface is paced if it has a rate, the
//! program is put where its frames come in, and a socket is opened by which the core
//! sends. Timers pace ports, and go off on any processor: so what arrives at a paced
//! port is [steered](Steering) to one, or frames of a flow might overtake each other
//! between two switches. From the second step on nothing that arrives reaches the network stack of
//! this machine: until the switch knows the port, the program drops it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switch::compiled::Carried;
use switch::{QUEUE_FRAMES, QUEUES, QueueTally};
use thiserror::Error;
use units::BitRate;

use super::retained_set::{LINK, RetainedSet};
use super::{EngineError, HandedFrames, SharedTables};
use crate::bpf::attachment::{AttachError, Attachment, Link, Preference};
use crate::bpf::map::{Map, MapKind, MapShape};
use crate::bpf::object::Object;
use crate::bpf::program::Program;
use crate::hold::Hold;
use crate::hop_watch::HopSpace;
use crate::interface::{Interface, Power, Steering};
use crate::port::KernelPort;
use crate::qdisc::paced_link::Pacing;
use crate::qdisc::{self, Length, PacedLink, PacingError, Qdisc, QueueReader, Shape};

/// The compiled program; `cargo xtask bpf` makes it of the source beside it.
const OBJECT: &[u8] = include_bytes!("../../bpf/switch.o");
const MAIN: &str = "taktos_switch";
/// What a walk notes, `PLAN_BYTES` in `bpf/plan.h`.
const SCRATCH_BYTES: u32 = 8448;
/// The place of a port that no switch has: the program drops what comes in there.
const NO_PORT: u32 = u32::MAX;
/// A port has an interface and the one before it while it moves; some may be known
/// that could not become ports.
const INTERFACES_PER_PORT: usize = 8;

/// How ports are hung up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    pub preference: Preference,
    /// What paces a port that has a rate.
    pub qdisc: Qdisc,
    /// How much one queue of such a port holds.
    pub queue: Length,
    /// Which processor goes on with what arrives there: wherever it was sent, if none.
    pub processor: Option<usize>,
}

impl Manner {
    /// The best that the kernel has, with queues of the usual length.
    pub const BEST: Self = Self {
        preference: Preference::Best,
        qdisc: Qdisc::Auto,
        queue: Length::Frames(QUEUE_FRAMES),
        processor: None,
    };
}

/// Why an interface cannot be a port of the kernel's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PortBindingError {
    /// The program cannot be put there.
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Pacing(#[from] PacingError),
    #[error("cannot make its number known to the program: {0}")]
    Interfaces(io::Error),
    #[error("cannot give the program's link a name by which it outlives this process: {0}")]
    Name(io::Error),
    /// The core cannot send there.
    #[error("cannot open a socket for the core's own frames: {0}")]
    Socket(io::Error),
}

/// What ports are hung on. It may be used by any thread, in the namespace of the
/// switch.
#[derive(Debug)]
pub struct Hook {
    program: Program,
    /// From the number of an interface to the place of its port.
    interfaces: Map,
    manner: Manner,
    /// Those who see frames leave, if anybody does.
    hops: Option<HopSpace>,
    /// Where links have their names, if ports outlive the process.
    pins: Option<PathBuf>,
    /// The links of a process that has ended, by their interfaces, that no port has yet.
    left: Mutex<BTreeMap<u32, Link>>,
}

/// What is at an interface that is a port. The program is taken away first.
#[derive(Debug)]
pub(crate) struct Hung {
    attachment: Attachment,
    paced: Option<PacedLink>,
    /// Tells what the queues did, if it is paced.
    queues: Option<QueueReader>,
    /// Keeps frames in their order, if it is paced and the kernel lets us.
    steering: Option<io::Result<Steering>>,
    carried: Carried,
    origin: Origin,
    /// Has it hear frames for others while no process is there.
    hearing: Option<Hearing>,
}

/// Whose program is at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Ours,
    /// That of a process that has ended, until ours takes its place.
    Left,
}

/// An interface that hears frames for others as long as this exists, and when the process
/// dies.
#[derive(Debug)]
struct Hearing(Interface);

impl Hearing {
    /// Nothing if it did before, as somebody wanted.
    fn begin(interface: &Interface, origin: Origin) -> io::Result<Option<Self>> {
        if origin == Origin::Ours && interface.hears_all()? {
            return Ok(None);
        }
        interface.hear_all(Power::On)?;
        Ok(Some(Self(interface.try_clone()?)))
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        // One that has gone hears nothing.
        let _ = self.0.hear_all(Power::Off);
    }
}

/// A process that fails before its program is there leaves the one that is there what it
/// needs.
impl Drop for Hung {
    fn drop(&mut self) {
        if self.origin == Origin::Left {
            std::mem::forget(self.paced.take());
            std::mem::forget(self.steering.take());
            std::mem::forget(self.hearing.take());
        }
    }
}

impl Hung {
    /// Asks what the queues have carried and lost, if it has any.
    pub(crate) fn read_queues(&mut self) -> Option<[QueueTally; QUEUES]> {
        let states = self.queues.as_mut()?.read().ok()?;
        Some(states.map(|state| state.tally))
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Puts our program into the place of the one that a process has left.
    pub(crate) fn take_place(&mut self, program: &Program) -> io::Result<()> {
        self.attachment.replace(program)?;
        self.origin = Origin::Ours;
        Ok(())
    }

    /// Returns how the switch is to know the port.
    pub(crate) fn carried(&self) -> Carried {
        self.carried
    }

    /// Tells whether a discipline of ours keeps its rate.
    pub(crate) fn is_paced(&self) -> bool {
        self.carried.class != 0
    }

    /// Returns where the program is and what paces the port, in words.
    pub(crate) fn describe(&self) -> String {
        let place = self.attachment.hook();
        let pacing = match self.paced.as_ref().map(PacedLink::pacing) {
            Some(pacing) => format!("; {pacing}"),
            None => String::new(),
        };
        let order = match &self.steering {
            Some(Err(reason)) => format!("; frames may overtake each other: {reason}"),
            Some(Ok(_)) | None => String::new(),
        };
        format!("{place}{pacing}{order}")
    }
}

impl Hook {
    /// Loads the program for `tables` and `frames`, and for a switch of so many
    /// ports.
    pub(super) fn load(
        tables: &SharedTables,
        frames: &HandedFrames,
        ports: usize,
        (manner, hops): (Manner, Option<HopSpace>),
        retained: Option<&RetainedSet>,
    ) -> Result<Self, EngineError> {
        let word = MapShape {
            kind: MapKind::Hash,
            key_bytes: 4,
            value_bytes: 4,
            entries: u32::try_from(ports.max(1) * INTERFACES_PER_PORT).expect("a few hundred"),
        };
        let interfaces = Map::create("interfaces", word)?;
        let scratch = MapShape {
            kind: MapKind::ArrayPerProcessor,
            key_bytes: 4,
            value_bytes: SCRATCH_BYTES,
            entries: 1,
        };
        let scratch = Map::create("scratch", scratch)?;
        let mut maps: BTreeMap<_, _> = tables.arrays().collect();
        maps.insert("interfaces", interfaces.as_fd());
        maps.insert("scratch", scratch.as_fd());
        maps.insert("handed", frames.as_fd());
        let object = Object::parse(OBJECT).map_err(crate::bpf::program::LoadError::from)?;
        let program = Program::load(&object, MAIN, &maps)?;
        Ok(Self {
            program,
            interfaces,
            manner,
            hops,
            pins: retained.map(RetainedSet::pins),
            left: Mutex::new(retained.map_or_else(BTreeMap::new, RetainedSet::links)),
        })
    }

    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns those who see frames leave, if anybody does.
    #[must_use]
    pub fn hops(&self) -> Option<&HopSpace> {
        self.hops.as_ref()
    }

    /// Makes `interface`, of the calling thread's namespace, a port that sends at
    /// `rate`. Its `hold` has to live as long as the port.
    ///
    /// # Errors
    ///
    /// If somebody else uses it, the kernel lacks something, or without CAP_NET_ADMIN
    /// and CAP_NET_RAW. Nothing stays changed then.
    ///
    /// # Panics
    ///
    /// If what is held is another interface.
    pub fn binding(
        &self,
        interface: &Interface,
        hold: &Hold,
        rate: Option<BitRate>,
    ) -> Result<KernelPort, PortBindingError> {
        let index = interface.index();
        assert_eq!(index, hold.interface(), "the interface is held");
        let left = self.lock_left().remove(&index);
        let origin = match left {
            Some(_) => Origin::Left,
            None => Origin::Ours,
        };
        let paced = rate.map(|rate| self.pace(interface, rate, origin));
        let paced = paced.transpose()?;
        self.know(index, NO_PORT)
            .map_err(PortBindingError::Interfaces)?;
        let attachment = match left {
            Some(left) => Attachment::take_over(left),
            None => self.attach(hold)?,
        };
        let hearing = match &self.pins {
            Some(_) => Hearing::begin(interface, origin).map_err(PortBindingError::Socket)?,
            None => None,
        };
        let (class, queues) = match paced.as_ref().map(PacedLink::pacing) {
            Some(Pacing::Htb(..)) => {
                let queues = QueueReader::open(index).map_err(PortBindingError::Socket)?;
                (qdisc::class(0).as_u32(), Some(queues))
            }
            Some(Pacing::Nothing | Pacing::NothingThere) | None => (0, None),
        };
        let processor = self.manner.processor.filter(|_| class != 0);
        let steering = processor.map(|processor| {
            let steering = Steering::to(interface, processor)?;
            Ok(match origin {
                Origin::Left => steering.taken_over(),
                Origin::Ours => steering,
            })
        });
        let carried = Carried {
            interface: index,
            class,
        };
        let hung = Hung {
            attachment,
            paced,
            queues,
            steering,
            carried,
            origin,
            hearing,
        };
        let port = KernelPort::open(index).map_err(PortBindingError::Socket)?;
        if let Some(hops) = &self.hops {
            hops.know_port(&port).map_err(PortBindingError::Socket)?;
        }
        Ok(port.keeping(hung))
    }

    fn pace(
        &self,
        interface: &Interface,
        rate: BitRate,
        origin: Origin,
    ) -> Result<PacedLink, PacingError> {
        let length = self.manner.queue;
        let shape = Shape { rate, length };
        match origin {
            Origin::Left => PacedLink::take_over(interface, self.manner.qdisc, shape),
            Origin::Ours => PacedLink::take(interface, self.manner.qdisc, shape),
        }
    }

    /// Puts the program at an interface, by a link with a name if it is to outlive the
    /// process.
    fn attach(&self, hold: &Hold) -> Result<Attachment, PortBindingError> {
        let mut attachment = Attachment::attach(&self.program, hold, self.manner.preference)?;
        if let Some(pins) = &self.pins {
            let path = pins.join(format!("{LINK}{}", hold.interface()));
            // A name of an interface that had the number before.
            let _ = std::fs::remove_file(&path);
            attachment.name(&path).map_err(PortBindingError::Name)?;
        }
        Ok(attachment)
    }

    /// Returns whether a process left a link that no port has taken.
    pub(crate) fn has_left(&self) -> bool {
        !self.lock_left().is_empty()
    }

    /// Takes away the programs of a process that has ended at interfaces that are no ports.
    pub(crate) fn drop_left(&self) {
        for (interface, link) in std::mem::take(&mut *self.lock_left()) {
            drop(link);
            if let Some(pins) = &self.pins {
                let _ = std::fs::remove_file(pins.join(format!("{LINK}{interface}")));
            }
        }
    }

    fn lock_left(&self) -> MutexGuard<'_, BTreeMap<u32, Link>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the program take frames from the interface of number `interface` for
    /// those of the `place`th port.
    ///
    /// # Errors
    ///
    /// If there are too many.
    pub(crate) fn know(&self, interface: u32, place: u32) -> io::Result<()> {
        self.interfaces
            .update(&interface.to_ne_bytes(), &place.to_ne_bytes())
    }

    /// Has the program drop what comes in there.
    pub(crate) fn drop_all_of(&self, interface: u32) {
        // It is known as long as the program is there, and can be changed then.
        let _ = self.know(interface, NO_PORT);
    }

    /// Takes it for an interface that is no port, which the program is not at.
    pub(crate) fn forget(&self, interface: u32) {
        let _ = self.interfaces.delete(&interface.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_as_much_scratch_memory_as_it_says() {
        let source = include_str!("../../bpf/plan.h");
        let line = source
            .lines()
            .find_map(|line| line.strip_prefix("#define PLAN_BYTES "));

        assert_eq!(line.unwrap().parse(), Ok(SCRATCH_BYTES));
    }
}
