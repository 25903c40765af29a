//! Sends adversarial traffic through simulated rings and checks that no frame is
//! later than promised: greedy sources, aligned or with random phases, floods
//! without promise, circular dependencies, and flows that change trees while
//! their frames are under way (S4-5, S4-6). Replay one with `TAKTOS_SEED=… cargo test`.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod adversary;
mod changing;
mod modes;
mod one_truth;
mod plain;
mod shares;
mod simulation;
mod wiring;

use std::collections::BTreeSet;

use calculus::admission::{
    Admitted, Background, CLASSES, FailureId, FailureScope, FrameBucket, Headroom, Hop, Ledger,
    MAX_DELAY, Redundant, Request, Room, Stage, StageId, Tree, suggest_budgets,
};
use calculus::bounds::processing::FRAME;
use calculus::min_plus::TokenBucket;
use simulation::{Caught, Conditions, Detour, Emission, Observation, Outage};
use units::{BitRate, DataSize, Delay};
use wiring::{Shape, Wiring};

const RUNS: u64 = 1_200;
const RUNS_OF_A_SHAPE: u64 = 300;
const LINK: BitRate = BitRate::from_mbps(100);
const FULL_FRAME: DataSize = DataSize::from_bytes(1_538);
/// How long sources send.
const SENDING_PS: u64 = 10_000_000_000;
/// The failure for which flows have an alternative.
const FAILURE: FailureId = FailureId(0);

#[test]
#[expect(clippy::disallowed_methods, reason = "replays one seed")]
fn no_frame_is_later_than_promised() {
    let fixed = std::env::var("TAKTOS_SEED")
        .ok()
        .map(|seed| seed.parse().expect("a number"));
    let seeds = match fixed {
        Some(seed) => seed..=seed,
        None => 0..=RUNS,
    };
    let mut largest = Usage::default();
    let mut runs = 0;
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        if let Some(usage) = run_once(seed) {
            runs += 1;
            largest = largest.max(usage);
        }
    }
    // Bounds that nothing comes near would pass as well.
    if fixed.is_none() {
        assert!(runs > RUNS / 2, "only {runs} runs had budgets");
        assert!(largest.of_budget_percent >= 95, "{largest:?}");
        assert!(largest.of_now_percent >= 95, "{largest:?}");
        assert!(largest.of_guarantee_percent >= 70, "{largest:?}");
    }
}

/// The same where switches stand in a row, as a tree, or as a mesh.
#[test]
fn no_frame_is_later_than_promised_however_switches_are_wired() {
    for shape in [Shape::Tandem, Shape::Tree, Shape::Mesh] {
        let mut largest = Usage::default();
        let mut runs = 0;
        for seed in 0..RUNS_OF_A_SHAPE {
            println!("{shape:?}, seed {seed}"); // Shown only if the test fails.
            let mut random = Prng::new(seed);
            let wiring = Wiring::draw(shape, &mut random);
            let stages = wiring.stages(&mut random);
            let flows: Vec<_> = (0..2 + random.below(12))
                .map(|_| wiring.flow(&mut random))
                .collect();
            if let Some(usage) = run_flows(&stages, &flows, &mut random) {
                runs += 1;
                largest = largest.max(usage);
            }
        }
        assert!(
            runs > RUNS_OF_A_SHAPE / 2,
            "only {runs} {shape:?}s had budgets"
        );
        assert!(
            largest.of_budget_percent >= 90 && largest.of_guarantee_percent >= 50,
            "{shape:?}: {largest:?}"
        );
    }
}

/// However frames are counted, by their sizes or as those of messages, no queue ever
/// holds more of them than the least room with which all flows are admitted.
#[test]
fn no_queue_holds_more_frames_than_it_has_room_for() {
    let (mut runs, mut fullest_percent) = (0, 0);
    for seed in 0..RUNS_OF_A_SHAPE {
        println!("seed {seed}"); // Shown only if the test fails.
        let mut random = Prng::new(seed);
        let switches = 1 + random.below(5);
        let ring = Ring { switches };
        let stages = ring.stages(&mut random);
        let flows: Vec<_> = (0..2 + random.below(12))
            .map(|_| of_messages(ring.flow(&mut random), &mut random))
            .collect();
        let Some(stages) = suggest_budgets(&stages, &[], &flows, Headroom::default()) else {
            continue;
        };
        let room = least_room(&stages, &flows);
        let emissions = emissions(&flows, &mut random);
        let conditions = conditions(&stages, &flows, &mut random);

        let mut most = 0;
        simulation::run(&stages, &flows, &emissions, &conditions, |observation| {
            if let Observation::Came { stage, frames, .. } = observation
                && matches!(stages[stage], Stage::Port { .. })
            {
                let frames = u64::try_from(frames).unwrap();
                assert!(frames <= room, "{frames} at {stage}, room for {room}");
                most = most.max(frames);
            }
        });

        runs += 1;
        fullest_percent = fullest_percent.max(most * 100 / room);
    }
    assert!(runs > RUNS_OF_A_SHAPE / 2, "only {runs} had budgets");
    assert!(fullest_percent >= 70, "{fullest_percent} % at most");
}

