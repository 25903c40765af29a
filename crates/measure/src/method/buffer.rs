//! How many frames a device can hold (S4-4).
//!
//! Frames leave back to back, as fast as the link or the tester allows, in bursts that
//! grow until one is lost. Meanwhile the device forwards, so that the longest burst
//! without loss is more than it can hold (RFC 9004 sections 5 and 6):
//!
//! ```text
//! frames  = N − (N − 1) × T / F
//! time    = frames / F
//! ```
//!
//! with the longest burst of N frames, the rate F of the burst as it was seen to leave,
//! and the throughput T, both in frames a second. The throughput is found first, by the
//! search of RFC 2544. A device that takes the burst for as long as one likes is never
//! filled by it, and what it holds stays unknown.
//!
//! # Differs from the RFC
//!
//! It has N × (1 − T / F). Until the last frame comes, the device forwards for N − 1
//! intervals, not N: a device that holds 9 frames and works on 3 while 8 come would seem
//! to hold 8.

use units::{BitRate, DataSize, Duration};
use wire::ethernet::wire_size;

use super::passage::MOST_STAMPED;
use super::throughput::{FRAME_SIZES, Limits, search};
use super::{
    CHECK_SEQUENCE, Cadence, Effort, FROM, Findings, Keep, Method, MethodError, Passing, Path,
    Progress, SendingPace, Setting, Settings, TO, at_each, choice, need_two_ports,
};
use crate::measurement::Value;
use crate::statistics::{Distribution, middle};
use crate::trial::{Stream, Tester, Trial};

/// `taktos measure buffer`.
pub const METHOD: Method = Method {
    name: "buffer",
    finds: "how many frames a device can hold (RFC 9004, S4-4)",
    options: &[
        ("size", "bytes of a frame with check sequence [64,306,1518]"),
        (
            "repeats",
            "how often the longest burst is searched [50, quick 3]",
        ),
        ("most", "the longest burst that is tried, in frames [20000]"),
        (
            "rate",
            "the rate of the link [that of the tester, or 1Gbit/s]",
        ),
        (
            "burst-rate",
            "the rate of a burst [at once, or that of the link]",
        ),
        (
            "precision",
            "how narrow the search of the throughput gets [650kbit/s]",
        ),
    ],
    run,
};

const SIZES: [usize; 3] = [64, 306, 1_518];
/// RFC 9004 section 6.2: at least 50 repetitions.
const REPEATS: u32 = 50;
const QUICK_REPEATS: u32 = 3;
const MOST_REPEATS: u32 = 1_000;
const MOST_FRAMES: u64 = 20_000;
const MILLION: u128 = 1_000_000;
const NS_PER_SECOND: u128 = 1_000_000_000;
/// How long the last frames have beyond what the throughput takes for a burst.
const DRAIN: Duration = Duration::from_ms(300);
/// How long a burst may take to leave beyond its time: a tester needs some
/// microseconds for each frame, and may be held up.
const SENDING: Duration = Duration::from_ms(20);
const SENDING_EACH: Duration = Duration::from_us(10);
/// The longest that a burst may take to come out.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);
/// A rate so high that all frames of a burst are due at once.
const AT_ONCE: BitRate = BitRate::from_mbps(1_000_000_000);

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let limits = Limits::choose(tester.setup(), settings)?;
    let usual = settings.usual(REPEATS, QUICK_REPEATS);
    let plan = BurstPlan {
        limits,
        repeats: settings.within("repeats", usual, 1..=MOST_REPEATS)?,
        most: settings.within("most", MOST_FRAMES, 2..=MOST_STAMPED)?,
        burst_rate: settings.option("burst-rate", tester.setup().rate.unwrap_or(AT_ONCE))?,
    };
    let mut points = Vec::new();
    for size in settings.list_within("size", SIZES.to_vec(), FRAME_SIZES)? {
        points.push((vec![choice("size", format!("{size} bytes"))], size));
    }
    let mut findings = at_each(&points, progress, |setting, size, found| {
        at_size(tester, &plan, *size, setting, found)
    })?;
    if settings.effort == Effort::Quick {
        findings.remark(format!(
            "{} bursts were searched in place of {REPEATS}.",
            plan.repeats
        ));
    }
    Ok(findings)
}

