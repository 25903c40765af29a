//! Criticality modes: what switches are given, when levels are complete, and the way
//! back.

use std::collections::BTreeMap;

use controller::modes::{ModalFlow, Modes, Strategy, Treatment};
use controller::northbound::{ModeChange, ModeRefusal, ModeReport, Protection};
use controller::place::{Place, PortId};
use controller::{Config, Event, Reply, Request, Requirement};
use units::{Delay, Duration, Instant};
use wire::mode_signal::{Level, Mode};
use wire::openflow::taktos::{
    Demanded, LevelSet, ModeEvent, ModeEventKind, ModeFailed, ModeFlags, ModeMessage,
    MonitorContract, MonitorId,
};
use wire::openflow::{Action, DatapathId, PortNumber, TransactionId};

use crate::fake::{FakeMode, Network, PROMISED, config, group, mac, requirement};

const LINE: [(u64, u64); 2] = [(1, 2), (2, 3)];
const HOLD: Duration = Duration::from_ms(400);

#[test]
fn a_flow_is_given_a_monitor_at_its_first_switch_and_entries_of_all_levels_everywhere() {
    let network = deployed(Strategy::Taktos);

    for (switch, fake) in &network.switches {
        let mode = fake.mode.as_ref().unwrap();
        assert_eq!(mode.complete, both(), "switch {switch}");
        let at_levels = fake.entries.iter().filter(|entry| names_level(entry));
        assert_eq!(at_levels.count(), 4, "switch {switch}");
        let arranges = |entry: &&crate::fake::FakeEntry| entry.actions == [Action::ModeArrange];
        assert_eq!(fake.entries.iter().filter(arranges).count(), 1);
    }
    let first = network.switches[&1].mode.as_ref().unwrap();
    assert_eq!(
        first.monitors,
        BTreeMap::from([(1, vec![contract(100), contract(20)])])
    );
    assert!(
        network.switches[&2]
            .mode
            .as_ref()
            .unwrap()
            .monitors
            .is_empty()
    );
    assert_eq!(network.switches[&2].mode.as_ref().unwrap().trunks.len(), 2);
}

#[test]
fn a_flow_that_is_given_up_reaches_nobody_at_the_higher_level() {
    let mut network = deployed(Strategy::Taktos);

    let before = network.trace(1, group(2));
    set_level(&mut network, 1);
    let after = network.trace(1, group(2));
    let critical = network.trace(1, group(1));

    assert_eq!(before.0, BTreeMap::from([(3, 1)]));
    assert!(after.0.is_empty());
    assert_eq!(critical.0, BTreeMap::from([(3, 1)]));
    assert!(critical.1.contains(&7), "{:?}", critical.1);
}

#[test]
fn levels_are_not_complete_while_an_entry_is_not_confirmed() {
    let mut network = started(Strategy::Taktos);
    network.switches.get_mut(&2).unwrap().habits.capacity = Some(4);

    admit_both(&mut network);
    network.pass(Duration::from_secs(1));

    assert_eq!(complete(&network, 1), both());
    assert_eq!(complete(&network, 2), LevelSet::NONE.with(Level::LOWEST));
    network.switches.get_mut(&2).unwrap().habits.capacity = None;
    network.pass(Duration::from_secs(4));
    assert_eq!(complete(&network, 2), both());
}

#[test]
fn a_controller_that_dies_half_way_leaves_levels_incomplete_and_the_next_one_goes_on() {
    let mut network = started(Strategy::Taktos);
    network.barriers_work = false;
    admit_both(&mut network);
    network.pass(Duration::from_ms(50));
    assert_eq!(complete(&network, 3), LevelSet::NONE.with(Level::LOWEST));

    network.barriers_work = true;
    network.restart_controller_as(with_modes(Strategy::Taktos));
    network.pass(Duration::from_secs(20));

    for switch in 1..=3 {
        assert_eq!(complete(&network, switch), both(), "switch {switch}");
    }
}

#[test]
fn a_switch_that_restarts_is_given_everything_again() {
    let mut network = deployed(Strategy::Taktos);
    let before = network.switches[&1].entries.len();

    network.disconnect(1);
    let fake = network.switches.get_mut(&1).unwrap();
    fake.entries.clear();
    fake.mode = Some(FakeMode::default());
    network.connect(1);
    network.pass(Duration::from_secs(3));

    assert_eq!(network.switches[&1].entries.len(), before);
    assert_eq!(complete(&network, 1), both());
    assert_eq!(
        network.switches[&1].mode.as_ref().unwrap().monitors.len(),
        1
    );
}

