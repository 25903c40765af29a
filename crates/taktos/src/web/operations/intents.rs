//! Intents: what is to hold, and how far it is.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{
    Intent, IntentDecision, IntentRefusal, IntentSummary, Reply, Request,
};

use super::{About, Operation, done};
use crate::web::body::{self, Raw};
use crate::web::document::Unusable;
use crate::web::document::intent::{
    AskedIntentsDocument, IntentDecisionDocument, IntentDecisionsDocument, IntentDocument,
    IntentsDocument, IntentsRequestDocument, intent,
};
use crate::web::gate::Caller;
use crate::web::problem::{Code, Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/intents", "/api/v1/intents/{name}");
    let added = "Add one intent, or several one by one. 201: all are accepted; 200: some are; \
                 otherwise none, and `error` says why the first is not.";
    vec![
        Operation::get("list-intents", all, "List the intents.", list)
            .or_from_records()
            .gives::<IntentsDocument>(StatusCode::OK),
        Operation::post("add-intents", all, added, add)
            .takes::<AskedIntentsDocument>()
            .gives::<IntentDecisionsDocument>(StatusCode::CREATED),
        Operation::get("show-intent", one, "Show one intent.", show)
            .or_from_records()
            .gives::<api::IntentSummary<IntentDocument>>(StatusCode::OK),
        Operation::delete("remove-intent", one, "Remove an intent.", remove),
    ]
}

async fn intents(site: &Site, caller: &Caller) -> Result<Vec<IntentSummary>, Problem> {
    match site.ask(caller.asker.clone(), Request::Intents).await? {
        Reply::Intents(intents) => Ok(intents),
        _ => Err(Problem::fault()),
    }
}

async fn list(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let intents = intents(&site, &caller).await?;
    let intents = intents
        .into_iter()
        .map(|it| site.names.intent(it))
        .collect();
    Ok(json(StatusCode::OK, &IntentsDocument { intents }))
}

async fn show(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let intents = intents(&site, &caller).await?;
    let found = intents.into_iter().find(|it| it.intent.name == name);
    let found = found.ok_or_else(|| unknown(&name))?;
    Ok(json(StatusCode::OK, &site.names.intent(found)))
}

async fn add(
    State(site): State<Site>,
    caller: Caller,
    Raw(body): Raw,
) -> Result<Response<Body>, Problem> {
    let documents: Vec<IntentDocument> = match body::has_key(&body, "intents") {
        true => body::parse::<IntentsRequestDocument>(&body)?.intents,
        false => vec![body::parse(&body)?],
    };
    let about = About(documents.iter().map(|it| it.name.clone()).collect());
    let intents = documents.into_iter().map(|it| intent(it, &site.names));
    let intents = intents.collect::<Result<Vec<Intent>, Unusable>>()?;
    match site.ask(caller.asker, Request::AddIntents(intents)).await? {
        Reply::IntentDecisions(decisions) => {
            let mut response = decided(&decisions);
            response.extensions_mut().insert(about);
            Ok(response)
        }
        _ => Err(Problem::fault()),
    }
}

/// Answers with the decisions, as for flows.
fn decided(decisions: &[IntentDecision]) -> Response<Body> {
    let refusals = decisions.iter().filter_map(|decision| match decision {
        IntentDecision::Accepted { .. } => None,
        IntentDecision::Refused { reason, .. } => Some(refused(reason)),
    });
    let refusals: Vec<_> = refusals.collect();
    let none = !decisions.is_empty() && refusals.len() == decisions.len();
    let first = refusals.first();
    let status = match first {
        None => StatusCode::CREATED,
        Some(first) if none => first.status(),
        Some(_) => StatusCode::OK,
    };
    let document = IntentDecisionsDocument {
        decisions: decisions.iter().map(decision).collect(),
        error: first.filter(|_| none).map(Problem::body),
    };
    let mut response = json(status, &document);
    let code = first.map(|first| Code(first.code()));
    code.map(|code| response.extensions_mut().insert(code));
    response
}

fn decision(decision: &IntentDecision) -> IntentDecisionDocument {
    match decision {
        IntentDecision::Accepted { id, name } => IntentDecisionDocument {
            name: name.clone(),
            id: Some(*id),
            refused: None,
        },
        IntentDecision::Refused { name, reason } => IntentDecisionDocument {
            name: name.clone(),
            id: None,
            refused: Some(refused(reason).body()),
        },
    }
}

async fn remove(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let request = Request::RemoveIntent(name.clone());
    match site.ask(caller.asker, request).await? {
        Reply::IntentRemoved(_) => Ok(done(name)),
        Reply::UnknownIntent(name) => Err(unknown(&name)),
        _ => Err(Problem::fault()),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::not_found("unknown-intent", format!("no intent is called {name}"))
        .help("GET /api/v1/intents lists those that are")
}

fn refused(reason: &IntentRefusal) -> Problem {
    let said = reason.to_string();
    match reason {
        IntentRefusal::NameTaken { .. } => Problem::conflict("name-taken", said)
            .help("choose another name, or remove that intent first"),
        IntentRefusal::TooMany { .. } => {
            Problem::refused("too-many-intents", said).help("remove intents that are not needed")
        }
        IntentRefusal::UnknownHost { .. } => Problem::refused("unknown-host", said)
            .help("GET /api/v1/hosts lists those that are; name one with PUT /api/v1/hosts/NAME"),
        IntentRefusal::Senseless(_) => Problem::refused("senseless", said),
        IntentRefusal::Conflict { .. } => Problem::conflict("conflict", said)
            .help("give it another priority, or match on one more field"),
        IntentRefusal::NotStored => Problem::not_stored(),
    }
}