#[derive(Clone, Copy, Debug)]
struct BurstPlan {
    limits: Limits,
    repeats: u32,
    most: u64,
    burst_rate: BitRate,
}

/// The longest burst without loss, and how fast it was.
#[derive(Clone, Copy, Debug)]
struct Burst {
    frames: u64,
    /// In nanoseconds, from the first frame to the last.
    took: Duration,
}

fn at_size(
    tester: &mut dyn Tester,
    plan: &BurstPlan,
    size: usize,
    setting: &Setting,
    found: &mut Findings,
) -> Result<(), MethodError> {
    let frame = wire_size(size - CHECK_SEQUENCE);
    let outcome = search(tester, &plan.limits, size)?;
    let Some(throughput) = outcome.clean else {
        let why = format!("no burst is without loss: {}", outcome.why_none());
        let name = ("buffer", "RFC 9004 section 6.6");
        found.add(name, setting, Value::Unknown(why));
        return Ok(());
    };
    let name = ("throughput", "RFC 2544 section 26.1");
    found.add(name, setting, Value::Rate(throughput));
    let mut bursts = Vec::new();
    for _ in 0..plan.repeats {
        if let Some(burst) = longest_burst(tester, plan, size, throughput)? {
            bursts.push(burst);
        }
    }
    describe(&bursts, plan, (size, frame, throughput), setting, found);
    Ok(())
}

/// Halves the range in which the longest burst without loss lies. Returns nothing if
/// a single pair of frames is too much.
fn longest_burst(
    tester: &mut dyn Tester,
    plan: &BurstPlan,
    size: usize,
    throughput: BitRate,
) -> Result<Option<Burst>, MethodError> {
    let mut longest = None;
    let (mut low, mut high) = (1, plan.most + 1);
    // Doubling first: most buffers are far smaller than the longest burst.
    let mut frames = 2;
    while high - low > 1 {
        match burst(tester, plan, (size, frames), throughput)? {
            Some(burst) => {
                longest = Some(burst);
                low = frames;
            }
            None => high = frames,
        }
        frames = match high > plan.most {
            true => (low * 2).min(plan.most),
            false => low + (high - low) / 2,
        };
        if low == plan.most {
            break;
        }
    }
    Ok(longest)
}

/// Sends a burst, and returns it if all of it came out.
fn burst(
    tester: &mut dyn Tester,
    plan: &BurstPlan,
    (size, frames): (usize, u64),
    throughput: BitRate,
) -> Result<Option<Burst>, MethodError> {
    let frame_length = size - CHECK_SEQUENCE;
    let path = Path::between(FROM, TO);
    let pace = SendingPace::at(plan.burst_rate, wire_size(frame_length));
    let sender = Cadence::new(&path.addresses, frame_length, pace).frames(frames);
    let whole = DataSize::from_bits(wire_size(frame_length).as_bits() * frames);
    let through = throughput.time_to_send(whole).round_up();
    let trial = Trial {
        streams: vec![Stream::new(path.from, sender)],
        length: pace.point(frames) + SENDING + SENDING_EACH * frames,
        drain: (DRAIN + through).min(LONGEST_DRAIN),
        ..Trial::default()
    };
    let mut passing = Passing::new(path, frames, Keep::Stamps);
    tester.run(trial, &mut passing)?;
    let passage = passing.passage();
    if passage.lost > 0 || passage.received < frames {
        return Ok(None);
    }
    let (first, last) = (passing.sent_at(0), passing.sent_at(frames - 1));
    let took = match (first, last) {
        (Some(first), Some(last)) => last.saturating_since(first),
        (None, _) | (_, None) => Duration::ZERO,
    };
    Ok(Some(Burst { frames, took }))
}

impl Burst {
    /// Returns how many millionths of a frame were in the device when the last frame
    /// of the burst came: the burst less what had been forwarded by then.
    fn kept_millionths(&self, frame: DataSize, throughput: BitRate) -> u64 {
        let whole = u128::from(self.frames) * MILLION;
        let bits = u128::from(throughput.as_bps()) * u128::from(self.took.as_ns());
        let forwarded = bits * MILLION / u128::from(frame.as_bits()) / NS_PER_SECOND;
        u64::try_from(whole.saturating_sub(forwarded)).unwrap_or(u64::MAX)
    }
}

