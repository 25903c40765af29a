//! Everything together: controller, switches, hosts, and a cable that breaks.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;

use controller::config::{
    HostParameters, Metric, PortParameters, ProcessingParameters, SwitchParameters, Timers,
};
use controller::northbound::{
    ApplicationKind, Cover, Decision, Event, ExceedAction, FlowMatch, Manifest, Protection, Reply,
    Request, Requirement, Said, Saying, Traffic, Transport, TransportProtocol,
};
use controller::place::PortId;
use controller::store::MemoryStore;
use lab::network::{CablePlan, Place, Plan};
use lab::switches::{Forwarding, USUAL_ENTRIES};
use lab::timeline::Change;
use lab::traffic_loop::TrafficTally;
use lab::veth::Power;
use lab::world::{Lab, Parts};
use linux::clock;
use measure::capture::{CaptureFile, Captures, Heading, Interface};
use measure::identity::{Catalogue, FlowKey, Numbering};
use measure::load::{HostLoad, Load, QueuedSource};
use measure::traffic::udp::{DatagramConfig as UdpConfig, Pattern};
use measure::traffic::{Addresses, Source, Udp};
use measure::{Contract, FlowPlan, ReceiverIndex, Recorder};
use switch::{Pacing, PortConfig};
use units::{BitRate, DataSize, Delay, Duration, Instant};
use wire::ethernet::{MacAddress, wire_size};
use wire::openflow::{DatapathId, PortNumber};

use crate::network::{cable, host, port};
use crate::over_each_engine;

const RATE: BitRate = BitRate::from_mbps(100);
const FRAME_BYTES: usize = 200;
const PERIOD: Duration = Duration::from_ms(1);
const UDP_PORT: u16 = 5000;
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any test goes on.
const ENDLESS: Duration = Duration::from_secs(600);
const STALL: Duration = Duration::from_us(100);
/// The place of the cable of the first host.
const FIRST_HOST: usize = 0;
/// The place of the cable between the first two switches.
const FIRST_TRUNK: usize = 2;
/// The place of the cable that waits for the first host.
const SPARE: usize = 5;

/// Three switches in a ring; a host at the first, another at the second. A cable
/// waits to take the first host to the third switch.
fn ring() -> Plan {
    Plan {
        switches: ["s1", "s2", "s3"].map(str::to_owned).to_vec(),
        hosts: vec![host("h1", 1), host("h2", 2)],
        cables: vec![
            cable([Place::Host(0), port(0, 1)]),
            cable([Place::Host(1), port(1, 1)]),
            cable([port(0, 2), port(1, 3)]),
            cable([port(1, 2), port(2, 3)]),
            cable([port(2, 2), port(0, 3)]),
            CablePlan {
                power: Power::Off,
                ..cable([Place::Host(0), port(2, 1)])
            },
        ],
    }
}

fn switch_config(number: u8) -> switch::Config {
    let ports = (1..=3).map(|port| PortConfig {
        number: PortNumber(u32::from(port)),
        name: format!("p{port}"),
        mac: MacAddress([2, 9, 0, 0, number, port]),
        rate: Some(RATE),
        pacing: Pacing::Core,
    });
    switch::Config::new(DatapathId(u64::from(number)), ports.collect())
}

