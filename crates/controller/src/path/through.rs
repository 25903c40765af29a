//! Finds ways that pass given switches and links in a given order.
//!
//! Where everything is said, the way is only checked. Otherwise each leg is the
//! shortest that visits no switch which was visited before or is still to come, so
//! that no switch is visited twice. Where that leaves a later leg without a way,
//! the next shortest ones are tried, a bounded number of times: to find such a way
//! whenever there is one takes more time than anybody has.

use thiserror::Error;
use wire::openflow::DatapathId;

use super::atlas::Atlas;
use super::simple_path::{Crossing, SimplePath};
use crate::northbound::{Extent, Waypoint};
use crate::place::{LinkEnds, PortId};
use crate::view::View;

/// How many ways are tried for each leg.
const WAYS_EACH: usize = 4;
/// How many legs are tried together.
const MAX_LEGS: usize = 256;

/// Why there is no way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Impassable {
    /// A link that has to be crossed is not open, or not next to what comes before.
    #[error("link {0} is down, or does not begin where the path has got to")]
    Link(LinkEnds),
    /// Two switches are not next to each other.
    #[error("no link that is up joins {0:x} with {1:x}")]
    Apart(u64, u64),
    #[error("the path ends at {0:x}, where its frames do not leave")]
    End(u64),
    #[error("no path from {0:x} to {1:x} passes all that it is to pass without a loop")]
    NoWay(u64, u64),
}

impl Atlas {
    /// Returns the way from one switch to another that passes these places.
    ///
    /// # Errors
    ///
    /// Why there is none, or none was found.
    pub fn through(
        &mut self,
        view: &View,
        [from, to]: [DatapathId; 2],
        places: &[Waypoint],
        extent: Extent,
    ) -> Result<SimplePath, Impassable> {
        match extent {
            Extent::Full => self.check_full([from, to], places),
            Extent::Partial => {
                let mut legs = Legs {
                    atlas: self,
                    view,
                    to,
                    left: MAX_LEGS,
                };
                let crossings = legs.on(from, places, &mut vec![from]);
                let crossings = crossings.ok_or(Impassable::NoWay(from.0, to.0))?;
                Ok(self.path(from, crossings))
            }
        }
    }

    fn check_full(
        &self,
        [from, to]: [DatapathId; 2],
        places: &[Waypoint],
    ) -> Result<SimplePath, Impassable> {
        let mut crossings = Vec::new();
        let mut at = from;
        let mut visited = vec![from];
        // The last leg may be left unsaid if it is but one link.
        for place in places.iter().chain([&Waypoint::Switch(to)]) {
            let link = match place {
                Waypoint::Switch(next) if *next == at => continue,
                Waypoint::Switch(next) => {
                    let link = self.arc_between(at, *next);
                    link.ok_or(Impassable::Apart(at.0, next.0))?
                }
                Waypoint::Link(link) => *link,
            };
            let crossing = self.cross(at, link).ok_or(Impassable::Link(link))?;
            at = crossing.enters.datapath;
            if visited.contains(&at) {
                return Err(Impassable::NoWay(from.0, to.0));
            }
            visited.push(at);
            crossings.push(crossing);
        }
        if at != to {
            return Err(Impassable::End(at.0));
        }
        Ok(self.path(from, crossings))
    }

    /// Returns the crossing of a link from a switch, if it is open.
    fn cross(&self, at: DatapathId, link: LinkEnds) -> Option<Crossing> {
        let ends = link.both();
        let leaves = *ends.iter().find(|end| end.datapath == at)?;
        let enters = link.opposite(leaves)?;
        self.cost(leaves, link)?;
        Some(Crossing { leaves, enters })
    }

    fn path(&self, first: DatapathId, crossings: Vec<Crossing>) -> SimplePath {
        let costs = crossings
            .iter()
            .filter_map(|crossing| self.cost(crossing.leaves, crossing.link()));
        SimplePath {
            cost: costs.fold(0, u64::saturating_add),
            first,
            crossings,
        }
    }
}

/// The search for the legs of one way.
struct Legs<'a> {
    atlas: &'a mut Atlas,
    view: &'a View,
    to: DatapathId,
    /// How many legs may still be tried.
    left: usize,
}

