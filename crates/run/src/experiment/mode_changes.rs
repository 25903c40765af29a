//! Puts together what the switches said of changes of mode.

use std::collections::BTreeMap;

use controller::Config;
use controller::modes::Strategy;
use controller::northbound::{Event, ModeNotice, Reply, Request, Said, Saying, SwitchMode};
use measure::levels::Spell;
use measure::report::{
    EnteredReport, ModeChangeReport, ModesReport, RefusedSignals, SignalsReport, ViolationReport,
};
use scenario::Scenario;
use units::{Delay, Duration, Instant};
use wire::mode_signal::Mode;
use wire::openflow::DatapathId;

use super::world::World;
use super::{Experiment, ExperimentError, Run};

/// The controller asks switches for their counters at least this often.
const COUNTERS_AGE: Duration = Duration::from_ms(1_100);
/// How long the controller may take to say what it knows.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);
/// Who began a change that the controller carries out.
const CONTROLLER: &str = "the controller";

impl Experiment<'_> {
    /// Asks the controller what switches have counted of modes, once it has heard all of
    /// a run that ended at `end`.
    pub(super) fn count_signals(
        &self,
        world: &mut dyn World,
        end: Instant,
    ) -> Result<Vec<SwitchMode>, ExperimentError> {
        if self.scenario.modes.is_none() {
            return Ok(Vec::new());
        }
        let heard = end + COUNTERS_AGE;
        while world.now() < heard {
            world.listen(heard)?;
        }
        let report = self.ask(world, Request::Mode, ANSWER_PATIENCE, |reply| match reply {
            Reply::Mode(report) => Some(report),
            _ => None,
        })?;
        let report = report.flatten();
        Ok(report.map(|report| report.switches).unwrap_or_default())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// How often the level had been lowered.
    pub era: u32,
    /// The name of the new level.
    pub level: String,
    /// The switch at which it began; nothing if the controller carried it out.
    pub origin: Option<DatapathId>,
    /// When it was noticed that something demands it.
    pub detected: Instant,
    /// When each switch changed, as far as it said so.
    pub entered: Vec<(DatapathId, Instant)>,
    /// When the last switch had changed.
    pub settled: Instant,
}

