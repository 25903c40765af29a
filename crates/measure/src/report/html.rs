//! `report.html`: the run for people, in one file that needs nothing else.
//!
//! Every plot is one module and comes out as SVG; colours are variables of the
//! style sheet, so that the page follows the reader's light or dark theme and
//! prints. Whatever a colour says, a shape or a word says too. The script only
//! lights a flow in all plots at once and sorts the table; without it nothing is
//! missing.

mod calculation;
mod distributions;
mod flow_table;
mod headline;
mod layout;
mod margins;
pub(crate) mod markup;
mod modes;
mod platform;
pub(crate) mod quantity;
mod restoration;
mod sums;
pub(crate) mod svg;
mod time_line;
mod topology;

use super::extent::MOST_ON_PAGE;
use super::{Extent, Report};
use markup::Element;

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

impl Report {
    /// Returns the report as a page, with as many of its flows one by one.
    #[must_use]
    pub fn to_html(&self, extent: Extent) -> String {
        let worst = match extent {
            Extent::Worst => self.of_the_worst(MOST_ON_PAGE),
            Extent::All => None,
        };
        let shown = worst.as_ref().map_or(self, |(worst, _)| worst);
        let sums = worst
            .as_ref()
            .map(|(_, left_out)| sums::section(self, *left_out));
        let sections = [
            Some(headline::section(self)),
            sums,
            margins::section(shown),
            topology::section(shown),
            time_line::section(shown),
            modes::section(shown),
            distributions::section(shown),
            restoration::section(shown),
            Some(flow_table::section(shown)),
            calculation::section(shown),
            Some(platform::section(self)),
        ];
        let body = Element::new("body")
            .child(Element::new("main").children(sections.into_iter().flatten()))
            .child(Element::new("script").verbatim(SCRIPT));
        page(&self.title, body)
    }
}

/// Returns a page in our style.
pub(crate) fn page(title: &str, body: Element) -> String {
    let head = Element::new("head")
        .child(Element::new("meta").with("charset", "utf-8"))
        .child(
            Element::new("meta")
                .with("name", "viewport")
                .with("content", "width=device-width, initial-scale=1"),
        )
        .child(Element::new("title").text(format!("{title} · Taktos")))
        .child(Element::new("style").verbatim(STYLE));
    let page = Element::new("html")
        .with("lang", "en")
        .child(head)
        .child(body);
    format!("<!doctype html>\n{page}\n")
}
