//! Reads capture files that were taken elsewhere: pcap and pcapng.
//!
//! The caller puts the bytes of a file into [`CaptureReader::room`], in pieces of
//! any size, and takes the frames out again. Nothing is allocated for a frame, and
//! the reader holds [`BUFFER`] bytes however long the file is. Whatever stands in
//! a file, reading it ends in [`Contents`], which say how far it could be read.
//!
//! Frames come as Ethernet frames: the pseudo-headers of Linux ("cooked") and those
//! of bare IP packets are replaced by an Ethernet header in the place of what stood
//! before the packet, with zeros for unknown addresses.
//!
//! Sources: draft-ietf-opsawg-pcap sections 4 and 5, draft-ietf-opsawg-pcapng
//! sections 3 and 4, the link types of tcpdump.org.
//!
//! # Left out
//!
//! Compressed files, which are named as such. Stamps of frames in simple packet
//! blocks: there are none, so those frames are counted and not told.

mod link_type;
mod pcap;
mod pcapng;
#[cfg(test)]
mod tests;

use thiserror::Error;

use super::Direction;
use link_type::LinkType;

/// The most bytes that the reader holds.
pub const BUFFER: usize = 1 << 21;
/// The longest record of a frame.
pub const LONGEST_RECORD: usize = 1 << 20;
/// The most interfaces of a file, all its sections together.
pub const MOST_INTERFACES: usize = 1024;
/// The latest stamp, in nanoseconds since 1970 (in the year 2262): later ones are
/// read as this one, so that spans can be added to a stamp.
pub const LATEST_UNIX_NS: u64 = 1 << 63;

/// A frame as a capture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded<'a> {
    /// The place of its interface among all those of the file.
    pub interface: usize,
    /// When it was seen, in nanoseconds since 1970 by the clock of the capture.
    pub unix_ns: u64,
    /// Which way it went, if the capture says so.
    pub direction: Option<Direction>,
    /// Its length in bytes, without check sequence.
    pub length: usize,
    /// Its bytes from the destination address on; fewer than its length if it was
    /// cut off.
    pub bytes: &'a [u8],
}

/// An interface of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedInterface {
    /// Its name, where the file has one.
    pub name: Option<String>,
    /// How many frames went by unrecorded there, as far as the file says.
    pub dropped: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    pub frames: u64,
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Frames whose end is missing in the file.
    pub shortened: u64,
    /// Frames without a stamp, which were not told.
    pub unstamped: u64,
    /// Frames of links that are not understood, which were not told.
    pub foreign: u64,
    pub interfaces: Vec<CapturedInterface>,
    pub end: End,
}

impl Contents {
    /// Returns how many frames the file says that it lacks.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let each = self.interfaces.iter().map(|interface| interface.dropped);
        each.fold(0, u64::saturating_add)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Whole,
    /// Within a record: the file was cut off. What stood before was told.
    CutOff {
        /// Where the record begins, in bytes from the beginning of the file.
        at: u64,
    },
    /// With something that is no record. What stood before was told.
    Damaged {
        /// Where, in bytes from the beginning of the file.
        at: u64,
        damage: Damage,
    },
}

/// Why bytes are no record of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// The file begins like none that is known.
    #[error("the file begins with {0:02x?}, which is neither pcap nor pcapng")]
    Format([u8; 4]),
    #[error("the file is compressed: unpack it first")]
    Compressed,
    /// A version that is not understood.
    #[error("version {major}.{minor} of the format, and this reads {expected}")]
    Version {
        major: u16,
        minor: u16,
        expected: &'static str,
    },
    /// A record is longer than any frame.
    #[error("a record of {length} bytes, and the longest has {LONGEST_RECORD}")]
    TooLong { length: u64 },
    /// A length that cannot be.
    #[error("a block of {length} bytes, which is too few or not a multiple of four")]
    BlockLength { length: u32 },
    /// The length at the end of a block is another than that at its beginning.
    #[error("a block that begins with length {first} and ends with length {last}")]
    Lengths { first: u32, last: u32 },
    /// The order of bytes cannot be told.
    #[error("a section whose order of bytes is marked by {0:02x?}")]
    ByteOrder([u8; 4]),
    /// A frame is longer than the block that holds it.
    #[error("a frame of {kept} bytes in a block of {length}")]
    Frame {
        /// The bytes of the frame.
        kept: u32,
        /// The length of the block.
        length: usize,
    },
    /// A frame of an interface that was not described.
    #[error("a frame of interface {interface}, and {known} are described")]
    Interface { interface: u32, known: usize },
    /// More interfaces than are held.
    #[error("more than {MOST_INTERFACES} interfaces")]
    Interfaces,
}

/// What the reader came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    Frame(Recorded<'a>),
    /// The end of what it has: it needs more bytes, or there are none.
    NeedsBytes,
    /// Something that cannot be read. Nothing comes any more.
    Stopped,
}

/// The order of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let number = bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(*number),
            Self::Big => u16::from_be_bytes(*number),
        })
    }

    #[inline]
    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let number = bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(*number),
            Self::Big => u32::from_be_bytes(*number),
        })
    }

    fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let number = bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Self::Little => u64::from_le_bytes(*number),
            Self::Big => u64::from_be_bytes(*number),
        })
    }
}