fn controller_config() -> controller::Config {
    let other_ports = PortParameters {
        rate: RATE,
        propagation: Delay::ZERO,
        budgets: [
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            Some(Delay::from_us(500)),
        ],
        buffers: [None; 8],
        largest_frame: DataSize::from_bytes(1542),
    };
    let parameters = SwitchParameters {
        name: String::new(),
        processing: Some(ProcessingParameters {
            latency: Delay::from_us(100),
            per_frame: Delay::from_us(10),
            budget: Delay::from_us(500),
            buffer_frames: None,
        }),
        ports: BTreeMap::new(),
        other_ports,
    };
    let host = |name: &str, last: u8, datapath| HostParameters {
        name: name.to_owned(),
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        ipv4: Some(address(last)),
        is_fixed: false,
        attachment: Some(PortId::new(DatapathId(datapath), PortNumber(1))),
        unpromised: None,
    };
    controller::Config {
        switches: BTreeMap::new(),
        unknown_switch: parameters,
        hosts: vec![host("h1", 1, 1), host("h2", 2, 2)],
        applications: vec![Manifest::built_in(ApplicationKind::Deterministic)],
        metric: Metric::Links,
        timers: Timers {
            probe_interval: Duration::from_ms(100),
            // A machine that stands still for seconds is to lose no link and no switch:
            // what is lost here loses its carrier or its connection.
            link_timeout: PATIENCE,
            echo_timeout: PATIENCE,
            handshake_timeout: PATIENCE,
            ..Timers::default()
        },
        probe_key: None,
        claim: controller::mastery::Claim::default(),
        foreign_rules: controller::northbound::ForeignRules::Keep,
        modes: None,
        watch_hops: true,
        interrupted: false,
        policing: Some(units::Duration::from_ms(5)),
        fit: None,
        seed: 1,
    }
}

