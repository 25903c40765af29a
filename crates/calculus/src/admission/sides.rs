//! From which sides a stage is reached, and what comes from each.
//!
//! The sums of a stage's contracts decide most requests. Where they refuse, it is
//! asked what can arrive at all: all that comes from one stage before comes over
//! one link or out of one processor, no denser than that can hand it on, and of a
//! flow with a peak no faster than that. What comes out of a processor may have come
//! to it over one link: it is denser than the link carries by no more than what was
//! held back for longer than other frames. Kept for each side are the sums of the
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

use super::request::MIN_FRAME;
use super::reservation::{FlowOrigin, Reservation, ReservedPart, Share, StageArrival};
use super::stage::{FailureId, Stage};
use crate::bounds::concave::{ArrivalSource, CurveLine};
use crate::bounds::processing::{FRAME, FrameBucket};
use crate::bounds::strict_priority::CLASSES;
use crate::min_plus::TokenBucket;

/// Whose flows are summed: from where, in which class.
type SideKey = (FlowOrigin, u8);

/// What the flows of one side bring together, in what the stage counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    arrivals: u64,
    contracts: CurveLine,
    peaks: CurveLine,
    /// The same in frames, at a port: its queues may be limited in these.
    frames: CurveLine,
    peak_frames: CurveLine,
}

/// The sums of all sides of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sides {
    sums: SumsBySide,
    /// What comes under a failure otherwise than always, and is in the sums of that
    /// failure: as it always comes, which does not count then.
    replaced: SumsBySide,
}

impl Sides {
    pub(super) fn add(&mut self, reservation: &Reservation) {
        let Reservation { failure, class, .. } = *reservation;
        let side = |arrival: &StageArrival| (arrival.origin, class);
        match &reservation.part {
            ReservedPart::Whole(arrival) => self.sums.add(failure, side(arrival), arrival),
            ReservedPart::Copies(copies) => copies
                .iter()
                .for_each(|copy| self.sums.add(failure, side(copy), copy)),
            ReservedPart::Instead { of, by } => {
                self.replaced.add(failure, side(of), of);
                self.sums.add(failure, side(by), by);
            }
        }
    }

    /// Takes away what `reservation` added.
    pub(super) fn subtract(&mut self, reservation: &Reservation) {
        let Reservation { failure, class, .. } = *reservation;
        let side = |arrival: &StageArrival| (arrival.origin, class);
        match &reservation.part {
            ReservedPart::Whole(arrival) => self.sums.subtract(failure, side(arrival), arrival),
            ReservedPart::Copies(copies) => copies
                .iter()
                .for_each(|copy| self.sums.subtract(failure, side(copy), copy)),
            ReservedPart::Instead { of, by } => {
                self.replaced.subtract(failure, side(of), of);
                self.sums.subtract(failure, side(by), by);
            }
        }
    }

    /// Returns whether anything counts under a failure.
    pub(super) fn have(&self, failure: FailureId) -> bool {
        self.sums.of_case(Some(failure)).next().is_some()
    }

    /// Returns what comes under `failure`, or while nothing is broken, together
    /// with `more`, of which nothing is counted yet.
    pub(super) fn under(&self, failure: Option<FailureId>, more: &[Reservation]) -> SideArrivals {
        let mut arrivals = SideArrivals::default();
        for (side, sums) in self.sums.of_case(None) {
            arrivals.sums_of(side).and(sums);
        }
        if failure.is_some() {
            for (side, sums) in self.replaced.of_case(failure) {
                arrivals.sums_of(side).without(sums);
            }
            for (side, sums) in self.sums.of_case(failure) {
                arrivals.sums_of(side).and(sums);
            }
        }
        for reservation in more {
            let arriving = match &reservation.part {
                ReservedPart::Whole(arrival) | ReservedPart::Instead { of: _, by: arrival } => {
                    std::slice::from_ref(arrival)
                }
                ReservedPart::Copies(copies) => copies,
            };
            for arrival in arriving {
                let side = (arrival.origin, reservation.class);
                arrivals.sums_of(side).and(&Sums::of(arrival));
            }
        }
        arrivals.sums.retain(|(_, sums)| sums.arrivals > 0);
        arrivals
    }
}

/// Sums by case and side: nothing is empty, and all is in order. A case is found without
/// a look at the sums of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SumsBySide {
    cases: Vec<Option<FailureId>>,
    /// Those of each case.
    sides: Vec<Vec<(SideKey, Sums)>>,
}

