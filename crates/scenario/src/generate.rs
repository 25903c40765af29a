//! Networks of regular shape: line, ring, star, grid, torus, diamond, tree.
//!
//! Switches are numbered from 1. A generator says which pairs of them are
//! linked, in the order of which ports are given out.

use crate::mistake::Mistake;

/// The shape of a generated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generator {
    /// Each switch linked with the next.
    Line { size: usize },
    /// A line whose ends are linked.
    Ring { size: usize },
    /// The first switch linked with each other one.
    Star { size: usize },
    /// Each switch linked with the one to its right and the one below.
    Grid { rows: usize, columns: usize },
    /// A grid whose last column is linked with the first, and its last row with the
    /// first.
    Torus { rows: usize, columns: usize },
    /// Two switches, the first and the last, with `paths` others between them,
    /// each linked with both.
    Diamond { paths: usize },
    /// A root, and `fan_out` children for each switch of all levels but the
    /// last.
    Tree { depth: usize, fan_out: usize },
}

impl Generator {
    /// Returns the number of switches, or nothing if it cannot be counted.
    pub(crate) fn switch_count(self) -> Option<usize> {
        match self {
            Self::Line { size } | Self::Ring { size } | Self::Star { size } => Some(size),
            Self::Grid { rows, columns } | Self::Torus { rows, columns } => {
                rows.checked_mul(columns)
            }
            Self::Diamond { paths } => paths.checked_add(2),
            Self::Tree { depth, fan_out } => {
                let mut level = 1usize;
                let mut all = 1usize;
                for _ in 1..depth {
                    level = level.checked_mul(fan_out)?;
                    all = all.checked_add(level)?;
                }
                Some(all)
            }
        }
    }

    /// Returns the pairs of switches that are linked, counted from 0.
    pub(crate) fn links(self) -> Vec<[usize; 2]> {
        match self {
            Self::Line { size } => line(size),
            Self::Ring { size } => {
                let mut links = line(size);
                links.push([size - 1, 0]);
                links
            }
            Self::Star { size } => (1..size).map(|leaf| [0, leaf]).collect(),
            Self::Grid { rows, columns } => grid(rows, columns),
            Self::Torus { rows, columns } => torus(rows, columns),
            Self::Diamond { paths } => {
                let last = paths + 1;
                (1..=paths)
                    .flat_map(|mid| [[0, mid], [mid, last]])
                    .collect()
            }
            Self::Tree { fan_out, .. } => {
                let count = self.switch_count().unwrap_or(1);
                (1..count)
                    .map(|child| [(child - 1) / fan_out, child])
                    .collect()
            }
        }
    }

    /// Returns what is wrong with the sizes, if anything is.
    pub(crate) fn mistake(self) -> Option<Mistake> {
        let (least, found, what, key) = match self {
            Self::Ring { size } => (3, size, "a ring has at least 3 switches", "size"),
            Self::Diamond { paths } => (2, paths, "a diamond has at least 2 paths", "size"),
            Self::Torus { rows, columns } if rows < columns => {
                (3, rows, "a torus has at least 3 rows", "rows")
            }
            Self::Torus { columns, .. } => {
                (3, columns, "a torus has at least 3 columns", "columns")
            }
            Self::Line { .. } | Self::Star { .. } | Self::Grid { .. } | Self::Tree { .. } => {
                return None;
            }
        };
        (found < least).then(|| Mistake::Contradiction {
            sentence: format!("{what}, not {found}"),
            help: format!("{key} = {least}"),
        })
    }
}

fn line(size: usize) -> Vec<[usize; 2]> {
    (1..size).map(|next| [next - 1, next]).collect()
}

fn grid(rows: usize, columns: usize) -> Vec<[usize; 2]> {
    let mut links = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let here = row * columns + column;
            if column + 1 < columns {
                links.push([here, here + 1]);
            }
            if row + 1 < rows {
                links.push([here, here + columns]);
            }
        }
    }
    links
}

fn torus(rows: usize, columns: usize) -> Vec<[usize; 2]> {
    let switch = |row: usize, column: usize| row % rows * columns + column % columns;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    places
        .flat_map(|(row, column)| {
            let here = switch(row, column);
            [
                [here, switch(row, column + 1)],
                [here, switch(row + 1, column)],
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_of_a_torus_has_four_links() {
        let torus = Generator::Torus {
            rows: 3,
            columns: 4,
        };

        let links = torus.links();

        for switch in 0..12 {
            let own = links.iter().filter(|ends| ends.contains(&switch));
            assert_eq!(own.count(), 4, "switch {switch}");
        }
    }

    #[test]
    fn a_torus_too_narrow_to_go_around_is_a_mistake() {
        for (rows, columns) in [(2, 5), (5, 2)] {
            assert!(Generator::Torus { rows, columns }.mistake().is_some());
        }
        let torus = Generator::Torus {
            rows: 3,
            columns: 3,
        };
        assert!(torus.mistake().is_none());
    }

    #[test]
    fn generators_have_the_links_of_their_shape() {
        for (generator, switches, links) in [
            (Generator::Line { size: 5 }, 5, 4),
            (Generator::Line { size: 1 }, 1, 0),
            (Generator::Ring { size: 5 }, 5, 5),
            (Generator::Star { size: 5 }, 5, 4),
            (
                Generator::Grid {
                    rows: 3,
                    columns: 4,
                },
                12,
                17,
            ),
            (
                Generator::Torus {
                    rows: 3,
                    columns: 4,
                },
                12,
                24,
            ),
            (Generator::Diamond { paths: 2 }, 4, 4),
            (
                Generator::Tree {
                    depth: 3,
                    fan_out: 2,
                },
                7,
                6,
            ),
            (
                Generator::Tree {
                    depth: 1,
                    fan_out: 9,
                },
                1,
                0,
            ),
        ] {
            assert_eq!(generator.switch_count(), Some(switches), "{generator:?}");
            let pairs = generator.links();
            assert_eq!(pairs.len(), links, "{generator:?}");
            for [a, b] in pairs {
                assert!(
                    a != b && a < switches && b < switches,
                    "{generator:?}: {a}-{b}"
                );
            }
        }
    }

    #[test]
    fn a_diamond_joins_its_tips_by_disjoint_paths() {
        let links = Generator::Diamond { paths: 2 }.links();

        assert_eq!(links, [[0, 1], [1, 3], [0, 2], [2, 3]]);
    }

    #[test]
    fn a_tree_too_large_to_count_is_noticed() {
        let tree = Generator::Tree {
            depth: 10_000,
            fan_out: 10_000,
        };

        assert_eq!(tree.switch_count(), None);
    }
}
