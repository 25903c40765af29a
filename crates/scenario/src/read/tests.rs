use std::io;
use std::num::NonZeroU32;

use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;
use units::{BitRate, Delay};

use super::*;
use crate::shape::LONGEST_DELAY;
use crate::{
    Capture, Change, Criticality, Destination, Direction, End, ErrorKind, Excess, FlowIndex,
    ForeignFrames, HostDiscovery, HostIndex, Impairment, LinkIndex, Node, PlantedError, Protection,
    StateChanges, SwitchIndex, TimedEvent, Traffic,
};

/// A scenario in which everything is right. Tests add a mistake to it.
const RIGHT: &str = r#"
[scenario]
title = "Test"
duration = "10 s"
[switches]
s1 = {}
s2 = {}
[hosts]
a = { at = "s1" }
b = { at = "s2" }
c = { at = "s2" }
[links]
uplink = ["s1", "s2"]
[flows.sv]
kind = "sampled-values"
from = "a"
to = ["b", "c"]
frame = "122 B"
period = "250 us"
deadline = "2 ms"
"#;

#[test]
fn a_right_scenario_is_read_with_its_defaults() {
    let scenario = parse(RIGHT).unwrap();

    assert_eq!((scenario.name.as_str(), scenario.seed), ("test", 1));
    assert_eq!(scenario.duration, Duration::from_secs(10));
    let classes: Vec<_> = scenario.classes.iter().map(|class| class.queue).collect();
    assert_eq!(classes, [6, 5, 3, 0]);
    assert_eq!(scenario.profiles.len(), 1);
    assert_eq!(scenario.profile_of(SwitchIndex(0)).name, "taktos-packet");
    assert_eq!(scenario.control.hosts, HostDiscovery::FirstFrame);
    assert_eq!(scenario.measurement.capture, Capture::Nothing);
    let flow = &scenario.flows[0];
    assert_eq!(scenario.class_of(flow).name, "sampled-values");
    assert_eq!(flow.receivers, [HostIndex(1), HostIndex(2)]);
    assert_eq!(flow.criticality, Criticality(0));
    assert_eq!(flow.protection, Protection::None);
    let Traffic::SampledValues(traffic) = &flow.traffic else {
        panic!("{:?}", flow.traffic);
    };
    assert_eq!(traffic.jitter, Duration::from_us(250));
}

#[test]
fn ports_count_from_1_in_the_order_of_declaration() {
    let scenario = parse(RIGHT).unwrap();

    let link = |name: &str| {
        scenario
            .links
            .iter()
            .find(|link| link.name == name)
            .unwrap()
    };
    let end = |node, port| End { node, port };
    let (s1, s2) = (Node::Switch(SwitchIndex(0)), Node::Switch(SwitchIndex(1)));
    // The links of hosts that say `at` come first.
    assert_eq!(
        link("a-s1").ends,
        [end(Node::Host(HostIndex(0)), 1), end(s1, 1)]
    );
    assert_eq!(
        link("c-s2").ends,
        [end(Node::Host(HostIndex(2)), 1), end(s2, 2)]
    );
    assert_eq!(link("uplink").ends, [end(s1, 2), end(s2, 3)]);
    assert_eq!(link("uplink").rate, BitRate::from_mbps(1000));
    assert_eq!(link("a-s1").rate, BitRate::from_mbps(100));
    assert_eq!(link("uplink").propagation, Delay::from_ns(50));
    let ports: Vec<_> = scenario.switches[1]
        .ports
        .iter()
        .map(|link| link.0)
        .collect();
    assert_eq!(ports, [1, 2, 3]);
}

#[test]
fn generated_addresses_go_around_given_ones() {
    let text = RIGHT.replace(
        r#"a = { at = "s1" }"#,
        r#"a = { at = "s1", mac = "02:00:00:00:00:02", ip = "10.0.0.1" }"#,
    );
    let text = text.replace("s1 = {}", "s1 = { datapath_id = 2 }");

    let scenario = parse(&text).unwrap();

    let macs: Vec<_> = scenario.hosts.iter().map(|host| host.mac[5]).collect();
    assert_eq!(macs, [2, 1, 3]);
    let ips: Vec<_> = scenario
        .hosts
        .iter()
        .map(|host| host.ip.octets()[3])
        .collect();
    assert_eq!(ips, [1, 2, 3]);
    let ids: Vec<_> = scenario
        .switches
        .iter()
        .map(|switch| switch.datapath_id)
        .collect();
    assert_eq!(ids, [2, 3]);
}

