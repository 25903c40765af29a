//! The bounds of a stage when it is known from which sides frames come.
//!
//! Tighter than those of `bounds::processing` and `bounds::strict_priority`, which
//! know sums only, by line shaping and by peaks (`S4-5`; NC section 1.2: a link
//! is a shaper). For a class of a port every token bucket that bounds the more
//! urgent classes leaves it a service; there is one for each piece of their sum,
//! each gives a bound, and the least of them holds.

use units::{BitRate, DataSize, Delay};

use crate::bounds::concave::{self, Pace, Source};
use crate::bounds::processing::{FRAME, Processor};
use crate::bounds::strict_priority::{CLASSES, ClassBound, left_over};
use crate::min_plus::TokenBucket;

const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// Returns the longest delay and the most frames at a processor, if there are
/// bounds.
pub(super) fn processor_bounds(processor: Processor, sources: &[Source]) -> Option<(Delay, u64)> {
    let pace = Pace {
        ps: processor.per_frame.as_ps(),
        units: FRAME,
    };
    let held = processor.latency.checked_add(processor.per_frame)?;
    let delay = concave::delay_bound(sources, processor.latency.as_ps(), pace)?;
    let backlog = concave::backlog_bound(sources, held.as_ps(), pace)?;
    Some((Delay::from_ps(delay), backlog))
}

/// Returns the bounds of `class` at a link, or nothing if there are none.
/// `blocking` is the largest frame of the less urgent classes, `largest` that of
/// the class.
pub(super) fn class_bounds(
    link: BitRate,
    classes: &[Vec<Source>; CLASSES],
    class: usize,
    (blocking, largest): (DataSize, DataSize),
) -> Option<(Delay, DataSize)> {
    let more_urgent = classes[class + 1..].concat();
    let own = &classes[class];
    let mut best: Option<(Delay, DataSize)> = None;
    for tangent in concave::tangents(&more_urgent) {
        let burst = DataSize::from_bits(tangent.burst);
        let bucket = match BitRate::new(tangent.rate) {
            Some(rate) => TokenBucket::new(rate, burst),
            None => TokenBucket::once(burst),
        };
        if let Some((delay, backlog)) = bounds_beside(link, bucket, own, (blocking, largest)) {
            let (least, smallest) = best.unwrap_or((delay, backlog));
            best = Some((least.min(delay), smallest.min(backlog)));
        }
    }
    best
}

fn bounds_beside(
    link: BitRate,
    more_urgent: TokenBucket,
    own: &[Source],
    (blocking, largest): (DataSize, DataSize),
) -> Option<(Delay, DataSize)> {
    let service = left_over(link, more_urgent, blocking)?;
    let pace = Pace {
        ps: PS_PER_SECOND,
        units: service.rate.as_bps(),
    };
    let held = service.by_whole_frames(largest).latency;
    let delay = concave::delay_bound(own, service.latency.as_ps(), pace)?;
    let backlog = concave::backlog_bound(own, held.as_ps(), pace)?;
    Some((Delay::from_ps(delay), DataSize::from_bits(backlog)))
}

/// Returns the less of two bounds, both of which hold.
pub(super) fn least(sums: ClassBound, sides: Option<(Delay, DataSize)>) -> ClassBound {
    match (sums, sides) {
        (ClassBound::Bounded { delay, backlog }, Some((least, smallest))) => ClassBound::Bounded {
            delay: delay.min(least),
            backlog: backlog.min(smallest),
        },
        (sums, _) => sums,
    }
}

/// Returns whether any side is known better than by its sum.
pub(super) fn tells_more(sources: &[Source]) -> bool {
    sources.iter().any(Source::bends)
}
