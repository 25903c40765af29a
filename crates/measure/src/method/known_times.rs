//! What of a measured time is known beforehand: the travel over the cables.
//!
//! Where stamps are those of the start-of-frame delimiter and cables have a rate, a
//! measured time `M` holds the transmission of what went in and the preamble of what
//! came out, LOKO Eqs. (1) and (4):
//!
//! ```text
//! p = M - t(l) - t(8)
//! ```
//!
//! Elsewhere, as between namespaces, a frame is there at once and nothing is known
//! but the tester's own bias.

use units::{BitRate, DataSize, Duration};

use crate::trial::{ControlLink, Setup, Stamps};

const PREAMBLE: u64 = 8;
const SHORTEST: u64 = 64;
/// Ethernet, IPv4, TCP and a check sequence around messages.
const SEGMENT_OVERHEAD: u64 = 14 + 20 + 20 + 4;

/// What is known of the times of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownTimes {
    rate: Option<BitRate>,
    bias: Duration,
}

impl KnownTimes {
    /// Returns what is known of the frames that cross a device.
    #[must_use]
    pub fn of_frames(setup: &Setup) -> Self {
        let stamps_delimiter = match setup.stamps {
            Stamps::Virtual | Stamps::Hardware => true,
            Stamps::Kernel | Stamps::Program | Stamps::File => false,
        };
        Self {
            rate: setup.rate.filter(|_| stamps_delimiter),
            bias: setup.bias.unwrap_or_default(),
        }
    }

    /// Returns what is known of the frames that carry messages.
    #[must_use]
    pub const fn of_messages(link: ControlLink) -> Self {
        Self {
            rate: link.rate,
            bias: Duration::ZERO,
        }
    }

    /// Returns what a measured time of a frame holds besides the device's work; the
    /// size counts the check sequence.
    #[must_use]
    pub fn of_frame(&self, bytes: u64) -> Duration {
        self.time(bytes.max(SHORTEST)) + self.preamble() + self.bias
    }

    /// Returns the transmission time of the frame around so many bytes of messages.
    #[must_use]
    pub fn of_segment(&self, bytes: usize) -> Duration {
        self.time((bytes as u64 + SEGMENT_OVERHEAD).max(SHORTEST))
    }

    /// Returns the time of the preamble and the start-of-frame delimiter.
    #[must_use]
    pub fn preamble(&self) -> Duration {
        self.time(PREAMBLE)
    }

    fn time(&self, bytes: u64) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| {
            rate.time_to_send(DataSize::from_bytes(bytes)).round_up()
        })
    }
}
