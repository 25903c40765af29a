//! Applications come and go while the network runs, and do what they were granted.

use std::collections::BTreeMap;

use controller::northbound::{
    ApplicationId, ApplicationKind, ApplicationSummary, Asker, FrameAction, FrameMatch, Intent,
    IntentDecision, IntentKind, IntentRefusal, IntentState, IntentSummary, Manifest, Permission,
    RuleOwner, RuleState, Scope, TopologyCount,
};
use controller::{Event, Input, Reply, Request, RequestId};

use units::Duration;
use wire::openflow::{DatapathId, PortNumber};

use super::fake::{Network, group, mac, requirement};
use super::{DIAMOND, RING};

const HOST: PortNumber = PortNumber(100);

#[test]
fn an_application_may_do_what_it_declared_and_nothing_else() {
    let mut network = Network::started(4, &DIAMOND);
    load(
        &mut network,
        external("watcher", &[Permission::SeeTopology]),
    );
    let withdraw = Request::Withdraw("trip".into());

    let seen = ask_as(&mut network, "watcher", Request::Topology);
    let denied = ask_as(&mut network, "watcher", withdraw.clone());
    let stranger = ask_as(&mut network, "stranger", Request::Topology);

    assert!(matches!(
        seen,
        Reply::Topology(TopologyCount { switches: 4, .. })
    ));
    let refusal = |application: &str, needs| Reply::Denied {
        application: application.into(),
        needs,
    };
    assert_eq!(denied, refusal("watcher", Permission::AdmitFlows));
    assert_eq!(stranger, refusal("stranger", Permission::SeeTopology));
    assert_eq!(listed(&mut network, "watcher").unwrap().denied, 1);
}

#[test]
fn who_may_not_see_hosts_sees_a_network_without_them() {
    let mut network = Network::started(4, &DIAMOND);
    load(&mut network, external("blind", &[Permission::SeeTopology]));
    let both = [Permission::SeeTopology, Permission::SeeHosts];
    load(&mut network, external("seeing", &both));

    let hosts = ["blind", "seeing"].map(|name| {
        let Reply::View(view) = ask_as(&mut network, name, Request::View) else {
            panic!("a view")
        };
        (view.switches().len(), view.hosts().len())
    });

    assert_eq!(hosts, [(4, 0), (4, 4)]);
}

#[test]
fn an_application_that_was_loaded_is_loaded_again_after_a_restart() {
    let mut network = Network::started(4, &DIAMOND);
    let manifest = external("watcher", &[Permission::SeeTopology]);
    load(&mut network, manifest.clone());
    let before = listed(&mut network, "watcher").unwrap();

    network.restart_controller(4, &DIAMOND);

    assert_eq!(listed(&mut network, "watcher"), Some(before));
    network.request(Request::Unload("watcher".into()));
    network.restart_controller(4, &DIAMOND);
    assert_eq!(listed(&mut network, "watcher"), None);
}

#[test]
fn an_application_of_the_configuration_that_was_unloaded_stays_so_until_it_is_loaded() {
    let mut network = Network::started(4, &DIAMOND);
    let manifest = Manifest::built_in(ApplicationKind::Deterministic);

    let unloaded = network.request(Request::Unload("deterministic".into()));
    network.restart_controller(4, &DIAMOND);
    let after = listed(&mut network, "deterministic");
    load(&mut network, manifest.clone());
    network.restart_controller(4, &DIAMOND);

    assert_eq!((unloaded, after), (vec![Reply::Unloaded], None));
    let loaded = listed(&mut network, "deterministic").unwrap();
    assert_eq!(loaded.manifest, manifest);
}

#[test]
fn what_the_store_cannot_keep_is_not_unloaded() {
    let mut network = Network::started(4, &DIAMOND);
    network.store_works = false;

    let replies = network.request(Request::Unload("deterministic".into()));

    assert_eq!(replies, [Reply::NotStored]);
    assert!(listed(&mut network, "deterministic").is_some());
}

#[test]
fn what_the_store_cannot_keep_is_not_loaded() {
    let mut network = Network::started(4, &DIAMOND);
    network.store_works = false;

    let replies = network.request(Request::Load(external("watcher", &[])));

    assert_eq!(replies, [Reply::NotStored]);
    assert_eq!(listed(&mut network, "watcher"), None);
}

