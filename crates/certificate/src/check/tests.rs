use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::document::{
    Alternative, BestEffort, Changes, Copies, Demand, End, FORMAT, Figures, Frames, Host, Level,
    Link, Network, PortBudget, ProcessorBudget, Profile, Protection, Switch, Unreadable,
};

mod links;

#[test]
fn a_calculation_by_hand_is_proven() {
    let proven = check(&by_hand()).unwrap();

    let promises = proven.promises.iter();
    let promises: Vec<_> = promises
        .map(|promise| (promise.flow.as_str(), promise.guarantee))
        .collect();
    let ns = Delay::from_ns;
    assert_eq!(promises, [("trip", ns(234_820)), ("sample", ns(331_780))]);
    assert_eq!((proven.stages, proven.cases), (2, 2));
}

/// 2.001477 and 1.046920 frames beside 2 without promise, at 10 us and 1 us a frame.
/// Then (2949.12 + 12336) bit, and 5120 and 1312 bit more at 99.8528 Mbit/s.
#[test]
fn a_budget_may_be_as_small_as_the_bound_and_no_smaller() {
    let processor = |ps| altered(|it| it.levels[0].processors[0].budget_ps = ps);
    let port = |ps| altered(|it| it.levels[0].ports[1].budget_ps = ps);

    assert_eq!(refusals(&processor(15_048_397)), NONE);
    assert_eq!(refusals(&processor(15_048_396)), [BUDGET]);
    let least = (1..300).map(|us| us * 1_000_000);
    let least = least.map(|ps| refusals(&port(ps)).is_empty());
    let refused = least.take_while(|proven| !proven).count();
    assert_eq!(refused, 217, "217.3 us at the port");
}

#[test]
fn more_than_the_link_carries_is_an_overload() {
    let overloaded = altered(|it| {
        service(it, 1).rate_bps = 99_999_000;
        it.levels[0].processors[0].budget_ps = 30_000_000;
        for flow in &mut it.flows {
            flow.guarantees_ps = vec![Some(400_000_000)];
        }
    });

    assert!(refusals(&overloaded)[0].contains("more arrives than is served"));
}

#[test]
fn a_processor_that_works_without_end_is_an_overload() {
    let flooded = altered(|it| {
        it.network.hosts[3].unpromised = Some(BestEffort {
            rate_bps: 672_000_000,
            largest_frame_bit: 1_344,
            smallest_frame_bit: 672,
        });
        it.network.links[3].rate_bps = 1_000_000_000;
    });
    let slower = altered(|it| {
        it.network.hosts[3].unpromised = flooded.network.hosts[3].unpromised;
    });

    assert!(refusals(&flooded)[0].contains("more arrives than is served"));
    // No more than its link carries.
    assert_eq!(refusals(&slower), NONE);
}

/// (2949.12 + 12336) bit take 152.85 us, in which 2.02 frames of the trip may come, and
/// what waits is as much as 5.8 of the smallest frames; of samples and probes more.
#[test]
fn a_queue_holds_the_frames_that_come_while_one_waits() {
    let with_room = |frames| altered(|it| figures(it, |it| it.queue_frames = frames));

    assert_eq!(refusals(&with_room(10)), NONE);
    let objections = refusals(&with_room(2));
    assert!(objections[0].contains("room for 2"), "{objections:?}");
    let pool = altered(|it| figures(it, |it| it.pool_frames = 5));
    assert!(refusals(&pool)[0].contains("room for 5"));
}

#[test]
fn a_flow_that_says_how_many_frames_it_is_brings_no_more() {
    let counted = |burst_millionths| {
        altered(|it| {
            let service = service(it, 0);
            service.smallest_frame_bit = 672;
            service.frames = Some(Frames {
                millionths_per_second: 100_000_000,
                burst_millionths,
            });
        })
    };

    // By size they would be 4.4.
    let by_size = altered(|it| service(it, 0).smallest_frame_bit = 672);
    let least = |certificate: &Certificate| {
        let mut tight = certificate.clone();
        tight.levels[0].processors[0].budget_ps = 15_100_000;
        refusals(&tight)
    };
    assert_eq!(least(&by_size), [BUDGET]);
    assert_eq!(least(&counted(2_000_000)), NONE);
    let too_few = refusals(&counted(1_900_000));
    assert!(too_few[0].contains("fewer frames"), "{too_few:?}");
}

