use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::document::{Bucket, Class, FORMAT, Hop, Port, Processor, Unreadable};

#[test]
fn a_calculation_by_hand_is_proven() {
    let proven = check(&by_hand()).unwrap();

    let promise = |name: &str, us: u64, ns: u64| (name.to_owned(), Delay::from_ns(us * 1_000 + ns));
    assert_eq!(
        proven.guarantees,
        [promise("trip", 234, 820), promise("sample", 331, 780)]
    );
    assert_eq!((proven.stages, proven.cases), (2, 2));
}

/// The bounds are the least: a picosecond less is refused.
#[test]
fn a_bound_that_is_stated_too_small_is_refused() {
    let mut too_small = by_hand();
    let Stage::Port(Port { classes, .. }) = &mut too_small.stages[1] else {
        panic!("a port")
    };
    classes[1].bound_ps -= 1;

    let objections = check(&too_small).unwrap_err();

    assert_eq!(objections.len(), 1);
    assert_eq!(objections[0].at, "stage 1 (`s1 to relay`)");
    assert!(matches!(
        objections[0].reason,
        Reason::Bound { class: Some(6), .. }
    ));
}

#[test]
fn a_stage_that_no_flow_passes_has_to_keep_no_budget() {
    let mut with_spare = by_hand();
    let Stage::Processor(processor) = &with_spare.stages[0] else {
        panic!("a processor")
    };
    let spare = Stage::Processor(Processor {
        budget_ps: 0,
        ..processor.clone()
    });
    with_spare.stages.push(spare);

    assert_eq!(check(&with_spare).map(|proven| proven.stages), Ok(3));
}

#[test]
fn one_more_flow_that_fits_no_budget_is_noticed() {
    let mut crowded = by_hand();
    for number in 0..20 {
        let mut more = crowded.flows[0].clone();
        more.name = format!("trip {number}");
        crowded.flows.push(more);
    }

    let objections = check(&crowded).unwrap_err();

    assert!(
        objections
            .iter()
            .any(|objection| matches!(objection.reason, Reason::Bound { .. }))
    );
}

#[test]
fn more_than_the_link_carries_is_an_overload() {
    let mut overloaded = by_hand();
    overloaded.flows[1].contract.rate_bps = 99_900_000;
    let Stage::Processor(Processor {
        budget_ps,
        bound_ps,
        ..
    }) = &mut overloaded.stages[0]
    else {
        panic!("a processor")
    };
    (*budget_ps, *bound_ps) = (20_000_000, 20_000_000);
    for hop in &mut overloaded.flows[1].path {
        hop.burst = match hop.stage {
            0 => 2_003_285,
            _ => 4_338,
        };
    }

    let objections = check(&overloaded).unwrap_err();

    let reasons: Vec<_> = objections
        .into_iter()
        .map(|objection| objection.reason)
        .collect();
    assert!(
        matches!(reasons[..], [Reason::Overload { class: Some(6), .. }]),
        "{reasons:?}"
    );
}

/// (2949.12 + 12304) bit take 152.53 us, in which 2.02 frames of the trip may come, and
/// what waits is as much as 5.8 of the smallest frames.
#[test]
fn a_queue_that_is_limited_in_frames_holds_those_that_come_while_one_waits() {
    let with_room = |frames| {
        let mut limited = by_hand();
        if let Stage::Port(port) = &mut limited.stages[1] {
            port.classes[0].buffer_bit = None;
            port.classes[0].buffer_frames = Some(frames);
        }
        check(&limited)
    };

    assert!(with_room(3).is_ok());
    let objections = with_room(2).unwrap_err();
    assert!(
        matches!(
            objections[0].reason,
            Reason::Buffer {
                class: Some(7),
                room: 2,
                ..
            }
        ),
        "{objections:?}"
    );
}

#[test]
fn a_flow_that_says_how_many_frames_it_is_brings_no_more() {
    let mut counted = by_hand();
    let frames = crate::document::Frames {
        millionths_per_second: 50_000_000,
        burst_millionths: 1_000_000,
    };
    counted.flows[0].frames = Some(frames);

    let objections = check(&counted).unwrap_err();
    assert!(
        matches!(objections[0].reason, Reason::Burst { stage: 0, .. }),
        "{objections:?}"
    );

    // Half as many: 1 and 50 a second for 14.77 us.
    counted.flows[0].path[0].burst = 1_000_739;
    assert!(check(&counted).is_ok(), "{:?}", check(&counted));
}