#[test]
fn what_is_not_there_cannot_be_unloaded_or_reloaded() {
    let mut network = Network::started(4, &DIAMOND);
    let name = || "watcher".to_owned();

    let replies = [Request::Unload(name()), Request::Reload(name())];
    let replies = replies.map(|request| network.request(request));

    assert_eq!(
        replies,
        [(); 2].map(|()| vec![Reply::UnknownApplication(name())])
    );
}

#[test]
fn two_that_forward_the_same_frames_are_not_loaded_together_with_equal_priority() {
    let mut network = Network::started(5, &RING);
    let reactive = Manifest::built_in(ApplicationKind::ReactiveForwarding);

    let equal = network.request(Request::Load(reactive.clone()));
    let alone = network.trace(1, mac(3)).0;
    load(
        &mut network,
        Manifest {
            priority: 1,
            ..reactive
        },
    );
    let flooded = network.trace(1, mac(9)).0;

    let [Reply::ApplicationRefused(reason)] = &equal[..] else {
        panic!("{equal:?}")
    };
    assert!(reason.contains("deterministic") && reason.contains("reactive-forwarding"));
    assert_eq!(alone, BTreeMap::new());
    assert_eq!(flooded.len(), 4);
}

#[test]
fn forwarding_ends_with_its_application_and_flows_do_not() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = Vec::new();
    });
    network.connect_all();
    network
        .admit(requirement("trip", 1, &[4], group(1)))
        .unwrap();
    let before = entries(&network);
    load(
        &mut network,
        Manifest::built_in(ApplicationKind::ReactiveForwarding),
    );
    for _ in 0..2 {
        network.trace(1, mac(3));
        network.trace(3, mac(1));
    }
    let forwarded = network.trace(1, mac(3)).0;

    network.request(Request::Unload("reactive-forwarding".into()));

    assert_eq!(forwarded, BTreeMap::from([(3, 1)]));
    assert_eq!(network.trace(1, mac(3)).0, BTreeMap::new());
    assert_eq!(network.trace(1, group(1)).0, BTreeMap::from([(4, 1)]));
    assert_eq!(entries(&network), before);
    assert!(network.events.iter().any(|event| {
        matches!(event, Event::ApplicationUnloaded { name, .. } if name == "reactive-forwarding")
    }));
}

#[test]
fn traffic_does_not_notice_that_its_application_is_reloaded() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    for _ in 0..2 {
        network.trace(1, mac(3));
        network.trace(3, mac(1));
    }
    let before = entries(&network);
    let messages = network.controller.counters().messages;

    let replies = network.request(Request::Reload("reactive-forwarding".into()));

    assert_eq!(replies, [Reply::Reloaded]);
    assert_eq!(entries(&network), before);
    assert_eq!(network.trace(1, mac(3)).0, BTreeMap::from([(3, 1)]));
    assert_eq!(network.controller.counters().messages, messages);
}

#[test]
fn what_an_application_has_learned_is_shown_as_its_own() {
    let mut network = Network::with(5, &RING, |config| {
        config.applications = vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)];
    });
    network.connect_all();
    for _ in 0..2 {
        network.trace(1, mac(3));
        network.trace(3, mac(1));
    }

    let replies = network.request(Request::Rules(DatapathId(2)));

    let [Reply::Rules(rules)] = &replies[..] else {
        panic!("{replies:?}")
    };
    let learned = rules.iter().filter(|rule| {
        let owner = RuleOwner::Application {
            id: ApplicationId(0),
            name: "reactive-forwarding".into(),
        };
        rule.owner == owner && rule.state == RuleState::Present
    });
    assert_eq!(learned.count(), 2);
    assert!(rules.iter().all(|rule| rule.owner != RuleOwner::Foreign));
}

