//! Notices that a flow sends more, or more often, than it agreed to (S2-3).
//!
//! Message k of a flow that arrives at E(k) and has the size C(k) is within the contract
//! of a level if it is not earlier than its guide time and not larger than agreed,
//! MC-SDN section IV-A:
//!
//! ```text
//! G(k) = max{G(k-1), E(k-1) - J} + T        within: E(k) >= G(k) and C(k) <= C
//! ```
//!
//! T and C are those of the level, J is the release jitter of the flow. Every level
//! has guide times of its own, so that a message says at once which level it
//! [demands](Demand), and a change of level needs nothing to be set anew. Work and
//! memory for a packet do not depend on anything.
//!
//! # Losses, duplicates, reordering
//!
//! Packets carry the header of S2-2: message, its size, and a number that counts
//! packets. What the network does to them never makes a flow look worse than it is:
//!
//! - If packets are missing before the first one seen of a message, the message may
//!   have come as early as the packet before; that is what the next guide time counts
//!   from. So it is with the first one of all, unless it bears the number 0.
//! - A packet that was seen already counts once, within the last 64.
//! - Stragglers of the message before count for that one.
//!
//! Nor can a sender hide by numbers: whatever belongs neither to the current message nor to the
//! one before begins a new one, and a message is as large as it says or as it turns
//! out to be.

use thiserror::Error;
use units::{Duration, Instant};
use wire::message_shim::MessageShim;
use wire::mode_signal::{LEVELS, Level};

pub(super) mod words;

const LEVELS_COUNT: usize = LEVELS as usize;

/// What a flow may send at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The least time between two messages.
    pub period: Duration,
    /// The most bytes of a message, headers not counted.
    pub size_bytes: u32,
}

/// What a flow may send at each level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contracts {
    levels: [Contract; LEVELS_COUNT],
    count: u8,
    jitter: Duration,
}

/// Contracts make no sense together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ContractsError {
    /// There are none, or more than levels.
    #[error("{count} contracts, there have to be 1 to {LEVELS}")]
    Count { count: usize },
    /// A higher level grants less than the one below.
    #[error("level {level} grants less than the level below it")]
    Shrinks { level: usize },
}

impl Contracts {
    /// Returns the contracts of a flow, one for each level from the lowest, and its
    /// release jitter. Levels above the last one have its contract.
    ///
    /// # Errors
    ///
    /// If there is none, or if one grants less than the one below.
    pub fn new(contracts: &[Contract], jitter: Duration) -> Result<Self, ContractsError> {
        let count = contracts.len();
        let (Some(last), true) = (contracts.last(), count <= LEVELS_COUNT) else {
            return Err(ContractsError::Count { count });
        };
        let shrinks = |pair: &[Contract]| {
            pair[1].period > pair[0].period || pair[1].size_bytes < pair[0].size_bytes
        };
        if let Some(below) = contracts.windows(2).position(shrinks) {
            return Err(ContractsError::Shrinks { level: below + 1 });
        }
        let mut levels = [*last; LEVELS_COUNT];
        levels[..count].copy_from_slice(contracts);
        Ok(Self {
            levels,
            count: u8::try_from(count).expect("at most eight"),
            jitter,
        })
    }
}

impl Contracts {
    /// Returns the contracts, one for each level from the lowest.
    pub(crate) fn given(&self) -> &[Contract] {
        &self.levels[..usize::from(self.count)]
    }

    /// Returns the release jitter of the flow.
    pub(crate) const fn jitter(&self) -> Duration {
        self.jitter
    }
}

/// A packet of a monitored flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub shim: MessageShim,
    /// What it carries of the message, in bytes.
    pub carried_bytes: u32,
}

/// What the current message of a flow asks of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// The lowest level whose contract it keeps.
    Level(Level),
    /// It keeps none. The highest level for which there is a contract.
    Beyond(Level),
}

impl Demand {
    /// Returns the level that it asks for.
    #[must_use]
    pub const fn level(self) -> Level {
        match self {
            Self::Level(level) | Self::Beyond(level) => level,
        }
    }
}

