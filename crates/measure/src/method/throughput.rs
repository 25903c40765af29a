//! How much a device takes.
//!
//! | test | does | source |
//! |---|---|---|
//! | `search` | finds the highest rate without loss, for each frame size | RFC 2544 section 26.1, S4-3 |
//! | `udp` | offers messages of a window at the highest rate, and counts | S3-5 |
//! | `tcp` | sends as much as a window and the losses allow | S3-5, RFC 5681 |
//!
//! The search offers the highest rate first and then halves the range that is left
//! until it is narrower than the precision; short trials find the place, and one of
//! the full length confirms it, or the search is made again with long ones. A rate at
//! which the tester itself came too late, or missed frames, is none that was offered:
//! the search goes on below, and says so. What is left out while the machine stands
//! still counts for nothing, and losses in a trial with stalls count only if they come
//! again and again.
//!
//! Frame sizes count the check sequence, as in RFC 2544; rates count what a frame
//! takes of the wire, preamble and gap included, unless they are of payload.

use std::ops::RangeInclusive;

use units::{BitRate, DataSize, Delay, Duration};
use wire::ethernet::wire_size;

use super::passage::MOST_COUNTED;
use super::{
    Acknowledging, Awaited, CHECK_SEQUENCE, Cadence, Effort, FROM, Findings, Keep, LoadLevel,
    Method, MethodError, Passage, Passing, Path, Progress, SendingPace, Setting, Settings, TO,
    Windowed, at_each, choice, jitter, loss, need_two_ports, trial_of,
};
use crate::measurement::Value;
use crate::statistics::ratio;
use crate::trial::{Conduct, Setup, Stream, Tester};

/// `taktos measure throughput`.
pub const METHOD: Method = Method {
    name: "throughput",
    finds: "the highest rate without loss, and what windows reach (RFC 2544, S3-5)",
    options: &[
        ("test", "search, udp or tcp, or several [search]"),
        (
            "size",
            "bytes of a frame with check sequence [all of RFC 2544 and S4-3, quick 64,512,1518]",
        ),
        (
            "window",
            "bytes of a window, as in 1500,150000, for udp and tcp",
        ),
        (
            "load",
            "what others send to the receiver, for udp and tcp [none]",
        ),
        (
            "rate",
            "the highest rate that is offered [that of the link, or 1Gbit/s]",
        ),
        (
            "precision",
            "how narrow the search gets [650kbit/s, quick a 64th of the rate]",
        ),
        ("tolerance", "the share that may be lost, as in 0.00001 [0]"),
    ],
    run,
};

/// A cable without a rate does not keep a window to the one that is offered elsewhere: so
/// many times as many frames are counted.
const BEYOND_RATE: u64 = 4;
/// RFC 2544 section 9.1, and the sizes of S4-3.
const SIZES: [usize; 9] = [64, 122, 128, 256, 306, 512, 1_024, 1_280, 1_518];
const QUICK_SIZES: [usize; 3] = [64, 512, 1_518];
/// S3-3.
const WINDOWS: [u32; 4] = [1_500, 10_000, 65_000, 150_000];
const LARGEST_WINDOW: u32 = 1_000_000;
/// The sizes of frames that can be chosen, check sequence included.
pub(super) const FRAME_SIZES: RangeInclusive<usize> = 64..=1_518;
/// RFC 2544 section 24: a trial has at least 60 seconds.
const FULL: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_secs(2);
/// A trial that finds the place is so many times shorter than one that confirms it.
const SHORTER: u64 = 12;
const SHORTEST: Duration = Duration::from_ms(500);
const RATE: BitRate = BitRate::from_mbps(1_000);
/// S4-3.
const PRECISION: BitRate = BitRate::from_bps(650_000);
/// A quick search ends when the range is as narrow as the rate over this.
const QUICK_STEPS: u64 = 64;
/// What is later than this is left out.
const PATIENCE: Duration = Duration::from_ms(1);
/// RFC 2544 section 23: how long the last frames have.
const DRAIN: Duration = Duration::from_secs(2);
const QUICK_DRAIN: Duration = Duration::from_ms(300);
/// A rate was offered if the tester left out less than one frame of so many.
const OFFERED: u64 = 1_000;
/// How often a rate is tried before stalls of the machine are no excuse any more.
const TRIES: u32 = 3;
/// A rate was not offered if the machine stood still for more than one part of so many
/// of the trial.
const STANDING_STILL: u64 = 10;
/// More than so many times as much as was due while the machine stood still is not
/// its fault.
const FAULT_OF_STALLS: u128 = 4;
/// A rate is told if what arrived took longer than this.
const SHORTEST_SPAN: Duration = Duration::from_ms(100);

