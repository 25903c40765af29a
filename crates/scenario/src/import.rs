//! Networks from topology files: node-link JSON and GraphML.
//!
//! A file says which nodes there are, which of them are end systems, and which
//! are linked, with lengths and rates where it knows them. Where it knows the
//! positions of the nodes but no length, the link is as long as the great
//! circle between them, rounded up to whole metres; a real cable is longer.

mod graphml;
mod node_link;

use std::collections::{BTreeMap, BTreeSet};

use units::BitRate;

use crate::length::Length;
use crate::limits::{MOST_LINKS, MOST_NODES};
use crate::mistake::LONGEST_NAME;
use crate::network::Position;
use crate::shape::{HIGHEST_RATE, LOWEST_RATE};

/// What a topology file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImportedTopology {
    /// The nodes; their names are unique and valid.
    pub(crate) nodes: Vec<TopologyNode>,
    pub(crate) links: Vec<TopologyLink>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopologyNode {
    pub(crate) name: String,
    pub(crate) kind: NodeKind,
    pub(crate) position: Option<Position>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Switch,
    EndSystem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TopologyLink {
    /// Places in [`ImportedTopology::nodes`].
    pub(crate) ends: [usize; 2],
    pub(crate) rate: Option<BitRate>,
    pub(crate) length: Option<Length>,
}

/// Reads a topology file, whose format follows from the ending of its name.
///
/// # Errors
///
/// What is wrong with the file and where, as a sentence.
pub(crate) fn read(file: &str, text: &str) -> Result<ImportedTopology, String> {
    let raw = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("json") => node_link::read(text)?,
        Some("graphml" | "xml") => graphml::read(text)?,
        Some(_) | None => {
            return Err("its name ends neither in .json nor in .graphml".to_owned());
        }
    };
    raw.resolve()
}

/// What both formats say, before names are made unique and ends looked up.
#[derive(Debug, Default)]
struct RawTopology {
    nodes: Vec<RawNode>,
    links: Vec<RawLink>,
}

#[derive(Debug)]
struct RawNode {
    id: String,
    name: Option<String>,
    kind: Option<String>,
    /// Longitude and latitude in degrees.
    position: Option<[f64; 2]>,
}

#[derive(Debug)]
struct RawLink {
    ends: [String; 2],
    length_km: Option<String>,
    rate: Option<BitRate>,
}

impl RawTopology {
    fn resolve(self) -> Result<ImportedTopology, String> {
        let limit = usize::try_from(MOST_NODES).expect("a usize has 32 bits at least");
        if self.nodes.len() > limit || self.links.len() > MOST_LINKS {
            return Err(format!("more than {limit} nodes or {MOST_LINKS} links"));
        }
        let mut by_id = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if by_id.insert(node.id.as_str(), index).is_some() {
                return Err(format!("two nodes have the id `{}`", node.id));
            }
        }
        let mut links = Vec::with_capacity(self.links.len());
        for (index, link) in self.links.iter().enumerate() {
            let link = link.resolve(&by_id, &self.nodes);
            links.push(link.map_err(|error| format!("link {index}: {error}"))?);
        }
        let names = unique_names(&self.nodes);
        let nodes = self.nodes.iter().zip(names);
        let nodes: Result<_, String> = nodes
            .map(|(node, name)| {
                Ok(TopologyNode {
                    name,
                    kind: node.kind()?,
                    position: node.position.and_then(in_millionths),
                })
            })
            .collect();
        Ok(ImportedTopology {
            nodes: nodes?,
            links,
        })
    }
}

impl RawNode {
    fn kind(&self) -> Result<NodeKind, String> {
        match self.kind.as_deref() {
            None | Some("switch") => Ok(NodeKind::Switch),
            Some("end_system") => Ok(NodeKind::EndSystem),
            Some(other) => Err(format!(
                "node `{}` is of the kind `{other}`, neither switch nor end_system",
                self.id
            )),
        }
    }
}

impl RawLink {
    fn resolve(
        &self,
        by_id: &BTreeMap<&str, usize>,
        nodes: &[RawNode],
    ) -> Result<TopologyLink, String> {
        let find = |id: &String| {
            let node = by_id.get(id.as_str()).copied();
            node.ok_or_else(|| format!("it ends at `{id}`, which is no node"))
        };
        let ends = [find(&self.ends[0])?, find(&self.ends[1])?];
        let length = match &self.length_km {
            Some(km) => {
                let length = format!("{km} km").parse::<Length>();
                Some(length.map_err(|error| format!("its length: {error}"))?)
            }
            None => match ends.map(|end| nodes[end].position) {
                [Some(one), Some(other)] => great_circle(one, other),
                [_, None] | [None, _] => None,
            },
        };
        let rate = self.rate;
        if let Some(rate) = rate.filter(|rate| !(LOWEST_RATE..=HIGHEST_RATE).contains(rate)) {
            return Err(format!(
                "its capacity, {rate}, is not between {LOWEST_RATE} and {HIGHEST_RATE}"
            ));
        }
        Ok(TopologyLink { ends, rate, length })
    }
}

/// Returns a valid name for each node, the same for the same file: characters
/// that no name has become `-`, and a name that occurs twice gets its id added.
fn unique_names(nodes: &[RawNode]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::with_capacity(nodes.len());
    for node in nodes {
        let base = tidy(node.name.as_deref().unwrap_or(&node.id));
        let candidates = [base.clone(), tidy(&format!("{base}-{}", node.id))];
        let counted = (2..).map(|n: u32| format!("{base}-{n}"));
        let name = candidates
            .into_iter()
            .chain(counted)
            .find(|name| !taken.contains(name))
            .expect("one of more names than there are nodes is free");
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// Leaves room for what is added to make the name unique and for its hosts.
const LONGEST_TIDY_NAME: usize = LONGEST_NAME - 12;

fn tidy(text: &str) -> String {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let kept: String = text
        .chars()
        .map(|c| if good(c) { c } else { '-' })
        .collect();
    let trimmed = kept.trim_matches(|c: char| !c.is_alphanumeric());
    match trimmed {
        "" => "n".to_owned(),
        trimmed => trimmed.chars().take(LONGEST_TIDY_NAME).collect(),
    }
}

/// Returns a position in the numbers of a map, unless it is nowhere.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a map is not that large, and `as` saturates"
)]
fn in_millionths(position: [f64; 2]) -> Option<Position> {
    let is_known = position.iter().all(|degrees| degrees.is_finite());
    let [east, north] = position.map(|degrees| (degrees * 1e6).round() as i32);
    is_known.then_some(Position { east, north })
}

/// Returns the length of the great circle between two positions (longitude,
/// latitude, in degrees), rounded up to whole metres.
fn great_circle(one: [f64; 2], other: [f64; 2]) -> Option<Length> {
    const EARTH_RADIUS_M: f64 = 6_371_000.0;
    let [lon_1, lat_1] = one.map(f64::to_radians);
    let [lon_2, lat_2] = other.map(f64::to_radians);
    let across = ((lat_2 - lat_1) / 2.0).sin().powi(2);
    let along = lat_1.cos() * lat_2.cos() * ((lon_2 - lon_1) / 2.0).sin().powi(2);
    let metres = 2.0 * EARTH_RADIUS_M * (across + along).sqrt().min(1.0).asin();
    format!("{} m", metres.ceil()).parse().ok()
}

#[cfg(test)]
mod tests;
