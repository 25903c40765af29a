//! The shapes that values of a file may have, and whether a value has its shape.
//!
//! A format is a tree of [`TableShape`]s, which say for every key what it means and
//! which [`ValueShape`] its value has. The same tables check a file, give typed
//! access to it ([`crate::record`]), and become the JSON Schema
//! ([`crate::schema`]), so that the three cannot differ.

use std::net::Ipv4Addr;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use units::{BitRate, DataSize, Delay, Duration, ParseQuantityError};

use crate::length::Length;
use crate::mistake::{LONGEST_NAME, Mistake, nearest, quote};
use crate::problem::{Problems, TextSpan};

/// The word for a time that does not come.
pub(crate) const NEVER: &str = "never";
/// The longest time that a file may state: longer than any run; far below what
/// [`Delay`] can hold.
pub const LONGEST_TIME: Duration = Duration::from_secs(24 * 3600);
/// The longest delay that a file may state: what the admission calculates with.
pub(crate) const LONGEST_DELAY: Delay = Delay::from_us(100_000_000);
/// Below this the transmission of a large message would outlast [`Delay`].
pub(crate) const LOWEST_RATE: BitRate = BitRate::from_bps(1_000);
pub(crate) const HIGHEST_RATE: BitRate = BitRate::from_mbps(1_000_000);
/// The least and the greatest factor, in thousandths.
const FACTORS: (u32, u32) = (1_001, 1_000_000);
pub(crate) const LARGEST_SIZE: DataSize = DataSize::from_bytes(1_000_000_000);

/// A table of a file: its keys.
pub(crate) struct TableShape {
    /// What the table is called in a message, such as "a flow".
    pub(crate) title: &'static str,
    pub(crate) keys: &'static [KeyShape],
}

/// A key of a table.
pub(crate) struct KeyShape {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) shape: ValueShape,
    /// What it means, with its default.
    pub(crate) about: &'static str,
}

