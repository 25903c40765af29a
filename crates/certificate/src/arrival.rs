//! What one flow brings to one stage.

use crate::curve::{CurveLine, Exact};
use crate::document::Service;
use crate::map::{LONGEST_PS, MOST_BITS, SMALLEST_FRAME};
use crate::reason::Reason;
use crate::stages::Bucket;
use crate::windows::Visit;

/// Amounts are counted in trillionths of a bit or of a frame, so that a rate times
/// picoseconds is whole. What is not whole is rounded up: nobody brings less.
const WHOLE: u128 = 1_000_000_000_000;
/// Millionths are so many trillionths.
const MILLIONTH: u128 = 1_000_000;
/// The most frames a second, or at once, that are counted, in millionths.
const MOST_FRAMES: u64 = 1_000_000_000_000_000_000;
/// By how much frames may seem too few for their bits because both were rounded.
const ROUNDING_MILLIONTHS: u128 = 10_000;

/// In any interval of length `t`, at most `burst + rate * t` arrives, in trillionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    burst: u128,
    rate: u128,
}

/// What a flow brings as it leaves its source.
#[derive(Clone, Copy, Debug)]
pub struct SourceTraffic {
    /// Its class.
    pub class: u8,
    /// Its largest frame, in bits.
    pub largest: u64,
    contract: Bucket,
    peak: Option<Bucket>,
    /// Millionths of a frame a second, and at once, if that is known.
    frames: Option<(u64, u64)>,
    /// How long something may have held it back beside its windows.
    held_ps: u64,
}

/// One flow at one stage.
#[derive(Clone, Copy, Debug)]
pub struct FlowArrival {
    /// Its place among the flows.
    pub flow: usize,
    /// Its class.
    pub class: u8,
    /// Its largest frame, in bits.
    pub largest: u64,
    /// The stage from which all of it comes, if there is one.
    pub from: Option<usize>,
    /// If that is a processor, the port over whose link all of it came there, if there is
    /// one.
    pub link: Option<usize>,
    /// In bits: by its contract, and by its peak.
    pub bits: [Amount; 2],
    /// In frames: by its contract, and by its peak.
    pub frames: [Amount; 2],
}

impl Amount {
    /// Returns the sum, or nothing if it is beyond what is computed with.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            burst: self.burst.checked_add(other.burst)?,
            rate: self.rate.checked_add(other.rate)?,
        })
    }

    /// Returns the same as a line.
    #[must_use]
    pub fn line(self) -> CurveLine {
        let exact = |trillionths: u128| Exact::new(trillionths.into(), WHOLE.into());
        CurveLine {
            burst: exact(self.burst),
            rate: exact(self.rate),
        }
    }

    /// Returns a bucket behind a window, in bits.
    #[must_use]
    pub fn bits(bucket: Bucket, window_ps: u64) -> Self {
        let rate = u128::from(bucket.rate);
        Self {
            burst: u128::from(bucket.burst) * WHOLE + rate * u128::from(window_ps),
            rate: rate * WHOLE,
        }
    }

    /// Returns how many frames of a size so many bits can be.
    #[must_use]
    pub fn in_frames_of(self, smallest: u64) -> Self {
        let smallest = u128::from(smallest);
        Self {
            burst: self.burst.div_ceil(smallest),
            rate: self.rate.div_ceil(smallest),
        }
    }

    fn counted((rate, burst): (u64, u64), window_ps: u64) -> Self {
        let late = (u128::from(rate) * u128::from(window_ps)).div_ceil(MILLIONTH);
        Self {
            burst: u128::from(burst) * MILLIONTH + late,
            rate: u128::from(rate) * MILLIONTH,
        }
    }
}

impl SourceTraffic {
    /// Returns what a flow brings that keeps to a service and comes over a link of
    /// `first_bps`, held back by up to `held_ps` beside its windows.
    ///
    /// An interface sends one frame after the other, so in a time `t` no more than
    /// two frames and what the link carries: one that has begun, and one for hosts
    /// that pace themselves by a bucket of a frame.
    #[must_use]
    pub fn over(service: &Service, first_bps: u64, held_ps: u64) -> Self {
        let (burst, largest) = (service.burst_bit, service.largest_frame_bit);
        let smallest = service.smallest_frame_bit;
        let peak = Bucket {
            rate: first_bps,
            burst: 2 * largest,
            smallest,
        };
        Self {
            class: service.class,
            largest,
            contract: Bucket {
                rate: service.rate_bps,
                burst,
                smallest,
            },
            peak: (burst > peak.burst && service.rate_bps <= first_bps).then_some(peak),
            frames: service
                .frames
                .map(|frames| (frames.millionths_per_second, frames.burst_millionths)),
            held_ps,
        }
    }

