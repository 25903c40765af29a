//! Under which conditions a device was measured, all rounds together.

use serde_json::{Value as Json, json};

use super::Measurement;
use crate::document::quantity::{time, whole};
use crate::statistics::Distribution;

/// What the machine did while one device was measured.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// How many measurements there are.
    pub measurements: usize,
    /// The least and the greatest load of the last minute before and after them, in
    /// hundredths; nothing in virtual time.
    pub load: Option<(u32, u32)>,
    /// How long the machine stood still, each time.
    pub stalls: Distribution,
    /// How long after its intended time each frame left the tester.
    pub lateness: Distribution,
    /// Frames that were left out, since the tester came too late for them.
    pub skipped: u64,
    /// Frames that went by unseen.
    pub unseen: u64,
    /// Frames that arrived when another trial than theirs was under way.
    pub strays: u64,
}

impl Side {
    pub(super) fn of(measurements: &[Measurement]) -> Self {
        let mut side = Self {
            measurements: measurements.len(),
            ..Self::default()
        };
        let earlier =
            |it: &Measurement| it.earlier.iter().map(|it| it.conditions.clone()).collect();
        for measurement in measurements {
            let mut all: Vec<_> = earlier(measurement);
            all.push(measurement.conditions.clone());
            for conditions in all {
                side.stalls.merge(&conditions.stalls);
                side.lateness.merge(&conditions.lateness);
                side.skipped += conditions.skipped;
                side.unseen += conditions.unseen;
                side.strays += conditions.strays;
                if let Some(machine) = conditions.machine {
                    let (low, high) = side.load.unwrap_or((u32::MAX, 0));
                    let (before, after) = (machine.load_before, machine.load_after);
                    side.load = Some((low.min(before).min(after), high.max(before).max(after)));
                }
            }
        }
        side
    }

    /// Says them in a line.
    pub(super) fn sentence(&self) -> String {
        let mut parts = vec![format!("{} measurements", self.measurements)];
        parts.extend(self.load.map(|(low, high)| {
            let load = |it: u32| format!("{}.{:02}", it / 100, it % 100);
            format!("load {} to {}", load(low), load(high))
        }));
        parts.push(match self.stalls.summary() {
            Some(stalls) => format!(
                "{} stalls, {} at most",
                whole(stalls.count),
                time(stalls.max.as_ns())
            ),
            None => "no stall".to_owned(),
        });
        parts.extend(
            self.lateness
                .summary()
                .map(|late| format!("frames left {} late (p99)", time(late.p99.as_ns()))),
        );
        parts.push(format!(
            "left out {}, unseen {}, late from other trials {}",
            whole(self.skipped),
            whole(self.unseen),
            whole(self.strays)
        ));
        parts.join("; ")
    }

    pub(super) fn document(&self) -> Json {
        let ns = |it: Option<units::Duration>| it.map(|it| it.as_ns());
        json!({
            "measurements": self.measurements,
            "load_percent": self.load.map(|(low, high)| [low, high]),
            "stalls": self.stalls.count(),
            "stall_max_ns": ns(self.stalls.max()),
            "lateness_p99_ns": ns(self.lateness.quantile(990)),
            "skipped": self.skipped,
            "unseen": self.unseen,
            "strays": self.strays,
        })
    }
}
