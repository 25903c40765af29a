//! What holds for sets that do not fit whole, and for what there is to spare.

use proptest::prelude::*;

use super::super::fit::{Slowdown, Spare};
use super::fitted::{all_fit, floors};
use super::properties::{flow, flows};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Never fewer fit than in their own classes, and who may not move stays.
    #[test]
    fn no_fewer_flows_fit_in_queues_by_deadline(
        requests in flows(7),
        free in prop::collection::vec(any::<bool>(), 7),
    ) {
        let free = &free[..requests.len()];
        let left_out = |requests: &[Request]| {
            Ledger::fitted(floors(), Spare::None).prepare(requests).left_out.len()
        };

        let classes = Ledger::fitted(floors(), Spare::None).assign_classes(&requests, free, &[4, 5, 6, 7]);

        let moved: Vec<_> = requests.iter().zip(&classes).map(|(request, class)| Request {
            class: *class,
            ..request.clone()
        }).collect();
        let own: Vec<u8> = requests.iter().map(|request| request.class).collect();
        prop_assert!(left_out(&moved) <= left_out(&requests));
        prop_assert!(classes == own || left_out(&moved) < left_out(&requests));
        for ((before, after), free) in own.iter().zip(&classes).zip(free) {
            prop_assert!(*free || before == after);
        }
    }

    /// Held against every subset: what is chosen fits, none that fits has more flows than
    /// the conflicts say, and those are what they are called.
    #[test]
    fn no_set_that_fits_is_larger_than_conflicts_allow(requests in flows(7)) {
        let count = requests.len();
        let picked = |places: &[usize]| -> Vec<Request> {
            places.iter().map(|at| requests[*at].clone()).collect()
        };
        let chosen_by = |mask: usize| -> Vec<usize> {
            (0..count).filter(|at| mask & (1 << at) != 0).collect()
        };
        let fitting = (0..1usize << count).filter(|mask| all_fit(floors(), &picked(&chosen_by(*mask))));
        let most = fitting.map(usize::count_ones).max().unwrap() as usize;

        let largest = Ledger::fitted(floors(), Spare::None).prepare(&requests);

        let kept: Vec<_> = (0..count).filter(|at| !largest.left_out.contains(at)).collect();
        prop_assert!(all_fit(floors(), &picked(&kept)));
        prop_assert!(kept.len() <= most && most <= count - largest.conflicts.len());
        prop_assert_eq!(largest.left_out.is_empty(), largest.conflicts.is_empty());
        let mut known: Vec<usize> = Vec::new();
        for conflict in &largest.conflicts {
            prop_assert!(!all_fit(floors(), &picked(conflict)));
            for without in conflict {
                prop_assert!(!known.contains(without));
                let others: Vec<_> = conflict.iter().copied().filter(|at| at != without).collect();
                prop_assert!(all_fit(floors(), &picked(&others)));
            }
            known.extend(conflict);
        }
    }

    /// With all processors as slow as is said of a flow it is in time, whatever becomes of
    /// others; with processors 5 % slower than that it is not.
    #[test]
    fn a_flow_is_in_time_up_to_its_slowdown_and_not_much_further(requests in flows(5)) {
        let mut ledger = Ledger::fitted(floors(), Spare::Shared);
        for request in requests {
            let _ = ledger.admit(request);
        }

        for (id, slowdown) in ledger.slowdowns() {
            let in_time = |thousandths: u64| {
                let mut slower = Ledger::fitted(slower(thousandths), Spare::None);
                let one_and_patient_others: Vec<_> = ledger.requests().map(|(other, request)| Request {
                    deadline: if other == id { request.deadline } else { MAX_DELAY },
                    ..request.clone()
                }).collect();
                slower.admit_all(one_and_patient_others).is_ok()
            };
            let thousandths = u64::from(slowdown.thousandths());
            prop_assert!(in_time(thousandths), "{slowdown}");
            if slowdown < Slowdown::MOST {
                prop_assert!(!in_time(thousandths * 105 / 100), "{slowdown}");
            }
        }
    }

    /// All deadlines hold with processors as slow as budgets were chosen for, so no flow
    /// is said to bear less, but for the steps that are looked at.
    #[test]
    fn no_flow_bears_less_than_all_do(requests in flows(5), one in flow()) {
        let mut ledger = Ledger::fitted(floors(), Spare::Shared);
        for request in requests.into_iter().chain([one]) {
            let _ = ledger.admit(request);
        }
        ledger.prepare(&[]);

        let all = ledger.slowdown().unwrap().thousandths();
        for (_, slowdown) in ledger.slowdowns() {
            prop_assert!(slowdown.thousandths() >= all * 96 / 100, "{slowdown}");
        }
    }
}

