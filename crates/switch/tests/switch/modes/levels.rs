//! Entries of all levels stand side by side: which one a frame meets is what a naive
//! search says.

use proptest::prelude::*;
use wire::ethernet::EtherType;
use wire::mode_signal::Kind;
use wire::openflow::oxm::Masked;
use wire::openflow::{Action, FlowMod, MatchField, PortNumber};
use wire::openflow::{Actions, Fields, Instruction, Instructions, Message, TableId};

use super::{mode, signal, taking_part, through};
use crate::frames::frame;
use crate::world::{World, from, output};

#[derive(Clone, Debug)]
struct Rule {
    priority: u16,
    port: Option<u32>,
    level: Option<(u8, u8)>,
    other: bool,
    to: u32,
}

fn rule() -> impl Strategy<Value = Rule> {
    let level = prop::option::of((0u8..8, prop::sample::select(vec![1u8, 2, 3, 4, 6, 7])));
    let port = prop::option::of(1u32..3);
    (0u16..4, port, level, any::<bool>(), 1u32..5).prop_map(|(priority, port, level, other, to)| {
        Rule {
            priority,
            port,
            level: level.map(|(value, mask)| (value & mask, mask)),
            other,
            to,
        }
    })
}

impl Rule {
    fn fields(&self) -> Vec<MatchField> {
        let port = self.port.map(from);
        let level = self
            .level
            .map(|(value, mask)| MatchField::Level(Masked::under(value, mask)));
        let kind = self.other.then_some(MatchField::EthType(EtherType(0x88b5)));
        port.into_iter().chain(level).chain(kind).collect()
    }

    fn is_for(&self, port: u32, level: u8, ether_type: u16) -> bool {
        self.port.is_none_or(|wanted| wanted == port)
            && self.level.is_none_or(|(value, mask)| level & mask == value)
            && (!self.other || ether_type == 0x88b5)
    }
}

fn add(world: &mut World, rule: &Rule) {
    // Signals have an entry that outranks these.
    world.add(rule.priority, &rule.fields(), &[output(rule.to)]);
}

proptest! {
    #[test]
    fn a_frame_meets_the_best_entry_of_its_level(
        rules in prop::collection::vec(rule(), 1..20),
        steps in prop::collection::vec((0u8..8, 1u32..3, any::<bool>()), 1..20),
    ) {
        let mut world = taking_part(None);
        let mut kept: Vec<Rule> = Vec::new();
        for rule in rules {
            let same = |it: &Rule| {
                (it.priority, it.port, it.level, it.other)
                    == (rule.priority, rule.port, rule.level, rule.other)
            };
            add(&mut world, &rule);
            match kept.iter_mut().find(|it| same(it)) {
                Some(before) => before.to = rule.to,
                None => kept.push(rule),
            }
        }
        for (era, (level, port, other)) in (1..).zip(steps) {
            through(&mut world, 3, &signal(Kind::Signal, mode(era, level), 3));
            let ether_type = if other { 0x88b5 } else { 0x88b6 };

            let sent = through(&mut world, port, &frame(ether_type, &[0; 46]));

            let fitting = kept.iter().filter(|it| it.is_for(port, level, ether_type));
            // Of equals the first that came.
            let best = fitting.rev().max_by_key(|it| it.priority);
            let expected = best.map(|it| it.to).filter(|to| *to != port);
            let left: Vec<_> = sent.iter().map(|(port, _)| *port).collect();
            prop_assert_eq!(left, expected.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_frame_sees_one_mode_whatever_its_own_monitor_finds() {
    let mut world = taking_part(None);
    super::watch(&mut world);
    let watched = [Action::FlowMonitor(super::MONITOR)];
    let instructions = [
        Instruction::ApplyActions(Actions::of(&watched)),
        Instruction::GotoTable(TableId(1)),
    ];
    world.tell(&Message::FlowMod(FlowMod {
        priority: 5,
        matching: Fields::of(&[from(1)]),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));
    for (level, port) in [(0, 2), (1, 4)] {
        let actions = [Action::output(PortNumber(port))];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        world.tell(&Message::FlowMod(FlowMod {
            priority: 5,
            matching: Fields::of(&[super::at_level(level)]),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(1))
        }));
    }

    let violating = through(&mut world, 1, &super::message(0, 150));
    let next = through(&mut world, 1, &super::message(0, 150));

    assert!(violating.contains(&(2, super::message(0, 150))));
    assert_eq!(next, [(4, super::message(0, 150))]);
}
