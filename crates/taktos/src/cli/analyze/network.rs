//! Turns what a file describes into what is analysed.

use calculus::analysis::{
    self, FlowId, Method, NetworkError, RateLatency, ServerFlow, ServerGraph, ServerId, TokenBucket,
};
use scenario::servers::{Multiplexing, ServedFlow, Server, ServerNetwork};

/// Returns the network, and what had to be assumed in a sentence.
///
/// # Errors
///
/// What the reader of files does not refuse and the analysis does.
pub fn build(
    described: &ServerNetwork,
    method: Option<Method>,
) -> Result<(ServerGraph, Option<String>), NetworkError> {
    let usual = usual_order(method);
    let servers = described
        .servers
        .iter()
        .map(|server| convert(server, usual));
    let mut network = ServerGraph::new(servers.collect())?;
    network.line_shaping = described.line_shaping;
    network.packetizer = described.packetizer;
    for flow in &described.flows {
        let of_place = |at: usize| FlowId(u32::try_from(at).expect("a file has a million flows"));
        let flow_of = convert_flow(flow);
        match flow.branch_of.map(of_place) {
            None => network.add(&flow_of)?,
            Some(trunk) => network.add_branch(trunk, &flow_of.path)?,
        };
    }
    let unsaid = described
        .servers
        .iter()
        .filter(|server| server.multiplexing.is_none())
        .count();
    let assumed = (unsaid > 0).then(|| {
        format!(
            "{unsaid} of {} servers have no multiplexing: `{usual}` is assumed. \
             Say it in the file or with --multiplexing.",
            described.servers.len()
        )
    });
    Ok((network, assumed))
}

/// Ports of switches are first in, first out; two methods are not defined so.
fn usual_order(method: Option<Method>) -> analysis::Multiplexing {
    match method {
        Some(Method::Pmoo | Method::Tma) => analysis::Multiplexing::Arbitrary,
        Some(
            Method::Tfa | Method::TfaDnc | Method::Sfa | Method::Ludb | Method::Lp | Method::Best,
        )
        | None => analysis::Multiplexing::Fifo,
    }
}

fn convert(server: &Server, usual: analysis::Multiplexing) -> analysis::Server {
    let curves = server.service.iter();
    let curves = curves.map(|(rate, latency)| RateLatency {
        rate: *rate,
        latency: *latency,
    });
    analysis::Server {
        service: curves.collect(),
        link: server.link,
        multiplexing: match server.multiplexing {
            Some(Multiplexing::Arbitrary) => analysis::Multiplexing::Arbitrary,
            Some(Multiplexing::Fifo) => analysis::Multiplexing::Fifo,
            Some(Multiplexing::StrictPriority) => analysis::Multiplexing::StrictPriority,
            None => usual,
        },
    }
}

fn convert_flow(flow: &ServedFlow) -> ServerFlow {
    let buckets = flow.buckets.iter();
    let buckets = buckets.map(|(rate, burst)| TokenBucket {
        rate: *rate,
        burst: *burst,
    });
    let server = |at: &usize| ServerId(u32::try_from(*at).expect("a file has a million servers"));
    ServerFlow {
        buckets: buckets.collect(),
        path: flow.path.iter().map(server).collect(),
        max_packet: flow.max_packet,
        priority: flow.priority,
    }
}
