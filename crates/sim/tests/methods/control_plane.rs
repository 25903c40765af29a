use std::collections::BTreeMap;

use measure::measurement::Value;
use measure::method::control_plane::exchange::{Answer, Exchange, measure as exchange};
use measure::method::control_plane::messages::{deletion_of_all, simple, with_table};
use measure::method::control_plane::{METHOD, barrier_time, effect, measure_point};
use measure::method::orders::Version;
use measure::method::{Effort, Findings, Settings, Silent};
use sim::parts::Processing;
use sim::tester::{CoreSwitch, SmallSwitch, VirtualTester};
use sim::zodiac_fx::Profile;
use units::{BitRate, Delay, Duration};

use crate::{VERSION_10, VERSION_13, zodiac_fx};

/// LOKO section 3.2.3: "around 92 us", and the same in both versions.
#[test]
fn a_barrier_takes_92_us() {
    for version in [VERSION_10, VERSION_13] {
        let time = barrier_time(&mut zodiac_fx(version), 5).unwrap();

        assert_eq!(time, Duration::from_us(92), "version {version}");
    }
}

/// LOKO Fig. 7b: linear in the entries, "up to 2.3 ms".
#[test]
fn deletion_is_linear_in_the_entries() {
    let mut tester = zodiac_fx(VERSION_10);
    let barrier = barrier_time(&mut tester, 5).unwrap();

    let times = [32, 64, 96, 128].map(|entries| {
        let point = deletion_of_all(Version::V10, entries, 1);
        let times = measure_point(&mut tester, &point, 3, barrier).unwrap();
        assert_eq!(times.times.count(), 3, "{times:?}");
        times.times.max().unwrap().as_ns()
    });

    let steps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| *step == steps[0]), "{times:?}");
    assert!(times[3].abs_diff(2_300_000) < 10_000, "{times:?}");
}

/// LOKO Fig. 7a.
#[test]
fn adding_depends_on_the_actions_and_not_on_the_entries() {
    let mut tester = zodiac_fx(VERSION_10);
    let barrier = barrier_time(&mut tester, 5).unwrap();
    let mut time = |entries, actions| {
        let points = with_table(Version::V10, entries, actions);
        let times = measure_point(&mut tester, &points[0], 3, barrier).unwrap();
        times.times.max().unwrap()
    };

    assert_eq!(time(1, 0), time(100, 0));
    assert!(time(1, 0) < time(1, 4));
}

/// LOKO Eq. (3): a message that is done before the barrier has arrived.
#[test]
fn what_is_done_before_the_barrier_comes_is_called_so() {
    let quick = Processing {
        latency: Delay::ZERO,
        per_frame: Delay::ZERO,
        capacity: 8,
    };
    let device = CoreSwitch::new(2, BitRate::from_mbps(100), quick);
    let mut tester = VirtualTester::new(device, VERSION_13);
    let add = with_table(Version::V13, 1, 1).swap_remove(0);

    let times = measure_point(&mut tester, &add, 3, Duration::ZERO).unwrap();

    assert_eq!(times.times.count(), 0);
    assert_eq!(times.barrier_too_late, 3);
}

#[test]
fn what_the_device_refuses_is_called_so() {
    let mut tester = zodiac_fx(VERSION_13);
    let group = simple(Version::V13);
    let group = group.iter().find(|it| it.name == "GroupMod Add").unwrap();

    let times = measure_point(&mut tester, group, 3, Duration::from_us(92)).unwrap();

    // OF13 clause 7.4.4: a bad request of a type that is not supported.
    assert_eq!(times.refused, BTreeMap::from([((1, 1), 3)]));
}

#[test]
fn a_message_that_nobody_answers_is_called_so() {
    let mut tester = zodiac_fx(VERSION_10);
    let silent = Exchange {
        message: vec![VERSION_10, 3, 0, 8, 0, 0, 0, 0],
        answer: Answer::Reply,
        ..Exchange::default()
    };

    let times = exchange(&mut tester, &silent, 3, Duration::ZERO).unwrap();

    assert_eq!((times.times.count(), times.unanswered), (0, 3));
}

/// The checks that the paper turns off, LOKO Fig. 6a.
#[test]
fn port_checks_show_in_the_tail() {
    let profile = Profile {
        port_checks: Some(Duration::from_ms(1)),
        ..Profile::ZODIAC_FX
    };
    let mut tester = VirtualTester::new(SmallSwitch::new("with checks", profile), VERSION_10);
    let echo = simple(Version::V10).swap_remove(0);

    let times = measure_point(&mut tester, &echo, 10_000, Duration::ZERO).unwrap();

    let found = times.times.summary().unwrap();
    assert_eq!(found.min, Duration::from_us(107));
    assert!(found.max > found.min + Duration::from_us(200), "{found:?}");
}

#[test]
fn an_entry_takes_effect_when_the_agent_is_done_with_it() {
    let mut tester = zodiac_fx(VERSION_10);

    let effects = effect::measure(&mut tester, 10).unwrap();

    assert_eq!((effects.orders, effects.without_effect), (20, 0));
    assert_eq!(effects.promised_too_early, 0);
    // One frame every 2 ms meets it: not before it is there, nor one frame later.
    assert!(
        effects.added.max() <= Some(Duration::from_ms(2)),
        "{effects:?}"
    );
}

#[test]
fn every_message_of_both_versions_is_measured_or_the_reason_given() {
    for version in [VERSION_10, VERSION_13] {
        let mut tester = zodiac_fx(version);
        let settings = Settings {
            effort: Effort::Quick,
            seed: 1,
            duration: None,
            options: BTreeMap::from([("samples".to_owned(), "2".to_owned())]),
        };

        let Findings { figures, .. } = (METHOD.run)(&mut tester, &settings, &mut Silent).unwrap();

        let unknown = figures.iter().filter_map(|figure| match &figure.value {
            Value::Unknown(reason) => Some(reason.as_str()),
            Value::Times(_) | Value::Count(_) => None,
            other => panic!("{other:?}"),
        });
        let unknown: Vec<_> = unknown.collect();
        let all_refused = unknown.iter().all(|it| it.contains("refuses"));
        assert!(all_refused, "{unknown:?}");
        assert!(figures.len() > unknown.len() + 20, "{unknown:?}");
    }
}
