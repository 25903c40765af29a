use proptest::prelude::*;

use super::*;

const TWO_HOPS: &str = r#"{
  "id": "two-hops", "method": "tfa", "multiplexing": "fifo", "packetizer": true, "line_shaping": true,
  "servers": [
    {"id": "s1", "rate_bps": 1e8, "latency_s": 1e-5, "link_bps": 1e8, "multiplexing": "fifo"},
    {"id": "s2", "service": [{"rate_bps": 3295895.84, "latency_s": 0}, {"rate_bps": 1e8, "latency_s": 0.002}]}
  ],
  "links": [["s1", "s2"]],
  "flows": [
    {"id": "f1", "rate_bps": 4e6, "burst_bit": 8000, "path": ["s1", "s2"], "max_packet_bit": 2000, "priority": 3}
  ],
  "expected": [{"flow": "f1"}]
}"#;

#[test]
fn a_network_is_read_to_the_last_digit() {
    let network = ServerNetwork::parse("n.json", TWO_HOPS).unwrap();

    assert_eq!(network.id.as_deref(), Some("two-hops"));
    assert_eq!(network.method.as_deref(), Some("tfa"));
    assert!(network.packetizer && network.line_shaping);
    assert_eq!(
        network.servers[1].service,
        [
            (Rate::from_ubps(3_295_895_840_000), Time::ZERO),
            (
                Rate::from_ubps(100_000_000_000_000),
                Time::from_fs(2_000_000_000_000)
            ),
        ]
    );
    assert_eq!(network.servers[1].multiplexing, Some(Multiplexing::Fifo));
    let flow = &network.flows[0];
    assert_eq!(flow.path, [0, 1]);
    assert_eq!(
        flow.buckets,
        [(
            Rate::from_ubps(4_000_000_000_000),
            Data::from_ubits(8_000_000_000)
        )]
    );
    assert_eq!(
        (flow.max_packet, flow.priority),
        (Data::from_ubits(2_000_000_000), 3)
    );
}

/// What to find in [`TWO_HOPS`], what to write instead, the text that is then
/// marked, and what is said of it.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    (
        "\"latency_s\": 1e-5",
        "\"latency_s\": -1e-5",
        "-1e-5",
        "servers[0] (`s1`).latency_s: -1e-5 is out of range",
    ),
    (
        "\"rate_bps\": 4e6",
        "\"rate_bps\": \"4e6\"",
        "\"4e6\"",
        "flows[0] (`f1`).rate_bps: expected a number, found a text",
    ),
    (
        "\"rate_bps\": 4e6",
        "\"rate_bps\": 1e300",
        "1e300",
        "out of range",
    ),
    (
        "\"rate_bps\": 4e6",
        "\"rate_bps\": null",
        "null",
        "expected a number, found null",
    ),
    (
        "\"rate_bps\": 4e6, ",
        "",
        "{",
        "`rate_bps` is missing in flows[0] (`f1`)",
    ),
    (
        "\"priority\": 3",
        "\"priority\": 3.5",
        "3.5",
        "flows[0] (`f1`).priority: 3.5 is out of range",
    ),
    (
        "\"priority\"",
        "\"prority\"",
        "3",
        "unknown key `prority` in flows[0] (`f1`)",
    ),
    (
        "\"id\": \"s2\"",
        "\"id\": \"s1\"",
        "{",
        "server `s1` is given twice",
    ),
    (
        "\"path\": [\"s1\", \"s2\"]",
        "\"path\": [\"s1\", \"s3\"]",
        "\"s3\"",
        "flows[0] (`f1`).path[1]: no server",
    ),
    (
        "\"path\": [\"s1\", \"s2\"]",
        "\"path\": [\"s1\", \"s1\"]",
        "\"s1\"",
        "server on the path `s1` is given twice",
    ),
    (
        "\"path\": [\"s1\", \"s2\"]",
        "\"path\": [\"s2\", \"s1\"]",
        "{",
        "the path steps from `s2` to `s1`, where no link is",
    ),
    (
        "\"path\": [\"s1\", \"s2\"]",
        "\"path\": []",
        "{",
        "the path crosses no server",
    ),
    (
        "\"link_bps\": 1e8",
        "\"link_bps\": 1e7",
        "{",
        "servers[0] (`s1`): serves faster than the link",
    ),
    (
        "\"rate_bps\": 1e8, \"latency_s\": 1e-5",
        "\"rate_bps\": 0, \"latency_s\": 1e-5",
        "{",
        "service rate of zero",
    ),
    (
        "1e8, \"multiplexing\": \"fifo\"",
        "1e8, \"multiplexing\": \"arbitrary\"",
        "{",
        "servers[0] (`s1`): serves in the order `arbitrary`, and the file says `fifo`",
    ),
    (
        "\"multiplexing\": \"fifo\", \"pack",
        "\"multiplexing\": \"fifi\", \"pack",
        "\"fifi\"",
        "unknown multiplexing `fifi`",
    ),
    (
        "\"packetizer\": true",
        "\"packetizer\": 1",
        "1",
        "packetizer: expected true or false, found a number",
    ),
    (
        "\"packetizer\": true",
        "\"packetizer\": true, \"packetizer\": false",
        "false",
        "key `packetizer` is given twice",
    ),
    (
        "\"burst_bit\": 8000",
        "\"burst_bit\": 1999",
        "{",
        "its burst has no room for its largest packet",
    ),
    (
        "\"burst_bit\": 8000",
        "\"burst_bit\": 8000, \"buckets\": []",
        "{",
        "has both `rate_bps` and `buckets`",
    ),
    (
        "\"s1\", \"s2\"]],",
        "\"s1\"]],",
        "[\"s1\"]",
        "links[0]: expected two servers",
    ),
    ("\"flows\": [", "\"flows\": {", "", "no JSON"),
];

