//! Messages of some sizes at exact intervals, beside some load: what variation and
//! losses are measured by (S3-5).

use units::Duration;

use super::{
    Cadence, Effort, FROM, Findings, Keep, LoadLevel, MethodError, Passing, Path, SendingPace,
    Setting, Settings, TO, choice, need_two_ports, trial_of,
};
use crate::trial::{Setup, Stream, Tester};

/// As long as the paper's transfers (S3-3).
const FULL: Duration = Duration::from_secs(120);
const QUICK: Duration = Duration::from_secs(2);
/// How long the last frames have.
const DRAIN: Duration = Duration::from_ms(200);
const WINDOW: u32 = 1_400;
/// A message of more bytes would take longer than any interval.
const LARGEST_WINDOW: u32 = 1_000_000;

/// A message: its bytes, and what others send meanwhile.
pub(super) type OfferedMessage = (u32, LoadLevel);

pub(super) struct Offer {
    interval: Duration,
    length: Duration,
    /// One message after the other, each with its setting.
    pub(super) points: Vec<(Setting, OfferedMessage)>,
}

impl Offer {
    /// Reads what the user wants of a method and its usual interval.
    pub(super) fn choose(
        setup: &Setup,
        settings: &Settings,
        (method, usual): (&str, Duration),
    ) -> Result<Self, MethodError> {
        need_two_ports(setup, method)?;
        let interval = settings.within("interval", usual, Duration::from_ns(1)..)?;
        let windows = settings.list_within("window", vec![WINDOW], 1..=LARGEST_WINDOW)?;
        let mut points = Vec::new();
        for load in settings.list("load", vec![LoadLevel::None])? {
            points.extend(windows.iter().map(|window| {
                let setting = vec![
                    choice("interval", interval),
                    choice("window", format!("{window} bytes")),
                    choice("load", load),
                ];
                (setting, (*window, load))
            }));
        }
        Ok(Self {
            interval,
            length: settings.length(FULL, QUICK),
            points,
        })
    }

    /// Sends messages, and returns what became of their frames.
    pub(super) fn send(
        &self,
        tester: &mut dyn Tester,
        (window, load): OfferedMessage,
    ) -> Result<Passing, MethodError> {
        let path = Path::between(FROM, TO);
        let pace = SendingPace::every(self.interval);
        let messages = pace.frames_in(self.length);
        let sender = Cadence::of_messages(&path.addresses, window, pace)
            .frames(messages)
            .patience(self.interval);
        let frames = messages * u64::from(sender.group());
        let mut streams = load.streams(tester.setup(), self.length)?;
        streams.push(Stream::new(path.from, sender));
        let trial = trial_of(streams, self.length, DRAIN);
        let mut passing = Passing::new(path, frames, Keep::Stamps);
        tester.run(trial, &mut passing)?;
        Ok(passing)
    }

    /// Says if less was done than a figure needs.
    pub(super) fn remark(&self, settings: &Settings, findings: &mut Findings) {
        if settings.effort == Effort::Quick {
            let length = self.length;
            findings.remark(format!("Each setting had {length} in place of {FULL}."));
        }
    }
}
