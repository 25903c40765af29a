//! Who changed what.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};

use super::Operation;
use crate::web::audit::KEPT;
use crate::web::document::AuditDocument;
use crate::web::gate::Role;
use crate::web::problem::{Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show who changed what, and with which outcome, and who was not let in or has not the role.";
    vec![
        Operation::get("show-audit", "/api/v1/audit", summary, show)
            .role(Role::Administer)
            .parameters(&[("limit", "how many changes, the last ones; at most 1000")])
            .gives::<AuditDocument>(StatusCode::OK)
            .of_this_instance(),
    ]
}

async fn show(State(site): State<Site>, query: Query) -> Result<Response<Body>, Problem> {
    query.only(&["limit"])?;
    let limit = query.number("limit")?.unwrap_or(KEPT as u64);
    let limit = usize::try_from(limit).unwrap_or(KEPT);
    let document = AuditDocument {
        entries: site.audit.last(limit),
        refused: site.audit.last_refused(limit),
        refused_left_out: site.audit.refusals_left_out(),
    };
    Ok(json(StatusCode::OK, &document))
}
