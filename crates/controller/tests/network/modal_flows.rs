//! Flows that say themselves what they get at levels of criticality, as programs ask
//! for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use controller::modes::{MAX_MODAL_FLOWS, ModalFlow, ModalFlowError, Modes, Strategy, Treatment};
use controller::northbound::{Decision, Protection, Traffic};
use controller::refusal::Refusal;
use controller::{Config, Request, Requirement};
use units::{BitRate, Delay, Duration};
use wire::mode_signal::Level;
use wire::openflow::MatchField;
use wire::openflow::taktos::{LevelSet, MonitorContract};

use crate::fake::{FakeMode, Network, config, group, requirement};
use crate::modes::unprotected;

const LINE: [(u64, u64); 2] = [(1, 2), (2, 3)];

#[test]
fn what_a_flow_says_is_deployed_at_every_level_and_goes_with_it() {
    let mut network = started();

    network.admit(camera()).unwrap();
    network.admit(film()).unwrap();
    network.pass(Duration::from_secs(3));

    for switch in 1..=3 {
        assert_eq!(entries_of_levels(&network, switch), 6, "switch {switch}");
        assert_eq!(complete(&network, switch), all_levels(), "switch {switch}");
    }
    let monitors = &network.switches[&1].mode.as_ref().unwrap().monitors;
    assert_eq!(monitors[&1], [contract(200), contract(200), contract(22)]);
    assert_eq!(monitors.len(), 1);

    network.request(Request::Withdraw("camera".to_owned()));
    network.pass(Duration::from_secs(3));

    assert_eq!(entries_of_levels(&network, 1), 3);
    let monitors = &network.switches[&1].mode.as_ref().unwrap().monitors;
    assert!(monitors.is_empty());
}

#[test]
fn a_flow_is_dropped_where_it_says_so_and_where_it_is_not_critical_enough() {
    let mut network = started();
    network.admit(camera()).unwrap();
    network.admit(film()).unwrap();
    network.pass(Duration::from_secs(3));
    let served = |network: &mut Network, level: u8, number: u8| {
        let level = Level::new(level).unwrap();
        for fake in network.switches.values_mut() {
            fake.mode.as_mut().unwrap().mode.level = level;
        }
        !network.trace(1, group(number)).0.is_empty()
    };

    let film = [0, 1, 2].map(|level| served(&mut network, level, 2));
    let camera = [0, 1, 2].map(|level| served(&mut network, level, 1));

    assert_eq!(film, [true, false, false]);
    assert_eq!(camera, [true; 3]);
}

#[test]
fn what_a_flow_says_is_known_after_a_restart() {
    let mut network = started();
    network.admit(camera()).unwrap();
    network.pass(Duration::from_secs(3));
    let before = network.switches[&1].mode.as_ref().unwrap().monitors.clone();
    let fake = network.switches.get_mut(&1).unwrap();
    fake.entries.clear();
    fake.mode = Some(FakeMode::default());

    network.restart_controller_as(with_levels());
    network.pass(Duration::from_secs(20));

    let after = &network.switches[&1].mode.as_ref().unwrap().monitors;
    assert_eq!(*after, before);
    assert_eq!(entries_of_levels(&network, 1), 3);
    assert_eq!(complete(&network, 1), all_levels());
}

#[test]
fn a_flow_has_to_fit_at_every_level_that_it_names_and_is_told_at_which_it_does_not() {
    let mut network = started();
    let greedy = saying("greedy", 1, |modes| {
        let serve = served(Some(250), None);
        modes.levels.insert("highest".to_owned(), serve);
    });

    let refused = network.admit(greedy).unwrap_err();

    let Refusal::Shortage(shortage) = &refused else {
        panic!("{refused}");
    };
    assert_eq!(shortage.level.as_deref(), Some("highest"));
    let said = refused.to_string();
    assert!(said.starts_with("at level highest, "), "{said}");
    network.admit(camera()).expect("nothing was kept");
}

#[test]
fn levels_take_room_from_each_other_only_where_flows_are_served_at_the_same() {
    let share = |name: &str, number, level: &str, other: &str| {
        saying(name, number, |modes| {
            modes
                .levels
                .insert(level.to_owned(), served(Some(60), None));
            modes.levels.insert(other.to_owned(), Treatment::Drop);
        })
    };
    let mut apart = started();
    let mut together = started();

    for network in [&mut apart, &mut together] {
        let first = share("first", 1, "middle", "highest");
        network.admit(first).unwrap();
    }

    let other = share("second", 2, "highest", "middle");
    let same = share("second", 2, "middle", "highest");
    assert!(apart.admit(other).is_ok());
    assert!(together.admit(same).is_err());
}

