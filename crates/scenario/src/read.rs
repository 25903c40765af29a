//! From a text to a scenario, or to all of its mistakes.
//!
//! 1. The TOML parser turns the text into a tree that knows its places. Text
//!    that is no TOML goes no further.
//! 2. [`FILE`] checks the shape of the tree: keys, types,
//!    units, ranges.
//! 3. The readers below give the tree its meaning, table by table, and report
//!    what does not fit together. They meet wrong values again as absent ones,
//!    about which they stay silent.

mod classes;
mod emulation;
mod events;
mod flow_imports;
mod flow_sets;
mod flows;
mod modes;
mod network;
mod profiles;
mod protection;
mod recordings;
mod settings;
mod traffic;

use std::io;

use toml::de::DeTable;
use units::Duration;

use crate::format::{ADMISSION, CONTROLLER, FILE, MEASUREMENT, SCENARIO};
use crate::limits::LONGEST_FILE;
use crate::mistake::{Mistake, quote};
use crate::problem::{Problems, ScenarioError, TextSpan};
use crate::record::LayeredTable;
use crate::shape::TableShape;
use crate::{Profile, Scenario};

const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_SEED: u64 = 1;

/// Reads a file that the scenario names.
pub(crate) type Loader<'a> = dyn FnMut(&str) -> io::Result<String> + 'a;

impl Scenario {
    /// Reads a scenario from the text of the file `name`. Files that it names,
    /// relative to its own folder, are read by `load`.
    ///
    /// # Errors
    ///
    /// All mistakes of the text at once, up to
    /// [`MOST_PROBLEMS`](crate::MOST_PROBLEMS).
    pub fn parse(name: &str, text: &str, load: &mut Loader<'_>) -> Result<Self, ScenarioError> {
        let mut problems = Problems::default();
        let scenario = tree(text, &FILE, &mut problems).map(|tree| {
            read(
                name,
                &LayeredTable::new(&FILE, &tree, start()),
                load,
                &mut problems,
            )
        });
        problems
            .or(name, text, scenario)
            .map(|scenario| scenario.expect("where there is no tree there is a problem"))
    }
}

impl Profile {
    /// Reads a device profile from the text of the file `name`.
    ///
    /// # Errors
    ///
    /// All mistakes of the text at once.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        profiles::parse(name, text)
    }
}

fn read(
    name: &str,
    file: &LayeredTable<'_>,
    load: &mut Loader<'_>,
    problems: &mut Problems,
) -> Scenario {
    let scenario = file.record("scenario", &SCENARIO);
    let duration = scenario.time("duration").unwrap_or(DEFAULT_DURATION);

    let (network, profiles) = network::read(file, load, problems);
    let (classes, class_names) = classes::read(file, problems);
    let levels = modes::read(file, problems);
    let mut flows = flows::FlowReader::new(&network, &class_names, &levels, duration);
    let mut imports = flows.read(file, load, problems);
    flows.read_sets(file, problems);
    imports.extend(flows.read_imports(file, load, problems));
    let (flows, flow_names) = flows.finish(problems);
    let subjects = events::Subjects {
        network: &network,
        flows: &flows,
        flow_names: &flow_names,
        levels: &levels,
        duration,
    };
    let (events, violations, errors) = events::read(file, &subjects, problems);
    let measurement = file.record("measurement", &MEASUREMENT);
    let measurement = settings::measurement(&measurement, &network, duration, problems);

    Scenario {
        name: stem(name).to_owned(),
        title: scenario.text("title").unwrap_or_default().to_owned(),
        seed: scenario.number("seed").unwrap_or(DEFAULT_SEED),
        duration,
        profiles,
        classes,
        flows,
        imports,
        events,
        violations,
        errors,
        modes: levels.modes,
        admission: settings::admission(&file.record("admission", &ADMISSION)),
        control: settings::control(&file.record("controller", &CONTROLLER)),
        measurement,
        switches: network.switches,
        hosts: network.hosts,
        links: network.links,
    }
}

/// Returns the text as a tree whose shape was checked, or nothing if it is no
/// TOML; reports either.
fn tree<'a>(
    text: &'a str,
    table: &'static TableShape,
    problems: &mut Problems,
) -> Option<DeTable<'a>> {
    if text.len() > LONGEST_FILE {
        problems.report(start(), Mistake::too_long(text.len(), LONGEST_FILE));
        return None;
    }
    let (tree, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let place = error.span().unwrap_or_else(start);
        let message = quote_lines(error.message());
        problems.report(within(text, place), Mistake::Syntax { message });
    }
    if !errors.is_empty() {
        return None;
    }
    let tree = tree.into_inner();
    table.check(&tree, &start(), problems);
    Some(tree)
}

/// Returns the place cut to the text, so that it can be shown: a parser that
/// misses something at the end points behind it.
fn within(text: &str, place: TextSpan) -> TextSpan {
    let end = place.end.min(text.len());
    place.start.min(end)..end
}

fn quote_lines(message: &str) -> String {
    let line = message.lines().next().unwrap_or("the text is no TOML");
    match line.chars().count() {
        0..200 => line.to_owned(),
        _ => quote(line),
    }
}

/// Returns the beginning of the file, where messages about the whole point.
fn start() -> TextSpan {
    0..0
}

/// Returns the name of a file without folders and ending.
fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if stem.is_empty() { file } else { stem }
}

#[cfg(test)]
mod tests;
