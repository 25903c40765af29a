//! The frames that the program in the kernel gives up, on their way to the core.

use std::os::fd::{AsFd, BorrowedFd};

use switch::compiled::layout::handed;
use switch::modes::Demand;
use units::Instant;
use wire::mode_signal::Level;

use crate::bpf::map::MapError;
use crate::bpf::record_ring::RecordRing;
use crate::offloads::{Left, Sum};

/// A frame that was given up, as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedFrame<'a> {
    /// The place of its port in the switch's list of ports.
    pub port: usize,
    pub bytes: &'a [u8],
    pub arrived: Instant,
    /// What the first meters on its way have decided.
    pub verdicts: &'a [u8],
    /// What its sender has left to be done.
    pub left: Left,
}

/// What comes by the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed<'a> {
    Frame(HandedFrame<'a>),
    /// No frame: the program changed the mode, or could not tell somebody.
    Bell,
    /// No frame: a monitor saw a violation.
    Noticed(Noticed),
}

/// A violation that a monitor of the program saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noticed {
    /// The place of the port in the switch's list of ports.
    pub port: usize,
    pub at: Instant,
    /// The place of the monitor.
    pub monitor: usize,
    pub demand: Demand,
}

impl<'a> Handed<'a> {
    /// Reads a record of the ring; nothing if it is none of the program's.
    #[must_use]
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(*record.get(at..)?.first_chunk()?));
        if word(handed::PORT)? != handed::BELL {
            return HandedFrame::parse(record).map(Self::Frame);
        }
        let number = word(handed::LENGTH)?;
        if number == 0 {
            return Some(Self::Bell);
        }
        let at = u64::from_ne_bytes(*record.get(handed::ARRIVED..)?.first_chunk()?);
        let level = Level::new(u8::try_from(number >> 1).ok()?)?;
        Some(Self::Noticed(Noticed {
            port: usize::try_from(word(handed::VERDICTS)?).ok()?,
            at: Instant::from_ns(at),
            monitor: usize::try_from(word(handed::VERDICTS + 4)?).ok()?,
            demand: match number & 1 {
                0 => Demand::Level(level),
                _ => Demand::Beyond(level),
            },
        }))
    }
}

impl<'a> HandedFrame<'a> {
    fn parse(record: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(*record.get(at..)?.first_chunk()?));
        let index = |at: usize| usize::try_from(word(at)?).ok();
        let arrived = u64::from_ne_bytes(*record.get(handed::ARRIVED..)?.first_chunk()?);
        let verdicts = index(handed::VERDICTS_COUNT)?.min(handed::VERDICTS_MAX);
        let frame = record.get(handed::BYTES..)?;
        let half = |at: usize| Some(u16::from_ne_bytes(*record.get(at..)?.first_chunk()?));
        let sum = match half(handed::IS_PARTIAL)? {
            0 => Sum::Done,
            _ => Sum::Perhaps,
        };
        let segment = half(handed::SEGMENT)?;
        Some(Self {
            port: index(handed::PORT)?,
            bytes: frame.get(..index(handed::LENGTH)?)?,
            arrived: Instant::from_ns(arrived),
            verdicts: &record[handed::VERDICTS..handed::VERDICTS + verdicts],
            left: Left { sum, segment },
        })
    }
}

/// The ring by which they come.
#[derive(Debug)]
pub struct HandedFrames {
    ring: RecordRing,
}

impl HandedFrames {
    /// Makes a ring of `bytes`.
    pub(super) fn create(bytes: u32) -> Result<Self, MapError> {
        let ring = RecordRing::create("handed", bytes)?;
        Ok(Self { ring })
    }

    /// Tells whether a frame waits.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ring.is_ready()
    }

    /// Hands the next thing that came to `read`, if one waits.
    pub fn receive<R>(&mut self, read: impl FnOnce(Handed<'_>) -> R) -> Option<R> {
        // What is no record of the program's is passed over.
        let received = self.ring.receive(|record| Handed::parse(record).map(read));
        received.ok()??
    }
}

impl AsFd for HandedFrames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(length: u32, verdicts: u32) -> Vec<u8> {
        let mut record = vec![0; handed::BYTES];
        record[handed::PORT..handed::PORT + 4].copy_from_slice(&3u32.to_ne_bytes());
        record[handed::LENGTH..handed::LENGTH + 4].copy_from_slice(&length.to_ne_bytes());
        record[handed::ARRIVED..handed::ARRIVED + 8].copy_from_slice(&77u64.to_ne_bytes());
        record[handed::VERDICTS..handed::VERDICTS + 2].copy_from_slice(&[0, 2]);
        record[handed::VERDICTS_COUNT..handed::VERDICTS_COUNT + 4]
            .copy_from_slice(&verdicts.to_ne_bytes());
        record.extend(b"a frame and what the ring rounds up");
        record
    }

    #[test]
    fn a_record_has_the_frame_with_its_port_time_and_verdicts() {
        let record = record(7, 2);

        let expected = HandedFrame {
            port: 3,
            bytes: b"a frame",
            arrived: Instant::from_ns(77),
            verdicts: &[0, 2],
            left: Left::default(),
        };
        assert_eq!(HandedFrame::parse(&record), Some(expected));
    }

    #[test]
    fn a_record_says_what_is_left_to_be_done() {
        let mut record = record(7, 2);
        record[handed::SEGMENT..handed::SEGMENT + 2].copy_from_slice(&1448u16.to_ne_bytes());
        record[handed::IS_PARTIAL] = 1;

        let expected = Left {
            sum: Sum::Perhaps,
            segment: 1448,
        };
        assert_eq!(HandedFrame::parse(&record).unwrap().left, expected);
    }

    #[test]
    fn a_bell_has_no_frame_and_may_say_what_a_monitor_saw() {
        let mut bell = record(0, 0)[..handed::BYTES].to_vec();
        bell[handed::PORT..handed::PORT + 4].copy_from_slice(&handed::BELL.to_ne_bytes());
        assert_eq!(Handed::parse(&bell), Some(Handed::Bell));

        bell[handed::LENGTH] = 5;
        bell[handed::VERDICTS..handed::VERDICTS + 8]
            .copy_from_slice(&(7u64 << 32 | 2).to_ne_bytes());

        let expected = Noticed {
            port: 2,
            at: Instant::from_ns(77),
            monitor: 7,
            demand: Demand::Beyond(Level::new(2).unwrap()),
        };
        assert_eq!(Handed::parse(&bell), Some(Handed::Noticed(expected)));
        bell[handed::LENGTH] = 16;
        assert_eq!(Handed::parse(&bell), None, "there is no such level");
    }

    #[test]
    fn what_is_cut_short_is_no_frame() {
        assert_eq!(HandedFrame::parse(&record(1_000, 0)), None);
        assert_eq!(HandedFrame::parse(&record(7, 0)[..39]), None);
        assert_eq!(HandedFrame::parse(&[]), None);
        let many = record(7, u32::MAX);
        let verdicts = HandedFrame::parse(&many).unwrap().verdicts;
        assert_eq!(verdicts.len(), handed::VERDICTS_MAX);
    }
}
