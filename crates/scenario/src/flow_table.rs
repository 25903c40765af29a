//! Flow sets of others: substation descriptions and tables of streams.
//!
//! A user who has a network has a file that says what crosses it. [`read`]
//! takes such a file as it is and says, neutrally, who sends what to whom:
//!
//! - a substation description (IEC 61850-6, `.scd` and its relatives): every
//!   GOOSE and Sampled Values control block with its address, its data set, and
//!   the IEDs that subscribe to it;
//! - a table (`.csv`) of virtual links (AFDX) or of streams, with a header.
//!
//! What can be kept is kept. What cannot is listed in [`FlowSet::left_out`] with
//! its line and what would be right; what had to be assumed is listed in
//! [`FlowSet::assumed`]. Only a file of which nothing can be used is an error.
//!
//! A flow's traffic is one of the kinds that a scenario has, and its contract is
//! computed as for the flows of a scenario.
//!
//! # Left out
//!
//! Reports and commands of IEC 61850, which travel by TCP; routed GOOSE and
//! Sampled Values (R-GOOSE, R-SV); the second copy of redundant networks.

mod columns;
mod csv;
mod row_traffic;
mod rows;
mod substation;
mod table;

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;

use units::Duration;

pub(crate) use substation::{attribute as attribute_of, parse as parse_description};

use crate::mistake::LONGEST_NAME;
use crate::problem::Problems;
use crate::{Contract, Mistake, ScenarioError, Traffic};

/// The longest substation description that is read, in bytes. A table is no
/// longer than [`LONGEST_FILE`](crate::LONGEST_FILE).
pub const LONGEST_DESCRIPTION: usize = 64 << 20;
/// The most remarks of one kind that are kept of one file; more are only
/// counted.
pub const MOST_REMARKS: usize = 1_000;
/// The frequency of the power system in Hz if nothing else is said.
pub const DEFAULT_FREQUENCY_HZ: u32 = 50;
/// The EtherType of GOOSE (IEC 61850-8-1).
const GOOSE: u16 = 0x88B8;
/// The EtherType of Sampled Values (IEC 61850-9-2).
pub(crate) const SAMPLED_VALUES: u16 = 0x88BA;

/// What the caller knows and the file may not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The deadline of flows whose file states none.
    pub deadline: Option<Duration>,
    /// How much later than its time a frame may leave its host, where the file
    /// does not say; if absent, a default of each kind.
    pub jitter: Option<Duration>,
    /// The frequency of the power system in Hz, by which a rate of samples per
    /// period is counted; if absent, the one that the file states, else
    /// [`DEFAULT_FREQUENCY_HZ`].
    pub frequency_hz: Option<u32>,
    /// Of a table with columns for several modes of operation (`period_lo_ms`,
    /// `period_hi_ms`), the one to read (`lo`).
    pub mode: Option<String>,
    /// Who sends, if a table has no column for it.
    pub source: Option<String>,
    /// Who receives, if a table has no column for it, and what of a substation
    /// nobody subscribes to.
    pub receivers: Vec<String>,
    /// Of a substation description with several sub-networks, the one to read.
    pub sub_network: Option<String>,
    pub said: Said,
}

/// Where options are said: a mistake names them as they are spelt there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Said {
    /// In `[[import]]` of a scenario.
    #[default]
    InScenario,
    /// On the command line of `taktos admit --from`.
    OnCommandLine,
}

/// What a file may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Deadline,
    Mode,
    Source,
    Receivers,
    SubNetwork,
}

impl Said {
    /// Returns the name of an option.
    fn name(self, open: Open) -> &'static str {
        match (self, open) {
            (Self::InScenario, Open::Deadline) => "deadline",
            (Self::InScenario, Open::Mode) => "mode",
            (Self::InScenario, Open::Source) => "from",
            (Self::InScenario, Open::Receivers) => "to",
            (Self::InScenario, Open::SubNetwork) => "sub_network",
            (Self::OnCommandLine, Open::Deadline) => "--deadline",
            (Self::OnCommandLine, Open::Mode) => "--mode",
            (Self::OnCommandLine, Open::Source) => "--source",
            (Self::OnCommandLine, Open::Receivers) => "--destination",
            (Self::OnCommandLine, Open::SubNetwork) => "--sub-network",
        }
    }
}

