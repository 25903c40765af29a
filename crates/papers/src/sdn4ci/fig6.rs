//! How long reception is interrupted by a failure, as in SDN4CI Fig. 6: each kind of failure,
//! healed in each way that a flow may choose.
//!
//! The network of Fig. 5: four switches in a diamond, Sampled Values of 122 bytes every
//! millisecond across it. The way over the second switch fails at a random moment of the
//! millisecond, is made whole again, and is left alone until the flow is back on it.
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
/// Failures of one run: fewer than there are silences that a record keeps.
const TIMES_A_RUN: u32 = 25;
const PERIOD: Duration = Duration::from_ms(1);
const FLOW: &str = "sv";
/// Detection, decision, programming.
const PARTS: [&str; 3] = ["detection", "decision", "programming"];

const NETWORK: &str = r#"
[scenario]
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
[flows.sv]
kind = "sampled-values"
from = "server"
to = "client"
frame = "122 B"
period = "1 ms"
deadline = "50 ms"
"#;

/// How the way fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Carrier,
    Silent,
    Killed,
}

/// How the flow is healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Healing {
    Restore,
    FastFailover,
    HeartBeat,
    Seamless,
}

const FAILURES: [Failure; 3] = [Failure::Carrier, Failure::Silent, Failure::Killed];
const HEALINGS: [Healing; 4] = [
    Healing::Restore,
    Healing::FastFailover,
    Healing::HeartBeat,
    Healing::Seamless,
];

impl Failure {
    fn name(self) -> &'static str {
        match self {
            Self::Carrier => "carrier cut",
            Self::Silent => "silent one way",
            Self::Killed => "switch killed",
        }
    }

    /// Returns for how long the way fails and for how long it is left alone then: probes and
    /// echoes take seconds.
    fn times(self) -> [Duration; 2] {
        match self {
            Self::Carrier => [Duration::from_ms(700), Duration::from_ms(1_800)],
            Self::Silent | Self::Killed => [Duration::from_ms(5_200), Duration::from_secs(4)],
        }
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
            Self::HeartBeat => "heart-beat",
            Self::Seamless => "seamless",
        }
    }

    fn keys(self) -> &'static str {
        match self {
            Self::Restore => "protection = \"restore\"\ninterruption = \"10 ms\"\n",
            Self::FastFailover => "protection = \"fast-failover\"\ninterruption = \"10 ms\"\n",
            Self::HeartBeat => {
                "protection = \"heart-beat\"\ninterruption = \"10 ms\"\njitter = \"200 us\"\n"
            }
            Self::Seamless => "protection = \"seamless\"\n",
        }
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
    let steps = (places.len() * FAILURES.len() * HEALINGS.len() + 2) as u64;
    let mut done = 0;
    for (name, place) in places {
        let mut columns = Vec::new();
        for failure in FAILURES {
            for healing in HEALINGS {
                progress(done, steps);
                done += 1;
                let label = format!("{name}, {}, {}", failure.name(), healing.name());
                match failures(place, (failure, healing), settings) {
                    Ok(seen) => {
                        seen.describe(&label, (place, failure, healing), &mut outcome);
                        columns.push(seen.column(failure, healing));
                    }
                    Err(reason) => outcome.remarks.push(format!("{label}: {reason}")),
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

/// Has the way fail as often as is asked for, a part of it in each run.
fn failures(
    place: WorldChoice,
    (failure, healing): (Failure, Healing),
    settings: ExperimentSettings,
) -> Result<Seen, String> {
    let times = match settings.effort {
        Thoroughness::Full => TIMES,
        Thoroughness::Quick => QUICK_TIMES,
    };
    let mut random = Seeded::new(settings.seed);
    let mut seen = Seen::default();
    let mut left = times;
    while left > 0 {
        let now = left.min(TIMES_A_RUN);
        left -= now;
        let text = script(now, (failure, healing), &mut random);
        let scenario = Scenario::parse("diamond.toml", &text, &mut |_| unreachable!());
        let scenario = scenario.map_err(|error| error.to_string())?;
        let stop = AtomicBool::new(false);
        let report = Experiment::deciding(&scenario, &stop).run(place, &mut Nobody);
        let report = report.map_err(|error| error.to_string())?;
        seen.take(&report, (failure, healing))?;
    }
    Ok(seen)
}

fn script(times: u32, (failure, healing): (Failure, Healing), random: &mut Seeded) -> String {
    let [broken, quiet] = failure.times();
    let mut text = NETWORK.to_owned() + healing.keys();
    let mut at = Duration::from_secs(1);
    for _ in 0..times {
        let fails = at + Duration::from_ns(random.below(PERIOD.as_ns()));
        text += &failure.events(fails, fails + broken);
        at = at + broken + quiet;
    }
    let title = "title = \"Diamond\"\n";
    let mut heading = title.to_owned();
    writeln!(heading, "duration = \"{} ns\"", at.as_ns()).expect("a text takes all");
    text.replacen(title, &heading, 1)
}

impl Seen {
    fn take(
        &mut self,
        report: &Report,
        (failure, healing): (Failure, Healing),
    ) -> Result<(), String> {
        let flow = report.flows.first().filter(|flow| flow.admitted);
        let flow = flow.ok_or("the flow was refused")?;
        if !flow.facts.routes.iter().flatten().any(|node| node == "s2") {
            return Err("the flow does not take the way that fails".to_owned());
        }
        for event in report.events.iter().filter(|event| failure.is(event)) {
            let outage = event.outage_ns.get(FLOW).copied().unwrap_or(0);
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
        label: &str,
        (place, failure, healing): (WorldChoice, Failure, Healing),
        outcome: &mut ExperimentOutcome,
    ) {
        let machine = match place {
            WorldChoice::Sim(_) => String::new(),
            WorldChoice::Lab(_) => format!(
                "{} failures; the machine stood still for {} at most",
                self.interruptions.len(),
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
        let longest = self.interruptions.iter().max().copied().unwrap_or_default();
        outcome
            .rows
            .extend([mean, row("longest", milliseconds(longest))]);
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
            let seen = seen(failure, healing);

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
            let parts = seen.parts.map(|part| part.len());
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
            let seen = seen(failure, Healing::Seamless);

            assert_eq!((seen.lost, seen.doubled), (0, 0), "{failure:?}");
            assert_eq!(seen.interruptions, [Duration::ZERO; 5]);
        }
    }

    /// The paper pulls one cable a hundred times.
    #[test]
    fn a_full_run_has_as_many_failures_as_the_paper_at_random_phases() {
        let mut random = Seeded::new(1);
        let text = script(
            TIMES_A_RUN,
            (Failure::Carrier, Healing::Restore),
            &mut random,
        );

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

    fn seen(failure: Failure, healing: Healing) -> Seen {
        let settings = ExperimentSettings {
            seed: 7,
            effort: Thoroughness::Quick,
        };
        failures(SIM, (failure, healing), settings).unwrap()
    }
}