/// Has a flow send in bursts of frames that are mostly large, and say how many.
fn of_messages(mut flow: Request, random: &mut Prng) -> Request {
    flow.burst = flow.largest_frame * (1 + random.below(20));
    if random.below(3) == 0 {
        return flow;
    }
    let most = FrameBucket::of(flow.traffic(), flow.smallest_frame);
    let least = FrameBucket::of(flow.traffic(), flow.largest_frame);
    flow.frames = Some(FrameBucket {
        rate_per_second: least.rate_per_second.max(most.rate_per_second / 2),
        burst: least.burst,
    });
    flow
}

/// Returns the fewest frames for which every queue has to have room.
fn least_room(stages: &[Stage], flows: &[Request]) -> u64 {
    let admits = |room| {
        let with_room = |stage: &Stage| {
            let mut stage = stage.clone();
            if let Stage::Port { buffers, .. } = &mut stage {
                *buffers = [Some(Room::Frames(room)); CLASSES];
            }
            stage
        };
        let mut ledger = Ledger::new(stages.iter().map(with_room).collect());
        flows
            .iter()
            .all(|flow| ledger.admits(flow) && ledger.admit(flow.clone()).is_ok())
    };
    let (mut too_little, mut enough) = (0, 1);
    while !admits(enough) {
        (too_little, enough) = (enough, enough * 2);
    }
    while enough - too_little > 1 {
        let middle = too_little + (enough - too_little) / 2;
        match admits(middle) {
            true => enough = middle,
            false => too_little = middle,
        }
    }
    enough
}

/// Tight: a burst at a port that has just begun a frame without promise is there
/// for as long as the bound says.
#[test]
fn a_port_reaches_its_bound() {
    let stages = [port(FULL_FRAME)];
    let flow = one_stage_flow();
    let flows = vec![flow; 5];
    let none = Headroom::default();
    let stages = suggest_budgets(&stages, &[], &flows, none).unwrap();
    let emissions: Vec<_> = (0..5).map(|flow| at_once(flow, 0)).collect();
    // The flood has its frame done when the one begun just before them ends.
    let conditions = Conditions {
        processors_hesitate: true,
        flood_phase_ps: Some(LINK.time_to_send(FULL_FRAME).as_ps()),
        detours: Vec::new(),
        outage: None,
    };

    let mut longest = Delay::ZERO;
    simulation::run(&stages, &flows, &emissions, &conditions, |observation| {
        if let Observation::Left { sojourn, .. } = observation {
            longest = longest.max(sojourn);
        }
    });

    assert_eq!(stages[0].budget(7), Some(longest));
}

/// Tight: the same for frames that come to a processor together.
#[test]
fn a_processor_reaches_its_bound() {
    let stages = [processor(Delay::from_us(10), Delay::from_us(5))];
    let flows = vec![one_stage_flow(); 5];
    let stages = suggest_budgets(&stages, &[], &flows, Headroom::default()).unwrap();
    let emissions: Vec<_> = (0..5).map(|flow| at_once(flow, 0)).collect();
    let conditions = Conditions {
        processors_hesitate: true,
        flood_phase_ps: None,
        detours: Vec::new(),
        outage: None,
    };

    let mut longest = Delay::ZERO;
    simulation::run(&stages, &flows, &emissions, &conditions, |observation| {
        if let Observation::Left { sojourn, .. } = observation {
            longest = longest.max(sojourn);
        }
    });

    assert_eq!(stages[0].budget(7), Some(longest));
}

