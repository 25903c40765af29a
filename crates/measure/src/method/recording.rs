//! A capture file of all that a tester sees, with its stamps, for Wireshark and its
//! relatives: so that what a figure rests on can be looked at by other means.
//!
//! Frames are in the file in the order in which they were told: at each port by
//! their stamps, of different ports as they came. Trials follow each other.

use std::io::Write;

use crate::capture::{CaptureFile, CaptureRecord, Direction, Heading, Interface, Seen};
use crate::traffic::trace::Trace;
use crate::trial::{
    Conduct, ControlLink, PortIndex, Setup, Sighting, Tester, Trial, TrialError, Watcher, Way,
};
use units::{BitRate, Instant};

/// What is written as the speed of a port that has none.
const NO_RATE: BitRate = BitRate::from_mbps(10_000);

/// A tester whose sightings go to a file too.
#[derive(Debug)]
pub struct Recording<'a, T: ?Sized> {
    tester: &'a mut T,
    file: CaptureFile,
    /// What is added to a stamp to make it one since 1970, in nanoseconds.
    unix_origin_ns: u64,
}

impl<'a, T: Tester + ?Sized> Recording<'a, T> {
    /// Begins a file that is called `name` and goes to `out`. Stamps of the tester count
    /// from `unix_origin_ns` nanoseconds after the beginning of 1970.
    pub fn begin(
        tester: &'a mut T,
        (name, out): (String, Box<dyn Write + Send>),
        unix_origin_ns: u64,
    ) -> Self {
        let setup = tester.setup();
        let heading = Heading {
            comment: format!("what the tester of {} saw", setup.device),
            program: "Taktos".to_owned(),
        };
        let interfaces: Vec<_> = setup
            .ports
            .iter()
            .map(|port| Interface {
                name: port.clone(),
                about: "a port of the tester".to_owned(),
                rate: setup.rate.unwrap_or(NO_RATE),
            })
            .collect();
        Self {
            file: CaptureFile::begin(name, out, &heading, &interfaces),
            tester,
            unix_origin_ns,
        }
    }

    /// Writes what is not written yet, and returns what became of the file.
    #[must_use]
    pub fn finish(self) -> CaptureRecord {
        self.file.finish()
    }
}

impl<T: Tester + ?Sized> Tester for Recording<'_, T> {
    fn setup(&self) -> &Setup {
        self.tester.setup()
    }

    fn control_link(&self) -> ControlLink {
        self.tester.control_link()
    }

    fn recording(&self) -> Option<&Trace> {
        self.tester.recording()
    }

    fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        let mut both = Both {
            watcher,
            file: &mut self.file,
            unix_origin_ns: self.unix_origin_ns,
        };
        let conduct = self.tester.run(trial, &mut both)?;
        self.file.missed(conduct.unseen + conduct.unstamped);
        Ok(conduct)
    }
}

/// A watcher and a file that see the same.
struct Both<'a> {
    watcher: &'a mut dyn Watcher,
    file: &'a mut CaptureFile,
    unix_origin_ns: u64,
}

impl Watcher for Both<'_> {
    fn see(&mut self, sighting: &Sighting<'_>) {
        self.file.enter(&Seen {
            interface: u32::try_from(sighting.port.0).unwrap_or(u32::MAX),
            unix_ns: self.unix_origin_ns.saturating_add(sighting.at.as_ns()),
            direction: match sighting.way {
                Way::Sent => Direction::Out,
                Way::Received => Direction::In,
            },
            bytes: sighting.bytes,
            length: sighting.length,
        });
        self.watcher.see(sighting);
    }

    fn see_unstamped(&mut self, port: PortIndex, way: Way, bytes: &[u8]) {
        self.watcher.see_unstamped(port, way, bytes);
    }

    fn hear(&mut self, at: Instant, bytes: &[u8]) {
        self.watcher.hear(at, bytes);
    }

    fn ordered(&mut self, order: usize, at: Instant) {
        self.watcher.ordered(order, at);
    }

    fn awaits(&self) -> bool {
        self.watcher.awaits()
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;
    use crate::method::tests::known_device::{KnownDevice, Lane, number, settings};
    use crate::method::{Silent, loss};

    #[test]
    fn what_is_recorded_is_what_was_seen_and_changes_no_figure() {
        let mut lane = Lane::of(Duration::from_us(50));
        lane.lose_every = Some(100);
        let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));
        let out: Box<dyn Write + Send> = Box::new(std::io::sink());
        let mut recording = Recording::begin(&mut device, ("loss".to_owned(), out), 5);

        let found = (loss::METHOD.run)(&mut recording, &settings(&[]), &mut Silent).unwrap();

        let record = recording.finish();
        assert_eq!(number(&found, "lost", ""), 20);
        assert_eq!(record.frames, 2_000 + 1_980);
        assert_eq!(record.left_out, 0);
    }
}
