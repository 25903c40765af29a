//! The clocks of the network cards that stamp a tester's frames, and which of their stamps
//! are believed.
//!
//! Ports of one card have one clock, and one relation to the machine's. What a card says is
//! held against what the machine knows of the same frame: nothing arrives after the
//! driver has handed it up or long before, and nothing leaves before it was sent or in
//! the future. So a driver that gives the stamp of another frame, or of another clock, is
//! noticed, and its stamps are in no figure.

use std::io;

use linux::card_clock::CardClock;
use linux::card_clock::relation::{Followed, Relation};
use linux::clock::WallClock;
use linux::stamps::{CardTime, Stamps};
use units::{Duration, Instant};

/// By so much more than its clock may be off, a stamp may seem to be impossible.
const TOLERANCE: Duration = Duration::from_us(20);
/// The longest that a frame waits between the card and the driver: the machine may stand
/// still meanwhile.
const LONGEST_WAIT: Duration = Duration::from_ms(100);

/// The clock of a port among [`CardClocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockPlace(usize);

#[derive(Debug, Default)]
pub(super) struct CardClocks {
    clocks: Vec<CardClock>,
}

impl CardClocks {
    /// Opens a clock unless it is open, and returns its place.
    pub(super) fn open(&mut self, number: u32) -> io::Result<ClockPlace> {
        let known = self.clocks.iter().position(|it| it.number() == number);
        let place = match known {
            Some(place) => place,
            None => {
                self.clocks.push(CardClock::open(number)?);
                self.clocks.len() - 1
            }
        };
        Ok(ClockPlace(place))
    }

    /// Reads them after a time in which nobody asked.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.clocks.iter_mut().try_for_each(CardClock::resume)
    }

    /// Reads them in the middle of use, and tells of those that were set: their numbers,
    /// and by how many nanoseconds.
    pub(super) fn follow(&mut self, mut tell: impl FnMut(u32, i64)) -> io::Result<()> {
        for clock in &mut self.clocks {
            match clock.follow()? {
                Followed::Stepped(by_ns) => tell(clock.number(), by_ns),
                Followed::On | Followed::PassedOver => {}
            }
        }
        Ok(())
    }

    /// Returns by how much the stamps of two ports may be apart though they are of one
    /// moment: what the two worst clocks may be off, or nothing if there is only one.
    pub(super) fn apart(&self) -> Duration {
        let each = self.clocks.iter().map(|it| it.relation().uncertainty());
        apart(each.collect())
    }

    /// Returns the relation of a port's clock to the machine's.
    pub(super) fn relation(&self, place: ClockPlace) -> &Relation {
        self.clocks[place.0].relation()
    }
}

fn apart(mut uncertainties: Vec<Duration>) -> Duration {
    uncertainties.sort_unstable();
    match uncertainties[..] {
        [.., second, worst] => second + worst,
        [_] | [] => Duration::ZERO,
    }
}

/// Returns when a frame arrived by the card's clock, if that can be.
pub(super) fn arrival(
    relation: &Relation,
    wall: &WallClock,
    stamps: Stamps,
    now: Instant,
) -> Option<Instant> {
    let handed_up = stamps.kernel.map_or(now, |it| wall.to_monotonic(it));
    let earliest = handed_up.as_ns().saturating_sub(LONGEST_WAIT.as_ns());
    believed(
        relation,
        stamps.card?,
        (Instant::from_ns(earliest), handed_up),
    )
}

/// Returns when a frame left by the card's clock, if that can be.
pub(super) fn departure(
    relation: &Relation,
    stamps: Stamps,
    handed: Instant,
    now: Instant,
) -> Option<Instant> {
    believed(relation, stamps.card?, (handed, now))
}

fn believed(
    relation: &Relation,
    stamp: CardTime,
    (earliest, latest): (Instant, Instant),
) -> Option<Instant> {
    let at = relation.to_monotonic(stamp)?;
    let tolerance = TOLERANCE + relation.uncertainty();
    (at + tolerance >= earliest && at <= latest + tolerance).then_some(at)
}

