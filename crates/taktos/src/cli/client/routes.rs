//! `taktos routes`: routes to other networks, and how the network is as a router (S1-10).

use api::{About, IpPrefix, RouteState, RoutedPrefix, SpeakerState};
use serde_json::{Value, json};

use super::super::exit::Exit;
use super::sheet::{Head, count, draw, facts, harmless};
use super::{Page, Target, at, segment};
use crate::client::{ClientError, Controller};
use crate::web::document::routing::{RoutesDocument, RoutingDocument, SpeakerDocument};

/// Where routes are.
const ROUTES: &str = "/api/v1/routes";

/// What `taktos routes` is told.
#[derive(Debug, clap::Args)]
pub struct RoutesArgs {
    /// Show the route of this prefix alone, as in 10.1.0.0/16.
    #[arg(long, value_name = "PREFIX", conflicts_with = "status")]
    prefix: Option<IpPrefix>,
    /// Show how the network is as a router: the speaker, its sessions, next hops, counts.
    #[arg(long)]
    status: bool,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    target: Target,
}

/// Shows routes, or how the network is as a router.
pub fn routes(arguments: &RoutesArgs) -> Exit {
    let target = &arguments.target;
    if arguments.status {
        let page = Page {
            title: "routing",
            ask: &at("/api/v1/routing"),
            text: &status,
        };
        return match arguments.watch {
            true => target.watch(&page, concerns),
            false => target.show(&page),
        };
    }
    let fetch = |controller: &Controller| match arguments.prefix {
        Some(prefix) => {
            let path = format!("{ROUTES}?prefix={}", segment(&prefix.to_string()));
            controller.get::<Value>(&path)
        }
        None => all(controller),
    };
    let page = Page {
        title: "routes",
        ask: &fetch,
        text: &table,
    };
    match arguments.watch {
        true => target.watch(&page, concerns),
        false => target.show(&page),
    }
}

const fn concerns(about: About) -> bool {
    match about {
        About::Routes | About::Switches | About::Links | About::Anything => true,
        About::Flows | About::Hosts | About::Rules | About::Modes => false,
    }
}

/// Asks for all routes, part by part.
fn all(controller: &Controller) -> Result<Value, ClientError> {
    let mut routes = Vec::new();
    let mut path = ROUTES.to_owned();
    loop {
        let mut part: Value = controller.get(&path)?;
        if let Some(more) = part["routes"].as_array_mut() {
            routes.append(more);
        }
        match part["next"].as_str() {
            Some(next) => path = format!("{ROUTES}?after={}", segment(next)),
            None => return Ok(json!({ "routes": routes, "next": null })),
        }
    }
}

fn table(document: &RoutesDocument) -> String {
    if document.routes.is_empty() {
        return "no such route\n".to_owned();
    }
    let rows: Vec<_> = document.routes.iter().map(row).collect();
    let heads = [
        Head::Text("prefix"),
        Head::Text("next hop"),
        Head::Text("interface"),
        Head::Text("leaves at"),
        Head::Text("state"),
        Head::Text("confirmed"),
    ];
    let number = count(rows.len(), "route");
    format!("{number}\n{}", draw(heads, &rows))
}

fn row(route: &RoutedPrefix) -> [String; 6] {
    let state = match route.state {
        RouteState::Installed => "installed",
        RouteState::Aggregated => "in a shorter prefix",
        RouteState::Damped => "damped",
        RouteState::Unresolved => "next hop unknown",
        RouteState::Refused => "refused by a switch",
    };
    let stale = if route.is_stale { ", stale" } else { "" };
    [
        route.prefix.to_string(),
        route.next_hop.to_string(),
        route.mac.map(|it| it.to_string()).unwrap_or_default(),
        route.egress.to_string(),
        format!("{state}{stale}"),
        format!("{} of {}", route.confirmed, route.ingresses),
    ]
}

fn status(document: &RoutingDocument) -> String {
    let status = &document.routing;
    let heard = match status.speaker {
        SpeakerState::Connected => "heard",
        SpeakerState::Lost => "not heard: its routes are kept for a while",
    };
    let unconfirmed = status.ingresses.iter();
    let unconfirmed = unconfirmed.map(|it| it.waiting.saturating_add(it.unconfirmed));
    let mut text = facts(
        "routing",
        &[
            ("speaker", heard.to_owned()),
            (
                "prefixes",
                format!("{} of at most {}", status.prefixes, status.max_prefixes),
            ),
            ("with entries", status.entries.to_string()),
            ("damped", status.damped.to_string()),
            ("refused by switches", status.refused.to_string()),
            (
                "entries not confirmed",
                unconfirmed.fold(0, u64::saturating_add).to_string(),
            ),
            ("changes", status.changes.to_string()),
            ("refusals", status.refusals.to_string()),
            ("memory", format!("{} bytes", status.memory_bytes)),
        ],
    );
    let hops = status.next_hops.iter().map(|hop| {
        let way = match hop.is_reachable {
            true => "reachable",
            false => "not reachable",
        };
        [
            hop.address.to_string(),
            hop.mac.map(|it| it.to_string()).unwrap_or_default(),
            hop.at.to_string(),
            hop.prefixes.to_string(),
            way.to_owned(),
        ]
    });
    let heads = [
        Head::Text("next hop"),
        Head::Text("interface"),
        Head::Text("port"),
        Head::Amount("prefixes"),
        Head::Text("way"),
    ];
    text.push_str(&draw(heads, &hops.collect::<Vec<_>>()));
    if let Some(speaker) = &document.speaker {
        text.push_str(&sessions(speaker));
    }
    text
}

fn sessions(speaker: &SpeakerDocument) -> String {
    let rows = speaker.sessions.iter().map(|session| {
        [
            session.peer.to_string(),
            session.as_number.to_string(),
            session.state.clone(),
        ]
    });
    let heads = [
        Head::Text("peer"),
        Head::Amount("AS"),
        Head::Text("session"),
    ];
    let title = match &speaker.trouble {
        Some(trouble) => harmless(trouble),
        None => format!(
            "AS {}, router {}",
            speaker.as_number,
            harmless(&speaker.router_id)
        ),
    };
    format!("{title}\n{}", draw(heads, &rows.collect::<Vec<_>>()))
}
