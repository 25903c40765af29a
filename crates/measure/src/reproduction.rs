//! An experiment of a paper, done again: its figures beside ours.
//!
//! A figure of the paper is kept as it was printed. Half of its last digit is
//! what it leaves open, and ours agrees with it if it lies within.

mod document;

use serde::{Serialize, Serializer};

use crate::statistics::significant;

pub use crate::document::Picture;
pub use document::{document, documents};

/// What came out of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// The name of the paper, as the command line has it.
    pub paper: String,
    /// The name of the experiment.
    pub experiment: String,
    /// What it shows, in a sentence without its full stop.
    #[serde(skip)]
    pub title: String,
    /// In which world it ran.
    pub world: String,
    /// The seed of everything that is random.
    pub seed: u64,
    /// Whether less was done than the paper did.
    pub quick: bool,
    pub rows: Vec<Row>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// What is to be known about them, a sentence or more each: where the paper
    /// contradicts itself, what we did otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Promises of ours that did not hold; empty if all did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
}

/// A figure of the paper beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it is the figure of.
    pub quantity: String,
    /// Its unit, empty for a number of things or a share of 1.
    pub unit: String,
    /// As the paper prints it, or nothing if it prints none.
    pub paper: Option<Printed>,
    /// Ours, or nothing if there is none, such as for what is infeasible.
    pub taktos: Option<f64>,
    /// What is to be known, such as why the two differ.
    pub note: String,
}

impl Row {
    /// Returns a row without a note.
    #[must_use]
    pub fn new(quantity: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            quantity: quantity.into(),
            unit: unit.into(),
            paper: None,
            taktos: None,
            note: String::new(),
        }
    }

    /// Adds the figure that the paper prints.
    ///
    /// # Panics
    ///
    /// If `text` is no decimal number.
    #[must_use]
    pub fn printed(self, text: &'static str) -> Self {
        Self {
            paper: Some(Printed::new(text)),
            ..self
        }
    }

    #[must_use]
    pub fn ours(self, value: f64) -> Self {
        Self {
            taktos: Some(value),
            ..self
        }
    }

    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self {
            note: note.into(),
            ..self
        }
    }

    /// Returns whether the two figures agree, or nothing if one is missing.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        Some(self.paper?.covers(self.taktos?))
    }

    /// Returns how our figure compares with the paper's: "agrees", or how far it is off; an
    /// empty text if one of them is missing.
    #[must_use]
    pub fn comparison(&self) -> String {
        match (self.agrees(), self.difference()) {
            (None, _) => String::new(),
            (Some(true), _) => "agrees".to_owned(),
            (Some(false), Some(difference)) => difference.words(self.is_time()),
            (Some(false), None) => "differs".to_owned(),
        }
    }

    /// Returns how far our figure is from the paper's, or nothing if no ratio says it.
    fn difference(&self) -> Option<Difference> {
        let (theirs, ours) = (self.paper?.value, self.taktos?);
        (theirs > 0.0 && ours > 0.0).then(|| Difference(ours / theirs))
    }

    /// Tells whether the figure is a length of time.
    fn is_time(&self) -> bool {
        ["ns", "us", "µs", "ms", "s", "min"].contains(&self.unit.as_str())
    }

    /// Returns our figure as text: a whole number where the paper has one or none,
    /// otherwise with a digit more than the paper prints and at least four digits.
    #[must_use]
    pub fn ours_as_text(&self) -> String {
        let decimals = match self.paper {
            Some(printed) => printed.decimals() + 1,
            None => 0,
        };
        self.taktos
            .map_or_else(|| "–".to_owned(), |value| digits(value, decimals))
    }
}

/// How many times larger our figure is.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Difference(f64);

/// From here on a difference is told as a factor, below in percent.
const TOLD_AS_FACTOR: f64 = 1.5;

impl Difference {
    /// Returns it as one that is at least one, whichever is larger.
    fn factor(self) -> f64 {
        self.0.max(1.0 / self.0)
    }

