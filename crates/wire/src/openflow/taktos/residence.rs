//! How long frames stayed in a queue's port, from the last bit in to the last
//! bit out.

use units::Duration;

use crate::openflow::{DecodeError, Element, PortNumber, QueueId, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

const BUCKET_BYTES: usize = 16;

/// The frames of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueResidence<'a> {
    /// Its port.
    pub port: PortNumber,
    /// Which queue of the port.
    pub queue: QueueId,
    /// How many frames left through it.
    pub frames: u64,
    /// The longest stay.
    pub longest: Duration,
    /// The frames by how long they stayed, shortest first, empty buckets left
    /// out.
    pub buckets: Sequence<'a, ResidenceBucket>,
}

/// Frames that stayed about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResidenceBucket {
    /// None of them stayed longer.
    pub at_most: Duration,
    /// How many they are.
    pub frames: u64,
}

impl<'a> Element<'a> for QueueResidence<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let (port, queue) = (PortNumber(reader.u32()?), QueueId(reader.u32()?));
        let frames = reader.u64()?;
        let longest = Duration::from_ns(reader.u64()?);
        let count = usize::from(reader.u16()?);
        reader.skip(6)?;
        let rest = reader.rest();
        let (buckets, rest) = rest
            .split_at_checked(count * BUCKET_BYTES)
            .ok_or(DecodeError::Length)?;
        let residence = Self {
            port,
            queue,
            frames,
            longest,
            buckets: Sequence::from_bytes(buckets),
        };
        Ok((residence, rest))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let count = self.buckets.iter().count();
        let count = u16::try_from(count).expect("a histogram has a few hundred buckets");
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).u32(self.queue.0);
        writer.u64(self.frames).u64(self.longest.as_ns());
        writer.u16(count).zeros::<6>();
        self.buckets.emit(out);
    }
}

impl<'a> Element<'a> for ResidenceBucket {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let bucket = Self {
            at_most: Duration::from_ns(reader.u64()?),
            frames: reader.u64()?,
        };
        Ok((bucket, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        Writer::new(out).u64(self.at_most.as_ns()).u64(self.frames);
    }
}
