//! A protection device: its state, repeated at once when it changes and ever
//! more slowly while it does not (IEC 61850-8-1 clause 18.1).
//!
//! A change is sent when it happens and again after `min_time`; each further gap
//! is twice the one before, up to `max_time`. The device lets its state live for
//! three gaps. A change cuts short the repetitions of the state before it; if
//! the caller comes so late that a state was overtaken by the next one, it is
//! left out, and its number shows.

use units::{Duration, Instant};
use wire::ethernet::{self, EtherType, MacAddress, VlanTag, wire_size};
use wire::goose::{ApplicationHeader, Data, DataList, Template, TimeQuality, UtcTime};

use super::{Emitted, FrameTooShort, beginnings};
use crate::Contract;
use crate::identity::state_sequence;
use crate::token_bucket::{Conformance, PacingBucket};

/// How many gaps a state lives without being repeated.
const GAPS_TO_LIVE: u64 = 3;
const NS_PER_MS: u64 = 1_000_000;
/// Where the trip stands in the data: behind its tag and its length.
const TRIP_AT: usize = 2;

/// What a protection device sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GooseConfig {
    pub source: MacAddress,
    /// The group of its subscribers.
    pub destination: MacAddress,
    /// The tag, if frames carry one.
    pub vlan: Option<VlanTag>,
    /// Its APPID, at most 0x3fff.
    pub application: u16,
    /// The name of the control block.
    pub control_block: String,
    /// The gap after a change; not zero.
    pub min_time: Duration,
    /// The longest gap; at least `min_time`.
    pub max_time: Duration,
    /// When the state changes, in order.
    pub changes: Vec<Instant>,
    /// What the sender agreed to.
    pub contract: Option<Contract>,
    /// When the first state is published.
    pub start: Instant,
    /// From when on nothing is.
    pub until: Option<Instant>,
    /// The time of day at the origin of the clock, since 1970.
    pub unix_origin_ns: u64,
}

#[derive(Debug)]
pub struct Goose {
    template: Template,
    min_time: Duration,
    max_time: Duration,
    /// Each state begins here, the first one at the start.
    changes: Vec<Instant>,
    until: Option<Instant>,
    unix_origin_ns: u64,
    bucket: Option<PacingBucket>,
    /// How many states have begun.
    begun: usize,
    repetition: u32,
    /// The gap before the next repetition.
    gap: Duration,
    repeat_at: Instant,
    skipped: u64,
}

impl Goose {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If the times are not in order or a frame exceeds the contract's burst.
    #[must_use]
    pub fn new(config: &GooseConfig) -> Self {
        Self::of(config, template(config, &config.control_block, None))
    }

    /// Prepares a source whose frames have `length` bytes, or the most below it
    /// that the encoding allows: the state has as many further data as that
    /// takes. A name that is too long for that is cut.
    ///
    /// # Errors
    ///
    /// If no frame is as short as that.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new) does.
    pub fn sized(config: &GooseConfig, length: usize) -> Result<Self, FrameTooShort> {
        let fits = |template: &Template| template.frame().len() <= length;
        let mut named =
            beginnings(&config.control_block).map(|name| (name, template(config, name, None)));
        let Some((name, alone)) = named.find(|(_, template)| fits(template)) else {
            let least = template(config, "", None).frame().len();
            return Err(FrameTooShort { length, least });
        };
        let room = length - alone.frame().len();
        let larger = (0..=room)
            .rev()
            .map(|more| template(config, name, Some(more)));
        Ok(Self::of(
            config,
            larger.into_iter().find(fits).unwrap_or(alone),
        ))
    }

