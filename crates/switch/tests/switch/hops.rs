//! How long the frames of each entry stay, and what a controller hears of it.

use switch::compiled::layout::{Region, hop};
use switch::compiled::{Carried, Departures, Memory, Overflow, Sizes};
use switch::{Config, HOP_RECORDS_MAX, Input, Peer};
use units::{BitRate, Duration, Instant};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{
    Answer as Told, HopConfig, HopCoverage, HopEvent, HopFailed, HopMessage, Question, WatchedQueue,
};
use wire::openflow::{
    Action, BadRequest, Cookie, ErrorKind, Fields, FlowMod, FlowModCommand, FlowModFlags,
    Instruction, Instructions, MatchField, Message, PortNumber, QueueId, Role, RoleMessage,
    Sequence, TableId,
};

use crate::frames::frame;
use crate::world::{Answer, CONTROLLER, World, from, output, paced, ports, unpaced};

/// How long a frame of 60 bytes takes at 100 Mbit/s.
const FRAME_NS: u64 = 6_720;

/// What a record says, without its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    priority: u16,
    port: u32,
    queue: u32,
    frames: u64,
    longest: u64,
    above: u64,
}

fn watched(port: u32, queue: u32, budget: Option<Duration>) -> WatchedQueue {
    WatchedQueue {
        port: PortNumber(port),
        queue: QueueId(queue),
        budget,
    }
}

fn config(queues: &[WatchedQueue]) -> Message<'_> {
    let queues = Sequence::of(queues);
    Message::Hop(HopMessage::Config(HopConfig { queues }))
}

fn watch(world: &mut World, queues: &[WatchedQueue]) {
    world.tell(&config(queues));
}

fn ask(world: &mut World) -> (HopCoverage, u64, Vec<Record>) {
    let body = RequestBody::Experimenter(Question::Hops.body());
    let answers = world.ask(&Message::MultipartRequest(MultipartRequest::new(body)));
    let (mut coverage, mut no_room, mut records) = (HopCoverage::Nothing, 0, Vec::new());
    for answer in &answers {
        let Message::MultipartReply(reply) = answer.message() else {
            continue;
        };
        let ReplyBody::Experimenter(body) = reply.body else {
            panic!("another answer: {:?}", reply.body);
        };
        let Ok(Some(Told::Hops(part))) = Told::parse(&body) else {
            panic!("another answer: {body:?}");
        };
        (coverage, no_room) = (part.coverage, part.no_room);
        for record in part.records.iter() {
            let record = record.expect("the switch writes what can be read");
            let counted: u64 = record.buckets.iter().flatten().map(|it| it.frames).sum();
            assert_eq!(counted, record.frames);
            let last = record.buckets.iter().flatten().last();
            assert_eq!(last.map(|it| it.at_most), Some(record.longest));
            records.push(Record {
                priority: record.priority,
                port: record.port.0,
                queue: record.queue.0,
                frames: record.frames,
                longest: record.longest.as_ns(),
                above: record.above,
            });
        }
    }
    records.sort_by_key(|it| (it.priority, it.port, it.queue));
    (coverage, no_room, records)
}

fn records(world: &mut World) -> Vec<Record> {
    ask(world).2
}

fn events(world: &mut World) -> Vec<HopEvent> {
    events_among(&world.answers(CONTROLLER))
}

fn events_among(answers: &[Answer]) -> Vec<HopEvent> {
    let events = answers.iter().filter_map(|answer| match answer.message() {
        Message::Hop(HopMessage::Event(event)) => Some(event),
        _ => None,
    });
    events.collect()
}

fn pass(world: &mut World, time: Duration) {
    world.run_until(world.now + time);
}

fn send(world: &mut World, port: u32, frames: usize) {
    for _ in 0..frames {
        world.frame(port, &frame(0x88b5, &[0; 46]));
    }
}

fn queue(number: u32) -> Action {
    Action::SetQueue(QueueId(number))
}

/// Frames from port 1 leave by port 2, through queue 3.
fn forwarding(config: Config) -> World {
    let mut world = World::with_controller(config);
    world.add(5, &[from(1)], &[queue(3), output(2)]);
    world
}

fn record(frames: u64, longest: u64, above: u64) -> Record {
    Record {
        priority: 5,
        port: 2,
        queue: 3,
        frames,
        longest,
        above,
    }
}

