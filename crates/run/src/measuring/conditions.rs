//! The machine on which a measurement is made, and when: without it a figure says
//! little.

use std::fs;

use lab::open_vswitch;
use linux::clock::{self, WallTime};
use linux::scheduling;
use measure::measurement::Machine;
use units::{Duration, Instant};

use super::invocation;

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const LOAD: &str = "/proc/loadavg";
const PROCESSORS: &str = "/proc/cpuinfo";
/// What is said of what cannot be read.
const UNKNOWN: &str = "unknown";

/// What is taken down when a measurement begins.
#[derive(Clone, Debug)]
pub struct Record {
    began: Instant,
    began_unix_ns: u64,
    load_before: u32,
    processors: usize,
}

/// The same when it has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The command that made it.
    pub command: String,
    /// When it began, in nanoseconds since the beginning of 1970.
    pub began_unix_ns: u64,
    pub took: Duration,
    /// The versions of what took part.
    pub versions: Vec<(String, String)>,
    /// The machine, unless time was virtual.
    pub machine: Option<Machine>,
}

impl Record {
    #[must_use]
    pub fn begin() -> Self {
        Self {
            began: clock::now(),
            began_unix_ns: WallTime::now().as_ns(),
            load_before: load(),
            // The tester leaves one of them to the device later.
            processors: scheduling::allowed_processors().len(),
        }
    }

    /// Ends. The machine matters only in `real` time, and a program of others only if it
    /// is the `device`.
    #[must_use]
    pub fn finish(self, real: bool, device: &str) -> Ended {
        let is_meant = real && device.starts_with(open_vswitch::NAME);
        let version = is_meant.then(open_vswitch::version).flatten();
        let named = version.map(|version| (open_vswitch::NAME.to_owned(), version));
        Ended {
            command: command(),
            began_unix_ns: self.began_unix_ns,
            took: clock::now() - self.began,
            versions: named.into_iter().collect(),
            machine: real.then(|| machine(self.load_before, self.processors)),
        }
    }
}

/// Returns what was typed, the program by its name alone.
fn command() -> String {
    let words = invocation::words();
    let words = words.iter().map(|word| word.to_string_lossy());
    let words = words.map(|word| match word.contains(char::is_whitespace) {
        true => format!("'{word}'"),
        false => word.into_owned(),
    });
    std::iter::once("taktos".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns what tells this machine from others: the kernel's release, the name of the
/// processors and how many of them may be used.
#[must_use]
pub fn identity() -> (String, String, usize) {
    let system = rustix::system::uname();
    let facts = fs::read_to_string(PROCESSORS).unwrap_or_default();
    (
        system.release().to_string_lossy().into_owned(),
        processor(&facts).unwrap_or(UNKNOWN).to_owned(),
        scheduling::allowed_processors().len(),
    )
}

fn machine(load_before: u32, processors: usize) -> Machine {
    let (kernel, processor, _) = identity();
    let clock_source = fs::read_to_string(CLOCK_SOURCE);
    Machine {
        kernel,
        processor,
        processors,
        clock_source: clock_source
            .map_or_else(|_| UNKNOWN.to_owned(), |text| text.trim().to_owned()),
        load_before,
        load_after: load(),
    }
}

/// Finds the name in lines such as `model name : …`.
fn processor(facts: &str) -> Option<&str> {
    let mut pairs = facts.lines().filter_map(|line| line.split_once(':'));
    let (_, name) = pairs.find(|(key, _)| key.trim() == "model name")?;
    Some(name.trim())
}

/// Returns the load of the last minute in hundredths; 0 if it cannot be read.
#[must_use]
pub fn load() -> u32 {
    let text = fs::read_to_string(LOAD).unwrap_or_default();
    hundredths(&text).unwrap_or(0)
}

/// Reads `0.52 0.58 0.59 1/467 12345`.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_whitespace().next()?.split_once('.')?;
    Some(whole.parse::<u32>().ok()? * 100 + part.parse::<u32>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_read_as_the_kernel_writes_it() {
        assert_eq!(hundredths("1.05 0.58 0.59 1/467 12345\n"), Some(105));
        assert_eq!(hundredths("nothing"), None);
    }

    #[test]
    fn the_processor_is_called_by_its_model() {
        let facts = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n";

        assert_eq!(processor(facts), Some("Some CPU @ 2 GHz"));
    }
}