/// Tight: flows of full frames that come over one link and leave by another of
/// the same rate wait for a frame without promise, and not for each other.
#[test]
fn flows_over_one_link_do_not_wait_for_each_other_at_the_next() {
    let stages = [port(FULL_FRAME), port(FULL_FRAME)];
    let mut flow = one_stage_flow();
    flow.base = Tree::path([StageId(0), StageId(1)]);
    flow.largest_frame = FULL_FRAME;
    flow.smallest_frame = FULL_FRAME;
    flow.burst = FULL_FRAME;
    let flows = vec![flow; 8];

    let stages = suggest_budgets(&stages, &[], &flows, Headroom::default()).unwrap();

    let frame = LINK.time_to_send(FULL_FRAME);
    assert!(stages[0].budget(7).unwrap() >= frame * 9u64);
    // The one in its way, itself, and a bit for rounding.
    let budget = stages[1].budget(7).unwrap();
    assert!(
        budget <= frame * 2u64 + Delay::from_ns(10),
        "{budget}, {frame}"
    );
}

/// Flows come over one link into a processor that does nothing for a while and then hands
/// on all of them at once: its link bounds them behind it no better than that. Where it is
/// quick, they do not wait for each other again.
#[test]
fn what_a_processor_holds_back_leaves_it_together() {
    let mut flow = one_stage_flow();
    flow.base = Tree::path([StageId(0), StageId(1), StageId(2)]);
    let flows = vec![flow; 8];
    let emissions: Vec<_> = (0..8).map(|flow| at_once(flow, 0)).collect();
    let [frame, blocking] = [emissions[0].size, FULL_FRAME].map(|size| LINK.time_to_send(size));
    let mut longest = Vec::new();
    for latency_us in [0, 2_000] {
        let latency = Delay::from_us(latency_us);
        let processor = processor(latency, Delay::from_us(1));
        let stages = [port(FULL_FRAME), processor, port(FULL_FRAME)];
        let stages = suggest_budgets(&stages, &[], &flows, Headroom::default()).unwrap();
        let budget = stages[2].budget(7).unwrap();
        let conditions = Conditions {
            processors_hesitate: true,
            flood_phase_ps: Some(0),
            detours: Vec::new(),
            outage: None,
        };

        let mut late = Delay::ZERO;
        simulation::run(&stages, &flows, &emissions, &conditions, |observation| {
            if let Observation::Left {
                stage: 2, sojourn, ..
            } = observation
            {
                late = late.max(sojourn);
            }
        });

        assert!(late <= budget, "{late}, budget {budget}");
        longest.push((late, budget));
    }
    let [(_, quick), (late, _)] = longest[..] else {
        unreachable!("there are two")
    };
    assert!(quick < blocking + frame * 2u64, "itself alone: {quick}");
    assert!(late >= frame * 8u64, "all eight at once: {late}");
}

/// Tight: from whatever budgets it begins, the background comes down to the
/// smallest that admit the same flows.
#[test]
fn the_background_ends_where_budgets_could_not_be_smaller() {
    let mut compared = 0;
    for seed in 0..100 {
        let mut random = Prng::new(seed);
        let switches = 1 + random.below(5);
        let ring = Ring { switches };
        let stages = ring.stages(&mut random);
        let flows: Vec<_> = (0..2 + random.below(12))
            .map(|_| ring.flow(&mut random))
            .collect();
        let with = |percent| suggest_budgets(&stages, &[], &flows, Headroom { percent });
        let (Some(least), Some(roomy)) = (with(0), with(50)) else {
            continue;
        };
        let mut ledger = Ledger::new(roomy);
        for flow in &flows {
            ledger.admit(flow.clone()).unwrap();
        }

        let background = Background::of(&ledger, FailureScope::AnyFailure);

        for (stage, id) in least.iter().zip((0..).map(StageId)) {
            for class in 0..8 {
                let budget = stage.budget(class).unwrap_or_default();
                let now = background.at(id, class);
                // Bursts are whole bits: from above they may end with one more.
                let most = budget + Delay::from_ps(budget.as_ps() / 1_000);
                assert!(now <= most, "{now} at {id:?}, least budget {budget}");
                compared += u32::from(budget > Delay::ZERO);
            }
        }
    }
    assert!(compared > 100, "{compared} budgets");
}

