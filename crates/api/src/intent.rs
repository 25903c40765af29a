//! What shall hold in the network without a promise (S1-7).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::application::Asker;
use crate::flow::Route;
use crate::frame_match::FrameMatch;
use crate::place::{LinkEnds, PortId};

/// An intent that was accepted; never given twice in the life of a network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(inline, with = "u32")]
pub struct IntentId(pub u32);

/// Something that is to hold until it is removed.
///
/// Ports are of type `P`, switches `S`, links `L`, addresses `M`, and which frames are meant
/// `F`: what the controller knows them by, or what a document calls them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(bound(
    deserialize = "P: Deserialize<'de>, S: Deserialize<'de>, L: Deserialize<'de>, \
                           M: Deserialize<'de>, F: Deserialize<'de> + Default"
))]
#[schemars(
    bound = "P: JsonSchema + Serialize, S: JsonSchema + Serialize, L: JsonSchema + Serialize, \
                    M: JsonSchema + Serialize, F: JsonSchema + Serialize + Default"
)]
#[schemars(rename = "IntentDocument")]
pub struct Intent<P = PortId, S = DatapathId, L = LinkEnds, M = MacAddress, F = FrameMatch> {
    /// Its name, unique among all intents.
    pub name: String,
    /// What is to hold.
    #[serde(flatten)]
    pub kind: IntentKind<P, S, L, M, F>,
}

/// What is to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "kind")]
#[serde(bound(
    deserialize = "P: Deserialize<'de>, S: Deserialize<'de>, L: Deserialize<'de>, \
                           M: Deserialize<'de>, F: Deserialize<'de> + Default"
))]
#[schemars(
    bound = "P: JsonSchema + Serialize, S: JsonSchema + Serialize, L: JsonSchema + Serialize, \
                    M: JsonSchema + Serialize, F: JsonSchema + Serialize + Default"
)]
#[schemars(rename = "IntentKindDocument")]
pub enum IntentKind<P = PortId, S = DatapathId, L = LinkEnds, M = MacAddress, F = FrameMatch> {
    /// Two hosts reach each other, wherever they are.
    HostToHost {
        /// The name of one host.
        one: String,
        /// The name of the other.
        other: String,
    },
    /// What enters at one place and matches leaves at another.
    PointToPoint {
        /// Where frames enter.
        from: Endpoint<P>,
        /// Where they leave.
        to: Endpoint<P>,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: F,
    },
    /// What enters at one place and matches leaves at several.
    Multicast {
        /// Where frames enter.
        from: Endpoint<P>,
        /// Where they leave.
        to: Vec<Endpoint<P>>,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: F,
    },
    /// What enters at one place and matches leaves at another and passes certain
    /// places in this order.
    Path {
        /// Where frames enter.
        from: Endpoint<P>,
        /// Where they leave.
        to: Endpoint<P>,
        /// What they pass.
        through: Vec<Waypoint<S, L>>,
        /// Whether that is the whole path.
        extent: Extent,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: F,
        /// What is done with them at the last switch before they leave.
        #[serde(default)]
        actions: Vec<FrameAction<M>>,
    },
    /// Switches do something with the frames that match.
    MatchAction {
        /// At which switches.
        at: Scope<S>,
        /// Above which others, 0 to 99.
        priority: u8,
        /// Which frames.
        #[serde(rename = "match", default)]
        matching: F,
        /// What is done with them, in this order; nothing: they are dropped.
        actions: Vec<FrameAction<M>>,
    },
}

/// Where frames enter or leave the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "EndpointDocument")]
pub enum Endpoint<P = PortId> {
    /// Where the host of this name is, now and wherever it moves.
    Host(String),
    /// A port.
    Port(P),
}

/// What a path passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "WaypointDocument")]
pub enum Waypoint<S = DatapathId, L = LinkEnds> {
    /// A switch: its name or its datapath id.
    Switch(S),
    /// The id of a link.
    Link(L),
}

/// Whether what is said of a path is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ExtentDocument")]
pub enum Extent {
    /// The rest is found, and found anew when links break.
    Partial,
    /// It is: where a link of it breaks, frames wait.
    Full,
}

/// The switches that are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ScopeDocument")]
pub enum Scope<S = DatapathId> {
    /// All, and those to come.
    Everywhere,
    /// These: their names or datapath ids.
    Switches(Vec<S>),
}

/// What a switch does with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ActionDocument")]
pub enum FrameAction<M = MacAddress> {
    /// Sends it out by a port.
    Output(#[schemars(with = "u32")] PortNumber),
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
    SetSource(M),
    /// Changes the address it goes to.
    SetDestination(M),
}

/// How the ports, switches, links, addresses and matches of an intent become others; the
/// text is the key of the document where one stands.
pub trait Rename<P, S, L, M, F> {
    /// What a port becomes.
    type Port;
    /// What a switch becomes.
    type Switch;
    /// What a link becomes.
    type Link;
    /// What an address becomes.
    type Mac;
    /// What a match becomes.
    type Match;
    /// Why one cannot.
    type Error;

