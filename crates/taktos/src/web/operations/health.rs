//! Which controller this is, whether it lives, and whether it can be used.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::northbound::{Asker, Request};

use super::Operation;
use crate::web::document::InstanceDocument;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let which = "Say which controller this is.";
    let alive = "Say that the program runs.";
    let ready = "Say whether the controller knows all that its store kept, can keep more, decides at all switches that it knows, and answers.";
    vec![
        Operation::get("show-instance", "/api/v1/instance", which, instance)
            .gives::<InstanceDocument>(StatusCode::OK)
            .of_this_instance(),
        Operation::get("health", "/healthz", alive, healthz)
            .gives_text("text/plain")
            .open()
            .of_this_instance(),
        Operation::get("readiness", "/readyz", ready, readyz)
            .gives_text("text/plain")
            .open()
            .of_this_instance(),
    ]
}

async fn instance(State(site): State<Site>) -> Response<Body> {
    json(StatusCode::OK, &instance_of(&site))
}

/// Returns which controller this is.
pub(super) fn instance_of(site: &Site) -> InstanceDocument {
    InstanceDocument {
        id: site.id.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        since_ns: site.since_ns,
        ready: site.is_ready(),
    }
}

async fn healthz() -> &'static str {
    "alive\n"
}

async fn readyz(State(site): State<Site>) -> Result<&'static str, Problem> {
    if let Some(reason) = site.store_fault() {
        return Err(Problem::store_fails(&reason));
    }
    if let Some(cluster) = &site.cluster {
        let report = cluster.report();
        match (report.leads, report.sequencer()) {
            (Some(_), _) => {}
            (None, Some(_)) => return Ok("ready to take over\n"),
            (None, None) => return Err(Problem::no_sequencer()),
        }
    }
    if !site.is_ready() {
        return Err(Problem::starting());
    }
    if let Some(switch) = site.other_master() {
        return Err(Problem::not_master(&switch));
    }
    site.ask(Asker::Operator, Request::Topology).await?;
    Ok("ready\n")
}
