//! What each server does at least, and whether the method applies.

use units::fine::{Data, Rate, Time};

use crate::analysis::{
    Multiplexing, NotApplicable, RateLatency, ServerGraph, ServerId, TokenBucket,
};

/// What a server does at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceGuarantee {
    /// For bits as they are served.
    pub bits: RateLatency,
    /// For bits that go on with the last one of their packet, if there is a
    /// packetizer: the longest packet later.
    pub packets: RateLatency,
}

/// What servers do, and an order of them in which flows go.
#[derive(Debug)]
pub(super) struct Usable {
    pub promises: Vec<ServiceGuarantee>,
    pub order: Vec<ServerId>,
}

/// Returns one promise for each server, if the method applies.
pub(super) fn usable(network: &ServerGraph) -> Result<Usable, NotApplicable> {
    let ids = || (0..).map(ServerId).take(network.servers().len());
    for id in ids() {
        let multiplexing = network.server(id).multiplexing;
        if multiplexing != Multiplexing::Fifo {
            return Err(NotApplicable::Multiplexing {
                server: id,
                multiplexing,
            });
        }
    }
    let order = network.feed_forward_order();
    let order = order.map_err(|server| NotApplicable::Cycle { server })?;
    Ok(Usable {
        promises: ids().map(|id| promise(network, id)).collect(),
        order,
    })
}

/// Returns the curve of a server that is done first with the bursts that its flows
/// begin with, among those that keep up with them.
///
/// A curve whose latency is too long for the units of time is none; a server
/// without one serves at no rate.
fn promise(network: &ServerGraph, id: ServerId) -> ServiceGuarantee {
    let flows = || network.crossings(id).iter().map(|crossing| crossing.flow);
    let load = flows().flat_map(|flow| network.buckets(flow).first());
    let load = load.fold(TokenBucket::default(), add);
    let packets = flows().map(|flow| network.max_packet(flow));
    let packet = packets.max().filter(|_| network.packetizer);
    let packet = packet.unwrap_or_default();
    let curves = network.server(id).service.iter().filter_map(|curve| {
        let wait = curve.rate.longest_for(packet)?;
        let latency = curve.latency.checked_add(wait)?;
        Some(ServiceGuarantee {
            bits: *curve,
            packets: RateLatency { latency, ..*curve },
        })
    });
    let done = |promise: &ServiceGuarantee| {
        let curve = promise.packets;
        let wait = curve.rate.longest_for(load.burst);
        let done = wait.and_then(|wait| curve.latency.checked_add(wait));
        (
            curve.rate < load.rate,
            done.unwrap_or(Time::from_fs(u64::MAX)),
        )
    };
    curves.min_by_key(done).unwrap_or_default()
}

/// Returns the sum of two buckets, or the most that there is.
fn add(sum: TokenBucket, more: &TokenBucket) -> TokenBucket {
    let (rate, burst) = (
        sum.rate.checked_add(more.rate),
        sum.burst.checked_add(more.burst),
    );
    TokenBucket {
        rate: rate.unwrap_or(Rate::from_ubps(u64::MAX)),
        burst: burst.unwrap_or(Data::from_ubits(u64::MAX)),
    }
}
