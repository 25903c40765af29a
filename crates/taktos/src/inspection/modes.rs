//! Criticality modes as a switch holds them: what is agreed on, its neighbours, and
//! what its monitors saw.

use linux::openflow_client::{AskError, Client};
use serde_json::{Map, Value, json};
use units::Duration;
use wire::openflow::taktos::{
    Answer, Demanded, ModeCounters, ModeFlags, ModeStatus, MonitorReport, Question,
};

use super::Shown;
use super::extension::ask;
use super::table::Column;

pub const TRUNK_COLUMNS: &[Column] = &[
    Column::right("trunk", "trunk"),
    Column::right("era", "era"),
    Column::right("level", "level"),
    Column::right("heard", "heard_ns"),
];

pub const MONITOR_COLUMNS: &[Column] = &[
    Column::right("monitor", "monitor"),
    Column::right("packets", "packets"),
    Column::right("messages", "messages"),
    Column::right("violations", "violations"),
    Column::right("beyond", "beyond"),
    Column::right("missing", "missing"),
    Column::right("duplicates", "duplicates"),
    Column::right("reordered", "reordered"),
    Column::right("unreadable", "unreadable"),
    Column::right("demands", "demanded_level"),
    Column::right("quiet", "quiet_ns"),
];

/// Returns what is agreed on, and what was last heard on each trunk.
pub fn modes(client: &mut Client) -> Result<Shown, AskError> {
    let mut shown = Shown::default();
    ask(client, Question::Modes, |answer| {
        if let Answer::Modes(status) = answer {
            shown.head = head(&status);
            for trunk in status.trunks.iter() {
                let trunk = trunk?;
                shown.rows.push(json!({
                    "trunk": trunk.port.0,
                    "era": trunk.heard.map(|_| trunk.mode.era),
                    "level": trunk.heard.map(|_| trunk.mode.level.number()),
                    "heard_ns": trunk.heard.map(Duration::as_ns),
                }));
            }
        }
        Ok(())
    })?;
    Ok(shown)
}

fn head(status: &ModeStatus<'_>) -> Map<String, Value> {
    let complete: Vec<_> = status.complete.levels().map(|it| it.number()).collect();
    let values = [
        ("era", json!(status.mode.era)),
        ("level", json!(status.mode.level.number())),
        ("served", json!(status.served.number())),
        ("began_at", json!(format!("{:016x}", status.origin.0))),
        ("complete", json!(complete)),
        ("default", json!(status.default.number())),
        ("locked", json!(status.flags.contains(ModeFlags::LOCKED))),
        ("asks", json!(status.flags.contains(ModeFlags::ASK))),
        ("quiet_ns", json!(status.quiet.map(Duration::as_ns))),
        ("waiting", json!(status.waiting)),
    ];
    let values = values.into_iter().chain(counters(&status.counters));
    values
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn counters(of: &ModeCounters) -> impl Iterator<Item = (&'static str, Value)> {
    let counters = [
        ("entered", of.entered),
        ("demanded", of.demanded),
        ("disregarded", of.disregarded),
        ("signals_sent", of.sent),
        ("heart_beats_sent", of.beats_sent),
        ("signals_received", of.received),
        ("heart_beats_received", of.beats_received),
        ("duplicate", of.duplicate),
        ("stale", of.stale),
        ("forged", of.forged),
        ("misplaced", of.misplaced),
        ("replayed", of.replayed),
        ("malformed", of.malformed),
        ("queued_dropped", of.queued_dropped),
        ("queued_moved", of.queued_moved),
    ];
    counters
        .into_iter()
        .map(|(name, count)| (name, json!(count)))
}

pub fn monitors(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut rows = Vec::new();
    ask(client, Question::Monitors, |answer| {
        if let Answer::Monitors(part) = answer {
            for report in part.iter() {
                rows.push(row(&report?));
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

fn row(report: &MonitorReport) -> Value {
    json!({
        "monitor": report.monitor.0,
        "packets": report.packets,
        "messages": report.messages,
        "violations": report.violations,
        "beyond": report.beyond,
        "missing": report.missing,
        "duplicates": report.duplicates,
        "reordered": report.reordered,
        "unreadable": report.unreadable,
        "demanded_level": report.demanded.map(|demanded| demanded.level().number()),
        "keeps_a_contract": !matches!(report.demanded, Some(Demanded::Beyond(_))),
        "quiet_ns": report.quiet.map(Duration::as_ns),
    })
}
