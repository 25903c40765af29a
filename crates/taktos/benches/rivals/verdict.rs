//! The targets that Taktos has in the comparison, and whether it kept them.

use measure::method::throughput::LimitedBy;
use measure::statistics::ratio;
use serde_json::{Value, json};
use units::Duration;

use crate::arrangement::Arrangement;
use crate::control_plane::{Finding, Load, Means};
use crate::overload::{self, Overload};
use crate::ratios::{Pooled, Quantile, typical};
use crate::run::{Results, Shown};
use crate::subject::{Ports, Subject, Turns};
use crate::throughput::SIZES;

/// Beyond the frame that is on its way, an urgent frame waits no longer than this.
const BEYOND_BLOCKING: Duration = Duration::from_us(10);
const EFFECT_OF_ONE: Duration = Duration::from_us(50);
const EFFECT_OF_A_BUNDLE: Duration = Duration::from_ms(200);

/// A target, and what was reached.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What was to be reached.
    pub target: String,
    pub reached: f64,
    pub limit: f64,
    better: Better,
}

#[derive(Clone, Copy, Debug)]
enum Better {
    Less,
    More,
}

impl Verdict {
    /// Tells whether it was reached.
    pub fn kept(&self) -> bool {
        match self.better {
            Better::Less => self.reached <= self.limit,
            Better::More => self.reached >= self.limit,
        }
    }

    /// Returns it as it stands in a result file.
    pub fn to_json(&self) -> Value {
        json!({
            "target": self.target,
            "reached": self.reached,
            "limit": self.limit,
            "kept": self.kept(),
        })
    }
}

/// Judges everything that was measured.
pub fn all(results: &Results) -> Vec<Verdict> {
    let mut judge = Judge {
        results,
        verdicts: Vec::new(),
    };
    for shown in results.shown.iter().filter(|it| it.subject.is_taktos()) {
        judge.latency(shown.subject);
        judge.rate(shown.subject);
        judge.overload(shown);
        judge.changes(shown);
        judge.barriers(shown);
    }
    judge.verdicts
}

struct Judge<'a> {
    results: &'a Results,
    verdicts: Vec<Verdict>,
}

impl Judge<'_> {
    fn at_most(&mut self, target: String, reached: Option<f64>, limit: f64) {
        self.take_down(target, reached, limit, Better::Less);
    }

    fn take_down(&mut self, target: String, reached: Option<f64>, limit: f64, better: Better) {
        self.verdicts.extend(reached.map(|reached| Verdict {
            target,
            reached,
            limit,
            better,
        }));
    }

    fn latency(&mut self, ours: Subject) {
        for spacing in [Duration::from_us(125), Duration::from_ms(1)] {
            for (other, quantile, limit) in latency_targets(ours) {
                let reached = self.results.latency_ratio([ours, other], spacing, quantile);
                let name = quantile.name();
                self.at_most(
                    format!("{ours}: {name} at {spacing} / {other}"),
                    reached,
                    limit,
                );
            }
        }
    }

    fn rate(&mut self, ours: Subject) {
        if ours == Subject::TaktosKernel {
            self.rate_of_one_processor(ours);
            return;
        }
        for size in SIZES {
            let reached = self.results.rate_ratio([ours, ours.floor()], size);
            let rates = self.results.find(ours);
            let rates = rates.and_then(|shown| shown.throughput.get(&size));
            let bound = match rates
                .and_then(|rates| typical(rates))
                .map(|it| it.limited_by)
            {
                Some(LimitedBy::Tester) => " (the sender sends no more)",
                Some(LimitedBy::Device | LimitedBy::Plan) | None => "",
            };
            let target = format!("{ours}: rate at {size} bytes / {}{bound}", ours.floor());
            self.take_down(target, reached, 0.9, Better::More);
        }
    }

    fn rate_of_one_processor(&mut self, ours: Subject) {
        for arrangement in Arrangement::ALL {
            let pair = [ours, Subject::Bridge];
            let reached = self.results.one_processor_ratio(pair, arrangement);
            let target = format!("{ours}: rate, {arrangement} / {}", Subject::Bridge);
            self.take_down(target, reached, 1.0, Better::More);
        }
    }

    fn overload(&mut self, shown: &Shown) {
        let limit = overload::blocking() + BEYOND_BLOCKING;
        for overload in Overload::ALL {
            let slots = shown.overload.get(&overload);
            let pooled = slots.and_then(|slots| Pooled::of(slots));
            let target = format!("{}: p99 in us, {overload}", shown.subject);
            self.at_most(target, pooled.map(|it| us(it.summary.p99)), us(limit));
        }
    }

    fn changes(&mut self, shown: &Shown) {
        let subject = shown.subject;
        for found in &shown.control {
            let (entries, means) = (found.condition.entries, found.condition.means);
            let what = format!("{subject}: {entries} entries by {means}");
            match (means, found.condition.load) {
                (Means::FlowMod, Load::Stream) if entries == 1 => {
                    let reached = found.first_new.quantile(500).map(us);
                    let target = format!("{what}, median to effect in us");
                    self.at_most(target, reached, us(EFFECT_OF_ONE));
                }
                (Means::Bundle, _) => {
                    let reached = slowest(found).map(us);
                    let load = found.condition.load;
                    let target = format!("{what}, at most to reply and effect in us, {load}");
                    self.at_most(target, reached, us(EFFECT_OF_A_BUNDLE));
                }
                (Means::FlowMod, Load::Idle | Load::Stream) => {}
            }
        }
    }

    fn barriers(&mut self, shown: &Shown) {
        if shown.control.is_empty() {
            return;
        }
        let stale: u64 = shown.control.iter().map(|found| found.stale).sum();
        let frames: u64 = shown.control.iter().map(|found| found.frames).sum();
        let target = format!("{}: stale frames of {frames}", shown.subject);
        self.at_most(target, Some(ratio(stale, 1)), 0.0);
    }
}

/// Beside whom, in what, and how much of his figure at most.
fn latency_targets(ours: Subject) -> Vec<(Subject, Quantile, f64)> {
    let rival = Subject::OpenVswitch(Ports::Xdp);
    let slow_rival = Subject::OpenVswitch(Ports::Packet);
    match ours {
        Subject::TaktosKernel => vec![
            (rival, Quantile::P50, 0.8),
            (rival, Quantile::P99, 0.8),
            (rival, Quantile::P999, 0.1),
        ],
        Subject::Taktos(_, Turns::Spin) => vec![
            (ours.floor(), Quantile::P50, 1.2),
            (rival, Quantile::P50, 1.0),
            (rival, Quantile::P99, 1.0),
            (slow_rival, Quantile::P50, 0.1),
        ],
        Subject::Taktos(_, Turns::Sleep) => vec![(ours.floor(), Quantile::P50, 1.2)],
        Subject::Bare(..)
        | Subject::OpenVswitch(_)
        | Subject::Bridge
        | Subject::TcRedirect
        | Subject::XdpRedirect => Vec::new(),
    }
}

fn slowest(found: &Finding) -> Option<Duration> {
    found.reply.max().max(found.first_new.max())
}

fn us(time: Duration) -> f64 {
    ratio(time.as_ns(), 1_000)
}
