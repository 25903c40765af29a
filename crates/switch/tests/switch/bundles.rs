//! Several changes as one, ONF-230.

use proptest::prelude::*;
use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::multipart::{MultipartRequest, RequestBody};
use wire::openflow::{
    Action, Actions, BadInstruction, BadRequest, Band, Bands, Bucket, Buckets, BufferId, BundleAdd,
    BundleControl, BundleControlKind, BundleFailed, BundleFlags, BundleId, BundleProperty, Cookie,
    ErrorKind, ErrorMessage, Experimenter, Fields, FlowMod, FlowModCommand, FlowModFailed,
    FlowModFlags, GroupId, GroupMod, GroupModCommand, GroupModFailed, GroupType, Instruction,
    Instructions, Message, MeterFlags, MeterId, MeterMod, MeterModCommand, ONF_EXPERIMENTER,
    PacketOut, PortConfig, PortFeatures, PortMod, PortNumber, Role, RoleMessage, Sequence, TableId,
    TransactionId,
};

use switch::{ConnectionId, Input};

use crate::world::{Answer, CONTROLLER, World, from, output, unpaced};

const BUNDLE: BundleId = BundleId(9);
const BOTH: BundleFlags = BundleFlags::ATOMIC.with(BundleFlags::ORDERED);
const XID: TransactionId = TransactionId(7);

pub fn control(kind: BundleControlKind) -> Message<'static> {
    control_of(BUNDLE, kind, BOTH)
}

fn control_of(bundle: BundleId, kind: BundleControlKind, flags: BundleFlags) -> Message<'static> {
    Message::BundleControl(BundleControl {
        bundle,
        kind,
        flags,
        properties: Sequence::EMPTY,
    })
}

fn bytes(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(XID, &mut bytes);
    bytes
}

fn added(message: &[u8]) -> Message<'_> {
    Message::BundleAdd(BundleAdd {
        bundle: BUNDLE,
        flags: BOTH,
        message,
        properties: Sequence::EMPTY,
    })
}

/// Adds messages to the bundle, which must all be taken.
pub fn add_all(world: &mut World, messages: &[Message<'_>]) {
    for message in messages {
        world.tell(&added(&bytes(message)));
    }
}

/// Asks for something to be done with the bundle, and expects that it is.
fn expect_done(world: &mut World, kind: BundleControlKind, done: BundleControlKind) {
    let answers = world.ask(&control(kind));
    let (last, told) = answers.split_last().expect("an answer");
    assert_eq!(last.message(), control(done));
    assert!(!told.iter().any(is_error));
}

pub fn open(world: &mut World) {
    expect_done(
        world,
        BundleControlKind::OpenRequest,
        BundleControlKind::OpenReply,
    );
}

fn commit(world: &mut World) {
    expect_done(
        world,
        BundleControlKind::CommitRequest,
        BundleControlKind::CommitReply,
    );
}

fn is_error(answer: &Answer) -> bool {
    matches!(answer.message(), Message::Error(_))
}

fn failed(code: BundleFailed) -> ErrorKind {
    code.into()
}

/// Returns an entry of table 0 that sends frames of a port out of another.
fn forward<'a>(
    fields: &'a [wire::openflow::MatchField],
    instructions: &'a [Instruction<'a>],
) -> FlowMod<'a> {
    FlowMod {
        priority: 1,
        matching: Fields::of(fields),
        instructions: Instructions::of(instructions),
        ..FlowMod::add(TableId(0))
    }
}

#[test]
fn nothing_in_a_bundle_counts_before_its_commit_and_all_of_it_after() {
    let mut world = World::with_controller(unpaced());
    let (fields, actions) = ([from(1)], [output(2)]);
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];

    open(&mut world);
    add_all(
        &mut world,
        &[Message::FlowMod(forward(&fields, &instructions))],
    );
    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent(), []);
    expect_done(
        &mut world,
        BundleControlKind::CloseRequest,
        BundleControlKind::CloseReply,
    );
    commit(&mut world);

    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent(), [(2, vec![0; 60])]);
}