#[test]
fn every_frame_through_a_watched_queue_is_charged_to_its_entry() {
    let mut world = forwarding(paced());
    world.add(7, &[from(3)], &[output(2), queue(3), output(2), output(1)]);
    watch(&mut world, &[watched(2, 3, None)]);

    send(&mut world, 1, 3);
    pass(&mut world, Duration::from_ms(1));
    send(&mut world, 3, 2);
    pass(&mut world, Duration::from_ms(1));

    let (coverage, no_room, records) = ask(&mut world);
    assert_eq!((coverage, no_room), (HopCoverage::All, 0));
    // Of the other entry, the first copy leaves through a queue that is not watched, and
    // the urgent ones go ahead of the second of those.
    let other = Record {
        priority: 7,
        ..record(2, 3 * FRAME_NS, 0)
    };
    assert_eq!(records, [record(3, 3 * FRAME_NS, 0), other]);
}

#[test]
fn stays_above_the_budget_are_counted_and_told_at_once() {
    let mut world = forwarding(paced());
    let budget = Duration::from_ns(2 * FRAME_NS);
    watch(&mut world, &[watched(2, 3, Some(budget))]);

    send(&mut world, 1, 4);
    pass(&mut world, Duration::from_ns(4 * FRAME_NS));

    let told = events(&mut world);
    let noticed: Vec<_> = told
        .iter()
        .map(|it| (it.priority, it.port, it.queue, it.budget, it.unsaid))
        .collect();
    assert_eq!(
        noticed,
        [(5, PortNumber(2), QueueId(3), budget, 0)],
        "the third is above, and the fourth waits for its second"
    );
    assert_eq!(told[0].at, Instant::from_ns(3 * FRAME_NS));
    assert_eq!(records(&mut world), [record(4, 4 * FRAME_NS, 2)]);
    pass(&mut world, Duration::from_secs(2));
    let later = events(&mut world);
    let frames: u64 = told.iter().chain(&later).map(|it| it.frames).sum();
    let longest = told.iter().chain(&later).map(|it| it.longest).max();
    assert_eq!(frames, 2);
    assert_eq!(longest, Some(Duration::from_ns(4 * FRAME_NS)));
}

#[test]
fn a_record_is_told_of_once_a_second_however_often_its_budget_is_missed() {
    let mut world = forwarding(paced());
    watch(&mut world, &[watched(2, 3, Some(Duration::ZERO))]);

    for _ in 0..1000 {
        send(&mut world, 1, 1);
        pass(&mut world, Duration::from_ms(10));
    }
    pass(&mut world, Duration::from_secs(2));

    let told = events(&mut world);
    assert!((10..=12).contains(&told.len()), "{} times", told.len());
    assert_eq!(told.iter().map(|it| it.frames).sum::<u64>(), 1000);
    let pauses = told.windows(2).map(|two| two[1].at - two[0].at);
    assert!(pauses.min() >= Some(Duration::from_secs(1)));
}

#[test]
fn a_switch_tells_of_64_records_a_second_and_says_how_many_it_holds_back() {
    let mut world = World::with_controller(unpaced());
    for priority in 1..=100 {
        let kind = MatchField::EthType(wire::ethernet::EtherType(0x8900 + priority));
        world.add(priority, &[kind], &[output(2)]);
    }
    watch(&mut world, &[watched(2, 0, Some(Duration::ZERO))]);
    world.now += Duration::from_us(1);

    for priority in 1..=100 {
        let bytes = frame(0x8900 + priority, &[0; 46]);
        let (port, arrived) = (PortNumber(1), Instant::ZERO);
        world.handle(Input::Frame {
            port,
            bytes: &bytes,
            arrived,
        });
    }
    pass(&mut world, Duration::from_ms(1));
    let at_once = events(&mut world);
    pass(&mut world, Duration::from_secs(2));
    let later = events(&mut world);

    assert_eq!(at_once.len(), 64);
    assert!(at_once.iter().all(|it| it.unsaid == 36), "{:?}", at_once[0]);
    assert_eq!(later.len(), 36);
}

#[test]
fn a_record_lives_as_long_as_its_entry() {
    let mut world = forwarding(unpaced());
    watch(&mut world, &[watched(2, 3, None), watched(3, 0, None)]);
    send(&mut world, 1, 2);

    // The same entry does something else, and is added again.
    let out = [output(3)];
    let changed = [Instruction::ApplyActions(wire::openflow::Actions::of(&out))];
    let fields = [from(1)];
    let again = |command, flags| FlowMod {
        command,
        flags,
        priority: 5,
        matching: Fields::of(&fields),
        instructions: Instructions::of(&changed),
        ..FlowMod::add(TableId(0))
    };
    world.tell(&Message::FlowMod(again(
        FlowModCommand::ModifyStrict,
        FlowModFlags::default(),
    )));
    send(&mut world, 1, 1);
    world.tell(&Message::FlowMod(again(
        FlowModCommand::Add,
        FlowModFlags::default(),
    )));
    send(&mut world, 1, 1);
    let other_port = Record {
        port: 3,
        queue: 0,
        ..record(2, 0, 0)
    };
    assert_eq!(records(&mut world), [record(2, 0, 0), other_port]);

    world.tell(&Message::FlowMod(again(
        FlowModCommand::DeleteStrict,
        FlowModFlags::default(),
    )));
    assert_eq!(records(&mut world), []);
    world.add(5, &[from(1)], &[queue(3), output(2)]);
    send(&mut world, 1, 1);
    assert_eq!(records(&mut world), [record(1, 0, 0)]);
}

