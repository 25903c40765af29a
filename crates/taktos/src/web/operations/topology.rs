//! Switches, ports, links and hosts.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Response};
use controller::northbound::{Asker, Reply, Request};

use super::{Operation, kept, written};
use crate::web::problem::Problem;
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show switches, ports, links and hosts.";
    vec![Operation::new(
        Method::GET,
        "/api/v1/topology",
        summary,
        topology,
    )]
}

async fn topology(State(site): State<Site>) -> Result<Response<Body>, Problem> {
    let text = site.topology.get(site.change(), look(&site)).await?;
    Ok(kept(text))
}

async fn look(site: &Site) -> Result<Bytes, Problem> {
    match site.ask(Asker::Operator, Request::View).await? {
        Reply::View(view) => Ok(written(&site.names.topology(&view))),
        _ => Err(Problem::fault()),
    }
}
