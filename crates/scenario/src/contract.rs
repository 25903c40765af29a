//! What a flow never exceeds: the traffic contract that admission relies on.
//!
//! A contract is a token bucket: in every window of length `t` the flow brings
//! at most `rate * t + burst` of data, counted as it occupies the wire. It holds
//! where the frame leaves the interface of its host. Every kind of traffic is
//! released by a schedule of its own, and a frame may leave up to a jitter `J`
//! after its time in the schedule. If the schedule conforms to `(r, b)`, what
//! leaves conforms to `(r, b + r * J)`: the frames that leave in a window of
//! length `t` were due in a window of length `t + J`.
//!
//! | kind           | rate of the schedule | burst of the schedule |
//! |----------------|----------------------|-----------------------|
//! | Sampled Values | frame / period       | 1 frame |
//! | GOOSE          | frame / `min_time` + frame / `min_spacing` | 2 frames |
//! | UDP            | as given             | as given |
//! | message        | all frames of a message / period | all frames of a message |
//! | trace          | as given, else a quarter above its mean | the least with which it conforms |
//! | MMS            | request and acknowledgement / period, and one repetition each 200 ms | four of the largest, each with an acknowledgement |
//!
//! GOOSE: state changes are never closer than `min_spacing`, so `t` brings at
//! most `t / min_spacing + 1` of them. Repetitions follow a state change or
//! another repetition by at least `min_time`, and a state change, which begins
//! the sequence anew, only defers the next repetition; so `t` brings at most
//! `t / min_time + 1` of them. A repetition and the next state change can
//! coincide: hence two frames at once.

use units::{BitRate, DataSize, Delay, Duration};

use crate::{Flow, Goose, Message, Mms, SampledValues, TokenBucket, Trace, Traffic};

/// What an Ethernet frame is padded to, without its check sequence.
pub const SMALLEST_FRAME: DataSize = DataSize::from_bytes(60);
/// The largest frame without its check sequence: 1500 bytes behind a header of
/// 14 and a VLAN tag of 4.
pub const LARGEST_FRAME: DataSize = DataSize::from_bytes(1518);
/// The largest frame without a VLAN tag, and without its check sequence.
pub const LARGEST_UNTAGGED_FRAME: DataSize = DataSize::from_bytes(1514);
/// Check sequence 4, preamble and start delimiter 8, gap 12.
const OVERHEAD: DataSize = DataSize::from_bytes(24);
/// Ethernet 14, IPv4 20, UDP 8, message shim 12 (S2-2).
pub const MESSAGE_HEADERS: DataSize = DataSize::from_bytes(54);
/// The frame of a request of MMS: Ethernet 14, IPv4 20, TCP 20, and the message.
pub const MMS_REQUEST: DataSize = DataSize::from_bytes(120);
/// The frame that asks for an association, the largest that a station sends which asks.
const MMS_ASSOCIATE: DataSize = DataSize::from_bytes(221);
/// The frame that accepts one: the largest answer, unless a value makes a larger one.
const MMS_ACCEPT: DataSize = DataSize::from_bytes(205);
/// The frame of an answer has at most so much beside the value.
const MMS_ANSWER: DataSize = DataSize::from_bytes(114);
/// What opens a connection, and the first request, can follow each other at once.
pub const MMS_MESSAGES_AT_ONCE: u64 = 4;
/// A message without an answer is sent again after this at the soonest.
const MMS_RETRY: Duration = Duration::from_ms(200);

/// A token bucket and the sizes of the frames in it, as they occupy the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// The rate that the flow never exceeds for long.
    pub rate: BitRate,
    /// The amount by which it may exceed the rate at any time.
    pub burst: DataSize,
    pub largest_frame: DataSize,
    pub smallest_frame: DataSize,
    /// How many frames it is, if that is known better than by their sizes.
    pub frames: Option<MessageFrames>,
}

/// How many frames messages are: all but the last of each are full, however small that
/// one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFrames {
    pub of_message: u64,
    /// The shortest time from one message to the next.
    pub period: Duration,
    /// How late a frame may leave.
    pub jitter: Duration,
}

impl Flow {
    /// Returns what the flow never exceeds, or nothing for best effort, which
    /// promises nothing and is promised nothing.
    #[must_use]
    pub fn contract(&self) -> Option<Contract> {
        self.traffic.contract()
    }
}

impl Traffic {
    /// Returns what the traffic never exceeds, or nothing for best effort.
    #[must_use]
    pub fn contract(&self) -> Option<Contract> {
        match self {
            Self::SampledValues(traffic) => Some(sampled_values(traffic)),
            Self::Goose(traffic) => Some(goose(traffic)),
            Self::Udp(traffic) => Some(token_bucket(traffic)),
            Self::Message(traffic) => {
                Some(traffic.in_frames_up_to(wire_size(LARGEST_UNTAGGED_FRAME)))
            }
            Self::Trace(traffic) => Some(trace(traffic)),
            Self::Mms(traffic) => Some(traffic.requests()),
            Self::BestEffort(_) => None,
        }
    }
}

