//! How long a switch of the lab takes on this machine, where the kernel forwards for
//! it: what a profile of it needs, in some seconds.
//!
//! - *time a frame*: the processor time of a thread that sends frames as fast as it
//!   can, less that of one that sends them over a cable without a switch. The
//!   kernel forwards each within the call that sends it, holds it to a contract, and notes
//!   how long it stayed, as it does with frames of promised flows. More masks before the one
//!   that matches, and more actions, make it longer: the differences are what a mask
//!   and an action cost. Processor time does not run while others have the processor,
//!   and of several runs the least counts: the others were disturbed.
//! - *latency*: from where the driver of one host takes a frame to where that of the
//!   other hands it up, by the kernel's stamps. Frames that met a stall of the machine
//!   are left out and counted; sentries on every processor notice it.
//!
//! # Left out
//!
//! Switches that a loop of this program forwards for: what they do in a second depends
//! on who else wants a processor.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::clock;
use linux::jitter_monitor::JitterMonitors;
use measure::stalls::{Shadows, Stalls};
use measure::statistics::Distribution;
use thiserror::Error;
use units::{Delay, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::MatchField;
use wire::openflow::oxm::Masked;

use crate::bench_switch::{self, BenchError, BenchSwitch};

/// The lengths of the frames, without check sequence.
pub const LENGTHS: [usize; 2] = [60, 1514];
/// Between two frames whose latency is taken.
pub const SPACING: Duration = Duration::from_us(250);
/// What holds a processor for longer than the kernel's forwarding does.
pub const STALL: Duration = Duration::from_us(200);
/// Frames that are looked at together when the calmest half second is sought.
pub const BLOCK: usize = 2_000;
/// The most masks before the one that matches.
const MOST_MASKS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Frames whose processor time is taken together.
    pub frames: u32,
    /// How often; the least counts.
    pub runs: usize,
    /// How long the latency of each length is watched.
    pub watch: Duration,
    /// How long all of it may take.
    pub longest: Duration,
}

impl Amount {
    /// Some ten seconds on a machine that does nothing else.
    pub const SHORT: Self = Self {
        frames: 20_000,
        runs: 7,
        watch: Duration::from_ms(2_000),
        longest: Duration::from_secs(30),
    };
}

/// Why nothing was found out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TimesError {
    /// There is no switch that could be measured.
    #[error(transparent)]
    Bench(#[from] BenchError),
    #[error("the switch cannot be measured: {0}")]
    Machine(#[from] io::Error),
    /// The machine is too busy.
    #[error("the switch could not be measured within {0}: others had the processors")]
    TooSlow(Duration),
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
}

#[derive(Clone, Debug)]
pub struct ForwardingTimes {
    /// What the switch takes of a processor for each frame, by the length.
    pub per_frame: Vec<(usize, Spent)>,
    /// What one more mask adds to it, the greatest slope that was seen.
    pub per_mask: Delay,
    /// What one more action adds.
    pub per_action: Delay,
    /// How long frames take that come one by one, by the length.
    pub latency: Vec<(usize, Latency)>,
    /// When the machine stood still while latency was watched.
    pub stalls: Stalls,
}

/// Processor time of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Of the run with the least.
    pub least: Delay,
    /// Of the run with the most.
    pub most: Delay,
}

#[derive(Clone, Debug, Default)]
pub struct Latency {
    pub sent: u64,
    /// Those that met a stall: their times are left out.
    pub disturbed: u64,
    pub calm: Distribution,
    /// The least of the medians of [`BLOCK`] calm frames in a row.
    pub calmest_median: Option<Duration>,
}

/// What is measured, step by step.
struct ForwardingBenchmark<'a> {
    bench: BenchSwitch,
    amount: Amount,
    until: Instant,
    stop: &'a AtomicBool,
    done: u64,
    step: &'a mut dyn FnMut(u64, u64),
}

/// What frames meet before they are sent on.
#[derive(Clone, Copy, Debug)]
struct LookupTables {
    /// Entries that do not match, each with a mask of its own.
    masks: usize,
    /// Further actions of the entry that does.
    actions: usize,
}

impl LookupTables {
    const fn with_masks(masks: usize) -> Self {
        Self { masks, actions: 0 }
    }

    const fn with_actions(actions: usize) -> Self {
        Self { masks: 0, actions }
    }
}

/// Steps of about the same length: eight times of frames, and two latencies that take
/// as long as some of them.
const STEPS: u64 = 8 + 2 * LATENCY_STEPS;
const LATENCY_STEPS: u64 = 4;

