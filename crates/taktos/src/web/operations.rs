//! Everything that can be asked over the interface: the one table from which the
//! paths, the roles they need and their description (`/api/v1/openapi.json`) follow.

pub mod flows;
pub mod health;
pub mod topology;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Method, Response, StatusCode};
use axum::routing::{MethodFilter, MethodRouter};
use serde::Serialize;

use super::problem::Problem;
use super::site::Site;

/// Something that can be asked.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The path, its variables in braces.
    pub path: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What answers.
    handler: MethodRouter<Site>,
}

impl Operation {
    fn new<H, T>(method: Method, path: &'static str, summary: &'static str, handler: H) -> Self
    where
        H: axum::handler::Handler<T, Site>,
        T: 'static,
    {
        let filter = MethodFilter::try_from(method.clone()).expect("a method of HTTP");
        Self {
            method,
            path,
            summary,
            handler: axum::routing::on(filter, handler),
        }
    }
}

/// Returns everything that can be asked.
#[must_use]
pub fn all() -> Vec<Operation> {
    [
        topology::operations(),
        flows::operations(),
        health::operations(),
    ]
    .concat()
}

/// Returns what answers all of it.
pub fn router(site: Site) -> Router {
    let mut router = Router::new();
    for operation in all() {
        router = router.route(operation.path, operation.handler);
    }
    router
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .with_state(site)
}

async fn nothing_here(uri: axum::http::Uri) -> Problem {
    Problem::not_found(
        "no-such-path",
        format!("there is nothing at {}", uri.path()),
    )
    .help("/api/v1/openapi.json lists what there is")
}

async fn not_so(method: Method, uri: axum::http::Uri) -> Problem {
    let message = format!("{method} is not possible on {}", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", message)
        .help("/api/v1/openapi.json lists what is")
}

/// Returns an answer from text that is JSON already.
fn kept(text: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Writes a document down.
fn written(document: &impl Serialize) -> Bytes {
    serde_json::to_vec(document)
        .expect("documents have text keys alone")
        .into()
}
