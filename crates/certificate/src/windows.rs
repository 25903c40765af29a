//! When a frame may reach each stage of its way.
//!
//! A frame reaches a hop no earlier than it can have passed the hops before, no
//! later than their budgets allow, counted from when its first bit left the
//! sender. After a failure frames may be under way on the path and on the
//! alternative at once: at a stage of both, either window counts, and so it does
//! for everything behind that stage in both.
//!
//! Of a flow whose frames are doubled both copies pass, each in the windows of its
//! own path, until a stage hands on the first copy and drops the other: whatever
//! comes from there was there in the one window or in the other, or was held back since then.

use std::collections::{BTreeMap, BTreeSet};

use units::Delay;

use crate::map::{LONGEST_PS, StageId};
use crate::reason::Reason;
use crate::stages::Stages;
use crate::walk::Steps;
use crate::ways::Ways;

/// When frames may arrive, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// No earlier.
    pub earliest: u64,
    /// No later.
    pub latest: u64,
}

/// One flow at one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The stage.
    pub stage: usize,
    /// When its frames may arrive there.
    pub window: Window,
    /// The stage from which all of them come, if there is one.
    pub from: Option<usize>,
    /// If that is a processor, the port over whose link all of them came to it, if there
    /// is one.
    pub link: Option<usize>,
    /// Whether it is a processor to which they were turned back.
    pub is_again: bool,
}

/// When the frames of one flow reach the stages of all of its ways, in one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visits {
    /// Its path while nothing is broken, hop by hop; then the hops that only the
    /// second copies of its frames pass.
    pub path: Vec<Visit>,
    /// The stages of path and alternative without a link, each once.
    pub without: BTreeMap<usize, Vec<Visit>>,
    /// The latest that a frame reaches a receiver, on any way.
    pub latest: u64,
}

impl Visit {
    /// Returns the visit of frames that come to a stage from no other, no later than
    /// `latest`.
    #[must_use]
    pub const fn first(stage: usize, latest: u64) -> Self {
        Self {
            stage,
            window: Window {
                earliest: 0,
                latest,
            },
            from: None,
            link: None,
            is_again: false,
        }
    }
}

impl Visits {
    /// Forgets over which links frames came to processors.
    pub fn forget_links(&mut self) {
        let without = self.without.values_mut().flatten();
        for visit in self.path.iter_mut().chain(without) {
            visit.link = None;
        }
    }
}

impl Window {
    /// Returns how long the window is open.
    #[must_use]
    pub const fn length(self) -> u64 {
        self.latest - self.earliest
    }

    fn or(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }
}

/// What other ways of a flow add to the windows of one.
#[derive(Clone, Debug, Default)]
struct Others {
    /// At a stage, and so behind it.
    at: BTreeMap<usize, Visit>,
    /// Behind a stage only.
    behind: Option<(usize, Window)>,
}

impl Others {
    fn on(visits: &[Visit]) -> Self {
        let mut at = BTreeMap::new();
        for visit in visits {
            // Frames that are turned back come again by another entry.
            at.entry(visit.stage).or_insert(*visit);
        }
        Self { at, behind: None }
    }

    /// Returns the stage from which frames came to one that hands them on, by this way
    /// and by the others, if there is one.
    fn behind_one(&self, visit: &Visit) -> Option<usize> {
        if visit.is_again {
            return visit.from;
        }
        let other = self.at.get(&visit.stage).map(|other| other.from);
        let from = visit
            .from
            .filter(|from| other.is_none_or(|other| other == Some(*from)));
        let merges = self.behind.is_some_and(|(stage, _)| stage == visit.stage);
        from.filter(|_| !merges)
    }
}

