//! Node-link JSON: `nodes` with `id`, `name`, `pos` or `kind`; `links` with
//! `a`, `b`, `length_km`, `capacity_mbps`. What is absent or null is unknown.

use serde::Deserialize;
use serde_json::Number;
use units::BitRate;

use super::{RawLink, RawNode, RawTopology};

#[derive(Deserialize)]
struct File {
    nodes: Vec<JsonNode>,
    links: Vec<JsonLink>,
}

#[derive(Deserialize)]
struct JsonNode {
    id: Id,
    name: Option<String>,
    kind: Option<String>,
    pos: Option<[f64; 2]>,
}

#[derive(Deserialize)]
struct JsonLink {
    a: Id,
    b: Id,
    length_km: Option<Number>,
    capacity_mbps: Option<Number>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(i64),
    Text(String),
}

pub(super) fn read(text: &str) -> Result<RawTopology, String> {
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let nodes = file.nodes.into_iter().map(|node| RawNode {
        id: node.id.into_text(),
        name: node.name,
        kind: node.kind,
        position: node.pos,
    });
    let links = file.links.into_iter().enumerate();
    let links: Result<_, String> = links
        .map(|(index, link)| {
            Ok(RawLink {
                ends: [link.a.into_text(), link.b.into_text()],
                length_km: link.length_km.map(|km| km.to_string()),
                rate: link
                    .capacity_mbps
                    .map(|mbps| rate(&mbps))
                    .transpose()
                    .map_err(|error| format!("link {index}: {error}"))?,
            })
        })
        .collect();
    Ok(RawTopology {
        nodes: nodes.collect(),
        links: links?,
    })
}

impl Id {
    fn into_text(self) -> String {
        match self {
            Self::Number(id) => id.to_string(),
            Self::Text(id) => id,
        }
    }
}

fn rate(mbps: &Number) -> Result<BitRate, String> {
    let rate = format!("{mbps} Mbit/s").parse();
    rate.map_err(|error| format!("its capacity: {error}"))
}
