//! `fig3`, `fig15`, `fig17`, `fig18`, `fig19`: two emulated switches with four
//! hosts, LOKO sections 2.3 and 6.1 (S4-7, S4-8).

mod deployments;
mod sweeps;

use crate::loko::emulated::experiment::{self, Observation};
use measure::document::picture::{BoxColumn, BoxSummary, for_plot};
use units::Duration;

use super::super::Thoroughness;

pub use deployments::{fig3, fig15};
pub use sweeps::{fig17, fig18, fig19};

impl From<Thoroughness> for experiment::Repetitions {
    fn from(effort: Thoroughness) -> Self {
        match effort {
            Thoroughness::Full => Self::FULL,
            Thoroughness::Quick => Self::QUICK,
        }
    }
}

/// What was observed, as a column of a plot.
fn column(label: String, observation: &Observation) -> BoxColumn {
    let ms = |time: Duration| for_plot(time.as_secs_f64() * 1e3);
    let summary = observation.delays.map(|delays| BoxSummary {
        min: ms(delays.min),
        p1: ms(delays.p1),
        q1: ms(delays.q1),
        median: ms(delays.median),
        q3: ms(delays.q3),
        p99: ms(delays.p99),
        max: ms(delays.max),
    });
    BoxColumn {
        label,
        summary,
        lost_percent: Some(for_plot(observation.lost_percent())),
    }
}
