//! The passage of numbered frames from one port to another: what became of each.
//!
//! Frames carry a sequence number in their message header (S2-2), counted from 0.
//! Those of one port come in the order of their stamps, so that their order of
//! arrival is known; those of two ports come in any order, and so everything is kept
//! until the trial is over: stamps where times are wanted, a bit each where counts
//! are enough.
//!
//! - Lost is what was seen to leave and not to arrive (RFC 7680 section 2).
//! - Overtaken is what arrives with a smaller number than one before it (RFC 4737
//!   section 3.3); a second copy is no reordering.
//! - A second copy is a duplicate (RFC 5560 section 2).

use std::num::NonZeroU64;

use units::{Duration, Instant};

use super::{FrameSummary, Path};
use crate::statistics::Distribution;
use crate::trial::{PortIndex, Sighting, Watcher, Way};

/// The most frames of which stamps are kept.
pub const MOST_STAMPED: u64 = 1 << 23;
pub const MOST_COUNTED: u64 = crate::trial::MOST_FRAMES;

/// What is kept of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Stamps,
    Counts,
}

/// Watches frames on their way.
#[derive(Debug)]
pub struct Passing {
    path: Path,
    /// Another port where frames may come out.
    detour: Option<PortIndex>,
    frames: u64,
    sent: SeenFrames,
    mirrored: SeenFrames,
    received: SeenFrames,
    passage: Passage,
    /// Above every number that has arrived.
    next_expected: u64,
    /// When the first and the last frame arrived.
    span: Option<(Instant, Instant)>,
    awaited: Awaited,
    /// How many frames were seen to leave, and how many arrived.
    counts: (u64, u64),
    /// Above every number that has left.
    next_sent: u64,
}

/// Until when a trial is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Until all that left has arrived.
    All,
    /// Until the last that left has arrived: of those that are lost before it, none is
    /// waited for.
    Last,
}

/// What became of the frames of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// How many were seen to leave.
    pub sent: u64,
    /// How many of them arrived, second copies not counted.
    pub received: u64,
    pub lost: u64,
    /// The most that were lost in a row.
    pub longest_run: u64,
    pub duplicates: u64,
    /// How many arrived after one with a greater number.
    pub reordered: u64,
    /// The greatest distance, in numbers, by which one was overtaken.
    pub greatest_extent: u64,
    /// Frames of the same addresses whose number was never given.
    pub strange: u64,
}

impl Passing {
    /// Returns a watcher of `frames` frames that go the way of `path`.
    ///
    /// # Panics
    ///
    /// If there are more than [`MOST_FRAMES`](crate::trial::MOST_FRAMES) frames.
    #[must_use]
    pub fn new(path: Path, frames: u64, keep: Keep) -> Self {
        assert!(frames <= MOST_COUNTED, "{frames} frames in one trial");
        let keep = match frames > MOST_STAMPED {
            true => Keep::Counts,
            false => keep,
        };
        Self {
            path,
            detour: None,
            frames,
            sent: SeenFrames::new(keep, frames),
            mirrored: SeenFrames::new(
                keep,
                match path.mirror {
                    Some(_) => frames,
                    None => 0,
                },
            ),
            received: SeenFrames::new(keep, frames),
            passage: Passage::default(),
            next_expected: 0,
            span: None,
            awaited: Awaited::All,
            counts: (0, 0),
            next_sent: 0,
        }
    }

    /// Has the trial last until these frames have arrived, or its patience is over.
    #[must_use]
    pub fn awaiting(self, awaited: Awaited) -> Self {
        Self { awaited, ..self }
    }

    /// Takes arrivals at another port too.
    #[must_use]
    pub fn or_at(self, detour: Option<PortIndex>) -> Self {
        Self { detour, ..self }
    }

    /// Returns what became of the frames.
    #[must_use]
    pub fn passage(&self) -> Passage {
        let mut passage = self.passage.clone();
        let mut run = 0;
        for sequence in 0..self.frames {
            let arrived = self.received.has(sequence);
            if !arrived && !self.sent.has(sequence) {
                continue;
            }
            passage.sent += 1;
            match arrived {
                true => {
                    passage.received += 1;
                    run = 0;
                }
                false => {
                    passage.lost += 1;
                    run += 1;
                    passage.longest_run = passage.longest_run.max(run);
                }
            }
        }
        passage
    }

