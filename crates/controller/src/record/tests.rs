use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use calculus::admission::FrameBucket;
use proptest::prelude::*;
use units::{BitRate, DataSize};
use wire::ethernet::EtherType;
use wire::openflow::DatapathId;
use wire::openflow::taktos::MonitorContract;

use super::*;
use crate::modes::{ModalFlow, Treatment};
use crate::northbound::{ExceedAction, Traffic, Transport, TransportProtocol};

/// What stores of before hold has to be read.
#[test]
fn the_form_of_a_record_stays() {
    let written = example().to_bytes();
    let written: String = written.iter().map(|byte| format!("{byte:02x}")).collect();

    let before = "010673762d6d7531036d7531020672656c6179310672656c61793201ba910201010\
                 ccd040001010300010a00000101010001882706c096b1028012800980090180a8d6\
                 b9070180ade204020000000001010102010302040180c6988303020101020203000\
                 201010401000201010202010201010202030002010104010002";
    assert_eq!(written, before);
}

#[test]
fn an_admission_survives_the_store() {
    let admission = example();

    let read = Admission::from_bytes(&admission.to_bytes());

    assert_eq!(read, Ok(admission));
}

#[test]
fn what_becomes_of_excess_survives_the_store() {
    let mut admission = example();
    admission.requirement.excess = ExceedAction::BestEffort;

    let read = Admission::from_bytes(&admission.to_bytes());

    assert_eq!(read, Ok(admission));
}

#[test]
fn where_numbers_stand_and_whether_order_is_kept_survives_the_store() {
    for encoding in [SequenceEncoding::RTag, SequenceEncoding::Prp] {
        for order in [FrameOrder::Any, FrameOrder::Kept] {
            let mut admission = example();
            admission.requirement.protection = Protection::Seamless { encoding, order };

            let read = Admission::from_bytes(&admission.to_bytes());

            assert_eq!(read, Ok(admission));
        }
    }
}

#[test]
fn what_a_flow_gets_at_levels_survives_the_store() {
    let admission = modal_example();

    let read = Admission::from_bytes(&admission.to_bytes());

    assert_eq!(read, Ok(admission));
}

#[test]
fn a_record_of_a_flow_without_levels_has_the_form_that_it_had_before_there_were_any() {
    assert_eq!(example().to_bytes()[0], 1);
    assert_eq!(modal_example().to_bytes()[0], 2);
}

#[test]
fn how_many_frames_a_flow_is_survives_the_store() {
    for mut admission in [example(), modal_example()] {
        admission.requirement.traffic.frames = Some(frames(4_818_181_819));

        let read = Admission::from_bytes(&admission.to_bytes());

        assert_eq!(read, Ok(admission));
    }
}

#[test]
fn how_many_frames_a_flow_is_at_a_level_survives_the_store() {
    for frames in [None, Some(frames(4_818_181_819))] {
        let mut admission = modal_example();
        admission.requirement.traffic.frames = frames;
        let modes = admission.requirement.modes.as_mut();
        let modes = Arc::make_mut(modes.expect("the example has some"));
        let Some(Treatment::Serve {
            traffic: Some(at_high),
            ..
        }) = modes.levels.get_mut("hi")
        else {
            panic!("the example says what it sends there");
        };
        at_high.frames = Some(self::frames(43_802_000_000));

        let read = Admission::from_bytes(&admission.to_bytes());

        assert_eq!(read, Ok(admission));
    }
}

#[test]
fn a_record_of_another_version_is_not_read() {
    let mut bytes = example().to_bytes();
    bytes[0] = 9;

    assert_eq!(
        Admission::from_bytes(&bytes),
        Err(RecordError::Version { found: Some(9) })
    );
}

#[test]
fn a_tree_whose_branches_have_no_order_is_refused() {
    let mut admission = example();
    let mut base = admission.ways.base.clone();
    base.branches.swap(0, 1);
    admission.ways = Arc::new(Ways::new(base, Vec::new()));

    let read = Admission::from_bytes(&admission.to_bytes());

    assert_eq!(read, Err(RecordError::Nonsense("tree")));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Admission::from_bytes(&bytes);
    }

    #[test]
    fn no_damage_panics(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        for admission in [example(), modal_example()] {
            let mut bytes = admission.to_bytes();
            *at.get_mut(&mut bytes) = value;

            let _ = Admission::from_bytes(&bytes);
        }
    }
}

fn frames(rate_per_second: u64) -> FrameBucket {
    FrameBucket {
        rate_per_second,
        burst: 106_000_000,
    }
}

fn modal_example() -> Admission {
    let mut admission = example();
    let contract = MonitorContract {
        period: Duration::from_ms(22),
        size_bytes: 154_000,
    };
    let served = Treatment::Serve {
        class: Some(7),
        traffic: Some(admission.requirement.traffic),
        deadline: Some(Delay::from_us(500)),
        contract: Some(contract),
    };
    let modes = ModalFlow {
        criticality: 5,
        jitter: Duration::from_us(20),
        contract: Some(contract),
        levels: BTreeMap::from([
            ("hi".to_owned(), served),
            ("mid".to_owned(), Treatment::Drop),
        ]),
    };
    admission.requirement.modes = Some(Arc::new(modes));
    admission
}

fn example() -> Admission {
    let base = Tree {
        branches: vec![
            branch(1, 1, vec![2, 3], None),
            branch(2, 1, vec![4], Some((0, 2))),
        ],
    };
    let link = LinkEnds::new(port(1, 2), port(2, 1));
    let requirement = Requirement {
        name: "sv-mu1".into(),
        source: "mu1".into(),
        destinations: vec!["relay1".into(), "relay2".into()],
        matching: FlowMatch {
            ether_type: Some(EtherType::SAMPLED_VALUES),
            destination: Some(MacAddress([1, 0xc, 0xcd, 4, 0, 1])),
            vlan: Some(3),
            ipv4_source: None,
            ipv4_destination: Some(Ipv4Addr::new(10, 0, 0, 1)),
            transport: Some(Transport {
                protocol: TransportProtocol::Udp,
                source: None,
                destination: Some(5_000),
            }),
        },
        class: 6,
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: Traffic {
            rate: BitRate::from_mbps(5),
            burst: DataSize::from_bytes(288),
            largest_frame: DataSize::from_bytes(144),
            smallest_frame: DataSize::from_bytes(144),
            frames: None,
        },
        deadline: Some(Delay::from_us(2_000)),
        protection: Protection::Restore {
            interruption: Duration::from_ms(10),
            covers: Cover::CarrierLoss,
        },
        modes: None,
    };
    Admission {
        requirement,
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        source: port(1, 1),
        destinations: vec![port(1, 3), port(2, 4)],
        guarantee: Some(Delay::from_us(812)),
        ways: Arc::new(Ways::new(base.clone(), vec![(link, base)])),
    }
}

fn branch(datapath: u64, input: u32, outputs: Vec<u32>, parent: Option<(usize, u32)>) -> Branch {
    Branch {
        datapath: DatapathId(datapath),
        input: PortNumber(input),
        outputs: outputs.into_iter().map(PortNumber).collect(),
        parent: parent.map(|(parent, port)| (parent, PortNumber(port))),
    }
}

fn port(datapath: u64, number: u32) -> PortId {
    PortId::new(DatapathId(datapath), PortNumber(number))
}
