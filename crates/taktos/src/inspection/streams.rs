//! Streams that go over several ways (IEEE 802.1CB).

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use wire::openflow::taktos::{Answer, Question, StreamReport};

use super::extension;
use super::table::Column;

pub const COLUMNS: &[Column] = &[
    Column::right("stream", "stream"),
    Column::right("entries", "entries"),
    Column::right("numbered", "frames_numbered"),
    Column::right("passed", "frames_passed"),
    Column::right("discarded", "copies_discarded"),
    Column::right("out of order", "frames_out_of_order"),
    Column::right("rogue", "frames_rogue"),
    Column::right("lost", "numbers_lost"),
    Column::right("tagless", "frames_tagless"),
    Column::right("resets", "resets"),
    Column::right("latent errors", "latent_errors"),
    Column::right("held", "frames_held"),
    Column::right("gave up", "frames_that_gave_up"),
    Column::right("late", "frames_late"),
];

/// Returns what was counted of each stream.
pub fn streams(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut rows = Vec::new();
    extension::ask(client, Question::Streams, |answer| {
        if let Answer::Streams(part) = answer {
            for report in part.iter() {
                rows.push(row(&report?));
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

fn row(report: &StreamReport) -> Value {
    let counters = report.counters;
    json!({
        "stream": report.stream.0,
        "entries": report.entries,
        "frames_numbered": counters.numbered,
        "frames_passed": counters.passed,
        "copies_discarded": counters.discarded,
        "frames_out_of_order": counters.out_of_order,
        "frames_rogue": counters.rogue,
        "numbers_lost": counters.lost,
        "frames_tagless": counters.unnumbered,
        "resets": counters.resets,
        "latent_errors": counters.latent_errors,
        "frames_held": counters.held,
        "frames_that_gave_up": counters.gave_up,
        "frames_late": counters.late,
    })
}
