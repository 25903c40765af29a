//! Settings, as far as they can be changed while the controller runs.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::northbound::{Reply, Request, Settings, SettingsChange};

use super::Operation;
use crate::web::body::Sent;
use crate::web::gate::{Caller, Role};
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let path = "/api/v1/settings";
    let (show, change) = ("Show the settings.", "Change settings.");
    vec![
        Operation::get("show-settings", path, show, shown)
            .or_from_records()
            .gives::<Settings>(StatusCode::OK),
        Operation::put("change-settings", path, change, changed)
            .role(Role::Administer)
            .takes::<SettingsChange>()
            .gives::<Settings>(StatusCode::OK),
    ]
}

async fn shown(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    answered(site, caller, Request::Settings).await
}

async fn changed(
    State(site): State<Site>,
    caller: Caller,
    Sent(change): Sent<SettingsChange>,
) -> Result<Response<Body>, Problem> {
    answered(site, caller, Request::Configure(change)).await
}

async fn answered(site: Site, caller: Caller, request: Request) -> Result<Response<Body>, Problem> {
    match site.ask(caller.asker, request).await? {
        Reply::Settings(settings) => Ok(json(StatusCode::OK, &settings)),
        _ => Err(Problem::fault()),
    }
}
