//! Searches the multipliers of a linear program, in floating point.
//!
//! The program is `max c x` under `A x <= b`, `x >= 0` with `b >= 0`, so that
//! `x = 0` is a place to start from. The simplex method walks from vertex to
//! vertex on a tableau that holds one column for each variable that is zero.
//! Where it stops, the objective row holds a multiplier for each constraint.
//!
//! Most constraints do not matter in the end. So some may be added when the
//! optimum of the others is known and breaks them: the dual method walks on from
//! there, along vertices that are too good to be true, to one that keeps all.
//!
//! Nothing here is trusted: [`super::proof`] computes in whole numbers what the
//! multipliers prove, whatever they are. A search that ends too early or is led
//! astray by rounding costs tightness and nothing else.

/// A gain, or a lack, below this counts as none.
const TOLERANCE: f64 = 1e-10;

/// A slope below this is too flat to turn on.
const FLAT: f64 = 1e-7;

/// Ends that are nearer than this are equal.
const TIE: f64 = 1e-12;

/// By how much each right-hand side is raised at least, relative to the largest,
/// so that no two constraints meet a vertex by accident: on such vertices the
/// method could walk in circles.
const PERTURBATION: f64 = 1e-8;

/// How many steps are taken at most for each row and column.
const STEPS_PER_LINE: usize = 4;

/// A linear program on its way to its optimum.
#[derive(Debug)]
pub(super) struct Tableau {
    columns: usize,
    /// The largest right-hand side, which all are divided by.
    unit: f64,
    /// Lines of `columns + 1` numbers; the last is the right-hand side.
    cells: Vec<f64>,
    /// What each column gains; the last number is what has been gained.
    gains: Vec<f64>,
    /// What each row stands for: `columns + n` is what constraint `n` leaves.
    basic: Vec<usize>,
    /// What each column stands for.
    nonbasic: Vec<usize>,
    /// The row or column in which each variable stands.
    places: Vec<TableauPosition>,
    /// The row that a step turns on, copied.
    turning: Vec<f64>,
}

/// Where a variable stands.
#[derive(Clone, Copy, Debug)]
enum TableauPosition {
    Row(usize),
    Column(usize),
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimplexOutcome {
    /// All constraints are kept and nothing is gained any more.
    Optimal,
    /// Too many steps were taken, or rounding has spoilt the tableau.
    Lost,
    /// The objective can grow for ever.
    Unbounded,
}

impl Tableau {
    /// Returns a program without constraints, all of whose variables are zero;
    /// the sum of those in `objective` is to be the largest. No right-hand side
    /// will be above `unit`.
    pub(super) fn new(columns: usize, objective: &[u32], unit: f64) -> Self {
        let mut gains = vec![0.0; columns + 1];
        for variable in objective {
            gains[*variable as usize] += 1.0;
        }
        Self {
            columns,
            unit: unit.max(1.0),
            cells: Vec::new(),
            gains,
            basic: Vec::new(),
            nonbasic: (0..columns).collect(),
            places: (0..columns).map(TableauPosition::Column).collect(),
            turning: Vec::new(),
        }
    }

    /// Adds a constraint: its coefficients and its right-hand side.
    pub(super) fn add(&mut self, terms: impl Iterator<Item = (usize, f64)>, right: f64) {
        let row = self.basic.len();
        let mut line = vec![0.0; self.columns + 1];
        line[self.columns] = right / self.unit + nudge(row);
        for (variable, coefficient) in terms {
            match self.places[variable] {
                TableauPosition::Column(column) => line[column] += coefficient,
                TableauPosition::Row(row) => {
                    for (cell, other) in line.iter_mut().zip(self.line(row)) {
                        *cell -= coefficient * other;
                    }
                }
            }
        }
        self.cells.extend_from_slice(&line);
        self.basic.push(self.places.len());
        self.places.push(TableauPosition::Row(row));
    }

    /// Walks to the optimum.
    pub(super) fn solve(&mut self) -> SimplexOutcome {
        for _ in 0..STEPS_PER_LINE * (self.basic.len() + self.columns) {
            let step = if let Some(row) = self.broken() {
                self.mending(row)
                    .map(|column| (row, column))
                    .ok_or(SimplexOutcome::Lost)
            } else if let Some(column) = self.entering() {
                self.leaving(column)
                    .map(|row| (row, column))
                    .ok_or(SimplexOutcome::Unbounded)
            } else {
                return SimplexOutcome::Optimal;
            };
            match step {
                Ok((row, column)) => self.step(row, column),
                Err(outcome) => return outcome,
            }
        }
        SimplexOutcome::Lost
    }

    /// Returns the value of a variable, in the unit of the right-hand sides.
    pub(super) fn value(&self, variable: usize) -> f64 {
        match self.places[variable] {
            TableauPosition::Row(row) => self.right(row) * self.unit,
            TableauPosition::Column(_) => 0.0,
        }
    }

    /// Returns the multiplier of each constraint, in the order in which they
    /// were added.
    pub(super) fn multipliers(&self) -> impl Iterator<Item = f64> {
        self.places[self.columns..].iter().map(|place| match place {
            TableauPosition::Row(_) => 0.0,
            TableauPosition::Column(column) => (-self.gains[*column]).max(0.0),
        })
    }

    /// The variable whose growth gains most.
    fn entering(&self) -> Option<usize> {
        let best = (0..self.columns).max_by(|a, b| self.gains[*a].total_cmp(&self.gains[*b]))?;
        (self.gains[best] > TOLERANCE).then_some(best)
    }

