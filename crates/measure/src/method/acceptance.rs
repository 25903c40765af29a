//! Whether services get what they need, each alone and all together: an acceptance
//! report in the manner of ITU-T Y.1564, a service a row.
//!
//! First each service is sent alone, datagrams at a quarter, a half and three quarters
//! of their committed rate before the whole; then all of them together, for longer. Of
//! each it is told how much was committed and how much arrived, the share of frames
//! lost, their delay, its variation (the 99.9 % quantile less the least), and the
//! availability: the share of seconds that are not in a row of ten or more in each of
//! which more than half of the frames got lost (ITU-T Y.1563).
//!
//! A service is judged if at least 99 % of its frames were seen to leave the tester: what
//! was not offered cannot be accepted, and what the tester's machine was too busy for says
//! nothing of the network. It is accepted if no larger share of its frames is lost than is allowed, 99.9 %
//! of them arrive within its objective, and it was available all the time. Objectives
//! are the network's 20 % of the transfer times of IEC 61850-10, unless another one is
//! chosen.
//!
//! # Left out
//!
//! Excess rates and traffic policing: a network that promises has no excess. Y.1564
//! lets the second part last from a quarter of an hour to a day: `--duration` says so.

mod observer;
mod service;
mod table;

pub use table::table;

use units::{BitRate, Duration};

use super::{
    Effort, Findings, Method, MethodError, Progress, Setting, Settings, at_each, choice, doubt,
    need_two_ports, trial_of,
};
use crate::measurement::Value;
use crate::recorder::FlowRecord;
use crate::statistics::ratio;
use crate::trial::Tester;
use observer::Observer;
use service::{Service, ServicePlan};

/// `taktos measure acceptance`.
pub const METHOD: Method = Method {
    name: "acceptance",
    finds: "whether services get what they need, alone and together (after ITU-T Y.1564)",
    options: &[
        (
            "services",
            "which ones: sv, sv-61869, goose, udp, mms [sv,goose,udp,mms]",
        ),
        ("rate", "committed rate of the datagrams [10Mbit/s]"),
        ("size", "bytes of a datagram's frame [306]"),
        (
            "delay",
            "what 99.9 % of all frames have to keep [600us for sv and goose, 2ms for the others]",
        ),
        ("loss", "the share of frames that may get lost [0]"),
    ],
    run,
};

const RATE: BitRate = BitRate::from_mbps(10);
const SIZE: usize = 306;
const ALONE: Duration = Duration::from_secs(60);
const TOGETHER: Duration = Duration::from_secs(900);
const QUICK: Duration = Duration::from_secs(2);
const DRAIN: Duration = Duration::from_secs(1);
/// The steps in which a rate is approached, in percent (Y.1564 clause 8.1).
const STEPS: [u64; 4] = [25, 50, 75, 100];
const WHOLE: u64 = 100;
/// A second is errored severely if more than this share of its frames is lost.
const SEVERE: f64 = 0.5;
/// So many such seconds in a row are the beginning of unavailability.
const UNAVAILABLE_AFTER: usize = 10;
/// A service was offered if no smaller share of its frames left.
const OFFERED: f64 = 0.99;
const SOURCE: &str = "ITU-T Y.1564";

struct AcceptancePoint {
    services: Vec<Service>,
    percent: u64,
    length: Duration,
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let plan = ServicePlan::of(settings)?;
    let points = points(&plan.services, settings);
    let mut findings = at_each(&points, progress, |setting, point, found| {
        let length = point.length;
        let observer = send(tester, &plan, point)?;
        for (service, record) in point.services.iter().zip(observer.finish()) {
            let mut setting = setting.clone();
            setting.push(choice("service", service.name()));
            let offer = (point.percent, length);
            describe(&plan, *service, offer, &record, &setting, found);
        }
        Ok(())
    })?;
    doubt(&mut findings, tester.setup());
    if settings.effort == Effort::Quick {
        findings.remark(format!(
            "Each trial sent for {QUICK} in place of {TOGETHER}."
        ));
    }
    Ok(findings)
}

fn points(services: &[Service], settings: &Settings) -> Vec<(Setting, AcceptancePoint)> {
    let alone = settings.length(ALONE, QUICK);
    let mut points = Vec::new();
    for service in services {
        for percent in STEPS {
            if percent < WHOLE && !service.has_steps() {
                continue;
            }
            let setting = vec![choice("phase", format!("alone, {percent} %"))];
            let point = AcceptancePoint {
                services: vec![*service],
                percent,
                length: alone,
            };
            points.push((setting, point));
        }
    }
    let all = AcceptancePoint {
        services: services.to_vec(),
        percent: WHOLE,
        length: settings.length(TOGETHER, QUICK),
    };
    points.push((vec![choice("phase", "together")], all));
    // Points are known by their settings: of one phase each service has its own.
    for (setting, point) in &mut points {
        if let [service] = point.services[..]
            && setting[0].1 != "together"
        {
            setting[0].1 = format!("{} {}", service.name(), setting[0].1);
        }
    }
    points
}