#[test]
fn what_is_watched_is_replaced_and_begins_anew() {
    let mut world = forwarding(unpaced());
    let budget = Some(Duration::from_ms(1));
    watch(&mut world, &[watched(2, 3, None)]);
    send(&mut world, 1, 2);

    watch(&mut world, &[watched(2, 3, budget), watched(2, 3, None)]);
    send(&mut world, 1, 1);
    assert_eq!(
        records(&mut world),
        [record(3, 0, 0)],
        "it was watched before"
    );
    watch(&mut world, &[watched(2, 4, None)]);
    send(&mut world, 1, 1);
    assert_eq!(records(&mut world), []);
    watch(&mut world, &[]);

    assert_eq!(ask(&mut world), (HopCoverage::Nothing, 0, vec![]));
    assert_eq!(
        world.switch.deadline(),
        None,
        "nothing is looked at any more"
    );
}

#[test]
fn frames_that_no_entry_sends_are_charged_to_none() {
    let mut world = forwarding(unpaced());
    watch(&mut world, &[watched(2, 0, None)]);

    let actions = [output(2)];
    let bytes = frame(0x88b5, &[0; 46]);
    world.tell(&Message::PacketOut(wire::openflow::PacketOut {
        buffer: wire::openflow::BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: wire::openflow::Actions::of(&actions),
        data: &bytes,
    }));

    assert_eq!(world.take_sent().len(), 1);
    assert_eq!(records(&mut world), []);
}

#[test]
fn what_finds_no_room_is_counted_and_entries_that_go_make_room() {
    let mut config = unpaced();
    config.table_capacity = 4 * HOP_RECORDS_MAX;
    let mut world = World::with_controller(config);
    watch(&mut world, &[watched(2, 0, None)]);
    let flows = 2 * HOP_RECORDS_MAX;
    let address = |flow: usize| {
        let [.., high, low] = flow.to_be_bytes();
        wire::ethernet::MacAddress([2, 0, 0, 1, high, low])
    };
    let send_all = |world: &mut World| {
        for flow in 0..flows {
            let mut bytes = frame(0x88b5, &[0; 46]);
            bytes[..6].copy_from_slice(&address(flow).0);
            world.frame(1, &bytes);
        }
    };
    let add_all = |world: &mut World| {
        for flow in 0..flows {
            let to = wire::openflow::oxm::Masked::exact(address(flow));
            world.add(5, &[MatchField::EthDst(to)], &[output(2)]);
        }
    };
    add_all(&mut world);

    // More room is made as it is needed, up to the limit.
    let mut rounds = 0;
    while ask(&mut world).2.len() < HOP_RECORDS_MAX / 10 * 9 && rounds < 10 {
        send_all(&mut world);
        pass(&mut world, Duration::from_secs(1));
        rounds += 1;
    }
    let (_, before, full) = ask(&mut world);
    send_all(&mut world);
    let (_, no_room, still) = ask(&mut world);
    let delete = FlowMod {
        command: FlowModCommand::Delete,
        ..FlowMod::add(TableId(0))
    };
    world.tell(&Message::FlowMod(delete));
    pass(&mut world, Duration::from_secs(30));
    let (_, _, empty) = ask(&mut world);

    let kept = |records: &[Record]| u64::try_from(records.len()).expect("some thousands");
    let flows = u64::try_from(flows).expect("64 bits suffice");
    assert!(full.len() < HOP_RECORDS_MAX && still.len() < HOP_RECORDS_MAX);
    assert_eq!(kept(&still) + no_room - before, flows);
    assert!(
        full.len() * 100 > HOP_RECORDS_MAX * 98,
        "{} are kept",
        full.len()
    );
    assert_eq!(empty, []);
    add_all(&mut world);
    send_all(&mut world);
    assert!(ask(&mut world).2.len() * 100 > HOP_RECORDS_MAX * 98);
}