/// Frames pile up in a slow processor just before or after a change of trees and
/// leave it together: towards a stage of both trees, towards the alternative
/// after they began on the base tree, and the other way round.
#[test]
fn changing_trees_breaks_no_budget() {
    let (slow, shared, left, right) = (0, 1, 2, 3);
    let stages = [
        processor(Delay::from_us(2_000), Delay::from_us(1)),
        processor(Delay::ZERO, Delay::from_us(5)),
        port(FULL_FRAME),
        port(FULL_FRAME),
    ];
    let path = |stages: &[u64]| Tree::path(stages.iter().map(|stage| id(*stage)));
    let (never, caught) = (Caught::Never, Caught::AtSharedStages);
    for (base, alternative, from_us, until_us, caught) in [
        (path(&[left]), path(&[slow, left]), 0, 10_000, never),
        (
            path(&[slow, shared, left]),
            path(&[shared, right]),
            2_000,
            10_000,
            caught,
        ),
        (
            path(&[shared, left]),
            path(&[slow, shared, right]),
            0,
            2_000,
            caught,
        ),
    ] {
        let mut flow = one_stage_flow();
        flow.rate = BitRate::from_mbps(20);
        flow.base = base;
        flow.alternatives = vec![(FAILURE, alternative)];
        let flows = [flow];
        let stages = suggest_budgets(&stages, &[], &flows, Headroom::default()).unwrap();
        let emissions: Vec<_> = (0..40).map(|at| at_once(0, at * 100_000_000)).collect();
        let conditions = Conditions {
            processors_hesitate: true,
            flood_phase_ps: Some(0),
            detours: vec![Some(Detour {
                alternative: 0,
                from_ps: from_us * 1_000_000,
                until_ps: until_us * 1_000_000,
                caught,
            })],
            outage: None,
        };

        let mut piled_up = false;
        simulation::run(&stages, &flows, &emissions, &conditions, |observation| {
            if let Observation::Left { stage, sojourn, .. } = observation {
                let budget = stages[stage].budget(7).unwrap();
                assert!(sojourn <= budget, "{sojourn} at {stage}, budget {budget}");
                let of_port = matches!(stages[stage], Stage::Port { .. });
                piled_up |= of_port && sojourn > LINK.time_to_send(FULL_FRAME) * 2u64;
            }
        });

        assert!(piled_up, "the burst did not reach a port");
    }
}

/// While the quicker way works, nothing of the slower one gets through the
/// eliminator. When it breaks, frames that piled up on the slower way come through
/// as a burst, behind the last that came by the quicker one.
#[test]
fn the_burst_of_the_slower_way_fits_when_the_quicker_one_breaks() {
    let (first, slow, quick, eliminator, last) = (0, 1, 2, 3, 4);
    let stages = [
        processor(Delay::ZERO, Delay::from_us(1)),
        processor(Delay::from_us(3_000), Delay::from_us(1)),
        port(FULL_FRAME),
        processor(Delay::ZERO, Delay::from_us(5)),
        port(FULL_FRAME),
    ];
    let path = |stages: &[u64]| Tree::path(stages.iter().map(|stage| id(*stage)));
    let mut flow = one_stage_flow();
    flow.rate = BitRate::from_mbps(20);
    flow.base = path(&[first, quick, eliminator, last]);
    flow.redundant = Some(Box::new(Redundant {
        tree: path(&[first, slow, eliminator, last]),
        eliminator: Some(id(eliminator)),
        hold: Delay::ZERO,
    }));
    let flows = [flow];
    let stages = suggest_budgets(&stages, &[], &flows, Headroom::default()).unwrap();
    let emissions: Vec<_> = (0..40).map(|at| at_once(0, at * 100_000_000)).collect();
    let conditions = Conditions {
        processors_hesitate: true,
        flood_phase_ps: Some(0),
        detours: Vec::new(),
        outage: Some(Outage {
            stage: usize::try_from(quick).unwrap(),
            from_ps: 100_000_000,
            until_ps: SENDING_PS,
        }),
    };
    let guarantee = Ledger::new(stages.clone())
        .admit(flows[0].clone())
        .unwrap()
        .guarantee;

    let (mut longest, mut received) = (Delay::ZERO, 0);
    simulation::run(
        &stages,
        &flows,
        &emissions,
        &conditions,
        |observation| match observation {
            Observation::Left { stage, sojourn, .. } => {
                let budget = stages[stage].budget(7).unwrap();
                assert!(sojourn <= budget, "{sojourn} at {stage}, budget {budget}");
                if stage == usize::try_from(last).unwrap() {
                    longest = longest.max(sojourn);
                }
            }
            Observation::Came { .. } => {}
            Observation::Received { latency, .. } => {
                assert!(latency <= guarantee, "{latency}, guarantee {guarantee}");
                received += 1;
            }
        },
    );

    assert_eq!(received, 40, "each frame arrives, and once");
    assert!(
        longest > LINK.time_to_send(FULL_FRAME) * 3u64,
        "no burst reached the last port"
    );
}