/// Returns how much of the wire a frame occupies whose size without check
/// sequence is `frame`.
#[must_use]
pub fn wire_size(frame: DataSize) -> DataSize {
    frame.max(SMALLEST_FRAME) + OVERHEAD
}

fn sampled_values(traffic: &SampledValues) -> Contract {
    let frame = wire_size(traffic.frame);
    late(
        per(frame, traffic.period),
        frame,
        traffic.jitter,
        [frame; 2],
    )
}

fn goose(traffic: &Goose) -> Contract {
    let frame = wire_size(traffic.frame);
    let rate = per(frame, traffic.min_time) + per(frame, traffic.min_spacing);
    late(rate, frame * 2, traffic.jitter, [frame; 2])
}

fn token_bucket(traffic: &TokenBucket) -> Contract {
    let frame = wire_size(traffic.frame);
    late(traffic.rate, traffic.burst, traffic.jitter, [frame; 2])
}

impl Message {
    /// Returns how many frames of full size a message begins with, and the size
    /// of its last frame, which may be full, too.
    #[must_use]
    pub fn frames(&self) -> (u64, DataSize) {
        self.cut(LARGEST_UNTAGGED_FRAME)
    }

    /// Returns what such messages never exceed if they are cut into frames of which all
    /// but the last occupy `largest` of the wire, or as much as an untagged frame does if
    /// that is less.
    #[must_use]
    pub fn in_frames_up_to(&self, largest: DataSize) -> Contract {
        let frame = largest.saturating_sub(OVERHEAD);
        let frame = frame.clamp(SMALLEST_FRAME, LARGEST_UNTAGGED_FRAME);
        let (whole, last) = self.cut(frame);
        let (full, last) = (wire_size(frame), wire_size(last));
        let total = full * whole + last;
        let largest = if whole > 0 { full } else { last };
        let rate = per(total, self.period);
        Contract {
            frames: Some(MessageFrames {
                of_message: whole + 1,
                period: self.period,
                jitter: self.jitter,
            }),
            ..late(rate, total, self.jitter, [last, largest])
        }
    }

    fn cut(&self, frame: DataSize) -> (u64, DataSize) {
        let room = frame.as_bits() - MESSAGE_HEADERS.as_bits();
        let whole = self.size.as_bits().saturating_sub(1) / room;
        let left = DataSize::from_bits(self.size.as_bits() - whole * room);
        (whole, MESSAGE_HEADERS + left)
    }
}

fn trace(traffic: &Trace) -> Contract {
    let sizes = traffic.recording.frames().iter().map(|frame| frame.size);
    let largest = wire_size(sizes.clone().max().unwrap_or(LARGEST_UNTAGGED_FRAME));
    let smallest = wire_size(sizes.min().unwrap_or(SMALLEST_FRAME));
    late(
        traffic.rate,
        traffic.burst,
        traffic.jitter,
        [smallest, largest],
    )
}

impl Mms {
    /// Returns what the station never exceeds that asks.
    fn requests(&self) -> Contract {
        let acknowledgement = wire_size(SMALLEST_FRAME);
        let largest = wire_size(MMS_ASSOCIATE);
        let rate =
            per(wire_size(MMS_REQUEST) + acknowledgement, self.period) + per(largest, MMS_RETRY);
        let burst = (largest + acknowledgement) * MMS_MESSAGES_AT_ONCE;
        late(rate, burst, self.jitter, [acknowledgement, largest])
    }

    /// Returns what the station never exceeds that is asked, if requests take up to
    /// `lateness` more than the fastest: an answer for each message.
    #[must_use]
    pub fn answers(&self, lateness: Duration) -> Contract {
        let largest = wire_size(MMS_ACCEPT.max(MMS_ANSWER + self.value));
        let rate = per(largest, self.period) + per(largest, MMS_RETRY);
        let smallest = wire_size(SMALLEST_FRAME);
        let burst = largest * MMS_MESSAGES_AT_ONCE;
        late(rate, burst, self.jitter + lateness, [smallest, largest])
    }
}

/// Returns the contract of a schedule that conforms to `(rate, burst)`, of whose
/// frames each leaves up to `jitter` late.
fn late(rate: BitRate, burst: DataSize, jitter: Duration, frames: [DataSize; 2]) -> Contract {
    Contract {
        rate,
        burst: burst + rate.most_in(Delay::from(jitter)),
        smallest_frame: frames[0],
        largest_frame: frames[1],
        frames: None,
    }
}

/// Returns the rate of `data` once in `period`, rounded up.
fn per(data: DataSize, period: Duration) -> BitRate {
    BitRate::of(data, Delay::from(period)).expect("no frame is empty and no period zero")
}

#[cfg(test)]
mod tests;
