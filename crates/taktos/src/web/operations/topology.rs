//! Switches, ports and links.

use api::LinkEnds;
use api::topology::Topology;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{Asker, Reply, Request};
use controller::view::View;

use run::experiment::{Plug, Wish};

use super::{Operation, done, kept, rules, written};
use crate::web::body::Sent;
use crate::web::document::CableDocument;
use crate::web::gate::{Caller, Role};
use crate::web::problem::Problem;
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let show = "Show switches, ports, links and hosts.";
    let forget = "Forget a switch that is away and will not come back, with its links.";
    let cable = "Cut or heal the cable of a link by hand, in a run with real frames.";
    vec![
        Operation::get("show-topology", "/api/v1/topology", show, topology)
            .gives::<Topology>(StatusCode::OK),
        Operation::delete(
            "forget-switch",
            "/api/v1/switches/{switch}",
            forget,
            forgotten,
        )
        .role(Role::Administer),
        Operation::put("change-cable", "/api/v1/links/{link}/cable", cable, changed)
            .role(Role::Administer)
            .takes::<CableDocument>(),
    ]
}

async fn topology(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let text = match &caller.asker {
        Asker::Operator => {
            site.topology
                .get(site.change(), look(&site, &caller))
                .await?
        }
        Asker::Application(_) => look(&site, &caller).await?,
    };
    Ok(kept(text))
}

async fn look(site: &Site, caller: &Caller) -> Result<Bytes, Problem> {
    let view = view(site, caller).await?;
    Ok(written(&site.names.topology(&view)))
}

/// Returns the view of the controller.
///
/// # Errors
///
/// If it does not answer, or not this caller.
pub async fn view(site: &Site, caller: &Caller) -> Result<Box<View>, Problem> {
    match site.ask(caller.asker.clone(), Request::View).await? {
        Reply::View(view) => Ok(view),
        _ => Err(Problem::fault()),
    }
}

/// The cable is cut at the next turn of the run, and everybody sees it by its events.
async fn changed(
    State(site): State<Site>,
    caller: Caller,
    Path(link): Path<String>,
    Sent(CableDocument { cut }): Sent<CableDocument>,
) -> Result<Response<Body>, Problem> {
    let unknown = || Problem::not_found("unknown-link", format!("there is no link {link}"));
    let Some(wishes) = &site.wishes else {
        let message = "the cables of this network are not in the hands of this program";
        return Err(Problem::conflict("no-run", message)
            .help("`taktos run FILE --world lab --page` has such that are"));
    };
    let ends: LinkEnds = link.parse().map_err(|_| unknown())?;
    let view = view(&site, &caller).await?;
    view.link(ends).ok_or_else(unknown)?;
    let (plug, word) = match cut {
        true => (Plug::Out, "cut"),
        false => (Plug::In, "healed"),
    };
    let [one, other] = ends.both().map(|end| site.names.switch(end.datapath));
    let over = |_| Problem::conflict("no-run", "the run is over");
    wishes.send(Wish { link: ends, plug }).map_err(over)?;
    Ok(done(format!("{one}-{other} {word}")))
}

async fn forgotten(
    State(site): State<Site>,
    caller: Caller,
    Path(switch): Path<String>,
) -> Result<Response<Body>, Problem> {
    let datapath = rules::known(&site, &switch)?;
    match site
        .ask(caller.asker, Request::ForgetSwitch(datapath))
        .await?
    {
        Reply::Forgotten => Ok(done(switch)),
        Reply::StillConnected(_) => {
            let message = format!("switch {switch} is connected");
            Err(Problem::conflict("still-connected", message)
                .help("one that is connected would be found again: take it off first"))
        }
        Reply::UnknownSwitch(_) => Err(rules::unknown(&switch)),
        _ => Err(Problem::fault()),
    }
}
