//! A network as a map: places and the links between them.

use serde::Serialize;

use super::canvas;
use crate::document::markup::Element;
use crate::document::svg::{circle, label, line};

/// The side of the square in which places lie.
const SIDE: f64 = 640.0;
const MARGIN: f64 = 24.0;
const TITLE: f64 = 28.0;
const RADIUS: f64 = 3.5;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkMap {
    /// The name of its file.
    pub name: String,
    pub title: String,
    /// Where each node is, from 0 to 1 in both directions.
    pub places: Vec<[f64; 2]>,
    /// The links, as pairs of places.
    pub links: Vec<[usize; 2]>,
}

impl NetworkMap {
    pub(super) fn element(&self) -> Element {
        let (width, height) = (SIDE + 2.0 * MARGIN, SIDE + 2.0 * MARGIN + TITLE);
        let description = format!("{} nodes, {} links.", self.places.len(), self.links.len());
        let at = |[x, y]: [f64; 2]| (MARGIN + x * SIDE, TITLE + MARGIN + y * SIDE);
        let links = self.links.iter().filter_map(|[one, other]| {
            let ends = (self.places.get(*one)?, self.places.get(*other)?);
            Some(line(at(*ends.0), at(*ends.1)).class("outline"))
        });
        let nodes = self.places.iter();
        let nodes = nodes.map(|place| circle(at(*place), RADIUS).class("some"));
        canvas((width, height), &self.title, &description)
            .child(label((MARGIN, TITLE - 8.0), &self.title).class("name"))
            .children(links)
            .children(nodes)
    }
}
