//! From which sides a stage is reached, and what comes from each.
//!
//! The sums of a stage's contracts decide most requests. Where they refuse, it is
//! asked what can arrive at all: all that comes from one stage before comes over
//! one link or out of one processor, no denser than that can hand it on, and of a
//! flow with a peak no faster than that. Kept for each side are the sums of the
//! contracts and of the peaks of its flows. As
//!
//! ```text
//! sum over flows of min(contract, peak)  <=  min(sum of contracts, sum of peaks)
//! ```
//!
//! the sums bound what arrives; they cost the same however many flows there are,
//! and a withdrawal subtracts what an admission added. What the right side loses:
//! a moment at which some flows are still bound by their peaks and others already
//! by their contracts counts as if all were bound by the same kind.

use units::DataSize;

use super::plan::{Reservation, Share};
use super::request::MIN_FRAME;
use super::stage::{FailureId, Stage, StageId};
use crate::bounds::concave::{Line, Source};
use crate::bounds::processing::{FRAME, FrameBucket};
use crate::bounds::strict_priority::CLASSES;
use crate::min_plus::TokenBucket;

/// Whose flows are summed: under which failure, from which stage, in which class.
type Side = (Option<FailureId>, Option<StageId>, u8);

/// What the flows of one side bring together, in what the stage counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    reservations: u64,
    contracts: Line,
    peaks: Line,
    /// The same in frames, at a port: its queues may be limited in these.
    frames: Line,
    peak_frames: Line,
}

/// The sums of all sides of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides {
    /// In the order of the sides.
    sums: Vec<(Side, Sums)>,
}

impl Sides {
    pub(super) fn add(&mut self, reservation: &Reservation) {
        let side = side(reservation);
        let at = self.find(&side).unwrap_or_else(|at| {
            self.sums.insert(at, (side, Sums::default()));
            at
        });
        self.sums[at].1.add(reservation);
    }

    /// Takes away what `reservation` added.
    pub(super) fn subtract(&mut self, reservation: &Reservation) {
        let found = self.find(&side(reservation));
        let at = found.expect("what is released was reserved");
        let sums = &mut self.sums[at].1;
        sums.subtract(reservation);
        if sums.reservations == 0 {
            self.sums.remove(at);
        }
    }

    /// Returns whether anything counts under a failure.
    pub(super) fn have(&self, failure: FailureId) -> bool {
        let from = self
            .sums
            .partition_point(|((of, ..), _)| *of < Some(failure));
        let first = self.sums.get(from);
        first.is_some_and(|((of, ..), _)| *of == Some(failure))
    }

    fn find(&self, side: &Side) -> Result<usize, usize> {
        self.sums.binary_search_by_key(side, |(side, _)| *side)
    }

    /// Returns what comes under `failure`, or while nothing is broken, together
    /// with `more`.
    pub(super) fn under(&self, failure: Option<FailureId>, more: &[Reservation]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for case in [None, failure]
            .into_iter()
            .take(1 + usize::from(failure.is_some()))
        {
            let from = self.sums.partition_point(|((of, ..), _)| *of < case);
            let of_case = self.sums[from..].iter();
            for ((_, origin, class), sums) in of_case.take_while(|((of, ..), _)| *of == case) {
                arrivals.sums_of((*origin, *class)).and(sums);
            }
        }
        for reservation in more {
            let (_, origin, class) = side(reservation);
            arrivals.sums_of((origin, class)).add(reservation);
        }
        arrivals
    }
}

fn side(reservation: &Reservation) -> Side {
    (reservation.failure, reservation.origin, reservation.class)
}

impl Sums {
    fn add(&mut self, reservation: &Reservation) {
        self.and(&Self {
            reservations: 1,
            contracts: line(reservation.share),
            peaks: line(reservation.peak),
            frames: frame_line(reservation.share),
            peak_frames: frame_line(reservation.peak),
        });
    }

    fn and(&mut self, other: &Self) {
        self.reservations += other.reservations;
        self.contracts = self.contracts.and(other.contracts);
        self.peaks = self.peaks.and(other.peaks);
        self.frames = self.frames.and(other.frames);
        self.peak_frames = self.peak_frames.and(other.peak_frames);
    }

    fn subtract(&mut self, reservation: &Reservation) {
        self.reservations -= 1;
        for (sum, part) in [
            (&mut self.contracts, line(reservation.share)),
            (&mut self.peaks, line(reservation.peak)),
            (&mut self.frames, frame_line(reservation.share)),
            (&mut self.peak_frames, frame_line(reservation.peak)),
        ] {
            sum.rate -= part.rate;
            sum.burst -= part.burst;
        }
    }
}

fn line(share: Share) -> Line {
    match share {
        Share::Processing(frames) => of_frames(frames),
        Share::Port(traffic, _) => of_traffic(traffic),
    }
}

