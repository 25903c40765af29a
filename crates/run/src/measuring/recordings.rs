//! Reads recordings of traffic that are to be sent again: tables of frames and captures.
//!
//! A file that is called `.pcap`, `.pcapng` or `.cap` is a capture, of which every frame
//! counts, whichever way it went, in the order of its stamps. Any other file is a table
//! ([`scenario::Recording`]).

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use measure::capture::reader::{Contents, End};
use measure::traffic::trace::{self, MOST_FRAMES, Recorded, Trace, TraceError};
use scenario::flow_table::LONGEST_DESCRIPTION;
use scenario::{Recording, RecordingError};
use thiserror::Error;
use units::Duration;

use super::captures::{self, CaptureError};
use crate::text_file;

const CAPTURES: [&str; 3] = ["pcap", "pcapng", "cap"];
const NS_PER_SECOND: u64 = 1_000_000_000;
const BITS_PER_BYTE: usize = 8;

/// Why a file is no recording.
#[derive(Debug, Error)]
pub enum RecordingFileError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("{path}: {error}")]
    Unreadable { path: PathBuf, error: io::Error },
    /// It is no table of frames.
    #[error(
        "{path}: {error}; a recording is a table of seconds and bits (`0.0125,11536`), or a capture \
         (.pcap, .pcapng)"
    )]
    NoTable {
        path: PathBuf,
        error: RecordingError,
    },
    /// It has no frames, or too many.
    #[error("{path}: {error}")]
    Frames { path: PathBuf, error: TraceError },
}

/// A recording, and what is to be known of it.
#[derive(Debug)]
pub struct Read {
    pub trace: Trace,
    /// How the file differs from what is sent, in sentences.
    pub notes: Vec<String>,
}

/// Reads a recording.
///
/// # Errors
///
/// If the file is none. One that is cut off is read up to there, which the notes say.
pub fn read(path: &Path) -> Result<Read, RecordingFileError> {
    let (frames, notes) = match is_capture(path) {
        true => of_capture(path)?,
        false => of_table(path)?,
    };
    let trace = Trace::of(frames).map_err(|error| RecordingFileError::Frames {
        path: path.to_owned(),
        error,
    })?;
    Ok(Read { trace, notes })
}

/// Tells whether a file is a capture, by its name.
#[must_use]
pub fn is_capture(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| CAPTURES.iter().any(|known| it.eq_ignore_ascii_case(known)))
}

/// Returns the frames of a capture as the table that a scenario reads.
///
/// # Errors
///
/// If it is no capture, or has too many frames.
pub fn table_of_capture(path: &Path) -> io::Result<String> {
    let read = read(path).map_err(io::Error::other)?;
    let mut table = String::new();
    for frame in read.trace.frames() {
        let ns = frame.after.as_ns();
        let (seconds, rest) = (ns / NS_PER_SECOND, ns % NS_PER_SECOND);
        let bits = frame.length * BITS_PER_BYTE;
        writeln!(table, "{seconds}.{rest:09},{bits}").expect("a text takes everything");
    }
    Ok(table)
}