/// Builds a switch and measures it. `step` is told how many of how many steps are done.
///
/// # Errors
///
/// Without the privilege, if the kernel does not forward here, if it takes too long, or
/// once `stop` is set.
pub fn measure(
    amount: Amount,
    stop: &AtomicBool,
    step: &mut dyn FnMut(u64, u64),
) -> Result<ForwardingTimes, TimesError> {
    let until = clock::now() + amount.longest;
    let mut course = ForwardingBenchmark {
        bench: BenchSwitch::start()?,
        amount,
        until,
        stop,
        done: 0,
        step,
    };
    let per_frame = course.per_frame()?;
    let per_mask = course.slope(&[0, MOST_MASKS / 2, MOST_MASKS].map(LookupTables::with_masks))?;
    let per_action = course.slope(&[0, 4, 8].map(LookupTables::with_actions))?;
    let mut stalls = Stalls::new(STALL);
    let latency = course.latency(&mut stalls)?;
    Ok(ForwardingTimes {
        per_frame,
        per_mask,
        per_action,
        latency,
        stalls,
    })
}

impl ForwardingBenchmark<'_> {
    /// Returns what the switch takes for a frame, by the length.
    fn per_frame(&mut self) -> Result<Vec<(usize, Spent)>, TimesError> {
        self.bench.join(&[], 0)?;
        let mut found = Vec::new();
        for length in LENGTHS {
            let frame = bench_switch::frame(length);
            // In turns, so that both meet the same moments of the machine.
            let mut runs = Vec::new();
            for _ in 0..self.amount.runs {
                let direct = self.time(|bench| bench.flood_directly(&frame))?;
                let switched = self.time(|bench| bench.flood(&frame))?;
                runs.push((direct, switched));
            }
            self.advance(1);
            found.push((length, difference(&runs)));
        }
        Ok(found)
    }

    /// Returns what one more of something adds to the time of a frame: entries before
    /// the one that matches, or actions of that.
    fn slope(&mut self, tables: &[LookupTables]) -> Result<Delay, TimesError> {
        let frame = bench_switch::frame(LENGTHS[0]);
        let mut points = Vec::new();
        for table in tables {
            let others = distinct_masks(table.masks);
            self.bench.join(&others, table.actions)?;
            let mut least = None;
            for _ in 0..self.amount.runs {
                let time = self.time(|bench| bench.flood(&frame))?;
                least = least.map_or(Some(time), |it: Delay| Some(it.min(time)));
            }
            self.advance(1);
            let count = (table.masks + table.actions) as u64;
            points.push((count, least.unwrap_or_default()));
        }
        Ok(steepest(&points))
    }

    fn latency(&mut self, stalls: &mut Stalls) -> Result<Vec<(usize, Latency)>, TimesError> {
        self.bench.join(&[], 0)?;
        self.bench.tap()?;
        let mut found = Vec::new();
        for length in LENGTHS {
            let begun = clock::now();
            let sentries = JitterMonitors::post(STALL)?;
            let (sent, seen) = self.watch(length)?;
            let mut own = Stalls::new(STALL);
            for watched in sentries.recall() {
                crate::stalls::enter(&watched.stalls, "sentry", begun, stalls);
                crate::stalls::enter(&watched.stalls, "sentry", begun, &mut own);
            }
            found.push((length, sorted(sent, &seen, &own.shadows())));
            self.advance(LATENCY_STEPS);
        }
        Ok(found)
    }

    /// Sends frames one by one and returns how many, and when each left and arrived.
    fn watch(&mut self, length: usize) -> Result<(u64, Vec<(Instant, Instant)>), TimesError> {
        let (frame, mut seen) = (bench_switch::frame(length), Vec::new());
        self.bench.ends().forget_the_past();
        let end = clock::now() + self.amount.watch;
        let mut due = clock::now() + SPACING;
        let mut sent = 0;
        while due < end {
            clock::sleep_until(due);
            due = (due + SPACING).max(clock::now());
            // The one before has arrived by now, or is lost.
            seen.extend(self.bench.ends().stamps());
            self.bench.ends().send(&frame)?;
            sent += 1;
            if sent % BLOCK as u64 == 0 {
                self.go_on()?;
            }
        }
        clock::sleep_until(clock::now() + SPACING);
        seen.extend(self.bench.ends().stamps());
        Ok((sent, seen))
    }

    /// Returns the processor time of a frame.
    fn time(&mut self, mut send: impl FnMut(&mut BenchSwitch)) -> Result<Delay, TimesError> {
        self.go_on()?;
        let before = clock::spent();
        for _ in 0..self.amount.frames {
            send(&mut self.bench);
        }
        let spent = Delay::from(clock::spent().saturating_sub(before));
        Ok(Delay::from_ps(
            spent.as_ps() / u64::from(self.amount.frames.max(1)),
        ))
    }

    fn go_on(&self) -> Result<(), TimesError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TimesError::Stopped);
        }
        match clock::now() > self.until {
            true => Err(TimesError::TooSlow(self.amount.longest)),
            false => Ok(()),
        }
    }

    fn advance(&mut self, steps: u64) {
        self.done += steps;
        (self.step)(self.done.min(STEPS), STEPS);
    }
}

