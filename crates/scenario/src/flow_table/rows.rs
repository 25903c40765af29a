//! What one row of a table says.

use units::{BitRate, DataSize, Delay, Duration, ParseQuantityError};

use super::columns::{Columns, Meaning};
use super::csv::CsvRow;
use super::row_traffic::{RowTraffic, RowTrafficKind};
use super::{GOOSE, ImportedFlow, Matching, Open, Options, SAMPLED_VALUES};
use crate::class::DEFAULT_CLASSES;
use crate::limits::MOST_RECEIVERS;
use crate::mistake::quote;
use crate::shape::{HIGHEST_RATE, LARGEST_SIZE, LONGEST_TIME, LOWEST_RATE};

/// The addresses of virtual links begin so; the number of the link follows in
/// 16 bits (ARINC 664 part 7).
const VIRTUAL_LINK_PREFIX: [u8; 4] = [0x03, 0, 0, 0];
const IPV4: u16 = 0x0800;

/// Why a row is no flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) reason: String,
    /// What would be right; empty if the reason says it.
    pub(super) help: String,
}

impl Flaw {
    pub(super) fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        let (reason, help) = (reason.into(), help.into());
        Self { reason, help }
    }
}

/// A row with the meaning of its fields. What is empty is not there.
pub(super) struct Cells<'r, 'a> {
    columns: &'r Columns,
    row: &'r CsvRow<'a>,
}

impl<'r, 'a> Cells<'r, 'a> {
    pub(super) fn new(columns: &'r Columns, row: &'r CsvRow<'a>) -> Self {
        Self { columns, row }
    }

    /// Returns what the row calls itself.
    pub(super) fn name(&self) -> Option<&str> {
        let name = || self.text(Meaning::Name);
        self.text(Meaning::VirtualLink).or_else(name)
    }

    /// Returns the flow that the row describes, under its own name.
    ///
    /// # Errors
    ///
    /// Why it describes none.
    pub(super) fn flow(&self, options: &Options) -> Result<ImportedFlow, Flaw> {
        if self.row.fields.len() != self.columns.count {
            let (fields, count) = (self.row.fields.len(), self.columns.count);
            return Err(Flaw::new(
                format!("the row has {fields} fields, and the header names {count} columns"),
                "put a field that contains a separator into quotes",
            ));
        }
        let name = self
            .name()
            .ok_or_else(|| Flaw::new("the row has no name", ""))?;
        let source = self.text(Meaning::Source).or(options.source.as_deref());
        let source = source.ok_or_else(|| Flaw::new("nobody sends it", "name the sender"))?;
        let receivers = self.receivers(source, options)?;
        let priority = self.priority()?;
        let kind = self.kind(priority)?;
        let traffic = RowTraffic {
            cells: self,
            options,
            kind,
            tagged: self.is_tagged()?,
        };
        let traffic = traffic.read()?;
        if kind.has_one_receiver() && receivers.len() > 1 {
            return Err(Flaw::new(
                format!("{} receivers of a flow to one", receivers.len()),
                "messages and best effort go to one receiver each: write a row for each",
            ));
        }
        let (class, queue) = self.class(kind, priority);
        Ok(ImportedFlow {
            name: name.to_owned(),
            source: source.to_owned(),
            receivers,
            matching: self.matching(kind)?,
            class,
            queue,
            priority: priority.and_then(Priority::number),
            traffic,
            deadline: self.deadline(kind, options)?,
            line: self.row.line,
            address: 0,
        })
    }

    fn receivers(&self, source: &str, options: &Options) -> Result<Vec<String>, Flaw> {
        let named = self.text(Meaning::Receivers).map(|text| {
            let separators = |c: char| c.is_whitespace() || "+;,|&".contains(c);
            let names = text.split(separators).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        });
        let receivers: Vec<String> = named.unwrap_or_else(|| options.receivers.clone());
        let limit = usize::try_from(MOST_RECEIVERS).expect("the constant is small");
        if receivers.is_empty() {
            return Err(Flaw::new(
                "nobody receives it",
                "name a receiver, several as `a+b`",
            ));
        }
        if receivers.len() > limit {
            let count = receivers.len();
            let reason = format!("{count} receivers are more than the {limit} that are allowed");
            return Err(Flaw::new(reason, ""));
        }
        for (index, receiver) in receivers.iter().enumerate() {
            if receiver == source {
                return Err(Flaw::new(format!("`{source}` would send to itself"), ""));
            }
            if receivers[..index].contains(receiver) {
                return Err(Flaw::new(
                    format!("receiver `{receiver}` is named twice"),
                    "",
                ));
            }
        }
        Ok(receivers)
    }

