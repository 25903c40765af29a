//! How long reception is interrupted by a failure, as in SDN4CI Fig. 6: each kind of failure,
//! healed in each way that a flow may choose.
//!
//! The network of Fig. 5: four switches in a diamond, Sampled Values of 122 bytes every
//! millisecond across it. The way over the second switch fails at a random moment of the
//! millisecond, is made whole again, and is left alone until the flow is back on it. Flows whose
//! healing asks nothing of switches that others would gain from meet the same failures.
//!
//! # Differs from the paper
//!
//! A cable of a lab loses its carrier at once; hardware takes its time to see one go, which
//! is most of what the paper's figures are. So they stand beside ours as context. The paper
//! has one failure, the pulled cable, and one healing, its controller's.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use lab::device_under_test::TaktosEngine;
use lab::switches::{Carried, Forwarding, kernel_refuses};
use measure::document::picture::{BoxChart, BoxColumn, BoxSummary};
use measure::measurement::Value;
use measure::report::{EventKind, EventReport, Report};
use measure::reproduction::{Picture, Row};
use run::experiment::{Admission, Audience, Discovered, Experiment, SimEngine, WorldChoice};
use run::measuring::target::Target;
use scenario::Scenario;
use units::{Duration, Seeded};

use crate::devices::{NamedDevice, milliseconds, number, rows};
use crate::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};

/// SDN4CI section IV-C, and S0-3.
const TIMES: u32 = 100;
const QUICK_TIMES: u32 = 5;
/// Failures of one run. Links and sessions that fail again and again are left out for longer
/// each time, and later failures would meet nobody.
const TIMES_A_RUN: u32 = 4;
const PERIOD: Duration = Duration::from_ms(1);
/// Detection, decision, programming.
const PARTS: [&str; 3] = ["detection", "decision", "programming"];

const NETWORK: &str = r#"
title = "Diamond"
[switches]
s1 = {}
s2 = {}
s3 = {}
s4 = {}
[links]
s1-s2 = ["s1", "s2"]
s2-s4 = ["s2", "s4"]
s1-s3 = ["s1", "s3"]
s3-s4 = ["s3", "s4"]
[hosts]
server = { at = "s1" }
client = { at = "s4" }
"#;

/// How the way fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Carrier,
    Silent,
    Killed,
}

/// How a flow is healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Healing {
    Restore,
    FastFailover,
    /// With sessions of BFD between neighbours.
    FastFailoverAny,
    HeartBeat,
    Seamless,
}

const FAILURES: [Failure; 3] = [Failure::Carrier, Failure::Silent, Failure::Killed];
/// Who shares a network: sessions between neighbours would help all.
const TOGETHER: [&[Healing]; 3] = [
    &[Healing::Restore, Healing::FastFailover, Healing::Seamless],
    &[Healing::FastFailoverAny],
    &[Healing::HeartBeat],
];

impl Failure {
    fn name(self) -> &'static str {
        match self {
            Self::Carrier => "carrier cut",
            Self::Silent => "silent one way",
            Self::Killed => "switch killed",
        }
    }

    /// Returns for how long the way fails and for how long it is left alone then. Without
    /// sessions probes and echoes have to find out, which takes seconds.
    fn times(self, has_sessions: bool) -> [Duration; 2] {
        let [broken, quiet] = match (self, has_sessions) {
            (Self::Carrier, _) => [700, 1_800],
            (Self::Silent | Self::Killed, true) => [700, 2_500],
            (Self::Silent, false) => [5_200, 2_500],
            (Self::Killed, false) => [2_500, 2_500],
        };
        [broken, quiet].map(Duration::from_ms)
    }

    fn events(self, at: Duration, until: Duration) -> String {
        let [at, until] = [at, until].map(|time| format!("\"{} ns\"", time.as_ns()));
        match self {
            Self::Carrier => both((&at, "cut"), (&until, "heal"), "link = \"s1-s2\""),
            Self::Silent => format!(
                "[[events]]\nat = {at}\nkind = \"lose\"\nlink = \"s1-s2\"\nfrom = \"s1\"\n\
                 until = {until}\n"
            ),
            Self::Killed => both(
                (&at, "switch-kill"),
                (&until, "switch-restart"),
                "switch = \"s2\"",
            ),
        }
    }

    fn is(self, event: &EventReport) -> bool {
        event.kind
            == match self {
                Self::Carrier => EventKind::Cut,
                Self::Silent => EventKind::Lossy,
                Self::Killed => EventKind::SwitchKill,
            }
    }
}