fn describe(
    bursts: &[Burst],
    plan: &BurstPlan,
    (size, frame, throughput): (usize, DataSize, BitRate),
    setting: &Setting,
    found: &mut Findings,
) {
    let mut lengths: Vec<_> = bursts.iter().map(|burst| burst.frames).collect();
    let Some(median) = middle(&mut lengths, Ord::cmp) else {
        let why = "two frames back to back are one too many";
        let name = ("buffer", "RFC 9004 section 6.6");
        found.add(name, setting, Value::Unknown(why.to_owned()));
        return;
    };
    lengths.sort_unstable();
    let source = "RFC 9004 section 6.3";
    for (quantity, count) in [
        ("longest burst without loss, median", median),
        ("longest burst without loss, smallest", lengths[0]),
        (
            "longest burst without loss, greatest",
            lengths[lengths.len() - 1],
        ),
    ] {
        found.add((quantity, source), setting, Value::Count(count));
    }
    let mut times = Distribution::fine();
    let mut kept: Vec<_> = Vec::new();
    for burst in bursts {
        let millionths = burst.kept_millionths(frame, throughput);
        kept.push(millionths);
        // What is kept, over the rate of the burst: frames × (took / gaps).
        let gaps = u128::from(burst.frames.saturating_sub(1).max(1));
        let ns = u128::from(millionths) * u128::from(burst.took.as_ns()) / gaps / MILLION;
        times.record(Duration::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)));
    }
    if lengths[0] >= plan.most {
        let why = format!(
            "no burst of up to {} frames filled it: the device is as fast as the burst, or holds \
             more; say a higher burst-rate, or a longer burst by most",
            plan.most
        );
        let name = ("buffer", "RFC 9004 section 6.6, S4-4");
        found.add(name, setting, Value::Unknown(why));
        return;
    }
    let kept = middle(&mut kept, Ord::cmp).unwrap_or_default();
    let frames = (kept + 500_000) / 1_000_000;
    let source = "RFC 9004 section 6.6, S4-4";
    found.add(("buffer", source), setting, Value::Count(frames));
    let bytes = u64::try_from(size)
        .unwrap_or(u64::MAX)
        .saturating_mul(frames);
    found.add(
        ("buffer in bytes", source),
        setting,
        Value::Size(DataSize::from_bytes(bytes)),
    );
    if times.max() > Some(Duration::ZERO) {
        found.add(("buffer time", source), setting, Value::Times(times));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings};

    #[test]
    fn the_frames_of_a_burst_at_once_are_those_that_the_device_holds() {
        let mut device = device(50, 37);

        let options = [("size", "64,1518"), ("rate", "100Mbit/s")];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        for size in ["64 bytes", "1518 bytes"] {
            assert_eq!(number(&found, "buffer", size), 37, "{size}");
        }
        let Value::Size(bytes) = figure(&found, "buffer in bytes", "64 bytes") else {
            panic!("{found:?}");
        };
        assert_eq!(*bytes, DataSize::from_bytes(37 * 64));
    }

    /// At twice the rate of the device half of a burst has left when its last frame
    /// comes: the burst is twice the buffer, and the correction finds that.
    #[test]
    fn what_the_device_forwards_meanwhile_is_no_buffer() {
        let mut device = device(50, 200);

        let options = [
            ("size", "1518"),
            ("rate", "100Mbit/s"),
            ("burst-rate", "100Mbit/s"),
        ];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        let longest = number(&found, "longest burst without loss, median", "");
        assert!((395..=402).contains(&longest), "{longest}");
        let buffer = number(&found, "buffer", "");
        assert!((196..=204).contains(&buffer), "{buffer}");
    }

    #[test]
    fn a_buffer_that_is_larger_than_any_burst_is_said_to_be() {
        let mut device = device(50, 5_000);

        let options = [("size", "1518"), ("rate", "100Mbit/s"), ("most", "1000")];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        let Value::Unknown(why) = figure(&found, "buffer", "") else {
            panic!("{found:?}");
        };
        assert!(why.contains("up to 1000 frames"), "{why}");
    }

    fn device(mbps: u64, frames: usize) -> KnownDevice {
        let mut lane = Lane::of(Duration::from_us(5));
        lane.server = Some((BitRate::from_mbps(mbps), frames));
        KnownDevice::new(lane, Lane::of(Duration::ZERO))
    }
}
