//! Methods that speak with an agent, over TCP, held against a switch whose numbers are
//! known; and agents that are none.
//!
//! That a switch is never found faster than it is holds whatever the machine does; that it
//! is not found much slower is tried several times.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::thread;

use lab::tester::{Arrangement, LinkTester, TesterError};
use measure::measurement::{Figure, Value};
use measure::method::Findings;
use measure::method::control_plane::measure_point;
use measure::method::control_plane::messages::{self, MessageTest};
use measure::method::orders::Version;
use measure::trial::{Tester, TrialError};
use units::Duration;
use wire::openflow::MessageType;

use crate::known_switch::{Bench, Numbers};
use crate::methods::{MOST_TRIES, least, measured, value};
use crate::tester::{OnFirst, trial};

/// How much slower than it is a switch may be found by the quickest sample.
const NEAR: Duration = Duration::from_ms(2);
/// The readings of two clocks are within a microsecond.
const ROUNDING: Duration = Duration::from_us(1);
const SAMPLES: u16 = 5;

fn message_time(kind: u8) -> Duration {
    Duration::from_us(200) + Duration::from_us(20) * u64::from(kind)
}

fn frame_time(bytes: usize) -> Duration {
    Duration::from_us(500) + Duration::from_us(1) * bytes as u64
}

#[test]
fn every_message_takes_as_long_as_the_agent_is_known_to() {
    let numbers = Numbers {
        message: message_time,
        ..Numbers::default()
    };
    let test = "every_message_takes_as_long_as_the_agent_is_known_to";
    let Some(bench) = Bench::or_skip(test, 2, numbers) else {
        return;
    };
    let points = messages::simple(Version::V13).into_iter();
    let points = points.chain(messages::with_table(Version::V13, 4, 1));

    bench.with_tester(|tester| {
        for point in points {
            takes_its_time(tester, &point);
        }
    });
}

#[track_caller]
fn takes_its_time(tester: &mut LinkTester, point: &MessageTest) {
    let known = message_time(point.exchange.message[1]);
    let barrier = message_time(MessageType::BarrierRequest.number());
    let asked = format!("{} {:?}", point.name, point.setting);
    let mut seen = Vec::new();
    for _ in 0..MOST_TRIES {
        let times = measure_point(tester, point, SAMPLES, barrier).unwrap();
        assert!(times.refused.is_empty(), "{asked}: {times:?}");
        let Some(found) = times.times.summary() else {
            seen.push(None);
            continue;
        };
        assert!(found.min >= known, "{asked}: {} below {known}", found.min);
        if found.min <= known + NEAR {
            return;
        }
        seen.push(Some(found.min));
    }
    panic!("{asked} takes {known} and is found to take {seen:?}");
}

/// Measures until the findings are as they are known to be.
#[track_caller]
fn await_all(
    bench: &Bench,
    (name, options): (&str, &[(&str, &str)]),
    is_known: impl Fn(&Findings) -> bool,
) {
    let mut found = Findings::default();
    for _ in 0..MOST_TRIES {
        found = bench.measured(name, options);
        if is_known(&found) {
            return;
        }
    }
    panic!("{MOST_TRIES} tries, the last one: {found:#?}");
}

