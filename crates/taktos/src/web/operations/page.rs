//! The page for people, and what it is made of.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{Asker, FlowSummary, Reply, Request, Route, Travels};
use linux::clock;
use units::Instant;

use super::{Operation, flows, health, kept, topology, written};
use crate::web::describe::{self, wall_clock};
use crate::web::document::page::{
    CallerDocument, FlowRow, HistoryDocument, LayoutDocument, MomentDocument, PageDocument,
};
use crate::web::gate::Caller;
use crate::web::layout::Shape;
use crate::web::page;
use crate::web::problem::{Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

/// How often what switches have seen is told to those who watch.
const PACE: Duration = Duration::from_secs(1);

const OF_WHOM: [(&str, &str); 2] = [
    ("flow", "the day of this flow"),
    (
        "at_ns",
        "all flows at this moment, in nanoseconds since the beginning of 1970",
    ),
];

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let shown = "Show the page for people.";
    let part = "Show a file of the page.";
    let whole =
        "Show all that the page shows at first: network, map, flows and what is seen of them.";
    let past = "Show what was seen of a flow within a day, or of all flows at a moment, as far as it is kept.";
    let who = "Say who asks, and what that one may do.";
    vec![
        Operation::get("page", "/", shown, index)
            .gives_text("text/html")
            .open()
            .of_this_instance(),
        Operation::get("page-file", "/page/{name}", part, file)
            .gives_text("text/javascript")
            .open()
            .of_this_instance(),
        Operation::get("show-page", "/api/v1/page", whole, document)
            .gives::<PageDocument>(StatusCode::OK),
        Operation::get("show-history", "/api/v1/history", past, history)
            .parameters(&OF_WHOM)
            .gives::<HistoryDocument>(StatusCode::OK),
        Operation::get("show-caller", "/api/v1/caller", who, caller)
            .gives::<CallerDocument>(StatusCode::OK)
            .of_this_instance(),
    ]
}

/// Asks what switches have seen, once a second while somebody wants to know and once in
/// every interval of the history, until the task is dropped.
pub async fn observe(site: Site) {
    loop {
        tokio::time::sleep(PACE).await;
        let now = wall_clock(clock::now());
        if site.feed.observers() == 0 && !site.observations().is_due(now) {
            continue;
        }
        // Who cannot be asked now is asked again in a second.
        let Ok(said) = flows::all_hops(&site, &Asker::Operator).await else {
            continue;
        };
        let news = site.observations().take(wall_clock(clock::now()), said);
        if let Some(news) = news {
            let data = serde_json::to_string(&news).expect("a list of numbers");
            site.feed
                .report(format!("event: observed\ndata: {data}\n\n").into());
        }
    }
}

async fn index() -> Result<Response<Body>, Problem> {
    page::served(page::INDEX)
}

async fn file(Path(name): Path<String>) -> Result<Response<Body>, Problem> {
    page::served(&name)
}

async fn caller(caller: Caller) -> Response<Body> {
    let Caller { name, role, .. } = caller;
    json(StatusCode::OK, &CallerDocument { name, role })
}

async fn document(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let text = match &caller.asker {
        Asker::Operator => site.page.get(site.change(), look(&site, &caller)).await?,
        Asker::Application(_) => look(&site, &caller).await?,
    };
    Ok(kept(text))
}

async fn look(site: &Site, caller: &Caller) -> Result<Bytes, Problem> {
    // What happens from here on may be in the document as well; told twice, it is the same.
    let event = site.feed.newest();
    let view = topology::view(site, caller).await?;
    let topology = site.names.topology(&view);
    let flows = flows::flows(site, caller).await?;
    let Reply::Mode(mode) = site.ask(caller.asker.clone(), Request::Mode).await? else {
        return Err(Problem::fault());
    };
    let layout = site.layout_of(Shape::of(&topology, &site.places)).await;
    Ok(written(&PageDocument {
        at: wall_clock(clock::now()),
        event,
        instance: health::instance_of(site),
        layout: LayoutDocument {
            switches: layout.switches.clone(),
            hosts: layout.hosts.clone(),
        },
        topology,
        cables: site.wishes.is_some(),
        flows: flows.into_iter().map(row).collect(),
        observed: site.observations().latest(),
        mode,
    }))
}

fn row(flow: FlowSummary) -> FlowRow {
    let document = describe::flow(flow);
    let (accepted, asked) = (document.accepted, document.requirement);
    let links = way(&accepted, &document.travels).map_or_else(Vec::new, |way| way.links.clone());
    let ways = accepted.alternatives.iter().map(|it| &it.route);
    let others = ways.chain([&*accepted.route]).flat_map(|way| &way.links);
    let others: BTreeSet<_> = others
        .filter(|link| !links.contains(link))
        .copied()
        .collect();
    FlowRow {
        id: accepted.id,
        class: asked.class.unwrap_or_default(),
        source: asked.source,
        destinations: asked.destinations,
        deadline_ns: asked.deadline_ns,
        guarantee_ns: accepted.guarantee.map(|it| it.round_up().as_ns()),
        rate_bps: asked.rate_bps,
        promise: document.promise,
        travels: document.travels,
        links,
        backup: others.into_iter().collect(),
        name: accepted.name,
    }
}

/// Returns the way that a flow takes, if it is one of those that were prepared.
fn way<'a>(accepted: &'a api::Accepted, travels: &Travels) -> Option<&'a Route> {
    match travels {
        Travels::Base => Some(&accepted.route),
        Travels::Alternative { without } => {
            let mut others = accepted.alternatives.iter();
            let other = others.find(|it| it.without == *without)?;
            Some(&other.route)
        }
        Travels::Detour | Travels::Nowhere => None,
    }
}

async fn history(
    State(site): State<Site>,
    caller: Caller,
    query: Query,
) -> Result<Response<Body>, Problem> {
    query.only(&OF_WHOM.map(|(name, _)| name))?;
    flows::may_see_hops(&site, &caller).await?;
    match (query.one("flow")?, query.number("at_ns")?) {
        (Some(name), None) => match site.observations().history(name) {
            Some(history) => Ok(json(StatusCode::OK, &history)),
            None => Err(flows::unknown(name)),
        },
        (None, Some(at)) => {
            let moment: MomentDocument = site.observations().moment(Instant::from_ns(at));
            Ok(json(StatusCode::OK, &moment))
        }
        (None, None) | (Some(_), Some(_)) => Err(Problem::bad(
            "unusable-value",
            "it is about a flow, or about a moment",
        )
        .help("say either `flow` or `at_ns`")),
    }
}
