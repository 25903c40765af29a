//! Which of several controllers decides at a switch.
//!
//! Two controllers that both write entries delete each other's. So a controller asks
//! each switch to be its master (OF13 clause 6.3.4) before it says anything else, and
//! one that is not master writes nothing.
//!
//! A switch keeps the *generation* of the last election, and refuses an older one. Ours
//! is a term and, in its lower half, the number of the instance, which it has for life:
//!
//! | the switch knows | what we do |
//! |---|---|
//! | no generation | claim it, in term 1 |
//! | one of ours | claim it with the same: we were restarted, or connected anew |
//! | somebody else's | leave it alone, and say so |
//! | somebody else's, and the operator has said `--take-over` | claim it, in the next term |
//!
//! So of two controllers the one that was there first stays, whichever connects how often,
//! and a deliberate change wins once: who has lost a switch claims nothing any more that
//! was not his, and takes nothing over, until he is started again.
//!
//! # Left out
//!
//! OpenFlow 1.0 has no roles, and a switch may refuse them: there, everybody is an equal,
//! and two controllers do delete each other's entries. OpenFlow 1.3 does not tell a master
//! that he is none any more, so he asks as often as for signs of life.

use wire::openflow::{Role, RoleMessage};

/// What a switch says of the generation while there was no election.
const NO_GENERATION: u64 = u64::MAX;
const TERM_SHIFT: u32 = 32;
const LOWER: u64 = u32::MAX as u64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The number of the instance: the same after a restart, and another one than that of
    /// any other controller of the network.
    pub instance: u32,
    /// Whether it is to become master where another one is.
    pub take_over: bool,
    /// Whether another one has become master of one of its switches: it claims nothing
    /// any more that is not its own.
    pub has_lost: bool,
}

impl Claim {
    /// Returns the generation by which to claim a switch that knows this one, or `None`
    /// if it is another one's.
    #[must_use]
    pub fn generation(self, known: u64) -> Option<u64> {
        let in_term = |term: u64| (term & LOWER) << TERM_SHIFT | u64::from(self.instance);
        let is_nobodys = known == NO_GENERATION;
        if !is_nobodys && known & LOWER == u64::from(self.instance) {
            return Some(known);
        }
        match (is_nobodys, self.take_over) {
            _ if self.has_lost => None,
            (true, _) => Some(in_term(1)),
            (false, true) => Some(in_term((known >> TERM_SHIFT) + 1)),
            (false, false) => None,
        }
    }
}

/// Asks which role we have and which generation the switch knows.
pub const QUESTION: RoleMessage = RoleMessage {
    role: Role::NoChange,
    generation: 0,
};

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Claim = Claim {
        instance: 7,
        take_over: false,
        has_lost: false,
    };
    const THEIRS: Claim = Claim {
        instance: 9,
        take_over: true,
        has_lost: false,
    };

    #[test]
    fn who_was_there_first_stays_and_gets_back_in() {
        let first = OURS.generation(NO_GENERATION).unwrap();
        let modest = Claim {
            take_over: false,
            ..THEIRS
        };

        assert_eq!(modest.generation(first), None);
        assert_eq!(OURS.generation(first), Some(first));
    }

    #[test]
    fn a_take_over_is_younger_than_what_it_replaces_and_wins_once() {
        let mut known = OURS.generation(NO_GENERATION).unwrap();
        for _ in 0..1_000 {
            let taken = THEIRS.generation(known).unwrap();
            assert!(taken == known || taken.wrapping_sub(known) < 1 << 63);
            known = taken;
        }

        let loser = Claim {
            has_lost: true,
            ..THEIRS
        };
        assert_eq!(OURS.generation(known), None);
        assert_eq!(
            loser.generation(OURS.generation(NO_GENERATION).unwrap()),
            None
        );
        assert_eq!(loser.generation(NO_GENERATION), None);
        assert_eq!(loser.generation(known), Some(known));
    }
}
