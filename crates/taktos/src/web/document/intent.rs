//! What programs want beside flows with a promise: connectivity, flow paths, match
//! and action (S1-7).

use std::net::Ipv4Addr;

use api::{Extent, IntentId, IntentSummary, TransportProtocol};
use controller::northbound::{
    self, FrameAction, FrameMatch, Intent, IntentKind, MAX_WAYPOINTS, Scope, Waypoint,
};
use controller::view::{MAX_HOSTS, MAX_SWITCHES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::openflow::PortNumber;

use super::requirement::{check_name, mac, within};
use super::{EndpointDocument, MatchDocument, ProblemBody, Unusable, place};
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

/// Something that is to hold until it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
pub enum IntentDocument {
    /// Two hosts reach each other, wherever they are.
    HostToHost {
        /// Its name, unique among all intents.
        name: String,
        /// The name of one host.
        one: String,
        /// The name of the other.
        other: String,
    },
    /// What enters at one place and matches leaves at another.
    PointToPoint {
        /// Its name, unique among all intents.
        name: String,
        /// Where frames enter.
        from: EndpointDocument,
        /// Where they leave.
        to: EndpointDocument,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: FrameMatchDocument,
    },
    /// What enters at one place and matches leaves at several.
    Multicast {
        /// Its name, unique among all intents.
        name: String,
        /// Where frames enter.
        from: EndpointDocument,
        /// Where they leave.
        to: Vec<EndpointDocument>,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: FrameMatchDocument,
    },
    /// What enters at one place and matches leaves at another and passes certain
    /// places in this order.
    Path {
        /// Its name, unique among all intents.
        name: String,
        /// Where frames enter.
        from: EndpointDocument,
        /// Where they leave.
        to: EndpointDocument,
        /// What they pass.
        through: Vec<WaypointDocument>,
        /// Whether that is the whole path.
        extent: Extent,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: FrameMatchDocument,
        /// What is done with them at the last switch before they leave.
        #[serde(default)]
        actions: Vec<ActionDocument>,
    },
    /// Switches do something with the frames that match.
    MatchAction {
        /// Its name, unique among all intents.
        name: String,
        /// At which switches.
        at: ScopeDocument,
        /// Above which others, 0 to 99.
        priority: u8,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: FrameMatchDocument,
        /// What is done with them, in this order; nothing: they are dropped.
        actions: Vec<ActionDocument>,
    },
}

/// What a path passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WaypointDocument {
    /// A switch: its name or its datapath id.
    Switch(String),
    /// The id of a link.
    Link(String),
}

/// The switches that are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeDocument {
    /// All, and those to come.
    Everywhere,
    /// These: their names or datapath ids.
    Switches(Vec<String>),
}

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

/// What a switch does with a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActionDocument {
    /// Sends it out by a port.
    Output(u32),
    /// Sends it out by all ports but the one by which it came in.
    Flood,
    /// Hands it to the controller.
    Controller,
    /// Puts it into a queue, 0 to 7, wherever it goes out afterwards.
    Queue(u8),
    /// Tags it with a VLAN id, or changes that of its tag.
    SetVlan(u16),
    /// Takes its VLAN tag away.
    StripVlan,
    /// Changes the address it comes from.
    SetSource(String),
    /// Changes the address it goes to.
    SetDestination(String),
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

impl IntentDocument {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::HostToHost { name, .. }
            | Self::PointToPoint { name, .. }
            | Self::Multicast { name, .. }
            | Self::Path { name, .. }
            | Self::MatchAction { name, .. } => name,
        }
    }

    /// Returns what is meant, with switches called as `names` knows them.
    ///
    /// # Errors
    ///
    /// If a value cannot be used.
    pub fn intent(&self, names: &Names) -> Result<Intent, Unusable> {
        check_name("name", self.name())?;
        Ok(Intent {
            name: self.name().to_owned(),
            kind: self.kind(names)?,
        })
    }

    fn kind(&self, names: &Names) -> Result<IntentKind, Unusable> {
        Ok(match self {
            Self::HostToHost { one, other, .. } => {
                check_name("one", one)?;
                check_name("other", other)?;
                let (one, other) = (one.clone(), other.clone());
                IntentKind::HostToHost { one, other }
            }
            Self::PointToPoint {
                from, to, matching, ..
            } => IntentKind::PointToPoint {
                from: place::endpoint("from", from, names)?,
                to: place::endpoint("to", to, names)?,
                matching: matching.matching()?,
            },
            Self::Multicast {
                from, to, matching, ..
            } => {
                within("to", to.len() as u64, 1, MAX_HOSTS as u64)?;
                let to = to.iter().map(|end| place::endpoint("to", end, names));
                IntentKind::Multicast {
                    from: place::endpoint("from", from, names)?,
                    to: to.collect::<Result<_, _>>()?,
                    matching: matching.matching()?,
                }
            }
            Self::Path { .. } => self.path(names)?,
            Self::MatchAction {
                at,
                priority,
                matching,
                actions: wanted,
                ..
            } => {
                let most = u64::from(HIGHEST_PRIORITY);
                within("priority", u64::from(*priority), 0, most)?;
                IntentKind::MatchAction {
                    at: at.scope(names)?,
                    priority: *priority,
                    matching: matching.matching()?,
                    actions: actions(wanted)?,
                }
            }
        })
    }

    fn path(&self, names: &Names) -> Result<IntentKind, Unusable> {
        let Self::Path {
            from,
            to,
            through,
            extent,
            matching,
            actions: wanted,
            ..
        } = self
        else {
            unreachable!("only paths are read so");
        };
        within("through", through.len() as u64, 0, MAX_WAYPOINTS as u64)?;
        let through = through.iter().map(|passed| match passed {
            WaypointDocument::Switch(name) => {
                place::switch("through.switch", name, names).map(Waypoint::Switch)
            }
            WaypointDocument::Link(id) => place::link("through.link", id).map(Waypoint::Link),
        });
        Ok(IntentKind::Path {
            from: place::endpoint("from", from, names)?,
            to: place::endpoint("to", to, names)?,
            through: through.collect::<Result<_, _>>()?,
            extent: *extent,
            matching: matching.matching()?,
            actions: actions(wanted)?,
        })
    }
}

