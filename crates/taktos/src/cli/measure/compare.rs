//! `taktos measure compare`: two devices in turns, or two results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lab::privilege;
use measure::comparison::{self, Comparison};
use measure::document;
use measure::measurement::Measurement;
use measure::measurement::document::LONGEST_DOCUMENT;
use measure::method::Effort;
use units::Duration;

use super::{Bar, Failure, can_be_kept, find, keep, print, stop_on_signals, write_whole};
use crate::cli::exit::Exit;
use crate::cli::screen::say;
use run::measuring::target::Target;
use run::measuring::turns::journal::{JournalError, TurnJournal};
use run::measuring::turns::{Plan, TurnError, Turns, in_turns};

/// The methods behind SDN4CI Table I, and the one that needs an OpenFlow agent.
const METHODS: [&str; 5] = ["latency", "jitter", "loss", "throughput", "failover"];
const OF_AGENTS: &str = "table-size";
const ROUNDS: u64 = 5;
const QUICK_ROUNDS: u64 = 3;
/// The most rounds.
const MOST_ROUNDS: u64 = 100;

/// What `taktos measure compare` is told.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// The first device, or a result (measurement.json).
    first: String,
    /// The second one.
    second: String,
    /// By which methods, separated by commas [default:
    /// latency,jitter,loss,throughput,failover, and table-size where both have an
    /// OpenFlow agent].
    #[arg(long, value_name = "METHOD,…", value_delimiter = ',')]
    methods: Vec<String>,
    /// How often each device has its turn: bounds come from how the rounds differ
    /// [default: 5, quick 3].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_ROUNDS))]
    rounds: Option<u64>,
    /// Do less: enough to see that it works. The result says so.
    #[arg(long)]
    quick: bool,
    /// Everything random follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long one trial sends, as in "10 s".
    #[arg(long)]
    duration: Option<Duration>,
    /// Keep what each turn finds in this file, and begin where it ends if it is there; it
    /// is deleted once all turns are over [default: DIR/comparison.journal of --out DIR].
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// A directory for comparison.txt, comparison.json and comparison.html.
    #[arg(long, visible_alias = "report", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// Compares.
pub fn compare(arguments: &Compare) -> Exit {
    let found = can_be_kept(arguments.out.as_deref()).and_then(|()| found(arguments));
    match found {
        Ok(MeasuredPair { both, ended: None }) => conclude(arguments, &compared(&both)),
        Ok(MeasuredPair {
            both,
            ended: Some(ended),
        }) => {
            if !both.iter().any(Vec::is_empty) {
                let mut comparison = compared(&both);
                let turns = both.map(|it| it.len());
                comparison.remarks.insert(
                    0,
                    format!(
                        "Not all turns were taken: A had {} and B {} ({}).",
                        turns[0], turns[1], ended
                    ),
                );
                conclude(arguments, &comparison);
            }
            if let Some(journal) = journal_of(arguments) {
                say(format_args!(
                    "what was measured is in {}: the same command goes on from there",
                    journal.display()
                ));
            }
            ended.told()
        }
        Err(failure) => failure.told(),
    }
}

/// What there is of both, and why that is not all, if it is not.
struct MeasuredPair {
    both: [Vec<Measurement>; 2],
    ended: Option<Failure>,
}

fn compared([first, second]: &[Vec<Measurement>; 2]) -> Comparison {
    comparison::compare(first, second)
}

/// Returns what there is of both.
fn found(arguments: &Compare) -> Result<MeasuredPair, Failure> {
    let both = [&arguments.first, &arguments.second];
    match both.map(|it| it.ends_with(".json")) {
        [true, true] => {
            let [first, second] = both.map(|it| read(Path::new(it)));
            Ok(MeasuredPair {
                both: [vec![first?], vec![second?]],
                ended: None,
            })
        }
        [false, false] => measured(arguments),
        [true, false] | [false, true] => Err(Failure::Mistake(
            "a result and a device do not go together: give two devices, or two results".to_owned(),
        )),
    }
}

