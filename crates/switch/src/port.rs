//! A port: its link, its configuration, and how frames leave it.
//!
//! A port with a rate sends one frame at a time. Frames that come meanwhile
//! wait in eight queues of strict priority, 7 being the most urgent; a frame
//! whose transmission began is never interrupted, so an urgent one waits for at
//! most one other. A port without a rate sends at once. So does a port that the
//! world paces: its queues are the world's, which tells what they carry and lose.
//!
//! Sources: OF13 clauses 5.1 and 7.2.1; IEEE 802.1Q clause 8.6.8.1 (strict
//! priority).

use units::{BitRate, Delay, Duration, Instant};
use wire::ethernet::wire_size;
use wire::mode_signal::Level;
use wire::openflow;
use wire::openflow::taktos::{QueuedFrameAction, QueuedFrameActions};

use crate::bfd::PortSession;
use crate::buffer_pool::SlotIndex;
use crate::config::{Pacing, PortConfig};
use crate::counters::{PortCounters, QueueTally};
use crate::egress_queue::{EgressQueue, QueueFull, Queued};
use crate::hops::Owner;
use crate::modes::FarEnd;

/// The port is left out of floods, OF10 section 5.2.1. Version 1.3 has no name
/// for it and leaves the bit free.
pub(crate) const NO_FLOOD: openflow::PortConfig = openflow::PortConfig(1 << 4);

/// How many queues a port has.
pub const QUEUES: usize = 8;
pub(crate) const URGENT: u8 = 7;

/// The place of a port in the list of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PortIndex(pub(crate) u16);

impl PortIndex {
    pub(crate) fn at(self) -> usize {
        usize::from(self.0)
    }
}

/// Whether a link carries frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Down,
    Up,
}

/// What became of a frame that was to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// Its transmission begins now and its last bit leaves then.
    Begins(Instant),
    /// It waits until the port is free.
    Waits,
}

/// A frame that is to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) frame: SlotIndex,
    pub(crate) queue: u8,
    /// What becomes of it while it waits.
    pub(crate) fates: QueuedFrameActions,
    /// On whose behalf it leaves.
    pub(crate) owner: Option<Owner>,
}

/// One port of a switch.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) config: PortConfig,
    pub(crate) link: Link,
    /// What the controller wants of the port.
    pub(crate) policy: openflow::PortConfig,
    pub(crate) counters: PortCounters,
    pub(crate) since: Instant,
    /// The switch at the other end, if signals of modes come and go here.
    pub(crate) far_end: Option<FarEnd>,
    /// What asks all the time whether the neighbour is there, if something does.
    pub(crate) bfd: Option<Box<PortSession>>,
    /// Whether that took the port for live when it was looked at last.
    pub(crate) was_live: bool,
    pace: Option<Pace>,
    queues: [EgressQueue; QUEUES],
    /// A bit for every queue that is not empty.
    waiting: u8,
    /// A frame of the switch itself, which goes ahead of all queues.
    ahead: Option<SlotIndex>,
    /// How many frames have waited so far.
    turns: u64,
    busy_until: Instant,
}

impl Port {
    pub(crate) fn new(now: Instant, config: PortConfig, queue_capacity: usize) -> Self {
        Self {
            pace: config.own_pace().map(Pace::new),
            config,
            link: Link::Up,
            policy: openflow::PortConfig::NONE,
            counters: PortCounters::default(),
            since: now,
            queues: std::array::from_fn(|_| EgressQueue::new(queue_capacity)),
            waiting: 0,
            ahead: None,
            turns: 0,
            far_end: None,
            bfd: None,
            was_live: true,
            busy_until: now,
        }
    }

    /// Sends at this rate from the next frame on, if it paces itself.
    pub(crate) fn set_rate(&mut self, rate: BitRate) {
        self.pace = self.pace.map(|_| Pace::new(rate));
    }

    /// Returns whether the port is there for frames at all.
    pub(crate) fn is_up(&self) -> bool {
        self.link == Link::Up && !self.forbids(openflow::PortConfig::PORT_DOWN)
    }

    /// Returns whether it is up and its neighbour there, as far as anybody asks for that: what
    /// groups watch, OF13 clause 6.5.
    pub(crate) fn is_live(&self) -> bool {
        self.is_up() && self.bfd.as_ref().is_none_or(|session| session.is_live())
    }

