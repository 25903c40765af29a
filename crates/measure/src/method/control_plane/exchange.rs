//! One message again and again, each time in the same state of the device, and how
//! long the device works on it (LOKO section 3.2.1).
//!
//! A sample is a slot of time: what the sample before changed is put right, a barrier
//! says that this is done, and after a rest the message goes out. The device's time
//! for a message that is answered is LOKO Eq. (1),
//!
//! ```text
//! p = M - t_req - t(8)
//! ```
//!
//! and for one that is not, by a barrier right behind it, LOKO Eq. (2),
//!
//! ```text
//! p = M2 - t_req - p_BR - t(8)
//! ```
//!
//! which says something only if the barrier had arrived before the message was done,
//! LOKO Eq. (3). Where messages travel as frames of their own, the stamps of both
//! tell. Over TCP without a cable's rate both are handed over as one piece, so that
//! the barrier is there when the message is.
//!
//! A slot that was too short is found out by its barriers: then all begins anew with
//! longer ones.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::openflow::{Header, MessageType};
use wire::openflow10;

use crate::method::known_times::KnownTimes;
use crate::method::orders::{self, Version};
use crate::statistics::Distribution;
use crate::trial::{ControlLink, Order, Sighting, Tester, Trial, TrialError, Watcher};

/// The first rest between two messages, and the longest.
const SHORTEST_REST: Duration = Duration::from_ms(1);
const LONGEST_REST: Duration = Duration::from_secs(1);
/// How many times longer than adding an entry anything that comes first may take.
const SLOW_START: u64 = 20;
/// The most bytes that are handed over as one piece.
const PIECE_BYTES: usize = 32_768;
/// One slot in so many may be too short.
const TOLERATED: usize = 10;

/// What one point of a measurement is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// What brings the device into its state before the first sample.
    pub before: Vec<Vec<u8>>,
    /// What puts right what a sample changed.
    pub restore: Vec<Vec<u8>>,
    /// The message that is measured.
    pub message: Vec<u8>,
    pub answer: Answer,
}

/// Whether a message is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answer {
    #[default]
    Reply,
    /// Not unless it is refused.
    None,
}

/// How long the device worked on a message.
#[derive(Clone, Debug, Default)]
pub struct MessageTimes {
    /// The times of the samples that say something.
    pub times: Distribution,
    /// Samples whose barrier came too late to tell, LOKO Eq. (3).
    pub barrier_too_late: u64,
    /// Samples that were not answered, or too late.
    pub unanswered: u64,
    /// The type and code of the error by which the device refused the message, and
    /// how often.
    pub refused: BTreeMap<(u16, u16), u64>,
}

/// Measures one message so many times. `barrier` is how long the device works on a
/// barrier, which matters for what is not answered.
///
/// # Errors
///
/// If a trial cannot be made.
pub fn measure(
    tester: &mut dyn Tester,
    exchange: &Exchange,
    samples: u16,
    barrier: Duration,
) -> Result<MessageTimes, TrialError> {
    let link = tester.control_link();
    let mut rest = SHORTEST_REST.max(link.apart * SLOW_START);
    loop {
        let mut plan = TrialBuilder::new(link, exchange, samples, rest);
        let mut replies = Replies::default();
        tester.run(plan.take_trial(), &mut replies)?;
        let (times, spoilt) = plan.judge(&replies, link, barrier);
        if spoilt * TOLERATED <= usize::from(samples) || rest >= LONGEST_REST {
            return Ok(times);
        }
        rest = rest * 2u64;
    }
}

struct TrialBuilder<'a> {
    exchange: &'a Exchange,
    trial: Trial,
    samples: Vec<Sample>,
    next_number: u32,
}

/// The places of the orders of a sample, and the numbers of what they ask.
struct Sample {
    restored: u32,
    message_order: usize,
    message: u32,
    barrier_order: usize,
    barrier: u32,
}