fn read(path: &Path) -> Result<Measurement, Failure> {
    let mistake = |reason: String| Failure::Mistake(format!("{}: {reason}", path.display()));
    let length = fs::metadata(path)
        .map_err(|error| mistake(error.to_string()))?
        .len();
    if length > LONGEST_DOCUMENT as u64 {
        return Err(mistake(format!("longer than {LONGEST_DOCUMENT} bytes")));
    }
    let text = fs::read_to_string(path).map_err(|error| mistake(error.to_string()))?;
    Measurement::from_json(&text).map_err(|error| mistake(error.to_string()))
}

fn measured(arguments: &Compare) -> Result<MeasuredPair, Failure> {
    let target = |text: &str| {
        let target = text.parse::<Target>();
        target.map_err(|error| Failure::Mistake(error.to_string()))
    };
    let (first, second) = (target(&arguments.first)?, target(&arguments.second)?);
    let mut names = arguments.methods.clone();
    if names.is_empty() {
        names.extend(METHODS.map(str::to_owned));
        names.extend((first.has_agent() && second.has_agent()).then(|| OF_AGENTS.to_owned()));
    }
    let methods = names.iter().map(|name| {
        let method = find(name)?;
        Ok((method, BTreeMap::new()))
    });
    let (effort, usual) = match arguments.quick {
        true => (Effort::Quick, QUICK_ROUNDS),
        false => (Effort::Full, ROUNDS),
    };
    let plan = Plan {
        methods: methods.collect::<Result<_, Failure>>()?,
        rounds: arguments.rounds.unwrap_or(usual),
        effort,
        seed: arguments.seed,
        duration: arguments.duration,
    };
    let stop = stop_on_signals()
        .map_err(|error| Failure::Fault(format!("cannot catch Ctrl-C: {error}")))?;
    if first.is_real() || second.is_real() {
        privilege::acquire()?;
    }
    let journal = journal_of(arguments);
    let mut turns = Turns {
        journal: match &journal {
            Some(path) => Some(TurnJournal::open(path, &identity(arguments, &names))?),
            None => None,
        },
        ..Turns::default()
    };
    if let Some(journal) = turns.journal.as_ref().filter(|it| it.left() > 0) {
        let (done, of) = (journal.left(), plan.turns());
        say(format_args!(
            "compare: {done} of {of} turns were taken before"
        ));
    }
    let mut bar = Bar::new("compare");
    let ended = in_turns([&first, &second], &plan, &stop, &mut bar, &mut turns);
    bar.steps.close();
    if let (Some(path), Ok(())) = (&journal, &ended) {
        // Who keeps it only finds the same turns again.
        let _ = fs::remove_file(path);
    }
    Ok(MeasuredPair {
        both: turns.found,
        ended: ended.err().map(Failure::from),
    })
}

/// Returns where what turns find is kept.
fn journal_of(arguments: &Compare) -> Option<PathBuf> {
    let beside = || Some(arguments.out.as_ref()?.join("comparison.journal"));
    arguments.journal.clone().or_else(beside)
}

/// Returns what tells a comparison from others in one line: more rounds are the same one.
fn identity(arguments: &Compare, methods: &[String]) -> String {
    let document = serde_json::json!({
        "first": arguments.first,
        "second": arguments.second,
        "methods": methods,
        "quick": arguments.quick,
        "seed": arguments.seed,
        "duration_ns": arguments.duration.map(Duration::as_ns),
        "version": env!("CARGO_PKG_VERSION"),
    });
    document.to_string()
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        Self::Mistake(error.to_string())
    }
}

impl From<TurnError> for Failure {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Tester(error) => error.into(),
            TurnError::Method(error) => error.into(),
            TurnError::Journal(error) => error.into(),
        }
    }
}

fn conclude(arguments: &Compare, comparison: &Comparison) -> Exit {
    let json = document::json(&comparison::json::document(comparison));
    let document = comparison.document();
    let shown = document.to_text();
    let kept = match &arguments.out {
        Some(folder) => {
            let files = [
                ("comparison.txt", &shown),
                ("comparison.json", &json),
                ("comparison.html", &document.to_page()),
            ];
            keep(folder, write(folder, files))
        }
        None => Exit::Done,
    };
    let printed = print(match arguments.json {
        true => &json,
        false => &shown,
    });
    match (printed, kept) {
        (Exit::Done, kept) => kept,
        (exit, _) => exit,
    }
}

fn write(folder: &Path, files: [(&str, &String); 3]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut files = files.into_iter();
    files.try_for_each(|(name, text)| write_whole(&folder.join(name), text))
}