    /// Returns what a port becomes, or why it cannot.
    fn port(&self, key: &str, port: P) -> Result<Self::Port, Self::Error>;
    /// Returns what a switch becomes, or why it cannot.
    fn switch(&self, key: &str, switch: S) -> Result<Self::Switch, Self::Error>;
    /// Returns what a link becomes, or why it cannot.
    fn link(&self, key: &str, link: L) -> Result<Self::Link, Self::Error>;
    /// Returns what an address becomes, or why it cannot.
    fn mac(&self, key: &str, mac: M) -> Result<Self::Mac, Self::Error>;
    /// Returns what a match becomes, or why it cannot.
    fn matching(&self, matching: F) -> Result<Self::Match, Self::Error>;
}

/// What an intent becomes, or why it cannot.
pub type Renamed<R, P, S, L, M, F> = Result<
    Intent<
        <R as Rename<P, S, L, M, F>>::Port,
        <R as Rename<P, S, L, M, F>>::Switch,
        <R as Rename<P, S, L, M, F>>::Link,
        <R as Rename<P, S, L, M, F>>::Mac,
        <R as Rename<P, S, L, M, F>>::Match,
    >,
    <R as Rename<P, S, L, M, F>>::Error,
>;

impl<P, S, L, M, F> Intent<P, S, L, M, F> {
    /// Returns the same with other names for what it is about.
    ///
    /// # Errors
    ///
    /// If one has none.
    pub fn rename<R: Rename<P, S, L, M, F>>(self, by: &R) -> Renamed<R, P, S, L, M, F> {
        let end = |key: &str, end| match end {
            Endpoint::Host(name) => Ok(Endpoint::Host(name)),
            Endpoint::Port(port) => by.port(&format!("{key}.port"), port).map(Endpoint::Port),
        };
        let kind = match self.kind {
            IntentKind::HostToHost { one, other } => IntentKind::HostToHost { one, other },
            IntentKind::PointToPoint { from, to, matching } => IntentKind::PointToPoint {
                from: end("from", from)?,
                to: end("to", to)?,
                matching: by.matching(matching)?,
            },
            IntentKind::Multicast { from, to, matching } => IntentKind::Multicast {
                from: end("from", from)?,
                to: all(to, |it| end("to", it))?,
                matching: by.matching(matching)?,
            },
            IntentKind::Path {
                from,
                to,
                through,
                extent,
                matching,
                actions,
            } => IntentKind::Path {
                from: end("from", from)?,
                to: end("to", to)?,
                through: all(through, |passed| match passed {
                    Waypoint::Switch(it) => by.switch("through.switch", it).map(Waypoint::Switch),
                    Waypoint::Link(it) => by.link("through.link", it).map(Waypoint::Link),
                })?,
                extent,
                matching: by.matching(matching)?,
                actions: all(actions, |it| it.rename(|key, mac| by.mac(key, mac)))?,
            },
            IntentKind::MatchAction {
                at,
                priority,
                matching,
                actions,
            } => IntentKind::MatchAction {
                at: match at {
                    Scope::Everywhere => Scope::Everywhere,
                    Scope::Switches(these) => {
                        Scope::Switches(all(these, |it| by.switch("at.switches", it))?)
                    }
                },
                priority,
                matching: by.matching(matching)?,
                actions: all(actions, |it| it.rename(|key, mac| by.mac(key, mac)))?,
            },
        };
        let name = self.name;
        Ok(Intent { name, kind })
    }
}

fn all<T, U, E>(these: Vec<T>, rename: impl Fn(T) -> Result<U, E>) -> Result<Vec<U>, E> {
    these.into_iter().map(rename).collect()
}

impl<M> FrameAction<M> {
    fn rename<N, E>(self, mac: impl Fn(&str, M) -> Result<N, E>) -> Result<FrameAction<N>, E> {
        Ok(match self {
            Self::Output(port) => FrameAction::Output(port),
            Self::Flood => FrameAction::Flood,
            Self::Controller => FrameAction::Controller,
            Self::Queue(queue) => FrameAction::Queue(queue),
            Self::SetVlan(vlan) => FrameAction::SetVlan(vlan),
            Self::StripVlan => FrameAction::StripVlan,
            Self::SetSource(it) => FrameAction::SetSource(mac("actions.set-source", it)?),
            Self::SetDestination(it) => {
                FrameAction::SetDestination(mac("actions.set-destination", it)?)
            }
        })
    }
}

/// How far an intent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
#[schemars(rename = "IntentStateDocument")]
pub enum IntentState {
    /// Every switch has confirmed its rules.
    Installed,
    /// Some have not yet.
    Installing,
    /// The network does not let it hold now.
    Waiting {
        /// Why.
        reason: String,
    },
    /// Switches refuse rules of it; they are asked again.
    Failed {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for IntentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed => f.write_str("installed"),
            Self::Installing => f.write_str("installing"),
            Self::Waiting { reason } => write!(f, "waiting: {reason}"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
        }
    }
}

/// An intent in a list. What is to hold is of type `I`: what the controller goes by, or
/// what a document says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "IntentSummaryDocument")]
pub struct IntentSummary<I> {
    /// Its number.
    pub id: IntentId,
    /// Who wants it: `operator`, or the name of an application.
    pub owner: Asker,
    /// How far it is, and why it is no further.
    #[serde(flatten)]
    pub state: IntentState,
    /// The ways that its frames take: one for each direction.
    pub routes: Vec<Route>,
    /// How many rules it has on all switches.
    pub rules: usize,
    /// What is to hold.
    pub intent: I,
}
