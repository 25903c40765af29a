//! What the machine did to a measurement: without it a figure says little.

use std::fs;

use serde_json::{Value, json};
use units::Duration;

use crate::subject::Running;

/// How the kernel counts time in `/proc/stat`; one tick of `USER_HZ`.
const TICK: Duration = Duration::from_ms(10);

/// What disturbed a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// For how long the subject stood ready while something else had its processor.
    pub waited: Duration,
    /// For how long the hypervisor had the processors, in ticks of 10 ms.
    pub stolen: Duration,
    /// By how much the sender was late at most.
    pub sender_late: Duration,
}

impl Disturbance {
    /// What disturbs nothing.
    pub const NONE: Self = Self {
        waited: Duration::ZERO,
        stolen: Duration::ZERO,
        sender_late: Duration::ZERO,
    };

    /// Returns both, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            waited: self.waited + other.waited,
            stolen: self.stolen + other.stolen,
            sender_late: self.sender_late.max(other.sender_late),
        }
    }

    /// Returns it as it stands in a result file.
    pub fn to_json(self) -> Value {
        json!({
            "subject_waited_ns": self.waited.as_ns(),
            "stolen_ns": self.stolen.as_ns(),
            "sender_late_max_ns": self.sender_late.as_ns(),
        })
    }
}

/// Watches from now on.
#[derive(Debug)]
pub struct Watch {
    waited: Duration,
    stolen: Duration,
}

impl Watch {
    /// Begins to watch.
    pub fn start(running: &Running) -> Self {
        Self {
            waited: running.waited(),
            stolen: stolen(),
        }
    }

    /// Ends.
    pub fn finish(self, running: &Running, sender_late: Duration) -> Disturbance {
        Disturbance {
            waited: running.waited().saturating_sub(self.waited),
            stolen: stolen().saturating_sub(self.stolen),
            sender_late,
        }
    }
}

/// Returns for how long the hypervisor has had the processors.
fn stolen() -> Duration {
    const STOLEN: usize = 8;
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text
        .lines()
        .next()
        .and_then(|all| all.split_whitespace().nth(STOLEN));
    TICK * ticks
        .and_then(|ticks| ticks.parse::<u32>().ok())
        .unwrap_or(0)
}
