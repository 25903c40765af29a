//! How long frames take on this machine while it carries as much as a scenario asks for.
//!
//! A lab of its own carries the load: switches in a line, all of whose ports are in use at
//! once, hosts that send four thousand frames a second each, and a flood in the least
//! urgent class. Links are so fast that what frames take is the machine's, and switches are
//! taken to be of the fastest, so that nothing is refused. Every frame is a sample: those that pass one switch show what a switch takes
//! where others want the processor as well, those that pass all of them what a whole way
//! adds to that. Nothing is left out: frames that were held up count like all others.
//!
//! # Left out
//!
//! Messages of many packets, and links on which frames wait for each other: what that
//! takes is calculated.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

use lab::switches::Forwarding;
use measure::interruptions::Interruptions;
use measure::statistics::Distribution;
use scenario::Scenario;
use units::Duration;

use crate::experiment::demand::RunDemand;
use crate::experiment::{
    Admission, Audience, Carrying, Discovered, Experiment, ExperimentError, WorldChoice, world,
};

/// How long frames are sent.
pub const LENGTH: Duration = Duration::from_secs(10);
/// More hosts than this would take longer to build than to measure.
const MOST_PAIRS: u64 = 24;
const MOST_SWITCHES: u64 = 8;
/// Between two frames of a host.
const PERIOD: Duration = Duration::from_us(250);

#[derive(Clone, Debug)]
pub struct UnderLoad {
    pub demand: RunDemand,
    /// How long frames took that passed one switch.
    pub near: Distribution,
    /// How long frames took that passed [`switches`](Self::switches).
    pub far: Distribution,
    /// How many switches stood in a line.
    pub switches: u64,
    /// Frames that were to be delivered.
    pub due: u64,
    /// Of them, those that were not sent or did not arrive.
    pub missing: u64,
    /// How much of a processor hosts and soft interrupts used, in thousandths, rather too
    /// much than too little; nothing where the machine does not say.
    pub busy_per_mille: Option<u64>,
    /// When that processor was taken away.
    pub interruptions: Interruptions,
}

