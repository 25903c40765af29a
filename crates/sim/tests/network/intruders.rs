//! Somebody at every port imitates the flows of others: nobody gets into a flow, and no
//! flow loses a frame.

use std::collections::BTreeSet;

use controller::northbound::{ApplicationKind, Event};
use sim::servers::random::Random;
use units::Duration;

use crate::blueprint::{BEST_EFFORT, Blueprint};
use crate::run::run;
use crate::seeds_of;

/// How many networks are drawn.
const RUNS: u64 = 60;
const DURATION: Duration = Duration::from_ms(200);

#[test]
fn promises_hold_while_somebody_at_every_port_has_the_addresses_of_their_ends() {
    let (mut promised, mut disputed) = (0, BTreeSet::new());
    for seed in seeds_of(RUNS) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut blueprint = Blueprint::draw(seed);
        blueprint.intrude(&mut Random::new(!seed));
        let routes = ApplicationKind::ProactiveRoutes;
        blueprint.applications = match seed % 4 {
            0 => vec![ApplicationKind::Deterministic],
            1 => vec![ApplicationKind::ReactiveForwarding],
            2 => vec![ApplicationKind::Deterministic, routes],
            _ => vec![ApplicationKind::ReactiveForwarding, routes],
        };
        let is_routed = blueprint.applications.contains(&routes);

        let outcome = run(&blueprint, &[], DURATION);

        let moved = |event: &Event| matches!(event, Event::HostMoved { .. });
        assert!(!outcome.heard(moved), "{:?}", outcome.notices);
        for flow in &outcome.flows {
            let (name, record) = (&flow.accepted.name, &flow.record);
            assert!(record.sent > 0, "{name} sent nothing");
            assert_eq!((record.duplicates(), record.misfits), (0, 0), "{name}");
            if flow.wish.class != BEST_EFFORT {
                promised += 1;
                assert_eq!((record.lost, record.late), (0, 0), "{name}");
            }
        }
        for record in &outcome.intruders {
            assert!(record.sent > 0, "an intruder sent nothing");
            // Routes lead by where frames go, whoever sends them: not by the way of a flow.
            let went = (record.received(), record.duplicates());
            assert!(went == (0, 0) || is_routed, "{went:?}");
        }
        let contested = outcome.summaries.iter().flat_map(|flow| &flow.disputes);
        let doubted = |event: &Event| matches!(event, Event::HostDoubted { .. });
        let contested: Vec<_> = contested.collect();
        assert!(contested.is_empty() || outcome.heard(doubted));
        assert!(is_routed || contested.is_empty() != outcome.heard(doubted));
        disputed.extend(contested.iter().map(|dispute| (seed, dispute.at)));
    }
    println!("{promised} promises, {} places of disputes", disputed.len());
    assert!(promised > 0 && !disputed.is_empty());
}
