mod failures;
mod fitted;
mod properties;
mod room;

use units::{BitRate, DataSize, Delay};

use super::load::ReservedLoad;
use super::*;
use crate::min_plus::TokenBucket;

const PROCESSING_BUDGET: Delay = Delay::from_us(50);
const PORT_BUDGETS_US: [u64; 8] = [0, 2_000, 1_000, 800, 600, 500, 400, 300];
const LINK: BitRate = BitRate::from_mbps(100);
const FULL_FRAME: DataSize = DataSize::from_bytes(1_538);
const SAMPLE: DataSize = DataSize::from_bytes(144);

/// S4-6.
#[test]
fn a_flow_is_promised_the_budgets_on_its_way() {
    let mut ledger = Ledger::new(switches(2));

    let admitted = ledger.admit(sampled_values(&[0, 1, 2, 3])).unwrap();

    // The first link, two processors, two ports, two links of 1 us.
    let guarantee = Delay::from_us(12 + 2 * 50 + 2 * 300 + 2);
    assert_eq!(admitted.guarantee, guarantee);
    assert_eq!(admitted.leaves, [(3, guarantee)]);
    assert_eq!(admitted.alternatives, []);
}

#[test]
fn a_deadline_below_the_budgets_is_refused_with_the_sum() {
    let mut ledger = Ledger::new(switches(2));
    let mut request = sampled_values(&[0, 1, 2, 3]);
    request.deadline = Delay::from_us(713);

    let refusal = ledger.admit(request).unwrap_err();

    let needed = Delay::from_us(714);
    let allowed = Delay::from_us(713);
    assert_eq!(refusal.constraint, Constraint::Deadline { needed, allowed });
    assert_eq!(refusal.stage, None);
    assert_eq!(refusal.fits, Fits::default());
}

#[test]
fn a_flow_that_would_delay_a_less_urgent_one_beyond_its_budget_is_refused() {
    let mut stages = switches(1);
    set_budget(&mut stages[1], 3, Delay::from_us(148));
    let mut ledger = Ledger::new(stages);
    let mut slow = sampled_values(&[0, 1]);
    slow.class = 3;
    ledger.admit(slow).unwrap();

    let refusal = ledger.admit(sampled_values(&[0, 1])).unwrap_err();

    assert_eq!(refusal.stage, Some(StageId(1)));
    let Constraint::Delay {
        class: 3,
        needed,
        allowed,
    } = refusal.constraint
    else {
        panic!("{refusal}");
    };
    assert_eq!(allowed, Delay::from_us(148));
    assert!(needed > allowed);
}

#[test]
fn a_large_frame_of_a_less_urgent_class_is_refused_if_it_would_block_too_long() {
    let mut stages = switches(1);
    set_budget(&mut stages[1], 7, Delay::from_us(140));
    let mut ledger = Ledger::new(stages);
    ledger.admit(sampled_values(&[0, 1])).unwrap();
    let mut bulky = bulk(&[0, 1]);
    bulky.largest_frame = DataSize::from_bytes(2_000);
    bulky.burst = bulky.largest_frame;

    let refusal = ledger.admit(bulky).unwrap_err();

    assert!(
        matches!(refusal.constraint, Constraint::Delay { class: 7, .. }),
        "{refusal}"
    );
}

#[test]
fn a_class_without_budget_has_no_promises() {
    let mut stages = switches(1);
    let Stage::Port { budgets, .. } = &mut stages[1] else {
        unreachable!()
    };
    budgets[7] = None;
    let mut ledger = Ledger::new(stages);

    let refusal = ledger.admit(sampled_values(&[0, 1])).unwrap_err();

    assert_eq!(refusal.constraint, Constraint::NoBudget { class: 7 });
    assert_eq!(refusal.stage, Some(StageId(1)));
}