impl SumsBySide {
    fn add(&mut self, case: Option<FailureId>, side: SideKey, arrival: &StageArrival) {
        let at = self.cases.binary_search(&case).unwrap_or_else(|at| {
            self.cases.insert(at, case);
            self.sides.insert(at, Vec::new());
            at
        });
        let sides = &mut self.sides[at];
        let at = find(sides, &side).unwrap_or_else(|at| {
            sides.insert(at, (side, Sums::default()));
            at
        });
        sides[at].1.and(&Sums::of(arrival));
    }

    fn subtract(&mut self, case: Option<FailureId>, side: SideKey, arrival: &StageArrival) {
        let was_reserved = "what is released was reserved";
        let case = self.cases.binary_search(&case).expect(was_reserved);
        let sides = &mut self.sides[case];
        let at = find(sides, &side).expect(was_reserved);
        let sums = &mut sides[at].1;
        sums.without(&Sums::of(arrival));
        if sums.arrivals == 0 {
            sides.remove(at);
        }
        if sides.is_empty() {
            self.cases.remove(case);
            self.sides.remove(case);
        }
    }

    /// Returns what is summed under `case` alone, by origin and class.
    fn of_case(&self, case: Option<FailureId>) -> impl Iterator<Item = (SideKey, &Sums)> {
        let at = self.cases.binary_search(&case).ok();
        let sides = at.into_iter().flat_map(|at| &self.sides[at]);
        sides.map(|(side, sums)| (*side, sums))
    }
}

fn find(sides: &[(SideKey, Sums)], side: &SideKey) -> Result<usize, usize> {
    sides.binary_search_by_key(side, |(side, _)| *side)
}

impl Sums {
    fn of(arrival: &StageArrival) -> Self {
        Self {
            arrivals: 1,
            contracts: line(arrival.share),
            peaks: line(arrival.peak),
            frames: frame_line(arrival.share),
            peak_frames: frame_line(arrival.peak),
        }
    }

    fn and(&mut self, other: &Self) {
        self.arrivals += other.arrivals;
        self.contracts = self.contracts.and(other.contracts);
        self.peaks = self.peaks.and(other.peaks);
        self.frames = self.frames.and(other.frames);
        self.peak_frames = self.peak_frames.and(other.peak_frames);
    }

    /// Takes a part out of a sum again.
    fn without(&mut self, part: &Self) {
        self.arrivals -= part.arrivals;
        for (sum, part) in [
            (&mut self.contracts, part.contracts),
            (&mut self.peaks, part.peaks),
            (&mut self.frames, part.frames),
            (&mut self.peak_frames, part.peak_frames),
        ] {
            sum.rate -= part.rate;
            sum.burst -= part.burst;
        }
    }
}

fn line(share: Share) -> CurveLine {
    match share {
        Share::Processing(frames) => of_frames(frames),
        Share::Port(traffic, _) => of_traffic(traffic),
    }
}

/// Returns in how many frames a share comes to a port; those at a processor are
/// the share itself.
fn frame_line(share: Share) -> CurveLine {
    match share {
        Share::Processing(_) => CurveLine::default(),
        Share::Port(_, frames) => of_frames(frames),
    }
}

fn of_frames(frames: FrameBucket) -> CurveLine {
    CurveLine {
        rate: frames.rate_per_second,
        burst: frames.burst,
    }
}

fn of_traffic(traffic: TokenBucket) -> CurveLine {
    CurveLine {
        rate: traffic.rate_bps(),
        burst: traffic.burst().as_bits(),
    }
}

/// What comes to a stage, side by side.
#[derive(Clone, Debug, Default)]
pub(super) struct SideArrivals {
    sums: Vec<((FlowOrigin, u8), Sums)>,
}

impl SideArrivals {
    fn sums_of(&mut self, side: (FlowOrigin, u8)) -> &mut Sums {
        let at = self.sums.iter().position(|(known, _)| *known == side);
        let at = at.unwrap_or_else(|| {
            self.sums.push((side, Sums::default()));
            self.sums.len() - 1
        });
        &mut self.sums[at].1
    }

    /// Returns from where frames come.
    #[cfg(test)]
    pub(super) fn origins(&self) -> Vec<FlowOrigin> {
        self.sums.iter().map(|((origin, _), _)| *origin).collect()
    }

    /// Returns the same, of which nothing is known but the stage before: what comes out
    /// of one processor comes from one side, over whatever links it came there.
    pub(super) fn by_stage(&self) -> Self {
        let mut merged = Self::default();
        for ((origin, class), sums) in &self.sums {
            let origin = FlowOrigin::leaving(None, origin.stage);
            merged.sums_of((origin, *class)).and(sums);
        }
        merged
    }

