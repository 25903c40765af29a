//! Entries, groups and meters come and go in any order; what the switch says
//! about who uses whom stays true, and no frame is lost from its sight.

use std::collections::BTreeMap;

use proptest::prelude::*;
use switch::Link;
use units::Duration;
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{
    Action, Actions, Band, Bands, FlowMod, FlowModCommand, GroupId, GroupModCommand, GroupType,
    Instruction, Instructions, Message, MeterFlags, MeterId, MeterMod, MeterModCommand, TableId,
};

use crate::frames::udp;
use crate::ways::{Way, bucket, change, to_group, watching_group, watching_port, weighing};
use crate::world::{CONTROLLER, World, output, paced};

const GROUPS: u32 = 6;
const METERS: u32 = 3;

#[derive(Clone, Debug)]
enum Step {
    Group(GroupModCommand, u32, GroupType, Vec<Way>),
    Meter(MeterModCommand, u32),
    /// An entry of this priority, with these actions and perhaps a meter.
    Entry(FlowModCommand, u16, Vec<Action>, Option<u32>),
    Link(u32, Link),
    Frame,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![(1u32..4).prop_map(output), (1..=GROUPS).prop_map(to_group)]
}

fn way() -> impl Strategy<Value = Way> {
    let actions = prop::collection::vec(action(), 0..3);
    (actions, 0u16..3, 1u32..4, 1..=GROUPS, 0u8..4).prop_map(
        |(actions, weight, port, group, watch)| {
            let way = weighing(weight, bucket(&actions));
            match watch {
                0 => way,
                1 => watching_port(port, way),
                2 => watching_group(group, way),
                _ => watching_port(port, watching_group(group, way)),
            }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let group_command = prop::sample::select(GroupModCommand::ALL);
    let meter_command = prop::sample::select(MeterModCommand::ALL);
    let entry_command = prop::sample::select(vec![
        FlowModCommand::Add,
        FlowModCommand::ModifyStrict,
        FlowModCommand::Modify,
        FlowModCommand::DeleteStrict,
    ]);
    let kind = prop::sample::select(GroupType::ALL);
    let ways = prop::collection::vec(way(), 0..3);
    let all = prop::sample::select(vec![GroupId::ALL.0, 1, 2]);
    let actions = prop::collection::vec(action(), 0..4);
    let meter = prop::option::of(1..=METERS);
    prop_oneof![
        6 => (group_command, 1..=GROUPS, kind, ways)
            .prop_map(|(command, id, kind, ways)| Step::Group(command, id, kind, ways)),
        1 => all.prop_map(|id| Step::Group(GroupModCommand::Delete, id, GroupType::All, vec![])),
        2 => (meter_command, 1..=METERS).prop_map(|(command, id)| Step::Meter(command, id)),
        6 => (entry_command, 0u16..4, actions, meter)
            .prop_map(|(command, priority, actions, meter)| {
                Step::Entry(command, priority, actions, meter)
            }),
        2 => (1u32..4, any::<bool>()).prop_map(|(port, up)| {
            Step::Link(port, if up { Link::Up } else { Link::Down })
        }),
        3 => Just(Step::Frame),
    ]
}

fn take(world: &mut World, step: Step) {
    match step {
        Step::Group(command, id, kind, ways) => {
            world.receive(CONTROLLER, &change(command, id, kind, &ways));
        }
        Step::Meter(command, id) => {
            let bands = [Band::Drop { rate: 1, burst: 1 }];
            world.ask(&Message::MeterMod(MeterMod {
                command,
                flags: MeterFlags::PACKETS_PER_SECOND,
                meter: MeterId(id),
                bands: Bands::of(&bands),
            }));
        }
        Step::Entry(command, priority, actions, meter) => {
            let mut instructions = vec![
                Instruction::ApplyActions(Actions::of(&actions)),
                Instruction::WriteActions(Actions::of(&actions)),
            ];
            instructions.extend(meter.map(|meter| Instruction::Meter(MeterId(meter))));
            world.ask(&Message::FlowMod(FlowMod {
                command,
                priority,
                instructions: Instructions::of(&instructions),
                ..FlowMod::add(TableId(0))
            }));
        }
        Step::Link(port, link) => world.link(port, link),
        Step::Frame => world.frame(1, &udp(64, b"payload")),
    }
    world.answers(CONTROLLER);
}

/// What entries and groups say that they use.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uses {
    groups: BTreeMap<u32, u32>,
    meters: BTreeMap<u32, u32>,
}

impl Uses {
    fn add_groups(&mut self, groups: impl Iterator<Item = u32>) {
        let mut used: Vec<_> = groups.collect();
        used.sort_unstable();
        used.dedup();
        used.into_iter()
            .for_each(|group| *self.groups.entry(group).or_default() += 1);
    }
}

/// Returns the groups that a list of actions sends frames to.
fn groups_of(actions: Actions<'_>) -> impl Iterator<Item = u32> {
    actions.iter().filter_map(|action| match action {
        Ok(Action::Group(group)) => Some(group.0),
        Ok(_) | Err(_) => None,
    })
}

fn ask(world: &mut World, body: RequestBody<'_>, mut read: impl FnMut(ReplyBody<'_>)) {
    for answer in world.ask(&Message::MultipartRequest(MultipartRequest::new(body))) {
        match answer.message() {
            Message::MultipartReply(reply) => read(reply.body),
            other => panic!("not what was expected: {other:?}"),
        }
    }
}