named!(Test, Search = "search", Udp = "udp", Tcp = "tcp",);

#[derive(Clone, Copy, Debug)]
enum ThroughputPoint {
    Search(usize),
    Udp(u32, LoadLevel),
    Tcp(u32, LoadLevel),
}

/// What is the same at all points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) rate: BitRate,
    pub(super) precision: BitRate,
    pub(super) tolerance: f64,
    pub(super) length: Duration,
    pub(super) drain: Duration,
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let mut limits = Limits::choose(tester.setup(), settings)?;
    if settings.effort == Effort::Quick {
        let coarse = BitRate::from_bps((limits.rate.as_bps() / QUICK_STEPS).max(1));
        limits.precision = settings.option("precision", PRECISION.max(coarse))?;
    }
    let points = points(settings)?;
    let mut findings = at_each(&points, progress, |setting, point, found| match *point {
        ThroughputPoint::Search(size) => {
            let outcome = search(tester, &limits, size)?;
            outcome.describe(size, setting, found);
            Ok(())
        }
        ThroughputPoint::Udp(window, load) => udp(tester, &limits, (window, load), setting, found),
        ThroughputPoint::Tcp(window, load) => tcp(tester, &limits, (window, load), setting, found),
    })?;
    if settings.effort == Effort::Quick {
        findings.remark(format!(
            "Trials had {} in place of {FULL}, and rates are known to {}.",
            limits.length, limits.precision
        ));
    }
    Ok(findings)
}

impl Limits {
    pub(super) fn choose(setup: &Setup, settings: &Settings) -> Result<Self, MethodError> {
        Ok(Self {
            rate: settings.option("rate", setup.rate.unwrap_or(RATE))?,
            precision: settings.option("precision", PRECISION)?,
            tolerance: settings.within("tolerance", 0.0, 0.0..1.0)?,
            length: settings.length(FULL, QUICK),
            drain: settings.usual(DRAIN, QUICK_DRAIN),
        })
    }

    fn short(&self) -> Duration {
        Duration::from_ns(self.length.as_ns() / SHORTER)
            .max(SHORTEST)
            .min(self.length)
    }
}

fn points(settings: &Settings) -> Result<Vec<(Setting, ThroughputPoint)>, MethodError> {
    let mut points = Vec::new();
    for test in settings.list("test", vec![Test::Search])? {
        if test == Test::Search {
            let usual = settings.usual(SIZES.to_vec(), QUICK_SIZES.to_vec());
            for size in settings.list_within("size", usual, FRAME_SIZES)? {
                let setting = vec![choice("size", format!("{size} bytes"))];
                points.push((setting, ThroughputPoint::Search(size)));
            }
            continue;
        }
        for load in settings.list("load", vec![LoadLevel::None])? {
            for window in settings.list_within("window", WINDOWS.to_vec(), 1..=LARGEST_WINDOW)? {
                let (name, point) = match test {
                    Test::Udp => ("udp", ThroughputPoint::Udp(window, load)),
                    Test::Search | Test::Tcp => ("tcp", ThroughputPoint::Tcp(window, load)),
                };
                let setting = vec![
                    choice("test", name),
                    choice("window", format!("{window} bytes")),
                    choice("load", load),
                ];
                points.push((setting, point));
            }
        }
    }
    Ok(points)
}

#[derive(Clone, Debug)]
pub(super) struct ThroughputOutcome {
    /// The highest rate without loss, or nothing if there is none.
    pub(super) clean: Option<BitRate>,
    /// Whether it is the highest that could be offered.
    pub(super) limited_by: LimitedBy,
    /// Whether a rate that seemed to be without loss was not so for longer.
    is_unsteady: bool,
    /// What became of the frames at the highest rate.
    highest: Passage,
    trials: u32,
}

