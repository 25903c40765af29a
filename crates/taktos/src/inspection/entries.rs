//! Entries and tables.

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use units::Duration;
use wire::openflow::multipart::{FlowStatistics, FlowStatisticsRequest, ReplyBody, RequestBody};
use wire::openflow::{DecodeError, FlowModFlags, TableId};

use super::table::Column;
use super::words;

pub const FLOW_COLUMNS: &[Column] = &[
    Column::right("table", "table"),
    Column::right("priority", "priority"),
    Column::right("packets", "packets"),
    Column::right("bytes", "bytes"),
    Column::right("age", "age_ns"),
    Column::right("idle", "idle_timeout_ns"),
    Column::right("hard", "hard_timeout_ns"),
    Column::left("cookie", "cookie"),
    Column::left("match", "match"),
    Column::left("actions", "actions"),
];

pub const TABLE_COLUMNS: &[Column] = &[
    Column::right("table", "table"),
    Column::right("entries", "entries"),
    Column::right("lookups", "lookups"),
    Column::right("matched", "matched"),
];

/// Returns all entries, by table and falling priority.
pub fn flows(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found: Vec<((u8, u16), Value)> = Vec::new();
    let question = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
    client.ask(question, |part| {
        if let ReplyBody::Flow(entries) = part {
            for entry in entries.iter() {
                let entry = entry?;
                found.push(((entry.table.0, u16::MAX - entry.priority), flow(&entry)?));
            }
        }
        Ok(())
    })?;
    found.sort_by_key(|(key, _)| *key);
    Ok(found.into_iter().map(|(_, value)| value).collect())
}

fn flow(entry: &FlowStatistics<'_>) -> Result<Value, DecodeError> {
    Ok(json!({
        "table": entry.table.0,
        "priority": entry.priority,
        "cookie": format!("{:#x}", entry.cookie.0),
        "packets": entry.packets,
        "bytes": entry.bytes,
        "age_ns": entry.age.as_ns(),
        "idle_timeout_ns": timeout(entry.idle_timeout_s),
        "hard_timeout_ns": timeout(entry.hard_timeout_s),
        "sends_flow_removed": entry.flags.contains(FlowModFlags::SEND_FLOW_REMOVED),
        "match": words::matching(&entry.matching)?,
        "actions": words::instructions(&entry.instructions)?,
    }))
}

/// Returns a timeout that is not zero: zero means none.
fn timeout(seconds: u16) -> Option<u64> {
    (seconds != 0).then(|| Duration::from_secs(u64::from(seconds)).as_ns())
}

/// Returns the tables that have entries or were looked up in.
pub fn tables(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found = Vec::new();
    client.ask(RequestBody::Table, |part| {
        if let ReplyBody::Table(tables) = part {
            for table in tables.iter() {
                let table = table?;
                if table.entries == 0 && table.lookups == 0 {
                    continue;
                }
                found.push(json!({
                    "table": table.table.0,
                    "entries": table.entries,
                    "lookups": table.lookups,
                    "matched": table.matched,
                }));
            }
        }
        Ok(())
    })?;
    Ok(found)
}
