//! What controllers may ask about what was, OF13 clause 7.3.5.

use units::{Duration, Instant};
use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{
    Actions, BadRequest, Cookie, ErrorKind, Fields, FlowMod, Instruction, Instructions, Message,
    PortNumber, QueueId, QueueOpFailed, TableId,
};

use crate::frames::frame;
use crate::world::{Answer, World, from, output, paced};

fn ask(world: &mut World, body: RequestBody<'_>) -> Vec<Answer> {
    world.ask(&Message::MultipartRequest(MultipartRequest::new(body)))
}

fn body(answer: &Answer) -> ReplyBody<'_> {
    match answer.message() {
        Message::MultipartReply(reply) => reply.body,
        other => panic!("not what was expected: {other:?}"),
    }
}

/// A switch that has forwarded three frames of 60 bytes from port 1 to port 2,
/// and missed one.
fn used() -> World {
    let mut world = World::with_controller(paced());
    world.add(5, &[from(1)], &[output(2)]);
    world.run_until(Instant::ZERO + Duration::from_ms(1_500));
    for port in [1, 1, 1, 3] {
        world.frame(port, &frame(0x88b5, &[0; 46]));
    }
    world.run_until(Instant::ZERO + Duration::from_ms(2_500));
    world
}

/// OF13 clause 7.3.5.2.
#[test]
fn an_entry_is_given_back_as_it_was_sent_with_what_it_did() {
    let mut world = used();

    let answers = ask(
        &mut world,
        RequestBody::Flow(FlowStatisticsRequest::all(TableId(0))),
    );

    let ReplyBody::Flow(flows) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let flows: Vec<_> = flows.iter().map(Result::unwrap).collect();
    assert_eq!(flows.len(), 1);
    assert_eq!(
        (flows[0].packets, flows[0].bytes, flows[0].priority),
        (3, 180, 5)
    );
    assert_eq!(flows[0].age, Duration::from_ms(2_500));
    assert_eq!(flows[0].matching, Fields::of(&[from(1)]));
    let actions = [output(2)];
    let expected = [Instruction::ApplyActions(Actions::of(&actions))];
    assert_eq!(flows[0].instructions, Instructions::of(&expected));
}

/// OF13 clause 7.3.5.2: many entries, in several messages, each once.
#[test]
fn many_entries_come_in_parts_of_which_only_the_last_says_that_it_is() {
    let mut world = World::with_controller(paced());
    for cookie in 0..2_000u16 {
        world.tell(&Message::FlowMod(FlowMod {
            priority: cookie,
            cookie: Cookie(cookie.into()),
            ..FlowMod::add(TableId(u8::try_from(cookie % 3).unwrap()))
        }));
    }

    let answers = ask(
        &mut world,
        RequestBody::Flow(FlowStatisticsRequest::all(TableId::ALL)),
    );

    let more: Vec<_> = answers
        .iter()
        .map(|answer| match answer.message() {
            Message::MultipartReply(reply) => reply.more,
            other => panic!("not what was expected: {other:?}"),
        })
        .collect();
    assert!(more.len() > 1);
    assert_eq!(more.iter().position(|more| !more), Some(more.len() - 1));
    let mut cookies = Vec::new();
    for answer in &answers {
        let ReplyBody::Flow(flows) = body(answer) else {
            panic!("not what was expected")
        };
        cookies.extend(flows.iter().map(|flow| flow.unwrap().cookie.0));
    }
    cookies.sort_unstable();
    assert_eq!(cookies, (0..2_000).collect::<Vec<_>>());
}

/// OF13 clause 7.3.5.3.
#[test]
fn an_aggregate_adds_up_what_is_asked_for() {
    let mut world = used();
    world.add(6, &[from(2)], &[]);
    let all = FlowStatisticsRequest::all(TableId::ALL);
    for (request, expected) in [
        (all, (3, 180, 2)),
        (
            FlowStatisticsRequest {
                out_port: PortNumber(2),
                ..all
            },
            (3, 180, 1),
        ),
        (
            FlowStatisticsRequest {
                matching: Fields::of(&[from(2)]),
                ..all
            },
            (0, 0, 1),
        ),
        (FlowStatisticsRequest::all(TableId(1)), (0, 0, 0)),
    ] {
        let answers = ask(&mut world, RequestBody::Aggregate(request));

        let ReplyBody::Aggregate(sum) = body(&answers[0]) else {
            panic!("not what was expected")
        };
        assert_eq!((sum.packets, sum.bytes, sum.flows), expected);
    }
}

