//! Gives each flow of a file a name that a scenario and a controller take.

use std::collections::BTreeSet;

use crate::mistake::LONGEST_NAME;

/// The names given so far.
#[derive(Debug, Default)]
pub(super) struct FlowNames {
    taken: BTreeSet<String>,
}

impl FlowNames {
    /// Returns the first of the wanted names that is free, or the last of them
    /// with a number. Characters that no name has become `-`, and what is longer
    /// than a name is cut.
    pub(super) fn give(&mut self, wanted: &[String]) -> String {
        let tidied = wanted.iter().map(|name| tidy(name, LONGEST_NAME));
        let last = wanted.last().map_or("flow", String::as_str);
        let numbered = (2u32..).map(|n| {
            let number = format!("-{n}");
            tidy(last, LONGEST_NAME - number.len()) + &number
        });
        let name = tidied
            .chain(numbered)
            .find(|name| !self.taken.contains(name))
            .expect("one of more names than there are flows is free");
        self.taken.insert(name.clone());
        name
    }
}

fn tidy(text: &str, longest: usize) -> String {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let kept = text.chars().map(|c| if good(c) { c } else { '-' });
    let kept: String = kept
        .skip_while(|c| !c.is_alphanumeric())
        .take(longest)
        .collect();
    let trimmed = kept.trim_end_matches(|c: char| !c.is_alphanumeric());
    match trimmed {
        "" => "flow".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}
