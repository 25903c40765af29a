//! Methods of measurement: what each is given, and what it returns.
//!
//! A method makes trials with a tester and draws figures from what it sees. What the
//! machine did meanwhile is taken down around it by a [`Witness`], so that every
//! method keeps the same conditions beside its figures.
//!
//! A new method is a function and a line in [`METHODS`].
//!
//! | module | finds |
//! |---|---|
//! | [`latency`] | how long a frame takes from one port to another (S0-2) |
//! | [`stall`] | how the machine itself stands still |
//! | [`witness`] | what the machine did during all trials |

pub mod latency;
pub mod stall;
pub mod witness;

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;
use units::Duration;

use crate::measurement::Figure;
use crate::trial::{Tester, TrialError};

pub use witness::Witness;

/// All methods, in the order in which they are listed.
pub const METHODS: &[Method] = &[latency::METHOD, stall::METHOD];

/// A method of measurement.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it finds, in a few words.
    pub finds: &'static str,
    /// What can be chosen besides the common settings, by name, and what it means.
    pub options: &'static [(&'static str, &'static str)],
    /// Does it.
    pub run: fn(&mut dyn Tester, &Settings, &mut dyn Progress) -> Result<Findings, MethodError>,
}

/// Finds a method by its name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As much as a figure needs that is to be published.
    Full,
    /// Enough to see that it works.
    Quick,
}

/// What the user wants of any method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How much is done.
    pub effort: Effort,
    /// Everything random follows from it.
    pub seed: u64,
    /// How long one trial sends; the method's own choice if nothing is said.
    pub duration: Option<Duration>,
    /// What is chosen of the method's own [`options`](Method::options), by name.
    pub options: BTreeMap<String, String>,
}

impl Settings {
    /// Returns what is chosen of an option, or `usual` if nothing is.
    ///
    /// # Errors
    ///
    /// If what is chosen makes no sense.
    pub fn option<T: FromStr>(&self, name: &str, usual: T) -> Result<T, MethodError> {
        let Some(text) = self.options.get(name) else {
            return Ok(usual);
        };
        text.parse()
            .map_err(|_| MethodError::Option(name.to_owned(), text.clone()))
    }

    /// Returns what is chosen of an option that is a list, its parts separated by
    /// commas, or `usual` if nothing is.
    ///
    /// # Errors
    ///
    /// If a part makes no sense.
    pub fn list<T: FromStr>(&self, name: &str, usual: Vec<T>) -> Result<Vec<T>, MethodError> {
        let Some(text) = self.options.get(name) else {
            return Ok(usual);
        };
        let mistake = |_| MethodError::Option(name.to_owned(), text.clone());
        let parts = text.split(',');
        parts
            .map(|part| part.trim().parse().map_err(mistake))
            .collect()
    }

    /// Returns how long one trial sends: what the user says, or one of two lengths
    /// by the effort.
    #[must_use]
    pub fn length(&self, full: Duration, quick: Duration) -> Duration {
        self.duration.unwrap_or(match self.effort {
            Effort::Full => full,
            Effort::Quick => quick,
        })
    }
}

/// Learns how far a method is.
pub trait Progress {
    /// Takes that `done` of `of` steps of about the same length are done, and what is
    /// done now.
    fn step(&mut self, done: u64, of: u64, now: &str);
}

/// Does not care how far a method is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _done: u64, _of: u64, _now: &str) {}
}

/// What a method found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The figures.
    pub figures: Vec<Figure>,
    /// What is to be known about them, a sentence or more each.
    pub remarks: Vec<String>,
}

/// Why a method found nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MethodError {
    /// A trial could not be made.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// What is chosen of an option makes no sense.
    #[error("option `{0}` cannot be `{1}`")]
    Option(String, String),
    /// The device or the tester lacks what the method needs, and what to do.
    #[error("{0}")]
    Unsuitable(String),
}