/// Whether a key has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// What a value may look like.
pub(crate) enum ValueShape {
    Text,
    Time(Zero),
    /// A length of time that is not zero, or [`NEVER`].
    TimeOrNever,
    /// A computed delay, which may be shorter than a nanosecond.
    Delay(Zero),
    Rate,
    Size,
    Length,
    Integer {
        least: u32,
        most: u32,
    },
    /// An integer of 63 bits.
    Number,
    /// A number above one, kept in thousandths.
    Factor,
    /// A part of a whole, kept in thousandths.
    Percent,
    Choice(&'static WordChoice),
    Mac,
    /// An IPv4 address.
    Address,
    Table(&'static TableShape),
    /// A table of which the user chooses the keys.
    Map(Keys, &'static ValueShape),
    List(&'static ValueShape),
    /// One of several shapes that differ in their TOML type.
    AnyOf(&'static [ValueShape]),
}

/// The keys that a user may choose.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    Names,
    Rates,
}

/// Whether a time may be zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zero {
    Allowed,
    Refused,
}

pub(crate) struct WordChoice {
    pub(crate) what: &'static str,
    pub(crate) words: &'static [&'static str],
}

impl TableShape {
    pub(crate) fn key(&self, name: &str) -> Option<&'static KeyShape> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Reports everything in which `entries` differ from this table. `place` is
    /// where the table is named.
    pub(crate) fn check(
        &'static self,
        entries: &DeTable<'_>,
        place: &TextSpan,
        problems: &mut Problems,
    ) {
        for (key, value) in entries.iter() {
            match self.key(key.get_ref()) {
                Some(known) => known.shape.check(value, &key.span(), problems),
                None => problems.report_with(key.span(), || self.unknown(key.get_ref())),
            }
        }
        for key in self.keys {
            if key.need == Need::Required && !entries.contains_key(key.name) {
                problems.report(place.clone(), self.missing(key));
            }
        }
    }

    /// Returns the mistake that `key` is missing in this table.
    pub(crate) fn missing(&self, key: &KeyShape) -> Mistake {
        Mistake::MissingKey {
            key: key.name,
            table: self.title.to_owned(),
            about: format!("`{}` is {}", key.name, key.about),
        }
    }

    fn unknown(&self, key: &str) -> Mistake {
        let names = self.keys.iter().map(|key| key.name);
        Mistake::UnknownKey {
            key: quote(key),
            table: self.title.to_owned(),
            nearest: nearest(key, names.clone()),
            known: list(names),
        }
    }
}

impl ValueShape {
    /// Reports everything in which `value` differs from this shape. `key` is
    /// where its key stands.
    fn check(&self, value: &Spanned<DeValue<'_>>, key: &TextSpan, problems: &mut Problems) {
        let place = value.span();
        match (self, value.get_ref()) {
            (Self::Table(table), DeValue::Table(entries)) => table.check(entries, key, problems),
            (Self::Map(keys, shape), DeValue::Table(entries)) => {
                for (key, value) in entries.iter() {
                    if let Err(mistake) = keys.read(key.get_ref()) {
                        problems.report(key.span(), mistake);
                    }
                    shape.check(value, &key.span(), problems);
                }
            }
            (Self::List(shape), DeValue::Array(items)) => {
                for item in items.iter() {
                    shape.check(item, &item.span(), problems);
                }
            }
            (Self::AnyOf(shapes), value_ref) => {
                let fitting = shapes.iter().find(|shape| shape.fits(value_ref));
                match fitting {
                    Some(shape) => shape.check(value, key, problems),
                    None => problems.report(place, self.wrong_type(value_ref)),
                }
            }
            (_, value) => {
                if let Err(mistake) = self.check_scalar(value) {
                    problems.report(place, mistake);
                }
            }
        }
    }

    fn check_scalar(&self, value: &DeValue<'_>) -> Result<(), Mistake> {
        match self {
            Self::Text => self.text(value).map(drop),
            Self::Time(_) => self.time(value).map(drop),
            Self::TimeOrNever => self.time_or_never(value).map(drop),
            Self::Delay(_) => self.delay(value).map(drop),
            Self::Rate => self.rate(value).map(drop),
            Self::Size => self.size(value).map(drop),
            Self::Length => self.length(value).map(drop),
            Self::Integer { .. } => self.integer(value).map(drop),
            Self::Number => self.number(value).map(drop),
            Self::Factor => self.factor(value).map(drop),
            Self::Percent => self.percent(value).map(drop),
            Self::Choice(_) => self.choice(value).map(drop),
            Self::Mac => self.mac(value).map(drop),
            Self::Address => self.address(value).map(drop),
            Self::Table(_) | Self::Map(..) | Self::List(_) | Self::AnyOf(_) => {
                Err(self.wrong_type(value))
            }
        }
    }

    /// Returns whether the value has the TOML type of this shape.
    pub(crate) fn fits(&self, value: &DeValue<'_>) -> bool {
        match self {
            Self::Integer { .. } | Self::Number => value.is_integer(),
            Self::Factor => value.is_integer() || value.is_float(),
            Self::Table(_) | Self::Map(..) => value.is_table(),
            Self::List(_) => value.is_array(),
            Self::AnyOf(shapes) => shapes.iter().any(|shape| shape.fits(value)),
            Self::Text
            | Self::Time(_)
            | Self::TimeOrNever
            | Self::Delay(_)
            | Self::Rate
            | Self::Size
            | Self::Length
            | Self::Percent
            | Self::Choice(_)
            | Self::Mac
            | Self::Address => value.is_str(),
        }
    }

    /// Returns the one of the alternatives of this shape that fits the value.
    pub(crate) fn of(&self, value: &DeValue<'_>) -> &Self {
        let fitting = match self {
            Self::AnyOf(shapes) => shapes.iter().find(|shape| shape.fits(value)),
            Self::Text
            | Self::Time(_)
            | Self::TimeOrNever
            | Self::Delay(_)
            | Self::Rate
            | Self::Size
            | Self::Length
            | Self::Integer { .. }
            | Self::Number
            | Self::Factor
            | Self::Percent
            | Self::Choice(_)
            | Self::Mac
            | Self::Address
            | Self::Table(_)
            | Self::Map(..)
            | Self::List(_) => None,
        };
        fitting.unwrap_or(self)
    }

    pub(crate) fn text<'a>(&self, value: &'a DeValue<'_>) -> Result<&'a str, Mistake> {
        value.as_str().ok_or_else(|| self.wrong_type(value))
    }

    pub(crate) fn time(&self, value: &DeValue<'_>) -> Result<Duration, Mistake> {
        let time: Duration = self.quantity(value)?;
        self.check_zero(time == Duration::ZERO)?;
        self.within(time, Duration::ZERO, LONGEST_TIME)
    }

    /// Returns the time, or nothing for [`NEVER`].
    pub(crate) fn time_or_never(&self, value: &DeValue<'_>) -> Result<Option<Duration>, Mistake> {
        match value.as_str() {
            Some(NEVER) => Ok(None),
            Some(_) | None => Self::Time(Zero::Refused).time(value).map(Some),
        }
    }

    pub(crate) fn delay(&self, value: &DeValue<'_>) -> Result<Delay, Mistake> {
        let delay: Delay = self.quantity(value)?;
        self.check_zero(delay == Delay::ZERO)?;
        self.within(delay, Delay::ZERO, LONGEST_DELAY)
    }

    pub(crate) fn rate(&self, value: &DeValue<'_>) -> Result<BitRate, Mistake> {
        let rate = self.quantity(value)?;
        self.within(rate, LOWEST_RATE, HIGHEST_RATE)
    }

    pub(crate) fn size(&self, value: &DeValue<'_>) -> Result<DataSize, Mistake> {
        let size: DataSize = self.quantity(value)?;
        if !size.as_bits().is_multiple_of(8) {
            return Err(Mistake::PartOfAByte { size });
        }
        self.within(size, DataSize::from_bytes(1), LARGEST_SIZE)
    }

    pub(crate) fn length(&self, value: &DeValue<'_>) -> Result<Length, Mistake> {
        self.quantity(value)
    }

    pub(crate) fn integer(&self, value: &DeValue<'_>) -> Result<u32, Mistake> {
        let Self::Integer { least, most } = self.of(value) else {
            return Err(self.wrong_type(value));
        };
        let number = value.as_integer().ok_or_else(|| self.wrong_type(value))?;
        let parsed = i128::from_str_radix(number.as_str(), number.radix()).ok();
        let out_of_range = || Mistake::OutOfRange {
            value: quote(number.as_str()),
            least: least.to_string(),
            most: most.to_string(),
        };
        let number = parsed.and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (least..=most).contains(&number))
            .ok_or_else(out_of_range)
    }

    pub(crate) fn number(&self, value: &DeValue<'_>) -> Result<u64, Mistake> {
        let number = value.as_integer().ok_or_else(|| self.wrong_type(value))?;
        let most = u64::MAX >> 1;
        let parsed = u64::from_str_radix(number.as_str(), number.radix()).ok();
        parsed
            .filter(|number| *number <= most)
            .ok_or_else(|| Mistake::OutOfRange {
                value: quote(number.as_str()),
                least: "0".to_owned(),
                most: most.to_string(),
            })
    }

    /// Returns a factor in thousandths.
    pub(crate) fn factor(&self, value: &DeValue<'_>) -> Result<u32, Mistake> {
        let text = match value {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.wrong_type(value)),
        };
        let range = FACTORS.0..=FACTORS.1;
        let factor = thousandths(text).filter(|it| range.contains(it));
        factor.ok_or_else(|| Mistake::OutOfRange {
            value: quote(text),
            least: "1.001".to_owned(),
            most: "1000".to_owned(),
        })
    }

