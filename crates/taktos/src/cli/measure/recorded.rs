//! A measurement of which every frame is kept in a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use linux::clock::WallClock;
use measure::capture::{CaptureRecord, MOST_FILE_BYTES};
use measure::measurement::Measurement;
use measure::method::Recording;
use measure::trial::{Stamps, Tester};
use units::Instant;

use super::Failure;
use run::experiment::sim_world::UNIX_ORIGIN_NS;

/// What is written at once, in bytes: large pieces disturb the tester seldom.
const PIECE: usize = 1 << 20;

/// Measures, and keeps every frame that the tester sees. The file says what it lacks,
/// and so does the measurement.
pub fn keep(
    path: &Path,
    tester: &mut dyn Tester,
    measure: impl FnOnce(&mut dyn Tester) -> Result<Measurement, Failure>,
) -> Result<Measurement, Failure> {
    let file = File::create(path)
        .map_err(|error| Failure::Mistake(format!("{}: {error}", path.display())))?;
    let out = Box::new(BufWriter::with_capacity(PIECE, file));
    let name = path.display().to_string();
    let origin = origin(tester.setup().stamps);
    let mut recording = Recording::begin(tester, (name, out), origin);
    let measured = measure(&mut recording);
    let record = recording.finish();
    let mut measurement = measured?;
    measurement.remarks.push(told(&record));
    Ok(measurement)
}

/// Returns the time of day at the beginning of the tester's clock.
fn origin(stamps: Stamps) -> u64 {
    match stamps {
        Stamps::Virtual => UNIX_ORIGIN_NS,
        Stamps::Hardware | Stamps::Kernel | Stamps::Program | Stamps::File => {
            WallClock::sample().to_wall(Instant::ZERO).as_ns()
        }
    }
}

/// Says what became of the file.
fn told(record: &CaptureRecord) -> String {
    let CaptureRecord {
        name,
        frames,
        left_out,
        missed,
        failure,
    } = record;
    let mut text = format!("{frames} frames are in {name}");
    if *left_out > 0 {
        text += &match failure {
            Some(error) => format!(", which could not be written any further: {error}"),
            None => format!(", which has {MOST_FILE_BYTES} bytes at most"),
        };
        text += &format!("; the last {left_out} are not");
    }
    if *missed > 0 {
        text += &format!("; {missed} went by unseen");
    }
    text + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_lacks_is_said() {
        let record = |left_out, failure: Option<&str>| CaptureRecord {
            name: "seen.pcapng".to_owned(),
            frames: 7,
            left_out,
            missed: 2,
            failure: failure.map(str::to_owned),
        };

        assert_eq!(
            told(&record(0, None)),
            "7 frames are in seen.pcapng; 2 went by unseen."
        );
        assert!(told(&record(3, None)).contains("268435456 bytes at most; the last 3 are not"));
        assert!(told(&record(3, Some("disk full"))).contains("any further: disk full"));
    }
}
