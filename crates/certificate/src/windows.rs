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
//! comes from there was there in the one window or in the other.

use std::collections::BTreeMap;

use crate::check::Reason;
use crate::document::{Flow, Port, Processor, Redundant, Stage, Step};

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
}

/// The ways of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Its path while nothing is broken, hop by hop; then the hops that only the
    /// second copies of its frames pass.
    pub path: Vec<Visit>,
    /// The stages of path and alternative after a failure, each once.
    pub after: BTreeMap<usize, Vec<Visit>>,
    /// The latest that a frame reaches a receiver, on any way.
    pub latest: u64,
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

/// A hop of any kind of way: its stage, and the hop before.
type Steps = Vec<(usize, Option<usize>)>;

/// What other ways of a flow add to the windows of one.
#[derive(Clone, Debug, Default)]
struct Others {
    /// At a stage, and so behind it.
    at: BTreeMap<usize, Window>,
    /// Behind a stage only.
    behind: Option<(usize, Window)>,
}

impl Others {
    fn on(visits: &[Visit]) -> Self {
        let windows = visits.iter().map(|visit| (visit.stage, visit.window));
        Self {
            at: windows.collect(),
            behind: None,
        }
    }
}

/// Follows a flow along all of its ways.
///
/// # Errors
///
/// What is wrong with a way.
pub fn follow(flow: &Flow, stages: &[Stage]) -> Result<Ways, Reason> {
    let path: Steps = flow.path.iter().map(|hop| (hop.stage, hop.after)).collect();
    if let Some(redundant) = &flow.redundant {
        return follow_both(flow, stages, &path, redundant);
    }
    let visits = walk(flow, stages, &path, &Others::default())?;
    let mut ways = Ways {
        latest: latest_end(flow, stages, &path, &visits)?,
        path: visits,
        after: BTreeMap::new(),
    };
    for alternative in &flow.alternatives {
        let steps = steps(&alternative.path);
        let other = walk(flow, stages, &steps, &Others::on(&ways.path))?;
        let first = walk(flow, stages, &path, &Others::on(&other))?;
        let ends = [(&steps, &other), (&path, &first)];
        for (steps, visits) in ends {
            ways.latest = ways.latest.max(latest_end(flow, stages, steps, visits)?);
        }
        let both = join(first, other);
        if ways.after.insert(alternative.failure, both).is_some() {
            return Err(Reason::FailureTwice);
        }
    }
    Ok(ways)
}