/// Returns what the switch takes: the least of the runs with it less the least without.
fn difference(runs: &[(Delay, Delay)]) -> Spent {
    let direct = runs.iter().map(|(direct, _)| *direct).min();
    let direct = direct.unwrap_or_default();
    let switched = || runs.iter().map(|(_, switched)| *switched);
    let less = |time: Option<Delay>| time.unwrap_or_default().saturating_sub(direct);
    Spent {
        least: less(switched().min()),
        most: less(switched().max()),
    }
}

/// Returns by how much one more of something makes a time longer: the greatest slope
/// from the first point to any other.
fn steepest(points: &[(u64, Delay)]) -> Delay {
    let Some(((few, short), others)) = points.split_first() else {
        return Delay::ZERO;
    };
    let slopes = others.iter().map(|(many, long)| {
        let more = many.saturating_sub(*few).max(1);
        Delay::from_ps(long.saturating_sub(*short).as_ps().div_ceil(more))
    });
    slopes.max().unwrap_or_default()
}

/// Keeps those that met a stall apart, and finds the calmest moment.
fn sorted(sent: u64, seen: &[(Instant, Instant)], shadows: &Shadows) -> Latency {
    let mut latency = Latency {
        sent,
        ..Latency::default()
    };
    let mut calm = Vec::new();
    for (left, arrived) in seen {
        match shadows.touch(*left, *arrived) {
            true => latency.disturbed += 1,
            false => calm.push(arrived.saturating_since(*left)),
        }
    }
    for time in &calm {
        latency.calm.record(*time);
    }
    let medians = calm.chunks_exact(BLOCK).map(|block| {
        let mut block = block.to_vec();
        let (_, median, _) = block.select_nth_unstable(BLOCK / 2);
        *median
    });
    latency.calmest_median = medians.min();
    latency
}

/// Returns fields that no frame here has, each with a mask of its own.
fn distinct_masks(count: usize) -> Vec<MatchField> {
    const NOBODY: u64 = 0xffff_ffff_ffff;
    let masks = (1..=count.min(MOST_MASKS)).map(|bits| mac(NOBODY << (48 - bits)));
    let fields = masks.map(|mask| MatchField::EthDst(Masked::under(mask, mask)));
    fields.collect()
}

/// Returns the address of which these are the low 48 bits.
fn mac(bits: u64) -> MacAddress {
    let [_, _, address @ ..] = bits.to_be_bytes();
    MacAddress(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: fn(u64) -> Delay = Delay::from_ns;

    #[test]
    fn the_switch_takes_what_frames_cost_with_it_more_than_without() {
        let runs = [
            (NS(900), NS(2_600)),
            (NS(700), NS(2_300)),
            (NS(800), NS(4_000)),
        ];

        let spent = difference(&runs);

        assert_eq!((spent.least, spent.most), (NS(1_600), NS(3_300)));
    }

    #[test]
    fn what_one_more_adds_is_the_steepest_slope() {
        assert_eq!(
            steepest(&[(0, NS(100)), (4, NS(180)), (8, NS(220))]),
            NS(20)
        );
        assert_eq!(steepest(&[(0, NS(100)), (8, NS(90))]), Delay::ZERO);
        assert_eq!(steepest(&[]), Delay::ZERO);
    }

    #[test]
    fn frames_in_a_stall_are_counted_apart() {
        let at = |us: u64| Instant::from_ns(us * 1_000);
        let mut stalls = Stalls::new(STALL);
        stalls.look("sentry", at(1_000), at(1_500));
        let seen = [
            (at(990), at(995)),
            (at(1_100), at(1_700)),
            (at(5_000), at(5_003)),
        ];

        let latency = sorted(4, &seen, &stalls.shadows());

        assert_eq!((latency.sent, latency.disturbed), (4, 1));
        assert_eq!(latency.calm.count(), 2);
        assert_eq!(latency.calm.max(), Some(Duration::from_us(5)));
        assert_eq!(latency.calmest_median, None, "not one block of frames");
    }

    #[test]
    fn the_calmest_block_tells_the_median() {
        let times = |us: u64| {
            let left = Instant::from_ns(1_000_000);
            vec![(left, left + Duration::from_us(us)); BLOCK]
        };
        let seen = [times(9), times(4), times(7)].concat();

        let latency = sorted(1_500, &seen, &Shadows::default());

        assert_eq!(latency.calmest_median, Some(Duration::from_us(4)));
    }

    #[test]
    fn each_mask_is_another() {
        let fields = distinct_masks(MOST_MASKS);

        let mut distinct: Vec<_> = fields.iter().map(|field| format!("{field:?}")).collect();
        distinct.sort();
        distinct.dedup();

        assert_eq!(distinct.len(), MOST_MASKS);
    }
}