impl LevelChange {
    /// Returns how long it took.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.settled.saturating_since(self.detected)
    }
}

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
        changes: level_changes(&run.said)
            .iter()
            .map(|change| change_report(scenario, run, change))
            .collect(),
        violations: violations(scenario, run),
        signals: signals(scenario, run),
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
        ModeNotice::Rewritten { level, .. } => {
            Some(format!("all switches have the entries of {level}"))
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

/// Returns the changes of level that the controller heard or told of, in order of time.
#[must_use]
pub fn level_changes(said: &[Said]) -> Vec<LevelChange> {
    let mut by_mode: BTreeMap<Mode, LevelChange> = BTreeMap::new();
    let mut written = Vec::new();
    // When the first flow demanded a level since the controller wrote the last one.
    let mut demanded: BTreeMap<&str, Instant> = BTreeMap::new();
    for one in said {
        let Saying::Notice(Event::Mode(notice)) = &one.what else {
            continue;
        };
        match notice {
            ModeNotice::Entered { mode, .. } => enter(by_mode.entry(*mode), notice),
            ModeNotice::Violation {
                level, detected, ..
            } => {
                demanded.entry(level).or_insert(*detected);
            }
            ModeNotice::Rewritten { level, begun } => {
                let detected = demanded.get(level.as_str()).copied();
                written.push(LevelChange {
                    era: u32::try_from(written.len().div_ceil(2)).unwrap_or(u32::MAX),
                    level: level.clone(),
                    origin: None,
                    detected: detected.unwrap_or(*begun).min(*begun),
                    entered: Vec::new(),
                    settled: one.at,
                });
                demanded.clear();
            }
            ModeNotice::SignalsRefused { .. }
            | ModeNotice::Incomplete { .. }
            | ModeNotice::Complete { .. }
            | ModeNotice::Refused { .. } => {}
        }
    }
    let mut changes: Vec<_> = by_mode.into_values().chain(written).collect();
    changes.sort_by_key(|change| change.detected);
    changes
}

/// Adds that a switch has entered a mode.
fn enter(of_mode: std::collections::btree_map::Entry<'_, Mode, LevelChange>, notice: &ModeNotice) {
    let ModeNotice::Entered {
        datapath,
        mode,
        level,
        origin,
        detected,
        changed,
        ..
    } = notice
    else {
        return;
    };
    let change = of_mode.or_insert_with(|| LevelChange {
        era: mode.era,
        level: level.clone(),
        origin: Some(*origin),
        detected: *detected,
        entered: Vec::new(),
        settled: *changed,
    });
    change.detected = change.detected.min(*detected);
    change.settled = change.settled.max(*changed);
    change.entered.push((*datapath, *changed));
    change.entered.sort_by_key(|(_, at)| *at);
}

/// Returns at which level the network was when, from before the start on.
#[must_use]
pub fn spells(scenario: &Scenario, said: &[Said]) -> Vec<Spell> {
    let Some(modes) = &scenario.modes else {
        return Vec::new();
    };
    let place = |name: &str| modes.levels.iter().position(|level| level.name == name);
    let first = Spell {
        level: 0,
        from: Instant::ZERO,
        settled: Instant::ZERO,
    };
    let changes = level_changes(said);
    let known = changes.iter().filter_map(|change| {
        Some(Spell {
            level: place(&change.level)?,
            from: change.detected,
            settled: change.settled,
        })
    });
    std::iter::once(first).chain(known).collect()
}

fn change_report(scenario: &Scenario, run: &Run, change: &LevelChange) -> ModeChangeReport {
    let entered = change.entered.iter();
    let entered = entered.map(|(datapath, at)| EnteredReport {
        switch: name(scenario, *datapath),
        after_ns: at.saturating_since(change.detected).as_ns(),
    });
    let origin = change.origin.map(|origin| name(scenario, origin));
    ModeChangeReport {
        at_ns: change.detected.saturating_since(run.start).as_ns(),
        era: change.era,
        level: change.level.clone(),
        switches: match origin {
            Some(_) => change.entered.len(),
            None => scenario.switches.len(),
        },
        origin: origin.unwrap_or_else(|| CONTROLLER.to_owned()),
        took_ns: change.took().as_ns(),
        entered: entered.collect(),
    }
}

fn violations(scenario: &Scenario, run: &Run) -> Vec<ViolationReport> {
    let said = run.said.iter();
    let violations = said.filter_map(|said| match &said.what {
        Saying::Notice(Event::Mode(ModeNotice::Violation {
            datapath,
            flow,
            level,
            count,
            detected,
            ..
        })) => Some(ViolationReport {
            at_ns: detected.saturating_since(run.start).as_ns(),
            flow: flow.clone(),
            switch: name(scenario, *datapath),
            level: level.clone(),
            count: *count,
        }),
        Saying::Notice(_) | Saying::Reply(..) => None,
    });
    violations.collect()
}

fn signals(scenario: &Scenario, run: &Run) -> Vec<SignalsReport> {
    let known = run.switch_modes.iter();
    let counted = known.filter_map(|switch| {
        let counters = switch.held?.counters;
        Some(SignalsReport {
            switch: name(scenario, switch.datapath),
            sent: counters.sent,
            received: counters.received,
            duplicate: counters.duplicate,
            stale: counters.stale,
            beats_sent: counters.beats_sent,
            beats_received: counters.beats_received,
            refused: RefusedSignals {
                forged: counters.forged,
                misplaced: counters.misplaced,
                replayed: counters.replayed,
                malformed: counters.malformed,
            },
            demanded: counters.demanded,
            entered: counters.entered,
            queued_dropped: counters.queued_dropped,
            queued_moved: counters.queued_moved,
        })
    });
    counted.collect()
}

fn name(scenario: &Scenario, datapath: DatapathId) -> String {
    let mut switches = scenario.switches.iter();
    let switch = switches.find(|switch| switch.datapath_id == datapath.0);
    switch.map_or_else(|| format!("{:#x}", datapath.0), |it| it.name.clone())
}
