//! Methods held against a relay whose frames somebody keeps and loses, and knows which.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lab::delay_line::Keeper;
use lab::device_under_test::{DeviceUnderTest, Keeping};
use measure::identity::{FlowKey, identify};
use measure::measurement::{Figure, Value};
use measure::method::Findings;
use units::{Duration, Instant};

use crate::methods::{MOST_TRIES, least, measured, tester_or_skip, value};

const HELD: Duration = Duration::from_ms(2);
const THERE: usize = 0;
/// What is set up, in either direction.
const SET_UPS: [Duration; 2] = [Duration::from_ms(60), Duration::from_ms(25)];
/// By how much a set-up may be found longer or shorter than it is.
const NEAR: Duration = Duration::from_ms(5);
/// Far beyond what a machine adds, and far beyond that.
const SLOW: Duration = Duration::from_ms(300);
const OBJECTIVE: &str = "150ms";
/// The APPIDs of the Sampled Values of an acceptance, in either form.
const SLOW_SAMPLES: u16 = 0x4000;
const LOST_SAMPLES: u16 = 0x4001;

fn kept<K: Keeper + 'static>(make: impl Fn() -> K + Send + Sync + 'static) -> DeviceUnderTest {
    DeviceUnderTest::Kept(Keeping {
        name: "relay with a keeper".to_owned(),
        keeper: Arc::new(move || -> Box<dyn Keeper> { Box::new(make()) }),
    })
}

fn count(found: &Findings, quantity: &str) -> u64 {
    match value(found, quantity) {
        Value::Count(count) => *count,
        other => panic!("{quantity}: {other:?}"),
    }
}

/// Holds every frame there for 2 ms and loses each fourth.
struct Fourth(u64);

impl Keeper for Fourth {
    fn keep(&mut self, arrived: Instant, way: usize, _frame: &[u8]) -> Option<Instant> {
        if way != THERE {
            return Some(arrived);
        }
        self.0 += 1;
        (!self.0.is_multiple_of(4)).then_some(arrived + HELD)
    }
}

#[test]
fn a_keeper_decides_what_becomes_of_frames() {
    let test = "a_keeper_decides_what_becomes_of_frames";
    let Some(mut tester) = tester_or_skip(test, &kept(|| Fourth(0))) else {
        return;
    };

    let found = measured(&mut tester, "loss", &[("interval", "1ms")]);

    let (sent, lost) = (count(&found, "sent"), count(&found, "lost"));
    assert!(sent > 100, "{sent}");
    // A frame that a busy machine loses, or one that nobody sent for the test, shifts it.
    assert!((lost * 4).abs_diff(sent) <= 20, "{lost} of {sent}");
}

/// Holds the first frame between two stations, in either direction.
#[derive(Default)]
struct SetsUp(BTreeSet<(usize, Vec<u8>)>);

impl Keeper for SetsUp {
    fn keep(&mut self, arrived: Instant, way: usize, frame: &[u8]) -> Option<Instant> {
        let is_new = self.0.insert((way, frame[..12].to_vec()));
        let waits = match is_new {
            true => SET_UPS[way],
            false => Duration::ZERO,
        };
        Some(arrived + waits)
    }
}

#[test]
fn the_set_up_of_a_flow_is_what_its_first_frame_is_known_to_wait() {
    let test = "the_set_up_of_a_flow_is_what_its_first_frame_is_known_to_wait";
    let Some(mut tester) = tester_or_skip(test, &kept(SetsUp::default)) else {
        return;
    };
    let [there, back] = SET_UPS;
    let mut is_near = BTreeMap::from([
        ("flow set-up, both directions", (there + back, false)),
        ("flow set-up there", (there, false)),
        ("flow set-up back", (back, false)),
    ]);

    for attempt in 0..MOST_TRIES {
        // Each try has senders of its own.
        let first = (attempt * 10).to_string();
        let options = [
            ("flows", "3"),
            ("rest", "120ms"),
            ("probe", "datagrams"),
            ("first", &first),
        ];
        let found = measured(&mut tester, "flow-setup", &options);
        let Value::Times(later) = value(&found, "two-way latency of the later ones") else {
            panic!("{found:#?}")
        };
        // A set-up is told less what later frames take as well, and those take what a
        // busy machine makes of it.
        let usual = later.max().unwrap();
        for (quantity, (known, is_near)) in &mut is_near {
            let least = least(&found, quantity);
            assert!(
                least + usual >= *known,
                "{quantity}: {least}, later {usual}"
            );
            *is_near |= least <= *known + NEAR && least + NEAR >= *known;
        }
        if is_near.values().all(|(_, is_near)| *is_near) {
            return;
        }
    }
    panic!("not found to be as they are: {is_near:?}");
}

/// Holds the samples of one form for long, loses every tenth of the other, counts those,
/// and leaves everything else alone.
struct Picky {
    seen: u64,
    lost: Arc<AtomicU64>,
}

