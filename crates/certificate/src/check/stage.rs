//! One stage in one case: whether its budgets and buffers hold.

use std::collections::BTreeMap;

use num_traits::Zero;
use units::Delay;

use super::{Arrival, Reason, SMALLEST_FRAME};
use crate::curve::{Arrivals, Exact, Line, Service, Side};
use crate::document::{Bucket, Class, Flow, Port, Processor, Stage};
use crate::windows::Visit;

const PS_PER_SECOND: u64 = 1_000_000_000_000;
const MILLIONTHS: u64 = 1_000_000;

/// Whose lines are added up: those of flows that come from one stage, and, at a
/// port, are of one class.
type Sums<'a> = BTreeMap<(Option<usize>, u8), Vec<Arrival<'a>>>;

/// Checks that a flow arrives with the burst that the document says: rounded up,
/// and once more where frames are counted.
pub(super) fn check_burst(
    flow: &Flow,
    stated: u64,
    visit: &Visit,
    stages: &[Stage],
) -> Result<(), Reason> {
    let late = visit.window.length();
    let (calculated, rounding) = match stages[visit.stage] {
        Stage::Processor(_) => {
            let frame = fraction(MILLIONTHS, flow.smallest_frame_bit);
            let frames = frames_behind(flow, late).burst;
            (frames * whole(MILLIONTHS), whole(1) + frame)
        }
        Stage::Port(_) => (line_behind(flow.contract, late).burst, whole(1)),
    };
    let claimed = whole(stated);
    if claimed < calculated || claimed >= &calculated + rounding {
        let (stage, calculated) = (visit.stage, calculated.ceil());
        return Err(Reason::Burst {
            stage,
            stated,
            calculated,
        });
    }
    Ok(())
}

