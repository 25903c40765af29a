//! The actions that a frame collects on its way through the tables and that
//! are executed at its end, OF13 clause 5.10.
//!
//! At most one action of each kind, and one set-field for each field; a later
//! one replaces an earlier one. They are executed in the order of the clause,
//! whatever the order in which they came.

use std::mem::discriminant;

use crate::action::{Action, FieldValue, Target};
use crate::group_table::GroupIndex;

/// The action set of the frame at hand. One is enough for a switch: a frame is
/// done before the next one begins.
#[derive(Debug, Default)]
pub(crate) struct ActionSet {
    pop_vlan: bool,
    push_vlan: Option<u16>,
    decrement_ttl: bool,
    set_ttl: Option<u8>,
    fields: Vec<FieldValue>,
    queue: Option<u8>,
    group: Option<GroupIndex>,
    output: Option<Target>,
}

/// How many fields have a set-field action: what [`ActionSet`] has room for.
const FIELDS_MAX: usize = 18;

impl ActionSet {
    pub(crate) fn new() -> Self {
        Self {
            fields: Vec::with_capacity(FIELDS_MAX),
            ..Self::default()
        }
    }

    pub(crate) fn clear(&mut self) {
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        *self = Self {
            fields,
            ..Self::default()
        };
    }

    pub(crate) fn write(&mut self, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::PopVlan => self.pop_vlan = true,
                Action::PushVlan(ether_type) => self.push_vlan = Some(ether_type),
                Action::DecrementTtl => self.decrement_ttl = true,
                Action::SetTtl(ttl) => self.set_ttl = Some(ttl),
                Action::SetField(value) => self.write_field(value),
                Action::SetQueue(queue) => self.queue = Some(queue),
                Action::Group(group) => self.group = Some(group),
                Action::Output(target) => self.output = Some(target),
            }
        }
    }

    fn write_field(&mut self, value: FieldValue) {
        let kind = discriminant(&value);
        match self
            .fields
            .iter_mut()
            .find(|old| discriminant(*old) == kind)
        {
            Some(old) => *old = value,
            None => self.fields.push(value),
        }
    }

    /// Returns the actions in the order of OF13 clause 5.10. With a group the
    /// output is ignored. Without either the frame goes nowhere, and nothing
    /// needs to be done with it.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = Action> {
        let group = self.group.map(Action::Group);
        let end = group.or(self.output.map(Action::Output));
        end.into_iter().flat_map(|end| {
            let pop = self.pop_vlan.then_some(Action::PopVlan);
            let push = self.push_vlan.map(Action::PushVlan);
            let decrement = self.decrement_ttl.then_some(Action::DecrementTtl);
            let ttl = self.set_ttl.map(Action::SetTtl);
            let fields = self.fields.iter().copied().map(Action::SetField);
            let queue = self.queue.map(Action::SetQueue);
            let tags = pop.into_iter().chain(push).chain(decrement).chain(ttl);
            tags.chain(fields).chain(queue).chain([end])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_specification_not_that_of_arrival() {
        let mut set = ActionSet::new();

        set.write(&[
            Action::Output(Target::Flood),
            Action::SetQueue(7),
            Action::SetField(FieldValue::VlanVid(3)),
            Action::PushVlan(0x8100),
            Action::PopVlan,
        ]);

        let order: Vec<_> = set.in_order().collect();
        let expected = [
            Action::PopVlan,
            Action::PushVlan(0x8100),
            Action::SetField(FieldValue::VlanVid(3)),
            Action::SetQueue(7),
            Action::Output(Target::Flood),
        ];
        assert_eq!(order, expected);
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
