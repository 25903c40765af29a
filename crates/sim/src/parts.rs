//! What a simulated network is made of, as it is handed to [`World`](crate::World).

use std::num::NonZeroU32;

use scenario::{Direction, Impairment};
use units::{BitRate, Delay, Duration, Instant};
use wire::openflow::PortNumber;

use crate::emulation::Behaviour;

#[derive(Debug)]
pub struct Parts {
    /// Everything that is drawn at random follows from it.
    pub seed: u64,
    /// The switches; their place in this list is their number.
    pub switches: Vec<SwitchPart>,
    /// The rates of the hosts' interfaces; their place in this list is the
    /// host's number.
    pub hosts: Vec<BitRate>,
    /// The cables; their place in this list is their number.
    pub links: Vec<LinkPart>,
    /// The controller; none if whoever holds the world speaks with the switches
    /// ([`World::tell`](crate::World::tell)).
    pub controller: Option<controller::Config>,
    /// How long a message takes between a switch and the controller, one way.
    pub control_delay: Duration,
    /// How long a switch takes to notice that a port has lost its carrier.
    pub carrier_detection: Duration,
}

/// In what simulated switches look frames up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The tables of their cores, as engines do that take every frame to the core.
    #[default]
    Tables,
    /// The compiled form of those, with room for so many entries, as the program in the
    /// kernel does; what that leaves to the core goes there.
    Compiled { entries: usize },
}

/// One simulated switch: the core that ships, behind a processor.
#[derive(Debug)]
pub struct SwitchPart {
    pub config: switch::Config,
    /// The stage that all of its ports share.
    pub processing: Processing,
    /// How it behaves, instead of `processing`: a device of another kind, or one whose
    /// times are not always the longest.
    pub emulation: Option<Behaviour>,
}

/// The processing stage that all ports of a switch share (`S4-5`): one frame
/// after the other, each `per_frame`, and `latency` on top that delays but
/// occupies nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processing {
    /// The delay that every frame has.
    pub latency: Delay,
    /// The time for which a frame occupies the processor.
    pub per_frame: Delay,
    /// Frames that may wait for the processor.
    pub capacity: usize,
}

/// A switch or a host, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    Switch(usize),
    Host(usize),
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub node: Node,
    /// The port of a switch; a host has only one.
    pub port: PortNumber,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPart {
    pub ends: [End; 2],
    /// How long a bit takes from one end to the other.
    pub propagation: Delay,
}

/// Something that goes wrong, or right again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A cable breaks; frames on it are lost.
    Cut { link: usize },
    /// A cable is whole again.
    Heal { link: usize },
    /// A switch loses all that it holds and is gone.
    Crash { switch: usize },
    /// The process of a switch dies and what it held with it; its cables keep their
    /// carrier, as interfaces outlive who uses them.
    Kill { switch: usize },
    /// A cable loses or corrupts one frame in so many while both ends see a carrier; none any
    /// more if there is no such number.
    Impair {
        link: usize,
        direction: Direction,
        impairment: Impairment,
        one_in: Option<NonZeroU32>,
    },
    /// Somebody beside the controller deletes all entries of a switch.
    Empty { switch: usize },
    /// The control connection of a switch carries nothing any more; nobody is told.
    Isolate { switch: usize },
    /// The control connection of a switch carries again, a new one.
    Rejoin { switch: usize },
    /// A switch that is gone starts anew.
    Restart { switch: usize },
    /// Each frame occupies a switch for so much longer than its processing says; no longer
    /// if that is nothing.
    Slow { switch: usize, extra: Duration },
    /// A link takes bits more slowly than it says, by so many thousandths; none for as it
    /// says.
    SlowLink { link: usize, by_thousandths: u32 },
    /// A host is unplugged and plugged in elsewhere.
    HostMoves {
        host: usize,
        /// The switch and its port, to which nothing is plugged.
        to: End,
    },
}

impl Fault {
    /// Returns that a cable loses all frames of both directions in silence.
    #[must_use]
    pub fn silence(link: usize) -> Self {
        Self::Impair {
            link,
            direction: Direction::Both,
            impairment: Impairment::Loss,
            one_in: Some(NonZeroU32::MIN),
        }
    }

    /// Returns that it loses no more of them.
    #[must_use]
    pub fn end_silence(link: usize) -> Self {
        Self::Impair {
            link,
            direction: Direction::Both,
            impairment: Impairment::Loss,
            one_in: None,
        }
    }
}

/// A fault and when it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultAt {
    pub at: Instant,
    pub fault: Fault,
}
