//! How long the frames of each entry stayed that left through queues that are watched.

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use units::Duration;
use wire::openflow::DecodeError;
use wire::openflow::taktos::{Answer, HopCoverage, HopRecord, Question};

use super::table::Column;
use super::{Shown, extension, words};

pub const COLUMNS: &[Column] = &[
    Column::right("table", "table"),
    Column::right("priority", "priority"),
    Column::right("port", "port"),
    Column::right("queue", "queue"),
    Column::right("frames", "frames"),
    Column::right("longest", "stay_max_ns"),
    Column::right("p99", "stay_p99_ns"),
    Column::right("budget", "budget_ns"),
    Column::right("above", "frames_above_budget"),
    Column::right("untimed", "frames_untimed"),
    Column::left("cookie", "cookie"),
    Column::left("match", "match"),
];

/// Returns which frames are seen, and how long those of each entry stayed.
pub fn hops(client: &mut Client) -> Result<Shown, AskError> {
    let mut shown = Shown::default();
    extension::ask(client, Question::Hops, |answer| {
        if let Answer::Hops(part) = answer {
            let seen = seen(part.coverage);
            shown.head.insert("seen".to_owned(), seen.into());
            let no_room = part.no_room.into();
            shown.head.insert("frames_without_room".to_owned(), no_room);
            for record in part.records.iter() {
                shown.rows.push(row(&record?)?);
            }
        }
        Ok(())
    })?;
    Ok(shown)
}

const fn seen(coverage: HopCoverage) -> &'static str {
    match coverage {
        HopCoverage::Nothing => "nothing: no queue is watched",
        HopCoverage::All => "all frames through watched queues",
        HopCoverage::CoreOnly => {
            "only frames that the core sends: the kernel does not let us see the others leave"
        }
    }
}

fn row(record: &HopRecord<'_>) -> Result<Value, DecodeError> {
    let buckets = record.buckets.iter().collect::<Result<Vec<_>, _>>()?;
    let quantile =
        |permille| extension::quantile((record.frames, record.longest), &buckets, permille);
    Ok(json!({
        "table": record.table.0,
        "priority": record.priority,
        "cookie": format!("{:#x}", record.cookie.0),
        "port": words::port(record.port),
        "queue": record.queue.0,
        "frames": record.frames,
        "stay_p50_ns": quantile(500),
        "stay_p99_ns": quantile(990),
        "stay_p999_ns": quantile(999),
        "stay_max_ns": record.longest.as_ns(),
        "budget_ns": record.budget.map(Duration::as_ns),
        "frames_above_budget": record.above,
        "frames_untimed": record.untimed,
        "stays": buckets.iter().map(|it| json!({
            "at_most_ns": it.at_most.as_ns(),
            "frames": it.frames,
        })).collect::<Vec<_>>(),
        "match": words::matching(&record.matching)?,
    }))
}