    fn of(config: &GooseConfig, template: Template) -> Self {
        assert!(
            Duration::ZERO < config.min_time && config.min_time <= config.max_time,
            "gaps grow from min_time to max_time"
        );
        let mut changes = vec![config.start];
        changes.extend_from_slice(&config.changes);
        assert!(changes.is_sorted(), "states follow each other in order");
        let bucket = config.contract.map(|contract| {
            let size = wire_size(template.frame().len());
            assert!(size <= contract.burst, "a frame fits into its burst");
            PacingBucket::new(contract)
        });
        Self {
            template,
            min_time: config.min_time,
            max_time: config.max_time,
            changes,
            until: config.until,
            unix_origin_ns: config.unix_origin_ns,
            bucket,
            begun: 0,
            repetition: 0,
            gap: config.min_time,
            repeat_at: Instant::FAR_FUTURE,
            skipped: 0,
        }
    }

    /// Returns the length of each frame, without check sequence.
    #[must_use]
    pub fn frame_length(&self) -> usize {
        self.template.frame().len()
    }

    /// Returns when the next frame is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let due = match self.changes.get(self.begun) {
            Some(change) => self.repeat_at.min(*change),
            None => self.repeat_at,
        };
        if self.until.is_some_and(|until| due >= until) {
            return None;
        }
        match &self.bucket {
            Some(bucket) => Some(due.max(bucket.ready_at(wire_size(self.frame_length()))?)),
            None => Some(due),
        }
    }

    /// Puts the next frame into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        if self.next_due()? > now {
            return None;
        }
        if let Some(bucket) = &mut self.bucket {
            match bucket.take(now, wire_size(self.template.frame().len())) {
                Conformance::Within => {}
                Conformance::Beyond => return None,
            }
        }
        let changed = self.changes[self.begun..].partition_point(|change| *change <= now);
        let due = match changed {
            0 => self.repeat(now),
            changed => self.change(changed),
        };
        let live_ns = self.gap.as_ns().saturating_mul(GAPS_TO_LIVE);
        let live_ms = u32::try_from(live_ns.div_ceil(NS_PER_MS)).unwrap_or(u32::MAX);
        self.template.set_repetition(self.repetition, live_ms);
        frame.clear();
        frame.extend_from_slice(self.template.frame());
        Some(Emitted {
            length: frame.len(),
            sequence: state_sequence(self.state(), self.repetition),
            due,
        })
    }

    /// Returns how many frames were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Begins the last of so many states that are due, and returns since when.
    fn change(&mut self, states: usize) -> Instant {
        self.skipped += states as u64 - 1;
        self.begun += states;
        self.repetition = 0;
        self.gap = self.min_time;
        let changed_at = self.changes[self.begun - 1];
        self.repeat_at = changed_at + self.gap;
        let t_ns = self.unix_origin_ns + changed_at.as_ns();
        let t = UtcTime::from_unix_ns(t_ns, TimeQuality::NOT_SYNCHRONIZED);
        self.template.set_state(t, self.state());
        self.template.data_mut()[TRIP_AT] = u8::from(self.begun.is_multiple_of(2));
        changed_at
    }

    /// Repeats the state, and returns when that was due. Repetitions that should
    /// have come before are left out.
    fn repeat(&mut self, now: Instant) -> Instant {
        let mut due = self.repeat_at;
        self.advance();
        while self.repeat_at <= now {
            due = self.repeat_at;
            self.advance();
            self.skipped += 1;
        }
        self.repetition = match self.repetition {
            // The number 0 is for the first frame of a state.
            u32::MAX => 1,
            number => number + 1,
        };
        due
    }

    fn advance(&mut self) {
        self.gap = (self.gap * 2u64).min(self.max_time);
        self.repeat_at += self.gap;
    }

    fn state(&self) -> u32 {
        u32::try_from(self.begun).expect("a scenario has fewer than 2^32 changes")
    }
}

