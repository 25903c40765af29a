//! Holds the tester against a relay whose delay is known, frame by frame.
//!
//! When a frame came in at the relay's one port is captured, and when it left by the other
//! is told by the driver there: that is what the device truly took, whatever its delay was
//! meant to be. The tester's latency less its bias should say the same. What is left
//! is the error of the tester, and of the cables that the bias stands for. What a stall
//! of the machine touched is set apart: it says nothing about the tester.
//!
//! # Left out
//!
//! Everything is stamped by one clock: an error of that clock itself is not seen.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use linux::tap::{Direction, RING_BYTES, Tap};
use measure::Contract;
use measure::identity::identify;
use measure::method::trial_log::TrialLog;
use measure::stalls::Shadows;
use measure::statistics::Distribution;
use measure::traffic::udp::{DatagramConfig, Pattern, Udp};
use measure::traffic::{Addresses, Source};
use measure::trial::{
    PlayedStation, PortIndex, Sighting, Sourced, Stream, Tester, Trial, TrialError, Watcher, Way,
};
use thiserror::Error;
use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;

use super::{Arrangement, LinkTester, TesterError};
use crate::departing::LaterDeparture;
use crate::device_under_test::{DeviceUnderTest, RelayPlan};
use crate::stage::{LEFT, RIGHT};

/// What the tester is to keep: the error that 99 of 100 frames do not exceed.
pub const ACCURACY: Duration = Duration::from_us(1);
/// The most frames of one trial: the captures hold twice as many.
pub const MOST_FRAMES: u32 = 4_000;
const FRAME_BYTES: usize = 60;
/// The UDP port that is set apart for measuring devices, RFC 2544 appendix C.2.6.4.
const ECHO: u16 = 7;
/// Long enough for a relay whose processor others want as well.
const DRAIN: Duration = Duration::from_ms(250);
/// Faster than any spacing asks for.
const UNLIMITED: BitRate = BitRate::from_mbps(1_000_000);

#[derive(Clone, Debug, Default)]
pub struct DelayComparison {
    /// What the tester adds, which was taken off.
    pub bias: Duration,
    pub measured: Distribution,
    /// What the relay took by its own ports.
    pub truth: Distribution,
    /// By how much the two differ, whichever is longer, of frames that were not
    /// disturbed.
    pub error: Distribution,
    /// How often the tester said less than the truth.
    pub too_short: u64,
    pub sent: u64,
    /// Frames that were not seen at all four places.
    pub lost: u64,
    /// Frames that crossed while the machine stood still or made up for it.
    pub disturbed: u64,
    /// What the machine did meanwhile.
    pub witnessed: TrialLog,
}

impl DelayComparison {
    /// Tells whether the tester is as accurate as it is to be, as far as it was left
    /// undisturbed.
    #[must_use]
    pub fn is_accurate(&self) -> bool {
        self.error.quantile(990).is_some_and(|it| it <= ACCURACY)
    }
}

