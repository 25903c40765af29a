//! The run: builds the stages, gives every subject its turns and takes down what
//! they show.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use linux::clock;
use tempfile::TempDir;
use units::{Duration, Instant};

use crate::arguments::{Arguments, Part, Plan};
use crate::arrangement::{Arrangement, Processors};
use crate::control_plane::{self, Condition, Finding, Load};
use crate::cost;
use crate::latency::{self, Slot};
use crate::overload::{self, Overload};
use crate::running::{Post, Running};
use crate::subject::{Home, Subject};
use crate::throughput::{self, Rate, SIZES};
use crate::traffic::{self, Entry};
use lab::stage::Testbed;

/// A stage has one host on the left and one on the right.
const HOSTS: usize = 2;
/// How long a subject that was told to go on may take to be what it was.
const SETTLING: Duration = Duration::from_ms(50);
/// The size of frames where one processor carries all.
pub const SHORTEST: usize = SIZES[0];

#[derive(Debug)]
pub struct Shown {
    pub subject: Subject,
    /// By spacing, a slot a round.
    pub latency: BTreeMap<Duration, Vec<Slot>>,
    /// By what is too much, a slot a round.
    pub overload: BTreeMap<Overload, Vec<Slot>>,
    /// By size of the frames, one search a round.
    pub throughput: BTreeMap<usize, Vec<Rate>>,
    /// One search a round with frames of [`SHORTEST`] bytes.
    pub one_processor: BTreeMap<Arrangement, Vec<Rate>>,
    /// By size of the frames.
    pub cost: BTreeMap<usize, Duration>,
    pub control: Vec<Finding>,
    pub failures: Vec<String>,
}

#[derive(Debug)]
pub struct Results {
    pub plan: Plan,
    /// Every subject that took part.
    pub shown: Vec<Shown>,
    /// Who did not, and why.
    pub absent: Absent,
    pub took: Duration,
}

type Absent = Vec<(Subject, String)>;

pub fn run(arguments: &Arguments, processors: Processors) -> io::Result<Results> {
    let folder = tempfile::tempdir()?;
    let mut run = Run {
        arguments,
        plan: arguments.plan(),
        processors,
        began: clock::now(),
        absent: Vec::new(),
    };
    let mut contenders = run.assemble(&folder)?;
    if arguments.measures(Part::Latency) {
        run.latency(&mut contenders)?;
    }
    if arguments.measures(Part::Throughput) {
        run.throughput(&mut contenders)?;
    }
    if arguments.measures(Part::Cost) {
        run.cost(&mut contenders)?;
    }
    if arguments.measures(Part::Control) {
        run.control(&mut contenders)?;
    }
    let mut shown: Vec<Shown> = contenders.into_iter().map(|it| it.shown).collect();
    if arguments.measures(Part::Overload) {
        run.overload(&folder, &mut shown)?;
    }
    Ok(Results {
        plan: run.plan,
        shown,
        absent: run.absent,
        took: clock::now() - run.began,
    })
}

struct Run<'a> {
    arguments: &'a Arguments,
    plan: Plan,
    processors: Processors,
    began: Instant,
    absent: Absent,
}

