//! Reads the flows of a substation description (IEC 61850-6, SCD).
//!
//! A flow is a control block of GOOSE or Sampled Values: [`publishers`] finds
//! them in the IEDs and their addresses under `Communication`; [`subscribers`]
//! finds who binds them; [`frame_size`] bounds their frames by what
//! `DataTypeTemplates` says of the members of their data sets.
//!
//! What the file does not say:
//!
//! - The **deadline** is that of the transfer time class TT6 of IEC 61850-5, 3 ms
//!   from one application to the other. 20 % of it is the network's share, the
//!   rest is that of the two IEDs (IEC 61850-10): 600 us.
//! - State changes of **GOOSE** are no closer than `MinTime`, as in a scenario.
//! - **Sampled Values** of `smpRate` samples a period follow from the frequency
//!   of the power system.

mod addresses;
mod data_types;
mod flows;
mod frame_size;
mod guard;
mod publishers;
mod subscribers;

use roxmltree::{Document, Node, ParsingOptions};
use units::Duration;

use super::{FlowSet, LONGEST_DESCRIPTION, Options};
use crate::ScenarioError;
use crate::mistake::{Mistake, nearest, quote};
use crate::problem::{Problems, TextSpan};

/// The most elements, texts and comments of a description.
pub(super) const MOST_XML_NODES: u32 = 4 << 20;
/// Transfer time class TT6 of IEC 61850-5: trips and samples.
const TRANSFER_TIME: Duration = Duration::from_ms(3);
/// Of a transfer time the network has one in so many parts (IEC 61850-10).
const NETWORK_SHARE: u64 = 5;

/// An element of the description.
pub(crate) type Element<'d> = Node<'d, 'd>;

/// Returns the deadline of what states none.
fn usual_deadline() -> Duration {
    Duration::from_ns(TRANSFER_TIME.as_ns() / NETWORK_SHARE)
}

/// Reads the description of the file `name`.
pub(super) fn read(name: &str, text: &str, options: &Options) -> Result<FlowSet, ScenarioError> {
    let lines = Lines::new(text);
    let set = read_document(text, &lines, options);
    set.map_err(|(place, mistake)| {
        let mut problems = Problems::default();
        problems.report(place, mistake);
        problems.into_error(name, text, "XML")
    })
}

fn read_document(
    text: &str,
    lines: &Lines,
    options: &Options,
) -> Result<FlowSet, (TextSpan, Mistake)> {
    if text.len() > LONGEST_DESCRIPTION {
        return Err((0..0, Mistake::too_long(text.len(), LONGEST_DESCRIPTION)));
    }
    guard::check(text)?;
    let document = parse(text).map_err(|error| not_xml(text, lines, &error))?;
    let root = document.root_element();
    let place = place_of(root);
    if root.tag_name().name() != "SCL" {
        let found = quote(root.tag_name().name());
        let mistake = Mistake::Contradiction {
            sentence: format!("the root of a substation description is <SCL>, not <{found}>"),
            help: "export the file as SCD (IEC 61850-6)".to_owned(),
        };
        return Err((place, mistake));
    }
    let Some(communication) = child(root, "Communication") else {
        let mistake = Mistake::Contradiction {
            sentence: "the description has no <Communication>, so nobody has an address".to_owned(),
            help: "an SCD has one; an ICD or SSD describes parts of a substation only".to_owned(),
        };
        return Err((place, mistake));
    };
    if let Some(wanted) = &options.sub_network {
        find_sub_network(communication, wanted)?;
    }
    Ok(flows::read(root, communication, lines, options))
}

/// Parses a text that is no longer than a description may be.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, roxmltree::Error> {
    let parsing = ParsingOptions {
        allow_dtd: false,
        nodes_limit: MOST_XML_NODES,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, parsing)
}

fn find_sub_network(communication: Element<'_>, wanted: &str) -> Result<(), (TextSpan, Mistake)> {
    let names = || children(communication, "SubNetwork").map(|net| attribute(net, "name"));
    if names().any(|name| name == wanted) {
        return Ok(());
    }
    let mistake = Mistake::Unknown {
        what: "sub-network",
        name: quote(wanted),
        nearest: nearest(wanted, names()).or_else(|| names().next().map(quote)),
        declared: "<Communication>",
    };
    Err((place_of(communication), mistake))
}

fn not_xml(text: &str, lines: &Lines, error: &roxmltree::Error) -> (TextSpan, Mistake) {
    let at = error.pos();
    let place = lines.place(text, at.row, at.col);
    let mistake = match error {
        roxmltree::Error::DtdDetected => Mistake::Contradiction {
            sentence: "the file declares a document type, which may hide a bomb".to_owned(),
            help: "remove <!DOCTYPE …>; a substation description needs none".to_owned(),
        },
        roxmltree::Error::NodesLimitReached => Mistake::TooMany {
            what: "elements",
            count: usize::try_from(MOST_XML_NODES).unwrap_or(usize::MAX) + 1,
            limit: usize::try_from(MOST_XML_NODES).unwrap_or(usize::MAX),
        },
        other => Mistake::Syntax {
            message: quote_long(&other.to_string()),
        },
    };
    let end = text.len();
    (place.start.min(end)..place.end.min(end), mistake)
}

/// What the parser says may repeat names of any length.
fn quote_long(message: &str) -> String {
    message.chars().take(200).collect()
}

/// Returns where the name of an element stands.
fn place_of(element: Element<'_>) -> TextSpan {
    let start = element.range().start;
    start..start + 1 + element.tag_name().name().len()
}

/// Returns the elements of this name right below another.
fn children<'d>(element: Element<'d>, name: &'static str) -> impl Iterator<Item = Element<'d>> {
    let children = element.children();
    children.filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn child<'d>(element: Element<'d>, name: &'static str) -> Option<Element<'d>> {
    children(element, name).next()
}

/// Returns an attribute, empty if it is not there: in SCL the two mean the same. One of
/// another name space, such as `xsi:type` beside `type`, is another attribute.
pub(crate) fn attribute<'d>(element: Element<'d>, name: &str) -> &'d str {
    let mut attributes = element.attributes();
    let own = attributes.find(|it| it.namespace().is_none() && it.name() == name);
    own.map_or("", |it| it.value())
}

/// Returns the text of an element without surrounding spaces.
fn text_of<'d>(element: Element<'d>) -> &'d str {
    element.text().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests;

/// Where the lines of a text begin: finds the line of a place in a long text without
/// reading the text again.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate();
        let behind = breaks
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(behind).collect();
        Self { starts }
    }

    /// Returns the line, from 1, in which a byte stands.
    fn line_of(&self, byte: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= byte);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// Returns the character at a row and a column, both from 1.
    fn place(&self, text: &str, row: u32, column: u32) -> TextSpan {
        let index = |number: u32| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
        let start = self.starts.get(index(row)).copied().unwrap_or(text.len());
        let mut characters = text[start..].char_indices().map(|(at, c)| (start + at, c));
        match characters.nth(index(column)) {
            Some((at, c)) => at..at + c.len_utf8(),
            None => text.len()..text.len(),
        }
    }
}