    /// Returns the times from sending to arrival of all that arrived, in the order of
    /// their numbers, with the time of sending. Makes sense if both ports have one
    /// clock. An arrival before its sending is left out, and the number of those is
    /// told second.
    #[must_use]
    pub fn times(&self) -> (Vec<(Instant, Duration)>, u64) {
        differences(&self.sent, &self.received, self.frames)
    }

    /// Returns the times from the copy of a mirror to the arrival, as
    /// [`times`](Self::times) does.
    #[must_use]
    pub fn times_since_mirror(&self) -> (Vec<(Instant, Duration)>, u64) {
        differences(&self.mirrored, &self.received, self.frames)
    }

    /// Returns the times from sending to the copy of a mirror, as
    /// [`times`](Self::times) does.
    #[must_use]
    pub fn times_of_mirror(&self) -> (Vec<(Instant, Duration)>, u64) {
        differences(&self.sent, &self.mirrored, self.frames)
    }

    /// Returns whether copies of a mirror are watched.
    #[must_use]
    pub fn has_mirror(&self) -> bool {
        self.path.mirror.is_some()
    }

    /// Returns the times from sending to arrival, less the smallest of them, as far as
    /// two clocks that run alike can tell; otherwise as [`times`](Self::times).
    #[must_use]
    pub fn times_by_own_clocks(&self) -> (Vec<(Instant, Duration)>, u64) {
        let offsets: Vec<_> = (0..self.frames)
            .filter_map(|sequence| {
                let (left, arrived) = (self.sent.at(sequence)?, self.received.at(sequence)?);
                let offset = i128::from(arrived.as_ns()) - i128::from(left.as_ns());
                Some((left, offset))
            })
            .collect();
        let least = offsets.iter().map(|(_, offset)| *offset).min().unwrap_or(0);
        let mut beyond = 0;
        let times = offsets.into_iter().filter_map(|(left, offset)| {
            let time = u64::try_from(offset - least).ok();
            beyond += u64::from(time.is_none());
            Some((left, Duration::from_ns(time?)))
        });
        let times = times.collect();
        (times, beyond)
    }

    /// Returns when the first frame was seen to leave.
    #[must_use]
    pub fn first_sent(&self) -> Option<Instant> {
        (0..self.frames).find_map(|sequence| self.sent.at(sequence))
    }

    /// Returns when each frame that was lost had left, as far as that is known.
    pub fn lost(&self) -> impl Iterator<Item = Instant> + '_ {
        let missing = (0..self.frames).filter(|sequence| !self.received.has(*sequence));
        missing.filter_map(|sequence| self.sent.at(sequence))
    }

    /// Returns the time from the first arrival to the last.
    #[must_use]
    pub fn arrival_span(&self) -> Duration {
        self.span
            .map_or(Duration::ZERO, |(first, last)| last.saturating_since(first))
    }

    /// Returns the stamps of arrivals by sequence number, each of the first copy.
    pub fn arrivals(&self) -> impl Iterator<Item = (u64, Instant)> + '_ {
        (0..self.frames).filter_map(|sequence| Some((sequence, self.received.at(sequence)?)))
    }

    /// Returns the stamp of sending by sequence number.
    #[must_use]
    pub fn sent_at(&self, sequence: u64) -> Option<Instant> {
        self.sent.at(sequence)
    }

    fn arrived(&mut self, sequence: u64, at: Option<Instant>) {
        if let Some(at) = at {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        if !self.received.add(sequence, at) {
            self.passage.duplicates += 1;
            return;
        }
        self.counts.1 += 1;
        if sequence < self.next_expected {
            self.passage.reordered += 1;
            let extent = self.next_expected - 1 - sequence;
            self.passage.greatest_extent = self.passage.greatest_extent.max(extent);
        } else {
            self.next_expected = sequence + 1;
        }
    }

    /// Takes a frame that passed a port, at a moment if that is known.
    fn passed(&mut self, (port, way): (PortIndex, Way), bytes: &[u8], at: Option<Instant>) {
        let is_exit = port == self.path.to || Some(port) == self.detour;
        let role = match way {
            Way::Sent if port == self.path.from => Role::Entry,
            Way::Received if is_exit => Role::Exit,
            Way::Received if Some(port) == self.path.mirror => Role::Mirror,
            Way::Sent | Way::Received => return,
        };
        let shim =
            FrameSummary::of(bytes).and_then(|glimpse| glimpse.shim_between(&self.path.addresses));
        let Some(shim) = shim else {
            return;
        };
        let sequence = u64::from(shim.sequence);
        if sequence >= self.frames {
            self.passage.strange += 1;
            return;
        }
        match role {
            Role::Entry => {
                self.counts.0 += u64::from(self.sent.add(sequence, at));
                self.next_sent = self.next_sent.max(sequence + 1);
            }
            Role::Exit => self.arrived(sequence, at),
            Role::Mirror => {
                self.mirrored.add(sequence, at);
            }
        }
    }
}

