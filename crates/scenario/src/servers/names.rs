//! Which names a file has given, and to what.

use std::collections::BTreeMap;

use super::object::Value;
use crate::Mistake;
use crate::mistake::{nearest, quote};
use crate::problem::{Problems, TextSpan};

/// With how many names a misspelt one is compared.
const MOST_COMPARED: usize = 10_000;

/// The names of servers or of flows, each with its place in the list.
#[derive(Debug, Default)]
pub(super) struct Names {
    places: BTreeMap<String, (usize, TextSpan)>,
    names: Vec<String>,
}

impl Names {
    /// Adds a name, or notes that it is there already.
    pub(super) fn declare(
        &mut self,
        what: &'static str,
        name: &str,
        value: Value<'_>,
        problems: &mut Problems,
    ) {
        let place = value.place();
        let first_byte = place.start..place.start + 1;
        let next = (self.names.len(), first_byte.clone());
        self.names.push(name.to_owned());
        if let Some((_, first)) = self.places.insert(name.to_owned(), next) {
            let name = quote(name);
            problems.report(first_byte, Mistake::Twice { what, name, first });
        }
    }

    /// Returns the place of a server, or notes that there is none of this name.
    pub(super) fn find(
        &self,
        name: &str,
        value: Value<'_>,
        place: &str,
        problems: &mut Problems,
    ) -> Option<usize> {
        let found = self.places.get(name);
        if found.is_none() {
            let names = self.names.iter().take(MOST_COMPARED).map(String::as_str);
            let mistake = Mistake::Unknown {
                what: "server",
                name: quote(name),
                nearest: nearest(name, names),
                declared: "`servers`",
            };
            value.report(place, mistake, problems);
        }
        found.map(|(at, _)| *at)
    }

    /// Returns the name that was given at a place.
    pub(super) fn name(&self, at: usize) -> &str {
        &self.names[at]
    }
}