    /// The constraint that stops the growth of a variable first.
    fn leaving(&self, column: usize) -> Option<usize> {
        let slopes = (0..self.basic.len()).map(|row| (row, self.line(row)[column]));
        first(
            slopes
                .filter(|it| it.1 > FLAT)
                .map(|(row, slope)| (row, slope, self.right(row))),
        )
    }

    /// The constraint that is broken most.
    fn broken(&self) -> Option<usize> {
        let rows = 0..self.basic.len();
        let worst = rows.min_by(|a, b| self.right(*a).total_cmp(&self.right(*b)))?;
        (self.right(worst) < -TOLERANCE).then_some(worst)
    }

    /// The variable whose growth mends a constraint and loses least.
    fn mending(&self, row: usize) -> Option<usize> {
        let slopes = self.line(row)[..self.columns].iter().copied().enumerate();
        first(
            slopes
                .filter(|it| it.1 < -FLAT)
                .map(|(at, slope)| (at, -slope, -self.gains[at])),
        )
    }

    /// Lets a variable grow until a constraint stops it, or until it is mended.
    fn step(&mut self, row: usize, column: usize) {
        let width = self.columns + 1;
        let line = &mut self.cells[row * width..(row + 1) * width];
        let inverse = 1.0 / line[column];
        for cell in &mut *line {
            *cell *= inverse;
        }
        line[column] = inverse;
        self.turning.clear();
        self.turning.extend_from_slice(line);
        for (other, cells) in self.cells.chunks_exact_mut(width).enumerate() {
            if other != row {
                subtract(cells, &self.turning, column);
            }
        }
        subtract(&mut self.gains, &self.turning, column);
        std::mem::swap(&mut self.basic[row], &mut self.nonbasic[column]);
        self.places[self.basic[row]] = TableauPosition::Row(row);
        self.places[self.nonbasic[column]] = TableauPosition::Column(column);
    }

    fn line(&self, row: usize) -> &[f64] {
        let width = self.columns + 1;
        &self.cells[row * width..(row + 1) * width]
    }

    fn right(&self, row: usize) -> f64 {
        self.line(row)[self.columns]
    }
}

/// Of lines with a slope and a distance, the one whose distance is overcome
/// first; of those that are as near, the steepest, which rounding spoils least.
fn first(lines: impl Iterator<Item = (usize, f64, f64)>) -> Option<usize> {
    let mut first: Option<(usize, f64, f64)> = None;
    for (line, slope, distance) in lines {
        let end = distance.max(0.0) / slope;
        let sooner = first.is_none_or(|(_, steepest, soonest)| {
            end < soonest - TIE || (end <= soonest + TIE && slope > steepest)
        });
        if sooner {
            first = Some((line, slope, end));
        }
    }
    first.map(|it| it.0)
}

/// Takes a multiple of one line from another, so that a variable leaves it.
fn subtract(cells: &mut [f64], turning: &[f64], column: usize) {
    let factor = std::mem::take(&mut cells[column]);
    if factor != 0.0 {
        for (cell, turning) in cells.iter_mut().zip(turning) {
            *cell -= factor * turning;
        }
    }
}

/// Between one and two perturbations, another for each row: the fractional parts
/// of the multiples of the golden ratio.
fn nudge(row: usize) -> f64 {
    let multiple = row as f64 * 0.618_033_988_749_895;
    PERTURBATION * (1.0 + multiple.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multipliers_of_a_small_program_are_found() {
        // max 3x + 5y under x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6).
        let mut tableau = Tableau::new(2, &[0, 0, 0, 1, 1, 1, 1, 1], 18.0);
        tableau.add([(0, 1.0)].into_iter(), 4.0);
        tableau.add([(1, 2.0)].into_iter(), 12.0);
        tableau.add([(0, 3.0), (1, 2.0)].into_iter(), 18.0);

        assert_eq!(tableau.solve(), SimplexOutcome::Optimal);

        assert_multipliers(&tableau, &[0.0, 1.5, 1.0]);
    }

    #[test]
    fn a_constraint_that_comes_late_is_kept() {
        let mut tableau = Tableau::new(2, &[0, 0, 0, 1, 1, 1, 1, 1], 18.0);
        tableau.add([(0, 1.0)].into_iter(), 4.0);
        tableau.add([(1, 2.0)].into_iter(), 12.0);
        tableau.solve();
        tableau.add([(0, 3.0), (1, 2.0)].into_iter(), 18.0);

        assert_eq!(tableau.solve(), SimplexOutcome::Optimal);

        assert!((tableau.value(0) - 2.0).abs() < 1e-6, "{tableau:?}");
        assert!((tableau.value(1) - 6.0).abs() < 1e-6, "{tableau:?}");
        assert_multipliers(&tableau, &[0.0, 1.5, 1.0]);
    }

    #[test]
    fn what_grows_for_ever_is_said_to() {
        // max x under x - y <= 1.
        let mut tableau = Tableau::new(2, &[0], 1.0);
        tableau.add([(0, 1.0), (1, -1.0)].into_iter(), 1.0);

        assert_eq!(tableau.solve(), SimplexOutcome::Unbounded);
    }

    #[track_caller]
    fn assert_multipliers(tableau: &Tableau, expected: &[f64]) {
        for (found, expected) in tableau.multipliers().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
        }
    }
}
