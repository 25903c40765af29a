//! What came of many ordeals.

use std::collections::BTreeMap;
use std::fmt;

use units::Duration;

use super::fault_schedule::{FaultSchedule, Incident};
use super::finding::Finding;
use super::promise::Promise;
use super::run::Outcome;
use super::topology::TopologyShape;
use super::trial::{Apart, Trial, TrialVerdict};

/// What came of many ordeals.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    networks: u64,
    by_shape: BTreeMap<TopologyShape, u64>,
    switches: u64,
    /// How often each kind of incident happened.
    incidents: BTreeMap<&'static str, u64>,
    one_way_left: u64,
    incomplete: u64,
    entered: u64,
    refused_signals: u64,
    refused_ways_back: u64,
    slowest: Duration,
    /// Of a thousand, how much of the time that it is allowed the slowest network took.
    closest_permille: u64,
    findings: BTreeMap<u64, Vec<Finding>>,
}

impl Tally {
    pub fn count(&mut self, ordeal: &FaultSchedule, outcome: &Outcome) {
        self.networks += 1;
        *self.by_shape.entry(ordeal.topology.shape).or_default() += 1;
        self.switches += ordeal.topology.switches as u64;
        for (_, incident) in &ordeal.incidents {
            *self.incidents.entry(name(incident)).or_default() += 1;
        }
        let heard = ordeal.noise.deaf.iter().filter(|deaf| !**deaf).count();
        let has_spare = ordeal.topology.cables.len() >= ordeal.topology.switches;
        self.one_way_left += u64::from(has_spare && heard + 1 == ordeal.topology.switches);
        self.incomplete += u64::from(!ordeal.incomplete.is_empty());
        self.entered += outcome.entered;
        self.refused_signals += outcome.refused_signals;
        self.refused_ways_back += outcome.refused_ways_back;
        self.slowest = self.slowest.max(outcome.agreed_after);
        let allowed = outcome.agreed_within.as_ns().max(1);
        let share = outcome.agreed_after.as_ns() * 1_000 / allowed;
        self.closest_permille = self.closest_permille.max(share);
        if !outcome.findings.is_empty() {
            self.findings.insert(ordeal.seed, outcome.findings.clone());
        }
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.networks += other.networks;
        self.switches += other.switches;
        self.one_way_left += other.one_way_left;
        self.incomplete += other.incomplete;
        self.entered += other.entered;
        self.refused_signals += other.refused_signals;
        self.refused_ways_back += other.refused_ways_back;
        self.slowest = self.slowest.max(other.slowest);
        self.closest_permille = self.closest_permille.max(other.closest_permille);
        for (shape, count) in other.by_shape {
            *self.by_shape.entry(shape).or_default() += count;
        }
        for (kind, count) in other.incidents {
            *self.incidents.entry(kind).or_default() += count;
        }
        self.findings.extend(other.findings);
    }

    /// Returns the seeds of networks in which something was seen that must not be.
    pub fn findings(&self) -> impl Iterator<Item = (u64, &[Finding])> {
        let all = self.findings.iter();
        all.map(|(seed, findings)| (*seed, findings.as_slice()))
    }
}

const fn name(incident: &Incident) -> &'static str {
    match incident {
        Incident::Violation { .. } => "violations",
        Incident::Lower { .. } => "ways back asked for",
        Incident::Force { .. } => "levels forced",
        Incident::Crash { .. } => "crashes",
        Incident::Restart { .. } => "restarts",
        Incident::Cut { .. } => "cables cut",
        Incident::Heal { .. } => "cables healed",
        Incident::Forge { .. } => "forgeries",
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            networks, switches, ..
        } = self;
        writeln!(out, "{networks} networks of {switches} switches")?;
        for (shape, count) in &self.by_shape {
            writeln!(out, "  {count} {}", shape.name())?;
        }
        writeln!(out, "  {} with one way left for signals", self.one_way_left)?;
        writeln!(out, "  {} with levels half deployed", self.incomplete)?;
        for (kind, count) in &self.incidents {
            writeln!(out, "  {count} {kind}")?;
        }
        writeln!(out, "modes entered: {}", self.entered)?;
        writeln!(out, "signals refused: {}", self.refused_signals)?;
        writeln!(out, "ways back refused: {}", self.refused_ways_back)?;
        let ms = self.slowest.as_secs_f64() * 1e3;
        writeln!(out, "slowest agreement after the last incident: {ms:.1} ms")?;
        let percent = self.closest_permille / 10;
        writeln!(out, "most of the time allowed that was taken: {percent} %")?;
        write!(out, "networks that broke a rule: {}", self.findings.len())
    }
}

/// What came of many promises.
#[derive(Clone, Debug, Default)]
pub struct PromiseTally {
    networks: u64,
    /// Of a thousand, the most that was taken of the time of a change, and of that of the
    /// message.
    most: [u64; 2],
    broken: BTreeMap<u64, String>,
}