#[test]
fn links_may_be_a_list_and_parallel_ones_get_a_number() {
    let text = RIGHT.replace(
        "[links]\nuplink = [\"s1\", \"s2\"]",
        "[[links]]\nends = [\"s1\", \"s2\"]\nlength = \"20 km\"\n\
         [[links]]\nends = [\"s1\", \"s2\"]\npropagation = \"7 ns\"\n\
         [[links]]\nname = \"third\"\nends = [\"s1\", \"s2\"]\nrate = \"10 Mbit/s\"",
    );

    let scenario = parse(&text).unwrap();

    let links: Vec<_> = scenario.links[3..]
        .iter()
        .map(|link| link.name.as_str())
        .collect();
    assert_eq!(links, ["s1-s2", "s1-s2-2", "third"]);
    assert_eq!(scenario.links[3].propagation, Delay::from_us(100));
    assert_eq!(scenario.links[4].propagation, Delay::from_ns(7));
    assert_eq!(scenario.links[5].rate, BitRate::from_mbps(10));
}

#[test]
fn a_flow_takes_over_what_its_template_has() {
    let text = RIGHT.to_owned()
        + r#"
[templates.trip]
kind = "goose"
frame = "160 B"
deadline = "600 us"
changes = ["1 s", "2 s"]
protection = "restore"
interruption = "10 ms"
covers = "any"
[flows.trip]
like = "trip"
from = "b"
to = "a"
deadline = "1 ms"
"#;

    let flow = &parse(&text).unwrap().flows[1];

    assert_eq!(flow.deadline, Some(Duration::from_ms(1)));
    let interruption = Duration::from_ms(10);
    let covers_any_fault = true;
    assert_eq!(
        flow.protection,
        Protection::Restore {
            interruption,
            covers_any_fault
        }
    );
    let Traffic::Goose(goose) = &flow.traffic else {
        panic!("{:?}", flow.traffic);
    };
    let changes = vec![Duration::from_secs(1), Duration::from_secs(2)];
    assert_eq!(goose.changes, StateChanges::At(changes));
    assert_eq!(goose.min_spacing, Duration::from_ms(4));
}

#[test]
fn the_frames_of_what_is_sent_all_the_time_are_heart_beats() {
    let sv = |keys: &str| {
        let text = "[flows.beats]\nkind = \"sampled-values\"\nfrom = \"a\"\nto = \"b\"\n\
                    frame = \"122 B\"\nperiod = \"250 us\"\ndeadline = \"2 ms\"\n\
                    protection = \"heart-beat\"\n";
        [RIGHT, text, keys].concat()
    };
    let named = |scenario: &Scenario| {
        let flow = scenario.flows.iter().find(|flow| flow.name == "beats");
        flow.unwrap().protection
    };
    let interruption = Duration::from_ms(2);

    for covers in ["", "covers = \"any\"\n"] {
        let text = sv("interruption = \"2 ms\"\n") + covers;
        assert_eq!(
            named(&parse(&text).unwrap()),
            Protection::HeartBeat { interruption }
        );
    }
    for (wrong, code) in [
        (sv(""), "missing_key"),
        (
            sv("interruption = \"2 ms\"\ncovers = \"carrier-loss\"\n"),
            "contradiction",
        ),
        (
            sv("interruption = \"2 ms\"\n").replace(
                "sampled-values\"\nfrom = \"a\"\nto = \"b\"\nframe",
                "udp\"\nfrom = \"a\"\nto = \"b\"\nframe",
            ),
            "contradiction",
        ),
    ] {
        assert_eq!(codes(&parse(&wrong).unwrap_err()), [code], "{wrong}");
    }
}

#[test]
fn every_flow_can_be_told_apart_by_its_destination() {
    let udp = |name: &str, to: &str| {
        format!(
            "[flows.{name}]\nkind = \"udp\"\nfrom = \"a\"\nto = {to}\nframe = \"306 B\"\n\
             period = \"10 ms\"\ndeadline = \"9 ms\"\n"
        )
    };
    let text = [
        RIGHT.to_owned(),
        udp("u1", "\"b\""),
        udp("u2", "\"b\""),
        udp("u3", "[\"b\", \"c\"]"),
        udp("u4", "[\"b\", \"c\"]"),
    ];

    let scenario = parse(&text.concat()).unwrap();

    let mut destinations: Vec<_> = scenario.flows.iter().map(|flow| flow.destination).collect();
    assert!(destinations.contains(&Destination::Ethernet {
        mac: [0x01, 0x0C, 0xCD, 0x04, 0, 0],
        application: 0x4000,
    }));
    destinations.sort();
    destinations.dedup();
    assert_eq!(destinations.len(), 5);
}

