use units::BitRate;

use super::*;
use crate::measurement::Conditions;

#[test]
fn a_device_twice_as_slow_is_found_to_be_and_the_other_is_better() {
    let fast = [100, 101, 99].map(|us| measurement("fast", us, 0));
    let slow = [200, 202, 198].map(|us| measurement("slow", us, 0));

    let comparison = compare(&fast, &slow);

    let row = &comparison.rows[0];
    assert_eq!(row.quantity, "latency, median");
    let effect = row.effect.unwrap();
    let (low, high) = effect.bounds.unwrap();
    assert!(low < 2.0 && 2.0 < high && high < 2.1, "{effect:?}");
    assert_eq!(effect.basis, Basis::Rounds);
    assert_eq!(row.verdict, Verdict::First);
    assert!(effect.superiority.unwrap().share < 0.01);
}

#[test]
fn devices_whose_rounds_overlap_are_alike() {
    let one = [100, 140, 80].map(|us| measurement("one", us, 0));
    let other = [110, 90, 130].map(|us| measurement("other", us, 0));

    let comparison = compare(&one, &other);

    assert_eq!(comparison.rows[0].verdict, Verdict::Alike);
}

#[test]
fn one_round_each_has_bounds_from_its_values() {
    let comparison = compare(&[measurement("a", 100, 50)], &[measurement("b", 300, 50)]);

    let effect = comparison.rows[0].effect.unwrap();
    assert_eq!(effect.basis, Basis::Values);
    let (low, high) = effect.bounds.unwrap();
    assert!(low < effect.ratio && effect.ratio < high, "{effect:?}");
}

#[test]
fn software_stamps_support_no_difference_below_a_microsecond() {
    let with = |device: &str, ns: u64| {
        let mut made = measurement(device, 0, 0);
        made.conditions.stamps = Stamps::Kernel;
        made.figures[0].value = Value::Times(times((0..100).map(|_| ns)));
        made
    };

    let comparison = compare(&[with("a", 2_000)], &[with("b", 2_900)]);

    assert_eq!(comparison.rows[0].verdict, Verdict::Alike);
}

#[test]
fn of_rates_the_larger_is_better_and_of_unknown_ones_nothing_is_said() {
    let with = |device: &str, value: Value| {
        let mut made = measurement(device, 1, 0);
        made.figures[0].value = value;
        made
    };
    let rate = |mbps| Value::Rate(BitRate::from_mbps(mbps));
    let rounds = |mbps: u64| [mbps, mbps + 1].map(|mbps| with("x", rate(mbps)));

    let faster = compare(&rounds(100), &rounds(200));
    let unknown = compare(
        &[with("x", rate(100))],
        &[with("y", Value::Unknown("it drops everything".to_owned()))],
    );

    assert_eq!(faster.rows[0].verdict, Verdict::Second);
    assert_eq!(unknown.rows[0].verdict, Verdict::Open);
    assert_eq!(unknown.rows[0].effect, None);
}

#[test]
fn who_may_have_more_than_was_tried_is_never_called_worse() {
    let with = |value: Value| {
        let mut made = measurement("x", 1, 0);
        made.figures[0].value = value;
        made
    };
    let exactly = |mbps: u64| [mbps, mbps + 1].map(|it| with(Value::Rate(BitRate::from_mbps(it))));
    let at_least =
        |mbps: u64| [mbps, mbps + 1].map(|it| with(Value::RateAtLeast(BitRate::from_mbps(it))));
    let verdict = |one: &[Measurement], other: &[Measurement]| {
        let row = compare(one, other).rows.remove(0);
        (row.verdict, row.effect.is_some())
    };

    assert_eq!(
        verdict(&at_least(100), &exactly(200)),
        (Verdict::Open, false)
    );
    assert_eq!(
        verdict(&at_least(200), &exactly(100)),
        (Verdict::First, true)
    );
    assert_eq!(
        verdict(&exactly(100), &at_least(200)),
        (Verdict::Second, true)
    );
    assert_eq!(
        verdict(&at_least(100), &at_least(200)),
        (Verdict::Open, false)
    );
    assert_eq!(
        verdict(&at_least(100), &at_least(100)),
        (Verdict::Alike, true)
    );
}