/// Counts from what entries and groups are, and the depth of each group.
fn uses(world: &mut World) -> (Uses, BTreeMap<u32, Vec<u32>>) {
    let mut uses = Uses::default();
    let everything = FlowStatisticsRequest::all(TableId::ALL);
    ask(world, RequestBody::Flow(everything), |body| {
        let ReplyBody::Flow(flows) = body else {
            panic!("not what was expected: {body:?}")
        };
        for flow in flows.iter() {
            let instructions = flow.expect("good messages").instructions;
            let mut lists = Vec::new();
            for instruction in instructions.iter() {
                match instruction.expect("good messages") {
                    Instruction::ApplyActions(list) | Instruction::WriteActions(list) => {
                        lists.push(list);
                    }
                    Instruction::Meter(meter) => *uses.meters.entry(meter.0).or_default() += 1,
                    other => panic!("never sent: {other:?}"),
                }
            }
            uses.add_groups(lists.into_iter().flat_map(groups_of));
        }
    });
    let mut below = BTreeMap::new();
    ask(world, RequestBody::GroupDescription, |body| {
        let ReplyBody::GroupDescription(groups) = body else {
            panic!("not what was expected: {body:?}")
        };
        for group in groups.iter() {
            let group = group.expect("good messages");
            let buckets: Vec<_> = group.buckets.iter().map(Result::unwrap).collect();
            // The actions of a bucket are a set, in which the last group counts.
            let sent_to: Vec<u32> = buckets
                .iter()
                .filter_map(|it| groups_of(it.actions).last())
                .collect();
            let mut others: Vec<_> = buckets.iter().map(|it| it.watch_group.0).collect();
            others.extend(&sent_to);
            uses.add_groups(sent_to.into_iter());
            others.retain(|other| *other != GroupId::ANY.0);
            below.insert(group.group.0, others);
        }
    });
    (uses, below)
}

/// What the switch counted while they came and went.
fn counted(world: &mut World) -> Uses {
    let mut counted = Uses::default();
    ask(world, RequestBody::Group(GroupId::ALL), |body| {
        let ReplyBody::Group(groups) = body else {
            panic!("not what was expected: {body:?}")
        };
        let groups = groups.iter().map(|group| group.expect("good messages"));
        let used = groups.filter(|group| group.references > 0);
        counted
            .groups
            .extend(used.map(|it| (it.group.0, it.references)));
    });
    ask(world, RequestBody::Meter(MeterId::ALL), |body| {
        let ReplyBody::Meter(meters) = body else {
            panic!("not what was expected: {body:?}")
        };
        let meters = meters.iter().map(|meter| meter.expect("good messages"));
        let used = meters.filter(|meter| meter.flows > 0);
        counted.meters.extend(used.map(|it| (it.meter.0, it.flows)));
    });
    counted
}

/// How deep a frame goes below a group; panics if there is no end.
fn depth(group: u32, below: &BTreeMap<u32, Vec<u32>>, above: u32) -> u32 {
    assert!(above < 8, "a chain that is too long");
    let used = &below[&group];
    let depths = used.iter().map(|used| depth(*used, below, above + 1));
    depths.max().unwrap_or(0) + 1
}

proptest! {
    #[test]
    fn who_uses_whom_is_known_whatever_comes_and_goes(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut world = World::with_controller(paced());
        let free = world.switch.free_buffers();

        for step in steps {
            take(&mut world, step);
        }

        let (used, below) = uses(&mut world);
        prop_assert_eq!(counted(&mut world), used);
        for group in below.keys() {
            depth(*group, &below, 0);
        }
        world.run_until(world.now + Duration::from_secs(1));
        prop_assert_eq!(world.switch.free_buffers(), free);
        let counters = world.switch.counters();
        prop_assert_eq!(counters.outputs, counters.sent + counters.dropped);
    }
}
