//! Ports and their queues.

use std::collections::BTreeMap;

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use wire::openflow::multipart::{ReplyBody, RequestBody};
use wire::openflow::{PortConfig, PortDescription, PortNumber, PortState, QueueId};

use super::table::Column;
use super::{extension, words};

const BPS_PER_KBPS: u64 = 1_000;

pub const PORT_COLUMNS: &[Column] = &[
    Column::right("port", "port"),
    Column::left("name", "name"),
    Column::left("state", "state"),
    Column::right("rate", "rate_bps"),
    Column::right("rx packets", "received_packets"),
    Column::right("rx bytes", "received_bytes"),
    Column::right("rx dropped", "received_dropped"),
    Column::right("tx packets", "sent_packets"),
    Column::right("tx bytes", "sent_bytes"),
    Column::right("tx dropped", "sent_dropped"),
    Column::left("address", "address"),
    Column::left("config", "config"),
];

pub const QUEUE_COLUMNS: &[Column] = &[
    Column::right("port", "port"),
    Column::right("queue", "queue"),
    Column::right("tx packets", "sent_packets"),
    Column::right("tx bytes", "sent_bytes"),
    Column::right("dropped", "dropped_packets"),
    Column::right("stay p50", "residence_p50_ns"),
    Column::right("p99", "residence_p99_ns"),
    Column::right("p99.9", "residence_p999_ns"),
    Column::right("max", "residence_max_ns"),
];

/// Returns all ports, by number.
pub fn ports(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found: BTreeMap<u32, Value> = BTreeMap::new();
    client.ask(RequestBody::PortDescription, |part| {
        if let ReplyBody::PortDescription(ports) = part {
            for port in ports.iter() {
                let port = port?;
                found.insert(port.number.0, describe(&port));
            }
        }
        Ok(())
    })?;
    client.ask(RequestBody::PortStatistics(PortNumber::ANY), |part| {
        if let ReplyBody::PortStatistics(ports) = part {
            for counted in ports.iter() {
                let counted = counted?;
                let Some(port) = found.get_mut(&counted.port.0) else {
                    continue;
                };
                port["received_packets"] = counted.received_packets.into();
                port["received_bytes"] = counted.received_bytes.into();
                port["received_dropped"] = counted.received_dropped.into();
                port["sent_packets"] = counted.sent_packets.into();
                port["sent_bytes"] = counted.sent_bytes.into();
                port["sent_dropped"] = counted.sent_dropped.into();
                port["age_ns"] = counted.age.as_ns().into();
            }
        }
        Ok(())
    })?;
    Ok(found.into_values().collect())
}

fn describe(port: &PortDescription) -> Value {
    let rate_bps = u64::from(port.current_speed_kbps) * BPS_PER_KBPS;
    json!({
        "port": words::port(port.number),
        "name": port.name.as_str(),
        "address": port.address.to_string(),
        "state": match port.state.contains(PortState::LINK_DOWN) {
            true => "down",
            false => "up",
        },
        "config": config(port.config),
        "rate_bps": (rate_bps != 0).then_some(rate_bps),
    })
}

/// Returns what the controller forbids a port.
fn config(config: PortConfig) -> Vec<&'static str> {
    let names = [
        (PortConfig::PORT_DOWN, "port_down"),
        (PortConfig::NO_RECEIVE, "no_recv"),
        (PortConfig::NO_FORWARD, "no_fwd"),
        (PortConfig::NO_PACKET_IN, "no_packet_in"),
    ];
    let set = names.into_iter().filter(|(flag, _)| config.contains(*flag));
    set.map(|(_, name)| name).collect()
}

/// Returns the queues of all ports.
pub fn queues(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found = Vec::new();
    let question = RequestBody::Queue {
        port: PortNumber::ANY,
        queue: QueueId::ALL,
    };
    client.ask(question, |part| {
        if let ReplyBody::Queue(queues) = part {
            for queue in queues.iter() {
                let queue = queue?;
                found.push(json!({
                    "port": words::port(queue.port),
                    "queue": queue.queue.0,
                    "sent_packets": queue.sent_packets,
                    "sent_bytes": queue.sent_bytes,
                    "dropped_packets": queue.sent_errors,
                    "age_ns": queue.age.as_ns(),
                }));
            }
        }
        Ok(())
    })?;
    extension::add_residence(client, &mut found)?;
    Ok(found)
}