#[test]
fn bounds_that_say_nothing_are_not_printed_to_the_digit() {
    let calm = [100, 101].map(|us| measurement("calm", us, 0));
    let wild = [100, 100_000].map(|us| measurement("wild", us, 0));

    let text = compare(&calm, &wild).document().to_text();

    assert!(text.contains("(rounds differ too much)"), "{text}");
}

#[test]
fn what_matters_stands_first_and_what_is_worse_is_said() {
    let made = |device: &str, us: [u64; 3], mbps: u64| {
        us.map(|us| {
            let mut made = measurement(device, us, 1);
            made.figures[0].quantity = "one-way latency".to_owned();
            let rate = Value::Rate(BitRate::from_mbps(mbps + us % 3));
            let throughput = Figure {
                quantity: "throughput".to_owned(),
                value: rate,
                ..made.figures[0].clone()
            };
            made.figures.push(throughput);
            made.conditions.skipped = 7;
            made
        })
    };
    let ours = made("Taktos switch, kernel engine", [45, 46, 44], 500);
    let theirs = made("Open vSwitch 3.1, AF_XDP ports", [100, 101, 99], 900);

    let comparison = compare(&theirs, &ours);
    let said = headline::headline(&comparison);
    let document = comparison.document();
    let (text, page) = (document.to_text(), document.to_page());

    assert!(
        said[0].starts_with("Taktos switch forwards in 0.45 of the time of Open vSwitch 3.1"),
        "{said:#?}"
    );
    let worse =
        "Open vSwitch 3.1 is better than Taktos switch at: throughput (latency) by 1.8 times";
    assert!(said.iter().any(|it| it.starts_with(worse)), "{said:#?}");
    assert!(
        text.lines()
            .nth(3)
            .unwrap()
            .starts_with("Taktos switch forwards"),
        "{text}"
    );
    for shown in [&text, &page] {
        assert!(shown.contains("3 measurements; no stall") && shown.contains("left out 21"));
    }
    assert!(
        page.contains("<svg") && !page.contains("class=\"good\""),
        "{page}"
    );
}

/// One setting of three is no claim for the device.
#[test]
fn what_shows_at_few_settings_is_no_headline() {
    let made = |device: &str, us: [u64; 3]| {
        [0, 1, 2].map(|round| {
            let mut made = measurement(device, 1, 0);
            let figures = us
                .iter()
                .zip(["1 ms", "2 ms", "4 ms"])
                .map(|(us, interval)| Figure {
                    quantity: "one-way latency".to_owned(),
                    source: String::new(),
                    setting: vec![("interval".to_owned(), interval.to_owned())],
                    value: Value::Time(Duration::from_us(us + round)),
                });
            made.figures = figures.collect();
            for figure in &mut made.figures {
                figure.quantity = "one-way latency, median".to_owned();
            }
            made
        })
    };

    let one = compare(
        &made("slow", [100, 100, 100]),
        &made("quick", [50, 100, 100]),
    );
    let all = compare(&made("slow", [100, 100, 100]), &made("quick", [50, 50, 50]));

    let claims = |it: &Comparison| headline::headline(it)[0].starts_with("quick forwards in");
    assert!(!claims(&one), "{:#?}", headline::headline(&one));
    assert!(claims(&all), "{:#?}", headline::headline(&all));
}