/// Follows frames of a class along all ways of a flow, which have left its source
/// `initial` picoseconds after their first bit.
///
/// # Errors
///
/// What is wrong with a way, or a stage that has no budget.
pub fn follow(ways: &Ways, stages: &Stages<'_>, class: u8, initial: u64) -> Result<Visits, Reason> {
    let road = Road {
        stages,
        class,
        initial,
    };
    if ways.second.is_some() {
        return follow_both(ways, &road);
    }
    let path = road.walk(&ways.path, &Others::default())?;
    let mut visits = Visits {
        latest: road.latest_end(&ways.path, &path)?,
        path,
        without: BTreeMap::new(),
    };
    for (link, steps) in &ways.without {
        let other = road.walk(steps, &Others::on(&visits.path))?;
        let first = road.walk(&ways.path, &Others::on(&other))?;
        let late = road.latest_end(steps, &other)?;
        let latest = late.max(road.latest_end(&ways.path, &first)?);
        visits.latest = visits.latest.max(latest);
        visits.without.insert(*link, join(first, other));
    }
    Ok(visits)
}

/// Follows both copies of a flow whose frames are doubled.
fn follow_both(ways: &Ways, road: &Road<'_>) -> Result<Visits, Reason> {
    let Some(second) = &ways.second else {
        return Err(Reason::NoEliminator);
    };
    let mut others = Others::default();
    if let Some(eliminator) = second.eliminator {
        let window = |steps: &Steps| {
            let visits = road.walk(steps, &Others::default())?;
            let found = visits.iter().find(|visit| visit.stage == eliminator);
            found.map(|visit| visit.window).ok_or(Reason::NoEliminator)
        };
        let both = window(&ways.path)?.or(window(&second.path)?);
        others.behind = Some((eliminator, road.held(second.hold_ps, eliminator, both)?));
    }
    let mut path = road.walk(&ways.path, &others)?;
    let copies = road.walk(&second.path, &others)?;
    let latest = road.latest_end(&ways.path, &path)?;
    let latest = latest.max(road.latest_end(&second.path, &copies)?);
    single_copies(&ways.path, &second.path, second.eliminator)?;
    let single = single_copies(&second.path, &ways.path, second.eliminator)?;
    let doubled = copies.into_iter().zip(single);
    path.extend(
        doubled
            .filter(|(_, single)| !single)
            .map(|(visit, _)| visit),
    );
    Ok(Visits {
        path,
        without: BTreeMap::new(),
        latest,
    })
}

/// Tells of each hop of a way whether one copy passes it, which is then the same
/// hop in the `other` way: before the frame is doubled, and behind the eliminator.
fn single_copies(
    way: &Steps,
    other: &Steps,
    eliminator: Option<usize>,
) -> Result<Vec<bool>, Reason> {
    let stage_before = |way: &Steps, after: Option<usize>| after.map(|after| way[after].0);
    let mut single: Vec<bool> = Vec::with_capacity(way.len());
    let mut eliminated: Vec<bool> = Vec::with_capacity(way.len());
    for (stage, after) in way {
        let before = stage_before(way, *after);
        let mut twins = other.iter();
        let same =
            twins.any(|(twin, after)| twin == stage && stage_before(other, *after) == before);
        let behind = after.is_some_and(|after| eliminated[after])
            || (before.is_some() && before == eliminator);
        if behind && !same {
            return Err(Reason::NoEliminator);
        }
        eliminated.push(behind);
        single.push(behind || (same && after.is_none_or(|after| single[after])));
    }
    Ok(single)
}

/// What frames of one flow meet.
struct Road<'a> {
    stages: &'a Stages<'a>,
    class: u8,
    initial: u64,
}

