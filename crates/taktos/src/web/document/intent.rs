//! What programs want beside flows with a promise: connectivity, flow paths, match
//! and action (S1-7).

use std::convert::Infallible;
use std::net::Ipv4Addr;

use api::{
    Endpoint, FrameAction, FrameMatch, Intent, IntentId, IntentKind, IntentSummary, LinkEnds,
    Place, PortId, Rename, Scope, TransportProtocol,
};
use controller::northbound::{self, MAX_WAYPOINTS};
use controller::view::{MAX_HOSTS, MAX_SWITCHES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::requirement::{check_name, mac, within};
use super::{MatchDocument, ProblemBody, Unusable, place};
use crate::web::describe::Names;

/// The most actions of an intent.
const MOST_ACTIONS: usize = 16;
const LARGEST_VLAN: u16 = 4_094;
const MOST_URGENT: u8 = 7;
const HIGHEST_PRIORITY: u8 = 99;

/// Several intents, decided one by one in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentsRequestDocument {
    /// The intents.
    pub intents: Vec<IntentDocument>,
}

/// One intent, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AskedIntentsDocument {
    /// Several.
    Several(IntentsRequestDocument),
    /// One.
    One(Box<IntentDocument>),
}

/// Something that is to hold, as a document says it.
pub type IntentDocument = api::Intent<Place<String>, String, String, String, FrameMatchDocument>;

/// Which frames are meant. Fields that are left out do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrameMatchDocument {
    /// The port by which they come in.
    pub input_port: Option<u32>,
    /// The address they come from.
    pub source_mac: Option<String>,
    /// What the frame carries, as a number: 35002 (0x88ba) for Sampled Values.
    pub ether_type: Option<u16>,
    /// Where it goes: the address of a host or a group.
    pub destination_mac: Option<String>,
    /// The VLAN id of its tag.
    pub vlan: Option<u16>,
    /// The IPv4 address it comes from.
    pub ipv4_source: Option<Ipv4Addr>,
    /// The IPv4 address it goes to.
    pub ipv4_destination: Option<Ipv4Addr>,
    /// The transport protocol.
    pub protocol: Option<TransportProtocol>,
    /// The transport port it comes from; needs a protocol.
    pub source_port: Option<u16>,
    /// The transport port it goes to; needs a protocol.
    pub destination_port: Option<u16>,
}

/// All intents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentsDocument {
    /// In the order of their numbers.
    pub intents: Vec<IntentSummary<IntentDocument>>,
}

/// The decisions on all intents of a request, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentDecisionsDocument {
    /// One for each intent.
    pub decisions: Vec<IntentDecisionDocument>,
    /// Set if nothing was accepted: the first reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemBody>,
}

/// The decision on one intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntentDecisionDocument {
    /// The name of the intent.
    pub name: String,
    /// Its number, if it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<IntentId>,
    /// Why it was refused; nothing if it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<ProblemBody>,
}

/// Returns what a document means, with switches called as `names` knows them.
///
/// # Errors
///
/// If a value cannot be used.
pub fn intent(document: IntentDocument, names: &Names) -> Result<Intent, Unusable> {
    check(&document)?;
    document.rename(&Reading(names))
}

/// Checks numbers and names against the limits of the controller.
fn check(document: &IntentDocument) -> Result<(), Unusable> {
    check_name("name", &document.name)?;
    let host = |key: &str, end: &Endpoint<_>| match end {
        Endpoint::Host(name) => check_name(&format!("{key}.host"), name),
        Endpoint::Port(_) => Ok(()),
    };
    match &document.kind {
        IntentKind::HostToHost { one, other } => {
            check_name("one", one)?;
            check_name("other", other)
        }
        IntentKind::PointToPoint { from, to, .. } => {
            host("from", from)?;
            host("to", to)
        }
        IntentKind::Multicast { from, to, .. } => {
            within("to", to.len() as u64, 1, MAX_HOSTS as u64)?;
            host("from", from)?;
            to.iter().try_for_each(|end| host("to", end))
        }
        IntentKind::Path {
            from,
            to,
            through,
            actions,
            ..
        } => {
            within("through", through.len() as u64, 0, MAX_WAYPOINTS as u64)?;
            host("from", from)?;
            host("to", to)?;
            check_actions(actions)
        }
        IntentKind::MatchAction {
            at,
            priority,
            actions,
            ..
        } => {
            let most = u64::from(HIGHEST_PRIORITY);
            within("priority", u64::from(*priority), 0, most)?;
            if let Scope::Switches(these) = at {
                within("at.switches", these.len() as u64, 1, MAX_SWITCHES as u64)?;
            }
            check_actions(actions)
        }
    }
}

