//! The stations that said to be there, by PRP (IEC 62439-3).

use linux::openflow_client::{AskError, Client};
use serde_json::{Map, Value, json};
use units::Duration;
use wire::openflow::taktos::{Answer, LanSight, NodeReport, Question};
use wire::prp::SupervisionKind;

use super::table::Column;
use super::{Shown, extension};

pub const COLUMNS: &[Column] = &[
    Column::left("station", "station"),
    Column::left("spoken for by", "redbox"),
    Column::left("duplicates", "duplicates"),
    Column::right("over A", "frames_a"),
    Column::right("last", "ago_a_ns"),
    Column::right("over B", "frames_b"),
    Column::right("last", "ago_b_ns"),
];

/// Returns what was heard of each station, and what became of frames that said so.
pub fn nodes(client: &mut Client) -> Result<Shown, AskError> {
    let mut shown = Shown::default();
    extension::ask(client, Question::Nodes, |answer| {
        if let Answer::Nodes(reply) = answer {
            let of = reply.counters;
            shown.head = Map::from_iter([
                ("sent".to_owned(), json!(of.sent)),
                ("heard".to_owned(), json!(of.heard)),
                ("malformed".to_owned(), json!(of.malformed)),
                ("unexpected".to_owned(), json!(of.unexpected)),
                ("repeated".to_owned(), json!(of.repeated)),
                ("excess".to_owned(), json!(of.excess)),
            ]);
            for report in reply.nodes.iter() {
                shown.rows.push(row(&report?));
            }
        }
        Ok(())
    })?;
    Ok(shown)
}

fn row(report: &NodeReport) -> Value {
    let [a, b] = report.lans;
    let ago = |lan: LanSight| lan.ago.map(Duration::as_ns);
    json!({
        "station": report.station.to_string(),
        "redbox": report.redbox.map(|it| it.to_string()),
        "duplicates": match report.kind {
            SupervisionKind::DuplicateDiscard => "discarded",
            SupervisionKind::DuplicateAccept => "accepted",
        },
        "frames_a": a.frames,
        "ago_a_ns": ago(a),
        "frames_b": b.frames,
        "ago_b_ns": ago(b),
    })
}