/// Another owner's frames are not taken by whoever comes later with the same
/// priority.
#[test]
fn rules_for_the_same_frames_are_refused_with_the_owner_named() {
    let mut network = Network::started(4, &DIAMOND);
    load_writers(&mut network, [3, 3]);

    let first = write_rule(&mut network, "one", &[FrameAction::Output(HOST)]);
    let second = write_rule(&mut network, "other", &[]);

    assert!(matches!(first, IntentDecision::Accepted { .. }));
    let reason = IntentRefusal::Conflict {
        owner: "intent of-one of application one".into(),
        datapath: 2,
    };
    let name = "of-other".into();
    assert_eq!(second, IntentDecision::Refused { name, reason });
    assert_eq!(rules(&mut network), [1, 0]);
}

#[test]
fn rules_of_an_application_with_a_higher_priority_take_the_place_of_others() {
    let mut network = Network::started(4, &DIAMOND);
    load_writers(&mut network, [3, 4]);
    write_rule(&mut network, "one", &[FrameAction::Output(HOST)]);

    let second = write_rule(&mut network, "other", &[]);
    let displaced = rules(&mut network);
    let reason = intents(&mut network)
        .into_iter()
        .find_map(|intent| match intent.state {
            IntentState::Waiting { reason } => Some(reason),
            _ => None,
        });
    network.request(Request::Unload("other".into()));
    network.pass(Duration::from_ms(100));

    assert!(matches!(second, IntentDecision::Accepted { .. }));
    assert_eq!(displaced, [0, 1]);
    let reason = reason.expect("one of them waits");
    assert!(reason.contains("of-other of application other"), "{reason}");
    assert_eq!(rules(&mut network), [1, 0]);
}

/// Loads two applications that may write rules.
fn load_writers(network: &mut Network, priorities: [u8; 2]) {
    for (name, priority) in ["one", "other"].into_iter().zip(priorities) {
        let manifest = Manifest {
            priority,
            ..external(name, &[Permission::WriteRules])
        };
        load(network, manifest);
    }
}

/// Has an application ask for a rule at switch 2.
fn write_rule(network: &mut Network, application: &str, actions: &[FrameAction]) -> IntentDecision {
    let intent = Intent {
        name: format!("of-{application}"),
        kind: IntentKind::MatchAction {
            at: Scope::Switches(vec![DatapathId(2)]),
            priority: 7,
            matching: FrameMatch {
                source: Some(mac(1)),
                ..FrameMatch::default()
            },
            actions: actions.to_vec(),
        },
    };
    match ask_as(network, application, Request::AddIntents(vec![intent])) {
        Reply::IntentDecisions(mut decisions) => decisions.remove(0),
        other => panic!("{other:?}"),
    }
}

fn intents(network: &mut Network) -> Vec<IntentSummary> {
    match &network.request(Request::Intents)[..] {
        [Reply::Intents(intents)] => intents.clone(),
        other => panic!("{other:?}"),
    }
}

/// Returns how many rules the intents of each of the two have.
fn rules(network: &mut Network) -> [usize; 2] {
    let intents = intents(network);
    ["of-one", "of-other"].map(|name| {
        let of = intents.iter().filter(|it| it.intent.name == name);
        of.map(|it| it.rules).sum()
    })
}

fn external(name: &str, permissions: &[Permission]) -> Manifest {
    Manifest {
        name: name.into(),
        kind: ApplicationKind::External,
        permissions: permissions.iter().copied().collect(),
        priority: 0,
    }
}

fn load(network: &mut Network, manifest: Manifest) {
    let replies = network.request(Request::Load(manifest));
    assert!(matches!(replies[..], [Reply::Loaded(_)]), "{replies:?}");
}

fn listed(network: &mut Network, name: &str) -> Option<ApplicationSummary> {
    match &network.request(Request::Applications)[..] {
        [Reply::Applications(all)] => all.iter().find(|it| it.manifest.name == name).cloned(),
        other => panic!("{other:?}"),
    }
}

fn ask_as(network: &mut Network, name: &str, request: Request) -> Reply {
    let id = RequestId(1_000_000);
    let by = Asker::Application(name.into());
    network.replies.clear();
    network.input(Input::Request { id, by, request });
    network.settle();
    let mut replies = network.replies.drain(..);
    replies.find(|(to, _)| *to == id).expect("a reply").1
}

fn entries(network: &Network) -> Vec<usize> {
    let switches = network.switches.values();
    switches.map(|switch| switch.entries.len()).collect()
}