/// Follows both copies of a flow whose frames are doubled.
fn follow_both(
    flow: &Flow,
    stages: &[Stage],
    path: &Steps,
    redundant: &Redundant,
) -> Result<Ways, Reason> {
    if !flow.alternatives.is_empty() {
        let what = "a flow with second copies has no alternatives";
        return Err(Reason::Senseless { what });
    }
    let other = steps(&redundant.path);
    let mut others = Others::default();
    let alone = [path, &other].map(|steps| walk(flow, stages, steps, &others));
    let [first, second] = alone;
    let (first, second) = (first?, second?);
    if let Some(eliminator) = redundant.eliminator {
        let window = |visits: &[Visit]| {
            let found = visits.iter().find(|visit| visit.stage == eliminator);
            found.map(|visit| visit.window).ok_or(Reason::NoEliminator)
        };
        others.behind = Some((eliminator, window(&first)?.or(window(&second)?)));
    }
    let mut visits = walk(flow, stages, path, &others)?;
    let copies = walk(flow, stages, &other, &others)?;
    let latest = latest_end(flow, stages, path, &visits)?;
    let latest = latest.max(latest_end(flow, stages, &other, &copies)?);
    let single = [
        single_copies(path, &other, redundant.eliminator)?,
        single_copies(&other, path, redundant.eliminator)?,
    ];
    let doubled = copies.into_iter().zip(&single[1]);
    visits.extend(
        doubled
            .filter(|(_, single)| !**single)
            .map(|(visit, _)| visit),
    );
    Ok(Ways {
        path: visits,
        after: BTreeMap::new(),
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

fn steps(path: &[Step]) -> Steps {
    path.iter().map(|step| (step.stage, step.after)).collect()
}

/// Computes the window of each hop of a way; those of `others` count too.
fn walk(
    flow: &Flow,
    stages: &[Stage],
    steps: &Steps,
    others: &Others,
) -> Result<Vec<Visit>, Reason> {
    let mut visits: Vec<Visit> = Vec::with_capacity(steps.len());
    for (at, (stage, after)) in steps.iter().enumerate() {
        if *stage >= stages.len() || after.is_some_and(|after| after >= at) {
            return Err(Reason::NoWay { hop: at });
        }
        if visits.iter().any(|visit| visit.stage == *stage) {
            return Err(Reason::StageTwice { stage: *stage });
        }
        let before = after.map(|after| visits[after]);
        let window = match before {
            None => Window {
                earliest: 0,
                latest: flow.initial_ps,
            },
            Some(before) => behind(eliminated(before, others), flow.class, stages)?,
        };
        visits.push(Visit {
            stage: *stage,
            window: others
                .at
                .get(stage)
                .map_or(window, |other| window.or(*other)),
            from: before.map(|before| before.stage),
        });
    }
    match visits.is_empty() {
        true => Err(Reason::NoWay { hop: 0 }),
        false => Ok(visits),
    }
}

/// Returns a visit as what is behind the stage sees it.
fn eliminated(visit: Visit, others: &Others) -> Visit {
    match others.behind {
        Some((stage, window)) if stage == visit.stage => Visit { window, ..visit },
        Some(_) | None => visit,
    }
}

/// Returns when frames may reach what is behind a stage.
fn behind(visit: Visit, class: u8, stages: &[Stage]) -> Result<Window, Reason> {
    let (least, most) = match &stages[visit.stage] {
        Stage::Processor(Processor {
            fastest_per_frame_ps,
            budget_ps,
            ..
        }) => ((*fastest_per_frame_ps).min(*budget_ps), *budget_ps),
        Stage::Port(Port {
            propagation_ps,
            classes,
            ..
        }) => {
            let own = classes.iter().find(|known| known.class == class);
            let stage = visit.stage;
            let budget = own.ok_or(Reason::NoBudget { stage, class })?.budget_ps;
            let most = budget.checked_add(*propagation_ps);
            (*propagation_ps, most.ok_or(Reason::TooLate)?)
        }
    };
    let earliest = visit.window.earliest.checked_add(least);
    let latest = visit.window.latest.checked_add(most);
    match (earliest, latest) {
        (Some(earliest), Some(latest)) => Ok(Window { earliest, latest }),
        _ => Err(Reason::TooLate),
    }
}

/// Returns the latest that a frame arrives at any end of a way.
fn latest_end(
    flow: &Flow,
    stages: &[Stage],
    steps: &Steps,
    visits: &[Visit],
) -> Result<u64, Reason> {
    let mut latest = 0;
    for (at, visit) in visits.iter().enumerate() {
        let goes_on = steps.iter().any(|(_, after)| *after == Some(at));
        if !goes_on {
            latest = latest.max(behind(*visit, flow.class, stages)?.latest);
        }
    }
    Ok(latest)
}

/// Returns the stages of both ways, each once. Where they come to one from
/// different stages, frames do not all come from the same.
fn join(first: Vec<Visit>, other: Vec<Visit>) -> Vec<Visit> {
    let mut joined: BTreeMap<usize, Visit> = first
        .into_iter()
        .map(|visit| (visit.stage, visit))
        .collect();
    for visit in other {
        joined
            .entry(visit.stage)
            .and_modify(|known| {
                known.window = known.window.or(visit.window);
                known.from = known.from.filter(|from| Some(*from) == visit.from);
            })
            .or_insert(visit);
    }
    joined.into_values().collect()
}
