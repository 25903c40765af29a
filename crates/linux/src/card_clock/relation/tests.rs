use proptest::prelude::*;

use super::*;

const SLEW_NS: u64 = SLEWING.as_ns();
/// Where both clocks stand in the beginning: their origins have nothing in common.
const CARD_BEGINS: u64 = 1_700_000_000_000_000_000;
const BEGINS: u64 = 5_000_000_000_000;
/// Readings, pieces and the truth are rounded to nanoseconds.
const ROUNDING: i128 = 8;

/// A card's clock against the monotonic one, and what is read of both.
struct Truth {
    card: u64,
    /// In [`RATE_PARTS`] of nanoseconds.
    at: i128,
}

impl Truth {
    fn new() -> Self {
        let at = i128::from(BEGINS) * RATE_PARTS;
        Self {
            card: CARD_BEGINS,
            at,
        }
    }

    /// Lets so much time of the card pass while the other clock gains so many parts in a
    /// million.
    fn pass(&mut self, card_ns: u64, ppm: i64) {
        self.card += card_ns;
        self.at += i128::from(card_ns) * (RATE_PARTS + i128::from(ppm) * 1_000_000);
    }

    fn reading(&self, off_ns: i64, within_ns: u64) -> Reading {
        let at = self.at / RATE_PARTS + i128::from(off_ns);
        Reading {
            card: CardTime::from_ns(self.card),
            at: Instant::from_ns(u64::try_from(at).unwrap()),
            within: Duration::from_ns(within_ns),
        }
    }

    /// By how much the relation is off now.
    fn error_of(&self, relation: &Relation) -> i128 {
        let said = relation.to_monotonic(CardTime::from_ns(self.card)).unwrap();
        i128::from(said.as_ns()) - self.at / RATE_PARTS
    }
}

/// A relation that has seen enough of a clock of this rate, with readings that are off by
/// each of `offs` in turn.
fn learned(truth: &mut Truth, ppm: i64, offs: &[i64], within_ns: u64) -> Relation {
    let mut relation = Relation::begin(truth.reading(offs[0], within_ns));
    truth.pass(LEAST_BASE.as_ns(), ppm);
    relation.resume(truth.reading(offs[1], within_ns));
    relation
}

/// A look: how long after the one before, how the rate wanders, and how wrong the reading.
#[derive(Clone, Debug)]
struct Look {
    gap_ns: u64,
    wander_ppm: i64,
    off: i64,
}

fn looks(off_most: i64, wander_ppm: i64) -> impl Strategy<Value = Vec<Look>> {
    let look = (
        SLEW_NS / 2..=3 * SLEW_NS,
        -wander_ppm..=wander_ppm,
        -off_most..=off_most,
    );
    let look = look.prop_map(|(gap_ns, wander_ppm, off)| Look {
        gap_ns,
        wander_ppm,
        off,
    });
    proptest::collection::vec(look, 1..60)
}