fn both(first: (&str, &str), second: (&str, &str), what: &str) -> String {
    [first, second]
        .map(|(at, kind)| format!("[[events]]\nat = {at}\nkind = \"{kind}\"\n{what}\n"))
        .concat()
}

impl Healing {
    fn name(self) -> &'static str {
        match self {
            Self::Restore => "restore",
            Self::FastFailover => "fast-failover",
            Self::FastFailoverAny => "fast-failover, any fault",
            Self::HeartBeat => "heart-beat",
            Self::Seamless => "seamless",
        }
    }

    /// Returns the name of its flow.
    fn flow(self) -> String {
        format!("sv-{}", self as usize)
    }

    fn keys(self) -> &'static str {
        match self {
            Self::Restore => "protection = \"restore\"\ninterruption = \"10 ms\"\n",
            Self::FastFailover => "protection = \"fast-failover\"\ninterruption = \"10 ms\"\n",
            // A packet each millisecond.
            Self::FastFailoverAny => {
                "protection = \"fast-failover\"\ninterruption = \"5 ms\"\ncovers = \"any\"\n"
            }
            Self::HeartBeat => {
                "protection = \"heart-beat\"\ninterruption = \"10 ms\"\njitter = \"200 us\"\n"
            }
            Self::Seamless => "protection = \"seamless\"\n",
        }
    }

    fn has_sessions(self) -> bool {
        matches!(self, Self::FastFailoverAny | Self::HeartBeat)
    }
}

/// What was seen of failures of one kind, healed in one way.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// One for each failure.
    interruptions: Vec<Duration>,
    /// Of those links for which the controller did it: until it knew, decided, and was obeyed.
    parts: [Vec<Duration>; 3],
    lost: u64,
    doubled: u64,
    /// The longest interruption of the machine.
    machine: Duration,
}

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let mut outcome = ExperimentOutcome {
        world: World::Lab,
        ..ExperimentOutcome::default()
    };
    let places = [
        ("sim", WorldChoice::Sim(SimEngine::Tables)),
        ("lab", WorldChoice::Lab(forwarding())),
    ];
    let steps = (places.len() * FAILURES.len() * TOGETHER.len() + 2) as u64;
    let mut done = 0;
    for (name, place) in places {
        let mut columns = Vec::new();
        for failure in FAILURES {
            for healings in TOGETHER {
                progress(done, steps);
                done += 1;
                match failures(place, (failure, healings), settings) {
                    Ok(all) => {
                        for (&healing, seen) in healings.iter().zip(all) {
                            seen.describe(name, (place, failure, healing), &mut outcome);
                            columns.push(seen.column(failure, healing));
                        }
                    }
                    Err(reason) => outcome.remarks.push(format!(
                        "{name}, {}, {}: {reason}",
                        failure.name(),
                        healings[0].name()
                    )),
                }
            }
        }
        outcome.pictures.push(picture(name, columns));
    }
    for device in devices() {
        progress(done, steps);
        done += 1;
        match device.measure("failover", &[("kind", "cut,mute,kill")], None, settings) {
            Ok(found) => {
                for quantity in ["interruption of reception", "lost at one failure, at most"] {
                    outcome.rows.extend(rows(device.name, &found, quantity));
                }
            }
            Err(reason) => outcome.remarks.push(reason),
        }
    }
    let bare_metal = Row::new("bare-metal switches of the paper, pulled cable: mean", "ms");
    outcome.rows.push(bare_metal.printed("467.119"));
    outcome.remarks.push(
        "A cable of a lab tells its ends at once that it is cut; the paper's figures have the time \
         in which hardware notices, and are context."
            .to_owned(),
    );
    outcome
}