#[cfg(test)]
mod tests {
    use linux::card_clock::relation::Reading;

    use super::*;

    /// Where the card's clock stands when the machine's stands at [`NOW`].
    const CARD_NS: u64 = 1_700_000_000_000_000_000;
    const NOW: Instant = Instant::from_ns(5_000_000_000_000);

    fn relation() -> Relation {
        Relation::begin(Reading {
            card: CardTime::from_ns(CARD_NS),
            at: NOW,
            within: Duration::from_us(1),
        })
    }

    /// The stamps of a frame that the card saw so long after [`NOW`], and the kernel so
    /// much later, in nanoseconds.
    fn seen(wall: &WallClock, card_ns: u64, later_ns: u64) -> Stamps {
        let handed_up = NOW + Duration::from_ns(card_ns + later_ns);
        Stamps {
            kernel: Some(wall.to_wall(handed_up)),
            card: Some(CardTime::from_ns(CARD_NS + card_ns)),
        }
    }

    #[test]
    fn a_frame_arrives_when_its_card_says() {
        let wall = WallClock::sample();
        let stamps = seen(&wall, 7_000, 12_000);

        let at = arrival(&relation(), &wall, stamps, NOW);

        assert_eq!(at, Some(NOW + Duration::from_ns(7_000)));
    }

    #[test]
    fn a_frame_that_arrived_after_it_was_handed_up_or_long_before_is_not_believed() {
        let wall = WallClock::sample();
        let handed_up = wall.to_wall(NOW + Duration::from_secs(1));
        let at = |card_ns: u64| {
            let card = Some(CardTime::from_ns(card_ns));
            let kernel = Some(handed_up);
            arrival(&relation(), &wall, Stamps { kernel, card }, NOW)
        };
        let second = 1_000_000_000;

        assert!(at(CARD_NS + second).is_some());
        assert_eq!(at(CARD_NS + second + 30_000), None);
        assert_eq!(at(CARD_NS + second - 200_000_000), None);
        // An address of the kernel in place of a time.
        assert_eq!(at(0xffff_8880_0000_0000 >> 1), None);
        assert_eq!(at(1), None);
    }

    #[test]
    fn a_frame_that_the_card_has_not_stamped_has_no_time() {
        let wall = WallClock::sample();
        let kernel = Some(wall.to_wall(NOW));
        let stamps = Stamps { kernel, card: None };

        assert_eq!(arrival(&relation(), &wall, stamps, NOW), None);
        assert_eq!(departure(&relation(), stamps, NOW, NOW), None);
    }

    #[test]
    fn one_clock_is_never_apart_and_of_several_the_worst_two_count() {
        let us = |ns| Duration::from_us(ns);

        assert_eq!(apart(vec![]), Duration::ZERO);
        assert_eq!(apart(vec![us(7)]), Duration::ZERO);
        assert_eq!(apart(vec![us(3), us(1), us(2)]), us(5));
    }

    #[test]
    fn what_is_believed_left_between_its_sending_and_now() {
        let relation = relation();
        let slack = TOLERANCE + relation.uncertainty();
        let (handed, took) = (100_000, 50_000);
        let now = NOW + Duration::from_ns(handed + took);
        let handed = NOW + Duration::from_ns(handed);

        // Every 100 ns, from before its sending until after now.
        for card_ns in (0..300_000).step_by(100) {
            let card = Some(CardTime::from_ns(CARD_NS + card_ns));
            let left = NOW + Duration::from_ns(card_ns);

            let at = departure(&relation, Stamps { kernel: None, card }, handed, now);

            let can_be = left + slack >= handed && left <= now + slack;
            assert_eq!(at, can_be.then_some(left), "{card_ns}");
        }
        let sure = Some(CardTime::from_ns(CARD_NS + 120_000));
        let sure = Stamps {
            kernel: None,
            card: sure,
        };
        assert!(departure(&relation, sure, handed, now).is_some());
    }
}