/// OF13 clause 7.3.5.4.
#[test]
fn tables_count_lookups_and_matches() {
    let mut world = used();

    let answers = ask(&mut world, RequestBody::Table);

    let ReplyBody::Table(tables) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let tables: Vec<_> = tables.iter().map(Result::unwrap).collect();
    assert_eq!(tables.len(), 16);
    assert_eq!(
        (tables[0].entries, tables[0].lookups, tables[0].matched),
        (1, 4, 3)
    );
    assert_eq!((tables[1].entries, tables[1].lookups), (0, 0));
}

/// OF13 clause 7.3.5.6.
#[test]
fn ports_count_what_came_and_what_left() {
    let mut world = used();

    let one = ask(&mut world, RequestBody::PortStatistics(PortNumber(2)));
    let all = ask(&mut world, RequestBody::PortStatistics(PortNumber::ANY));

    let (ReplyBody::PortStatistics(one), ReplyBody::PortStatistics(all)) =
        (body(&one[0]), body(&all[0]))
    else {
        panic!("not what was expected")
    };
    let one: Vec<_> = one.iter().map(Result::unwrap).collect();
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].sent_packets, one[0].sent_bytes), (3, 180));
    assert_eq!(one[0].age, Duration::from_ms(2_500));
    let received: Vec<_> = all.iter().map(|it| it.unwrap().received_packets).collect();
    assert_eq!(received, [3, 0, 1]);
}

/// OF13 clause 7.3.5.8.
#[test]
fn queues_count_what_left_through_them() {
    let mut world = used();
    let (port, queue) = (PortNumber(2), QueueId(0));

    let one = ask(&mut world, RequestBody::Queue { port, queue });
    let all = RequestBody::Queue {
        port: PortNumber::ANY,
        queue: QueueId::ALL,
    };
    let all = ask(&mut world, all);

    let (ReplyBody::Queue(one), ReplyBody::Queue(all)) = (body(&one[0]), body(&all[0])) else {
        panic!("not what was expected")
    };
    let one: Vec<_> = one.iter().map(Result::unwrap).collect();
    assert_eq!(
        (one.len(), one[0].sent_packets, one[0].sent_bytes),
        (1, 3, 180)
    );
    assert_eq!(all.iter().count(), 3 * 8);
}

/// OF13 clause 7.3.5.7.
#[test]
fn ports_are_described_with_their_speed() {
    let mut world = used();

    let answers = ask(&mut world, RequestBody::PortDescription);

    let ReplyBody::PortDescription(ports) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let ports: Vec<_> = ports.iter().map(Result::unwrap).collect();
    let names: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["port1", "port2", "port3"]);
    assert_eq!(ports[0].current_speed_kbps, 100_000);
    assert!(ports[0].is_up());
}

/// OF13 clause 7.3.5.1.
#[test]
fn the_switch_says_who_made_it() {
    let mut world = used();

    let answers = ask(&mut world, RequestBody::Description);

    let ReplyBody::Description(description) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    assert_eq!(description.manufacturer, "Taktos");
    assert_eq!(description.datapath, "0000000000000001");
}

/// OF13 clause 7.4.4.
#[test]
fn questions_about_what_is_not_there_are_refused() {
    let mut world = used();
    let port = PortNumber(9);
    for (request, expected) in [
        (
            RequestBody::PortStatistics(port),
            ErrorKind::BadRequest(BadRequest::BadPort),
        ),
        (
            RequestBody::Queue {
                port,
                queue: QueueId::ALL,
            },
            ErrorKind::QueueOpFailed(QueueOpFailed::BadPort),
        ),
        (
            RequestBody::Queue {
                port: PortNumber(1),
                queue: QueueId(8),
            },
            ErrorKind::QueueOpFailed(QueueOpFailed::BadQueue),
        ),
        (
            RequestBody::Flow(FlowStatisticsRequest::all(TableId(99))),
            ErrorKind::BadRequest(BadRequest::BadTableId),
        ),
    ] {
        let message = Message::MultipartRequest(MultipartRequest::new(request));
        assert_eq!(world.refused(&message), expected);
    }
}