/// One switch with a group that fails over by itself, without a controller.
fn devices() -> [NamedDevice; 2] {
    [
        NamedDevice {
            name: "Taktos, its group alone",
            target: Target::Taktos(TaktosEngine::Kernel),
        },
        NamedDevice {
            name: "Open vSwitch, its group alone",
            target: Target::OpenVswitch(Carried::Xdp),
        },
    ]
}

/// Returns who forwards on this machine.
fn forwarding() -> Forwarding {
    match kernel_refuses() {
        None => Forwarding::Kernel,
        Some(_) => Forwarding::Loop(Carried::Packet),
    }
}

/// Has the way fail as often as is asked for, a part of it in each run. Returns what flows of
/// each healing saw of it.
fn failures(
    place: WorldChoice,
    (failure, healings): (Failure, &[Healing]),
    settings: ExperimentSettings,
) -> Result<Vec<Seen>, String> {
    let times = match settings.effort {
        Thoroughness::Full => TIMES,
        Thoroughness::Quick => QUICK_TIMES,
    };
    let mut random = Seeded::new(settings.seed);
    let mut all = vec![Seen::default(); healings.len()];
    let mut left = times;
    while left > 0 {
        let now = left.min(TIMES_A_RUN);
        left -= now;
        let text = script(now, (failure, healings), &mut random);
        let scenario = Scenario::parse("diamond.toml", &text, &mut |_| unreachable!());
        let scenario = scenario.map_err(|error| error.to_string())?;
        let stop = AtomicBool::new(false);
        let report = Experiment::deciding(&scenario, &stop).run(place, &mut Nobody);
        let report = report.map_err(|error| error.to_string())?;
        for (seen, &healing) in all.iter_mut().zip(healings) {
            seen.take(&report, (failure, healing))?;
        }
    }
    Ok(all)
}

fn script(times: u32, (failure, healings): (Failure, &[Healing]), random: &mut Seeded) -> String {
    let mut events = String::new();
    let [broken, quiet] = failure.times(healings[0].has_sessions());
    let mut at = Duration::from_secs(1);
    for _ in 0..times {
        let fails = at + Duration::from_ns(random.below(PERIOD.as_ns()));
        events += &failure.events(fails, fails + broken);
        at = at + broken + quiet;
    }
    let mut text = format!("[scenario]\nduration = \"{} ns\"\n", at.as_ns());
    text += NETWORK;
    for healing in healings {
        let (flow, keys) = (healing.flow(), healing.keys());
        write!(
            text,
            "[flows.{flow}]\nkind = \"sampled-values\"\nfrom = \"server\"\nto = \"client\"\n\
             frame = \"122 B\"\nperiod = \"{} ns\"\ndeadline = \"50 ms\"\n{keys}",
            PERIOD.as_ns(),
        )
        .expect("a text takes all");
    }
    text + &events
}

impl Seen {
    fn take(
        &mut self,
        report: &Report,
        (failure, healing): (Failure, Healing),
    ) -> Result<(), String> {
        let name = healing.flow();
        let mut flows = report.flows.iter();
        let flow = flows.find(|flow| flow.facts.name == name && flow.admitted);
        let flow = flow.ok_or_else(|| format!("{} was refused", healing.name()))?;
        if !flow.facts.routes.iter().flatten().any(|node| node == "s2") {
            return Err(format!(
                "{} does not take the way that fails",
                healing.name()
            ));
        }
        for event in report.events.iter().filter(|event| failure.is(event)) {
            let outage = event.outage_ns.get(&name).copied().unwrap_or(0);
            self.interruptions.push(Duration::from_ns(outage));
            // Where switches heal, the controller is told of it afterwards.
            if let Some(restored) = event.restoration.filter(|_| healing == Healing::Restore) {
                let parts = [
                    restored.detection_ns,
                    restored.controller_ns,
                    restored.programming_ns,
                ];
                for (all, part) in self.parts.iter_mut().zip(parts) {
                    all.push(Duration::from_ns(part));
                }
            }
        }
        self.lost += flow.lost - flow.unseen;
        self.doubled += flow.duplicates;
        let taken = report.platform.interruption_ns.as_ref();
        let longest = taken.map_or(0, |taken| taken.max);
        self.machine = self.machine.max(Duration::from_ns(longest));
        Ok(())
    }

