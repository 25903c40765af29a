//! A bound from the textbook, to see that the adversary does not cheat: total
//! flow analysis with one bucket a flow and one piece a server, in plain numbers.
//!
//! A FIFO server delays nothing longer than `T + B / R` where `B` is the sum of
//! the bursts. In whatever order a server serves, its backlog is gone after
//! `(B + R * T) / (R - r)`, so nothing is there longer. A burst that has been
//! delayed by `D` comes as `b + r * D`.

#![expect(clippy::unwrap_used, reason = "a helper of tests")]

use calculus::analysis::{
    Analysis, FlowBound, FlowId, Method, Multiplexing, NotApplicable, ServerGraph, ServerId,
    TokenBucket,
};
use units::fine::{Data, Time};

pub fn analyze(network: &ServerGraph) -> Result<Analysis, NotApplicable> {
    let order = network.feed_forward_order();
    let order = order.map_err(|server| NotApplicable::Cycle { server })?;
    let mut bursts: Vec<_> = network
        .flows()
        .map(|flow| sustained(network, flow).burst)
        .collect();
    let mut delays = vec![Time::ZERO; bursts.len()];
    for server in order {
        let delay = delay(network, server, &bursts);
        for crossing in network.crossings(server) {
            let at = crossing.flow.index();
            let rate = sustained(network, crossing.flow).rate;
            bursts[at] = bursts[at]
                .checked_add(rate.most_in(delay).unwrap())
                .unwrap();
            delays[at] = delays[at].checked_add(delay).unwrap();
        }
    }
    let flows = delays.into_iter().map(|delay| FlowBound {
        method: Method::Tfa,
        delay: Some(delay),
        backlog: None,
        hops: Vec::new(),
    });
    Ok(Analysis {
        cut_short: Vec::new(),
        flows: flows.collect(),
        notes: Vec::new(),
    })
}

fn delay(network: &ServerGraph, id: ServerId, bursts: &[Data]) -> Time {
    let crossings = network.crossings(id);
    let of = |it: &calculus::analysis::Crossing| bursts[it.flow.index()].as_ubits();
    let burst = Data::from_ubits(crossings.iter().map(of).sum());
    let rates = crossings.iter().map(|it| sustained(network, it.flow).rate);
    let rate = rates
        .reduce(|sum, rate| sum.checked_add(rate).unwrap())
        .unwrap_or_default();
    let server = network.server(id);
    let with = |piece: &calculus::analysis::RateLatency| {
        let left = piece.rate.checked_sub(rate)?;
        match server.multiplexing {
            Multiplexing::Fifo => piece.latency.checked_add(piece.rate.longest_for(burst)?),
            Multiplexing::Arbitrary | Multiplexing::StrictPriority => {
                let idle = piece.rate.most_in(piece.latency)?;
                left.longest_for(burst.checked_add(idle)?)
            }
        }
    };
    server.service.iter().filter_map(with).min().unwrap()
}

fn sustained(network: &ServerGraph, flow: FlowId) -> TokenBucket {
    let buckets = network.buckets(flow).iter().copied();
    buckets.min_by_key(|bucket| bucket.rate).unwrap()
}
