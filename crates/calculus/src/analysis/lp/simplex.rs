//! Searches the multipliers of a linear program, in floating point.
//!
//! The program is `max c x` under `A x <= b`, `x >= 0` with `b >= 0`, so that
//! `x = 0` is a place to start from. The simplex method walks from vertex to
//! vertex on a tableau that holds one column for each variable that is zero.
//! Where it stops, the objective row holds a multiplier for each constraint.
//!
//! Nothing here is trusted: [`super::proof`] computes in whole numbers what the
//! multipliers prove, whatever they are. A search that ends too early or is led
//! astray by rounding costs tightness and nothing else.

/// Below this a number counts as zero.
const TOLERANCE: f64 = 1e-9;

/// How much each right-hand side is raised at most, relative to the largest, so
/// that no two constraints meet a vertex by accident: on such vertices the
/// method could walk in circles.
const PERTURBATION: f64 = 1e-9;

/// How many steps are taken at most for each row and column.
const STEPS_PER_LINE: usize = 20;

/// A linear program on its way to its optimum.
#[derive(Debug)]
pub(super) struct Tableau {
    rows: usize,
    columns: usize,
    /// `rows + 1` lines of `columns + 1` numbers; the last line is the
    /// objective, the last column the right-hand side.
    cells: Vec<f64>,
    /// What each row stands for: `columns + row` is the slack of a constraint.
    basic: Vec<usize>,
    /// What each column stands for.
    nonbasic: Vec<usize>,
    /// The row that a step turns on, copied.
    turning: Vec<f64>,
}

impl Tableau {
    /// Returns the program of `rows` constraints on `columns` variables, all
    /// zero.
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            cells: vec![0.0; (rows + 1) * (columns + 1)],
            basic: (columns..columns + rows).collect(),
            nonbasic: (0..columns).collect(),
            turning: Vec::new(),
        }
    }

    /// Sets a coefficient of a constraint.
    pub(super) fn set(&mut self, row: usize, column: usize, value: f64) {
        let at = self.at(row, column);
        self.cells[at] = value;
    }

    /// Sets the right-hand sides, scaled so that the largest is one.
    pub(super) fn set_right_hand_sides(&mut self, values: &[f64]) {
        let largest = values.iter().copied().fold(1.0, f64::max);
        let mut seed = 1u32;
        for (row, value) in values.iter().enumerate() {
            // A linear congruential generator: what counts is that no two agree.
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let nudge = PERTURBATION * (1.0 + f64::from(seed >> 8) / f64::from(1u32 << 24));
            let at = self.at(row, self.columns);
            self.cells[at] = value.max(0.0) / largest + nudge;
        }
    }

    /// Sets the objective's coefficient of a variable.
    pub(super) fn set_objective(&mut self, column: usize, value: f64) {
        self.set(self.rows, column, value);
    }

    /// Walks to the optimum and returns a multiplier for each constraint, or
    /// `None` if the objective can grow for ever.
    pub(super) fn multipliers(mut self) -> Option<Vec<f64>> {
        for _ in 0..STEPS_PER_LINE * (self.rows + self.columns) {
            let Some(column) = self.entering() else { break };
            let row = self.leaving(column)?;
            self.step(row, column);
        }
        let mut multipliers = vec![0.0; self.rows];
        for (column, line) in self.nonbasic.iter().enumerate() {
            if let Some(row) = line.checked_sub(self.columns) {
                multipliers[row] = (-self.cells[self.at(self.rows, column)]).max(0.0);
            }
        }
        Some(multipliers)
    }

    /// The variable whose growth gains most.
    fn entering(&self) -> Option<usize> {
        let begin = self.at(self.rows, 0);
        let gains = &self.cells[begin..begin + self.columns];
        let best = (0..self.columns).max_by(|a, b| gains[*a].total_cmp(&gains[*b]))?;
        (gains[best] > TOLERANCE).then_some(best)
    }

    /// The constraint that stops the growth of a variable first.
    fn leaving(&self, column: usize) -> Option<usize> {
        let mut first: Option<(usize, f64)> = None;
        for row in 0..self.rows {
            let slope = self.cells[self.at(row, column)];
            if slope > TOLERANCE {
                let stop = self.cells[self.at(row, self.columns)] / slope;
                if first.is_none_or(|(_, earliest)| stop < earliest) {
                    first = Some((row, stop));
                }
            }
        }
        first.map(|(row, _)| row)
    }

    /// Lets a variable grow until a constraint stops it.
    fn step(&mut self, row: usize, column: usize) {
        let width = self.columns + 1;
        let begin = self.at(row, 0);
        let inverse = 1.0 / self.cells[begin + column];
        for cell in &mut self.cells[begin..begin + width] {
            *cell *= inverse;
        }
        self.cells[begin + column] = inverse;
        self.turning.clear();
        self.turning
            .extend_from_slice(&self.cells[begin..begin + width]);
        for (line, cells) in self.cells.chunks_exact_mut(width).enumerate() {
            let factor = cells[column];
            if line == row || factor == 0.0 {
                continue;
            }
            cells[column] = 0.0;
            for (cell, turning) in cells.iter_mut().zip(&self.turning) {
                *cell -= factor * turning;
            }
        }
        std::mem::swap(&mut self.basic[row], &mut self.nonbasic[column]);
    }

    fn at(&self, row: usize, column: usize) -> usize {
        row * (self.columns + 1) + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multipliers_of_a_small_program_are_found() {
        // max 3x + 5y under x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6).
        let mut tableau = Tableau::new(3, 2);
        tableau.set(0, 0, 1.0);
        tableau.set(1, 1, 2.0);
        tableau.set(2, 0, 3.0);
        tableau.set(2, 1, 2.0);
        tableau.set_right_hand_sides(&[4.0, 12.0, 18.0]);
        tableau.set_objective(0, 3.0);
        tableau.set_objective(1, 5.0);

        let found = tableau.multipliers().unwrap();

        for (found, expected) in found.iter().zip([0.0, 1.5, 1.0]) {
            assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
        }
    }

    #[test]
    fn what_grows_for_ever_has_no_multipliers() {
        // max x under x - y <= 1.
        let mut tableau = Tableau::new(1, 2);
        tableau.set(0, 0, 1.0);
        tableau.set(0, 1, -1.0);
        tableau.set_right_hand_sides(&[1.0]);
        tableau.set_objective(0, 1.0);

        assert_eq!(tableau.multipliers(), None);
    }
}