/// Why the tester could not be held against a relay.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KnownDelayError {
    #[error(transparent)]
    Tester(#[from] TesterError),
    /// A trial could not be made.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The relay's ports cannot be looked at.
    #[error("cannot look at the relay's ports: {0}")]
    Capture(#[from] std::io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSchedule {
    /// The time between two frames.
    pub interval: Duration,
    /// How many frames a trial has, at most [`MOST_FRAMES`].
    pub frames: u32,
}

/// A relay, with captures at its ports, and the tester.
#[derive(Debug)]
pub struct KnownDelay {
    tester: LinkTester,
    came: Tap,
    held: DelayComparison,
}

impl KnownDelay {
    /// Starts a relay and a tester around it.
    ///
    /// # Errors
    ///
    /// Without the privilege, or if the relay does not run.
    pub fn with(relay: RelayPlan, stop: Arc<AtomicBool>) -> Result<Self, KnownDelayError> {
        let subject = DeviceUnderTest::Relay(relay);
        let mut tester = LinkTester::with(&subject, 2, Arrangement::Stations, stop)?;
        let stage = tester.stage().expect("a tester with a subject has a stage");
        let index = stage.port_indices()[LEFT];
        let came = stage.room.run(|| Tap::open(index, RING_BYTES))?;
        let bias = tester.added().bias;
        tester.ports[LEFT].follow();
        Ok(Self {
            tester,
            came,
            held: DelayComparison {
                bias,
                ..DelayComparison::default()
            },
        })
    }

    /// Makes one trial, and adds what it shows.
    ///
    /// # Errors
    ///
    /// What the tester says.
    ///
    /// # Panics
    ///
    /// If there are to be more frames than [`MOST_FRAMES`], or no time between them.
    pub fn trial(&mut self, plan: FrameSchedule) -> Result<(), KnownDelayError> {
        assert!(plan.frames <= MOST_FRAMES, "{} frames", plan.frames);
        self.skip()?;
        let length = plan.interval * u64::from(plan.frames);
        let trial = Trial {
            streams: vec![stream(plan.interval, length)],
            length,
            drain: DRAIN,
            ..Trial::default()
        };
        let mut outer = Stamps::new(plan.frames);
        let conduct = self.tester.run(trial, &mut outer)?;
        self.held.witnessed.add(&conduct);
        let inner = self.inner(plan.frames)?;
        self.compare(&outer, &inner, &conduct.stalls.shadows());
        Ok(())
    }

    /// Returns what all trials have shown.
    #[must_use]
    pub fn finish(self) -> DelayComparison {
        self.held
    }

    /// Forgets what is known of the relay.
    fn skip(&mut self) -> Result<(), KnownDelayError> {
        while self.came.take(|_| ()).is_some() {}
        self.passages().map(|_| ())
    }

    /// Returns when frames left the relay.
    fn passages(&mut self) -> Result<Vec<LaterDeparture>, KnownDelayError> {
        let stand = self.tester.stand.as_ref();
        match stand.and_then(|it| it.running.delay_line()) {
            Some(line) => Ok(line.passages()),
            // The kernel hands on what the tester has sent.
            None => Ok(self.tester.ports[LEFT].passages()?),
        }
    }

    /// Returns when frames came to the relay and left it.
    fn inner(&mut self, frames: u32) -> Result<Stamps, KnownDelayError> {
        let mut stamps = Stamps::new(frames);
        while let Some(seen) = self.came.take(|seen| {
            let number = number(seen.bytes).filter(|_| seen.direction == Direction::In)?;
            Some((number, Instant::from_ns(seen.stamp.as_ns())))
        }) {
            if let Some((number, at)) = seen {
                stamps.note(number, 0, at);
            }
        }
        for passage in self.passages()? {
            if let Ok(number) = usize::try_from(passage.number) {
                stamps.note(number, 1, Instant::from_ns(passage.stamp.as_ns()));
            }
        }
        Ok(stamps)
    }

    fn compare(&mut self, outer: &Stamps, inner: &Stamps, shadows: &Shadows) {
        let held = &mut self.held;
        for (outer, inner) in outer.frames.iter().zip(&inner.frames) {
            if outer[0].is_none() {
                continue;
            }
            held.sent += 1;
            let ends = outer[0].zip(outer[1]);
            let is_calm = ends.is_some_and(|(sent, came)| !shadows.touch(sent, came));
            let (Some(outer), Some(inner)) = (between(outer), between(inner)) else {
                held.lost += 1;
                continue;
            };
            let measured = outer.saturating_sub(held.bias);
            held.measured.record(measured);
            held.truth.record(inner);
            if !is_calm {
                held.disturbed += 1;
                continue;
            }
            let error = outer.max(inner + held.bias) - outer.min(inner + held.bias);
            held.error.record(error);
            if outer < inner + held.bias {
                held.too_short += 1;
            }
        }
    }
}

/// When numbered frames passed two places.
#[derive(Debug)]
struct Stamps {
    frames: Vec<[Option<Instant>; 2]>,
}

impl Stamps {
    fn new(frames: u32) -> Self {
        let count = usize::try_from(frames).expect("some thousands");
        Self {
            frames: vec![[None; 2]; count],
        }
    }

    fn note(&mut self, number: usize, end: usize, at: Instant) {
        if let Some(frame) = self.frames.get_mut(number) {
            frame[end] = Some(at);
        }
    }
}

impl Watcher for Stamps {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let end = match (sighting.port, sighting.way) {
            (PortIndex(LEFT), Way::Sent) => 0,
            (PortIndex(RIGHT), Way::Received) => 1,
            (_, Way::Sent | Way::Received) => return,
        };
        if let Some(number) = number(sighting.bytes) {
            self.note(number, end, sighting.at);
        }
    }
}

fn between(frame: &[Option<Instant>; 2]) -> Option<Duration> {
    let [Some(first), Some(last)] = frame else {
        return None;
    };
    Some(last.saturating_since(*first))
}

fn number(frame: &[u8]) -> Option<usize> {
    usize::try_from(identify(frame)?.number).ok()
}

fn stream(period: Duration, length: Duration) -> Stream {
    let [from, to] = [LEFT, RIGHT].map(|side| PlayedStation::at(PortIndex(side)));
    let source = Udp::new(&DatagramConfig {
        addresses: Addresses {
            source_mac: from.mac,
            destination_mac: to.mac,
            vlan: None,
            source: from.address,
            destination: to.address,
            source_port: ECHO,
            destination_port: ECHO,
            dscp: 0,
        },
        frame_length: FRAME_BYTES,
        contract: Contract {
            rate: UNLIMITED,
            burst: wire_size(FRAME_BYTES),
        },
        pattern: Pattern::Bursts { period, frames: 1 },
        start: Instant::ZERO,
        until: Some(Instant::ZERO + length),
    });
    Stream {
        from: PortIndex(LEFT),
        sender: Box::new(Sourced(Source::Udp(source))),
    }
}
