//! Measures a switch as the paper does, from outside: frames and messages go in,
//! times come out, and nothing looks inside (S4-1 to S4-4).
//!
//! The device is the emulated one (S4-10), so that every measurement can be held
//! against what was put in.

use std::collections::BTreeMap;
use std::sync::Arc;

use calculus::loko::processing_time::Setting;
use units::{BitRate, DataSize, Duration, Instant};
use wire::openflow::{DatapathId, TransactionId};
use wire::openflow10::Message;

use sim::zodiac_fx::table::{FROM, TO, frame_of, orders_of};
use sim::zodiac_fx::{Frame, Input, Profile, SEGMENT_MAX, Sent, ZodiacFx, segment_size};

const PREAMBLE: DataSize = DataSize::from_bytes(8);
/// What a cable carries with a frame.
const OUTER_OVERHEAD: DataSize = DataSize::from_bytes(20);
/// Long enough for a switch to finish whatever it holds.
const REST: Duration = Duration::from_ms(200);
/// Frames of one trial of a rate. One part in a hundred too many fills the
/// buffers of the smallest frames within it.
const TRIAL_FRAMES: u64 = 4_000;
/// The longest burst at line rate that is tried: more than a switch here holds.
const BURST_FRAMES_MAX: u64 = 400;

/// A switch on the bench, with a controller and a traffic generator.
#[derive(Debug)]
pub struct Bench {
    switch: ZodiacFx,
    profile: Profile,
    now: Instant,
    /// What came out, in the order of its departure from each port.
    seen: Vec<Seen>,
}

/// What a tap behind the switch saw.
#[derive(Clone, Debug)]
struct Seen {
    /// When the start-of-frame delimiter had passed.
    at: Instant,
    sent: Sent,
}

impl Bench {
    /// Puts a switch with an empty table on the bench.
    #[must_use]
    pub fn new(profile: Profile) -> Self {
        Self {
            switch: ZodiacFx::new(profile, DatapathId(1)),
            profile,
            now: Instant::ZERO,
            seen: Vec::new(),
        }
    }

    /// Puts a switch with a filled table on the bench.
    #[must_use]
    pub fn with_table(profile: Profile, setting: &Setting) -> Self {
        let mut bench = Self::new(profile);
        for order in orders_of(setting) {
            bench.send_message(&order);
            bench.pass(REST);
        }
        bench.seen.clear();
        bench
    }

    /// Returns the processing time of frames of one size, LOKO Eq. (4):
    ///
    /// ```text
    /// p = M - t(l) - t(8)
    /// ```
    ///
    /// or nothing if the frame does not come out.
    pub fn processing_time(&mut self, size: DataSize) -> Option<Duration> {
        let sfd_in = self.now;
        self.frame_arrives(sfd_in + self.on_port(size), frame_of(size));
        self.pass(REST);
        let measured = self.seen.pop()?.at.checked_since(sfd_in)?;
        let known = self.on_port(size) + self.on_port(PREAMBLE);
        Some(measured.saturating_sub(known))
    }

    /// Returns the processing time of a message that is answered, LOKO Eq. (1),
    /// or nothing if it is not.
    pub fn reply_time(&mut self, message: Message<'_>) -> Option<Duration> {
        let request = bytes_of(message);
        let sfd_in = self.now;
        self.send_message(&request);
        self.pass(REST);
        let measured = self.seen.pop()?.at.checked_since(sfd_in)?;
        let known = self.on_port(segment_size(&request)) + self.on_port(PREAMBLE);
        Some(measured.saturating_sub(known))
    }

    /// Returns the processing time of a message that is not answered, by a barrier
    /// right behind it, LOKO Eq. (2). Returns nothing if the barrier came too late
    /// to tell, LOKO Eq. (3).
    pub fn order_time(&mut self, message: Message<'_>) -> Option<Duration> {
        let barrier_time = self.reply_time(Message::BarrierRequest)?;
        let order = bytes_of(message);
        let barrier = bytes_of(Message::BarrierRequest);
        let sfd_in = self.now;
        self.send_message(&order);
        self.pass(self.on_port(OUTER_OVERHEAD));
        self.send_message(&barrier);
        let barrier_in = self.now.checked_since(sfd_in)?;
        self.pass(REST);
        let measured = self.seen.pop()?.at.checked_since(sfd_in)?;
        let order_done = measured.saturating_sub(barrier_time + self.on_port(PREAMBLE));
        let time = order_done.saturating_sub(self.on_port(segment_size(&order)));
        (barrier_in < order_done).then_some(time)
    }

