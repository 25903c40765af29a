//! Networks of switches, drawn at random or given by their shape.

use std::collections::VecDeque;

use wire::openflow::PortNumber;

use crate::parts::{End, Node};
use crate::servers::random::Random;

/// The port of every switch at which a host is.
pub const HOST_PORT: PortNumber = PortNumber(64);
/// The most switches that are drawn.
pub const SWITCHES_MAX: u64 = 16;

/// What a network looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopologyShape {
    /// One switch after the other.
    Line,
    Star,
    /// One after the other, and back to the first.
    Ring,
    Grid,
    /// Any tree, with any further cables.
    Random,
}

impl TopologyShape {
    pub const ALL: [Self; 5] = [Self::Line, Self::Star, Self::Ring, Self::Grid, Self::Random];

    /// Returns the name in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Star => "star",
            Self::Ring => "ring",
            Self::Grid => "grid",
            Self::Random => "random",
        }
    }
}

/// Switches and the cables between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeTopology {
    pub shape: TopologyShape,
    /// How many switches there are.
    pub switches: usize,
    /// What each cable joins; ports count from 1 at each switch.
    pub cables: Vec<[End; 2]>,
}

impl ModeTopology {
    /// Draws a connected network of two to [`SWITCHES_MAX`] switches.
    #[must_use]
    pub fn draw(random: &mut Random) -> Self {
        let shape = random.pick(&TopologyShape::ALL);
        let switches = random.between(2, SWITCHES_MAX);
        let switches = usize::try_from(switches).expect("a few");
        match shape {
            TopologyShape::Line => Self::line(switches),
            TopologyShape::Star => Self::of(shape, switches, (1..switches).map(|other| (0, other))),
            TopologyShape::Ring => {
                let back = (switches > 2).then_some((switches - 1, 0));
                let pairs = (1..switches).map(|other| (other - 1, other));
                Self::of(shape, switches, pairs.chain(back))
            }
            TopologyShape::Grid => {
                let columns = 2 + random.index(3);
                let rows = (switches / columns).max(1);
                Self::grid(columns, rows)
            }
            TopologyShape::Random => {
                let tree: Vec<_> = (1..switches).map(|at| (random.index(at), at)).collect();
                let more = random.index(switches * 2);
                let more: Vec<_> = (0..more)
                    .map(|_| (random.index(switches), random.index(switches)))
                    .filter(|(one, other)| one != other)
                    .collect();
                Self::of(shape, switches, tree.into_iter().chain(more))
            }
        }
    }

    /// Returns switches one after the other.
    #[must_use]
    pub fn line(switches: usize) -> Self {
        let pairs = (1..switches).map(|other| (other - 1, other));
        Self::of(TopologyShape::Line, switches, pairs)
    }

    /// Returns rows and columns of switches, counted row by row.
    #[must_use]
    pub fn grid(columns: usize, rows: usize) -> Self {
        let switches = columns * rows;
        let right = (0..switches)
            .filter(|at| (at + 1) % columns != 0)
            .map(|at| (at, at + 1));
        let down = (columns..switches).map(|at| (at - columns, at));
        Self::of(TopologyShape::Grid, switches, right.chain(down))
    }

    fn of(
        shape: TopologyShape,
        switches: usize,
        pairs: impl IntoIterator<Item = (usize, usize)>,
    ) -> Self {
        let mut used = vec![0u32; switches];
        let mut end = |switch: usize| {
            used[switch] += 1;
            End {
                node: Node::Switch(switch),
                port: PortNumber(used[switch]),
            }
        };
        let cables = pairs.into_iter().map(|(one, other)| [end(one), end(other)]);
        let cables = cables.collect();
        Self {
            shape,
            switches,
            cables,
        }
    }

    /// Returns the ports of a switch that lead to others, with the far end of each and
    /// the number of the cable.
    pub fn trunks(&self, switch: usize) -> impl Iterator<Item = (PortNumber, End, usize)> + '_ {
        let cables = self.cables.iter().enumerate();
        cables.flat_map(move |(cable, ends)| {
            let [one, other] = *ends;
            let here = Node::Switch(switch);
            [(one, other), (other, one)]
                .into_iter()
                .filter(move |(near, _)| near.node == here)
                .map(move |(near, far)| (near.port, far, cable))
        })
    }

    /// Returns for each cable whether it is in a tree that joins all switches, drawn at
    /// random.
    #[must_use]
    pub fn draw_tree(&self, random: &mut Random) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.cables.len()).collect();
        random.shuffle(&mut order);
        let mut taken = vec![false; self.cables.len()];
        for cable in order {
            let groups = self.groups(&taken);
            let [one, other] = self.switches_of(cable);
            taken[cable] = groups[one] != groups[other];
        }
        taken
    }

    /// Returns for each switch the least number of a switch that it is joined to by
    /// cables that are `whole`.
    #[must_use]
    pub fn groups(&self, whole: &[bool]) -> Vec<usize> {
        let mut groups = vec![usize::MAX; self.switches];
        for switch in 0..self.switches {
            if groups[switch] == usize::MAX {
                for (reached, _) in self.reached_from(switch, whole) {
                    groups[reached] = switch;
                }
            }
        }
        groups
    }

    /// Returns the most hops between two switches that are joined by `whole` cables.
    #[must_use]
    pub fn diameter(&self, whole: &[bool]) -> u64 {
        let furthest = |from| self.reached_from(from, whole).last().map(|(_, hops)| *hops);
        (0..self.switches)
            .filter_map(furthest)
            .max()
            .unwrap_or_default()
    }

    /// Returns the switches that a cable joins.
    ///
    /// # Panics
    ///
    /// If it does not join switches.
    #[must_use]
    pub fn switches_of(&self, cable: usize) -> [usize; 2] {
        self.cables[cable].map(|end| match end.node {
            Node::Switch(switch) => switch,
            Node::Host(host) => panic!("host {host} is at no cable between switches"),
        })
    }

    /// Returns the switches that can be reached, with their hops, the nearest first.
    fn reached_from(&self, from: usize, whole: &[bool]) -> Vec<(usize, u64)> {
        let mut seen = vec![false; self.switches];
        seen[from] = true;
        let mut next = VecDeque::from([(from, 0)]);
        let mut reached = Vec::new();
        while let Some((at, hops)) = next.pop_front() {
            reached.push((at, hops));
            for (_, far, cable) in self.trunks(at) {
                let Node::Switch(neighbour) = far.node else {
                    continue;
                };
                if whole[cable] && !seen[neighbour] {
                    seen[neighbour] = true;
                    next.push_back((neighbour, hops + 1));
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_that_is_drawn_is_connected_and_so_is_its_tree() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let topology = ModeTopology::draw(&mut random);
            let all = vec![true; topology.cables.len()];

            let tree = topology.draw_tree(&mut random);

            let one = vec![0; topology.switches];
            assert_eq!(topology.groups(&all), one, "seed {seed}");
            assert_eq!(topology.groups(&tree), one, "seed {seed}");
            let taken = tree.iter().filter(|taken| **taken).count();
            assert_eq!(taken, topology.switches - 1, "seed {seed}");
        }
    }

    #[test]
    fn a_line_of_nine_has_eight_hops_and_a_grid_of_nine_four() {
        let diameter =
            |topology: ModeTopology| topology.diameter(&vec![true; topology.cables.len()]);

        assert_eq!(diameter(ModeTopology::line(9)), 8);
        assert_eq!(diameter(ModeTopology::grid(3, 3)), 4);
        assert_eq!(diameter(ModeTopology::line(1)), 0);
    }
}
