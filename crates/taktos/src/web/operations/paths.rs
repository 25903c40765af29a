//! Questions for paths.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::northbound::{NoPath, Reply, Request};

use super::Operation;
use crate::web::body::Sent;
use crate::web::document::{PathQueryDocument, PathsDocument};
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Find paths. Nothing is reserved.";
    vec![
        Operation::post("find-paths", "/api/v1/paths", summary, find)
            .question()
            .takes::<PathQueryDocument>()
            .gives::<PathsDocument>(StatusCode::OK),
    ]
}

async fn find(
    State(site): State<Site>,
    caller: Caller,
    Sent(document): Sent<PathQueryDocument>,
) -> Result<Response<Body>, Problem> {
    let query = document.query(&site.names)?;
    match site.ask(caller.asker, Request::Paths(query)).await? {
        Reply::Paths(Ok(paths)) => Ok(json(StatusCode::OK, &PathsDocument { paths })),
        Reply::Paths(Err(reason)) => Err(none(&reason)),
        _ => Err(Problem::fault()),
    }
}

fn none(reason: &NoPath) -> Problem {
    let said = reason.to_string();
    match reason {
        NoPath::UnknownHost { .. } => {
            Problem::refused("unknown-host", said).help("GET /api/v1/hosts lists those that are")
        }
        NoPath::UnknownPort { .. } => Problem::refused("unknown-port", said)
            .help("GET /api/v1/topology lists switches with their ports"),
        NoPath::TooFew { .. } => Problem::refused("too-few-paths", said)
            .help("ask for fewer, for `link-disjoint` ones, or avoid fewer links"),
        NoPath::NoRoom { .. } => Problem::refused("no-room", said).help("ask for less"),
    }
}