    /// Sends so many frames of one size as fast as the cable takes them, and
    /// returns how many the switch held when the first that it lost arrived, or
    /// nothing if it lost none.
    fn held_at_first_loss(&mut self, frames: u64, size: DataSize) -> Option<u64> {
        let interval = self.on_port(size + OUTER_OVERHEAD);
        let first = self.now + self.on_port(size);
        self.burst(frames, size, interval);
        let came: BTreeMap<u64, Instant> = self.seen.drain(..).filter_map(tag_and_time).collect();
        let lost = (0..frames).find(|tag| !came.contains_key(tag))?;
        let lost_at = first + interval * lost;
        let left = came.values().filter(|at| **at <= lost_at).count() as u64;
        Some(lost - left)
    }

    /// Sends frames of one size at one rate, evenly spaced, and returns the rate
    /// at which they came out, counted in frames.
    pub fn output_rate(&mut self, size: DataSize, input: BitRate) -> BitRate {
        self.burst(TRIAL_FRAMES, size, input.time_to_send(size).round_up());
        let came = std::mem::take(&mut self.seen).len() as u64;
        let bps = u128::from(input.as_bps()) * u128::from(came) / u128::from(TRIAL_FRAMES);
        BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1))
    }

    fn burst(&mut self, frames: u64, size: DataSize, interval: Duration) {
        let Frame { bytes, .. } = frame_of(size);
        let first = self.now + self.on_port(size);
        for tag in 0..frames {
            let bytes = Arc::clone(&bytes);
            self.frame_arrives(first + interval * tag, Frame { bytes, tag });
        }
        self.pass(REST);
    }

    fn frame_arrives(&mut self, at: Instant, frame: Frame) {
        self.run_until(at);
        self.switch.handle(at, Input::Frame { port: FROM, frame });
        self.collect();
    }

    /// Sends bytes of the controller; afterwards their last bit has arrived.
    fn send_message(&mut self, bytes: &[u8]) {
        for segment in bytes.chunks(SEGMENT_MAX) {
            self.pass(self.on_port(segment_size(segment)));
            self.switch
                .handle(self.now, Input::Control(segment.to_vec()));
            self.collect();
        }
    }

    fn pass(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    fn run_until(&mut self, until: Instant) {
        while self.switch.deadline() <= until {
            let due = self.switch.deadline();
            self.switch.handle(due, Input::Timeout);
            self.collect();
        }
        self.now = until;
    }

    fn collect(&mut self) {
        while let Some(output) = self.switch.poll() {
            let is_expected = match &output.sent {
                Sent::Frame { port, .. } => *port == TO,
                Sent::Control(_) => true,
            };
            if is_expected {
                let at = output.begins + self.on_port(PREAMBLE);
                let sent = output.sent;
                self.seen.push(Seen { at, sent });
            }
        }
    }

    fn on_port(&self, data: DataSize) -> Duration {
        self.profile.port_rate.time_to_send(data).round_up()
    }
}

/// Returns the highest rate at which no frame is lost, to a precision, by binary
/// search (S4-3), or nothing if there is none above the precision.
#[must_use]
pub fn throughput(profile: Profile, setting: &Setting, precision: BitRate) -> Option<BitRate> {
    let passes = |bps| {
        let rate = BitRate::from_bps(bps);
        let mut bench = Bench::with_table(profile, setting);
        bench.output_rate(setting.frame, rate) == rate
    };
    let size = u128::from(setting.frame.as_bits());
    let on_cable = u128::from((setting.frame + OUTER_OVERHEAD).as_bits());
    let line = u128::from(profile.port_rate.as_bps()) * size / on_cable;
    let mut fails = u64::try_from(line).ok()?;
    if passes(fails) {
        return BitRate::new(fails);
    }
    let mut lossless = 0;
    while fails - lossless > precision.as_bps() {
        let middle = u64::midpoint(lossless, fails);
        match passes(middle) {
            true => lossless = middle,
            false => fails = middle,
        }
    }
    BitRate::new(lossless)
}

/// Returns how many frames a switch holds when it first loses one (S4-4), by
/// bursts at line rate that grow until one is lost, or nothing if none is
/// (RFC 2544 section 26.4).
#[must_use]
pub fn buffer_frames(profile: Profile, setting: &Setting) -> Option<u64> {
    (1..=BURST_FRAMES_MAX).find_map(|frames| {
        let mut bench = Bench::with_table(profile, setting);
        bench.held_at_first_loss(frames, setting.frame)
    })
}

fn tag_and_time(seen: Seen) -> Option<(u64, Instant)> {
    match seen.sent {
        Sent::Frame { frame, .. } => Some((frame.tag, seen.at)),
        Sent::Control(_) => None,
    }
}

fn bytes_of(message: Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(1), &mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
