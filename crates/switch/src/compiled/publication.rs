//! What the world of a switch calls to let others walk its tables.
//!
//! ```text
//! switch.compile_into(memory, Overflow::ToCore);
//! for each port: switch.carry_port(port, carried);
//! loop {
//!     switch.handle(now, input);
//!     if !switch.is_published() {
//!         while !switch.settle() { spin }
//!         switch.publish();
//!     }
//!     while let Some(output) = switch.poll() { … }
//! }
//! ```
//!
//! So everything that a controller asked for is in force before it hears of it.

use wire::openflow::PortNumber;

use super::memory::Memory;
use crate::port::QUEUES;
use crate::switch::Switch;

/// How a port is known to those who walk the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The number of its interface.
    pub interface: u32,
    /// The class of its queue 0, whose successors are those of the others; zero if
    /// it has no classes.
    pub class: u32,
}

/// What a queue that the world keeps was handed and did not send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLosses {
    /// Frames.
    pub frames: u64,
    /// Bytes of those, without check sequence, as far as known.
    pub bytes: u64,
}

/// What becomes of an entry that the compiled form has no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Its flow-mod is refused: the table is full.
    Refuse,
    /// Frames that come to its table go to the core.
    #[default]
    ToCore,
}

impl Switch {
    /// Keeps the compiled form of the tables in `memory` from now on, and
    /// publishes it for the first time.
    ///
    /// # Panics
    ///
    /// If it is kept already.
    pub fn compile_into(&mut self, memory: Memory, overflow: Overflow) {
        let _ = (memory, overflow);
    }

    /// Says how a port is known to those who walk the tables. What goes to a port
    /// of which nobody said so goes through the core.
    ///
    /// # Panics
    ///
    /// If there is no compiled form, or no such port.
    pub fn carry_port(&mut self, port: PortNumber, carried: Carried) {
        let _ = (port, carried);
    }

    /// Says how many frames the queues of a port have lost so far, and bytes of
    /// those, after they were handed to them.
    ///
    /// # Panics
    ///
    /// If there is no compiled form, or no such port.
    pub fn note_losses(&mut self, port: PortNumber, lost: [QueueLosses; QUEUES]) {
        let _ = (port, lost);
    }

    /// Returns whether everybody sees the tables as they are; always, if there is
    /// no compiled form.
    #[must_use]
    pub fn is_published(&self) -> bool {
        true
    }

    /// Gives up what no walk can see any more, and returns whether that is
    /// everything that was replaced before.
    #[must_use]
    pub fn settle(&mut self) -> bool {
        true
    }

    /// Makes all changes visible at once.
    ///
    /// # Panics
    ///
    /// If an older walk may be under way: [`settle`](Self::settle) comes first.
    pub fn publish(&mut self) {}
}
