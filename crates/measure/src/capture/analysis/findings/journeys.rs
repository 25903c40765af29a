//! What became of the packets of one sender, in the order in which it sent them: by
//! its own clock, whatever the other one did.

use super::super::hosts::Sender;
use super::super::{Analysis, Clocks, Side};
use super::Trend;

/// Sixteen times the jitter, so that a division loses nothing; each difference counts
/// for a sixteenth (RFC 3550 section 6.4.1).
const JITTER_SHARE: u64 = 16;

/// A packet that was found in both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Journey {
    /// When it was sent, by the sender's clock.
    pub(super) sent: u64,
    /// By how much its latency is above the least.
    pub(super) above_ns: u64,
}

impl Journey {
    /// Returns when it arrived, less the least latency.
    pub(super) fn arrived(self) -> u64 {
        self.sent.saturating_add(self.above_ns)
    }
}

/// The packets of one sender.
#[derive(Debug)]
pub(super) struct Journeys {
    /// Those that arrived, in the order of sending.
    pub(super) arrived: Vec<Journey>,
    /// When those were sent that did not, in order.
    pub(super) lost: Vec<u64>,
}

impl Journeys {
    /// Reads them off the stamps, drift and steps of the clocks taken out.
    pub(super) fn of(analysis: &Analysis, sender: &Sender, side: Side) -> Self {
        let trend = match analysis.assumptions.clocks {
            Clocks::Unrelated => Trend::of(&sender.pairs, side),
            Clocks::One => Trend::default(),
        };
        let sign = match side {
            Side::First => 1,
            Side::Second => -1,
        };
        let origin = sender.pairs.first().map_or(0, |pair| pair.first_ns);
        let level = |pair: &super::Pair| trend.level(pair, origin).saturating_mul(sign);
        let least = sender.pairs.iter().map(level).min().unwrap_or(0);
        let mut arrived: Vec<_> = sender
            .pairs
            .iter()
            .map(|pair| Journey {
                sent: match side {
                    Side::First => pair.first_ns,
                    Side::Second => pair.first_ns.wrapping_add(pair.later_ns.cast_unsigned()),
                },
                above_ns: level(pair).saturating_sub(least).unsigned_abs(),
            })
            .collect();
        arrived.sort_by_key(|it| it.sent);
        Self {
            arrived,
            lost: lost(analysis, sender, side),
        }
    }

    /// Returns the interarrival jitter after the last packet, in nanoseconds.
    pub(super) fn jitter_ns(&self) -> u64 {
        let pairs = self.arrived.windows(2).filter_map(<[Journey]>::as_array);
        let jitter = pairs.fold(0_u64, |jitter, [before, after]: &[Journey; 2]| {
            let difference = after.above_ns.abs_diff(before.above_ns);
            (jitter - jitter / JITTER_SHARE).saturating_add(difference)
        });
        jitter / JITTER_SHARE
    }

    /// Returns the longest run of losses.
    pub(super) fn longest_run(&self) -> u64 {
        let mut arrived = self.arrived.iter().map(|it| it.sent).peekable();
        let (mut run, mut longest) = (0, 0);
        for lost in &self.lost {
            while arrived.next_if(|sent| sent < lost).is_some() {
                run = 0;
            }
            run += 1;
            longest = longest.max(run);
        }
        longest
    }
}

/// Returns when the packets were sent that did not arrive, without those that cards
/// may have cut or put together.
fn lost(analysis: &Analysis, sender: &Sender, side: Side) -> Vec<u64> {
    let is_cut_by_cards = analysis.captures.iter().any(|it| it.super_frames > 0);
    let lost = sender.lost[side.other().place()].iter();
    let lost = lost.filter(|(_, is_segment)| !(is_cut_by_cards && *is_segment));
    let mut lost: Vec<u64> = lost.map(|(at, _)| *at).collect();
    lost.sort_unstable();
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_with_what_arrived() {
        let arrived = [10, 20, 50, 90].map(|sent| Journey { sent, above_ns: 0 });
        let journeys = Journeys {
            arrived: arrived.to_vec(),
            lost: vec![5, 30, 40, 60, 70, 80, 100],
        };

        assert_eq!(journeys.longest_run(), 3);
        assert_eq!(journeys.jitter_ns(), 0);
    }
}
