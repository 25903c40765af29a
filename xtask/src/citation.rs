//! Finds citations of sources in text: equations, tables, clauses and
//! requirements, in the forms that `CONTRIBUTING.md` prescribes.
//!
//! A citation is a key and, but for a standard cited as a whole, a place in it:
//! `KEY Eq. (9)`, `KEY Table 2`, `KEY clause 7.3`, `RFC 1 section 6.8.4`. A
//! requirement (`S`, a number, a dash, a number) is its own key.

use std::collections::BTreeSet;

use crate::source::RustFile;

/// Words that name a place in a source.
const LOCATORS: [&str; 20] = [
    "Eq.",
    "Eqs",
    "Eqs.",
    "Table",
    "Tables",
    "clause",
    "clauses",
    "section",
    "sections",
    "Fig.",
    "Figs",
    "Figs.",
    "appendix",
    "annex",
    "Theorem",
    "Lemma",
    "Definition",
    "Corollary",
    "Proposition",
    "Algorithm",
];
/// Bodies whose documents are known by a number.
const BODIES: [&str; 4] = ["RFC", "IEC", "IEEE", "ITU-T"];
/// A citation may break over the line by this many words.
const WORDS_CARRIED_OVER: usize = 4;

/// One citation, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The paper, standard or requirement.
    pub key: String,
    /// The place in it, or empty for the whole.
    pub place: String,
}

impl Citation {
    /// Returns whether this cites a requirement of ours.
    pub fn is_requirement(&self) -> bool {
        is_requirement(&self.key)
    }

    /// Returns the citation as it is written.
    pub fn text(&self) -> String {
        if self.place.is_empty() {
            self.key.clone()
        } else {
            format!("{} {}", self.key, self.place)
        }
    }
}

/// Returns the citations of a file with their lines, counted from 1.
pub fn citations(source: &RustFile) -> Vec<(Citation, usize)> {
    let mut found = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let next = source
            .lines
            .get(index + 1)
            .map_or("", |next| prose_of_comment(next));
        let carried = if prose_of_comment(line).is_empty() {
            ""
        } else {
            next
        };
        let carried = carried.split_whitespace().take(WORDS_CARRIED_OVER);
        let all: Vec<&str> = words.iter().copied().chain(carried).collect();
        for start in 0..words.len() {
            let here = citations_at(&all[start..]);
            found.extend(here.into_iter().map(|citation| (citation, index + 1)));
        }
    }
    found
}

/// Returns the keys that a document lists in the first column of its tables.
pub fn listed_keys(document: &str) -> BTreeSet<String> {
    let rows = document.lines().filter_map(|line| line.strip_prefix('|'));
    let cells = rows.filter_map(|row| row.split('|').next());
    let keys = cells.map(|cell| cell.trim().trim_matches('`').to_owned());
    keys.filter(|key| is_key(key) || is_requirement(key) || names_a_body(key))
        .collect()
}

/// Returns whether `key` is listed, by itself or as a part or edition of what is.
pub fn is_listed(key: &str, listed: &BTreeSet<String>) -> bool {
    let part_of = |whole: &String| {
        key.strip_prefix(whole)
            .is_some_and(|it| it.starts_with('-'))
    };
    listed.contains(key) || listed.iter().any(part_of)
}

/// Returns what the first word begins: several requirements can share a word.
fn citations_at(words: &[&str]) -> Vec<Citation> {
    let parts = words[0].split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let requirements: Vec<Citation> = parts
        .filter(|part| is_requirement(part))
        .map(|part| Citation {
            key: part.to_owned(),
            place: String::new(),
        })
        .collect();
    if !requirements.is_empty() {
        return requirements;
    }
    document_at(words).into_iter().collect()
}

fn document_at(words: &[&str]) -> Option<Citation> {
    let first = words[0].trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    if BODIES.contains(&first) {
        let number = leading_number(words.get(1)?)?;
        let ends_here = number.len() < words[1].len();
        let place = if ends_here {
            None
        } else {
            place_at(&words[2..])
        };
        let key = format!("{first} {number}");
        return Some(Citation {
            key,
            place: place.unwrap_or_default(),
        });
    }
    let place = is_key(first).then(|| place_at(&words[1..]))??;
    Some(Citation {
        key: first.to_owned(),
        place,
    })
}

