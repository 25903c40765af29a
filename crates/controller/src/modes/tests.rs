use std::sync::Arc;

use units::{BitRate, DataSize};
use wire::openflow::taktos::MonitorContract;

use super::*;
use crate::northbound::{ExceedAction, FlowMatch, Protection};

fn traffic() -> Traffic {
    let frame = DataSize::from_bytes(250);
    Traffic {
        rate: BitRate::from_mbps(1),
        burst: frame,
        largest_frame: frame,
        smallest_frame: frame,
        frames: None,
    }
}

fn requirement(name: &str) -> Requirement {
    Requirement {
        name: name.to_owned(),
        source: "h1".to_owned(),
        destinations: vec!["h2".to_owned()],
        matching: FlowMatch::default(),
        class: 5,
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: traffic(),
        deadline: Some(Delay::from_us(1_000)),
        protection: Protection::None,
        modes: None,
    }
}

/// Returns a requirement that says this of levels.
fn saying(flow: ModalFlow) -> Requirement {
    Requirement {
        modes: Some(Arc::new(flow)),
        ..requirement("camera")
    }
}

fn contract(period_ms: u64, size_bytes: u32) -> MonitorContract {
    MonitorContract {
        period: Duration::from_ms(period_ms),
        size_bytes,
    }
}

fn hi() -> String {
    "hi".to_owned()
}

fn high() -> Level {
    Level::new(1).unwrap()
}

fn serve(class: Option<u8>, contract: Option<MonitorContract>) -> Treatment {
    Treatment::Serve {
        class,
        traffic: None,
        deadline: None,
        contract,
    }
}