/// Measures with as much as `demand`, or as much as there is room for.
///
/// # Errors
///
/// If there is no lab to be had, or the user wants to stop.
pub fn measure(
    demand: RunDemand,
    stop: &AtomicBool,
    step: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<UnderLoad, ExperimentError> {
    let bench = Bench::for_demand(demand);
    let scenario = bench.scenario();
    let experiment = Experiment {
        scenario: &scenario,
        stop,
        store: PathBuf::new(),
        captures: PathBuf::new(),
        profiles: Vec::new(),
        carrying: Carrying::Whole,
        spare: calculus::admission::Spare::default(),
    };
    let place = WorldChoice::Lab(Forwarding::Kernel);
    // A lab moves the thread that builds it, and those that this one starts, away from the
    // processors that it needs; the caller is to stay as it is.
    let (run, observed) = thread::scope(|scope| {
        let observing = scope.spawn(|| experiment.observe(place, &mut Steps(step)));
        match observing.join() {
            Ok(seen) => seen,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    if !run.complete {
        return Err(ExperimentError::Stopped);
    }
    Ok(bench.seen(&scenario, &observed))
}

/// The switches and hosts that carry a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bench {
    switches: u64,
    /// Each is two hosts that send, one to a neighbour and one to the far end.
    pairs: u64,
}

impl Bench {
    fn for_demand(demand: RunDemand) -> Self {
        let switches = demand.longest_way.clamp(2, MOST_SWITCHES);
        let of = |pairs| Self { switches, pairs };
        let enough = |pairs: &u64| {
            let carried = RunDemand::of(&of(*pairs).scenario());
            carried.events() >= demand.events()
        };
        of((1..MOST_PAIRS).find(enough).unwrap_or(MOST_PAIRS))
    }

    fn scenario(self) -> Scenario {
        let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let text = self.text();
        Scenario::parse("load.toml", &text, &mut nothing).expect("it is written here, and valid")
    }

    fn text(self) -> String {
        let Self { switches, pairs } = self;
        let (mut hosts, mut flows) = (String::new(), String::new());
        for n in 0..pairs {
            let near = n % switches + 1;
            // Both directions.
            let (from, to) = match n % 2 {
                0 => (1, switches),
                _ => (switches, 1),
            };
            for (host, at) in [
                (format!("a{n}"), near),
                (format!("b{n}"), near),
                (format!("c{n}"), from),
                (format!("d{n}"), to),
            ] {
                hosts.push_str(&format!("{host} = {{ at = \"s{at}\" }}\n"));
            }
            for (name, from, to) in [("near", "a", "b"), ("far", "c", "d")] {
                flows.push_str(&format!(
                    "{name}-{n} = {{ like = \"samples\", from = \"{from}{n}\", to = \"{to}{n}\" }}\n"
                ));
            }
        }
        for (host, at) in [("flood1", 1), ("flood2", 2), ("sink", switches)] {
            hosts.push_str(&format!(
                "{host} = {{ at = \"s{at}\", rate = \"100 Mbit/s\" }}\n"
            ));
        }
        for n in 1..=2 {
            flows.push_str(&format!(
                "flood-{n} = {{ kind = \"best-effort\", from = \"flood{n}\", to = \"sink\", frame = \
                 \"1514 B\" }}\n"
            ));
        }
        format!(
            r#"
[scenario]
title = "Load of the machine"
duration = "{LENGTH}"
[network]
generator = "line"
size = {switches}
link_rate = "1 Gbit/s"
host_rate = "1 Gbit/s"
profile = "line-rate"
[hosts]
{hosts}
[templates.samples]
kind = "sampled-values"
frame = "122 B"
period = "{PERIOD}"
deadline = "1 s"
[flows]
{flows}
"#
        )
    }

    fn seen(self, scenario: &Scenario, observed: &world::Observed) -> UnderLoad {
        let (mut near, mut far) = (Distribution::default(), Distribution::default());
        let mut due = 0;
        for (flow, record) in scenario.flows.iter().zip(&observed.records) {
            let of = match flow.name.split_once('-') {
                Some(("near", _)) => &mut near,
                Some(("far", _)) => &mut far,
                Some(_) | None => continue,
            };
            of.merge(&record.latency);
            due += LENGTH / PERIOD;
        }
        let missing = due.saturating_sub(near.count() + far.count());
        UnderLoad {
            demand: RunDemand::of(scenario),
            near,
            far,
            switches: self.switches,
            due,
            missing,
            busy_per_mille: observed
                .busy
                .map(|busy| busy.as_ns() * 1_000 / LENGTH.as_ns()),
            interruptions: observed.interruptions.clone(),
        }
    }
}

/// Tells how much of the time is over.
struct Steps<'a>(&'a mut (dyn FnMut(u64, u64) + Send));

impl Audience for Steps<'_> {
    fn built(&mut self, _: Duration) {}

    fn discovered(&mut self, _: Discovered, _: Duration) {}

    fn decided(&mut self, _: &[Admission]) {}

    fn running(&mut self, elapsed: Duration, total: Duration) {
        (self.0)(elapsed.as_ns().min(total.as_ns()), total.as_ns());
    }

    fn happened(&mut self, _: Duration, _: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(frames: u64, longest_way: u64) -> RunDemand {
        RunDemand {
            frames,
            hops: 3 * frames,
            deliveries: 2 * frames,
            longest_way,
        }
    }

    #[test]
    fn the_bench_carries_what_is_asked_for_over_as_many_switches() {
        for (frames, way) in [(100, 1), (20_000, 4), (30_000, 6)] {
            let wanted = demand(frames, way);

            let bench = Bench::for_demand(wanted);

            let carried = RunDemand::of(&bench.scenario());
            assert!(wanted.is_within(&carried), "{wanted:?}: {carried:?}");
            assert!(bench.pairs <= MOST_PAIRS && bench.switches <= MOST_SWITCHES);
        }
    }

    /// What it sends is admitted, every flow of it: a bench that refuses measures nothing.
    #[test]
    fn the_bench_refuses_nothing() {
        for (frames, way) in [(100, 2), (20_000, 4)] {
            let scenario = Bench::for_demand(demand(frames, way)).scenario();
            let stop = AtomicBool::new(false);

            let decided = Experiment::deciding(&scenario, &stop).check().unwrap();

            let refused = decided.iter().find(|it| it.decision.is_err());
            assert_eq!(refused, None);
        }
    }

    #[test]
    fn more_than_there_is_room_for_is_measured_with_what_there_is() {
        let bench = Bench::for_demand(demand(10_000_000, 100));

        assert_eq!((bench.pairs, bench.switches), (MOST_PAIRS, MOST_SWITCHES));
        assert!(!demand(10_000_000, 100).is_within(&RunDemand::of(&bench.scenario())));
    }
}