#[test]
fn a_flow_set_draws_the_same_flows_every_time() {
    let set = r#"
[[flow_sets]]
prefix = "u"
count = 20
kind = "udp"
frame = ["100 B", "200 B"]
period = ["10 ms", "20 ms"]
deadline = "5 ms"
receivers = 2
"#;
    let text = RIGHT.to_owned() + set;

    let scenario = parse(&text).unwrap();

    assert_eq!(scenario.flows.len(), 21);
    assert_eq!(scenario.flows[20].name, "u20");
    assert!(
        scenario
            .flows
            .iter()
            .all(|flow| !flow.receivers.contains(&flow.source))
    );
    assert_eq!(scenario, parse(&text).unwrap());
    let other = parse(&(text + "seed = 2\n")).unwrap();
    assert_ne!(scenario.flows, other.flows);
}

#[test]
fn events_are_sorted_and_a_moving_host_gets_a_free_port() {
    let text = RIGHT.to_owned()
        + r#"
[[events]]
at = "5 s"
kind = "heal"
link = "uplink"
[[events]]
at = "4 s"
kind = "cut"
link = "uplink"
[[events]]
at = "6 s"
kind = "host-moves"
host = "b"
to = "s1"
"#;

    let events = parse(&text).unwrap().events;

    assert_eq!(events[0].change, Change::Cut(LinkIndex(3)));
    assert_eq!(events[1].change, Change::Heal(LinkIndex(3)));
    let to = End {
        node: Node::Switch(SwitchIndex(0)),
        port: 3,
    };
    assert_eq!(
        events[2].change,
        Change::HostMoves {
            host: HostIndex(1),
            to
        }
    );
}

#[test]
fn a_class_may_budget_by_the_rate_of_links() {
    let text = RIGHT.to_owned()
        + "[classes.sampled-values]\nqueue = 7\n\
           budget = { \"100 Mbit/s\" = \"300 us\", \"1 Gbit/s\" = \"40 us\" }\n";

    let class = &parse(&text).unwrap().classes[0];

    assert_eq!(
        class.budget_at(BitRate::from_mbps(100)),
        Some(Delay::from_us(300))
    );
    assert_eq!(
        class.budget_at(BitRate::from_mbps(1000)),
        Some(Delay::from_us(40))
    );
    assert_eq!(class.budget_at(BitRate::from_mbps(10)), None);
}

#[test]
fn networks_are_generated_and_imported() {
    let generated = |lines: &str| {
        let text = format!("[scenario]\ntitle = \"x\"\n[network]\n{lines}\nhosts_per_switch = 2\n");
        let scenario = parse(&text).unwrap();
        (
            scenario.switches.len(),
            scenario.hosts.len(),
            scenario.links.len(),
        )
    };

    assert_eq!(generated("generator = \"ring\"\nsize = 4"), (4, 8, 12));
    assert_eq!(
        generated("generator = \"grid\"\nrows = 2\ncolumns = 3"),
        (6, 12, 19)
    );
    assert_eq!(
        generated("generator = \"tree\"\ndepth = 3\nfan_out = 2"),
        (7, 14, 20)
    );
}

#[test]
fn a_short_imported_link_gets_the_minimum_length() {
    let text = "[scenario]\ntitle = \"x\"\n[network]\nimport = \"t.json\"\nhosts_per_switch = 1\n";
    let topology = r#"{"nodes": [{"id": 0, "name": "x y"}, {"id": 1}],
                       "links": [{"a": 0, "b": 1, "length_km": 0}]}"#;

    let scenario = Scenario::parse("x.toml", text, &mut |file| {
        assert_eq!(file, "t.json");
        Ok(topology.to_owned())
    })
    .unwrap();

    assert_eq!(scenario.switches[0].name, "x-y");
    assert_eq!(scenario.hosts[0].name, "x-y-h");
    assert_eq!(scenario.links[0].propagation, Delay::from_ns(500));
    assert_eq!(scenario.links[0].rate, BitRate::from_mbps(1000));
}