    /// Returns whether frames may leave here.
    pub(crate) fn sends(&self) -> bool {
        self.is_up() && !self.forbids(openflow::PortConfig::NO_FORWARD)
    }

    /// Returns whether frames for every port may leave here.
    pub(crate) fn sends_floods(&self) -> bool {
        self.sends() && !self.forbids(NO_FLOOD)
    }

    /// Returns whether the controller forbids the port something.
    pub(crate) fn forbids(&self, what: openflow::PortConfig) -> bool {
        self.policy.contains(what)
    }

    /// Takes a frame of `bytes` bytes that is to leave now.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        leaving: Leaving,
        bytes: usize,
    ) -> Result<Sending, QueueFull> {
        let Leaving {
            frame,
            queue,
            fates,
            owner,
        } = leaving;
        if self.waiting == 0 && self.busy_until <= now && self.ahead.is_none() {
            return Ok(Sending::Begins(self.begin(now, queue, bytes)));
        }
        let turn = self.turns;
        self.queues[usize::from(queue)].push(Queued {
            frame,
            fates,
            owner,
            turn,
        })?;
        self.turns += 1;
        self.waiting |= 1 << queue;
        Ok(Sending::Waits)
    }

    /// Takes a frame of the switch itself that is to leave before all others. One
    /// that is still waiting is out of date, and given back.
    pub(crate) fn send_ahead(
        &mut self,
        now: Instant,
        frame: SlotIndex,
        bytes: usize,
    ) -> (Sending, Option<SlotIndex>) {
        if self.waiting == 0 && self.busy_until <= now && self.ahead.is_none() {
            return (Sending::Begins(self.begin(now, URGENT, bytes)), None);
        }
        (Sending::Waits, self.ahead.replace(frame))
    }

    /// Says which switch is at the other end, if it is a trunk, and returns whether
    /// it was another before. One that stays is remembered as it was heard.
    pub(crate) fn replace_far_end(&mut self, far_end: Option<FarEnd>) -> bool {
        let names = |end: FarEnd| (end.switch, end.port);
        if self.far_end.map(names) == far_end.map(names) {
            return false;
        }
        self.far_end = far_end;
        true
    }

    /// Returns whether a frame of the switch itself waits.
    pub(crate) const fn has_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Returns when the next of the waiting frames can begin.
    pub(crate) fn next_start(&self) -> Option<Instant> {
        (self.waiting != 0 || self.ahead.is_some()).then_some(self.busy_until)
    }

    /// Takes the most urgent frame out of its queue, if the port is free, and judges
    /// it by the level that is served.
    pub(crate) fn next_turn(&mut self, now: Instant, level: Level) -> Option<Turn> {
        if self.busy_until > now {
            return None;
        }
        if let Some(frame) = self.ahead.take() {
            let queue = URGENT;
            return Some(Turn::Leaves(Waiting {
                queue,
                frame,
                owner: None,
            }));
        }
        if self.waiting == 0 {
            return None;
        }
        let queue = self.most_urgent();
        let next = self.pop(queue);
        let leaves = Turn::Leaves(Waiting {
            queue,
            frame: next.frame,
            owner: next.owner,
        });
        Some(match next.fates.at(level) {
            QueuedFrameAction::Stay => leaves,
            QueuedFrameAction::Move(to) if to == queue => leaves,
            QueuedFrameAction::Move(to) => self.move_to(to, next),
            QueuedFrameAction::Drop => {
                self.count_drop(queue);
                Turn::Dropped(next.frame)
            }
        })
    }

    fn move_to(&mut self, queue: u8, next: Queued) -> Turn {
        match self.queues[usize::from(queue)].push_moved(next) {
            Ok(()) => {
                self.waiting |= 1 << queue;
                Turn::Moved
            }
            Err(QueueFull) => {
                self.count_drop(queue);
                Turn::Dropped(next.frame)
            }
        }
    }

    /// Begins the transmission of what [`next_turn`](Self::next_turn) let leave.
    /// A driver that comes up to `catch_up` late does not shift the schedule:
    /// the frame counts as begun when the port became free.
    pub(crate) fn begin_waiting(
        &mut self,
        now: Instant,
        queue: u8,
        bytes: usize,
        catch_up: Duration,
    ) -> Instant {
        let starts = match now.saturating_since(self.busy_until) <= catch_up {
            true => self.busy_until,
            false => now,
        };
        self.begin(starts, queue, bytes)
    }

    /// Takes a waiting frame that will not leave any more; counts it.
    pub(crate) fn drop_waiting(&mut self) -> Option<SlotIndex> {
        if let Some(frame) = self.ahead.take() {
            self.count_drop(URGENT);
            return Some(frame);
        }
        if self.waiting == 0 {
            return None;
        }
        let queue = self.most_urgent();
        self.count_drop(queue);
        Some(self.pop(queue).frame)
    }

    /// Counts a frame that was to leave through `queue` and does not.
    pub(crate) fn count_drop(&mut self, queue: u8) {
        self.counters.sent_dropped += 1;
        self.queues[usize::from(queue)].counters.dropped_frames += 1;
    }

    /// Notes what the world's queues have carried and lost, if they are the ones of
    /// this port.
    pub(crate) fn note_queues(&mut self, tallies: &[QueueTally; QUEUES]) {
        match self.config.pacing {
            Pacing::Core => return,
            Pacing::World => {}
        }
        for (queue, &tally) in self.queues.iter_mut().zip(tallies) {
            let more = tally.since(std::mem::replace(&mut queue.told, tally));
            queue.counters.sent_frames += more.sent_frames;
            queue.counters.sent_bytes += more.sent_bytes;
            queue.counters.dropped_frames += more.dropped_frames;
            self.counters.sent_frames += more.sent_frames;
            self.counters.sent_bytes += more.sent_bytes;
            self.counters.sent_dropped += more.dropped_frames;
        }
    }

    /// Notes how long a frame of `queue` stayed in the switch.
    #[inline]
    pub(crate) fn note_residence(&mut self, queue: u8, stay: Duration) {
        self.queues[usize::from(queue)].residence.note(stay);
    }

    pub(crate) fn queues(&self) -> &[EgressQueue; QUEUES] {
        &self.queues
    }

    fn most_urgent(&self) -> u8 {
        let above = self.waiting.leading_zeros();
        u8::try_from(u8::BITS - 1 - above).expect("one of eight")
    }

    fn pop(&mut self, queue: u8) -> Queued {
        let waiting = &mut self.queues[usize::from(queue)];
        let frame = waiting.pop().expect("its bit is set while it is not empty");
        if waiting.is_empty() {
            self.waiting &= !(1 << queue);
        }
        frame
    }

    fn begin(&mut self, starts: Instant, queue: u8, bytes: usize) -> Instant {
        match self.config.pacing {
            Pacing::Core => self.count_sent(queue, bytes),
            // It counts what leaves its queues; this frame may yet be dropped there.
            Pacing::World => {}
        }
        if let Some(pace) = self.pace {
            self.busy_until = starts + pace.time_to_send(bytes);
            return self.busy_until;
        }
        starts
    }

    fn count_sent(&mut self, queue: u8, bytes: usize) {
        let bytes = u64::try_from(bytes).expect("a frame is short");
        self.counters.sent_frames += 1;
        self.counters.sent_bytes += bytes;
        let counters = &mut self.queues[usize::from(queue)].counters;
        counters.sent_frames += 1;
        counters.sent_bytes += bytes;
    }
}