#[test]
fn a_message_begins_a_bundle_that_nobody_opened_and_a_commit_closes_it() {
    let mut world = World::with_controller(unpaced());
    let (fields, actions) = ([from(1)], [output(2)]);
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];

    add_all(
        &mut world,
        &[Message::FlowMod(forward(&fields, &instructions))],
    );
    commit(&mut world);

    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent().len(), 1);
    let gone = world.refused(&control(BundleControlKind::CommitRequest));
    assert_eq!(gone, failed(BundleFailed::BadId));
}

#[test]
fn a_bundle_that_is_discarded_changes_nothing() {
    let mut world = World::with_controller(unpaced());
    add_all(&mut world, &[Message::FlowMod(FlowMod::add(TableId(0)))]);

    expect_done(
        &mut world,
        BundleControlKind::DiscardRequest,
        BundleControlKind::DiscardReply,
    );

    assert_eq!(world.switch.cost().frame.lookups, 0);
    let gone = world.refused(&control(BundleControlKind::DiscardRequest));
    assert_eq!(gone, failed(BundleFailed::BadId));
}

#[test]
fn a_later_message_may_use_what_an_earlier_one_of_the_bundle_makes() {
    let mut world = World::with_controller(unpaced());
    let (fields, actions) = ([from(1)], [Action::Group(GroupId(5))]);
    let instructions = [
        Instruction::Meter(MeterId(3)),
        Instruction::ApplyActions(Actions::of(&actions)),
    ];
    let sends = [output(3)];
    let buckets = [Bucket::new(Actions::of(&sends))];

    add_all(
        &mut world,
        &[
            Message::GroupMod(group(GroupModCommand::Add, 5, &buckets)),
            Message::MeterMod(meter(MeterModCommand::Add, 3)),
            Message::FlowMod(forward(&fields, &instructions)),
        ],
    );
    commit(&mut world);

    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent(), [(3, vec![0; 60])]);
}

/// The error of the message comes first and has its transaction, then that of
/// the commit.
#[test]
fn a_commit_that_fails_says_which_message_failed() {
    let mut world = World::with_controller(unpaced());
    let (fields, actions) = ([from(1)], [Action::Group(GroupId(5))]);
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let bad = bytes(&Message::FlowMod(forward(&fields, &instructions)));
    world.tell(&added(&bad));
    let mut commit = Vec::new();
    control(BundleControlKind::CommitRequest).emit(TransactionId(8), &mut commit);

    world.receive(CONTROLLER, &commit);

    let answers = world.answers(CONTROLLER);
    let errors: Vec<_> = answers
        .iter()
        .map(|it| (it.header(), it.message()))
        .collect();
    let no_group = ErrorKind::BadAction(wire::openflow::BadAction::BadOutGroup);
    assert_eq!(errors[0].0.transaction, XID);
    assert_eq!(
        errors[0].1,
        Message::Error(ErrorMessage::about(&bad, no_group))
    );
    assert_eq!(errors[1].0.transaction, TransactionId(8));
    let whole = ErrorMessage::about(&commit, failed(BundleFailed::MessageFailed));
    assert_eq!(errors[1].1, Message::Error(whole));
    assert_eq!(errors.len(), 2);
}

#[test]
fn a_commit_that_fails_leaves_counters_and_timeouts_as_they_were() {
    let mut world = World::with_controller(unpaced());
    let (fields, actions) = ([from(1)], [output(2)]);
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    let entry = FlowMod {
        hard_timeout_s: 10,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        ..forward(&fields, &instructions)
    };
    world.tell(&Message::FlowMod(entry));
    world.frame(1, &[0; 60]);
    world.take_sent();
    let before = state(&mut world);

    for first in [
        FlowMod {
            hard_timeout_s: 0,
            flags: FlowModFlags::RESET_COUNTS,
            ..entry
        },
        FlowMod::delete(TableId::ALL),
        FlowMod {
            command: FlowModCommand::Modify,
            flags: FlowModFlags::RESET_COUNTS,
            instructions: Instructions::EMPTY,
            ..entry
        },
    ] {
        add_all(&mut world, &[Message::FlowMod(first)]);
        fail(&mut world);
        assert_eq!(state(&mut world), before, "after {first:?}");
    }

    world.run_until(world.now + Duration::from_secs(11));
    let gone = world.answers(CONTROLLER);
    assert!(matches!(gone[0].message(), Message::FlowRemoved(_)));
}

