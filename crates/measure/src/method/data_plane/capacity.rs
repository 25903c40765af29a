//! How fast and how much: the highest rate without loss (LOKO section 3.4) and what
//! the device holds when it first loses a frame (LOKO section 3.5).
//!
//! The throughput is computed from the time `p` of a frame of `l` bytes, LOKO Eq. (5),
//!
//! ```text
//! TP = l / p
//! ```
//!
//! which is too little for a device that works on several frames at once. Where its
//! parts are known to be joined by a link of their own, LOKO Eqs. (6) and (7) say more:
//!
//! ```text
//! p_CPU = p - 2 t(8) - 2 t(l + 1)       TP = min(l / p_CPU, l / (l + 21) R_link)
//! ```
//!
//! And it is searched: by halving, to a precision.

use units::{BitRate, DataSize, Duration};

use super::passages::{Crossings, FrameTimes, filling, messages_of, stream};
use crate::method::table_setting::TableSetting;
use crate::method::throughput::{Trialled, highest_rate};
use crate::trial::{Tester, Trial, TrialError};

/// What a cable carries besides a frame: preamble and gap.
const OVERHEAD: u64 = 20;
/// What a link inside a device carries besides a frame: a byte that names the port.
const TAIL: u64 = 1;
const PREAMBLE: u64 = 8;
/// The longest burst at the full rate that is tried.
pub const LONGEST_BURST: u64 = 4_096;
/// Long enough for a device to finish whatever it holds.
const REST: Duration = Duration::from_ms(300);

/// Returns the throughput by LOKO Eq. (5), or nothing if the device took no time.
#[must_use]
pub fn computed(bytes: u64, time: Duration) -> Option<BitRate> {
    rate_of(bytes, time.as_ns())
}

/// Returns the throughput by LOKO Eqs. (6) and (7), for a device whose parts are
/// joined by a link of this rate.
#[must_use]
pub fn computed_behind_link(bytes: u64, time: Duration, link: BitRate) -> Option<BitRate> {
    let on_link = |bytes| link.time_to_send(DataSize::from_bytes(bytes));
    let around = (on_link(PREAMBLE) + on_link(bytes + TAIL)) * 2u64;
    let inside = units::Delay::from(time).saturating_sub(around);
    let carried = DataSize::from_bytes(bytes + TAIL + OVERHEAD);
    let by_link = rate_of(bytes, link.time_to_send(carried).round_up().as_ns())?;
    match rate_of(bytes, inside.round_up().as_ns()) {
        Some(by_processor) if by_processor.as_bps() < by_link.as_bps() => Some(by_processor),
        Some(_) | None => Some(by_link),
    }
}

fn rate_of(bytes: u64, time_ns: u64) -> Option<BitRate> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    let bps = bits.checked_div(u128::from(time_ns))?;
    BitRate::new(u64::try_from(bps).ok()?)
}

/// What became of a number of frames that were sent evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvenLoadResult {
    pub sent: u64,
    pub came: u64,
    /// From the first frame that was sent to the last.
    pub took: Duration,
    /// Whether the machine stood still meanwhile.
    pub disturbed: bool,
}

impl EvenLoadResult {
    /// Returns the rate at which frames of a size were sent in truth.
    #[must_use]
    pub fn input(&self, bytes: u16) -> Option<BitRate> {
        rate_of(
            u64::from(bytes) * self.sent.checked_sub(1)?,
            self.took.as_ns(),
        )
    }

    /// Returns the rate at which they came out, counted in frames.
    #[must_use]
    pub fn output(&self, bytes: u16) -> Option<BitRate> {
        let input = u128::from(self.input(bytes)?.as_bps());
        let bps = input * u128::from(self.came) / u128::from(self.sent.max(1));
        BitRate::new(u64::try_from(bps).ok()?)
    }
}

/// Sends so many frames of one size evenly at a rate, by a table that was filled
/// before.
///
/// # Errors
///
/// If the trial cannot be made.
pub fn carry(
    tester: &mut dyn Tester,
    bytes: u16,
    rate: BitRate,
    frames: u64,
) -> Result<EvenLoadResult, TrialError> {
    let size = DataSize::from_bytes(u64::from(bytes));
    let interval = rate.time_to_send(size).round_up();
    let (seen, disturbed) = burst(tester, bytes, interval, frames)?;
    let sent = || seen.0.iter().filter_map(|it| it.sent);
    let span = sent().min().zip(sent().max());
    Ok(EvenLoadResult {
        sent: sent().count() as u64,
        came: seen.0.iter().filter(|it| it.came.is_some()).count() as u64,
        took: span.map_or(Duration::ZERO, |(first, last)| last - first),
        disturbed,
    })
}

