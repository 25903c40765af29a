//! What the controller counted.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::Counters;
use controller::northbound::{Reply, Request, Statistics};

use super::Operation;
use crate::web::document::{CountersDocument, StatisticsDocument};
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show what was counted since the start.";
    vec![
        Operation::get("show-statistics", "/api/v1/statistics", summary, show)
            .gives::<StatisticsDocument>(StatusCode::OK),
    ]
}

async fn show(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let statistics = statistics(&site, &caller).await?;
    Ok(json(StatusCode::OK, &described(&statistics)))
}

/// Returns what was counted.
///
/// # Errors
///
/// If the controller does not answer, or not this caller.
pub async fn statistics(site: &Site, caller: &Caller) -> Result<Box<Statistics>, Problem> {
    match site.ask(caller.asker.clone(), Request::Statistics).await? {
        Reply::Statistics(statistics) => Ok(statistics),
        _ => Err(Problem::fault()),
    }
}

/// Writes down what was counted.
#[must_use]
pub fn described(statistics: &Statistics) -> StatisticsDocument {
    let Counters {
        messages,
        bad_messages,
        punts_dropped,
        foreign_probes,
        closed,
        ..
    } = statistics.counters;
    StatisticsDocument {
        counters: CountersDocument {
            messages,
            bad_messages,
            punts_dropped,
            foreign_probes,
            closed,
        },
    }
}
