//! The rules of switches: as they should be, as they are, and made so.

use api::rule;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{Reply, Request, RuleSummary};
use wire::openflow::DatapathId;

use super::Operation;
use crate::inspection::words;
use crate::web::document::place;
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

const RECONCILED: [(&str, &str); 1] = [("switch", "only this one: its name or its datapath id")];

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let list = "List the rules that a switch should have, and whether it has them.";
    let reconcile = "Compare switches with what they should have, whole, and mend them.";
    vec![
        Operation::get("list-rules", "/api/v1/switches/{switch}/rules", list, rules)
            .gives::<rule::Rules>(StatusCode::OK),
        Operation::post("reconcile", "/api/v1/reconcile", reconcile, reconciled)
            .parameters(&RECONCILED)
            .gives::<rule::Reconciling>(StatusCode::ACCEPTED),
    ]
}

async fn rules(
    State(site): State<Site>,
    caller: Caller,
    Path(switch): Path<String>,
) -> Result<Response<Body>, Problem> {
    let datapath = known(&site, &switch)?;
    match site.ask(caller.asker, Request::Rules(datapath)).await? {
        Reply::Rules(rules) => {
            let document = rule::Rules {
                datapath,
                name: site.names.switch(datapath),
                rules: rules.iter().map(described).collect(),
            };
            Ok(json(StatusCode::OK, &document))
        }
        Reply::UnknownSwitch(_) => Err(unknown(&switch)),
        _ => Err(Problem::fault()),
    }
}

async fn reconciled(
    State(site): State<Site>,
    caller: Caller,
    query: Query,
) -> Result<Response<Body>, Problem> {
    query.only(&RECONCILED.map(|(name, _)| name))?;
    let switch = query.one("switch")?;
    let which = switch.map(|switch| known(&site, switch)).transpose()?;
    match site.ask(caller.asker, Request::Reconcile(which)).await? {
        Reply::Reconciling { switches } => {
            Ok(json(StatusCode::ACCEPTED, &rule::Reconciling { switches }))
        }
        Reply::UnknownSwitch(_) => Err(unknown(switch.unwrap_or_default())),
        _ => Err(Problem::fault()),
    }
}

/// Returns the switch that is called so.
///
/// # Errors
///
/// If that is no name of one.
pub fn known(site: &Site, switch: &str) -> Result<DatapathId, Problem> {
    place::switch("switch", switch, &site.names).map_err(|_| unknown(switch))
}

/// Says that no switch is called so.
#[must_use]
pub fn unknown(switch: &str) -> Problem {
    Problem::not_found("unknown-switch", format!("no switch is called {switch}"))
        .help("GET /api/v1/topology lists those that are")
}

fn described(summary: &RuleSummary) -> rule::Rule {
    rule::Rule {
        table: summary.table.0,
        priority: summary.priority,
        matching: summary.matching.iter().map(words::field).collect(),
        actions: summary.actions.iter().map(words::action).collect(),
        cookie: format!("{:#x}", summary.cookie.0),
        owner: summary.owner.clone(),
        state: summary.state.clone(),
    }
}
