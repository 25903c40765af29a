//! The station that asks.

use units::{Duration, Instant};
use wire::mms::{FIRST_INVOCATION, LAST_INVOCATION, MmsMessage, PORT};
use wire::tcp::Flags;

use super::super::Emitted;
use super::super::datagram::Addresses;
use super::segment::{self, Numbers};
use crate::Contract;
use crate::token_bucket::{Conformance, PacingBucket};
use wire::ethernet::wire_size;

/// So often a message is sent before the connection is given up.
pub const MOST_TRIES: u32 = 6;

/// The time before a message is sent again, at first; it doubles each time.
const FIRST_TIMEOUT: Duration = Duration::from_ms(200);
const DOMAIN: &str = "TAKTOSLD0";
const ITEM: &str = "MMXU1$MX$TotW";
/// The first sequence number. Those of a later connection go on where it ended, so
/// that every segment has a number of its own.
const FIRST_SEQUENCE: u32 = 1;

/// What a station asks, and whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmsClientConfig {
    /// Between whom. The destination port is [`PORT`], whatever stands there.
    pub addresses: Addresses,
    /// The time between two requests; not zero.
    pub period: Duration,
    /// When the connection is opened and the first request is due.
    pub start: Instant,
    /// From when on nothing is sent.
    pub until: Option<Instant>,
    /// What the sender agreed to.
    pub contract: Option<Contract>,
}

/// The length of the longest frame: the one that asks for an association.
pub const LONGEST_FRAME: usize = 221;

/// How far the association is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AssociationState {
    Closed,
    /// The SYN is on its way, or its answer.
    Opening,
    /// The transport connection is asked for.
    Connecting,
    /// The association is asked for.
    Associating,
    Ready,
}

/// A message that is not answered yet.
#[derive(Clone, Copy, Debug)]
struct Unanswered {
    what: What,
    sequence: u32,
    tries: u32,
    retry_at: Instant,
    /// When it was due at first.
    due: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Syn,
    Connect,
    Associate,
    Read(u32),
}

/// Asks for a value once a period.
#[derive(Debug)]
pub struct Client {
    config: MmsClientConfig,
    stage: AssociationState,
    /// When the next step of the association may be taken.
    ready_at: Instant,
    unanswered: Option<Unanswered>,
    /// When an acknowledgement without a message is due.
    owes_since: Option<Instant>,
    sequence: u32,
    expected: u32,
    /// The next request, by its place in the schedule.
    slot: u64,
    requests: u32,
    answers: u64,
    given_up: u64,
    skipped: u64,
    message: Vec<u8>,
    bucket: Option<PacingBucket>,
}

impl Client {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If there is no time between two requests, or the longest frame exceeds the
    /// contract's burst.
    #[must_use]
    pub fn new(config: &MmsClientConfig) -> Self {
        assert!(config.period > Duration::ZERO, "requests have a period");
        let burst = config.contract.map(|contract| contract.burst);
        assert!(
            burst.is_none_or(|burst| wire_size(LONGEST_FRAME) <= burst),
            "a frame fits into its burst"
        );
        Self {
            config: MmsClientConfig {
                addresses: Addresses {
                    destination_port: PORT,
                    ..config.addresses
                },
                ..*config
            },
            stage: AssociationState::Closed,
            ready_at: config.start,
            unanswered: None,
            owes_since: None,
            sequence: FIRST_SEQUENCE,
            expected: 0,
            slot: 0,
            requests: 0,
            answers: 0,
            given_up: 0,
            skipped: 0,
            message: Vec::with_capacity(256),
            bucket: config.contract.map(PacingBucket::new),
        }
    }

