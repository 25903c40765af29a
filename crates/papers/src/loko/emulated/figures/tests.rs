use super::*;

const SHORT: Repetitions = Repetitions {
    runs: 2,
    length: Duration::from_secs(3),
};

/// LOKO Fig. 17a: clean at 1, nothing late, and around 60 % lost at 11.
#[test]
fn rates_beyond_a_fifth_lose_once_they_exceed_the_switch() {
    let clean = point(&FIG17[0], 100);
    let below = point(&FIG17[0], 400);
    let beyond = point(&FIG17[0], 700);
    let far_beyond = point(&FIG17[0], 1_100);

    assert!(clean.is_clean() && below.is_clean());
    assert!(beyond.lost > 0 && beyond.late == 0);
    assert!(
        (50.0..70.0).contains(&far_beyond.lost_percent()),
        "{far_beyond:?}"
    );
    assert_eq!(far_beyond.late, 0);
}

/// LOKO Fig. 17b: bursts lose far less than rates, and nothing is late.
#[test]
fn bursts_beyond_a_fifth_lose_seldom() {
    let clean = point(&FIG17[1], 100);
    let beyond = point(&FIG17[1], 800);

    assert!(clean.is_clean());
    assert!(beyond.lost > 0 && beyond.lost_percent() < 10.0);
    assert_eq!(beyond.late, 0);
}

/// LOKO Fig. 18a: 95 in a hundred of the rate are clean, and losses come early.
#[test]
fn the_full_rate_has_no_room_for_more() {
    let clean = point(&FIG18[0], 95);
    let beyond = point(&FIG18[0], 145);

    assert!(clean.is_clean());
    assert!(beyond.lost > 0 && beyond.late > 0);
}

/// LOKO Fig. 19: what is left out of the promise breaks it.
#[test]
fn echoes_break_a_promise_that_does_not_know_them() {
    let unknown = point(&FIG19[0], 750);
    let known = point(&FIG19[1], 750);

    assert!(!unknown.is_clean());
    assert!(known.is_clean(), "{known:?}");
}

#[test]
fn progress_ends_at_its_end() {
    let effort = Repetitions {
        runs: 1,
        length: Duration::from_ms(1),
    };
    let mut seen = Vec::new();

    let sweeps = fig19(effort, 1, &mut |done, whole| seen.push((done, whole)));

    let points: usize = sweeps.iter().map(|sweep| sweep.points.len()).sum();
    let whole = points as u64;
    assert_eq!(seen.len() as u64, whole);
    assert_eq!(seen.last(), Some(&(whole, whole)));
}

/// LOKO section 6.1.
#[test]
fn promises_are_those_of_the_paper() {
    for (fraction, printed_us) in [(Fraction::FULL_RATE, 3_720), (Fraction::FIFTH_RATE, 4_130)] {
        let ours = allocation(fraction).unwrap().end_to_end(SWITCHES);

        let gap = ours.as_ps().abs_diff(Delay::from_us(printed_us).as_ps());
        assert!(gap < Delay::from_us(5).as_ps(), "{ours}");
    }
}

fn point(part: &FigurePart, value: u64) -> Observation {
    let allocation = allocation(part.fraction).unwrap();
    let run = part.run(&allocation, value, 1).unwrap();
    Observation::of(&run, allocation.end_to_end(SWITCHES), SHORT, &mut || {})
}
