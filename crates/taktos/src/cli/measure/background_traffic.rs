//! Traffic that the user brings: what `replay` sends, and what goes beside a method.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use measure::measurement::Measurement;
use measure::method::background_traffic::{METHODS_WITH_BACKGROUND, MOST_BACKGROUND_SOURCES};
use measure::method::{BackgroundSource, BackgroundTraffic, Method, replay};
use measure::traffic::trace::Trace;
use measure::trial::Tester;

use super::{Failure, Measure};
use run::measuring::recordings;

const TRACE: &str = "trace:";
const MMS: &str = "mms";

/// What the user wants beside a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Background {
    /// The recording in a file.
    Trace(PathBuf),
    /// A station that reads values.
    Mms,
}

impl FromStr for Background {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            MMS => Ok(Self::Mms),
            text => trace_file(text).map(Self::Trace).map_err(|_| {
                format!(
                    "`{text}` is none: there are {TRACE}FILE, as in {TRACE}sensor.csv, and {MMS}"
                )
            }),
        }
    }
}

/// Reads `trace:FILE`.
pub fn trace_file(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix(TRACE) {
        Some(file) if !file.is_empty() => Ok(PathBuf::from(file)),
        Some(_) | None => Err(format!("say it as in {TRACE}sensor.csv")),
    }
}

/// What a tester is given, read from its files.
pub struct TesterTraffic {
    recording: Option<Trace>,
    guests: Vec<BackgroundSource>,
    remarks: Vec<String>,
}

impl TesterTraffic {
    /// Reads what the user wants.
    pub fn of(method: &Method, arguments: &Measure) -> Result<Self, Failure> {
        let mut wanted = Self {
            recording: None,
            guests: Vec::new(),
            remarks: Vec::new(),
        };
        let name = method.name;
        if let Some(file) = &arguments.traffic {
            if name != replay::METHOD.name {
                let known = replay::METHOD.name;
                let mistake = format!(
                    "`{name}` sends frames of its own: `{known}` sends recordings, and beside \
                     others they go as --background"
                );
                return Err(Failure::Mistake(mistake));
            }
            wanted.recording = Some(wanted.read(file, "What was sent is the recording")?);
        } else if name == replay::METHOD.name {
            let mistake = format!("`{name}` needs a recording: --traffic {TRACE}FILE");
            return Err(Failure::Mistake(mistake));
        }
        let guests = &arguments.background;
        if !guests.is_empty() && !METHODS_WITH_BACKGROUND.contains(&name) {
            let known = METHODS_WITH_BACKGROUND.join(", ");
            let mistake = format!("`{name}` bears nothing beside it: there are {known}");
            return Err(Failure::Mistake(mistake));
        }
        if guests.len() > MOST_BACKGROUND_SOURCES {
            let mistake = format!(
                "{} in the background: {MOST_BACKGROUND_SOURCES} at most",
                guests.len()
            );
            return Err(Failure::Mistake(mistake));
        }
        for guest in guests {
            let guest = match guest {
                Background::Trace(file) => {
                    let what = "Beside what is measured, a further host sent the recording";
                    BackgroundSource::Trace(wanted.read(file, what)?)
                }
                Background::Mms => {
                    let remark =
                        "Beside what is measured, a further host read values over TCP port 102.";
                    wanted.remarks.push(remark.to_owned());
                    BackgroundSource::Mms
                }
            };
            wanted.guests.push(guest);
        }
        Ok(wanted)
    }

    /// Adds what is to be known of the measurement besides.
    pub fn remark(&mut self, remarks: Vec<String>) {
        self.remarks.extend(remarks);
    }

    fn read(&mut self, file: &Path, what: &str) -> Result<Trace, Failure> {
        let read = recordings::read(file).map_err(|error| Failure::Mistake(error.to_string()))?;
        let (frames, length) = (read.trace.frames().len(), read.trace.length());
        let name = file.display();
        let remark = format!("{what} {name}: {frames} frames in {length}.");
        self.remarks.push(remark);
        self.remarks.extend(read.notes);
        Ok(read.trace)
    }

    pub fn keep(
        self,
        tester: &mut dyn Tester,
        measure: impl FnOnce(&mut dyn Tester) -> Result<Measurement, Failure>,
    ) -> Result<Measurement, Failure> {
        let mut company = BackgroundTraffic::of(tester).beside(self.guests);
        if let Some(recording) = self.recording {
            company = company.sending(recording);
        }
        let mut measurement = measure(&mut company)?;
        measurement.remarks.extend(self.remarks);
        Ok(measurement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_is_a_recording_or_a_station() {
        let file = PathBuf::from("a.csv");
        assert_eq!("trace:a.csv".parse(), Ok(Background::Trace(file)));
        assert_eq!("mms".parse(), Ok(Background::Mms));
        for text in ["trace:", "a.csv", "MMS", ""] {
            assert!(text.parse::<Background>().is_err(), "{text}");
        }
    }
}
