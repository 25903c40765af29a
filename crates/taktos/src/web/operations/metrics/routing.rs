//! What Prometheus reads of routes to other networks and of the daemon that speaks BGP.

use api::RoutingStatus;

use crate::speaker::SpeakerReport;
use crate::web::metrics::Page;

/// Writes down what the controller knows of routes.
pub fn write(page: &mut Page, status: &RoutingStatus) {
    let mut gauge = |name, help, value: u64| page.single(name, "gauge", help, value);
    gauge(
        "taktos_routes",
        "Prefixes of other networks that have a route.",
        status.prefixes.into(),
    );
    gauge(
        "taktos_routes_entries",
        "Prefixes that have an entry of their own.",
        status.entries.into(),
    );
    gauge(
        "taktos_routes_damped",
        "Prefixes that come and go, and are not used for a while.",
        status.damped.into(),
    );
    gauge(
        "taktos_routes_memory_bytes",
        "About how much memory routes take.",
        status.memory_bytes,
    );
    let waiting = status.ingresses.iter();
    let waiting = waiting.map(|it| it.waiting.saturating_add(it.unconfirmed));
    gauge(
        "taktos_routes_unconfirmed_entries",
        "Entries of prefixes that no switch has confirmed yet, all switches together.",
        waiting.fold(0, u64::saturating_add),
    );
    let reachable = status.next_hops.iter().filter(|it| it.is_reachable);
    gauge(
        "taktos_next_hops_reachable",
        "Next hops to which there is a way that all switches have confirmed.",
        reachable.count() as u64,
    );
    let mut count = |name, help, value| page.single(name, "counter", help, value);
    count(
        "taktos_route_changes_total",
        "Changes of routes that were taken.",
        status.changes,
    );
    count(
        "taktos_route_refusals_total",
        "Changes of routes that were refused.",
        status.refusals,
    );
}

/// Writes down what was counted of what the daemon tells.
pub fn write_speaker(page: &mut Page, report: &SpeakerReport) {
    let counts = report.counts;
    let mut gauge = |name, help, value: u64| page.single(name, "gauge", help, value);
    gauge(
        "taktos_speaker_connected",
        "1 while the daemon that speaks BGP is heard.",
        u64::from(report.is_connected),
    );
    gauge(
        "taktos_speaker_sessions_established",
        "Its sessions with peers that are established.",
        report.established() as u64,
    );
    let mut count = |name, help, value| page.single(name, "counter", help, value);
    count(
        "taktos_speaker_connections_total",
        "Connections to it.",
        counts.connections,
    );
    count(
        "taktos_speaker_lists_total",
        "Lists of all routes that it was asked for.",
        counts.lists,
    );
    count(
        "taktos_speaker_paths_total",
        "Paths that it told of.",
        counts.paths,
    );
    count(
        "taktos_speaker_unreadable_paths_total",
        "Paths that named no prefix.",
        counts.unreadable_paths,
    );
    count(
        "taktos_speaker_unusable_next_hops_total",
        "Paths without a next hop of any use.",
        counts.unusable_next_hops,
    );
    count(
        "taktos_speaker_failed_requests_total",
        "Requests about routes that the controller did not carry out.",
        counts.failed_requests,
    );
}
