//! Tells how much processor time was used: by each thread of this process, and by
//! the interrupts of the whole machine.
//!
//! What a thread used is exact, and holds the soft interrupts that the kernel did
//! while the thread was its guest: the frames that a host sends go on to the next
//! switches before the call returns. The machine's interrupts are sampled by the
//! kernel at every tick, so that the two are no sum.
//!
//! Sources: `Documentation/scheduler/sched-stats.rst`, `proc(5)`.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use units::{Duration, Instant};

use crate::clock;

/// How the kernel counts for programs, whatever its own ticks are (`USER_HZ`).
const TICK: Duration = Duration::from_ms(10);
/// The places of the times of a processor in `/proc/stat` behind its name.
const IDLE: usize = 3;
const WAITING: usize = 4;
const INTERRUPTS: usize = 5;
const SOFT_INTERRUPTS: usize = 6;
const STOLEN: usize = 7;
/// A line for each processor.
const BACKLOGS: &str = "/proc/net/softnet_stat";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    at: Instant,
    /// By the number of the thread.
    threads: BTreeMap<u64, Thread>,
    machine: Machine,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thread {
    name: String,
    used: Duration,
}

/// The times of all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Machine {
    interrupts: Duration,
    soft_interrupts: Duration,
    stolen: Duration,
    busy: Duration,
    /// Frames that a processor had no room for before it looked at them.
    dropped: u64,
}

/// What was used between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub elapsed: Duration,
    /// By the threads of this process that there were all the time, by name.
    pub threads: BTreeMap<String, Duration>,
    /// By interrupts of the machine.
    pub interrupts: Duration,
    /// By soft interrupts of the machine, such as the forwarding of frames.
    pub soft_interrupts: Duration,
    /// By the hypervisor, while somebody here wanted to run.
    pub stolen: Duration,
    /// By everything on the machine: the time that its processors were not idle.
    pub busy: Duration,
    /// Frames on their way from one interface to another of the same machine that the
    /// kernel had no room for (`net.core.netdev_max_backlog`).
    pub dropped: u64,
}

impl Usage {
    /// Takes a reading.
    ///
    /// # Errors
    ///
    /// If `/proc` is not there.
    pub fn read() -> io::Result<Self> {
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir("/proc/self/task")? {
            let path = entry?.path();
            // A thread that has just ended is none.
            if let Some((number, thread)) = read_thread(&path) {
                threads.insert(number, thread);
            }
        }
        Ok(Self {
            at: clock::now(),
            threads,
            machine: Machine {
                dropped: dropped(&fs::read_to_string(BACKLOGS).unwrap_or_default()),
                ..read_machine(&fs::read_to_string("/proc/stat")?)
            },
        })
    }

    /// Returns what was used since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Spent {
        let mut threads = BTreeMap::<_, Duration>::new();
        for (number, thread) in &self.threads {
            if let Some(before) = earlier.threads.get(number) {
                let used = thread.used.saturating_sub(before.used);
                let sum = threads.entry(thread.name.clone()).or_default();
                *sum += used;
            }
        }
        let (now, then) = (&self.machine, &earlier.machine);
        Spent {
            elapsed: self.at.saturating_since(earlier.at),
            threads,
            interrupts: now.interrupts.saturating_sub(then.interrupts),
            soft_interrupts: now.soft_interrupts.saturating_sub(then.soft_interrupts),
            stolen: now.stolen.saturating_sub(then.stolen),
            busy: now.busy.saturating_sub(then.busy),
            dropped: now.dropped.saturating_sub(then.dropped),
        }
    }
}

impl Spent {
    /// Returns what the threads used whose names begin with `name`.
    #[must_use]
    pub fn by(&self, name: &str) -> Duration {
        let named = self.threads.iter().filter(|(it, _)| it.starts_with(name));
        named.map(|(_, used)| *used).sum()
    }

    /// Returns what all threads used.
    #[must_use]
    pub fn by_all(&self) -> Duration {
        self.threads.values().copied().sum()
    }
}

fn read_thread(path: &std::path::Path) -> Option<(u64, Thread)> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let name = fs::read_to_string(path.join("comm")).ok()?;
    let times = fs::read_to_string(path.join("schedstat")).ok()?;
    let used = times.split_ascii_whitespace().next()?.parse().ok()?;
    Some((
        number,
        Thread {
            name: name.trim_end().to_owned(),
            used: Duration::from_ns(used),
        },
    ))
}

/// Returns what all processors did, from the text of `/proc/stat`.
fn read_machine(text: &str) -> Machine {
    let all = text.lines().next().unwrap_or_default();
    let times = all.split_ascii_whitespace().skip(1);
    let ticks: Vec<u64> = times.map_while(|time| time.parse().ok()).collect();
    let time = |place: usize| TICK * ticks.get(place).copied().unwrap_or_default();
    let busy = (0..STOLEN).filter(|place| ![IDLE, WAITING].contains(place));
    Machine {
        interrupts: time(INTERRUPTS),
        soft_interrupts: time(SOFT_INTERRUPTS),
        stolen: time(STOLEN),
        busy: busy.map(time).sum(),
        dropped: 0,
    }
}

/// Adds up the second numbers, in hexadecimal, of the lines of all processors.
fn dropped(text: &str) -> u64 {
    let lines = text.lines();
    let dropped = lines.filter_map(|line| line.split_ascii_whitespace().nth(1));
    dropped
        .filter_map(|number| u64::from_str_radix(number, 16).ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_the_machine_are_read_as_the_kernel_writes_them() {
        let text = "cpu  203058 0 48428 165215 21058 3 1416 1443 0 0\ncpu0 1 2 3\n";

        let machine = read_machine(text);

        let expected = Machine {
            interrupts: TICK * 3u64,
            soft_interrupts: TICK * 1_416u64,
            stolen: TICK * 1_443u64,
            busy: TICK * (203_058u64 + 48_428 + 3 + 1_416),
            dropped: 0,
        };
        assert_eq!(machine, expected);
    }

    #[test]
    fn what_processors_had_no_room_for_is_the_second_number_of_each_line() {
        let text = "0002f1a4 0000001f 00000000\n00000001 00000002 0000ffff\n";

        assert_eq!(dropped(text), 0x1f + 2);
        assert_eq!(dropped("nonsense\n"), 0);
    }

    #[test]
    fn what_a_thread_used_is_told_by_its_name() {
        let before = Usage::read().unwrap();
        let begun = clock::spent();
        while clock::spent() < begun + Duration::from_ms(2) {
            std::hint::spin_loop();
        }

        let spent = Usage::read().unwrap().since(&before);

        assert!(spent.by_all() >= Duration::from_ms(2), "{spent:?}");
        assert_eq!(spent.by("no such thread"), Duration::ZERO);
    }
}