    /// Returns the kind that the row states, or the one that its columns suit.
    /// What states no deadline and is not urgent has no promise.
    fn kind(&self, priority: Option<Priority>) -> Result<RowTrafficKind, Flaw> {
        let stated = self.text(Meaning::Kind).map(|word| {
            RowTrafficKind::of_word(word).ok_or_else(|| {
                let reason = format!("unknown kind `{}`", quote(word));
                Flaw::new(reason, "there are SV, GOOSE, UDP, message and BE")
            })
        });
        let stated = stated.transpose()?;
        let class = self.text(Meaning::Class).unwrap_or_default().to_lowercase();
        let urgent = match priority {
            Some(priority) => priority != Priority::Number(0),
            None => !matches!(class.as_str(), "be" | "best-effort"),
        };
        let promised = urgent || self.text(Meaning::Deadline).is_some();
        Ok(match stated {
            Some(RowTrafficKind::Udp) | None if !promised => RowTrafficKind::BestEffort,
            Some(kind) => kind,
            None if self.text(Meaning::Message).is_some() => RowTrafficKind::Message,
            None if self.text(Meaning::MinTime).is_some() => RowTrafficKind::Goose,
            None => RowTrafficKind::Udp,
        })
    }

    fn priority(&self) -> Result<Option<Priority>, Flaw> {
        let Some(text) = self.text(Meaning::Priority) else {
            return Ok(None);
        };
        match text.to_lowercase().as_str() {
            "high" => Ok(Some(Priority::High)),
            "mid" | "medium" => Ok(Some(Priority::Mid)),
            "low" => Ok(Some(Priority::Low)),
            "drop" => Err(Flaw::new("it is dropped in this mode", "")),
            number => match number.parse() {
                Ok(number @ 0..=7) => Ok(Some(Priority::Number(number))),
                Ok(_) | Err(_) => Err(Flaw::new(
                    format!("`{}` is no priority", quote(text)),
                    "0 to 7, or high, mid, low, drop",
                )),
            },
        }
    }

    /// Returns the class with its queue: the one that the row names, else the
    /// one of its kind, else the one of its priority.
    fn class(&self, kind: RowTrafficKind, priority: Option<Priority>) -> (&'static str, u8) {
        let classes = || DEFAULT_CLASSES.into_iter();
        let of_name = |name: &str| classes().find(|(class, _)| *class == name);
        let by_kind = of_name(kind.class()).expect("every kind has a default class");
        let named = self.text(Meaning::Class);
        let named = named.and_then(|name| of_name(name.to_lowercase().as_str()));
        let named =
            named.filter(|(_, queue)| (*queue == 0) == (kind == RowTrafficKind::BestEffort));
        let by_priority = match (kind, priority) {
            (RowTrafficKind::Udp | RowTrafficKind::Message, Some(priority)) => {
                let queue = priority.queue().max(by_kind.1);
                classes().find(|(_, other)| *other <= queue)
            }
            (RowTrafficKind::Udp | RowTrafficKind::Message, None)
            | (
                RowTrafficKind::SampledValues | RowTrafficKind::Goose | RowTrafficKind::BestEffort,
                _,
            ) => None,
        };
        named.or(by_priority).unwrap_or(by_kind)
    }

    fn deadline(&self, kind: RowTrafficKind, options: &Options) -> Result<Option<Duration>, Flaw> {
        if kind == RowTrafficKind::BestEffort {
            return Ok(None);
        }
        let deadline = self.time(Meaning::Deadline)?.or(options.deadline);
        let missing = || {
            let option = options.said.name(Open::Deadline);
            let help = format!("fill in its deadline, or give one for all as `{option}`");
            Flaw::new("it has no deadline", &help)
        };
        deadline.map(Some).ok_or_else(missing)
    }

