//! Reads captures that were taken elsewhere and has them analysed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use measure::capture::CaptureReader;
use measure::capture::analysis::{Analysis, Assumptions, Question, Side};
use measure::capture::reader::{Contents, Damage, End, Recorded, Step};
use measure::method::{Findings, Progress};
use thiserror::Error;

/// So many frames are read between two words on how far it is.
const FRAMES_A_WORD: u64 = 1 << 18;
/// What is read of a file at once, in bytes: what stays in the processor's cache.
const PIECE: usize = 1 << 18;

/// Why captures were not analysed.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The wrong number of them.
    #[error("{0} captures: name one, or one of each end of the path, the sender's first")]
    Number(usize),
    /// One of them says nothing of what is asked.
    #[error("one capture tells nothing of {0}: name those of both ends, the sender's first")]
    Single(&'static str),
    /// A file cannot be read.
    #[error("{path}: {error}")]
    Unreadable { path: PathBuf, error: io::Error },
    /// A file is no capture.
    #[error("{path}: {damage}")]
    NoCapture { path: PathBuf, damage: Damage },
}

/// A capture file that is being read.
struct Capture {
    path: PathBuf,
    file: File,
    reader: CaptureReader,
    is_over: bool,
}

/// Analyses one capture, or those of the two ends of a path.
///
/// # Errors
///
/// If a file cannot be read at all or is no capture, or there are too few or too many. One that is cut off or damaged
/// is analysed up to there, which the findings say.
pub fn analyze(
    paths: &[PathBuf],
    question: Question,
    assumptions: Assumptions,
    progress: &mut dyn Progress,
) -> Result<Findings, CaptureError> {
    if !(1..=2).contains(&paths.len()) {
        return Err(CaptureError::Number(paths.len()));
    }
    if paths.len() == 1 && question.needs_both_ends() {
        return Err(CaptureError::Single(question.method()));
    }
    let captures: Result<Vec<_>, _> = paths.iter().map(|path| Capture::open(path)).collect();
    let mut captures = captures?;
    let bytes = captures.iter().map(Capture::size).sum();
    let mut analysis = Analysis::new(question, assumptions);
    let mut frames = 0_u64;
    while let Some(side) = next(&analysis, &captures) {
        captures[side.place()].next(|frame| analysis.see(side, frame))?;
        frames += 1;
        if frames.is_multiple_of(FRAMES_A_WORD) {
            let read = captures.iter().map(|it| it.reader.bytes()).sum();
            progress.step(read, bytes, "reading captures");
        }
    }
    let contents: Result<Vec<_>, _> = captures.into_iter().map(Capture::finish).collect();
    let contents = contents?;
    let named: Vec<_> = contents
        .iter()
        .map(|(name, contents)| (name.as_str(), contents))
        .collect();
    Ok(analysis.finish(&named))
}

/// Hands over every frame of a capture, and returns what it held.
///
/// # Errors
///
/// If the file cannot be read at all or is no capture.
pub fn each_frame(
    path: &Path,
    mut take: impl FnMut(&Recorded<'_>),
) -> Result<Contents, CaptureError> {
    let mut capture = Capture::open(path)?;
    while !capture.is_over {
        capture.next(&mut take)?;
    }
    capture.finish().map(|(_, contents)| contents)
}

/// Returns from which capture to read: the one that is wanted, unless it is over.
fn next(analysis: &Analysis, captures: &[Capture]) -> Option<Side> {
    let wanted = analysis.next_side();
    let has_more = |side: &Side| {
        let capture = captures.get(side.place());
        capture.is_some_and(|capture| !capture.is_over)
    };
    [wanted, wanted.other()].into_iter().find(has_more)
}

impl Capture {
    fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|error| CaptureError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            reader: CaptureReader::default(),
            is_over: false,
        })
    }

    /// Returns its size in bytes, or 0 if nobody knows.
    fn size(&self) -> u64 {
        self.file.metadata().map_or(0, |it| it.len())
    }

    /// Hands over the next frame, if there is one.
    #[inline]
    fn next(&mut self, take: impl FnOnce(&Recorded<'_>)) -> Result<(), CaptureError> {
        loop {
            match self.reader.next_frame() {
                Step::Frame(frame) => {
                    take(&frame);
                    return Ok(());
                }
                Step::Stopped => {
                    self.is_over = true;
                    return Ok(());
                }
                Step::NeedsBytes => {
                    if self.fill()? == 0 {
                        self.is_over = true;
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Reads on. Returns how many bytes there were.
    fn fill(&mut self) -> Result<usize, CaptureError> {
        let room = self.reader.room();
        let piece = room.len().min(PIECE);
        let read = loop {
            match self.file.read(&mut room[..piece]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|error| CaptureError::Unreadable {
            path: self.path.clone(),
            error,
        })?;
        self.reader.filled(read);
        Ok(read)
    }

    /// Returns its name and what it held.
    fn finish(self) -> Result<(String, Contents), CaptureError> {
        let contents = self.reader.finish();
        if let End::Damaged { at: 0, damage } = contents.end {
            return Err(CaptureError::NoCapture {
                path: self.path,
                damage,
            });
        }
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        Ok((name.to_string_lossy().into_owned(), contents))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use measure::method::Silent;
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn what_is_no_capture_is_refused_by_name() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        fs::write(&path, "not a capture").unwrap();

        let error = analyze(
            &[path],
            Question::Latency,
            Assumptions::default(),
            &mut Silent,
        )
        .unwrap_err();

        assert!(
            error
                .to_string()
                .contains("notes.txt: the file begins with")
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_said() {
        let path = PathBuf::from("nowhere.pcap");

        let error = analyze(
            &[path],
            Question::Latency,
            Assumptions::default(),
            &mut Silent,
        )
        .unwrap_err();

        assert!(error.to_string().contains("nowhere.pcap: No such file"));
    }

    #[test]
    fn one_capture_is_too_few_for_losses() {
        let path = PathBuf::from("any.pcap");

        let error = analyze(&[path], Question::Loss, Assumptions::default(), &mut Silent);

        let said = error.unwrap_err().to_string();
        assert!(said.contains("nothing of loss"), "{said}");
    }

    #[test]
    fn three_captures_are_too_many() {
        let path = PathBuf::from("any.pcap");
        let paths = [path.clone(), path.clone(), path];

        let error = analyze(
            &paths,
            Question::Latency,
            Assumptions::default(),
            &mut Silent,
        )
        .unwrap_err();

        assert!(matches!(error, CaptureError::Number(3)));
    }
}
