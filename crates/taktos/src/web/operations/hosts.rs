//! Hosts: those that were found, and those that somebody names.

use api::topology::{Host, Hosts};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use controller::northbound::{HostRefusal, Reply, Request, StaticHost};

use super::topology::view;
use super::{Operation, done};
use crate::web::body::Sent;
use crate::web::document::requirement::{check_name, mac};
use crate::web::document::{HostRequestDocument, place};
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::site::Site;

/// Returns what can be asked about them.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let (all, one) = ("/api/v1/hosts", "/api/v1/hosts/{name}");
    let name = "Name a host, or say anew what is known of it.";
    let forget = "Forget a host. A frame of it makes it known again.";
    vec![
        Operation::get("list-hosts", all, "List the hosts.", list)
            .or_from_records()
            .gives::<Hosts>(StatusCode::OK),
        Operation::get("show-host", one, "Show one host.", show)
            .or_from_records()
            .gives::<Host>(StatusCode::OK),
        Operation::put("set-host", one, name, set).takes::<HostRequestDocument>(),
        Operation::delete("remove-host", one, forget, remove),
    ]
}

async fn list(State(site): State<Site>, caller: Caller) -> Result<Response<Body>, Problem> {
    let view = view(&site, &caller).await?;
    let hosts = site.names.topology(&view).hosts;
    Ok(json(StatusCode::OK, &Hosts { hosts }))
}

async fn show(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let view = view(&site, &caller).await?;
    let found = view.host(&name).ok_or_else(|| unknown(&name))?;
    Ok(json(StatusCode::OK, &site.names.host(found)))
}

async fn set(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
    Sent(document): Sent<HostRequestDocument>,
) -> Result<Response<Body>, Problem> {
    check_name("name", &name)?;
    let attachment = document.attachment.as_ref();
    let attachment = attachment.map(|port| place::port("attachment", port, &site.names));
    let host = StaticHost {
        name: name.clone(),
        mac: mac("mac", &document.mac)?,
        ipv4: document.ipv4,
        ipv6: document.ipv6,
        attachment: attachment.transpose()?,
    };
    match site.ask(caller.asker, Request::SetHost(host)).await? {
        Reply::HostSet => Ok(done(name)),
        Reply::HostRefused(reason) => Err(refused(&reason)),
        _ => Err(Problem::fault()),
    }
}

async fn remove(
    State(site): State<Site>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Response<Body>, Problem> {
    let request = Request::RemoveHost(name.clone());
    match site.ask(caller.asker, request).await? {
        Reply::HostRemoved => Ok(done(name)),
        Reply::UnknownHost(name) => Err(unknown(&name)),
        Reply::HostRefused(reason) => Err(refused(&reason)),
        _ => Err(Problem::fault()),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::not_found("unknown-host", format!("no host is called {name}"))
        .help("GET /api/v1/hosts lists those that are")
}

fn refused(reason: &HostRefusal) -> Problem {
    let said = reason.to_string();
    match reason {
        HostRefusal::NameTaken { .. } => {
            Problem::conflict("name-taken", said).help("choose another name")
        }
        HostRefusal::NoAccess { .. } => Problem::refused("no-access", said)
            .help("GET /api/v1/topology shows the ports; one that leads to a switch has a link"),
        HostRefusal::TooMany { .. } => {
            Problem::refused("too-many-hosts", said).help("remove hosts that are gone")
        }
        HostRefusal::InUse { .. } => Problem::conflict("in-use", said),
    }
}
