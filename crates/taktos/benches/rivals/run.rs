//! The run: builds the stages, gives every subject its turns and takes down what
//! they show.

use std::collections::BTreeMap;
use std::io;

use linux::clock;
use tempfile::TempDir;
use units::Duration;

use crate::arguments::{Arguments, Part, Plan};
use crate::control_plane::{self, Finding, Load};
use crate::cost;
use crate::latency::{self, Slot};
use crate::stage::Stage;
use crate::subject::{Running, Subject};
use crate::throughput::{self, Rate, SIZES};

/// How many entries one flow-mod changes.
const CHANGED: [u32; 2] = [1, 10_000];
/// How long a subject that was told to go on may take to be what it was.
const SETTLING: Duration = Duration::from_ms(50);

/// What one subject showed.
#[derive(Debug)]
pub struct Shown {
    /// Which one.
    pub subject: Subject,
    /// By spacing, a slot a round.
    pub latency: BTreeMap<Duration, Vec<Slot>>,
    /// By size of the frames, one search a round.
    pub throughput: BTreeMap<usize, Vec<Rate>>,
    /// By size of the frames.
    pub cost: BTreeMap<usize, Duration>,
    /// One under each condition.
    pub control: Vec<Finding>,
    /// What went wrong.
    pub failures: Vec<String>,
}

/// What all showed.
#[derive(Debug)]
pub struct Results {
    /// How much was measured.
    pub plan: Plan,
    /// Every subject that took part.
    pub shown: Vec<Shown>,
    /// Who did not, and why.
    pub absent: Vec<(Subject, String)>,
    /// How long it took.
    pub took: Duration,
}

struct Contender {
    stage: Stage,
    running: Running,
    shown: Shown,
}

/// Runs the comparison.
pub fn run(arguments: &Arguments, processor: usize) -> io::Result<Results> {
    let began = clock::now();
    let folder = tempfile::tempdir()?;
    let (mut contenders, absent) = assemble(arguments, processor, &folder)?;
    let plan = arguments.plan();
    if arguments.measures(Part::Latency) {
        for round in 1..=plan.latency_rounds {
            progress(
                began,
                &format!("latency, round {round} of {}", plan.latency_rounds),
            );
            take_turns(&mut contenders, |contender| latency_turn(contender, &plan))?;
        }
    }
    if arguments.measures(Part::Throughput) {
        for round in 1..=plan.throughput_rounds {
            for size in SIZES {
                let rounds = plan.throughput_rounds;
                progress(
                    began,
                    &format!("throughput, {size} bytes, round {round} of {rounds}"),
                );
                take_turns(&mut contenders, |contender| {
                    let rate = throughput::search(&contender.stage, size, plan.trial)?;
                    contender
                        .shown
                        .throughput
                        .entry(size)
                        .or_default()
                        .push(rate);
                    Ok(())
                })?;
            }
        }
    }
    if arguments.measures(Part::Cost) {
        progress(began, "processor time of a frame");
        take_turns(&mut contenders, cost_turn)?;
    }
    if arguments.measures(Part::Control) {
        for (entries, changes) in CHANGED.into_iter().zip(plan.changes) {
            progress(
                began,
                &format!("{changes} changes of {entries} entries at once"),
            );
            take_turns(&mut contenders, |contender| {
                control_turn(contender, entries, changes)
            })?;
        }
    }
    Ok(Results {
        plan,
        shown: contenders
            .into_iter()
            .map(|contender| contender.shown)
            .collect(),
        absent,
        took: clock::now() - began,
    })
}

fn progress(began: units::Instant, what: &str) {
    let seconds = (clock::now() - began).as_ns() / 1_000_000_000;
    eprintln!("{seconds:>4} s  {what}");
}

type Absent = Vec<(Subject, String)>;

/// Starts everyone who takes part, and has them stand still.
fn assemble(
    arguments: &Arguments,
    processor: usize,
    folder: &TempDir,
) -> io::Result<(Vec<Contender>, Absent)> {
    let (mut contenders, mut absent) = (Vec::new(), Vec::new());
    let wanted = Subject::ALL
        .into_iter()
        .filter(|subject| arguments.includes(*subject));
    for (number, subject) in wanted.enumerate() {
        let stage = Stage::build()?;
        let place = folder.path().join(number.to_string());
        let started = match subject.lacks() {
            Some(lacking) => Err(io::Error::other(lacking)),
            None => subject.start(&stage, processor, &place),
        };
        match started {
            Ok(running) => {
                clock::sleep_until(clock::now() + SETTLING);
                running.pause()?;
                contenders.push(Contender::new(subject, stage, running));
            }
            Err(error) => {
                let said = last_words(&place);
                eprintln!("SKIPPED {subject}: {error}{said}");
                absent.push((subject, error.to_string()));
            }
        }
    }
    Ok((contenders, absent))
}

/// Returns the last lines of what programs have said in `folder`.
fn last_words(folder: &std::path::Path) -> String {
    const LINES: usize = 3;
    let mut said = String::new();
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files.filter(|file| file.path().extension().is_some_and(|it| it == "log")) {
        let text = std::fs::read_to_string(file.path()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            said += &format!("\n    {line}");
        }
    }
    said
}

impl Contender {
    fn new(subject: Subject, stage: Stage, running: Running) -> Self {
        let shown = Shown {
            subject,
            latency: BTreeMap::new(),
            throughput: BTreeMap::new(),
            cost: BTreeMap::new(),
            control: Vec::new(),
            failures: Vec::new(),
        };
        Self {
            stage,
            running,
            shown,
        }
    }
}

/// Gives everyone a turn, one after the other.
fn take_turns(
    contenders: &mut [Contender],
    mut turn: impl FnMut(&mut Contender) -> io::Result<()>,
) -> io::Result<()> {
    for contender in contenders {
        if contender.running.has_ended() {
            continue;
        }
        contender.running.resume()?;
        clock::sleep_until(clock::now() + SETTLING);
        if let Err(error) = turn(contender) {
            let subject = contender.shown.subject;
            eprintln!("FAILED {subject}: {error}");
            contender.shown.failures.push(error.to_string());
        }
        if contender.running.has_ended() {
            eprintln!("ENDED {}", contender.shown.subject);
            contender.shown.failures.push("ended by itself".to_owned());
            continue;
        }
        contender.running.pause()?;
    }
    Ok(())
}

fn latency_turn(contender: &mut Contender, plan: &Plan) -> io::Result<()> {
    for &(spacing, frames) in &plan.spacings {
        let slot = latency::measure(&contender.stage, &contender.running, spacing, frames)?;
        contender
            .shown
            .latency
            .entry(spacing)
            .or_default()
            .push(slot);
    }
    Ok(())
}

fn cost_turn(contender: &mut Contender) -> io::Result<()> {
    if !contender.shown.subject.sleeps() {
        return Ok(());
    }
    for size in SIZES {
        if let Some(cost) = cost::measure(&contender.stage, &contender.running, size)? {
            contender.shown.cost.insert(size, cost);
        }
    }
    Ok(())
}

fn control_turn(contender: &mut Contender, entries: u32, changes: u32) -> io::Result<()> {
    if !contender.shown.subject.has_rules() || contender.shown.subject.sleeps() {
        return Ok(());
    }
    let Some(mut controller) = contender.running.controller()? else {
        return Ok(());
    };
    for load in [Load::Idle, Load::Stream] {
        let finding =
            control_plane::measure(&contender.stage, &mut controller, entries, load, changes)?;
        contender.shown.control.push(finding);
    }
    Ok(())
}
