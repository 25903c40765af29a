//! How much longer the first exchange of each flow took (S3-4).

use units::Duration;

use super::super::{Analysis, ExchangeKind};
use super::Setting;
use crate::measurement::Value;
use crate::method::Findings;
use crate::statistics::Distribution;

const NONE_LATER: &str = "no flow has a first exchange and later ones";

/// The exchanges of one flow, as one way of measuring has them: how long the first
/// took, and the later ones.
#[derive(Clone, Debug)]
pub(in crate::capture::analysis) struct Setup {
    /// When the first one began, and how long it took.
    first: (u64, u64),
    later: Distribution,
}

impl Setup {
    pub(in crate::capture::analysis) fn new(at: u64, ns: u64) -> Self {
        Self {
            first: (at, ns),
            later: Distribution::default(),
        }
    }

    /// Adds another, whichever is the earlier.
    pub(in crate::capture::analysis) fn add(&mut self, at: u64, ns: u64) {
        let later = match at < self.first.0 {
            true => std::mem::replace(&mut self.first, (at, ns)).1,
            false => ns,
        };
        self.later.record(Duration::from_ns(later));
    }

    /// Returns how much longer the first took than the median of the later ones: not
    /// at all if it was faster, and nothing if there are no later ones.
    pub(in crate::capture::analysis) fn excess(&self) -> Option<Duration> {
        let usual = self.later.quantile(500)?;
        Some(Duration::from_ns(self.first.1).saturating_sub(usual))
    }
}

/// The first exchanges of flows, as far as there are later ones.
#[derive(Default)]
struct Firsts {
    technique: Distribution,
    ping: Distribution,
    flows: u64,
    alone: u64,
}

/// Draws the figures. With one capture, only what the caller waited is known.
pub(super) fn of(analysis: &Analysis, is_single: bool, findings: &mut Findings) {
    for kind in ExchangeKind::ALL {
        let firsts = firsts(analysis, kind, is_single);
        if firsts.flows == 0 {
            continue;
        }
        let setting: Setting = vec![("exchange".to_owned(), kind.name().to_owned())];
        if !is_single {
            let name = ("flow set-up, both directions", "S3-4, ASYNC Eq. (3)");
            findings.add_times(name, &setting, firsts.technique, NONE_LATER);
        }
        let name = ("flow set-up by ping alone", "S3-4, ASYNC Eq. (2)");
        findings.add_times(name, &setting, firsts.ping, NONE_LATER);
        findings.add(("flows", "S3-4"), &setting, Value::Count(firsts.flows));
        if firsts.alone > 0 {
            findings.remark(format!(
                "{} of {} flows ({}) have a single exchange, with which nothing compares.",
                firsts.alone,
                firsts.flows,
                kind.name()
            ));
        }
    }
    findings.remark(
        "The first exchange of two hosts in the captures counts as the first of its flow: begin \
         them before the flow, and with tables that do not know it. A first request that got \
         lost is not told from one that was never sent.",
    );
}

fn firsts(analysis: &Analysis, kind: ExchangeKind, is_single: bool) -> Firsts {
    let mut firsts = Firsts::default();
    let of_kind = analysis.setups.iter().filter(|(flow, _)| flow.0 == kind);
    for (_, [technique, waited, seen_here]) in of_kind {
        let ping = match is_single {
            true => seen_here,
            false => waited,
        };
        if ping.is_none() {
            continue;
        }
        firsts.flows += 1;
        let excesses = [technique, ping].map(|it| it.as_ref().and_then(Setup::excess));
        firsts.alone += u64::from(excesses == [None, None]);
        for (all, excess) in [&mut firsts.technique, &mut firsts.ping]
            .into_iter()
            .zip(excesses)
        {
            if let Some(excess) = excess {
                all.record(excess);
            }
        }
    }
    firsts
}