/// The flows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSet {
    /// The flows that could be read, in the order of the file; their names are
    /// unique.
    pub flows: Vec<ImportedFlow>,
    /// What of the file is not among the flows, and why.
    pub left_out: Vec<Remark>,
    /// What was assumed where the file does not say.
    pub assumed: Vec<Remark>,
    /// How many more remarks there are than are listed.
    pub not_listed: usize,
}

/// A flow as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFlow {
    /// Its name, unique in the file.
    pub name: String,
    /// The name of the host that sends.
    pub source: String,
    /// The names of the hosts that receive; at least one, each once, never the
    /// source.
    pub receivers: Vec<String>,
    /// How its frames are recognised, beside their sender.
    pub matching: Matching,
    /// The class of a scenario without classes of its own in which it travels.
    pub class: &'static str,
    /// The queue of that class.
    pub queue: u8,
    /// The priority that the file gives its frames (IEEE 802.1Q), if any.
    pub priority: Option<u8>,
    pub traffic: Traffic,
    /// How late a frame may be. Best-effort flows have none.
    pub deadline: Option<Duration>,
    /// The line of the file in which it stands, from 1.
    pub line: u32,
    /// The byte at which its address begins, in a substation description.
    pub(crate) address: usize,
}

impl ImportedFlow {
    /// Returns what the flow never exceeds, sizes as they occupy the wire, or
    /// nothing for best effort.
    #[must_use]
    pub fn contract(&self) -> Option<Contract> {
        self.traffic.contract()
    }
}

/// The fields by which a flow's frames are recognised. Of those that are `None`
/// the file says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// The EtherType behind a tag, if there is one.
    pub ether_type: Option<u16>,
    /// The hardware address that frames go to.
    pub destination: Option<[u8; 6]>,
    /// The VLAN id; never 0, which only says that a frame has a priority.
    pub vlan: Option<u16>,
    /// The IPv4 address that frames go to.
    pub ipv4_destination: Option<Ipv4Addr>,
    /// The UDP port that frames go to.
    pub udp_port: Option<u16>,
}

/// A remark about a line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1.
    pub line: u32,
    /// What the remark is about, as the file calls it.
    pub subject: String,
    pub reason: String,
    /// What would be right; empty where there is nothing to do.
    pub help: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.subject, self.reason)?;
        match self.help.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.help),
        }
    }
}

/// Reads the flows of the file `file`, whose format follows from the ending of
/// its name.
///
/// # Errors
///
/// The mistakes of a file of which nothing can be used: no table, no column of a
/// kind that every flow needs, an ending that is not known.
pub fn read(file: &str, text: &str, options: &Options) -> Result<FlowSet, ScenarioError> {
    match ending(file).as_str() {
        "csv" | "tsv" | "txt" => table::read(file, text, options),
        "scd" | "cid" | "icd" | "iid" | "sed" | "xml" => substation::read(file, text, options),
        _ => {
            let mut problems = Problems::default();
            let mistake = Mistake::Import {
                file: file.to_owned(),
                what: "flow set",
                reason: "its name ends neither in .csv nor in .scd".to_owned(),
            };
            problems.report(0..0, mistake);
            Err(problems.into_error(file, text, "text"))
        }
    }
}

fn ending(file: &str) -> String {
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    ending.unwrap_or_default().to_ascii_lowercase()
}

impl FlowSet {
    /// Notes what is not among the flows.
    fn leave_out(&mut self, remark: Remark) {
        match self.left_out.len() < MOST_REMARKS {
            true => self.left_out.push(remark),
            false => self.not_listed += 1,
        }
    }

    fn assume(&mut self, remark: Remark) {
        match self.assumed.len() < MOST_REMARKS {
            true => self.assumed.push(remark),
            false => self.not_listed += 1,
        }
    }
}

#[cfg(test)]
mod tests;

/// Gives each flow of a file a name that a scenario and a controller take, and keeps
/// those given so far.
#[derive(Debug, Default)]
struct FlowNames {
    taken: BTreeSet<String>,
}

impl FlowNames {
    /// Returns the first of the wanted names that is free, or the last of them
    /// with a number. Characters that no name has become `-`, and what is longer
    /// than a name is cut.
    fn give(&mut self, wanted: &[String]) -> String {
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
