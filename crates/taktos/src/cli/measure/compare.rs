//! `taktos measure compare`: two devices in turns, or two results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lab::privilege;
use measure::comparison::{self, Comparison, json, page, text};
use measure::measurement::Measurement;
use measure::measurement::document::LONGEST_DOCUMENT;
use measure::method::Effort;
use units::Duration;

use super::{Bar, Failure, find, print, stop_on_signals};
use crate::cli::exit::Exit;
use crate::cli::screen::say;
use crate::measuring::target::Target;
use crate::measuring::turns::{Plan, TurnError, in_turns};

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
    /// A directory for comparison.txt, comparison.json and comparison.html.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// Compares.
pub fn compare(arguments: &Compare) -> Exit {
    match found(arguments) {
        Ok([first, second]) => conclude(arguments, &comparison::compare(&first, &second)),
        Err(failure) => {
            say(format_args!("taktos: {failure}"));
            failure.exit()
        }
    }
}

/// Returns what there is of both.
fn found(arguments: &Compare) -> Result<[Vec<Measurement>; 2], Failure> {
    let both = [&arguments.first, &arguments.second];
    match both.map(|it| it.ends_with(".json")) {
        [true, true] => {
            let [first, second] = both.map(|it| read(Path::new(it)));
            Ok([vec![first?], vec![second?]])
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

fn measured(arguments: &Compare) -> Result<[Vec<Measurement>; 2], Failure> {
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
    let mut bar = Bar::new("compare");
    let found = in_turns([&first, &second], &plan, &stop, &mut bar);
    bar.steps.close();
    Ok(found?)
}

impl From<TurnError> for Failure {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Tester(error) => error.into(),
            TurnError::Method(error) => error.into(),
        }
    }
}

fn conclude(arguments: &Compare, comparison: &Comparison) -> Exit {
    let document = format!("{:#}\n", json::document(comparison));
    let shown = text::text(comparison);
    if let Some(folder) = &arguments.out
        && let Err(error) = write(folder, &shown, &document, &page::page(comparison))
    {
        let folder = folder.display();
        say(format_args!("taktos: cannot write to {folder}: {error}"));
        return Exit::Fault;
    }
    print(match arguments.json {
        true => &document,
        false => &shown,
    })
}

fn write(folder: &Path, text: &str, document: &str, page: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("comparison.txt"), text)?;
    fs::write(folder.join("comparison.json"), document)?;
    fs::write(folder.join("comparison.html"), page)
}
