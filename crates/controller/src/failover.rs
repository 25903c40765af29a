//! The groups by which switches make up for a broken link themselves (S0-4).
//!
//! A fast-failover group (OF13 clause 5.6.1) has two buckets: the port of the way, and
//! the port by which frames go on when that has no carrier. It says nothing of a flow, so
//! all that go out by the same port and have the same other one share it, and its number
//! says what it does: whoever finds it at a switch, as after a restart, knows it.

use wire::openflow::{
    Action, Actions, Bucket, Buckets, GroupId, GroupMod, GroupModCommand, GroupType, PortNumber,
    TransactionId,
};

/// How many bits a port may have in the number of a group.
const PORT_BITS: u32 = 12;
/// The highest bits of the numbers of our groups, which no other's should have.
const OURS: u32 = 0x54 << 24;
/// Set in the number of a group that sends frames back to where they came in.
const BACK: u32 = 1 << 24;

/// Which port frames go out by, and which instead if that has no carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failover {
    primary: PortNumber,
    backup: PortNumber,
    /// Whether the backup is the port by which they came in. A switch sends nothing back
    /// there but by the reserved port that says so (OF13 clause 4.5).
    is_back: bool,
}

impl Failover {
    /// The least of all.
    pub const FIRST: Self = Self {
        primary: PortNumber(0),
        backup: PortNumber(0),
        is_back: false,
    };

    /// Returns the failover of frames that come in by `input`; nothing if a port has a
    /// number that no group can name.
    #[must_use]
    pub fn new(input: PortNumber, primary: PortNumber, backup: PortNumber) -> Option<Self> {
        let fits = |port: PortNumber| port.0 < 1 << PORT_BITS;
        (fits(primary) && fits(backup)).then_some(Self {
            primary,
            backup,
            is_back: backup == input,
        })
    }

    /// Returns what a group of ours does.
    #[must_use]
    pub fn of_group(group: GroupId) -> Option<Self> {
        let port = |bits: u32| PortNumber(bits & ((1 << PORT_BITS) - 1));
        (group.0 & !(BACK | (BACK - 1)) == OURS).then_some(Self {
            primary: port(group.0 >> PORT_BITS),
            backup: port(group.0),
            is_back: group.0 & BACK != 0,
        })
    }

    /// Returns the number of its group.
    #[must_use]
    pub const fn group(self) -> GroupId {
        let back = if self.is_back { BACK } else { 0 };
        GroupId(OURS | back | self.primary.0 << PORT_BITS | self.backup.0)
    }

    /// Returns the ports by which frames may go out.
    #[must_use]
    pub const fn ports(self) -> [PortNumber; 2] {
        [self.primary, self.backup]
    }

    /// Appends what gives a switch the group, whether it has it or not: it is added, which
    /// fails where it is there, and then made what it should be.
    pub fn emit(self, out: &mut Vec<u8>) {
        let back = if self.is_back {
            PortNumber::IN_PORT
        } else {
            self.backup
        };
        let sent = [self.primary, back].map(|port| [Action::output(port)]);
        let bucket = |at: usize| Bucket {
            weight: 0,
            watch_port: self.ports()[at],
            watch_group: GroupId::ANY,
            actions: Actions::of(&sent[at]),
        };
        let buckets = [bucket(0), bucket(1)];
        for command in [GroupModCommand::Add, GroupModCommand::Modify] {
            let group_mod = GroupMod {
                command,
                kind: GroupType::FastFailover,
                group: self.group(),
                buckets: Buckets::of(&buckets),
            };
            group_mod.emit(TransactionId(0), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_number_of_a_group_says_what_it_does(
            (input, primary, backup) in (0u32..5_000, 0u32..5_000, 0u32..5_000),
        ) {
            let ports = [input, primary, backup].map(PortNumber);

            let failover = Failover::new(ports[0], ports[1], ports[2]);

            prop_assert_eq!(failover.is_some(), primary.max(backup) < 4_096);
            if let Some(failover) = failover {
                prop_assert_eq!(Failover::of_group(failover.group()), Some(failover));
                prop_assert_eq!(failover.ports(), [ports[1], ports[2]]);
            }
        }

        #[test]
        fn groups_of_others_are_not_ours(group: u32) {
            let is_ours = matches!(group >> 24, 0x54 | 0x55);

            prop_assert_eq!(Failover::of_group(GroupId(group)).is_some(), is_ours);
        }
    }
}