#[test]
fn a_full_link_is_refused_with_the_rate_that_is_left() {
    let mut ledger = Ledger::new(switches(1));
    let mut archive = bulk(&[0, 1]);
    ledger.admit(archive.clone()).unwrap();

    let refusal = ledger.admit(archive.clone()).unwrap_err();

    let needed_bps = 120_000_000;
    let (class, allowed) = (3, LINK);
    assert_eq!(
        refusal.constraint,
        Constraint::Rate {
            class,
            needed_bps,
            allowed
        }
    );
    assert_eq!(refusal.fits.rate, Some(BitRate::from_mbps(40)));
    archive.rate = BitRate::from_mbps(40);
    ledger.admit(archive).unwrap();
}

#[test]
fn a_refusal_names_the_overload_rather_than_the_budget_before_it() {
    let mut stages = switches(2);
    set_budget(&mut stages[1], 3, Delay::from_us(200));
    let mut ledger = Ledger::new(stages);
    ledger.admit(bulk(&[2, 3])).unwrap();

    let refusal = ledger.admit(bulk(&[0, 1, 2, 3])).unwrap_err();
    let mut modest = bulk(&[0, 1, 2, 3]);
    modest.rate = BitRate::from_mbps(1);
    let without_overload = ledger.admit(modest).unwrap_err();

    assert_eq!(refusal.stage, Some(StageId(3)));
    assert!(refusal.constraint.is_overload(), "{refusal}");
    assert_eq!(without_overload.stage, Some(StageId(1)));
    assert!(matches!(
        without_overload.constraint,
        Constraint::Delay { class: 3, .. }
    ));
}

#[test]
fn a_buffer_that_could_overflow_is_refused() {
    let mut stages = switches(1);
    let Stage::Port { buffers, .. } = &mut stages[1] else {
        unreachable!()
    };
    buffers[7] = Some(Room::Size(DataSize::from_bytes(300)));
    let Stage::Processing { buffer_frames, .. } = &mut stages[0] else {
        unreachable!()
    };
    *buffer_frames = Some(3);
    let mut ledger = Ledger::new(stages);
    ledger.admit(sampled_values(&[0, 1])).unwrap();

    let at_port = ledger.admit(sampled_values(&[0, 1])).unwrap_err();
    ledger.admit(sampled_values(&[0])).unwrap();
    let at_processor = ledger.admit(sampled_values(&[0])).unwrap_err();

    assert!(
        matches!(at_port.constraint, Constraint::Buffer { class: 7, .. }),
        "{at_port}"
    );
    let (needed, allowed) = (4, 3);
    assert_eq!(
        at_processor.constraint,
        Constraint::FrameBuffer { needed, allowed }
    );
}

#[test]
fn work_without_promise_takes_its_part_of_the_processor() {
    let mut ledger = Ledger::new(switches(1));
    let flood = BestEffort {
        traffic: TokenBucket::new(LINK, SAMPLE),
        smallest_frame: DataSize::from_bytes(84),
    };
    let untouched = ledger.clone();

    // 148,810 frames/s of 5 us are 74 % of the processor.
    ledger.declare_unpromised(StageId(0), flood).unwrap();
    let refusal = ledger.declare_unpromised(StageId(0), flood).unwrap_err();
    ledger.retract_unpromised(StageId(0), flood).unwrap();

    assert!(
        matches!(refusal.constraint, Constraint::FrameRate { .. }),
        "{refusal}"
    );
    assert_eq!(ledger, untouched);
}

#[test]
fn a_tree_is_promised_the_worst_of_its_leaves() {
    let mut ledger = Ledger::new(switches(3));
    let hop = |stage, parent| Hop {
        stage: StageId(stage),
        parent,
    };
    let mut request = sampled_values(&[0]);
    request.base.hops = vec![
        hop(0, None),
        hop(1, Some(0)),
        hop(2, Some(1)),
        hop(3, Some(2)),
        hop(4, Some(1)),
        hop(5, Some(4)),
    ];

    let admitted = ledger.admit(request).unwrap();

    let leaf = Delay::from_us(714);
    assert_eq!(admitted.leaves, [(3, leaf), (5, leaf)]);
    assert_eq!(admitted.guarantee, leaf);
}

