//! What deadlines leave to spare, and which flows stand in the way of another.
//!
//! Both take many times as long as an admission, so they are computed from a copy of what is
//! promised, apart from the network and one at a time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode};
use calculus::admission::{Request as Promise, Slowdown};
use controller::northbound::{Asker, Decision, Promises, Reply, Request};
use controller::refusal::Refusal;

use super::{Operation, kept, written};
use crate::web::document::room::{BusyDocument, FlowRoomDocument, RoomDocument};
use crate::web::gate::Caller;
use crate::web::problem::Problem;
use crate::web::site::Site;
use run::room::Room;

/// Of so many refused flows of a question it is looked who stands in their way.
const MOST_EXPLAINED: usize = 4;

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let summary = "Show for how much slower switches every promise would hold, and how busy \
                   switches may be.";
    vec![
        Operation::get("show-room", "/api/v1/room", summary, show)
            .gives::<RoomDocument>(StatusCode::OK),
    ]
}

async fn show(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let text = match &caller.asker {
        Asker::Operator => site.room.get(site.change(), look(&site, &caller)).await?,
        Asker::Application(_) => look(&site, &caller).await?,
    };
    Ok(kept(text))
}

async fn look(site: &Site, caller: &Caller) -> Result<Bytes, Problem> {
    let promises = promises(site, caller).await?;
    let inside = Arc::clone(site);
    let look = move || {
        let room = Room::of(&promises, |datapath| Some(inside.names.switch(datapath)));
        written(&document(&promises, &room))
    };
    apart(site, look).await
}

fn document(promises: &Promises, room: &Room) -> RoomDocument {
    let flows = promises.flows.iter().filter_map(|flow| {
        Some(FlowRoomDocument {
            name: flow.name.clone(),
            slowdown_thousandths: room.of_flow(flow.id)?.thousandths(),
        })
    });
    let mut flows: Vec<_> = flows.collect();
    flows.sort_by_key(|flow| flow.slowdown_thousandths);
    let switches = room.processors.iter().map(|processor| BusyDocument {
        switch: processor.switch.clone(),
        busy_thousandths: processor.busy,
        without_promise_thousandths: processor.without_promise,
    });
    let mut switches: Vec<_> = switches.collect();
    switches.sort_by_key(|switch| Reverse(switch.busy_thousandths));
    RoomDocument {
        slowdown_thousandths: room.least().map(Slowdown::thousandths),
        flows,
        switches,
        sentences: room.sentences(),
    }
}

/// Returns, by its place among decisions, the flows beside which a refused one does not fit.
///
/// # Errors
///
/// If the controller does not answer, or not this caller.
pub async fn conflicts(
    site: &Site,
    caller: &Caller,
    decisions: &[Decision],
) -> Result<BTreeMap<usize, Vec<String>>, Problem> {
    let refused = decisions.iter().enumerate().filter_map(|(at, decision)| {
        let asked = match decision {
            Decision::Refused {
                reason: Refusal::Shortage(shortage),
                ..
            } if shortage.level.is_none() => shortage.asked.clone(),
            Decision::Refused { .. } | Decision::Accepted(_) => return None,
        };
        Some((at, asked))
    });
    let refused: Vec<(usize, Promise)> = refused.take(MOST_EXPLAINED).collect();
    if refused.is_empty() {
        return Ok(BTreeMap::new());
    }
    let promises = promises(site, caller).await?;
    apart(site, move || {
        let named = |(at, asked): &(usize, Promise)| {
            let conflict = promises.ledger.conflict_with(asked)?;
            let flows = promises.flows.iter();
            let others = flows.filter(|flow| conflict.contains(&flow.reservation));
            Some((*at, others.map(|flow| flow.name.clone()).collect()))
        };
        refused.iter().filter_map(named).collect()
    })
    .await
}

async fn promises(site: &Site, caller: &Caller) -> Result<Box<Promises>, Problem> {
    match site.ask(caller.asker.clone(), Request::Promises).await? {
        Reply::Promises(promises) => Ok(promises),
        _ => Err(Problem::fault()),
    }
}

/// Computes something when nothing else is.
async fn apart<T: Send + 'static>(
    site: &Site,
    compute: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let _alone = site.computing.lock().await;
    let computed = tokio::task::spawn_blocking(compute).await;
    computed.map_err(|_| Problem::fault())
}
