//! The plots of LOKO Fig. 20, for each variant, and one of all.

use measure::document::picture::{BoxChart, BoxColumn, BoxSummary, Curve, CurveChart, for_plot};
use measure::reproduction::Picture;

use super::super::super::amounts::real;
use super::Tried;
use super::experience::Experience;
use super::ring::LENGTHS;

const X_LABEL: &str = "path length (links)";

/// What is plotted of an experience.
struct Plot {
    name: &'static str,
    y_label: &'static str,
    samples: fn(&Experience) -> &[f64],
    factor: f64,
}

/// A mean of all runs, as a share.
struct Mean {
    name: &'static str,
    title: &'static str,
    y_label: &'static str,
    of: fn(&Experience) -> f64,
}

const MEANS: [Mean; 2] = [
    Mean {
        name: "fig20-accepted",
        title: "Accepted requests",
        y_label: "accepted requests, %",
        of: Experience::mean_accepted,
    },
    Mean {
        name: "fig20-first-refusal",
        title: "Use of the busiest switch at the first refusal",
        y_label: "rate in use, %",
        of: Experience::mean_before_refusal,
    },
];

const PLOTS: [Plot; 4] = [
    Plot {
        name: "accepted",
        y_label: "accepted requests, %",
        samples: |experience| &experience.accepted,
        factor: 100.0,
    },
    Plot {
        name: "rate",
        y_label: "rate of each switch, Mbit/s",
        samples: |experience| &experience.rates,
        factor: 1.0,
    },
    Plot {
        name: "bottleneck-rate",
        y_label: "rate used at the bottleneck, %",
        samples: |experience| &experience.bottleneck_rate,
        factor: 100.0,
    },
    Plot {
        name: "bottleneck-burst",
        y_label: "burst used at the bottleneck, %",
        samples: |experience| &experience.bottleneck_burst,
        factor: 100.0,
    },
];

pub fn pictures(tried: &[Tried]) -> Vec<Picture> {
    let boxes = tried.iter().flat_map(|tried| {
        let plots = PLOTS.iter();
        plots
            .filter_map(|plot| boxes(tried, plot))
            .map(Picture::Boxes)
    });
    MEANS
        .iter()
        .map(|mean| Picture::Curves(curves(tried, mean)))
        .chain(boxes)
        .collect()
}

/// Returns a mean over the length of paths, for each variant.
fn curves(tried: &[Tried], mean: &Mean) -> CurveChart {
    let curve = |tried: &Tried| Curve {
        label: tried.variant.label.to_owned(),
        values: tried
            .lengths
            .iter()
            .map(|one| for_plot((mean.of)(one) * 100.0))
            .collect(),
    };
    CurveChart {
        name: mean.name.to_owned(),
        title: format!("{}, mean of all runs", mean.title),
        x_label: X_LABEL.to_owned(),
        y_label: mean.y_label.to_owned(),
        x: LENGTHS
            .map(|length| real(u64::try_from(length).unwrap_or(0)))
            .collect(),
        curves: tried.iter().map(curve).collect(),
    }
}

/// Returns a plot of a variant, or nothing if it has no such figures.
fn boxes(tried: &Tried, plot: &Plot) -> Option<BoxChart> {
    let columns = LENGTHS.zip(&tried.lengths).map(|(length, experience)| {
        let samples = (plot.samples)(experience).iter();
        let mut samples: Vec<f64> = samples
            .map(|sample| for_plot(sample * plot.factor))
            .collect();
        BoxColumn {
            label: length.to_string(),
            summary: BoxSummary::of(&mut samples),
            lost_percent: None,
        }
    });
    let columns: Vec<_> = columns.collect();
    columns
        .iter()
        .any(|column| column.summary.is_some())
        .then(|| BoxChart {
            name: format!("{}-{}", tried.variant.name, plot.name),
            title: tried.variant.label.to_owned(),
            x_label: X_LABEL.to_owned(),
            y_label: plot.y_label.to_owned(),
            columns,
            references: Vec::new(),
        })
}