impl Watcher for Passing {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let place = (sighting.port, sighting.way);
        self.passed(place, sighting.bytes, Some(sighting.at));
    }

    fn see_unstamped(&mut self, port: PortIndex, way: Way, bytes: &[u8]) {
        self.passed((port, way), bytes, None);
    }

    fn awaits(&self) -> bool {
        match self.awaited {
            Awaited::All => self.counts.1 < self.counts.0,
            Awaited::Last => self.next_expected < self.next_sent,
        }
    }
}

/// What a place is to the frames that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Entry,
    Exit,
    Mirror,
}

/// Stands for a frame that was seen, and it is not known when.
const SOMETIME: NonZeroU64 = NonZeroU64::MAX;

/// Which frames were seen at a port, and when if that is kept.
#[derive(Debug)]
enum SeenFrames {
    /// One more than each stamp, so that none is zero.
    Stamps(Vec<Option<NonZeroU64>>),
    Bits(Vec<u64>),
}

impl SeenFrames {
    fn new(keep: Keep, frames: u64) -> Self {
        let frames = usize::try_from(frames).expect("a trial has a bounded number of frames");
        match keep {
            Keep::Stamps => Self::Stamps(vec![None; frames]),
            Keep::Counts => Self::Bits(vec![0; frames.div_ceil(64)]),
        }
    }

