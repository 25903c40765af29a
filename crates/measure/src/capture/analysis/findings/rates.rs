//! At which rate packets were sent and arrived (S3-5).

use units::BitRate;

use super::super::carried::STRETCH;
use super::super::hosts::Sender;
use super::super::{Analysis, Side};
use super::{Setting, side_of};
use crate::measurement::Value;
use crate::method::Findings;

const SOURCE: &str = "S3-5";

/// Draws the figures: rates on the wire, with what stands around frames.
pub(super) fn of(analysis: &Analysis, is_single: bool, findings: &mut Findings) {
    for (host, _, sender) in analysis.hosts.iter() {
        let setting: Setting = vec![("from".to_owned(), host.to_string())];
        if is_single {
            seen(
                sender,
                Side::First,
                ["rate, as seen here", "highest rate"],
                &setting,
                findings,
            );
            continue;
        }
        let side = side_of(analysis, sender);
        let names = ["rate sent", "highest rate sent"];
        seen(sender, side, names, &setting, findings);
        let names = ["rate received", "highest rate received"];
        seen(sender, side.other(), names, &setting, findings);
    }
    findings.remark(format!(
        "Rates are those on the wire, check sequence, preamble and gap included, from the first \
         frame of a sender to its last; the highest ones of {STRETCH}. What was offered limits \
         them: they are no search for the highest rate without loss."
    ));
}

fn seen(
    sender: &Sender,
    side: Side,
    [name, highest]: [&str; 2],
    setting: &Setting,
    findings: &mut Findings,
) {
    let carried = &sender.carried[side.place()];
    let rates = [(name, carried.rate()), (highest, carried.highest_rate())];
    for (name, rate) in rates {
        findings.add((name, SOURCE), setting, value(rate));
    }
}

fn value(rate: Option<BitRate>) -> Value {
    match rate {
        Some(rate) => Value::Rate(rate),
        None => Value::Unknown("no two frames at different times".to_owned()),
    }
}