fn send(
    tester: &mut dyn Tester,
    plan: &ServicePlan,
    point: &AcceptancePoint,
) -> Result<Observer, MethodError> {
    let streams = point.services.iter();
    let trial = trial_of(
        streams
            .flat_map(|service| plan.streams(*service, point.percent, point.length))
            .collect(),
        point.length,
        DRAIN,
    );
    let bias = tester.setup().bias.unwrap_or_default();
    let flows = point.services.iter().map(|it| plan.flow(*it));
    let mut observer = Observer::new(flows, bias);
    tester.run(trial, &mut observer)?;
    Ok(observer)
}

fn describe(
    plan: &ServicePlan,
    service: Service,
    (percent, length): (u64, Duration),
    record: &FlowRecord,
    setting: &Setting,
    found: &mut Findings,
) {
    let committed = plan.committed(service, percent);
    let loss = ratio(record.lost, record.sent);
    let variation = record.latency.summary().map(|it| it.p999 - it.min);
    let received = plan.rate_of(service, record.received(), length);
    let why = "no frame arrived";
    let unknown = || Value::Unknown(why.to_owned());
    let (severe, available) = availability(record);
    let offered = plan
        .frames_due(service, percent, length)
        .map_or(1.0, |due| ratio(record.sent.min(due), due));
    let is_accepted = loss <= plan.loss
        && record.sent > 0
        && available >= 1.0
        && record
            .latency
            .quantile(999)
            .is_some_and(|delay| delay <= plan.objective(service));
    for (quantity, value) in [
        ("committed rate", Value::Rate(committed)),
        ("rate received", received.map_or_else(unknown, Value::Rate)),
        ("frame loss ratio", Value::Share(loss)),
        (
            "objective of the delay",
            Value::Time(plan.objective(service)),
        ),
        (
            "frame delay variation",
            variation.map_or_else(unknown, Value::Time),
        ),
        ("severely errored seconds", Value::Count(severe)),
        ("availability", Value::Share(available)),
        (
            "accepted",
            match offered >= OFFERED {
                true => Value::Count(u64::from(is_accepted)),
                false => Value::Unknown(not_judged(offered)),
            },
        ),
    ] {
        found.add((quantity, SOURCE), setting, value);
    }
    let delay = ("frame transfer delay", SOURCE);
    found.add_times(delay, setting, record.latency.clone(), why);
}

/// Says why a service is not judged, in whole percent that leave nothing of one out.
fn not_judged(offered: f64) -> String {
    format!("not judged: {:.0} % offered", (offered * 100.0).floor())
}

