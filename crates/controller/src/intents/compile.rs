//! Turns an intent into the rules that keep it, in the network as it is.
//!
//! Ways are shortest ways, and every rule looks at the port by which frames come in:
//! a frame that comes in elsewhere is nobody's, so no rule of an intent can send a
//! frame round. Frames travel in the queue in which nothing is promised.

use thiserror::Error;
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{Action, DatapathId, MatchField, PortNumber, TableId};

use super::Course;
use super::frame::{best_effort, fields, treatments};
use crate::desired::PlacedRule;
use crate::northbound::{Endpoint, FrameAction, FrameMatch, IntentKind, Scope};
use crate::path::{Atlas, Branch, Impassable, Tree};
use crate::place::PortId;
use crate::priority;
use crate::view::{Control, View};

/// The table in which all rules are.
const TABLE: TableId = TableId(0);

/// How an intent is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The ways that its frames take: one for each direction.
    pub trees: Vec<Tree>,
    /// What these cost, in the unit of the metric.
    pub cost: u64,
    pub rules: Vec<PlacedRule>,
}

/// Why an intent cannot be kept now.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// Nobody knows where a host is.
    #[error("nobody knows where host {0} is: no frame of it has arrived")]
    HostAway(String),
    #[error("there is no port {0}")]
    NoPort(PortId),
    /// No path leads from one port to another.
    #[error("no path leads from port {0} to port {1}")]
    NoPath(PortId, PortId),
    /// Frames would leave where they come in.
    #[error("its frames would leave by port {0}, where they come in")]
    SamePort(PortId),
    /// No way passes what it is to pass.
    #[error(transparent)]
    Impassable(#[from] Impassable),
}

/// Returns how to keep an intent.
///
/// # Errors
///
/// Why it cannot be kept now.
pub fn compile(kind: &IntentKind, view: &View, atlas: &mut Atlas) -> Result<Plan, Obstacle> {
    match kind {
        IntentKind::HostToHost { one, other } => host_to_host(one, other, view, atlas),
        IntentKind::PointToPoint { from, to, matching } => {
            let ends = IntentEnds::of(from, std::slice::from_ref(to), matching, view)?;
            ends.connect(view, atlas)
        }
        IntentKind::Multicast { from, to, matching } => {
            IntentEnds::of(from, to, matching, view)?.connect(view, atlas)
        }
        IntentKind::Path {
            from,
            to,
            through,
            extent,
            matching,
            actions,
        } => {
            let ends = IntentEnds::of(from, std::slice::from_ref(to), matching, view)?;
            let (source, destination) = (ends.source, ends.destinations[0]);
            let switches = [source.datapath, destination.datapath];
            let way = atlas.through(view, switches, through, *extent)?;
            let tree = way.tree(source, destination);
            Ok(ends.plan(tree, way.cost, actions))
        }
        IntentKind::MatchAction {
            at,
            priority,
            matching,
            actions,
        } => {
            let switches = switches(at, view).into_iter();
            let rules =
                switches.flat_map(|datapath| match_action(datapath, *priority, matching, actions));
            Ok(Plan {
                rules: rules.collect(),
                ..Plan::default()
            })
        }
    }
}

/// Returns how to keep an intent on ways that it had; nothing where its ends are not where
/// they were, or it has no ways.
#[must_use]
pub fn compile_on(kind: &IntentKind, course: &Course, view: &View) -> Option<Plan> {
    let ends = |from, to, matching| IntentEnds::of(from, to, matching, view).ok();
    let tree = || course.trees.first().cloned();
    match kind {
        IntentKind::HostToHost { one, other } => {
            let macs = [one, other].map(|name| view.host(name).map(|host| host.mac));
            let [Some(one), Some(other)] = macs else {
                return None;
            };
            let [on, back] = &course.trees[..] else {
                return None;
            };
            Some(both_ways(
                [one, other],
                [on.clone(), back.clone()],
                course.cost,
            ))
        }
        IntentKind::PointToPoint { from, to, matching } => {
            let ends = ends(from, std::slice::from_ref(to), matching)?;
            Some(ends.plan(tree()?, course.cost, &[]))
        }
        IntentKind::Multicast { from, to, matching } => {
            Some(ends(from, to, matching)?.plan(tree()?, course.cost, &[]))
        }
        IntentKind::Path {
            from,
            to,
            matching,
            actions,
            ..
        } => {
            let ends = ends(from, std::slice::from_ref(to), matching)?;
            Some(ends.plan(tree()?, course.cost, actions))
        }
        IntentKind::MatchAction { .. } => None,
    }
}