#[test]
fn alternatives_of_different_failures_share_what_they_reserve() {
    let mut ledger = Ledger::new(switches(2));
    let request = bulk(&[0, 1]);
    let detour = |failure| {
        let mut request = request.clone();
        request.alternatives = vec![(FailureId(failure), path(&[0, 2, 3]))];
        request
    };
    let mut other = detour(2);
    other.base = path(&[4, 5]);
    let mut ledger_of_three = Ledger::new(switches(3));

    ledger.admit(detour(1)).unwrap();
    let same_failure = ledger.admit({
        let mut request = detour(1);
        request.base = path(&[0]);
        request
    });
    ledger_of_three.admit(detour(1)).unwrap();
    let another_failure = ledger_of_three.admit(other);

    let refusal = same_failure.unwrap_err();
    assert_eq!(refusal.failure, Some(FailureId(1)));
    assert_eq!(refusal.stage, Some(StageId(3)));
    another_failure.unwrap();
}

#[test]
fn a_stage_of_both_trees_counts_a_flow_once() {
    let mut ledger = Ledger::new(switches(3));
    let mut request = bulk(&[0, 1, 4, 5]);
    request.rate = BitRate::from_mbps(51);
    request.alternatives = vec![(FailureId(0), path(&[0, 2, 3, 4, 5]))];

    let admitted = ledger.admit(request).unwrap();

    let detour = Delay::from_us(124 + 3 * 50 + 2 * 800 + 2);
    assert_eq!(admitted.alternatives, [(FailureId(0), detour)]);
}

/// A burst of 20 frames within the budget for three, as its frames come no faster
/// than the link sends them.
#[test]
fn a_peak_makes_room_for_a_burst() {
    let mut stages = switches(1);
    set_budget(&mut stages[1], 3, Delay::from_us(400));
    let mut ledger = Ledger::new(stages);
    let mut request = bulk(&[1]);
    request.rate = BitRate::from_mbps(10);
    request.burst = FULL_FRAME * 20;
    let with_peak = |rate| Request {
        peak: Some(TokenBucket::new(rate, FULL_FRAME)),
        ..request.clone()
    };

    let at_once = ledger.admit(request.clone());
    let faster = ledger.admit(with_peak(BitRate::from_mbps(200)));
    let as_fast = ledger.admit(with_peak(BitRate::from_mbps(90)));

    assert!(matches!(
        at_once.unwrap_err().constraint,
        Constraint::Delay { class: 3, .. }
    ));
    assert!(faster.is_err());
    as_fast.unwrap();
}

#[test]
fn a_batch_is_admitted_whole_or_not_at_all() {
    let mut ledger = Ledger::new(switches(2));
    ledger.admit(sampled_values(&[0, 1])).unwrap();
    let before = ledger.clone();

    let refused = ledger.admit_all(vec![sampled_values(&[2, 3]), bulk(&[0, 1]), bulk(&[2, 1])]);

    let refused = refused.unwrap_err();
    assert_eq!(refused.request, 2);
    assert_eq!(refused.refusal.stage, Some(StageId(1)));
    assert_eq!(ledger, before);
    let admitted = ledger
        .admit_all(vec![sampled_values(&[2, 3]), bulk(&[0, 1])])
        .unwrap();
    assert_eq!(admitted.len(), 2);
    assert_eq!(ledger.flows(), 3);
}

#[test]
fn what_if_answers_as_admitting_would_and_promises_nothing() {
    let mut ledger = Ledger::new(switches(2));
    let batch = [
        sampled_values(&[2, 3]),
        bulk(&[0, 1]),
        bulk(&[2, 1]),
        bulk(&[2, 3]),
    ];
    let before = ledger.clone();

    let answers = ledger.what_if(&batch);

    assert_eq!(ledger, before);
    let admitted = ledger.admit_each(batch.to_vec());
    let guarantees = admitted
        .into_iter()
        .map(|decision| decision.map(|a| a.guarantee));
    assert_eq!(answers, guarantees.collect::<Vec<_>>());
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
}

