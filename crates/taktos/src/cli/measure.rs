//! `taktos measure`: one method of measurement on one device.
//!
//! The methods are a table in [`measure::method`]; what can be measured is a table in
//! [`target`](run::measuring::target).

mod background_traffic;
mod calibrate;
mod compare;
mod recorded;
mod show;
mod stamps;

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::privilege::{self, Lacking};
use lab::tester::{AgentAccess, LinkTester, TesterError};
use linux::clock;
use measure::capture::analysis::{Addressing, Assumptions, Clocks, Question};
use measure::measurement::Measurement;
use measure::method::{
    self, Effort, METHODS, Method, MethodError, Progress, Settings, acceptance, profile,
};
use measure::plan::TimeLeft;
use measure::trial::{Tester, TrialError};
use sim::emulation::fidelity::{self, Fidelity};
use thiserror::Error;
use units::Duration;

use super::exit::Exit;
use super::report_folder::{prove_writable, write_whole};
use super::run::stop_on_signals;
use super::screen::{self, Steps, say};
use crate::datapath::endpoint::Endpoint;
use run::measuring;
use run::measuring::conditions::Record;
use run::measuring::resumed::ResumeError;
use run::measuring::target::{Target, Wanted};

/// What `taktos measure` is told.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Measure {
    #[command(subcommand)]
    special: Option<Special>,
    /// The method; without it, methods and targets are listed.
    method: Option<String>,
    /// The device: see the list [default: taktos, or relay for the tester's own methods].
    #[arg(conflicts_with = "ports")]
    target: Option<Target>,
    /// Interfaces of this machine to which a device is connected, the sending one
    /// first. They are borrowed, and given back as they were.
    #[arg(long, value_name = "IF,IF,…", value_delimiter = ',')]
    ports: Vec<String>,
    /// Captures taken elsewhere, pcap or pcapng, in place of a device: those of the two
    /// ends of a path, the sender's first, or one alone. For latency, flow-setup, jitter,
    /// loss, throughput and failover.
    #[arg(long, value_name = "FILE,FILE", value_delimiter = ',', conflicts_with_all = ["target", "ports"])]
    captures: Vec<PathBuf>,
    /// Both captures were stamped by one clock, so that the latency of each direction
    /// can be told.
    #[arg(long, requires = "captures")]
    one_clock: bool,
    /// Addresses are translated between the captures: packets are known by their
    /// number and payload.
    #[arg(long, requires = "captures")]
    translated: bool,
    /// The OpenFlow agent of that device, which listens there, as in
    /// tcp:192.0.2.1:6653.
    #[arg(long, value_name = "tcp:HOST[:PORT]", requires = "ports")]
    agent: Option<Endpoint>,
    /// The same if the agent connects to us there, as to a controller.
    #[arg(
        long,
        value_name = "tcp:HOST[:PORT]",
        requires = "ports",
        conflicts_with = "agent"
    )]
    listen: Option<Endpoint>,
    /// A recording whose frames are sent at their times by `replay`: a table of seconds
    /// and bits, or a capture, as in trace:sensor.csv or trace:seen.pcapng.
    #[arg(long, value_name = "trace:FILE", value_parser = background_traffic::trace_file, conflicts_with = "captures")]
    traffic: Option<PathBuf>,
    /// What is sent to the receiver beside whatever is measured: a recording, again and
    /// again, or stations that read values over TCP port 102. For latency, throughput,
    /// jitter, loss and replay.
    #[arg(
        long,
        value_name = "trace:FILE|mms,…",
        value_delimiter = ',',
        conflicts_with = "captures"
    )]
    background: Vec<background_traffic::Background>,
    /// Who stamps the frames at the ports of --ports; hardware is refused with what their
    /// cards lack [default: hardware if all cards can, both ways, else kernel].
    #[arg(long, value_enum, requires = "ports")]
    stamps: Option<stamps::WantedStamps>,
    /// How many ports of a device that is started here are connected, 2 to 4; the
    /// method's own choice if nothing is said.
    #[arg(long, value_name = "N", conflicts_with = "ports")]
    connect: Option<usize>,
    /// Choose something of the method's own, as in interval=1ms. May be given several
    /// times; the list shows what there is.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String)>,
    /// Do less: enough to see that it works. The result says so.
    #[arg(long)]
    quick: bool,
    /// Everything random follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long one trial sends, as in "10 s".
    #[arg(long)]
    duration: Option<Duration>,
    /// Keep what was found at each point in this file, and begin where it ends if it is
    /// there: so that a long plan can be interrupted.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Keep every frame that the tester sees in this file, with its stamp in
    /// nanoseconds, for Wireshark and its relatives.
    #[arg(long, value_name = "FILE", conflicts_with = "captures")]
    pcapng: Option<PathBuf>,
    /// A directory for what was found.
    #[arg(long, visible_alias = "report", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// What is more than one method on one device.
