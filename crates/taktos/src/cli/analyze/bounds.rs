//! Runs the methods that were asked for.

use std::time::Duration;

use calculus::analysis::best;
use calculus::analysis::{Budget, FlowBound, FlowId, Method, NotApplicable, ServerGraph, tfa};

/// What is to be found.
#[derive(Debug)]
pub struct BoundsQuery {
    /// The method, or nothing for all of them.
    pub method: Option<Method>,
    /// Methods that are left out of `best` and of all.
    pub without: Vec<Method>,
    /// The flows, or none for all of them.
    pub flows: Vec<FlowId>,
}

#[derive(Debug, Default)]
pub struct AnalysisBounds {
    /// The bounds, method by method, each with its flows in their order.
    pub bounds: Vec<(FlowId, FlowBound)>,
    /// The methods that did not finish all flows, and which not, in their order.
    pub cut_short: Vec<(Method, Vec<FlowId>)>,
    /// What a reader has to know.
    pub notes: Vec<(Method, String)>,
    /// The methods that say nothing of this network, and why.
    pub not_applicable: Vec<(Method, NotApplicable)>,
    pub elapsed: Duration,
}

/// Finds the bounds of a network within a budget.
pub fn find(network: &ServerGraph, asked: &BoundsQuery, budget: &Budget) -> AnalysisBounds {
    let left = |method: &Method| !asked.without.contains(method);
    let all: Vec<_> = Method::SINGLE.into_iter().filter(left).collect();
    let mut found = AnalysisBounds::default();
    match asked.method {
        None => {
            for method in &all {
                if let Some(bounds) = found.try_method(network, *method, &all, budget) {
                    found.add(network, bounds, &asked.flows);
                }
            }
        }
        Some(Method::Best) => {
            let mut least = None;
            for method in &all {
                if let Some(bounds) = found.try_method(network, *method, &all, budget) {
                    least = Some(match least {
                        None => bounds,
                        Some(least) => best::lesser(least, bounds),
                    });
                }
            }
            found.add(network, least.unwrap_or_default(), &asked.flows);
        }
        Some(method) => {
            // A method that is asked for alone has all the time.
            if let Some(bounds) = found.try_method(network, method, &[method], budget) {
                let bounds = found.with_rest(network, bounds);
                found.add(network, bounds, &asked.flows);
            }
        }
    }
    found
}

impl AnalysisBounds {
    /// Returns the bounds of all flows by one of `methods`, or notes why it has
    /// none.
    fn try_method(
        &mut self,
        network: &ServerGraph,
        method: Method,
        methods: &[Method],
        budget: &Budget,
    ) -> Option<Vec<FlowBound>> {
        match best::analyze_among(network, method, methods, budget) {
            Ok(analysis) => {
                let notes = analysis.notes.into_iter();
                self.notes.extend(notes.map(|note| (method, note)));
                if !analysis.cut_short.is_empty() {
                    let mut flows = analysis.cut_short;
                    flows.sort_unstable();
                    self.cut_short.push((method, flows));
                }
                Some(analysis.flows)
            }
            Err(reason) => {
                self.not_applicable.push((method, reason));
                None
            }
        }
    }

    /// Gives flows that were cut short what total flow analysis says, where it says
    /// less: it needs no budget.
    fn with_rest(&self, network: &ServerGraph, mut bounds: Vec<FlowBound>) -> Vec<FlowBound> {
        let cut = self.cut_short.iter().flat_map(|(_, flows)| flows);
        let mut cut = cut.peekable();
        if cut.peek().is_none() {
            return bounds;
        }
        let Ok(rest) = tfa::analyze(network) else {
            return bounds;
        };
        for flow in cut {
            let (least, other) = (&mut bounds[flow.index()], &rest.flows[flow.index()]);
            let lesser = best::lesser(vec![least.clone()], vec![other.clone()]);
            least.clone_from(&lesser[0]);
        }
        bounds
    }

    /// Adds the bounds of the flows that were asked for. A flow that was cut short
    /// before it had one is left out: it may well have a bound.
    fn add(&mut self, network: &ServerGraph, bounds: Vec<FlowBound>, flows: &[FlowId]) {
        let wanted = |flow: &FlowId| flows.is_empty() || flows.contains(flow);
        let bounds = network.flows().zip(bounds);
        let cut = &self.cut_short;
        let known = |(flow, bound): &(FlowId, FlowBound)| {
            let is_cut = |(_, flows): &(Method, Vec<FlowId>)| flows.binary_search(flow).is_ok();
            bound.delay.is_some() || !cut.iter().any(is_cut)
        };
        let bounds = bounds.filter(|(flow, _)| wanted(flow)).filter(known);
        self.bounds.extend(bounds);
    }
}