/// A burst of many frames comes over the link of the host, no faster than that.
#[test]
fn the_link_of_the_source_is_the_peak() {
    let message = |host_bps| {
        altered(|it| {
            it.flows.truncate(1);
            it.levels[0].ports.truncate(1);
            it.network.links[0].rate_bps = host_bps;
            service(it, 0).burst_bit = 40 * 1_472;
            it.levels[0].processors[0].budget_ps = 22_000_000;
            for flow in &mut it.flows {
                flow.guarantees_ps = vec![Some(400_000_000)];
            }
        })
    };

    // 38 frames of 1472 bit take 560 us at 100 Mbit/s, and the processor 38 us.
    assert_eq!(refusals(&message(100_000_000)), NONE);
    assert_eq!(refusals(&message(10_000_000_000)).len(), 2);
}

#[test]
fn probes_count_at_every_port() {
    // 5120 bit in 40 us are more than the link carries.
    let often = altered(|it| it.network.probe_interval_ps = 40_000_000);

    assert!(refusals(&often)[0].contains("more arrives than is served"));
}

#[test]
fn a_stage_that_no_flow_passes_has_to_keep_no_budget() {
    let mut flooded = ring();
    // s3 drowns in what h3 sends, and nothing is promised there.
    flooded.flows.truncate(1);
    let flow = &mut flooded.flows[0];
    (flow.demand.protection, flow.alternatives) = (Protection::None, Vec::new());
    flooded.levels[0].processors.truncate(2);
    flooded.levels[0]
        .ports
        .retain(|budget| budget.switch != "s3" && budget.port != 3);
    flooded.network.links[2].rate_bps = 1_000_000_000;
    flooded.network.hosts[2].unpromised = Some(BestEffort {
        rate_bps: 1_000_000_000,
        largest_frame_bit: 672,
        smallest_frame_bit: 672,
    });
    // What queued up there comes over the links of 100 Mbit/s.
    for budget in &mut flooded.levels[0].processors {
        budget.budget_ps += 4_000_000;
    }

    assert_eq!(refusals(&flooded), NONE);
}

#[test]
fn an_alternative_counts_after_its_failure() {
    let protected = ring();
    let proven = check(&protected).unwrap();
    // Three stages each way to pass with the failure and without.
    assert!(proven.cases > proven.stages);

    let mut crowded = protected;
    crowded.levels[0]
        .processors
        .retain(|budget| budget.switch != "s3");
    let objections = refusals(&crowded);
    assert!(
        objections[0].contains("processor of `s3`"),
        "{objections:?}"
    );
}

#[test]
fn an_alternative_may_make_a_stage_too_busy() {
    let with_budget = |us: u64| {
        let mut ring = ring();
        // A flow from s3 to s2 is there, too.
        let at = |budget: &&mut PortBudget| budget.switch == "s3" && budget.port == 2;
        let mut ports = ring.levels[0].ports.iter_mut();
        ports.find(at).unwrap().budget_ps = us * 1_000_000;
        ring
    };

    assert_eq!(refusals(&with_budget(200)), NONE);
    let objections = refusals(&with_budget(170));
    assert!(objections[0].contains("without `s1-s2`"), "{objections:?}");
}

/// Each flow beside those that come from elsewhere: 10 probes and 2.0475 frames of the
/// trip, which may come from either side, and one frame of the other, more of which come
/// over its link no faster than they are served.
#[test]
fn what_comes_from_two_sides_is_not_limited_by_either_link() {
    let with_budget = |ps| {
        let mut ring = ring();
        ring.levels[0].processors[1].budget_ps = ps;
        refusals(&ring)
    };

    assert_eq!(with_budget(23_050_000), NONE);
    let objections = with_budget(23_040_000);
    assert!(objections[0].contains("without `s1-s2`"), "{objections:?}");
}

