//! A tester that has company: beside whatever a method sends, other traffic goes the
//! same way (S3-3, S0-5); and a tester that was given a recording to send.
//!
//! Company comes from the ports behind the first two, in turns; a tester with two ports
//! sends it from the first. It is addressed to hosts of its own behind the second port,
//! so that no method takes it for its own frames.

use std::net::Ipv4Addr;

use units::{Duration, Instant};
use wire::mms::PORT as MMS_PORT;

use super::load::DISCARD_PORT;
use super::{FROM, Path, TO};
use crate::traffic::trace::{Trace, TraceConfig};
use crate::traffic::{Addresses, Replay, Source, mms};
use crate::trial::{
    Conduct, ControlLink, PortIndex, Served, Setup, Sourced, Stream, Tester, Trial, TrialError,
    Watcher,
};

/// The methods that bear company: their figures are about frames of their own only.
pub const METHODS_WITH_BACKGROUND: [&str; 5] =
    ["latency", "throughput", "jitter", "loss", "replay"];
/// The most that send beside a method.
pub const MOST_BACKGROUND_SOURCES: usize = 16;

/// A station of MMS asks so often.
const POLLS_EVERY: Duration = Duration::from_ms(20);
/// For a value of so many bytes.
const VALUE_LENGTH: usize = 200;
/// The networks of those that send and receive, apart from the stations of methods.
const SOURCES: [u8; 3] = [198, 18, 1];
const DESTINATIONS: [u8; 3] = [198, 18, 2];

/// What is sent beside a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackgroundSource {
    /// A recording, again and again.
    Trace(Trace),
    /// A station that reads values, fifty times a second.
    Mms,
}

pub struct BackgroundTraffic<'a> {
    tester: &'a mut dyn Tester,
    recording: Option<Trace>,
    guests: Vec<BackgroundSource>,
}

impl<'a> BackgroundTraffic<'a> {
    /// Returns the tester, without company so far.
    #[must_use]
    pub fn of(tester: &'a mut dyn Tester) -> Self {
        Self {
            tester,
            recording: None,
            guests: Vec::new(),
        }
    }

    /// Gives it a recording to send.
    #[must_use]
    pub fn sending(self, recording: Trace) -> Self {
        Self {
            recording: Some(recording),
            ..self
        }
    }

    /// Has these send beside whatever is measured.
    ///
    /// # Panics
    ///
    /// If there are more than [`MOST_BACKGROUND_SOURCES`].
    #[must_use]
    pub fn beside(self, guests: Vec<BackgroundSource>) -> Self {
        assert!(
            guests.len() <= MOST_BACKGROUND_SOURCES,
            "{} guests",
            guests.len()
        );
        Self { guests, ..self }
    }

    /// Returns what sends for a trial of some length.
    fn streams(&self, length: Duration) -> Vec<Stream> {
        let further = (2..self.tester.setup().ports.len()).map(PortIndex);
        let ports: Vec<_> = match further.len() {
            0 => vec![FROM],
            _ => further.collect(),
        };
        let guests = (1_u8..).zip(&self.guests).zip(ports.iter().cycle());
        let streams = guests.map(|((number, guest), from)| guest.streams(number, *from, length));
        streams.flatten().collect()
    }
}

impl BackgroundSource {
    fn streams(&self, number: u8, from: PortIndex, length: Duration) -> Vec<Stream> {
        let until = Some(Instant::ZERO + length);
        let port = match self {
            Self::Trace(_) => DISCARD_PORT,
            Self::Mms => MMS_PORT,
        };
        let addresses = addresses(number, from, port);
        match self {
            Self::Trace(trace) => {
                let source = Replay::new(&TraceConfig {
                    addresses,
                    trace: trace.clone(),
                    contract: None,
                    start: Instant::ZERO,
                    until,
                    again: Some(pace(trace)),
                });
                vec![stream(from, Source::Trace(source))]
            }
            Self::Mms => {
                let client = mms::Client::new(&mms::MmsClientConfig {
                    addresses,
                    period: POLLS_EVERY,
                    start: Instant::ZERO,
                    until,
                    contract: None,
                });
                let server = mms::Server::new(addresses, VALUE_LENGTH);
                let answers = Stream::new(TO, Served::new(server));
                vec![stream(from, Source::Mms(Box::new(client))), answers]
            }
        }
    }
}

fn stream(from: PortIndex, source: Source) -> Stream {
    Stream::new(from, Sourced(source))
}

fn addresses(number: u8, from: PortIndex, port: u16) -> Addresses {
    let host = |[a, b, c]: [u8; 3]| Ipv4Addr::new(a, b, c, number);
    Addresses {
        source: host(SOURCES),
        destination: host(DESTINATIONS),
        destination_port: port,
        ..Path::between(from, TO).addresses
    }
}

/// Returns after how long a recording begins again: its length and the mean gap between
/// its frames.
fn pace(trace: &Trace) -> Duration {
    let gaps = trace.frames().len().saturating_sub(1).max(1) as u64;
    let gap = Duration::from_ns(trace.length().as_ns() / gaps);
    trace.length() + gap.max(Duration::from_us(1))
}

impl Tester for BackgroundTraffic<'_> {
    fn setup(&self) -> &Setup {
        self.tester.setup()
    }

    fn control_link(&self) -> ControlLink {
        self.tester.control_link()
    }

    fn recording(&self) -> Option<&Trace> {
        self.recording.as_ref().or(self.tester.recording())
    }

    fn run(&mut self, mut trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        trial.streams.extend(self.streams(trial.length));
        self.tester.run(trial, watcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::tests::known_device::{KnownDevice, Lane, number, settings};
    use crate::method::{Silent, loss};
    use crate::traffic::trace::Recorded;

    #[test]
    fn company_fills_the_device_and_is_not_taken_for_what_is_measured() {
        let figures = |guests: Vec<BackgroundSource>| {
            let mut lane = Lane::of(Duration::ZERO);
            lane.server = Some((units::BitRate::from_mbps(100), 20));
            let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));
            device.setup_mut().ports.truncate(2);
            let mut company = BackgroundTraffic::of(&mut device).beside(guests);

            let found = (loss::METHOD.run)(&mut company, &settings(&[]), &mut Silent).unwrap();

            let counts = ["sent", "lost", "duplicates"];
            counts.map(|quantity| number(&found, quantity, ""))
        };
        // Twice the server's rate for 5 ms fills the queue of 20, ten times a second.
        let burst = (0..100_u64).map(|number| Recorded {
            after: Duration::from_us(50) * number,
            length: 1_400,
        });
        let last = Recorded {
            after: Duration::from_ms(100),
            length: 60,
        };
        let trace = Trace::of(burst.chain([last]).collect()).unwrap();

        assert_eq!(figures(Vec::new()), [2_000, 0, 0]);
        assert_eq!(figures(vec![BackgroundSource::Mms]), [2_000, 0, 0]);
        let [sent, lost, duplicates] =
            figures(vec![BackgroundSource::Trace(trace), BackgroundSource::Mms]);
        assert_eq!((sent, duplicates), (2_000, 0));
        assert!((5..=80).contains(&lost), "{lost}");
    }
}
