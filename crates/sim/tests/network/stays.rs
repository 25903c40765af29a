//! What switches have seen of the stays of frames, each by its own clock, against what the
//! stamps of both ends say.

use controller::northbound::{FlowId, Reply, Request};
use sim::World;
use units::Duration;

use crate::blueprint::{BEST_EFFORT, Blueprint};
use crate::run::{admit, ask, discover, load};

const RUNS: u64 = 60;
const DURATION: Duration = Duration::from_ms(500);
/// A switch is asked what it has seen once a second at most.
const ASKED_AGAIN: Duration = Duration::from_ms(1_200);
/// Switches are told of a queue a little after something is promised there.
const WATCHED_WITHIN: Duration = Duration::from_secs(1);
const MOST: usize = 1_000;
const READ_TO: Duration = Duration::from_ns(10);

/// Returns of each promised flow the longest time that a frame took by the stamps of both
/// ends, and the longest that it may have taken as hops have seen it, if all have seen it.
fn of_network(seed: u64) -> Vec<(Duration, Option<Duration>)> {
    let blueprint = Blueprint::draw(seed);
    let mut world = World::new(blueprint.parts());
    discover(&blueprint, &mut world);
    let admitted = admit(&blueprint, &mut world);
    let start = world.now() + WATCHED_WITHIN;
    world.begin(load(&blueprint, &admitted, start, start + DURATION));
    world.run_until(start + DURATION + ASKED_AGAIN);
    let (after, most) = (FlowId(0), MOST);
    let Reply::Hops(hops) = ask(&mut world, Request::HopsAfter { after, most }) else {
        panic!("hops were asked for")
    };
    assert_eq!(hops.len(), admitted.len());
    let records = world.finish().flows;
    let flows = admitted.iter().zip(records);
    let promised = flows.filter(|((flow, _), _)| blueprint.wishes[*flow].class != BEST_EFFORT);
    let seen = promised.filter_map(|((_, accepted), record)| {
        let longest = record.latency.max()?;
        let of_flow = hops.iter().find(|hops| hops.id == accepted.id)?;
        Some((longest, of_flow.observed))
    });
    seen.collect()
}

/// What hops add up to, each by its own clock, is never below what a frame took, and by no
/// more than a fifth above it for half of the flows.
#[test]
fn the_stays_at_hops_add_up_to_no_less_than_a_frame_took() {
    let (mut above, mut unseen) = (Vec::new(), 0);
    for seed in 0..RUNS {
        for (longest, observed) in of_network(seed) {
            let Some(observed) = observed else {
                unseen += 1;
                continue;
            };
            // Each clock, of the ends and of the switches, is read in whole nanoseconds, and none of these ways has more than ten.
            assert!(
                observed + READ_TO >= longest,
                "seed {seed}: {observed} by hops, {longest} by stamps"
            );
            let more = observed.saturating_sub(longest);
            above.push(more.as_ns() * 1_000 / longest.as_ns().max(1));
        }
    }

    above.sort_unstable();
    let at = |part: usize| above[above.len() * part / 100];
    println!(
        "{unseen} flows not seen everywhere, {} flows: by hops more than by stamps, in thousandths: median {}, 90 % {}, most {}",
        above.len(),
        at(50),
        at(90),
        above[above.len() - 1]
    );
    assert!(above.len() > 100, "{} flows", above.len());
    assert!(unseen * 4 < above.len(), "{unseen} beside {}", above.len());
    assert!(at(50) <= 200, "{} thousandths", at(50));
}