impl Road<'_> {
    /// Computes the window of each hop of a way; those of `others` count too.
    fn walk(&self, steps: &Steps, others: &Others) -> Result<Vec<Visit>, Reason> {
        let mut visits: Vec<Visit> = Vec::with_capacity(steps.len());
        let mut met = BTreeSet::new();
        for (stage, after) in steps {
            let before = after.map(|after| visits[after]);
            let window = match before {
                None => Window {
                    earliest: 0,
                    latest: self.initial,
                },
                Some(before) => behind(eliminated(before, others), self.stages, self.class)?,
            };
            let is_again = !met.insert(*stage);
            let other = others.at.get(stage).filter(|_| !is_again);
            let map = self.stages.map;
            let is_port = |stage: usize| matches!(map.place(stage), Some(StageId::Port { .. }));
            let processor = before.filter(|before| is_port(*stage) && !is_port(before.stage));
            visits.push(Visit {
                stage: *stage,
                window: other.map_or(window, |other| window.or(other.window)),
                from: before.map(|before| before.stage),
                link: processor.and_then(|visit| others.behind_one(&visit)),
                is_again,
            });
        }
        Ok(visits)
    }

    /// Returns when copies may come to an eliminator, as what is behind it sees them that
    /// holds frames back to put them in order: later by that, if missing ones are lost. Where
    /// one copy of each comes in `window`, none comes when a later frame has gone on.
    fn held(&self, hold_ps: u64, eliminator: usize, window: Window) -> Result<Window, Reason> {
        if hold_ps == 0 {
            return Ok(window);
        }
        let visit = Visit {
            window,
            ..Visit::first(eliminator, 0)
        };
        let apart = behind(visit, self.stages, self.class)?.length();
        if apart > hold_ps {
            return Err(Reason::HoldTooShort {
                hold: Delay::from_ps(hold_ps),
                apart: Delay::from_ps(apart),
            });
        }
        let latest = window.latest.checked_add(hold_ps);
        let latest = latest.filter(|latest| *latest <= LONGEST_PS);
        Ok(Window {
            latest: latest.ok_or(Reason::TooLate)?,
            ..window
        })
    }

    /// Returns the latest that a frame arrives at any end of a way.
    fn latest_end(&self, steps: &Steps, visits: &[Visit]) -> Result<u64, Reason> {
        let mut goes_on = vec![false; steps.len()];
        for after in steps.iter().filter_map(|(_, after)| *after) {
            goes_on[after] = true;
        }
        let mut latest = 0;
        for (visit, _) in visits.iter().zip(goes_on).filter(|(_, goes_on)| !goes_on) {
            latest = latest.max(behind(*visit, self.stages, self.class)?.latest);
        }
        Ok(latest)
    }
}

/// Returns when frames of a class may reach what is behind a stage.
///
/// # Errors
///
/// If the stage has no budget, or that is too late.
pub fn behind(visit: Visit, stages: &Stages<'_>, class: u8) -> Result<Window, Reason> {
    let budget = stages.budget(visit.stage, class)?;
    let propagation = stages.propagation(visit.stage);
    let latest = budget
        .checked_add(propagation)
        .and_then(|most| visit.window.latest.checked_add(most));
    let earliest = visit.window.earliest.checked_add(propagation);
    match (earliest, latest) {
        (Some(earliest), Some(latest)) if latest <= LONGEST_PS => Ok(Window { earliest, latest }),
        _ => Err(Reason::TooLate),
    }
}

/// Returns a visit as what is behind the stage sees it.
fn eliminated(visit: Visit, others: &Others) -> Visit {
    match others.behind {
        Some((stage, window)) if stage == visit.stage => Visit { window, ..visit },
        Some(_) | None => visit,
    }
}

/// Returns the stages of both ways, each once. Where they come to one from
/// different stages, frames do not all come from the same.
fn join(first: Vec<Visit>, other: Vec<Visit>) -> Vec<Visit> {
    let mut joined: BTreeMap<usize, Visit> = first
        .into_iter()
        .map(|visit| (visit.stage, visit))
        .collect();
    let (again, other): (Vec<_>, Vec<_>) = other.into_iter().partition(|visit| visit.is_again);
    for visit in other {
        joined
            .entry(visit.stage)
            .and_modify(|known| {
                known.window = known.window.or(visit.window);
                known.from = known.from.filter(|from| Some(*from) == visit.from);
                known.link = known.link.filter(|link| Some(*link) == visit.link);
            })
            .or_insert(visit);
    }
    // What is turned back comes beside what passes for the first time.
    let again = again.into_iter().map(|visit| Visit {
        from: None,
        link: None,
        ..visit
    });
    joined.into_values().chain(again).collect()
}