/// How much of what was promised has been used at most.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    of_now_percent: u64,
    of_budget_percent: u64,
    of_guarantee_percent: u64,
}

impl Usage {
    fn max(self, other: Self) -> Self {
        Self {
            of_now_percent: self.of_now_percent.max(other.of_now_percent),
            of_budget_percent: self.of_budget_percent.max(other.of_budget_percent),
            of_guarantee_percent: self.of_guarantee_percent.max(other.of_guarantee_percent),
        }
    }
}

/// Lays random flows on a random ring and runs them. Returns nothing if they do
/// not fit it.
fn run_once(seed: u64) -> Option<Usage> {
    let mut random = Prng::new(seed);
    let switches = 1 + random.below(5);
    let ring = Ring { switches };
    let stages = ring.stages(&mut random);
    let flows: Vec<_> = (0..2 + random.below(12))
        .map(|_| ring.flow(&mut random))
        .collect();
    run_flows(&stages, &flows, &mut random)
}

/// Gives the stages budgets that fit the flows and runs them. Returns nothing if
/// there are none.
fn run_flows(stages: &[Stage], flows: &[Request], random: &mut Prng) -> Option<Usage> {
    let percent = u32::try_from(random.below(2) * 10).unwrap();
    let stages = suggest_budgets(stages, &[], flows, Headroom { percent })?;
    let mut ledger = Ledger::new(stages.clone());
    let admitted: Vec<_> = flows
        .iter()
        .map(|flow| ledger.admit(flow.clone()).unwrap())
        .collect();
    let emissions = emissions(flows, random);
    let conditions = conditions(&stages, flows, random);
    let network = match conditions.detours.iter().any(Option::is_some) {
        false => FailureScope::Unbroken,
        true => FailureScope::AnyFailure,
    };
    let background = Background::of(&ledger, network);

    let mut usage = Usage::default();
    simulation::run(&stages, flows, &emissions, &conditions, |observation| {
        usage = usage.max(match observation {
            Observation::Left {
                flow,
                stage,
                sojourn,
            } => {
                let budget = stages[stage].budget(flows[flow].class).unwrap();
                assert!(sojourn <= budget, "{sojourn} at {stage:?}, budget {budget}");
                let now = background.at(id(stage.try_into().unwrap()), flows[flow].class);
                assert!(sojourn <= now, "{sojourn} at {stage:?}, now {now}");
                Usage {
                    of_now_percent: percent_of(sojourn, now),
                    of_budget_percent: percent_of(sojourn, budget),
                    ..Usage::default()
                }
            }
            Observation::Came { .. } => Usage::default(),
            received @ Observation::Received { .. } => {
                hold_guarantee(&received, flows, &admitted, &conditions.detours)
            }
        });
    });
    Some(usage)
}

/// Holds what was received against what was promised.
fn hold_guarantee(
    received: &Observation,
    flows: &[Request],
    admitted: &[Admitted],
    detours: &[Option<Detour>],
) -> Usage {
    match *received {
        Observation::Left { .. } | Observation::Came { .. } => Usage::default(),
        Observation::Received { flow, latency, .. } if flows[flow].redundant.is_some() => {
            let guarantee = admitted[flow].guarantee;
            assert!(
                latency <= guarantee,
                "{latency}, guarantee {guarantee}, redundant"
            );
            Usage::default()
        }
        Observation::Received {
            flow,
            leaf,
            on_base: true,
            latency,
        } => {
            let leaves = &admitted[flow].leaves;
            let guarantee = leaves.iter().find(|(at, _)| *at == leaf).unwrap().1;
            assert!(latency <= guarantee, "{latency}, guarantee {guarantee}");
            Usage {
                of_guarantee_percent: percent_of(latency, guarantee),
                ..Usage::default()
            }
        }
        Observation::Received {
            flow,
            on_base: false,
            latency,
            ..
        } => {
            let detour = detours[flow].unwrap();
            let (_, guarantee) = admitted[flow].alternatives[detour.alternative];
            assert!(
                latency <= guarantee,
                "{latency}, guarantee {guarantee} on a detour"
            );
            Usage::default()
        }
    }
}

