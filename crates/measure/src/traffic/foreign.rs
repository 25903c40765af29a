//! Frames that belong to no flow: a host that floods, or that imitates another one.

use units::{Duration, Instant};

use super::Emitted;

/// What a host sends that belongs to no flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignConfig {
    /// The frame, without check sequence.
    pub frame: Vec<u8>,
    pub addressed: Addressed,
    /// The time between two frames.
    pub every: Duration,
    /// When the first one is due.
    pub start: Instant,
    /// From when on none is due.
    pub until: Instant,
}

/// To whom the frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressed {
    /// As the frame says.
    AsWritten,
    /// Each to another address that nobody has.
    Nobody,
}

#[derive(Debug)]
pub struct Foreign {
    config: ForeignConfig,
    due: Instant,
    sent: u32,
}

impl Foreign {
    /// Prepares the source.
    ///
    /// # Panics
    ///
    /// If there is no time between two frames.
    #[must_use]
    pub fn new(config: ForeignConfig) -> Self {
        assert!(config.every > Duration::ZERO, "time passes between frames");
        Self {
            due: config.start,
            config,
            sent: 0,
        }
    }

    /// Returns when the next frame is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        (self.due < self.config.until).then_some(self.due)
    }

    /// Puts the next frame into `frame`, if one is due.
    pub fn emit(&mut self, now: Instant, frame: &mut Vec<u8>) -> Option<Emitted> {
        let due = self.next_due().filter(|due| *due <= now)?;
        frame.clear();
        frame.extend_from_slice(&self.config.frame);
        match self.config.addressed {
            Addressed::AsWritten => {}
            Addressed::Nobody => {
                let [a, b, c, d] = self.sent.to_be_bytes();
                frame[..6].copy_from_slice(&[0x06, 0xff, a, b, c, d]);
            }
        }
        let sequence = u64::from(self.sent);
        self.sent = self.sent.wrapping_add(1);
        self.due = due + self.config.every;
        Some(Emitted {
            length: frame.len(),
            sequence,
            due,
        })
    }
}
