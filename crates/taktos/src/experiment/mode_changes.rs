//! Puts together what the switches said of changes of mode.

use std::collections::BTreeMap;

use controller::Config;
use controller::modes::Strategy;
use controller::northbound::{Event, ModeNotice, Said, Saying};
use measure::report::{ModeChangeReport, ModesReport};
use scenario::Scenario;
use units::{Delay, Instant};
use wire::mode_signal::Mode;
use wire::openflow::DatapathId;

use super::Run;

/// Returns what the levels did, if the network has any.
#[must_use]
pub fn modes_report(scenario: &Scenario, config: &Config, run: &Run) -> Option<ModesReport> {
    let modes = config.modes.as_ref()?;
    let bound = modes.change_bound;
    Some(ModesReport {
        levels: modes.levels.clone(),
        strategy: match modes.strategy {
            Strategy::Taktos => "taktos",
            Strategy::StdSdn => "std-sdn",
            Strategy::McAgnostic => "mc-agnostic",
        }
        .to_owned(),
        change_bound_ns: (bound > Delay::ZERO).then(|| bound.round_up().as_ns()),
        changes: changes(scenario, run),
    })
}

/// Returns what is said of a notice about modes, for people.
#[must_use]
pub fn describe_notice(scenario: &Scenario, said: &Said) -> Option<String> {
    let Saying::Notice(Event::Mode(notice)) = &said.what else {
        return None;
    };
    match notice {
        ModeNotice::Entered {
            datapath,
            mode,
            level,
            origin,
            detected,
            changed,
            ..
        } if datapath == origin => Some(format!(
            "mode {level} of era {} begins at {}, {} ns after it noticed",
            mode.era,
            name(scenario, *origin),
            changed.saturating_since(*detected).as_ns()
        )),
        ModeNotice::Rewritten { level } => {
            Some(format!("the controller has written the entries of {level}"))
        }
        ModeNotice::SignalsRefused {
            datapath, count, ..
        } => Some(format!(
            "{count} signals refused by {}",
            name(scenario, *datapath)
        )),
        ModeNotice::Incomplete {
            datapath, served, ..
        } => Some(format!(
            "{} is not complete and serves {served}",
            name(scenario, *datapath)
        )),
        ModeNotice::Entered { .. }
        | ModeNotice::Violation { .. }
        | ModeNotice::Complete { .. }
        | ModeNotice::Refused { .. } => None,
    }
}

/// What the switches said of one mode.
#[derive(Clone, Debug)]
struct Entering {
    level: String,
    origin: DatapathId,
    detected: Instant,
    last_changed: Instant,
    switches: usize,
}

fn changes(scenario: &Scenario, run: &Run) -> Vec<ModeChangeReport> {
    let mut by_mode: BTreeMap<Mode, Entering> = BTreeMap::new();
    for said in &run.said {
        let Saying::Notice(Event::Mode(ModeNotice::Entered {
            mode,
            level,
            origin,
            detected,
            changed,
            ..
        })) = &said.what
        else {
            continue;
        };
        let entering = by_mode.entry(*mode).or_insert_with(|| Entering {
            level: level.clone(),
            origin: *origin,
            detected: *detected,
            last_changed: *changed,
            switches: 0,
        });
        entering.detected = entering.detected.min(*detected);
        entering.last_changed = entering.last_changed.max(*changed);
        entering.switches += 1;
    }
    let changes = by_mode.into_iter().map(|(mode, entering)| {
        let took = entering.last_changed.saturating_since(entering.detected);
        ModeChangeReport {
            at_ns: entering.detected.saturating_since(run.start).as_ns(),
            era: mode.era,
            level: entering.level,
            origin: name(scenario, entering.origin),
            took_ns: took.as_ns(),
            switches: entering.switches,
        }
    });
    changes.collect()
}

fn name(scenario: &Scenario, datapath: DatapathId) -> String {
    let mut switches = scenario.switches.iter();
    let switch = switches.find(|switch| switch.datapath_id == datapath.0);
    switch.map_or_else(|| format!("{:#x}", datapath.0), |it| it.name.clone())
}