/// What kept the rate from being higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitedBy {
    /// The device lost frames above it.
    Device,
    /// The tester could not offer more.
    Tester,
    /// More was not asked for.
    Plan,
}

/// What a trial at one rate showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trialled {
    Clean,
    Lossy,
    NotOffered,
}

/// Searches the highest rate of a range at which trials are clean: the highest first, then
/// the middle of what is left until that is no wider than the precision. Returns the
/// greatest clean one, or the lower end, and what kept it from being higher.
///
/// # Errors
///
/// The first of a trial.
pub fn highest_rate<E>(
    (mut low, mut high): (u64, u64),
    precision: u64,
    mut trial: impl FnMut(u64) -> Result<Trialled, E>,
) -> Result<(u64, LimitedBy), E> {
    let (mut rate, mut limited_by) = (high, LimitedBy::Plan);
    loop {
        match trial(rate)? {
            Trialled::Clean => low = rate,
            Trialled::Lossy => (high, limited_by) = (rate, LimitedBy::Device),
            Trialled::NotOffered => (high, limited_by) = (rate, LimitedBy::Tester),
        }
        if high - low <= precision.max(1) {
            return Ok((low, limited_by));
        }
        rate = low + (high - low) / 2;
    }
}

/// Finds the highest rate without loss.
pub(super) fn search(
    tester: &mut dyn Tester,
    limits: &Limits,
    size: usize,
) -> Result<ThroughputOutcome, MethodError> {
    let mut outcome = ThroughputOutcome {
        clean: None,
        limited_by: LimitedBy::Plan,
        is_unsteady: false,
        highest: Passage::default(),
        trials: 0,
    };
    let Some(candidate) = find(
        tester,
        limits,
        size,
        (limits.rate, limits.short()),
        &mut outcome,
    )?
    else {
        return Ok(outcome);
    };
    let confirmed = at_rate(
        tester,
        limits,
        (candidate, size),
        limits.length,
        &mut outcome,
    )?;
    outcome.clean = match confirmed {
        Trialled::Clean => Some(candidate),
        Trialled::Lossy | Trialled::NotOffered => {
            // A buffer hid the losses from short trials, or the device is not steady.
            outcome.is_unsteady = true;
            find(
                tester,
                limits,
                size,
                (candidate, limits.length),
                &mut outcome,
            )?
        }
    };
    Ok(outcome)
}

/// Finds the highest rate without loss up to one, by trials of one length.
fn find(
    tester: &mut dyn Tester,
    limits: &Limits,
    size: usize,
    (most, length): (BitRate, Duration),
    outcome: &mut ThroughputOutcome,
) -> Result<Option<BitRate>, MethodError> {
    let range = (0, most.as_bps());
    let (clean, limited_by) = highest_rate(range, limits.precision.as_bps(), |rate| {
        let rate = BitRate::new(rate).expect("above the lower end of the range");
        at_rate(tester, limits, (rate, size), length, outcome)
    })?;
    if limited_by != LimitedBy::Plan {
        outcome.limited_by = limited_by;
    }
    Ok(BitRate::new(clean))
}

/// Tries a rate, and tries it again if the machine stood still.
fn at_rate(
    tester: &mut dyn Tester,
    limits: &Limits,
    (rate, size): (BitRate, usize),
    length: Duration,
    outcome: &mut ThroughputOutcome,
) -> Result<Trialled, MethodError> {
    let mut tries = 1;
    loop {
        let (trialled, is_excused) = try_once(tester, limits, (rate, size), length, outcome)?;
        match trialled {
            Trialled::Clean => return Ok(trialled),
            Trialled::Lossy | Trialled::NotOffered if tries == TRIES || !is_excused => {
                return Ok(trialled);
            }
            Trialled::Lossy | Trialled::NotOffered => tries += 1,
        }
    }
}

