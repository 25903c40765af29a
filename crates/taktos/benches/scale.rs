//! How large a network does one machine carry in namespaces?
//!
//! Builds the scenario `grid`, 200 switches and 400 links, with the kernel
//! forwarding, and tells how long it takes until the network stands, until the
//! controller knows all of it and until every flow has its entries; what processor
//! time it takes while no host sends, and that every flow arrives afterwards.
//!
//! The processor time of the threads of this program is exact, and holds the soft
//! interrupts that they caused. What the machine spent on soft interrupts is
//! sampled, and everything else that runs there is in it, as it is in the time that
//! the processors were not idle.
//!
//! Needs root in the first user namespace. Arguments: the name of another scenario,
//! `packet` for the loop that spins.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use lab::switches::{Carried, Forwarding, kernel_refuses};
use linux::clock;
use linux::usage::{Spent, Usage};
use run::experiment::{
    Admission, Audience, Carrying, Discovered, Experiment, ExperimentError, WorldChoice,
};
use scenario::Scenario;
use units::{Duration, Instant};

/// For how long the network idles.
const IDLING: Duration = Duration::from_secs(10);
/// How long it takes until nothing is left to be done before.
const SETTLING: Duration = Duration::from_secs(2);
/// For how long hosts send afterwards.
const SENDING: Duration = Duration::from_secs(5);
const USUAL: &str = "grid";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let forwarding = match arguments.iter().any(|word| word == "packet") {
        true => Forwarding::Loop(Carried::Packet),
        false => Forwarding::Kernel,
    };
    if let (Forwarding::Kernel, Some(refusal)) = (forwarding, kernel_refuses()) {
        eprintln!("the kernel does not forward here: {refusal}");
        return ExitCode::FAILURE;
    }
    let name = arguments
        .iter()
        .find(|word| !word.starts_with("--") && *word != "packet");
    let scenario = read(name.map_or(USUAL, String::as_str));
    match run(&scenario, forwarding) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn read(name: &str) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let file = format!("{name}.toml");
    let text = std::fs::read_to_string(folder.join(&file)).expect("the scenario is there");
    let load = &mut |file: &str| std::fs::read_to_string(folder.join(file));
    let mut scenario = Scenario::parse(&file, &text, load).expect("it is well-formed");
    scenario.duration = SENDING;
    scenario
}

fn run(scenario: &Scenario, forwarding: Forwarding) -> Result<(), ExperimentError> {
    let folder = std::env::temp_dir().join(format!("taktos-scale-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for what is temporary");
    let stop = AtomicBool::new(false);
    let experiment = Experiment {
        scenario,
        stop: &stop,
        store: folder.join("store"),
        captures: PathBuf::new(),
        profiles: Vec::new(),
        carrying: Carrying::Whole,
        spare: calculus::admission::Spare::default(),
    };
    let mut teller = Teller {
        since: clock::now(),
    };
    let report = experiment.run(WorldChoice::Lab(forwarding), &mut teller)?;
    let (sent, lost) = report.flows.iter().fold((0, 0), |(sent, lost), flow| {
        (sent + flow.sent, lost + flow.lost)
    });
    println!(
        "{sent} frames of {} flows sent, {lost} lost",
        report.flows.len()
    );
    // What is temporary may stay.
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

/// Tells how long everything took.
struct Teller {
    since: Instant,
}

impl Teller {
    fn tell(&self, what: &str) {
        let took = (clock::now() - self.since).as_secs_f64();
        println!("{took:>7.1} s  {what}");
    }
}

impl Audience for Teller {
    fn built(&mut self, _: Duration) {
        self.tell("the network stands, and its switches run");
    }

    fn discovered(&mut self, found: Discovered, _: Duration) {
        self.tell(&format!("the controller knows {found}"));
    }

    fn decided(&mut self, admissions: &[Admission]) {
        let admitted = admissions.iter().filter(|one| one.decision.is_ok());
        self.tell(&format!("{} flows admitted", admitted.count()));
        idle();
    }

    fn running(&mut self, _: Duration, _: Duration) {}

    fn happened(&mut self, _: Duration, _: &str) {}
}

/// Shows what the network costs that is left alone.
fn idle() {
    // Entries are on their way to the switches.
    clock::sleep_until(clock::now() + SETTLING);
    let before = Usage::read();
    clock::sleep_until(clock::now() + IDLING);
    if let (Ok(before), Ok(after)) = (before, Usage::read()) {
        show(&after.since(&before));
    }
}

fn show(spent: &Spent) {
    let share = |used: Duration| 100.0 * used.as_secs_f64() / spent.elapsed.as_secs_f64();
    println!("           idle for {IDLING}, percent of one processor:");
    for (thread, used) in &spent.threads {
        println!("           {thread:<16}{:>6.2} %", share(*used));
    }
    println!(
        "           all threads     {:>6.2} %",
        share(spent.by_all())
    );
    let soft = share(spent.soft_interrupts);
    println!("           soft interrupts {soft:>6.2} %, of the whole machine");
    println!(
        "           busy            {:>6.2} %, of the whole machine",
        share(spent.busy)
    );
}
