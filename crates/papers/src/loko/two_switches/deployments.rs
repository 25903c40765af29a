//! `fig3` and `fig15`: which of Silo, QJump and Loko keeps its promise, LOKO Figs.
//! 3 and 15.

use crate::loko::emulated::deployments::{self, Deployment};
use measure::document::picture::{BoxChart, Reference, ReferenceKind, for_plot};
use measure::reproduction::{Picture, Row};

use super::super::super::amounts::{mbps, ms, us};
use super::super::super::{ExperimentOutcome, ExperimentSettings, Progress, World};
use super::column;

const EMULATED: &str = "Both devices are emulations. Of the Banana Pi R1 the paper says little: its times are fitted \
    to one throughput and one loss rate, its buffers are ours.";
const TABLES: &str = "Section 2.3 has two switches process for 257 us, section 6 one switch. The former fits used \
    entries that stand first with priorities that decrease, the latter used entries that stand last; both are run.";

/// LOKO Fig. 3.
pub fn fig3(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    outcome(
        "fig3",
        &deployments::fig3(settings.effort.into(), settings.seed, progress),
    )
}

/// LOKO Fig. 15.
pub fn fig15(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    outcome(
        "fig15",
        &deployments::fig15(settings.effort.into(), settings.seed, progress),
    )
}

fn outcome(figure: &str, deployed: &[Deployment]) -> ExperimentOutcome {
    let numbered = (1..).zip(deployed);
    ExperimentOutcome {
        world: World::Sim,
        rows: deployed.iter().flat_map(rows).collect(),
        pictures: numbered
            .map(|(number, one)| picture(figure, number, one))
            .collect(),
        remarks: vec![EMULATED.to_owned(), TABLES.to_owned()],
        broken: deployed.iter().filter_map(broken).collect(),
    }
}

fn rows(deployed: &Deployment) -> [Row; 4] {
    let observed = &deployed.observation;
    let row = |what: &str, unit| Row::new(format!("{}: {what}", deployed.name), unit);
    [
        row("guarantee", "us").ours(us(deployed.guarantee)),
        row("rate of a host", "Mbit/s").ours(mbps(deployed.contract.rate)),
        row("lost", "%")
            .printed(deployed.printed_lost)
            .ours(observed.lost_percent())
            .note(why_it_differs(deployed.name)),
        row("late", "%")
            .printed(deployed.printed_late)
            .ours(observed.late_percent())
            .note(why_it_differs(deployed.name)),
    ]
}

/// Says why our figures are not the paper's, or nothing where they have to be.
fn why_it_differs(name: &str) -> &'static str {
    match name {
        "Silo, Zodiac FX, used entries last" => {
            "the slower table, of section 6; the paper's 257 us for two switches fit the faster one"
        }
        "Silo, Zodiac FX, used entries first" => {
            "how much an overloaded switch lets through depends on its pause frames, of which the paper prints no \
             figures"
        }
        "QJump, Zodiac FX, used entries last" | "QJump, Zodiac FX, used entries first" => {
            "with the slower table the switches are overloaded, with the faster one they are not: the paper's \
             figures lie between"
        }
        name if name.contains("Banana Pi") => {
            "times are fitted and buffers are ours: the paper prints neither"
        }
        _ => "",
    }
}

fn picture(figure: &str, number: u32, deployed: &Deployment) -> Picture {
    let guarantee = Reference {
        label: "guarantee".to_owned(),
        value: for_plot(ms(deployed.guarantee)),
        kind: ReferenceKind::Guarantee,
    };
    Picture::Boxes(BoxChart {
        name: format!("{figure}-{number}"),
        title: deployed.name.to_owned(),
        x_label: String::new(),
        y_label: "delay, ms".to_owned(),
        columns: vec![column(String::new(), &deployed.observation)],
        references: vec![guarantee],
    })
}

/// Says that a promise of Loko, which is ours too, did not hold.
fn broken(deployed: &Deployment) -> Option<String> {
    let observed = &deployed.observation;
    let is_ours = deployed.name.starts_with("Loko");
    (is_ours && !observed.is_clean()).then(|| {
        format!(
            "{}: {} of {} frames lost, {} late",
            deployed.name, observed.lost, observed.sent, observed.late
        )
    })
}
