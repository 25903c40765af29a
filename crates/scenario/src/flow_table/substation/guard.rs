//! Refuses XML that is made to exhaust its reader, before it is parsed.
//!
//! The parser compares each attribute of an element with all others of it, and
//! copies the namespaces in scope to each element that declares one. Both take
//! the square of what a file of a few megabytes can hold; no description has
//! more than some tens of either.

use std::collections::BTreeSet;

use crate::mistake::Mistake;
use crate::problem::TextSpan;

/// The most attributes of one element.
pub(super) const MOST_ATTRIBUTES_OF_ONE: usize = 200;
/// The most attributes of all elements together.
pub(super) const MOST_ATTRIBUTES: usize = 8 << 20;
/// The most prefixes of namespaces.
pub(super) const MOST_PREFIXES: usize = 48;

/// Checks the tags of a text; what is no XML is left to the parser.
///
/// # Errors
///
/// The first limit that is passed, and where.
pub(super) fn check(text: &str) -> Result<(), (TextSpan, Mistake)> {
    let mut prefixes = BTreeSet::new();
    let mut attributes = 0;
    let mut at = 0;
    while let Some(open) = text[at..].find('<').map(|open| at + open) {
        let rest = &text[open..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = skipped.iter().find(|(start, _)| rest.starts_with(start)) {
            let Some(length) = rest.find(end) else {
                return Ok(());
            };
            at = open + length + end.len();
            continue;
        }
        let tag = Tag::read(rest, &mut prefixes);
        attributes += tag.attributes;
        let place = open..open + 1;
        let limits = [
            (
                "attributes of an element",
                tag.attributes,
                MOST_ATTRIBUTES_OF_ONE,
            ),
            ("attributes", attributes, MOST_ATTRIBUTES),
            ("prefixes of namespaces", prefixes.len(), MOST_PREFIXES),
        ];
        for (what, count, limit) in limits {
            if count > limit {
                return Err((place, Mistake::TooMany { what, count, limit }));
            }
        }
        at = open + tag.length;
    }
    Ok(())
}

/// What a tag is made of.
struct Tag {
    length: usize,
    attributes: usize,
}

impl Tag {
    /// Reads up to the end of the tag with which `rest` begins; notes the
    /// prefixes that it declares.
    fn read<'a>(rest: &'a str, prefixes: &mut BTreeSet<&'a str>) -> Self {
        let bytes = rest.as_bytes();
        let (mut at, mut attributes, mut name) = (1, 0, 1);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'>' => break,
                b'"' | b'\'' => {
                    let end = bytes[at + 1..].iter().position(|other| other == byte);
                    at += end.map_or(bytes.len(), |end| end + 1);
                }
                b'=' => {
                    attributes += 1;
                    if let Some(prefix) = rest[name..at].trim().strip_prefix("xmlns:") {
                        prefixes.insert(prefix);
                    }
                }
                byte if byte.is_ascii_whitespace() => name = at + 1,
                _ => {}
            }
            at += 1;
        }
        let length = at.min(bytes.len());
        Self { length, attributes }
    }
}