impl<'a> TrialBuilder<'a> {
    fn new(link: ControlLink, exchange: &'a Exchange, samples: u16, rest: Duration) -> Self {
        let mut plan = Self {
            exchange,
            trial: Trial::default(),
            samples: Vec::new(),
            next_number: 1,
        };
        let version = Version::of(link.version).unwrap_or(Version::V13);
        let mut now = plan.say(Duration::ZERO, &exchange.before, link);
        now = plan.say(now + rest, &[version.barrier()], link) + rest * 2u64;
        for place in 0..samples {
            now = plan.say(now + dither(rest, place), &exchange.restore, link);
            let restored = plan.numbered(version.barrier());
            let restored_number = restored.0;
            plan.order(now, restored.1);
            now += rest;
            plan.add_sample(now, version, link, restored_number);
            now += rest;
        }
        plan.trial.length = now;
        plan.trial.drain = rest;
        plan
    }

    fn take_trial(&mut self) -> Trial {
        std::mem::take(&mut self.trial)
    }

    fn add_sample(&mut self, now: Duration, version: Version, link: ControlLink, restored: u32) {
        let (message, mut bytes) = self.numbered(self.exchange.message.clone());
        let (barrier, barrier_bytes) = self.numbered(version.barrier());
        let message_order = self.trial.orders.len();
        let mut barrier_order = message_order;
        match (self.exchange.answer, link.rate) {
            (Answer::Reply, _) => self.order(now, bytes),
            (Answer::None, None) => {
                bytes.extend(barrier_bytes);
                self.order(now, bytes);
            }
            (Answer::None, Some(_)) => {
                self.order(now, bytes);
                barrier_order = self.trial.orders.len();
                self.order(now, barrier_bytes);
            }
        }
        self.samples.push(Sample {
            restored,
            message_order,
            message,
            barrier_order,
            barrier,
        });
    }

    /// Adds messages that nobody measures, and returns when they are done.
    fn say(&mut self, from: Duration, messages: &[Vec<u8>], link: ControlLink) -> Duration {
        let mut now = from;
        if link.apart > Duration::ZERO {
            for (place, message) in messages.iter().enumerate() {
                let (_, bytes) = self.numbered(message.clone());
                self.order(now, bytes);
                // What comes first may delete a whole table.
                now += link.apart * if place == 0 { SLOW_START } else { 1 };
            }
            return now;
        }
        let mut piece = Vec::new();
        for message in messages {
            let (_, bytes) = self.numbered(message.clone());
            piece.extend(bytes);
            if piece.len() >= PIECE_BYTES {
                self.order(now, std::mem::take(&mut piece));
            }
        }
        if !piece.is_empty() {
            self.order(now, piece);
        }
        now
    }

    fn numbered(&mut self, mut message: Vec<u8>) -> (u32, Vec<u8>) {
        let number = self.next_number;
        self.next_number += 1;
        orders::number(&mut message, number);
        (number, message)
    }

    fn order(&mut self, due: Duration, bytes: Vec<u8>) {
        self.trial.orders.push(Order { due, bytes });
    }

    /// Returns what the replies say, and how many slots were too short.
    fn judge(
        &self,
        replies: &Replies,
        link: ControlLink,
        barrier: Duration,
    ) -> (MessageTimes, usize) {
        let mut times = MessageTimes::default();
        let mut spoilt = 0;
        for (place, sample) in self.samples.iter().enumerate() {
            let begun = replies.sent.get(&sample.message_order).copied();
            let restored = replies.heard.get(&sample.restored).map(|it| it.at);
            let next = self.samples.get(place + 1);
            let next = next.and_then(|next| replies.sent.get(&next.message_order));
            let Some(begun) = begun else {
                times.unanswered += 1;
                continue;
            };
            let last = next.copied().unwrap_or(Instant::FAR_FUTURE);
            let in_slot = restored.is_some_and(|at| at <= begun);
            match self.judge_sample(sample, begun, replies, link, barrier) {
                Judged::Took(_, at) if !in_slot || at >= last => spoilt += 1,
                Judged::Took(time, _) => times.times.record(time),
                Judged::BarrierTooLate => times.barrier_too_late += 1,
                Judged::Refused(kind) => *times.refused.entry(kind).or_default() += 1,
                Judged::Unanswered => {
                    times.unanswered += 1;
                    spoilt += 1;
                }
            }
        }
        (times, spoilt)
    }

