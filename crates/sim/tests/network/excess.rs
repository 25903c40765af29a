//! A source that sends three times what it was admitted for: whether its excess is dropped or
//! goes on, no promise of others is touched.

use controller::northbound::{Event, ExceedAction, Reply, Request, Saying};
use measure::recorder::FlowRecord;
use sim::World;
use units::{BitRate, Duration};

use crate::blueprint::{BEST_EFFORT, Blueprint, Kind};
use crate::run::{admit_all, ask, discover, load};

const RUNS: u64 = 60;
const DURATION: Duration = Duration::from_ms(500);

/// Returns what became of the frames of the flow that exceeds, whether the controller said so,
/// and what became of the other promised flows; nothing if it was not admitted.
fn run(
    blueprint: &Blueprint,
    greedy: usize,
    excess: ExceedAction,
) -> Option<(FlowRecord, bool, Vec<FlowRecord>)> {
    let mut world = World::new(blueprint.parts());
    discover(blueprint, &mut world);
    let mut requirements: Vec<_> = (0..blueprint.wishes.len())
        .map(|flow| blueprint.requirement(flow))
        .collect();
    let asked = &mut requirements[greedy];
    asked.traffic.rate = BitRate::from_bps(asked.traffic.rate.as_bps() / 3);
    asked.traffic.burst = asked.traffic.largest_frame * 2;
    asked.excess = excess;
    let admitted = admit_all(requirements, &mut world);
    let place = admitted.iter().position(|(flow, _)| *flow == greedy)?;
    world.said();
    let start = world.now() + Duration::from_ms(10);
    world.begin(load(blueprint, &admitted, start, start + DURATION));
    world.run_until(start + DURATION + Duration::from_secs(1));
    let is_said = world.said().iter().any(|said| {
        matches!(said.what, Saying::Notice(Event::ContractExceeded { excess: it, .. }) if it == excess)
    });
    assert!(matches!(ask(&mut world, Request::Flows), Reply::Flows(_)));
    let mut flows = world.finish().flows;
    let exceeding = flows.remove(place);
    let others = admitted.iter().filter(|(flow, _)| *flow != greedy);
    let others = others.zip(flows);
    let promised = others.filter(|((flow, _), _)| blueprint.wishes[*flow].class != BEST_EFFORT);
    Some((
        exceeding,
        is_said,
        promised.map(|(_, record)| record).collect(),
    ))
}

#[test]
fn whoever_exceeds_harms_nobody_else_and_what_goes_on_mostly_arrives() {
    let (mut runs, mut dropped, mut lost) = (0, 0, 0);
    for seed in 0..RUNS {
        println!("seed {seed}"); // Shown only if the test fails.
        let blueprint = Blueprint::draw(seed);
        let mut wishes = blueprint.wishes.iter();
        let Some(greedy) = wishes.position(|it| it.kind == Kind::Greedy && it.class != BEST_EFFORT)
        else {
            continue;
        };
        let ways = [ExceedAction::Drop, ExceedAction::BestEffort];
        let [Some(strictly), Some(gently)] = ways.map(|way| run(&blueprint, greedy, way)) else {
            continue;
        };

        runs += 1;
        for (exceeding, is_said, others) in [&strictly, &gently] {
            assert!(exceeding.sent > 10 && *is_said, "{exceeding:?}");
            for record in others {
                assert_eq!((record.late, record.lost), (0, 0), "{record:?}");
            }
        }
        assert!(strictly.0.lost > 0, "{:?}", strictly.0);
        dropped += strictly.0.lost;
        lost += gently.0.lost;
    }

    assert!(runs > 10, "{runs} networks had such a flow");
    assert!(
        lost * 2 < dropped,
        "{lost} of {dropped} were lost nevertheless"
    );
}