#[test]
fn every_mistake_is_shown_at_its_place() {
    for &(find, replace, place, said) in MISTAKES {
        assert!(TWO_HOPS.contains(find), "{find}");
        let text = TWO_HOPS.replacen(find, replace, 1);

        let error = ServerNetwork::parse("n.json", &text).expect_err(replace);

        let problem = &error.problems()[0];
        assert!(problem.to_string().contains(said), "{replace}: {problem}");
        assert_eq!(&text[problem.place.clone()], place, "{replace}: {problem}");
    }
}

#[test]
fn all_mistakes_are_found_at_once() {
    let text = TWO_HOPS
        .replace("8000", "-8000")
        .replace("\"method\"", "\"methd\"");

    let error = ServerNetwork::parse("n.json", &text).expect_err("two mistakes");

    // What depends on servers is read only when those are right.
    assert_eq!(error.problems().len(), 1);
    let text = TWO_HOPS
        .replace("1e-5", "-1")
        .replace("3295895.84", "\"fast\"");
    let error = ServerNetwork::parse("n.json", &text).expect_err("two mistakes");
    assert_eq!(error.problems().len(), 2);
}

#[test]
fn a_file_beyond_the_limit_is_refused_unread() {
    let text = " ".repeat(LONGEST_NETWORK + 1);

    let error = ServerNetwork::parse("n.json", &text).expect_err("too long");

    assert!(matches!(
        error.problems()[0].mistake,
        Mistake::FileTooLong { .. }
    ));
}

/// The units of numbers and the defaults of objects, as TSAI23 defines them.
const SAIHU: &str = r#"{
  "network": {"name": "demo", "multiplexing": "FIFO", "analysis_option": ["IS", "CEIL"],
              "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps", "capacity": 100},
  "flows": [
    {"name": "f0", "path": ["a", "b"], "rate_unit": "kbps", "max_packet_length": 50,
     "arrival_curve": {"bursts": [100, "2kB"], "rates": ["10kbps", 0.5]}},
    {"name": "f1", "path": ["b"], "arrival_curve": {"bursts": ["1e3 b"], "rates": ["60kBpm"]}}
  ],
  "servers": [
    {"name": "a", "service_curve": {"latencies": [10, "1ms"], "rates": [4, "50Mbps"]}},
    {"name": "b", "service_curve": {"latencies": [10], "rates": ["4Mbps"]}, "capacity": "1Gbps"}
  ]
}"#;

#[test]
fn a_network_of_saihu_is_read_in_its_units() {
    let network = ServerNetwork::parse("saihu.json", SAIHU).unwrap();

    assert!(network.line_shaping && !network.packetizer);
    let bps = |bps| Rate::of_bps(bps).unwrap();
    let bits = |bits| Data::of_bits(bits).unwrap();
    assert_eq!(
        network.flows[0].buckets,
        [(bps(10_000), bits(800)), (bps(500), bits(16_000))]
    );
    assert_eq!(network.flows[0].max_packet, bits(400));
    // Kilobytes a minute.
    assert_eq!(network.flows[1].buckets, [(bps(8_000), bits(1_000))]);
    let us = |us: u64| Time::from_fs(us * 1_000_000_000);
    assert_eq!(
        network.servers[0].service,
        [(bps(4_000_000), us(10)), (bps(50_000_000), us(1_000))]
    );
    assert_eq!(network.servers[0].link, Some(bps(100_000_000)));
    assert_eq!(network.servers[1].link, Some(bps(1_000_000_000)));
}