    /// Returns a part of a whole in thousandths.
    pub(crate) fn percent(&self, value: &DeValue<'_>) -> Result<u32, Mistake> {
        let text = self.text(value)?;
        let number = text.strip_suffix('%').map(str::trim).and_then(thousandths);
        let part = number.filter(|it| it % 100 == 0 && (100..100_000).contains(it));
        part.map(|part| part / 100)
            .ok_or_else(|| Mistake::OutOfRange {
                value: quote(text),
                least: "0.1 %".to_owned(),
                most: "99.9 %".to_owned(),
            })
    }

    pub(crate) fn choice(&self, value: &DeValue<'_>) -> Result<&'static str, Mistake> {
        let text = self.text(value)?;
        let Self::Choice(choice) = self.of(value) else {
            return Err(self.wrong_type(value));
        };
        let word = choice.words.iter().find(|word| **word == text);
        word.copied().ok_or_else(|| Mistake::UnknownChoice {
            what: choice.what,
            text: quote(text),
            nearest: nearest(text, choice.words.iter().copied()),
            choices: list(choice.words.iter().copied()),
        })
    }

    pub(crate) fn mac(&self, value: &DeValue<'_>) -> Result<[u8; 6], Mistake> {
        let text = self.text(value)?;
        parse_mac(text)
            .filter(|mac| *mac != [0; 6] && mac[0] & 1 == 0)
            .ok_or_else(|| Mistake::NotAnAddress {
                what: "hardware address of a host",
                text: quote(text),
                example: "02:00:00:00:00:01",
            })
    }

    pub(crate) fn address(&self, value: &DeValue<'_>) -> Result<Ipv4Addr, Mistake> {
        let text = self.text(value)?;
        let address = text.parse::<Ipv4Addr>().ok();
        address
            .filter(|ip| !(ip.is_multicast() || ip.is_loopback() || ip.is_broadcast()))
            .filter(|ip| !ip.is_unspecified())
            .ok_or_else(|| Mistake::NotAnAddress {
                what: "IPv4 address of a host",
                text: quote(text),
                example: "10.0.0.1",
            })
    }

    fn check_zero(&self, is_zero: bool) -> Result<(), Mistake> {
        let refused = matches!(self, Self::Time(Zero::Refused) | Self::Delay(Zero::Refused));
        if !is_zero || !refused {
            return Ok(());
        }
        let (quantity, example) = self.example();
        Err(Mistake::Zero { quantity, example })
    }

    fn quantity<T>(&self, value: &DeValue<'_>) -> Result<T, Mistake>
    where
        T: FromStr<Err = ParseQuantityError>,
    {
        let (quantity, example) = self.example();
        let text = match value {
            DeValue::String(text) => text.to_string(),
            // The likeliest mistake of all: the number without its unit.
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            _ => return Err(self.wrong_type(value)),
        };
        text.parse().map_err(|reason| Mistake::NotAQuantity {
            text: quote(&text),
            quantity,
            reason: shorten(reason),
            example,
        })
    }

    fn within<T: PartialOrd + ToString>(&self, value: T, least: T, most: T) -> Result<T, Mistake> {
        if (&least..=&most).contains(&&value) {
            return Ok(value);
        }
        Err(Mistake::OutOfRange {
            value: value.to_string(),
            least: least.to_string(),
            most: most.to_string(),
        })
    }

    /// Returns what values of this shape are called, and one of them.
    pub(crate) fn example(&self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "…"),
            Self::Time(_) | Self::TimeOrNever => ("time", "250 us"),
            Self::Delay(_) => ("delay", "2.5 us"),
            Self::Rate => ("rate", "100 Mbit/s"),
            Self::Size => ("size", "306 B"),
            Self::Length => ("length", "1.5 km"),
            Self::Integer { .. } | Self::Number => ("integer", "1"),
            Self::Factor => ("factor", "2.0"),
            Self::Percent => ("percentage", "5 %"),
            Self::Choice(choice) => (choice.what, "…"),
            Self::Mac => ("hardware address", "02:00:00:00:00:01"),
            Self::Address => ("IPv4 address", "10.0.0.1"),
            Self::Table(_) | Self::Map(..) => ("table", "{ … }"),
            Self::List(_) => ("list", "[ … ]"),
            Self::AnyOf(shapes) => shapes[0].example(),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::AnyOf(shapes) => {
                let shapes: Vec<_> = shapes.iter().map(Self::describe).collect();
                shapes.join(" or ")
            }
            Self::List(shape) => format!("a list (each item {})", shape.describe()),
            Self::Table(_) | Self::Map(..) => "a table".to_owned(),
            Self::Integer { least, most } => format!("an integer from {least} to {most}"),
            Self::Number => "an integer".to_owned(),
            Self::Factor => "a number above 1".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Choice(choice) => format!("one of {}", list(choice.words.iter().copied())),
            Self::Time(_)
            | Self::TimeOrNever
            | Self::Delay(_)
            | Self::Rate
            | Self::Size
            | Self::Length
            | Self::Percent
            | Self::Mac
            | Self::Address => {
                let (what, example) = self.example();
                format!("a {what} such as \"{example}\"")
            }
        }
    }

