//! Lets a case happen to two switches, and finds where they part.

use std::fmt::Write as _;

use wire::openflow::Message;

use crate::case::{Case, Step, to_hex};
use crate::subject::{CoreAlone, Engine, Happened, Leaving, Subject};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the step, from zero.
    pub step: usize,
    pub text: String,
}

/// Returns where an engine first does something else than the core alone, if it
/// does.
pub fn compare(case: &Case, engine: &mut dyn Engine) -> Option<Difference> {
    let mut alone = CoreAlone;
    let mut expected = Subject::new(&case.setup, &mut alone);
    let mut subject = Subject::new(&case.setup, engine);
    for (number, step) in case.steps.iter().enumerate() {
        let (wanted, got) = (expected.take(step), subject.take(step));
        if wanted != got {
            let text = describe(step, &wanted, &got);
            return Some(Difference { step: number, text });
        }
    }
    None
}

fn describe(step: &Step, wanted: &Happened, got: &Happened) -> String {
    let mut text = format!("{step}\n");
    for (name, happened) in [("core alone", wanted), ("engine", got)] {
        let _ = writeln!(text, "{name}:");
        for Leaving {
            port,
            length,
            bytes,
        } in &happened.sent
        {
            let _ = writeln!(text, "  sent {port} {length} {}", to_hex(bytes));
        }
        for (connection, bytes) in &happened.told {
            let _ = writeln!(text, "  told {connection} {}", message(bytes));
        }
        if wanted.counters != got.counters {
            let _ = writeln!(text, "  {:?}", happened.counters);
        }
    }
    text
}

fn message(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let Some(length) = rest.get(2..4) {
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let (first, following) = rest.split_at(length.clamp(1, rest.len()));
        rest = following;
        let _ = match Message::parse(first) {
            Ok((_, message)) => write!(text, "{message:?} "),
            Err(_) => write!(text, "{} ", to_hex(first)),
        };
    }
    text
}
