//! Intents in words.

use api::{Extent, IntentState};

use super::super::flows::frames;
use crate::web::document::intent::{
    ActionDocument, FrameMatchDocument, IntentDocument, ScopeDocument, WaypointDocument,
};
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
    match intent {
        IntentDocument::HostToHost { one, other, .. } => format!("{one} and {other}"),
        IntentDocument::PointToPoint {
            from, to, matching, ..
        } => format!("{} to {}{}", end(from), end(to), which(matching)),
        IntentDocument::Multicast {
            from, to, matching, ..
        } => {
            let to: Vec<_> = to.iter().map(end).collect();
            format!("{} to {}{}", end(from), to.join(" "), which(matching))
        }
        IntentDocument::Path {
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
        IntentDocument::MatchAction {
            at,
            priority,
            matching,
            actions,
            ..
        } => {
            let at = match at {
                ScopeDocument::Everywhere => "everywhere".to_owned(),
                ScopeDocument::Switches(switches) => format!("at {}", switches.join(" ")),
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
        EndpointDocument::Host(name) => name.clone(),
        EndpointDocument::Port(port) => port.to_string(),
    }
}

fn passed(waypoint: &WaypointDocument) -> &str {
    match waypoint {
        WaypointDocument::Switch(name) | WaypointDocument::Link(name) => name,
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

fn done(actions: &[ActionDocument]) -> String {
    let words = actions.iter().map(|action| match action {
        ActionDocument::Output(port) => format!("output:{port}"),
        ActionDocument::Flood => "flood".to_owned(),
        ActionDocument::Controller => "controller".to_owned(),
        ActionDocument::Queue(queue) => format!("queue:{queue}"),
        ActionDocument::SetVlan(vlan) => format!("set-vlan:{vlan}"),
        ActionDocument::StripVlan => "strip-vlan".to_owned(),
        ActionDocument::SetSource(mac) => format!("set-source:{mac}"),
        ActionDocument::SetDestination(mac) => format!("set-destination:{mac}"),
    });
    let words: Vec<_> = words.collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(": {}", words.join(" ")),
    }
}
