use units::{BitRate, DataSize};

use super::*;

fn traffic() -> Traffic {
    let frame = DataSize::from_bytes(250);
    Traffic {
        rate: BitRate::from_mbps(1),
        burst: frame,
        largest_frame: frame,
        smallest_frame: frame,
    }
}

fn contract(period_ms: u64, size_bytes: u32) -> MonitorContract {
    MonitorContract {
        period: Duration::from_ms(period_ms),
        size_bytes,
    }
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
        levels: BTreeMap::from([(high(), serve(Some(1), None))]),
        ..ModalFlow::default()
    };
    let modes = modes([
        ("lidar", critical),
        ("video", ModalFlow::default()),
        ("log", demoted),
    ]);
    let of = (5, traffic());
    let served = |class| Service::Served {
        class,
        traffic: traffic(),
    };

    assert_eq!(modes.service("lidar", of, high()), served(5));
    assert_eq!(modes.service("video", of, Level::LOWEST), served(5));
    assert_eq!(modes.service("video", of, high()), Service::Dropped);
    assert_eq!(modes.service("log", of, high()), served(1));
    assert_eq!(modes.service("nobody's", of, high()), served(5));
}

#[test]
fn a_waiting_frame_is_dropped_or_moved_as_its_flow_is() {
    let moved = ModalFlow {
        levels: BTreeMap::from([(high(), serve(Some(7), None))]),
        ..ModalFlow::default()
    };
    let modes = modes([("camera", moved), ("video", ModalFlow::default())]);
    let of = (5, traffic());

    let camera = modes.fates("camera", of, Level::LOWEST);
    let video = modes.fates("video", of, Level::LOWEST);

    assert_eq!(camera.at(Level::LOWEST), Fate::Stay);
    assert_eq!(camera.at(high()), Fate::Move(7));
    assert_eq!(video.at(high()), Fate::Drop);
    assert_eq!(
        modes.fates("camera", of, high()).at(Level::LOWEST),
        Fate::Move(5)
    );
}

#[test]
fn a_contract_holds_until_a_level_says_another() {
    let camera = ModalFlow {
        contract: Some(contract(200, 154)),
        levels: BTreeMap::from([(high(), serve(None, Some(contract(22, 154))))]),
        ..ModalFlow::default()
    };

    assert_eq!(
        camera.contracts(3),
        [contract(200, 154), contract(22, 154), contract(22, 154)]
    );
    assert_eq!(ModalFlow::default().contracts(3), []);
}

#[test]
fn modes_that_make_no_sense_are_refused() {
    let shrinking = ModalFlow {
        contract: Some(contract(20, 154)),
        levels: BTreeMap::from([(high(), serve(None, Some(contract(200, 154))))]),
        ..ModalFlow::default()
    };
    let third = ModalFlow {
        levels: BTreeMap::from([(Level::new(2).unwrap(), Treatment::Drop)]),
        ..ModalFlow::default()
    };
    let none = Modes {
        levels: Vec::new(),
        ..modes([])
    };

    assert_eq!(modes([]).check(), Ok(()));
    assert_eq!(none.check(), Err(ModesError::Levels { count: 0 }));
    assert_eq!(
        modes([("camera", third)]).check(),
        Err(ModesError::UnknownLevel { level: 2, count: 2 })
    );
    assert_eq!(
        modes([("camera", shrinking)]).check(),
        Err(ModesError::Shrinks {
            flow: "camera".to_owned(),
            level: 1
        })
    );
}
