//! What a profile says of a device, ready to be looked up for each frame.

use std::collections::BTreeMap;

use scenario::{ControlTimes, Emulation, Occupancy, Profile, Quantiles};
use units::{BitRate, DataSize, Delay, Duration};
use wire::ethernet::SHORTEST_FRAME;

/// Preamble, delimiter and check sequence: what a frame has on the wire besides its
/// bytes, gap apart.
const AROUND_FRAME: usize = 8 + 4;

#[derive(Clone, Debug)]
pub struct Behaviour {
    /// By the time since the frame before; one for any time is under zero.
    latency: BTreeMap<Duration, Vec<BySize<Quantiles>>>,
    link_rate: Option<BitRate>,
    occupancy: Vec<BySize<Delay>>,
    /// How many frames may wait for the shared stage, the one in it among them.
    pub capacity: usize,
    /// How many of a million frames are lost.
    pub loss_ppm: u64,
    /// How much longer than later ones the first frame of a flow takes.
    pub flow_setup: Option<Quantiles>,
    /// How long it takes to notice that a port has lost its carrier.
    pub link_down: Option<Quantiles>,
    /// How long it works on messages.
    pub control: ControlTimes,
}

/// A value for frames of one size.
#[derive(Clone, Debug)]
struct BySize<T> {
    bytes: u64,
    value: T,
}

impl Behaviour {
    /// Returns the behaviour of a device of this profile, if the profile says how it
    /// behaves.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        let emulation = profile.emulation.as_ref()?;
        let value_of = |stated: &scenario::Stated<Quantiles>| stated.value.clone();
        Some(Self {
            latency: latencies(emulation, profile.longest_latency()),
            link_rate: emulation.link_rate,
            occupancy: occupancies(emulation, profile.longest_per_frame()),
            capacity: usize::try_from(profile.pool_frames.value).unwrap_or(usize::MAX),
            loss_ppm: emulation.loss_ppm.as_ref().map_or(0, |loss| loss.value),
            flow_setup: emulation.flow_setup.as_ref().map(value_of),
            link_down: emulation.link_down.as_ref().map(value_of),
            control: profile.control.clone(),
        })
    }

    /// Returns for how long a frame of so many bytes occupies the shared stage.
    #[must_use]
    pub fn occupancy(&self, bytes: usize) -> Delay {
        at_size(&self.occupancy, bytes, |value| *value)
    }

    /// Returns how long the device holds a frame of so many bytes that comes this long
    /// after the one before, if it is as late as `per_million` of a million are at
    /// most: its latency less what sending it takes, which is in the latency.
    #[must_use]
    pub fn hold(&self, bytes: usize, gap: Duration, per_million: u32) -> Delay {
        let rows = self.nearest(gap);
        let latency = at_size(rows, bytes, |spread| spread.at(per_million));
        let sending = self.link_rate.map_or(Delay::ZERO, |rate| {
            let on_wire = bytes.max(SHORTEST_FRAME) + AROUND_FRAME;
            rate.time_to_send(DataSize::from_bytes(on_wire as u64))
        });
        latency.saturating_sub(sending)
    }

    /// Returns the rows of the interval whose ratio to `gap` is the smallest.
    fn nearest(&self, gap: Duration) -> &[BySize<Quantiles>] {
        let below = self.latency.range(..=gap).next_back();
        let above = self.latency.range(gap..).next();
        match (below, above) {
            (Some((low, below)), Some((high, above))) => {
                // gap / low <= high / gap, without a division.
                let square = u128::from(gap.as_ns()) * u128::from(gap.as_ns());
                let product = u128::from(low.as_ns()) * u128::from(high.as_ns());
                if square <= product { below } else { above }
            }
            (Some((_, rows)), None) | (None, Some((_, rows))) => rows,
            (None, None) => &[],
        }
    }
}

fn latencies(emulation: &Emulation, longest: Delay) -> BTreeMap<Duration, Vec<BySize<Quantiles>>> {
    let mut by_interval: BTreeMap<Duration, Vec<BySize<Quantiles>>> = BTreeMap::new();
    for row in &emulation.latency {
        let interval = row.interval.unwrap_or(Duration::ZERO);
        by_interval.entry(interval).or_default().push(BySize {
            bytes: row.frame.map_or(0, DataSize::bytes_up),
            value: row.spread.value.clone(),
        });
    }
    // What holds for any interval is asked only where no interval is given.
    if by_interval.len() > 1 {
        by_interval.remove(&Duration::ZERO);
    }
    if by_interval.is_empty() {
        let always = BySize {
            bytes: 0,
            value: Quantiles::always(longest),
        };
        by_interval.insert(Duration::ZERO, vec![always]);
    }
    for rows in by_interval.values_mut() {
        rows.sort_by_key(|row| row.bytes);
    }
    by_interval
}

fn occupancies(emulation: &Emulation, longest: Delay) -> Vec<BySize<Delay>> {
    let by_size = |row: &Occupancy| BySize {
        bytes: row.frame.map_or(0, DataSize::bytes_up),
        value: row.per_frame.value,
    };
    let rows: Vec<_> = emulation.occupancy.iter().map(by_size).collect();
    match rows.is_empty() {
        true => vec![BySize {
            bytes: 0,
            value: longest,
        }],
        false => rows,
    }
}

/// Returns the value for a frame of so many bytes: linear between the sizes that are
/// there, the nearest beyond them.
fn at_size<T>(rows: &[BySize<T>], bytes: usize, value: impl Fn(&T) -> Delay) -> Delay {
    let bytes = bytes as u64;
    let above = rows.partition_point(|row| row.bytes < bytes);
    let low = above.checked_sub(1).and_then(|at| rows.get(at));
    match (low, rows.get(above)) {
        (Some(low), Some(high)) => {
            let (part, whole) = (bytes - low.bytes, high.bytes - low.bytes);
            let weighed = |row: &BySize<T>, weight: u64| {
                u128::from(value(&row.value).as_ps()) * u128::from(weight)
            };
            let sum = weighed(low, whole - part) + weighed(high, part);
            let between = u64::try_from(sum / u128::from(whole));
            Delay::from_ps(between.expect("between two delays"))
        }
        (Some(row), None) | (None, Some(row)) => value(&row.value),
        (None, None) => Delay::ZERO,
    }
}
