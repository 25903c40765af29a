//! What the machine did to a measurement: without it a figure says little.

use std::fs;

use linux::clock;
use measure::statistics::Distribution;
use serde_json::{Value, json};
use units::{Duration, Instant};

use crate::document;
use crate::running::Running;
use lab::process;

/// How the kernel counts time in `/proc/stat`; one tick of `USER_HZ`.
const TICK: Duration = Duration::from_ms(10);

#[derive(Clone, Debug, Default)]
pub struct Disturbance {
    /// For how long the subject stood ready while something else had its processor.
    pub waited: Duration,
    /// For how long the hypervisor had the processors, in ticks of 10 ms.
    pub stolen: Duration,
    /// By how much the sender woke up late. What the kernel carries on the sender's
    /// processor stands still where the sender does, and the timers that pace a port
    /// are late where the sender's are.
    pub sender_late: Distribution,
    /// For how long the subject and the sender have run.
    pub ran: Duration,
    pub took: Duration,
}

impl Disturbance {
    /// Adds what disturbed another measurement.
    pub fn add(&mut self, other: &Self) {
        self.waited += other.waited;
        self.stolen += other.stolen;
        self.sender_late.merge(&other.sender_late);
        self.ran += other.ran;
        self.took += other.took;
    }

    /// Returns it as it stands in a result file.
    pub fn to_json(&self) -> Value {
        json!({
            "subject_waited_ns": self.waited.as_ns(),
            "stolen_ns": self.stolen.as_ns(),
            "sender_late": document::of_distribution(&self.sender_late),
            "subject_and_sender_ran_ns": self.ran.as_ns(),
            "took_ns": self.took.as_ns(),
        })
    }
}

#[derive(Debug)]
pub struct Watch {
    waited: Duration,
    stolen: Duration,
    ran: Duration,
    began: Instant,
}

impl Watch {
    pub fn start(running: &Running) -> Self {
        Self {
            waited: running.waited(),
            stolen: stolen(),
            ran: ran(running),
            began: clock::now(),
        }
    }

    pub fn finish(self, running: &Running, sender_late: Distribution) -> Disturbance {
        Disturbance {
            waited: running.waited().saturating_sub(self.waited),
            stolen: stolen().saturating_sub(self.stolen),
            sender_late,
            ran: ran(running).saturating_sub(self.ran),
            took: clock::now() - self.began,
        }
    }
}

/// Returns for how long the subject and this thread, which sends, have run. What the
/// kernel does for a frame while this thread sends it counts as this thread's.
fn ran(running: &Running) -> Duration {
    let subject: Duration = running.busy().into_values().sum();
    subject + process::own_time()
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