impl ScopeDocument {
    fn scope(&self, names: &Names) -> Result<Scope, Unusable> {
        match self {
            Self::Everywhere => Ok(Scope::Everywhere),
            Self::Switches(switches) => {
                let count = switches.len() as u64;
                within("at.switches", count, 1, MAX_SWITCHES as u64)?;
                let read = |name: &String| place::switch("at.switches", name, names);
                let switches = switches.iter().map(read);
                Ok(Scope::Switches(switches.collect::<Result<_, _>>()?))
            }
        }
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

fn actions(wanted: &[ActionDocument]) -> Result<Vec<FrameAction>, Unusable> {
    within("actions", wanted.len() as u64, 0, MOST_ACTIONS as u64)?;
    wanted.iter().map(ActionDocument::action).collect()
}

impl ActionDocument {
    fn action(&self) -> Result<FrameAction, Unusable> {
        Ok(match self {
            Self::Output(port) => FrameAction::Output(PortNumber(*port)),
            Self::Flood => FrameAction::Flood,
            Self::Controller => FrameAction::Controller,
            Self::Queue(queue) => {
                within(
                    "actions.queue",
                    u64::from(*queue),
                    0,
                    u64::from(MOST_URGENT),
                )?;
                FrameAction::Queue(*queue)
            }
            Self::SetVlan(vlan) => {
                let most = u64::from(LARGEST_VLAN);
                within("actions.set-vlan", u64::from(*vlan), 1, most)?;
                FrameAction::SetVlan(*vlan)
            }
            Self::StripVlan => FrameAction::StripVlan,
            Self::SetSource(text) => FrameAction::SetSource(mac("actions.set-source", text)?),
            Self::SetDestination(text) => {
                FrameAction::SetDestination(mac("actions.set-destination", text)?)
            }
        })
    }
}

impl From<&FrameAction> for ActionDocument {
    fn from(action: &FrameAction) -> Self {
        match action {
            FrameAction::Output(port) => Self::Output(port.0),
            FrameAction::Flood => Self::Flood,
            FrameAction::Controller => Self::Controller,
            FrameAction::Queue(queue) => Self::Queue(*queue),
            FrameAction::SetVlan(vlan) => Self::SetVlan(*vlan),
            FrameAction::StripVlan => Self::StripVlan,
            FrameAction::SetSource(mac) => Self::SetSource(mac.to_string()),
            FrameAction::SetDestination(mac) => Self::SetDestination(mac.to_string()),
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
            intent: self.wanted(&summary.intent),
        }
    }

    fn wanted(&self, intent: &Intent) -> IntentDocument {
        let name = intent.name.clone();
        match &intent.kind {
            IntentKind::HostToHost { one, other } => IntentDocument::HostToHost {
                name,
                one: one.clone(),
                other: other.clone(),
            },
            IntentKind::PointToPoint { from, to, matching } => IntentDocument::PointToPoint {
                name,
                from: self.endpoint(from),
                to: self.endpoint(to),
                matching: matching.into(),
            },
            IntentKind::Multicast { from, to, matching } => IntentDocument::Multicast {
                name,
                from: self.endpoint(from),
                to: to.iter().map(|end| self.endpoint(end)).collect(),
                matching: matching.into(),
            },
            IntentKind::Path {
                from,
                to,
                through,
                extent,
                matching,
                actions,
            } => IntentDocument::Path {
                name,
                from: self.endpoint(from),
                to: self.endpoint(to),
                through: through.iter().map(|it| self.waypoint(it)).collect(),
                extent: *extent,
                matching: matching.into(),
                actions: actions.iter().map(ActionDocument::from).collect(),
            },
            IntentKind::MatchAction {
                at,
                priority,
                matching,
                actions,
            } => IntentDocument::MatchAction {
                name,
                at: self.scope(at),
                priority: *priority,
                matching: matching.into(),
                actions: actions.iter().map(ActionDocument::from).collect(),
            },
        }
    }

    fn waypoint(&self, waypoint: &Waypoint) -> WaypointDocument {
        match waypoint {
            Waypoint::Switch(datapath) => WaypointDocument::Switch(self.switch(*datapath)),
            Waypoint::Link(ends) => WaypointDocument::Link(ends.to_string()),
        }
    }

    fn scope(&self, scope: &Scope) -> ScopeDocument {
        match scope {
            Scope::Everywhere => ScopeDocument::Everywhere,
            Scope::Switches(switches) => {
                ScopeDocument::Switches(switches.iter().map(|it| self.switch(*it)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use api::{Asker, IntentState};
    use serde_json::{Value, json};
    use wire::openflow::DatapathId;

    use super::*;

    fn read(document: Value) -> Result<Intent, Unusable> {
        let names = Names::new([(DatapathId(1), "s1".to_owned())]);
        let document: IntentDocument = serde_json::from_value(document).unwrap();
        document.intent(&names)
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

            assert_eq!(summary.intent.intent(&names), Ok(intent));
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