#[test]
fn an_alternative_counts_after_its_failure() {
    let mut protected = by_hand();
    protected.failures = vec!["s1-s2".to_owned()];
    let Stage::Port(Port { classes, .. }) = &protected.stages[1] else {
        panic!("a port")
    };
    let (classes, other) = (classes.clone(), "s1 to s2".to_owned());
    protected.stages.push(Stage::Port(Port {
        name: other,
        rate_bps: 100_000_000,
        propagation_ps: 50_000,
        largest_unpromised_frame_bit: 12_304,
        classes,
    }));
    protected.flows[0].alternatives = vec![crate::document::Alternative {
        failure: 0,
        path: [(0, None), (2, Some(0))]
            .map(|(stage, after)| crate::document::Step { stage, after })
            .to_vec(),
    }];

    assert_eq!(check(&protected).unwrap().cases, 3 + 3);

    protected.stages[2] = protected.stages[1].clone();
    let Stage::Port(Port { classes, .. }) = &mut protected.stages[2] else {
        panic!("a port")
    };
    classes.retain(|class| class.class == 6);
    let objections = check(&protected).unwrap_err();
    assert_eq!(
        objections[0].reason,
        Reason::NoBudget { stage: 2, class: 7 }
    );
}

/// S4-11: two copies before the eliminator, one with both windows behind it.
#[test]
fn second_copies_end_at_the_eliminator() {
    let step = |stage, after| crate::document::Step { stage, after };
    let hop = |stage, after, burst| Hop {
        stage,
        after,
        burst,
    };
    let mut doubled = by_hand();
    let fast = |name: &str, budget_ps| {
        Stage::Processor(Processor {
            name: name.to_owned(),
            latency_ps: 1_000_000,
            per_frame_ps: 0,
            fastest_per_frame_ps: 0,
            budget_ps,
            buffer_frames: None,
            unpromised_millionths_per_second: 0,
            unpromised_burst_millionths: 0,
            bound_ps: 1_000_000,
        })
    };
    // Two ways, of 1 us and of 50 us, meet at stage 4, and stage 1 is behind it.
    let more = [
        fast("quick", 1_000_000),
        fast("slow", 50_000_000),
        fast("meet", 2_000_000),
    ];
    doubled.stages.extend(more);
    doubled.flows.truncate(1);
    let flow = &mut doubled.flows[0];
    // 2944 bit, and 147.2 kbit/s for 14.77, 15.77 and, behind both, 66.77 us.
    flow.path = vec![
        hop(2, None, 2_001_477),
        hop(4, Some(0), 2_001_577),
        hop(1, Some(1), 2_954),
    ];
    flow.guarantee_ps = 14_770_000 + 50_000_000 + 2_000_000 + 200_000_000 + 50_000;
    flow.redundant = Some(crate::document::Redundant {
        path: vec![step(3, None), step(4, Some(0)), step(1, Some(1))],
        eliminator: Some(4),
    });
    let Stage::Port(Port { classes, .. }) = &mut doubled.stages[1] else {
        panic!("a port")
    };
    classes[0].bound_ps = 152_578_286;

    assert_eq!(check(&doubled).map(|proven| proven.cases), Ok(5));

    let mut apart = doubled.clone();
    apart.flows[0].redundant.as_mut().unwrap().path.pop();
    assert_eq!(check(&apart).unwrap_err()[0].reason, Reason::NoEliminator);
    // Without an eliminator both copies pass the port, each in its own window.
    doubled.flows[0].redundant.as_mut().unwrap().eliminator = None;
    let objections = check(&doubled).unwrap_err();
    assert!(
        matches!(objections[0].reason, Reason::Burst { stage: 1, .. }),
        "{objections:?}"
    );
}

#[test]
fn a_certificate_is_read_back_as_it_was_written() {
    let certificate = by_hand();

    assert_eq!(
        Certificate::read(&certificate.write()).unwrap(),
        certificate
    );
}

/// S4-11: whichever digit is changed, the certificate is refused.
#[test]
fn a_certificate_changed_in_one_digit_is_refused() {
    let text = by_hand().write();
    let mut changed = 0;
    for (at, digit) in text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_digit())
    {
        let mut bytes = text.clone().into_bytes();
        bytes[at] = if digit == b'9' { b'8' } else { digit + 1 };
        let text = String::from_utf8(bytes).unwrap();

        assert!(Certificate::read(&text).is_err(), "digit at {at}");
        changed += 1;
    }
    assert!(changed > 250, "{changed} digits");
}

/// Who seals a changed certificate anew deceives the digest and not the proof:
/// of all numbers only those may be changed that leave the promises provable.
#[test]
fn a_changed_certificate_that_was_sealed_again_proves_nothing_better() {
    let certificate = serde_json::to_value(by_hand()).unwrap();
    let mut paths = Vec::new();
    numbers("", &certificate, &mut paths);
    let mut accepted = 0;
    for path in &paths {
        for less in [false, true] {
            let mut changed = certificate.clone();
            let place = changed.pointer_mut(path).unwrap();
            let number = place.as_u64().unwrap();
            *place = Value::from(if less {
                number.saturating_sub(1)
            } else {
                number + 1
            });
            let Ok(changed) = serde_json::from_value::<Certificate>(changed) else {
                continue;
            };
            if changed != by_hand() && check(&changed.seal()).is_ok() {
                assert!(weakens(path, less), "{path}, less: {less}");
                accepted += 1;
            }
        }
    }
    assert!(accepted < paths.len(), "{accepted} of {}", 2 * paths.len());
}

