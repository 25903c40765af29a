//! Reads a table of streams or of virtual links.
//!
//! The first row is the header; [`columns`](super::columns) says what it may
//! hold. Every further row is a flow. A row that says something impossible is
//! left out with a remark; the others are kept.

use std::collections::BTreeMap;

use super::FlowNames;
use super::columns::{Columns, Meaning};
use super::csv::{CsvRow, Rows};
use super::rows::{Cells, Flaw};
use super::{FlowSet, ImportedFlow, Open, Options, Remark};
use crate::ScenarioError;
use crate::limits::{LONGEST_FILE, MOST_FLOWS, MOST_RECEIVERS};
use crate::mistake::{Mistake, quote};
use crate::problem::Problems;

/// Reads the table of the file `name`.
pub(super) fn read(name: &str, text: &str, options: &Options) -> Result<FlowSet, ScenarioError> {
    let mut problems = Problems::default();
    let set = read_rows(text, options, &mut problems);
    match problems.is_empty() {
        true => Ok(set.expect("where there is no header there is a problem")),
        false => Err(problems.into_error(name, text, "CSV")),
    }
}

fn read_rows(text: &str, options: &Options, problems: &mut Problems) -> Option<FlowSet> {
    if text.len() > LONGEST_FILE {
        let mistake = Mistake::too_long(text.len(), LONGEST_FILE);
        problems.report(0..0, mistake);
        return None;
    }
    let mut rows = Rows::new(text);
    let header = match rows.next() {
        Ok(Some(header)) => header,
        Ok(None) => {
            let mistake = Mistake::Contradiction {
                sentence: "the table is empty".to_owned(),
                help: "its first row names the columns: `flow,src,dst,frame_bytes,period_us,\
                       deadline_us`"
                    .to_owned(),
            };
            problems.report(0..0, mistake);
            return None;
        }
        Err((place, mistake)) => {
            problems.report(place, mistake);
            return None;
        }
    };
    let columns = Columns::read(&header, options, problems);
    require(&columns, options, problems);
    if !problems.is_empty() {
        return None;
    }
    let mut set = FlowSet::default();
    note_header(&header, &columns, &mut set);
    read_flows(&mut rows, &columns, options, &mut set, problems);
    Some(set)
}

/// Reports columns without which no row is a flow.
fn require(columns: &Columns, options: &Options, problems: &mut Problems) {
    let name = |open| options.said.name(open);
    let names = [Meaning::Name, Meaning::VirtualLink];
    columns.require("what a flow is called", &names, "", problems);
    if options.source.is_none() {
        let otherwise = format!("; or give the sender of all as `{}`", name(Open::Source));
        columns.require("who sends", &[Meaning::Source], &otherwise, problems);
    }
    if options.receivers.is_empty() {
        let option = name(Open::Receivers);
        let otherwise = format!("; or give the receivers of all as `{option}`");
        columns.require("who receives", &[Meaning::Receivers], &otherwise, problems);
    }
    let sizes = [
        Meaning::Frame,
        Meaning::FrameWithCheck,
        Meaning::Payload,
        Meaning::Message,
    ];
    columns.require("how large a frame is", &sizes, "", problems);
    let times = [
        Meaning::Period,
        Meaning::Gap,
        Meaning::Rate,
        Meaning::MinTime,
    ];
    columns.require("how often a flow sends", &times, "", problems);
    if options.deadline.is_none() {
        let best_effort = [Meaning::Deadline, Meaning::Kind, Meaning::Priority];
        let option = name(Open::Deadline);
        let otherwise = format!("; or give the deadline of all as `{option}`");
        if !best_effort.iter().any(|meaning| columns.has(*meaning)) {
            columns.require(
                "how late a frame may be",
                &[Meaning::Deadline],
                &otherwise,
                problems,
            );
        }
    }
}

/// Notes what of the header has no meaning here.
fn note_header(header: &CsvRow<'_>, columns: &Columns, set: &mut FlowSet) {
    for unread in &columns.unread {
        set.assume(Remark {
            line: header.line,
            subject: format!("column `{}`", quote(unread)),
            reason: "has no meaning here and was not read".to_owned(),
            help: String::new(),
        });
    }
}

fn read_flows(
    rows: &mut Rows<'_>,
    columns: &Columns,
    options: &Options,
    set: &mut FlowSet,
    problems: &mut Problems,
) {
    let limit = usize::try_from(MOST_FLOWS).expect("a usize has 32 bits at least");
    let mut flows = NamedFlows::default();
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return,
            Err((place, mistake)) => {
                problems.report(place, mistake);
                return;
            }
        };
        if set.flows.len() >= limit {
            let count = limit + 1;
            let place = row.fields.first().map_or(0..0, |field| field.place.clone());
            problems.report(
                place,
                Mistake::TooMany {
                    what: "flows",
                    count,
                    limit,
                },
            );
            return;
        }
        let cells = Cells::new(columns, &row);
        let added = cells.flow(options).and_then(|flow| flows.add(flow, set));
        if let Err(flaw) = added {
            set.leave_out(Remark {
                line: row.line,
                subject: format!("`{}`", quote(cells.name().unwrap_or_default())),
                reason: flaw.reason,
                help: flaw.help,
            });
        }
    }
}

/// The flows by the names that the table gives them.
#[derive(Default)]
struct NamedFlows {
    names: FlowNames,
    by_name: BTreeMap<String, usize>,
}

impl NamedFlows {
    /// Adds the flow of a row; one that is there already gets its receivers.
    fn add(&mut self, flow: ImportedFlow, set: &mut FlowSet) -> Result<(), Flaw> {
        if let Some(first) = self.by_name.get(&flow.name) {
            return add_receivers(&mut set.flows[*first], flow);
        }
        let name = self.names.give(std::slice::from_ref(&flow.name));
        self.by_name.insert(flow.name.clone(), set.flows.len());
        set.flows.push(ImportedFlow { name, ..flow });
        Ok(())
    }
}

/// Adds the receivers of a further row of the same flow.
fn add_receivers(first: &mut ImportedFlow, further: ImportedFlow) -> Result<(), Flaw> {
    let as_first = ImportedFlow {
        name: first.name.clone(),
        receivers: first.receivers.clone(),
        line: first.line,
        ..further.clone()
    };
    let line = first.line;
    if as_first != *first {
        let help = "a flow may have a row for each receiver if all else is the same";
        return Err(Flaw::new(
            format!("line {line} has a flow of this name"),
            help,
        ));
    }
    for receiver in further.receivers {
        if first.receivers.contains(&receiver) {
            let reason = format!("line {line} has this flow to `{receiver}`");
            return Err(Flaw::new(reason, ""));
        }
        if first.receivers.len() == usize::try_from(MOST_RECEIVERS).unwrap_or(usize::MAX) {
            let reason = format!("more than {MOST_RECEIVERS} receivers");
            return Err(Flaw::new(reason, ""));
        }
        first.receivers.push(receiver);
    }
    Ok(())
}