impl Legs<'_> {
    /// Returns the rest of the way, which passes these places.
    fn on(
        &mut self,
        at: DatapathId,
        places: &[Waypoint],
        visited: &mut Vec<DatapathId>,
    ) -> Option<Vec<Crossing>> {
        let Some((next, rest)) = places.split_first() else {
            return self.leg([at, self.to], None, &[], visited);
        };
        match next {
            Waypoint::Switch(next) => self.leg([at, *next], None, rest, visited),
            Waypoint::Link(link) => {
                let [one, other] = link.both();
                let directions = [(one, other), (other, one)];
                directions.into_iter().find_map(|(leaves, enters)| {
                    self.atlas.cost(leaves, *link)?;
                    let crossing = Crossing { leaves, enters };
                    self.leg([at, leaves.datapath], Some(crossing), rest, visited)
                })
            }
        }
    }

    /// Returns the way from one switch to another, over a link there if that is
    /// given, and on to the end.
    fn leg(
        &mut self,
        [from, to]: [DatapathId; 2],
        over: Option<Crossing>,
        rest: &[Waypoint],
        visited: &mut Vec<DatapathId>,
    ) -> Option<Vec<Crossing>> {
        let ahead = rest.iter().flat_map(|place| match place {
            Waypoint::Switch(at) => vec![*at],
            Waypoint::Link(link) => link.both().map(|end: PortId| end.datapath).to_vec(),
        });
        let ahead = ahead.chain(over.map(|crossing| crossing.enters.datapath));
        let is_end = |at: &DatapathId| *at == from || *at == to;
        let barred: Vec<DatapathId> = visited
            .iter()
            .copied()
            .chain(ahead)
            .chain([self.to])
            .filter(|at| !is_end(at))
            .collect();
        if from != to && visited.contains(&to) {
            return None;
        }
        for way in self
            .atlas
            .shortest_beside(self.view, [from, to], &barred, WAYS_EACH)
        {
            self.left = self.left.checked_sub(1)?;
            let mut crossings = way.crossings;
            crossings.extend(over);
            let before = visited.len();
            let entered = crossings.iter().map(|crossing| crossing.enters.datapath);
            visited.extend(entered);
            let at = *visited.last()?;
            let is_simple = over.is_none_or(|_| !visited[..visited.len() - 1].contains(&at));
            if is_simple && at == self.to && rest.is_empty() {
                return Some(crossings);
            }
            if is_simple && let Some(more) = self.on(at, rest, visited) {
                crossings.extend(more);
                return Some(crossings);
            }
            visited.truncate(before);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixture::{all_paths, any_network, network};
    use super::super::one_each;
    use super::*;

    #[test]
    fn a_leg_leaves_free_what_is_still_to_come() {
        // The shortest way to 3 is over 4, where the frames leave.
        let view = network(6, &[(1, 4), (4, 3), (1, 2), (2, 3), (3, 5), (5, 4)]);

        let way = through(&view, 1, 4, &[switch(3)], Extent::Partial).unwrap();

        assert_eq!(visited(&way), [1, 2, 3, 4]);
    }

    #[test]
    fn a_first_leg_that_traps_the_second_is_taken_back() {
        // The short way from 1 to 3 is over 2, the only way on to 5.
        let view = network(6, &[(1, 2), (2, 3), (1, 4), (4, 6), (6, 3), (3, 2), (2, 5)]);

        let way = through(&view, 1, 5, &[switch(3)], Extent::Partial).unwrap();

        assert_eq!(visited(&way), [1, 4, 6, 3, 2, 5]);
    }

    #[test]
    fn a_full_path_is_taken_as_it_is_said_or_not_at_all() {
        let view = network(4, &[(1, 2), (1, 2), (2, 3), (3, 4)]);
        let second = view.links()[1].ends;
        let said = [Waypoint::Link(second), switch(3)];

        let way = through(&view, 1, 4, &said, Extent::Full).unwrap();
        let gap = through(&view, 1, 4, &[switch(3)], Extent::Full);

        assert_eq!(way.links().next(), Some(second));
        assert_eq!(visited(&way), [1, 2, 3, 4]);
        assert_eq!(gap, Err(Impassable::Apart(1, 3)));
    }

    #[test]
    fn a_link_is_crossed_in_the_direction_that_leads_on() {
        let view = network(4, &[(1, 2), (2, 3), (3, 4)]);
        let middle = view.links()[1].ends;

        let there = through(&view, 1, 4, &[Waypoint::Link(middle)], Extent::Partial).unwrap();
        let back = through(&view, 4, 1, &[Waypoint::Link(middle)], Extent::Partial).unwrap();

        assert_eq!(visited(&there), [1, 2, 3, 4]);
        assert_eq!(visited(&back), [4, 3, 2, 1]);
    }

    proptest! {
        /// What is found passes its places in order and has no loop; where nothing is
        /// found in a small network, there is nothing.
        #[test]
        fn a_way_passes_its_places_in_order_without_a_loop(
            (switches, links) in any_network(6, 12),
            stops in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        ) {
            let view = network(switches, &links);
            let stops: Vec<u64> = stops
                .iter()
                .map(|at| 1 + at.index(usize::try_from(switches).unwrap()) as u64)
                .collect();
            let places: Vec<Waypoint> = stops.iter().map(|at| switch(*at)).collect();

            let found = through(&view, 1, switches, &places, Extent::Partial);

            let all = all_paths(&view, 1, switches, &one_each);
            match found {
                Ok(way) => {
                    prop_assert!(all.contains(&way));
                    prop_assert!(passes(&visited(&way), &stops));
                }
                Err(_) => {
                    let mut fitting = all.iter().filter(|way| passes(&visited(way), &stops));
                    prop_assert_eq!(fitting.next(), None);
                }
            }
        }
    }

    /// Whether the stops are among the switches in this order; one said twice in a
    /// row is passed once.
    fn passes(visited: &[u64], stops: &[u64]) -> bool {
        let mut from = 0;
        stops.iter().all(|stop| {
            let found = visited[from..].iter().position(|at| at == stop);
            from += found.unwrap_or(0);
            found.is_some()
        })
    }

    fn through(
        view: &View,
        from: u64,
        to: u64,
        places: &[Waypoint],
        extent: Extent,
    ) -> Result<SimplePath, Impassable> {
        let mut atlas = Atlas::new(view, &one_each);
        atlas.through(view, [DatapathId(from), DatapathId(to)], places, extent)
    }

    fn visited(way: &SimplePath) -> Vec<u64> {
        way.switches().map(|at| at.0).collect()
    }

    fn switch(at: u64) -> Waypoint {
        Waypoint::Switch(DatapathId(at))
    }
}
