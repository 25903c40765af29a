//! Which waits are the best: a linear program, solved in floating point.
//!
//! Whoever takes cross traffic off a path chooses for each part a wait (see
//! `PseudoAffine::leave`). A longer one adds to the latency and to what is left
//! behind it. With `theta_g` for the wait of part `g`, and `rho(y, g)` for what the
//! inner parts have left of the rate of stage `y`, no stage owes anything behind
//! part `g` if
//!
//! ```text
//! sum over the parts h of stage y, up to g, of  rho(y, h) * theta_h - burst_h  >=  0
//! ```
//!
//! and under these conditions the latency is the sum of all waits. That is linear
//! once the waits themselves are the unknowns, and all factors are positive: a
//! covering problem of some ten unknowns. Its dual begins at zero and needs no first
//! phase. The delay of the flow itself is one more part, which crosses all stages.
//!
//! Nothing rests on the solution being exact: every wait gives a bound, and
//! `PseudoAffine::leave` raises one that is too short.
//!

use units::fine::Time;

use super::tandem::TandemTraffic;
use crate::analysis::RateLatency;

const FS_PER_SECOND: f64 = 1e15;
/// What counts as nothing among numbers around one.
const TINY: f64 = 1e-11;

/// Searches for waits, and keeps its memory between two searches.
#[derive(Debug, Default)]
pub(super) struct WaitSearch {
    /// One row for each part, then the objective; see [`WaitSearch::load`].
    table: Vec<f64>,
    width: usize,
}

impl WaitSearch {
    /// Returns a wait for each part so that the sum is as small as can be.
    ///
    /// The parts are nested, the inner ones first.
    pub(super) fn waits(&mut self, servers: &[RateLatency], parts: &[TandemTraffic]) -> Vec<Time> {
        let scale = self.load(servers, parts);
        self.solve(parts.len());
        let objective = &self.table[parts.len() * self.width..];
        let slacks = &objective[self.width - 1 - parts.len()..self.width - 1];
        slacks.iter().map(|wait| time(-wait * scale)).collect()
    }

    /// Writes the dual: a row for each part, a column for each stage and each of
    /// its parts, then those of the slacks and the right side. Returns what
    /// the objective has been divided by.
    fn load(&mut self, servers: &[RateLatency], parts: &[TandemTraffic]) -> f64 {
        let rows = parts.len();
        let count: usize = parts.iter().map(|part| part.places().len()).sum();
        self.width = count + rows + 1;
        self.table.clear();
        self.table.resize((rows + 1) * self.width, 0.0);
        let mut column = 0;
        for (place, server) in servers.iter().enumerate() {
            column = self.load_stage(place, server, parts, column);
        }
        for row in 0..rows {
            self.table[row * self.width + count + row] = 1.0;
            self.table[row * self.width + self.width - 1] = 1.0;
        }
        let objective = &mut self.table[rows * self.width..][..count];
        let scale = objective.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        objective.iter_mut().for_each(|owed| *owed /= scale);
        scale
    }

    /// Writes the columns of one stage from `column` on, and returns the next one.
    fn load_stage(
        &mut self,
        place: usize,
        server: &RateLatency,
        parts: &[TandemTraffic],
        mut column: usize,
    ) -> usize {
        let whole = float(server.rate.as_ubps());
        let (mut left, mut owed) = (1.0, 0.0);
        let begin = column;
        for (row, part) in parts.iter().enumerate() {
            if !part.places().contains(&place) {
                continue;
            }
            if column > begin {
                for inner in 0..row {
                    let at = inner * self.width + column;
                    self.table[at] = self.table[at - 1];
                }
            }
            owed += float(part.bucket.burst.as_ubits()) / whole;
            self.table[row * self.width + column] = left;
            self.table[parts.len() * self.width + column] = owed;
            left = (left - float(part.bucket.rate.as_ubps()) / whole).max(0.0);
            column += 1;
        }
        column
    }

    /// Runs the simplex method until nothing gains, or for so many steps
    /// that it must be going round in circles.
    fn solve(&mut self, rows: usize) {
        for _ in 0..4 * self.width {
            let Some(column) = self.entering(rows) else {
                return;
            };
            let Some(row) = self.leaving(rows, column) else {
                return;
            };
            self.pivot(row, column);
        }
    }

    /// Returns the column with the most to gain.
    fn entering(&self, rows: usize) -> Option<usize> {
        let objective = &self.table[rows * self.width..][..self.width - 1];
        let mut most = (TINY, None);
        for (column, gain) in objective.iter().enumerate() {
            if *gain > most.0 {
                most = (*gain, Some(column));
            }
        }
        most.1
    }

    /// Returns the row that a column exhausts first.
    fn leaving(&self, rows: usize, column: usize) -> Option<usize> {
        let mut least = (f64::INFINITY, None);
        for (at, row) in self.table.chunks_exact(self.width).take(rows).enumerate() {
            let ratio = row[self.width - 1] / row[column];
            if row[column] > TINY && ratio < least.0 {
                least = (ratio, Some(at));
            }
        }
        least.1
    }

    fn pivot(&mut self, row: usize, column: usize) {
        let (before, from) = self.table.split_at_mut(row * self.width);
        let (pivot, behind) = from.split_at_mut(self.width);
        let factor = 1.0 / pivot[column];
        pivot.iter_mut().for_each(|value| *value *= factor);
        let others = before.chunks_exact_mut(self.width);
        for other in others.chain(behind.chunks_exact_mut(self.width)) {
            let factor = other[column];
            if factor != 0.0 {
                for (value, by) in other.iter_mut().zip(&*pivot) {
                    *value -= factor * by;
                }
            }
        }
    }
}

fn float(value: u64) -> f64 {
    value as f64
}

/// Returns a time near `seconds`; what is none becomes zero.
fn time(seconds: f64) -> Time {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "any wait will do"
    )]
    Time::from_fs((seconds * FS_PER_SECOND) as u64)
}
