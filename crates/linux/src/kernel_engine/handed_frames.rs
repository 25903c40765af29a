//! The frames that the program in the kernel gives up, on their way to the core.

use std::os::fd::{AsFd, BorrowedFd};

use switch::compiled::layout::handed;
use units::Instant;

use crate::bpf::map::MapError;
use crate::bpf::record_ring::RecordRing;

/// A frame that was given up, as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedFrame<'a> {
    /// The place of its port in the switch's list of ports.
    pub port: usize,
    /// What came.
    pub bytes: &'a [u8],
    /// When it came.
    pub arrived: Instant,
    /// What the first meters on its way have decided.
    pub verdicts: &'a [u8],
}

impl<'a> HandedFrame<'a> {
    /// Reads a record of the ring; nothing if it is none of the program's.
    fn parse(record: &'a [u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(*record.get(at..)?.first_chunk()?));
        let index = |at: usize| usize::try_from(word(at)?).ok();
        let arrived = u64::from_ne_bytes(*record.get(handed::ARRIVED..)?.first_chunk()?);
        let verdicts = index(handed::VERDICTS_COUNT)?.min(handed::VERDICTS_MAX);
        let frame = record.get(handed::BYTES..)?;
        Some(Self {
            port: index(handed::PORT)?,
            bytes: frame.get(..index(handed::LENGTH)?)?,
            arrived: Instant::from_ns(arrived),
            verdicts: &record[handed::VERDICTS..handed::VERDICTS + verdicts],
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

    /// Hands the next frame to `read`, if one waits.
    pub fn receive<R>(&mut self, read: impl FnOnce(HandedFrame<'_>) -> R) -> Option<R> {
        // What is no record of the program's is passed over.
        let received = self
            .ring
            .receive(|record| HandedFrame::parse(record).map(read));
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
        };
        assert_eq!(HandedFrame::parse(&record), Some(expected));
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