    fn describe(
        &self,
        world: &str,
        (place, failure, healing): (WorldChoice, Failure, Healing),
        outcome: &mut ExperimentOutcome,
    ) {
        let label = format!("{world}, {}, {}", failure.name(), healing.name());
        let machine = match place {
            WorldChoice::Sim(_) => String::new(),
            WorldChoice::Lab(_) => format!(
                "{} failures, {} of which interrupted nothing; the machine stood still for {} at most",
                self.interruptions.len(),
                self.interruptions
                    .iter()
                    .filter(|it| **it == Duration::ZERO)
                    .count(),
                self.machine
            ),
        };
        let row = |name: &str, value| Row::new(format!("{label}: {name}"), "ms").ours(value);
        let mean = row("mean", mean(&self.interruptions)).note(machine);
        let is_papers = (failure, healing) == (Failure::Carrier, Healing::Restore);
        let mean = match (is_papers, place) {
            (true, WorldChoice::Lab(_)) => mean.printed("346.024"),
            (_, WorldChoice::Sim(_) | WorldChoice::Lab(_)) => mean,
        };
        outcome.rows.push(mean);
        if let Some(times) = self.column(failure, healing).summary {
            let rows = [row("median", times.median), row("longest", times.max)];
            outcome.rows.extend(rows);
        }
        for (name, part) in PARTS.into_iter().zip(&self.parts) {
            if !part.is_empty() {
                let told = format!("of {} that the controller healed", part.len());
                let name = format!("mean {name}");
                outcome.rows.push(row(&name, self::mean(part)).note(told));
            }
        }
        let count = |name: &str, count| {
            let row = Row::new(format!("{label}: {name}"), "");
            row.ours(number(&Value::Count(count)).expect("a count is a number"))
        };
        outcome.rows.push(count("lost in all", self.lost));
        if self.doubled > 0 || (healing == Healing::Seamless && self.lost > 0) {
            outcome.broken.push(format!(
                "{label}: {} frames lost, {} doubled",
                self.lost, self.doubled
            ));
        }
    }

    fn column(&self, failure: Failure, healing: Healing) -> BoxColumn {
        let times = self.interruptions.iter().copied().map(milliseconds);
        BoxColumn {
            label: format!("{}, {}", failure.name(), healing.name()),
            summary: BoxSummary::of(&mut times.collect::<Vec<_>>()),
            lost_percent: None,
        }
    }
}

fn mean(times: &[Duration]) -> f64 {
    let count = u32::try_from(times.len()).unwrap_or(u32::MAX).max(1);
    times.iter().copied().map(milliseconds).sum::<f64>() / f64::from(count)
}

fn picture(world: &str, columns: Vec<BoxColumn>) -> Picture {
    Picture::Boxes(BoxChart {
        name: format!("fig6-{world}"),
        title: format!("Interruption at the receiver, in {world}"),
        x_label: "failure and healing".to_owned(),
        y_label: "longest gap less one period, ms".to_owned(),
        columns,
        references: Vec::new(),
    })
}

/// Hears of nothing.
struct Nobody;

impl Audience for Nobody {
    fn built(&mut self, _took: Duration) {}
    fn discovered(&mut self, _found: Discovered, _took: Duration) {}
    fn decided(&mut self, _admissions: &[Admission]) {}
    fn running(&mut self, _elapsed: Duration, _total: Duration) {}
    fn happened(&mut self, _at: Duration, _what: &str) {}
}

#[cfg(test)]
mod tests {
    use controller::config::Timers;

    use super::*;

    const SIM: WorldChoice = WorldChoice::Sim(SimEngine::Tables);