#[derive(Debug, clap::Subcommand)]
enum Special {
    /// Measure two devices in turns, or take two results, and set them beside each
    /// other: how they differ, and how sure that is.
    Compare(compare::Compare),
}

/// Why nothing was measured.
#[derive(Debug, Error)]
enum Failure {
    /// What the user wants makes no sense.
    #[error("{0}")]
    Mistake(String),
    /// The machine lacks something.
    #[error("{0}")]
    Lacking(String),
    /// The device or the tester failed.
    #[error("{0}")]
    Fault(String),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Self::Mistake(_) => Exit::BadInput,
            Self::Lacking(_) => Exit::Lacking,
            Self::Fault(_) => Exit::Fault,
            Self::Interrupted => Exit::Interrupted,
        }
    }

    /// Says it, and returns how the program ends.
    fn told(&self) -> Exit {
        say(format_args!("taktos: {self}"));
        self.exit()
    }
}

impl From<TesterError> for Failure {
    fn from(error: TesterError) -> Self {
        match error {
            TesterError::NoInterface(_) | TesterError::Twice(_) | TesterError::Number(_) => {
                Self::Mistake(error.to_string())
            }
            _ => Self::Lacking(error.to_string()),
        }
    }
}

impl From<Lacking> for Failure {
    fn from(lacking: Lacking) -> Self {
        Self::Lacking(lacking.to_string())
    }
}

impl From<MethodError> for Failure {
    fn from(error: MethodError) -> Self {
        match error {
            MethodError::Trial(TrialError::Interrupted) => Self::Interrupted,
            MethodError::Option(..) | MethodError::Unsuitable(_) => {
                Self::Mistake(error.to_string())
            }
            MethodError::Trial(TrialError::Unable { .. }) => Self::Mistake(error.to_string()),
            MethodError::Trial(_) => Self::Fault(error.to_string()),
        }
    }
}

fn parse_option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("say it as in interval=1ms".to_owned()),
    }
}

/// Measures, or lists what can be measured and how.
pub fn measure(arguments: &Measure) -> Exit {
    if let Some(Special::Compare(arguments)) = &arguments.special {
        return compare::compare(arguments);
    }
    let Some(name) = &arguments.method else {
        return print(&show::list());
    };
    if let Err(failure) = can_be_kept(arguments.out.as_deref()) {
        return failure.told();
    }
    if name == calibrate::NAME {
        return calibrate::calibrate(arguments);
    }
    let made = find(name).and_then(|method| match arguments.captures.is_empty() {
        true => make(method, arguments),
        false => analyze(method, arguments),
    });
    match made {
        Ok(measurement) => conclude(arguments, &measurement),
        Err(failure) => failure.told(),
    }
}

/// Looks whether what will be found can be kept, before anything is measured.
fn can_be_kept(folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else {
        return Ok(());
    };
    prove_writable(folder).map_err(|error| {
        let folder = folder.display();
        Failure::Mistake(format!("cannot write to {folder}: {error}"))
    })
}

fn find(name: &str) -> Result<&'static Method, Failure> {
    method::named(name).ok_or_else(|| {
        let known = METHODS.iter().map(|method| method.name);
        let known: Vec<_> = known.chain([calibrate::NAME]).collect();
        let guess = nearest(name, &known);
        let guess = guess.map_or_else(String::new, |it| format!("did you mean `{it}`? "));
        let known = known.join(", ");
        Failure::Mistake(format!(
            "no method is named `{name}`: {guess}There are {known}"
        ))
    })
}

/// Returns the known word that was meant, if one is like it.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    const LIKE: usize = 3;
    let distance = |candidate: &&str| strsim::damerau_levenshtein(word, candidate);
    let nearest = known.iter().copied().min_by_key(distance)?;
    (distance(&nearest) <= LIKE.min(nearest.len() / 2)).then_some(nearest)
}

