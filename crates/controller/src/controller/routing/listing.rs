//! Shows routes, and how the network is as a router.

use units::{Duration, Instant};

use crate::desired::{EntryOwner, Outcome};
use crate::northbound::{
    IngressSummary, IpPrefix, MAX_ROUTES_AT_ONCE, NextHopSummary, PeeringSummary, RouteState,
    RoutedPrefix, RoutingStatus, SpeakerState,
};
use crate::router::next_hops::NextHop;
use crate::router::table::{Route, Usage};

use super::super::{Context, Network};
use super::Routing;

/// About how much a route takes: what is kept of it, and as much of a node of its tree as is
/// empty (a node of a B-tree is more than half full).
const ROUTE_BYTES: u64 = 2 * (size_of::<Route>() + size_of::<u128>()) as u64;

impl Routing {
    pub fn routes_after(
        &self,
        ctx: &Context,
        network: &Network,
        after: Option<IpPrefix>,
        most: usize,
    ) -> Vec<RoutedPrefix> {
        let routes = self.table.after(after);
        let routes = routes.take(most.min(MAX_ROUTES_AT_ONCE));
        let shown = routes.filter_map(|(prefix, route)| self.show(ctx, network, prefix, route));
        shown.collect()
    }

    fn show(
        &self,
        ctx: &Context,
        network: &Network,
        prefix: IpPrefix,
        route: &Route,
    ) -> Option<RoutedPrefix> {
        let hop = self.hops.get(route.next_hop)?;
        let deliveries = self.deliveries.values();
        let confirmed = deliveries
            .filter(|it| it.has_confirmed(route.changed))
            .count();
        let is_refused = self
            .deliveries
            .values()
            .any(|it| it.refused.contains(&prefix));
        let state = match route.usage {
            Usage::Damped => RouteState::Damped,
            Usage::Entry | Usage::Inherited if !is_led(network, hop) => RouteState::Unresolved,
            Usage::Inherited => RouteState::Aggregated,
            Usage::Entry if is_refused => RouteState::Refused,
            Usage::Entry => RouteState::Installed,
        };
        let is_old = self.speaker == SpeakerState::Lost || route.generation != self.generation;
        Some(RoutedPrefix {
            prefix,
            next_hop: hop.address,
            mac: hop.mac,
            egress: ctx.named(hop.at.port),
            since: Instant::ZERO + Duration::from_secs(u64::from(route.since_s)),
            state,
            is_stale: self.stale_at.is_some() && is_old,
            confirmed,
            ingresses: self.ingresses.len(),
        })
    }

    pub fn status(&self, ctx: &Context, network: &Network) -> Option<RoutingStatus> {
        let settings = self.settings.as_ref().filter(|_| self.is_active)?;
        let refused = self.deliveries.values().map(|it| it.refused.len()).sum();
        let hops = self.hops.iter();
        let peerings = (0_u32..).zip(&settings.peerings);
        Some(RoutingStatus {
            speaker: self.speaker,
            speaker_since: self.speaker_since,
            is_complete: self.is_known && self.stale_at.is_none(),
            prefixes: self.table.count(),
            entries: self.table.entries(),
            damped: self.table.damped(),
            refused: count(refused),
            max_prefixes: self.limit(),
            memory_bytes: u64::from(self.table.count()) * ROUTE_BYTES
                + self.changes.memory() as u64,
            changes: self.news.changes,
            refusals: self.news.refusals,
            next_hops: hops
                .map(|(_, hop)| NextHopSummary {
                    address: hop.address,
                    mac: hop.mac,
                    at: ctx.named(hop.at.port),
                    prefixes: hop.routes,
                    is_reachable: is_led(network, hop)
                        && is_confirmed(network, EntryOwner::NextHop(hop.tag)),
                })
                .collect(),
            ingresses: self.ingress_summaries(ctx),
            peerings: peerings
                .map(|(number, peering)| PeeringSummary {
                    name: peering.name.clone(),
                    at: ctx.named(peering.port),
                    is_connected: is_confirmed(network, EntryOwner::Peering(number)),
                })
                .collect(),
        })
    }

    fn ingress_summaries(&self, ctx: &Context) -> Vec<IngressSummary> {
        let summary = |datapath: &wire::openflow::DatapathId| {
            let delivery = self.deliveries.get(datapath);
            let behind = delivery.map(|it| it.behind(&self.changes));
            let (waiting, unconfirmed) = behind.unwrap_or((u64::from(self.table.entries()), 0));
            IngressSummary {
                switch: ctx.name_of_switch(*datapath),
                sent: delivery.map_or(0, |it| it.sent),
                waiting,
                unconfirmed,
                refused: delivery.map_or(0, |it| count(it.refused.len())),
                room: delivery.and_then(|it| it.room).filter(|it| *it < u32::MAX),
            }
        };
        self.ingresses.iter().map(summary).collect()
    }

    /// Returns how many entries there are for all of it, all switches together.
    pub fn count_entries(&self, network: &Network) -> usize {
        let hops = self
            .hops
            .iter()
            .map(|(_, hop)| EntryOwner::NextHop(hop.tag));
        let peerings = self
            .settings
            .iter()
            .flat_map(|it| (0_u32..).zip(&it.peerings));
        let peerings = peerings.map(|(number, _)| EntryOwner::Peering(number));
        let desired = &network.tables.desired;
        let ways = hops
            .chain(peerings)
            .map(|it| desired.of_subject(it).count());
        let prefixes = self.table.entries() as usize * self.deliveries.len();
        ways.sum::<usize>() + prefixes
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn is_led(network: &Network, hop: &NextHop) -> bool {
    network
        .tables
        .desired
        .is_owner(EntryOwner::NextHop(hop.tag))
}

/// Returns whether switches treat frames as a subject wants, as all have confirmed. Two next
/// hops may have one address of an interface, such as a router's for IPv4 and for IPv6: then
/// the entries on the way are those of one of them, and lead to both.
fn is_confirmed(network: &Network, subject: EntryOwner) -> bool {
    let tables = &network.tables;
    let is_led = tables.desired.is_owner(subject);
    match tables.outcome(subject) {
        Some(Outcome::Confirmed) => is_led,
        Some(Outcome::Contested { .. }) => is_led && tables.is_served(subject),
        Some(_) | None => false,
    }
}