#[test]
fn what_saihu_does_not_know_is_refused() {
    for (find, replace, said) in [
        ("\"FIFO\"", "\"FILO\"", "unknown multiplexing `FILO`"),
        ("\"1ms\"", "\"1mz\"", "`1mz` is no time"),
        ("[10, \"1ms\"]", "[10]", "has 2 rates and 1 latencies"),
        (
            "\"path\": [\"b\"]",
            "\"path\": [\"c\"]",
            "flows[1] (`f1`).path[0]: no server",
        ),
        (
            "\"path\": [\"b\"]",
            "\"path\": [\"b\"], \"multicast\": [{\"path\": [\"c\"]}]",
            "flows[1] (`f1`).multicast[0].path[0]: no server",
        ),
        (
            "\"path\": [\"b\"]",
            "\"path\": [\"b\"], \"multicast\": [{\"path\": [\"a\"], \"paths\": []}]",
            "unknown key `paths` in flows[1] (`f1`).multicast[0]",
        ),
        (
            "\"time_unit\": \"us\"",
            "\"time_unit\": \"usec\"",
            "`usec` is no time",
        ),
        ("\"60kBpm\"", "\"60 kB\"", "`60 kB` is no rate"),
    ] {
        assert!(SAIHU.contains(find), "{find}");
        let text = SAIHU.replacen(find, replace, 1);

        let error = ServerNetwork::parse("saihu.json", &text).expect_err(replace);

        let problem = &error.problems()[0];
        assert!(problem.to_string().contains(said), "{replace}: {problem}");
    }
}

/// Saihu's own example, with two paths and a burst below its packet.
const DEMO: &str = include_str!("../../tests/vectors/saihu/demo.json");

#[test]
fn saihus_own_example_is_read_with_all_its_paths() {
    let network = ServerNetwork::parse("demo.json", DEMO).unwrap();

    let flows = network.flows.iter();
    let flows: Vec<_> = flows
        .map(|flow| (flow.id.as_str(), &flow.path[..], flow.branch_of))
        .collect();
    assert_eq!(
        flows,
        [
            ("f0/p0", &[0, 1][..], None),
            ("f0/p1", &[0, 2], Some(0)),
            ("f1", &[0, 2], None),
            ("f2", &[1], None),
        ]
    );
    let [trunk, branch, ..] = &network.flows[..] else {
        panic!("a flow and its branch");
    };
    assert_eq!(trunk.buckets, branch.buckets);
    let bits = |bits| Data::of_bits(bits).unwrap();
    assert_eq!(trunk.buckets[0].1, bits(80));
    // Without packetizers bits count and no packet does.
    assert_eq!(trunk.max_packet, bits(80));
    assert_eq!(network.warnings.len(), 3, "{:?}", network.warnings);
    assert!(network.warnings[0].starts_with("flows[0] (`f0`): its burst has no room"));
}

/// With packetizers a burst below the packet would never let one go.
#[test]
fn a_burst_of_saihu_with_no_room_for_a_packet_is_taken_for_one() {
    let text = DEMO.replace("\"packetizer\": false", "\"packetizer\": true");

    let network = ServerNetwork::parse("demo.json", &text).unwrap();

    let bits = |bits| Data::of_bits(bits).unwrap();
    let flow = &network.flows[0];
    let bursts: Vec<_> = flow.buckets.iter().map(|(_, burst)| *burst).collect();
    assert_eq!(
        (flow.max_packet, bursts),
        (bits(400), vec![bits(400), bits(16_000)])
    );
    assert!(network.warnings[0].contains("taken to be one"));
}

#[test]
fn branches_are_written_and_read_back() {
    let network = ServerNetwork {
        warnings: Vec::new(),
        ..ServerNetwork::parse("demo.json", DEMO).unwrap()
    };

    let own = ServerNetwork::parse("own.json", &network.to_json());
    let saihu = ServerNetwork::parse("saihu.json", &network.to_saihu().unwrap());

    assert_eq!(own.unwrap(), network);
    assert_eq!(saihu.unwrap(), network);
}

