//! Where frames are handled, in the kernel or in the switch's core, and why.

use linux::openflow_client::{AskError, Client};
use serde_json::{Map, Value, json};
use wire::openflow::DecodeError;
use wire::openflow::multipart::{ReplyBody, RequestBody};
use wire::openflow::taktos::{Answer, EngineItem, EngineReply, EngineSubject, Question};

use super::table::Column;
use super::{Shown, extension, words};

pub const COLUMNS: &[Column] = &[
    Column::left("what", "what"),
    Column::right("number", "number"),
    Column::right("table", "table"),
    Column::right("priority", "priority"),
    Column::left("runs in", "runs_in"),
    Column::left("why", "why"),
    Column::left("cookie", "cookie"),
    Column::left("match", "match"),
];

/// Returns which engine it is, what went where, and where each table, group, meter
/// and entry is handled.
pub fn engine(client: &mut Client) -> Result<Shown, AskError> {
    let mut shown = Shown::default();
    shown
        .head
        .insert("switch".to_owned(), hardware(client)?.into());
    extension::ask(client, Question::Engine, |answer| {
        if let Answer::Engine(part) = answer {
            for (name, value) in counters(&part) {
                shown.head.insert(name.to_owned(), value.into());
            }
            for item in part.items.iter() {
                shown.rows.push(row(&item?, part.generation)?);
            }
        }
        Ok(())
    })?;
    count_entries(&mut shown.head, &shown.rows);
    Ok(shown)
}

/// Returns how the switch describes what it runs on.
fn hardware(client: &mut Client) -> Result<String, AskError> {
    let mut hardware = String::new();
    client.ask(RequestBody::Description, |part| {
        if let ReplyBody::Description(description) = part {
            hardware = description.hardware.to_owned();
        }
        Ok(())
    })?;
    Ok(hardware)
}

fn counters(reply: &EngineReply<'_>) -> [(&'static str, u64); 5] {
    [
        ("generation", reply.generation),
        ("frames_in_kernel", reply.frames),
        ("frames_to_core", reply.handed),
        ("frames_lost_on_the_way", reply.lost),
        ("frames_beyond_limits", reply.too_long),
    ]
}

fn row(item: &EngineItem<'_>, generation: u64) -> Result<Value, DecodeError> {
    let reason = item.reason.map(|reason| reason.to_string());
    let runs_in = match (generation, &reason) {
        (0, _) | (_, Some(_)) => "core",
        (_, None) => "kernel",
    };
    let mut row = subject(&item.subject)?;
    row["runs_in"] = runs_in.into();
    row["why"] = reason.into();
    Ok(row)
}

fn subject(subject: &EngineSubject<'_>) -> Result<Value, DecodeError> {
    Ok(match subject {
        EngineSubject::Table(table) => json!({ "what": "table", "number": table.0 }),
        EngineSubject::Group(group) => json!({ "what": "group", "number": group.0 }),
        EngineSubject::Meter(meter) => json!({ "what": "meter", "number": meter.0 }),
        EngineSubject::Entry {
            table,
            priority,
            cookie,
            matching,
        } => json!({
            "what": "entry",
            "table": table.0,
            "priority": priority,
            "cookie": format!("{:#x}", cookie.0),
            "match": words::matching(matching)?,
        }),
    })
}

fn count_entries(head: &mut Map<String, Value>, rows: &[Value]) {
    let entries = || rows.iter().filter(|row| row["what"] == "entry");
    for (name, place) in [("entries_in_kernel", "kernel"), ("entries_in_core", "core")] {
        let count = entries().filter(|row| row["runs_in"] == place).count();
        head.insert(name.to_owned(), count.into());
    }
}
