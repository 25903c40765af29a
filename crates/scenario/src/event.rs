//! What happens to the network while traffic runs.

use units::Duration;

use crate::{End, HostIndex, LinkIndex, SwitchIndex};

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
}
