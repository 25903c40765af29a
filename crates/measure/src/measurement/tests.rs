//! Measurements written, read back and shown.

use proptest::prelude::*;
use units::{BitRate, DataSize, Duration, Instant};

use super::document::ReadError;
use super::{Conditions, Earlier, Figure, Machine, Measurement, Value};
use crate::statistics::Distribution;
use crate::time_series::TimeSeries;
use crate::trial::Stamps;

#[test]
fn a_document_is_read_as_it_was_written() {
    let text = example().to_json();

    let read = Measurement::from_json(&text).unwrap();

    assert_eq!(read.to_json(), text);
    assert_eq!(read.figures.len(), 8);
    let Value::Times(times) = &read.figures[0].value else {
        panic!("{:?}", read.figures[0]);
    };
    assert_eq!(times.count(), 1_000);
    assert_eq!(times.max(), Some(Duration::from_ns(51_998)));
}

/// What was measured by an earlier run keeps the conditions of that run.
#[test]
fn the_conditions_of_earlier_runs_are_kept_and_told() {
    let mut measurement = example();
    let mut conditions = measurement.conditions.clone();
    conditions.command = "taktos measure latency --journal plan".to_owned();
    conditions.absorb(&measurement.conditions);
    measurement.earlier = vec![Earlier {
        points: 3,
        conditions,
    }];

    let text = measurement.to_json();

    let read = Measurement::from_json(&text).unwrap();
    assert_eq!(read.to_json(), text);
    let earlier = &read.earlier[0].conditions;
    assert_eq!((earlier.skipped, earlier.took), (4, Duration::from_secs(6)));
    assert_eq!(earlier.lateness.count(), 2_000);
    let shown = read.document().to_text();
    assert!(shown.contains("3 of the points were measured by an earlier run"));
    assert!(shown.contains("--journal plan"), "{shown}");
}

#[test]
fn keys_carry_their_units() {
    let text = example().to_json();

    for key in [
        "\"distribution_ns\"",
        "\"time_ns\"",
        "\"rate_bps\"",
        "\"size_bytes\"",
        "\"bias_ns\"",
        "\"lateness_ns\"",
        "\"took_ns\"",
        "\"interval_ns\"",
    ] {
        assert!(text.contains(key), "{key}");
    }
}

#[test]
fn what_is_no_measurement_is_refused_with_the_place() {
    let text = example().to_json();
    for (wrong, what) in [
        (String::new(), "line 1"),
        ("{}".to_owned(), "missing field"),
        ("[1, 2]".to_owned(), "line 1"),
        (text[..text.len() / 2].to_owned(), "line"),
        (
            text.replacen("taktos measurement", "shopping list", 1),
            "shopping list",
        ),
        (
            text.replacen("\"format\": 1", "\"format\": 99", 1),
            "format 99",
        ),
        (
            text.replacen("\"count\": 1000", "\"count\": 3", 1),
            "one-way latency",
        ),
        (
            text.replacen("\"rate_bps\": 50000000", "\"rate_bps\": 0", 1),
            "rate of zero",
        ),
        (
            text.replacen("\"interval_ns\": 10000000", "\"interval_ns\": 0", 1),
            "series",
        ),
    ] {
        let error = Measurement::from_json(&wrong).unwrap_err().to_string();
        assert!(error.contains(what), "{what} in: {error}");
    }
    assert!(matches!(
        Measurement::from_json("{}"),
        Err(ReadError::Form(_))
    ));
}

/// Results from before the clocks of cards were told have one clock.
#[test]
fn what_an_older_result_does_not_say_is_nothing() {
    let text = example().to_json();
    let lines = text.lines();
    let older: Vec<_> = lines
        .filter(|line| {
            let newer = ["clocks_apart_ns", "\"unstamped\"", "\"strays\""];
            !newer.iter().any(|name| line.contains(name))
        })
        .collect();

    let read = Measurement::from_json(&older.join("\n"))
        .unwrap()
        .conditions;

    assert_eq!(
        (read.clocks_apart, read.unstamped, read.strays),
        (Duration::ZERO, 0, 0)
    );
    assert_eq!(older.len() + 3, text.lines().count());
}