/// A frame that took the longer way to s2 may still be caught by the usual one there:
/// 14.77 us, five processors of 35 us, three ports of 200 us, one of 400 us and one of
/// 250 us, and their links.
#[test]
fn frames_that_met_a_failure_are_late_behind_every_stage_of_both_ways() {
    let promised = |ps| {
        let mut certificate = ring();
        let network = &mut certificate.network;
        network.hosts.truncate(2);
        *network = Network {
            hosts: network.hosts.clone(),
            ..network_of(&["s1", "s2", "s3", "s4", "s5", "s6"])
        };
        let between = |one: u32, other: u32| {
            let [from, to] = [one, other].map(|number| format!("s{number}"));
            link(
                &format!("{from}-{to}"),
                (from.as_str(), other),
                (to.as_str(), one),
            )
        };
        network.links = vec![
            link("h1", ("s1", 9), ("h1", 1)),
            link("h2", ("s5", 9), ("h2", 1)),
            between(1, 2),
            between(2, 3),
            between(3, 5),
            between(1, 4),
            between(4, 2),
            between(2, 6),
            between(6, 5),
            between(4, 6),
        ];
        let ports = [
            ("s1", 2, 200),
            ("s1", 4, 200),
            ("s2", 3, 200),
            ("s2", 6, 200),
            ("s3", 5, 400),
            ("s4", 2, 200),
            ("s4", 6, 200),
            ("s6", 5, 200),
            ("s5", 9, 250),
        ];
        let level = &mut certificate.levels[0];
        level.ports = ports
            .map(|(at, number, budget)| port(at, number, 7, budget))
            .to_vec();
        level.processors = (1..=6)
            .map(|number| ProcessorBudget {
                switch: format!("s{number}"),
                budget_ps: 35_000_000,
            })
            .collect();
        certificate.flows.truncate(1);
        let flow = &mut certificate.flows[0];
        flow.demand.levels[0].as_mut().unwrap().deadline_ps = 2_000_000_000;
        flow.guarantees_ps = vec![Some(ps)];
        flow.path = vec![0, 2, 3, 4, 1];
        flow.alternatives = [(2, vec![0, 5, 9, 8, 1]), (3, vec![0, 5, 6, 7, 8, 1])]
            .into_iter()
            .chain([(4, vec![0, 5, 6, 7, 8, 1])])
            .map(|(without, path)| Alternative { without, path })
            .collect();
        refusals(&certificate)
    };

    assert_eq!(promised(1_440_020_000), NONE);
    let objections = promised(1_440_019_999);
    assert!(objections[0].contains("add up to"), "{objections:?}");
}

/// 10 probes and 2.0015 frames of the trip at s1; and one frame more over each link from
/// another switch, if anybody sends without a promise.
#[test]
fn what_is_sent_without_a_promise_comes_over_links_between_switches() {
    let with_budget = |ps, floods: bool| {
        let mut ring = ring();
        ring.levels[0].processors[0].budget_ps = ps;
        ring.network.hosts[2].unpromised = floods.then_some(BestEffort {
            rate_bps: 1_000_000,
            largest_frame_bit: 672,
            smallest_frame_bit: 672,
        });
        refusals(&ring)
    };

    assert_eq!(with_budget(22_002_000, false), NONE);
    assert_eq!(with_budget(22_001_000, false), [BUDGET]);
    assert_eq!(with_budget(24_002_000, true), NONE);
    assert_eq!(with_budget(24_001_000, true), [BUDGET]);
}

/// 5 probes and 2.334 frames of the camera, for which a change was long enough, and
/// 1.047 of the film, which is given up and looked at all the same.
#[test]
fn what_a_level_gives_up_takes_time_of_the_first_switch() {
    let with_budget = |ps| {
        let mut levels = levels();
        levels.levels[1].processors[0].budget_ps = ps;
        refusals(&levels)
    };

    assert_eq!(with_budget(18_390_000), NONE);
    assert_eq!(with_budget(18_370_000), [BUDGET]);
}

