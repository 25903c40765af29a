//! What controllers may ask about groups, OF13 clauses 7.3.5.9 to 7.3.5.11.

use units::{Duration, Instant};
use wire::openflow::multipart::{
    BucketCounters, GroupCapabilities, MultipartRequest, ReplyBody, RequestBody,
};
use wire::openflow::{Buckets, GroupId, GroupModCommand, GroupType, Message};

use crate::ways::{add, bucket, change, plain, stamp, to_group, weighing, written};
use crate::world::{Answer, World, from, output, unpaced};

fn ask(world: &mut World, body: RequestBody<'_>) -> Vec<Answer> {
    world.ask(&Message::MultipartRequest(MultipartRequest::new(body)))
}

fn body(answer: &Answer) -> ReplyBody<'_> {
    match answer.message() {
        Message::MultipartReply(reply) => reply.body,
        other => panic!("not what was expected: {other:?}"),
    }
}

/// How many references each group has.
pub fn references(world: &mut World) -> Vec<u32> {
    let answers = ask(world, RequestBody::Group(GroupId::ALL));
    let ReplyBody::Group(groups) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let groups = groups.iter().map(|group| group.expect("good messages"));
    groups.map(|group| group.references).collect()
}

/// OF13 clauses 5.8 and 7.3.5.9.
#[test]
fn groups_and_buckets_are_counted_for_as_long_as_they_are_there() {
    let mut world = World::with_controller(unpaced());
    world.run_until(Instant::ZERO + Duration::from_ms(500));
    add(&mut world, 1, GroupType::All, &[bucket(&[output(2)])]);
    add(
        &mut world,
        2,
        GroupType::All,
        &[bucket(&[to_group(1)]), bucket(&[output(3)])],
    );
    world.add(1, &[from(1)], &[to_group(2), to_group(2)]);
    world.add(1, &[from(2)], &[to_group(1)]);
    world.frame(1, &plain());
    world.frame(2, &plain());
    world.run_until(Instant::ZERO + Duration::from_ms(2_000));

    let answers = ask(&mut world, RequestBody::Group(GroupId::ALL));

    let ReplyBody::Group(groups) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let groups: Vec<_> = groups.iter().map(Result::unwrap).collect();
    let counted: Vec<_> = groups
        .iter()
        .map(|it| (it.group.0, it.references, it.packets, it.bytes))
        .collect();
    assert_eq!(counted, [(1, 2, 3, 180), (2, 1, 2, 120)]);
    assert!(groups.iter().all(|it| it.age == Duration::from_ms(1_500)));
    let (packets, bytes) = (2, 120);
    let each = BucketCounters { packets, bytes };
    assert!(groups[1].buckets.iter().eq([Ok(each), Ok(each)]));
}

/// OF13 clause 7.3.5.9: one group, or none if it is not there.
#[test]
fn one_group_can_be_asked_about() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[]);
    add(&mut world, 2, GroupType::All, &[]);

    for (group, expected) in [(2, &[GroupId(2)][..]), (3, &[])] {
        let answers = ask(&mut world, RequestBody::Group(GroupId(group)));
        let ReplyBody::Group(groups) = body(&answers[0]) else {
            panic!("not what was expected")
        };
        let groups: Vec<_> = groups.iter().map(|it| it.unwrap().group).collect();
        assert_eq!(groups, expected);
    }
}

/// OF13 clause 7.3.5: many groups, in several messages, each once, and each with
/// all of its buckets.
#[test]
fn many_groups_come_in_parts_of_which_only_the_last_says_that_it_is() {
    let mut world = World::with_controller(unpaced());
    for group in 0..300 {
        add(
            &mut world,
            group,
            GroupType::All,
            &[bucket(&[output(2)]); 9],
        );
    }
    let whole = vec![bucket(&[output(2), output(3), stamp()]); 256];
    add(&mut world, 300, GroupType::All, &whole);

    for question in [
        RequestBody::Group(GroupId::ALL),
        RequestBody::GroupDescription,
    ] {
        let answers = ask(&mut world, question);

        let mut seen = Vec::new();
        for (place, answer) in (1..).zip(&answers) {
            let Message::MultipartReply(reply) = answer.message() else {
                panic!("not what was expected")
            };
            assert_eq!(reply.more, place < answers.len());
            match reply.body {
                ReplyBody::Group(groups) => seen.extend(groups.iter().map(|group| {
                    let group = group.unwrap();
                    (group.group.0, group.buckets.iter().count())
                })),
                ReplyBody::GroupDescription(groups) => seen.extend(groups.iter().map(|group| {
                    let group = group.unwrap();
                    (group.group.0, group.buckets.iter().count())
                })),
                other => panic!("not what was expected: {other:?}"),
            }
        }
        assert!(answers.len() > 2);
        let expected = (0..300).map(|group| (group, 9)).chain([(300, 256)]);
        assert!(seen.into_iter().eq(expected));
    }
}

/// OF13 clause 6.5: the counters of the group go on, those of the buckets begin
/// anew.
#[test]
fn a_changed_group_keeps_its_own_counters() {
    let mut world = World::with_controller(unpaced());
    add(&mut world, 1, GroupType::All, &[bucket(&[output(2)])]);
    world.add(1, &[from(1)], &[to_group(1)]);
    world.frame(1, &plain());
    let buckets = [bucket(&[output(3)])];

    let message = change(GroupModCommand::Modify, 1, GroupType::Indirect, &buckets);
    let (_, message) = Message::parse(&message).unwrap();
    world.tell(&message);

    let answers = ask(&mut world, RequestBody::Group(GroupId(1)));
    let ReplyBody::Group(groups) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let group = groups.iter().next().unwrap().unwrap();
    assert_eq!((group.packets, group.references), (1, 1));
    assert!(group.buckets.iter().eq([Ok(BucketCounters::default())]));
}

/// OF13 clause 7.3.5.10.
#[test]
fn a_group_is_given_back_as_it_was_sent() {
    let mut world = World::with_controller(unpaced());
    let heavy = bucket(&[output(3), output(2)]);
    let buckets = [weighing(3, heavy), bucket(&[])];
    add(&mut world, 4, GroupType::Select, &buckets);

    let answers = ask(&mut world, RequestBody::GroupDescription);

    let ReplyBody::GroupDescription(groups) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    let groups: Vec<_> = groups.iter().map(Result::unwrap).collect();
    assert_eq!(groups.len(), 1);
    assert_eq!(
        (groups[0].group, groups[0].kind),
        (GroupId(4), GroupType::Select)
    );
    assert_eq!(groups[0].buckets, Buckets::from_bytes(&written(&buckets)));
}

/// OF13 clause 7.3.5.11.
#[test]
fn the_switch_says_what_groups_can_be() {
    let mut world = World::with_controller(unpaced());

    let answers = ask(&mut world, RequestBody::GroupFeatures);

    let ReplyBody::GroupFeatures(features) = body(&answers[0]) else {
        panic!("not what was expected")
    };
    assert_eq!((features.types, features.max_groups), (0xf, [1_024; 4]));
    assert_eq!(features.capabilities, GroupCapabilities(0xf));
    // Output, queue, group and set-field among them.
    let needed = 1 | 1 << 21 | 1 << 22 | 1 << 25;
    assert!(features.actions.iter().all(|it| it & needed == needed));
}