impl PromiseTally {
    pub fn count(&mut self, seed: u64, promise: &Promise) {
        self.networks += 1;
        let taken = promise.taken_permille();
        for (most, taken) in self.most.iter_mut().zip(taken) {
            *most = (*most).max(taken);
        }
        if !promise.is_kept() {
            self.broken.insert(seed, promise.to_string());
        }
    }

    /// Returns this with what was counted elsewhere.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        self.networks += other.networks;
        for (most, taken) in self.most.iter_mut().zip(other.most) {
            *most = (*most).max(taken);
        }
        self.broken.extend(other.broken);
        self
    }

    /// Tells whether all were kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.broken.is_empty()
    }
}

impl fmt::Display for PromiseTally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [change, message] = self.most.map(|permille| permille / 10);
        writeln!(
            out,
            "promises to flows that need more: {} networks",
            self.networks
        )?;
        writeln!(
            out,
            "most of the time of a change that was taken: {change} %"
        )?;
        writeln!(
            out,
            "most of the time of a message that was taken: {message} %"
        )?;
        for (seed, promise) in self.broken.iter().take(10) {
            writeln!(out, "  seed {seed}: {promise}")?;
        }
        write!(out, "promises broken: {}", self.broken.len())
    }
}

/// What came of many trials.
#[derive(Clone, Debug, Default)]
pub struct TrialTally {
    networks: u64,
    /// By how many levels they had.
    levels: BTreeMap<u8, u64>,
    with_losses: u64,
    with_cuts: u64,
    with_restarts: u64,
    breaches: u64,
    sum: TrialVerdict,
    broken: BTreeMap<u64, String>,
}

impl TrialTally {
    pub fn count(&mut self, trial: &Trial, verdict: TrialVerdict) {
        let has = |is_it: fn(&Incident) -> bool| {
            let mut incidents = trial.incidents.iter();
            u64::from(incidents.any(|(_, incident)| is_it(incident)))
        };
        self.networks += 1;
        *self.levels.entry(trial.levels).or_default() += 1;
        let noise = &trial.noise;
        let loses = noise.loss_percent > 0 || noise.deaf.contains(&true);
        self.with_losses += u64::from(loses);
        self.with_cuts += has(|incident| matches!(incident, Incident::Cut { .. }));
        self.with_restarts += has(|incident| matches!(incident, Incident::Restart { .. }));
        let flows = trial.flows.iter();
        self.breaches += flows.map(|flow| flow.breaches.len() as u64).sum::<u64>();
        if let Some(missed) = verdict.missed.first() {
            let more = verdict.missed.len() - 1;
            self.broken
                .insert(trial.seed, format!("{missed}, and {more} more"));
        }
        self.sum.merge(verdict);
    }

    /// Returns this with what was counted elsewhere.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        self.networks += other.networks;
        for (levels, count) in other.levels {
            *self.levels.entry(levels).or_default() += count;
        }
        self.with_losses += other.with_losses;
        self.with_cuts += other.with_cuts;
        self.with_restarts += other.with_restarts;
        self.breaches += other.breaches;
        self.sum.merge(other.sum);
        self.broken.extend(other.broken);
        self
    }

    /// Tells whether all were kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.broken.is_empty()
    }

    /// Returns how many messages were set apart for a reason.
    #[must_use]
    pub fn apart(&self, reason: Apart) -> u64 {
        self.sum.apart.get(&reason).copied().unwrap_or_default()
    }
}

impl fmt::Display for TrialTally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self.networks;
        writeln!(out, "messages whatever happens: {networks} networks")?;
        for (levels, count) in &self.levels {
            writeln!(out, "  {count} with {levels} levels")?;
        }
        writeln!(out, "  {} that lose signals", self.with_losses)?;
        writeln!(out, "  {} in which cables are cut", self.with_cuts)?;
        writeln!(out, "  {} in which a switch restarts", self.with_restarts)?;
        writeln!(out, "messages that break a contract: {}", self.breaches)?;
        let TrialVerdict {
            in_time,
            in_changes,
            ..
        } = self.sum;
        writeln!(
            out,
            "messages in time: {in_time}, {in_changes} near changes"
        )?;
        let percent = self.sum.closest_permille / 10;
        writeln!(out, "most of its time that a message took: {percent} %")?;
        for (apart, count) in &self.sum.apart {
            writeln!(out, "  set apart, {}: {count}", apart.reason())?;
        }
        for (seed, missed) in self.broken.iter().take(10) {
            writeln!(out, "  seed {seed}: {missed}")?;
        }
        let missed = self.sum.missed.len();
        write!(
            out,
            "messages late or lost: {missed}, in {} networks",
            self.broken.len()
        )
    }
}
