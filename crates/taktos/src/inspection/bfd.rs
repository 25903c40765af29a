//! Whether neighbours are there that are asked for it.

use std::io;

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use wire::bfd::State;
use wire::openflow::taktos::{Answer, BfdReport, Question, SessionOwner, StandIn};

use super::extension::ask;
use super::table::Column;

pub const COLUMNS: &[Column] = &[
    Column::right("port", "port"),
    Column::left("state", "state"),
    Column::left("neighbour", "remote_state"),
    Column::left("live", "live"),
    Column::left("why down", "diagnostic"),
    Column::left("its reason", "remote_diagnostic"),
    Column::left("of", "owner"),
    Column::left("if late", "stand_in"),
    Column::right("interval", "interval_ns"),
    Column::right("detection", "detection_ns"),
    Column::right("sent", "sent"),
    Column::right("stand-ins", "stand_ins"),
    Column::right("received", "received"),
    Column::right("ups", "ups"),
    Column::right("downs", "downs"),
    Column::right("damped", "damped"),
    Column::right("silences", "silences"),
    Column::right("malformed", "malformed"),
    Column::right("hopped", "hopped"),
    Column::right("misdirected", "misdirected"),
    Column::right("forged", "forged"),
    Column::right("replayed", "replayed"),
    Column::right("demanding", "demanding"),
];

/// Returns the sessions with what they heard.
pub fn sessions(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut rows = Vec::new();
    ask(client, Question::Sessions, |answer| {
        if let Answer::Sessions(part) = answer {
            for report in part.iter() {
                rows.push(row(&report?));
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

fn row(report: &BfdReport) -> Value {
    let of = &report.counters;
    json!({
        "port": report.port.0,
        "state": name(report.state),
        "remote_state": name(report.remote_state),
        "live": if report.is_live { "yes" } else { "no" },
        "diagnostic": report.diagnostic.name(),
        "remote_diagnostic": report.remote_diagnostic.name(),
        "owner": match report.owner {
            SessionOwner::Controllers => "controllers",
            SessionOwner::Switch => "switch",
        },
        "stand_in": stand_in(report.stand_in),
        "stand_ins": report.stand_ins,
        "interval_ns": report.interval.as_ns(),
        "detection_ns": report.detection_time.as_ns(),
        "sent": of.sent,
        "received": of.received,
        "malformed": of.malformed,
        "hopped": of.hopped,
        "misdirected": of.misdirected,
        "forged": of.forged,
        "replayed": of.replayed,
        "demanding": of.demanding,
        "ups": of.ups,
        "downs": of.downs,
        "damped": of.damped,
        "silences": of.silences,
    })
}

/// Returns who speaks for the process when it is late.
fn stand_in(it: StandIn) -> String {
    match it {
        StandIn::Nobody => "nobody".to_owned(),
        StandIn::Kernel => "the kernel".to_owned(),
        StandIn::Lacking(error) => {
            let reason = io::Error::from_raw_os_error(error.into());
            format!("nobody: no pacemaker, {reason}")
        }
    }
}

const fn name(state: State) -> &'static str {
    match state {
        State::AdminDown => "admin down",
        State::Down => "down",
        State::Init => "init",
        State::Up => "up",
    }
}
