//! What a link carries bounds what the processor behind it hands on.

use super::*;

/// A frame of 12,336 bit without a promise, one of 12,304 bit, and 3,000 bit that come
/// over the link while the processor may hold frames for 30 us; all four frames at once
/// would take 616 us.
#[test]
fn flows_over_one_link_are_no_denser_behind_a_processor_but_by_its_budget() {
    for (processor_ps, port_ps) in [(30_000_000, 276_400_000), (40_000_000, 286_400_000)] {
        let with_budget = |budget_ps| {
            let mut certificate = four_over_one_link();
            certificate.levels[0].processors[1].budget_ps = processor_ps;
            certificate.levels[0].ports[1].budget_ps = budget_ps;
            refusals(&certificate)
        };

        assert_eq!(with_budget(port_ps), NONE);
        assert!(with_budget(port_ps - 1)[0].contains("may be here for"));
    }
}

#[test]
fn after_a_failure_what_may_have_come_over_another_link_counts_by_itself() {
    let mut certificate = four_over_one_link();
    let flow = &mut certificate.flows[0];
    flow.demand.protection = Protection::Restore;
    flow.alternatives = vec![Alternative {
        without: 5,
        path: vec![0, 6, 7, 4],
    }];
    over_another_switch(&mut certificate);

    let objections = refusals(&certificate);

    assert!(objections[0].contains("without `s1-s2`"), "{objections:?}");
    assert_eq!(refusals(&with_room(certificate)), NONE);
}

#[test]
fn behind_an_eliminator_a_copy_may_have_come_over_either_link() {
    let mut certificate = four_over_one_link();
    let flow = &mut certificate.flows[0];
    flow.demand.protection = Protection::Copies;
    flow.copies = Some(Copies {
        path: vec![0, 6, 7, 4],
        eliminator: Some("s2".to_owned()),
    });
    over_another_switch(&mut certificate);

    let objections = refusals(&certificate);

    assert!(objections[0].contains("may be here for"), "{objections:?}");
    assert_eq!(refusals(&with_room(certificate)), NONE);
}

#[test]
fn where_the_level_changes_a_processor_may_hold_frames_for_longer() {
    let mut certificate = four_over_one_link();
    certificate.network.changes = Changes::Controller;
    let again = certificate.levels[0].clone();
    certificate.levels.push(again);
    for (level, name) in certificate.levels.iter_mut().zip(["lo", "hi"]) {
        level.name = Some(name.to_owned());
    }
    for flow in &mut certificate.flows {
        flow.demand.levels.push(flow.demand.levels[0]);
        flow.guarantees_ps.push(flow.guarantees_ps[0]);
    }

    let objections = refusals(&certificate);

    assert!(objections[0].contains("may be here for"), "{objections:?}");
    assert_eq!(refusals(&with_room(certificate)), NONE);
}

/// Flows of a full frame each from four hosts at s1 over its link to s2, to a host there;
/// the port to that one has a budget as small as the bound.
fn four_over_one_link() -> Certificate {
    let mut network = network_of(&["s1", "s2", "s3"]);
    network.hosts = ["a", "b", "c", "d", "z"].map(host).to_vec();
    network.links = vec![
        link("a", ("s1", 11), ("a", 1)),
        link("b", ("s1", 12), ("b", 1)),
        link("c", ("s1", 13), ("c", 1)),
        link("d", ("s1", 14), ("d", 1)),
        link("z", ("s2", 1), ("z", 1)),
        link("s1-s2", ("s1", 2), ("s2", 2)),
        link("s1-s3", ("s1", 3), ("s3", 3)),
        link("s2-s3", ("s2", 3), ("s3", 2)),
    ];
    let service = Service {
        deadline_ps: 3_000_000_000,
        ..contract(7, [147_200, 12_304, 12_304])
    };
    let senders = ["a", "b", "c", "d"].into_iter().enumerate();
    let flows = senders.map(|(at, from)| {
        let path = [at, 5, 4];
        flow(from, [from, "z"], service, service.deadline_ps, &path)
    });
    let budgets = [("s1", 40_000_000), ("s2", 30_000_000)];
    let mut ports = vec![port("s1", 2, 7, 700), port("s2", 1, 7, 0)];
    ports[1].budget_ps = 276_400_000;
    Certificate {
        format: FORMAT.to_owned(),
        network,
        levels: vec![Level {
            name: None,
            processors: budgets
                .map(|(switch, budget_ps)| ProcessorBudget {
                    switch: switch.to_owned(),
                    budget_ps,
                })
                .to_vec(),
            ports,
        }],
        flows: flows.collect(),
        sha256: String::new(),
        signature: None,
    }
}

/// Gives the way over s3 budgets.
fn over_another_switch(certificate: &mut Certificate) {
    let level = &mut certificate.levels[0];
    level.processors.push(processor("s3"));
    level.processors[2].budget_ps = 40_000_000;
    level.ports.push(port("s1", 3, 7, 700));
    level.ports.push(port("s3", 2, 7, 700));
}

/// Gives the last port room for all frames at once.
fn with_room(mut certificate: Certificate) -> Certificate {
    for level in &mut certificate.levels {
        level.ports[1].budget_ps = 700_000_000;
    }
    certificate
}
