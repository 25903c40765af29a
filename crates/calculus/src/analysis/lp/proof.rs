//! What multipliers prove, in whole numbers.
//!
//! For variables `x` between zero and their ceilings `u` that meet the
//! constraints `A x <= b`, and for any multipliers `y >= 0`,
//!
//! ```text
//! c x  =  (y A) x + (c - y A) x  <=  y b + sum of max(0, c - y A) * u
//! ```
//!
//! If the multipliers are the optimum of the dual program the second sum is
//! zero and the first is the optimum; if they are almost, the bound is almost.
//! It is a bound in any case. That a bound from a solver in floating point can be
//! made safe by ceilings is the idea of SAFE-LP.

use super::program::{Program, Values};
use super::scale::{ONE, ONE_BITS};
use super::simplex::{SimplexOutcome, Tableau};

/// How many broken constraints are added before the program is solved again.
const ADDED_AT_ONCE: usize = 40;

/// By how much a constraint may be broken, relative to the largest right-hand
/// side, before it is added.
const TOLERANCE: f64 = 1e-8;

/// Multipliers of a program's constraints, as multiples of `1 / ONE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    /// The constraints with a multiplier that is not zero.
    multipliers: Vec<(usize, u64)>,
}

impl Proof {
    /// Searches the multipliers that prove the least bound, or returns nothing
    /// if there are none.
    pub(super) fn search(program: &Program, values: &Values) -> Option<Self> {
        let known = (0..values.right.len()).filter(|row| values.right[*row].is_some());
        let (mut waiting, mut rows): (Vec<usize>, Vec<usize>) =
            known.partition(|row| program.may_wait(*row));
        let mut tableau = Self::tableau(program, values, &rows);
        let mut begun_anew = false;
        loop {
            let added = rows.len();
            match tableau.solve() {
                SimplexOutcome::Optimal => {
                    rows.extend(broken(program, values, &tableau, &mut waiting))
                }
                SimplexOutcome::Unbounded if waiting.is_empty() => return None,
                SimplexOutcome::Unbounded => rows.append(&mut waiting),
                SimplexOutcome::Lost if begun_anew => return Self::round(&rows, &tableau),
                SimplexOutcome::Lost => {
                    begun_anew = true;
                    tableau = Self::tableau(program, values, &rows);
                    continue;
                }
            }
            if rows.len() == added {
                return Self::round(&rows, &tableau);
            }
            for row in &rows[added..] {
                tableau.add(floats(program, *row), right(values, *row));
            }
        }
    }

    fn tableau(program: &Program, values: &Values, rows: &[usize]) -> Tableau {
        let mut tableau = Tableau::new(program.variables(), program.objective(), unit(values));
        for row in rows {
            tableau.add(floats(program, *row), right(values, *row));
        }
        tableau
    }