/// Lets the bundle fail by a message that cannot be carried out.
fn fail(world: &mut World) {
    let modify = Message::GroupMod(group(GroupModCommand::Modify, 999, &[]));
    add_all(world, &[modify]);
    let error = world.refused(&control(BundleControlKind::CommitRequest));
    let unknown = ErrorKind::GroupModFailed(GroupModFailed::UnknownGroup);
    assert_eq!(error, unknown, "nothing but errors is told");
}

#[test]
fn entries_that_a_bundle_removes_are_told_once_it_is_committed() {
    let mut world = World::with_controller(unpaced());
    for cookie in 1..=3 {
        world.tell(&Message::FlowMod(FlowMod {
            cookie: Cookie(cookie),
            priority: u16::try_from(cookie).unwrap(),
            flags: FlowModFlags::SEND_FLOW_REMOVED,
            ..FlowMod::add(TableId(0))
        }));
    }
    add_all(
        &mut world,
        &[Message::FlowMod(FlowMod::delete(TableId::ALL))],
    );

    let answers = world.ask(&control(BundleControlKind::CommitRequest));

    let cookies: Vec<_> = answers
        .iter()
        .filter_map(|answer| match answer.message() {
            Message::FlowRemoved(removed) => Some(removed.cookie.0),
            _ => None,
        })
        .collect();
    assert_eq!(cookies, [1, 2, 3]);
    assert_eq!(answers.len(), 4);
}

#[test]
fn ports_change_with_the_commit_and_are_told_then() {
    let mut world = World::with_controller(unpaced());
    let down = PortMod {
        port: PortNumber(2),
        address: MacAddress([2, 0, 0, 0, 1, 2]),
        config: PortConfig::PORT_DOWN,
        mask: PortConfig::PORT_DOWN,
        advertise: PortFeatures::NONE,
    };
    world.add(1, &[from(1)], &[output(2)]);

    add_all(&mut world, &[Message::PortMod(down)]);
    fail(&mut world);
    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent().len(), 1);

    add_all(&mut world, &[Message::PortMod(down)]);
    let answers = world.ask(&control(BundleControlKind::CommitRequest));
    assert!(matches!(answers[0].message(), Message::PortStatus(_)));
    world.frame(1, &[0; 60]);
    assert_eq!(world.take_sent(), []);
}

/// `ONFERR_ET_BAD_ID`, `ONFERR_ET_BUNDLE_EXIST`, `ONFERR_ET_BUNDLE_CLOSED`,
/// `ONFERR_ET_BAD_TYPE`, `ONFERR_ET_BAD_FLAGS`.
#[test]
fn each_mistake_with_a_bundle_has_its_error() {
    let mut world = World::with_controller(unpaced());
    let message = bytes(&Message::FlowMod(FlowMod::add(TableId(0))));

    for kind in [
        BundleControlKind::CloseRequest,
        BundleControlKind::CommitRequest,
        BundleControlKind::DiscardRequest,
    ] {
        assert_eq!(world.refused(&control(kind)), failed(BundleFailed::BadId));
    }
    open(&mut world);
    let exists = world.refused(&control(BundleControlKind::OpenRequest));
    assert_eq!(exists, failed(BundleFailed::BundleExist));
    let gone = world.refused(&control(BundleControlKind::CloseRequest));
    assert_eq!(gone, failed(BundleFailed::BadId), "it is forgotten");

    open(&mut world);
    let (kind, flags) = (BundleControlKind::CloseRequest, BundleFlags::ATOMIC);
    let other_flags = world.refused(&control_of(BUNDLE, kind, flags));
    assert_eq!(other_flags, failed(BundleFailed::BadFlags));
    world.ask(&control(BundleControlKind::CloseRequest));
    let closed = world.refused(&control(BundleControlKind::CloseRequest));
    assert_eq!(closed, failed(BundleFailed::BundleClosed));
    let closed = world.refused(&added(&message));
    assert_eq!(closed, failed(BundleFailed::BundleClosed));

    let (kind, unknown) = (BundleControlKind::OpenRequest, BundleFlags(4));
    let flags = world.refused(&control_of(BundleId(1), kind, unknown));
    assert_eq!(flags, failed(BundleFailed::BadFlags));
    let reply = world.refused(&control(BundleControlKind::OpenReply));
    assert_eq!(reply, failed(BundleFailed::BadType));
}