/// Returns a frame with a trip and, if wanted, so many bytes of further data.
fn template(config: &GooseConfig, name: &str, further: Option<usize>) -> Template {
    let mut data = Vec::new();
    Data::Boolean(false).emit(&mut data);
    if let Some(length) = further {
        Data::OctetString(&vec![0; length]).emit(&mut data);
    }
    let goose = wire::goose::Goose {
        gocb_ref: name,
        time_allowed_to_live_ms: 0,
        dat_set: name,
        go_id: None,
        t: UtcTime::from_unix_ns(config.unix_origin_ns, TimeQuality::NOT_SYNCHRONIZED),
        st_num: 0,
        sq_num: 0,
        simulation: false,
        conf_rev: 1,
        nds_com: false,
        num_dat_set_entries: 1 + u32::from(further.is_some()),
        all_data: DataList::from_bytes(&data),
    };
    let ethernet = ethernet::Header {
        destination: config.destination,
        source: config.source,
        vlan: config.vlan,
        ether_type: EtherType::GOOSE,
    };
    let application = ApplicationHeader {
        app_id: config.application,
        simulated: false,
    };
    Template::new(&ethernet, application, &goose)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gaps_double_after_a_change_up_to_the_longest() {
        let mut source = Goose::new(&config(vec![at_ms(100)]));

        let sent = call_in_time(&mut source, 14);

        let times: Vec<u64> = sent.iter().map(|(at, _)| at.as_ns() / NS_PER_MS).collect();
        assert_eq!(
            times,
            [0, 4, 12, 28, 60, 92, 100, 104, 112, 128, 160, 192, 224, 256]
        );
        assert_eq!(sent[5].1, state_sequence(1, 5));
        assert_eq!(sent[6].1, state_sequence(2, 0));
        assert_eq!(source.skipped(), 0);
    }

    #[test]
    fn a_state_lives_for_three_gaps() {
        let mut source = Goose::new(&config(Vec::new()));
        let mut frame = Vec::new();

        let lives = [0, 4, 12, 28].map(|ms| {
            source.emit(at_ms(ms), &mut frame).unwrap();
            let (_, payload) = ethernet::Header::parse(&frame).unwrap();
            let (_, goose) = wire::goose::Goose::parse(payload).unwrap();
            goose.time_allowed_to_live_ms
        });

        assert_eq!(lives, [12, 24, 48, 96]);
    }

    #[test]
    fn a_late_call_leaves_out_what_was_overtaken() {
        let mut source = Goose::new(&config(vec![at_ms(30), at_ms(40)]));
        let mut frame = Vec::new();
        source.emit(at_ms(0), &mut frame).unwrap();

        let second = source.emit(at_ms(13), &mut frame).unwrap();
        let third = source.emit(at_ms(41), &mut frame).unwrap();

        assert_eq!(
            (second.sequence, second.due),
            (state_sequence(1, 1), at_ms(12))
        );
        assert_eq!(
            (third.sequence, third.due),
            (state_sequence(3, 0), at_ms(40))
        );
        assert_eq!(source.skipped(), 2);
    }

    proptest! {
        #[test]
        fn a_frame_is_as_long_as_wanted_or_a_little_shorter(length in 60usize..1518) {
            match Goose::sized(&config(Vec::new()), length) {
                Ok(source) => {
                    let frame = source.frame_length();
                    prop_assert!(frame <= length && frame + 4 >= length, "{}", frame);
                    let (_, payload) = ethernet::Header::parse(source.template.frame()).unwrap();
                    prop_assert!(wire::goose::Goose::parse(payload).is_ok());
                }
                Err(FrameTooShort { least, .. }) => prop_assert!(length < least && least < 100),
            }
        }
    }

    fn config(changes: Vec<Instant>) -> GooseConfig {
        GooseConfig {
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            destination: MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 1]),
            vlan: None,
            application: 1,
            control_block: "BAY1PROT/LLN0$GO$trip".to_owned(),
            min_time: Duration::from_ms(4),
            max_time: Duration::from_ms(32),
            changes,
            contract: None,
            start: Instant::ZERO,
            until: None,
            unix_origin_ns: 0,
        }
    }

    fn call_in_time(source: &mut Goose, frames: usize) -> Vec<(Instant, u64)> {
        let mut frame = Vec::new();
        (0..frames)
            .map(|_| {
                let now = source.next_due().unwrap();
                (now, source.emit(now, &mut frame).unwrap().sequence)
            })
            .collect()
    }

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }
}