    /// Returns whether [`by_stage`](Self::by_stage) tells anything that the links to
    /// processors do not: how close together one hands on frames from all of them.
    pub(super) fn is_paced(&self, stages: &[Stage]) -> bool {
        let links = self
            .sums
            .iter()
            .filter(|((origin, _), _)| origin.link.is_some());
        let mut before = links.filter_map(|((origin, _), _)| origin.stage);
        before.any(|stage| frames_from(&stages[stage.index()]).is_some())
    }

    /// Returns what comes to a processor, in frames: those of all classes of a
    /// side come over the same link.
    pub(super) fn at_processor(
        &self,
        unpromised: FrameBucket,
        stages: &[Stage],
    ) -> Vec<ArrivalSource> {
        let mut origins: Vec<(FlowOrigin, Sums)> = Vec::new();
        for ((origin, _), sums) in &self.sums {
            match origins.iter_mut().find(|(known, _)| known == origin) {
                Some((_, known)) => known.and(sums),
                None => origins.push((*origin, *sums)),
            }
        }
        let sources = origins.iter().map(|(origin, sums)| {
            let densest = densest(*origin, stages, frames_from);
            source(sums, densest)
        });
        let unpromised = ArrivalSource::of(of_frames(unpromised));
        std::iter::once(unpromised).chain(sources).collect()
    }

    /// Returns what comes to a port for the queue of each class, in bits;
    /// `largest` are the largest frames of the classes.
    pub(super) fn at_port(
        &self,
        largest: [DataSize; CLASSES],
        stages: &[Stage],
    ) -> [Vec<ArrivalSource>; CLASSES] {
        let mut classes = [const { Vec::new() }; CLASSES];
        for ((origin, class), sums) in &self.sums {
            let class = usize::from(*class);
            let bits = |stage: &Stage| bits_from(stage, largest[class]);
            classes[class].push(source(sums, densest(*origin, stages, bits)));
        }
        classes
    }

    /// Returns what comes to a port for the queue of `class`, in frames.
    pub(super) fn frames_at_port(&self, class: u8, stages: &[Stage]) -> Vec<ArrivalSource> {
        let of_class = self.sums.iter().filter(|((_, of), _)| *of == class);
        let sources = of_class.map(|((origin, _), sums)| {
            let densest = densest(*origin, stages, frames_from);
            ArrivalSource {
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

fn source(sums: &Sums, densest: Option<CurveLine>) -> ArrivalSource {
    ArrivalSource {
        lines: [
            sums.contracts,
            sums.peaks,
            densest.unwrap_or(sums.contracts),
        ],
    }
}

/// Returns the most that comes from `origin`, with what a stage hands on at most: the
/// stage before, or the port before that. The stage between holds some frames back for
/// longer than others, by no more than its budget.
fn densest(
    origin: FlowOrigin,
    stages: &[Stage],
    from: impl Fn(&Stage) -> Option<CurveLine>,
) -> Option<CurveLine> {
    let before = &stages[origin.stage?.index()];
    let Some(link) = origin.link else {
        return from(before);
    };
    let line = from(&stages[link.index()])?;
    let late = before.longest_delay().saturating_sub(before.least_delay());
    Some(line.spread_by(late.as_ps()))
}

/// Returns the most frames that a stage hands on. The last bits of two frames
/// are as far apart as the second one takes, and no frame is smaller than
/// [`MIN_FRAME`].
fn frames_from(stage: &Stage) -> Option<CurveLine> {
    let per_second = match stage {
        Stage::Processing {
            fastest_per_frame, ..
        } => times(FRAME, fastest_per_frame.as_ps())?,
        Stage::Port { rate, .. } => {
            let frames = u128::from(rate.as_bps()) * u128::from(FRAME);
            u64::try_from(frames.div_ceil(u128::from(MIN_FRAME.as_bits()))).ok()?
        }
    };
    Some(CurveLine {
        rate: per_second,
        burst: FRAME,
    })
}

/// Returns the most bits that a stage hands on, of frames no larger than
/// `largest`.
fn bits_from(stage: &Stage, largest: DataSize) -> Option<CurveLine> {
    let burst = largest.as_bits();
    let rate = match stage {
        Stage::Processing {
            fastest_per_frame, ..
        } => times(burst, fastest_per_frame.as_ps())?,
        Stage::Port { rate, .. } => rate.as_bps(),
    };
    Some(CurveLine { rate, burst })
}

/// Returns how much a second `amount` once in `ps` is, rounded up; nothing if
/// that is without limit.
fn times(amount: u64, ps: u64) -> Option<u64> {
    let per_second = u128::from(amount) * 1_000_000_000_000;
    let rounded_down = per_second.checked_div(u128::from(ps))?;
    u64::try_from(rounded_down + 1).ok()
}