/// Ten thousand flows at one switch, each with a record, and frames of all are counted once
/// there is room.
#[test]
fn ten_thousand_flows_have_a_record_each() {
    const FLOWS: u32 = 10_000;
    let mut config = unpaced();
    config.table_capacity = 16_384;
    let mut world = World::with_controller(config);
    watch(&mut world, &[watched(2, 0, None)]);
    let address = |flow: u32| {
        let [a, b, c, d] = flow.to_be_bytes();
        wire::ethernet::MacAddress([2, 0, a, b, c, d])
    };
    let send = |world: &mut World, flow| {
        let mut bytes = frame(0x88b5, &[0; 46]);
        bytes[..6].copy_from_slice(&address(flow).0);
        world.frame(1, &bytes);
    };
    for flow in 0..FLOWS {
        let to = wire::openflow::oxm::Masked::exact(address(flow));
        world.add(5, &[MatchField::EthDst(to)], &[output(2)]);
        // Room is made in time if flows come one after the other.
        if flow % 100 == 0 {
            pass(&mut world, Duration::from_ms(200));
        }
        send(&mut world, flow);
    }

    let (_, no_room, records) = ask(&mut world);

    assert_eq!((records.len(), no_room), (10_000, 0));
    assert!(records.iter().all(|record| record.frames == 1));
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let mut world = forwarding(unpaced());
    watch(&mut world, &[watched(2, 3, None)]);
    let good = watched(2, 3, None);

    for (queues, failed) in [
        (vec![good, watched(9, 0, None)], HopFailed::BadPort),
        (vec![good, watched(2, 8, None)], HopFailed::BadQueue),
        (vec![good; 3 * 8 + 1], HopFailed::TooManyQueues),
    ] {
        let refused = world.refused(&config(&queues));

        assert_eq!(HopFailed::of(refused), Some(failed));
    }
    let said_by_a_switch = HopEvent {
        table: TableId(0),
        priority: 0,
        unsaid: 0,
        cookie: Cookie(0),
        port: PortNumber(1),
        queue: QueueId(0),
        budget: Duration::ZERO,
        longest: Duration::ZERO,
        frames: 0,
        at: Instant::ZERO,
    };
    let refused = world.refused(&Message::Hop(HopMessage::Event(said_by_a_switch)));
    assert_eq!(refused, ErrorKind::BadRequest(BadRequest::BadType));
    send(&mut world, 1, 1);
    assert_eq!(records(&mut world), [record(1, 0, 0)]);
}

#[test]
fn a_slave_may_ask_and_not_say_what_is_watched() {
    let mut world = forwarding(unpaced());
    let role = RoleMessage {
        role: Role::Slave,
        generation: 1,
    };
    world.ask(&Message::RoleRequest(role));

    let refused = world.refused(&config(&[watched(2, 3, None)]));

    assert_eq!(refused, ErrorKind::BadRequest(BadRequest::IsSlave));
    assert_eq!(ask(&mut world).0, HopCoverage::Nothing);
}

#[test]
fn users_of_the_machine_hear_nothing_unasked() {
    let mut world = forwarding(paced());
    let user = switch::ConnectionId(2);
    world.greet_as(user, Peer::Management);
    watch(&mut world, &[watched(2, 3, Some(Duration::ZERO))]);

    send(&mut world, 1, 1);
    pass(&mut world, Duration::from_ms(1));

    assert_eq!(events(&mut world).len(), 1);
    assert!(world.answers(user).is_empty());
}

fn compiled(departures: Departures, rate: Option<BitRate>) -> World {
    let config = Config {
        ports: ports(3, rate),
        ..unpaced()
    };
    let sizes = Sizes::new(&config, 64, 1);
    let mut world = World::with_controller(config);
    let memory = Memory::private(sizes).with_departures(departures);
    world.switch.compile_into(memory, Overflow::ToCore);
    for port in 1..=3 {
        let carried = Carried {
            interface: port,
            class: 0,
        };
        world.switch.carry_port(PortNumber(port), carried);
    }
    world.add(5, &[from(1)], &[queue(3), output(2)]);
    world
}

