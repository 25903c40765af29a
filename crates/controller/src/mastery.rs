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
//! Instances that share their records are one controller, of which one at a time leads
//! ([`Standing`]): it claims switches by the epoch of its office, whoever had them, and the
//! others stand by as slaves. It never claims them by another number. Where a switch knows
//! a later one, the office is claimed anew for a number beyond that, which only its holder
//! can do: so no instance that was replaced without knowing it gets a switch back.
//!
//! # Left out
//!
//! OpenFlow 1.0 has no roles, and a switch may refuse them: there, everybody is an equal,
//! and two controllers do delete each other's entries. OpenFlow 1.3 does not tell a master
//! that he is none any more, so he asks as often as for signs of life.

use wire::openflow::{Role, RoleMessage};

use crate::store::Epoch;

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

/// How a controller stands to switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It shares its records with nobody, and claims switches in its own name.
    Alone(Claim),
    /// Another instance leads, or none does.
    Standby,
    /// It leads, in this epoch.
    Leads(Epoch),
}

impl Standing {
    /// Returns what to ask of a switch that knows this generation.
    #[must_use]
    pub fn wish(self, known: u64) -> Wish {
        match self {
            Self::Alone(claim) => match claim.generation(known) {
                Some(generation) => Wish::Master(generation),
                None => Wish::Nothing,
            },
            Self::Standby if known == NO_GENERATION => Wish::Slave(0),
            Self::Standby => Wish::Slave(known),
            Self::Leads(epoch) => {
                let ours = generation_of(epoch);
                let is_earlier = known == NO_GENERATION || term_of(known) < term_of(ours);
                match is_earlier || known == ours {
                    true => Wish::Master(ours),
                    false => Wish::Later(term_of(known)),
                }
            }
        }
    }
}

/// What is asked of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To be its master, in this generation.
    Master(u64),
    /// To be its slave.
    Slave(u64),
    /// Nothing: somebody else is its master.
    Nothing,
    /// Nothing yet: the switch knows this term, which ours has to exceed.
    Later(u64),
}

/// Returns the term of a generation.
#[must_use]
pub const fn term_of(generation: u64) -> u64 {
    generation >> TERM_SHIFT
}

fn generation_of(epoch: Epoch) -> u64 {
    (epoch.number & LOWER) << TERM_SHIFT | epoch.holder & LOWER
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
    fn of_instances_the_later_epoch_is_master_and_an_earlier_one_never_overtakes_it() {
        let epoch = |number, holder| Standing::Leads(Epoch { number, holder });
        let Wish::Master(first) = epoch(5, 1).wish(NO_GENERATION) else {
            panic!("nobody has it");
        };
        let Wish::Master(second) = epoch(6, 2).wish(first) else {
            panic!("it is earlier");
        };

        assert!(second > first);
        assert_eq!(epoch(5, 1).wish(first), Wish::Master(first));
        assert_eq!(epoch(5, 1).wish(second), Wish::Later(6));
        // A store that was restored hands out a number again.
        assert_eq!(epoch(6, 3).wish(second), Wish::Later(6));
        assert_eq!(Standing::Standby.wish(second), Wish::Slave(second));
        assert_eq!(Standing::Standby.wish(NO_GENERATION), Wish::Slave(0));
        // Whoever was alone before knows other generations.
        let alone = OURS.generation(NO_GENERATION).unwrap();
        assert_eq!(epoch(1, 1).wish(alone), Wish::Later(1));
        assert!(matches!(epoch(2, 1).wish(alone), Wish::Master(_)));
    }

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