/// Returns the number of severely errored seconds, and the share of seconds in which the
/// service was available.
fn availability(record: &FlowRecord) -> (u64, f64) {
    let seconds = record.series.intervals().iter();
    let seconds = seconds.filter(|second| second.received + second.lost > 0);
    let severe: Vec<bool> = seconds
        .map(|second| {
            let (lost, received) = (u64::from(second.lost), u64::from(second.received));
            ratio(lost, lost + received) > SEVERE
        })
        .collect();
    let runs = severe.chunk_by(|one, other| one == other);
    let unavailable: usize = runs
        .filter(|run| run[0] && run.len() >= UNAVAILABLE_AFTER)
        .map(<[bool]>::len)
        .sum();
    let count = |all: usize| u64::try_from(all).unwrap_or(u64::MAX);
    let severe_count = severe.iter().filter(|it| **it).count();
    let available = match severe.len() {
        0 => 0.0,
        all => 1.0 - ratio(count(unavailable), count(all)),
    };
    (count(severe_count), available)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings, times};

    fn rows(findings: &Findings, phase: &str, service: &str) -> Findings {
        let mut found = findings.clone();
        found
            .figures
            .retain(|it| it.setting[0].1 == phase && it.setting[1].1 == service);
        found
    }

    #[test]
    fn a_good_device_is_accepted_for_every_service() {
        let lane = || Lane::of(Duration::from_us(50));
        let mut device = KnownDevice::new(lane(), lane());

        let found = run(&mut device, &settings(&[]), &mut Silent).unwrap();

        for service in ["sv", "goose", "udp", "mms"] {
            for phase in [format!("{service} alone, 100 %"), "together".to_owned()] {
                let row = rows(&found, &phase, service);
                assert_eq!(number(&row, "accepted", ""), 1, "{row:#?}");
                let Value::Time(variation) = figure(&row, "frame delay variation", "") else {
                    panic!("{row:#?}")
                };
                assert_eq!(*variation, Duration::ZERO);
            }
        }
        // Four steps for datagrams, one for each of the others, and all together.
        assert_eq!(device.trials, 4 + 3 + 1);
        let whole = rows(&found, "udp alone, 100 %", "udp");
        let rates = ["committed rate", "rate received"].map(|it| number(&whole, it, ""));
        assert!(rates[1].abs_diff(rates[0]) < rates[0] / 100, "{rates:?}");
    }

    #[test]
    fn what_was_not_offered_is_not_judged() {
        let lane = || Lane::of(Duration::from_us(50));
        let mut device = KnownDevice::new(lane(), lane());
        device.overflows_every = Some(5);

        let found = run(&mut device, &settings(&[]), &mut Silent).unwrap();

        for service in ["sv", "goose", "udp"] {
            let row = rows(&found, &format!("{service} alone, 100 %"), service);
            let verdict = figure(&row, "accepted", "");
            let Value::Unknown(reason) = verdict else {
                panic!("{service}: {verdict:?}")
            };
            let share = reason.strip_prefix("not judged: ").unwrap();
            let share: u64 = share.split(' ').next().unwrap().parse().unwrap();
            assert!((78..=82).contains(&share), "{service}: {reason}");
        }
        // One in two hundred is within what is judged.
        device.overflows_every = Some(200);
        let found = run(&mut device, &settings(&[("services", "udp")]), &mut Silent).unwrap();
        let row = rows(&found, "udp alone, 100 %", "udp");
        assert_eq!(number(&row, "accepted", ""), 1);
    }

    #[test]
    fn what_loses_or_holds_frames_is_not_accepted() {
        let mut lossy = Lane::of(Duration::from_us(50));
        lossy.lose_every = Some(50);
        let slow = Lane::of(Duration::from_ms(1));
        for (lane, accepted) in [
            (lossy.clone(), [("sv", 0), ("udp", 0)]),
            // 1 ms is too long for samples, and within 2 ms for datagrams.
            (slow, [("sv", 0), ("udp", 1)]),
        ] {
            let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));
            let wish = settings(&[("services", "sv,udp")]);

            let found = run(&mut device, &wish, &mut Silent).unwrap();

            for (service, expected) in accepted {
                let row = rows(&found, "together", service);
                assert_eq!(number(&row, "accepted", ""), expected, "{row:#?}");
            }
        }
        let mut device = KnownDevice::new(lossy, Lane::of(Duration::ZERO));
        let wish = settings(&[("services", "sv"), ("loss", "0.03")]);
        let found = run(&mut device, &wish, &mut Silent).unwrap();
        let row = rows(&found, "together", "sv");
        assert_eq!(number(&row, "accepted", ""), 1);
        let Value::Share(lost) = figure(&row, "frame loss ratio", "") else {
            panic!("{row:#?}")
        };
        assert!((lost - 0.02).abs() < 1e-3, "{lost}");
    }

    #[test]
    fn what_calibration_found_is_no_delay_of_the_device() {
        let lane = || Lane::of(Duration::from_us(50));
        let mut device = KnownDevice::new(lane(), lane());
        device.setup_mut().bias = Some(Duration::from_us(3));

        let found = run(
            &mut device,
            &settings(&[("services", "goose")]),
            &mut Silent,
        )
        .unwrap();

        let [least, _, most] = times(&found, "frame transfer delay", "together");
        assert_eq!([least, most], [Duration::from_us(47); 2]);
        let said = found
            .remarks
            .iter()
            .any(|it| it.contains("3 us were taken off"));
        assert!(said, "{:?}", found.remarks);
    }

    #[test]
    fn ten_bad_seconds_in_a_row_are_unavailability() {
        let mut record = crate::Recorder::new(units::Instant::ZERO, Observer::SETTINGS);
        let plan = ServicePlan::of(&settings(&[])).unwrap();
        let flow = record.add(plan.flow(Service::Datagrams).plan());
        let mut record = {
            let _ = flow;
            record.finish().remove(0)
        };
        let at = |second| units::Instant::ZERO + Duration::from_secs(second);
        for second in 0..40 {
            let is_bad = (5..14).contains(&second) || (20..30).contains(&second);
            for _ in 0..3 {
                match is_bad {
                    true => record.series.lost(at(second)),
                    false => record.series.received(at(second), Duration::ZERO),
                }
            }
        }

        let (severe, available) = availability(&record);

        assert_eq!(severe, 19);
        assert!((available - 0.75).abs() < 1e-9, "{available}");
    }
}
