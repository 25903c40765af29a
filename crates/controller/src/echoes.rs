//! Whether a switch still forwards that its controller cannot hear.
//!
//! A probe over a link is seen only with the help of both of its switches: one sends
//! it, the other one hands it back. When the session of one of them is gone or silent,
//! nobody can tell by probes whether the switch is dead or only its control connection.
//! An echo needs one of them: it is sent from the port of the switch that is heard, and
//! the other one turns it round by an entry that lies where the entries of flows lie
//! (as in the echo function of RFC 5880 clause 6.4). It comes back as long as the cable
//! carries both ways, the switch forwards, and its table was not emptied.
//!
//! Silence means something only where there was an answer before: a switch that cannot
//! turn frames round, or has refused the entry, is never taken for dead. How many echoes
//! are missing is counted, not for how long: a controller that was held up has sent none
//! meanwhile.

use std::collections::BTreeMap;

use crate::place::{LinkEnds, PortId};

/// How many echoes in a row may be missing before the link is lost.
pub const MAX_MISSING: u8 = 4;

/// What became of the echoes that one port sends.
#[derive(Clone, Copy, Debug, Default)]
struct Echo {
    /// Whether one ever came back over the link that is there.
    is_proved: bool,
    /// How many were sent since the last one that came back.
    missing: u8,
}

/// The echoes of all ports at links that are up.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    ports: BTreeMap<PortId, Echo>,
}

impl Echoes {
    /// Notes that one was sent from a port.
    pub fn sent(&mut self, port: PortId) {
        let echo = self.ports.entry(port).or_default();
        echo.missing = echo.missing.saturating_add(1);
    }

    /// Notes that one came back to the port by which it left.
    pub fn returned(&mut self, port: PortId) {
        self.ports.insert(
            port,
            Echo {
                is_proved: true,
                missing: 0,
            },
        );
    }

    /// Returns whether one ever came back.
    #[must_use]
    pub fn is_proved(&self, port: PortId) -> bool {
        self.ports.get(&port).is_some_and(|echo| echo.is_proved)
    }

    /// Returns whether so many in a row are missing, though some came back before,
    /// that there is nobody to turn them round.
    #[must_use]
    pub fn are_missing(&self, port: PortId) -> bool {
        let echo = self.ports.get(&port);
        echo.is_some_and(|echo| echo.is_proved && echo.missing >= MAX_MISSING)
    }

    /// Begins to count anew: what was not answered before has no say.
    pub fn begin(&mut self, port: PortId) {
        if let Some(echo) = self.ports.get_mut(&port) {
            echo.missing = 0;
        }
    }

    /// Forgets what is known of a link that is down, or of whom it leads to.
    pub fn forget(&mut self, link: LinkEnds) {
        for end in link.both() {
            self.ports.remove(&end);
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::openflow::{DatapathId, PortNumber};

    use super::*;

    #[test]
    fn only_who_has_answered_before_can_be_missed() {
        let mut echoes = Echoes::default();
        for _ in 0..100 {
            echoes.sent(port(1));
        }
        let never = echoes.are_missing(port(1));

        echoes.returned(port(1));
        let missed: Vec<bool> = (0..=MAX_MISSING)
            .map(|_| {
                echoes.sent(port(1));
                echoes.are_missing(port(1))
            })
            .collect();

        assert!(!never);
        assert_eq!(missed, [false, false, false, true, true]);
    }

    #[test]
    fn an_answer_makes_up_for_all_that_were_missing() {
        let mut echoes = Echoes::default();
        echoes.returned(port(1));
        for _ in 1..MAX_MISSING {
            echoes.sent(port(1));
        }

        echoes.returned(port(1));
        echoes.sent(port(1));

        assert!(!echoes.are_missing(port(1)));
        echoes.forget(LinkEnds::new(port(1), port(2)));
        assert!(!echoes.is_proved(port(1)));
    }

    fn port(number: u32) -> PortId {
        PortId::new(DatapathId(1), PortNumber(number))
    }
}