#[test]
fn a_refusal_says_by_how_much_it_is_missed() {
    let mut ledger = Ledger::new(switches(1));
    ledger.admit(bulk(&[0, 1])).unwrap();
    let mut late = sampled_values(&[0, 1]);
    late.deadline = Delay::from_us(350);
    let mut margin = |request| ledger.check(&request).unwrap_err().constraint.margin();

    let overload = Margin::Rate { bps: 20_000_000 };
    assert_eq!(margin(bulk(&[1])), Some(overload));
    let missed = Delay::from_us(12 + 50 + 300 + 1 - 350);
    assert_eq!(margin(late), Some(Margin::Delay(missed)));
    assert_eq!(
        margin(Request {
            class: 0,
            ..bulk(&[1])
        }),
        None
    );
}

/// Both copies pass the eliminator's processor, and one of them the port behind.
#[test]
fn two_copies_are_reserved_where_two_pass_and_one_where_one_does() {
    let mut ledger = Ledger::new(switches(4));
    // From switch 0 by its port to switch 3, and by the ports of 1 and 2.
    let mut request = sampled_values(&[0, 1, 6, 7]);
    request.redundant = Some(Box::new(Redundant {
        tree: path(&[0, 3, 2, 5, 6, 7]),
        eliminator: Some(StageId(6)),
        hold: Delay::ZERO,
    }));

    let admitted = ledger.admit(request.clone()).unwrap();

    let slower = Delay::from_us(12 + 3 * 50 + 3 * 300 + 3);
    assert_eq!(admitted.guarantee, slower);
    let rate = |stage| match ledger.load(StageId(stage)).total(None) {
        ReservedLoad::Processing(frames) => frames.rate_per_second / 4_000_000_000,
        ReservedLoad::Port(classes) => classes[7].traffic.rate_bps() / 4_608_000,
    };
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(rate), [1, 1, 1, 1, 0, 1, 2, 1]);
    let ReservedLoad::Port(classes) = ledger.load(StageId(7)).total(None) else {
        panic!()
    };
    // From the earliest of the one, two links, to the latest of the other.
    let window = Delay::from_us(12 + 3 * 50 + 2 * 300 + 2 - 1);
    assert_eq!(classes[7].traffic, request.traffic().spread_by(window));
}

/// Whatever is lost, a frame waits no longer; and what is behind may come so much denser.
#[test]
fn an_eliminator_that_keeps_order_delays_what_is_behind_it_by_its_hold() {
    let reserved = |hold| {
        let mut ledger = Ledger::new(switches(4));
        let mut request = sampled_values(&[0, 1, 6, 7]);
        request.redundant = Some(Box::new(Redundant {
            tree: path(&[0, 3, 2, 5, 6, 7]),
            eliminator: Some(StageId(6)),
            hold,
        }));
        let guarantee = ledger.admit(request).unwrap().guarantee;
        let burst = |stage| match ledger.load(StageId(stage)).total(None) {
            ReservedLoad::Processing(frames) => frames.burst,
            ReservedLoad::Port(classes) => classes[7].traffic.burst().as_bits(),
        };
        (guarantee, [6, 7].map(burst))
    };
    let hold = Delay::from_us(400);

    let (at_once, [both_copies, burst]) = reserved(Delay::ZERO);
    let (in_order, [as_before, more]) = reserved(hold);

    assert_eq!(in_order, at_once + hold);
    assert_eq!(as_before, both_copies);
    // 4,608,000 bit/s for 400 us, each rounded up.
    assert!((1_843..=1_844).contains(&(more - burst)), "{more} {burst}");
}