#[test]
fn each_mistake_is_named_where_it_is() {
    for &(find, replace, code, says) in MISTAKES {
        assert!(RIGHT.contains(find), "{find}");
        let error = parse(&RIGHT.replacen(find, replace, 1)).expect_err(replace);

        let problems = error.problems().iter();
        let mut of_this_code = problems.filter(|problem| problem.mistake.code() == code);
        let problem = of_this_code.next();
        let problem = problem.unwrap_or_else(|| panic!("{replace}: {:?}", codes(&error)));
        let help = problem.mistake.help().unwrap_or_default();
        let text = format!("{problem} {help}");
        assert!(text.contains(says), "{replace}: {text}");
    }
}

#[test]
fn events_that_make_no_sense_are_refused() {
    for (events, says) in [
        (
            &[("1 s", "heal", "link = \"uplink\"")][..],
            "link `uplink` is not cut",
        ),
        (
            &[
                ("1 s", "cut", "link = \"uplink\""),
                ("2 s", "cut", "link = \"uplink\""),
            ],
            "link `uplink` is cut already",
        ),
        (
            &[("1 s", "switch-restart", "switch = \"s1\"")],
            "switch `s1` has not crashed",
        ),
        (
            &[("1 s", "host-moves", "host = \"a\"\nto = \"s1\"")],
            "host `a` is at `s1` already",
        ),
        (
            &[("1 s", "switch-crash", "switch = \"a\"")],
            "`a` is a host",
        ),
        (
            &[
                ("1 s", "switch-kill", "switch = \"s1\""),
                ("2 s", "switch-crash", "switch = \"s1\""),
            ],
            "switch `s1` has crashed already",
        ),
        (&[("1 s", "cut", "switch = \"s1\"")], "`link` is missing"),
        (
            &[("10 s", "cut", "link = \"uplink\"")],
            "after the end of the run",
        ),
    ] {
        refuses(events, says);
    }
}

#[test]
fn planted_errors_that_make_no_sense_are_refused() {
    for (events, says) in [
        (
            &[("1 s", "slow-switch", "switch = \"s1\"\nextra = \"0 us\"")][..],
            "zero",
        ),
        (
            &[("1 s", "slow-switch", "switch = \"s1\"")],
            "`extra` is missing",
        ),
        (
            &[("1 s", "slow-link", "link = \"uplink\"\nby = \"100 %\"")],
            "99.9 %",
        ),
        (&[("1 s", "exceed", "flow = \"sv\"\nfactor = 0.5")], "1.001"),
        (
            &[(
                "1 s",
                "exceed",
                "flow = \"sv\"\nfactor = 2\nburst = \"9 kB\"",
            )],
            "two errors",
        ),
        (
            &[
                ("1 s", "exceed", "flow = \"sv\"\nfactor = 2"),
                ("2 s", "exceed", "flow = \"sv\"\nfactor = 3"),
            ],
            "exceeds its contract already",
        ),
        (
            &[(
                "2 s",
                "exceed",
                "flow = \"sv\"\nfactor = 2\nuntil = \"1 s\"",
            )],
            "begins at 2 s and ends at 1 s",
        ),
        (
            &[(
                "1 s",
                "foreign",
                "host = \"a\"\nlike = \"sv\"\nrate = \"1 Mbit/s\"",
            )],
            "is sent by that host",
        ),
        (
            &[("1 s", "foreign", "host = \"b\"\nrate = \"1 Mbit/s\"")],
            "`like` is missing",
        ),
        (
            &[("1 s", "flood", "host = \"b\"\nrate = \"10 Gbit/s\"")],
            "10 Gbit/s",
        ),
    ] {
        refuses(events, says);
    }
}

fn refuses(events: &[(&str, &str, &str)], says: &str) {
    let mut text = RIGHT.to_owned();
    for (at, kind, target) in events {
        text += &format!("[[events]]\nat = \"{at}\"\nkind = \"{kind}\"\n{target}\n");
    }

    let error = parse(&text).expect_err(says);

    let found = error
        .problems()
        .iter()
        .any(|problem| problem.to_string().contains(says));
    assert!(found, "{says}: {error:?}");
}