fn make(method: &Method, arguments: &Measure) -> Result<Measurement, Failure> {
    let settings = settings(method, arguments)?;
    let mut company = background_traffic::TesterTraffic::of(method, arguments)?;
    let stop = stop_on_signals()
        .map_err(|error| Failure::Fault(format!("cannot catch Ctrl-C: {error}")))?;
    let record = Record::begin();
    let (mut tester, remarks) = open(method, arguments, stop)?;
    company.remark(remarks);
    say(format_args!("{}: {}", method.name, tester.setup().device));
    match &arguments.pcapng {
        None => company.keep(&mut *tester, |tester| {
            conduct(method, arguments, &settings, tester, record)
        }),
        Some(path) => recorded::keep(path, &mut *tester, |tester| {
            company.keep(tester, |tester| {
                conduct(method, arguments, &settings, tester, record)
            })
        }),
    }
}

/// Measures, with a journal if one is wanted.
fn conduct(
    method: &Method,
    arguments: &Measure,
    settings: &Settings,
    tester: &mut dyn Tester,
    record: Record,
) -> Result<Measurement, Failure> {
    let mut bar = Bar::new(method.name);
    let made = match &arguments.journal {
        Some(file) => {
            let made =
                measuring::resumed::measure(file, method, tester, settings, &mut bar, &record);
            made.map_err(|error| match error {
                ResumeError::Method(error) => explained(method, error),
                ResumeError::Journal(mistake) => Failure::Mistake(mistake),
            })
        }
        None => {
            let made = measuring::measure(method, tester, settings, &mut bar, record);
            made.map_err(|error| explained(method, error))
        }
    };
    bar.steps.close();
    if let (Some(file), Err(Failure::Interrupted)) = (&arguments.journal, &made) {
        say(format_args!(
            "what was measured is in {}: the same command goes on from there",
            file.display()
        ));
    }
    let mut measurement = made?;
    if let Some(Target::EmulatedRelay(profile)) = &arguments.target {
        let (effort, seed) = (settings.effort, settings.seed);
        let likenesses = match method.name {
            "latency" => fidelity::of_relay(profile, effort, seed, tester)?,
            "flow-setup" => fidelity::of_relay_flows(profile, effort, seed, tester)?,
            _ => Vec::new(),
        };
        let figures = likenesses.iter().flat_map(Fidelity::figures);
        measurement.figures.extend(figures);
    }
    if let (profile::METHOD_NAME, Some(Target::Emulated(emulated))) =
        (method.name, &arguments.target)
    {
        let likenesses = emulated.likeness(settings.effort, settings.seed)?;
        let figures = likenesses.iter().flat_map(Fidelity::figures);
        measurement.figures.extend(figures);
    }
    Ok(measurement)
}

/// Says of an option that cannot be what was chosen what it may be.
fn explained(method: &Method, error: MethodError) -> Failure {
    let meaning = match &error {
        MethodError::Option(name, _) => method.meaning(name),
        MethodError::Trial(_) | MethodError::Unsuitable(_) => None,
    };
    match meaning {
        Some(meaning) => Failure::Mistake(format!("{error}: {meaning}")),
        None => error.into(),
    }
}

/// Analyses captures in place of a device.
fn analyze(method: &Method, arguments: &Measure) -> Result<Measurement, Failure> {
    let question = Question::of_method(method.name).ok_or_else(|| {
        let known = Question::ALL.map(Question::method).join(", ");
        Failure::Mistake(format!(
            "captures say nothing of `{}`: they tell of {known}",
            method.name
        ))
    })?;
    let assumptions = Assumptions {
        addressing: match arguments.translated {
            true => Addressing::Translated,
            false => Addressing::Kept,
        },
        clocks: match arguments.one_clock {
            true => Clocks::One,
            false => Clocks::Unrelated,
        },
    };
    let record = Record::begin();
    let mut bar = Bar::new("captures");
    let made = measuring::analyze(&arguments.captures, question, assumptions, &mut bar, record);
    bar.steps.close();
    made.map_err(|error| Failure::Mistake(error.to_string()))
}

