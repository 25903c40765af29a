//! An experiment of a paper, done again: its figures beside ours, as JSON, as a
//! page and as drawings.
//!
//! A figure of the paper is kept as it was printed. Half of its last digit is
//! what it leaves open, and ours agrees with it if it lies within.

mod json;
mod page;
pub mod picture;

use serde::{Serialize, Serializer};

pub use json::{document, documents};
pub use page::page;
pub use picture::Picture;

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
    /// The figures.
    pub rows: Vec<Row>,
    /// The figures as drawings.
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

    /// Adds our figure.
    #[must_use]
    pub fn ours(self, value: f64) -> Self {
        Self {
            taktos: Some(value),
            ..self
        }
    }

    /// Adds a note.
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
