//! The actions that a frame collects on its way through the tables and that
//! are executed at its end, OF13 clause 5.10.
//!
//! At most one action of each kind, and one set-field for each field; a later
//! one replaces an earlier one. They are executed in the order of the clause,
//! whatever the order in which they came.

use crate::action::{Action, Direction, Layer, Pop, Push};

/// The place of each kind of action in the order of OF13 clause 5.10.
mod place {
    pub(super) const COPY_TTL_INWARDS: u8 = 0;
    /// Tags are popped from the outside in.
    pub(super) const POP_VLAN: u8 = 1;
    pub(super) const POP_BACKBONE: u8 = 2;
    pub(super) const POP_MPLS: u8 = 3;
    pub(super) const PUSH_MPLS: u8 = 4;
    pub(super) const PUSH_BACKBONE: u8 = 5;
    pub(super) const PUSH_VLAN: u8 = 6;
    pub(super) const COPY_TTL_OUTWARDS: u8 = 7;
    pub(super) const DECREMENT_MPLS_TTL: u8 = 8;
    pub(super) const DECREMENT_NETWORK_TTL: u8 = 9;
    pub(super) const SET_MPLS_TTL: u8 = 10;
    pub(super) const SET_NETWORK_TTL: u8 = 11;
    /// Behind this one 40 places, one for each field.
    pub(super) const FIELDS: u8 = 12;
    pub(super) const QUEUE: u8 = FIELDS + 40;
    pub(super) const GROUP: u8 = QUEUE + 1;
    pub(super) const OUTPUT: u8 = GROUP + 1;
    /// Actions of modes stand in no action set: their places are never used.
    pub(super) const NONE: u8 = OUTPUT + 1;
}

/// How many kinds of actions there are.
const KINDS: usize = place::NONE as usize + 1;

/// The action set of the frame at hand. One is enough for a switch: a frame is
/// done before the next one begins.
#[derive(Debug)]
pub(crate) struct ActionSet {
    /// Which kinds are there: bit n for the kind in place n.
    used: u64,
    actions: [Action; KINDS],
}

