//! Finds facts, one server after the other.

use units::fine::{Data, Rate, Time};

use crate::analysis::{Crossing, FlowId, ServerId};

use super::facts::{ArcId, Facts, Map};
use super::model::{Question, program};
use super::proof::prove;
use super::tree::Tree;

/// How many servers a program looks at, if the path is not longer.
pub(super) const TREE_LIMIT: usize = 6;

/// How many servers of a path one program looks at. The work grows with the
/// sixth power of it.
pub(super) const PATH_LIMIT: usize = 12;

/// Finds what arrives at a server and how long it stays there, from what is
/// known of the servers before it.
pub(super) fn learn(map: &Map, facts: &mut Facts, server: ServerId) {
    for arc in map.arcs_into(server) {
        for at in &map.arc(arc).crossings {
            let (burst, peak) = (burst(map, facts, *at), peak(map, facts, *at));
            facts.learn_data(map.burst(at.flow, at.hop), burst);
            facts.learn_data(map.peak(at.flow, at.hop), peak);
        }
        let group = group(map, facts, arc);
        facts.learn_data(map.group(arc), group);
    }
    let delay = path_delay(map, facts, &[server]);
    facts.learn_time(map.delay(server), delay);
}

/// Returns the longest time that anything needs for a path, or nothing if it
/// has no bound.
pub(super) fn path_delay(map: &Map, facts: &Facts, path: &[ServerId]) -> Option<Time> {
    let mut sum = Time::ZERO;
    for part in path.chunks(PATH_LIMIT) {
        let tree = Tree::around(map, part, TREE_LIMIT);
        let program = program(map, &tree, Question::Delay)?;
        let bound = u64::try_from(prove(&program, facts)?).ok()?;
        sum = sum.checked_add(Time::from_fs(bound))?;
    }
    Some(sum)
}

/// The burst of a flow where it enters a server that is not its first.
fn burst(map: &Map, facts: &Facts, at: Crossing) -> Option<Data> {
    let path = &map.network.path(at.flow)[..at.hop as usize];
    let proven = burst_behind(map, facts, path, &[at.flow]);
    let grown = grown(
        map,
        facts,
        at,
        facts.data(map.burst(at.flow, at.hop - 1)),
        map.lasting(at.flow).rate,
    );
    least(proven, grown)
}

/// The peak of a flow where it enters a server that is not its first.
fn peak(map: &Map, facts: &Facts, at: Crossing) -> Option<Data> {
    let before = facts.data(map.peak(at.flow, at.hop - 1));
    grown(map, facts, at, before, map.short_lived(at.flow).rate)
}

/// What a burst has become after a server: what is delayed there may come out
/// with what comes later.
fn grown(map: &Map, facts: &Facts, at: Crossing, before: Option<Data>, rate: Rate) -> Option<Data> {
    let server = map.network.path(at.flow)[at.hop as usize - 1];
    let delay = facts.time(map.delay(server))?;
    before?.checked_add(rate.most_in(delay)?)
}

/// The burst of all flows that come over an arc, together.
fn group(map: &Map, facts: &Facts, arc: ArcId) -> Option<Data> {
    let crossings = &map.arc(arc).crossings;
    let bursts = crossings
        .iter()
        .map(|at| facts.data(map.burst(at.flow, at.hop)));
    let sum = bursts
        .into_iter()
        .try_fold(Data::ZERO, |sum, burst| sum.checked_add(burst?));
    if crossings.len() < 2 {
        return sum;
    }
    let flows: Vec<FlowId> = crossings.iter().map(|at| at.flow).collect();
    let proven = burst_behind(map, facts, shared(map, crossings), &flows);
    least(proven, sum)
}

/// The longest path that all flows have taken to get where they are.
fn shared<'a>(map: &Map<'a>, crossings: &[Crossing]) -> &'a [ServerId] {
    let ways = crossings
        .iter()
        .map(|at| &map.network.path(at.flow)[..at.hop as usize]);
    let shorter = |a: &'a [ServerId], b: &'a [ServerId]| {
        let same = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        &a[a.len() - same..]
    };
    ways.reduce(shorter).unwrap_or_default()
}

/// The burst of some flows together behind a path that all have taken.
fn burst_behind(map: &Map, facts: &Facts, path: &[ServerId], flows: &[FlowId]) -> Option<Data> {
    let path = &path[path.len().saturating_sub(PATH_LIMIT)..];
    let tree = Tree::around(map, path, TREE_LIMIT);
    let program = program(map, &tree, Question::Burst(flows))?;
    program.scale.data(prove(&program, facts)?)
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    [a, b].into_iter().flatten().min()
}
