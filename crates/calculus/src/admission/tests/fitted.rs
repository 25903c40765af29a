//! What holds for budgets that follow the flows.

use proptest::prelude::*;

use super::super::fit::{Slowdown, Spare};
use super::super::load::StageLoad;
use super::super::plan::{ReservationPlanner, SenderTraffic};
use super::properties::{flow, flows, ring};
use super::*;

proptest! {
    /// Whatever was admitted and withdrawn: every flow keeps its deadline, every stage
    /// its budgets, what is reserved is what groups and single flows bring, the same
    /// flows fit a ledger that never had other budgets, and who is refused has none.
    #[test]
    fn any_history_keeps_every_deadline_and_every_budget(
        history in prop::collection::vec((flow(), any::<bool>(), any::<prop::sample::Index>()), 1..16),
        spare in spare(),
    ) {
        let mut ledger = Ledger::fitted(floors(), spare);
        let mut there: Vec<(FlowId, Request)> = Vec::new();
        for (request, withdraws, which) in history {
            match ledger.admit(request.clone()) {
                Ok(admitted) => there.push((admitted.id, request)),
                Err(_) => {
                    let mut all: Vec<_> = there.iter().map(|(_, it)| it.clone()).collect();
                    all.push(request);
                    prop_assert!(!all_fit(floors(), &all), "it was refused and has budgets");
                }
            }
            if withdraws && !there.is_empty() {
                let (id, _) = there.remove(which.index(there.len()));
                ledger.withdraw(id).unwrap();
            }

            let mut fixed = Ledger::new(ledger.stages().to_vec());
            for (id, request) in &there {
                prop_assert!(ledger.guarantee_of(*id).unwrap() <= request.deadline);
                for hop in ledger.explain(*id).unwrap().hops {
                    prop_assert!(hop.bound <= hop.budget, "{hop:?}");
                }
                fixed.admit(request.clone()).unwrap();
            }
            prop_assert_eq!(&ledger.loads, &recounted(&ledger));
            prop_assert!(ledger.loads.iter().all(StageLoad::ceiling_holds));
        }
    }

    /// Whether flows are admissible together does not depend on the order in which they
    /// are asked for, nor on what is left to spare, nor on whether they come at once.
    #[test]
    fn a_set_is_admissible_in_any_order_or_in_none(requests in flows(6)) {
        let backwards = requests.iter().rev().cloned().collect();

        let fits = all_fit(floors(), &requests);

        prop_assert_eq!(fits, Ledger::fitted(floors(), Spare::Shared).admit_all(backwards).is_ok());
        prop_assert_eq!(fits, Ledger::fitted(floors(), Spare::None).prepare(&requests).left_out.is_empty());
    }

    /// A slower switch, a sooner deadline, a larger burst and one flow more make nothing
    /// admissible that is not.
    #[test]
    fn what_is_harder_is_never_admitted_sooner(
        requests in flows(5),
        one_more in flow(),
        which in any::<prop::sample::Index>(),
        by in 1u64..2_000,
    ) {
        let easier = all_fit(floors(), &requests);
        let at = which.index(requests.len());
        let with = |change: &dyn Fn(&mut Request)| {
            let mut harder = requests.clone();
            change(&mut harder[at]);
            all_fit(floors(), &harder)
        };
        let slower = floors().into_iter().map(|mut stage| {
            if let Stage::Processing { latency, .. } = &mut stage {
                *latency += Delay::from_us(by);
            }
            stage
        });

        prop_assert!(easier || !all_fit(slower.collect(), &requests));
        prop_assert!(easier || !with(&|it| it.deadline = it.deadline.saturating_sub(Delay::from_us(by))));
        prop_assert!(easier || !with(&|it| it.burst += DataSize::from_bytes(by)));
        prop_assert!(easier || !all_fit(floors(), &[requests, vec![one_more]].concat()));
    }

    /// What any fixed budgets admit has budgets that are fitted.
    #[test]
    fn fixed_budgets_admit_nothing_more(requests in flows(8)) {
        let mut fixed = Ledger::new(ring());

        let admitted: Vec<_> = requests.into_iter().filter(|it| fixed.admit(it.clone()).is_ok()).collect();

        prop_assert!(all_fit(floors(), &admitted));
    }

    /// The slowdown is true: with the same budgets all promises hold if every processor
    /// takes so many times as long.
    #[test]
    fn processors_may_be_as_slow_as_is_said(requests in flows(6)) {
        let mut ledger = Ledger::fitted(floors(), Spare::Shared);
        let admitted: Vec<_> = requests.into_iter().filter(|it| ledger.admit(it.clone()).is_ok()).collect();
        // With those who came since the last choice there may be less to spare.
        ledger.prepare(&[]);
        let slowdown = u64::from(ledger.slowdown().unwrap().thousandths());
        let times = |delay: Delay| Delay::from_ps(delay.as_ps() * slowdown / 1_000);

        let slower = ledger.stages().iter().cloned().map(|mut stage| {
            if let Stage::Processing { latency, per_frame, .. } = &mut stage {
                (*latency, *per_frame) = (times(*latency), times(*per_frame));
            }
            stage
        });

        let mut slower = Ledger::new(slower.collect());
        for request in admitted {
            prop_assert!(slower.admit(request).is_ok());
        }
    }
}

