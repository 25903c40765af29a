//! The names of one kind of thing, and what they stand for.

use std::collections::{BTreeMap, BTreeSet};

use crate::mistake::{Mistake, nearest, quote};
use crate::problem::{Problems, TextSpan};

/// Names with what they stand for and where they were given.
#[derive(Debug)]
pub(crate) struct Names<T> {
    /// What is named, as a message calls it.
    what: &'static str,
    /// Where in the file such things are declared.
    declared: &'static str,
    known: BTreeMap<String, (T, TextSpan)>,
    /// Names of things with mistakes of their own, which were reported.
    spoilt: BTreeSet<String>,
}

impl<T: Copy> Names<T> {
    pub(crate) fn new(what: &'static str, declared: &'static str) -> Self {
        Self {
            what,
            declared,
            known: BTreeMap::new(),
            spoilt: BTreeSet::new(),
        }
    }

    /// Notes the name of something that has a mistake, so that those who refer
    /// to it are not blamed.
    pub(crate) fn spoil(&mut self, name: &str) {
        self.spoilt.insert(name.to_owned());
    }

    /// Gives a name to something; reports if it is taken.
    pub(crate) fn give(&mut self, name: &str, to: T, place: TextSpan, problems: &mut Problems) {
        match self.known.get(name) {
            None => {
                self.known.insert(name.to_owned(), (to, place));
            }
            Some((_, first)) => problems.report(
                place,
                Mistake::Twice {
                    what: "name",
                    name: quote(name),
                    first: first.clone(),
                },
            ),
        }
    }

    /// Returns whether the name is taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Returns what the name stands for; reports if nobody gave it.
    pub(crate) fn find(&self, name: &str, place: TextSpan, problems: &mut Problems) -> Option<T> {
        if let Some((value, _)) = self.known.get(name) {
            return Some(*value);
        }
        if self.spoilt.contains(name) {
            return None;
        }
        problems.report_with(place, || Mistake::Unknown {
            what: self.what,
            name: quote(name),
            nearest: nearest(name, self.known.keys().map(String::as_str)),
            declared: self.declared,
        });
        None
    }
}
