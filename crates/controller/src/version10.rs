//! Switches that speak OpenFlow 1.0 and nothing newer.
//!
//! To the rest of the controller such a switch is one of version 1.3 with a single
//! table: a [`Translator`] stands between. What the controller says is put into the
//! words of version 1.0; for what these cannot say the controller gets the error
//! that a switch would answer. Such switches have no cookies to delete or ask by:
//! the translator asks for all entries instead and picks those that are meant.
//!
//! | of 1.3 | in 1.0 |
//! |---|---|
//! | a queue, then outputs | an `ENQUEUE` each, if the switch has it; queue 0 is none |
//! | push a tag and set its id; pop it | `SET_VLAN_VID`; `STRIP_VLAN` |
//! | ports in an answer of their own | ports in the answer to who the switch is |
//! | delete or count by cookie | ask for all entries, then delete or count each |
//!
//! Source: OF10 sections 5.2 to 5.5.
//!
//! # Left out
//!
//! Groups, meters, several tables, bundles, IPv6 fields: version 1.0 has none.

mod matches;
mod to_of10;
mod to_of13;

use std::collections::BTreeMap;

use wire::openflow::{Cookie, DecodeError, PortDescription, TransactionId};

/// The most questions that wait for their answer.
const MAX_QUESTIONS: usize = 256;
/// Marks questions of the translator's own; the controller's stay below.
const OWN_QUESTION: u32 = 1 << 30;

/// Stands between the controller and one switch that speaks version 1.0.
#[derive(Debug, Default)]
pub struct Translator {
    /// The ports that the switch named when it said who it is.
    ports: Vec<PortDescription>,
    enqueue: Enqueue,
    questions: BTreeMap<TransactionId, StatsPurpose>,
    next_question: u32,
    /// What the translator itself has to say to the switch.
    words: Vec<u8>,
}

/// Whether the switch can put frames into queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Enqueue {
    #[default]
    Unable,
    Able,
}

/// Why the switch was asked for all its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatsPurpose {
    /// The controller wants those with certain cookies.
    List(Cookies),
    /// The controller wants to know how many there are, and of what so far.
    Count(Cookies, Counted),
    /// The controller wants them deleted.
    Delete(Cookies),
}

/// The cookies that are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cookies {
    value: Cookie,
    mask: Cookie,
}

impl Cookies {
    fn contain(self, cookie: Cookie) -> bool {
        cookie.matches(self.value, self.mask)
    }
}

/// What was counted in the parts of an answer that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    packets: u64,
    bytes: u64,
    flows: u32,
}

/// What comes of a message: further ones for both sides.
#[derive(Debug)]
pub struct Sides<'a> {
    /// In version 1.3, for the controller.
    pub controller: &'a mut Vec<u8>,
    /// In version 1.0, for the switch.
    pub switch: &'a mut Vec<u8>,
}

impl Translator {
    /// Puts one whole message of the switch into the words of the controller,
    /// appended to `heard`.
    ///
    /// # Errors
    ///
    /// If it is no message of version 1.0.
    pub fn hear(&mut self, message: &[u8], heard: &mut Vec<u8>) -> Result<(), DecodeError> {
        let mut words = std::mem::take(&mut self.words);
        let mut sides = Sides {
            controller: heard,
            switch: &mut words,
        };
        let result = self.hear_message(message, &mut sides);
        self.words = words;
        result
    }

    /// Returns whether the translator itself has something to say to the switch.
    #[must_use]
    pub const fn has_words(&self) -> bool {
        !self.words.is_empty()
    }

    /// Moves what the translator itself has to say to the end of `out`.
    pub fn take_words(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.words);
    }

    fn own_transaction(&mut self) -> TransactionId {
        self.next_question = (self.next_question + 1) % OWN_QUESTION;
        TransactionId(OWN_QUESTION | self.next_question)
    }
}

#[cfg(test)]
mod tests;
