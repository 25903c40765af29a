use std::sync::atomic::AtomicBool;

use controller::northbound::{Reply, Request, Saying};
use scenario::Scenario;
use units::Duration;

use super::*;
use crate::web::describe::Names;
use run::experiment::plan::requirements;
use run::experiment::sim_world::SimWorld;
use run::experiment::world::World;
use run::experiment::{Experiment, certificate};

const DIAMOND: &str = include_str!("../../../../../../scenarios/diamond.toml");

/// What a controller of the diamond tells once its flow is admitted and installed, and
/// the certificate of the scenario.
fn diamond() -> (ControllerAccount, Certificate) {
    let text = DIAMOND.replace(
        "[switches]",
        "[controller]\nhosts = \"scenario\"\n[switches]",
    );
    let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario = Scenario::parse("diamond.toml", &text, &mut nothing).unwrap();
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(&scenario, &stop);
    let (_, promises) = experiment.promises().unwrap();
    let config = experiment.config().unwrap();
    let names = Names::of(&config);
    let mut world = SimWorld::new(&scenario, config);
    let mut wait = |request: Option<Request>, ms: u64| {
        let id = request.map(|request| world.request(request));
        let until = world.now() + Duration::from_ms(ms);
        let mut answer = None;
        while world.now() < until {
            for said in world.listen(until).unwrap() {
                if let Saying::Reply(of, reply) = said.what
                    && Some(of) == id
                {
                    answer = Some(reply);
                }
            }
        }
        answer
    };
    wait(None, 5_000);
    let asked = scenario.flows.iter();
    let asked = asked
        .flat_map(|flow| requirements(&scenario, flow))
        .collect();
    wait(Some(Request::Admit(asked)), 10_000);
    let Some(Reply::Flows(flows)) = wait(Some(Request::Flows), 10) else {
        panic!("flows")
    };
    let Some(Reply::View(view)) = wait(Some(Request::View), 10) else {
        panic!("the view")
    };
    let told = ControllerAccount {
        topology: names.topology(&view),
        flows: flows
            .iter()
            .cloned()
            .map(crate::web::describe::flow)
            .collect(),
    };
    (told, certificate(&scenario, &promises))
}

#[test]
fn what_a_controller_tells_is_what_the_certificate_of_its_network_states() {
    let (told, certificate) = diamond();

    assert_eq!(told.flows.len(), 1);
    assert_eq!(told.differences(&certificate), []);
}

type Change = fn(&mut Certificate);

const OTHERWISE: &[(&str, Change)] = &[
    ("switch `s1`", |it| it.network.switches[0].datapath = 9),
    ("link 1:2-2:1", |it| {
        it.network.links.retain(|it| it.name != "s1-s2")
    }),
    ("host `mu`", |it| {
        it.network.hosts[0].name = "other".to_owned()
    }),
    ("flow `sv`", |it| it.flows.clear()),
    ("flow `sv`, source", |it| {
        it.flows[0].demand.source = "relay".to_owned()
    }),
    ("flow `sv`, receivers", |it| {
        it.flows[0].demand.receivers.push("mu".to_owned())
    }),
    ("flow `sv`, protection", |it| {
        it.flows[0].demand.protection = Protection::None
    }),
    ("flow `sv`, guarantee_ns", |it| {
        it.flows[0].guarantees_ps = vec![Some(1_000)]
    }),
    ("flow `sv`, path", |it| it.flows[0].path.truncate(1)),
    ("flow `sv`, alternatives", |it| {
        drop(it.flows[0].alternatives.pop())
    }),
    ("flow `sv`, class", |it| service(it).class = 3),
    ("flow `sv`, rate_bps", |it| service(it).rate_bps = 1),
    ("flow `sv`, burst_bytes", |it| service(it).burst_bit += 8),
    ("flow `sv`, deadline_ns", |it| service(it).deadline_ps *= 2),
];

fn service(certificate: &mut Certificate) -> &mut certificate::document::Service {
    certificate.flows[0].demand.levels[0].as_mut().unwrap()
}

#[test]
fn what_is_otherwise_at_a_controller_is_named() {
    let (told, certificate) = diamond();
    for (expected, change) in OTHERWISE {
        let mut altered = certificate.clone();
        change(&mut altered);

        let differences = told.differences(&altered);

        let named = differences.iter().any(|it| it.at == *expected);
        assert!(named, "{expected}: {differences:?}");
    }
}

#[test]
fn a_flow_whose_promise_does_not_hold_now_is_a_difference() {
    let (mut told, certificate) = diamond();
    let text = json!(told.flows[0])
        .to_string()
        .replace("\"holds\"", "\"broken\"");
    told.flows[0] = serde_json::from_str(&text).unwrap();

    let differences = told.differences(&certificate);

    assert_eq!(differences.len(), 1, "{differences:?}");
    assert_eq!(differences[0].at, "flow `sv`, promise");
}
