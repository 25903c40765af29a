//! Switches that are wired in a row, in a ring, as a tree, as a random mesh or as a
//! torus.

use std::collections::BTreeSet;

use calculus::admission::{FailureId, Hop, Redundant, Request, Stage, StageId, Tree};
use calculus::min_plus::TokenBucket;
use units::{BitRate, DataSize, Delay};

use super::{FAILURE, FULL_FRAME, LINK, Prng, Ring, any_hold, id, of_messages, port, processor};

/// How switches are wired.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One behind the other.
    Tandem,
    /// Each to one before it.
    Tree,
    /// A tree and some more cables, so that there are cycles and other ways.
    Mesh,
    /// Each to the next one and the last to the first.
    Ring,
    /// Three by three, each row and each column a ring.
    Torus,
}

/// Switches and the cables between them. Stages are the processors, the ports
/// of each cable, and the ports towards hosts.
pub struct Wiring {
    switches: u64,
    cables: Vec<(u64, u64)>,
}

impl Wiring {
    /// Returns switches one behind the other.
    pub fn row(switches: u64) -> Self {
        let cables = (1..switches).map(|at| (at - 1, at)).collect();
        Self { switches, cables }
    }

    pub fn draw(shape: Shape, random: &mut Prng) -> Self {
        let switches = match shape {
            Shape::Tandem | Shape::Tree | Shape::Mesh => 2 + random.below(5),
            Shape::Ring => 3 + random.below(4),
            Shape::Torus => 9,
        };
        let mut cables: Vec<_> = match shape {
            Shape::Torus => (0..9).map(|at| (at, at / 3 * 3 + (at + 1) % 3)).collect(),
            Shape::Tandem | Shape::Ring => (1..switches).map(|at| (at - 1, at)).collect(),
            Shape::Tree | Shape::Mesh => {
                let before = (1..switches).map(|at| (random.below(at), at));
                before.collect()
            }
        };
        match shape {
            Shape::Torus => cables.extend((0..9).map(|at| (at, (at + 3) % 9))),
            Shape::Ring => cables.push((switches - 1, 0)),
            Shape::Tandem | Shape::Tree | Shape::Mesh => {}
        }
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

    /// Draws a flow of messages: bursts of up to 20 frames over the link of a host,
    /// counted by their sizes or as messages, alone or in two copies, or with another
    /// way for each cable that may break.
    pub fn messages(&self, random: &mut Prng) -> Request {
        let mut flow = self.flow(random);
        flow.alternatives.clear();
        flow.burst = flow.largest_frame * (1 + random.below(20));
        let host = [LINK, LINK, BitRate::from_mbps(1_000)][random.index_below(3)];
        flow.peak = (random.below(4) > 0).then(|| TokenBucket::new(host, flow.largest_frame * 2));
        flow.burst = flow.burst.max(flow.largest_frame * 2);
        if random.below(3) == 0 {
            flow = of_messages(flow, random);
            flow.burst = flow.burst.max(flow.largest_frame * 2);
        }
        match random.below(8) {
            0 => flow,
            1 => self.doubled(flow, random),
            2 | 3 => self.turned_back(flow, random),
            _ => self.restored(flow, random),
        }
    }

    /// Gives a flow a way around each cable on its own, as far as there are any.
    pub fn restored(&self, mut flow: Request, random: &mut Prng) -> Request {
        let ports = flow.base.hops.iter().map(|hop| u64::from(hop.stage.0));
        let hosts = self.switches + 2 * u64::try_from(self.cables.len()).unwrap();
        let cables: BTreeSet<u64> = ports
            .filter(|stage| (self.switches..hosts).contains(stage))
            .map(|port| (port - self.switches) / 2)
            .collect();
        let (from, to) = (self.first(&flow.base), self.last(&flow.base));
        for cable in cables {
            // A walk at random; it may happen to take the cable.
            let around = (0..8)
                .map(|_| self.way(from, to, random))
                .find(|way| !self.takes(way, cable));
            if let Some(around) = around {
                let failure = FailureId(u32::try_from(cable).unwrap());
                flow.alternatives.push((failure, around));
            }
        }
        flow
    }

    /// Gives a flow a way around each cable on its own that begins where frames meet the
    /// cable: they may be led back through switches that they have passed.
    pub fn turned_back(&self, mut flow: Request, random: &mut Prng) -> Request {
        let to = self.last(&flow.base);
        // Processors and ports take turns; the last port is that of the receiver.
        for met in (0..flow.base.hops.len() - 2).step_by(2) {
            let here = u64::from(flow.base.hops[met].stage.0);
            let port = u64::from(flow.base.hops[met + 1].stage.0);
            let cable = (port - self.switches) / 2;
            let before = flow.base.hops[..met].iter().map(|hop| hop.stage);
            let before: Vec<StageId> = before.collect();
            let is_passed = |hop: &Hop| before.contains(&hop.stage);
            let is_port = |hop: &&Hop| u64::from(hop.stage.0) >= self.switches;
            let around = (0..8).map(|_| self.way(here, to, random)).find(|way| {
                !self.takes(way, cable) && !way.hops.iter().filter(is_port).any(is_passed)
            });
            if let Some(around) = around {
                let behind = around.hops.iter().map(|hop| hop.stage);
                let tree = Tree::path(before.iter().copied().chain(behind));
                let failure = FailureId(u32::try_from(cable).unwrap());
                flow.alternatives.push((failure, tree));
            }
        }
        flow.alternatives.sort_by_key(|(failure, _)| *failure);
        flow
    }

    /// Has each frame sent on another way as well, if there is one; the receivers, or
    /// the last switch, drop what comes second.
    pub fn doubled(&self, mut flow: Request, random: &mut Prng) -> Request {
        let (from, to) = (self.first(&flow.base), self.last(&flow.base));
        let tree = self.way(from, to, random);
        if tree != flow.base {
            let eliminator = (random.below(2) == 0).then(|| id(to));
            flow.redundant = Some(Box::new(Redundant {
                tree,
                eliminator,
                hold: any_hold(eliminator, random),
            }));
        }
        flow
    }

    fn first(&self, tree: &Tree) -> u64 {
        u64::from(tree.hops[0].stage.0)
    }

    fn last(&self, tree: &Tree) -> u64 {
        let hosts = self.switches + 2 * u64::try_from(self.cables.len()).unwrap();
        u64::from(tree.hops.last().unwrap().stage.0) - hosts
    }

    fn takes(&self, way: &Tree, cable: u64) -> bool {
        let ports = self.switches + 2 * cable..self.switches + 2 * cable + 2;
        way.hops
            .iter()
            .any(|hop| ports.contains(&hop.stage.0.into()))
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