/// Tries a rate once, and tells whether the machine may be to blame for what is missing.
fn try_once(
    tester: &mut dyn Tester,
    limits: &Limits,
    (rate, size): (BitRate, usize),
    length: Duration,
    outcome: &mut ThroughputOutcome,
) -> Result<(Trialled, bool), MethodError> {
    let frame_length = size - CHECK_SEQUENCE;
    let pace = SendingPace::at(rate, wire_size(frame_length));
    let frames = pace.frames_in(length).min(MOST_COUNTED);
    let path = Path::between(FROM, TO);
    let sender = Cadence::new(&path.addresses, frame_length, pace)
        .frames(frames)
        .patience(PATIENCE);
    let trial = trial_of(vec![Stream::new(path.from, sender)], length, limits.drain);
    let mut passing = Passing::new(path, frames, Keep::Counts).awaiting(Awaited::Last);
    let conduct = tester.run(trial, &mut passing)?;
    let passage = passing.passage();
    outcome.trials += 1;
    if outcome.trials == 1 {
        outcome.highest = passage.clone();
    }
    let offered = (frames, length);
    let of_stalls = due_in_stalls(&conduct, offered);
    let gone = frames.saturating_sub(passage.received).max(conduct.unseen);
    let is_excused = conduct.stalls.count() > 0
        && u128::from(gone) <= of_stalls.max(1).saturating_mul(FAULT_OF_STALLS);
    let trialled = judge(&passage, &conduct, offered, limits.tolerance);
    Ok((trialled, is_excused))
}

/// Returns how many frames were due while the machine stood still, and while it made up
/// for that.
fn due_in_stalls(conduct: &Conduct, (frames, length): (u64, Duration)) -> u128 {
    let still = conduct.stalls.total().as_ns().saturating_mul(2);
    u128::from(frames) * u128::from(still) / u128::from(length.as_ns().max(1))
}

fn judge(
    passage: &Passage,
    conduct: &Conduct,
    (frames, length): (u64, Duration),
    tolerance: f64,
) -> Trialled {
    let missing = frames.saturating_sub(passage.sent).max(conduct.skipped);
    let of_stalls =
        due_in_stalls(conduct, (frames, length)).min(u128::from(frames / STANDING_STILL));
    let allowed = u128::from(frames / OFFERED) + of_stalls;
    if u128::from(missing) > allowed || conduct.unseen > 0 {
        return Trialled::NotOffered;
    }
    match passage.sent > 0 && ratio(passage.lost, passage.sent) <= tolerance {
        true => Trialled::Clean,
        false => Trialled::Lossy,
    }
}

impl ThroughputOutcome {
    /// Returns what was the limit if no rate is without loss.
    pub(super) fn why_none(&self) -> &'static str {
        match self.limited_by {
            LimitedBy::Tester => {
                "the tester could offer no rate: the machine stands still too often or too long \
                 for it (see `taktos measure stall`)"
            }
            LimitedBy::Device | LimitedBy::Plan => {
                "frames were lost at every rate, or a rate without loss was not so again"
            }
        }
    }

    fn describe(&self, size: usize, setting: &Setting, found: &mut Findings) {
        let name = ("throughput", "RFC 2544 section 26.1, S4-3");
        let frame = wire_size(size - CHECK_SEQUENCE);
        let Some(rate) = self.clean else {
            found.add(name, setting, Value::Unknown(self.why_none().to_owned()));
            return;
        };
        let frames = rate.as_bps() / frame.as_bits();
        let (rate_found, frames_found) = match self.limited_by {
            LimitedBy::Device => (Value::Rate(rate), Value::Count(frames)),
            LimitedBy::Tester | LimitedBy::Plan => {
                (Value::RateAtLeast(rate), Value::CountAtLeast(frames))
            }
        };
        found.add(name, setting, rate_found);
        let name = ("frames each second", "RFC 2544 section 26.1");
        found.add(name, setting, frames_found);
        let highest = &self.highest;
        if highest.sent > 0 {
            let share = Value::Share(ratio(highest.lost, highest.sent));
            found.add(
                ("loss at the highest rate", "RFC 2544 section 26.3"),
                setting,
                share,
            );
        }
        let size = format!("{size} bytes");
        match self.limited_by {
            LimitedBy::Device => {}
            LimitedBy::Tester => found.remark(format!(
                "At {size} the tester could not offer more than {rate}: the device may take more."
            )),
            LimitedBy::Plan => found.remark(format!(
                "At {size} nothing was lost at {rate}, the highest rate that was to be offered."
            )),
        }
        if self.is_unsteady {
            found.remark(format!(
                "At {size} a rate without loss lost frames when tried for longer, and the search \
                 was made again with long trials: a large buffer hides losses from short ones, or \
                 the device, or the machine, is not steady."
            ));
        }
    }
}

