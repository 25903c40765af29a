//! What each server does at least, and whether the method applies.

use units::fine::{Data, Rate, Time};

use crate::analysis::{Multiplexing, Network, NotApplicable, RateLatency, ServerId, TokenBucket};

/// How often two flows may meet: some seconds of computing.
const MEETINGS_MAX: usize = 2_000_000;
/// How many servers may stand in a row, each fed by the one before: bursts are
/// followed back along them, a level of the stack for each.
const ROW_MAX: usize = 500;

/// What a server does at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Promise {
    /// For bits as they are served.
    pub bits: RateLatency,
    /// For bits that go on with the last one of their packet, if there is a
    /// packetizer: the longest packet later.
    pub packets: RateLatency,
}

/// Returns one promise for each server, if the method applies.
pub(super) fn usable(network: &Network) -> Result<Vec<Promise>, NotApplicable> {
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
    let meetings = ids().map(|id| network.crossings(id).len().saturating_pow(2));
    let meetings = meetings.fold(0, usize::saturating_add);
    limit("meetings of two flows", meetings, MEETINGS_MAX)?;
    let row = longest_row(network, &order);
    limit("servers in a row", row, ROW_MAX)?;
    Ok(ids().map(|id| promise(network, id)).collect())
}

fn limit(what: &'static str, size: usize, limit: usize) -> Result<(), NotApplicable> {
    if size > limit {
        return Err(NotApplicable::TooLarge { what, size, limit });
    }
    Ok(())
}

/// Returns the most servers of which each gets a flow from the one before.
fn longest_row(network: &Network, order: &[ServerId]) -> usize {
    let mut rows = vec![1; network.servers().len()];
    for id in order {
        for crossing in network.crossings(*id) {
            if let Some(next) = network.path(crossing.flow).get(crossing.hop as usize + 1) {
                rows[next.index()] = rows[next.index()].max(rows[id.index()] + 1);
            }
        }
    }
    rows.into_iter().max().unwrap_or(0)
}

/// Returns the curve of a server that is done first with the bursts that its flows
/// begin with, among those that keep up with them.
///
/// A curve whose latency is too long for the units of time is none; a server
/// without one serves at no rate.
fn promise(network: &Network, id: ServerId) -> Promise {
    let flows = || network.crossings(id).iter().map(|crossing| crossing.flow);
    let load = flows().flat_map(|flow| network.buckets(flow).first());
    let load = load.fold(TokenBucket::default(), add);
    let packets = flows().map(|flow| network.max_packet(flow));
    let packet = packets.max().filter(|_| network.packetizer);
    let packet = packet.unwrap_or_default();
    let curves = network.server(id).service.iter().filter_map(|curve| {
        let wait = curve.rate.longest_for(packet)?;
        let latency = curve.latency.checked_add(wait)?;
        Some(Promise {
            bits: *curve,
            packets: RateLatency { latency, ..*curve },
        })
    });
    let done = |promise: &Promise| {
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
