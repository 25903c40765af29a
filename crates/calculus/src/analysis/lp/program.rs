//! A linear program in whole numbers.
//!
//! It asks for the largest sum of some variables, none of which is negative,
//! under constraints `sum of coefficient * variable <= right-hand side`. All
//! right-hand sides are zero or more, so that all variables may be zero. What
//! stands there is a [`Quantity`], a sum of facts that may not be known yet.

use units::fine::Data;

use super::facts::{FactId, Facts};
use super::scale::{ONE, Scale};

/// A right-hand side, or part of an upper bound.
#[derive(Clone, Debug)]
pub(super) enum Quantity {
    /// A delay.
    Delay(FactId),
    /// What is known, and some facts, of data.
    Data {
        /// What is known.
        known: Data,
        /// What else is added.
        facts: Vec<FactId>,
    },
}

/// The place of a quantity in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuantityId(u32);

/// One constraint.
#[derive(Clone, Copy, Debug)]
struct ConstraintRow {
    begin: u32,
    end: u32,
    right: QuantityId,
    may_wait: bool,
}

/// How long a server can be busy without a pause: `backlog / spare`.
#[derive(Clone, Copy, Debug)]
struct Busy {
    /// What it has to serve before it can rest.
    backlog: QuantityId,
    /// The rate that its flows leave, as a coefficient; zero or less if none.
    spare: i64,
    /// The node behind it.
    parent: Option<usize>,
}

/// What a variable never exceeds, whatever the constraints say.
#[derive(Clone, Copy, Debug)]
enum Ceiling {
    /// The time that a node can be busy.
    Busy { node: usize },
    /// What arrives while a node and all behind it are busy.
    Arrivals {
        node: usize,
        rate: i64,
        burst: QuantityId,
    },
}

/// A linear program.
#[derive(Debug)]
pub(super) struct Program {
    /// In what data is measured.
    pub(super) scale: Scale,
    ceilings: Vec<Ceiling>,
    objective: Vec<u32>,
    rows: Vec<ConstraintRow>,
    terms: Vec<(u32, i64)>,
    quantities: Vec<Quantity>,
    busy: Vec<Busy>,
}

/// The left side of a constraint while it is written.
#[derive(Debug, Default)]
pub(super) struct LinearTerms {
    coefficients: Vec<i64>,
    touched: Vec<u32>,
}

/// A program with its facts put in, in femtoseconds; what is not known is
/// nothing.
#[derive(Debug)]
pub(super) struct Values {
    /// By row.
    pub(super) right: Vec<Option<u64>>,
    /// By variable.
    pub(super) ceilings: Vec<Option<u64>>,
}

impl Program {
    /// Returns a program without variables.
    pub(super) fn new(scale: Scale) -> Self {
        Self {
            scale,
            ceilings: Vec::new(),
            objective: Vec::new(),
            rows: Vec::new(),
            terms: Vec::new(),
            quantities: Vec::new(),
            busy: Vec::new(),
        }
    }

    /// Adds a quantity.
    pub(super) fn quantity(&mut self, quantity: Quantity) -> QuantityId {
        self.quantities.push(quantity);
        QuantityId(number(self.quantities.len() - 1))
    }

    /// Adds a node: what it can be busy with, and how fast it gets rid of it.
    pub(super) fn node(&mut self, parent: Option<usize>, backlog: QuantityId, spare: i64) {
        self.busy.push(Busy {
            backlog,
            spare,
            parent,
        });
    }

    /// Adds a time at a node and returns its place.
    pub(super) fn time(&mut self, node: usize) -> u32 {
        self.ceilings.push(Ceiling::Busy { node });
        number(self.ceilings.len() - 1)
    }

    /// Adds an amount of data that enters at a node, and returns its place.
    pub(super) fn data(&mut self, node: usize, rate: i64, burst: QuantityId) -> u32 {
        self.ceilings.push(Ceiling::Arrivals { node, rate, burst });
        number(self.ceilings.len() - 1)
    }

    /// Adds variables to those whose sum is to be the largest.
    pub(super) fn maximize(&mut self, variables: impl IntoIterator<Item = u32>) {
        self.objective.extend(variables);
    }

    /// Adds a constraint and clears its terms.
    pub(super) fn at_most(&mut self, terms: &mut LinearTerms, right: QuantityId) {
        self.add(terms, right, false);
    }

    /// Adds a constraint that seldom matters, and clears its terms.
    pub(super) fn at_most_perhaps(&mut self, terms: &mut LinearTerms, right: QuantityId) {
        self.add(terms, right, true);
    }

