//! The lines that the terminal shows at the end of a run.

mod levels;

use units::Duration;

use super::extent::{LINES_OF_MANY, MOST_LINES};
use super::{CulpritReport, ExceededReport, FlowReport, Report, ShownFlows, Verdict};
use crate::document::table::{Column, left, right};
use crate::document::{Block, Section, Table};

const NS_PER_MS: u128 = 1_000_000;

/// Returns a time in milliseconds, rounded to the nearest hundredth, or to the
/// nearest thousandth below 0.05 ms.
#[must_use]
pub fn milliseconds(ns: u64) -> String {
    let decimals: u32 = match ns {
        0..50_000 => 3,
        _ => 2,
    };
    let scale = 10u128.pow(decimals);
    let scaled = (u128::from(ns) * scale + NS_PER_MS / 2) / NS_PER_MS;
    let width = usize::try_from(decimals).expect("two or three");
    format!("{}.{:0width$} ms", scaled / scale, scaled % scale)
}

/// Returns hundredths as a factor, with one decimal.
#[must_use]
pub fn factor(hundredths: u64) -> String {
    format!("{}.{}", hundredths / 100, hundredths % 100 / 10)
}

/// How much is said of each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Details {
    /// What was asked for, what was calculated, what was seen, and the verdict.
    Few,
    /// Its frames as well: how many were sent, lost, set apart, beyond the contract and
    /// not judged.
    All,
}

const COLUMNS: [Column; 6] = [
    left("flow"),
    right("deadline"),
    right("bound"),
    right("highest"),
    right("safety"),
    left("verdict"),
];
const DETAILS: [Column; 10] = [
    left("flow"),
    left("kind"),
    right("median"),
    right("sent"),
    right("lost"),
    right("late"),
    right("stalled"),
    right("beyond contract"),
    right("skipped"),
    right("not judged"),
];

/// Returns the table of flows and the summary. Of many flows the worst stand there, unless
/// all are wanted, and what each kind comes to.
pub(super) fn section(report: &Report, details: Details, extent: ShownFlows) -> Section {
    let is_folded = extent == ShownFlows::Worst && report.flows.len() > MOST_LINES;
    let flows = match is_folded {
        true => report
            .worst_first()
            .into_iter()
            .take(LINES_OF_MANY)
            .collect(),
        false => report.flows.iter().collect::<Vec<_>>(),
    };
    let table = Table::new(COLUMNS).rows(flows.iter().map(|flow| row(flow)));
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(report.bound_line().map(Block::Note));
    if details == Details::All {
        let details = Table::new(DETAILS).rows(flows.iter().map(|flow| details_row(flow)));
        blocks.extend([Block::Gap, Block::Table(details), Block::Gap]);
    }
    if is_folded {
        let left_out = report.flows.len() - flows.len();
        blocks.push(Block::Note(format!(
            "… and {left_out} flows that are better off: --all shows them. All together:"
        )));
        blocks.extend([Block::Gap, Block::Table(report.sums_table()), Block::Gap]);
    }
    blocks.extend(levels::blocks(report));
    blocks.push(Block::Lines(report.room.clone()));
    let culprits = report.culprits.iter().map(CulpritReport::sentence);
    blocks.push(Block::Lines(culprits.collect()));
    blocks.push(Block::Paragraph(report.summary()));
    Section::of_text(blocks)
}

impl Report {
    /// Says what the bounds are worth, where that is less than a worst case.
    pub(super) fn bound_line(&self) -> Option<String> {
        let profiles = self.profiles.iter();
        let weakest = profiles
            .filter_map(|profile| profile.statistical.as_ref())
            .min_by_key(|it| it.one_in)?;
        Some(format!(
            "bound ({}): of it {} once for what the machine adds, {}",
            weakest.label(),
            milliseconds(weakest.cover_ns),
            weakest.about
        ))
    }
}

fn row(flow: &FlowReport) -> [String; 6] {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), milliseconds);
    let safety = flow.safety_hundredths();
    [
        flow.facts.name.clone(),
        time(flow.deadline_ns),
        time(flow.guarantee_ns),
        time(flow.highest_ns),
        safety.map_or_else(|| "–".to_owned(), factor),
        verdict(flow),
    ]
}

fn details_row(flow: &FlowReport) -> [String; 10] {
    let median = flow.latency_ns.map(|latency| latency.p50);
    [
        flow.facts.name.clone(),
        flow.facts.kind.label().to_owned(),
        median.map_or_else(|| "–".to_owned(), milliseconds),
        flow.sent.to_string(),
        flow.lost.to_string(),
        flow.late.to_string(),
        (flow.stalled.late + flow.stalled.lost).to_string(),
        flow.out_of_contract.to_string(),
        flow.skipped.to_string(),
        flow.not_judged.to_string(),
    ]
}

/// Returns the verdict of a flow with what it rests on.
#[must_use]
pub fn verdict(flow: &FlowReport) -> String {
    let mut notes = match flow.verdict {
        Verdict::Broken => flow.breaches.clone(),
        Verdict::Refused => flow.reason.clone().into_iter().collect(),
        Verdict::NotJudged => vec![not_judged(flow)],
        Verdict::Exceeded => flow.exceeded.map(exceeded).into_iter().collect(),
        Verdict::Held | Verdict::BestEffort | Verdict::Untried => Vec::new(),
    };
    if flow.verdict.is_held() && flow.interruption_ns > 0 {
        notes.push(interruption(flow));
    }
    if flow.stalled.late + flow.stalled.lost > 0 {
        notes.push(set_apart(flow));
    }
    if flow.lost_to_faults > 0 {
        notes.push(format!("{} lost to faults", flow.lost_to_faults));
    }
    if flow.given_up > 0 {
        notes.push(format!("{} given up", flow.given_up));
    }
    if flow.unseen > 0 && flow.verdict != Verdict::NotJudged {
        notes.push(format!("{} not seen", flow.unseen));
    }
    let word = flow.verdict.label();
    match notes.is_empty() {
        true => word.to_owned(),
        false => format!("{word} ({})", notes.join(", ")),
    }
}

fn exceeded(exceeded: ExceededReport) -> String {
    format!(
        "{} by up to {}",
        exceeded.count,
        milliseconds(exceeded.by_ns)
    )
}

fn not_judged(flow: &FlowReport) -> String {
    match flow.breaches.as_slice() {
        [] => format!("{} not sent or not seen", flow.not_judged),
        breaches => format!(
            "the machine was asked for too much: {}",
            breaches.join(", ")
        ),
    }
}

/// Says how many deliveries were set apart, and how late the latest of them was.
fn set_apart(flow: &FlowReport) -> String {
    let count = flow.stalled.late + flow.stalled.lost;
    match flow.latency_ns {
        Some(latency) if flow.stalled.late > 0 && Some(latency.max) > flow.highest_ns => {
            format!("{count} stalled, up to {}", milliseconds(latency.max))
        }
        Some(_) | None => format!("{count} stalled"),
    }
}

fn interruption(flow: &FlowReport) -> String {
    let length = milliseconds(flow.interruption_ns);
    match flow.interruption_allowed_ns {
        Some(allowed) => format!("interruption {length} of {}", Duration::from_ns(allowed)),
        None => format!("interruption {length}, unprotected"),
    }
}