fn percent_of(part: Delay, whole: Delay) -> u64 {
    part.as_ps() * 100 / whole.as_ps()
}

fn conditions(stages: &[Stage], flows: &[Request], random: &mut Prng) -> Conditions {
    let from_ps = random.below(SENDING_PS / 2);
    let detours = match random.below(2) {
        0 => detours(flows, from_ps, random),
        _ => Vec::new(),
    };
    let flood_phase = random.below(LINK.time_to_send(FULL_FRAME).as_ps());
    Conditions {
        processors_hesitate: random.below(2) == 0,
        flood_phase_ps: (random.below(4) > 0).then_some(flood_phase),
        detours,
        outage: (random.below(2) == 0).then_some(Outage {
            stage: random.index_below(stages.len().try_into().unwrap()),
            from_ps,
            until_ps: from_ps + random.below(SENDING_PS / 2),
        }),
    }
}

/// Has one of the failures happen that are provided for. The flows that have an
/// alternative for it are moved one after the other, or all at once.
fn detours(flows: &[Request], from_ps: u64, random: &mut Prng) -> Vec<Option<Detour>> {
    let failures: BTreeSet<_> = flows
        .iter()
        .flat_map(|flow| flow.alternatives.iter().map(|(failure, _)| *failure))
        .collect();
    let Some(count) = u64::try_from(failures.len())
        .ok()
        .filter(|count| *count > 0)
    else {
        return Vec::new();
    };
    let failure = failures.iter().nth(random.index_below(count)).unwrap();
    let until_ps = from_ps + random.below(SENDING_PS / 2);
    let apart_ps = [1, 2_000_000_000][random.index_below(2)];
    let caught = [Caught::Never, Caught::AtSharedStages][random.index_below(2)];
    let detour = |flow: &Request| {
        let mut alternatives = flow.alternatives.iter();
        let alternative = alternatives.position(|(of, _)| of == failure)?;
        Some(Detour {
            alternative,
            from_ps: from_ps + random.below(apart_ps),
            until_ps: until_ps + random.below(apart_ps),
            caught,
        })
    };
    flows.iter().map(detour).collect()
}

/// How a source sends: as soon as its buckets allow, from its phase on.
#[derive(Clone, Copy, Debug)]
struct Sending {
    phase_ps: u64,
    sizes: Sizes,
}

/// Which of its frames a source sends.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    Largest,
    Smallest,
    Mixed,
}

impl Sending {
    fn draw(phase_most_ps: u64, random: &mut Prng) -> Self {
        Self {
            phase_ps: random.below(phase_most_ps),
            sizes: [Sizes::Largest, Sizes::Smallest, Sizes::Mixed][random.index_below(3)],
        }
    }
}

/// Lets every source send as soon as its bucket allows.
fn emissions(flows: &[Request], random: &mut Prng) -> Vec<Emission> {
    let phase_most = [1, 50_000_000, 2_000_000_000][random.index_below(3)];
    let sendings: Vec<_> = flows
        .iter()
        .map(|_| Sending::draw(phase_most, random))
        .collect();
    emissions_of(flows, &sendings, random)
}

fn emissions_of(flows: &[Request], sendings: &[Sending], random: &mut Prng) -> Vec<Emission> {
    let times: Vec<_> = sendings
        .iter()
        .map(|it| (it.phase_ps, SENDING_PS))
        .collect();
    emissions_in(flows, sendings, &times, random)
}

/// Lets every source send as soon as its bucket allows, from one time to another.
fn emissions_over(flows: &[Request], times: &[(u64, u64)], random: &mut Prng) -> Vec<Emission> {
    let sendings: Vec<_> = flows.iter().map(|_| Sending::draw(1, random)).collect();
    emissions_in(flows, &sendings, times, random)
}

fn emissions_in(
    flows: &[Request],
    sendings: &[Sending],
    times: &[(u64, u64)],
    random: &mut Prng,
) -> Vec<Emission> {
    let mut emissions = Vec::new();
    let sources = flows.iter().zip(sendings).zip(times);
    for (flow, ((request, sending), (from, until))) in sources.enumerate() {
        let mut now = *from;
        let mut buckets = Bucket::all_of(request, now);
        while now < *until {
            let size = match sending.sizes {
                Sizes::Largest => request.largest_frame,
                Sizes::Smallest => request.smallest_frame,
                Sizes::Mixed => random.between(request.smallest_frame, request.largest_frame),
            };
            now = Bucket::take_from_all(&mut buckets, size, now);
            if now >= *until {
                break;
            }
            emissions.push(Emission {
                flow,
                at_ps: now,
                size,
            });
        }
    }
    emissions.sort_by_key(|emission| emission.at_ps);
    emissions
}

