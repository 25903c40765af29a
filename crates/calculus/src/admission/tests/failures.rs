//! What a flow brings after a failure takes the place of what it brings otherwise.

use super::*;
use crate::admission::reservation::FlowOrigin;
use crate::bounds::concave::{ArrivalSource, CurveLine};

const PROCESSOR_BUDGET_US: u64 = 500;
const PORT_BUDGET_US: u64 = 6_000;

/// A message of 20 frames from a link of 100 Mbit/s, from switch 0 by its port to
/// the processor and the port of switch 3, or by the ports of 1 and 2.
fn message() -> Request {
    Request {
        rate: BitRate::from_mbps(10),
        burst: FULL_FRAME * 20,
        peak: Some(TokenBucket::new(LINK, FULL_FRAME * 2)),
        deadline: Delay::from_us(100_000),
        alternatives: vec![(FailureId(0), path(&[0, 2, 3, 4, 5, 6, 7]))],
        ..bulk(&[0, 1, 6, 7])
    }
}

/// What comes to the last port by the base tree alone, and by either tree.
const WINDOWS_US: [u64; 2] = [
    124 + 2 * PROCESSOR_BUDGET_US + PORT_BUDGET_US,
    124 + 4 * PROCESSOR_BUDGET_US + 2 * PORT_BUDGET_US + 2 - 1,
];

/// Counted apart, one part would be bounded by the contract and the other one by
/// the peak, and both together by less than either (docs/promises.md).
#[test]
fn a_wider_window_counts_in_contract_and_peak_of_the_whole_flow() {
    let request = message();
    let mut ledger = ledger();
    ledger.admit(request.clone()).unwrap();

    let peak = request.peak.unwrap();
    for (failure, window_us) in [None, Some(FailureId(0))].into_iter().zip(WINDOWS_US) {
        let window = Delay::from_us(window_us);
        let sources = arrivals_at(&ledger, 7, failure);
        let [ArrivalSource { lines }] = sources[..] else {
            panic!("all of it comes from the processor before: {sources:?}")
        };
        assert_eq!(lines[0], line(request.traffic().spread_by(window)));
        assert_eq!(lines[1], line(peak.spread_by(window)));
    }
}

/// It comes to the last processor from one port or from another only if that
/// failure happens, so otherwise what its link carries counts, there and behind it.
#[test]
fn a_flow_that_may_come_from_elsewhere_does_so_after_that_failure_alone() {
    let mut ledger = ledger();
    let mut request = message();
    request
        .alternatives
        .push((FailureId(1), path(&[0, 1, 6, 7])));
    ledger.admit(request).unwrap();

    let origins = |stage: u32, failure| {
        let arrivals = ledger.load(StageId(stage)).arrivals(failure, &[]);
        arrivals.origins()
    };

    for (failure, link) in [(None, Some(1)), (Some(0), None), (Some(1), Some(1))] {
        let failure = failure.map(FailureId);
        assert_eq!(origins(6, failure), [from(link, None)]);
        assert_eq!(origins(7, failure), [from(Some(6), link)]);
    }
}

/// What a change of level holds back may come out of a processor in any density.
#[test]
fn of_what_may_be_held_back_no_link_is_known_behind_a_processor() {
    let mut ledger = ledger();
    let held_back = Request {
        is_held_back: true,
        ..message()
    };
    ledger.admit(held_back).unwrap();

    let arrivals = ledger.load(StageId(7)).arrivals(None, &[]);

    assert_eq!(arrivals.origins(), [from(Some(6), None)]);
}

/// Behind a stage of both trees frames go on by the one that came by the other.
#[test]
fn what_both_trees_share_hands_on_what_came_by_either() {
    let mut ledger = ledger();
    let mut request = message();
    // The base tree comes to the last processor from port 1 and leaves it by port 7.
    request.alternatives = vec![(FailureId(0), path(&[0, 3, 6, 5]))];
    ledger.admit(request).unwrap();

    let arrivals = ledger.load(StageId(5)).arrivals(Some(FailureId(0)), &[]);

    assert_eq!(arrivals.origins(), [from(Some(6), None)]);
}

/// A processor works twice on each frame that comes back to it: as it came by the base
/// tree, and within the window in which it is back.
#[test]
fn a_processor_to_which_frames_are_turned_back_works_on_them_twice() {
    let mut ledger = ledger();
    let mut request = message();
    request.base = path(&[0, 1, 2, 3]);
    request.alternatives = vec![(FailureId(0), path(&[0, 1, 2, 5, 0, 7]))];
    ledger.admit(request.clone()).unwrap();

    let per_second = |failure| match ledger.load(StageId(0)).total(failure) {
        ReservedLoad::Processing(frames) => frames.rate_per_second,
        ReservedLoad::Port(_) => panic!("stage 0 is a processor"),
    };

    assert_eq!(per_second(None) * 2, per_second(Some(FailureId(0))));
    assert_eq!(per_second(None), per_second(Some(FailureId(1))));
    let at_others = |stage| {
        ledger
            .load(StageId(stage))
            .arrivals(Some(FailureId(0)), &[])
    };
    assert_eq!(at_others(7).origins(), [from(Some(0), Some(5))]);
}

