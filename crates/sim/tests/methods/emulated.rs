//! Every method against devices that know the way beforehand, as from outside.

use std::collections::BTreeMap;

use measure::measurement::Value;
use measure::method::{self, Effort, Findings, Settings, Silent};
use sim::tester::{SmallSwitch, Taught, VirtualTester};
use units::Duration;

use crate::VERSION_13;

/// LOKO section 3.5: 25 frames of 64 bytes and 9 of 306, by bursts alone.
#[test]
fn the_buffer_of_a_zodiac_fx_is_found_by_bursts() {
    let found = measured("buffer", &[("size", "64,306"), ("repeats", "3")]);

    assert_eq!(count(&found, "buffer", "64 bytes"), 25);
    assert_eq!(count(&found, "buffer", "306 bytes"), 9);
}

/// What a device works on a frame bounds its throughput, and the other way round.
#[test]
fn the_throughput_of_a_zodiac_fx_is_that_of_its_processor() {
    let options = [("size", "64"), ("precision", "10kbit/s")];
    let found = measured("throughput", &options);
    let latency = measured("latency", &[("interval", "1ms"), ("window", "none")]);

    let times = match value(&latency, "one-way latency", "") {
        Value::Times(times) => times.summary().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!((times.min, times.count), (times.max, 2_000));
    // LOKO Eq. (6): preamble, and the frame with the byte that names the port, twice on
    // the inner link; the frame once on the cable is in what the stamps say.
    let cable_ns = |bytes: u64| bytes * 80;
    let processor_ns = times.max.as_ns() - cable_ns(64 + 8) - cable_ns(8 + 65) * 2;
    let each = count(&found, "frames each second", "");
    let searched_ns = 1_000_000_000 / each;
    // LOKO section 3.4.2: searched and computed differ by less than 6 %.
    assert!(
        searched_ns.abs_diff(processor_ns) * 100 < processor_ns * 6,
        "{searched_ns} ns for {processor_ns} ns"
    );
}

#[test]
fn nothing_is_lost_or_varies_where_the_device_has_time() {
    let found = measured("jitter", &[("interval", "10ms")]);

    assert_eq!(count(&found, "sent", ""), 200);
    assert_eq!(count(&found, "lost", ""), 0);
    let Value::Time(jitter) = value(&found, "jitter", "") else {
        panic!("{found:?}");
    };
    assert_eq!(*jitter, Duration::ZERO);
}

/// Its table of 128 entries is full after 64 flows, and the controller empties it.
#[test]
fn more_flows_than_the_table_holds_are_set_up() {
    let options = [("probe", "ping"), ("flows", "80")];
    let found = measured("flow-setup", &options);

    assert_eq!(count(&found, "flows", ""), 80);
    assert_eq!(count(&found, "flows without an answer", ""), 0);
    let Value::Times(there) = value(&found, "flow set-up there", "") else {
        panic!("{found:?}");
    };
    // 150 us to hand the frame over, 94 to add the entry, 76 to send the frame, and
    // the frame of 1400 bytes four times more on a cable or the inner link.
    let usual = there.quantile(500).unwrap();
    assert!((800_000..1_000_000).contains(&usual.as_ns()), "{usual}");
}

/// The firmware has no groups, and nobody watches its ports.
#[test]
fn a_zodiac_fx_has_no_detour() {
    let found = measured("failover", &[("times", "2")]);

    assert_eq!(count(&found, "failures without recovery", ""), 2);
}

fn measured(name: &str, options: &[(&str, &str)]) -> Findings {
    let taught = match name {
        "flow-setup" => Taught::ByAttendant,
        _ => Taught::Beforehand,
    };
    let mut tester = VirtualTester::new(SmallSwitch::zodiac_fx(), VERSION_13).teach(taught);
    let options = options.iter();
    let settings = Settings {
        effort: Effort::Quick,
        seed: 1,
        duration: None,
        options: options
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>(),
    };
    let method = method::named(name).expect("a method of the list");
    (method.run)(&mut tester, &settings, &mut Silent).expect("a device that can do it")
}

/// Returns a figure whose setting has this value, any if it is empty.
#[track_caller]
fn value<'a>(found: &'a Findings, quantity: &str, setting: &str) -> &'a Value {
    let mut figures = found.figures.iter();
    let figure = figures.find(|figure| {
        let mut values = figure.setting.iter().map(|(_, value)| value);
        figure.quantity == quantity && (setting.is_empty() || values.any(|it| it == setting))
    });
    &figure
        .unwrap_or_else(|| panic!("no {quantity} in {found:?}"))
        .value
}

#[track_caller]
fn count(found: &Findings, quantity: &str, setting: &str) -> u64 {
    match value(found, quantity, setting) {
        Value::Count(count) => *count,
        other => panic!("{quantity}: {other:?}"),
    }
}
