use calculus::bounds::processing::FRAME;
use controller::northbound::Requirement;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::RequirementDocument;
use super::*;

const HI: &str = "hi";

/// Returns a camera's flow: 154 kB every 200 ms, and more often at the higher level.
fn camera() -> Value {
    json!({
        "name": "cam", "source": "h1", "destinations": ["h2"],
        "rate_bps": 8_000_000, "burst_bytes": 200_000, "deadline_ns": 200_000_000,
        "modes": {
            "criticality": 5, "jitter_ns": 0,
            "contract": {"period_ns": 200_000_000, "size_bytes": 154_000},
            "levels": {HI: {"contract": {"period_ns": 22_000_000, "size_bytes": 154_000},
                            "deadline_ns": 22_000_000}},
        },
    })
}

/// Returns the same with no more rate and burst than its messages need.
fn exact() -> Value {
    let mut document = camera();
    document["rate_bps"] = 6_490_720.into();
    document["burst_bytes"] = 162_268.into();
    document
}

fn read(document: Value) -> Result<Requirement, Unusable> {
    let document: RequirementDocument = serde_json::from_value(document).unwrap();
    document.try_into()
}

fn treatment(requirement: &Requirement) -> Treatment {
    requirement.modes.as_ref().unwrap().levels[HI]
}

