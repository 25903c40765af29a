//! Runs the methods that were asked for.

use std::time::Duration;

use calculus::analysis::best;
use calculus::analysis::{FlowBound, FlowId, Method, Network, NotApplicable};

/// What is to be found.
#[derive(Debug)]
pub struct Asked {
    /// The method, or nothing for all of them.
    pub method: Option<Method>,
    /// Methods that are left out of `best` and of all.
    pub without: Vec<Method>,
    /// The flows, or none for all of them.
    pub flows: Vec<FlowId>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The bounds, method by method, each with its flows in their order.
    pub bounds: Vec<(FlowId, FlowBound)>,
    /// What a reader has to know.
    pub notes: Vec<(Method, String)>,
    /// The methods that say nothing of this network, and why.
    pub not_applicable: Vec<(Method, NotApplicable)>,
    /// How long that took.
    pub elapsed: Duration,
}

/// Finds the bounds of a network.
pub fn find(network: &Network, asked: &Asked) -> Found {
    let left = |method: &Method| !asked.without.contains(method);
    let all: Vec<_> = Method::SINGLE.into_iter().filter(left).collect();
    let mut found = Found::default();
    match asked.method {
        None => {
            for method in &all {
                if let Some(bounds) = found.try_method(network, *method, &all) {
                    found.add(network, bounds, &asked.flows);
                }
            }
        }
        Some(Method::Best) => {
            let mut least = None;
            for method in &all {
                if let Some(bounds) = found.try_method(network, *method, &all) {
                    least = Some(match least {
                        None => bounds,
                        Some(least) => best::lesser(least, bounds),
                    });
                }
            }
            found.add(network, least.unwrap_or_default(), &asked.flows);
        }
        Some(method) => {
            // A method that is asked for alone has time.
            if let Some(bounds) = found.try_method(network, method, &Method::SINGLE) {
                found.add(network, bounds, &asked.flows);
            }
        }
    }
    found
}

impl Found {
    /// Returns the bounds of all flows by one of `methods`, or notes why it has
    /// none.
    fn try_method(
        &mut self,
        network: &Network,
        method: Method,
        methods: &[Method],
    ) -> Option<Vec<FlowBound>> {
        match best::analyze_among(network, method, methods) {
            Ok(analysis) => {
                let notes = analysis.notes.into_iter();
                self.notes.extend(notes.map(|note| (method, note)));
                Some(analysis.flows)
            }
            Err(reason) => {
                self.not_applicable.push((method, reason));
                None
            }
        }
    }

    fn add(&mut self, network: &Network, bounds: Vec<FlowBound>, flows: &[FlowId]) {
        let wanted = |flow: &FlowId| flows.is_empty() || flows.contains(flow);
        let bounds = network.flows().zip(bounds);
        self.bounds.extend(bounds.filter(|(flow, _)| wanted(flow)));
    }
}
