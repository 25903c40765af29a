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

use switch::compiled::Carried;
use switch::{QUEUE_FRAMES, QUEUES, QueueTally};
use thiserror::Error;
use units::BitRate;

use super::{EngineError, HandedFrames, SharedTables};
use crate::bpf::attachment::{AttachError, Attachment, Preference};
use crate::bpf::map::{Map, MapKind, MapShape};
use crate::bpf::object::Object;
use crate::bpf::program::Program;
use crate::hold::Hold;
use crate::hop_watch::HopSpace;
use crate::interface::{Interface, Steering};
use crate::port::KernelPort;
use crate::qdisc::paced_link::Pacing;
use crate::qdisc::{self, Length, PacedLink, PacingError, Qdisc, QueueReader, Shape};
use std::os::fd::AsFd;

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
}

impl Hung {
    /// Asks what the queues have carried and lost, if it has any.
    pub(crate) fn read_queues(&mut self) -> Option<[QueueTally; QUEUES]> {
        let states = self.queues.as_mut()?.read().ok()?;
        Some(states.map(|state| state.tally))
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
        let shape = |rate| Shape {
            rate,
            length: self.manner.queue,
        };
        let paced = rate.map(|rate| PacedLink::take(interface, self.manner.qdisc, shape(rate)));
        let paced = paced.transpose()?;
        self.know(index, NO_PORT)
            .map_err(PortBindingError::Interfaces)?;
        let attachment = Attachment::attach(&self.program, hold, self.manner.preference)?;
        let (class, queues) = match paced.as_ref().map(PacedLink::pacing) {
            Some(Pacing::Htb(..)) => {
                let queues = QueueReader::open(index).map_err(PortBindingError::Socket)?;
                (qdisc::class(0).as_u32(), Some(queues))
            }
            Some(Pacing::Nothing | Pacing::NothingThere) | None => (0, None),
        };
        let processor = self.manner.processor.filter(|_| class != 0);
        let steering = processor.map(|processor| Steering::to(interface, processor));
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
        };
        let port = KernelPort::open(index).map_err(PortBindingError::Socket)?;
        if let Some(hops) = &self.hops {
            hops.know_port(&port).map_err(PortBindingError::Socket)?;
        }
        Ok(port.keeping(hung))
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
