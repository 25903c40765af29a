//! How long it takes until a signal has reached every switch.
//!
//! Whoever hears a signal passes it on at once, over all trunks. So it has reached a
//! switch after no more than the shortest way to it, measured in the bounds of its
//! hops; and the last switch after no more than the longest of the shortest ways. A
//! link that is lost changes the shortest ways that led over it, and no others: so of all
//! combinations of lost links only those need be tried that lie on shortest ways.
//!
//! Switches to which no way is left do not count: they hear of the mode when they
//! are joined again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::Delay;

/// The most searches for shortest ways that a spread may take. Beyond it the bound is
/// coarser, and still one: no shortest way meets a switch twice.
pub const MOST_SEARCHES: usize = 20_000;

/// One direction of a trunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The switch that sends, from 0.
    pub from: usize,
    /// The switch that hears it.
    pub to: usize,
    /// The link: both of its directions have the same number.
    pub link: usize,
    /// The longest that a signal takes over it, see [`SignalHop`](super::SignalHop).
    pub delay: Delay,
}

/// The switches of a network and the trunks between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trunks {
    /// The hops that leave each switch.
    leaving: Vec<Vec<Hop>>,
}

impl Trunks {
    /// Takes `switches`, numbered from 0, and all hops between them.
    ///
    /// # Panics
    ///
    /// If a hop names a switch that is not there.
    #[must_use]
    pub fn new(switches: usize, hops: impl IntoIterator<Item = Hop>) -> Self {
        let mut leaving = vec![Vec::new(); switches];
        for hop in hops {
            assert!(hop.to < switches, "a hop to a switch that is not there");
            leaving[hop.from].push(hop);
        }
        Self { leaving }
    }

    /// Returns the longest until a signal that begins anywhere has reached every switch
    /// to which a way is left, when up to `lost` links fail.
    #[must_use]
    pub fn spread(&self, lost: usize) -> Delay {
        let mut worst = Delay::ZERO;
        let mut searches_left = MOST_SEARCHES;
        for start in 0..self.leaving.len() {
            let mut without = Vec::new();
            let Some(found) = self.worst_from(start, lost, &mut without, &mut searches_left) else {
                return self.coarse();
            };
            worst = worst.max(found);
        }
        worst
    }

    /// Returns the most links between two switches when up to `lost` links fail: the
    /// paper's `N_link`, MC-SDN Eq. (2).
    #[must_use]
    pub fn links(&self, lost: usize) -> u64 {
        let unit = |hop: &Hop| Hop {
            delay: Delay::from_ps(1),
            ..*hop
        };
        let hops = self.leaving.iter().flatten().map(unit);
        Self::new(self.leaving.len(), hops).spread(lost).as_ps()
    }

    /// Returns the longest shortest way from `start`, without the links `without` and
    /// up to `lost` more; nothing if that takes too many searches.
    fn worst_from(
        &self,
        start: usize,
        lost: usize,
        without: &mut Vec<usize>,
        searches_left: &mut usize,
    ) -> Option<Delay> {
        *searches_left = searches_left.checked_sub(1)?;
        let ways = self.shortest_ways(start, without);
        let reached = ways.iter().flatten();
        let mut worst = reached.map(|way| way.length).max().unwrap_or_default();
        if lost == 0 {
            return Some(worst);
        }
        let mut used: Vec<usize> = ways.iter().flatten().filter_map(|way| way.link).collect();
        used.sort_unstable();
        used.dedup();
        for link in used {
            without.push(link);
            let found = self.worst_from(start, lost - 1, without, searches_left)?;
            without.pop();
            worst = worst.max(found);
        }
        Some(worst)
    }

    /// Returns the shortest way to each switch, by E. W. Dijkstra's method.
    fn shortest_ways(&self, start: usize, without: &[usize]) -> Vec<Option<ShortestPath>> {
        let mut ways: Vec<Option<ShortestPath>> = vec![None; self.leaving.len()];
        let mut next = BinaryHeap::from([Reverse((Delay::ZERO, start, None))]);
        while let Some(Reverse((length, at, link))) = next.pop() {
            if ways[at].is_some() {
                continue;
            }
            ways[at] = Some(ShortestPath { length, link });
            for hop in &self.leaving[at] {
                if ways[hop.to].is_none() && !without.contains(&hop.link) {
                    next.push(Reverse((length + hop.delay, hop.to, Some(hop.link))));
                }
            }
        }
        ways
    }

    /// Returns a bound for any way that meets no switch twice: the slowest hops into
    /// as many switches as there are beside the first.
    pub(super) fn coarse(&self) -> Delay {
        let mut slowest = vec![Delay::ZERO; self.leaving.len()];
        for hop in self.leaving.iter().flatten() {
            slowest[hop.to] = slowest[hop.to].max(hop.delay);
        }
        slowest.sort_unstable();
        slowest.into_iter().skip(1).sum()
    }
}

/// The shortest way to a switch.
#[derive(Clone, Copy)]
struct ShortestPath {
    length: Delay,
    /// The last of its links; none at the start.
    link: Option<usize>,
}
