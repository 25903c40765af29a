//! What a frame costs at most is known for the tables as they stand.

use switch::Work;
use wire::ethernet::EtherType;
use wire::openflow::{
    Actions, Fields, FlowMod, FlowModCommand, Instruction, Instructions, MatchField, Message,
    TableId,
};

use crate::world::{World, from, output, unpaced};

const TYPE: MatchField = MatchField::EthType(EtherType::IPV4);

fn add(world: &mut World, table: u8, fields: &[MatchField], instructions: &[Instruction<'_>]) {
    world.tell(&Message::FlowMod(FlowMod {
        priority: 1,
        matching: Fields::of(fields),
        instructions: Instructions::of(instructions),
        ..FlowMod::add(TableId(table))
    }));
}

/// Two masks in table 0, from which one entry leads to table 2 with one mask.
fn two_tables() -> World {
    let mut world = World::with_controller(unpaced());
    let outputs = [output(2), output(3)];
    let both = [Instruction::ApplyActions(Actions::of(&outputs))];
    let one = [Instruction::WriteActions(Actions::of(&outputs[..1]))];
    let onward = [
        Instruction::ApplyActions(Actions::of(&outputs[..1])),
        Instruction::GotoTable(TableId(2)),
    ];
    add(&mut world, 0, &[from(1)], &onward);
    add(&mut world, 0, &[from(1), TYPE], &both);
    add(&mut world, 2, &[from(1)], &one);
    world
}

#[test]
fn an_empty_switch_asks_no_hash_table() {
    let world = World::with_controller(unpaced());

    let cost = world.switch.cost();

    assert_eq!((cost.frame.tables, cost.frame.lookups), (1, 0));
    assert!(cost.tables.is_empty());
}

#[test]
fn the_way_through_all_tables_is_added_up() {
    let world = two_tables();

    let cost = world.switch.cost();

    let expected = Work {
        tables: 2,
        lookups: 3,
        slots: 48,
        actions: 2,
        buckets: 0,
    };
    assert_eq!(cost.frame, expected);
    let listed: Vec<_> = cost
        .tables
        .iter()
        .map(|it| (it.table.0, it.masks))
        .collect();
    assert_eq!(listed, [(0, 2), (2, 1)]);
    assert_eq!(cost.tables[1].onward.lookups, 1);
}

#[test]
fn the_cost_follows_every_change_of_the_tables() {
    let mut world = two_tables();
    let before = world.switch.cost();
    let outputs = [output(2), output(3), output(2)];
    let three = [Instruction::ApplyActions(Actions::of(&outputs))];

    world.tell(&Message::FlowMod(FlowMod {
        command: FlowModCommand::Modify,
        matching: Fields::of(&[TYPE]),
        instructions: Instructions::of(&three),
        ..FlowMod::add(TableId(0))
    }));
    let changed = world.switch.cost();
    world.tell(&Message::FlowMod(FlowMod {
        command: FlowModCommand::Delete,
        ..FlowMod::add(TableId::ALL)
    }));

    assert_eq!((before.frame.actions, changed.frame.actions), (2, 3));
    assert_eq!(
        world.switch.cost(),
        World::with_controller(unpaced()).switch.cost()
    );
}
