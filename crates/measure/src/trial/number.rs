//! The number of a trial, in each of its frames: what a device holds for long arrives
//! when another trial is under way, and belongs to none of that one's figures.
//!
//! A tester writes the number into a frame as it leaves, where no switch looks and from
//! where a host that answers takes it along:
//!
//! | frame | the number is in |
//! |---|---|
//! | datagram | the two bytes behind the message header (S2-2) |
//! | echo and its reply | the identifier (RFC 792) |
//! | segment of TCP | the urgent pointer, which is not looked at without its flag (RFC 9293 section 3.1) |
//! | Sampled Values, GOOSE | the second reserved word (IEC 61850-8-1 annex C, IEC 61850-9-2 annex A) |
//! | part of a packet that was split | its first part, as above; it is added to the number of the packet, too, so that parts of two trials are not put together |
//!
//! Zero is no number: frames of others have it, and those that a device changed.

use std::num::NonZeroU16;

use wire::ethernet::{EtherType, Header};
use wire::internet_checksum::replaced;
use wire::{icmp, ipv4, message_shim, tcp, udp};

use super::{PlayedStation, PortIndex};

/// How many bytes a number takes.
pub const LENGTH: usize = 2;

/// Numbers trials, and tells their frames from those of others.
#[derive(Clone, Debug)]
pub struct TrialNumbers {
    now: NonZeroU16,
    strays: u64,
}

/// Where in a frame there are two bytes for a number, and where is the checksum in which
/// they count, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberPosition {
    number: usize,
    checksum: Option<usize>,
}

impl TrialNumbers {
    /// Begins before the trial after `seed`. Testers that follow each other at the same
    /// device should have seeds that are far apart.
    #[must_use]
    pub fn after(seed: u16) -> Self {
        Self {
            now: NonZeroU16::new(seed).unwrap_or(NonZeroU16::MIN),
            strays: 0,
        }
    }

    /// Goes on to the next trial.
    pub fn begin(&mut self) {
        self.now = self.now.checked_add(1).unwrap_or(NonZeroU16::MIN);
        self.strays = 0;
    }

    /// Writes the number of the trial into a frame that is to leave.
    pub fn mark(&self, frame: &mut [u8]) {
        let number = self.now.get();
        if let Some(packet) = NumberPosition::of_split_packet(frame) {
            let shifted = word(frame, packet.number).wrapping_add(number);
            packet.write(shifted, frame);
        }
        if let Some(place) = NumberPosition::of(frame) {
            place.write(number, frame);
        }
    }

    /// Tells whether a frame that was seen is not of another trial, and counts it if it
    /// is.
    pub fn admits(&mut self, frame: &[u8]) -> bool {
        let is_stray = self.is_stray(frame);
        self.strays += u64::from(is_stray);
        !is_stray
    }

    /// Tells whether a frame is of another trial.
    #[must_use]
    pub fn is_stray(&self, frame: &[u8]) -> bool {
        let number = NumberPosition::of(frame).map_or(0, |place| word(frame, place.number));
        number != 0 && number != self.now.get() && is_of_a_station(frame)
    }

    /// Returns how many frames of other trials were seen in this one.
    #[must_use]
    pub fn strays(&self) -> u64 {
        self.strays
    }
}

impl NumberPosition {
    /// Finds the place of the trial's number.
    fn of(frame: &[u8]) -> Option<Self> {
        const SECOND_RESERVED_WORD: usize = 6;
        let (ether_type, at) = payload_of(frame)?;
        let place = match ether_type {
            EtherType::SAMPLED_VALUES | EtherType::GOOSE => Self {
                number: at + SECOND_RESERVED_WORD,
                checksum: None,
            },
            EtherType::IPV4 => Self::in_packet(frame, at)?,
            _ => return None,
        };
        let last = place
            .checksum
            .map_or(place.number, |at| at.max(place.number));
        (last + LENGTH <= frame.len()).then_some(place)
    }

    fn in_packet(frame: &[u8], at: usize) -> Option<Self> {
        let (ip, part, payload) = ipv4::Part::parse(&frame[at..]).ok()?;
        if part.begin > 0 {
            return None;
        }
        let begin = at + usize::from(frame[at] & 0xf) * 4;
        let (number, checksum) = match ip.protocol {
            ipv4::PROTOCOL_UDP => {
                let shim = udp::HEADER_LENGTH + message_shim::LENGTH;
                let length = usize::from(u16::from_be_bytes(*payload.get(4..)?.first_chunk()?));
                if length < shim + LENGTH {
                    return None;
                }
                let is_summed = payload.get(6..8)? != [0, 0];
                (shim, is_summed.then_some(6))
            }
            ipv4::PROTOCOL_ICMP => {
                icmp::Echo::parse_begin(payload).ok()?;
                (4, Some(2))
            }
            ipv4::PROTOCOL_TCP => {
                let (segment, _) = tcp::Header::parse(payload).ok()?;
                if segment.flags.has(tcp::Flags::URG) {
                    return None;
                }
                (18, Some(16))
            }
            _ => return None,
        };
        Some(Self {
            number: begin + number,
            checksum: checksum.map(|at| begin + at),
        })
    }