/// A record at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Record {
    /// A frame, which stands at `start` and of which `kept` bytes are there.
    Frame {
        record: usize,
        start: usize,
        kept: usize,
        length: usize,
        interface: usize,
        unix_ns: u64,
        direction: Option<Direction>,
        link_type: LinkType,
    },
    /// A frame without a stamp.
    Unstamped { record: usize },
    /// Something else, of which nothing more is needed; it may reach beyond the
    /// bytes that are there.
    Other { record: u64 },
    /// Its end is not there yet.
    Incomplete,
}

#[derive(Debug)]
enum Format {
    Unknown,
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

#[derive(Debug)]
pub struct CaptureReader {
    buffer: Vec<u8>,
    /// What of the buffer is not read yet.
    unread: std::ops::Range<usize>,
    /// Bytes of the file that are to be passed over before the next record.
    skip: u64,
    /// Where in the file `unread` begins.
    position: u64,
    format: Format,
    contents: Contents,
}

impl Default for CaptureReader {
    fn default() -> Self {
        Self {
            buffer: vec![0; BUFFER],
            unread: 0..0,
            skip: 0,
            position: 0,
            format: Format::Unknown,
            contents: Contents {
                frames: 0,
                bytes: 0,
                shortened: 0,
                unstamped: 0,
                foreign: 0,
                interfaces: Vec::new(),
                end: End::Whole,
            },
        }
    }
}

impl CaptureReader {
    /// Returns where to put the next bytes of the file; there is room for at least
    /// one if [`next_frame`](Self::next_frame) asked for bytes.
    pub fn room(&mut self) -> &mut [u8] {
        if self.unread.start > 0 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        }
        &mut self.buffer[self.unread.end..]
    }

    /// Takes note that `length` bytes were put there.
    ///
    /// # Panics
    ///
    /// If there was less room.
    pub fn filled(&mut self, length: usize) {
        assert!(
            length <= self.buffer.len() - self.unread.end,
            "there is room"
        );
        self.unread.end += length;
        self.contents.bytes += u64::try_from(length).expect("a buffer is short");
    }

    /// Returns the next frame of what was filled in.
    pub fn next_frame(&mut self) -> Step<'_> {
        loop {
            if matches!(self.contents.end, End::Damaged { .. }) {
                return Step::Stopped;
            }
            self.pass_over();
            let read = self.read();
            match read {
                Ok(Record::Frame {
                    record,
                    start,
                    kept,
                    length,
                    interface,
                    unix_ns,
                    direction,
                    link_type,
                }) => {
                    let at = self.unread.start + start..self.unread.start + start + kept;
                    self.advance(record);
                    let Some(ethernet) = link_type.to_ethernet(&mut self.buffer, at.clone()) else {
                        self.contents.foreign += 1;
                        continue;
                    };
                    let length = (length + ethernet.at.len()).saturating_sub(kept);
                    self.contents.frames += 1;
                    self.contents.shortened += u64::from(length > ethernet.at.len());
                    return Step::Frame(Recorded {
                        interface,
                        unix_ns,
                        direction: direction.or(ethernet.direction),
                        length: length.max(ethernet.at.len()),
                        bytes: &self.buffer[ethernet.at],
                    });
                }
                Ok(Record::Unstamped { record }) => {
                    self.contents.unstamped += 1;
                    self.advance(record);
                }
                Ok(Record::Other { record }) => self.skip = record,
                Ok(Record::Incomplete) => return Step::NeedsBytes,
                Err(damage) => {
                    let at = self.position;
                    self.contents.end = End::Damaged { at, damage };
                }
            }
        }
    }

    /// Returns how many bytes of the file were filled in.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.contents.bytes
    }

    /// Returns what the file held, once all its bytes were filled in and all frames
    /// taken.
    #[must_use]
    pub fn finish(mut self) -> Contents {
        let is_cut = !self.unread.is_empty() || self.skip > 0;
        if is_cut && self.contents.end == End::Whole {
            self.contents.end = End::CutOff { at: self.position };
        }
        if let Format::Pcapng(format) = self.format {
            self.contents.interfaces = format.into_interfaces();
        }
        self.contents
    }

    /// Passes over bytes that nobody needs.
    fn pass_over(&mut self) {
        if self.skip > 0 {
            let there = usize::try_from(self.skip).unwrap_or(usize::MAX);
            let passed = there.min(self.unread.len());
            self.advance(passed);
            self.skip -= u64::try_from(passed).expect("a buffer is short");
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.unread.start += bytes;
        self.position += u64::try_from(bytes).expect("a buffer is short");
    }

    /// Reads the record at the beginning of what is unread.
    fn read(&mut self) -> Result<Record, Damage> {
        let unread = &self.buffer[self.unread.clone()];
        match &mut self.format {
            Format::Unknown => {
                let Some(magic) = unread.first_chunk::<4>() else {
                    return Ok(Record::Incomplete);
                };
                match magic {
                    [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] | [0xfd, b'7', b'z', b'X'] => {
                        Err(Damage::Compressed)
                    }
                    [0x0a, 0x0d, 0x0d, 0x0a] => {
                        self.format = Format::Pcapng(pcapng::Pcapng::default());
                        Ok(Record::Other { record: 0 })
                    }
                    magic => match pcap::Pcap::begin(*magic, unread)? {
                        Some((format, header)) => {
                            self.format = Format::Pcap(format);
                            let interface = CapturedInterface::default();
                            self.contents.interfaces.push(interface);
                            Ok(Record::Other { record: header })
                        }
                        None => Ok(Record::Incomplete),
                    },
                }
            }
            Format::Pcap(format) => format.read(unread),
            Format::Pcapng(format) => format.read(unread),
        }
    }
}
