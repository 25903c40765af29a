//! Every file in `scenarios/` does what it is there for.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::path::Path;

use scenario::{Change, Scenario, ScenarioError, Traffic};
use units::Duration;

fn read(name: &str) -> Result<Scenario, ScenarioError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    Scenario::parse(name, &text, &mut |file| {
        std::fs::read_to_string(folder.join(file))
    })
}

#[test]
fn the_substation_has_what_its_description_promises() {
    let scenario = read("substation.toml").unwrap();

    assert_eq!(scenario.duration, Duration::from_secs(30));
    assert!(scenario.switches.len() >= 4 && scenario.hosts.len() >= 9);
    let count = |kind: fn(&Traffic) -> bool| {
        let flows = scenario.flows.iter();
        flows.filter(|flow| kind(&flow.traffic)).count()
    };
    let sampled_values = |traffic: &Traffic| match traffic {
        Traffic::SampledValues(traffic) => traffic.period == Duration::from_us(250),
        _ => false,
    };
    assert!(count(sampled_values) >= 4);
    assert!(count(|traffic| matches!(traffic, Traffic::Goose(_))) >= 3);
    assert!(count(|traffic| matches!(traffic, Traffic::BestEffort(_))) >= 1);
    let multicast = scenario
        .flows
        .iter()
        .filter(|flow| flow.receivers.len() > 1);
    assert!(multicast.count() >= 3);
    let changes: Vec<_> = scenario.events.iter().map(|event| event.change).collect();
    let [Change::Cut(cut), Change::Heal(healed)] = changes[..] else {
        panic!("{changes:?}");
    };
    assert_eq!(cut, healed);
}

#[test]
fn abilene_is_the_real_topology_with_at_least_100_flows() {
    let scenario = read("abilene.toml").unwrap();

    let switches = scenario.switches.len();
    let links = scenario.links.len() - scenario.hosts.len();
    assert_eq!((switches, links), (12, 15));
    assert!(scenario.flows.len() >= 100);
}

#[test]
fn the_imported_one_has_the_flows_of_its_files() {
    let scenario = read("imported.toml").unwrap();

    let flows: Vec<_> = scenario.imports.iter().map(|import| import.flows).collect();
    assert_eq!(flows, [3, 1, 3]);
    assert_eq!(scenario.flows.len(), 7);
    let samples = &scenario.flows[3];
    assert_eq!(scenario.hosts[samples.source.0].name, "mu");
    assert_eq!(samples.deadline, Some(Duration::from_ms(2)));
    assert!(
        scenario
            .imports
            .iter()
            .any(|import| !import.left_out.is_empty())
    );
}

#[test]
fn the_afdx_like_one_has_all_links_to_all_receivers() {
    let scenario = read("afdx.toml").unwrap();

    let receivers = scenario.flows.iter().map(|flow| flow.receivers.len());
    assert_eq!(
        (scenario.flows.len(), receivers.sum::<usize>()),
        (984, 6412)
    );
}

#[test]
fn the_car_gives_up_its_film_when_it_sees_a_wall() {
    let scenario = read("emergency-braking.toml").unwrap();

    let dropped = |flow: &&scenario::Flow| flow.by_level[1] == scenario::Treatment::Dropped;
    let dropped: Vec<_> = scenario.flows.iter().filter(dropped).collect();
    assert_eq!(dropped.len(), 1);
    assert_eq!(dropped[0].name, "stream");
    let [violation] = scenario.violations[..] else {
        panic!("{:?}", scenario.violations);
    };
    let phases = scenario.phases_of(violation.flow);
    assert_eq!(phases[1].message.period, Duration::from_ms(22));
}

#[test]
fn the_recorded_one_has_what_sensors_sent_and_the_contracts_for_it() {
    let scenario = read("recorded.toml").unwrap();

    let recordings = scenario
        .flows
        .iter()
        .filter_map(|flow| match &flow.traffic {
            Traffic::Trace(trace) => Some((flow, trace)),
            _ => None,
        });
    let recordings: Vec<_> = recordings.collect();
    let frames = |at: usize| recordings[at].1.recording.frames().len();
    assert_eq!((recordings.len(), frames(0), frames(1)), (2, 3_770, 1_802));
    for (flow, trace) in recordings {
        let contract = flow.contract().unwrap();
        assert!(trace.burst <= contract.burst, "{}", flow.name);
        assert!(
            trace.recording.mean_rate() <= contract.rate,
            "{}",
            flow.name
        );
    }
}

#[test]
fn the_small_ones_are_right() {
    for name in ["diamond.toml", "refused.toml"] {
        read(name).unwrap();
    }
}

#[test]
fn the_malformed_one_is_malformed() {
    let error = read("malformed.toml").unwrap_err();

    assert!(error.problems().len() >= 5);
}