/// A rate so low that its burst does not grow by a bit, beside a peak that does.
#[test]
fn a_peak_that_grows_alone_is_reserved() {
    let mut request = message();
    request.rate = BitRate::from_bps(1);
    let mut ledger = ledger();
    ledger.admit(request.clone()).unwrap();

    let window = Delay::from_us(WINDOWS_US[1]);
    let [ArrivalSource { lines }] = arrivals_at(&ledger, 7, Some(FailureId(0)))[..] else {
        panic!()
    };
    assert_eq!(lines[1], line(request.peak.unwrap().spread_by(window)));
}

/// Each of two copies comes over a link of its own.
#[test]
fn copies_come_from_where_each_of_them_does() {
    let mut request = message();
    request.alternatives.clear();
    request.redundant = Some(Box::new(Redundant {
        hold: Delay::ZERO,
        tree: path(&[0, 3, 2, 5, 6, 7]),
        eliminator: Some(StageId(6)),
    }));
    let mut ledger = ledger();
    let admitted = ledger.admit(request.clone()).unwrap();

    let arrivals = ledger.load(StageId(6)).arrivals(None, &[]);

    let both = [from(Some(1), None), from(Some(5), None)];
    assert_eq!(arrivals.origins(), both);
    let behind = ledger.load(StageId(7)).arrivals(None, &[]);
    assert_eq!(behind.origins(), [from(Some(6), None)]);
    let hops = ledger.explain(admitted.id).unwrap().hops;
    let Competition::Processing { own, .. } = hops[2].competition else {
        panic!("{hops:?}")
    };
    let window = Delay::from_us(124 + PROCESSOR_BUDGET_US + PORT_BUDGET_US);
    let of_base = request.frames_of(request.traffic()).spread_by(window);
    assert_eq!(own, of_base, "one copy");
}

/// Whoever asks whether one flow more fits, and whoever has admitted it, sees the
/// same arrivals.
#[test]
fn what_is_tried_is_what_is_reserved() {
    let mut ledger = ledger();
    ledger.admit(message()).unwrap();
    let mut more = message();
    more.class = 5;
    more.burst = FULL_FRAME * 2;
    more.rate = BitRate::from_mbps(1);
    more.peak = Some(TokenBucket::new(LINK, FULL_FRAME));
    let mut plan = super::super::plan::ReservationPlanner::new(ledger.stages().len());
    plan.draw(&more, more.traffic(), ledger.stages()).unwrap();

    let tried: Vec<_> = plan
        .reservations
        .iter()
        .filter(|reservation| reservation.failure.is_some())
        .map(|reservation| {
            let load = ledger.load(reservation.stage);
            let arrivals = load.arrivals(reservation.failure, &[reservation.whole()]);
            (reservation.stage, sorted(arrivals.origins()))
        })
        .collect();
    ledger.admit(more).unwrap();

    assert!(!tried.is_empty());
    for (stage, origins) in tried {
        let admitted = ledger.load(stage).arrivals(Some(FailureId(0)), &[]);
        assert_eq!(sorted(admitted.origins()), origins, "{stage:?}");
    }
}

fn ledger() -> Ledger {
    let mut stages = switches(4);
    for (at, stage) in stages.iter_mut().enumerate() {
        let budget_us = [PROCESSOR_BUDGET_US, PORT_BUDGET_US][at % 2];
        set_budget(stage, 3, Delay::from_us(budget_us));
        set_budget(stage, 5, Delay::from_us(budget_us));
    }
    Ledger::new(stages)
}

fn arrivals_at(ledger: &Ledger, stage: u32, failure: Option<FailureId>) -> Vec<ArrivalSource> {
    let arrivals = ledger.load(StageId(stage)).arrivals(failure, &[]);
    let [_, _, _, of_class, ..] = arrivals.at_port([FULL_FRAME; CLASSES], ledger.stages());
    of_class
}

fn line(bucket: TokenBucket) -> CurveLine {
    CurveLine {
        rate: bucket.rate_bps(),
        burst: bucket.burst().as_bits(),
    }
}

fn sorted(mut origins: Vec<FlowOrigin>) -> Vec<FlowOrigin> {
    origins.sort();
    origins
}

fn from(stage: Option<u32>, link: Option<u32>) -> FlowOrigin {
    FlowOrigin {
        stage: stage.map(StageId),
        link: link.map(StageId),
    }
}
