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

use super::form::Form;
use super::memory::Memory;
use crate::port::PortIndex;
use crate::switch::Switch;

/// How a port is known to those who walk the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// The number of its interface.
    pub interface: u32,
    /// The class of its queue 0, whose successors are those of the others; zero if
    /// it has no classes.
    pub class: u32,
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
        self.keep_form(memory, overflow);
        self.publish();
    }

    /// Begins to keep the compiled form, and does not publish it yet.
    pub(crate) fn keep_form(&mut self, memory: Memory, overflow: Overflow) {
        assert!(self.pipeline.form.is_none(), "it is kept already");
        let form = Form::new(&mut self.pipeline, memory, overflow);
        self.pipeline.form = Some(Box::new(form));
    }

    /// Returns the memory of the compiled form, if there is one, for those who walk it
    /// in this process.
    #[must_use]
    pub fn memory(&self) -> Option<&Memory> {
        self.pipeline.form.as_ref().map(|form| form.store.memory())
    }

    /// Says how a port is known to those who walk the tables. What goes to a port
    /// of which nobody said so goes through the core.
    ///
    /// # Panics
    ///
    /// If there is no compiled form, or no such port.
    pub fn carry_port(&mut self, port: PortNumber, carried: Carried) {
        let (port, form) = self.port_of_form(port);
        form.carry(port, carried);
        self.touched = true;
    }

    /// Returns whether everybody sees the tables as they are; always, if there is
    /// no compiled form.
    #[must_use]
    #[inline]
    pub fn is_published(&self) -> bool {
        !self.touched || self.shows_all()
    }

    /// Gives up what no walk can see any more, and returns whether that is
    /// everything that was replaced before.
    #[must_use]
    pub fn settle(&mut self) -> bool {
        let form = self.pipeline.form.as_mut();
        form.is_none_or(|form| form.settle())
    }

    /// Makes all changes visible at once.
    ///
    /// # Panics
    ///
    /// If an older walk may be under way: [`settle`](Self::settle) comes first.
    pub fn publish(&mut self) {
        if let Some(mut form) = self.pipeline.form.take() {
            form.publish(&mut self.pipeline);
            self.touched = form.wants_more();
            self.pipeline.form = Some(form);
        }
    }

    fn shows_all(&self) -> bool {
        let form = self.pipeline.form.as_ref();
        form.is_none_or(|form| form.shows(&self.pipeline))
    }

    fn port_of_form(&mut self, port: PortNumber) -> (PortIndex, &mut Form) {
        let port = self.pipeline.egress.find_port(port);
        let form = self.pipeline.form.as_mut();
        (
            port.expect("the switch has the port"),
            form.expect("the compiled form is kept"),
        )
    }
}