/// `ONFERR_ET_MSG_BAD_LEN`, `ONFERR_ET_MSG_BAD_XID`, `ONFERR_ET_MSG_UNSUP`, and
/// the errors of the message itself.
#[test]
fn each_mistake_in_a_message_for_a_bundle_has_its_error_at_once() {
    let mut world = World::with_controller(unpaced());
    let good = bytes(&Message::FlowMod(FlowMod::add(TableId(0))));

    let mut long = good.clone();
    long[3] += 8;
    let error = world.refused(&added(&long));
    assert_eq!(error, failed(BundleFailed::MessageBadLength));
    let mut other = good.clone();
    other[7] = 99;
    let error = world.refused(&added(&other));
    assert_eq!(error, failed(BundleFailed::MessageBadTransaction));
    let kept = FlowMod {
        buffer: BufferId(1),
        ..FlowMod::add(TableId(0))
    };
    let packet_out = PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: Actions::EMPTY,
        data: &[0; 60],
    };
    for unsupported in [
        Message::BarrierRequest,
        Message::FlowMod(kept),
        Message::PacketOut(packet_out),
        control(BundleControlKind::CommitRequest),
    ] {
        let error = world.refused(&added(&bytes(&unsupported)));
        assert_eq!(error, failed(BundleFailed::MessageUnsupported));
    }
    let back = [Instruction::GotoTable(TableId(0))];
    let back = FlowMod {
        instructions: Instructions::of(&back),
        ..FlowMod::add(TableId(1))
    };
    let error = world.refused(&added(&bytes(&Message::FlowMod(back))));
    let bad_table = ErrorKind::BadInstruction(BadInstruction::BadTableId);
    assert_eq!(error, bad_table);
    let error = world.refused(&added(&bytes(&Message::FlowMod(FlowMod::add(TableId(
        254,
    ))))));
    let bad_table = ErrorKind::FlowModFailed(FlowModFailed::BadTableId);
    assert_eq!(error, bad_table);
    let gone = world.refused(&control(BundleControlKind::CommitRequest));
    assert_eq!(gone, failed(BundleFailed::BadId), "no bundle has begun");
}

/// `ONFERR_ET_OUT_OF_BUNDLES` and `ONFERR_ET_MSG_TOO_MANY`.
#[test]
fn bundles_have_limits() {
    let mut world = World::with_controller(unpaced());
    let strict = FlowMod {
        command: FlowModCommand::DeleteStrict,
        ..FlowMod::delete(TableId(0))
    };

    assert_eq!(taken(&mut world, FlowMod::delete(TableId(0))), 128);
    assert_eq!(taken(&mut world, strict), 16 * 1024 - 128);
    let kind = BundleControlKind::OpenRequest;
    let others = (100..115).map(|id| control_of(BundleId(id), kind, BOTH));
    for other in others {
        assert!(!is_error(&world.ask(&other)[0]));
    }
    let error = world.refused(&control_of(BundleId(200), kind, BOTH));
    assert_eq!(error, failed(BundleFailed::OutOfBundles));
}

/// Adds a flow-mod to the bundle until it is refused, and returns how many were
/// taken.
fn taken(world: &mut World, flow_mod: FlowMod<'_>) -> usize {
    let message = bytes(&Message::FlowMod(flow_mod));
    let mut taken = 0;
    loop {
        let answers = world.ask(&added(&message));
        match answers.first().map(Answer::message) {
            None => taken += 1,
            Some(Message::Error(error)) => {
                assert_eq!(error.kind, failed(BundleFailed::MessageTooMany));
                return taken;
            }
            Some(other) => panic!("another answer: {other:?}"),
        }
    }
}

