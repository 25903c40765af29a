//! What the columns of a table mean, by their names.
//!
//! Tables of others call the same thing by many names. A name is taken apart at
//! spaces, `_`, `-` and brackets; its last part may be a unit (`period_us`,
//! `BAG [ms]`), the part before it a mode of operation (`period_lo_ms`). What is
//! left is looked up below. Capital letters do not matter.

use std::collections::BTreeMap;

use crate::flow_table::csv::CsvRow;
use crate::flow_table::{Open, Options, Said};
use crate::mistake::{Mistake, nearest};
use crate::problem::{Problems, TextSpan};
use crate::shape::list;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meaning {
    /// The name of the flow.
    Name,
    /// The name of a virtual link, which numbers it.
    VirtualLink,
    Source,
    Receivers,
    Kind,
    Class,
    Priority,
    /// The largest frame without its check sequence.
    Frame,
    /// The largest frame with its check sequence, as AFDX counts it.
    FrameWithCheck,
    Payload,
    Message,
    Period,
    /// The bandwidth allocation gap: the shortest time between two frames.
    Gap,
    Rate,
    Burst,
    Jitter,
    Deadline,
    MinTime,
    MaxTime,
    Mac,
    Vlan,
    EtherType,
    Ip,
    Port,
}

const NAMES: &[(Meaning, &[&str])] = &[
    (
        Meaning::Name,
        &["flow", "name", "stream", "stream_id", "flow_id", "id"],
    ),
    (
        Meaning::VirtualLink,
        &["vl", "vl_id", "vlid", "virtual_link"],
    ),
    (
        Meaning::Source,
        &["src", "source", "from", "sender", "talker", "publisher"],
    ),
    (
        Meaning::Receivers,
        &[
            "dst",
            "dsts",
            "dest",
            "dests",
            "destination",
            "destinations",
            "to",
            "receiver",
            "receivers",
            "listener",
            "listeners",
            "subscriber",
            "subscribers",
        ],
    ),
    (Meaning::Kind, &["kind", "type", "traffic"]),
    (Meaning::Class, &["class", "traffic_class"]),
    (Meaning::Priority, &["pcp", "priority", "vlan_priority"]),
    (
        Meaning::Frame,
        &[
            "frame",
            "frame_size",
            "frame_length",
            "max_frame",
            "largest_frame",
            "length",
        ],
    ),
    (Meaning::FrameWithCheck, &["smax", "s_max", "lmax"]),
    (Meaning::Payload, &["payload", "payload_size"]),
    (Meaning::Message, &["message", "message_size", "size"]),
    (
        Meaning::Period,
        &["period", "interval", "cycle", "cycle_time", "itt"],
    ),
    (Meaning::Gap, &["bag"]),
    (Meaning::Rate, &["rate", "bandwidth"]),
    (Meaning::Burst, &["burst", "bucket"]),
    (Meaning::Jitter, &["jitter", "max_jitter"]),
    (
        Meaning::Deadline,
        &[
            "deadline",
            "latency",
            "max_latency",
            "max_delay",
            "end_to_end",
        ],
    ),
    (Meaning::MinTime, &["min_time", "mintime"]),
    (Meaning::MaxTime, &["max_time", "maxtime"]),
    (
        Meaning::Mac,
        &["mac", "dst_mac", "destination_mac", "group"],
    ),
    (Meaning::Vlan, &["vlan", "vlan_id", "vid"]),
    (Meaning::EtherType, &["ethertype", "ether_type"]),
    (Meaning::Ip, &["ip", "dst_ip", "destination_ip"]),
    (Meaning::Port, &["port", "udp_port", "dst_port"]),
];

/// The units that a name may end in, and how a quantity writes them.
const UNITS: &[(&str, &str)] = &[
    ("ns", "ns"),
    ("us", "us"),
    ("µs", "us"),
    ("μs", "us"),
    ("ms", "ms"),
    ("s", "s"),
    ("byte", "B"),
    ("bytes", "B"),
    ("b", "B"),
    ("bit", "bit"),
    ("bits", "bit"),
    ("kb", "kB"),
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
];

