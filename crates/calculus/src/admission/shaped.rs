//! The bounds of a stage when it is known from which sides frames come.
//!
//! Tighter than those of `bounds::processing` and `bounds::strict_priority`, which
//! know sums only, by line shaping and by peaks (`S4-5`; NC section 1.2: a link
//! is a shaper). For a class of a port every token bucket that bounds the more
//! urgent classes leaves it a service; there is one for each piece of their sum, and
//! what is done is no less than any of them says.

use units::{BitRate, DataSize, Delay};

use crate::bounds::concave::{ArrivalSource, LeastService, ServerPace, most_in};
use crate::bounds::processing::{FRAME, Processor};
use crate::bounds::strict_priority::{CLASSES, ClassBound};

/// Returns the longest delay and the most frames at a processor, if there are
/// bounds.
pub(super) fn processor_bounds(
    processor: Processor,
    sources: &[ArrivalSource],
) -> Option<(Delay, u64)> {
    let latency = processor.latency.as_ps();
    if processor.per_frame == Delay::ZERO {
        let backlog = u64::try_from(most_in(sources, latency)).ok()?;
        return Some((processor.latency, backlog));
    }
    let pace = ServerPace {
        ps: processor.per_frame.as_ps(),
        units: FRAME,
    };
    let server = LeastService::processor(latency, pace);
    let delay = server.delay_bound(sources)?;
    let backlog = server.by_whole(FRAME).backlog_bound(sources)?;
    Some((Delay::from_ps(delay), backlog))
}

/// Returns the bounds of `class` at a link, or nothing if there are none.
/// `blocking` is the largest frame of the less urgent classes, `largest` that of
/// the class.
pub(super) fn class_bounds(
    link: BitRate,
    classes: &[Vec<ArrivalSource>; CLASSES],
    class: usize,
    (blocking, largest): (DataSize, DataSize),
) -> Option<(Delay, DataSize)> {
    let more_urgent = classes[class + 1..].concat();
    let own = &classes[class];
    let server = LeastService::link(link.as_bps(), &more_urgent, blocking.as_bits())?;
    let delay = server.delay_bound(own)?;
    let backlog = server.by_whole(largest.as_bits()).backlog_bound(own)?;
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
pub(super) fn tells_more(sources: &[ArrivalSource]) -> bool {
    sources.iter().any(ArrivalSource::bends)
}
