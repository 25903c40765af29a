//! One stage in one case: whether its budgets and buffers hold.

use std::collections::{BTreeMap, BTreeSet};

use num_traits::{ToPrimitive, Zero};
use units::Delay;

use crate::arrival::{Amount, FlowArrival};
use crate::curve::{Arrivals, CurveLine, Exact, ServiceCurve, Side};
use crate::map::{LARGEST_UNPROMISED_FRAME, SMALLEST_FRAME, StageId};
use crate::reason::{FailureCase, Reason};
use crate::stages::{Stages, unpromised};

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// What comes from one side: from one stage, and, at a port, in one class.
#[derive(Clone, Copy, Debug, Default)]
struct SideSum {
    largest: u64,
    bits: [Amount; 2],
    frames: [Amount; 2],
}

/// Where it comes from: the stage before, and the port before that if it is a processor.
type ArrivalOrigin = (Option<usize>, Option<usize>);

/// By where it comes from, and, at a port, by class.
type Sums = BTreeMap<(ArrivalOrigin, u8), SideSum>;

/// Checks a stage for what arrives there; `promised` are the classes in which something
/// is promised there. Where nothing is, nothing has to hold.
pub(crate) fn check<'a>(
    arrivals: impl Iterator<Item = &'a FlowArrival>,
    promised: &BTreeSet<u8>,
    (at, stages): (usize, &Stages<'_>),
    case: &FailureCase,
) -> Result<(), Reason> {
    let place = stages.map.place(at);
    let by_class = matches!(place, Some(StageId::Port { .. }));
    let mut sums = Sums::new();
    for arrival in arrivals {
        let class = if by_class { arrival.class } else { 0 };
        let origin = (arrival.from, arrival.link);
        let sum = sums.entry((origin, class)).or_default();
        sum.add(arrival).ok_or(Reason::TooMuch)?;
    }
    match place {
        Some(StageId::Processor { switch }) => check_processor(&sums, switch, stages, case),
        Some(StageId::Port { switch, link, .. }) => {
            let port = PortCapacity {
                at,
                rate: whole(stages.map.network().links[link].rate_bps),
                room: stages.map.figures(switch).queue_frames,
            };
            for class in promised {
                check_class(&sums, *class, &port, stages, case)?;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

impl SideSum {
    fn add(&mut self, arrival: &FlowArrival) -> Option<()> {
        self.largest = self.largest.max(arrival.largest);
        for at in [0, 1] {
            self.bits[at] = self.bits[at].plus(arrival.bits[at])?;
            self.frames[at] = self.frames[at].plus(arrival.frames[at])?;
        }
        Some(())
    }
}

fn check_processor(
    sums: &Sums,
    switch: usize,
    stages: &Stages<'_>,
    case: &FailureCase,
) -> Result<(), Reason> {
    let at = stages.map.processor(switch);
    let figures = stages.map.figures(switch);
    let mut frames = Arrivals::default();
    for work in unpromised(stages.map, switch) {
        let work = Amount::bits(work, 0).in_frames_of(work.smallest);
        frames.add(Side::least_of(vec![work.line()]));
    }
    for ((origin, _), sum) in sums {
        frames.add(in_frames(sum, *origin, stages));
    }
    let latency = seconds(figures.latency_ps);
    let (delay, backlog) = match figures.per_frame_ps {
        0 => (Some(latency.clone()), Some(frames.at(&latency))),
        per_frame_ps => {
            let pace = seconds(per_frame_ps);
            let service = |latency| ServiceCurve {
                rate: pace.recip(),
                latency,
            };
            let delay = frames.delay_at(&[service(latency.clone())]);
            (delay, frames.backlog_at(&[service(latency + &pace)]))
        }
    };
    let budget = stages.budget(at, 0)?;
    within_budget(delay.as_ref(), budget, None, case)?;
    within_buffer(backlog, figures.pool_frames, None, case)
}

/// A port, in one case.
struct PortCapacity {
    at: usize,
    rate: Exact,
    room: u64,
}

fn check_class(
    sums: &Sums,
    class: u8,
    port: &PortCapacity,
    stages: &Stages<'_>,
    case: &FailureCase,
) -> Result<(), Reason> {
    let own = bits_of(sums, stages, |of| of == class);
    if own.is_nothing() {
        return Ok(()); // What is promised comes here in other cases.
    }
    let more_urgent = bits_of(sums, stages, |of| of > class);
    let less_urgent = largest_frame(sums, |of| of < class);
    let blocking = whole(less_urgent.max(LARGEST_UNPROMISED_FRAME));
    let largest = whole(largest_frame(sums, |of| of == class));
    // Each bucket that bounds what is more urgent leaves something, and all of that is done.
    let left = |waiting: &Exact| -> Vec<ServiceCurve> {
        let tangents = more_urgent.tangents().into_iter();
        let left = tangents.map(|above| (&port.rate - above.rate, above.burst));
        let left = left.filter(|(rate, _)| *rate > Exact::zero());
        let services = left.map(|(rate, burst)| ServiceCurve {
            latency: (burst + waiting) / &rate,
            rate,
        });
        let mut services: Vec<_> = services.collect();
        services.dedup();
        services
    };
    let delay = own.delay_at(&left(&blocking));
    let backlog = own.backlog_at(&left(&(&blocking + &largest)));
    let budget = stages.budget(port.at, class)?;
    within_budget(delay.as_ref(), budget, Some(class), case)?;
    let waiting = delay.zip(backlog).map(|(delay, backlog)| {
        let by_size = backlog / whole(SMALLEST_FRAME);
        by_size.min(frames_of(sums, stages, class).at(&delay))
    });
    within_buffer(waiting, port.room, Some(class), case)
}

fn within_budget(
    delay: Option<&Exact>,
    budget: u64,
    class: Option<u8>,
    case: &FailureCase,
) -> Result<(), Reason> {
    let case = || case.clone();
    let Some(delay) = delay else {
        return Err(Reason::Overload { case: case() });
    };
    let bound = (delay * whole(PS_PER_SECOND)).ceil();
    match bound <= whole(budget) {
        true => Ok(()),
        false => Err(Reason::Budget {
            class,
            case: case(),
            bound: Delay::from_ps(bound.to_u64().unwrap_or(u64::MAX)),
            budget: Delay::from_ps(budget),
        }),
    }
}

fn within_buffer(
    waiting: Option<Exact>,
    room: u64,
    class: Option<u8>,
    case: &FailureCase,
) -> Result<(), Reason> {
    let Some(waiting) = waiting else {
        let case = case.clone();
        return Err(Reason::Overload { case });
    };
    match waiting <= whole(room) {
        true => Ok(()),
        false => Err(Reason::Buffer {
            class,
            case: case.clone(),
            frames: waiting.ceil().to_string(),
            room,
        }),
    }
}

/// Returns what flows of some classes bring to a port, in bits.
fn bits_of(sums: &Sums, stages: &Stages<'_>, wanted: impl Fn(u8) -> bool) -> Arrivals {
    let mut together = Arrivals::default();
    for ((origin, class), sum) in sums.iter().filter(|((_, class), _)| wanted(*class)) {
        let largest = largest_frame(sums, |of| of == *class);
        // Of two frames of a port the last bits are as far apart as the second takes.
        let line = densest(*origin, stages).map(|(rate, late)| CurveLine {
            burst: whole(largest) + &rate * late,
            rate,
        });
        let known = sum.bits.into_iter().map(Amount::line);
        together.add(Side::least_of(known.chain(line).collect()));
    }
    together
}

/// Returns in how many frames flows of a class come to a port.
fn frames_of(sums: &Sums, stages: &Stages<'_>, class: u8) -> Arrivals {
    let mut together = Arrivals::default();
    for ((origin, _), sum) in sums.iter().filter(|((_, of), _)| *of == class) {
        together.add(in_frames(sum, *origin, stages));
    }
    together
}

/// Returns what comes from one side, in frames: none is smaller than Ethernet has them.
fn in_frames(sum: &SideSum, origin: ArrivalOrigin, stages: &Stages<'_>) -> Side {
    let line = densest(origin, stages).map(|(rate, late)| {
        let rate = rate / whole(SMALLEST_FRAME);
        CurveLine {
            burst: whole(1) + &rate * late,
            rate,
        }
    });
    let known = sum.frames.into_iter().map(Amount::line);
    Side::least_of(known.chain(line).collect())
}

/// Returns the rate at which all that comes from somewhere was sent over one link, and
/// for how much longer some of it may have been held back since than the rest. A processor
/// by itself may hand frames on however close together.
fn densest((from, link): ArrivalOrigin, stages: &Stages<'_>) -> Option<(Exact, Exact)> {
    let sent_by = |port: usize| match stages.map.place(port)? {
        StageId::Port { link, .. } => Some(whole(stages.map.network().links[link].rate_bps)),
        StageId::Processor { .. } => None,
    };
    match link {
        None => Some((sent_by(from?)?, Exact::zero())),
        // It hands some frames on at once, and others when its budget is over.
        Some(port) => Some((sent_by(port)?, seconds(stages.budget(from?, 0).ok()?))),
    }
}

fn largest_frame(sums: &Sums, wanted: impl Fn(u8) -> bool) -> u64 {
    let of_class = sums.iter().filter(|((_, class), _)| wanted(*class));
    let largest = of_class.map(|(_, sum)| sum.largest);
    largest.max().unwrap_or(0)
}

fn whole(number: u64) -> Exact {
    Exact::from_integer(number.into())
}

fn seconds(ps: u64) -> Exact {
    Exact::new(ps.into(), PS_PER_SECOND.into())
}