#[test]
fn signals_pass_processors_that_no_flow_does() {
    let with_budget = |ps| {
        let mut levels = levels();
        let more = network_of(&["s1", "s2", "s3"]).switches;
        levels.network.switches = more;
        levels
            .network
            .links
            .push(link("s2-s3", ("s2", 4), ("s3", 1)));
        levels.levels[0].processors.push(ProcessorBudget {
            budget_ps: ps,
            ..processor("s3")
        });
        levels.levels[0].processors[1].budget_ps = 25_000_000;
        levels.levels[1].processors[1].budget_ps = 25_000_000;
        for flow in &mut levels.flows {
            for promised in flow.guarantees_ps.iter_mut().flatten() {
                *promised += 2_000_000_000;
            }
            for service in flow.demand.levels.iter_mut().flatten() {
                service.deadline_ps *= 10;
            }
        }
        refusals(&levels)
    };

    assert_eq!(with_budget(20_000_000), NONE);
    assert_eq!(with_budget(13_000_000), [BUDGET]);
}

/// S4-11: two copies before the eliminator, one with both windows behind it.
#[test]
fn second_copies_end_at_the_eliminator() {
    let doubled = copies();
    assert_eq!(refusals(&doubled), NONE);

    // Only one way leads over s3, and behind s1 both lead elsewhere.
    for switch in ["s3", "s1", "h1"] {
        let mut apart = doubled.clone();
        apart.flows[0].copies.as_mut().unwrap().eliminator = Some(switch.to_owned());
        assert!(refusals(&apart)[0].contains("eliminator"), "{switch}");
    }
    // Without an eliminator both copies pass the port to the receiver.
    let at_receiver = |certificate: &Certificate, ps| {
        let mut tight = certificate.clone();
        let mut ports = tight.levels[0].ports.iter_mut();
        let port = ports.find(|budget| budget.switch == "s2").unwrap();
        port.budget_ps = ps;
        refusals(&tight)
    };
    let mut twice = doubled.clone();
    twice.flows[0].copies.as_mut().unwrap().eliminator = None;
    assert_eq!(at_receiver(&doubled, 156_000_000), NONE);
    // Behind it the window of the slower way counts: 3018.3 bit after 12,336.
    assert_eq!(at_receiver(&doubled, 153_550_000), NONE);
    assert!(!at_receiver(&doubled, 153_500_000).is_empty());
    assert!(!at_receiver(&twice, 156_000_000).is_empty());
}

/// D_mc = 20 us + 3 · (36,096 bit / 100 Mbit/s + 50 ns + 20 us) + 2 · 246.72 us.
#[test]
fn a_change_of_level_takes_three_waves_and_what_cannot_be_overtaken() {
    let levels = levels();

    let proven = check(&levels).unwrap();

    assert_eq!(proven.promises.len(), 3, "the film is given up above");
    for level in [0, 1] {
        let mut less = levels.clone();
        let promised = less.flows[0].guarantees_ps[level].unwrap();
        assert_eq!(promised, 494_870_000 + 1_656_470_000);
        less.flows[0].guarantees_ps[level] = Some(promised - 1);
        let objections = refusals(&less);
        assert!(objections[0].contains("at level `"), "{objections:?}");
    }
}

#[test]
fn what_a_level_gives_up_stands_in_no_queue_of_what_it_serves() {
    let mut same_queue = levels();
    same_queue.flows[1].demand.levels[0].as_mut().unwrap().class = 6;

    let objections = refusals(&same_queue);

    assert!(objections[0].contains("may stand before"), "{objections:?}");
}

#[test]
fn a_higher_level_lets_no_flow_overtake_itself_or_ask_for_less() {
    let mut urgent = levels();
    urgent.flows[0].demand.levels[0].as_mut().unwrap().class = 4;
    let mut shrinks = levels();
    shrinks.flows[0].demand.levels[1].as_mut().unwrap().rate_bps = 147_199;

    assert!(refusals(&urgent)[0].contains("overtake"));
    assert!(refusals(&shrinks)[0].contains("brings less"));
}

#[test]
fn what_a_change_holds_back_comes_in_one_burst() {
    let mut fast = levels();
    let above = fast.flows[0].demand.levels[1].as_mut().unwrap();
    // 8 Mbit/s for 1.65 ms are another 13 kbit.
    above.rate_bps = 8_000_000;

    assert_eq!(refusals(&levels()), NONE);
    assert!(refusals(&fast)[0].contains("budget"));
}

