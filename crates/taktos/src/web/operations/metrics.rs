//! What Prometheus reads.

mod hops;
mod promised;
mod routing;
mod switches;

use std::fs;

use api::Counters;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use controller::cluster::Report;
use controller::northbound::{Reply, Request, TopologyCount};

use super::flows::{all_hops, flows};
use super::statistics::statistics;
use super::{Operation, texted};
use crate::web::document::StatisticsDocument;
use crate::web::forwarding::Forwarding;
use crate::web::gate::Caller;
use crate::web::metrics::Page;
use crate::web::problem::Problem;
use crate::web::site::Site;

/// The kind of text that Prometheus reads.
const KIND: &str = "text/plain; version=0.0.4";

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show counters and gauges, as Prometheus reads them.";
    vec![
        Operation::get("metrics", "/metrics", summary, show)
            .gives_text(KIND)
            .of_this_instance(),
    ]
}

async fn show(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let mut page = Page::default();
    let report = site.cluster.as_ref().map(Forwarding::report);
    if report.as_ref().is_none_or(|report| report.leads.is_some()) {
        write_network(&mut page, &site, &caller).await?;
    }
    if let Some(report) = report {
        write_cluster(&mut page, &report);
    }
    if let Some(speaker) = &site.speaker {
        routing::write_speaker(&mut page, &speaker.now());
    }
    write_interface(&mut page, &site);
    write_store(&mut page, &site);
    site.meters.write(&mut page);
    Ok(texted(page.text(), KIND))
}

/// Writes down what the controller that decides knows of its network.
async fn write_network(page: &mut Page, site: &Site, caller: &Caller) -> Result<(), Problem> {
    let topology = match site.ask(caller.asker.clone(), Request::Topology).await? {
        Reply::Topology(topology) => topology,
        _ => return Err(Problem::fault()),
    };
    let counted = statistics(site, caller).await?;
    let statistics = site.names.statistics(&counted);
    let flows = flows(site, caller).await?;
    let seen = all_hops(site, &caller.asker).await?;
    write_topology(page, topology);
    write_counters(page, &statistics.counters);
    write_frames(page, &statistics);
    switches::write(page, &counted.switches, &site.names);
    promised::write(page, &flows, &counted.switches);
    hops::write(page, &seen);
    if let Reply::RoutingStatus(status) = site
        .ask(caller.asker.clone(), Request::RoutingStatus)
        .await?
    {
        routing::write(page, &status);
    }
    Ok(())
}

fn write_cluster(page: &mut Page, report: &Report) {
    let heard = report.members.iter().filter(|it| it.is_heard).count();
    let all = [
        (
            "taktos_cluster_leads",
            "Whether this instance decides.",
            u64::from(report.leads.is_some()),
        ),
        (
            "taktos_cluster_epoch",
            "The epoch in force, as far as this instance knows.",
            report.epoch.unwrap_or_default(),
        ),
        (
            "taktos_cluster_instances",
            "Instances that this one hears, and itself.",
            heard as u64,
        ),
    ];
    for (name, help, value) in all {
        page.single(name, "gauge", help, value);
    }
    let help = "How often this instance began to decide.";
    page.single(
        "taktos_cluster_claims_total",
        "counter",
        help,
        report.claims,
    );
}

fn write_topology(page: &mut Page, topology: TopologyCount) {
    let mut gauge = |name, help, value: usize| page.single(name, "gauge", help, value as u64);
    gauge(
        "taktos_switches",
        "Switches that are connected.",
        topology.switches,
    );
    gauge("taktos_links", "Links that are up.", topology.links);
    gauge("taktos_hosts", "Hosts whose port is known.", topology.hosts);
    gauge("taktos_flows", "Flows that are admitted.", topology.flows);
}