/// What becomes of the frame whose turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Leaves(Waiting),
    /// It waits in another queue.
    Moved,
    /// The level that is served drops it, or there was no room in the other queue.
    Dropped(SlotIndex),
}

/// A frame whose transmission can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) queue: u8,
    pub(crate) frame: SlotIndex,
    /// On whose behalf it leaves.
    pub(crate) owner: Option<Owner>,
}

/// How fast a port sends. Most rates have a whole number of picoseconds a bit,
/// which saves a long division a frame.
#[derive(Clone, Copy, Debug)]
enum Pace {
    PicosecondsPerBit(u64),
    Rate(BitRate),
}

impl Pace {
    fn new(rate: BitRate) -> Self {
        const PS_PER_SECOND: u64 = 1_000_000_000_000;
        match PS_PER_SECOND % rate.as_bps() {
            0 => Self::PicosecondsPerBit(PS_PER_SECOND / rate.as_bps()),
            _ => Self::Rate(rate),
        }
    }

    /// Returns how long a frame keeps the link busy, rounded up.
    fn time_to_send(self, frame_bytes: usize) -> Duration {
        let size = wire_size(frame_bytes);
        let delay = match self {
            Self::PicosecondsPerBit(ps) => Delay::from_ps(ps * size.as_bits()),
            Self::Rate(rate) => rate.time_to_send(size),
        };
        delay.round_up()
    }
}
