//! The least of what several methods say, flow by flow.
//!
//! Each bound holds, so the least holds; and no method has the least for all flows,
//! which is why the minimum is taken for each. A flow's delay and hops are
//! those of the method that is named with it, the first one if several have the same;
//! its backlog is the least of all.

use std::collections::BTreeSet;

use super::budget::Budget;
use super::ludb::{self, Effort};
use super::{Analysis, FlowBound, Method, NotApplicable, ServerGraph};

/// The methods that take less than a tenth of a millisecond a flow.
pub const QUICK: [Method; 6] = [
    Method::Ludb,
    Method::Tfa,
    Method::TfaDnc,
    Method::Sfa,
    Method::Pmoo,
    Method::Tma,
];

/// No method gets more than one part in so many of what is left for it and those
/// behind it.
const SHARE: u64 = 4;

/// Bounds all flows by those of `methods` that apply, one after the other, within a
/// budget; what the others say to that is in the notes. If [`Method::Lp`] is among
/// them, there is time, and [`Method::Ludb`] searches thoroughly.
///
/// # Errors
///
/// What the first one says, if none applies.
pub fn analyze(
    network: &ServerGraph,
    methods: &[Method],
    budget: &Budget,
) -> Result<Analysis, NotApplicable> {
    let (mut least, mut refusal) = (None, None);
    let (mut notes, mut cut_short) = (Vec::new(), BTreeSet::new());
    for method in methods.iter().filter(|method| **method != Method::Best) {
        match analyze_among(network, *method, methods, budget) {
            Ok(analysis) => {
                cut_short.extend(analysis.cut_short);
                notes.extend(analysis.notes);
                least = Some(match least {
                    None => analysis.flows,
                    Some(least) => lesser(least, analysis.flows),
                });
            }
            Err(reason) => {
                notes.push(format!("{} does not apply: {reason}.", method.word()));
                refusal = refusal.or(Some(reason));
            }
        }
    }
    let what = "a choice among no methods";
    let flows = least.ok_or(refusal.unwrap_or(NotApplicable::Feature { what }))?;
    Ok(Analysis {
        flows,
        cut_short: cut_short.into_iter().collect(),
        notes,
    })
}

/// Bounds all flows by one of `methods`, with the effort that it has among them and
/// its share of what is left of a budget: all of it for the last one.
///
/// # Errors
///
/// Why the method says nothing of this network.
pub fn analyze_among(
    network: &ServerGraph,
    method: Method,
    methods: &[Method],
    budget: &Budget,
) -> Result<Analysis, NotApplicable> {
    let share = match methods.last() == Some(&method) {
        true => 1,
        false => SHARE,
    };
    let part = budget.part(method, share);
    let steps = part.left();
    let has_time = methods.contains(&Method::Lp) || methods == [Method::Ludb];
    let analysis = match method {
        Method::Ludb if has_time => ludb::analyze_within(network, Effort::Thorough, &part),
        other => super::analyze_within(network, other, &part),
    };
    budget.settle(&part, steps);
    analysis
}