#[test]
fn the_table_for_people_has_every_figure_and_what_it_stands_on() {
    let text = example().document().to_text();

    for part in [
        "latency of a relay, shortened",
        "interval 125 µs",
        "one-way latency",
        "95 %",
        "50.0 Mbit/s",
        "unknown: the device drops all",
        "- The tester was busy.",
        "Stamps are the kernel's",
        "brought to one, to within 1.4 µs.",
        "3 frames passed without a stamp",
        "The machine stood still 2 times",
        "seed 7",
    ] {
        let spaced = part.replace("50.0 Mbit/s", "50 Mbit/s");
        assert!(text.contains(&spaced), "{part} in:\n{text}");
    }
}

#[test]
fn settings_share_a_table_and_what_is_zero_everywhere_a_line() {
    let mut measurement = example();
    let others = measurement.figures.clone().into_iter().map(|mut figure| {
        figure.setting[0].1 = "1 ms".to_owned();
        figure
    });
    measurement.figures.extend(others.collect::<Vec<_>>());
    for setting in ["125 us", "1 ms"] {
        measurement.figures.push(Figure {
            quantity: "duplicates".to_owned(),
            source: String::new(),
            setting: vec![("interval".to_owned(), setting.to_owned())],
            value: Value::Count(0),
        });
    }

    let text = measurement.document().to_text();

    let lines: Vec<_> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let row = |begin: [&str; 4]| {
        lines
            .iter()
            .any(|line: &Vec<&str>| line.starts_with(&begin))
    };
    // The smallest latency of each, in one table.
    assert!(row(["125", "µs", "50.0", "µs"]), "{text}");
    assert!(row(["1", "ms", "50.0", "µs"]), "{text}");
    assert!(row(["125", "µs", "12", "ns"]), "{text}");
    assert_eq!(text.matches("duplicates").count(), 1, "{text}");
    assert_eq!(text.matches("the device drops all").count(), 1, "{text}");
}

/// The greatest of an interval in which nothing arrived is no latency of zero.
#[test]
fn an_interval_without_arrivals_is_a_gap() {
    use crate::time_series::{Interval, TimeSeries};
    let at = |us: u64| Interval {
        max: Duration::from_us(us),
        received: u32::from(us > 0),
        lost: u32::from(us == 0),
    };
    let intervals = [40, 50, 0, 0, 60].map(at).to_vec();
    let length = Duration::from_ms(100);
    let mut measurement = example();
    measurement.figures = vec![Figure {
        quantity: "latency over the run".to_owned(),
        source: String::new(),
        setting: Vec::new(),
        value: Value::Series(TimeSeries::restore(units::Instant::ZERO, length, intervals)),
    }];

    let page = measurement.document().to_page();

    assert_eq!(page.matches("<polyline").count(), 2, "{page}");
    assert!(page.contains("2 lost"), "{page}");
}

#[test]
fn a_handful_of_plots_stands_before_the_figures_and_the_rest_is_folded() {
    let mut measurement = example();
    let figure = measurement.figures[0].clone();
    measurement.figures = (0..10)
        .map(|number| {
            let mut figure = figure.clone();
            figure.quantity = format!("{} {number}", figure.quantity);
            figure
        })
        .collect();

    let page = measurement.document().to_page();

    let figures = page.find("id=\"figures\"").unwrap();
    assert_eq!(page[..figures].matches("<svg").count(), 4);
    let folded = page.find("<details><summary>16 more plots").unwrap();
    assert!(folded > figures);
    assert!(!page.contains("class=\"good\""));
    assert!(
        page.contains(".c0 { stroke: var(--ink"),
        "no curve is ink on ink in the dark"
    );
}

#[test]
fn the_table_for_spreadsheets_has_a_row_for_each_figure_and_quotes_what_it_must() {
    let csv = example().to_csv();

    let lines: Vec<_> = csv.split_terminator("\r\n").collect();
    // All but the series.
    assert_eq!(lines.len(), 1 + 7, "{csv}");
    let commas = |line: &str| {
        let mut within = false;
        let count = line.chars().filter(|character| {
            within ^= *character == '"';
            *character == ',' && !within
        });
        count.count()
    };
    assert!(lines.iter().all(|line| commas(line) == 20), "{csv}");
    assert!(csv.contains("\"S3-1, ASYNC Eq. (4)\""), "{csv}");
}