    fn matching(&self, kind: RowTrafficKind) -> Result<Matching, Flaw> {
        let vlan = self.integer(Meaning::Vlan, 4094)?;
        let port = self.integer(Meaning::Port, u32::from(u16::MAX))?;
        let narrow = |number: u32| u16::try_from(number).expect("the limit has 16 bits");
        let link = self.columns.has(Meaning::VirtualLink) || self.columns.has(Meaning::Gap);
        let ether_type = match kind {
            RowTrafficKind::SampledValues => Some(SAMPLED_VALUES),
            RowTrafficKind::Goose => Some(GOOSE),
            RowTrafficKind::Udp if link || port.is_some() || self.text(Meaning::Ip).is_some() => {
                Some(IPV4)
            }
            RowTrafficKind::Udp | RowTrafficKind::Message | RowTrafficKind::BestEffort => None,
        };
        let destination = match self.text(Meaning::Mac) {
            Some(text) => Some(crate::shape::parse_mac(text).ok_or_else(|| {
                let reason = format!("`{}` is no hardware address", quote(text));
                Flaw::new(reason, "such as 01-0C-CD-04-00-01")
            })?),
            None if link => self.virtual_link(),
            None => None,
        };
        let ip = self.text(Meaning::Ip).map(|text| {
            let wrong = |_| Flaw::new(format!("`{}` is no IPv4 address", quote(text)), "");
            text.parse().map_err(wrong)
        });
        Ok(Matching {
            ether_type: self.ether_type()?.or(ether_type),
            destination,
            vlan: vlan.filter(|vlan| *vlan > 0).map(narrow),
            ipv4_destination: ip.transpose()?,
            udp_port: port.map(narrow),
        })
    }

    fn ether_type(&self) -> Result<Option<u16>, Flaw> {
        let Some(text) = self.text(Meaning::EtherType) else {
            return Ok(None);
        };
        let digits = text.trim_start_matches("0x").trim_start_matches("0X");
        u16::from_str_radix(digits, 16).map(Some).map_err(|_| {
            let reason = format!("`{}` is no EtherType", quote(text));
            Flaw::new(reason, "four hexadecimal digits, such as 88BA")
        })
    }

    /// Returns the address of a virtual link whose name ends in its number.
    fn virtual_link(&self) -> Option<[u8; 6]> {
        let name = self.name()?;
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let [high, low] = digits.parse::<u16>().ok()?.to_be_bytes();
        let [a, b, c, d] = VIRTUAL_LINK_PREFIX;
        Some([a, b, c, d, high, low])
    }

    /// Returns whether frames carry a tag: the row gives them a VLAN or a
    /// priority as a number.
    fn is_tagged(&self) -> Result<bool, Flaw> {
        let priority = self.priority()?.and_then(Priority::number);
        Ok(priority.is_some() || self.text(Meaning::Vlan).is_some())
    }

    pub(super) fn text(&self, meaning: Meaning) -> Option<&str> {
        let column = self.columns.of(meaning)?;
        let field = self.row.fields.get(column.index)?;
        Some(&*field.text).filter(|text| !text.is_empty())
    }

    pub(super) fn has_gap(&self) -> bool {
        self.columns.has(Meaning::Gap)
    }

    /// Returns a time, never zero, rounded down to whole nanoseconds: what comes
    /// oftener and what is due earlier is the harder case.
    pub(super) fn time(&self, meaning: Meaning) -> Result<Option<Duration>, Flaw> {
        let time = self.delay(meaning)?;
        let Some(time) = time.map(|time| Duration::from_ns(time.as_ps() / 1_000)) else {
            return Ok(None);
        };
        match time == Duration::ZERO {
            true => Err(self.flaw(meaning, "is less than a nanosecond")),
            false => Ok(Some(time)),
        }
    }

    /// Returns a time that may be zero, rounded up to whole nanoseconds.
    pub(super) fn lateness(&self, meaning: Meaning) -> Result<Option<Duration>, Flaw> {
        Ok(self.delay(meaning)?.map(Delay::round_up))
    }

