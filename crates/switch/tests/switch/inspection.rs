//! What a controller can ask of a Taktos switch beyond OpenFlow 1.3.

use units::{Duration, Instant};
use wire::openflow::multipart::{MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{Answer as Told, Question};
use wire::openflow::{
    BadRequest, Cookie, ErrorKind, Experimenter, Message, PortNumber, QueueId, TableId,
};

use crate::frames::frame;
use crate::world::{Answer, World, from, output, paced};

fn ask(world: &mut World, question: Question) -> Vec<Answer> {
    let body = RequestBody::Experimenter(question.body());
    world.ask(&Message::MultipartRequest(MultipartRequest::new(body)))
}

fn told(answer: &Answer) -> (Told<'_>, bool) {
    match answer.message() {
        Message::MultipartReply(reply) => match reply.body {
            ReplyBody::Experimenter(body) => {
                let told = Told::parse(&body).expect("the switch writes what can be read");
                (told.expect("an answer of ours"), reply.more)
            }
            other => panic!("not what was expected: {other:?}"),
        },
        other => panic!("not what was expected: {other:?}"),
    }
}

/// Queues of two frames, three of which were to wait there; one is lost.
fn overloaded() -> World {
    let mut config = paced();
    config.queue_capacity = 2;
    let mut world = World::with_controller(config);
    world.add(5, &[from(1)], &[output(2)]);
    for _ in 0..4 {
        world.frame(1, &frame(0x88b5, &[0; 46]));
    }
    world.run_until(Instant::ZERO + Duration::from_ms(1));
    world
}

#[test]
fn the_cost_of_a_frame_is_told_for_the_tables_as_they_stand() {
    let mut world = overloaded();

    let answers = ask(&mut world, Question::Cost);

    let (Told::Cost(cost), false) = told(&answers[0]) else {
        panic!("not one answer about the cost");
    };
    assert_eq!((cost.frame.lookups, cost.frame.actions), (1, 1));
    let tables: Vec<_> = cost
        .tables
        .iter()
        .flatten()
        .map(|it| (it.table, it.entries))
        .collect();
    assert_eq!(tables, [(TableId(0), 1)]);
}

#[test]
fn the_stay_in_every_queue_that_was_used_is_told() {
    let mut world = overloaded();

    let answers = ask(&mut world, Question::Residence);

    let mut queues = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let (Told::Residence(part), more) = told(answer) else {
            panic!("not an answer about the stay");
        };
        assert_eq!(more, at + 1 < answers.len());
        for queue in part.iter().flatten() {
            let frames: u64 = queue.buckets.iter().flatten().map(|it| it.frames).sum();
            assert_eq!(frames, queue.frames);
            queues.push((queue.port, queue.queue, frames, queue.longest));
        }
    }
    let three_frames = Duration::from_ns(3 * 6_720);
    assert_eq!(queues, [(PortNumber(2), QueueId(0), 3, three_frames)]);
}

#[test]
fn an_entry_whose_frames_were_dropped_is_told_with_its_match() {
    let mut world = overloaded();

    let answers = ask(&mut world, Question::Losses);

    let (Told::Losses(entries), false) = told(&answers[0]) else {
        panic!("not one answer about losses");
    };
    let lost: Vec<_> = entries.iter().flatten().collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(
        (lost[0].priority, lost[0].cookie, lost[0].dropped),
        (5, Cookie(0), 1)
    );
    assert_eq!(
        lost[0].matching.iter().flatten().collect::<Vec<_>>(),
        [from(1)]
    );
}

#[test]
fn what_the_switch_did_adds_up() {
    let mut world = overloaded();

    let answers = ask(&mut world, Question::Tally);

    let (Told::Tally(tally), false) = told(&answers[0]) else {
        panic!("not one answer about the whole");
    };
    assert_eq!((tally.frames, tally.outputs), (4, 4));
    assert_eq!(tally.outputs, tally.sent + tally.waiting + tally.dropped);
    assert_eq!(tally.dropped, 1);
}

#[test]
fn a_question_that_nobody_knows_is_refused() {
    let mut world = World::with_controller(paced());
    let ours = Question::Cost.body();
    for (body, code) in [
        (
            Experimenter { kind: 99, ..ours },
            BadRequest::BadExperimenterType,
        ),
        (
            Experimenter {
                experimenter: 1,
                ..ours
            },
            BadRequest::BadExperimenter,
        ),
    ] {
        let body = RequestBody::Experimenter(body);

        let refused = world.refused(&Message::MultipartRequest(MultipartRequest::new(body)));

        assert_eq!(refused, ErrorKind::BadRequest(code));
    }
}