/// Returns in how many frames a share comes to a port; those at a processor are
/// the share itself.
fn frame_line(share: Share) -> Line {
    match share {
        Share::Processing(_) => Line::default(),
        Share::Port(_, frames) => of_frames(frames),
    }
}

fn of_frames(frames: FrameBucket) -> Line {
    Line {
        rate: frames.rate_per_second,
        burst: frames.burst,
    }
}

fn of_traffic(traffic: TokenBucket) -> Line {
    Line {
        rate: traffic.rate_bps(),
        burst: traffic.burst().as_bits(),
    }
}

/// What comes to a stage, side by side.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    sums: Vec<((Option<StageId>, u8), Sums)>,
}

impl Arrivals {
    fn sums_of(&mut self, side: (Option<StageId>, u8)) -> &mut Sums {
        let at = self.sums.iter().position(|(known, _)| *known == side);
        let at = at.unwrap_or_else(|| {
            self.sums.push((side, Sums::default()));
            self.sums.len() - 1
        });
        &mut self.sums[at].1
    }

    /// Returns what comes to a processor, in frames: those of all classes of a
    /// side come over the same link.
    pub(super) fn at_processor(&self, unpromised: FrameBucket, stages: &[Stage]) -> Vec<Source> {
        let mut origins: Vec<(Option<StageId>, Sums)> = Vec::new();
        for ((origin, _), sums) in &self.sums {
            match origins.iter_mut().find(|(known, _)| known == origin) {
                Some((_, known)) => known.and(sums),
                None => origins.push((*origin, *sums)),
            }
        }
        let sources = origins.iter().map(|(origin, sums)| {
            let densest = origin.and_then(|origin| frames_from(&stages[origin.index()]));
            source(sums, densest)
        });
        let unpromised = Source::of(of_frames(unpromised));
        std::iter::once(unpromised).chain(sources).collect()
    }

    /// Returns what comes to a port for the queue of each class, in bits;
    /// `largest` are the largest frames of the classes.
    pub(super) fn at_port(
        &self,
        largest: [DataSize; CLASSES],
        stages: &[Stage],
    ) -> [Vec<Source>; CLASSES] {
        let mut classes = [const { Vec::new() }; CLASSES];
        for ((origin, class), sums) in &self.sums {
            let class = usize::from(*class);
            let densest =
                origin.and_then(|origin| bits_from(&stages[origin.index()], largest[class]));
            classes[class].push(source(sums, densest));
        }
        classes
    }

    /// Returns what comes to a port for the queue of `class`, in frames.
    pub(super) fn frames_at_port(&self, class: u8, stages: &[Stage]) -> Vec<Source> {
        let of_class = self.sums.iter().filter(|((_, of), _)| *of == class);
        let sources = of_class.map(|((origin, _), sums)| {
            let densest = origin.and_then(|origin| frames_from(&stages[origin.index()]));
            Source {
                lines: [
                    sums.frames,
                    sums.peak_frames,
                    densest.unwrap_or(sums.frames),
                ],
            }
        });
        sources.collect()
    }
}

fn source(sums: &Sums, densest: Option<Line>) -> Source {
    Source {
        lines: [
            sums.contracts,
            sums.peaks,
            densest.unwrap_or(sums.contracts),
        ],
    }
}

/// Returns the most frames that a stage hands on. The last bits of two frames
/// are as far apart as the second one takes, and no frame is smaller than
/// [`MIN_FRAME`].
fn frames_from(stage: &Stage) -> Option<Line> {
    let per_second = match stage {
        Stage::Processing {
            fastest_per_frame, ..
        } => times(FRAME, fastest_per_frame.as_ps())?,
        Stage::Port { rate, .. } => {
            let frames = u128::from(rate.as_bps()) * u128::from(FRAME);
            u64::try_from(frames.div_ceil(u128::from(MIN_FRAME.as_bits()))).ok()?
        }
    };
    Some(Line {
        rate: per_second,
        burst: FRAME,
    })
}

/// Returns the most bits that a stage hands on, of frames no larger than
/// `largest`.
fn bits_from(stage: &Stage, largest: DataSize) -> Option<Line> {
    let burst = largest.as_bits();
    let rate = match stage {
        Stage::Processing {
            fastest_per_frame, ..
        } => times(burst, fastest_per_frame.as_ps())?,
        Stage::Port { rate, .. } => rate.as_bps(),
    };
    Some(Line { rate, burst })
}

/// Returns how much a second `amount` once in `ps` is, rounded up; nothing if
/// that is without limit.
fn times(amount: u64, ps: u64) -> Option<u64> {
    let per_second = u128::from(amount) * 1_000_000_000_000;
    let rounded_down = per_second.checked_div(u128::from(ps))?;
    u64::try_from(rounded_down + 1).ok()
}
