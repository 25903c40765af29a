//! Says in which queues flows travel of which nobody has named the class.

use std::sync::atomic::AtomicBool;

use scenario::Scenario;

use super::exit::Exit;
use super::run::explain;
use super::screen::say;
use crate::experiment::queues;

/// Gives such flows other queues, where not all flows fit and with these more do, and says
/// so.
///
/// # Errors
///
/// How the program ends; it has been said why.
pub fn settle(scenario: &mut Scenario, stop: &AtomicBool) -> Result<(), Exit> {
    let reassigned = queues::assign(scenario, stop).map_err(|error| explain(&error))?;
    for moved in reassigned {
        let queues::Reassigned { flow, from, to } = moved;
        say(format_args!(
            "taktos: {flow} travels in `{to}`, so that more flows fit; give it `class = \"{from}\"` \
             to keep it there"
        ));
    }
    Ok(())
}