/// Checks the budgets and the buffers of a stage for what arrives there. Where no flow
/// comes nothing is promised, and no budget has to hold.
pub(super) fn check(
    arrivals: &[Arrival<'_>],
    stage: &Stage,
    stages: &[Stage],
    after: Option<String>,
) -> Result<(), Reason> {
    if arrivals.is_empty() {
        return Ok(());
    }
    let mut sums = Sums::new();
    let by_class = matches!(stage, Stage::Port(_));
    for arrival in arrivals {
        let class = if by_class { arrival.flow.class } else { 0 };
        sums.entry((arrival.visit.from, class))
            .or_default()
            .push(*arrival);
    }
    match stage {
        Stage::Processor(processor) => check_processor(&sums, processor, stages, after),
        Stage::Port(port) => check_port(&sums, port, stages, after),
    }
}

fn check_processor(
    sums: &Sums<'_>,
    processor: &Processor,
    stages: &[Stage],
    after: Option<String>,
) -> Result<(), Reason> {
    let Processor {
        latency_ps,
        per_frame_ps,
        budget_ps,
        buffer_frames,
        unpromised_millionths_per_second,
        unpromised_burst_millionths,
        bound_ps,
        ..
    } = processor;
    let mut frames = Arrivals::default();
    frames.add(Side::least_of(vec![Line {
        burst: fraction(*unpromised_burst_millionths, MILLIONTHS),
        rate: fraction(*unpromised_millionths_per_second, MILLIONTHS),
    }]));
    for ((from, _), arrivals) in sums {
        let densest = from.and_then(|from| densest_frames(&stages[from]));
        frames.add(side_in_frames(arrivals, densest));
    }
    let latency = seconds(*latency_ps);
    let (delay, backlog) = match *per_frame_ps {
        0 => (Some(latency.clone()), Some(frames.at(&latency))),
        per_frame_ps => {
            let pace = seconds(per_frame_ps);
            let service = |latency| Service {
                rate: pace.recip(),
                latency,
            };
            let delay = frames.delay_at(&service(latency.clone()));
            (delay, frames.backlog_at(&service(latency + &pace)))
        }
    };
    let limits = Limits {
        class: None,
        stated: *bound_ps,
        budget: *budget_ps,
        room: *buffer_frames,
        after,
    };
    limits.check(delay, backlog)
}

fn check_port(
    sums: &Sums<'_>,
    port: &Port,
    stages: &[Stage],
    after: Option<String>,
) -> Result<(), Reason> {
    let Port {
        rate_bps,
        largest_unpromised_frame_bit,
        classes,
        ..
    } = port;
    if *rate_bps == 0 {
        let what = "its link has no rate";
        return Err(Reason::Senseless { what });
    }
    for class in classes {
        let own = arrivals_of(sums, stages, |of| of == class.class);
        if own.is_nothing() {
            continue;
        }
        let more_urgent = arrivals_of(sums, stages, |of| of > class.class);
        let less_urgent = largest_frame(sums, |of| of < class.class);
        let blocking = whole(less_urgent.max(*largest_unpromised_frame_bit));
        let largest = whole(largest_frame(sums, |of| of == class.class));
        let (mut delay, mut backlog): (Option<Exact>, Option<Exact>) = (None, None);
        for above in more_urgent.tangents() {
            let rate = whole(*rate_bps) - above.rate;
            if rate <= Exact::zero() {
                continue;
            }
            let latency = (above.burst + &blocking) / &rate;
            let whole_frames = &latency + &largest / &rate;
            let service = |latency| Service {
                rate: rate.clone(),
                latency,
            };
            delay = least(delay, own.delay_at(&service(latency)));
            backlog = least(backlog, own.backlog_at(&service(whole_frames)));
        }
        if let (Some(allowed), Some(delay), Some(backlog)) = (class.buffer_frames, &delay, &backlog)
        {
            let by_size = backlog / whole(SMALLEST_FRAME);
            let within = frames_of(sums, stages, class.class).at(delay);
            let calculated = by_size.min(within).ceil();
            if calculated > whole(allowed) {
                return Err(Reason::Buffer {
                    class: Some(class.class),
                    after,
                    calculated,
                    room: allowed,
                });
            }
        }
        limits_of(class, after.clone()).check(delay, backlog)?;
    }
    Ok(())
}

fn limits_of(class: &Class, after: Option<String>) -> Limits {
    Limits {
        class: Some(class.class),
        stated: class.bound_ps,
        budget: class.budget_ps,
        room: class.buffer_bit,
        after,
    }
}

/// What must not be exceeded.
struct Limits {
    class: Option<u8>,
    stated: u64,
    budget: u64,
    room: Option<u64>,
    after: Option<String>,
}

impl Limits {
    fn check(self, delay: Option<Exact>, backlog: Option<Exact>) -> Result<(), Reason> {
        let Self { class, after, .. } = self;
        let (Some(delay), Some(backlog)) = (delay, backlog) else {
            return Err(Reason::Overload { class, after });
        };
        let calculated = (delay * whole(PS_PER_SECOND)).ceil();
        if calculated > whole(self.stated) {
            let stated = self.stated;
            return Err(Reason::Bound {
                class,
                after,
                stated,
                calculated,
            });
        }
        if self.stated > self.budget {
            let (bound, budget) = (Delay::from_ps(self.stated), Delay::from_ps(self.budget));
            return Err(Reason::Budget {
                class,
                bound,
                budget,
            });
        }
        match self.room {
            Some(room) if backlog > whole(room) => Err(Reason::Buffer {
                class,
                after,
                calculated: backlog.ceil(),
                room,
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns what flows of some classes bring to a port, in bits.
fn arrivals_of(sums: &Sums<'_>, stages: &[Stage], wanted: impl Fn(u8) -> bool) -> Arrivals {
    let mut together = Arrivals::default();
    let of_class = sums.iter().filter(|((_, class), _)| wanted(*class));
    for ((from, class), arrivals) in of_class {
        let largest = largest_frame(sums, |of| of == *class);
        let densest = from.and_then(|from| densest_bits(&stages[from], largest));
        together.add(side(arrivals, densest));
    }
    together
}

/// Returns in how many frames flows of a class come to a port.
fn frames_of(sums: &Sums<'_>, stages: &[Stage], class: u8) -> Arrivals {
    let mut together = Arrivals::default();
    for ((from, _), arrivals) in sums.iter().filter(|((_, of), _)| *of == class) {
        let densest = from.and_then(|from| densest_frames(&stages[from]));
        together.add(side_in_frames(arrivals, densest));
    }
    together
}

fn largest_frame(sums: &Sums<'_>, wanted: impl Fn(u8) -> bool) -> u64 {
    let of_class = sums.iter().filter(|((_, class), _)| wanted(*class));
    let arrivals = of_class.flat_map(|(_, arrivals)| arrivals);
    arrivals
        .map(|arrival| arrival.flow.largest_frame_bit)
        .max()
        .unwrap_or(0)
}

/// Returns what comes from one side, in bits: the contracts, the peaks, and what the
/// stage it comes from can hand on.
fn side(arrivals: &[Arrival<'_>], densest: Option<Line>) -> Side {
    let contracts = sum(arrivals, |flow, late| line_behind(flow.contract, late));
    let peaks = sum(arrivals, |flow, late| {
        line_behind(flow.peak.unwrap_or(flow.contract), late)
    });
    Side::least_of([contracts, peaks].into_iter().chain(densest).collect())
}

/// Returns the same in frames.
fn side_in_frames(arrivals: &[Arrival<'_>], densest: Option<Line>) -> Side {
    let contracts = sum(arrivals, frames_behind);
    let peaks = sum(arrivals, |flow, late| match flow.peak {
        Some(peak) => in_frames(flow, line_behind(peak, late)),
        None => frames_behind(flow, late),
    });
    Side::least_of([contracts, peaks].into_iter().chain(densest).collect())
}

fn sum(arrivals: &[Arrival<'_>], line: impl Fn(&Flow, u64) -> Line) -> Line {
    let mut sum = Line {
        burst: Exact::zero(),
        rate: Exact::zero(),
    };
    for Arrival { flow, visit } in arrivals {
        let line = line(flow, visit.window.length());
        sum.burst += line.burst;
        sum.rate += line.rate;
    }
    sum
}

/// Returns how many frames a flow is behind a window.
fn frames_behind(flow: &Flow, window_ps: u64) -> Line {
    match flow.frames {
        Some(frames) => {
            let rate = fraction(frames.millionths_per_second, MILLIONTHS);
            Line {
                burst: fraction(frames.burst_millionths, MILLIONTHS) + &rate * seconds(window_ps),
                rate,
            }
        }
        None => in_frames(flow, line_behind(flow.contract, window_ps)),
    }
}

/// Returns how many of a flow's frames so many bits can be.
fn in_frames(flow: &Flow, bits: Line) -> Line {
    let per_bit = fraction(1, flow.smallest_frame_bit);
    Line {
        burst: bits.burst * &per_bit,
        rate: bits.rate * per_bit,
    }
}

/// Returns a bucket behind a window, which is a burst larger.
fn line_behind(bucket: Bucket, window_ps: u64) -> Line {
    let rate = whole(bucket.rate_bps);
    Line {
        burst: whole(bucket.burst_bit) + &rate * seconds(window_ps),
        rate,
    }
}

/// Returns the most frames a second that a stage hands on, none smaller than
/// Ethernet has them.
fn densest_frames(stage: &Stage) -> Option<Line> {
    let rate = match stage {
        Stage::Processor(Processor {
            fastest_per_frame_ps: 0,
            ..
        }) => return None,
        Stage::Processor(Processor {
            fastest_per_frame_ps,
            ..
        }) => seconds(*fastest_per_frame_ps).recip(),
        Stage::Port(Port { rate_bps, .. }) => fraction(*rate_bps, SMALLEST_FRAME),
    };
    let burst = whole(1);
    Some(Line { burst, rate })
}

/// Returns the most bits that a stage hands on, in frames of at most `largest`.
fn densest_bits(stage: &Stage, largest: u64) -> Option<Line> {
    let burst = whole(largest);
    let rate = match stage {
        Stage::Processor(Processor {
            fastest_per_frame_ps: 0,
            ..
        }) => return None,
        Stage::Processor(Processor {
            fastest_per_frame_ps,
            ..
        }) => &burst / seconds(*fastest_per_frame_ps),
        Stage::Port(Port { rate_bps, .. }) => whole(*rate_bps),
    };
    Some(Line { burst, rate })
}

/// Returns the less of two bounds, both of which hold.
fn least(one: Option<Exact>, other: Option<Exact>) -> Option<Exact> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn whole(number: u64) -> Exact {
    Exact::from_integer(number.into())
}

fn fraction(numerator: u64, denominator: u64) -> Exact {
    Exact::new(numerator.into(), denominator.into())
}

fn seconds(ps: u64) -> Exact {
    fraction(ps, PS_PER_SECOND)
}