    /// Finds the place of the number of a packet that was split.
    fn of_split_packet(frame: &[u8]) -> Option<Self> {
        let (ether_type, at) = payload_of(frame)?;
        if ether_type != EtherType::IPV4 {
            return None;
        }
        let (_, part, _) = ipv4::Part::parse(&frame[at..]).ok()?;
        let is_split = part.begin > 0 || !part.is_last;
        is_split.then_some(Self {
            number: at + 4,
            checksum: Some(at + 10),
        })
    }

    fn write(self, number: u16, frame: &mut [u8]) {
        let old = word(frame, self.number);
        set(frame, self.number, number);
        if let Some(at) = self.checksum {
            set(frame, at, replaced(word(frame, at), old, number));
        }
    }
}

/// Returns what follows the Ethernet header, and where it begins.
fn payload_of(frame: &[u8]) -> Option<(EtherType, usize)> {
    let (header, payload) = Header::parse(frame).ok()?;
    Some((header.ether_type, frame.len() - payload.len()))
}

/// Tells whether a frame is from a tester's station or to one.
fn is_of_a_station(frame: &[u8]) -> bool {
    let station = PlayedStation::at(PortIndex(0)).mac.0;
    let common = &station[..station.len() - 1];
    [0, 6].iter().any(|at| frame[*at..].starts_with(common))
}

fn word(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}

fn set(frame: &mut [u8], at: usize, word: u16) {
    frame[at..at + LENGTH].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Duration;
    use wire::internet_checksum::Checksum;

    use super::*;
    use crate::method::tests::known_device::addresses;
    use crate::method::{Cadence, RequestKind, Requests, Responder, SendingPace};
    use crate::trial::Sender;

    #[test]
    fn every_frame_of_a_request_and_of_its_answer_says_of_which_trial_it_is() {
        let mut numbers = TrialNumbers::after(6);
        numbers.begin();
        let mut others = numbers.clone();
        others.begin();
        for kind in [RequestKind::Echo, RequestKind::Datagram, RequestKind::Open] {
            let schedule = (Duration::ZERO, each_ms());
            let mut requests = Requests::new((kind, 3_000), &addresses(), schedule, 1);
            let mut responder = Responder::new(&addresses(), Duration::ZERO);
            let mut frame = Vec::new();
            let mut frames = 0;
            while requests.emit(Duration::ZERO, &mut frame).is_some() {
                numbers.mark(&mut frame);
                check(&frame, &numbers, &others);
                responder.received(Duration::ZERO, &frame);
                frames += 1;
            }
            while responder.emit(Duration::ZERO, &mut frame).is_some() {
                numbers.mark(&mut frame);
                check(&frame, &numbers, &others);
                frames += 1;
            }
            assert_eq!(
                frames,
                if kind == RequestKind::Open { 2 } else { 6 },
                "{kind:?}"
            );
        }
    }

    #[test]
    fn the_shortest_frames_of_a_method_have_room_for_it() {
        let mut numbers = TrialNumbers::after(u16::MAX);
        numbers.begin();
        let mut others = TrialNumbers::after(1);
        others.begin();
        let mut cadence = Cadence::new(&addresses(), 60, each_ms());
        let mut frame = Vec::new();
        cadence.emit(Duration::ZERO, &mut frame).unwrap();

        numbers.mark(&mut frame);

        check(&frame, &numbers, &others);
        assert_eq!((numbers.strays(), others.strays()), (0, 0));
        assert!(!others.admits(&frame));
        assert_eq!(others.strays(), 1);
    }

    fn each_ms() -> SendingPace {
        SendingPace::every(Duration::from_ms(1))
    }

    /// Only this trial admits the frame, and its check sums hold.
    fn check(frame: &[u8], numbers: &TrialNumbers, others: &TrialNumbers) {
        let (mut numbers, mut others) = (numbers.clone(), others.clone());
        assert!(numbers.admits(frame));
        let packet = &frame[14..];
        assert_eq!(Checksum::default().with(&packet[..20]).finish(), 0);
        let (_, part, payload) = ipv4::Part::parse(packet).unwrap();
        if part.begin > 0 {
            return;
        }
        assert!(!others.admits(frame));
        if let Ok((ip, datagram)) = ipv4::Header::parse(packet)
            && ip.protocol == ipv4::PROTOCOL_UDP
        {
            udp::verify(&ip, datagram).unwrap();
        }
        let is_whole = part.is_last;
        if is_whole && packet[9] == ipv4::PROTOCOL_ICMP {
            assert_eq!(Checksum::default().with(payload).finish(), 0);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_change_in_length(
            mut bytes in prop::collection::vec(any::<u8>(), 0..90),
            kind in 0_usize..5,
            seed: u16,
        ) {
            const TYPES: [&[u8]; 5] = [
                &[],
                &[8, 0, 0x45],
                &[0x88, 0xba],
                &[0x81, 0, 0, 1, 8, 0, 0x45],
                &[8, 0, 0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17],
            ];
            if bytes.len() >= 30 {
                bytes[12..12 + TYPES[kind].len()].copy_from_slice(TYPES[kind]);
            }
            let mut numbers = TrialNumbers::after(seed);
            numbers.begin();
            let mut marked = bytes.clone();

            numbers.mark(&mut marked);

            prop_assert!(numbers.admits(&marked));
            let changed = bytes.iter().zip(&marked).filter(|(one, other)| one != other);
            prop_assert!(changed.count() <= 8);
            prop_assert_eq!(bytes.len(), marked.len());
        }
    }
}