    /// What is lost is what was sent while nobody knew: a millisecond until the carrier is
    /// seen to be gone, seconds until probes or echoes are missing.
    #[test]
    fn in_virtual_time_each_failure_interrupts_for_as_long_as_nobody_knows() {
        let silence = Timers::default().silent_detection();
        let by_hand = Duration::from_ms(3);
        for (failure, healing, [least, noticed]) in [
            (Failure::Carrier, Healing::Restore, [PERIOD, by_hand]),
            (Failure::Carrier, Healing::FastFailover, [PERIOD, PERIOD]),
            (Failure::Carrier, Healing::HeartBeat, [PERIOD, PERIOD]),
            // Three missing samples, and three packets of a session every two milliseconds.
            (
                Failure::Silent,
                Healing::HeartBeat,
                [PERIOD * 2u64, PERIOD * 4u64],
            ),
            (
                Failure::Killed,
                Healing::HeartBeat,
                [PERIOD * 3u64, PERIOD * 6u64],
            ),
            // Three packets of sessions a millisecond apart.
            (
                Failure::Silent,
                Healing::FastFailoverAny,
                [PERIOD * 2u64, PERIOD * 4u64],
            ),
            (
                Failure::Killed,
                Healing::FastFailoverAny,
                [PERIOD * 2u64, PERIOD * 4u64],
            ),
            (
                Failure::Silent,
                Healing::Restore,
                [PERIOD * 500u64, silence],
            ),
            (
                Failure::Killed,
                Healing::Restore,
                [PERIOD * 500u64, silence],
            ),
        ] {
            let is_its = |it: &&&[Healing]| it.contains(&healing);
            let together = TOGETHER.iter().find(is_its).unwrap();
            let place = together.iter().position(|it| *it == healing).unwrap();
            let seen = &seen(failure, together)[place];

            assert_eq!(seen.interruptions.len(), 5);
            for interruption in &seen.interruptions {
                // By random phases reception ends or begins a period sooner or later.
                let within = least..=noticed + PERIOD * 2u64;
                assert!(
                    within.contains(interruption),
                    "{failure:?}, {healing:?}: {interruption}"
                );
            }
            assert!(seen.lost >= 5, "{failure:?}, {healing:?}: {seen:?}");
            // A killed switch is no link of which the controller says what it did.
            let told = healing == Healing::Restore && failure != Failure::Killed;
            let parts = seen.parts.each_ref().map(Vec::len);
            assert_eq!(
                parts,
                [if told { 5 } else { 0 }; 3],
                "{failure:?}, {healing:?}"
            );
        }
    }

    #[test]
    fn in_virtual_time_two_ways_at_once_lose_nothing_by_any_failure() {
        for failure in FAILURES {
            let seen = &seen(failure, TOGETHER[0])[2];

            assert_eq!((seen.lost, seen.doubled), (0, 0), "{failure:?}");
            assert_eq!(seen.interruptions, [Duration::ZERO; 5]);
        }
    }

    /// The paper pulls one cable a hundred times.
    #[test]
    fn a_full_run_has_as_many_failures_as_the_paper_at_random_phases() {
        let mut random = Seeded::new(1);
        let text = script(TIMES_A_RUN, (Failure::Carrier, TOGETHER[0]), &mut random);

        let mut scenario = Scenario::parse("diamond.toml", &text, &mut |_| unreachable!());
        let events = &mut scenario.as_mut().unwrap().events;
        let phases = events
            .iter()
            .step_by(2)
            .map(|it| it.at.as_ns() % PERIOD.as_ns());
        let phases: std::collections::BTreeSet<_> = phases.collect();
        assert_eq!(u32::try_from(phases.len()), Ok(TIMES_A_RUN));
        assert_eq!(TIMES % TIMES_A_RUN, 0);
    }

    fn seen(failure: Failure, healings: &[Healing]) -> Vec<Seen> {
        let settings = ExperimentSettings {
            seed: 7,
            effort: Thoroughness::Quick,
        };
        failures(SIM, (failure, healings), settings).unwrap()
    }
}