fn check_actions(actions: &[FrameAction<String>]) -> Result<(), Unusable> {
    within("actions", actions.len() as u64, 0, MOST_ACTIONS as u64)?;
    actions.iter().try_for_each(|action| match action {
        FrameAction::Queue(queue) => {
            let most = u64::from(MOST_URGENT);
            within("actions.queue", u64::from(*queue), 0, most)
        }
        FrameAction::SetVlan(vlan) => {
            let most = u64::from(LARGEST_VLAN);
            within("actions.set-vlan", u64::from(*vlan), 1, most)
        }
        FrameAction::Output(_)
        | FrameAction::Flood
        | FrameAction::Controller
        | FrameAction::StripVlan
        | FrameAction::SetSource(_)
        | FrameAction::SetDestination(_) => Ok(()),
    })
}

/// From what a document says to what the controller knows.
struct Reading<'a>(&'a Names);

impl Rename<Place<String>, String, String, String, FrameMatchDocument> for Reading<'_> {
    type Port = PortId;
    type Switch = DatapathId;
    type Link = LinkEnds;
    type Mac = MacAddress;
    type Match = FrameMatch;
    type Error = Unusable;

    fn port(&self, key: &str, port: Place<String>) -> Result<PortId, Unusable> {
        place::port(key, &port, self.0)
    }

    fn switch(&self, key: &str, switch: String) -> Result<DatapathId, Unusable> {
        place::switch(key, &switch, self.0)
    }

    fn link(&self, key: &str, link: String) -> Result<LinkEnds, Unusable> {
        place::link(key, &link)
    }

    fn mac(&self, key: &str, text: String) -> Result<MacAddress, Unusable> {
        mac(key, &text)
    }

    fn matching(&self, matching: FrameMatchDocument) -> Result<FrameMatch, Unusable> {
        matching.matching()
    }
}

/// From what the controller knows to what a document says.
struct Writing<'a>(&'a Names);

impl Rename<PortId, DatapathId, LinkEnds, MacAddress, FrameMatch> for Writing<'_> {
    type Port = Place<String>;
    type Switch = String;
    type Link = String;
    type Mac = String;
    type Match = FrameMatchDocument;
    type Error = Infallible;

    fn port(&self, _: &str, port: PortId) -> Result<Place<String>, Infallible> {
        Ok(self.0.written(port))
    }

    fn switch(&self, _: &str, switch: DatapathId) -> Result<String, Infallible> {
        Ok(self.0.switch(switch))
    }

    fn link(&self, _: &str, link: LinkEnds) -> Result<String, Infallible> {
        Ok(link.to_string())
    }

    fn mac(&self, _: &str, mac: MacAddress) -> Result<String, Infallible> {
        Ok(mac.to_string())
    }

    fn matching(&self, matching: FrameMatch) -> Result<FrameMatchDocument, Infallible> {
        Ok((&matching).into())
    }
}

impl FrameMatchDocument {
    fn matching(&self) -> Result<FrameMatch, Unusable> {
        let source = self.source_mac.as_deref();
        let source = source.map(|text| mac("match.source_mac", text));
        let flow = MatchDocument {
            ether_type: self.ether_type,
            destination_mac: self.destination_mac.clone(),
            vlan: self.vlan,
            ipv4_source: self.ipv4_source,
            ipv4_destination: self.ipv4_destination,
            protocol: self.protocol,
            source_port: self.source_port,
            destination_port: self.destination_port,
        };
        Ok(FrameMatch {
            input: self.input_port.map(PortNumber),
            source: source.transpose()?,
            flow: flow.try_into()?,
        })
    }
}