/// Returns the highest rate between nothing and `highest` at which no frame is lost,
/// to a precision, or nothing if there is none above it (S4-3).
///
/// # Errors
///
/// If a trial cannot be made.
pub fn search(
    tester: &mut dyn Tester,
    bytes: u16,
    highest: BitRate,
    precision: BitRate,
    frames: u64,
) -> Result<Option<BitRate>, TrialError> {
    let range = (0, highest.as_bps());
    let (lossless, _) = highest_rate(range, precision.as_bps(), |bps| {
        let rate = BitRate::new(bps).expect("above the lower end of the range");
        let carried = carry(tester, bytes, rate, frames)?;
        Ok::<_, TrialError>(match carried.came == carried.sent {
            true => Trialled::Clean,
            false => Trialled::Lossy,
        })
    })?;
    Ok(BitRate::new(lossless))
}

/// Returns the rate of frames of a size that a cable carries at most, counted without
/// what the cable adds.
#[must_use]
pub fn line_rate(bytes: u16, cable: BitRate) -> BitRate {
    let size = u128::from(bytes);
    let bps = u128::from(cable.as_bps()) * size / (size + u128::from(OVERHEAD));
    BitRate::new(u64::try_from(bps).unwrap_or(u64::MAX)).unwrap_or(cable)
}

/// Returns how many frames the device holds when it first loses one, by bursts at the
/// full rate of the cable that double until one is lost, or nothing if none is
/// (S4-4).
///
/// # Errors
///
/// If a trial cannot be made.
pub fn held_at_first_loss(
    tester: &mut dyn Tester,
    bytes: u16,
    cable: BitRate,
) -> Result<Option<u64>, TrialError> {
    let interval = cable
        .time_to_send(DataSize::from_bytes(u64::from(bytes) + OVERHEAD))
        .round_up();
    let mut frames = 8;
    while frames <= LONGEST_BURST {
        let (seen, _) = burst(tester, bytes, interval, frames)?;
        if let Some(held) = held(&seen.0, bytes, cable) {
            return Ok(Some(held));
        }
        frames *= 2;
    }
    Ok(None)
}

/// Fills the table and waits until that is done.
///
/// # Errors
///
/// If the trial cannot be made.
pub fn fill(tester: &mut dyn Tester, table: &TableSetting) -> Result<(), TrialError> {
    let (orders, said) = filling(tester, &messages_of(tester, table));
    let trial = Trial {
        orders,
        length: said,
        drain: REST,
        ..Trial::default()
    };
    tester.run(trial, &mut Crossings::default())?;
    Ok(())
}

/// Sends a burst, and tells whether the machine stood still meanwhile.
fn burst(
    tester: &mut dyn Tester,
    bytes: u16,
    interval: Duration,
    frames: u64,
) -> Result<(Crossings, bool), TrialError> {
    let length = interval * frames;
    let trial = Trial {
        streams: vec![stream(bytes, interval, Duration::ZERO, length)],
        length,
        drain: REST,
        ..Trial::default()
    };
    let mut seen = Crossings::default();
    let disturbed = tester.run(trial, &mut seen)?.stalls.count() > 0;
    Ok((seen, disturbed))
}

/// Returns how many frames were in the device when the first that it lost had arrived
/// whole.
fn held(frames: &[FrameTimes], bytes: u16, cable: BitRate) -> Option<u64> {
    let is_lost = |it: &FrameTimes| it.sent.is_some() && it.came.is_none();
    let lost = frames.iter().position(is_lost)?;
    let whole = cable.time_to_send(DataSize::from_bytes(u64::from(bytes)));
    let lost_at = frames[lost].sent? + whole.round_up();
    let before = frames[..lost].iter().filter_map(|it| it.came);
    let left = before.filter(|at| *at <= lost_at).count();
    Some((lost - left) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LOKO section 4: 17 entries of five-tuples, 306 bytes, 11.8 Mbit/s.
    #[test]
    fn the_throughput_of_the_paper_follows_from_its_time() {
        let link = BitRate::from_mbps(100);

        let rate = computed_behind_link(306, Duration::from_ns(257_200), link).unwrap();

        assert!(rate.as_bps().abs_diff(11_837_500) < 1_000, "{rate}");
    }

    /// LOKO section 3.4.2: Eq. (5) underestimates.
    #[test]
    fn the_simple_formula_is_lower() {
        let rate = computed(306, Duration::from_ns(257_200)).unwrap();

        assert!(rate.as_bps() < 11_837_500, "{rate}");
    }

    #[test]
    fn a_device_that_takes_no_time_has_no_computed_rate() {
        assert_eq!(computed(64, Duration::ZERO), None);
    }

    #[test]
    fn the_link_bounds_what_the_processor_could_do() {
        let link = BitRate::from_mbps(100);

        let rate = computed_behind_link(1_516, Duration::from_us(250), link).unwrap();

        assert_eq!(rate.as_bps() / 1_000_000, 98);
    }
}