#[test]
fn a_refusal_names_the_flow_that_would_be_too_late() {
    let mut ledger = Ledger::fitted(switches_without_budgets(1), Spare::Shared);
    let first = Request {
        class: 4,
        ..sampled_values(&[0, 1])
    };
    let alone = ledger.admit(first.clone()).unwrap();
    let tight = Request {
        deadline: ledger.check(&first).unwrap(),
        ..first
    };
    ledger.withdraw(alone.id).unwrap();
    let tight = ledger.admit(tight).unwrap();
    let urgent = Request {
        class: 6,
        burst: DataSize::from_bytes(60_000),
        ..sampled_values(&[0, 1])
    };

    let refusal = ledger.admit(urgent).unwrap_err();

    assert_eq!(refusal.flow, Some(tight.id));
    assert!(matches!(refusal.constraint, Constraint::Deadline { .. }));
}

#[test]
fn nothing_slower_than_the_most_is_looked_for() {
    let ledger = Ledger::fitted(switches_without_budgets(1), Spare::Shared);

    assert_eq!(ledger.slowdown(), Some(Slowdown::MOST));
    assert_eq!(Slowdown::MOST.to_string(), "64.0");
}

/// Returns what groups and those in none reserve with the budgets that there are.
fn recounted(ledger: &Ledger) -> Vec<StageLoad> {
    let groups = &ledger.fit.as_ref().unwrap().groups;
    let mut loads: Vec<_> = ledger.stages.iter().map(StageLoad::nothing).collect();
    let mut plan = ReservationPlanner::new(loads.len());
    let singles = groups.singles.iter().map(|id| &ledger.flows[id]);
    let singles = singles.map(|request| SenderTraffic::new(request, request.traffic()));
    for sent in groups.sent().chain(singles) {
        plan.draw_sent(sent, &ledger.stages).unwrap();
        plan.reserve(&mut loads, &ledger.stages);
    }
    loads
}

fn spare() -> impl Strategy<Value = Spare> {
    prop_oneof![Just(Spare::None), Just(Spare::Shared)]
}

pub(super) fn all_fit(floors: Vec<Stage>, requests: &[Request]) -> bool {
    let mut ledger = Ledger::fitted(floors, Spare::None);
    ledger.admit_all(requests.to_vec()).is_ok()
}

/// The ring with a budget of nothing for every class that can have promises.
pub(super) fn floors() -> Vec<Stage> {
    ring().into_iter().map(without_budget).collect()
}

/// Flows so slow that behind no delay they come in a larger burst, over one link into a
/// processor that has more to do once another flow comes to it from elsewhere: it hands
/// them on closer together.
#[test]
fn a_processor_that_takes_longer_hands_on_more_at_once_of_what_comes_over_one_link() {
    let slow = Request {
        rate: BitRate::from_bps(1),
        ..bulk(&[1, 2, 3])
    };
    let mut ledger = Ledger::fitted(switches_without_budgets(4), Spare::None);
    let flows = [slow.clone(), slow.clone(), slow, bulk(&[5, 2, 7])];
    let mut port = Vec::new();
    for flow in &flows {
        ledger.admit(flow.clone()).unwrap();
        port.push(ledger.stages()[3].budget(3).unwrap());
    }

    assert!(port[2] < port[3], "{port:?}");
    let mut fixed = Ledger::new(ledger.stages().to_vec());
    for flow in flows {
        fixed.admit(flow).unwrap();
    }
}

fn switches_without_budgets(count: usize) -> Vec<Stage> {
    switches(count).into_iter().map(without_budget).collect()
}

pub(super) fn without_budget(mut stage: Stage) -> Stage {
    match &mut stage {
        Stage::Processing { budget, .. } => *budget = Delay::ZERO,
        Stage::Port { budgets, .. } => {
            *budgets = [Some(Delay::ZERO); CLASSES];
            budgets[0] = None;
        }
    }
    stage
}
