//! The highest rate that is carried without loss, searched as `taktos measure throughput`
//! does (RFC 2544 section 26.1), with a sender that is as fast as a ring.
//!
//! Trials are short, so that a ring could swallow what a subject is too slow for.
//! A rate therefore counts as carried only if all frames have arrived
//! [`DRAIN`] after the last was sent. A machine that stands still for longer than
//! a ring lasts loses frames that the subject would have carried: a rate has a
//! second try.

use std::io;

use linux::clock;
use linux::port::{Sent, XdpPort};
use measure::method::throughput::{LimitedBy, Trialled, highest_rate};
use units::{Duration, Instant};

use crate::traffic::{self, FLOWS};
use lab::stage::{RIGHT, Testbed};

/// Sizes with check sequence; 306 bytes have the messages of SDN4CI.
pub const SIZES: [usize; 3] = [64, 306, 1500];
/// How long after the last frame was sent the last may arrive.
const DRAIN: Duration = Duration::from_ms(2);
/// How long what was too much takes to drain away.
const SETTLING: Duration = Duration::from_ms(60);
/// How many frames the sender hands over at once.
const GROUP: usize = 16;
/// How often the range is halved.
const HALVINGS: usize = 6;
const TRIES: usize = 2;
/// A rate was offered if less than one part of so many of it was missing.
const OFFERED: u64 = 100;
/// A flood that counts for nothing goes first.
const WARM_UP: Duration = Duration::from_ms(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    pub frames_per_second: u64,
    /// Whether the subject could carry more than this sender sends.
    pub limited_by: LimitedBy,
}

/// Searches the highest rate for frames of `size` bytes with trials of this length.
pub fn search(stage: &Testbed, size: usize, trial: Duration) -> io::Result<Rate> {
    let mut bench = Bench::open(stage, size)?;
    bench.trial(None, WARM_UP)?;
    let flood = bench.trial(None, trial)?;
    if flood.carried() {
        return Ok(Rate {
            frames_per_second: flood.offered(),
            limited_by: LimitedBy::Tester,
        });
    }
    let reached = flood.reached();
    let most = flood.offered().min(reached + reached / 5);
    let range = (reached / 3, most.max(reached / 3));
    let precision = (range.1 - range.0) >> HALVINGS;
    let (frames_per_second, limited_by) =
        highest_rate(range, precision, |rate| bench.try_rate(rate, trial))?;
    Ok(Rate {
        frames_per_second,
        limited_by,
    })
}

struct Bench<'a> {
    stage: &'a Testbed,
    sender: XdpPort,
    frames: Vec<Vec<u8>>,
}

struct Trial {
    sent: u64,
    took: Duration,
    arrived: u64,
}

impl Trial {
    fn carried(&self) -> bool {
        self.arrived >= self.sent
    }

    fn offered(&self) -> u64 {
        per_second(self.sent, self.took)
    }

    fn reached(&self) -> u64 {
        per_second(self.arrived, self.took + DRAIN)
    }
}

fn per_second(count: u64, time: Duration) -> u64 {
    let rate = u128::from(count) * 1_000_000_000 / u128::from(time.as_ns().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl<'a> Bench<'a> {
    fn open(stage: &'a Testbed, size: usize) -> io::Result<Self> {
        Ok(Self {
            stage,
            sender: stage.fast_sender()?,
            frames: (0..FLOWS).map(|flow| traffic::frame(flow, size)).collect(),
        })
    }

    /// Tries a rate, and again if not all was carried.
    fn try_rate(&mut self, rate: u64, length: Duration) -> io::Result<Trialled> {
        for _ in 0..TRIES {
            let trial = self.trial(Some(rate), length)?;
            if trial.carried() {
                return Ok(match trial.offered() < rate - rate / OFFERED {
                    true => Trialled::NotOffered,
                    false => Trialled::Clean,
                });
            }
        }
        Ok(Trialled::Lossy)
    }

    /// Sends at `rate`, or as fast as it goes.
    fn trial(&mut self, rate: Option<u64>, length: Duration) -> io::Result<Trial> {
        let before = self.stage.arrived(RIGHT)?;
        let start = clock::now();
        let mut sent = 0;
        let took = loop {
            let elapsed = clock::now() - start;
            if elapsed >= length {
                break elapsed;
            }
            if start + due(sent, rate) <= clock::now() {
                sent += self.send_group(sent);
            }
        };
        wait(DRAIN);
        let arrived = self.stage.arrived(RIGHT)? - before;
        wait(SETTLING);
        Ok(Trial {
            sent,
            took,
            arrived,
        })
    }

    fn send_group(&mut self, sent: u64) -> u64 {
        let mut taken = 0;
        let first = usize::try_from(sent % FLOWS as u64).expect("one of few");
        for n in 0..GROUP {
            let frame = &self.frames[(first + n) % FLOWS];
            if self.sender.enqueue(frame) == Sent::Taken {
                taken += 1;
            }
        }
        self.sender.flush();
        taken
    }
}

/// Returns how long after the start the next frame is due.
fn due(sent: u64, rate: Option<u64>) -> Duration {
    match rate {
        Some(rate) => Duration::from_ns(sent * 1_000_000_000 / rate.max(1)),
        None => Duration::ZERO,
    }
}

fn wait(time: Duration) {
    let end: Instant = clock::now() + time;
    clock::sleep_until(end);
}