    /// Returns the multipliers in whole numbers, or nothing if one is too large.
    fn round(rows: &[usize], tableau: &Tableau) -> Option<Self> {
        let mut multipliers = Vec::new();
        for (row, multiplier) in rows.iter().zip(tableau.multipliers()) {
            let scaled = (multiplier * ONE as f64).round();
            if !(0.0..=2f64.powi(62)).contains(&scaled) {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
            #[expect(clippy::cast_sign_loss, reason = "checked just above")]
            let scaled = scaled as u64;
            if scaled > 0 {
                multipliers.push((*row, scaled));
            }
        }
        Some(Self { multipliers })
    }

    /// Returns the bound on the objective that the multipliers prove, rounded
    /// **up**, or nothing if they prove none.
    pub(super) fn bound(&self, program: &Program, values: &Values) -> Option<u128> {
        let mut missing = vec![0i128; program.variables()];
        for variable in program.objective() {
            missing[*variable as usize] += i128::from(ONE) << ONE_BITS;
        }
        let mut total = 0i128;
        for (row, multiplier) in &self.multipliers {
            let row = *row;
            let weighted = i128::from(*multiplier).checked_mul(i128::from(values.right[row]?))?;
            total = total.checked_add(weighted)?;
            for (variable, coefficient) in program.terms(row) {
                let covered = i128::from(*multiplier).checked_mul(i128::from(*coefficient))?;
                let left = &mut missing[*variable as usize];
                *left = left.checked_sub(covered)?;
            }
        }
        for (missing, ceiling) in missing.iter().zip(&values.ceilings) {
            if *missing > 0 {
                let most = missing.checked_mul(i128::from((*ceiling)?))?;
                total = total.checked_add(most / i128::from(ONE) + 1)?;
            }
        }
        Some(u128::try_from(total).ok()?.div_ceil(1 << ONE_BITS))
    }
}

/// Takes from the constraints that wait those that the optimum of the others
/// breaks most.
fn broken(
    program: &Program,
    values: &Values,
    tableau: &Tableau,
    waiting: &mut Vec<usize>,
) -> Vec<usize> {
    let variables: Vec<f64> = (0..program.variables())
        .map(|it| tableau.value(it))
        .collect();
    let mut excess: Vec<(f64, usize)> = Vec::new();
    for row in &*waiting {
        let left: f64 = floats(program, *row)
            .map(|(at, factor)| factor * variables[at])
            .sum();
        excess.push((left - right(values, *row), *row));
    }
    let tolerated = unit(values) * TOLERANCE;
    excess.retain(|(excess, _)| *excess > tolerated);
    excess.sort_by(|a, b| b.0.total_cmp(&a.0));
    excess.truncate(ADDED_AT_ONCE);
    let mut rows: Vec<usize> = excess.into_iter().map(|it| it.1).collect();
    rows.sort_unstable();
    waiting.retain(|row| rows.binary_search(row).is_err());
    rows
}

fn floats(program: &Program, row: usize) -> impl Iterator<Item = (usize, f64)> {
    let terms = program.terms(row).iter();
    terms.map(|(variable, coefficient)| (*variable as usize, *coefficient as f64 / ONE as f64))
}

fn right(values: &Values, row: usize) -> f64 {
    values.right[row].unwrap_or_default() as f64
}

/// The largest right-hand side.
fn unit(values: &Values) -> f64 {
    values
        .right
        .iter()
        .flatten()
        .max()
        .copied()
        .unwrap_or_default() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::budget::Budget;
    use crate::analysis::lp::dates::Starts;
    use crate::analysis::lp::facts::{FactMap, Facts};
    use crate::analysis::lp::model::{Objective, program};
    use crate::analysis::lp::tests::{add, network};
    use crate::analysis::lp::tree::ServerTree;

    /// Two flows through two servers of 100 Mbit/s and 10 us: 4000 bits each need
    /// 100 us, and do so if both come at once and each server begins late.
    const WORST_FS: u128 = 100_000_000_000;

    #[test]
    fn the_multipliers_found_prove_the_worst_case() {
        let (program, values) = two_servers();

        let proof = Proof::search(&program, &values).unwrap();

        let bound = proof.bound(&program, &values).unwrap();
        assert!(
            (WORST_FS..=WORST_FS + WORST_FS / 1_000_000).contains(&bound),
            "{bound}"
        );
    }

    proptest! {
        /// Sound: whatever a solver says, less than what happens is not proven.
        #[test]
        fn no_multipliers_prove_less_than_the_worst_case(
            changed in proptest::collection::vec((any::<prop::sample::Index>(), 0u64..200), 0..12),
            added in proptest::collection::vec((any::<prop::sample::Index>(), 0u64..1 << 41), 0..4),
        ) {
            let (program, values) = two_servers();
            let mut proof = Proof::search(&program, &values).unwrap();

            for (at, percent) in changed {
                let multiplier = &mut at.get_mut(&mut proof.multipliers).1;
                *multiplier = *multiplier * percent / 100;
            }
            for (at, multiplier) in added {
                let row = at.index(values.right.len());
                proof.multipliers.push((row, multiplier));
            }

            let bound = proof.bound(&program, &values);
            prop_assert!(bound.is_none_or(|bound| bound >= WORST_FS), "{bound:?}");
        }
    }

    fn two_servers() -> (Program, Values) {
        let mut network = network(&[(100, 10), (100, 10)]);
        add(&mut network, &[0, 1], 30, 4_000);
        add(&mut network, &[0, 1], 30, 4_000);
        let map = FactMap::new(&network);
        let tree = ServerTree::around(&map, network.path(crate::analysis::FlowId(0)), 2);
        let program = program(
            &map,
            &tree,
            Objective::Delay,
            Starts::Oldest,
            (&Budget::unlimited(), u64::MAX),
        )
        .unwrap();
        let mut facts = Facts::new(&map);
        for server in tree.nodes() {
            // Late by 10 us, and by 8000 bits that have grown by 200 us of 60 Mbit/s.
            facts.learn(map.delay(server.server), Some(210_000_000_000));
        }
        for flow in network.flows() {
            facts.learn(map.burst(flow, 1), Some(10_000_000_000));
        }
        let values = program.values(&facts);
        (program, values)
    }
}