/// Returns what is sent at the higher level.
fn traffic_at(requirement: &Requirement) -> Traffic {
    match treatment(requirement) {
        Treatment::Serve {
            traffic: Some(traffic),
            ..
        } => traffic,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_sent_at_a_level_follows_from_its_contract() {
    let requirement = read(camera()).unwrap();

    let Treatment::Serve {
        traffic: Some(traffic),
        contract: Some(contract),
        ..
    } = treatment(&requirement)
    else {
        panic!("{requirement:?}");
    };
    assert_eq!(contract.period, Duration::from_ms(22));
    // 154 kB every 22 ms are 56 Mbit/s, and headers on top.
    assert!((56..62).contains(&(traffic.rate.as_bps() / 1_000_000)));
    assert!(traffic.grants(&requirement.traffic));
}

/// S2-2: 154 kB are 105 full frames and one more, and no 1,900 of the smallest.
#[test]
fn frames_are_counted_as_those_of_messages_at_every_level() {
    let mut document = exact();

    let requirement = read(document.clone()).unwrap();
    document["modes"]["jitter_ns"] = 2_200_000.into();
    document["burst_bytes"] = 164_053.into();
    let late = read(document).unwrap();

    let burst = |frames: Option<FrameBucket>| frames.unwrap().burst;
    assert_eq!(burst(requirement.traffic.frames), 106 * FRAME);
    assert_eq!(burst(traffic_at(&requirement).frames), 106 * FRAME);
    let of_a_second = |traffic: Traffic| traffic.frames.unwrap().rate_per_second;
    assert_eq!(of_a_second(traffic_at(&requirement)), 4_818_181_819);
    // A tenth of a period late: a tenth of a message more at once.
    assert_eq!(burst(traffic_at(&late).frames), 116_600_001);
}

#[test]
fn what_there_is_room_for_beside_messages_is_counted_in_the_smallest_frames() {
    let mut document = exact();
    document["burst_bytes"] = (exact()["burst_bytes"].as_u64().unwrap() + 840).into();
    let beside = read(document.clone()).unwrap();
    document["smallest_frame_bytes"] = 1_538.into();
    let all_full = read(document).unwrap();

    let burst = |requirement: Requirement| requirement.traffic.frames.unwrap().burst;
    assert_eq!(burst(beside), 116 * FRAME);
    // No more than there are of the smallest.
    assert!((105 * FRAME..107 * FRAME).contains(&burst(all_full)));
}

/// 335 frames that carry up to 460 bytes each: 180,130 bytes with their headers.
#[test]
fn smaller_frames_are_more_of_them_and_need_more() {
    let mut document = exact();
    document["largest_frame_bytes"] = 538.into();
    document["rate_bps"] = 10_000_000.into();

    let refused = read(document.clone()).unwrap_err();
    document["burst_bytes"] = 180_130.into();
    let requirement = read(document).unwrap();

    assert_eq!(refused.field, "modes.contract");
    assert!(
        refused.reason.contains("`burst_bytes` 180130"),
        "{refused:?}"
    );
    assert_eq!(requirement.traffic.frames.unwrap().burst, 335 * FRAME);
}

#[test]
fn a_flow_may_be_dropped_at_a_level_and_without_modes_nothing_is_said() {
    let mut document = camera();
    document["modes"]["levels"][HI] = "drop".into();
    let dropped = read(document).unwrap();
    let mut document = camera();
    document.as_object_mut().unwrap().remove("modes");

    assert_eq!(treatment(&dropped), Treatment::Drop);
    assert_eq!(read(document).unwrap().modes, None);
}

#[test]
fn messages_that_do_not_fit_are_refused_with_what_would() {
    let mut document = camera();
    document["rate_bps"] = 1_000_000.into();

    let unusable = read(document.clone()).unwrap_err();

    assert_eq!(unusable.field, "modes.contract");
    let words: Vec<&str> = unusable.reason.split(' ').collect();
    let after = |key: &str| {
        let at = words.iter().position(|word| *word == key).unwrap();
        words[at + 1].parse::<u64>().unwrap()
    };
    document["rate_bps"] = after("`rate_bps`").into();
    document["burst_bytes"] = after("`burst_bytes`").into();
    assert!(read(document).is_ok());
}

#[test]
fn a_word_that_is_not_drop_is_refused_with_what_is_known() {
    let mut document = camera();
    document["modes"]["levels"][HI] = "dorp".into();

    let refused = serde_json::from_value::<RequirementDocument>(document);

    let said = refused.unwrap_err().to_string();
    assert!(said.contains("`dorp`") && said.contains("`drop`"), "{said}");
}

#[test]
fn no_number_goes_on_that_the_arithmetic_could_not_take() {
    for (path, value, field) in [
        ("/modes/criticality", 8_u64, "modes.criticality"),
        ("/modes/jitter_ns", u64::MAX, "modes.jitter_ns"),
        ("/modes/contract/period_ns", 0, "modes.contract.period_ns"),
        (
            "/modes/contract/period_ns",
            u64::MAX,
            "modes.contract.period_ns",
        ),
        ("/modes/contract/size_bytes", 0, "modes.contract.size_bytes"),
        ("/modes/contract/period_ns", 1_000, "modes.contract"),
        (
            "/modes/levels/hi/deadline_ns",
            0,
            "modes.levels.hi.deadline_ns",
        ),
    ] {
        let mut document = camera();
        *document.pointer_mut(path).unwrap() = value.into();

        let unusable = read(document).unwrap_err();

        assert_eq!(unusable.field, field, "{}", unusable.reason);
    }
}

#[test]
fn a_deadline_at_a_level_needs_one_at_the_lowest() {
    let mut document = camera();
    document["deadline_ns"] = Value::Null;

    let unusable = read(document).unwrap_err();

    assert_eq!(unusable.field, "modes.levels.hi.deadline_ns");
}

proptest! {
    /// Whatever is understood says the same when it is written down and read again.
    #[test]
    fn what_is_understood_says_the_same_when_it_is_read_again(document in documents()) {
        let text = serde_json::to_string(&document).unwrap();
        let read_back: ModesDocument = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read_back, &document);

        let traffic = TrafficDocument {
            rate_bps: MAX_RATE.as_bps(),
            burst_bytes: Some(1 << 36),
            largest_frame_bytes: None,
            smallest_frame_bytes: None,
        };
        let traffic = traffic.traffic().unwrap();
        if let Ok(flow) = document.flow(traffic, true) {
            let again = ModesDocument::from(&flow).flow(traffic, true);

            prop_assert_eq!(again, Ok(flow));
        }
    }

    /// No document panics, whatever its numbers are.
    #[test]
    fn no_document_panics(document in documents(), rate in 1_u64..=1_000_000_000_000) {
        let traffic = TrafficDocument {
            rate_bps: rate,
            burst_bytes: None,
            largest_frame_bytes: None,
            smallest_frame_bytes: None,
        };

        let _ = document.flow(traffic.traffic().unwrap(), rate % 2 == 0);
    }
}

fn documents() -> impl Strategy<Value = ModesDocument> {
    let levels = prop::collection::btree_map("[a-z]{1,4}", level(), 0..9);
    let contract = prop::option::of(contract());
    (0_u8..9, number(), contract, levels).prop_map(|(criticality, jitter_ns, contract, levels)| {
        ModesDocument {
            criticality,
            jitter_ns,
            contract,
            levels,
        }
    })
}

fn level() -> impl Strategy<Value = LevelDocument> {
    let numbers = prop::array::uniform5(prop::option::of(number()));
    let served = (
        prop::option::of(0_u8..9),
        prop::option::of(contract()),
        numbers,
    );
    let served = served.prop_map(|(class, contract, numbers)| {
        let [
            deadline_ns,
            rate_bps,
            burst_bytes,
            largest_frame_bytes,
            smallest_frame_bytes,
        ] = numbers;
        LevelDocument::Serve(ServedDocument {
            class,
            deadline_ns,
            contract,
            rate_bps,
            burst_bytes,
            largest_frame_bytes,
            smallest_frame_bytes,
        })
    });
    prop_oneof![Just(LevelDocument::Drop), served]
}

fn contract() -> impl Strategy<Value = ContractDocument> {
    (number(), any::<u32>()).prop_map(|(period_ns, size_bytes)| ContractDocument {
        period_ns,
        size_bytes,
    })
}

/// Returns numbers that are usual, and some that are not.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..4,
        80_u64..2_000,
        1_000_u64..1_000_000_000,
        any::<u64>()
    ]
}
