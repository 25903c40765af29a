//! Says in which queues flows travel of which nobody has named the class.

use std::sync::atomic::AtomicBool;

use scenario::Scenario;

use super::exit::Exit;
use super::run::explain;
use super::screen::say;
use run::experiment::queues;

/// So many flows are named of those that are given other queues.
const MOST_NAMED: usize = 5;

/// Gives such flows other queues, where not all flows fit and with these more do, and says
/// so.
///
/// # Errors
///
/// How the program ends; it has been said why.
pub fn settle(scenario: &mut Scenario, stop: &AtomicBool) -> Result<(), Exit> {
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
