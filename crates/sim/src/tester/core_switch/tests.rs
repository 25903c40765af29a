use measure::measurement::{Figure, Value};
use measure::method::{Effort, Settings, Silent, named};
use measure::statistics::Distribution;
use units::{Delay, Duration};

use super::*;
use crate::tester::VirtualTester;

const BOUNDS: &str = include_str!("../../../../../profiles/line-rate.toml");
const GIGABIT: BitRate = BitRate::from_mbps(1_000);

const DEVICE: &str = r#"
    [emulation]
    link_rate = "1 Gbit/s"
    loss_ppm = { value = 5000, origin = "stated" }

    [[emulation.latency]]
    frame = "60 B"
    p1 = "10 us"
    p50 = "30 us"
    p99 = "79 us"
    p999 = "100 us"
    origin = "stated"
"#;

/// S3-6: what is put in is got back by the project's own method, without looking
/// inside: latency within a hundredth at the quantiles, loss within four standard
/// deviations.
#[test]
fn latency_and_loss_of_a_profile_are_recovered_from_outside() {
    let figures = measured(
        "latency",
        DEVICE,
        &[("interval", "1ms")],
        Duration::from_secs(20),
    );

    let latency = times(&figures, "one-way latency");
    for (per_mille, us) in [(10, 10), (500, 30), (990, 79)] {
        let found = latency.quantile(per_mille).unwrap();
        let known = Duration::from_us(us);
        let limit = known.as_ns() / 20;
        assert!(
            found.as_ns().abs_diff(known.as_ns()) < limit,
            "{per_mille}: {found}"
        );
    }
    let lost = count(&figures, "lost");
    assert!(lost.abs_diff(100) < 40, "{lost} of 20000");
}

/// SDN4CI Fig. 3, as far as its text prints it.
#[test]
fn the_pica8_of_its_profile_has_the_latencies_that_the_paper_prints() {
    let profile = Profile::built_in("pica8-p3297").unwrap();
    for (interval, ns) in [("125us", 5_785), ("500us", 6_475), ("2ms", 1_366)] {
        let figures = measure(
            "latency",
            &profile,
            &[("interval", interval)],
            Duration::from_ms(200),
        );

        let latency = times(&figures, "one-way latency").summary().unwrap();
        // Steps of a nanosecond, three roundings. The first frame of a trial comes after
        // a rest and is as fast as those every 2 ms.
        let (max, mean) = (latency.max.as_ns(), latency.mean.as_ns());
        assert!(max.abs_diff(ns) <= 3, "{interval}: {max} ns");
        assert!(mean.abs_diff(ns) <= ns / 100, "{interval}: {mean} ns");
    }
}

#[test]
fn a_device_without_emulation_takes_the_longest_time_always() {
    let figures = measured(
        "latency",
        "",
        &[("interval", "1ms")],
        Duration::from_ms(100),
    );

    let latency = times(&figures, "one-way latency").summary().unwrap();
    // 5 us, and 72 bytes at 1 Gbit/s.
    let expected = (Delay::from_us(5) + Delay::from_ns(576)).round_up();
    assert_eq!((latency.min, latency.max), (expected, expected));
}

#[test]
fn what_an_attendant_has_set_up_goes_without_it() {
    let text = "[emulation]\nflow_setup = { p50 = \"140 ms\", origin = \"paper\" }\n";
    let profile = Profile::parse("device.toml", &format!("{BOUNDS}\n{text}")).unwrap();
    let device = CoreSwitch::emulated(&profile, 2, GIGABIT, 1, Taught::ByAttendant);
    let mut tester = VirtualTester::new(device, wire::openflow::VERSION);
    let method = named("latency").unwrap();
    let settings = settings(&[("interval", "10ms")], Duration::from_ms(500));

    // It warms up with a flow each way, which are set up then.
    let found = (method.run)(&mut tester, &settings, &mut Silent).unwrap();

    let latency = times(&found.figures, "one-way latency").summary().unwrap();
    assert!(latency.max < Duration::from_us(10), "{latency:?}");
}

fn measured(
    method: &str,
    emulation: &str,
    options: &[(&str, &str)],
    duration: Duration,
) -> Vec<Figure> {
    let text = format!("{BOUNDS}\n{emulation}");
    let profile = Profile::parse("device.toml", &text).unwrap();
    measure(method, &profile, options, duration)
}

fn measure(
    method: &str,
    profile: &Profile,
    options: &[(&str, &str)],
    duration: Duration,
) -> Vec<Figure> {
    let device = CoreSwitch::emulated(profile, 2, GIGABIT, 1, Taught::Beforehand);
    let mut tester = VirtualTester::new(device, wire::openflow::VERSION);
    let method = named(method).unwrap();
    let settings = settings(options, duration);
    (method.run)(&mut tester, &settings, &mut Silent)
        .unwrap()
        .figures
}

fn settings(options: &[(&str, &str)], duration: Duration) -> Settings {
    let options = options.iter();
    Settings {
        effort: Effort::Quick,
        seed: 1,
        duration: Some(duration),
        options: options
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

fn value<'a>(figures: &'a [Figure], quantity: &str) -> &'a Value {
    &figures
        .iter()
        .find(|it| it.quantity == quantity)
        .unwrap()
        .value
}

fn times<'a>(figures: &'a [Figure], quantity: &str) -> &'a Distribution {
    match value(figures, quantity) {
        Value::Times(times) => times,
        other => panic!("{other:?}"),
    }
}

fn count(figures: &[Figure], quantity: &str) -> u64 {
    match value(figures, quantity) {
        Value::Count(count) => *count,
        other => panic!("{other:?}"),
    }
}