fn of_table(path: &Path) -> Result<(Vec<Recorded>, Vec<String>), RecordingFileError> {
    let text = text_file::load(path, LONGEST_DESCRIPTION);
    let text = text.map_err(|error| RecordingFileError::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    let recording = Recording::parse(&text).map_err(|error| RecordingFileError::NoTable {
        path: path.to_owned(),
        error,
    })?;
    let resized = recording.resized();
    let note = (resized.frames > 0).then(|| {
        format!(
            "{} frames, the first in line {}, are shorter or longer than a frame can be, and are \
             sent as near to it as one can be.",
            resized.frames, resized.first_line
        )
    });
    Ok((recorded(&recording), note.into_iter().collect()))
}

/// Returns the frames of a recording as the instrument sends them.
#[must_use]
pub fn recorded(recording: &Recording) -> Vec<trace::Recorded> {
    let frames = recording.frames().iter().map(|frame| trace::Recorded {
        after: frame.after,
        length: usize::try_from(frame.size.bytes_up()).expect("a frame fits in memory"),
    });
    frames.collect()
}

fn of_capture(path: &Path) -> Result<(Vec<Recorded>, Vec<String>), RecordingFileError> {
    let mut frames = Vec::new();
    let contents = captures::each_frame(path, |frame| {
        if frames.len() <= MOST_FRAMES {
            frames.push(Recorded {
                after: Duration::from_ns(frame.unix_ns),
                length: frame.length,
            });
        }
    })?;
    Ok((frames, notes(&contents)))
}

fn notes(contents: &Contents) -> Vec<String> {
    let mut notes = Vec::new();
    match &contents.end {
        End::Whole => {}
        End::CutOff { at } => notes.push(format!(
            "The capture is cut off after {at} bytes: what stands before is sent."
        )),
        End::Damaged { at, damage } => notes.push(format!(
            "The capture is damaged after {at} bytes ({damage}): what stands before is sent."
        )),
    }
    if contents.dropped() > 0 {
        let dropped = contents.dropped();
        notes.push(format!("The capture lacks {dropped} frames, as it says."));
    }
    if contents.unstamped + contents.foreign > 0 {
        notes.push(format!(
            "{} frames without a stamp and {} of links that are not understood are left out.",
            contents.unstamped, contents.foreign
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::fs;

    use measure::capture::{CaptureFile, Direction, Heading, Interface, Seen};
    use tempfile::tempdir;
    use units::BitRate;

    use super::*;

    #[test]
    fn a_capture_and_the_table_of_it_are_the_same_recording() {
        let folder = tempdir().unwrap();
        let capture = folder.path().join("seen.pcapng");
        write_capture(&capture);

        let read_back = read(&capture).unwrap();
        let table = folder.path().join("seen.csv");
        fs::write(&table, table_of_capture(&capture).unwrap()).unwrap();

        let frames = read_back.trace.frames();
        let frames: Vec<_> = frames
            .iter()
            .map(|it| (it.after.as_ns(), it.length))
            .collect();
        assert_eq!(frames, [(0, 60), (1_250, 1_400), (2_000_000_001, 60)]);
        assert_eq!(read(&table).unwrap().trace, read_back.trace);
    }

    #[test]
    fn a_capture_that_is_cut_off_is_sent_up_to_there() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("cut.pcapng");
        write_capture(&path);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 3]).unwrap();

        let read = read(&path).unwrap();

        assert!(read.notes[0].contains("cut off"), "{:?}", read.notes);
        assert!(!read.trace.frames().is_empty());
    }

    #[test]
    fn what_is_no_recording_is_refused_by_name() {
        let folder = tempdir().unwrap();
        for (name, content, expected) in [
            ("a.csv", "time,size\n", "line 1 is no time"),
            ("a.pcap", "no capture at all", "neither pcap nor pcapng"),
            ("b.csv", "", "there are no frames"),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();

            let error = read(&path).unwrap_err().to_string();

            assert!(error.contains(name) && error.contains(expected), "{error}");
        }
        assert!(read(&folder.path().join("none.csv")).is_err());
    }

    fn write_capture(path: &Path) {
        let out = Box::new(fs::File::create(path).unwrap());
        let heading = Heading {
            comment: String::new(),
            program: "test".to_owned(),
        };
        let interface = Interface {
            name: "eth0".to_owned(),
            about: String::new(),
            rate: BitRate::from_mbps(100),
        };
        let mut file = CaptureFile::begin("test".to_owned(), out, &heading, &[interface]);
        let origin = 1_700_000_000_000_000_000;
        for (after, length) in [(0, 60), (1_250, 1_400), (2_000_000_001, 60)] {
            file.enter(&Seen {
                interface: 0,
                unix_ns: origin + after,
                direction: Direction::Out,
                bytes: &[0; 60],
                length,
            });
        }
        assert_eq!(file.finish().frames, 3);
    }
}
