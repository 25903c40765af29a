//! Groups and their buckets.

use std::collections::BTreeMap;

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use wire::openflow::multipart::{GroupDescription, ReplyBody, RequestBody};
use wire::openflow::{Bucket, DecodeError, GroupId, PortNumber};

use super::count_parts;
use super::table::Column;
use super::words;

pub const COLUMNS: &[Column] = &[
    Column::right("group", "group"),
    Column::left("type", "type"),
    Column::right("packets", "packets"),
    Column::right("bytes", "bytes"),
    Column::right("references", "references"),
    Column::right("age", "age_ns"),
    Column::left("buckets", "buckets/bucket"),
];

/// Returns all groups, by number.
pub fn groups(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found: BTreeMap<u32, Value> = BTreeMap::new();
    client.ask(RequestBody::GroupDescription, |part| {
        if let ReplyBody::GroupDescription(groups) = part {
            for group in groups.iter() {
                let group = group?;
                found.insert(group.group.0, describe(&group)?);
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
                let buckets = counted.buckets.iter();
                let carried = buckets.map(|it| it.map(|it| (it.packets, it.bytes)));
                count_parts(&mut group["buckets"], carried)?;
            }
        }
        Ok(())
    })?;
    Ok(found.into_values().collect())
}

fn describe(group: &GroupDescription<'_>) -> Result<Value, DecodeError> {
    let buckets = group.buckets.iter().map(|it| describe_bucket(&it?));
    Ok(json!({
        "group": group.group.0,
        "type": words::group_type(group.kind),
        "packets": 0,
        "bytes": 0,
        "references": 0,
        "age_ns": 0,
        "buckets": buckets.collect::<Result<Vec<_>, _>>()?,
    }))
}

fn describe_bucket(bucket: &Bucket<'_>) -> Result<Value, DecodeError> {
    let watched_port = (bucket.watch_port != PortNumber::ANY).then_some(bucket.watch_port);
    let watched_group = (bucket.watch_group != GroupId::ANY).then_some(bucket.watch_group);
    Ok(json!({
        "bucket": words::bucket(bucket)?,
        "weight": bucket.weight,
        "watch_port": watched_port.map(words::port),
        "watch_group": watched_group.map(|group| group.0),
        "actions": words::actions(&bucket.actions)?,
        "packets": 0,
        "bytes": 0,
    }))
}
