//! In which order servers are taken: those before them first, and those of a
//! cycle together.

use crate::analysis::{ServerGraph, ServerId};

/// Returns the servers in groups: from each server of a group flows come, over
/// others, to each other of it, and groups stand behind those from which flows
/// come to them.
pub(super) fn components(network: &ServerGraph) -> Vec<Vec<ServerId>> {
    let (mut onward, mut back) = (neighbours(network), neighbours(network));
    for flow in network.flows() {
        for pair in network.path(flow).windows(2) {
            onward[pair[0].index()].push(pair[1]);
            back[pair[1].index()].push(pair[0]);
        }
    }
    for lists in [&mut onward, &mut back] {
        for list in lists {
            list.sort_unstable();
            list.dedup();
        }
    }
    // What is finished last in the direction of flows has nobody before it but
    // its own group, and this is what can be reached from it against them.
    let mut finished = Vec::new();
    let mut seen = vec![false; network.servers().len()];
    for server in servers(network) {
        walk(&onward, server, &mut seen, &mut finished);
    }
    let mut seen = vec![false; network.servers().len()];
    let mut groups = Vec::new();
    for server in finished.into_iter().rev() {
        let mut group = Vec::new();
        walk(&back, server, &mut seen, &mut group);
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

/// Walks in depth from a server and lists those not seen before, each behind
/// those found from it.
fn walk(next: &[Vec<ServerId>], from: ServerId, seen: &mut [bool], finished: &mut Vec<ServerId>) {
    if std::mem::replace(&mut seen[from.index()], true) {
        return;
    }
    let mut open = vec![(from, 0)];
    while let Some((server, tried)) = open.last_mut() {
        let Some(to) = next[server.index()].get(*tried) else {
            finished.push(*server);
            open.pop();
            continue;
        };
        *tried += 1;
        if !std::mem::replace(&mut seen[to.index()], true) {
            open.push((*to, 0));
        }
    }
}

fn neighbours(network: &ServerGraph) -> Vec<Vec<ServerId>> {
    vec![Vec::new(); network.servers().len()]
}

fn servers(network: &ServerGraph) -> impl Iterator<Item = ServerId> {
    (0..).map(ServerId).take(network.servers().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::lp::tests::{add, network};

    #[test]
    fn servers_of_a_cycle_are_taken_together_and_behind_those_before_them() {
        let mut network = network(&[(100, 0); 6]);
        add(&mut network, &[5, 2, 3], 1, 1);
        add(&mut network, &[3, 4, 2], 1, 1);
        add(&mut network, &[4, 0], 1, 1);

        let mut groups = components(&network);

        groups.iter_mut().for_each(|group| group.sort_unstable());
        let place = |ids: &[u32]| {
            let ids: Vec<_> = ids.iter().copied().map(ServerId).collect();
            groups.iter().position(|group| *group == ids).unwrap()
        };
        assert_eq!(groups.len(), 4);
        assert!(place(&[5]) < place(&[2, 3, 4]) && place(&[2, 3, 4]) < place(&[0]));
        assert!(place(&[1]) < 4);
    }
}