fn address(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn contract() -> Contract {
    let size = wire_size(FRAME_BYTES);
    Contract {
        rate: BitRate::from_mbps(4),
        burst: size * 4,
    }
}

fn requirement() -> Requirement {
    let size = wire_size(FRAME_BYTES);
    Requirement {
        name: "trip".to_owned(),
        source: "h1".to_owned(),
        destinations: vec!["h2".to_owned()],
        matching: FlowMatch {
            destination: Some(MacAddress([2, 0, 0, 0, 0, 2])),
            ipv4_destination: Some(address(2)),
            transport: Some(Transport {
                protocol: TransportProtocol::Udp,
                source: None,
                destination: Some(UDP_PORT),
            }),
            ..FlowMatch::default()
        },
        class: 7,
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: Traffic {
            rate: contract().rate,
            burst: contract().burst,
            largest_frame: size,
            smallest_frame: size,
            frames: None,
        },
        deadline: Some(Delay::from_us(10_000)),
        protection: Protection::Restore {
            interruption: Duration::from_ms(50),
            covers: Cover::CarrierLoss,
        },
        modes: None,
    }
}

/// One datagram a millisecond from the first host to the second.
fn load(start: Instant, until: Instant) -> Load {
    let mut recorder = Recorder::new(start, measure::recorder::Settings::default());
    let plan = FlowPlan {
        receivers: 1,
        promise: None,
        contract: Some(contract()),
        period: Some(PERIOD),
    };
    let flow = recorder.add(plan);
    let source = Source::Udp(Udp::new(&UdpConfig {
        addresses: Addresses {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
            vlan: None,
            source: address(1),
            destination: address(2),
            source_port: UDP_PORT,
            destination_port: UDP_PORT,
            dscp: 0,
        },
        frame_length: FRAME_BYTES,
        contract: contract(),
        pattern: Pattern::Bursts {
            period: PERIOD,
            frames: 1,
        },
        start,
        until: Some(until),
    }));
    let key = FlowKey::Datagram {
        source: address(1),
        destination: address(2),
        port: UDP_PORT,
    };
    let mut catalogue = Catalogue::default();
    assert_eq!(catalogue.add(key, flow, Numbering::Unbounded), None);
    let sending = HostLoad {
        sources: vec![QueuedSource {
            source,
            flow,
            queue: 7,
        }],
        ..HostLoad::default()
    };
    let receiving = HostLoad {
        receives: BTreeMap::from([(flow, ReceiverIndex(0))]),
        ..HostLoad::default()
    };
    Load {
        hosts: vec![sending, receiving],
        recorder,
        catalogue,
        captures: Captures::default(),
    }
}

/// Listens until `wanted` has been said, and returns when.
#[track_caller]
fn await_said(lab: &mut Lab, what: &str, mut wanted: impl FnMut(&Saying) -> bool) -> Said {
    let give_up = clock::now() + PATIENCE;
    let mut heard = Vec::new();
    loop {
        for said in lab.listen(give_up).unwrap() {
            if wanted(&said.what) {
                return said;
            }
            heard.push(said);
        }
        assert!(
            clock::now() < give_up,
            "{what} did not come within {PATIENCE}; {:?}; heard: {heard:#?}",
            lab.tally()
        );
    }
}

/// Listens until the traffic has come so far.
#[track_caller]
fn await_tally(lab: &mut Lab, is_enough: impl Fn(&TrafficTally) -> bool) {
    let give_up = clock::now() + PATIENCE;
    while !is_enough(lab.tally().unwrap()) {
        assert!(clock::now() < give_up, "{:?}", lab.tally());
        lab.listen(clock::now() + Duration::from_ms(20)).unwrap();
    }
}

fn await_topology(lab: &mut Lab) {
    let give_up = clock::now() + PATIENCE;
    loop {
        let asked = lab.request(Request::Topology);
        let said = await_said(
            lab,
            "the topology",
            |what| matches!(what, Saying::Reply(id, _) if *id == asked),
        );
        let Saying::Reply(_, Reply::Topology(topology)) = said.what else {
            unreachable!()
        };
        if (topology.switches, topology.links, topology.hosts) == (3, 3, 2) {
            return;
        }
        assert!(clock::now() < give_up, "{topology:?}");
        clock::sleep_until(clock::now() + Duration::from_ms(20));
    }
}

/// Returns a lab in which everything is known and the flow admitted.
fn ready(forwarding: Forwarding) -> Lab {
    let mut lab = Lab::build(Parts {
        network: ring(),
        switches: (1..=3).map(switch_config).collect(),
        controller: controller_config(),
        store: MemoryStore::default(),
        stall_threshold: STALL,
        forwarding,
        processing: Vec::new(),
        entries: USUAL_ENTRIES,
    })
    .unwrap();
    await_topology(&mut lab);
    lab.request(Request::Admit(vec![requirement()]));
    // Both may be heard at once.
    let (mut accepted, mut installed) = (false, false);
    await_said(&mut lab, "the decision and the entries", |what| {
        if let Saying::Reply(_, Reply::Decisions(decisions)) = what {
            assert!(
                matches!(decisions[..], [Decision::Accepted(_)]),
                "{decisions:?}"
            );
            accepted = true;
        }
        installed |= matches!(what, Saying::Notice(Event::Installed { .. }));
        accepted && installed
    });
    lab
}

#[test]
fn an_admitted_flow_arrives_and_survives_that_its_cable_is_cut() {
    over_each_engine(
        "an_admitted_flow_arrives_and_survives_that_its_cable_is_cut",
        |forwarding| {
            let mut lab = ready(forwarding);

            let start = lab.now() + Duration::from_ms(100);
            let cut = start + Duration::from_ms(300);
            lab.begin(
                load(start, start + ENDLESS),
                vec![(cut, Change::Cut { cable: FIRST_TRUNK })],
            )
            .unwrap();
            let restored = await_said(&mut lab, "the restoration", |what| {
                matches!(what, Saying::Notice(Event::Restored { .. }))
            });
            // The longer the machine took to restore, the more was lost.
            await_tally(&mut lab, |tally| {
                tally.arrived() >= 400 && tally.arrived() * 5 > tally.sent() * 4
            });
            let observed = lab.finish().unwrap();

            let traffic = observed.traffic.unwrap();
            let flow = &traffic.flows[0];
            assert_eq!(traffic.uncaptured, 0);
            assert!(
                flow.lost * 4 < flow.sent,
                "{} of {} lost",
                flow.lost,
                flow.sent
            );
            assert!(flow.last_sent.unwrap() > observed.changes[0].done);
            assert!(restored.at > observed.changes[0].asked);
        },
    );
}

#[test]
fn a_capture_has_what_a_flow_sent_over_its_link() {
    over_each_engine(
        "a_capture_has_what_a_flow_sent_over_its_link",
        |forwarding| {
            let mut lab = ready(forwarding);
            let start = lab.now() + Duration::from_ms(100);
            let mut load = load(start, start + ENDLESS);
            for cable in [FIRST_HOST, FIRST_TRUNK] {
                load.captures.add(cable, capture_file());
            }

            lab.begin(load, Vec::new()).unwrap();
            await_tally(&mut lab, |tally| tally.arrived() >= 150);
            let traffic = lab.finish().unwrap().traffic.unwrap();

            let flow = &traffic.flows[0];
            let [at_host, trunk] = &traffic.captures[..] else {
                panic!("{:?}", traffic.captures)
            };
            assert!(flow.sent > 0);
            assert!(at_host.frames >= flow.sent, "{at_host:?}");
            assert!(trunk.frames >= flow.sent - flow.lost, "{trunk:?}");
            for capture in [at_host, trunk] {
                assert_eq!((capture.left_out, capture.missed), (0, 0));
            }
        },
    );
}

fn capture_file() -> CaptureFile {
    let heading = Heading {
        comment: String::new(),
        program: String::new(),
    };
    let interface = |name: &str| Interface {
        name: name.to_owned(),
        about: String::new(),
        rate: RATE,
    };
    let interfaces = ["a", "b"].map(interface);
    CaptureFile::begin(String::new(), Box::new(io::sink()), &heading, &interfaces)
}

#[test]
fn a_host_that_moves_is_found_where_it_went() {
    over_each_engine("a_host_that_moves_is_found_where_it_went", |forwarding| {
        let mut lab = ready(forwarding);
        let start = lab.now() + Duration::from_ms(100);
        let moves = start + Duration::from_ms(200);
        let change = Change::HostMoves { host: 0, to: SPARE };

        lab.begin(load(start, start + ENDLESS), vec![(moves, change)])
            .unwrap();

        await_said(&mut lab, "the host", |what| match what {
            Saying::Notice(Event::HostMoved { to, .. }) => {
                (to.datapath, to.port) == (DatapathId(3), PortNumber(1))
            }
            _ => false,
        });
    });
}

/// Its neighbours see a carrier: only echoes tell.
#[test]
fn a_switch_whose_process_dies_is_missed_and_welcomed_back() {
    over_each_engine(
        "a_switch_whose_process_dies_is_missed_and_welcomed_back",
        |forwarding| {
            let mut lab = ready(forwarding);
            let start = lab.now() + Duration::from_ms(100);
            let changes = vec![
                (start, Change::Kill { switch: 2 }),
                (
                    start + Duration::from_secs(4),
                    Change::Restart { switch: 2 },
                ),
            ];

            lab.begin(load(start, start + ENDLESS), changes).unwrap();

            let third = DatapathId(3);
            await_said(&mut lab, "the loss", |what| match what {
                Saying::Notice(Event::SwitchGone { datapath, .. }) => *datapath == third,
                _ => false,
            });
            await_said(&mut lab, "the return", |what| match what {
                Saying::Notice(Event::SwitchConnected { datapath, .. }) => *datapath == third,
                _ => false,
            });
        },
    );
}

#[test]
fn a_switch_that_crashes_is_missed_and_welcomed_back() {
    over_each_engine(
        "a_switch_that_crashes_is_missed_and_welcomed_back",
        |forwarding| {
            let mut lab = ready(forwarding);
            let start = lab.now() + Duration::from_ms(100);
            let changes = vec![
                (start, Change::Crash { switch: 2 }),
                (
                    start + Duration::from_ms(300),
                    Change::Restart { switch: 2 },
                ),
            ];

            lab.begin(load(start, start + ENDLESS), changes).unwrap();

            let third = DatapathId(3);
            await_said(&mut lab, "the loss", |what| match what {
                Saying::Notice(Event::SwitchLost { datapath, .. }) => *datapath == third,
                _ => false,
            });
            await_said(&mut lab, "the return", |what| match what {
                Saying::Notice(Event::SwitchConnected { datapath, .. }) => *datapath == third,
                _ => false,
            });
        },
    );
}