    /// Returns what a flow brings that keeps to a service, each frame longer by a tag. How
    /// its frames come over the link of its source says nothing of them behind that.
    #[must_use]
    pub fn tagged(service: &Service, tag: u64, held_ps: u64) -> Self {
        let (smallest, largest) = (service.smallest_frame_bit, service.largest_frame_bit + tag);
        let by_size = |bits: u64| (u128::from(bits) * MILLIONTH).div_ceil(smallest.into());
        let tags = |bits: u64, counted: Option<u64>| {
            let frames = counted.map_or(u128::MAX, u128::from).min(by_size(bits));
            let more = (frames * u128::from(tag)).div_ceil(MILLIONTH);
            bits + u64::try_from(more).unwrap_or(u64::MAX / 2)
        };
        let counted = service.frames;
        let burst = counted.map(|frames| frames.burst_millionths);
        let rate = counted.map(|frames| frames.millionths_per_second);
        Self {
            class: service.class,
            largest,
            contract: Bucket {
                rate: tags(service.rate_bps, rate),
                burst: tags(service.burst_bit, burst),
                smallest,
            },
            peak: None,
            frames: counted.map(|frames| (frames.millionths_per_second, frames.burst_millionths)),
            held_ps,
        }
    }

    /// Returns what switches or the controller send, in frames of one size.
    #[must_use]
    pub const fn of(packets: Bucket, class: u8) -> Self {
        Self {
            class,
            largest: packets.smallest,
            contract: packets,
            peak: None,
            frames: None,
            held_ps: 0,
        }
    }

    /// Returns what comes to a stage.
    #[must_use]
    pub fn at(&self, flow: usize, visit: &Visit) -> FlowArrival {
        let late = visit.window.length().saturating_add(self.held_ps);
        let contract = Amount::bits(self.contract, late);
        let by_size = contract.in_frames_of(self.contract.smallest);
        let frames = self
            .frames
            .map_or(by_size, |frames| Amount::counted(frames, late));
        let peak = self.peak.map(|peak| Amount::bits(peak, late));
        let in_frames = |peak: Amount| peak.in_frames_of(self.contract.smallest);
        FlowArrival {
            flow,
            class: self.class,
            largest: self.largest,
            from: visit.from,
            link: visit.link,
            bits: [contract, peak.unwrap_or(contract)],
            frames: [frames, peak.map_or(frames, in_frames)],
        }
    }
}

/// Checks that a contract is one that traffic can keep.
///
/// # Errors
///
/// Why not.
pub fn check_contract(service: &Service, classes: &[u8]) -> Result<(), Reason> {
    let Service {
        class,
        rate_bps,
        burst_bit,
        largest_frame_bit,
        smallest_frame_bit,
        frames,
        deadline_ps,
    } = *service;
    if rate_bps.max(burst_bit) > MOST_BITS || deadline_ps > LONGEST_PS {
        return Err(Reason::TooMuch);
    }
    let too_few = frames.is_some_and(|frames| {
        let enough = |millionths: u64, bits: u64| {
            let millionths = u128::from(millionths) + ROUNDING_MILLIONTHS;
            millionths * u128::from(largest_frame_bit) >= u128::from(bits) * MILLIONTH
        };
        !enough(frames.burst_millionths, burst_bit)
            || !enough(frames.millionths_per_second, rate_bps)
    });
    let what = if !classes.contains(&class) {
        "its class is none that has promises"
    } else if rate_bps == 0 {
        "its rate is nothing"
    } else if smallest_frame_bit < SMALLEST_FRAME {
        "its smallest frame is smaller than Ethernet has them"
    } else if smallest_frame_bit > largest_frame_bit {
        "its smallest frame is larger than its largest"
    } else if burst_bit < largest_frame_bit {
        "its burst has no room for its largest frame"
    } else if too_few {
        "it counts fewer frames than its bits need at its largest size"
    } else if frames.is_some_and(|frames| {
        frames.burst_millionths.max(frames.millionths_per_second) > MOST_FRAMES
    }) {
        return Err(Reason::TooMuch);
    } else {
        return Ok(());
    };
    Err(Reason::Senseless(what))
}
