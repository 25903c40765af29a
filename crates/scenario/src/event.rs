//! What happens to the network while traffic runs.

use std::num::NonZeroU32;

use units::{BitRate, DataSize, Duration};

use crate::{End, FlowIndex, HostIndex, LinkIndex, SwitchIndex};

/// Something that happens at a stated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// When, after the start of traffic; before its end.
    pub at: Duration,
    pub change: Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The link breaks: both ends lose the carrier, what is on it is lost.
    Cut(LinkIndex),
    Heal(LinkIndex),
    /// The host is unplugged and plugged into another switch.
    HostMoves {
        host: HostIndex,
        /// The switch and its port, a free one after those of the links.
        to: End,
    },
    /// The switch stops: its tables and queues are gone, its links are down.
    SwitchCrash(SwitchIndex),
    /// The process of the switch dies, and its tables and queues with it. Its
    /// interfaces are there yet: its neighbours see a carrier.
    SwitchKill(SwitchIndex),
    /// The switch starts again, with empty tables.
    SwitchRestart(SwitchIndex),
    /// The link treats frames badly while both of its ends see a carrier, or does so no more.
    Impair {
        link: LinkIndex,
        direction: Direction,
        impairment: Impairment,
        /// One frame in so many, at random; none any more if absent.
        one_in: Option<NonZeroU32>,
    },
    /// The control channel of the switch carries nothing, and nobody is told; the switch
    /// forwards as before.
    Isolate(SwitchIndex),
    /// The control channel of the switch carries again.
    Rejoin(SwitchIndex),
}

/// What a link may do to a frame while both of its ends see a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impairment {
    /// The frame does not arrive.
    Loss,
    /// One bit of the frame is another one, and no check sequence says so.
    Corruption,
}

/// Which frames of a link are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Both,
    /// Those that come from this one of its two ends.
    From(usize),
}

impl Direction {
    /// Returns the ends from which the frames come.
    pub fn ends(self) -> impl Iterator<Item = usize> {
        (0..2).filter(move |end| match self {
            Self::Both => true,
            Self::From(one) => one == *end,
        })
    }
}

/// An error that the scenario plants: somebody is not what the network file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlantedError {
    /// When it begins, after the start of traffic; before its end.
    pub from: Duration,
    /// When it ends; with the run if absent.
    pub until: Option<Duration>,
    pub kind: ErrorKind,
}

/// Who is not what the network file says, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Each frame occupies the processor of the switch for longer.
    SlowSwitch {
        switch: SwitchIndex,
        extra: Duration,
    },
    /// The link takes fewer bits in a second, in both directions.
    SlowLink {
        link: LinkIndex,
        /// How much slower it is.
        by_thousandths: u32,
    },
    /// The source sends more than it agreed to.
    Exceed { flow: FlowIndex, excess: Excess },
    /// The host sends frames of no flow.
    Foreign {
        host: HostIndex,
        frames: ForeignFrames,
        /// How much it sends, as it occupies the wire.
        rate: BitRate,
        /// The size of each frame without its check sequence.
        size: DataSize,
    },
}

/// How a source sends more than it agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Its schedule passes so many times as fast.
    Factor { thousandths: u32 },
    /// So much at once, and then as before.
    Burst(DataSize),
}

/// What frames of no flow look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFrames {
    /// They have the headers of a promised flow.
    Like(FlowIndex),
    /// They have tags with a priority.
    Tagged {
        priority: u8,
    },
    /// They go to addresses that nobody has, each to another one.
    FloodRandom,
    FloodBroadcast,
}
