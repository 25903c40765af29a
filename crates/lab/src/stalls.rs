//! What a watcher of the machine noticed, in the words of the instrument.

use linux::frame_watch::Halt;
use measure::interruptions::Interruption;
use measure::stalls::Stalls;
use units::{Duration, Instant};

/// Enters what `thread` noticed from `begun` on.
pub fn enter(
    watched: &linux::stall::Stalls,
    thread: &'static str,
    begun: Instant,
    stalls: &mut Stalls,
) {
    let threshold = stalls.threshold();
    for (size, times) in (0..).zip(watched.gaps) {
        let within = Duration::from_ns(u64::MAX >> (u64::BITS - 1 - size));
        if within < threshold * 2u64 {
            stalls.calm(within, times);
        }
    }
    for stall in watched.kept.iter().filter(|stall| stall.start >= begun) {
        stalls.look(thread, stall.start, stall.start + stall.length);
    }
}

/// Returns when others had the watcher's processor, from `begun` on.
pub fn interruptions(
    watched: &linux::stall::Stalls,
    begun: Instant,
) -> impl Iterator<Item = Interruption> {
    let seen = watched.interruptions.iter();
    seen.filter(move |it| it.from >= begun)
        .map(|it| Interruption {
            from: it.from,
            to: it.to,
            taken: it.taken,
        })
}

/// Returns when a processor did not get on with frames.
pub fn halt(halt: &Halt) -> Interruption {
    Interruption {
        from: halt.from,
        to: halt.to,
        taken: halt.to.saturating_since(halt.from),
    }
}