    fn words(self, is_time: bool) -> String {
        let direction = match (self.0 < 1.0, is_time) {
            (true, true) => "shorter",
            (true, false) => "lower",
            (false, true) => "longer",
            (false, false) => "higher",
        };
        format!("{} {direction}", self.magnitude())
    }

    /// Returns how large it is, whichever way it goes.
    fn magnitude(self) -> String {
        let factor = self.factor();
        match factor >= TOLD_AS_FACTOR {
            true => format!("{} times", significant(factor, 2)),
            false => format!("{} %", significant((self.0 - 1.0).abs() * 100.0, 2)),
        }
    }
}

impl Reproduction {
    /// Returns in a sentence how our figures compare with the paper's.
    #[must_use]
    pub fn agreement(&self) -> String {
        let compared: Vec<_> = self
            .rows
            .iter()
            .filter(|row| row.agrees().is_some())
            .collect();
        if compared.is_empty() {
            return match self.rows.iter().filter(|row| row.paper.is_some()).count() {
                0 => "The paper prints no figure to compare with.".to_owned(),
                printed => {
                    format!("None of {printed} figures that the paper prints was seen here.")
                }
            };
        }
        let agree = compared
            .iter()
            .filter(|row| row.agrees() == Some(true))
            .count();
        let mut parts = vec![format!(
            "{agree} of {} figures that the paper prints agree to half of their last digit",
            compared.len()
        )];
        let differ = || compared.iter().filter(|row| row.agrees() == Some(false));
        for (is_time, is_less, direction) in [
            (true, true, "shorter"),
            (true, false, "longer"),
            (false, true, "lower"),
            (false, false, "higher"),
        ] {
            let these = differ().filter(|row| row.is_time() == is_time);
            let these = these.filter_map(|row| row.difference());
            let mut these: Vec<_> = these.filter(|it| (it.0 < 1.0) == is_less).collect();
            these.sort_by(|one, other| one.factor().total_cmp(&other.factor()));
            let [Some(least), Some(most)] = [these.first(), these.last()] else {
                continue;
            };
            let [least, most] = [least, most].map(|it| it.magnitude());
            let by = match least == most {
                true => most,
                false => format!("{least} to {most}"),
            };
            let are = if these.len() == 1 { "is" } else { "are" };
            parts.push(format!("{} {are} {direction}, by {by}", these.len()));
        }
        let untold = differ().filter(|row| row.difference().is_none()).count();
        if untold > 0 {
            let differ = if untold == 1 { "differs" } else { "differ" };
            parts.push(format!("{untold} {differ} from zero or in sign"));
        }
        parts.join("; ") + "."
    }
}

/// Returns a number with at least `decimals` decimals, and with four digits unless
/// it is whole.
fn digits(value: f64, decimals: usize) -> String {
    if decimals <= 1 && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let before_point = match value.abs() {
        0.0..1.0 => 0,
        1.0..10.0 => 1,
        10.0..100.0 => 2,
        100.0..1_000.0 => 3,
        _ => 4,
    };
    let decimals = decimals.max(4 - before_point);
    format!("{value:.decimals$}")
}

/// A figure as it was printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    text: &'static str,
    value: f64,
}

impl Printed {
    /// Returns the figure that `text` prints.
    ///
    /// # Panics
    ///
    /// If `text` is no decimal number.
    #[must_use]
    pub fn new(text: &'static str) -> Self {
        let value = text.parse().expect("a figure of a paper is a number");
        Self { text, value }
    }

    /// Returns it as it was printed.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.text
    }

    /// Returns whether `value` is within half of the last digit.
    #[must_use]
    pub fn covers(self, value: f64) -> bool {
        let decimals = i32::try_from(self.decimals()).unwrap_or(i32::MAX);
        let half_digit = 0.5 * 10f64.powi(-decimals);
        // What two decimal fractions differ by in binary is no difference.
        (value - self.value).abs() <= half_digit * (1.0 + 1e-9)
    }

    fn decimals(self) -> usize {
        self.text
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len())
    }
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.value)
    }
}

#[cfg(test)]
mod tests;
