//! Switches that are wired otherwise than in a ring: in a row, as a tree, as a
//! random mesh.

use calculus::admission::{Request, Stage, Tree};
use units::{DataSize, Delay};

use super::{FAILURE, FULL_FRAME, Prng, Ring, id, port, processor};

/// How switches are wired.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One behind the other.
    Tandem,
    /// Each to one before it.
    Tree,
    /// A tree and some more cables, so that there are cycles and other ways.
    Mesh,
}

/// Switches and the cables between them. Stages are the processors, the ports
/// of each cable, and the ports towards hosts.
pub struct Wiring {
    switches: u64,
    cables: Vec<(u64, u64)>,
}

impl Wiring {
    pub fn draw(shape: Shape, random: &mut Prng) -> Self {
        let switches = 2 + random.below(5);
        let mut cables: Vec<_> = (1..switches)
            .map(|at| match shape {
                Shape::Tandem => (at - 1, at),
                Shape::Tree | Shape::Mesh => (random.below(at), at),
            })
            .collect();
        if matches!(shape, Shape::Mesh) {
            for _ in 0..switches {
                let (one, other) = (random.below(switches), random.below(switches));
                let there = |cable: &(u64, u64)| *cable == (one, other) || *cable == (other, one);
                if one != other && !cables.iter().any(there) {
                    cables.push((one, other));
                }
            }
        }
        Self { switches, cables }
    }

    pub fn stages(&self, random: &mut Prng) -> Vec<Stage> {
        let per_frame = Delay::from_us(1 + random.below(20));
        let mut stages = Vec::new();
        for _ in 0..self.switches {
            let most = [1, 50, 2_000][random.index_below(3)];
            stages.push(processor(Delay::from_us(random.below(most)), per_frame));
        }
        let unpromised = [DataSize::from_bytes(84), FULL_FRAME][random.index_below(2)];
        let ports = 2 * self.cables.len() + usize::try_from(self.switches).unwrap();
        stages.extend((0..ports).map(|_| port(unpromised)));
        stages
    }

    /// Draws a flow between any two switches; on a mesh some have another way.
    pub fn flow(&self, random: &mut Prng) -> Request {
        let mut flow = Ring { switches: 2 }.flow(random);
        let (from, to) = (random.below(self.switches), random.below(self.switches));
        flow.base = self.way(from, to, random);
        flow.redundant = None;
        let other = self.way(from, to, random);
        flow.alternatives.clear();
        if other != flow.base && random.below(2) == 0 {
            flow.alternatives.push((FAILURE, other));
        }
        flow
    }

    /// Returns one of the ways, found by walking at random and back out of dead
    /// ends.
    fn way(&self, from: u64, to: u64, random: &mut Prng) -> Tree {
        let mut seen = vec![from];
        let mut walked: Vec<(u64, u64)> = Vec::new();
        let mut at = from;
        while at != to {
            let next: Vec<_> = self
                .ports(at)
                .filter(|(_, next)| !seen.contains(next))
                .collect();
            match next.len() {
                0 => {
                    walked.pop();
                    at = walked.last().map_or(from, |(_, switch)| *switch);
                }
                choices => {
                    let (port, switch) = next[random.index_below(choices.try_into().unwrap())];
                    seen.push(switch);
                    walked.push((port, switch));
                    at = switch;
                }
            }
        }
        let mut stages = vec![from];
        stages.extend(walked.iter().flat_map(|(port, switch)| [*port, *switch]));
        let hosts = self.switches + 2 * u64::try_from(self.cables.len()).unwrap();
        stages.push(hosts + to);
        Tree::path(stages.into_iter().map(id))
    }

    /// Returns the ports of a switch and the switches behind them.
    fn ports(&self, switch: u64) -> impl Iterator<Item = (u64, u64)> {
        let numbered = (self.switches..).step_by(2).zip(&self.cables);
        numbered.filter_map(move |(port, (one, other))| {
            if *one == switch {
                return Some((port, *other));
            }
            (*other == switch).then_some((port + 1, *one))
        })
    }
}
