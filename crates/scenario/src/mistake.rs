//! What can be wrong with a text, and what would be right.

use std::ops::Range;

use thiserror::Error;
use units::{BitRate, DataSize, Duration, ParseQuantityError};

use crate::problem::TextSpan;

/// The most characters of a name.
pub(crate) const LONGEST_NAME: usize = 40;
/// The most characters of the user's text that a message repeats.
const LONGEST_QUOTE: usize = 48;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The text is longer than any scenario.
    #[error("the file has {size}, and {limit} is the most that is read")]
    FileTooLong { size: DataSize, limit: DataSize },
    /// A mistake at a place that a name finds better than a line does.
    #[error("{place}: {mistake}")]
    At {
        /// The place, as in `flows[3]`.
        place: String,
        mistake: Box<Mistake>,
    },
    /// The text is no TOML, or no JSON.
    #[error("{message}")]
    Syntax { message: String },
    /// There is no such key.
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        key: String,
        table: String,
        /// The known key that it resembles.
        nearest: Option<String>,
        known: String,
    },
    #[error("`{key}` is missing in {table}")]
    MissingKey {
        key: &'static str,
        table: String,
        /// What it means and looks like.
        about: String,
    },
    /// The value has another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        expected: String,
        found: &'static str,
    },
    /// The text is no quantity of the right unit.
    #[error("`{text}` is no {quantity}: {reason}")]
    NotAQuantity {
        text: String,
        quantity: &'static str,
        reason: ParseQuantityError,
        example: &'static str,
    },
    /// The value is smaller or larger than what has a meaning here.
    #[error("{value} is out of range: {least} to {most}")]
    OutOfRange {
        value: String,
        /// The least that is allowed.
        least: String,
        /// The most that is allowed.
        most: String,
    },
    /// The value is zero where zero has no meaning.
    #[error("a {quantity} of zero has no meaning here")]
    Zero {
        quantity: &'static str,
        example: &'static str,
    },
    /// The size has a fraction of a byte.
    #[error("{size} are no whole bytes")]
    PartOfAByte { size: DataSize },
    /// The text is none of the words that are allowed here.
    #[error("unknown {what} `{text}`")]
    UnknownChoice {
        what: &'static str,
        text: String,
        /// The word that it resembles.
        nearest: Option<String>,
        choices: String,
    },
    /// The text is no address.
    #[error("`{text}` is no {what}")]
    NotAnAddress {
        what: &'static str,
        text: String,
        example: &'static str,
    },
    /// The text is no name.
    #[error("`{text}` is no name")]
    NotAName { text: String },
    /// Something is named that is not there.
    #[error("no {what} is named `{name}`")]
    Unknown {
        what: &'static str,
        name: String,
        /// The known name that it resembles.
        nearest: Option<String>,
        /// Where it should be declared.
        declared: &'static str,
    },
    /// A name, an address or a number is given to two things.
    #[error("{what} `{name}` is given twice")]
    Twice {
        what: &'static str,
        name: String,
        /// Where it was given first.
        first: Range<usize>,
    },
    /// A key does not belong to the kind of thing that it is given to.
    #[error("`{key}` has no meaning for {kind}")]
    KeyOfAnotherKind {
        key: String,
        /// What it is given to.
        kind: &'static str,
        /// The keys that belong to it.
        known: String,
    },
    /// Two keys exclude each other, or one needs the other.
    #[error("{sentence}")]
    Contradiction { sentence: String, help: String },
    /// More of something than Taktos takes.
    #[error("{count} {what} are more than the {limit} that are allowed")]
    TooMany {
        what: &'static str,
        count: usize,
        limit: usize,
    },
    /// A link does not join two different nodes, one of them a switch.
    #[error("a link joins a switch with another switch or with a host, not {found}")]
    LinkEnds { found: String },
    /// A host has no link or more than one.
    #[error("host `{host}` has {links} links")]
    HostLinks { host: String, links: usize },
    /// The receiver cannot be reached.
    #[error("no path leads from `{from}` to `{to}`")]
    NoPath { from: String, to: String },
    /// A flow sends to itself.
    #[error("`{host}` would send to itself")]
    ToItself { host: String },
    /// A frame is larger or smaller than Ethernet frames are.
    #[error("no Ethernet frame has {size}: {least} to {most} without the check sequence")]
    FrameSize {
        size: DataSize,
        least: DataSize,
        most: DataSize,
    },
    /// A promised flow sends more than the link of one of its hosts carries.
    #[error("the flow sends {rate}, and the link of `{host}` carries {link}")]
    AboveLinkRate {
        /// What the flow sends, on the wire.
        rate: BitRate,
        host: String,
        link: BitRate,
    },
    /// A bucket that never lets a frame pass.
    #[error("the burst of {burst} never lets a frame pass, which occupies {frame} on the wire")]
    BurstBelowFrame { burst: DataSize, frame: DataSize },
    /// Something is to happen when the run is over.
    #[error("{what} at {at} comes after the end of the run at {end}")]
    AfterTheEnd {
        what: &'static str,
        at: Duration,
        end: Duration,
    },
    /// An event finds the network in a state that makes no sense of it.
    #[error("{sentence}")]
    EventOutOfOrder { sentence: String },
    /// A file that the text names cannot be read.
    #[error("cannot read `{file}`: {reason}")]
    Load { file: String, reason: String },
    /// A file that the text names does not hold what it should.
    #[error("`{file}` holds no {what}: {reason}")]
    Import {
        file: String,
        what: &'static str,
        /// Why it does not, and where.
        reason: String,
    },
}