/// What a monitor has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MonitorCounters {
    pub packets: u64,
    /// Messages, those included of which packets are missing.
    pub messages: u64,
    /// Messages that demanded more than the lowest level.
    pub violations: u64,
    /// Of those, the ones that kept no contract.
    pub beyond: u64,
    /// Numbers that were left out, at the first look.
    pub missing: u64,
    /// Packets that were seen before.
    pub duplicates: u64,
    /// Packets that came after ones with higher numbers.
    pub reordered: u64,
}

#[derive(Clone, Debug)]
pub struct FlowMonitor {
    contracts: Contracts,
    guides: [Instant; LEVELS_COUNT],
    current: Option<CurrentMessage>,
    /// How many bytes the message before may still bring.
    before: Option<CurrentMessage>,
    window: Window,
    last_seen: Instant,
    counters: MonitorCounters,
}

#[derive(Clone, Copy, Debug)]
struct CurrentMessage {
    number: u32,
    size_bytes: u32,
    seen_bytes: u32,
    demand: Demand,
}

impl FlowMonitor {
    /// Begins to watch: whatever comes first is in time.
    #[must_use]
    pub const fn new(contracts: Contracts) -> Self {
        Self {
            contracts,
            guides: [Instant::ZERO; LEVELS_COUNT],
            current: None,
            before: None,
            window: Window::NEW,
            last_seen: Instant::ZERO,
            counters: MonitorCounters {
                packets: 0,
                messages: 0,
                violations: 0,
                beyond: 0,
                missing: 0,
                duplicates: 0,
                reordered: 0,
            },
        }
    }

    /// Returns what it has seen.
    #[must_use]
    pub const fn counters(&self) -> &MonitorCounters {
        &self.counters
    }

    /// Returns what the message that this packet belongs to demands, as far as is
    /// known.
    pub fn observe(&mut self, now: Instant, packet: &Packet) -> Demand {
        self.counters.packets += 1;
        let order = self.window.take(packet.shim.sequence);
        match order {
            MessageOrder::Next => {}
            MessageOrder::Ahead { .. } if self.current.is_none() => {}
            MessageOrder::Ahead { missing } => self.counters.missing += u64::from(missing),
            MessageOrder::Behind => self.counters.reordered += 1,
            MessageOrder::Again => self.counters.duplicates += 1,
        }
        let demand = self.place(now, packet, order);
        self.last_seen = now;
        demand
    }

    /// Finds the message of a packet and adds the packet to it.
    fn place(&mut self, now: Instant, packet: &Packet, order: MessageOrder) -> Demand {
        let number = packet.shim.message;
        let is_it = |message: &CurrentMessage| message.number == number;
        let carried = match order {
            MessageOrder::Again => 0,
            MessageOrder::Next | MessageOrder::Ahead { .. } | MessageOrder::Behind => {
                packet.carried_bytes
            }
        };
        if self.current.as_ref().is_some_and(is_it) {
            return self.continue_current(packet, carried);
        }
        if let Some(before) = self.before.as_mut().filter(|before| is_it(before)) {
            before.seen_bytes = before.seen_bytes.saturating_add(carried);
            if before.seen_bytes <= before.size_bytes {
                return before.demand;
            }
        }
        self.begin(now, packet, order)
    }

    fn continue_current(&mut self, packet: &Packet, carried: u32) -> Demand {
        let current = self.current.as_mut().expect("the caller has looked");
        current.seen_bytes = current.seen_bytes.saturating_add(carried);
        let size = packet.shim.size_bytes.max(current.seen_bytes);
        if size <= current.size_bytes {
            return current.demand;
        }
        current.size_bytes = size;
        let counted = current.demand;
        let demand = stronger(counted, self.contracts.demand_of_size(size));
        current.demand = demand;
        self.count(Some(counted), demand);
        demand
    }