/// A change, and what it is refused for.
type Refused = (&'static str, fn(&mut Certificate));

const NO_NETWORK: &[Refused] = &[
    ("name is there twice", |it| {
        it.network.hosts[1].name = "h1".to_owned()
    }),
    ("name is there twice", |it| {
        it.network.links[1].name = "h1".to_owned()
    }),
    ("larger or longer", |it| {
        let profile = it.network.profiles[0].clone();
        it.network.profiles = vec![profile; crate::map::MOST_PARTS + 1];
    }),
    ("no such interval", |it| {
        it.network.probe_interval_ps = u64::MAX
    }),
    ("most urgent first", |it| it.network.classes = vec![8, 7, 6]),
    ("most urgent first", |it| it.network.classes = vec![7, 6, 6]),
    ("larger or longer", |it| {
        figures(it, |it| it.latency_ps = u64::MAX)
    }),
    ("larger or longer", |it| {
        figures(it, |it| it.pool_frames = u64::MAX)
    }),
    ("no host sends such", |it| unpromised(it, [0, 672, 672])),
    ("no host sends such", |it| {
        unpromised(it, [u64::MAX, 672, 672])
    }),
    ("no host sends such", |it| unpromised(it, [1_000, 672, 511])),
    ("no host sends such", |it| unpromised(it, [1_000, 672, 673])),
    ("no host sends such", |it| {
        unpromised(it, [1_000, 12_337, 672])
    }),
    ("larger or longer", |it| {
        it.network.links[3].rate_bps = u64::MAX
    }),
    ("larger or longer", |it| {
        it.network.links[3].propagation_ps = u64::MAX
    }),
    ("joins no two switches", |it| {
        it.network.links[1].ends[0].node = "relay".to_owned()
    }),
    ("joins no two switches", |it| {
        it.network.links[1].ends[1] = End {
            node: "s1".to_owned(),
            port: 9,
        };
    }),
    ("no switch `h1`", |it| {
        it.levels[0].processors[0].switch = "h1".to_owned()
    }),
    ("larger or longer", |it| {
        it.levels[0].ports[0].budget_ps = u64::MAX
    }),
];

const NO_FLOW: &[Refused] = &[
    ("too many links", |it| it.flows[0].path = vec![0; 4_097]),
    ("more than is computed with", |it| {
        it.levels[0].processors[0].budget_ps = crate::map::LONGEST_PS;
    }),
    ("larger or longer", |it| service(it, 0).rate_bps = u64::MAX),
    ("larger or longer", |it| {
        service(it, 0).deadline_ps = u64::MAX
    }),
    ("larger or longer", |it| {
        service(it, 0).frames = Some(Frames {
            millionths_per_second: u64::MAX,
            burst_millionths: 2_000_000,
        });
    }),
    ("fewer frames", |it| {
        service(it, 0).frames = Some(Frames {
            millionths_per_second: 50_000_000,
            burst_millionths: 2_000_000,
        });
    }),
    ("smaller than Ethernet", |it| {
        service(it, 0).smallest_frame_bit = 511
    }),
    ("nobody else", |it| it.flows[0].demand.receivers.clear()),
    ("nobody else", |it| {
        it.flows[0].demand.receivers = vec!["h1".to_owned()]
    }),
    // Of a class below, larger than any frame without a promise.
    ("frames of class 7", |it| {
        it.flows[1].guarantees_ps = vec![Some(800_000_000)];
        it.levels[0].ports[1].budget_ps = 500_000_000;
        *service(it, 1) = Service {
            deadline_ps: 900_000_000,
            ..contract(6, [4_672_000, 20_000, 20_000])
        };
    }),
];

/// Of the ring, from h3 over s3 and s2 to h2.
const NO_WAY: &[Refused] = &[
    ("it ends at a switch", |it| {
        it.flows[1].path = vec![2, 5, 1, 4]
    }),
    ("it meets a switch twice", |it| {
        it.flows[1].path = vec![2, 5, 1, 4, 3]
    }),
    ("it is in pieces", |it| it.flows[1].path = vec![2, 5, 1, 0]),
    ("does not reach a receiver", |it| {
        it.flows[1].demand.receivers.push("h1".to_owned());
    }),
    ("a host that does not receive", |it| {
        it.flows[1].path = vec![2, 5, 1, 4, 0]
    }),
    ("crosses a link twice", |it| {
        it.flows[1].path = vec![2, 5, 1, 5]
    }),
    ("does not begin with", |it| it.flows[1].path = vec![5, 1]),
];

const NO_LEVELS: &[Refused] = &[
    ("more than is computed with", |it| {
        it.network.links[4].propagation_ps = crate::map::LONGEST_PS;
    }),
    ("brings less", |it| {
        it.flows[0].demand.levels[0].as_mut().unwrap().burst_bit += 1;
    }),
    ("brings less", |it| {
        it.flows[0].demand.levels[0]
            .as_mut()
            .unwrap()
            .largest_frame_bit += 1;
    }),
    ("queue of signals", |it| {
        it.network.classes.insert(0, 7);
        for level in it.flows[0].demand.levels.iter_mut().flatten() {
            level.class = 7;
        }
    }),
    ("exactly where there are several", |it| {
        it.network.changes = Changes::Nobody
    }),
];

#[test]
fn what_there_cannot_be_is_refused() {
    let mut escaped = Vec::new();
    for (certificate, cases) in [
        (by_hand(), NO_NETWORK),
        (by_hand(), NO_FLOW),
        (ring(), NO_WAY),
        (levels(), NO_LEVELS),
    ] {
        for (at, (expected, change)) in cases.iter().enumerate() {
            let mut altered = certificate.clone();
            change(&mut altered);

            let objections = check(&altered.seal()).err().unwrap_or_default();

            let texts: Vec<_> = objections.iter().map(ToString::to_string).collect();
            if !texts.iter().any(|text| text.contains(expected)) {
                escaped.push(format!("{at}: `{expected}` in {texts:?}"));
            }
        }
    }
    assert!(escaped.is_empty(), "{escaped:#?}");
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

#[test]
fn what_is_no_certificate_says_why() {
    let other = Certificate {
        format: "taktos certificate 1".to_owned(),
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
    fn any_numbers_are_refused_or_proven(
        numbers in prop::collection::vec(any::<u64>(), 1..8),
        seed in any::<u64>(),
        which in 0usize..4,
    ) {
        let certificate = [by_hand(), ring(), copies(), levels()][which].clone();
        let mut document = serde_json::to_value(certificate).unwrap();
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

const NONE: [&str; 0] = [];
const BUDGET: &str = "budget";

/// Returns what is refused, a budget that does not hold as that word alone.
fn refusals(certificate: &Certificate) -> Vec<String> {
    let objections = check(certificate).err().unwrap_or_default();
    let texts = objections.iter().map(|objection| match objection.reason {
        Reason::Budget {
            class: None,
            case: FailureCase { without: None, .. },
            ..
        } => BUDGET.to_owned(),
        _ => objection.to_string(),
    });
    texts.collect()
}

fn altered(change: impl FnOnce(&mut Certificate)) -> Certificate {
    let mut certificate = by_hand();
    change(&mut certificate);
    certificate.seal()
}

fn service(certificate: &mut Certificate, flow: usize) -> &mut Service {
    certificate.flows[flow].demand.levels[0].as_mut().unwrap()
}

/// Changes the figures of the profile, and its digest with them.
fn figures(certificate: &mut Certificate, change: impl FnOnce(&mut Figures)) {
    let profile = &mut certificate.network.profiles[0];
    change(&mut profile.figures);
    profile.sha256 = profile.figures.digest();
}

fn unpromised(certificate: &mut Certificate, numbers: [u64; 3]) {
    let [rate_bps, largest_frame_bit, smallest_frame_bit] = numbers;
    certificate.network.hosts[3].unpromised = Some(BestEffort {
        rate_bps,
        largest_frame_bit,
        smallest_frame_bit,
    });
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

/// A trip and a sample that cross a processor of 10 us and 1 us a frame, where a host
/// sends 1,000 frames a second without a promise, then a port of 100 Mbit/s.
fn by_hand() -> Certificate {
    let mut network = network_of(&["s1"]);
    network.hosts = ["h1", "h2", "relay", "noisy"].map(host).to_vec();
    network.hosts[3].unpromised = Some(BestEffort {
        rate_bps: 672_000,
        largest_frame_bit: 1_344,
        smallest_frame_bit: 672,
    });
    network.links = vec![
        link("h1", ("s1", 1), ("h1", 1)),
        link("h2", ("s1", 2), ("h2", 1)),
        link("relay", ("s1", 3), ("relay", 1)),
        link("noisy", ("s1", 4), ("noisy", 1)),
    ];
    let certificate = Certificate {
        format: FORMAT.to_owned(),
        network,
        levels: vec![Level {
            name: None,
            processors: vec![processor("s1")],
            ports: vec![port("s1", 3, 7, 200), port("s1", 3, 6, 300)],
        }],
        flows: vec![
            flow("trip", ["h1", "relay"], trip(), 234_820_000, &[0, 2]),
            flow("sample", ["h2", "relay"], sample(), 331_780_000, &[1, 2]),
        ],
        sha256: String::new(),
        signature: None,
    };
    certificate.seal()
}

/// A trip from s1 to s2 that goes over s3 without the link between them, and another
/// from s3 to s2.
fn ring() -> Certificate {
    let mut network = network_of(&["s1", "s2", "s3"]);
    network.hosts = ["h1", "h2", "h3"].map(host).to_vec();
    network.links = vec![
        link("h1", ("s1", 1), ("h1", 1)),
        link("h2", ("s2", 1), ("h2", 1)),
        link("h3", ("s3", 1), ("h3", 1)),
        link("s1-s2", ("s1", 2), ("s2", 2)),
        link("s1-s3", ("s1", 3), ("s3", 3)),
        link("s2-s3", ("s2", 3), ("s3", 2)),
    ];
    let mut protected = flow("trip", ["h1", "h2"], trip(), 800_000_000, &[0, 3, 1]);
    protected.demand.protection = Protection::Restore;
    protected.alternatives = vec![Alternative {
        without: 3,
        path: vec![0, 4, 5, 1],
    }];
    let other = flow("other", ["h3", "h2"], trip(), 800_000_000, &[2, 5, 1]);
    let certificate = Certificate {
        format: FORMAT.to_owned(),
        network,
        levels: vec![Level {
            name: None,
            // Five probes come over each link from another switch.
            processors: ["s1", "s2", "s3"]
                .map(|switch| ProcessorBudget {
                    budget_ps: 30_000_000,
                    ..processor(switch)
                })
                .to_vec(),
            ports: vec![
                port("s1", 2, 7, 200),
                port("s1", 3, 7, 200),
                port("s2", 1, 7, 250),
                port("s3", 2, 7, 200),
            ],
        }],
        flows: vec![protected, other],
        sha256: String::new(),
        signature: None,
    };
    certificate.seal()
}

/// The trip of the ring with a second copy over s3.
fn copies() -> Certificate {
    let mut certificate = ring();
    certificate.flows.truncate(1);
    let flow = &mut certificate.flows[0];
    flow.demand.protection = Protection::Copies;
    flow.alternatives.clear();
    flow.copies = Some(Copies {
        path: vec![0, 4, 5, 1],
        eliminator: Some("s2".to_owned()),
    });
    certificate.seal()
}

/// Two levels: a camera that sends more often at the higher one, which gives a film up.
fn levels() -> Certificate {
    let mut network = network_of(&["s1", "s2"]);
    network.changes = Changes::Switches;
    network.classes = vec![6, 5, 4];
    network.hosts = ["h1", "h2", "h3", "h4"].map(host).to_vec();
    network.links = vec![
        link("h1", ("s1", 1), ("h1", 1)),
        link("h2", ("s2", 1), ("h2", 1)),
        link("h3", ("s1", 3), ("h3", 1)),
        link("h4", ("s2", 3), ("h4", 1)),
        link("trunk", ("s1", 2), ("s2", 2)),
    ];
    let ports = |class| [("s1", 2), ("s2", 1)].map(|(at, number)| port(at, number, class, 220));
    let film = [port("s1", 2, 5, 400), port("s2", 3, 5, 400)];
    let level = |name: &str, processors: Vec<_>, ports| Level {
        name: Some(name.to_owned()),
        processors,
        ports,
    };
    let lowest: Vec<_> = ports(6).into_iter().chain(film).collect();
    let processors = || ["s1", "s2"].map(processor).to_vec();
    let mut camera = flow("camera", ["h1", "h2"], trip(), 0, &[0, 4, 1]);
    let [low, high] = [147_200, 294_400].map(|rate_bps| Service {
        class: 6,
        rate_bps,
        deadline_ps: 3_000_000_000,
        ..trip()
    });
    camera.demand.levels = vec![Some(low), Some(high)];
    // 14.77 us, two processors of 20 us, two ports of 220 us, their links, and a change.
    camera.guarantees_ps = vec![Some(494_870_000 + 1_656_470_000); 2];
    let mut movie = flow("film", ["h3", "h4"], sample(), 900_000_000, &[2, 4, 3]);
    let service = Service {
        class: 5,
        deadline_ps: 1_000_000_000,
        ..sample()
    };
    movie.demand.levels = vec![Some(service), None];
    movie.guarantees_ps = vec![Some(900_000_000), None];
    let certificate = Certificate {
        format: FORMAT.to_owned(),
        network,
        levels: vec![
            level("lo", processors(), lowest),
            level("hi", processors(), ports(6).to_vec()),
        ],
        flows: vec![camera, movie],
        sha256: String::new(),
        signature: None,
    };
    certificate.seal()
}

fn network_of(switches: &[&str]) -> Network {
    let figures = Figures {
        latency_ps: 10_000_000,
        per_frame_ps: 1_000_000,
        pool_frames: 100,
        queue_frames: 100,
    };
    let datapaths = 1..;
    Network {
        name: "by hand".to_owned(),
        profiles: vec![Profile {
            name: "board".to_owned(),
            figures,
            sha256: figures.digest(),
        }],
        switches: switches
            .iter()
            .zip(datapaths)
            .map(|(name, datapath)| Switch {
                name: (*name).to_owned(),
                datapath,
                profile: "board".to_owned(),
            })
            .collect(),
        hosts: Vec::new(),
        links: Vec::new(),
        classes: vec![7, 6],
        probe_interval_ps: 1_000_000_000_000,
        changes: Changes::Nobody,
    }
}

fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        unpromised: None,
    }
}

/// A link of 100 Mbit/s and 50 ns.
fn link(name: &str, one: (&str, u32), other: (&str, u32)) -> Link {
    Link {
        name: name.to_owned(),
        ends: [one, other].map(|(node, port)| End {
            node: node.to_owned(),
            port,
        }),
        rate_bps: 100_000_000,
        propagation_ps: 50_000,
    }
}

fn processor(switch: &str) -> ProcessorBudget {
    ProcessorBudget {
        switch: switch.to_owned(),
        budget_ps: 20_000_000,
    }
}

fn port(switch: &str, port: u32, class: u8, budget_us: u64) -> PortBudget {
    PortBudget {
        switch: switch.to_owned(),
        port,
        class,
        budget_ps: budget_us * 1_000_000,
    }
}

const fn trip() -> Service {
    contract(7, [147_200, 2_944, 1_472])
}

const fn sample() -> Service {
    contract(6, [4_672_000, 1_168, 1_168])
}

const fn contract(class: u8, [rate_bps, burst_bit, frame_bit]: [u64; 3]) -> Service {
    Service {
        class,
        rate_bps,
        burst_bit,
        largest_frame_bit: frame_bit,
        smallest_frame_bit: frame_bit,
        frames: None,
        deadline_ps: if class == 7 { 900_000_000 } else { 400_000_000 },
    }
}

fn flow(
    name: &str,
    [source, receiver]: [&str; 2],
    service: Service,
    guarantee_ps: u64,
    path: &[usize],
) -> Flow {
    Flow {
        demand: Demand {
            name: name.to_owned(),
            source: source.to_owned(),
            receivers: vec![receiver.to_owned()],
            protection: Protection::None,
            tag_bit: 0,
            hold_ps: 0,
            bfd_interval_ps: None,
            levels: vec![Some(service)],
        },
        guarantees_ps: vec![Some(guarantee_ps)],
        path: path.to_vec(),
        alternatives: Vec::new(),
        copies: None,
    }
}