    fn wrong_type(&self, value: &DeValue<'_>) -> Mistake {
        Mistake::WrongType {
            expected: self.describe(),
            found: match value {
                DeValue::String(_) => "a text",
                DeValue::Integer(_) => "an integer",
                DeValue::Float(_) => "a decimal number",
                DeValue::Boolean(_) => "a truth value",
                DeValue::Datetime(_) => "a date",
                DeValue::Array(_) => "a list",
                DeValue::Table(_) => "a table",
            },
        }
    }
}

impl Keys {
    fn read(self, key: &str) -> Result<(), Mistake> {
        match self {
            Self::Names if is_name(key) => Ok(()),
            Self::Names => Err(Mistake::NotAName { text: quote(key) }),
            Self::Rates => {
                let rate = ValueShape::Rate.rate(&DeValue::String(key.into()));
                rate.map(drop)
            }
        }
    }
}

/// Returns whether the text may be the name of something.
pub(crate) fn is_name(text: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.starts_with(char::is_alphanumeric)
        && text.chars().all(good)
        && text.chars().count() <= LONGEST_NAME
}

/// Returns the hardware address that a text writes in six pairs of digits.
pub(crate) fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(['-', ':']);
    for byte in &mut mac {
        let part = parts.next()?;
        let hex = |c: u8| c.is_ascii_hexdigit();
        if part.len() != 2 || !part.bytes().all(hex) {
            return None;
        }
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// Returns a decimal number with up to three places in thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let is_decimal = |text: &str| text.chars().all(|digit| digit.is_ascii_digit());
    if places.len() > 3 || !is_decimal(places) || !is_decimal(whole) {
        return None;
    }
    format!("{whole}{places:0<3}").parse().ok()
}

/// Returns the reason with what it quotes made short enough for a message.
fn shorten(reason: ParseQuantityError) -> ParseQuantityError {
    match reason {
        ParseQuantityError::Number { text } => ParseQuantityError::Number { text: quote(&text) },
        ParseQuantityError::Unit { unit, units } => ParseQuantityError::Unit {
            unit: quote(&unit),
            units,
        },
        ParseQuantityError::NoUnit { .. }
        | ParseQuantityError::TooFine
        | ParseQuantityError::TooLarge
        | ParseQuantityError::Zero => reason,
    }
}

/// Returns the words in one line.
pub(crate) fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
