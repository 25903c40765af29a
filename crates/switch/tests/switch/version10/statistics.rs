//! What was, in version 1.0: OF10 section 5.3.5.

use units::Duration;
use wire::openflow::{Cookie, QueueId, TableId};
use wire::openflow10::statistics::{
    FlowStatistics, FlowStatisticsRequest, ReplyBody, RequestBody, StatisticsReply,
    StatisticsRequest,
};
use wire::openflow10::{Action, ErrorKind, Match10, Message, PortNumber, QueueOpFailed, Wildcards};

use super::{add, ask, flow_mod, from, output, refused, tell, world};
use crate::frames::frame;
use crate::world::{Answer, World, paced, unpaced};

fn question(body: RequestBody<'_>) -> Message<'_> {
    Message::StatisticsRequest(StatisticsRequest { body })
}

/// Asks, and returns the answers.
fn statistics(world: &mut World, body: RequestBody<'_>) -> Vec<Answer> {
    ask(world, &question(body))
}

fn body(answer: &Answer) -> ReplyBody<'_> {
    match answer.narrow() {
        Message::StatisticsReply(reply) => reply.body,
        other => panic!("no statistics: {other:?}"),
    }
}

/// Lists all entries, by number.
pub fn entries<T>(world: &mut World, read: impl Fn(FlowStatistics<'_>) -> T) -> Vec<T> {
    entries_of(world, FlowStatisticsRequest::ALL, read)
}

fn entries_of<T>(
    world: &mut World,
    request: FlowStatisticsRequest,
    read: impl Fn(FlowStatistics<'_>) -> T,
) -> Vec<T> {
    let mut found = Vec::new();
    for answer in &statistics(world, RequestBody::Flow(request)) {
        let ReplyBody::Flow(flows) = body(answer) else {
            panic!("no entries: {:?}", answer.narrow())
        };
        found.extend(flows.iter().map(|flow| read(flow.expect("an entry"))));
    }
    found
}

#[test]
fn the_description_names_the_switch() {
    let mut world = world(unpaced());

    let answers = statistics(&mut world, RequestBody::Description);

    let ReplyBody::Description(description) = body(&answers[0]) else {
        panic!("no description: {:?}", answers[0].narrow())
    };
    assert_eq!(description.manufacturer, "Taktos");
    assert_eq!(description.datapath, "0000000000000001");
}

#[test]
fn an_entry_is_listed_as_it_was_written() {
    let mut world = world(unpaced());
    let actions = [
        Action::SetVlanVid(9),
        Action::SetTpDst(80),
        Action::Enqueue {
            port: PortNumber(2),
            queue: QueueId(3),
        },
    ];
    let mut written = flow_mod(7, from(1), &actions);
    written.cookie = Cookie(0xc0de);
    written.idle_timeout_s = 10;
    written.hard_timeout_s = 20;
    tell(&mut world, &Message::FlowMod(written));
    world.frame(1, &frame(0x88b5, &[0; 46]));
    let end = world.now + Duration::from_ms(1_500);
    world.run_until(end);

    let count = entries(&mut world, |entry| {
        assert_eq!(entry.table, TableId(0));
        assert_eq!((entry.matching, entry.priority), (from(1), 7));
        assert_eq!((entry.idle_timeout_s, entry.hard_timeout_s), (10, 20));
        assert_eq!(entry.cookie, Cookie(0xc0de));
        assert_eq!((entry.packets, entry.bytes), (1, 60));
        assert_eq!(entry.age, Duration::from_ms(1_500));
        let listed: Vec<_> = entry.actions.iter().map(Result::unwrap).collect();
        assert_eq!(listed, actions);
    });

    assert_eq!(count.len(), 1);
}

#[test]
fn entries_are_chosen_by_match_table_and_port() {
    let mut world = world(unpaced());
    add(&mut world, 1, from(1), &[output(2)]);
    add(&mut world, 2, from(1), &[output(3)]);
    add(&mut world, 3, from(2), &[output(3)]);
    let all = FlowStatisticsRequest::ALL;
    let (out_port, matching) = (PortNumber(3), from(1));
    for (request, expected) in [
        (all, vec![1, 2, 3]),
        (FlowStatisticsRequest { matching, ..all }, vec![1, 2]),
        (FlowStatisticsRequest { out_port, ..all }, vec![2, 3]),
        (
            FlowStatisticsRequest {
                table: TableId(0),
                matching,
                out_port,
            },
            vec![2],
        ),
        (
            FlowStatisticsRequest {
                table: TableId(1),
                ..all
            },
            vec![],
        ),
    ] {
        let priorities = entries_of(&mut world, request, |entry| entry.priority);
        assert_eq!(priorities, expected, "{request:?}");

        let answers = statistics(&mut world, RequestBody::Aggregate(request));
        let ReplyBody::Aggregate(sum) = body(&answers[0]) else {
            panic!("no sum: {:?}", answers[0].narrow())
        };
        assert_eq!(usize::try_from(sum.flows).unwrap(), expected.len());
    }
}

#[test]
fn a_long_list_comes_in_parts_of_which_only_the_last_is_the_last() {
    let mut world = world(unpaced());
    for priority in 0..1_000 {
        add(&mut world, priority, from(1), &[output(2)]);
    }

    let answers = statistics(&mut world, RequestBody::Flow(FlowStatisticsRequest::ALL));

    let more = answers.iter().map(|answer| match answer.narrow() {
        Message::StatisticsReply(StatisticsReply { more, .. }) => more,
        other => panic!("no statistics: {other:?}"),
    });
    let more: Vec<_> = more.collect();
    assert!(more.len() > 2);
    let (last, before) = more.split_last().unwrap();
    assert!(!last && before.iter().all(|more| *more));
    assert_eq!(entries(&mut world, |entry| entry.priority).len(), 1_000);
}

#[test]
fn there_is_one_table() {
    let mut world = world(unpaced());
    add(&mut world, 1, from(1), &[output(2)]);
    world.frame(1, &frame(0x88b5, b""));
    world.frame(2, &frame(0x88b5, b""));
    world.answers(crate::world::CONTROLLER);

    let answers = statistics(&mut world, RequestBody::Table);

    let ReplyBody::Table(tables) = body(&answers[0]) else {
        panic!("no tables: {:?}", answers[0].narrow())
    };
    let tables: Vec<_> = tables.iter().map(Result::unwrap).collect();
    assert_eq!(tables.len(), 1);
    let table = tables[0];
    assert_eq!((table.table, table.wildcards), (TableId(0), Wildcards::ALL));
    assert_eq!((table.max_entries, table.entries), (10_000, 1));
    assert_eq!((table.lookups, table.matched), (2, 1));
}

#[test]
fn ports_and_queues_tell_what_they_carried() {
    let mut world = world(paced());
    let enqueue = Action::Enqueue {
        port: PortNumber(2),
        queue: QueueId(5),
    };
    add(&mut world, 1, from(1), &[enqueue]);
    world.frame(1, &frame(0x88b5, &[0; 46]));

    let ports = statistics(&mut world, RequestBody::Port(PortNumber::NONE));
    let one = statistics(&mut world, RequestBody::Port(PortNumber(2)));
    let (port, queue) = (PortNumber(2), QueueId(5));
    let queues = statistics(&mut world, RequestBody::Queue { port, queue });
    let (port, queue) = (PortNumber::ALL, QueueId::ALL);
    let all_queues = statistics(&mut world, RequestBody::Queue { port, queue });

    let sent = |answer: &Answer| match body(answer) {
        ReplyBody::Port(ports) => ports.iter().map(|it| it.unwrap().sent_packets).collect(),
        ReplyBody::Queue(queues) => queues.iter().map(|it| it.unwrap().sent_packets).collect(),
        other => panic!("neither: {other:?}"),
    };
    let sent: [Vec<u64>; 3] = [sent(&ports[0]), sent(&one[0]), sent(&queues[0])];
    assert_eq!(sent, [vec![0, 1, 0], vec![1], vec![1]]);
    let ReplyBody::Queue(all_queues) = body(&all_queues[0]) else {
        panic!("no queues")
    };
    assert_eq!(all_queues.iter().count(), 24);
}

/// OF10 section 5.4.4 has an error for queues, and none for ports.
#[test]
fn what_a_port_that_is_not_there_carried_is_nothing() {
    let mut world = world(unpaced());
    let (port, queue) = (PortNumber(9), QueueId::ALL);

    let ports = statistics(&mut world, RequestBody::Port(port));
    let kind = refused(&mut world, &question(RequestBody::Queue { port, queue }));
    let port = PortNumber(1);
    let queue = QueueId(8);
    let no_queue = refused(&mut world, &question(RequestBody::Queue { port, queue }));

    let ReplyBody::Port(ports) = body(&ports[0]) else {
        panic!("no ports")
    };
    assert_eq!(ports.iter().count(), 0);
    assert_eq!(kind, ErrorKind::QueueOpFailed(QueueOpFailed::BadPort));
    assert_eq!(no_queue, ErrorKind::QueueOpFailed(QueueOpFailed::BadQueue));
}

#[test]
fn the_aggregate_of_nothing_is_nothing() {
    let mut world = world(unpaced());
    let matching = Match10::ANY;
    let request = FlowStatisticsRequest {
        matching,
        ..FlowStatisticsRequest::ALL
    };

    let answers = statistics(&mut world, RequestBody::Aggregate(request));

    let ReplyBody::Aggregate(sum) = body(&answers[0]) else {
        panic!("no sum")
    };
    assert_eq!((sum.flows, sum.packets, sum.bytes), (0, 0, 0));
}