#[test]
fn what_is_no_certificate_says_why() {
    let other = Certificate {
        format: "taktos certificate 2".to_owned(),
        ..by_hand()
    };

    assert!(matches!(Certificate::read("{}"), Err(Unreadable::Form(_))));
    assert!(matches!(
        Certificate::read(&other.seal().write()),
        Err(Unreadable::Format { .. })
    ));
    let unknown = by_hand().write().replacen("\"network\"", "\"netwrok\"", 1);
    assert!(matches!(
        Certificate::read(&unknown),
        Err(Unreadable::Form(_))
    ));
}

proptest! {
    /// A document of any content is proven or refused: nothing panics.
    #[test]
    fn any_numbers_are_refused_or_proven(numbers in prop::collection::vec(any::<u64>(), 1..8), seed in any::<u64>()) {
        let mut document = serde_json::to_value(by_hand()).unwrap();
        let mut paths = Vec::new();
        self::numbers("", &document, &mut paths);
        for (at, number) in numbers.iter().enumerate() {
            let path = &paths[(usize::try_from(seed % 1_000_003).unwrap() + at * 7) % paths.len()];
            *document.pointer_mut(path).unwrap() = Value::from(*number);
        }
        if let Ok(changed) = serde_json::from_value::<Certificate>(document) {
            let _ = check(&changed.seal());
        }
    }
}

/// Tells whether the change of a number leaves all that is promised provable.
fn weakens(path: &str, less: bool) -> bool {
    let field = path.rsplit('/').next().unwrap_or_default();
    match field {
        // There is more time, more room and more speed than is needed.
        "deadline_ps" | "buffer_frames" | "buffer_bit" | "largest_frame_bit" => true,
        "unpromised_millionths_per_second" => true,
        "largest_unpromised_frame_bit"
        | "unpromised_burst_millionths"
        | "latency_ps"
        | "per_frame_ps" => less,
        "bound_ps" | "fastest_per_frame_ps" => !less,
        "rate_bps" => path.starts_with("/flows") == less,
        // Within the rounding of frames.
        "burst" => !less && path.ends_with("/path/0/burst"),
        _ => false,
    }
}

fn numbers(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                numbers(&format!("{path}/{at}"), value, found);
            }
        }
        Value::Object(values) => {
            for (key, value) in values {
                numbers(&format!("{path}/{key}"), value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A trip and a sample that cross a processor of 10 us and 1 us a frame, then a
/// port of 100 Mbit/s: 2.001477 and 1.046920 frames beside 2 without promise, then
/// (2949.12 + 12304) bit at 100 Mbit/s, and 1316.24 bit more at 99.8528 Mbit/s.
fn by_hand() -> Certificate {
    let class = |class, budget_us: u64, bound_ps| Class {
        class,
        budget_ps: budget_us * 1_000_000,
        buffer_bit: Some(100_000),
        buffer_frames: None,
        bound_ps,
    };
    Certificate {
        format: FORMAT.to_owned(),
        network: "by hand".to_owned(),
        profiles: Vec::new(),
        stages: vec![
            Stage::Processor(Processor {
                name: "s1".to_owned(),
                latency_ps: 10_000_000,
                per_frame_ps: 1_000_000,
                fastest_per_frame_ps: 0,
                budget_ps: 20_000_000,
                buffer_frames: Some(100),
                unpromised_millionths_per_second: 1_000_000_000,
                unpromised_burst_millionths: 2_000_000,
                bound_ps: 15_048_397,
            }),
            Stage::Port(Port {
                name: "s1 to relay".to_owned(),
                rate_bps: 100_000_000,
                propagation_ps: 50_000,
                largest_unpromised_frame_bit: 12_304,
                classes: vec![class(7, 200, 152_531_182), class(6, 300, 165_937_868)],
            }),
        ],
        failures: Vec::new(),
        flows: vec![
            flow(
                "trip",
                7,
                [147_200, 2_944, 1_472],
                [14_770_000, 234_820_000],
                [2_001_477, 2_950],
            ),
            flow(
                "sample",
                6,
                [4_672_000, 1_168, 1_168],
                [11_730_000, 331_780_000],
                [1_046_920, 1_317],
            ),
        ],
        sha256: String::new(),
    }
    .seal()
}

fn flow(
    name: &str,
    class: u8,
    [rate_bps, burst_bit, frame_bit]: [u64; 3],
    [initial_ps, guarantee_ps]: [u64; 2],
    [at_processor, at_port]: [u64; 2],
) -> Flow {
    let hop = |stage, after, burst| Hop {
        stage,
        after,
        burst,
    };
    Flow {
        name: name.to_owned(),
        class,
        contract: Bucket {
            rate_bps,
            burst_bit,
        },
        peak: None,
        frames: None,
        largest_frame_bit: frame_bit,
        smallest_frame_bit: frame_bit,
        deadline_ps: 400_000_000,
        guarantee_ps,
        initial_ps,
        path: vec![hop(0, None, at_processor), hop(1, Some(0), at_port)],
        alternatives: Vec::new(),
        redundant: None,
    }
}