#[test]
fn frames_that_are_held_are_held_somewhere() {
    let mut ledger = Ledger::new(switches(4));
    let mut request = sampled_values(&[0, 1, 6, 7]);
    request.redundant = Some(Box::new(Redundant {
        tree: path(&[0, 3, 6, 7]),
        eliminator: None,
        hold: Delay::from_us(1),
    }));

    let refused = ledger.admit(request).unwrap_err();

    let nowhere = Constraint::Malformed(Malformed::HeldNowhere);
    assert_eq!(refused.constraint, nowhere);
}

#[test]
fn an_eliminator_behind_which_the_trees_differ_is_refused() {
    let mut ledger = Ledger::new(switches(4));
    let mut refused = |tree, eliminator| {
        let mut request = sampled_values(&[0, 1, 6, 7]);
        let eliminator = Some(StageId(eliminator));
        let hold = Delay::ZERO;
        request.redundant = Some(Box::new(Redundant {
            tree,
            eliminator,
            hold,
        }));
        match ledger.admit(request).map(|admitted| admitted.guarantee) {
            Err(Refusal {
                constraint: Constraint::Malformed(malformed),
                ..
            }) => Some(malformed),
            _ => None,
        }
    };

    let stage = StageId(7);
    assert_eq!(
        refused(path(&[0, 3, 6, 5]), 6),
        Some(Malformed::Eliminator { stage })
    );
    let stage = StageId(4);
    assert_eq!(
        refused(path(&[0, 3, 6, 7]), 4),
        Some(Malformed::Eliminator { stage })
    );
    assert_eq!(refused(path(&[0, 3, 6, 7]), 6), None);
}

#[test]
fn a_malformed_request_is_refused_by_name() {
    let mut ledger = Ledger::new(switches(1));
    let mut refused = |change: fn(&mut Request)| {
        let mut request = sampled_values(&[0, 1]);
        change(&mut request);
        match ledger.admit(request).unwrap_err().constraint {
            Constraint::Malformed(malformed) => malformed,
            constraint => panic!("{constraint}"),
        }
    };

    let malformed = refused(|request| request.class = 0);
    assert_eq!(malformed, Malformed::Class { class: 0 });
    let malformed = refused(|request| request.class = 8);
    assert_eq!(malformed, Malformed::Class { class: 8 });
    let malformed = refused(|request| request.base.hops.clear());
    assert_eq!(malformed, Malformed::Hops { hops: 0 });
    let malformed = refused(|request| request.base = path(&[0, 9]));
    let stage = StageId(9);
    assert_eq!(malformed, Malformed::UnknownStage { stage });
    let malformed = refused(|request| request.base = path(&[0, 1, 0]));
    let stage = StageId(0);
    assert_eq!(malformed, Malformed::StageTwice { stage });
    let malformed = refused(|request| request.base.hops[0].parent = Some(1));
    assert_eq!(malformed, Malformed::ParentBehind { hop: 0 });
    let malformed = refused(|request| request.burst = MIN_FRAME);
    assert!(matches!(malformed, Malformed::BurstBelowFrame { .. }));
    let malformed = refused(|request| request.smallest_frame = FULL_FRAME);
    assert!(matches!(malformed, Malformed::Frames { .. }));
    let malformed = refused(|request| request.deadline = Delay::MAX);
    assert!(matches!(malformed, Malformed::Deadline { .. }));
    let malformed = refused(|request| request.burst = DataSize::from_bits(u64::MAX));
    assert!(matches!(malformed, Malformed::Burst { .. }));
    let malformed = refused(|request| request.rate = BitRate::from_bps(u64::MAX));
    assert!(matches!(malformed, Malformed::Rate { .. }));
    let malformed = refused(|request| request.peak = Some(TokenBucket::once(SAMPLE)));
    assert!(matches!(malformed, Malformed::Peak { .. }));
    let malformed = refused(|request| {
        let twice = (FailureId(3), request.base.clone());
        request.alternatives = vec![twice.clone(), twice];
    });
    let failure = FailureId(3);
    assert_eq!(malformed, Malformed::FailureOrder { failure });
}

