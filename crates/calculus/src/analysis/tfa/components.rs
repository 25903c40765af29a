//! In which order queues can be solved, and which only together.
//!
//! A queue depends on those before it on the paths of the flows that it serves
//! or that go first. Queues that depend on each other form a component.

use super::layout::{Layout, NOWHERE, number};

/// The components of all queues, in an order in which each depends on none
/// behind it.
pub(super) struct Components {
    /// By component.
    pub(super) queues: Vec<Vec<u32>>,
    /// By queue.
    pub(super) of: Vec<u32>,
}

impl Components {
    /// Finds them: in the order in which a search along the dependencies leaves
    /// the queues, backwards, the search against them stays in a component.
    pub(super) fn of(layout: &Layout) -> Self {
        let behind = edges(layout);
        let mut before = vec![Vec::new(); behind.len()];
        for (from, targets) in (0..).zip(&behind) {
            for &to in targets {
                before[to as usize].push(from);
            }
        }
        let mut seen = vec![false; behind.len()];
        let mut left = Vec::with_capacity(behind.len());
        for queue in 0..number(behind.len()) {
            search(&behind, queue, &mut seen, &mut left);
        }
        seen.fill(false);
        let mut components = Self {
            queues: Vec::new(),
            of: vec![0; behind.len()],
        };
        for &queue in left.iter().rev() {
            let mut members = Vec::new();
            search(&before, queue, &mut seen, &mut members);
            if !members.is_empty() {
                components.push(members);
            }
        }
        components
    }

    fn push(&mut self, mut members: Vec<u32>) {
        members.sort_unstable();
        for &queue in &members {
            self.of[queue as usize] = number(self.queues.len());
        }
        self.queues.push(members);
    }
}

/// For each queue those that depend on it, but for those that do so only by way of others.
fn edges(layout: &Layout) -> Vec<Vec<u32>> {
    let mut behind = vec![Vec::new(); layout.queues.len()];
    for station in &layout.stations {
        for pair in station.queues.windows(2) {
            behind[pair[0] as usize].push(pair[1]);
        }
    }
    for group in layout.groups.iter().filter(|group| group.from != NOWHERE) {
        let to = &layout.queues[group.queue as usize];
        for &from in &layout.stations[group.from as usize].queues {
            // Between classes a flow does not change; all others may mix.
            let class = layout.queues[from as usize].class;
            if class.is_none() || to.class.is_none() || class == to.class {
                behind[from as usize].push(group.queue);
            }
        }
    }
    behind
}

/// Adds to `left` what can be reached from `start` and was not seen, each when
/// all behind it has been.
fn search(edges: &[Vec<u32>], start: u32, seen: &mut [bool], left: &mut Vec<u32>) {
    if std::mem::replace(&mut seen[start as usize], true) {
        return;
    }
    let mut trail = vec![(start, 0)];
    while let Some((at, next)) = trail.last_mut() {
        match edges[*at as usize].get(*next) {
            None => {
                left.push(*at);
                trail.pop();
            }
            Some(&to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to as usize], true) {
                    trail.push((to, 0));
                }
            }
        }
    }
}