/// Ten flows that fit together, and one that stands before them and fits beside none.
#[test]
fn one_hasty_flow_does_not_keep_many_out() {
    let modest = || Request {
        class: 4,
        deadline: Delay::from_us(2_000),
        ..sampled_values(&[0, 1])
    };
    let hasty = Request {
        deadline: Ledger::fitted(floors_of_switch(), Spare::None)
            .check(&modest())
            .unwrap(),
        ..modest()
    };
    let requests: Vec<_> = std::iter::once(hasty)
        .chain((0..10).map(|_| modest()))
        .collect();

    let largest = Ledger::fitted(floors_of_switch(), Spare::Shared).prepare(&requests);

    assert_eq!(largest.left_out, [0]);
    assert_eq!(largest.conflicts.len(), 1);
    assert_eq!(largest.conflicts[0].len(), 2);
    assert!(largest.conflicts[0].contains(&0));
}

/// As above, where it does not matter in which of two queues flows travel: the hasty one
/// gets the more urgent queue for itself, and flows that have to stay where they are do.
#[test]
fn a_hasty_flow_fits_in_a_more_urgent_queue_if_it_may() {
    let in_class_4 = |deadline| Request {
        class: 4,
        deadline,
        ..sampled_values(&[0, 1])
    };
    let mut requests = vec![in_class_4(Delay::from_us(2_000)); 13];
    requests[0].class = 6;
    let mut ledger = Ledger::fitted(floors_of_switch(), Spare::None);
    let ahead = ledger
        .admit_all(requests.clone())
        .unwrap()
        .swap_remove(0)
        .id;
    requests[0] = in_class_4(ledger.guarantee_of(ahead).unwrap());
    let mut ledger = Ledger::fitted(floors_of_switch(), Spare::None);
    let admitted = |requests: &[Request]| {
        let largest = Ledger::fitted(floors_of_switch(), Spare::None).prepare(requests);
        requests.len() - largest.left_out.len()
    };

    let free = ledger.assign_classes(&requests, &[true; 13], &[4, 6]);
    let bound = ledger.assign_classes(&requests, &[false; 13], &[4, 6]);

    assert!(admitted(&requests) < 13);
    assert_eq!(bound, [4; 13]);
    assert_eq!((free[0], &free[1..]), (6, [4; 12].as_slice()));
    for (request, class) in requests.iter_mut().zip(free) {
        request.class = class;
    }
    assert_eq!(admitted(&requests), 13);
}

/// 10,000 frames a second of 5 us each take 5 % of a processor's time.
#[test]
fn how_busy_a_processor_may_be_is_the_sum_of_its_frames() {
    let mut ledger = Ledger::fitted(floors_of_switch(), Spare::None);
    let frame = DataSize::from_bytes(125);
    let work = BestEffort {
        traffic: TokenBucket::new(BitRate::from_mbps(10), frame),
        smallest_frame: frame,
    };

    ledger.declare_unpromised(StageId(0), work).unwrap();

    assert_eq!(ledger.busy(StageId(0)), Some((50, 50)));
    assert_eq!(ledger.busy(StageId(1)), None);
}

#[test]
fn no_budget_makes_a_full_pool_hold_what_has_no_promise() {
    let mut stages = floors_of_switch();
    if let Stage::Processing { buffer_frames, .. } = &mut stages[0] {
        *buffer_frames = Some(4);
    }
    let frame = DataSize::from_bytes(125);
    let work = |frames: u64| BestEffort {
        traffic: TokenBucket::new(BitRate::from_mbps(10), frame * frames),
        smallest_frame: frame,
    };

    let overflowing = Ledger::fitted(stages.clone(), Spare::None)
        .declare_unpromised(StageId(0), work(8))
        .unwrap_err();

    assert!(matches!(
        overflowing.constraint,
        Constraint::FrameBuffer { allowed: 4, .. }
    ));
    let mut ledger = Ledger::fitted(stages, Spare::None);
    assert!(ledger.declare_unpromised(StageId(0), work(2)).is_ok());
}

/// The stages of the ring without budgets, with processors so many thousandths as slow.
fn slower(thousandths: u64) -> Vec<Stage> {
    let times = |delay: Delay| Delay::from_ps((delay.as_ps() * thousandths).div_ceil(1_000));
    let floors = floors().into_iter();
    floors
        .map(|mut stage| {
            if let Stage::Processing {
                latency, per_frame, ..
            } = &mut stage
            {
                (*latency, *per_frame) = (times(*latency), times(*per_frame));
            }
            stage
        })
        .collect()
}

fn floors_of_switch() -> Vec<Stage> {
    let floors = switches(1).into_iter();
    floors.map(super::fitted::without_budget).collect()
}