impl ActionSet {
    pub(crate) const fn new() -> Self {
        Self {
            used: 0,
            actions: [Action::SetQueue(0); KINDS],
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(crate) const fn clear(&mut self) {
        self.used = 0;
    }

    pub(crate) fn write(&mut self, actions: &[Action]) {
        for action in actions {
            let place = place_of(*action);
            self.used |= 1 << place;
            self.actions[usize::from(place)] = *action;
        }
    }

    /// Returns what is to be done, in order. With a group the output is
    /// ignored. Without either the frame goes nowhere, and nothing needs to be
    /// done with it.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Action> {
        const GROUP: u64 = 1 << place::GROUP;
        const OUTPUT: u64 = 1 << place::OUTPUT;
        self.kinds(match self.used & (GROUP | OUTPUT) {
            0 => 0,
            OUTPUT => self.used,
            _ => self.used & !OUTPUT,
        })
    }

    /// Returns all actions in the order of OF13 clause 5.10.
    pub(crate) fn all(&self) -> impl Iterator<Item = Action> {
        self.kinds(self.used)
    }

    fn kinds(&self, wanted: u64) -> impl Iterator<Item = Action> {
        let mut left = wanted;
        std::iter::from_fn(move || {
            let next = usize::try_from(left.trailing_zeros()).expect("at most 64");
            left &= left.wrapping_sub(1);
            self.actions.get(next).copied()
        })
    }
}

/// Returns the place of an action in the order of OF13 clause 5.10.
pub(crate) const fn place_of(action: Action) -> u8 {
    match action {
        Action::CopyTtl(Direction::Inwards) => place::COPY_TTL_INWARDS,
        Action::Pop(Pop::Vlan) => place::POP_VLAN,
        Action::Pop(Pop::Backbone) => place::POP_BACKBONE,
        Action::Pop(Pop::Mpls(_)) => place::POP_MPLS,
        Action::Push(Push::Mpls(_)) => place::PUSH_MPLS,
        Action::Push(Push::Backbone) => place::PUSH_BACKBONE,
        Action::Push(Push::Vlan(_)) | Action::EnsureTag => place::PUSH_VLAN,
        Action::CopyTtl(Direction::Outwards) => place::COPY_TTL_OUTWARDS,
        Action::DecrementTtl(Layer::Mpls) => place::DECREMENT_MPLS_TTL,
        Action::DecrementTtl(Layer::Network) => place::DECREMENT_NETWORK_TTL,
        Action::SetTtl(Layer::Mpls, _) => place::SET_MPLS_TTL,
        Action::SetTtl(Layer::Network, _) => place::SET_NETWORK_TTL,
        Action::SetField(value) => place::FIELDS + value.number(),
        Action::SetQueue(_) => place::QUEUE,
        Action::Group(_) => place::GROUP,
        Action::Output(_) => place::OUTPUT,
        Action::Push(Push::Redundancy(_))
        | Action::Pop(Pop::Redundancy)
        | Action::FlowMonitor(_)
        | Action::ModeArrange
        | Action::QueuedFrame(_)
        | Action::Sequence(_)
        | Action::Eliminate(_)
        | Action::Trailer(_) => place::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::{FieldValue, Target, Transport};
    use crate::group_table::GroupIndex;

    /// OF13 clause 5.10.
    #[test]
    fn the_order_is_that_of_the_specification_not_that_of_arrival() {
        let mut set = ActionSet::new();

        let in_order = [
            Action::CopyTtl(Direction::Inwards),
            Action::Pop(Pop::Vlan),
            Action::Pop(Pop::Backbone),
            Action::Pop(Pop::Mpls(0x0800)),
            Action::Push(Push::Mpls(0x8847)),
            Action::Push(Push::Backbone),
            Action::Push(Push::Vlan(0x8100)),
            Action::CopyTtl(Direction::Outwards),
            Action::DecrementTtl(Layer::Mpls),
            Action::DecrementTtl(Layer::Network),
            Action::SetTtl(Layer::Mpls, 3),
            Action::SetTtl(Layer::Network, 3),
            Action::SetField(FieldValue::VlanVid(3)),
            Action::SetField(FieldValue::L4Src(Transport::Tcp, 3)),
            Action::SetField(FieldValue::L4Src(Transport::Udp, 3)),
            Action::SetField(FieldValue::TunnelId(3)),
            Action::SetQueue(7),
            Action::Output(Target::Flood),
        ];

        in_order.iter().rev().for_each(|&it| set.write(&[it]));

        let order: Vec<_> = set.in_order().collect();
        assert_eq!(order, in_order);
    }

    #[test]
    fn a_later_action_replaces_an_earlier_one_of_its_kind() {
        let mut set = ActionSet::new();

        set.write(&[
            Action::SetField(FieldValue::VlanVid(3)),
            Action::Output(Target::Flood),
        ]);
        set.write(&[
            Action::SetField(FieldValue::VlanVid(4)),
            Action::Output(Target::InPort),
        ]);

        let order: Vec<_> = set.in_order().collect();
        let expected = [
            Action::SetField(FieldValue::VlanVid(4)),
            Action::Output(Target::InPort),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_group_comes_last_and_in_place_of_an_output() {
        let mut set = ActionSet::new();

        set.write(&[
            Action::Group(GroupIndex(7)),
            Action::Output(Target::Flood),
            Action::SetQueue(1),
        ]);

        let order: Vec<_> = set.in_order().collect();
        assert_eq!(order, [Action::SetQueue(1), Action::Group(GroupIndex(7))]);
    }

    #[test]
    fn without_an_output_nothing_is_done() {
        let mut set = ActionSet::new();

        set.write(&[Action::SetQueue(1)]);

        assert_eq!(set.in_order().count(), 0);
    }
}
