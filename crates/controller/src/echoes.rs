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
//! meanwhile. And those count alone whose sender has given a sign of life since: what is
//! asked of a switch that is not heard either says nothing of the other one.

use std::collections::BTreeMap;

use units::Instant;

use crate::place::{LinkEnds, PortId};

/// How many echoes in a row may be missing before the link is lost.
pub const MAX_MISSING: u8 = 4;

/// What became of the echoes that one port sends.
#[derive(Clone, Copy, Debug, Default)]
struct Echo {
    /// Whether one ever came back over the link that is there.
    is_proved: bool,
    /// How many were sent since the last one that came back, by a switch that was heard.
    missing: u8,
    /// When the last but one and the last were sent.
    sent_at: [Instant; 2],
}

impl Echo {
    /// Returns whether who sends them was heard since all but the last one were sent.
    fn is_heard(&self, heard_at: Instant) -> bool {
        let [last_but_one, _] = self.sent_at;
        heard_at >= last_but_one
    }
}

/// The echoes of all ports at links that are up.
#[derive(Clone, Debug, Default)]
pub struct Echoes {
    ports: BTreeMap<PortId, Echo>,
}

impl Echoes {
    /// Notes that one was sent from a port, whose switch was heard last at `heard_at`.
    pub fn sent(&mut self, now: Instant, port: PortId, heard_at: Instant) {
        let echo = self.ports.entry(port).or_default();
        echo.missing = match echo.is_heard(heard_at) {
            true => echo.missing.saturating_add(1),
            false => 0,
        };
        let [_, last] = echo.sent_at;
        echo.sent_at = [last, now];
    }

    /// Notes that one came back to the port by which it left.
    pub fn returned(&mut self, port: PortId) {
        self.ports.insert(
            port,
            Echo {
                is_proved: true,
                ..Echo::default()
            },
        );
    }

    /// Returns whether one ever came back.
    #[must_use]
    pub fn is_proved(&self, port: PortId) -> bool {
        self.ports.get(&port).is_some_and(|echo| echo.is_proved)
    }

    /// Returns whether so many in a row are missing, though some came back before,
    /// that there is nobody to turn them round; the switch of the port was heard last at
    /// `heard_at`.
    #[must_use]
    pub fn are_missing(&self, port: PortId, heard_at: Instant) -> bool {
        let echo = self.ports.get(&port);
        echo.is_some_and(|echo| {
            echo.is_proved && echo.missing >= MAX_MISSING && echo.is_heard(heard_at)
        })
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
    use units::Duration;
    use wire::openflow::{DatapathId, PortNumber};

    use super::*;

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn only_who_has_answered_before_can_be_missed() {
        let mut echoes = Echoes::default();
        for _ in 0..100 {
            echoes.sent(NOW, port(1), NOW);
        }
        let never = echoes.are_missing(port(1), NOW);

        echoes.returned(port(1));
        let missed: Vec<bool> = (0..=MAX_MISSING)
            .map(|_| {
                echoes.sent(NOW, port(1), NOW);
                echoes.are_missing(port(1), NOW)
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
            echoes.sent(NOW, port(1), NOW);
        }

        echoes.returned(port(1));
        echoes.sent(NOW, port(1), NOW);

        assert!(!echoes.are_missing(port(1), NOW));
        echoes.forget(LinkEnds::new(port(1), port(2)));
        assert!(!echoes.is_proved(port(1)));
    }

    #[test]
    fn what_a_switch_was_to_send_that_is_not_heard_either_is_not_missed() {
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);
        let mut echoes = Echoes::default();
        echoes.returned(port(1));
        for ms in 1..20 {
            echoes.sent(at(ms), port(1), at(2));
        }
        let unheard = echoes.are_missing(port(1), at(2));
        // It is heard again, and what is missing from then on counts.
        let missed: Vec<bool> = (20..24)
            .map(|ms| {
                echoes.sent(at(ms), port(1), at(ms));
                echoes.are_missing(port(1), at(ms))
            })
            .collect();

        assert!(!unheard);
        assert_eq!(missed, [false, false, false, true]);
    }

    fn port(number: u32) -> PortId {
        PortId::new(DatapathId(1), PortNumber(number))
    }
}
