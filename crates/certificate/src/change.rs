//! A change of level: how late it may make a frame, and that what is given up stands
//! before nothing that is served (`docs/modes.md`).
//!
//! Three waves of signals may cross the network before a frame, and twice the frames
//! that nothing can overtake:
//!
//! ```text
//! D_mc = detection + 3 · spread + 2 · drain
//! ```
//!
//! No link is lost meanwhile: that is assumed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::document::{Certificate, Changes, Flow};
use crate::map::{LONGEST_PS, Map, NodeIndex};
use crate::reason::Reason;
use crate::stages::Stages;

/// The most switches of a network whose level changes.
const MOST_SWITCHES: usize = 1_024;
/// The queue of signals.
const SIGNALS: u8 = 7;
/// A signal on the wire, in bits: 60 bytes and what surrounds them.
const SIGNAL: u128 = 84 * 8;
/// A signal and those that may be ahead of it at a port.
const SIGNALS_AT_ONCE: u128 = 17;
/// What a signal cannot overtake, on the wire: the frame that is being sent and the one
/// behind it that has left the queues, in bits.
const NOT_OVERTAKEN: u128 = 2 * 1_542 * 8;
const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// Returns whether something is promised while the level changes: signals of the change
/// are then part of what is promised.
pub fn is_promised(certificate: &Certificate) -> bool {
    let above = |flow: &Flow| flow.demand.levels.iter().skip(1).any(Option::is_some);
    certificate.network.changes == Changes::Switches && certificate.flows.iter().any(above)
}

/// Returns how late a change of level may make a frame, in picoseconds; nothing if no
/// promise covers a change.
///
/// # Errors
///
/// If that cannot be said.
pub fn lateness(
    map: &Map<'_>,
    certificate: &Certificate,
    lowest: &Stages<'_>,
) -> Result<u64, (String, Reason)> {
    let here = |reason| ("change of level".to_owned(), reason);
    let changes = map.network().changes;
    if (changes == Changes::Nobody) != (certificate.levels.len() == 1) {
        let what = "somebody changes the level exactly where there are several";
        return Err(here(Reason::Senseless(what)));
    }
    if !is_promised(certificate) {
        return Ok(0);
    }
    let switches = map.network().switches.len();
    if switches > MOST_SWITCHES {
        return Err(here(Reason::TooMuch));
    }
    let processing = (0..switches).map(|switch| lowest.budget(map.processor(switch), 0));
    let processing: Vec<u64> = processing.collect::<Result<_, _>>().map_err(here)?;
    let sent = |bits: u128, rate: u64| (bits * PS_PER_SECOND).div_ceil(rate.into());
    let mut hops: Vec<Vec<(usize, u128)>> = vec![Vec::new(); switches];
    let mut drain = 0;
    for (at, link) in map.network().links.iter().enumerate() {
        drain = drain.max(sent(NOT_OVERTAKEN, link.rate_bps));
        if let Some([NodeIndex::Switch(one), NodeIndex::Switch(other)]) = map.ends(at) {
            let wire = sent(NOT_OVERTAKEN + SIGNALS_AT_ONCE * SIGNAL, link.rate_bps)
                + u128::from(link.propagation_ps);
            hops[one].push((other, wire + u128::from(processing[other])));
            hops[other].push((one, wire + u128::from(processing[one])));
        }
    }
    let spread = (0..switches).map(|from| farthest(from, &hops)).max();
    let detection = processing.iter().copied().max().unwrap_or(0);
    let total = u128::from(detection) + 3 * spread.unwrap_or(0) + 2 * drain;
    match u64::try_from(total) {
        Ok(total) if total <= LONGEST_PS => Ok(total),
        Ok(_) | Err(_) => Err(here(Reason::TooLate)),
    }
}

/// Returns the longest of the shortest ways from a switch to those that it reaches.
fn farthest(from: usize, hops: &[Vec<(usize, u128)>]) -> u128 {
    let mut known = vec![false; hops.len()];
    let mut next = BinaryHeap::from([Reverse((0, from))]);
    let mut farthest = 0;
    while let Some(Reverse((length, at))) = next.pop() {
        if std::mem::replace(&mut known[at], true) {
            continue;
        }
        farthest = length;
        for (to, delay) in hops[at].iter().filter(|(to, _)| !known[*to]) {
            next.push(Reverse((length + delay, *to)));
        }
    }
    farthest
}

/// Checks what a flow asks for at several levels, by itself: no less at a higher one,
/// and in no more urgent a queue.
///
/// # Errors
///
/// What is wrong.
pub fn check_services(flow: &Flow) -> Result<(), Reason> {
    let served: Vec<_> = flow.demand.levels.iter().flatten().collect();
    for pair in served.windows(2) {
        if pair[1].rate_bps < pair[0].rate_bps
            || pair[1].burst_bit < pair[0].burst_bit
            || pair[1].largest_frame_bit < pair[0].largest_frame_bit
        {
            return Err(Reason::LevelShrinks);
        }
        if pair[1].class > pair[0].class {
            return Err(Reason::Overtakes);
        }
    }
    match served.iter().any(|service| service.class == SIGNALS) {
        true => Err(Reason::Senseless("it is in the queue of signals")),
        false => Ok(()),
    }
}

/// Who may be in a queue of a port at a level.
#[derive(Clone, Copy, Debug, Default)]
struct Users {
    /// One that is served in it.
    served: Option<usize>,
    /// One that is not, and may have left frames there at a lower level.
    left: Option<usize>,
}

/// Sees to it that nothing that a level gives up, or serves in a less urgent queue,
/// waits in a queue of what it serves: then none stands before that.
///
/// # Errors
///
/// The flow before which another may stand, and which.
pub fn check_queues(
    flows: &[Flow],
    ports: &[BTreeSet<usize>],
    map: &Map<'_>,
) -> Result<(), (String, Reason)> {
    let mut users: BTreeMap<(usize, usize, u8), Users> = BTreeMap::new();
    for (at, (flow, ports)) in flows.iter().zip(ports).enumerate() {
        let classes = flow.demand.levels.iter();
        let classes: Vec<_> = classes.map(|it| it.map(|it| it.class)).collect();
        for level in 1..classes.len() {
            let most_urgent_below = classes[..level].iter().flatten().max();
            let first_left = classes[level].map_or(0, |class| class + 1);
            let left = most_urgent_below.map_or(first_left..=first_left, |most| first_left..=*most);
            for port in ports {
                if let Some(class) = classes[level] {
                    let users = users.entry((*port, level, class)).or_default();
                    users.served.get_or_insert(at);
                }
                if most_urgent_below.is_some() {
                    for class in left.clone() {
                        let users = users.entry((*port, level, class)).or_default();
                        users.left.get_or_insert(at);
                    }
                }
            }
        }
    }
    for ((port, _, _), users) in users {
        if let (Some(served), Some(left)) = (users.served, users.left) {
            let [served, left] = [served, left].map(|at| flows[at].demand.name.clone());
            let reason = Reason::NotReserved(left, map.name_of(port));
            return Err((format!("flow `{served}`"), reason));
        }
    }
    Ok(())
}
