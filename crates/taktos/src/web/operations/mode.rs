//! The criticality mode of the network.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use controller::northbound::{ModeChange, ModeRefusal, ModeReport, Reply, Request};
use wire::openflow::taktos::ModeFailed;

use super::Operation;
use crate::web::body::Sent;
use crate::web::describe::Names;
use crate::web::gate::{Caller, Role};
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let path = "/api/v1/mode";
    let (show, change) = ("Show the mode.", "Force, lower, lock or unlock the level.");
    vec![
        Operation::get("show-mode", path, show, shown).gives::<ModeReport>(StatusCode::OK),
        Operation::put("change-mode", path, change, changed)
            .role(Role::Administer)
            .takes::<ModeChange>()
            .gives::<ModeReport>(StatusCode::OK),
    ]
}

async fn shown(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    answered(site, caller, Request::Mode).await
}

async fn changed(
    State(site): State<Site>,
    caller: Caller,
    Sent(change): Sent<ModeChange>,
) -> Result<Response<Body>, Problem> {
    answered(site, caller, Request::SetMode(change)).await
}

async fn answered(site: Site, caller: Caller, request: Request) -> Result<Response<Body>, Problem> {
    let names = &site.names;
    match site.ask(caller.asker, request).await? {
        Reply::Mode(Some(report)) => Ok(json(StatusCode::OK, &*report)),
        Reply::Mode(None) => Err(no_modes()),
        Reply::ModeRefused(refusal) => Err(refused(refusal, names)),
        _ => Err(Problem::fault()),
    }
}

fn no_modes() -> Problem {
    Problem::not_found("no-modes", "this network has no criticality modes")
        .help("a scenario gives them under `[modes]`")
}

fn refused(refusal: ModeRefusal, names: &Names) -> Problem {
    match refusal {
        ModeRefusal::NoModes => no_modes(),
        ModeRefusal::UnknownLevel(level) => {
            Problem::refused("unknown-level", format!("there is no level `{level}`"))
                .help("`taktos mode` lists the levels")
        }
        ModeRefusal::NoSwitch => Problem::conflict(
            "no-switch-with-modes",
            "no switch that knows criticality modes is connected",
        ),
        ModeRefusal::BySwitch {
            datapath,
            failed: ModeFailed::NotQuiet,
        } => Problem::conflict(
            "not-quiet",
            format!(
                "switch {} does not lower the level: its flows were not quiet for the hold time",
                names.switch(datapath)
            ),
        )
        .help("try again when they are, or force the level"),
        ModeRefusal::BySwitch {
            datapath,
            failed: ModeFailed::NotLower,
        } => Problem::conflict(
            "not-lower",
            format!(
                "switch {} does not hold a higher level than that",
                names.switch(datapath)
            ),
        ),
        ModeRefusal::BySwitch { datapath, failed } => Problem::conflict(
            "switch-refused",
            format!("switch {} refuses it: {failed:?}", names.switch(datapath)),
        ),
        ModeRefusal::Away(datapath) => Problem::conflict(
            "switch-away",
            format!(
                "the connection of switch {} is gone before it has answered",
                names.switch(datapath)
            ),
        ),
    }
}