#[test]
fn a_bundle_belongs_to_its_connection_and_goes_with_it() {
    let mut world = World::with_controller(unpaced());
    let other = ConnectionId(2);
    world.greet(other);
    open(&mut world);

    world.receive(other, &bytes(&control(BundleControlKind::CloseRequest)));
    assert!(is_error(&world.answers(other)[0]));
    world.handle(Input::Disconnected(CONTROLLER));
    world.greet(CONTROLLER);

    let gone = world.refused(&control(BundleControlKind::CommitRequest));
    assert_eq!(gone, failed(BundleFailed::BadId));
}

/// OF13 clause 6.3.4.
#[test]
fn a_slave_has_no_bundles() {
    let mut world = World::with_controller(unpaced());
    add_all(&mut world, &[Message::FlowMod(FlowMod::add(TableId(0)))]);
    let (role, generation) = (Role::Slave, 1);
    world.ask(&Message::RoleRequest(RoleMessage { role, generation }));

    let is_slave = ErrorKind::BadRequest(BadRequest::IsSlave);
    let message = bytes(&Message::FlowMod(FlowMod::add(TableId(0))));
    assert_eq!(world.refused(&added(&message)), is_slave);
    let commit = world.refused(&control(BundleControlKind::CommitRequest));
    assert_eq!(commit, is_slave);
}

/// OF13 clauses 7.4.4 and 7.5.4.
#[test]
fn what_else_experimenters_define_is_refused() {
    let mut world = World::with_controller(unpaced());
    let unknown = Message::Experimenter(Experimenter {
        experimenter: ONF_EXPERIMENTER,
        kind: 1,
        data: &[],
    });
    let properties = [BundleProperty {
        kind: 0xffff,
        data: &[0; 8],
    }];
    let with_property = Message::BundleControl(BundleControl {
        bundle: BUNDLE,
        kind: BundleControlKind::OpenRequest,
        flags: BOTH,
        properties: Sequence::of(&properties),
    });

    let bad_type = ErrorKind::BadRequest(BadRequest::BadExperimenterType);
    assert_eq!(world.refused(&unknown), bad_type);
    let bad = ErrorKind::BadRequest(BadRequest::BadExperimenter);
    assert_eq!(world.refused(&with_property), bad);
}

fn group<'a>(command: GroupModCommand, id: u32, buckets: &'a [Bucket<'a>]) -> GroupMod<'a> {
    GroupMod {
        command,
        kind: GroupType::All,
        group: GroupId(id),
        buckets: Buckets::of(buckets),
    }
}

fn meter(command: MeterModCommand, id: u32) -> MeterMod<'static> {
    const BANDS: [Band; 1] = [Band::Drop {
        rate: 1_000_000,
        burst: 0,
    }];
    MeterMod {
        command,
        flags: MeterFlags::KBPS,
        meter: MeterId(id),
        bands: Bands::of(&BANDS),
    }
}

/// Returns everything that a controller can ask about entries, groups, meters
/// and ports.
fn state(world: &mut World) -> Vec<String> {
    let flows = wire::openflow::multipart::FlowStatisticsRequest::all(TableId::ALL);
    let bodies = [
        RequestBody::Flow(flows),
        RequestBody::Group(GroupId::ALL),
        RequestBody::GroupDescription,
        RequestBody::Meter(MeterId::ALL),
        RequestBody::MeterConfig(MeterId::ALL),
        RequestBody::PortDescription,
    ];
    let mut state = Vec::new();
    for body in bodies {
        let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
        state.extend(answers.iter().map(|it| format!("{:?}", it.message())));
    }
    state
}

