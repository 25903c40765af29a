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

use super::facts::Facts;
use super::program::{Program, Values};
use super::scale::{ONE, ONE_BITS};
use super::simplex::Tableau;

/// Multipliers of a program's constraints, as multiples of `1 / ONE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    /// The constraints with a multiplier that is not zero.
    multipliers: Vec<(u32, u64)>,
}

impl Proof {
    /// Searches the multipliers that prove the least bound, or returns nothing
    /// if there are none.
    pub(super) fn search(program: &Program, values: &Values) -> Option<Self> {
        let known: Vec<u32> = (0..)
            .zip(&values.right)
            .filter(|it| it.1.is_some())
            .map(|it| it.0)
            .collect();
        let mut tableau = Tableau::new(known.len(), program.variables());
        let mut right = Vec::with_capacity(known.len());
        for (line, row) in known.iter().enumerate() {
            for (variable, coefficient) in program.terms(*row as usize) {
                tableau.set(line, *variable as usize, *coefficient as f64 / ONE as f64);
            }
            right.push(values.right[*row as usize].unwrap_or_default() as f64);
        }
        tableau.set_right_hand_sides(&right);
        for variable in program.objective() {
            tableau.set_objective(*variable as usize, 1.0);
        }
        Self::round(&known, &tableau.multipliers()?)
    }

    /// Returns multipliers in whole numbers, or nothing if one is too large.
    fn round(rows: &[u32], multipliers: &[f64]) -> Option<Self> {
        let mut rounded = Vec::new();
        for (row, multiplier) in rows.iter().zip(multipliers) {
            let scaled = (multiplier * ONE as f64).round();
            if !(0.0..=2f64.powi(62)).contains(&scaled) {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "checked just above")]
            #[expect(clippy::cast_sign_loss, reason = "checked just above")]
            let scaled = scaled as u64;
            if scaled > 0 {
                rounded.push((*row, scaled));
            }
        }
        Some(Self {
            multipliers: rounded,
        })
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
            let row = *row as usize;
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

/// Returns the least bound that can be proven for some facts.
pub(super) fn prove(program: &Program, facts: &Facts) -> Option<u128> {
    let values = program.values(facts);
    Proof::search(program, &values)?.bound(program, &values)
}
