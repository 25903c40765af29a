//! Puts together what the switches said of changes of mode.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use controller::Config;
use controller::northbound::{Event, Reply, Request, Said, Saying, SwitchMode};
use measure::levels::Spell;
use measure::report::{
    EnteredReport, ModeChangeReport, ModesReport, RefusedSignals, SignalsReport, ViolationReport,
};
use scenario::Scenario;
use units::{Delay, Duration, Instant};

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
    /// The name of the switch at which it began; nothing if the controller carried it out.
    pub origin: Option<String>,
    /// When it was noticed that something demands it.
    pub detected: Instant,
    /// When each switch changed, by its name, as far as it said so.
    pub entered: Vec<(String, Instant)>,
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
        strategy: modes.strategy.name().to_owned(),
        change_bound_ns: (bound > Delay::ZERO).then(|| bound.round_up().as_ns()),
        changes: level_changes(&run.said)
            .iter()
            .map(|change| change_report(scenario, run, change))
            .collect(),
        violations: violations(run),
        signals: signals(run),
    })
}

/// Returns what is said of an event about modes, for people.
#[must_use]
pub fn describe_mode_event(said: &Said) -> Option<String> {
    let Saying::Notice(event) = &said.what else {
        return None;
    };
    match event {
        Event::ModeEntered {
            switch,
            level,
            era,
            origin,
            change,
            ..
        } if switch == origin => Some(format!(
            "mode {level} of era {era} begins at {origin}, {} ns after it noticed",
            change.as_ns()
        )),
        Event::ModeRewritten { level, .. } => {
            Some(format!("all switches have the entries of {level}"))
        }
        Event::ModeSignalsRefused { at, times, .. } => {
            Some(format!("{times} signals refused by {}", at.switch))
        }
        Event::ModeIncomplete { switch, served, .. } => {
            Some(format!("{switch} is not complete and serves {served}"))
        }
        _ => None,
    }
}

/// Returns the changes of level that the controller heard or told of, in order of time.
#[must_use]
pub fn level_changes(said: &[Said]) -> Vec<LevelChange> {
    let mut by_mode: BTreeMap<(u32, &str), LevelChange> = BTreeMap::new();
    let mut written = Vec::new();
    // When the first flow demanded a level since the controller wrote the last one.
    let mut demanded: BTreeMap<&str, Instant> = BTreeMap::new();
    for one in said {
        let Saying::Notice(event) = &one.what else {
            continue;
        };
        match event {
            Event::ModeEntered { era, level, .. } => {
                enter(by_mode.entry((*era, level)), event);
            }
            Event::ModeViolation {
                level, detected, ..
            } => {
                demanded.entry(level).or_insert(*detected);
            }
            Event::ModeRewritten { level, begun } => {
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
            _ => {}
        }
    }
    let mut changes: Vec<_> = by_mode.into_values().chain(written).collect();
    changes.sort_by_key(|change| change.detected);
    changes
}

/// Adds that a switch has entered a mode.
fn enter(of_mode: Entry<'_, (u32, &str), LevelChange>, event: &Event) {
    let Event::ModeEntered {
        switch,
        level,
        era,
        origin,
        change: took,
        changed,
        ..
    } = event
    else {
        return;
    };
    let detected = *changed - *took;
    let change = of_mode.or_insert_with(|| LevelChange {
        era: *era,
        level: level.clone(),
        origin: Some(origin.clone()),
        detected,
        entered: Vec::new(),
        settled: *changed,
    });
    change.detected = change.detected.min(detected);
    change.settled = change.settled.max(*changed);
    change.entered.push((switch.clone(), *changed));
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
    let entered = entered.map(|(switch, at)| EnteredReport {
        switch: switch.clone(),
        after_ns: at.saturating_since(change.detected).as_ns(),
    });
    ModeChangeReport {
        at_ns: change.detected.saturating_since(run.start).as_ns(),
        era: change.era,
        level: change.level.clone(),
        switches: match &change.origin {
            Some(_) => change.entered.len(),
            None => scenario.switches.len(),
        },
        origin: change
            .origin
            .clone()
            .unwrap_or_else(|| CONTROLLER.to_owned()),
        took_ns: change.took().as_ns(),
        entered: entered.collect(),
    }
}

fn violations(run: &Run) -> Vec<ViolationReport> {
    let said = run.said.iter();
    let violations = said.filter_map(|said| match &said.what {
        Saying::Notice(Event::ModeViolation {
            switch,
            flow,
            level,
            times,
            detected,
            ..
        }) => Some(ViolationReport {
            at_ns: detected.saturating_since(run.start).as_ns(),
            flow: flow.clone(),
            switch: switch.clone(),
            level: level.clone(),
            count: *times,
        }),
        Saying::Notice(_) | Saying::Reply(..) => None,
    });
    violations.collect()
}

fn signals(run: &Run) -> Vec<SignalsReport> {
    let known = run.switch_modes.iter();
    let counted = known.filter_map(|switch| {
        let counters = switch.holds.as_ref()?.counters;
        Some(SignalsReport {
            switch: switch.name.clone(),
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