fn udp(
    tester: &mut dyn Tester,
    limits: &Limits,
    (window, load): (u32, LoadLevel),
    setting: &Setting,
    found: &mut Findings,
) -> Result<(), MethodError> {
    let path = Path::between(FROM, TO);
    let split = crate::traffic::message::split(&path.addresses, window);
    let size =
        wire_size(split.full_frame) * u64::from(split.packets - 1) + wire_size(split.last_frame);
    let pace = SendingPace::at(limits.rate, size);
    let messages = pace
        .frames_in(limits.length)
        .min(MOST_COUNTED / u64::from(split.packets));
    let frames = messages * u64::from(split.packets);
    let sender = Cadence::of_messages(&path.addresses, window, pace)
        .frames(messages)
        .patience(PATIENCE);
    let mut streams = load.streams(tester.setup(), limits.length)?;
    streams.push(Stream::new(path.from, sender));
    let trial = trial_of(streams, limits.length, limits.drain);
    let mut passing = Passing::new(path, frames, Keep::Stamps);
    tester.run(trial, &mut passing)?;
    let passage = passing.passage();
    let bytes = passage.received * u64::from(window) / u64::from(split.packets);
    describe_rate("UDP throughput", bytes, &passing, setting, found);
    let (times, _) = passing.times_by_own_clocks();
    jitter::describe(&times, setting, found);
    loss::describe(&passage, setting, found);
    Ok(())
}

fn tcp(
    tester: &mut dyn Tester,
    limits: &Limits,
    (window, load): (u32, LoadLevel),
    setting: &Setting,
    found: &mut Findings,
) -> Result<(), MethodError> {
    let path = Path::between(FROM, TO);
    let headers = path.addresses.shortest_frame();
    let payload = usize::try_from(window).unwrap_or(usize::MAX);
    let payload = payload.min(path.addresses.longest_frame() - headers);
    let frame_length = (headers + payload).max(wire::ethernet::SHORTEST_FRAME);
    let sender = Windowed::new(&path.addresses, frame_length, window.into(), limits.length);
    let mut streams = load.streams(tester.setup(), limits.length)?;
    streams.push(Stream::new(path.from, sender));
    streams.push(Stream::new(path.to, Acknowledging::new(&path.addresses)));
    let trial = trial_of(streams, limits.length, limits.drain);
    let most = SendingPace::at(limits.rate, wire_size(frame_length)).frames_in(limits.length);
    let most = most.saturating_mul(BEYOND_RATE).min(MOST_COUNTED);
    let mut passing = Passing::new(path, most, Keep::Stamps);
    tester.run(trial, &mut passing)?;
    let passage = passing.passage();
    let bytes = passage.received * u64::try_from(frame_length - headers).unwrap_or(0);
    describe_rate("TCP throughput", bytes, &passing, setting, found);
    loss::describe(&passage, setting, found);
    Ok(())
}

/// Adds the rate at which payload arrived, from the first arrival to the last.
fn describe_rate(
    quantity: &str,
    bytes: u64,
    passing: &Passing,
    setting: &Setting,
    found: &mut Findings,
) {
    let took = passing.arrival_span();
    let rate = match took > SHORTEST_SPAN {
        true => BitRate::of(DataSize::from_bytes(bytes), Delay::from_ns(took.as_ns())),
        false => None,
    };
    let value = match rate {
        Some(rate) => Value::Rate(rate),
        None => Value::Unknown("too little arrived".to_owned()),
    };
    found.add((quantity, "S3-5, of payload"), setting, value);
}

#[cfg(test)]
mod tests;