#[test]
fn an_effect_has_the_digits_that_its_bounds_support() {
    let with = |ratio, bounds| {
        effect_text(&Effect {
            ratio,
            bounds: Some(bounds),
            basis: Basis::Rounds,
            superiority: None,
        })
    };

    assert_eq!(with(1.5234, (1.3912, 1.6678)), "x 1.5 (1.4 to 1.7)");
    assert_eq!(with(1.5234, (1.5012, 1.5461)), "x 1.52 (1.50 to 1.55)");
    assert_eq!(with(2.0, (0.9, 4.5)), "x 2.0 (0.90 to 4.5)");
    // Alike is excluded, and the digits say so.
    assert_eq!(with(1.2, (1.004, 1.4)), "x 1.200 (1.004 to 1.400)");
}

#[test]
fn the_last_of_a_thousand_is_compared_where_there_are_enough() {
    let many = |device: &str, us: u64| {
        let mut made = measurement(device, us, 0);
        let values = (0..20_000).map(|at| us * 1_000 + u64::from(at % 900 == 0) * 50_000);
        made.figures[0].value = Value::Times(times(values));
        made
    };

    let few = compare(&[measurement("a", 100, 0)], &[measurement("b", 200, 0)]);
    let enough = compare(&[many("a", 100)], &[many("b", 200)]);

    assert_eq!(few.rows.len(), 2);
    let tail = &enough.rows[2];
    assert_eq!(
        (tail.quantity.as_str(), tail.verdict),
        ("latency, p99.9", Verdict::First)
    );
}

#[test]
fn more_availability_is_better() {
    let value = Value::Share(0.9);

    assert_eq!(better("availability", &value), Better::More);
    assert_eq!(better("frame loss ratio", &value), Better::Less);
}

#[test]
fn what_only_one_has_is_listed() {
    let mut other = measurement("b", 100, 0);
    other.figures[0].quantity = "something else".to_owned();

    let comparison = compare(&[measurement("a", 100, 0)], &[other]);

    assert!(comparison.rows.is_empty());
    assert_eq!(comparison.only[0], ["latency: latency (interval 1 ms)"]);
    assert_eq!(
        comparison.only[1],
        ["latency: something else (interval 1 ms)"]
    );
}

#[test]
fn a_comparison_is_shown_in_every_form() {
    let mut quick = measurement("b <quick>", 200, 10);
    quick.quick = true;
    let comparison = compare(&[measurement("a", 100, 10)], &[quick]);

    let document = comparison.document();
    let (text, page) = (document.to_text(), document.to_page());
    let json = json::document(&comparison);

    assert!(
        text.contains("latency, median") && text.contains("no figure of this"),
        "{text}"
    );
    assert!(page.contains("b &lt;quick&gt;"), "{page}");
    assert_eq!(json["rows"][0]["better"], "first");
    assert_eq!(json["quick"], true);
    assert!(json["rows"][0]["first"]["time_ns"].as_u64().unwrap() >= 100_000);
}

/// Returns a measurement of a hundred latencies around so many microseconds.
fn measurement(device: &str, us: u64, spread_us: u64) -> Measurement {
    let values = (0..100).map(|at| us * 1_000 + at * spread_us * 10);
    Measurement {
        method: "latency".to_owned(),
        device: device.to_owned(),
        quick: false,
        figures: vec![Figure {
            quantity: "latency".to_owned(),
            source: "S0-2".to_owned(),
            setting: vec![("interval".to_owned(), "1 ms".to_owned())],
            value: Value::Times(times(values)),
        }],
        remarks: Vec::new(),
        earlier: Vec::new(),
        conditions: Conditions {
            command: String::new(),
            began_unix_ns: 0,
            took: Duration::ZERO,
            seed: 1,
            version: String::new(),
            versions: Vec::new(),
            machine: None,
            stamps: Stamps::Virtual,
            bias: None,
            clocks_apart: Duration::ZERO,
            lateness: Distribution::default(),
            stalls: Distribution::default(),
            unseen: 0,
            unstamped: 0,
            strays: 0,
            skipped: 0,
        },
    }
}

fn times(values: impl IntoIterator<Item = u64>) -> Distribution {
    let mut times = Distribution::default();
    for ns in values {
        times.record(Duration::from_ns(ns));
    }
    times
}
