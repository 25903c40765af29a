//! Which servers there are, and which of them flows cross.

use calculus::analysis::ServerId;

use super::super::random::Random;
use super::Family;

/// Returns how many servers there are and the paths of so many flows.
pub(super) fn draw(
    family: Family,
    flows: u64,
    servers_max: u64,
    random: &mut Random,
) -> (u64, Vec<Vec<ServerId>>) {
    match family {
        Family::Tandem => tandem(flows, random.between(2, servers_max.min(8)), random),
        Family::Tree => tree(flows, random.between(3, servers_max), random),
        Family::Mesh => mesh(flows, random.between(3, servers_max), random),
        Family::Diamond => diamond(flows, random.between(2, servers_max.div_ceil(2)), random),
        Family::Ring => ring(flows, random.between(3, servers_max.min(8)), random),
        Family::Grid => grid(flows, 2 + servers_max / 10, 2 + random.below(3), random),
    }
}

type Paths = Vec<Vec<ServerId>>;

/// The first flow crosses all; the others some in a row.
fn tandem(flows: u64, servers: u64, random: &mut Random) -> (u64, Paths) {
    let mut paths = vec![ids(0..servers)];
    for _ in 1..flows {
        let first = random.below(servers);
        let last = random.between(first, servers - 1);
        paths.push(ids(first..=last));
    }
    (servers, paths)
}

/// From anywhere towards the root, or the same ways back.
fn tree(flows: u64, servers: u64, random: &mut Random) -> (u64, Paths) {
    let narrow = random.between(1, 4);
    let parents: Vec<_> = (1..servers)
        .map(|at| random.between(at.saturating_sub(narrow), at - 1))
        .collect();
    let away = random.in_percent(50);
    let paths = (0..flows).map(|_| {
        let mut at = random.below(servers);
        let mut path = vec![at];
        while at > 0 && random.in_percent(85) {
            at = parents[usize::try_from(at - 1).expect("a small number")];
            path.push(at);
        }
        if away {
            path.reverse();
        }
        ids(path)
    });
    let paths = paths.collect();
    (servers, paths)
}

/// Some of the servers, in the one order that all flows keep to.
fn mesh(flows: u64, servers: u64, random: &mut Random) -> (u64, Paths) {
    let mut order: Vec<_> = (0..servers).collect();
    random.shuffle(&mut order);
    let crosses_percent = random.pick(&[30, 50, 70]);
    let paths = (0..flows).map(|_| {
        let certain = random.pick(&order);
        let crossed = |server: &u64| *server == certain || random.in_percent(crosses_percent);
        ids(order.iter().copied().filter(crossed))
    });
    let paths = paths.collect();
    (servers, paths)
}

/// One server of each pair.
fn diamond(flows: u64, pairs: u64, random: &mut Random) -> (u64, Paths) {
    let narrow_percent = random.pick(&[0, 30, 60]);
    let narrow: Vec<_> = (0..pairs)
        .map(|_| random.in_percent(narrow_percent))
        .collect();
    let paths = (0..flows).map(|_| {
        let first = random.below(pairs.div_ceil(2));
        let last = random.between(first.max(pairs / 2), pairs - 1);
        let chosen = (first..=last).zip(narrow.iter().skip(number(first)));
        let servers = chosen.map(|(pair, narrow)| match narrow {
            true => 2 * pair,
            false => 2 * pair + random.below(2),
        });
        ids(servers.collect::<Vec<_>>())
    });
    let paths = paths.collect();
    (2 * pairs, paths)
}

/// Some way around, or all of it.
fn ring(flows: u64, servers: u64, random: &mut Random) -> (u64, Paths) {
    let all_round = random.in_percent(30);
    let paths = (0..flows).map(|flow| {
        let (first, hops) = match all_round {
            true => (flow % servers, servers),
            false => (random.below(servers), random.between(1, servers)),
        };
        ids((first..first + hops).map(|at| at % servers))
    });
    let paths = paths.collect();
    (servers, paths)
}

/// Walks that never cross a server twice: to the right and down, or anywhere.
fn grid(flows: u64, rows: u64, columns: u64, random: &mut Random) -> (u64, Paths) {
    let anywhere = random.in_percent(50);
    let paths = (0..flows).map(|_| {
        let (mut row, mut column) = (random.below(rows), random.below(columns));
        let mut path = vec![row * columns + column];
        for _ in 0..rows + columns {
            let (r, c) = match random.below(if anywhere { 4 } else { 2 }) {
                0 => (row, column + 1),
                1 => (row + 1, column),
                2 => (row, column.wrapping_sub(1)),
                _ => (row.wrapping_sub(1), column),
            };
            let inside = r < rows && c < columns;
            if !inside || path.contains(&(r * columns + c)) {
                continue;
            }
            (row, column) = (r, c);
            path.push(r * columns + c);
        }
        ids(path)
    });
    let paths = paths.collect();
    (rows * columns, paths)
}

fn ids(servers: impl IntoIterator<Item = u64>) -> Vec<ServerId> {
    let id = |server| ServerId(u32::try_from(server).expect("a small number"));
    servers.into_iter().map(id).collect()
}

fn number(small: u64) -> usize {
    usize::try_from(small).expect("a small number")
}