impl From<&FrameMatch> for FrameMatchDocument {
    fn from(matching: &FrameMatch) -> Self {
        let flow = MatchDocument::from(matching.flow);
        Self {
            input_port: matching.input.map(|port| port.0),
            source_mac: matching.source.map(|mac| mac.to_string()),
            ether_type: flow.ether_type,
            destination_mac: flow.destination_mac,
            vlan: flow.vlan,
            ipv4_source: flow.ipv4_source,
            ipv4_destination: flow.ipv4_destination,
            protocol: flow.protocol,
            source_port: flow.source_port,
            destination_port: flow.destination_port,
        }
    }
}

impl Names {
    /// Writes down an intent with how far it is.
    #[must_use]
    pub fn intent(&self, summary: northbound::IntentSummary) -> IntentSummary<IntentDocument> {
        IntentSummary {
            id: summary.id,
            owner: summary.owner,
            state: summary.state,
            routes: summary.routes,
            rules: summary.rules,
            intent: match summary.intent.rename(&Writing(self)) {
                Ok(intent) => intent,
                Err(never) => match never {},
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use api::{Asker, IntentState};
    use serde_json::{Value, json};

    use super::*;

    fn read(document: Value) -> Result<Intent, Unusable> {
        let names = Names::new([(DatapathId(1), "s1".to_owned())]);
        let document: IntentDocument = serde_json::from_value(document).unwrap();
        intent(document, &names)
    }

    fn every_kind() -> [Value; 5] {
        let port = json!({"port": {"datapath": "0000000000000001", "switch": "s1", "port": 3}});
        [
            json!({"kind": "host-to-host", "name": "a", "one": "h1", "other": "h2"}),
            json!({"kind": "point-to-point", "name": "b", "from": {"host": "h1"}, "to": port,
                   "match": {"source_mac": "02:00:00:00:00:01", "protocol": "tcp",
                             "destination_port": 80}}),
            json!({"kind": "multicast", "name": "c", "from": port, "to": [{"host": "h2"}]}),
            json!({"kind": "path", "name": "d", "from": {"host": "h1"}, "to": {"host": "h2"},
                   "through": [{"switch": "s1"}, {"link": "1:2-2:1"}], "extent": "partial",
                   "actions": [{"set-vlan": 7}, {"queue": 3}]}),
            json!({"kind": "match-action", "name": "e", "at": {"switches": ["s1"]},
                   "priority": 9, "match": {"input_port": 2, "vlan": 5},
                   "actions": ["strip-vlan", {"output": 1}, "flood", "controller"]}),
        ]
    }

    #[test]
    fn every_kind_of_intent_comes_back_from_its_document() {
        let names = Names::new([(DatapathId(1), "s1".to_owned())]);
        for document in every_kind() {
            let intent = read(document).unwrap();

            let summary = names.intent(IntentSummary {
                id: IntentId(7),
                intent: intent.clone(),
                owner: Asker::Operator,
                state: IntentState::Installed,
                routes: Vec::new(),
                rules: 0,
            });

            assert_eq!(super::intent(summary.intent, &names), Ok(intent));
        }
    }

    #[test]
    fn numbers_beyond_their_limits_are_refused_where_they_are() {
        let base = every_kind()[4].clone();
        for (pointer, value, field) in [
            ("/priority", json!(100), "priority"),
            ("/actions/1", json!({"queue": 8}), "actions.queue"),
            ("/actions/1", json!({"set-vlan": 4095}), "actions.set-vlan"),
            (
                "/actions/1",
                json!({"set-source": "x"}),
                "actions.set-source",
            ),
            ("/at", json!({"switches": ["nobody"]}), "at.switches"),
            ("/at", json!({"switches": []}), "at.switches"),
            ("/name", json!(""), "name"),
        ] {
            let mut document = base.clone();
            *document.pointer_mut(pointer).unwrap() = value;

            assert_eq!(read(document).unwrap_err().field, field);
        }
    }
}