#[test]
fn the_page_has_plots_tables_and_conditions_and_no_markup_of_others() {
    let mut measurement = example();
    measurement.device = "<script>alert(1)</script>".to_owned();

    let page = measurement.document().to_page();

    assert!(!page.contains("<script>alert"));
    assert!(
        page.matches("<svg").count() >= 3,
        "boxes, quantiles, time line"
    );
    for part in [
        "one-way latency",
        "The machine stood still",
        "Shortened",
        "conditions",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

proptest! {
    /// Nothing that can be read makes it panic, and what is read is written again.
    #[test]
    fn no_document_makes_it_panic(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = example().to_json().into_bytes();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(read) = Measurement::from_json(&text)
        {
            let _ = (read.to_json(), read.document().to_text(), read.to_csv(), read.document().to_page());
        }
    }

    #[test]
    fn any_times_are_read_as_they_were_written(values in prop::collection::vec(any::<u64>(), 0..100)) {
        let mut measurement = example();
        let mut times = Distribution::fine();
        for ns in values {
            times.record(Duration::from_ns(ns >> 14));
        }
        measurement.figures[0].value = Value::Times(times);
        let text = measurement.to_json();

        prop_assert_eq!(Measurement::from_json(&text).unwrap().to_json(), text);
    }
}

/// A measurement with a figure of every kind.
pub(crate) fn example() -> Measurement {
    let mut latency = Distribution::fine();
    let mut series = TimeSeries::new(Instant::ZERO, Duration::from_ms(10));
    for number in 0..1_000u64 {
        let time = Duration::from_ns(50_000 + number * 2);
        latency.record(time);
        series.received(Instant::ZERO + Duration::from_us(125) * number, time);
    }
    series.lost(Instant::ZERO + Duration::from_ms(50));
    let mut stalls = Distribution::default();
    stalls.record(Duration::from_us(300));
    stalls.record(Duration::from_ms(8));
    let setting = vec![("interval".to_owned(), "125 us".to_owned())];
    let figure = |quantity: &str, value| Figure {
        quantity: quantity.to_owned(),
        source: "S3-1, ASYNC Eq. (4)".to_owned(),
        setting: setting.clone(),
        value,
    };
    Measurement {
        method: "latency".to_owned(),
        device: "a relay".to_owned(),
        quick: true,
        figures: vec![
            figure("one-way latency", Value::Times(latency.clone())),
            figure("jitter", Value::Time(Duration::from_ns(12))),
            figure("throughput", Value::Rate(BitRate::from_mbps(50))),
            figure("buffer", Value::Size(DataSize::from_bytes(1_518))),
            figure("lost", Value::Count(1)),
            figure("loss ratio", Value::Share(0.001)),
            figure("latency over the run", Value::Series(series)),
            figure("there", Value::Unknown("the device drops all".to_owned())),
        ],
        remarks: vec!["The tester was busy.".to_owned()],
        earlier: Vec::new(),
        conditions: Conditions {
            command: "taktos measure latency".to_owned(),
            began_unix_ns: 1_700_000_000_000_000_000,
            took: Duration::from_secs(3),
            seed: 7,
            version: "0.1.0".to_owned(),
            versions: vec![("relay".to_owned(), "1.2".to_owned())],
            machine: Some(Machine {
                kernel: "6.18.0".to_owned(),
                processor: "a processor".to_owned(),
                processors: 2,
                clock_source: "tsc".to_owned(),
                load_before: 5,
                load_after: 120,
            }),
            stamps: Stamps::Kernel,
            bias: Some(Duration::from_ns(300)),
            clocks_apart: Duration::from_ns(1_400),
            lateness: latency,
            stalls,
            unseen: 0,
            unstamped: 3,
            strays: 0,
            skipped: 2,
        },
    }
}