#[test]
fn the_control_plane_has_a_figure_for_every_message_and_for_what_it_does() {
    let numbers = Numbers {
        message: message_time,
        ..Numbers::default()
    };
    let test = "the_control_plane_has_a_figure_for_every_message_and_for_what_it_does";
    let Some(bench) = Bench::or_skip(test, 2, numbers) else {
        return;
    };
    let options = [("entries", "2"), ("actions", "1"), ("samples", "4")];
    let change = message_time(MessageType::FlowMod.number());
    // Known to the spacing of the frames.
    let known = change.saturating_sub(Duration::from_us(100))..=change + NEAR;

    await_all(&bench, ("control-plane", &options), |found| {
        let of_messages = |it: &&Figure| it.quantity.starts_with("processing");
        let all: Vec<_> = found.figures.iter().filter(of_messages).collect();
        // 26 that need no table, ten that do.
        assert_eq!(all.len(), 36, "{found:#?}");
        let has_times = all.iter().all(|it| matches!(it.value, Value::Times(_)));
        let effects = ["Add", "Delete"].map(|it| format!("from FlowMod {it} to its first frame"));
        let middle = |quantity: &String| match value(found, quantity) {
            Value::Times(times) => times.quantile(500),
            _ => None,
        };
        let in_time = |it: &String| middle(it).is_some_and(|it| known.contains(&it));
        has_times
            && effects.iter().all(in_time)
            && matches!(
                value(found, "barriers answered before the effect"),
                Value::Count(0)
            )
            && matches!(value(found, "orders without effect"), Value::Count(0))
    });
}

#[test]
fn frames_of_each_size_take_as_long_as_the_switch_is_known_to() {
    let numbers = Numbers {
        frame: frame_time,
        ..Numbers::default()
    };
    let test = "frames_of_each_size_take_as_long_as_the_switch_is_known_to";
    let Some(bench) = Bench::or_skip(test, 2, numbers) else {
        return;
    };
    let options = [
        ("entries", "1,17"),
        ("match", "port,five-tuple"),
        ("action", "output,set-dl-src"),
        ("used", "last"),
        ("priorities", "increasing"),
        ("size", "64,1516"),
        ("packets", "10"),
        ("spacing", "3ms"),
    ];
    let mut quickest = BTreeMap::new();

    for _ in 0..MOST_TRIES {
        let found = bench.measured("data-plane", &options);
        let own = |it: &&Figure| it.quantity == "processing time";
        let all: Vec<_> = found.figures.iter().filter(own).collect();
        assert_eq!(all.len(), 2 * 2 * 2 * 2, "{found:#?}");
        for figure in all {
            takes_its_size(figure, &mut quickest);
        }
        let is_near = |(bytes, least): (&usize, &Duration)| *least <= frame_time(*bytes) + NEAR;
        if quickest.len() == 2 && quickest.iter().all(is_near) {
            return;
        }
    }
    // The method leaves out frames that cross while the machine stands still.
    assert!(quickest.is_empty(), "never near: {quickest:?}");
    let _ = writeln!(
        std::io::stderr(),
        "\nSKIPPED {test}: the machine is too busy\n"
    );
}

/// Holds a figure against the time that frames of its size are known to take, and keeps
/// the least of each size.
fn takes_its_size(figure: &Figure, quickest: &mut BTreeMap<usize, Duration>) {
    let Value::Times(times) = &figure.value else {
        return;
    };
    let size = figure.setting.iter().find(|(name, _)| name == "size");
    let bytes = size.unwrap().1.parse::<usize>().unwrap() - 4;
    let least = times.summary().unwrap().min;
    assert!(least + ROUNDING >= frame_time(bytes), "{figure:?}");
    let before = quickest.entry(bytes).or_insert(least);
    *before = least.min(*before);
}

#[test]
fn a_table_of_known_size_takes_exactly_as_many_entries() {
    let entries = 300;
    let numbers = Numbers {
        entries,
        ..Numbers::default()
    };
    let test = "a_table_of_known_size_takes_exactly_as_many_entries";
    let Some(bench) = Bench::or_skip(test, 2, numbers) else {
        return;
    };

    await_all(&bench, ("table-size", &[("most", "2000")]), |found| {
        let count = |quantity: &str| match value(found, quantity) {
            Value::Count(count) => usize::try_from(*count).unwrap(),
            other => panic!("{quantity}: {other:?}"),
        };
        assert_eq!(count("entries taken"), entries);
        assert_eq!(count("frames that looked them up"), entries);
        count("lost for want of their entry") == 0
    });
}