/// Returns the lesser of two bounds of each flow.
#[must_use]
pub fn lesser(least: Vec<FlowBound>, others: Vec<FlowBound>) -> Vec<FlowBound> {
    let pairs = least.into_iter().zip(others);
    let lesser = pairs.map(|(least, other)| {
        let backlog = [least.backlog, other.backlog].into_iter().flatten().min();
        let shorter = match (least.delay, other.delay) {
            (Some(least), Some(other)) => other < least,
            (None, other) => other.is_some(),
            (Some(_), None) => false,
        };
        let bound = if shorter { other } else { least };
        FlowBound { backlog, ..bound }
    });
    lesser.collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use units::fine::{Data, Rate, Time};

    use super::*;
    use crate::analysis::{Multiplexing, RateLatency, Server, ServerFlow, ServerId, TokenBucket};

    #[test]
    fn each_flow_has_the_least_delay_and_the_name_of_its_method() {
        let network = network(&[&[0, 1], &[1, 2], &[0, 1, 2]]);

        let best = analyze(&network, &QUICK, &Budget::unlimited()).unwrap();

        let all = QUICK.map(|method| super::super::analyze(&network, method).unwrap());
        for (flow, bound) in best.flows.iter().enumerate() {
            let delays = all.iter().map(|analysis| analysis.flows[flow].delay);
            assert_eq!(bound.delay, delays.min().unwrap());
            let backlogs = all.iter().map(|analysis| analysis.flows[flow].backlog);
            assert_eq!(bound.backlog, backlogs.flatten().min());
            let named = QUICK
                .iter()
                .position(|method| *method == bound.method)
                .unwrap();
            assert_eq!(bound.delay, all[named].flows[flow].delay);
        }
    }

    #[test]
    fn a_bound_is_less_than_none_whichever_comes_first() {
        let bound = |method, ms: Option<u64>| FlowBound {
            method,
            delay: ms.map(Time::from_fs),
            backlog: ms.map(Data::from_ubits),
            hops: Vec::new(),
        };
        let (some, none) = (bound(Method::Tfa, Some(7)), bound(Method::Ludb, None));

        let [behind, before] = [[&some, &none], [&none, &some]]
            .map(|[first, second]| lesser(vec![first.clone()], vec![second.clone()]));

        assert_eq!((behind, before), (vec![some.clone()], vec![some]));
    }

    #[test]
    fn what_does_not_apply_says_why_and_the_others_are_used() {
        let network = network(&[&[0, 1], &[1, 0]]);

        let best = analyze(&network, &[Method::Ludb, Method::Tfa], &Budget::unlimited()).unwrap();

        assert_eq!(best.flows[0].method, Method::Tfa);
        assert!(best.notes[0].starts_with("ludb does not apply: paths form a cycle"));
    }

    #[test]
    fn where_nothing_applies_the_first_reason_is_given() {
        let network = network(&[&[0, 1], &[1, 0]]);

        let refused =
            analyze(&network, &[Method::Ludb, Method::Sfa], &Budget::unlimited()).unwrap_err();

        assert!(matches!(refused, NotApplicable::Cycle { .. }));
        assert!(analyze(&network, &[], &Budget::unlimited()).is_err());
    }

    /// The same steps find the same, whoever asks in between; and what was not finished
    /// is named and has the bound of what was.
    #[test]
    fn within_a_budget_the_same_is_found_each_time_and_the_rest_is_named() {
        let paths: Vec<Vec<u32>> = (0..150).map(|at| (at % 2..at % 2 + 2).collect()).collect();
        let paths: Vec<&[u32]> = paths.iter().map(Vec::as_slice).collect();
        let network = network(&paths);
        let all = analyze(&network, &Method::SINGLE, &Budget::unlimited()).unwrap();
        let asked = Cell::new(0);
        let go_on = |_| {
            asked.set(asked.get() + 1);
            true
        };
        let mut finished = 0;

        for steps in [0, 1_000, 1_000_000, 20_000_000, u64::MAX] {
            let budget = || Budget::of_steps(steps);
            let found = analyze(&network, &Method::SINGLE, &budget()).unwrap();
            let again = analyze(&network, &Method::SINGLE, &budget().while_told(&go_on));

            assert_eq!(again.as_ref(), Ok(&found), "{steps}");
            for (least, found) in all.flows.iter().zip(&found.flows) {
                assert!(
                    found.delay.is_none() || found.delay >= least.delay,
                    "{steps}"
                );
                assert_eq!(found.delay.is_some(), least.delay.is_some(), "{steps}");
            }
            finished = network.flows().len() - found.cut_short.len();
            assert!(finished == 0 || steps >= 1_000_000, "{steps}");
        }
        assert_eq!(finished, 150);
        assert!(asked.get() > 0);
    }

    #[test]
    fn who_says_no_ends_the_search_and_keeps_what_was_found() {
        let paths: [&[u32]; 3] = [&[0, 1, 2], &[1, 2], &[0, 1]];
        let network = network(&paths.repeat(60));
        let asked = Cell::new(0);
        let go_on = |_| {
            asked.set(asked.get() + 1);
            false
        };

        let budget = Budget::unlimited().while_told(&go_on);
        let found = analyze(&network, &Method::SINGLE, &budget).unwrap();

        assert_eq!((asked.get(), budget.left()), (1, 0));
        assert!(!found.cut_short.is_empty());
        assert!(found.flows.iter().all(|flow| flow.delay.is_some()));
    }

    fn network(paths: &[&[u32]]) -> ServerGraph {
        let server = Server {
            service: vec![RateLatency {
                rate: Rate::from_ubps(1_000_000 * paths.len() as u64),
                latency: Time::from_fs(1_000_000_000),
            }],
            link: None,
            multiplexing: Multiplexing::Fifo,
        };
        let mut network = ServerGraph::new(vec![server; 3]).unwrap();
        for path in paths {
            let flow = ServerFlow {
                buckets: vec![TokenBucket {
                    rate: Rate::from_ubps(100_000),
                    burst: Data::from_ubits(1_000_000),
                }],
                path: path.iter().copied().map(ServerId).collect(),
                max_packet: Data::ZERO,
                priority: 0,
            };
            network.add(&flow).unwrap();
        }
        network
    }
}