/// Returns the rules of a match-action at one switch.
#[must_use]
pub fn match_action(
    datapath: DatapathId,
    priority: u8,
    matching: &FrameMatch,
    actions: &[FrameAction],
) -> Vec<PlacedRule> {
    let treatments = treatments(matching, actions).into_iter();
    let rules = treatments.map(|treatment| PlacedRule {
        datapath,
        table: TABLE,
        priority: priority::MATCH_ACTION + u16::from(priority),
        matching: with(fields(matching, None), treatment.only),
        actions: treatment.actions,
    });
    rules.collect()
}

/// Returns the switches that are meant. One that is named and was never there gets
/// its rules when it comes.
fn switches(scope: &Scope, view: &View) -> Vec<DatapathId> {
    let is_known = |control| match control {
        Control::Connected | Control::Lost => true,
        Control::Forgotten => false,
    };
    match scope {
        Scope::Everywhere => {
            let known = view
                .switches()
                .iter()
                .filter(|switch| is_known(switch.control));
            known.map(|switch| switch.datapath).collect()
        }
        Scope::Switches(these) => these.clone(),
    }
}

/// Both ways lead over the same links: what breaks one breaks the other, and an
/// operator finds both where he looks for one.
fn host_to_host(one: &str, other: &str, view: &View, atlas: &mut Atlas) -> Result<Plan, Obstacle> {
    let [here, there] = [one, other].map(|name| {
        let host = view.host(name);
        let found = host.and_then(|host| Some((host.attachment?, host.mac)));
        found.ok_or_else(|| Obstacle::HostAway(name.to_owned()))
    });
    let ((here, one), (there, other)) = (here?, there?);
    if here == there {
        // They hear each other behind that port.
        return Ok(Plan::default());
    }
    let way = atlas.shortest(view, here.datapath, there.datapath);
    let way = way.ok_or(Obstacle::NoPath(here, there))?;
    let (on, back) = (way.tree(here, there), way.reversed().tree(there, here));
    Ok(both_ways([one, other], [on, back], way.cost))
}

/// Returns the rules by which two hosts reach each other.
fn both_ways([one, other]: [MacAddress; 2], [on, back]: [Tree; 2], cost: u64) -> Plan {
    let addresses = |from, to| {
        vec![
            MatchField::EthSrc(Masked::exact(from)),
            MatchField::EthDst(Masked::exact(to)),
        ]
    };
    let mut rules = along(&on, priority::HOST_TO_HOST, &addresses(one, other));
    rules.extend(along(&back, priority::HOST_TO_HOST, &addresses(other, one)));
    Plan {
        trees: vec![on, back],
        cost,
        rules,
    }
}

/// Returns the rules by which frames follow a tree.
#[must_use]
pub fn along(tree: &Tree, priority: u16, matching: &[MatchField]) -> Vec<PlacedRule> {
    let branches = tree.branches.iter();
    let rules = branches.map(|branch| PlacedRule {
        datapath: branch.datapath,
        table: TABLE,
        priority,
        matching: entering(branch.input, matching),
        actions: leaving(branch),
    });
    rules.collect()
}

fn entering(input: PortNumber, matching: &[MatchField]) -> Vec<MatchField> {
    let mut fields = Vec::with_capacity(matching.len() + 1);
    fields.push(MatchField::InPort(input));
    fields.extend_from_slice(matching);
    fields
}

