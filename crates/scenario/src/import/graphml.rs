//! GraphML, as the Internet Topology Zoo writes it: `label`, `Latitude`,
//! `Longitude` of nodes, `LinkSpeedRaw` (bit/s) of edges; also `kind` of nodes
//! and `length_km`, `capacity_mbps` of edges as in our node-link JSON.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};
use units::BitRate;

use super::{RawLink, RawNode, RawTopology};

/// The attributes of one element by their declared names.
type Attributes<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn read(text: &str) -> Result<RawTopology, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        return Err(format!(
            "its root is <{}>, not <graphml>",
            root.tag_name().name()
        ));
    }
    let keys: BTreeMap<&str, &str> = children(root, "key")
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    let Some(graph) = children(root, "graph").next() else {
        return Err("it has no <graph>".to_owned());
    };

    let mut topology = RawTopology::default();
    for node in children(graph, "node") {
        topology.nodes.push(read_node(node, &keys)?);
    }
    for edge in children(graph, "edge") {
        topology.links.push(read_edge(edge, &keys)?);
    }
    Ok(topology)
}

fn read_node(node: Node<'_, '_>, keys: &BTreeMap<&str, &str>) -> Result<RawNode, String> {
    let attributes = attributes(node, keys);
    let degrees = |name: &str| attributes.get(name)?.parse::<f64>().ok();
    Ok(RawNode {
        id: required(node, "id")?,
        name: attributes.get("label").map(|name| (*name).to_owned()),
        kind: attributes.get("kind").map(|kind| (*kind).to_owned()),
        position: degrees("Longitude")
            .zip(degrees("Latitude"))
            .map(Into::into),
    })
}

fn read_edge(edge: Node<'_, '_>, keys: &BTreeMap<&str, &str>) -> Result<RawLink, String> {
    let attributes = attributes(edge, keys);
    Ok(RawLink {
        ends: [required(edge, "source")?, required(edge, "target")?],
        length_km: attributes.get("length_km").map(|km| (*km).to_owned()),
        rate: rate(&attributes).map_err(|error| format!("{}: {error}", position(edge)))?,
    })
}

fn rate(attributes: &Attributes<'_>) -> Result<Option<BitRate>, String> {
    let units = [("LinkSpeedRaw", "bit/s"), ("capacity_mbps", "Mbit/s")];
    for (name, unit) in units {
        if let Some(number) = attributes.get(name) {
            let rate = format!("{number} {unit}").parse();
            return rate.map(Some).map_err(|error| format!("{name}: {error}"));
        }
    }
    Ok(None)
}

fn attributes<'a>(node: Node<'a, 'a>, keys: &BTreeMap<&'a str, &'a str>) -> Attributes<'a> {
    children(node, "data")
        .filter_map(|data| {
            let name = keys.get(data.attribute("key")?)?;
            Some((*name, data.text()?.trim()))
        })
        .collect()
}

fn required(node: Node<'_, '_>, name: &str) -> Result<String, String> {
    let attribute = node.attribute(name).map(str::to_owned);
    attribute.ok_or_else(|| {
        let tag = node.tag_name().name();
        format!("{}: <{tag}> has no `{name}`", position(node))
    })
}

fn children<'a>(node: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children()
        .filter(move |child| child.tag_name().name() == name)
}

fn position(node: Node<'_, '_>) -> String {
    let position = node.document().text_pos_at(node.range().start);
    format!("line {}, column {}", position.row, position.col)
}