    fn begin(&mut self, now: Instant, packet: &Packet, order: MessageOrder) -> Demand {
        let size_bytes = packet.shim.size_bytes.max(packet.carried_bytes);
        let earliest = match order {
            MessageOrder::Next => now,
            MessageOrder::Ahead { .. } | MessageOrder::Behind | MessageOrder::Again => {
                self.last_seen
            }
        };
        let demand = stronger(
            self.contracts.demand_of_size(size_bytes),
            self.demand_of_time(now),
        );
        self.advance(earliest);
        self.before = self.current;
        self.current = Some(CurrentMessage {
            number: packet.shim.message,
            size_bytes,
            seen_bytes: packet.carried_bytes,
            demand,
        });
        self.counters.messages += 1;
        self.count(None, demand);
        demand
    }

    /// Returns the lowest level whose guide time has come.
    fn demand_of_time(&self, now: Instant) -> Demand {
        self.contracts.lowest(|at, _| self.guides[at] <= now)
    }

    /// Sets the guide times of the next message, this one having come at `arrival`.
    fn advance(&mut self, arrival: Instant) {
        let jitter = self.contracts.jitter;
        let released = Instant::ZERO + arrival.saturating_since(Instant::ZERO + jitter);
        for (guide, contract) in self.guides.iter_mut().zip(&self.contracts.levels) {
            let guided = (*guide).max(released).as_ns();
            *guide = Instant::from_ns(guided.saturating_add(contract.period.as_ns()));
        }
    }

    /// Counts a message once, however often its demand rises.
    fn count(&mut self, counted: Option<Demand>, demand: Demand) {
        let is_violation = |demand: Demand| demand != Demand::Level(Level::LOWEST);
        let is_beyond = |demand: Demand| matches!(demand, Demand::Beyond(_));
        if is_violation(demand) && !counted.is_some_and(is_violation) {
            self.counters.violations += 1;
        }
        if is_beyond(demand) && !counted.is_some_and(is_beyond) {
            self.counters.beyond += 1;
        }
    }
}

impl Contracts {
    fn demand_of_size(&self, size_bytes: u32) -> Demand {
        self.lowest(|_, contract| size_bytes <= contract.size_bytes)
    }

    fn lowest(&self, keeps: impl Fn(usize, &Contract) -> bool) -> Demand {
        let count = usize::from(self.count);
        let levels = Level::all().zip(&self.levels).take(count).enumerate();
        let mut highest = Level::LOWEST;
        for (at, (level, contract)) in levels {
            if keeps(at, contract) {
                return Demand::Level(level);
            }
            highest = level;
        }
        Demand::Beyond(highest)
    }
}

fn stronger(one: Demand, other: Demand) -> Demand {
    let rank = |demand: Demand| (demand.level(), matches!(demand, Demand::Beyond(_)));
    if rank(one) >= rank(other) { one } else { other }
}

/// Which of the last 64 numbers were seen.
#[derive(Clone, Copy, Debug)]
struct Window {
    begun: bool,
    highest: u32,
    /// Bit i stands for `highest - i`.
    seen: u64,
}

/// How a number follows those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageOrder {
    Next,
    Ahead { missing: u32 },
    Behind,
    Again,
}

impl Window {
    const NEW: Self = Self {
        begun: false,
        highest: 0,
        seen: 0,
    };

    fn take(&mut self, number: u32) -> MessageOrder {
        if !self.begun {
            *self = Self {
                begun: true,
                highest: number,
                seen: 1,
            };
            return match number {
                0 => MessageOrder::Next,
                missing => MessageOrder::Ahead { missing },
            };
        }
        let ahead = number.wrapping_sub(self.highest);
        let behind = self.highest.wrapping_sub(number);
        if ahead > 0 && ahead <= u32::MAX / 2 {
            self.highest = number;
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            return match ahead {
                1 => MessageOrder::Next,
                _ => MessageOrder::Ahead { missing: ahead - 1 },
            };
        }
        match 1u64.checked_shl(behind) {
            Some(bit) if self.seen & bit != 0 => MessageOrder::Again,
            Some(bit) => {
                self.seen |= bit;
                MessageOrder::Behind
            }
            // Too far back to know: a sender that began anew, or a stray.
            None => {
                self.highest = number;
                self.seen = 1;
                MessageOrder::Behind
            }
        }
    }
}

#[cfg(test)]
mod tests;
