//! Shows bounds: as JSON for programs, as a table for people.

use calculus::analysis::{FlowBound, FlowId, HopBound, NotApplicable, ServerGraph};
use comfy_table::{CellAlignment, Table, TableStyle};
use scenario::servers::{ServerNetwork, exact_decimal};
use serde::Serialize;
use serde_json::value::RawValue;
use units::fine::{Data, Time};

use super::bounds::AnalysisBounds;

/// Decimal places of our units: millionths of a bit, femtoseconds.
const MILLIONTHS: u8 = 6;
const FEMTO: u8 = 15;

/// How many flows a sentence names.
const MOST_NAMED: usize = 5;

/// A result and what is needed to show it.
#[derive(Debug)]
pub struct ShownResult<'a> {
    /// The network with its names.
    pub described: &'a ServerNetwork,
    /// The network as it was analysed.
    pub network: &'a ServerGraph,
    pub found: &'a AnalysisBounds,
    pub assumed: Option<String>,
    /// How long the search could take.
    pub budget: units::Duration,
}

impl ShownResult<'_> {
    /// Returns the document of `docs/analysis.md`.
    pub fn as_json(&self) -> String {
        let document = Document {
            id: self.described.id.as_deref(),
            flows: self
                .found
                .bounds
                .iter()
                .map(|(flow, bound)| self.flow(*flow, bound))
                .collect(),
            not_applicable: self
                .found
                .not_applicable
                .iter()
                .map(|(method, reason)| Refused {
                    method: method.word(),
                    reason: self.reason(reason),
                })
                .collect(),
            cut_short: self
                .found
                .cut_short
                .iter()
                .map(|(method, flows)| CutShort {
                    method: method.word(),
                    flows: flows
                        .iter()
                        .map(|flow| self.described.flows[flow.index()].id.as_str())
                        .collect(),
                })
                .collect(),
            notes: self.notes(),
            elapsed_ns: u64::try_from(self.found.elapsed.as_nanos()).unwrap_or(u64::MAX),
        };
        let text = serde_json::to_string_pretty(&document).expect("texts and numbers are JSON");
        text + "\n"
    }

    /// Returns a table, a line a flow and method.
    pub fn as_text(&self) -> String {
        let mut table = Table::new();
        table.load_style(TableStyle::new());
        table.set_header(["flow", "method", "delay", "backlog", "longest at"]);
        for column in 2..=3 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for (flow, bound) in &self.found.bounds {
            table.add_row([
                self.described.flows[flow.index()].id.clone(),
                bound.method.word().to_owned(),
                in_words(bound.delay, |delay: Time| delay.round_up().to_string()),
                in_words(bound.backlog, |backlog: Data| {
                    backlog.round_up().to_string()
                }),
                self.longest_hop(bound).unwrap_or_default(),
            ]);
        }
        let table = table.trim_fmt();
        let mut lines: Vec<_> = table
            .lines()
            .map(|line| line.trim_start().to_owned())
            .collect();
        let refused = self.found.not_applicable.iter();
        lines.extend(refused.map(|(method, reason)| {
            format!("{} does not apply: {}", method.word(), self.reason(reason))
        }));
        lines.extend(self.notes());
        lines.extend(self.cut_short());
        lines.push(format!(
            "{} flows over {} servers in {:.1?}",
            self.network.flows().len(),
            self.network.servers().len(),
            self.found.elapsed
        ));
        lines.join("\n") + "\n"
    }

    /// Returns a sentence for each method that did not finish all flows.
    fn cut_short(&self) -> impl Iterator<Item = String> {
        self.found.cut_short.iter().map(|(method, flows)| {
            let named = flows.iter().take(MOST_NAMED);
            let named = named.map(|flow| self.described.flows[flow.index()].id.as_str());
            let named: Vec<_> = named.collect();
            let more = if flows.len() > MOST_NAMED {
                ", …"
            } else {
                ""
            };
            format!(
                "{} did not finish {} of {} flows within {}: {}{more}. They have the best that was \
                 found; --budget gives more time.",
                method.word(),
                flows.len(),
                self.network.flows().len(),
                self.budget,
                named.join(", "),
            )
        })
    }

    fn flow(&self, flow: FlowId, bound: &FlowBound) -> FlowResult<'_> {
        let hops = bound.hops.iter();
        FlowResult {
            id: &self.described.flows[flow.index()].id,
            method: bound.method.word(),
            delay_s: seconds(bound.delay),
            backlog_bit: bits(bound.backlog),
            hops: hops.map(|hop| self.hop(hop)).collect(),
        }
    }

    fn hop(&self, hop: &HopBound) -> HopResult<'_> {
        HopResult {
            server: &self.described.servers[hop.server.index()].id,
            delay_s: seconds(hop.delay),
            backlog_bit: bits(hop.backlog),
        }
    }

    fn longest_hop(&self, bound: &FlowBound) -> Option<String> {
        let unbounded = bound.hops.iter().find(|hop| hop.delay.is_none());
        let longest = unbounded.or_else(|| bound.hops.iter().max_by_key(|hop| hop.delay))?;
        let server = &self.described.servers[longest.server.index()].id;
        let delay = in_words(longest.delay, |delay| delay.round_up().to_string());
        Some(format!("{server}: {delay}"))
    }

    /// Returns all notes: what was assumed, then each with its method.
    fn notes(&self) -> Vec<String> {
        let of_methods = self.found.notes.iter();
        let of_methods = of_methods.map(|(method, note)| format!("{}: {note}", method.word()));
        let read = self.described.warnings.iter().chain(&self.assumed);
        read.cloned().chain(of_methods).collect()
    }

    /// Returns why a method does not apply, with the names of the file.
    fn reason(&self, reason: &NotApplicable) -> String {
        let server = match reason {
            NotApplicable::Multiplexing { server, .. } | NotApplicable::Cycle { server } => *server,
            _ => return reason.to_string(),
        };
        let number = format!("server {}", server.0);
        let name = format!("server `{}`", self.described.servers[server.index()].id);
        reason.to_string().replacen(&number, &name, 1)
    }
}

fn in_words<T>(quantity: Option<T>, say: impl Fn(T) -> String) -> String {
    quantity.map_or_else(|| "unbounded".to_owned(), say)
}

fn seconds(time: Option<Time>) -> Box<RawValue> {
    number(time.map(|time| exact_decimal(time.as_fs(), FEMTO)))
}

fn bits(data: Option<Data>) -> Box<RawValue> {
    number(data.map(|data| exact_decimal(data.as_ubits(), MILLIONTHS)))
}

fn number(text: Option<String>) -> Box<RawValue> {
    let text = text.unwrap_or_else(|| "\"unbounded\"".to_owned());
    RawValue::from_string(text).expect("a decimal number is JSON")
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    flows: Vec<FlowResult<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_applicable: Vec<Refused>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_short: Vec<CutShort<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    elapsed_ns: u64,
}

#[derive(Serialize)]
struct FlowResult<'a> {
    id: &'a str,
    method: &'static str,
    delay_s: Box<RawValue>,
    backlog_bit: Box<RawValue>,
    hops: Vec<HopResult<'a>>,
}

#[derive(Serialize)]
struct HopResult<'a> {
    server: &'a str,
    delay_s: Box<RawValue>,
    backlog_bit: Box<RawValue>,
}

#[derive(Serialize)]
struct CutShort<'a> {
    method: &'static str,
    flows: Vec<&'a str>,
}

#[derive(Serialize)]
struct Refused {
    method: &'static str,
    reason: String,
}