fn write_counters(page: &mut Page, counters: &Counters) {
    let mut count = |name, help, value| page.single(name, "counter", help, value);
    count(
        "taktos_openflow_messages_total",
        "Messages of switches that could be read.",
        counters.messages,
    );
    count(
        "taktos_openflow_bad_messages_total",
        "Messages of switches that could not be read.",
        counters.bad_messages,
    );
    count(
        "taktos_packet_ins_dropped_total",
        "Frames beyond the budget of their switch.",
        counters.punts_dropped,
    );
    count(
        "taktos_floods_dropped_total",
        "Frames that would have been flooded, beyond the budget of their switch.",
        counters.floods_dropped,
    );
    count(
        "taktos_stations_displaced_total",
        "Stations that were not learned, or forgotten before their time, for want of room.",
        counters.stations_displaced,
    );
    count(
        "taktos_contested_frames_total",
        "Frames from elsewhere with the address of a host that frames do not move.",
        counters.frames_contested,
    );
    count(
        "taktos_foreign_probes_total",
        "LLDP frames that were no probes of this controller.",
        counters.foreign_probes,
    );
    count(
        "taktos_connections_closed_total",
        "Connections that were closed for what their peer did.",
        counters.closed,
    );
}

/// Writes down the frames that connected switches have handed over, by class. Those
/// of which there were none are left out: a thousand switches have many classes.
fn write_frames(page: &mut Page, statistics: &StatisticsDocument) {
    page.begin(
        "taktos_packet_ins_total",
        "counter",
        "Frames that a switch has handed over since it is connected.",
    );
    for switch in &statistics.switches {
        for count in &switch.frames {
            for (fate, frames) in [("taken", count.taken), ("dropped", count.dropped)] {
                if frames > 0 {
                    let (switch, class) = (&switch.datapath, &count.class);
                    page.line(
                        &format!("{{switch=\"{switch}\",class=\"{class}\",fate=\"{fate}\"}}"),
                        frames,
                    );
                }
            }
        }
    }
}

/// Writes down how frames fare in the controller, and how its store does.
fn write_store(page: &mut Page, site: &Site) {
    page.begin(
        "taktos_packet_in_duration_seconds",
        "histogram",
        "How long frames that switches handed over took, from when the controller read them \
         until all that follows was written or queued.",
    );
    page.times("", site.office.packet_in_times());
    page.single(
        "taktos_store_failing",
        "gauge",
        "1 while the store cannot keep what is asked for.",
        u64::from(site.store_fault().is_some()),
    );
    page.single(
        "taktos_store_failures_total",
        "counter",
        "How often the store could not keep what was asked for.",
        site.store_failures(),
    );
    let Some(store) = &site.store else {
        return;
    };
    if let Ok(file) = fs::metadata(store) {
        let help = "The size of the store's file.";
        page.single("taktos_store_bytes", "gauge", help, file.len());
    }
    if let Ok(disk) = rustix::fs::statvfs(store) {
        let help = "How much more the disk of the store holds.";
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        page.single("taktos_store_free_bytes", "gauge", help, free);
    }
}

fn write_interface(page: &mut Page, site: &Site) {
    page.single(
        "taktos_ready",
        "gauge",
        "1 once all that the store kept is known.",
        u64::from(site.is_ready()),
    );
    page.single(
        "taktos_http_requests_waiting",
        "gauge",
        "Requests that wait for the controller.",
        site.office.waiting() as u64,
    );
    page.single(
        "taktos_events_total",
        "counter",
        "Events that were told.",
        site.feed.newest(),
    );
    page.single(
        "taktos_event_watchers",
        "gauge",
        "Clients that watch events.",
        site.feed.watchers() as u64,
    );
    page.single(
        "taktos_audit_refusals_left_out_total",
        "counter",
        "Refusals of those who may not ask that were too many to be noted one by one.",
        site.audit.refusals_left_out(),
    );
    page.single(
        "taktos_audit_failures_total",
        "counter",
        "Changes that could not be written to the audit log.",
        site.audit.failures(),
    );
}