#[test]
fn the_level_falls_when_all_were_quiet_for_the_hold_time_and_not_before() {
    let mut network = deployed(Strategy::Taktos);
    set_level(&mut network, 1);
    mode_of(&mut network, 2).quiet = Some(Duration::from_ms(300));
    violate(&mut network, 1, 1);

    network.pass(Duration::from_secs(3));
    assert_eq!(lowerings(&network), 0);

    mode_of(&mut network, 2).quiet = Some(Duration::from_ms(401));
    mode_of(&mut network, 1).quiet = Some(Duration::from_ms(401));
    mode_of(&mut network, 3).waiting = 900;
    network.pass(Duration::from_secs(3));
    assert_eq!(lowerings(&network), 0);

    mode_of(&mut network, 3).waiting = 0;
    network.pass(Duration::from_secs(3));
    assert!(lowerings(&network) > 0);
    assert_eq!(mode_of(&mut network, 1).mode.level, Level::LOWEST);
}

#[test]
fn a_switch_that_refuses_is_asked_again_and_said_to_have_refused() {
    let mut network = deployed(Strategy::Taktos);
    set_level(&mut network, 1);
    mode_of(&mut network, 1).is_restless = true;

    network.pass(Duration::from_secs(1));

    let refused = Event::ModeRefused {
        switch: "s1".to_owned(),
        reason: format!("{:?}", ModeFailed::NotQuiet),
    };
    assert!(network.events.contains(&refused));
    assert!(lowerings(&network) > 1);
    let asked = change(&mut network, ModeChange::Lower("lo".to_owned()));
    assert_eq!(
        asked,
        Reply::ModeRefused(ModeRefusal::BySwitch {
            datapath: DatapathId(1),
            failed: ModeFailed::NotQuiet,
        })
    );
}

#[test]
fn a_lock_is_told_to_all_and_outlives_the_controller() {
    let mut network = deployed(Strategy::Taktos);

    change(&mut network, ModeChange::Locked(true));
    let locked = |network: &Network| {
        let mut modes = network
            .switches
            .values()
            .map(|fake| fake.mode.as_ref().unwrap());
        modes.all(|mode| mode.flags.contains(ModeFlags::LOCKED))
    };
    assert!(locked(&network));
    set_level(&mut network, 1);
    network.pass(Duration::from_secs(2));
    assert_eq!(lowerings(&network), 0);

    network.restart_controller_as(with_modes(Strategy::Taktos));
    network.pass(Duration::from_secs(2));
    assert!(locked(&network));
    change(&mut network, ModeChange::Locked(false));
    assert!(!locked(&network));
}

#[test]
fn what_an_operator_said_outlives_the_controller_and_all_switches() {
    let mut network = deployed(Strategy::Taktos);
    change(&mut network, ModeChange::Locked(true));
    change(&mut network, ModeChange::Force("hi".to_owned()));

    for switch in 1..=3 {
        *mode_of(&mut network, switch) = FakeMode::default();
    }
    network.restart_controller_as(with_modes(Strategy::Taktos));
    network.pass(Duration::from_secs(3));
    let after = show(&mut network);

    assert_eq!(after.forced.as_deref(), Some("hi"));
    assert_eq!(after.level, "hi");
    assert!(after.locked);
    assert!(mode_of(&mut network, 2).flags.contains(ModeFlags::LOCKED));

    shown(change(&mut network, ModeChange::Lower("lo".to_owned())));
    network.restart_controller_as(with_modes(Strategy::Taktos));
    network.pass(Duration::from_secs(3));
    let last = show(&mut network);

    assert_eq!((last.forced.as_deref(), &*last.level), (None, "lo"));
    assert!(last.locked);
}

#[test]
fn std_sdn_writes_the_forced_level_again_when_it_starts() {
    let mut network = deployed(Strategy::StdSdn);
    change(&mut network, ModeChange::Force("hi".to_owned()));

    network.restart_controller_as(with_modes(Strategy::StdSdn));
    network.pass(Duration::from_secs(3));

    assert_eq!(show(&mut network).forced.as_deref(), Some("hi"));
    assert!(network.trace(1, group(2)).0.is_empty());
}

#[test]
fn what_the_store_does_not_keep_was_not_said() {
    let mut network = deployed(Strategy::Taktos);
    network.store_works = false;

    let refused = change(&mut network, ModeChange::Locked(true));

    assert_eq!(refused, Reply::NotStored);
    assert!(!show(&mut network).locked);
}

#[test]
fn the_key_of_signals_follows_from_the_secret_and_without_one_from_the_seed() {
    let key = |secret, seed| {
        let mut network = Network::with(3, &LINE, |config| {
            *config = Config {
                probe_key: secret,
                seed,
                ..with_modes(Strategy::Taktos)
            };
        });
        for switch in network.switches.values_mut() {
            switch.mode = Some(FakeMode::default());
        }
        network.connect_all();
        network.pass(Duration::from_secs(1));
        mode_of(&mut network, 1).key
    };

    assert_eq!(key(Some([3; 16]), 1), key(Some([3; 16]), 2));
    assert_ne!(key(Some([3; 16]), 1), key(Some([4; 16]), 1));
    assert_eq!(key(None, 1), key(None, 1));
    assert_ne!(key(None, 1), key(None, 2));
}

