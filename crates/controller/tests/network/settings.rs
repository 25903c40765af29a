//! Settings that are changed while the controller runs.

use std::collections::{BTreeMap, BTreeSet};

use controller::config::Metric;
use controller::northbound::{
    ForeignRules, Intent, IntentKind, IntentState, IntentSummary, Settings, SettingsChange,
};
use controller::{Reply, Request};
use units::{Delay, Duration};
use wire::openflow::{DatapathId, PortNumber};

use crate::DIAMOND;
use crate::budgets::fitted;
use crate::fake::{Network, group, requirement};

/// One link from 1 to 3 that takes long, and two that do not.
const TRIANGLE: [(u64, u64); 3] = [(1, 2), (2, 3), (1, 3)];

#[test]
fn another_metric_moves_what_has_a_better_way_by_it_and_no_flow() {
    let mut network = slow_shortcut();
    network
        .admit(requirement("trip", 1, &[3], group(1)))
        .unwrap();
    add(&mut network, 1, 3);
    let before = (routes(&mut network), network.request(Request::Flows));

    let replies = network.request(by(Metric::Delay));
    network.pass(Duration::from_secs(3));

    let settings = Settings {
        metric: Metric::Delay,
        foreign_rules: ForeignRules::Keep,
        drained: BTreeSet::new(),
    };
    assert_eq!(replies, [Reply::Settings(settings)]);
    assert_eq!(before.0, ["1 3", "3 1"]);
    assert_eq!(routes(&mut network), ["1 2 3", "3 2 1"]);
    assert_eq!(network.request(Request::Flows), before.1);
    assert_eq!(
        network.trace(1, crate::fake::mac(3)).0,
        BTreeMap::from([(3, 1)])
    );
    network.request(by(Metric::Links));
    network.pass(Duration::from_secs(3));
    assert_eq!(routes(&mut network), before.0);
}

#[test]
fn another_metric_touches_nothing_that_has_no_better_way_by_it() {
    let mut network = slow_shortcut();
    add(&mut network, 1, 2);
    network.pass(Duration::from_secs(3));
    let flow_mods = |network: &Network| {
        let switches = network.switches.values();
        switches.map(|switch| switch.flow_mods).collect::<Vec<_>>()
    };
    let before = flow_mods(&network);

    network.request(by(Metric::Delay));
    network.pass(Duration::from_secs(3));

    assert_eq!(flow_mods(&network), before);
    let states = summaries(&mut network).into_iter().map(|it| it.state);
    assert_eq!(states.collect::<Vec<_>>(), [IntentState::Installed]);
}

#[test]
fn settings_are_there_again_after_a_restart() {
    let mut network = Network::started(3, &TRIANGLE);
    let change = SettingsChange {
        metric: Some(Metric::Delay),
        foreign_rules: Some(ForeignRules::Remove),
        drained: Some(BTreeSet::from([DatapathId(2)])),
    };
    let changed = network.request(Request::Configure(change));

    network.restart_controller(3, &TRIANGLE);

    assert_eq!(network.request(Request::Settings), changed);
}

#[test]
fn settings_that_the_store_cannot_keep_do_not_change() {
    let mut network = Network::started(3, &TRIANGLE);
    let before = network.request(Request::Settings);
    network.store_works = false;

    let refused = network.request(by(Metric::Delay));

    assert_eq!(refused, [Reply::NotStored]);
    assert_eq!(network.request(Request::Settings), before);
}

fn drained(switches: &[u64]) -> Request {
    Request::Configure(SettingsChange {
        drained: Some(switches.iter().copied().map(DatapathId).collect()),
        ..SettingsChange::default()
    })
}

/// Returns the switches on the way of the only flow.
fn way(network: &mut Network) -> Vec<String> {
    match &network.request(Request::Flows)[..] {
        [Reply::Flows(flows)] => flows[0].accepted.route.switches.clone(),
        other => panic!("{other:?}"),
    }
}

/// Maintenance: whoever is to be taken away is passed by no more, by what is promised and
/// what is not, and what comes later goes around it as well.
#[test]
fn what_passes_a_drained_switch_goes_around_it_make_before_break() {
    let fixed = Network::started(4, &DIAMOND);
    for mut network in [fixed, fitted(4, &DIAMOND)] {
        network
            .admit(requirement("trip", 1, &[4], group(1)))
            .unwrap();
        add(&mut network, 1, 4);
        drain_and_use_again(network);
    }
}

fn drain_and_use_again(mut network: Network) {
    assert_eq!(way(&mut network), ["s1", "s2", "s4"]);

    network.request(drained(&[2]));
    network.pass(Duration::from_secs(3));

    assert_eq!(way(&mut network), ["s1", "s3", "s4"]);
    assert_eq!(routes(&mut network), ["1 3 4", "4 3 1"]);
    let later = network.admit(requirement("later", 1, &[4], group(2)));
    assert_eq!(
        later.expect("it has room").route.switches,
        ["s1", "s3", "s4"]
    );
    // Nobody is cut off who has no other way.
    network.request(drained(&[2, 3]));
    network.pass(Duration::from_secs(3));
    assert_eq!(way(&mut network).len(), 3);
    assert_eq!(routes(&mut network).len(), 2);

    network.request(drained(&[]));
    let back = network.admit(requirement("back", 1, &[4], group(3)));
    assert_eq!(
        back.expect("it has room").route.switches,
        ["s1", "s2", "s4"]
    );
}

fn by(metric: Metric) -> Request {
    Request::Configure(SettingsChange {
        metric: Some(metric),
        ..SettingsChange::default()
    })
}

/// Returns a triangle of which one link has a propagation of 5 ms.
fn slow_shortcut() -> Network {
    let mut network = Network::with(3, &TRIANGLE, |config| {
        for (at, to) in [(1, 3), (3, 1)] {
            let switch = config
                .switches
                .get_mut(&DatapathId(at))
                .expect("it is there");
            let port = switch.ports.get_mut(&PortNumber(to)).expect("it is there");
            port.propagation = Delay::from_us(5_000);
        }
    });
    network.connect_all();
    network
}

fn add(network: &mut Network, one: u64, other: u64) {
    let intent = Intent {
        name: "web".into(),
        kind: IntentKind::HostToHost {
            one: format!("h{one}"),
            other: format!("h{other}"),
        },
    };
    network.request(Request::AddIntents(vec![intent]));
    network.pass(Duration::from_secs(1));
}

fn summaries(network: &mut Network) -> Vec<IntentSummary> {
    match &network.request(Request::Intents)[..] {
        [Reply::Intents(intents)] => intents.clone(),
        other => panic!("{other:?}"),
    }
}

fn routes(network: &mut Network) -> Vec<String> {
    let intents = summaries(network);
    let routes = intents.iter().flat_map(|intent| &intent.routes);
    routes
        .map(|route| route.switches.join(" ").replace('s', ""))
        .collect()
}