#[test]
fn what_would_be_decided_is_what_is_decided_and_leaves_nothing_behind() {
    let mut network = started();
    let share = |number: u8| {
        saying(&format!("flow {number}"), number, |modes| {
            modes
                .levels
                .insert("highest".to_owned(), served(Some(60), None));
        })
    };

    let what_if = network.request(Request::WhatIf(vec![share(1), share(2)]));
    network.pass(Duration::from_secs(1));
    let entries = entries_of_levels(&network, 1);
    let decided = network.request(Request::Admit(vec![share(1), share(2)]));

    let accepted = |replies: &[controller::Reply]| {
        let [controller::Reply::Decisions(decisions)] = replies else {
            panic!("{replies:?}");
        };
        let is_accepted = |it: &Decision| matches!(it, Decision::Accepted(_));
        decisions.iter().map(is_accepted).collect::<Vec<_>>()
    };
    assert_eq!(accepted(&what_if), [true, false]);
    assert_eq!(entries, 0);
    assert_eq!(accepted(&decided), [true, false]);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let mut network = started();
    let mut plain = Network::started(3, &LINE);
    let unknown = saying("flow", 1, |modes| {
        modes.levels.insert("hi".to_owned(), Treatment::Drop);
    });
    let shrinking = saying("flow", 1, |modes| {
        let serve = served(None, Some(contract(300)));
        modes.contract = Some(contract(200));
        modes.levels.insert("middle".to_owned(), serve);
    });

    assert_eq!(plain.admit(camera()), Err(Refusal::NoModes));
    let levels = ["lowest", "middle", "highest"].map(str::to_owned).to_vec();
    let level = "hi".to_owned();
    let error = ModalFlowError::UnknownLevel { level, levels };
    assert_eq!(network.admit(unknown), Err(Refusal::Modes(error)));
    let level = "middle".to_owned();
    let error = ModalFlowError::Shrinks { level };
    assert_eq!(network.admit(shrinking), Err(Refusal::Modes(error)));
}

#[test]
fn a_flow_that_says_nothing_is_refused_nothing_for_the_number_of_those_that_do() {
    let mut network = Network::with(3, &LINE, |config| {
        let mut modes = levels();
        let names = (0..MAX_MODAL_FLOWS).map(|number| format!("configured {number}"));
        modes.flows = names.map(|name| (name, ModalFlow::default())).collect();
        config.modes = Some(modes);
    });
    network.connect_all();

    let limit = MAX_MODAL_FLOWS;
    assert_eq!(
        network.admit(camera()),
        Err(Refusal::TooManyModalFlows { limit })
    );
    assert!(network.admit(unprotected("plain", 1)).is_ok());
}

/// A camera that is served at all levels, and more often at the highest.
fn camera() -> Requirement {
    saying("camera", 1, |modes| {
        modes.criticality = 7;
        modes.contract = Some(contract(200));
        let serve = served(None, Some(contract(22)));
        modes.levels.insert("highest".to_owned(), serve);
    })
}

/// A film that says it is not wanted at the middle level, and is not critical enough
/// for the highest.
fn film() -> Requirement {
    saying("film", 2, |modes| {
        modes.levels.insert("middle".to_owned(), Treatment::Drop);
    })
}

fn saying(name: &str, to: u8, change: impl FnOnce(&mut ModalFlow)) -> Requirement {
    let mut modes = ModalFlow::default();
    change(&mut modes);
    Requirement {
        protection: Protection::None,
        modes: Some(Arc::new(modes)),
        ..requirement(name, 1, &[3], group(to))
    }
}

fn served(mbps: Option<u64>, contract: Option<MonitorContract>) -> Treatment {
    let usual = unprotected("", 1).traffic;
    Treatment::Serve {
        class: None,
        traffic: mbps.map(|mbps| Traffic {
            rate: BitRate::from_mbps(mbps),
            ..usual
        }),
        deadline: None,
        contract,
    }
}

fn contract(period_ms: u64) -> MonitorContract {
    MonitorContract {
        period: Duration::from_ms(period_ms),
        size_bytes: 1_000,
    }
}

fn levels() -> Modes {
    Modes {
        levels: ["lowest", "middle", "highest"].map(str::to_owned).to_vec(),
        strategy: Strategy::Taktos,
        hold: Some(Duration::from_ms(400)),
        heart_beat: Some(Duration::from_ms(10)),
        default: Level::LOWEST,
        serve: vec![0, 2, 4],
        change_bound: Delay::ZERO,
        flows: BTreeMap::new(),
    }
}

fn with_levels() -> Config {
    let mut config = config(3, &LINE);
    config.modes = Some(levels());
    config
}

fn started() -> Network {
    let mut network = Network::with(3, &LINE, |config| config.modes = Some(levels()));
    for fake in network.switches.values_mut() {
        fake.mode = Some(FakeMode::default());
    }
    network.connect_all();
    network
}

fn all_levels() -> LevelSet {
    levels().all().collect()
}

fn complete(network: &Network, switch: u64) -> LevelSet {
    let mode = network.switches[&switch].mode.as_ref();
    mode.expect("it was told of modes").complete
}

fn entries_of_levels(network: &Network, switch: u64) -> usize {
    let entries = network.switches[&switch].entries.iter();
    let names_level = |field: &MatchField| matches!(field, MatchField::Level(_));
    entries
        .filter(|entry| entry.matching.iter().any(names_level))
        .count()
}