#[test]
fn a_forced_level_stays_until_it_is_lowered() {
    let mut network = deployed(Strategy::Taktos);

    let forced = shown(change(&mut network, ModeChange::Force("hi".to_owned())));
    network.pass(Duration::from_secs(3));
    let report = show(&mut network);
    let lowered = shown(change(&mut network, ModeChange::Lower("0".to_owned())));

    assert_eq!(forced.level, "hi");
    assert_eq!(report.forced.as_deref(), Some("hi"));
    assert_eq!(lowered.level, "lo");
    assert_eq!(lowered.forced, None);
    assert_eq!(
        change(&mut network, ModeChange::Force("middle".to_owned())),
        Reply::ModeRefused(ModeRefusal::UnknownLevel("middle".to_owned()))
    );
}

#[test]
fn std_sdn_writes_the_entries_of_all_switches_when_it_is_told_of_a_violation() {
    let mut network = deployed(Strategy::StdSdn);
    assert!(mode_of(&mut network, 1).flags.contains(ModeFlags::ASK));
    assert_eq!(network.trace(1, group(2)).0, BTreeMap::from([(3, 1)]));

    violate(&mut network, 1, 1);

    assert!(network.trace(1, group(2)).0.is_empty());
    assert!(!network.switches[&2].entries.iter().any(names_level));
    for switch in 1..=3 {
        mode_of(&mut network, switch).quiet = Some(Duration::from_secs(1));
    }
    network.pass(Duration::from_secs(3));
    assert_eq!(network.trace(1, group(2)).0, BTreeMap::from([(3, 1)]));
}

#[test]
fn mc_agnostic_and_switches_without_modes_are_left_alone() {
    let agnostic = deployed(Strategy::McAgnostic);
    let mut plain = Network::with(3, &LINE, |config| {
        give_class_7(config);
        config.modes = Some(modes(Strategy::Taktos));
    });
    plain.connect_all();
    admit_both(&mut plain);
    plain.pass(Duration::from_secs(3));

    assert_eq!(agnostic.switches[&1].mode.as_ref().unwrap().configured, 0);
    for network in [&agnostic, &plain] {
        let mut entries = network.switches.values().flat_map(|fake| &fake.entries);
        assert!(!entries.any(names_level));
    }
    assert_eq!(plain.trace(1, group(2)).0, BTreeMap::from([(3, 1)]));
}

#[test]
fn a_flow_that_is_withdrawn_takes_its_entries_and_its_monitor_along() {
    let mut network = deployed(Strategy::Taktos);

    network.request(Request::Withdraw("critical".to_owned()));
    network.pass(Duration::from_secs(2));

    let mode = network.switches[&1].mode.as_ref().unwrap();
    assert!(mode.monitors.is_empty());
    let left = network.switches[&1]
        .entries
        .iter()
        .filter(|it| names_level(it));
    assert_eq!(left.count(), 2);
}

#[test]
fn what_is_told_of_signals_is_passed_on() {
    let mut network = deployed(Strategy::Taktos);

    tell(&mut network, 2, |event| ModeEvent {
        kind: ModeEventKind::SignalsRefused(wire::openflow::taktos::SignalFault::Forged),
        port: PortNumber(100),
        count: 12,
        ..event
    });

    let port = PortId::new(DatapathId(2), PortNumber(100));
    let event = Event::ModeSignalsRefused {
        at: Place::new(port, "s2".to_owned()),
        fault: wire::openflow::taktos::SignalFault::Forged,
        times: 12,
    };
    assert!(network.events.contains(&event));
}

/// Returns a requirement of a flow from host 1 to host 3.
pub fn unprotected(name: &str, to: u8) -> Requirement {
    Requirement {
        protection: Protection::None,
        ..requirement(name, 1, &[3], group(to))
    }
}

fn contract(period_ms: u64) -> MonitorContract {
    MonitorContract {
        period: Duration::from_ms(period_ms),
        size_bytes: 1_000,
    }
}

/// Of two flows one is critical, watched, and more urgent at the higher level; the other
/// is given up there.
pub fn modes(strategy: Strategy) -> Modes {
    let serve = Treatment::Serve {
        class: Some(match strategy {
            Strategy::Taktos => 7,
            Strategy::StdSdn | Strategy::McAgnostic => PROMISED,
        }),
        traffic: None,
        deadline: None,
        contract: Some(contract(20)),
    };
    let critical = ModalFlow {
        criticality: 4,
        jitter: Duration::ZERO,
        contract: Some(contract(100)),
        levels: BTreeMap::from([("hi".to_owned(), serve)]),
    };
    Modes {
        levels: vec!["lo".to_owned(), "hi".to_owned()],
        strategy,
        hold: Some(HOLD),
        heart_beat: Some(Duration::from_ms(10)),
        default: Level::LOWEST,
        serve: vec![0, 4],
        change_bound: Delay::ZERO,
        flows: BTreeMap::from([
            ("critical".to_owned(), critical),
            ("other".to_owned(), ModalFlow::default()),
        ]),
    }
}