/// A change that a bundle may bring.
#[derive(Clone, Copy, Debug)]
enum Step {
    Flow(FlowModCommand, u16, u32, u32),
    Group(GroupModCommand, u32, u32),
    Meter(MeterModCommand, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let flow = (0usize..5, 0u16..3, 0u32..4, 0u32..4);
    prop_oneof![
        4 => flow.prop_map(|(command, priority, port, group)| {
            let command = FlowModCommand::ALL[command];
            Step::Flow(command, priority, port, group)
        }),
        1 => (0usize..3, 1u32..4, 0u32..4).prop_map(|(command, group, below)| {
            Step::Group(GroupModCommand::ALL[command], group, below)
        }),
        1 => (0usize..3, 1u32..3).prop_map(|(command, meter)| {
            Step::Meter(MeterModCommand::ALL[command], meter)
        }),
    ]
}

/// Sends frames out of port 2, or to a group.
fn towards(group: u32) -> Action {
    match group {
        0 => output(2),
        group => Action::Group(GroupId(group)),
    }
}

fn message_of(step: Step) -> Vec<u8> {
    match step {
        Step::Flow(command, priority, port, group) => {
            let fields = [from(port.max(1))];
            let actions = [towards(group)];
            let instructions = [
                Instruction::ApplyActions(Actions::of(&actions)),
                Instruction::Meter(MeterId(1)),
            ];
            let instructions = &instructions[..1 + usize::from(group == 1)];
            bytes(&Message::FlowMod(FlowMod {
                command,
                priority,
                flags: FlowModFlags::SEND_FLOW_REMOVED,
                hard_timeout_s: priority * 20,
                matching: Fields::of(&fields[..usize::from(port > 0)]),
                instructions: Instructions::of(instructions),
                ..FlowMod::add(TableId(0))
            }))
        }
        Step::Group(command, id, below) => {
            let actions = [towards(below)];
            let buckets = [Bucket::new(Actions::of(&actions))];
            bytes(&Message::GroupMod(group(command, id, &buckets)))
        }
        Step::Meter(command, id) => bytes(&Message::MeterMod(meter(command, id))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Sound: a bundle that fails leaves nothing changed, whatever is in it.
    #[test]
    fn a_bundle_that_fails_leaves_everything_as_it_was(
        before in prop::collection::vec(step(), 0..20),
        within in prop::collection::vec(step(), 1..20),
    ) {
        let mut world = World::with_controller(unpaced());
        for step in before {
            world.receive(CONTROLLER, &message_of(step));
        }
        world.answers(CONTROLLER);
        let state_before = state(&mut world);

        for step in within {
            world.ask(&added(&message_of(step)));
        }
        add_all(&mut world, &[Message::GroupMod(group(GroupModCommand::Modify, 999, &[]))]);
        let answers = world.ask(&control(BundleControlKind::CommitRequest));

        prop_assert!(answers.iter().all(is_error));
        prop_assert_eq!(state(&mut world), state_before);
        // What was put back can be deleted, by timeout and by command.
        world.run_until(world.now + Duration::from_secs(21));
        world.ask(&Message::FlowMod(FlowMod::delete(TableId::ALL)));
        let all = GroupId::ALL.0;
        world.ask(&Message::GroupMod(group(GroupModCommand::Delete, all, &[])));
        prop_assert_eq!(world.switch.cost().frame.lookups, 0);
    }

    /// Complete: a bundle that succeeds does what its messages do one by one.
    #[test]
    fn a_bundle_that_succeeds_does_what_its_messages_do_alone(
        before in prop::collection::vec(step(), 0..20),
        within in prop::collection::vec(step(), 1..10),
    ) {
        let mut bundled = World::with_controller(unpaced());
        let mut alone = World::with_controller(unpaced());
        for step in before {
            bundled.receive(CONTROLLER, &message_of(step));
            alone.receive(CONTROLLER, &message_of(step));
        }
        bundled.answers(CONTROLLER);
        alone.answers(CONTROLLER);

        let mut refused = false;
        for step in within {
            refused |= !bundled.ask(&added(&message_of(step))).is_empty();
            alone.receive(CONTROLLER, &message_of(step));
        }
        let answers = bundled.ask(&control(BundleControlKind::CommitRequest));
        refused |= answers.iter().any(is_error);

        let lone_answers = alone.answers(CONTROLLER);
        prop_assert_eq!(refused, lone_answers.iter().any(is_error));
        if !refused {
            prop_assert_eq!(state(&mut bundled), state(&mut alone));
            prop_assert_eq!(answers.len(), lone_answers.len() + 1);
        }
    }
}
