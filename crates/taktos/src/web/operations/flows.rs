//! Flows: what was admitted, and requests to admit or to withdraw.

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{
    Asker, Decision, FlowHops, FlowId, FlowSummary, MAX_FLOWS_AT_ONCE, Reply, Request, Requirement,
};
use controller::refusal::Refusal;

use super::{About, Operation, done, kept, room, written};
use crate::web::body::{self, Raw};
use crate::web::describe;
use crate::web::document::flow::{
    AskedDocument, DecisionDocument, DecisionsDocument, FlowDocument, FlowsDocument, HopsDocument,
};
use crate::web::document::{RequirementsDocument, Unusable};
use crate::web::gate::Caller;
use crate::web::problem::{Code, Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

const ADMITTED: [(&str, &str); 4] = [
    (
        "dry_run",
        "say what would be decided, and which flows a refused one does not fit beside; admit nothing",
    ),
    (
        "brief",
        "with `dry_run`: do not look for the flows that a refused one does not fit beside, which \
         takes longest",
    ),
    ("together", "admit all of them, or none"),
    (
        "rearrange",
        "where one is refused and would not be if another flow went another way, have that go \
         there, make before break, and admit it then",
    ),
];

const HOPS: &str = "How long frames of flows stayed at each hop of their ways, against its budget: what switches \
                    said last. They are asked anew, once a second at most.";
const HOPS_OF: [(&str, &str); 1] = [("flow", "the name of the one flow that is meant")];

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/flows", "/api/v1/flows/{name}");
    let admitted = "Admit one flow, or several one by one. 201: all are admitted (200 in a dry run); 200: some are; \
                    otherwise none, and `error` says why the first is not.";
    vec![
        Operation::get("list-flows", all, "List the flows.", list)
            .or_from_records()
            .gives::<FlowsDocument>(StatusCode::OK),
        Operation::post("admit-flows", all, admitted, admit)
            .parameters(&ADMITTED)
            .takes::<AskedDocument>()
            .gives::<DecisionsDocument>(StatusCode::CREATED),
        Operation::get("show-flow", one, "Show one flow.", show)
            .or_from_records()
            .gives::<FlowDocument>(StatusCode::OK),
        Operation::delete("withdraw-flow", one, "Withdraw a flow.", withdraw),
        Operation::get("list-hops", "/api/v1/hops", HOPS, hops)
            .parameters(&HOPS_OF)
            .gives::<HopsDocument>(StatusCode::OK),
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
    let flows = flows.into_iter().map(describe::flow).collect();
    Ok(written(&FlowsDocument { flows }))
}

/// Returns all flows, asked for in parts: the network does not wait for a long list.
///
/// # Errors
///
/// If the controller does not answer, or not this caller.
pub async fn flows(site: &Site, caller: &Caller) -> Result<Vec<FlowSummary>, Problem> {
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
        Reply::Flows(flows) => match flows.into_iter().next() {
            Some(flow) => Ok(json(StatusCode::OK, &describe::flow(flow))),
            None => Err(Problem::fault()),
        },
        Reply::UnknownFlow(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

async fn hops(
    State(site): State<Site>,
    caller: Caller,
    query: Query,
) -> Result<Response<Body>, Problem> {
    query.only(&HOPS_OF.map(|(name, _)| name))?;
    let wanted = query.one("flow")?;
    let mut flows = all_hops(&site, &caller.asker).await?;
    flows.retain(|flow| wanted.is_none_or(|name| flow.name == name));
    match wanted {
        Some(name) if flows.is_empty() => Err(unknown(name)),
        Some(_) | None => Ok(json(StatusCode::OK, &HopsDocument { flows })),
    }
}

/// Returns what hops have last said of all promised flows.
///
/// # Errors
///
/// If the controller does not answer, or not this one.
pub async fn all_hops(site: &Site, by: &Asker) -> Result<Vec<FlowHops>, Problem> {
    let most = MAX_FLOWS_AT_ONCE;
    let (mut all, mut after) = (Vec::new(), FlowId(0));
    loop {
        let request = Request::HopsAfter { after, most };
        let Reply::Hops(part) = site.ask(by.clone(), request).await? else {
            return Err(Problem::fault());
        };
        let is_last = part.len() < most;
        after = part.last().map_or(after, |flow| flow.id);
        all.extend(part);
        if is_last {
            return Ok(all);
        }
    }
}

/// Asks whether a caller may see what hops say.
///
/// # Errors
///
/// If it may not, or the controller does not answer.
pub(super) async fn may_see_hops(site: &Site, caller: &Caller) -> Result<(), Problem> {
    let none = Request::HopsAfter {
        after: FlowId(u32::MAX),
        most: 1,
    };
    site.ask(caller.asker.clone(), none).await.map(|_| ())
}

async fn admit(
    State(site): State<Site>,
    caller: Caller,
    query: Query,
    Raw(body): Raw,
) -> Result<Response<Body>, Problem> {
    query.only(&ADMITTED.map(|(name, _)| name))?;
    let [dry_run, together, rearrange] = [
        query.flag("dry_run")?,
        query.flag("together")?,
        query.flag("rearrange")?,
    ];
    let documents = match body::has_key(&body, "requirements") {
        true => body::parse::<RequirementsDocument>(&body)?.requirements,
        false => vec![body::parse(&body)?],
    };
    let about = About(documents.iter().map(|it| it.name.clone()).collect());
    let requirements: Result<Vec<Requirement>, Unusable> =
        documents.into_iter().map(TryInto::try_into).collect();
    let requirements = requirements?;
    let asked = requirements.clone();
    let request = match (dry_run, together, rearrange) {
        (false, false, _) => Request::Admit(asked),
        (false, true, false) => Request::AdmitTogether(asked),
        (true, false, false) => Request::WhatIf(asked),
        (true, true, _) | (true, _, true) | (_, true, true) => {
            let message = "`dry_run`, `together` and `rearrange` cannot be had at once";
            return Err(Problem::bad("unusable-value", message).help("leave out all but one"));
        }
    };
    let Reply::Decisions(mut decisions) = site.ask(caller.asker.clone(), request).await? else {
        return Err(Problem::fault());
    };
    let (mut moved, mut conflicts) = (BTreeMap::new(), BTreeMap::new());
    if rearrange {
        moved = make_room(&site, &caller, &requirements, &mut decisions).await?;
    }
    match dry_run {
        true if query.flag("brief")? => {}
        true => conflicts = room::conflicts(&site, &caller, &decisions).await?,
        false => count(&site, &decisions),
    }
    let mut documents: Vec<_> = decisions.iter().map(DecisionDocument::from).collect();
    for (at, document) in documents.iter_mut().enumerate() {
        document.moved = moved.remove(&at);
        document.conflict = conflicts.remove(&at);
    }
    let good = match dry_run {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    let mut response = decided(good, documents, &decisions);
    response.extensions_mut().insert(about);
    Ok(response)
}

/// Has flows go other ways for those that were refused, and asks for these again. Returns
/// who has moved, by the place of whom it was for.
async fn make_room(
    site: &Site,
    caller: &Caller,
    requirements: &[Requirement],
    decisions: &mut [Decision],
) -> Result<BTreeMap<usize, String>, Problem> {
    let mut moved = BTreeMap::new();
    for (at, (requirement, decision)) in requirements.iter().zip(decisions).enumerate() {
        let is_short = matches!(
            decision,
            Decision::Refused {
                reason: Refusal::Shortage(_),
                ..
            }
        );
        if !is_short {
            continue;
        }
        let ask = Request::MakeRoom(requirement.clone());
        let Reply::RoomMade(Some(who)) = site.ask(caller.asker.clone(), ask).await? else {
            continue;
        };
        moved.insert(at, who);
        let again = Request::Admit(vec![requirement.clone()]);
        if let Reply::Decisions(again) = site.ask(caller.asker.clone(), again).await?
            && let Some(again) = again.into_iter().next()
        {
            *decision = again;
        }
    }
    Ok(moved)
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
fn decided(
    good: StatusCode,
    documents: Vec<DecisionDocument>,
    decisions: &[Decision],
) -> Response<Body> {
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
        decisions: documents,
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

pub fn unknown(name: &str) -> Problem {
    Problem::not_found("unknown-flow", format!("no flow is called {name}"))
        .help("GET /api/v1/flows lists those that are")
}
