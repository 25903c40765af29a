//! Delays that bound each other: `F(D) <= D`.
//!
//! `F` is monotone and concave: delays grow with the bursts, and the more of a
//! link's rate the bursts already fill, the less so. Component by component,
//! `D` rises from zero, `D := F(D)`. Three things follow from concavity, for
//! `F(0) > 0`:
//!
//! - *From above.* If `F(D) = D + s`, then `F(D') <= D'` for `D' = (1 + e) * D`
//!   with any `e` of at least `s / (F(0) - s)` everywhere, as
//!   `F((1 + e) * D) <= (1 + e) * F(D) - e * F(0)`. So the search can stop as
//!   soon as this `e` is small enough.
//! - *From below.* Whatever has `D <= F(D)` is no more than the least solution, so
//!   `D` may leap along its steps as far as that holds.
//! - *Without end.* Where it holds until the delays are hours, there is no
//!   solution that these numbers could hold.
//!
//! Floating point chooses how far to go; whether `F(D') <= D'` holds is compared
//! in integers.

use super::components::Components;
use super::layout::{Layout, QueueInput, number};
use super::state::{DelayState, NEVER};
use crate::min_plus::piecewise::CurveSum;

/// How many times the delays of a component are computed until what still rises
/// is called unbounded.
const SWEEPS: u32 = 4_096;
/// Sweeps between two leaps.
const LEAP_EVERY: u32 = 3;
/// How many steps the first leap takes that finds them no smaller than before.
const FIRST_REACH: f64 = 64.0;
/// How often delays are raised that do not hold.
const RAISES: u32 = 8;
/// Delays on a cycle that would be longer, 77 minutes, count as unbounded.
const LONGEST: u64 = 1 << 62;

/// How close to the least solution is close enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// Within 10⁻⁸ of it.
    Fine,
    /// Within two thousandths, for [`HEADROOM`] is added anyway.
    Coarse,
}

/// By how many binary places the headroom is less than the delay.
pub(super) const HEADROOM: u32 = 8;

/// Part of a flow's course in one component.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    flow: u32,
    begin: u32,
    end: u32,
}

/// Finds delays of all queues and leaves the sums of `state` as they follow from
/// them.
pub(super) fn solve(state: &mut DelayState, precision: Precision) {
    let components = Components::of(&state.layout);
    let (segments, ends) = segments(&state.layout, &components);
    let each_alone = components.queues.iter().all(|queues| queues.len() == 1);
    if each_alone {
        state.keep_settled();
    }
    let mut search = FixedPointSearch {
        spreads: vec![0; state.layout.courses.len()],
        state,
        precision,
        sum: CurveSum::default(),
    };
    let mut begin = 0;
    for (queues, end) in components.queues.iter().zip(ends) {
        search.settle(queues, &segments[begin..end]);
        begin = end;
    }
    if each_alone && precision == Precision::Fine {
        // Each delay is what follows from those before it, and so are all sums.
        return;
    }
    state.forget_settled();
    if precision == Precision::Coarse {
        for queue in 0..number(state.delays.len()) {
            state.set_delay(queue, with_headroom(state.delays[queue as usize]));
        }
    }
    verify(state);
}

/// A delay and room for a few more flows.
pub(super) fn with_headroom(delay: u64) -> u64 {
    delay.saturating_add(delay >> HEADROOM)
}

/// Recomputes everything from the delays found, and raises those that do not
/// hold until all do.
fn verify(state: &mut DelayState) {
    let queues: Vec<u32> = (0..number(state.delays.len())).collect();
    let mut sum = CurveSum::default();
    for round in 0.. {
        walk_all(state);
        let next: Vec<_> = { queues.iter() }
            .map(|&queue| state.follows(queue, &mut sum))
            .collect();
        let mut holds = true;
        for (&queue, next) in queues.iter().zip(next) {
            if next > state.delays[queue as usize] {
                holds = false;
                state.set_delay(queue, if round < RAISES { next } else { NEVER });
            }
        }
        if holds {
            return;
        }
    }
}

/// Computes the sums of all groups from the delays.
pub(super) fn walk_all(state: &mut DelayState) {
    for queue in 0..number(state.layout.queues.len()) {
        state.clear(queue);
    }
    for flow in 0..state.layout.courses.len() {
        let course = state.layout.courses[flow];
        state.walk(course, (course.begin, course.end), 0);
    }
}