/// A token bucket, its level in what it counts times picoseconds a second.
struct Bucket {
    /// What a frame takes if frames are counted; its bits otherwise.
    per_frame: Option<u128>,
    rate: u128,
    depth: u128,
    level: u128,
    at_ps: u64,
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

impl Bucket {
    fn full(per_frame: Option<u64>, rate: u64, burst: u64, now: u64) -> Self {
        let depth = u128::from(burst) * PS_PER_SECOND;
        Self {
            per_frame: per_frame.map(u128::from),
            rate: u128::from(rate),
            depth,
            level: depth,
            at_ps: now,
        }
    }

    /// Returns the full buckets of contract and peak, and that of the frames.
    fn all_of(request: &Request, now: u64) -> Vec<Self> {
        let traffic = [Some(request.traffic()), request.peak];
        let of_bits = traffic.into_iter().flatten().map(|bucket| {
            let burst = bucket.burst().as_bits();
            Self::full(None, bucket.rate_bps(), burst, now)
        });
        let of_frames = request.frames.map(|frames| {
            let FrameBucket {
                rate_per_second,
                burst,
            } = frames;
            Self::full(Some(FRAME), rate_per_second, burst, now)
        });
        of_bits.chain(of_frames).collect()
    }

    fn needs(&self, size: DataSize) -> u128 {
        self.per_frame.unwrap_or(size.as_bits().into()) * PS_PER_SECOND
    }

    /// Takes tokens for a frame and returns the first time at which it may go.
    fn take_from_all(buckets: &mut [Self], size: DataSize, now: u64) -> u64 {
        let ready = buckets.iter().map(|bucket| bucket.holds(size)).max();
        let at = ready.unwrap().max(now);
        for bucket in buckets {
            let gained = u128::from(at - bucket.at_ps) * bucket.rate;
            let needed = bucket.needs(size);
            bucket.level = (bucket.level + gained).min(bucket.depth) - needed;
            bucket.at_ps = at;
        }
        at
    }

    /// Returns when it holds the tokens for a frame.
    fn holds(&self, size: DataSize) -> u64 {
        let missing = self.needs(size).saturating_sub(self.level);
        self.at_ps + u64::try_from(missing.div_ceil(self.rate)).unwrap()
    }
}

/// Switches in a ring: processors, ports clockwise, ports back, ports to hosts.
#[derive(Clone, Copy)]
struct Ring {
    switches: u64,
}

impl Ring {
    fn stages(self, random: &mut Prng) -> Vec<Stage> {
        let per_frame = Delay::from_us(1 + random.below(20));
        let mut stages: Vec<_> = (0..self.switches)
            .map(|_| {
                // A long one lets frames pile up, which then leave together.
                let most = [1, 50, 2_000][random.index_below(3)];
                processor(Delay::from_us(random.below(most)), per_frame)
            })
            .collect();
        // Small, so that promised frames block too; or as large as there are.
        let unpromised = [DataSize::from_bytes(84), FULL_FRAME][random.index_below(2)];
        stages.extend((0..3 * self.switches).map(|_| port(unpromised)));
        stages
    }

