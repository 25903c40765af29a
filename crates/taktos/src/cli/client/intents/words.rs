//! Intents in words.

use api::{Endpoint, Extent, FrameAction, IntentKind, IntentState, Scope, Waypoint};

use super::super::flows::frames;
use crate::web::document::intent::{FrameMatchDocument, IntentDocument};
use crate::web::document::{EndpointDocument, MatchDocument};

/// Returns how far an intent is, and why it is no further.
pub fn state(state: &IntentState) -> String {
    match state {
        IntentState::Waiting { reason } => format!("waits: {reason}"),
        IntentState::Installed | IntentState::Installing | IntentState::Failed { .. } => {
            state.to_string()
        }
    }
}

/// Returns what is to hold.
pub fn kind(intent: &IntentDocument) -> String {
    match &intent.kind {
        IntentKind::HostToHost { one, other, .. } => format!("{one} and {other}"),
        IntentKind::PointToPoint {
            from, to, matching, ..
        } => format!("{} to {}{}", end(from), end(to), which(matching)),
        IntentKind::Multicast {
            from, to, matching, ..
        } => {
            let to: Vec<_> = to.iter().map(end).collect();
            format!("{} to {}{}", end(from), to.join(" "), which(matching))
        }
        IntentKind::Path {
            from,
            to,
            through,
            extent,
            matching,
            actions,
            ..
        } => {
            let through: Vec<_> = through.iter().map(passed).collect();
            let through = match (extent, through.is_empty()) {
                (Extent::Full, _) => format!(" by {} alone", through.join(" ")),
                (Extent::Partial, true) => String::new(),
                (Extent::Partial, false) => format!(" by {}", through.join(" ")),
            };
            let (from, to, which) = (end(from), end(to), which(matching));
            format!("{from} to {to}{through}{which}{}", done(actions))
        }
        IntentKind::MatchAction {
            at,
            priority,
            matching,
            actions,
            ..
        } => {
            let at = match at {
                Scope::Everywhere => "everywhere".to_owned(),
                Scope::Switches(switches) => format!("at {}", switches.join(" ")),
            };
            let actions = match actions.is_empty() {
                true => ": drop".to_owned(),
                false => done(actions),
            };
            format!("{at}, priority {priority}{}{actions}", which(matching))
        }
    }
}

fn end(endpoint: &EndpointDocument) -> String {
    match endpoint {
        Endpoint::Host(name) => name.clone(),
        Endpoint::Port(port) => port.to_string(),
    }
}

fn passed(waypoint: &Waypoint<String, String>) -> &str {
    match waypoint {
        Waypoint::Switch(name) | Waypoint::Link(name) => name,
    }
}

/// Returns which frames are meant, if not all.
fn which(matching: &FrameMatchDocument) -> String {
    let mut words = Vec::new();
    words.extend(matching.input_port.map(|it| format!("in by port {it}")));
    words.extend(matching.source_mac.as_ref().map(|it| format!("from {it}")));
    let rest = MatchDocument {
        ether_type: matching.ether_type,
        destination_mac: matching.destination_mac.clone(),
        vlan: matching.vlan,
        ipv4_source: matching.ipv4_source,
        ipv4_destination: matching.ipv4_destination,
        protocol: matching.protocol,
        source_port: matching.source_port,
        destination_port: matching.destination_port,
    };
    if rest != MatchDocument::default() {
        words.push(frames(&rest));
    }
    match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", words.join(", ")),
    }
}

fn done(actions: &[FrameAction<String>]) -> String {
    let words = actions.iter().map(|action| match action {
        FrameAction::Output(port) => format!("output:{}", port.0),
        FrameAction::Flood => "flood".to_owned(),
        FrameAction::Controller => "controller".to_owned(),
        FrameAction::Queue(queue) => format!("queue:{queue}"),
        FrameAction::SetVlan(vlan) => format!("set-vlan:{vlan}"),
        FrameAction::StripVlan => "strip-vlan".to_owned(),
        FrameAction::SetSource(mac) => format!("set-source:{mac}"),
        FrameAction::SetDestination(mac) => format!("set-destination:{mac}"),
    });
    let words: Vec<_> = words.collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(": {}", words.join(" ")),
    }
}