#[test]
fn a_lost_carrier_interrupts_for_as_long_as_it_goes_unnoticed() {
    let carrier = Duration::from_ms(150);
    let numbers = Numbers {
        carrier,
        ..Numbers::default()
    };
    let test = "a_lost_carrier_interrupts_for_as_long_as_it_goes_unnoticed";
    let Some(bench) = Bench::or_skip(test, 3, numbers) else {
        return;
    };
    let interval = Duration::from_ms(1);
    let options = [("kind", "cut"), ("times", "1"), ("watch", "400ms")];
    let slack = Duration::from_ms(20);

    let is_near = (0..MOST_TRIES).any(|_| {
        let found = with_detour(&bench, &options);
        let interruption = least(&found, "interruption of reception");
        // The last frame may have come just before the carrier went, and one interval
        // is no interruption.
        assert!(interruption + interval >= carrier, "{interruption}");
        interruption <= carrier + slack
    });

    assert!(is_near, "never found to be about {carrier}");
}

/// The group of the switch looks at carriers alone.
#[test]
fn a_way_that_is_mute_with_its_carrier_is_not_recovered() {
    let test = "a_way_that_is_mute_with_its_carrier_is_not_recovered";
    let Some(bench) = Bench::or_skip(test, 3, Numbers::default()) else {
        return;
    };
    let options = [("kind", "mute"), ("times", "1"), ("watch", "200ms")];

    let found = with_detour(&bench, &options);

    let interruption = value(&found, "interruption of reception");
    assert!(matches!(interruption, Value::Unknown(_)), "{found:#?}");
    let lost = value(&found, "failures without recovery");
    assert!(matches!(lost, Value::Count(1)), "{found:#?}");
}

fn with_detour(bench: &Bench, options: &[(&str, &str)]) -> Findings {
    bench.room.run(|| {
        let mut tester = bench.tester(Arrangement::Detour).unwrap();
        measured(&mut tester, "failover", options)
    })
}

#[test]
fn an_agent_that_ends_in_the_middle_of_a_trial_ends_it_and_is_named() {
    let test = "an_agent_that_ends_in_the_middle_of_a_trial_ends_it_and_is_named";
    let Some(mut bench) = Bench::or_skip(test, 2, Numbers::default()) else {
        return;
    };
    let switch = bench.take();
    let mut end = OnFirst(Some(|| drop(switch)));

    let gone = bench.with_tester(|tester| tester.run(trial(100), &mut end).unwrap_err());

    let TrialError::DeviceGone { device, reason, .. } = &gone else {
        panic!("{gone}")
    };
    assert!(device.contains("tester1"), "{gone}");
    assert!(reason.contains("hung up"), "{gone}");
}

#[test]
fn an_agent_that_is_none_is_named_for_what_it_is() {
    let test = "an_agent_that_is_none_is_named_for_what_it_is";
    let Some(mut bench) = Bench::or_skip(test, 2, Numbers::default()) else {
        return;
    };
    drop(bench.take());
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let [silent, noisy] = [&[][..], &[0; 64]].map(|says| impostor(&bench, says));
    let refused = |agent| {
        let tester = || bench.tester_of(agent, Arrangement::Stations);
        bench.room.run(|| tester().map(drop).unwrap_err())
    };

    let missing = refused(nobody);
    let gone = refused(silent);
    let wrong = refused(noisy);

    assert!(matches!(&missing, TesterError::Agent { address, .. } if *address == nobody));
    for refusal in [&gone, &wrong] {
        let named = matches!(refusal, TesterError::Arrange { device, .. }
            if device.contains("tester1"));
        assert!(named, "{refusal}");
    }
    assert!(gone.to_string().contains("hung up"), "{gone}");
}

/// Listens, says this to whoever comes, says that this was all, and waits to be left.
fn impostor(bench: &Bench, says: &'static [u8]) -> SocketAddr {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listener = bench.room.run(listen);
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(says).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    address
}