fn leaving(branch: &Branch) -> Vec<Action> {
    let outputs = branch.outputs.iter().map(|port| Action::output(*port));
    std::iter::once(best_effort()).chain(outputs).collect()
}

/// Where frames of an intent enter and leave, and which they are.
struct IntentEnds {
    source: PortId,
    destinations: Vec<PortId>,
    matching: FrameMatch,
}

impl IntentEnds {
    fn of(
        from: &Endpoint,
        to: &[Endpoint],
        matching: &FrameMatch,
        view: &View,
    ) -> Result<Self, Obstacle> {
        let (source, mac) = locate(from, view)?;
        let mut destinations = to
            .iter()
            .map(|end| Ok(locate(end, view)?.0))
            .collect::<Result<Vec<PortId>, Obstacle>>()?;
        // Who is behind that port hears the frames anyway.
        destinations.retain(|port| *port != source);
        if destinations.is_empty() {
            return Err(Obstacle::SamePort(source));
        }
        Ok(Self {
            source,
            destinations,
            matching: FrameMatch {
                input: None,
                source: matching.source.or(mac),
                ..*matching
            },
        })
    }

    fn connect(&self, view: &View, atlas: &mut Atlas) -> Result<Plan, Obstacle> {
        let found = atlas.tree(view, self.source, &self.destinations);
        let (tree, cost) = found.map_err(|port| Obstacle::NoPath(self.source, port))?;
        Ok(self.plan(tree, cost, &[]))
    }

    /// Returns the rules for a tree; `actions` are what is done at its end.
    fn plan(&self, tree: Tree, cost: u64, actions: &[FrameAction]) -> Plan {
        let matching = fields(&self.matching, None);
        let particular = u16::try_from(matching.len()).expect("a match has at most 40 fields");
        let priority = priority::CONNECTIVITY + particular;
        let mut rules = along(&tree, priority, &matching);
        if !actions.is_empty()
            && let (Some(last), Some(rule)) = (tree.branches.last(), rules.pop())
        {
            let outputs = last.outputs.iter().copied().map(FrameAction::Output);
            let actions: Vec<FrameAction> = actions.iter().copied().chain(outputs).collect();
            let treatments = treatments(&self.matching, &actions).into_iter();
            rules.extend(treatments.map(|treatment| PlacedRule {
                matching: with(rule.matching.clone(), treatment.only),
                actions: treatment.actions,
                ..rule.clone()
            }));
        }
        Plan {
            trees: vec![tree],
            cost,
            rules,
        }
    }
}

fn with(mut fields: Vec<MatchField>, more: Option<MatchField>) -> Vec<MatchField> {
    fields.extend(more);
    fields
}

/// Returns a port, and the address of the host there if a host is meant.
fn locate(end: &Endpoint, view: &View) -> Result<(PortId, Option<MacAddress>), Obstacle> {
    match end {
        Endpoint::Host(name) => {
            let host = view.host(name);
            let found = host.and_then(|host| Some((host.attachment?, Some(host.mac))));
            found.ok_or_else(|| Obstacle::HostAway(name.clone()))
        }
        Endpoint::Port(port) => match view.port(*port) {
            Some(_) => Ok((*port, None)),
            None => Err(Obstacle::NoPort(*port)),
        },
    }
}

/// Returns the hosts that an intent names.
#[must_use]
pub fn hosts(kind: &IntentKind) -> Vec<&str> {
    match kind {
        IntentKind::HostToHost { one, other } => vec![one, other],
        IntentKind::PointToPoint { from, to, .. } | IntentKind::Path { from, to, .. } => {
            [from, to].into_iter().filter_map(name).collect()
        }
        IntentKind::Multicast { from, to, .. } => {
            std::iter::once(from).chain(to).filter_map(name).collect()
        }
        IntentKind::MatchAction { .. } => Vec::new(),
    }
}

fn name(end: &Endpoint) -> Option<&str> {
    match end {
        Endpoint::Host(name) => Some(name),
        Endpoint::Port(_) => None,
    }
}
