//! Whether the controller lives, and whether it can be used.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Response, StatusCode};
use controller::northbound::{Asker, Request};
use serde_json::json;

use super::Operation;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (alive, ready) = (
        "Say that the program runs.",
        "Say whether the controller answers.",
    );
    vec![
        Operation::new(Method::GET, "/healthz", alive, healthz),
        Operation::new(Method::GET, "/readyz", ready, readyz),
    ]
}

async fn healthz() -> Response<Body> {
    json(StatusCode::OK, &json!({"alive": true}))
}

async fn readyz(State(site): State<Site>) -> Result<Response<Body>, Problem> {
    site.ask(Asker::Operator, Request::Topology).await?;
    Ok(json(StatusCode::OK, &json!({"ready": true})))
}
