//! Flows that were promised something, and packets of outside routers, while a link is cut.

use controller::northbound::{Accepted, RoutePart};
use measure::recorder::FlowRecord;
use sim::Engine;
use sim::parts::Fault;
use sim::servers::random::Random;
use units::{Duration, Instant};

use crate::blueprint::{BEST_EFFORT, Blueprint, CARRIER_DETECTION, HealedBy, INTERRUPTION, Wish};
use crate::peers::Routed;
use crate::random_networks::{ENTRIES, SETTLED, any_address, change, drawn, seeds};
use crate::run::{admit, load};

const LENGTH: Duration = Duration::from_ms(500);
const CUT_AFTER: Duration = Duration::from_ms(150);
const NETWORKS: usize = 12;
/// Fewer than a table has room for masks, as each may have a length of its own.
const ROUTES: usize = 60;

#[test]
fn a_cut_makes_no_flow_late_and_packets_of_outside_routers_are_right_in_time() {
    let (mut promised, mut hit, mut probes) = (0, 0, 0);
    for seed in seeds().take(NETWORKS) {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Random::new(!seed);
        let mut routed = Routed::new(Blueprint::draw(seed), Engine::Tables, ENTRIES);
        let admitted = admit(&routed.blueprint, &mut routed.world);
        routed.begin(|_| {});
        let routes: Vec<_> = (0..ROUTES).map(|_| change(&routed, &mut random)).collect();
        routed.change(&routes, RoutePart::Increment);
        routed.pass(SETTLED);
        let start = routed.world.now() + Duration::from_ms(10);
        let traffic = load(&routed.blueprint, &admitted, start, start + LENGTH);
        routed.world.begin(traffic);
        routed.pass(CUT_AFTER);

        let link = random.index(routed.blueprint.links.len());
        let cut = routed.world.now();
        routed.fault(Fault::Cut { link });
        while routed.world.now() < cut + SETTLED {
            let (from, to) = drawn(&routed, &mut random);
            let arrivals = routed.probe(from, to);
            let came = arrivals.iter().map(|it| Some(it.host));
            let expected = routed.expected(to);
            assert!(arrivals.len() <= 1, "{arrivals:?}");
            assert!(came.clone().all(|it| it == expected), "{arrivals:?}");
        }
        while routed.world.now() < start + LENGTH {
            for from in routed.peers() {
                let to = any_address(&mut random);
                routed.assert_routed(from, to);
                probes += 1;
            }
        }
        routed.pass(SETTLED);

        let link = routed.blueprint.link_ends(link);
        let wishes = routed.blueprint.wishes.clone();
        let records = routed.world.finish().flows;
        for ((flow, accepted), record) in admitted.iter().zip(records) {
            let wish = &wishes[*flow];
            if wish.class == BEST_EFFORT {
                continue;
            }
            let is_hit = accepted.route.links.contains(&link);
            assert_promise_held((wish, accepted), &record, cut, is_hit);
            promised += 1;
            hit += usize::from(is_hit);
        }
    }
    assert!(hit > 0 && promised > hit, "{hit} of {promised} were cut");
    println!("{promised} flows, of which {hit} were cut; {probes} packets");
}

/// Asserts that nothing came later than promised, and nothing was lost but by a flow that used
/// the link when it was cut, for no longer than allowed.
fn assert_promise_held(
    (wish, accepted): (&Wish, &Accepted),
    record: &FlowRecord,
    cut: Instant,
    is_hit: bool,
) {
    let name = &accepted.name;
    assert!(record.sent > 0, "{name} sent nothing");
    let amiss = (record.late, record.misfits, record.out_of_contract);
    assert_eq!(amiss, (0, 0, 0), "{name}");
    assert!(is_hit || record.lost == 0, "{name} did not use the link");
    let guarantee = accepted.guarantee.unwrap().round_up();
    let lost_for = match wish.healed_by {
        HealedBy::Controller => INTERRUPTION,
        HealedBy::Switches | HealedBy::SwitchesWhateverFails | HealedBy::HeartBeats => {
            CARRIER_DETECTION
        }
        HealedBy::Copies => Duration::ZERO,
    };
    for run in record.receivers.iter().flat_map(|one| &one.loss_runs) {
        let is_due = run.first_sent + guarantee >= cut;
        let is_short = run.last_sent <= cut + lost_for;
        assert!(is_due && is_short, "{name} lost {run:?}, cut at {cut:?}");
    }
}