impl Run<'_> {
    fn progress(&self, what: &str) {
        let seconds = (clock::now() - self.began).as_ns() / 1_000_000_000;
        eprintln!("{seconds:>4} s  {what}");
    }

    /// Starts everyone who takes part, and has them stand still.
    fn assemble(&mut self, folder: &TempDir) -> io::Result<Vec<Contender>> {
        let mut contenders = Vec::new();
        let wanted = Subject::ALL.into_iter().enumerate();
        for (number, subject) in wanted.filter(|(_, it)| self.arguments.includes(*it)) {
            let stage = Testbed::build(HOSTS)?;
            let place = folder.path().join(number.to_string());
            let post = Post {
                stage: &stage,
                processor: self.processors.subject,
                folder: &place,
                rate: None,
            };
            match start(subject, post, &traffic::entries()) {
                Ok(running) => contenders.push(Contender::new(subject, stage, running)),
                Err(error) => self.absent.push((subject, error.to_string())),
            }
        }
        Ok(contenders)
    }

    fn latency(&self, contenders: &mut [Contender]) -> io::Result<()> {
        for round in 1..=self.plan.latency_rounds {
            let rounds = self.plan.latency_rounds;
            self.progress(&format!("latency, round {round} of {rounds}"));
            take_turns(contenders, |contender| {
                for &(spacing, frames) in &self.plan.spacings {
                    let frames = frames / contender.shown.subject.share();
                    let slot =
                        latency::measure(&contender.stage, &contender.running, spacing, frames)?;
                    let slots = contender.shown.latency.entry(spacing);
                    slots.or_default().push(slot);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn throughput(&self, contenders: &mut [Contender]) -> io::Result<()> {
        let (rounds, trial) = (self.plan.throughput_rounds, self.plan.trial);
        for round in 1..=rounds {
            for size in SIZES {
                self.progress(&format!(
                    "throughput, {size} bytes, round {round} of {rounds}"
                ));
                take_turns(contenders, |contender| {
                    let rate = throughput::search(&contender.stage, size, trial)?;
                    let rates = contender.shown.throughput.entry(size);
                    rates.or_default().push(rate);
                    Ok(())
                })?;
            }
        }
        for round in 1..=self.plan.one_processor_rounds {
            let rounds = self.plan.one_processor_rounds;
            self.progress(&format!(
                "throughput of one processor, round {round} of {rounds}"
            ));
            take_turns(contenders, |contender| self.one_processor_turn(contender))?;
        }
        Ok(())
    }

    fn one_processor_turn(&self, contender: &mut Contender) -> io::Result<()> {
        let subject = contender.shown.subject;
        let stage = &contender.stage;
        for arrangement in Arrangement::ALL {
            if !subject.can_be(arrangement) {
                continue;
            }
            let search = || throughput::search(stage, SHORTEST, self.plan.trial);
            let rate = arrangement.hold(stage, self.processors, search)?;
            let rates = contender.shown.one_processor.entry(arrangement);
            rates.or_default().push(rate);
        }
        Ok(())
    }

    fn cost(&self, contenders: &mut [Contender]) -> io::Result<()> {
        self.progress("processor time of a frame");
        let empty = Testbed::build(HOSTS)?;
        take_turns(contenders, |contender| {
            let (stage, running) = (&contender.stage, &contender.running);
            let subject = contender.shown.subject;
            for size in SIZES {
                let cost = match subject.home() {
                    Home::Programs if subject.sleeps() => cost::of_programs(stage, running, size)?,
                    Home::Programs => None,
                    Home::Kernel => Arrangement::Together.hold(stage, self.processors, || {
                        cost::of_the_kernel(stage, &empty, size)
                    })?,
                };
                contender.shown.cost.extend(cost.map(|cost| (size, cost)));
            }
            Ok(())
        })
    }

    fn control(&self, contenders: &mut [Contender]) -> io::Result<()> {
        for &(entries, means, changes) in &self.plan.changes {
            self.progress(&format!(
                "{changes} changes of {entries} entries by {means}"
            ));
            take_turns(contenders, |contender| {
                let subject = contender.shown.subject;
                if !subject.has_rules() || subject.sleeps() {
                    return Ok(());
                }
                let Some(mut controller) = contender.running.controller()? else {
                    return Ok(());
                };
                for load in [Load::Idle, Load::Stream] {
                    let condition = Condition {
                        entries,
                        means,
                        load,
                    };
                    let finding = control_plane::measure(
                        &contender.stage,
                        &mut controller,
                        condition,
                        changes,
                    )?;
                    contender.shown.control.push(finding);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Starts those again whose ports can have a rate.
    fn overload(&mut self, folder: &TempDir, shown: &mut [Shown]) -> io::Result<()> {
        let mut contenders = Vec::new();
        for one in shown.iter_mut().filter(|one| one.subject.paces()) {
            let stage = Testbed::build(HOSTS)?;
            let place = folder.path().join(format!("paced {}", contenders.len()));
            let post = Post {
                stage: &stage,
                processor: self.processors.subject,
                folder: &place,
                rate: Some(overload::RATE),
            };
            match start(one.subject, post, &traffic::entries_with_queues()) {
                Ok(running) => contenders.push(Contender::new(one.subject, stage, running)),
                Err(error) => one.failures.push(format!("with a rate: {error}")),
            }
        }
        for round in 1..=self.plan.overload_rounds {
            let rounds = self.plan.overload_rounds;
            self.progress(&format!("overload, round {round} of {rounds}"));
            take_turns(&mut contenders, |contender| {
                overload_turn(contender, self.plan.urgent_frames)
            })?;
        }
        for contender in contenders {
            let found = shown
                .iter_mut()
                .find(|one| one.subject == contender.shown.subject);
            if let Some(one) = found {
                one.overload = contender.shown.overload;
                one.failures.extend(contender.shown.failures);
            }
        }
        Ok(())
    }
}

fn overload_turn(contender: &mut Contender, frames: usize) -> io::Result<()> {
    for overload in Overload::ALL {
        let slot = overload::measure(&contender.stage, &contender.running, overload, frames)?;
        let slots = contender.shown.overload.entry(overload);
        slots.or_default().push(slot);
    }
    Ok(())
}

/// Starts a subject and has it stand still.
fn start(subject: Subject, post: Post<'_>, entries: &[Entry]) -> io::Result<Running> {
    let started = match subject.lacks() {
        Some(lacking) => Err(io::Error::other(format!("lacks: {lacking}"))),
        None => Running::start(subject, post, entries),
    };
    let settled = started.and_then(|running| {
        clock::sleep_until(clock::now() + SETTLING);
        running.pause()?;
        Ok(running)
    });
    settled.inspect_err(|error| {
        let said = last_words(post.folder);
        eprintln!("SKIPPED {subject}: {error}{said}");
    })
}

/// Returns the last lines of what programs have said in `folder`.
fn last_words(folder: &Path) -> String {
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

struct Contender {
    stage: Testbed,
    running: Running,
    shown: Shown,
}

impl Contender {
    fn new(subject: Subject, stage: Testbed, running: Running) -> Self {
        let shown = Shown {
            subject,
            latency: BTreeMap::new(),
            overload: BTreeMap::new(),
            throughput: BTreeMap::new(),
            one_processor: BTreeMap::new(),
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
