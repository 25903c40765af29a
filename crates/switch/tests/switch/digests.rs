//! The sums of digests that a switch keeps are those of the entries that it has, whatever
//! was done to them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use units::{Duration, Instant};
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{Answer as Told, CookieClass, DigestSum, EntryContent, Question};
use wire::openflow::{
    Actions, BundleControlKind, Cookie, Fields, FlowMod, FlowModCommand, FlowModFlags, Instruction,
    Instructions, Message, PortNumber, TableId,
};

use crate::bundles::{add_all, control, open};
use crate::world::{Answer, World, from, output, unpaced};

type Sums = BTreeMap<(TableId, CookieClass), DigestSum>;

#[derive(Clone, Debug)]
struct Change {
    command: FlowModCommand,
    table: u8,
    priority: u16,
    cookie: u64,
    input: Option<u32>,
    outputs: Vec<u32>,
    timeouts: (u16, u16),
    flags: FlowModFlags,
}

impl Change {
    /// Lets something be done with it as a message.
    fn with_message<T>(&self, then: impl FnOnce(Message<'_>) -> T) -> T {
        let fields: Vec<_> = self.input.map(from).into_iter().collect();
        let actions: Vec<_> = self.outputs.iter().copied().map(output).collect();
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let (idle_timeout_s, hard_timeout_s) = self.timeouts;
        then(Message::FlowMod(FlowMod {
            command: self.command,
            cookie: Cookie(self.cookie << 50),
            priority: self.priority,
            idle_timeout_s,
            hard_timeout_s,
            flags: self.flags,
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            out_port: PortNumber::ANY,
            ..FlowMod::add(TableId(self.table))
        }))
    }
}

#[derive(Clone, Debug)]
enum Step {
    Change(Change),
    /// Several as one; if there is to be none of them, one of them is bad.
    Bundle(Vec<Change>, bool),
    Pass(u64),
}

fn change() -> impl Strategy<Value = Change> {
    let command = prop_oneof![
        4 => Just(FlowModCommand::Add),
        4 => prop::sample::select(FlowModCommand::ALL),
    ];
    let flags = prop::sample::select(vec![
        FlowModFlags::NONE,
        FlowModFlags::SEND_FLOW_REMOVED,
        FlowModFlags::RESET_COUNTS,
    ]);
    let outputs = prop::collection::vec(1u32..4, 0..3);
    let input = prop::option::of(1u32..4);
    let place = (command, 0u8..2, 0u16..3, 0u64..8);
    (place, input, outputs, (0u16..3, 0u16..4), flags).prop_map(
        |((command, table, priority, cookie), input, outputs, timeouts, flags)| Change {
            command,
            table,
            priority,
            cookie,
            input,
            outputs,
            timeouts,
            flags,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => change().prop_map(Step::Change),
        2 => (prop::collection::vec(change(), 1..6), any::<bool>())
            .prop_map(|(changes, is_good)| Step::Bundle(changes, is_good)),
        1 => (1u64..4_000).prop_map(Step::Pass),
    ]
}

fn take(world: &mut World, step: &Step) {
    match step {
        Step::Change(change) => {
            change.with_message(|message| world.ask(&message));
        }
        Step::Bundle(changes, is_good) => {
            open(world);
            for change in changes {
                change.with_message(|message| add_all(world, &[message]));
            }
            if !is_good {
                // Nobody can tell before all else is done.
                let fields = [from(1)];
                let [any, overlaps] = [Fields::EMPTY, Fields::of(&fields)];
                let flags = FlowModFlags::CHECK_OVERLAP;
                let add = FlowMod {
                    priority: 9,
                    ..FlowMod::add(TableId(1))
                };
                let first = Message::FlowMod(FlowMod {
                    matching: any,
                    ..add
                });
                let bad = Message::FlowMod(FlowMod {
                    matching: overlaps,
                    flags,
                    ..add
                });
                add_all(world, &[first, bad]);
            }
            let answers = world.ask(&control(BundleControlKind::CommitRequest));
            let is_error = |answer: &Answer| matches!(answer.message(), Message::Error(_));
            assert!(*is_good || answers.iter().any(is_error));
        }
        Step::Pass(ms) => world.run_until(world.now + Duration::from_ms(*ms)),
    }
}

/// Asks the switch, and has each part of the answer read.
fn ask(world: &mut World, body: RequestBody<'_>, mut read: impl FnMut(ReplyBody<'_>)) {
    for answer in world.ask(&Message::MultipartRequest(MultipartRequest::new(body))) {
        match answer.message() {
            Message::MultipartReply(reply) => read(reply.body),
            // Entries went meanwhile.
            Message::FlowRemoved(_) => {}
            other => panic!("not what was expected: {other:?}"),
        }
    }
}

/// Adds up what the switch says of its entries one by one.
fn read(world: &mut World) -> Sums {
    let body = RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL));
    let mut sums = Sums::new();
    ask(world, body, |part| {
        let ReplyBody::Flow(entries) = part else {
            panic!("not what was expected: {part:?}");
        };
        for entry in entries.iter().map(Result::unwrap) {
            let (mut fields, mut instructions) = (Vec::new(), Vec::new());
            entry.matching.emit(&mut fields);
            entry.instructions.emit(&mut instructions);
            let content = EntryContent {
                cookie: entry.cookie,
                priority: entry.priority,
                flags: entry.flags,
                idle_timeout_s: entry.idle_timeout_s,
                hard_timeout_s: entry.hard_timeout_s,
                fields: &fields,
                instructions: &instructions,
            };
            let sum = sums.entry((entry.table, CookieClass::of(entry.cookie)));
            sum.or_default().add(content.digest());
        }
    });
    sums
}

/// What the switch says that they add up to.
fn told(world: &mut World) -> Sums {
    let body = RequestBody::Experimenter(Question::Digests.body());
    let mut sums = Sums::new();
    ask(world, body, |part| {
        let ReplyBody::Experimenter(body) = part else {
            panic!("not what was expected: {part:?}");
        };
        let Ok(Some(Told::Digests(digests))) = Told::parse(&body) else {
            panic!("not an answer about digests");
        };
        for it in digests.iter().map(Result::unwrap) {
            assert_eq!(sums.insert((it.table, it.class), it.sum), None);
        }
    });
    sums
}

proptest! {
    #[test]
    fn what_digests_add_up_to_is_what_the_entries_are(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::with_controller(unpaced());
        for step in &steps {
            take(&mut world, step);
            let read = read(&mut world);
            prop_assert_eq!(told(&mut world), read);
        }
    }
}

#[test]
fn classes_without_entries_are_not_told_and_many_are_told_in_parts() {
    let mut world = World::with_controller(unpaced());
    assert_eq!(told(&mut world), Sums::new());
    for class in 0..3_000 {
        let add = FlowMod {
            cookie: CookieClass(class).lowest(),
            priority: class,
            ..FlowMod::add(TableId(0))
        };
        world.tell(&Message::FlowMod(add));
    }
    world.run_until(Instant::ZERO + Duration::from_secs(1));

    assert_eq!(told(&mut world).len(), 3_000);

    world.tell(&Message::FlowMod(FlowMod::delete(TableId(0))));
    assert_eq!(told(&mut world), Sums::new());
}