    /// Adds a frame, and tells whether it is new.
    fn add(&mut self, sequence: u64, at: Option<Instant>) -> bool {
        let place = usize::try_from(sequence).expect("below the number of frames");
        match self {
            Self::Stamps(stamps) => {
                let is_new = stamps[place].is_none();
                if is_new {
                    let stamp = at.and_then(|at| NonZeroU64::new(at.as_ns().saturating_add(1)));
                    stamps[place] = Some(stamp.unwrap_or(SOMETIME));
                }
                is_new
            }
            Self::Bits(words) => {
                let (word, bit) = (&mut words[place / 64], 1u64 << (place % 64));
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
        }
    }

    fn has(&self, sequence: u64) -> bool {
        let place = usize::try_from(sequence).expect("below the number of frames");
        match self {
            Self::Stamps(stamps) => stamps.get(place).is_some_and(Option::is_some),
            Self::Bits(words) => words
                .get(place / 64)
                .is_some_and(|word| word >> (place % 64) & 1 == 1),
        }
    }

    fn at(&self, sequence: u64) -> Option<Instant> {
        let place = usize::try_from(sequence).ok()?;
        match self {
            Self::Stamps(stamps) => {
                let stamp = stamps.get(place).copied().flatten()?;
                (stamp != SOMETIME).then(|| Instant::from_ns(stamp.get() - 1))
            }
            Self::Bits(_) => None,
        }
    }
}

fn differences(from: &SeenFrames, to: &SeenFrames, frames: u64) -> (Vec<(Instant, Duration)>, u64) {
    let mut backwards = 0;
    let times = (0..frames).filter_map(|sequence| {
        let (left, arrived) = (from.at(sequence)?, to.at(sequence)?);
        let time = arrived.checked_since(left);
        backwards += u64::from(time.is_none());
        Some((left, time?))
    });
    let times = times.collect();
    (times, backwards)
}

/// Returns times as a distribution, each shorter by what calibration found.
#[must_use]
pub(super) fn distribution(times: &[(Instant, Duration)], bias: Duration) -> Distribution {
    let mut distribution = Distribution::fine();
    for (_, time) in times {
        distribution.record(time.saturating_sub(bias));
    }
    distribution
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::method::tests::known_device::{addresses, path};
    use crate::traffic::datagram::Datagram;

    proptest! {
        /// Every frame that left is either received or lost, whatever arrives in
        /// whatever order, with stamps or without.
        #[test]
        fn what_left_either_arrived_or_is_lost(
            sent in prop::collection::vec(0u32..40, 0..60),
            arrived in prop::collection::vec(0u32..44, 0..80),
        ) {
            let passages = [Keep::Stamps, Keep::Counts].map(|keep| {
                let mut passing = Passing::new(path(), 40, keep);
                for sequence in &sent {
                    see(&mut passing, Way::Sent, *sequence);
                }
                for sequence in &arrived {
                    see(&mut passing, Way::Received, *sequence);
                }
                passing.passage()
            });

            let [passage, counted] = passages;
            prop_assert_eq!(&passage, &counted);
            prop_assert_eq!(passage.sent, passage.received + passage.lost);
            let ours = arrived.iter().filter(|sequence| **sequence < 40).count() as u64;
            prop_assert_eq!(passage.received + passage.duplicates, ours);
            prop_assert_eq!(passage.strange, arrived.len() as u64 - ours);
            prop_assert!(passage.longest_run <= passage.lost);
            prop_assert!(passage.reordered < passage.received.max(1));
        }
    }

    #[test]
    fn a_frame_without_a_stamp_counts_and_has_no_time() {
        let datagram = Datagram::new(&addresses(), 60);
        let passages = [Keep::Stamps, Keep::Counts].map(|keep| {
            let mut passing = Passing::new(path(), 4, keep);
            for sequence in 0..3 {
                let mut frame = Vec::new();
                datagram.fill(datagram.message_of_one(sequence), &mut frame);
                passing.see_unstamped(path().from, Way::Sent, &frame);
            }
            see(&mut passing, Way::Received, 0);
            see(&mut passing, Way::Sent, 3);
            see(&mut passing, Way::Received, 3);
            let times = passing.times();
            (passing.passage(), passing.first_sent(), times)
        });

        let [(stamped, first, (times, backwards)), (counted, ..)] = passages;
        assert_eq!((stamped.sent, stamped.received, stamped.lost), (4, 2, 2));
        assert_eq!(stamped, counted);
        assert_eq!(first, Some(Instant::from_ns(5)));
        assert_eq!((times.len(), backwards), (1, 0));
    }

    /// RFC 4737 section 3.4's example: 1, 2, 3, 10, 4 … 9, 11: six frames are late.
    #[test]
    fn a_frame_that_runs_ahead_makes_those_it_overtook_late() {
        let mut passing = Passing::new(path(), 12, Keep::Counts);

        for sequence in [1, 2, 3, 10, 4, 5, 6, 7, 8, 9, 11] {
            see(&mut passing, Way::Received, sequence);
        }

        let passage = passing.passage();
        assert_eq!((passage.reordered, passage.greatest_extent), (6, 6));
    }

    fn see(passing: &mut Passing, way: Way, sequence: u32) {
        let datagram = Datagram::new(&addresses(), 60);
        let mut frame = Vec::new();
        datagram.fill(datagram.message_of_one(sequence), &mut frame);
        let port = match way {
            Way::Sent => path().from,
            Way::Received => path().to,
        };
        passing.see(&Sighting {
            port,
            way,
            at: Instant::from_ns(5),
            length: 60,
            bytes: &frame,
        });
    }
}