#[test]
fn a_fault_begins_and_ends_by_one_event_and_may_follow_itself() {
    let events = r#"
[[events]]
at = "3 s"
kind = "lose"
link = "uplink"
one_in = 100
[[events]]
at = "1 s"
kind = "lose"
link = "uplink"
from = "s1"
until = "3 s"
[[events]]
at = "2 s"
kind = "isolate"
switch = "s1"
until = "4 s"
"#;

    let events = parse(&(RIGHT.to_owned() + events)).unwrap().events;

    let loss = |direction, one_in| Change::Impair {
        link: LinkIndex(3),
        direction,
        impairment: Impairment::Loss,
        one_in: NonZeroU32::new(one_in),
    };
    let s1 = SwitchIndex(0);
    let expected = [
        (1, loss(Direction::From(0), 1)),
        (2, Change::Isolate(s1)),
        (3, loss(Direction::From(0), 0)),
        (3, loss(Direction::Both, 100)),
        (4, Change::Rejoin(s1)),
    ];
    let expected = expected.map(|(at, change)| TimedEvent {
        at: Duration::from_secs(at),
        change,
    });
    assert_eq!(events, expected);
}

#[test]
fn a_link_that_flaps_is_cut_in_every_period_and_whole_at_the_end() {
    let events = "[[events]]\nat = \"1 s\"\nkind = \"flap\"\nlink = \"uplink\"\n\
                  period = \"100 ms\"\nuntil = \"1220 ms\"\n";

    let events = parse(&(RIGHT.to_owned() + events)).unwrap().events;

    let at = |ms| Duration::from_ms(ms);
    let times = [1_000, 1_050, 1_100, 1_150, 1_200, 1_220].map(at);
    assert_eq!(events.iter().map(|it| it.at).collect::<Vec<_>>(), times);
    for pair in events.chunks(2) {
        assert_eq!(pair[0].change, Change::Cut(LinkIndex(3)));
        assert_eq!(pair[1].change, Change::Heal(LinkIndex(3)));
    }
}

#[test]
fn faults_that_make_no_sense_are_refused() {
    let lose = |more: &'static str| [("1 s", "lose", more)];
    for (events, says) in [
        (&lose("from = \"s1\"")[..], "`link` is missing"),
        (
            &lose("link = \"uplink\"\nfrom = \"a\"")[..],
            "`uplink` has no end at `a`",
        ),
        (&lose("link = \"uplink\"\none_in = 0")[..], "out of range"),
        (
            &lose("link = \"uplink\"\nuntil = \"1 s\"")[..],
            "begins at 1 s and ends at 1 s",
        ),
        (
            &[
                ("1 s", "lose", "link = \"uplink\"\nfrom = \"s1\""),
                ("2 s", "lose", "link = \"uplink\""),
            ],
            "link `uplink` loses frames already",
        ),
        (
            &[
                ("1 s", "isolate", "switch = \"s1\""),
                ("2 s", "isolate", "switch = \"s1\""),
            ],
            "switch `s1` is isolated already",
        ),
        (&[("1 s", "isolate", "switch = \"a\"")], "`a` is a host"),
        (
            &[("1 s", "flap", "link = \"uplink\"\nperiod = \"1 ms\"")],
            "`until` is missing",
        ),
        (
            &[(
                "1 s",
                "flap",
                "link = \"uplink\"\nperiod = \"1 us\"\nuntil = \"2 s\"",
            )],
            "the link would be cut 1000000 times",
        ),
        (
            &[(
                "1 s",
                "flap",
                "link = \"uplink\"\nperiod = \"1 ns\"\nuntil = \"2 s\"",
            )],
            "the link would be cut",
        ),
    ] {
        refuses(events, says);
    }
}

#[test]
fn errors_are_planted_in_order_of_time() {
    let events = r#"
[[events]]
at = "2 s"
kind = "exceed"
flow = "sv"
factor = 2.5
[[events]]
at = "1 s"
kind = "slow-link"
link = "uplink"
by = "5 %"
until = "3 s"
[[events]]
at = "3 s"
kind = "flood"
host = "b"
rate = "10 Mbit/s"
destination = "broadcast"
"#;

    let errors = parse(&(RIGHT.to_owned() + events)).unwrap().errors;

    assert_eq!(
        errors[0],
        PlantedError {
            from: Duration::from_secs(1),
            until: Some(Duration::from_secs(3)),
            kind: ErrorKind::SlowLink {
                link: LinkIndex(3),
                by_thousandths: 50
            },
        }
    );
    assert_eq!(
        errors[1].kind,
        ErrorKind::Exceed {
            flow: FlowIndex(0),
            excess: Excess::Factor { thousandths: 2500 }
        }
    );
    let ErrorKind::Foreign { frames, .. } = errors[2].kind else {
        panic!("{:?}", errors[2]);
    };
    assert_eq!(frames, ForeignFrames::FloodBroadcast);
}