impl Keeper for Picky {
    fn keep(&mut self, arrived: Instant, _way: usize, frame: &[u8]) -> Option<Instant> {
        let Some(FlowKey::SampledValues { application, .. }) = identify(frame).map(|it| it.key)
        else {
            return Some(arrived);
        };
        match application {
            SLOW_SAMPLES => Some(arrived + SLOW),
            LOST_SAMPLES => {
                self.seen += 1;
                let is_lost = self.seen.is_multiple_of(10);
                self.lost.fetch_add(u64::from(is_lost), Ordering::Relaxed);
                (!is_lost).then_some(arrived)
            }
            _ => Some(arrived),
        }
    }
}

#[test]
fn a_service_is_accepted_unless_its_frames_are_held_or_lost() {
    let test = "a_service_is_accepted_unless_its_frames_are_held_or_lost";
    let lost = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&lost);
    let picky = kept(move || Picky {
        seen: 0,
        lost: Arc::clone(&counted),
    });
    let Some(mut tester) = tester_or_skip(test, &picky) else {
        return;
    };
    let options = [("services", "sv,sv-61869,mms"), ("delay", OBJECTIVE)];

    // Any of them may be too much for a busy machine in any try: then it is not judged, or loses
    // what the keeper did not.
    let mut left = BTreeSet::from(["sv", "sv-61869", "mms"]);
    for _ in 0..MOST_TRIES {
        let found = measured(&mut tester, "acceptance", &options);
        let of = |service: &str, quantity: &str| of_service(&found, service, quantity);
        if let Value::Count(accepted) = of("sv", "accepted") {
            let Value::Times(slow) = of("sv", "frame transfer delay") else {
                panic!("{found:#?}")
            };
            let least = slow.summary().unwrap().min;
            assert!(accepted == 0 && least + NEAR >= SLOW, "{found:#?}");
            left.remove("sv");
        }
        if let Value::Count(accepted) = of("sv-61869", "accepted") {
            let Value::Share(share) = of("sv-61869", "frame loss ratio") else {
                panic!("{found:#?}")
            };
            assert!(accepted == 0 && share >= 0.095, "{found:#?}");
            if share <= 0.105 {
                left.remove("sv-61869");
            }
        }
        if matches!(of("mms", "accepted"), Value::Count(1)) {
            left.remove("mms");
        }
        if left.is_empty() {
            break;
        }
        println!("{left:?} of {found:#?}"); // Shown only if the test fails.
    }
    assert!(left.is_empty(), "never judged as they are: {left:?}");
    assert!(lost.load(Ordering::Relaxed) >= 10);
}

/// Returns a figure of a service when all of them are sent.
fn of_service(found: &Findings, service: &str, quantity: &str) -> Value {
    let is_it = |figure: &&Figure| {
        let chosen: Vec<_> = figure.setting.iter().map(|(_, it)| &it[..]).collect();
        figure.quantity == quantity && chosen == ["together", service]
    };
    let figure = found.figures.iter().find(is_it);
    figure.unwrap_or_else(|| panic!("{found:#?}")).value.clone()
}

struct BlackHole;

impl Keeper for BlackHole {
    fn keep(&mut self, _arrived: Instant, _way: usize, _frame: &[u8]) -> Option<Instant> {
        None
    }
}

/// A method, what is chosen of it, and of which figure it is known what it says.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    fn(&Value) -> bool,
);

const OF_A_BLACK_HOLE: [Case; 7] = [
    (
        "latency",
        &[("interval", "1ms"), ("window", "none")],
        "one-way latency",
        is_unknown,
    ),
    ("jitter", &[("interval", "1ms")], "jitter", is_unknown),
    ("throughput", &SLOW_OFFERS, "throughput", is_unknown),
    ("buffer", &SLOW_OFFERS, "buffer", is_unknown),
    (
        "flow-setup",
        &[("flows", "1"), ("rest", "50ms")],
        "flow set-up, both directions",
        is_unknown,
    ),
    (
        "failover",
        &[("times", "1"), ("watch", "50ms")],
        "interruption of reception",
        is_unknown,
    ),
    ("acceptance", &[("services", "goose")], "accepted", is_none),
];
const SLOW_OFFERS: [(&str, &str); 2] = [("size", "1518"), ("rate", "8Mbit/s")];

fn is_unknown(value: &Value) -> bool {
    matches!(value, Value::Unknown(_))
}

fn is_none(value: &Value) -> bool {
    matches!(value, Value::Count(0))
}

#[test]
fn by_every_method_a_device_that_drops_everything_is_reported_for_what_it_is() {
    let test = "by_every_method_a_device_that_drops_everything_is_reported_for_what_it_is";
    let Some(mut tester) = tester_or_skip(test, &kept(|| BlackHole)) else {
        return;
    };

    for (method, options, quantity, says_so) in OF_A_BLACK_HOLE {
        let found = measured(&mut tester, method, options);

        assert!(says_so(value(&found, quantity)), "{method}: {found:#?}");
    }
}
