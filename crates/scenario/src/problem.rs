//! The mistakes of a text at their places, and how they are shown.
//!
//! A reader never stops at the first mistake: it reports to [`Problems`] and
//! goes on with a value that is valid, so that the user sees all mistakes at
//! once. Only [`Problems::or`] decides whether there is a result.

use std::fmt;
use std::ops::Range;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::Mistake;

/// The most problems that are kept of one text; more are only counted.
pub const MOST_PROBLEMS: usize = 100;
/// The longest line, in bytes, up to which a file is shown with its mistakes.
const LONGEST_LINE: usize = 1_000;

/// Where in the text, in bytes.
pub(crate) type TextSpan = Range<usize>;

/// Why a text is no scenario (or no profile, or no network of servers): all of
/// its mistakes.
#[derive(Debug)]
pub struct ScenarioError {
    file: NamedSource<String>,
    /// Whether the lines of the file are short enough to be shown.
    shown: bool,
    problems: Vec<Problem>,
    omitted: usize,
}

impl ScenarioError {
    /// Returns the problems, in the order of their places.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the line and the column of a problem, both from 1.
    #[must_use]
    pub fn position_of(&self, problem: &Problem) -> (usize, usize) {
        let text = self.file.inner();
        let before = text.get(..problem.place.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        (line, before[start..].chars().count() + 1)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.name();
        match self.problems.len() + self.omitted {
            1 => write!(f, "{name} has a mistake"),
            count if self.omitted == 0 => write!(f, "{name} has {count} mistakes"),
            count => write!(
                f,
                "{name} has {count} mistakes; the first {} are shown",
                self.problems.len()
            ),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl Diagnostic for ScenarioError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new("taktos::scenario"))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.shown.then_some(&self.file)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems
                .iter()
                .map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

/// One mistake at its place.
#[derive(Debug)]
pub struct Problem {
    pub mistake: Mistake,
    /// Where, as bytes of the text.
    pub place: Range<usize>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mistake.fmt(f)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(format!(
            "taktos::scenario::{}",
            self.mistake.code()
        )))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.mistake
            .help()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = Some(self.mistake.label().to_owned());
        let here = LabeledSpan::new(label, self.place.start, self.place.len());
        let there = self.mistake.first_place().map(|(label, place)| {
            LabeledSpan::new(Some(label.to_owned()), place.start, place.len())
        });
        Some(Box::new(std::iter::once(here).chain(there)))
    }
}

/// The mistakes found so far in one text.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<Problem>,
    omitted: usize,
}

impl Problems {
    pub(crate) fn report(&mut self, place: TextSpan, mistake: Mistake) {
        self.report_with(place, || mistake);
    }

    /// Notes a mistake that takes effort to describe, such as a search for the
    /// nearest name: none is made once further mistakes are only counted.
    pub(crate) fn report_with(&mut self, place: TextSpan, describe: impl FnOnce() -> Mistake) {
        if self.kept.len() >= MOST_PROBLEMS {
            self.omitted += 1;
        } else {
            let mistake = describe();
            self.kept.push(Problem { mistake, place });
        }
    }

    /// Returns whether nothing was found so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns the error that shows everything that was found, or `result` if
    /// nothing was.
    pub(crate) fn or<T>(self, name: &str, text: &str, result: T) -> Result<T, ScenarioError> {
        match self.is_empty() {
            true => Ok(result),
            false => Err(self.into_error(name, text, "TOML")),
        }
    }

    /// Returns the error that shows everything that was found in a `text` of a
    /// `language`.
    pub(crate) fn into_error(mut self, name: &str, text: &str, language: &str) -> ScenarioError {
        self.kept.sort_by_key(|problem| problem.place.start);
        ScenarioError {
            shown: text.lines().all(|line| line.len() <= LONGEST_LINE),
            file: NamedSource::new(name, text.to_owned()).with_language(language),
            problems: self.kept,
            omitted: self.omitted,
        }
    }
}
