//! From a set of links to the stages that frames pass.
//!
//! A way is stated as the links that it crosses. Which stages frames pass, in which
//! order, follows: they leave the source by its link, and at each switch they pass the
//! processor and then the port of each further link of the way. So a way that is cut,
//! leaves a processor out or begins elsewhere cannot be stated.

use std::collections::{BTreeMap, BTreeSet};

use crate::map::{Map, NodeIndex};

/// The most links of a way.
pub const MOST_LINKS: usize = 4_096;

/// The stages of a way, each behind the one it comes from: its number, and the place in
/// this list of the one before it; nothing at the first.
pub type Steps = Vec<(usize, Option<usize>)>;

/// Returns the stages that frames pass from `source` to all `receivers` over `links`.
///
/// # Errors
///
/// Why that is no way: each link has to be crossed once, each switch met once, and the
/// ends have to be the receivers and no others.
pub fn steps(
    map: &Map<'_>,
    source: usize,
    receivers: &BTreeSet<usize>,
    links: &[usize],
) -> Result<Steps, &'static str> {
    if links.len() > MOST_LINKS {
        return Err("it has too many links");
    }
    let mut left: BTreeSet<usize> = links.iter().copied().collect();
    if left.len() < links.len() {
        return Err("it crosses a link twice");
    }
    let onward = by_switch(map, links)?;
    let first = map.link_of(source);
    if !left.remove(&first) {
        return Err("it does not begin with the link of the source");
    }
    let entered = map.ends(first).into_iter().flatten();
    let mut next: Vec<_> = entered
        .filter_map(|node| match node {
            NodeIndex::Switch(switch) => Some((switch, first, None)),
            NodeIndex::Host(_) => None,
        })
        .collect();
    let mut steps = Steps::new();
    let (mut met, mut reached) = (BTreeSet::new(), BTreeSet::new());
    while let Some((switch, entrance, before)) = next.pop() {
        if !met.insert(switch) {
            return Err("it meets a switch twice");
        }
        steps.push((map.processor(switch), before));
        let processor = steps.len() - 1;
        let here = onward.get(&switch).into_iter().flatten();
        let exits: Vec<_> = here.filter(|(link, _)| *link != entrance).collect();
        if exits.is_empty() {
            return Err("it ends at a switch");
        }
        for (link, end) in exits {
            left.remove(link);
            steps.push((map.port(*link, *end), Some(processor)));
            let port = steps.len() - 1;
            match map.ends(*link).map(|ends| ends[1 - end]) {
                Some(NodeIndex::Switch(there)) => next.push((there, *link, Some(port))),
                Some(NodeIndex::Host(host)) if receivers.contains(&host) => {
                    reached.insert(host);
                }
                Some(NodeIndex::Host(_)) | None => {
                    return Err("it ends at a host that does not receive");
                }
            }
        }
    }
    if !left.is_empty() {
        return Err("it is in pieces");
    }
    match reached.len() == receivers.len() {
        true => Ok(steps),
        false => Err("it does not reach a receiver"),
    }
}

/// Returns the stages that frames pass from `source` to `receiver` over `links` in order.
/// Frames may be turned back: a link may be crossed once in each direction, and so a switch
/// be met twice.
///
/// # Errors
///
/// Why that is no way.
pub fn trail(
    map: &Map<'_>,
    source: usize,
    receiver: usize,
    links: &[usize],
) -> Result<Steps, &'static str> {
    if links.len() > MOST_LINKS {
        return Err("it has too many links");
    }
    let mut at = NodeIndex::Host(source);
    let mut steps = Steps::new();
    let (mut exits, mut met) = (BTreeSet::new(), BTreeMap::new());
    for link in links {
        let ends = map
            .ends(*link)
            .ok_or("it crosses a link that there is not")?;
        let end = ends.iter().position(|node| *node == at);
        let end = end.ok_or("it is in pieces, or not in order")?;
        if !exits.insert((*link, end)) {
            return Err("it crosses a link twice in one direction");
        }
        let before = steps.len().checked_sub(1);
        if let NodeIndex::Switch(_) = at {
            steps.push((map.port(*link, end), before));
        }
        at = ends[1 - end];
        if let NodeIndex::Switch(switch) = at {
            let times: &mut u8 = met.entry(switch).or_default();
            *times += 1;
            if *times > 2 {
                return Err("it meets a switch three times");
            }
            steps.push((map.processor(switch), steps.len().checked_sub(1)));
        }
    }
    match at == NodeIndex::Host(receiver) && !steps.is_empty() {
        true => Ok(steps),
        false => Err("it does not end at the receiver"),
    }
}

/// The links of a way at each switch, with the end that is there.
type Onward = BTreeMap<usize, Vec<(usize, usize)>>;

/// Returns the links at each switch, with the end that is there.
fn by_switch(map: &Map<'_>, links: &[usize]) -> Result<Onward, &'static str> {
    let mut onward = Onward::new();
    for link in links {
        let ends = map
            .ends(*link)
            .ok_or("it crosses a link that there is not")?;
        for (end, node) in ends.into_iter().enumerate() {
            if let NodeIndex::Switch(switch) = node {
                onward.entry(switch).or_default().push((*link, end));
            }
        }
    }
    Ok(onward)
}