/// The columns of a table.
#[derive(Debug, Default)]
pub(super) struct Columns {
    known: BTreeMap<Meaning, CsvColumn>,
    /// How many fields a row has.
    pub(super) count: usize,
    /// The columns without a meaning here.
    pub(super) unread: Vec<String>,
    place: TextSpan,
    said: Said,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct CsvColumn {
    pub(super) index: usize,
    /// How the header calls it.
    pub(super) name: String,
    /// The unit of its values, if the header says.
    pub(super) unit: Option<&'static str>,
}

impl Columns {
    /// Reads the header of a table; reports columns that mean the same.
    pub(super) fn read(header: &CsvRow<'_>, options: &Options, problems: &mut Problems) -> Self {
        let mode = options.mode.as_deref();
        let start = header.fields.first().map_or(0, |field| field.place.start);
        let end = header.fields.last().map_or(0, |field| field.place.end);
        let mut columns = Self {
            count: header.fields.len(),
            place: start..end.max(start),
            said: options.said,
            ..Self::default()
        };
        let mut places: BTreeMap<Meaning, TextSpan> = BTreeMap::new();
        for (index, field) in header.fields.iter().enumerate() {
            let name = field.text.clone().into_owned();
            let Some((meaning, unit)) = meaning(&name, mode) else {
                columns.unread.push(name);
                continue;
            };
            if let Some(first) = places.get(&meaning) {
                let (what, first) = ("column", first.clone());
                problems.report(field.place.clone(), Mistake::Twice { what, name, first });
                continue;
            }
            places.insert(meaning, field.place.clone());
            columns
                .known
                .insert(meaning, CsvColumn { index, name, unit });
        }
        columns
    }

    /// Returns the column of a meaning, if there is one.
    pub(super) fn of(&self, meaning: Meaning) -> Option<&CsvColumn> {
        self.known.get(&meaning)
    }

    /// Returns whether there is a column of a meaning.
    pub(super) fn has(&self, meaning: Meaning) -> bool {
        self.known.contains_key(&meaning)
    }

    /// Reports that a table has none of these columns. `otherwise` is how to say
    /// without a column what it would say.
    pub(super) fn require(
        &self,
        what: &str,
        any_of: &[Meaning],
        otherwise: &str,
        problems: &mut Problems,
    ) {
        if any_of.iter().any(|meaning| self.has(*meaning)) {
            return;
        }
        let names = NAMES.iter().filter(|(meaning, _)| any_of.contains(meaning));
        let names: Vec<_> = names.flat_map(|(_, names)| names.iter().copied()).collect();
        let similar = self
            .unread
            .iter()
            .find_map(|unread| self.mode_of(unread, &names));
        let similar = similar.map(|(unread, mode)| {
            let option = self.said.name(Open::Mode);
            format!("`{unread}` looks like it, for the mode `{mode}`: choose it with `{option}`; ")
        });
        let resembling = || {
            let unread = self.unread.iter();
            let found = unread.filter(|unread| nearest(unread, names.iter().copied()).is_some());
            found
                .map(|unread| format!("`{unread}` resembles it; "))
                .next()
        };
        let similar = similar.or_else(resembling).unwrap_or_default();
        let mistake = Mistake::Contradiction {
            sentence: format!("no column says {what}"),
            help: format!("{similar}its name is one of {}{otherwise}", list(names)),
        };
        problems.report(self.place.clone(), mistake);
    }

    /// Returns the mode for which an unread column would have one of these
    /// names.
    fn mode_of<'a>(&self, unread: &'a str, names: &[&str]) -> Option<(&'a str, String)> {
        let (parts, _) = parts(unread);
        let (mode, name) = parts.split_last()?;
        names
            .contains(&name.join("_").as_str())
            .then(|| (unread, mode.clone()))
    }
}

/// Returns what a column of this name says, and in which unit.
fn meaning(name: &str, mode: Option<&str>) -> Option<(Meaning, Option<&'static str>)> {
    let whole = words(name);
    let (without_unit, unit) = parts(name);
    let mode = mode.map(str::to_lowercase);
    let without_mode = match (without_unit.split_last(), &mode) {
        (Some((last, rest)), Some(mode)) if last == mode => rest,
        _ => without_unit.as_slice(),
    };
    [
        (whole.as_slice(), None),
        (without_unit.as_slice(), unit),
        (without_mode, unit),
    ]
    .into_iter()
    .find_map(|(words, unit)| Some((look_up(&words.join("_"))?, unit)))
}

fn look_up(name: &str) -> Option<Meaning> {
    let found = NAMES.iter().find(|(_, names)| names.contains(&name));
    found.map(|(meaning, _)| *meaning)
}

/// Returns the words of a name without its unit, and the unit.
fn parts(name: &str) -> (Vec<String>, Option<&'static str>) {
    let mut words = words(name);
    let unit = words.last().and_then(|last| {
        let found = UNITS.iter().find(|(unit, _)| unit == last);
        found.map(|(_, unit)| *unit)
    });
    if unit.is_some() {
        words.pop();
    }
    (words, unit)
}

fn words(name: &str) -> Vec<String> {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| c.is_whitespace() || "_-()[]/".contains(c));
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
