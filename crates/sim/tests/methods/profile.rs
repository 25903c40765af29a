use std::collections::BTreeMap;

use calculus::loko::SwitchModel;
use calculus::loko::processing_time::Setting;
use measure::measurement::{Conditions, Measurement, Value};
use measure::method::profile::{METHOD, to_toml};
use measure::method::{Effort, Findings, Settings, Silent};
use measure::statistics::Distribution;
use measure::trial::{Stamps, Tester};
use scenario::{Origin, Profile};
use units::{BitRate, DataSize, Delay, Duration};

use crate::{VERSION_10, zodiac_fx};

const FRAME: DataSize = DataSize::from_bytes(306);

/// R, T and the buffer of LOKO section 6, within 2 %, without looking inside.
#[test]
fn the_parameters_of_a_zodiac_fx_are_recovered() {
    let findings = measured();

    let latency = time(&findings, "processing.latency");
    let per_frame = time(&findings, "processing.per_frame");
    let pool = count(&findings, "buffers.pool_frames");

    let put_in = Setting::worst_five_tuple(17, FRAME);
    let model = SwitchModel::zodiac_fx(FRAME, put_in.processing_time());
    let rate = BitRate::of(FRAME, per_frame.into()).unwrap();
    let wait = rate.time_to_send(FRAME).round_up() + latency;
    assert_near(rate.as_bps(), model.service.rate.as_bps());
    assert_near(wait.as_ns(), model.service.latency.round_up().as_ns());
    assert_eq!(pool, model.buffer_frames);
}

/// LOKO section 3.2.3.
#[test]
fn the_times_of_its_messages_are_recovered() {
    let findings = measured();

    assert_eq!(time(&findings, "control.barrier"), Duration::from_us(92));
    assert_eq!(time(&findings, "control.echo"), Duration::from_us(107));
    let longest = time(&findings, "control.flow_mod");
    assert_near(longest.as_ns(), 2_300_000);
}

#[test]
fn every_value_is_in_the_file() {
    let measurement = document(measured());

    let text = to_toml(&measurement).unwrap();

    for line in [
        "[processing]",
        "latency = { value = \"257200 ns\", origin = \"measured\"",
        "[buffers]",
        "pool_frames = { value = 9, origin = \"measured\"",
        "[control]",
        "barrier = { value = \"92000 ns\", origin = \"measured\"",
        "packet_in = {",
        "packet_out = {",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn scenarios_read_the_file_as_it_was_meant() {
    let text = to_toml(&document(measured())).unwrap();

    let profile = Profile::parse("measured.toml", &text).unwrap();

    assert_eq!(profile.latency.value, Delay::from_ns(257_200));
    assert_eq!(profile.latency.origin, Origin::Measured);
    assert_eq!(profile.pool_frames.value, 9);
    assert_eq!(profile.control.barrier.value, Delay::from_us(92));
    assert!(profile.latency.note.contains("five-tuple"));
}

#[test]
fn a_measurement_of_something_else_is_no_profile() {
    assert_eq!(to_toml(&document(Findings::default())), None);
}

fn measured() -> Findings {
    let options = [("size", "306"), ("packets", "20"), ("samples", "5")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = Settings {
        effort: Effort::Full,
        seed: 1,
        duration: None,
        options: BTreeMap::from(options),
    };
    (METHOD.run)(&mut zodiac_fx(VERSION_10), &settings, &mut Silent)
        .expect("the device is emulated")
}

fn document(findings: Findings) -> Measurement {
    Measurement {
        method: METHOD.name.to_owned(),
        device: zodiac_fx(VERSION_10).setup().device.clone(),
        quick: false,
        figures: findings.figures,
        remarks: findings.remarks,
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
            skipped: 0,
            strays: 0,
        },
    }
}

fn value<'a>(findings: &'a Findings, name: &str) -> &'a Value {
    let name = format!("profile {name}");
    let mut figures = findings.figures.iter();
    let figure = figures.find(|figure| figure.quantity == name);
    &figure.expect("it is part of a profile").value
}

fn time(findings: &Findings, name: &str) -> Duration {
    match value(findings, name) {
        Value::Time(time) => *time,
        other => panic!("{other:?}"),
    }
}

fn count(findings: &Findings, name: &str) -> u64 {
    match value(findings, name) {
        Value::Count(count) => *count,
        other => panic!("{other:?}"),
    }
}

/// Within 2 %.
fn assert_near(found: u64, put_in: u64) {
    assert!(
        found.abs_diff(put_in) * 50 <= put_in,
        "{found} for {put_in}"
    );
}
