//! Contracts from what sources really send.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{ContractSuggestion, Reply, Request};

use super::Operation;
use super::flows::unknown;
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let suggest = "Show what the source of a flow was seen to send since somebody first asked, \
                   and which contracts that keeps. Its switch is asked anew, once a second at \
                   most.";
    vec![
        Operation::get(
            "suggest-contract",
            "/api/v1/flows/{name}/contract",
            suggest,
            suggested,
        )
        .gives::<ContractSuggestion>(StatusCode::OK),
    ]
}

async fn suggested(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let request = Request::SuggestContract(name.clone());
    match site.ask(caller.asker, request).await? {
        Reply::ContractSuggested(suggestion) => Ok(json(StatusCode::OK, &*suggestion)),
        Reply::UnknownFlow(name) => Err(unknown(&name)),
        Reply::ContractUnseen => Err(Problem::conflict(
            "not-policed",
            format!("no switch counts what the source of {name} sends"),
        )
        .help("the first switch of a flow does where it polices the flow")),
        _ => Err(Problem::fault()),
    }
}