    fn judge_sample(
        &self,
        sample: &Sample,
        begun: Instant,
        replies: &Replies,
        link: ControlLink,
        barrier: Duration,
    ) -> Judged {
        if let Some(kind) = replies.refused.get(&sample.message) {
            return Judged::Refused(*kind);
        }
        let known = KnownTimes::of_messages(link);
        let request = known.of_segment(self.exchange.message.len());
        let (awaited, done_with_it) = match self.exchange.answer {
            Answer::Reply => (sample.message, Duration::ZERO),
            Answer::None => (sample.barrier, barrier),
        };
        let Some(reply) = replies.heard.get(&awaited) else {
            return Judged::Unanswered;
        };
        let measured = reply.at.saturating_since(begun);
        let done = measured.saturating_sub(done_with_it + known.preamble());
        let stands_alone = sample.barrier_order != sample.message_order;
        if stands_alone && self.exchange.answer == Answer::None {
            let sent = replies.sent.get(&sample.barrier_order).copied();
            let sent = sent.unwrap_or(reply.at).saturating_since(begun);
            // LOKO Eq. (3).
            if sent + known.of_segment(HEADER) >= done {
                return Judged::BarrierTooLate;
            }
        }
        Judged::Took(done.saturating_sub(request), reply.at)
    }
}

/// Returns a part of the rest, spread evenly over all samples: so that whatever the
/// device does at regular times is met as often as it deserves.
fn dither(rest: Duration, place: u16) -> Duration {
    const GOLDEN_PART: u64 = 40_503;
    let part = u64::from(place) * GOLDEN_PART % (1 << 16);
    Duration::from_ns(rest.as_ns() / (1 << 16) * part)
}

/// The length of a request for a barrier.
const HEADER: usize = wire::openflow::HEADER_LENGTH;

enum Judged {
    Took(Duration, Instant),
    BarrierTooLate,
    Refused((u16, u16)),
    Unanswered,
}

/// What was heard and sent, by transaction and by order.
#[derive(Debug, Default)]
pub(in crate::method) struct Replies {
    pub(in crate::method) heard: BTreeMap<u32, Reply>,
    pub(in crate::method) refused: BTreeMap<u32, (u16, u16)>,
    pub(in crate::method) sent: BTreeMap<usize, Instant>,
}

/// The last message of an answer.
#[derive(Clone, Copy, Debug)]
pub(in crate::method) struct Reply {
    pub(in crate::method) at: Instant,
}

impl Watcher for Replies {
    fn see(&mut self, _sighting: &Sighting<'_>) {}

    fn hear(&mut self, at: Instant, bytes: &[u8]) {
        let mut rest = bytes;
        while let Ok(header) = Header::parse(rest) {
            let length = usize::from(header.length).clamp(HEADER, rest.len());
            let (message, behind) = rest.split_at(length);
            self.take(at, header, message);
            rest = behind;
        }
    }

    fn ordered(&mut self, order: usize, at: Instant) {
        self.sent.insert(order, at);
    }
}

impl Replies {
    fn take(&mut self, at: Instant, header: Header, message: &[u8]) {
        let number = header.transaction.0;
        if header.kind == MessageType::Error.number() {
            let field = |place: usize| {
                let bytes = message.get(place..place + 2)?;
                Some(u16::from_be_bytes([bytes[0], bytes[1]]))
            };
            let kind = field(HEADER).zip(field(HEADER + 2));
            self.refused.insert(number, kind.unwrap_or_default());
            return;
        }
        // What the device asks or tells of its own accord answers nothing.
        let unasked = [
            MessageType::Hello.number(),
            MessageType::EchoRequest.number(),
            MessageType::PacketIn.number(),
            MessageType::FlowRemoved.number(),
            openflow10::MessageType::PortStatus.number(),
        ];
        if !unasked.contains(&header.kind) {
            self.heard.insert(number, Reply { at });
        }
    }
}