#[test]
fn all_mistakes_of_a_file_are_shown_at_once() {
    let error = parse(include_str!("../../../../scenarios/malformed.toml")).unwrap_err();

    assert_eq!(
        codes(&error),
        [
            "unknown_name",   // s7
            "not_an_address", // of mu
            "unknown_choice", // sampled-value
            "not_a_quantity", // period
            "unknown_name",   // relai
            "frame_size",
            "unknown_key", // dedline
            "zero",        // deadline
            "after_the_end",
        ]
    );
}

#[test]
fn a_mistake_is_shown_in_the_file_with_what_would_be_right() {
    let text = "[scenario]\ntitle = \"x\"\n[switches]\ns1 = {}\n[links]\nuplink = [\"s1\", \"s7\"]";

    let shown = shown(text);

    let expected = r#"
  × no node is named `s7`
   ╭─[test.toml:6:17]
 5 │ [links]
 6 │ uplink = ["s1", "s7"]
   ·                 ──┬─
   ·                   ╰── not declared
   ╰────
  help: did you mean `s1`? Otherwise declare it under [switches] or [hosts]
"#;
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn several_mistakes_of_toml_itself_are_shown() {
    let error = parse("[scenario]\ntitle = x\nseed = \nduration = 5 s\n").unwrap_err();

    assert!(codes(&error).iter().all(|code| *code == "syntax"));
    assert!(error.problems().len() >= 2, "{error:?}");
}

#[test]
fn a_flood_of_mistakes_is_cut_and_counted() {
    let mut text = RIGHT.to_owned();
    for n in 0..200 {
        text += &format!("[flows.f{n}]\nkind = \"x\"\n");
    }

    let error = parse(&text).unwrap_err();

    assert_eq!(error.problems().len(), crate::MOST_PROBLEMS);
    assert!(
        error.to_string().contains("the first 100 are shown"),
        "{error}"
    );
}

#[test]
fn a_file_too_long_is_not_even_parsed() {
    let error = parse(&" ".repeat(LONGEST_FILE + 1)).unwrap_err();

    assert_eq!(codes(&error), ["file_too_long"]);
}

#[test]
fn a_mistake_in_an_endless_line_is_told_without_it() {
    let shown = shown(&format!("# {}\nx = 1", "endless ".repeat(1_000_000)));

    assert!(
        shown.len() < 2_000 && shown.contains("unknown key `x`"),
        "{shown}"
    );
}

#[test]
fn limits_are_mistakes_and_no_exhausted_machine() {
    let network = |lines: &str| format!("[scenario]\ntitle = \"x\"\n[network]\n{lines}\n");
    for (lines, says) in [
        (
            "generator = \"line\"\nsize = 6000\nhosts_per_switch = 1",
            "more than the 10000",
        ),
        (
            "generator = \"tree\"\ndepth = 9999\nfan_out = 9999",
            "more than the 10000",
        ),
        ("generator = \"line\"\nsize = 1000000000", "out of range"),
    ] {
        let error = parse(&network(lines)).unwrap_err();

        assert!(error.problems()[0].to_string().contains(says), "{error:?}");
    }
}

#[test]
fn built_in_profiles_are_right() {
    for (name, text) in crate::profile::BUILT_IN {
        let profile = Profile::parse(name, text).unwrap();

        assert_eq!(profile.name, name);
        assert!(profile.pool_frames.value >= profile.queue_frames.value);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    /// Text that is nearly right reaches further than noise.
    #[test]
    fn no_damaged_scenario_panics(
        file in 0usize..FILES.len(),
        at in 0usize..10_000,
        length in 0usize..60,
        insert in "(\\[|\\]|\\{|\\}|=|\"|\n|0|-1|99999999999999999999|1 us|s1|\\PC){0,4}",
    ) {
        let text = FILES[file];
        let boundary = |at: usize| (at..).find(|at| text.is_char_boundary(*at)).unwrap_or(at);
        let start = boundary(at % (text.len() + 1)).min(text.len());
        let end = boundary((start + length).min(text.len())).min(text.len());

        let damaged = format!("{}{insert}{}", &text[..start], &text[end..]);

        if let Err(error) = parse(&damaged) {
            let mut out = String::new();
            let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
            handler.render_report(&mut out, &error).unwrap();
        }
    }

    /// Every value of a right scenario replaced by another: the same keys, none
    /// of the meaning.
    #[test]
    fn no_exchanged_value_panics(which in 0usize..40, value in values()) {
        let text = FILES[0];
        let starts: Vec<_> = text.match_indices(" = ").map(|(at, _)| at + 3).collect();
        let start = starts[which * 7 % starts.len()];
        let end = text[start..].find('\n').map_or(text.len(), |length| start + length);

        let _ = parse(&format!("{}{value}{}", &text[..start], &text[end..]));
    }
}

/// What is replaced in the right scenario, by what, the code of the mistake and
/// what the message about it says.
#[rustfmt::skip]
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("title = \"Test\"", "title = Test", "syntax", ""),
    ("title = \"Test\"", "", "missing_key", "`title` is missing in [scenario]"),
    ("title =", "titel =", "unknown_key", "did you mean `title`?"),
    ("\"Test\"", "7", "wrong_type", "expected a text, found an integer"),
    ("\"250 us\"", "250", "not_a_quantity", "the unit is missing"),
    ("\"250 us\"", "\"250 ut\"", "not_a_quantity", "unknown unit `ut`"),
    ("\"2 ms\"", "\"0 ms\"", "zero", "a time of zero"),
    ("\"2 ms\"", "\"2000 h\"", "out_of_range", "is out of range"),
    ("sampled-values", "sampled-value", "unknown_choice", "did you mean `sampled-values`?"),
    ("from = \"a\"", "from = \"x\"", "unknown_name", "no node is named `x`"),
    ("from = \"a\"", "from = \"s1\"", "contradiction", "`s1` is a switch"),
    ("[\"b\", \"c\"]", "[\"b\", \"b\"]", "twice", "receiver `b` is given twice"),
    ("[\"b\", \"c\"]", "[\"b\", \"a\"]", "to_itself", "`a` would send to itself"),
    ("[\"b\", \"c\"]", "[]", "contradiction", "without a receiver"),
    ("\"122 B\"", "\"1519 B\"", "frame_size", "60 B to 1518 B"),
    ("\"122 B\"", "\"977 bit\"", "part_of_a_byte", "no whole bytes"),
    ("\"250 us\"", "\"2 s\"", "out_of_range", "to 1 s"),
    ("\"122 B\"", "\"59 B\"", "frame_size", "no Ethernet frame has 59 B"),
    ("\"122 B\"\nperiod = \"250 us\"", "\"1500 B\"\nperiod = \"100 us\"", "above_link_rate", "the link of `a` carries 100 Mbit/s"),
    (PERIOD, "rate = \"1 Mbit/s\"", "key_of_another_kind", "`rate` has no meaning"),
    (PERIOD, "period = \"1 ms\"\njitter = \"2 s\"", "out_of_range", "0 ns to 1 s"),
    (PERIOD, "", "missing_key", "`period` is missing in a flow"),
    (PERIOD, "period = \"1 ms\"\nclass = \"controll\"", "unknown_name", "`control`?"),
    (PERIOD, "period = \"1 ms\"\nlike = \"x\"", "unknown_name", "no template"),
    (PERIOD, "period = \"1 ms\"\nprotection = \"restore\"", "missing_key", "`interruption`"),
    (PERIOD, "period = \"1 ms\"\ninterruption = \"1 ms\"", "contradiction", "\"restore\""),
    (PERIOD, "period = \"1 ms\"\ncovers = \"any\"", "contradiction", "\"restore\""),
    (PERIOD, "period = \"1 ms\"\nstart = \"11 s\"", "after_the_end", "the start of a flow"),
    (PERIOD, "period = \"1 ms\"\nstart = \"2 s\"\nstop = \"1 s\"", "contradiction", "stops at"),
    (PERIOD, "period = \"1 ms\"\ncriticality = 8", "out_of_range", "0 to 7"),
    ("[\"s1\", \"s2\"]", "[\"s1\", \"s3\"]", "unknown_name", "did you mean `s1`?"),
    ("[\"s1\", \"s2\"]", "[\"s1\", \"s1\"]", "link_ends", "a node with itself"),
    ("[\"s1\", \"s2\"]", "[\"a\", \"b\"]", "link_ends", "two hosts"),
    ("[\"s1\", \"s2\"]", "[\"s1\"]", "link_ends", "1 nodes"),
    ("[\"s1\", \"s2\"]", "[\"s1\", \"c\"]", "host_links", "host `c` has 2 links"),
    ("c = { at = \"s2\" }", "c = {}", "host_links", "host `c` has 0 links"),
    ("uplink = [\"s1\", \"s2\"]", "", "no_path", "no path leads from `a` to `b`"),
    ("c = { at", "s1 = { at", "twice", "name `s1` is given twice"),
    ("c = { at", "\"c d\" = { at", "not_a_name", "`c d` is no name"),
    ("s2 = {}", "s2 = { profile = \"takto-packet\" }", "unknown_choice", "`taktos-packet`?"),
    ("s2 = {}", "s2 = { profile = \"x.toml\" }", "load", "cannot read `x.toml`"),
    ("s1 = {}\ns2 = {}", "s1.datapath_id = 2\ns2.datapath_id = 2", "twice", "datapath id"),
    ("{ at = \"s1\" }", "{ at = \"s1\", mac = \"03:0:0\" }", "not_an_address", ""),
    ("{ at = \"s1\" }", "{ at = \"s1\", ip = \"224.0.0.1\" }", "not_an_address", ""),
    ("[hosts]", "[network]\nsize = 3\n[hosts]", "contradiction", "nothing generates"),
    ("[hosts]", "[network]\ngenerator = \"ring\"\n[hosts]", "missing_key", "`size`"),
    ("[hosts]", "[network]\ngenerator = \"ring\"\nsize = 2\n[hosts]", "contradiction", "3"),
    ("[hosts]", "[network]\ngenerator = \"star\"\nsize = 9\n[hosts]", "twice", "name `s1`"),
    ("[hosts]", "[network]\nimport = \"x.json\"\n[hosts]", "load", "no such file"),
    ("[hosts]", "[classes]\nx.queue = 1\ny.queue = 1\n[hosts]", "contradiction", "queue 1"),
    ("[hosts]", "[templates.t]\nkind = \"goose\"\nrate = \"1 Mbit/s\"\n[hosts]", "key_of_another_kind", "`rate` has no meaning for goose"),
    ("[hosts]", "[measurement]\ncapture = [\"uplnk\"]\n[hosts]", "unknown_name", "`uplink`?"),
    ("[hosts]", "[measurement]\nwarm_up = \"10 s\"\n[hosts]", "after_the_end", "warm-up"),
];
proptest! {
    /// Whatever a profile states, the admission can calculate with it, or it is refused.
    #[test]
    fn no_value_of_a_profile_is_beyond_what_is_calculated_with(
        built_in in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), profile_values()), 1..4),
    ) {
        let mut text = built_in.get(&crate::profile::BUILT_IN).1.to_owned();
        for (which, value) in changes {
            let places: Vec<usize> = text.match_indices("value = ").map(|it| it.0 + 8).collect();
            let start = *which.get(&places);
            let length = text[start..].find([',', '}']).unwrap();
            text.replace_range(start..start + length, &value);
        }

        if let Ok(profile) = Profile::parse("mutated", &text) {
            prop_assert!(profile.longest_latency() <= LONGEST_DELAY);
            prop_assert!(profile.longest_per_frame() <= LONGEST_DELAY);
        }
    }
}