    fn flow(self, random: &mut Prng) -> Request {
        let (from, links) = (random.below(self.switches), random.below(self.switches));
        let clockwise = self.around(from, links, 1);
        let back = self.around(from, self.switches - links, self.switches - 1);
        let (base, other) = match random.below(2) {
            0 => (clockwise, back),
            _ => (back, clockwise),
        };
        let smallest = 84 + random.below(1_000);
        let largest = smallest + random.below(1_539 - smallest);
        let largest_frame = DataSize::from_bytes(largest);
        let protection = if links > 0 { random.below(4) } else { 3 };
        let eliminator = match random.below(2) {
            0 => Some(id((from + links) % self.switches)),
            _ => None,
        };
        let mut copies = None;
        let base = if protection == 2 && base != other {
            let tree = other.clone();
            copies = Some(Box::new(Redundant {
                tree,
                eliminator,
                hold: any_hold(eliminator, random),
            }));
            base
        } else {
            self.with_receivers(base, random)
        };
        let rate = BitRate::from_bps(1_000 + random.below(12_000_000));
        let peak = rate + BitRate::from_bps(1 + random.below(60_000_000));
        let has_peak = random.below(3) == 0;
        Request {
            class: [7, 7, 5, 3, 1][random.index_below(5)],
            rate,
            burst: largest_frame * (1 + random.below(3)),
            peak: has_peak.then(|| TokenBucket::new(peak, largest_frame)),
            frames: None,
            largest_frame,
            smallest_frame: DataSize::from_bytes(smallest),
            deadline: MAX_DELAY,
            initial: LINK.time_to_send(largest_frame),
            base,
            alternatives: match protection {
                0 | 1 => vec![(FAILURE, other)],
                _ => Vec::new(),
            },
            is_held_back: false,
            redundant: copies,
        }
    }

    /// Returns the way over `links` links, each to the switch `step` further on.
    fn around(self, from: u64, links: u64, step: u64) -> Tree {
        let ports = match step {
            1 => self.switches,
            _ => 2 * self.switches,
        };
        let mut stages = Vec::new();
        let mut at = from;
        // All the way round would pass the first switch twice.
        for _ in 0..links.min(self.switches - 1) {
            stages.extend([at, ports + at]);
            at = (at + step) % self.switches;
        }
        stages.extend([at, 3 * self.switches + at]);
        Tree::path(stages.into_iter().map(id))
    }

    /// Adds receivers on the way, to some trees.
    fn with_receivers(self, mut tree: Tree, random: &mut Prng) -> Tree {
        let hops = tree.hops.len();
        if hops > 2 && random.below(3) == 0 {
            let hop = tree.hops[0].stage.0;
            tree.hops.push(Hop {
                stage: id(3 * self.switches + u64::from(hop)),
                parent: Some(0),
            });
        }
        tree
    }
}

fn processor(latency: Delay, per_frame: Delay) -> Stage {
    Stage::Processing {
        latency,
        per_frame,
        fastest_per_frame: per_frame,
        budget: Delay::ZERO,
        buffer_frames: None,
    }
}

fn port(unpromised: DataSize) -> Stage {
    Stage::Port {
        rate: LINK,
        propagation: Delay::from_ns(500),
        budgets: [None; CLASSES],
        buffers: [None; CLASSES],
        largest_frame: unpromised,
    }
}

/// Frames of one size, one at a time, from right beside the stage.
fn one_stage_flow() -> Request {
    let frame = DataSize::from_bytes(250);
    Request {
        class: 7,
        rate: BitRate::from_mbps(4),
        burst: frame,
        peak: None,
        frames: None,
        largest_frame: frame,
        smallest_frame: frame,
        deadline: MAX_DELAY,
        initial: Delay::ZERO,
        base: Tree::path([StageId(0)]),
        alternatives: Vec::new(),
        is_held_back: false,
        redundant: None,
    }
}

fn at_once(flow: usize, at_ps: u64) -> Emission {
    Emission {
        flow,
        at_ps,
        size: DataSize::from_bytes(250),
    }
}

fn id(stage: u64) -> StageId {
    StageId(u32::try_from(stage).unwrap())
}

/// Returns for how long whoever drops second copies holds frames back.
fn any_hold(eliminator: Option<StageId>, random: &mut Prng) -> Delay {
    match eliminator {
        Some(_) if random.below(2) == 0 => Delay::from_us(random.below(3_000)),
        Some(_) | None => Delay::ZERO,
    }
}

/// Xorshift, good enough to vary a test.
struct Prng(u64);

impl Prng {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        random.below(1);
        random
    }

    fn below(&mut self, limit: u64) -> u64 {
        for (left, shift) in [(true, 13), (false, 7), (true, 17)] {
            self.0 ^= if left {
                self.0 << shift
            } else {
                self.0 >> shift
            };
        }
        (self.0 >> 11) % limit
    }

    fn index_below(&mut self, limit: u64) -> usize {
        usize::try_from(self.below(limit)).unwrap()
    }

    fn between(&mut self, least: DataSize, most: DataSize) -> DataSize {
        let span = most.as_bits() - least.as_bits() + 1;
        least + DataSize::from_bits(self.below(span))
    }
}
