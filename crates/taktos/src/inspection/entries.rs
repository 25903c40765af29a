//! Entries, groups, meters and tables.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use units::Duration;
use wire::openflow::multipart::{FlowStatistics, FlowStatisticsRequest, ReplyBody, RequestBody};
use wire::openflow::{DecodeError, FlowModFlags, GroupId, MeterFlags, MeterId, TableId};

use super::client::{AskError, Client};
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

pub const GROUP_COLUMNS: &[Column] = &[
    Column::right("group", "group"),
    Column::left("type", "type"),
    Column::right("packets", "packets"),
    Column::right("bytes", "bytes"),
    Column::right("references", "references"),
    Column::right("age", "age_ns"),
    Column::left("buckets", "buckets/actions"),
];

pub const METER_COLUMNS: &[Column] = &[
    Column::right("meter", "meter"),
    Column::right("packets", "packets"),
    Column::right("bytes", "bytes"),
    Column::right("flows", "flows"),
    Column::right("age", "age_ns"),
    Column::left("bands", "bands/band"),
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

/// Returns all groups, by number.
pub fn groups(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found: BTreeMap<u32, Value> = BTreeMap::new();
    client.ask(RequestBody::GroupDescription, |part| {
        if let ReplyBody::GroupDescription(groups) = part {
            for group in groups.iter() {
                let group = group?;
                let buckets = group.buckets.iter().map(|it| words::bucket(&it?));
                let buckets = buckets.collect::<Result<Vec<_>, _>>()?;
                found.insert(
                    group.group.0,
                    json!({
                        "group": group.group.0,
                        "type": words::group_type(group.kind),
                        "packets": 0, "bytes": 0, "references": 0, "age_ns": 0,
                        "buckets": buckets
                            .iter()
                            .map(|actions| json!({"actions": actions, "packets": 0, "bytes": 0}))
                            .collect::<Vec<_>>(),
                    }),
                );
            }
        }
        Ok(())
    })?;
    client.ask(RequestBody::Group(GroupId::ALL), |part| {
        if let ReplyBody::Group(groups) = part {
            for counted in groups.iter() {
                let counted = counted?;
                // A group that was added between the questions is left out.
                let Some(group) = found.get_mut(&counted.group.0) else {
                    continue;
                };
                group["packets"] = counted.packets.into();
                group["bytes"] = counted.bytes.into();
                group["references"] = counted.references.into();
                group["age_ns"] = counted.age.as_ns().into();
                let carried = counted
                    .buckets
                    .iter()
                    .map(|it| it.map(|it| (it.packets, it.bytes)));
                count_parts(&mut group["buckets"], carried)?;
            }
        }
        Ok(())
    })?;
    Ok(found.into_values().collect())
}

/// Enters what the parts of a group or meter counted.
fn count_parts(
    parts: &mut Value,
    counters: impl Iterator<Item = Result<(u64, u64), DecodeError>>,
) -> Result<(), DecodeError> {
    for (part, counter) in parts.as_array_mut().into_iter().flatten().zip(counters) {
        let (packets, bytes) = counter?;
        part["packets"] = packets.into();
        part["bytes"] = bytes.into();
    }
    Ok(())
}

/// Returns all meters, by number.
pub fn meters(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found: BTreeMap<u32, Value> = BTreeMap::new();
    client.ask(RequestBody::MeterConfig(MeterId::ALL), |part| {
        if let ReplyBody::MeterConfig(meters) = part {
            for meter in meters.iter() {
                let meter = meter?;
                let unit = match meter.flags.contains(MeterFlags::PACKETS_PER_SECOND) {
                    true => "packets/s",
                    false => "kbit/s",
                };
                let bands = meter
                    .bands
                    .iter()
                    .map(|it| it.map(|it| words::band(&it, unit)));
                let bands = bands.collect::<Result<Vec<_>, _>>()?;
                found.insert(
                    meter.meter.0,
                    json!({
                        "meter": words::meter_name(meter.meter),
                        "packets": 0, "bytes": 0, "flows": 0, "age_ns": 0,
                        "bands": bands
                            .iter()
                            .map(|band| json!({"band": band, "packets": 0, "bytes": 0}))
                            .collect::<Vec<_>>(),
                    }),
                );
            }
        }
        Ok(())
    })?;
    client.ask(RequestBody::Meter(MeterId::ALL), |part| {
        if let ReplyBody::Meter(meters) = part {
            for counted in meters.iter() {
                let counted = counted?;
                let Some(meter) = found.get_mut(&counted.meter.0) else {
                    continue;
                };
                meter["packets"] = counted.packets.into();
                meter["bytes"] = counted.bytes.into();
                meter["flows"] = counted.flows.into();
                meter["age_ns"] = counted.age.as_ns().into();
                let carried = counted
                    .bands
                    .iter()
                    .map(|it| it.map(|it| (it.packets, it.bytes)));
                count_parts(&mut meter["bands"], carried)?;
            }
        }
        Ok(())
    })?;
    Ok(found.into_values().collect())
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
