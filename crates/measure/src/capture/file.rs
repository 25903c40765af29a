//! One capture file while it grows.

use std::fmt;
use std::io::Write;

use super::pcapng::{self, Heading, Interface, Seen};

/// A file grows to this size at most; frames that would make it longer are left
/// out.
pub const MOST_FILE_BYTES: u64 = 256 << 20;

/// A capture file that is being written.
pub struct CaptureFile {
    out: Box<dyn Write + Send>,
    /// The block that is being made.
    block: Vec<u8>,
    bytes: u64,
    record: CaptureRecord,
}

/// What became of a capture file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureRecord {
    pub name: String,
    /// How many frames are in it.
    pub frames: u64,
    /// How many frames are not, because it would have grown beyond
    /// [`MOST_FILE_BYTES`] or could not be written.
    pub left_out: u64,
    /// How many frames went by without being seen.
    pub missed: u64,
    /// Why it could not be written any further, if so.
    pub failure: Option<String>,
}

impl CaptureFile {
    /// Begins a file that is called `name` and goes to `out`, which should
    /// collect small pieces into large ones.
    ///
    /// # Panics
    ///
    /// If there are no interfaces.
    #[must_use]
    pub fn begin(
        name: String,
        out: Box<dyn Write + Send>,
        heading: &Heading,
        interfaces: &[Interface],
    ) -> Self {
        assert!(!interfaces.is_empty(), "frames are seen somewhere");
        let mut file = Self {
            record: CaptureRecord {
                name,
                ..CaptureRecord::default()
            },
            out,
            block: Vec::new(),
            bytes: 0,
        };
        pcapng::put_section(&mut file.block, heading);
        for interface in interfaces {
            pcapng::put_interface(&mut file.block, interface);
        }
        file.write();
        file
    }

    pub fn enter(&mut self, seen: &Seen<'_>) {
        self.block.clear();
        pcapng::put_frame(&mut self.block, seen);
        let fits = self.bytes + size(&self.block) <= MOST_FILE_BYTES;
        // Once a frame is left out, so are all after it: a capture has no holes.
        let is_open = self.record.left_out == 0 && self.record.failure.is_none();
        if fits && is_open && self.write() {
            self.record.frames += 1;
        } else {
            self.record.left_out += 1;
        }
    }

    /// Notes that `frames` went by without being seen.
    pub fn missed(&mut self, frames: u64) {
        self.record.missed += frames;
    }

    /// Writes what is not written yet.
    #[must_use]
    pub fn finish(mut self) -> CaptureRecord {
        let flushed = self.out.flush();
        if let Err(error) = flushed {
            self.fail(&error);
        }
        self.record
    }

    /// Writes the block, and tells whether that went well.
    fn write(&mut self) -> bool {
        match self.out.write_all(&self.block) {
            Ok(()) => {
                self.bytes += size(&self.block);
                true
            }
            Err(error) => {
                self.fail(&error);
                false
            }
        }
    }

    fn fail(&mut self, error: &std::io::Error) {
        self.record.failure.get_or_insert_with(|| error.to_string());
    }
}

impl fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureFile")
            .field("bytes", &self.bytes)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

fn size(block: &[u8]) -> u64 {
    u64::try_from(block.len()).expect("a block is short")
}