/// Cuts the flows where they pass from one component to the next. Returns the
/// segments of all components, one component behind the other, and where each ends.
fn segments(layout: &Layout, components: &Components) -> (Vec<Segment>, Vec<usize>) {
    let of_group = |group: &QueueInput| components.of[group.queue as usize] as usize;
    let component: Vec<usize> = layout.groups.iter().map(of_group).collect();
    let mut ends = vec![0; components.queues.len()];
    for_each_segment(layout, &component, |at, _| ends[at] += 1);
    let mut begin = 0;
    for end in &mut ends {
        (*end, begin) = (begin, begin + *end);
    }
    let mut segments = vec![Segment::default(); begin];
    for_each_segment(layout, &component, |at, segment| {
        segments[ends[at]] = segment;
        ends[at] += 1;
    });
    (segments, ends)
}

fn for_each_segment(layout: &Layout, component: &[usize], mut tell: impl FnMut(usize, Segment)) {
    for (flow, course) in (0..).zip(&layout.courses) {
        let mut begin = course.begin;
        let mut groups = layout.path(flow).iter();
        let mut here = groups.next().map(|&group| component[group as usize]);
        for end in course.begin + 1..=course.end {
            let next = groups.next().map(|&group| component[group as usize]);
            if let Some(done) = here.filter(|_| next != here) {
                tell(done, Segment { flow, begin, end });
                begin = end;
            }
            here = next;
        }
    }
}

struct FixedPointSearch<'a> {
    state: &'a mut DelayState,
    precision: Precision,
    /// By flow, the spread with which it enters the next component.
    spreads: Vec<u64>,
    sum: CurveSum,
}

/// Delays on their way up.
struct Rise {
    now: Vec<u64>,
    /// The steps before the last.
    before: Vec<u64>,
    /// How many steps to leap where they do not become smaller.
    reach: f64,
}

/// Whether a component is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ComponentState {
    Rising,
    Settled,
}

impl From<Vec<u64>> for Rise {
    fn from(first: Vec<u64>) -> Self {
        let (now, before) = (first.clone(), first);
        Self {
            now,
            before,
            reach: FIRST_REACH,
        }
    }
}