/// Values of a profile: of those that there are, and of any other kind.
fn profile_values() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u32>().prop_map(|us| format!("\"{us} us\"")),
        (0..101_u32).prop_map(|s| format!("\"{s} s\"")),
        any::<u32>().prop_map(|count| count.to_string()),
        values(),
    ]
}

const PERIOD: &str = "period = \"250 us\"";

const FILES: [&str; 3] = [
    include_str!("../../../../scenarios/substation.toml"),
    include_str!("../../../../scenarios/refused.toml"),
    include_str!("../../../../scenarios/abilene.toml"),
];

fn values() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| format!("{n:?}")),
        "[0-9.]{0,20} ?(ns|us|ms|s|h|B|kB|GB|bit/s|Tbit/s|km|m)".prop_map(|q| format!("\"{q}\"")),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("[[\"s1\"], 2]".to_owned()),
        Just("{ s1 = 1, ends = [] }".to_owned()),
        Just("true".to_owned()),
        Just("1979-05-27T07:32:00Z".to_owned()),
    ]
}

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let mut load = |_: &str| Err(io::Error::new(io::ErrorKind::NotFound, "no such file"));
    Scenario::parse("test.toml", text, &mut load)
}

/// Returns the codes of all problems.
fn codes(error: &ScenarioError) -> Vec<&'static str> {
    let problems = error.problems().iter();
    problems.map(|problem| problem.mistake.code()).collect()
}

/// Returns what the user sees.
fn shown(text: &str) -> String {
    let error = parse(text).expect_err("the text has a mistake");
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    handler.render_report(&mut out, &error).unwrap();
    out
}