proptest! {
    /// Sound: however the card's clock drifts, as long as it wanders by no more than it
    /// may, and however readings err, the relation stays within what its sentence says,
    /// at every moment.
    #[test]
    fn the_relation_stays_within_its_bound(
        (most, offs, looks) in (0i64..3_000).prop_flat_map(|most| {
            (Just(most), prop::array::uniform2(-most..=most), looks(most, 3))
        }),
        mean_ppm in -200i64..=200,
    ) {
        let mut truth = Truth::new();
        let within = most.unsigned_abs();
        let mut relation = learned(&mut truth, mean_ppm, &offs, within);
        let longest = looks.iter().map(|it| it.gap_ns).max().unwrap_or(0).max(SLEW_NS);
        let wandered = 2 * i128::from(longest) * 3 / 1_000_000;
        let bound = i128::from(most)
            + i128::from(most) * i128::from(longest) / i128::from(2 * SLEW_NS)
            + wandered
            + ROUNDING;

        for look in looks {
            for _ in 0..10 {
                truth.pass(look.gap_ns / 10, mean_ppm + look.wander_ppm);
                let error = truth.error_of(&relation);
                prop_assert!(error.abs() <= bound, "{error} of {bound}");
            }
            let followed = relation.follow(truth.reading(look.off, within));
            prop_assert_eq!(followed, Followed::On);
        }
    }

    /// What has been said stays said, and no stamp overtakes an earlier one.
    #[test]
    fn stamps_keep_their_order_and_their_places(
        looks in looks(5_000, 200),
        apart in proptest::collection::vec(0u64..20_000_000, 1..50),
    ) {
        let mut truth = Truth::new();
        let mut relation = learned(&mut truth, 0, &[0, 0], 5_000);
        let stamps: Vec<_> = apart
            .iter()
            .scan(truth.card, |card, apart| {
                *card += apart;
                Some(CardTime::from_ns(*card))
            })
            .collect();

        let mut told: Vec<Instant> = Vec::new();
        for look in looks {
            truth.pass(look.gap_ns, look.wander_ppm);
            for stamp in stamps.iter().skip(told.len()) {
                if stamp.as_ns() < truth.card {
                    told.push(relation.to_monotonic(*stamp).unwrap());
                }
            }
            relation.follow(truth.reading(look.off, 5_000));
            // As far back as pieces are kept.
            let kept = relation.pieces.front().unwrap().card;
            for (stamp, told) in stamps.iter().zip(&told) {
                if i128::from(stamp.as_ns()) >= kept {
                    prop_assert_eq!(relation.to_monotonic(*stamp), Some(*told));
                }
            }
        }
        prop_assert!(told.is_sorted());
    }

    /// Tight: with readings that do not err, a drift of any size is followed to the
    /// nanosecond once it is known.
    #[test]
    fn readings_without_an_error_leave_none(ppm in -500i64..=500, looks in 1usize..40) {
        let mut truth = Truth::new();
        let mut relation = learned(&mut truth, ppm, &[0, 0], 0);

        for _ in 0..looks {
            truth.pass(SLEW_NS, ppm);
            relation.follow(truth.reading(0, 0));
        }
        truth.pass(SLEW_NS, ppm);

        prop_assert!(truth.error_of(&relation).abs() <= ROUNDING);
    }
}

#[test]
fn a_card_whose_clock_is_set_steps_once_and_says_by_how_much() {
    let mut truth = Truth::new();
    let mut relation = learned(&mut truth, 20, &[0, 0], 500);
    truth.pass(SLEW_NS, 20);
    truth.card += 37_000_000_000;

    let set = relation.follow(truth.reading(0, 500));
    truth.pass(SLEW_NS, 20);
    let then = relation.follow(truth.reading(0, 500));

    let Followed::Stepped(by_ns) = set else {
        panic!("{set:?}")
    };
    assert!(
        (36_990_000_000..=37_010_000_000).contains(&by_ns),
        "{by_ns}"
    );
    assert_eq!(then, Followed::On);
    assert!(truth.error_of(&relation).abs() <= 1_000);
}

#[test]
fn a_card_whose_clock_went_back_is_followed_from_there() {
    let mut truth = Truth::new();
    let mut relation = learned(&mut truth, 20, &[0, 0], 500);
    truth.pass(SLEW_NS, 20);
    truth.card -= 10_000_000_000;

    let set = relation.follow(truth.reading(0, 500));

    assert!(
        matches!(set, Followed::Stepped(by) if by < -9_990_000_000),
        "{set:?}"
    );
    assert!(truth.error_of(&relation).abs() <= 1);
}

#[test]
fn a_reading_that_was_interrupted_is_passed_over_unless_all_are() {
    let mut truth = Truth::new();
    let mut relation = learned(&mut truth, 0, &[0, 0], 500);

    let poor: Vec<_> = (0..KEPT)
        .map(|_| {
            truth.pass(SLEW_NS, 0);
            relation.follow(truth.reading(9_000, 10_000))
        })
        .collect();

    assert_eq!(poor[0], Followed::PassedOver);
    assert_eq!(poor[KEPT - 1], Followed::On);
    assert_eq!(relation.uncertainty(), Duration::from_us(20));
}

#[test]
fn a_clock_that_was_set_between_two_trials_is_no_rate() {
    let mut truth = Truth::new();
    let mut relation = learned(&mut truth, 20, &[0, 0], 500);
    truth.pass(10 * SLEW_NS, 20);
    truth.card += 10_000_000;

    relation.resume(truth.reading(0, 500));
    truth.pass(SLEW_NS, 20);

    // What was known of the rate holds on.
    let error = truth.error_of(&relation);
    assert!(error.abs() <= 100, "{error}");
}
