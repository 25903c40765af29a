//! How often the switches at the ends of a link ask each other whether they are there, so
//! that a fault that nobody reports is made up for in time (S0-4), and what that takes of the
//! link.
//!
//! A flow that switches heal by themselves, and whose interruption is to cover any fault, has
//! both ends of each link of its way ask each other (RFC 5880, asynchronous, `MULTIPLIER`
//! packets may be missing). Silence is noticed `MULTIPLIER` intervals after the last packet
//! that arrived, and the other end is told by the next one: the rest of the interruption, two
//! `PARTS` of it, is for the detour and the time between two frames.
//!
//! A flow that is sent all the time may ask for less than packets can do: then its frames are
//! heart-beats, and three that are missing are noticed by the switch behind the link, which
//! tells the one before it (`switch.md`). That takes a link that carries the other way.

use calculus::admission::{MAX_DELAY, Request, Tree};
use units::{BitRate, DataSize, Delay, Duration};
use wire::bfd::{
    Authentication, AuthenticationKind, Encapsulation, HEART_BEAT_MAX_US, INTERVAL_MIN_US,
    LENGTH_MAX, Secret, SessionConfig,
};
use wire::ethernet::wire_size;
use wire::siphash::siphash_2_4;

use crate::config::PortParameters;
use crate::northbound::{Cover, Protection};

/// After how many missing packets silence is noticed.
const MULTIPLIER: u8 = 3;
/// How many intervals an interruption has.
const PARTS: u64 = 5;
/// The shortest interval: a switch whose process forwards nothing has to wake up so often.
const INTERVAL_MIN: Duration = Duration::from_ms(1);
/// The longest one: sessions come up no sooner than a second in any case.
const INTERVAL_MAX: Duration = Duration::from_secs(1);

/// The least interruption that switches can promise whatever fails.
pub const LEAST_INTERRUPTION: Duration = Duration::from_ms(5);

/// An end says what is new before its time once in so many intervals, and answers once in as
/// many.
const PROMPT_INTERVALS: u64 = 4;
/// A packet as it occupies the wire, at most: right behind the Ethernet header, with a hash.
const PACKET: DataSize = wire_size(14 + LENGTH_MAX);
/// Packets that may leave at once: a periodic one, one that says what is new, and an answer.
const PACKETS_AT_ONCE: u64 = 3;
/// The queue of packets, the most urgent.
pub const CLASS: u8 = 7;
/// The number of the key, of which there is one.
const KEY: u8 = 1;

/// The shortest and the longest time between frames that count as heart-beats.
const HEART_BEATS: std::ops::RangeInclusive<Duration> =
    Duration::from_us(INTERVAL_MIN_US as u64)..=Duration::from_us(HEART_BEAT_MAX_US as u64);

/// Returns how often frames of a flow come that count as heart-beats; nothing if they do not.
#[must_use]
pub fn heart_beat_of(protection: Protection) -> Option<Duration> {
    match protection {
        Protection::FastFailover {
            covers: Cover::OneWay | Cover::Any,
            heart_beat,
            ..
        } => heart_beat.filter(|beat| HEART_BEATS.contains(beat)),
        Protection::FastFailover { .. }
        | Protection::None
        | Protection::Restore { .. }
        | Protection::Seamless { .. } => None,
    }
}

/// Returns the least interruption that switches can promise to a flow: so many heart-beats,
/// of which three are missed, if that is to cover what they show; else that of packets.
#[must_use]
pub fn least_interruption(protection: Protection) -> Duration {
    match protection.interruption() {
        Some((_, Cover::OneWay)) => heart_beat_of(protection).map_or(LEAST_INTERRUPTION, |beat| {
            LEAST_INTERRUPTION.min(beat * PARTS)
        }),
        _ => LEAST_INTERRUPTION,
    }
}

/// Returns which failures switches notice in time that ask each other for the promise to a
/// flow; nothing if they do not.
#[must_use]
pub fn cover_of(protection: Protection) -> Option<Cover> {
    interval_for(protection)?;
    let (interruption, _) = protection.interruption()?;
    Some(match interruption >= LEAST_INTERRUPTION {
        true => Cover::Any,
        false => Cover::OneWay,
    })
}

/// Returns how often switches have to ask their neighbours for the promise to a flow; nothing
/// if they need not.
#[must_use]
pub fn interval_for(protection: Protection) -> Option<Duration> {
    match protection {
        Protection::FastFailover {
            interruption,
            covers: Cover::OneWay | Cover::Any,
            ..
        } if interruption >= least_interruption(protection) => {
            let whole_us = Duration::from_us(interruption.as_ns() / 1_000 / PARTS);
            Some(whole_us.clamp(INTERVAL_MIN, INTERVAL_MAX))
        }
        Protection::FastFailover { .. }
        | Protection::None
        | Protection::Restore { .. }
        | Protection::Seamless { .. } => None,
    }
}

/// Returns the session of an end whose packets are to come at this interval, and frames of
/// any kind as heart-beats, if flows rely on that.
#[must_use]
pub fn session(
    interval: Duration,
    heart_beat: Option<Duration>,
    secret: Option<[u8; 16]>,
) -> SessionConfig {
    let in_us = |time: Duration| u32::try_from(time.as_ns().div_ceil(1_000));
    let us = in_us(interval).expect("a second at most");
    let kind = AuthenticationKind::MeticulousKeyedSha1;
    let authentication = secret.map(|secret| {
        let half = |name: &[u8; 16]| siphash_2_4(secret, name).to_be_bytes();
        let key = [half(b"BFD sessions, 1."), half(b"BFD sessions, 2.")].concat();
        Authentication {
            kind,
            key: KEY,
            secret: Secret::new(kind, &key).expect("sixteen bytes fit"),
        }
    });
    SessionConfig {
        encapsulation: Encapsulation::Ethernet,
        desired_min_tx_us: us,
        required_min_rx_us: us,
        detect_multiplier: MULTIPLIER,
        heart_beat_us: heart_beat.map_or(0, |beat| in_us(beat).expect("some milliseconds")),
        authentication,
    }
}