fn settings(method: &Method, arguments: &Measure) -> Result<Settings, Failure> {
    let mut options = BTreeMap::new();
    for (name, value) in &arguments.options {
        if !method.options.iter().any(|(known, _)| known == name) {
            let known: Vec<_> = method.options.iter().map(|(known, _)| *known).collect();
            let mistake = match nearest(name, &known) {
                Some(near) => format!(
                    "did you mean `{near}`, {}? {} has {}",
                    method.meaning(near).unwrap_or_default(),
                    method.name,
                    known.join(", ")
                ),
                None if known.is_empty() => format!("{} has no options", method.name),
                None => format!("{} has {}", method.name, known.join(", ")),
            };
            return Err(Failure::Mistake(format!("no option `{name}`: {mistake}")));
        }
        options.insert(name.clone(), value.clone());
    }
    Ok(Settings {
        effort: match arguments.quick {
            true => Effort::Quick,
            false => Effort::Full,
        },
        seed: arguments.seed,
        duration: arguments.duration,
        options,
    })
}

/// Returns a tester with the device that is meant, and what is to be known of it.
fn open(
    method: &Method,
    arguments: &Measure,
    stop: Arc<AtomicBool>,
) -> Result<(Box<dyn Tester>, Vec<String>), Failure> {
    let wanted = Wanted::for_method(method.name, arguments.seed, stop);
    if !arguments.ports.is_empty() {
        let way = way(arguments)?;
        let Wanted {
            arrangement, stop, ..
        } = wanted;
        let stamps = stamps::wanted(arguments.stamps);
        let tester = LinkTester::on(&arguments.ports, way, arrangement, stamps, stop)?;
        let remarks = tester.remarks().to_vec();
        return Ok((Box::new(tester), remarks));
    }
    let target = arguments.target.clone();
    let target = target.unwrap_or_else(|| Target::usual_for(method.name));
    if target.is_real() {
        privilege::acquire()?;
    }
    let ports = arguments.connect.unwrap_or(wanted.ports);
    let tester = target.open(&Wanted { ports, ..wanted })?;
    Ok((tester, Vec::new()))
}

/// Returns how the agent of the user's device is reached.
fn way(arguments: &Measure) -> Result<Option<AgentAccess>, Failure> {
    match (&arguments.agent, &arguments.listen) {
        (Some(endpoint), _) => Ok(Some(AgentAccess::Dial(address(endpoint)?))),
        (None, Some(endpoint)) => Ok(Some(AgentAccess::Await(address(endpoint)?))),
        (None, None) => Ok(None),
    }
}

fn address(endpoint: &Endpoint) -> Result<SocketAddr, Failure> {
    let mut found = (endpoint.host.as_str(), endpoint.port)
        .to_socket_addrs()
        .map_err(|error| Failure::Mistake(format!("{endpoint}: {error}")))?;
    let none = || Failure::Mistake(format!("{endpoint} has no address"));
    found.next().ok_or_else(none)
}

/// Shows how far a method is, and how long it will still take.
struct Bar {
    steps: Steps,
    left: TimeLeft,
}

impl Bar {
    fn new(name: &str) -> Self {
        Self {
            steps: Steps::new(name.to_owned()),
            left: TimeLeft::default(),
        }
    }
}

impl Progress for Bar {
    fn step(&mut self, done: u64, of: u64, _now: &str) {
        let rest = self.left.step((done, of), clock::now());
        self.steps.show_with_rest(done, of, rest);
    }
}

fn conclude(arguments: &Measure, measurement: &Measurement) -> Exit {
    let text = match arguments.json {
        true => measurement.to_json(),
        false => {
            let more = [
                profile::to_toml(measurement),
                acceptance::table(measurement),
            ];
            let more = more.into_iter().flatten();
            more.fold(measurement.document().to_text(), |text, part| {
                text + "\n" + &part
            })
        }
    };
    let kept = match &arguments.out {
        Some(folder) => keep(folder, show::write(folder, measurement)),
        None => Exit::Done,
    };
    // What took long to measure is shown also where it could not be kept.
    match (print(&text), kept) {
        (Exit::Done, kept) => kept,
        (exit, _) => exit,
    }
}

/// Says what became of files that a folder was to have.
fn keep(folder: &Path, written: std::io::Result<()>) -> Exit {
    match written {
        Ok(()) => Exit::Done,
        Err(error) => {
            let folder = folder.display();
            say(format_args!("taktos: cannot write to {folder}: {error}"));
            Exit::Fault
        }
    }
}

fn print(text: &str) -> Exit {
    match screen::print(text) {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}
