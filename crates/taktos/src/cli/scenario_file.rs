//! Reads a scenario from disk, shows what is wrong with it, and says in which queues
//! flows travel of which nobody has named the class.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use scenario::flow_table::LONGEST_DESCRIPTION;
use scenario::{LONGEST_FILE, Scenario};

use super::exit::Exit;
use super::run::explain;
use super::screen::say;
use super::text_file;
use run::experiment::queues;
use run::measuring::recordings;

/// The most remarks about an imported file that are shown.
const MOST_SHOWN: usize = 20;
/// So many flows are named of those that are given other queues.
const MOST_NAMED: usize = 5;

/// Reads the scenario in `path`, or says on standard error why that cannot be.
/// What of imported files is not among its flows is said there, too.
pub fn read(path: &Path) -> Result<Scenario, Exit> {
    let text = text_file::read(path, LONGEST_FILE)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.display().to_string();
    let mut load = |file: &str| {
        let path = folder.join(file);
        match recordings::is_capture(&path) {
            true => recordings::table_of_capture(&path),
            false => run::text_file::load(&path, LONGEST_DESCRIPTION),
        }
    };
    let scenario = Scenario::parse(&name, &text, &mut load);
    let scenario = scenario.map_err(|error| text_file::show(&error))?;
    show_imports(&scenario);
    Ok(scenario)
}

fn show_imports(scenario: &Scenario) {
    for import in &scenario.imports {
        let (file, flows) = (&import.file, import.flows);
        let left_out = import.left_out.len();
        say(format_args!(
            "{file}: {flows} flows imported, {left_out} remarks on what is left out"
        ));
        let left_out = import.left_out.iter().map(|remark| ("left out", remark));
        let assumed = import.assumed.iter().map(|remark| ("assumed", remark));
        let all = left_out.clone().count() + assumed.clone().count();
        for (what, remark) in left_out.chain(assumed).take(MOST_SHOWN) {
            say(format_args!("  {what}: {remark}"));
        }
        if all > MOST_SHOWN {
            say(format_args!("  and {} more", all - MOST_SHOWN));
        }
    }
}

/// Gives flows of which nobody has named the class other queues, where not all flows
/// fit and with these more do, and says so.
///
/// # Errors
///
/// How the program ends; it has been said why.
pub fn settle_queues(scenario: &mut Scenario, stop: &AtomicBool) -> Result<(), Exit> {
    let reassigned = queues::assign(scenario, stop).map_err(|error| explain(&error))?;
    for queues::Reassigned { flow, from, to } in reassigned.iter().take(MOST_NAMED) {
        say(format_args!(
            "taktos: {flow} travels in `{to}`, so that more flows fit; give it `class = \"{from}\"` \
             to keep it there"
        ));
    }
    if reassigned.len() > MOST_NAMED {
        let more = reassigned.len() - MOST_NAMED;
        say(format_args!(
            "taktos: and {more} more flows travel in other classes"
        ));
    }
    Ok(())
}