/// Returns the least budget of packets at a port: that of those which may leave at once, behind
/// a frame that has begun.
#[must_use]
pub fn least_budget(port: &PortParameters) -> Delay {
    let ahead = port.largest_frame + PACKET * PACKETS_AT_ONCE;
    port.rate.time_to_send(ahead)
}

/// Returns what the packets of one end take of its port, as a request without a way; nothing
/// if nothing is promised there.
///
/// A quarter of an interval is left out at most (RFC 5880 section 6.8.7).
#[must_use]
pub fn request(port: &PortParameters, interval: Duration) -> Option<Request> {
    port.budgets.iter().flatten().next()?;
    // 4 packets in 3 intervals, and two more in four.
    let packets = 4 * PROMPT_INTERVALS + 2 * 3;
    let rate = BitRate::of(
        PACKET * packets,
        Delay::from(interval * (3 * PROMPT_INTERVALS)),
    )?;
    Some(Request {
        class: CLASS,
        rate,
        burst: PACKET * PACKETS_AT_ONCE,
        peak: None,
        frames: None,
        largest_frame: PACKET,
        smallest_frame: PACKET,
        deadline: MAX_DELAY,
        initial: Delay::ZERO,
        base: Tree::default(),
        alternatives: Vec::new(),
        is_held_back: false,
        redundant: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healed(interruption: Duration, covers: Cover) -> Protection {
        Protection::FastFailover {
            interruption,
            covers,
            heart_beat: None,
        }
    }

    #[test]
    fn neighbours_are_asked_for_what_is_to_cover_any_fault_alone() {
        let five = Duration::from_ms(5);

        assert_eq!(interval_for(healed(five, Cover::CarrierLoss)), None);
        let restored = Protection::Restore {
            interruption: five,
            covers: Cover::Any,
        };
        assert_eq!(interval_for(restored), None);
        for (interruption, interval) in [
            (five, Some(Duration::from_ms(1))),
            (Duration::from_us(12_345), Some(Duration::from_us(2_469))),
            (Duration::from_secs(60), Some(Duration::from_secs(1))),
            (Duration::from_us(4_999), None),
        ] {
            assert_eq!(interval_for(healed(interruption, Cover::Any)), interval);
        }
    }

    #[test]
    fn frames_that_come_all_the_time_allow_for_less() {
        let us = Duration::from_us;
        let beating = |interruption, covers, beat| Protection::FastFailover {
            interruption,
            covers,
            heart_beat: Some(beat),
        };
        let asked = |interruption, beat| interval_for(beating(interruption, Cover::OneWay, beat));

        assert_eq!(asked(us(1_750), us(350)), Some(INTERVAL_MIN));
        assert_eq!(asked(us(1_749), us(350)), None);
        // Too often to be looked at, and too seldom to help.
        assert_eq!(asked(us(4_999), us(99)), None);
        assert_eq!(asked(us(4_999), us(2_000)), None);
        assert_eq!(asked(us(5_000), us(2_000)), Some(INTERVAL_MIN));
        let covered = |interruption| cover_of(beating(interruption, Cover::OneWay, us(350)));
        assert_eq!(covered(us(1_749)), None);
        assert_eq!(covered(us(4_999)), Some(Cover::OneWay));
        assert_eq!(covered(us(5_000)), Some(Cover::Any));
        // What is silent in both directions is noticed by packets alone.
        assert_eq!(interval_for(beating(us(4_999), Cover::Any, us(350))), None);
        let carrier = beating(us(2_000), Cover::CarrierLoss, us(350));
        assert_eq!(
            (interval_for(carrier), heart_beat_of(carrier)),
            (None, None)
        );
    }

    #[test]
    fn what_packets_take_is_within_two_percent_of_a_link_of_a_hundred_megabits() {
        let port = PortParameters {
            rate: BitRate::from_mbps(100),
            propagation: Delay::ZERO,
            budgets: [
                None,
                None,
                None,
                None,
                None,
                None,
                Some(Delay::from_us(100)),
                None,
            ],
            buffers: [None; 8],
            largest_frame: DataSize::from_bytes(1_542),
        };

        let asked = request(&port, INTERVAL_MIN).unwrap();

        // 22 packets of 90 bytes in 12 ms.
        assert_eq!(asked.rate, BitRate::from_bps(1_320_000));
        assert_eq!(asked.burst, DataSize::from_bytes(270));
        let nothing = PortParameters {
            budgets: [None; 8],
            ..port
        };
        assert_eq!(request(&nothing, INTERVAL_MIN), None);
    }

    #[test]
    fn whoever_knows_the_secret_knows_the_key_and_nobody_else() {
        let key = |secret| session(INTERVAL_MIN, None, secret).authentication;

        assert_eq!(key(None), None);
        assert_eq!(key(Some([1; 16])), key(Some([1; 16])));
        assert_ne!(key(Some([1; 16])), key(Some([2; 16])));
    }
}