/// Returns the place that `words` begin with, such as `Eq. (9)`.
fn place_at(words: &[&str]) -> Option<String> {
    let (locator, number) = (words.first()?, words.get(1)?);
    if !LOCATORS.contains(locator) {
        return None;
    }
    let number = number.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != ')');
    let number = if number.starts_with('(') {
        number
    } else {
        number.split(')').next()?
    };
    let number = number.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != ')');
    let begins = number.trim_start_matches('(').chars().next()?;
    let numbered = begins.is_ascii_digit() || begins.is_ascii_uppercase();
    numbered.then(|| format!("{locator} {number}"))
}

/// Returns the number of a document, such as `61850-9-2` or `802.1Q`.
fn leading_number(word: &str) -> Option<&str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let end = word.find(|c| !inside(c)).unwrap_or(word.len());
    let number = word[..end].trim_end_matches(['.', '-']);
    number
        .contains(|c: char| c.is_ascii_digit())
        .then_some(number)
}

fn names_a_body(key: &str) -> bool {
    BODIES
        .iter()
        .any(|body| key.strip_prefix(body).is_some_and(|it| it.starts_with(' ')))
}

fn is_key(word: &str) -> bool {
    let inside = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-';
    word.len() >= 2 && word.chars().all(inside) && word.contains(|c: char| c.is_ascii_uppercase())
}

fn is_requirement(word: &str) -> bool {
    let digits = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_digit());
    let numbers = word.strip_prefix('S').and_then(|it| it.split_once('-'));
    numbers.is_some_and(|(of, number)| digits(of) && digits(number))
}

/// Returns the words of a line that is a comment, or nothing.
fn prose_of_comment(line: &str) -> &str {
    let line = line.trim_start();
    ["//!", "///", "//"]
        .iter()
        .find_map(|marker| line.strip_prefix(marker))
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{citations, is_listed, listed_keys};
    use crate::source::RustFile;

    #[test]
    fn every_form_of_citation_is_found() {
        for (line, expected) in [
            ("/// As LOKO Eq. (9), and more.", vec!["LOKO Eq. (9)"]),
            ("/// (LOKO Table 2)", vec!["LOKO Table 2"]),
            ("// OF13 clause 7.3.4.1.", vec!["OF13 clause 7.3.4.1"]),
            ("/// RFC 5880 section 6.8.4", vec!["RFC 5880 section 6.8.4"]),
            (
                "/// RFC 3550, and IEC 61850-9-2.",
                vec!["RFC 3550", "IEC 61850-9-2"],
            ),
            (
                "/// IEEE 802.1Q clause 8.6.8",
                vec!["IEEE 802.1Q clause 8.6.8"],
            ),
            ("/// MC-SDN section IV-A", vec!["MC-SDN section IV-A"]),
            (
                "/// Restores (S0-3), S4-5/S4-6.",
                vec!["S0-3", "S4-5", "S4-6"],
            ),
            ("(1, \"LOKO section 2.3\"),", vec!["LOKO section 2.3"]),
            (
                "/// Nothing: LOKO, Table of s1-s2, TCP, S4, Eq. (9)",
                vec![],
            ),
        ] {
            assert_eq!(texts(line), expected, "in {line}");
        }
    }

    #[test]
    fn a_citation_may_break_over_the_line() {
        assert_eq!(texts("/// As in LOKO\n/// Eq. (9)."), ["LOKO Eq. (9)"]);
        assert_eq!(texts("let a = LOKO\nEq. (9)"), Vec::<String>::new());
    }

    #[test]
    fn keys_are_the_first_column_of_a_table() {
        let document =
            "| key | x |\n| --- | --- |\n| `LOKO` | S9-9 |\n| S4-7 | y |\n| IEC 61850 | z |\n";

        let listed = listed_keys(document);

        assert_eq!(
            listed.iter().map(String::as_str).collect::<Vec<_>>(),
            ["IEC 61850", "LOKO", "S4-7"]
        );
        assert!(is_listed("IEC 61850-9-2", &listed));
        assert!(!is_listed("S4-70", &listed));
    }

    fn texts(text: &str) -> Vec<String> {
        let source = RustFile::parse(Path::new("src/a.rs"), text);
        citations(&source)
            .into_iter()
            .map(|(citation, _)| citation.text())
            .collect()
    }
}