#[test]
fn requests_at_the_limits_are_answered() {
    let request = Request {
        class: 7,
        rate: MAX_RATE,
        burst: MAX_BURST,
        peak: None,
        frames: None,
        largest_frame: MIN_FRAME,
        smallest_frame: MIN_FRAME,
        deadline: MAX_DELAY,
        initial: MAX_DELAY,
        base: path(&[0, 1]),
        alternatives: vec![(FailureId(0), path(&[2, 1])), (FailureId(1), path(&[0, 3]))],
        is_held_back: false,
        redundant: None,
    };
    let at_once = Request {
        initial: Delay::ZERO,
        ..request.clone()
    };
    let mut stages = switches(2);
    for stage in &mut stages {
        match stage {
            Stage::Processing {
                latency, per_frame, ..
            } => {
                (*latency, *per_frame) = (Delay::ZERO, Delay::ZERO);
            }
            Stage::Port { rate, budgets, .. } => {
                *rate = MAX_RATE;
                budgets[7] = Some(Delay::from_us(1_000_000));
            }
        }
    }
    let mut ledger = Ledger::new(stages.clone());

    let late = ledger.admit(request.clone()).unwrap_err();
    // 125 GB take the second that is the budget, and there may be a frame before.
    let too_much = ledger.admit(at_once).unwrap_err();
    let requests = vec![request; 200];
    let suggested = suggest_budgets(&stages, &[], &requests, Headroom { percent: u32::MAX });

    assert!(
        matches!(late.constraint, Constraint::Deadline { .. }),
        "{late}"
    );
    assert!(
        matches!(too_much.constraint, Constraint::Delay { .. }),
        "{too_much}"
    );
    assert_eq!(suggested, None);
}

#[test]
fn an_explanation_adds_up_to_the_guarantee() {
    let mut ledger = Ledger::new(switches(2));
    ledger.admit(sampled_values(&[0, 1])).unwrap();
    let admitted = ledger.admit(sampled_values(&[0, 1, 2, 3])).unwrap();

    let explanation = ledger.explain(admitted.id).unwrap();

    let shares = explanation
        .hops
        .iter()
        .map(|hop| hop.budget + hop.propagation);
    assert_eq!(explanation.initial + shares.sum(), admitted.guarantee);
    for hop in &explanation.hops {
        assert!(hop.bound <= hop.budget, "{hop:?}");
    }
    let Competition::Port {
        own_class,
        blocking_frame,
        ..
    } = explanation.hops[1].competition
    else {
        panic!("{:?}", explanation.hops[1]);
    };
    assert_eq!(own_class.rate_bps(), 4_608_000);
    assert_eq!(blocking_frame, FULL_FRAME);
    assert_eq!(ledger.explain(FlowId(7)), None);
}

#[test]
fn suggested_budgets_admit_what_they_were_made_for() {
    let requests = vec![sampled_values(&[0, 1, 2, 3]); 5];

    let stages = without_budgets(switches(2));
    let stages = suggest_budgets(&stages, &[], &requests, Headroom::default()).unwrap();

    // At the first processor five frames of 5 us after 10 us, spread by the 12 us
    // of the first link.
    let first = stages[0].budget(7).unwrap();
    assert!(
        first >= Delay::from_us(35) && first < Delay::from_us(37),
        "{first}"
    );
    assert_eq!(stages[1].budget(6), None);
    let mut ledger = Ledger::new(stages);
    for request in requests {
        ledger.admit(request).unwrap();
    }
}

#[test]
fn no_budgets_are_suggested_for_more_than_a_link_carries() {
    let mut request = sampled_values(&[0, 1]);
    request.rate = BitRate::from_mbps(51);

    let stages = suggest_budgets(
        &switches(1),
        &[],
        &[request.clone(), request],
        Headroom::default(),
    );

    assert_eq!(stages, None);
}

