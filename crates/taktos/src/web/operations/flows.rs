//! Flows: what was admitted, and requests to admit or to withdraw.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{
    Asker, Decision, FlowId, FlowSummary, MAX_FLOWS_AT_ONCE, Reply, Request, Requirement,
};

use super::{About, Operation, done, kept, written};
use crate::web::body::{self, Raw};
use crate::web::describe;
use crate::web::document::flow::{
    AskedDocument, DecisionDocument, DecisionsDocument, FlowDocument, FlowsDocument,
};
use crate::web::document::{RequirementsDocument, Unusable};
use crate::web::gate::Caller;
use crate::web::problem::{Code, Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

const ADMITTED: [(&str, &str); 2] = [
    ("dry_run", "say what would be decided, and admit nothing"),
    ("together", "admit all of them, or none"),
];

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/flows", "/api/v1/flows/{name}");
    let admitted = "Admit one flow, or several one by one. 201: all are admitted (200 in a dry run); 200: some are; \
                    otherwise none, and `error` says why the first is not.";
    vec![
        Operation::get("list-flows", all, "List the flows.", list)
            .gives::<FlowsDocument>(StatusCode::OK),
        Operation::post("admit-flows", all, admitted, admit)
            .parameters(&ADMITTED)
            .takes::<AskedDocument>()
            .gives::<DecisionsDocument>(StatusCode::CREATED),
        Operation::get("show-flow", one, "Show one flow.", show)
            .gives::<FlowDocument>(StatusCode::OK),
        Operation::delete("withdraw-flow", one, "Withdraw a flow.", withdraw),
    ]
}

async fn list(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let text = match &caller.asker {
        Asker::Operator => site.flows.get(site.change(), look(&site, &caller)).await?,
        Asker::Application(_) => look(&site, &caller).await?,
    };
    Ok(kept(text))
}

async fn look(site: &Site, caller: &Caller) -> Result<Bytes, Problem> {
    let flows = flows(site, caller).await?;
    let flows = flows.iter().map(FlowDocument::from).collect();
    Ok(written(&FlowsDocument { flows }))
}

/// Returns all flows, asked for in parts: the network does not wait for a long list.
async fn flows(site: &Site, caller: &Caller) -> Result<Vec<FlowSummary>, Problem> {
    let most = MAX_FLOWS_AT_ONCE;
    let (mut all, mut after) = (Vec::new(), FlowId(0));
    loop {
        let request = Request::FlowsAfter { after, most };
        let part = match site.ask(caller.asker.clone(), request).await? {
            Reply::Flows(part) => part,
            _ => return Err(Problem::fault()),
        };
        let is_last = part.len() < most;
        after = part.last().map_or(after, |flow| flow.accepted.id);
        all.extend(part);
        if is_last {
            return Ok(all);
        }
    }
}

async fn show(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    match site.ask(caller.asker, Request::Flow(name)).await? {
        Reply::Flows(flows) => match flows.first() {
            Some(flow) => Ok(json(StatusCode::OK, &FlowDocument::from(flow))),
            None => Err(Problem::fault()),
        },
        Reply::UnknownFlow(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

async fn admit(
    State(site): State<Site>,
    caller: Caller,
    query: Query,
    Raw(body): Raw,
) -> Result<Response<Body>, Problem> {
    query.only(&ADMITTED.map(|(name, _)| name))?;
    let (dry_run, together) = (query.flag("dry_run")?, query.flag("together")?);
    let documents = match body::has_key(&body, "requirements") {
        true => body::parse::<RequirementsDocument>(&body)?.requirements,
        false => vec![body::parse(&body)?],
    };
    let about = About(documents.iter().map(|it| it.name.clone()).collect());
    let requirements: Result<Vec<Requirement>, Unusable> =
        documents.into_iter().map(TryInto::try_into).collect();
    let request = match (dry_run, together) {
        (false, false) => Request::Admit(requirements?),
        (false, true) => Request::AdmitTogether(requirements?),
        (true, false) => Request::WhatIf(requirements?),
        (true, true) => {
            let message = "what all of them together would get is not known without admitting them";
            return Err(Problem::bad("unusable-value", message).help("leave out one of the two"));
        }
    };
    match site.ask(caller.asker, request).await? {
        Reply::Decisions(decisions) => {
            let mut response = match dry_run {
                true => decided(StatusCode::OK, &decisions),
                false => {
                    count(&site, &decisions);
                    decided(StatusCode::CREATED, &decisions)
                }
            };
            response.extensions_mut().insert(about);
            Ok(response)
        }
        _ => Err(Problem::fault()),
    }
}

fn count(site: &Site, decisions: &[Decision]) {
    let accepted = decisions.iter().filter(|decision| match decision {
        Decision::Accepted(_) => true,
        Decision::Refused { .. } => false,
    });
    let accepted = accepted.count();
    site.meters.decided(accepted, decisions.len() - accepted);
}

/// Answers with the decisions: `good` if all are admitted, 200 if some are, and the
/// status of the first refusal if none is.
fn decided(good: StatusCode, decisions: &[Decision]) -> Response<Body> {
    let refusals = decisions.iter().filter_map(|decision| match decision {
        Decision::Accepted(_) => None,
        Decision::Refused { reason, .. } => Some(reason),
    });
    let refusals: Vec<_> = refusals.collect();
    let first = refusals.first().map(|reason| describe::refusal(reason));
    let none = !decisions.is_empty() && refusals.len() == decisions.len();
    let status = match &first {
        None => good,
        Some(first) if none => first.status(),
        Some(_) => StatusCode::OK,
    };
    let document = DecisionsDocument {
        decisions: decisions.iter().map(DecisionDocument::from).collect(),
        error: first.as_ref().filter(|_| none).map(Problem::body),
    };
    let mut response = json(status, &document);
    let code = first.map(|first| Code(first.code()));
    code.map(|code| response.extensions_mut().insert(code));
    response
}

async fn withdraw(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let request = Request::Withdraw(name.clone());
    match site.ask(caller.asker, request).await? {
        Reply::Withdrawn(_) => Ok(done(name)),
        Reply::UnknownFlow(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::not_found("unknown-flow", format!("no flow is called {name}"))
        .help("GET /api/v1/flows lists those that are")
}
