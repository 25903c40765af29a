//! Figures as data, and as SVG that stands in a page or in a file of its own.

mod box_chart;
mod curve_chart;
mod heat_map;
mod network_map;
mod plot;
mod road_map;

use serde::Serialize;

pub use box_chart::{BoxChart, BoxColumn, BoxSummary, Reference, ReferenceKind};
pub use curve_chart::{Curve, CurveChart};
pub use heat_map::{Axis, HeatMap, Scale};
pub use network_map::NetworkMap;
pub use road_map::{Lane, RoadMap};

use crate::document::markup::Element;
use crate::document::svg::drawing;

const STYLE: &str = include_str!("picture/style.css");

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Picture {
    /// A value for each place of a plane.
    HeatMap(HeatMap),
    /// A distribution for each of a list of cases.
    Boxes(BoxChart),
    /// Values that follow from another.
    Curves(CurveChart),
    Network(NetworkMap),
    /// A road, and where cars stop on it.
    Road(RoadMap),
}

impl Picture {
    /// Returns its name, which is that of its file without the ending.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::HeatMap(map) => &map.name,
            Self::Boxes(chart) => &chart.name,
            Self::Curves(chart) => &chart.name,
            Self::Network(map) => &map.name,
            Self::Road(map) => &map.name,
        }
    }

    /// Returns it as a file.
    #[must_use]
    pub fn to_svg(&self) -> String {
        format!("{}\n", self.element())
    }

    /// Returns it as it stands on a page: as wide as its words need, moved sideways where
    /// the page is narrower.
    pub(crate) fn on_page(&self) -> Element {
        Element::new("div").child(self.element())
    }

    pub(crate) fn element(&self) -> Element {
        match self {
            Self::HeatMap(map) => map.element(),
            Self::Boxes(chart) => chart.element(),
            Self::Curves(chart) => chart.element(),
            Self::Network(map) => map.element(),
            Self::Road(map) => map.element(),
        }
    }
}

fn canvas((width, height): (f64, f64), title: &str, description: &str) -> Element {
    drawing(width, height, title, description)
        .with("xmlns", "http://www.w3.org/2000/svg")
        .class("figure")
        .child(Element::new("style").verbatim(STYLE))
}

/// Rounds to four digits: enough for a plot, and short as text.
#[must_use]
pub fn for_plot(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3.0 - value.abs().log10().floor();
    let scale = 10f64.powf(digits.clamp(-300.0, 300.0));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests;
