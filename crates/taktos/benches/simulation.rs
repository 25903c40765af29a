//! How fast is virtual time?
//!
//! Runs whole scenarios in `sim` and measures the time in which traffic flows;
//! building the network, discovery and admission are not in it. A *hop* is one
//! frame put on one cable, so it includes the host or the switch that put it
//! there, the lookup, the queues and the instrument at both ends.
//!
//! The machine may have other things to do. Time on the processor counts, every
//! scenario runs several times, the best run is shown, and the last column says
//! for how long that run stood ready while something else had the processor.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use controller::northbound::{Request, RequestId, Said};
use measure::load::Load;
use run::experiment::sim_world::SimWorld;
use run::experiment::world::{Observed, World};
use run::experiment::{
    Admission, Audience, Carrying, Discovered, Experiment, ExperimentError, SimEngine, WorldChoice,
};
use scenario::{Change, Scenario};
use sim::world::Counts;

/// Hops a second that are wanted on one core.
const HOPS_WANTED: f64 = 2e6;

/// What runs: the scenario, for how long, how often.
const RUNS: [(&str, units::Duration, usize); 2] = [
    ("substation", units::Duration::from_secs(30), 5),
    ("large", units::Duration::from_secs(1), 1),
];

fn main() {
    println!(
        "{:<12}{:>9}{:>9}{:>12}{:>12}{:>12}{:>9}{:>10}{:>10}",
        "scenario", "switches", "flows", "hops", "Mhop/s", "Mevent/s", "/ 2M", "x real", "stalled"
    );
    for (name, duration, times) in RUNS {
        let scenario = scenario_of_length(name, duration);
        let runs = (0..times).map(|_| run(&scenario));
        let best = runs
            .min_by_key(|run| run.took.running)
            .expect("each scenario runs at least once");
        show(name, &scenario, &best);
    }
}

fn show(name: &str, scenario: &Scenario, run: &Measured) {
    let took = run.took.running.as_secs_f64();
    let hops = per_second(run.counts.hops, took);
    let virtual_time = Duration::from_nanos(scenario.duration.as_ns()).as_secs_f64();
    println!(
        "{name:<12}{:>9}{:>9}{:>12}{:>12.2}{:>12.2}{:>9.2}{:>10.1}{:>7.0} ms",
        scenario.switches.len(),
        run.admitted,
        run.counts.hops,
        hops / 1e6,
        per_second(run.counts.events, took) / 1e6,
        hops / HOPS_WANTED,
        virtual_time / took,
        run.took.stalled.as_secs_f64() * 1e3,
    );
}

fn scenario_of_length(name: &str, duration: units::Duration) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let file = format!("{name}.toml");
    let text = std::fs::read_to_string(folder.join(&file)).expect("the scenario is there");
    let mut scenario = Scenario::parse(&file, &text, &mut |file| {
        std::fs::read_to_string(folder.join(file))
    })
    .expect("the scenario is well-formed");
    scenario.duration = duration;
    scenario
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    took: Effort,
    counts: Counts,
    admitted: usize,
}

/// How long a thread ran and how long it had to wait for a processor.
#[derive(Clone, Copy, Debug, Default)]
struct Effort {
    running: Duration,
    stalled: Duration,
}

impl Effort {
    /// Returns that of this thread so far, as the scheduler counts it.
    fn so_far() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat")
            .expect("the kernel counts for each thread");
        let mut numbers = text.split_whitespace().map(|number| {
            let number = number.parse().expect("nanoseconds");
            Duration::from_nanos(number)
        });
        let mut next = || numbers.next().expect("two lengths of time");
        Self {
            running: next(),
            stalled: next(),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            running: self.running - before.running,
            stalled: self.stalled - before.stalled,
        }
    }
}

fn run(scenario: &Scenario) -> Measured {
    let stop = AtomicBool::new(false);
    let experiment = Experiment {
        scenario,
        stop: &stop,
        store: PathBuf::new(),
        captures: PathBuf::new(),
        profiles: Vec::new(),
        carrying: Carrying::Whole,
        spare: calculus::admission::Spare::default(),
    };
    let config = experiment.config().expect("budgets are found");
    let measured = Rc::new(Cell::new(Measured::default()));
    let world = Stopwatch {
        world: SimWorld::new(scenario, config.clone()),
        begun: Effort::default(),
        before: Counts::default(),
        measured: Rc::clone(&measured),
    };
    let mut listener = Listener::default();
    experiment
        .run_in(
            Box::new(world),
            WorldChoice::Sim(SimEngine::Tables),
            &config,
            &mut listener,
        )
        .expect("virtual time does not break down");
    Measured {
        admitted: listener.admitted,
        ..measured.get()
    }
}

/// A simulation, and how long it took from the first frame on.
#[derive(Debug)]
struct Stopwatch {
    world: SimWorld,
    begun: Effort,
    before: Counts,
    measured: Rc<Cell<Measured>>,
}

impl World for Stopwatch {
    fn building(&self) -> Option<units::Duration> {
        self.world.building()
    }

    fn now(&self) -> units::Instant {
        self.world.now()
    }

    fn unix_origin_ns(&self) -> u64 {
        self.world.unix_origin_ns()
    }

    fn is_undisturbed(&self) -> bool {
        self.world.is_undisturbed()
    }

    fn request(&mut self, request: Request) -> RequestId {
        self.world.request(request)
    }

    fn listen(&mut self, until: units::Instant) -> Result<Vec<Said>, ExperimentError> {
        self.world.listen(until)
    }

    fn announce(&mut self, host: usize, frame: &[u8]) {
        self.world.announce(host, frame);
    }

    fn plant(&mut self, scenario: &scenario::Scenario, start: units::Instant) {
        self.world.plant(scenario, start);
    }

    fn begin(
        &mut self,
        load: Load,
        changes: &[(units::Instant, Change)],
    ) -> Result<(), ExperimentError> {
        self.before = self.world.counts();
        self.world.begin(load, changes)?;
        self.begun = Effort::so_far();
        Ok(())
    }

    fn change(&mut self, change: Change) {
        self.world.change(change);
    }

    fn finish(self: Box<Self>) -> Result<Observed, ExperimentError> {
        let counts = self.world.counts();
        self.measured.set(Measured {
            took: Effort::so_far().since(self.begun),
            counts: Counts {
                hops: counts.hops - self.before.hops,
                events: counts.events - self.before.events,
                ..counts
            },
            ..Measured::default()
        });
        Box::new(self.world).finish()
    }
}

/// Listens for how many flows were admitted.
#[derive(Debug, Default)]
struct Listener {
    admitted: usize,
}

impl Audience for Listener {
    fn built(&mut self, _: units::Duration) {}

    fn discovered(&mut self, _: Discovered, _: units::Duration) {}

    fn decided(&mut self, admissions: &[Admission]) {
        let admitted = admissions.iter().filter(|one| one.decision.is_ok());
        self.admitted = admitted.count();
    }

    fn running(&mut self, _: units::Duration, _: units::Duration) {}

    fn happened(&mut self, _: units::Duration, _: &str) {}
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a figure for people has three digits"
)]
fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds
}