    fn add(&mut self, terms: &mut LinearTerms, right: QuantityId, may_wait: bool) {
        let begin = number(self.terms.len());
        terms.move_to(&mut self.terms);
        self.rows.push(ConstraintRow {
            begin,
            end: number(self.terms.len()),
            right,
            may_wait,
        });
    }

    /// Returns whether a constraint seldom matters.
    pub(super) fn may_wait(&self, row: usize) -> bool {
        self.rows[row].may_wait
    }

    /// Returns the number of variables.
    pub(super) fn variables(&self) -> usize {
        self.ceilings.len()
    }

    /// Returns the variables and coefficients of a constraint.
    pub(super) fn terms(&self, row: usize) -> &[(u32, i64)] {
        let row = self.rows[row];
        &self.terms[row.begin as usize..row.end as usize]
    }

    /// Returns the variables whose sum is to be the largest.
    pub(super) fn objective(&self) -> &[u32] {
        &self.objective
    }

    /// Returns the program's right-hand sides and ceilings for some facts,
    /// rounded **up**.
    pub(super) fn values(&self, facts: &Facts) -> Values {
        let all: Vec<_> = self
            .quantities
            .iter()
            .map(|it| self.value(it, facts))
            .collect();
        let known = |id: QuantityId| all[id.0 as usize];
        let (mut busy, mut span): (Vec<Option<u64>>, Vec<Option<u64>>) = (vec![], vec![]);
        for node in &self.busy {
            let here = known(node.backlog).and_then(|backlog| divide(backlog, node.spare));
            let behind = node.parent.map_or(Some(0), |parent| span[parent]);
            busy.push(here);
            span.push(here.zip(behind).and_then(|(a, b)| a.checked_add(b)));
        }
        let ceiling = |it: &Ceiling| match *it {
            Ceiling::Busy { node } => busy[node],
            Ceiling::Arrivals { node, rate, burst } => {
                known(burst)?.checked_add(multiply(span[node]?, rate)?)
            }
        };
        Values {
            right: self.rows.iter().map(|row| known(row.right)).collect(),
            ceilings: self.ceilings.iter().map(ceiling).collect(),
        }
    }

    fn value(&self, quantity: &Quantity, facts: &Facts) -> Option<u64> {
        match quantity {
            Quantity::Delay(fact) => facts.value(*fact),
            Quantity::Data { known, facts: of } => {
                let sum = of
                    .iter()
                    .try_fold(*known, |sum, fact| sum.checked_add(facts.data(*fact)?))?;
                u64::try_from(self.scale.femtoseconds(sum)).ok()
            }
        }
    }
}

impl LinearTerms {
    /// Adds a coefficient to that of a variable.
    pub(super) fn add(&mut self, variable: u32, coefficient: i64) {
        let place = variable as usize;
        if self.coefficients.len() <= place {
            self.coefficients.resize(place + 1, 0);
        }
        if self.coefficients[place] == 0 {
            self.touched.push(variable);
        }
        self.coefficients[place] += coefficient;
    }

    /// Adds a coefficient to those of several variables.
    pub(super) fn add_all(&mut self, variables: impl IntoIterator<Item = u32>, coefficient: i64) {
        for variable in variables {
            self.add(variable, coefficient);
        }
    }

    fn move_to(&mut self, terms: &mut Vec<(u32, i64)>) {
        for variable in self.touched.drain(..) {
            let coefficient = std::mem::take(&mut self.coefficients[variable as usize]);
            if coefficient != 0 {
                terms.push((variable, coefficient));
            }
        }
    }
}

impl Quantity {
    /// Returns an amount of data that is known.
    pub(super) const fn known(data: Data) -> Self {
        Self::Data {
            known: data,
            facts: Vec::new(),
        }
    }
}

/// `femtoseconds / ratio`, rounded up, or nothing if the ratio is not positive.
fn divide(femtoseconds: u64, ratio: i64) -> Option<u64> {
    let ratio = u128::try_from(ratio).ok().filter(|it| *it > 0)?;
    let scaled = u128::from(femtoseconds) * u128::from(ONE.unsigned_abs());
    u64::try_from(scaled.div_ceil(ratio)).ok()
}

/// `femtoseconds * ratio`, rounded up.
fn multiply(femtoseconds: u64, ratio: i64) -> Option<u64> {
    let ratio = u128::try_from(ratio).ok()?;
    let scaled = u128::from(femtoseconds) * ratio;
    u64::try_from(scaled.div_ceil(u128::from(ONE.unsigned_abs()))).ok()
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("memory ends before numbers")
}