fn modes(flows: impl IntoIterator<Item = (&'static str, ModalFlow)>) -> Modes {
    let flows = flows.into_iter();
    Modes {
        levels: vec!["lo".to_owned(), "hi".to_owned()],
        strategy: Strategy::Taktos,
        hold: Some(Duration::from_ms(500)),
        heart_beat: None,
        default: Level::LOWEST,
        serve: vec![0, 4],
        change_bound: Delay::ZERO,
        flows: flows.map(|(name, flow)| (name.to_owned(), flow)).collect(),
    }
}

#[test]
fn a_flow_that_is_not_critical_enough_is_dropped_unless_it_says_otherwise() {
    let critical = ModalFlow {
        criticality: 4,
        ..ModalFlow::default()
    };
    let demoted = ModalFlow {
        levels: BTreeMap::from([(hi(), serve(Some(1), None))]),
        ..ModalFlow::default()
    };
    let modes = modes([
        ("lidar", critical),
        ("video", ModalFlow::default()),
        ("log", demoted),
    ]);
    let served = |class| Service::Served {
        class,
        traffic: traffic(),
    };

    assert_eq!(modes.service(&requirement("lidar"), high()), served(5));
    assert_eq!(
        modes.service(&requirement("video"), Level::LOWEST),
        served(5)
    );
    assert_eq!(
        modes.service(&requirement("video"), high()),
        Service::Dropped
    );
    assert_eq!(modes.service(&requirement("log"), high()), served(1));
    assert_eq!(modes.service(&requirement("nobody's"), high()), served(5));
}

#[test]
fn a_waiting_frame_is_dropped_or_moved_as_its_flow_is() {
    let moved = ModalFlow {
        levels: BTreeMap::from([(hi(), serve(Some(7), None))]),
        ..ModalFlow::default()
    };
    let modes = modes([("camera", moved), ("video", ModalFlow::default())]);

    let camera = modes.fates(&requirement("camera"), Level::LOWEST);
    let video = modes.fates(&requirement("video"), Level::LOWEST);

    assert_eq!(camera.at(Level::LOWEST), QueuedFrameAction::Stay);
    assert_eq!(camera.at(high()), QueuedFrameAction::Move(7));
    assert_eq!(video.at(high()), QueuedFrameAction::Drop);
    assert_eq!(
        modes
            .fates(&requirement("camera"), high())
            .at(Level::LOWEST),
        QueuedFrameAction::Move(5)
    );
}

#[test]
fn a_contract_holds_until_a_level_says_another() {
    let camera = ModalFlow {
        contract: Some(contract(200, 154)),
        levels: BTreeMap::from([(hi(), serve(None, Some(contract(22, 154))))]),
        ..ModalFlow::default()
    };

    let third = Modes {
        levels: ["lo", "hi", "most"].map(str::to_owned).to_vec(),
        ..modes([])
    };

    assert_eq!(
        third.contracts(&camera),
        [contract(200, 154), contract(22, 154), contract(22, 154)]
    );
    assert_eq!(third.contracts(&ModalFlow::default()), []);
}

#[test]
fn what_a_requirement_says_counts_before_what_is_configured_for_its_name() {
    let modes = modes([("camera", ModalFlow::default())]);
    let critical = ModalFlow {
        criticality: 4,
        ..ModalFlow::default()
    };

    let configured = modes.service(&requirement("camera"), high());
    let own = modes.service(&saying(critical), high());

    assert_eq!(configured, Service::Dropped);
    assert_ne!(own, Service::Dropped);
}

#[test]
fn what_a_requirement_says_of_levels_that_cannot_be_is_refused_with_the_level() {
    let modes = modes([]);
    let saying_of = |level: &str, treatment| {
        saying(ModalFlow {
            levels: BTreeMap::from([(level.to_owned(), treatment)]),
            ..ModalFlow::default()
        })
    };
    let sending = |traffic| Treatment::Serve {
        class: None,
        traffic: Some(traffic),
        deadline: None,
        contract: None,
    };
    let less = Traffic {
        rate: BitRate::from_bps(10),
        ..traffic()
    };

    let checked = |requirement: &Requirement| modes.check_flow(requirement);

    assert_eq!(checked(&saying_of("hi", sending(traffic()))), Ok(()));
    assert_eq!(
        checked(&saying_of("high", Treatment::Drop)),
        Err(ModalFlowError::UnknownLevel {
            level: "high".to_owned(),
            levels: vec!["lo".to_owned(), hi()],
        })
    );
    assert_eq!(
        checked(&saying_of("hi", sending(less))),
        Err(ModalFlowError::Shrinks { level: hi() })
    );
    assert_eq!(
        checked(&saying_of("hi", serve(None, Some(contract(22, 154))))),
        Err(ModalFlowError::Unwatched { level: hi() })
    );
    assert_eq!(
        checked(&saying_of("hi", serve(Some(0), None))),
        Err(ModalFlowError::Class {
            level: hi(),
            class: 0,
            expected: "without a deadline",
        })
    );
}

#[test]
fn modes_that_make_no_sense_are_refused() {
    let shrinking = ModalFlow {
        contract: Some(contract(20, 154)),
        levels: BTreeMap::from([(hi(), serve(None, Some(contract(200, 154))))]),
        ..ModalFlow::default()
    };
    let third = ModalFlow {
        levels: BTreeMap::from([("most".to_owned(), Treatment::Drop)]),
        ..ModalFlow::default()
    };
    let none = Modes {
        levels: Vec::new(),
        ..modes([])
    };

    assert_eq!(modes([]).check(), Ok(()));
    assert_eq!(none.check(), Err(ModesError::Levels { count: 0 }));
    let of_camera = |error| {
        Err(ModesError::Flow {
            flow: "camera".to_owned(),
            error,
        })
    };
    assert_eq!(
        modes([("camera", third)]).check(),
        of_camera(ModalFlowError::UnknownLevel {
            level: "most".to_owned(),
            levels: vec!["lo".to_owned(), hi()],
        })
    );
    assert_eq!(
        modes([("camera", shrinking)]).check(),
        of_camera(ModalFlowError::Shrinks { level: hi() })
    );
}