fn with_modes(strategy: Strategy) -> Config {
    let mut config = config(3, &LINE);
    give_class_7(&mut config);
    config.modes = Some(modes(strategy));
    config
}

/// Lets a class be promised that only the higher level uses.
pub fn give_class_7(config: &mut Config) {
    for switch in config.switches.values_mut() {
        for port in switch.ports.values_mut() {
            port.budgets[7] = Some(Delay::from_us(400));
        }
    }
}

fn started(strategy: Strategy) -> Network {
    let mut network = Network::with(3, &LINE, |config| {
        give_class_7(config);
        config.modes = Some(modes(strategy));
    });
    for fake in network.switches.values_mut() {
        fake.mode = Some(FakeMode::default());
    }
    network.connect_all();
    network
}

fn admit_both(network: &mut Network) {
    for (name, to) in [("critical", 1), ("other", 2)] {
        let admitted = network.admit(unprotected(name, to));
        admitted.expect("there is room");
    }
}

fn deployed(strategy: Strategy) -> Network {
    let mut network = started(strategy);
    admit_both(&mut network);
    network.pass(Duration::from_secs(3));
    network
}

fn both() -> LevelSet {
    LevelSet::NONE
        .with(Level::LOWEST)
        .with(Level::new(1).expect("one of eight"))
}

fn complete(network: &Network, switch: u64) -> LevelSet {
    network.switches[&switch]
        .mode
        .as_ref()
        .expect("it was told of modes")
        .complete
}

fn mode_of(network: &mut Network, switch: u64) -> &mut FakeMode {
    let fake = network.switches.get_mut(&switch).expect("it is there");
    fake.mode.as_mut().expect("it was told of modes")
}

fn names_level(entry: &crate::fake::FakeEntry) -> bool {
    let mut fields = entry.matching.iter();
    fields.any(|field| matches!(field, wire::openflow::MatchField::Level(_)))
}

fn lowerings(network: &Network) -> usize {
    let modes = network
        .switches
        .values()
        .filter_map(|fake| fake.mode.as_ref());
    modes.map(|mode| mode.lowerings).sum()
}

/// Has all switches hold a level, as they would agree on it, and says so.
fn set_level(network: &mut Network, level: u8) {
    let level = Level::new(level).expect("one of eight");
    for switch in 1..=3 {
        mode_of(network, switch).mode.level = level;
        tell(network, switch, |event| ModeEvent {
            mode: Mode { era: 0, level },
            ..event
        });
    }
}

/// Has a switch say that flow 1 demands a level.
fn violate(network: &mut Network, switch: u64, level: u8) {
    let level = Level::new(level).expect("one of eight");
    let mode = mode_of(network, switch).mode;
    mode_of(network, switch).quiet = Some(Duration::ZERO);
    tell(network, switch, |event| ModeEvent {
        kind: ModeEventKind::Violation(Demanded::Level(level)),
        mode,
        ..event
    });
}

fn tell(network: &mut Network, switch: u64, event: impl Fn(ModeEvent) -> ModeEvent) {
    let event = event(ModeEvent {
        kind: ModeEventKind::Entered,
        mode: Mode::default(),
        served: Level::LOWEST,
        origin: DatapathId(1),
        monitor: MonitorId(1),
        port: PortNumber::ANY,
        detected: Instant::ZERO,
        changed: Instant::ZERO,
        count: 1,
    });
    let mut bytes = Vec::new();
    ModeMessage::Event(event).emit(TransactionId(0), &mut bytes);
    let connection = network.switches[&switch]
        .connection
        .expect("it is connected");
    network.receive(connection, &bytes);
}

fn change(network: &mut Network, change: ModeChange) -> Reply {
    let mut replies = network.request(Request::SetMode(change));
    replies.pop().expect("the test sees to it")
}

fn show(network: &mut Network) -> ModeReport {
    shown(
        network
            .request(Request::Mode)
            .pop()
            .expect("the test sees to it"),
    )
}

fn shown(reply: Reply) -> ModeReport {
    match reply {
        Reply::Mode(Some(report)) => *report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_frame_of_nobody_is_nobody_s_at_any_level() {
    let mut network = deployed(Strategy::Taktos);
    set_level(&mut network, 1);

    assert!(network.trace(1, mac(3)).0.is_empty());
}