    /// Returns when the next segment is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let next = match self.unanswered {
            Some(unanswered) => unanswered.retry_at,
            None => self.step_due(),
        };
        let due = self.owes_since.map_or(next, |owed| owed.min(next));
        let due = match &self.bucket {
            Some(bucket) => due.max(bucket.ready_at(wire_size(LONGEST_FRAME))?),
            None => due,
        };
        self.config
            .until
            .is_none_or(|until| due < until)
            .then_some(due)
    }

    /// Puts the next segment into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        if self.next_due()? > now {
            return None;
        }
        let emitted = self.step(now, frame)?;
        if let Some(bucket) = &mut self.bucket {
            // `next_due` has waited for the tokens of the longest frame.
            let within = bucket.take(now, wire_size(emitted.length));
            assert_eq!(within, Conformance::Within, "there were tokens");
        }
        Some(emitted)
    }

    /// Makes the segment that is due.
    fn step(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        if let Some(unanswered) = self.unanswered
            && unanswered.retry_at <= now
        {
            return self.retry(now, unanswered, frame);
        }
        if let Some(due) = self.owes_since
            && (due <= now && (self.unanswered.is_some() || self.step_due() > now))
        {
            self.owes_since = None;
            return Some(self.send(Flags::ACK, self.sequence, due, frame));
        }
        let due = self.step_due();
        let what = match self.stage {
            AssociationState::Closed | AssociationState::Opening => What::Syn,
            AssociationState::Connecting => What::Connect,
            AssociationState::Associating => What::Associate,
            AssociationState::Ready => self.next_request(),
        };
        if self.stage == AssociationState::Closed {
            self.stage = AssociationState::Opening;
        }
        let unanswered = Unanswered {
            what,
            sequence: self.sequence,
            tries: 1,
            retry_at: now + FIRST_TIMEOUT,
            due,
        };
        Some(self.send_message(unanswered, frame))
    }

    /// Takes a frame that arrived.
    pub fn received(&mut self, now: Instant, frame: &[u8]) {
        let back = self.config.addresses.reversed();
        let Some((header, payload)) = segment::between(frame, &back) else {
            return;
        };
        let Some(unanswered) = self.unanswered else {
            return;
        };
        if header.acknowledgement != self.sequence || !header.flags.has(Flags::ACK) {
            return;
        }
        if unanswered.what == What::Syn {
            if header.flags.has(Flags::SYN_ACK) {
                self.expected = header.sequence.wrapping_add(1);
                self.advance(now, AssociationState::Connecting);
            }
            return;
        }
        let Ok((message, _)) = MmsMessage::parse(payload) else {
            return;
        };
        if header.sequence != self.expected {
            return;
        }
        let stage = match (unanswered.what, message) {
            (What::Connect, MmsMessage::ConnectConfirm) => AssociationState::Associating,
            (What::Associate, MmsMessage::Accept) => AssociationState::Ready,
            (What::Read(asked), MmsMessage::Value { invocation, .. }) if asked == invocation => {
                self.answers += 1;
                AssociationState::Ready
            }
            (What::Syn | What::Connect | What::Associate | What::Read(_), _) => return,
        };
        let length = u32::try_from(payload.len()).unwrap_or(0);
        self.expected = self.expected.wrapping_add(length);
        self.advance(now, stage);
    }

    /// Returns how many requests were left out, as an answer took longer than their
    /// period.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns how many requests were answered.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Returns how many connections were given up.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Returns when the next step is due that needs no answer first.
    fn step_due(&self) -> Instant {
        match self.stage {
            AssociationState::Ready => self.ready_at.max(self.slot_at(self.slot)),
            AssociationState::Closed
            | AssociationState::Opening
            | AssociationState::Connecting
            | AssociationState::Associating => self.ready_at,
        }
    }

    fn slot_at(&self, slot: u64) -> Instant {
        self.config.start + self.config.period * slot
    }

    fn advance(&mut self, now: Instant, stage: AssociationState) {
        self.unanswered = None;
        self.owes_since = Some(now);
        self.ready_at = now;
        self.stage = stage;
    }

    /// Takes the slot of the next request. Those whose whole period has passed are left
    /// out.
    fn next_request(&mut self) -> What {
        let passed = self.ready_at.saturating_since(self.config.start) / self.config.period;
        self.skipped += passed.saturating_sub(self.slot);
        self.slot = self.slot.max(passed) + 1;
        let count = LAST_INVOCATION - FIRST_INVOCATION;
        let invocation = FIRST_INVOCATION + self.requests % count;
        self.requests = self.requests.wrapping_add(1);
        What::Read(invocation)
    }

    fn retry(
        &mut self,
        now: Instant,
        unanswered: Unanswered,
        frame: &mut Vec<u8>,
    ) -> Option<Emitted> {
        if unanswered.tries >= MOST_TRIES {
            self.given_up += 1;
            self.stage = AssociationState::Closed;
            self.unanswered = None;
            self.owes_since = None;
            self.ready_at = now;
            let port = &mut self.config.addresses.source_port;
            *port = port.checked_add(1).unwrap_or(1_024);
            return None;
        }
        let timeout = FIRST_TIMEOUT * (1_u64 << unanswered.tries);
        Some(self.send_message(
            Unanswered {
                tries: unanswered.tries + 1,
                retry_at: now + timeout,
                ..unanswered
            },
            frame,
        ))
    }

    fn send_message(&mut self, unanswered: Unanswered, frame: &mut Vec<u8>) -> Emitted {
        self.unanswered = Some(unanswered);
        self.message.clear();
        let flags = match unanswered.what {
            What::Syn => Flags::SYN,
            What::Connect | What::Associate | What::Read(_) => {
                // It acknowledges whatever arrived.
                self.owes_since = None;
                message(unanswered.what).emit(&mut self.message);
                Flags::PSH_ACK
            }
        };
        let counted = match unanswered.what {
            What::Syn => 1,
            What::Connect | What::Associate | What::Read(_) => self.message.len(),
        };
        let counted = u32::try_from(counted).expect("a message fits a segment");
        self.sequence = unanswered.sequence.wrapping_add(counted);
        self.send(flags, unanswered.sequence, unanswered.due, frame)
    }

    fn send(&self, flags: Flags, sequence: u32, due: Instant, frame: &mut Vec<u8>) -> Emitted {
        let acknowledgement = match flags {
            Flags::SYN => 0,
            _ => self.expected,
        };
        let numbers = Numbers {
            flags,
            sequence,
            acknowledgement,
        };
        let payload: &[u8] = match flags {
            Flags::PSH_ACK => &self.message,
            _ => &[],
        };
        segment::fill(&self.config.addresses, numbers, payload, frame);
        Emitted {
            length: frame.len(),
            sequence: u64::from(sequence),
            due,
        }
    }
}

fn message(what: What) -> MmsMessage<'static> {
    match what {
        What::Syn | What::Connect => MmsMessage::ConnectRequest,
        What::Associate => MmsMessage::Associate,
        What::Read(invocation) => MmsMessage::Read {
            invocation,
            domain: DOMAIN,
            item: ITEM,
        },
    }
}