#[test]
fn a_branch_stands_behind_its_flow_and_sends_the_same() {
    let branch = |branch_of: &str, burst: u64| {
        TWO_HOPS.replace(
            "\"flows\": [",
            &format!(
                r#""flows": [{{"id": "f0", "rate_bps": 1, "burst_bit": 8000, "path": ["s1"]}},
                {{"id": "f2", "rate_bps": 1, "burst_bit": {burst}, "path": ["s2"], "branch_of": "{branch_of}"}},"#
            ),
        )
    };
    let network = ServerNetwork::parse("n.json", &branch("f0", 8_000)).unwrap();
    assert_eq!(network.flows[1].branch_of, Some(0));

    for (branch_of, burst, said) in [
        (
            "f1",
            8_000,
            "is a branch of `f1`, behind which it does not stand",
        ),
        ("f0", 8_001, "sends something else than `f0`"),
    ] {
        let error = ServerNetwork::parse("n.json", &branch(branch_of, burst)).unwrap_err();
        let problem = &error.problems()[0];
        assert!(problem.to_string().contains(said), "{problem}");
    }
}

#[test]
fn what_saihu_cannot_express_is_said() {
    let mut network = ServerNetwork::parse("n.json", TWO_HOPS).unwrap();
    network.servers[1].multiplexing = Some(Multiplexing::Arbitrary);

    let server = "s2".to_owned();
    assert_eq!(network.to_saihu(), Err(NotExpressible::Mixed { server }));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(network in any_network()) {
        let own = ServerNetwork::parse("own.json", &network.to_json()).unwrap();
        prop_assert_eq!(&own, &network);

        let saihu = ServerNetwork::parse("saihu.json", &network.to_saihu().unwrap()).unwrap();
        let expected = ServerNetwork { method: None, ..network };
        prop_assert_eq!(saihu, expected);
    }

    #[test]
    fn any_text_is_a_network_or_has_a_mistake(text in "[\\[\\]{}\":,a-z0-9 .e-]{0,80}") {
        if let Err(error) = ServerNetwork::parse("any.json", &text) {
            prop_assert!(!error.problems().is_empty());
        }
    }

    #[test]
    fn a_damaged_network_is_read_or_has_a_mistake(at in 0..TWO_HOPS.len(), byte in 32u8..127) {
        for sound in [TWO_HOPS, SAIHU, DEMO] {
            let mut bytes = sound.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let text = String::from_utf8(bytes).unwrap();
            if let Err(error) = ServerNetwork::parse("any.json", &text) {
                for problem in error.problems() {
                    prop_assert!(problem.place.end <= text.len());
                }
            }
        }
    }
}

fn any_network() -> impl Strategy<Value = ServerNetwork> {
    let server = (
        prop::collection::vec((1..1u64 << 60, any::<u64>()), 1..4),
        any::<bool>(),
    );
    let servers = prop::collection::vec(server, 1..6);
    let flow = (
        prop::collection::vec((any::<u64>(), 1_000u64..), 1..4),
        0..1_000u64,
        any::<prop::sample::Index>(),
    );
    let flows = prop::collection::vec(flow, 0..6);
    (servers, flows, any::<[bool; 2]>()).prop_map(|(servers, flows, [packetizer, line_shaping])| {
        let count = servers.len();
        ServerNetwork {
            id: Some("any \"quoted\"".to_owned()),
            method: Some("sfa".to_owned()),
            packetizer,
            line_shaping,
            servers: servers
                .into_iter()
                .enumerate()
                .map(|(at, (service, linked))| Server {
                    id: format!("s{at}"),
                    service: service
                        .into_iter()
                        .map(|(rate, latency)| (Rate::from_ubps(rate), Time::from_fs(latency)))
                        .collect(),
                    link: linked.then_some(Rate::from_ubps(1 << 60)),
                    multiplexing: Some(Multiplexing::Fifo),
                })
                .collect(),
            warnings: Vec::new(),
            flows: flows
                .into_iter()
                .enumerate()
                .map(|(at, (buckets, packet, begin))| ServedFlow {
                    id: format!("f{at}"),
                    buckets: buckets
                        .into_iter()
                        .map(|(rate, burst)| (Rate::from_ubps(rate), Data::from_ubits(burst)))
                        .collect(),
                    path: (begin.index(count)..count).collect(),
                    max_packet: Data::from_ubits(packet),
                    priority: 0,
                    branch_of: None,
                })
                .collect(),
        }
    })
}
