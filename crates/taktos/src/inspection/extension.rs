//! What a Taktos switch tells beyond OpenFlow 1.3: the cost of a frame, the stay
//! in each queue, losses by entry, and the switch as a whole.

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use units::Duration;
use wire::openflow::DecodeError;
use wire::openflow::multipart::{ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer, Question, QueueResidence, ResidenceBucket, SwitchTally, Work,
};

use super::table::Column;
use super::words;

pub const COST_COLUMNS: &[Column] = &[
    Column::left("from", "from"),
    Column::right("entries", "entries"),
    Column::right("masks", "masks"),
    Column::right("tables", "tables_max"),
    Column::right("lookups", "lookups_max"),
    Column::right("slots", "slots_max"),
    Column::right("actions", "actions_max"),
    Column::right("buckets", "buckets_max"),
];

pub const LOSS_COLUMNS: &[Column] = &[
    Column::right("table", "table"),
    Column::right("priority", "priority"),
    Column::right("dropped", "dropped_packets"),
    Column::left("cookie", "cookie"),
    Column::left("match", "match"),
];

pub const TALLY_COLUMNS: &[Column] = &[
    Column::left("counter", "counter"),
    Column::right("value", "value"),
];

/// Returns what a frame costs at most: from its arrival on, then from each table
/// that has entries on.
pub fn cost(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut rows = Vec::new();
    ask(client, Question::Cost, |answer| {
        if let Answer::Cost(cost) = answer {
            rows.push(work("a frame's arrival".to_owned(), cost.frame));
            for table in cost.tables.iter() {
                let table = table?;
                let mut row = work(format!("table {}", table.table.0), table.onward);
                row["entries"] = table.entries.into();
                row["masks"] = table.masks.into();
                rows.push(row);
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

fn work(from: String, work: Work) -> Value {
    json!({
        "from": from,
        "tables_max": work.tables,
        "lookups_max": work.lookups,
        "slots_max": work.slots,
        "actions_max": work.actions,
        "buckets_max": work.buckets,
    })
}

/// Adds to the rows of queues how long their frames stayed.
pub fn add_residence(client: &mut Client, queues: &mut [Value]) -> Result<(), AskError> {
    ask(client, Question::Residence, |answer| {
        if let Answer::Residence(part) = answer {
            for residence in part.iter() {
                add(queues, &residence?)?;
            }
        }
        Ok(())
    })
}

fn add(queues: &mut [Value], residence: &QueueResidence<'_>) -> Result<(), DecodeError> {
    let (port, number) = (
        words::port_name(residence.port),
        u64::from(residence.queue.0),
    );
    let is_it = |row: &&mut Value| row["port"] == port && row["queue"] == number;
    let buckets: Vec<_> = residence.buckets.iter().collect::<Result<_, _>>()?;
    if let Some(row) = queues.iter_mut().find(is_it) {
        let stays = (residence.frames, residence.longest);
        let quantile = |permille| quantile(stays, &buckets, permille);
        row["residence_p50_ns"] = quantile(500).into();
        row["residence_p99_ns"] = quantile(990).into();
        row["residence_p999_ns"] = quantile(999).into();
        row["residence_max_ns"] = residence.longest.as_ns().into();
    }
    Ok(())
}

/// Returns the time that `permille` of a thousand frames did not exceed.
pub(super) fn quantile(
    (frames, longest): (u64, Duration),
    buckets: &[ResidenceBucket],
    permille: u64,
) -> u64 {
    let wanted = (u128::from(frames) * u128::from(permille)).div_ceil(1000);
    let mut seen = 0;
    let reached = buckets.iter().find(|bucket| {
        seen += u128::from(bucket.frames);
        seen >= wanted
    });
    let end = reached.map_or(longest, |bucket| bucket.at_most);
    end.min(longest).as_ns()
}

/// Returns the entries that lost frames at ports.
pub fn losses(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut rows = Vec::new();
    ask(client, Question::Losses, |answer| {
        if let Answer::Losses(part) = answer {
            for entry in part.iter() {
                let entry = entry?;
                rows.push(json!({
                    "table": entry.table.0,
                    "priority": entry.priority,
                    "dropped_packets": entry.dropped,
                    "cookie": format!("{:#x}", entry.cookie.0),
                    "match": words::matching(&entry.matching)?,
                }));
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// Returns what the switch as a whole did, counter by counter.
pub fn tally(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut rows = Vec::new();
    ask(client, Question::Tally, |answer| {
        if let Answer::Tally(tally) = answer {
            rows = counters(&tally);
        }
        Ok(())
    })?;
    Ok(rows)
}

fn counters(tally: &SwitchTally) -> Vec<Value> {
    let counters = [
        ("frames", tally.frames),
        ("refused", tally.refused),
        ("oversized", tally.oversized),
        ("overrun", tally.overrun),
        ("missed", tally.missed),
        ("abandoned", tally.abandoned),
        ("metered", tally.metered),
        ("buckets_skipped", tally.buckets_skipped),
        ("outputs", tally.outputs),
        ("sent", tally.sent),
        ("dropped", tally.dropped),
        ("to_controllers", tally.punted),
        ("to_controllers_dropped", tally.punts_dropped),
        ("bad_messages", tally.bad_messages),
        ("bad_connections", tally.bad_connections),
        ("waiting", tally.waiting),
        ("free_buffers", tally.free_buffers),
    ];
    let rows = counters.map(|(counter, value)| json!({"counter": counter, "value": value}));
    rows.into()
}

pub(super) fn ask(
    client: &mut Client,
    question: Question,
    mut take: impl FnMut(Answer<'_>) -> Result<(), DecodeError>,
) -> Result<(), AskError> {
    client.ask(RequestBody::Experimenter(question.body()), |part| {
        let ReplyBody::Experimenter(body) = part else {
            return Ok(());
        };
        match Answer::parse(body)? {
            Some(answer) => take(answer),
            None => Ok(()),
        }
    })
}