impl FixedPointSearch<'_> {
    fn settle(&mut self, queues: &[u32], segments: &[Segment]) {
        match queues {
            [only] => {
                let delays = self.sweep(queues, segments);
                self.state.set_delay(*only, delays[0]);
                self.state.settle(*only);
            }
            _ => self.settle_together(queues, segments),
        }
        for segment in segments {
            let groups = &self.state.layout.hops[segment.begin as usize..segment.end as usize];
            let queue = |group: u32| self.state.layout.groups[group as usize].queue;
            let delays = groups
                .iter()
                .map(|&group| self.state.delays[queue(group) as usize]);
            let spread = &mut self.spreads[segment.flow as usize];
            *spread = delays.fold(*spread, u64::saturating_add);
        }
    }

    fn settle_together(&mut self, queues: &[u32], segments: &[Segment]) {
        let floor = self.sweep_from(queues, segments, &vec![0; queues.len()]);
        let mut rise = Rise::from(floor.clone());
        for sweep in 1..=SWEEPS {
            let next = self.sweep_from(queues, segments, &rise.now);
            let steps = steps(&rise.now, &next);
            if self.try_above(queues, segments, (&floor, &rise.now, &steps))
                == ComponentState::Settled
            {
                return;
            }
            rise.now = next;
            if sweep % LEAP_EVERY == 0 {
                self.leap(queues, segments, &mut rise, &steps);
                give_up_the_longest(&floor, &mut rise.now, &steps);
            }
            rise.before = steps;
        }
        self.give_up_what_rises(queues, segments, rise.now);
    }

    /// Tries a multiple of the present delays, if they are near enough.
    fn try_above(
        &mut self,
        queues: &[u32],
        segments: &[Segment],
        (floor, now, steps): (&[u64], &[u64], &[u64]),
    ) -> ComponentState {
        if steps.iter().all(|step| *step == 0) {
            return ComponentState::Settled;
        }
        let excess = excess(floor, steps);
        let enough = match self.precision {
            Precision::Fine => 0.5f64.powi(28),
            Precision::Coarse => 0.5f64.powi(11),
        };
        if excess > enough {
            return ComponentState::Rising;
        }
        let guess: Vec<_> = now
            .iter()
            .map(|&now| along(now, now, excess + enough, 4))
            .collect();
        let follows = self.sweep_from(queues, segments, &guess);
        if follows
            .iter()
            .zip(&guess)
            .any(|(follows, guess)| follows > guess)
        {
            return ComponentState::Rising;
        }
        self.set(queues, &follows);
        ComponentState::Settled
    }

    /// Leaps along the last steps if that stays below the least solution.
    fn leap(&mut self, queues: &[u32], segments: &[Segment], rise: &mut Rise, steps: &[u64]) {
        let growth = slowest_growth(&rise.before, steps);
        let slowing = growth < 0.999;
        let times = if slowing {
            0.9 * growth / (1.0 - growth)
        } else {
            rise.reach
        };
        let pairs = rise.now.iter().zip(steps);
        let far = pairs.map(|(&now, &step)| along(now, step, times, 0).min(LONGEST.max(now)));
        let far: Vec<_> = far.collect();
        let follows = self.sweep_from(queues, segments, &far);
        let below = follows
            .iter()
            .zip(&far)
            .all(|(follows, far)| follows >= far);
        if below {
            rise.now = follows;
        }
        if !slowing {
            rise.reach = if below {
                rise.reach * 16.0
            } else {
                FIRST_REACH
            };
        }
    }

    /// Calls unbounded what rises, until nothing does.
    fn give_up_what_rises(&mut self, queues: &[u32], segments: &[Segment], mut now: Vec<u64>) {
        loop {
            let next = self.sweep_from(queues, segments, &now);
            if next == now {
                return;
            }
            for (now, next) in now.iter_mut().zip(next) {
                if next > *now {
                    *now = NEVER;
                }
            }
        }
    }

    fn sweep_from(&mut self, queues: &[u32], segments: &[Segment], delays: &[u64]) -> Vec<u64> {
        self.set(queues, delays);
        self.sweep(queues, segments)
    }

    fn set(&mut self, queues: &[u32], delays: &[u64]) {
        for (&queue, &delay) in queues.iter().zip(delays) {
            self.state.set_delay(queue, delay);
        }
    }

    /// Returns the delays that follow from the present ones.
    fn sweep(&mut self, queues: &[u32], segments: &[Segment]) -> Vec<u64> {
        for &queue in queues {
            self.state.clear(queue);
        }
        for segment in segments {
            let course = self.state.layout.courses[segment.flow as usize];
            let spread = self.spreads[segment.flow as usize];
            self.state
                .walk(course, (segment.begin, segment.end), spread);
        }
        let follows = |&queue| self.state.follows(queue, &mut self.sum);
        queues.iter().map(follows).collect()
    }
}

/// By how much each has risen.
fn steps(now: &[u64], next: &[u64]) -> Vec<u64> {
    let pairs = now.iter().zip(next);
    pairs.map(|(now, next)| next.saturating_sub(*now)).collect()
}

/// The least part by which all delays have to be larger to bound each other.
#[expect(clippy::cast_precision_loss, reason = "a guess, checked in integers")]
fn excess(floor: &[u64], steps: &[u64]) -> f64 {
    let each = floor.iter().zip(steps).map(|(&floor, &step)| match step {
        0 => 0.0,
        step if step < floor => step as f64 / (floor - step) as f64,
        _ => f64::INFINITY,
    });
    each.fold(0.0, f64::max)
}

/// The least quotient of two steps in a row, of those that still rise.
#[expect(clippy::cast_precision_loss, reason = "a guess, checked in integers")]
fn slowest_growth(before: &[u64], steps: &[u64]) -> f64 {
    let rising = before.iter().zip(steps).filter(|(_, step)| **step > 0);
    rising
        .map(|(&before, &step)| step as f64 / before as f64)
        .fold(f64::INFINITY, f64::min)
}

/// The point behind `now` at some times a step.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess, checked in integers"
)]
fn along(now: u64, step: u64, times: f64, more: u64) -> u64 {
    let beyond = (step as f64 * times) as u64;
    now.saturating_add(beyond).saturating_add(more)
}

/// Calls unbounded what has grown beyond all measure, if anything has.
fn give_up_the_longest(floor: &[u64], now: &mut [u64], steps: &[u64]) {
    let too_long = |now: &u64, step: &u64| *now != NEVER && *now >= LONGEST / 2 && *step > 0;
    if !now.iter().zip(steps).any(|(now, step)| too_long(now, step)) {
        return;
    }
    for ((now, step), floor) in now.iter_mut().zip(steps).zip(floor) {
        if *step > 0 && *now >> 10 > *floor {
            *now = NEVER;
        }
    }
}
