//! Flows: what was admitted, and requests to admit or to withdraw.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Method, Response, StatusCode};
use axum::response::IntoResponse;
use controller::northbound::{Asker, Decision, FlowSummary, Reply, Request, Requirement};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Operation, kept, written};
use crate::web::body::{self, Raw};
use crate::web::describe;
use crate::web::document::flow::{
    DecisionDocument, DecisionsDocument, FlowDocument, FlowsDocument,
};
use crate::web::document::{RequirementsDocument, Unusable};
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/flows", "/api/v1/flows/{name}");
    vec![
        Operation::new(Method::GET, all, "List the flows.", list),
        Operation::new(Method::POST, all, "Admit one flow or several.", admit),
        Operation::new(Method::GET, one, "Show one flow.", show),
        Operation::new(Method::DELETE, one, "Withdraw a flow.", withdraw),
    ]
}

async fn list(State(site): State<Site>) -> Result<Response<Body>, Problem> {
    let text = site.flows.get(site.change(), look(&site)).await?;
    Ok(kept(text))
}

async fn look(site: &Site) -> Result<Bytes, Problem> {
    let flows = flows(site).await?;
    let flows = flows.iter().map(FlowDocument::from).collect();
    Ok(written(&FlowsDocument { flows }))
}

async fn flows(site: &Site) -> Result<Vec<FlowSummary>, Problem> {
    match site.ask(Asker::Operator, Request::Flows).await? {
        Reply::Flows(flows) => Ok(flows),
        _ => Err(Problem::fault()),
    }
}

async fn show(
    State(site): State<Site>,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let flows = flows(&site).await?;
    let found = flows.iter().find(|flow| flow.accepted.name == name);
    let flow = found.ok_or_else(|| unknown(&name))?;
    Ok(json(StatusCode::OK, &FlowDocument::from(flow)))
}

async fn admit(State(site): State<Site>, Raw(body): Raw) -> Result<Response<Body>, Problem> {
    let documents = match asks_for_several(&body) {
        true => body::parse::<RequirementsDocument>(&body)?.requirements,
        false => vec![body::parse(&body)?],
    };
    let requirements: Result<Vec<Requirement>, Unusable> =
        documents.into_iter().map(TryInto::try_into).collect();
    let request = Request::Admit(requirements?);
    match site.ask(Asker::Operator, request).await? {
        Reply::Decisions(decisions) => Ok(decided(&decisions)),
        _ => Err(Problem::fault()),
    }
}

/// Tells whether a body is a list of requirements. One that cannot be read is read
/// as a single one, which says why.
fn asks_for_several(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Several {
        #[expect(dead_code, reason = "it matters that it is there")]
        requirements: IgnoredAny,
    }
    serde_json::from_slice::<Several>(body).is_ok()
}

/// Answers with the decisions: 201 if all are admitted, 200 if some are, and the
/// status of the first refusal if none is.
fn decided(decisions: &[Decision]) -> Response<Body> {
    let refusals = decisions.iter().filter_map(|decision| match decision {
        Decision::Accepted(_) => None,
        Decision::Refused { reason, .. } => Some(reason),
    });
    let refusals: Vec<_> = refusals.collect();
    let first = refusals.first().map(|reason| describe::refusal(reason));
    let none = !decisions.is_empty() && refusals.len() == decisions.len();
    let status = match &first {
        None => StatusCode::CREATED,
        Some(first) if none => first.status(),
        Some(_) => StatusCode::OK,
    };
    let document = DecisionsDocument {
        decisions: decisions.iter().map(DecisionDocument::from).collect(),
        error: first.filter(|_| none).map(|first| first.body()),
    };
    json(status, &document)
}

async fn withdraw(
    State(site): State<Site>,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    match site.ask(Asker::Operator, Request::Withdraw(name)).await? {
        Reply::Withdrawn(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        Reply::UnknownFlow(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::not_found("unknown-flow", format!("no flow is called {name}"))
        .help("GET /api/v1/flows lists those that are")
}