impl Mistake {
    /// Returns the mistake of a file of `size` bytes where `limit` are read.
    pub(crate) fn too_long(size: usize, limit: usize) -> Self {
        let bytes = |count| u64::try_from(count).unwrap_or(u64::MAX) & (u64::MAX >> 4);
        Self::FileTooLong {
            size: DataSize::from_bytes(bytes(size)),
            limit: DataSize::from_bytes(bytes(limit)),
        }
    }

    /// Returns the last part of the code under which the mistake is listed.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::FileTooLong { .. } => "file_too_long",
            Self::At { mistake, .. } => mistake.code(),
            Self::Syntax { .. } => "syntax",
            Self::UnknownKey { .. } => "unknown_key",
            Self::MissingKey { .. } => "missing_key",
            Self::WrongType { .. } => "wrong_type",
            Self::NotAQuantity { .. } => "not_a_quantity",
            Self::OutOfRange { .. } => "out_of_range",
            Self::Zero { .. } => "zero",
            Self::PartOfAByte { .. } => "part_of_a_byte",
            Self::UnknownChoice { .. } => "unknown_choice",
            Self::NotAnAddress { .. } => "not_an_address",
            Self::NotAName { .. } => "not_a_name",
            Self::Unknown { .. } => "unknown_name",
            Self::Twice { .. } => "twice",
            Self::KeyOfAnotherKind { .. } => "key_of_another_kind",
            Self::Contradiction { .. } => "contradiction",
            Self::TooMany { .. } => "too_many",
            Self::LinkEnds { .. } => "link_ends",
            Self::HostLinks { .. } => "host_links",
            Self::NoPath { .. } => "no_path",
            Self::ToItself { .. } => "to_itself",
            Self::FrameSize { .. } => "frame_size",
            Self::AboveLinkRate { .. } => "above_link_rate",
            Self::BurstBelowFrame { .. } => "burst_below_frame",
            Self::AfterTheEnd { .. } => "after_the_end",
            Self::EventOutOfOrder { .. } => "event_out_of_order",
            Self::Load { .. } => "load",
            Self::Import { .. } => "import",
        }
    }

    /// Returns what stands under the marked text.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::FileTooLong { .. } => "the limit is here",
            Self::At { mistake, .. } => mistake.label(),
            Self::Syntax { .. } => "here",
            Self::UnknownKey { .. } => "not a key of this table",
            Self::MissingKey { .. } => "in this one",
            Self::WrongType { .. } => "of the wrong type",
            Self::NotAQuantity { .. } => "number and unit, please",
            Self::OutOfRange { .. } => "out of range",
            Self::Zero { .. } => "more than zero, please",
            Self::PartOfAByte { .. } => "whole bytes, please",
            Self::UnknownChoice { .. } => "not one of them",
            Self::NotAnAddress { .. } => "no address",
            Self::NotAName { .. } => "no name",
            Self::Unknown { .. } => "not declared",
            Self::Twice { .. } => "again here",
            Self::KeyOfAnotherKind { .. } => "without meaning here",
            Self::Contradiction { .. } => "here",
            Self::TooMany { .. } => "too many",
            Self::LinkEnds { .. } => "these ends",
            Self::HostLinks { .. } => "this host",
            Self::NoPath { .. } => "out of reach",
            Self::ToItself { .. } => "the sender itself",
            Self::FrameSize { .. } => "no size of a frame",
            Self::AboveLinkRate { .. } => "too fast",
            Self::BurstBelowFrame { .. } => "too small",
            Self::AfterTheEnd { .. } => "too late",
            Self::EventOutOfOrder { .. } => "at this time",
            Self::Load { .. } => "named here",
            Self::Import { .. } => "named here",
        }
    }

    /// Returns what would be right, where the message itself does not say.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::At { mistake, .. } => mistake.help(),
            Self::UnknownKey { nearest, known, .. } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("known here: {known}"),
            }),
            Self::UnknownChoice {
                nearest, choices, ..
            } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`? There are {choices}"),
                None => format!("there are {choices}"),
            }),
            Self::Unknown {
                nearest, declared, ..
            } => Some(match nearest {
                Some(nearest) => {
                    format!("did you mean `{nearest}`? Otherwise declare it under {declared}")
                }
                None => format!("declare it under {declared}, or correct the spelling"),
            }),
            Self::MissingKey { about, .. } => Some(about.clone()),
            Self::Zero { example, .. } | Self::NotAQuantity { example, .. } => {
                Some(format!("such as \"{example}\""))
            }
            Self::NotAnAddress { example, .. } => Some(format!("such as \"{example}\"")),
            Self::NotAName { .. } => Some(format!(
                "a name has letters, digits, `-`, `_` and `.`, at most {LONGEST_NAME} of them, \
                 and begins with a letter or a digit"
            )),
            Self::KeyOfAnotherKind { known, .. } => Some(format!("its keys are {known}")),
            Self::Contradiction { help, .. } => Some(help.clone()),
            Self::HostLinks { .. } => {
                Some("a host has exactly one link, to a switch: add or remove under [links]".into())
            }
            Self::NoPath { .. } => Some("join their switches by links".into()),
            Self::BurstBelowFrame { frame, .. } => {
                Some(format!("at least one frame: \"{} B\"", frame.bytes_up()))
            }
            Self::FrameSize { .. } => Some(
                "a frame counts from the destination address to the end of the payload, \
                 VLAN tag included; the 4 B check sequence is not counted"
                    .into(),
            ),
            Self::AboveLinkRate { .. } => Some(
                "send less, or give the link a higher `rate`; \
                 only kind \"best-effort\" may overload a link"
                    .into(),
            ),
            Self::AfterTheEnd { .. } => {
                Some("let it come earlier, or give [scenario] a longer `duration`".into())
            }
            Self::FileTooLong { .. }
            | Self::Syntax { .. }
            | Self::WrongType { .. }
            | Self::OutOfRange { .. }
            | Self::PartOfAByte { .. }
            | Self::Twice { .. }
            | Self::TooMany { .. }
            | Self::LinkEnds { .. }
            | Self::ToItself { .. }
            | Self::EventOutOfOrder { .. }
            | Self::Load { .. }
            | Self::Import { .. } => None,
        }
    }

    /// Returns a second place that belongs to the mistake.
    pub(crate) fn first_place(&self) -> Option<(&'static str, &TextSpan)> {
        if let Self::At { mistake, .. } = self {
            return mistake.first_place();
        }
        if let Self::Twice { first, .. } = self {
            return Some(("first here", first));
        }
        None
    }
}

/// Returns the beginning of a text of the user, short enough for a message.
pub(crate) fn quote(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the candidate that `text` most resembles, if it resembles any.
pub(crate) fn nearest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    if text.len() > LONGEST_NAME {
        return None;
    }
    let tolerated = 1 + text.chars().count() / 4;
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(text, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerated)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}