#[test]
fn walks_of_the_compiled_form_charge_the_same_entry() {
    let mut world = compiled(Departures::Seen, Some(BitRate::from_mbps(100)));
    watch(&mut world, &[watched(2, 3, None)]);
    while !world.switch.is_published() {
        assert!(world.switch.settle(), "nobody walks");
        world.switch.publish();
    }

    let bytes = frame(0x88b5, &[0; 46]);
    let (port, arrived) = (PortNumber(1), world.now);
    for _ in 0..2 {
        let bytes = &bytes;
        world.handle(Input::Walked {
            port,
            bytes,
            arrived,
        });
    }
    send(&mut world, 1, 1);
    pass(&mut world, Duration::from_ms(1));

    let (coverage, _, records) = ask(&mut world);
    assert_eq!(coverage, HopCoverage::All);
    assert_eq!(records, [record(3, 3 * FRAME_NS, 0)]);
}

#[test]
fn where_nobody_sees_what_walks_send_the_switch_says_so() {
    let mut world = compiled(Departures::Unseen, None);
    watch(&mut world, &[watched(2, 3, None)]);

    assert_eq!(ask(&mut world), (HopCoverage::CoreOnly, 0, vec![]));
    send(&mut world, 1, 1);
    assert_eq!(
        ask(&mut world),
        (HopCoverage::CoreOnly, 0, vec![record(1, 0, 0)])
    );
}

/// What others enter into the words is told as what the core has seen.
#[test]
fn frames_that_others_see_leave_are_told_within_a_quarter_of_a_second() {
    let mut world = forwarding(unpaced());
    let sizes = Sizes::new(&unpaced(), 64, 1);
    let (keys, hops) = (
        shared(&sizes, Region::HopKeys),
        shared(&sizes, Region::Hops),
    );
    let memory = Memory::new(sizes.clone(), |region| match region {
        Region::HopKeys => Box::new(Common(keys.clone())),
        Region::Hops => Box::new(Common(hops.clone())),
        other => Box::new(Common(shared(&sizes, other))),
    });
    world.switch.compile_into(memory, Overflow::ToCore);
    let budget = Duration::from_us(1);
    watch(&mut world, &[watched(2, 3, Some(budget))]);
    send(&mut world, 1, 1);
    let words = Region::Hops.record_words();
    let key = |at: usize| keys[at].load(std::sync::atomic::Ordering::Relaxed);
    let slot = (1..keys.len()).find(|at| key(*at) & hop::KEY_IS_THERE != 0);
    let slot = slot.expect("the core has taken a record");
    let add = |record: usize, word: usize, more: u64| {
        let word = &hops[record * words + word];
        word.fetch_add(more, std::sync::atomic::Ordering::Relaxed);
    };
    assert_eq!(
        hops[slot * words + hop::OWNER].load(std::sync::atomic::Ordering::Relaxed),
        0
    );

    add(slot, hop::BUCKETS + 9, 1);
    add(slot, hop::LONGEST, 3_000);
    add(slot, hop::PEAK, 3_000);
    add(slot, hop::ABOVE, 1);
    add(0, hop::ABOVE, 1);
    let begun = world.now;
    pass(&mut world, Duration::from_ms(250));

    let told = events(&mut world);
    assert_eq!(told.len(), 1);
    assert!(told[0].at - begun <= Duration::from_ms(250));
    assert_eq!(
        (told[0].frames, told[0].longest),
        (1, Duration::from_ns(3_000))
    );
    assert_eq!(records(&mut world), [record(2, 3_000, 1)]);
}

type Shared = std::sync::Arc<Vec<std::sync::atomic::AtomicU64>>;

fn shared(sizes: &Sizes, region: Region) -> Shared {
    let count = sizes.records(region) * region.record_words();
    let words = std::iter::repeat_with(Default::default);
    std::sync::Arc::new(words.take(count).collect())
}

/// Words that others change as well.
#[derive(Debug)]
struct Common(Shared);

impl switch::compiled::Words for Common {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn get(&self, at: usize) -> u64 {
        self.0[at].load(std::sync::atomic::Ordering::Relaxed)
    }

    fn set(&self, at: usize, value: u64) {
        self.0[at].store(value, std::sync::atomic::Ordering::Relaxed);
    }

    fn replace(&self, at: usize, before: u64, after: u64) -> bool {
        let order = std::sync::atomic::Ordering::Relaxed;
        let replaced = self.0[at].compare_exchange(before, after, order, order);
        replaced.is_ok()
    }

    fn lock(&self, _: usize) {}

    fn unlock(&self, _: usize) {}

    fn fence(&self) {}
}

#[test]
fn a_switch_that_begins_anew_watches_nothing() {
    let mut world = forwarding(unpaced());
    watch(&mut world, &[watched(2, 3, None)]);
    send(&mut world, 1, 1);

    let mut world = forwarding(unpaced());
    send(&mut world, 1, 1);

    assert_eq!(ask(&mut world), (HopCoverage::Nothing, 0, vec![]));
}