#[test]
fn suggested_budgets_are_never_smaller_than_those_there_were() {
    let requests = vec![sampled_values(&[0, 1]); 20];
    let mut before = switches(2);
    set_budget(&mut before[1], 7, Delay::from_us(200));

    let after = suggest_budgets(&before, &[], &requests, Headroom::default()).unwrap();

    // 20 frames wait for each other: longer than was asked for.
    assert!(after[0].budget(7) > Some(PROCESSING_BUDGET));
    assert!(after[1].budget(7) > Some(Delay::from_us(200)));
    assert_eq!(after[1].budget(3), before[1].budget(3));
    assert_eq!(after[2..], before[2..]);
}

#[test]
fn requests_that_do_not_fit_beside_those_before_are_left_out() {
    let requests = [
        bulk(&[0, 1]),
        bulk(&[0, 1]),
        sampled_values(&[0, 1]),
        bulk(&[2, 1]),
        sampled_values(&[2, 3]),
    ];

    let mut stages = without_budgets(switches(2));
    for (stage, class) in [(1, 7), (1, 3), (3, 7), (3, 3)] {
        set_budget(&mut stages[stage], class, Delay::ZERO);
    }
    let mut ledger = Ledger::fitted(stages, Spare::Shared);

    let left_out = ledger.prepare(&requests).left_out;

    assert_eq!(left_out, [1, 3]);
    let mut fixed = Ledger::new(ledger.stages().to_vec());
    for (at, request) in requests.into_iter().enumerate() {
        assert_eq!(fixed.admit(request).is_err(), left_out.contains(&at));
    }
}

/// Switches with a processor at `2 * i` and a port at `2 * i + 1`.
fn switches(count: usize) -> Vec<Stage> {
    let budgets = PORT_BUDGETS_US.map(|us| (us > 0).then(|| Delay::from_us(us)));
    let stages = [
        Stage::Processing {
            latency: Delay::from_us(10),
            per_frame: Delay::from_us(5),
            fastest_per_frame: Delay::ZERO,
            budget: PROCESSING_BUDGET,
            buffer_frames: None,
        },
        Stage::Port {
            rate: LINK,
            propagation: Delay::from_us(1),
            budgets,
            buffers: [None; CLASSES],
            largest_frame: FULL_FRAME,
        },
    ];
    stages.into_iter().cycle().take(2 * count).collect()
}

fn without_budgets(mut stages: Vec<Stage>) -> Vec<Stage> {
    for stage in &mut stages {
        match stage {
            Stage::Processing { budget, .. } => *budget = Delay::ZERO,
            Stage::Port { budgets, .. } => *budgets = [None; CLASSES],
        }
    }
    stages
}

fn set_budget(stage: &mut Stage, class: usize, delay: Delay) {
    match stage {
        Stage::Processing { budget, .. } => *budget = delay,
        Stage::Port { budgets, .. } => budgets[class] = Some(delay),
    }
}

/// Samples at 4 kHz.
fn sampled_values(stages: &[u32]) -> Request {
    Request {
        class: 7,
        rate: BitRate::from_bps(4_608_000),
        burst: SAMPLE,
        peak: None,
        frames: None,
        largest_frame: SAMPLE,
        smallest_frame: SAMPLE,
        deadline: Delay::from_us(2_000),
        initial: Delay::from_us(12),
        base: path(stages),
        alternatives: Vec::new(),
        is_held_back: false,
        redundant: None,
    }
}

/// A flow of full frames that takes more than half of a link.
fn bulk(stages: &[u32]) -> Request {
    Request {
        class: 3,
        rate: BitRate::from_mbps(60),
        burst: FULL_FRAME,
        largest_frame: FULL_FRAME,
        smallest_frame: FULL_FRAME,
        initial: Delay::from_us(124),
        ..sampled_values(stages)
    }
}

fn path(stages: &[u32]) -> Tree {
    Tree::path(stages.iter().map(|stage| StageId(*stage)))
}