    fn delay(&self, meaning: Meaning) -> Result<Option<Delay>, Flaw> {
        let delay: Option<Delay> = self.quantity(meaning)?;
        match delay {
            Some(delay) if delay > Delay::from(LONGEST_TIME) => {
                Err(self.flaw(meaning, &format!("is longer than {LONGEST_TIME}")))
            }
            Some(_) | None => Ok(delay),
        }
    }

    pub(super) fn size(&self, meaning: Meaning) -> Result<Option<DataSize>, Flaw> {
        let size: Option<DataSize> = self.quantity(meaning)?;
        match size {
            Some(size) if size == DataSize::from_bytes(0) || size > LARGEST_SIZE => {
                Err(self.flaw(meaning, &format!("is not between 1 bit and {LARGEST_SIZE}")))
            }
            Some(size) => Ok(Some(DataSize::from_bytes(size.bytes_up()))),
            None => Ok(None),
        }
    }

    pub(super) fn rate(&self, meaning: Meaning) -> Result<Option<BitRate>, Flaw> {
        let rate: Option<BitRate> = self.quantity(meaning)?;
        match rate {
            Some(rate) if !(LOWEST_RATE..=HIGHEST_RATE).contains(&rate) => {
                let range = format!("is not between {LOWEST_RATE} and {HIGHEST_RATE}");
                Err(self.flaw(meaning, &range))
            }
            Some(_) | None => Ok(rate),
        }
    }

    fn integer(&self, meaning: Meaning, most: u32) -> Result<Option<u32>, Flaw> {
        let Some(text) = self.text(meaning) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) if number <= most => Ok(Some(number)),
            Ok(_) | Err(_) => Err(self.flaw(meaning, &format!("is no number from 0 to {most}"))),
        }
    }

    /// Returns a quantity in the unit of the header, or in its own. Digits that
    /// the quantity cannot hold are cut off.
    fn quantity<T>(&self, meaning: Meaning) -> Result<Option<T>, Flaw>
    where
        T: std::str::FromStr<Err = ParseQuantityError>,
    {
        let (Some(text), Some(column)) = (self.text(meaning), self.columns.of(meaning)) else {
            return Ok(None);
        };
        let own_unit = text.ends_with(|c: char| c.is_alphabetic());
        let mut text = match column.unit.filter(|_| !own_unit) {
            Some(unit) => format!("{text} {unit}"),
            None => text.to_owned(),
        };
        loop {
            match text.parse() {
                Ok(quantity) => return Ok(Some(quantity)),
                Err(ParseQuantityError::TooFine) => cut_last_decimal(&mut text),
                Err(error) => return Err(self.flaw(meaning, &format!("is wrong: {error}"))),
            }
        }
    }

    /// Returns the flaw that the value of a column has.
    pub(super) fn flaw(&self, meaning: Meaning, what: &str) -> Flaw {
        let column = self
            .columns
            .of(meaning)
            .map_or("", |column| column.name.as_str());
        let text = self.text(meaning).unwrap_or_default();
        let reason = format!("`{}` in column `{}` {what}", quote(text), quote(column));
        Flaw::new(
            reason,
            "a plain number with a unit here or in the name of the column",
        )
    }
}

/// Removes the last digit of a number with decimals.
fn cut_last_decimal(text: &mut String) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'));
    let last = end.unwrap_or(text.len()).saturating_sub(1);
    text.remove(last);
    if text[..last].ends_with('.') {
        text.remove(last - 1);
    }
}

/// How urgent frames are: a priority of IEEE 802.1Q, or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    Number(u8),
    High,
    Mid,
    Low,
}

impl Priority {
    fn number(self) -> Option<u8> {
        match self {
            Self::Number(number) => Some(number),
            Self::High | Self::Mid | Self::Low => None,
        }
    }

    /// Returns the queue that suits it best.
    fn queue(self) -> u8 {
        match self {
            Self::Number(number) => number,
            Self::High => 6,
            Self::Mid => 5,
            Self::Low => 3,
        }
    }
}
