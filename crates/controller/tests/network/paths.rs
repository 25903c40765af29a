//! Questions for paths.

use controller::northbound::{
    Endpoint, FoundPath, NoPath, PathLoad, PathQuery, PathWish, Protection, Traffic,
};
use controller::{Reply, Request};
use units::{BitRate, DataSize, Delay};

use crate::fake::{Network, PROMISED, group, link, requirement};
use crate::{DIAMOND, RING};

#[test]
fn the_shortest_paths_come_in_order_and_reserve_nothing() {
    let mut network = Network::started(5, &RING);
    let before = network.request(Request::Promises);

    let paths = ask(&mut network, query(1, 3, (PathWish::Shortest, 5))).unwrap();

    let switches = |path: &FoundPath| path.route.switches.join(" ");
    let all: Vec<String> = paths.iter().map(switches).collect();
    assert_eq!(all, ["s1 s2 s3", "s1 s5 s4 s3"]);
    assert_eq!(
        paths.iter().map(|path| path.cost).collect::<Vec<_>>(),
        [2, 3]
    );
    assert_eq!(network.request(Request::Promises), before);
}

#[test]
fn a_link_to_avoid_or_that_is_cut_is_on_no_path() {
    let mut network = Network::started(4, &DIAMOND);
    let mut question = query(1, 4, (PathWish::Shortest, 4));
    question.avoid = vec![link(1, 2)];

    let beside = ask(&mut network, question).unwrap();
    network.cut(1, 3);
    let left = ask(&mut network, query(1, 4, (PathWish::Shortest, 4))).unwrap();

    assert_eq!(beside.len(), 1);
    assert_eq!(beside[0].route.switches, ["s1", "s3", "s4"]);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].route.switches, ["s1", "s2", "s4"]);
}

#[test]
fn disjoint_paths_are_as_many_as_were_asked_for_or_their_number_is_told() {
    let mut network = Network::started(4, &DIAMOND);

    let two = ask(&mut network, query(1, 4, (PathWish::SwitchDisjoint, 2))).unwrap();
    let three = ask(&mut network, query(1, 4, (PathWish::LinkDisjoint, 3)));

    assert_eq!(two.len(), 2);
    assert_eq!(
        three,
        Err(NoPath::TooFew {
            found: 2,
            wanted: 3
        })
    );
}

#[test]
fn a_path_with_room_is_found_beside_one_that_is_full() {
    let mut network = Network::started(4, &DIAMOND);
    let question = with(query(1, 4, (PathWish::Shortest, 1)), load());
    let first = ask(&mut network, question.clone()).unwrap();
    let mut greedy = requirement("greedy", 1, &[2], group(1));
    greedy.traffic.burst = DataSize::from_bytes(4_000);
    greedy.protection = Protection::None;
    network.admit(greedy).unwrap();

    let second = ask(&mut network, question).unwrap();

    assert_eq!(first[0].route.switches, ["s1", "s2", "s4"]);
    assert_eq!(second[0].route.switches, ["s1", "s3", "s4"]);
}

/// What is answered is what a flow would be promised.
#[test]
fn the_guarantee_of_a_path_is_that_of_a_flow_on_it() {
    let mut network = Network::started(4, &DIAMOND);
    let question = with(query(1, 4, (PathWish::LinkDisjoint, 2)), load());

    let paths = ask(&mut network, question).unwrap();
    let mut flow = requirement("trip", 1, &[4], group(1));
    flow.traffic = load().traffic;
    flow.protection = Protection::None;
    let accepted = network.admit(flow).unwrap();

    assert_eq!(paths[0].route, *accepted.route);
    assert_eq!(paths[0].guarantee, accepted.guarantee);
    assert_eq!(paths[1].route.switches, ["s1", "s3", "s4"]);
}

#[test]
fn where_no_path_is_quick_enough_the_reason_is_told() {
    let mut network = Network::started(4, &DIAMOND);
    let mut hasty = load();
    hasty.deadline = Delay::from_us(1);

    for wish in [(PathWish::Shortest, 2), (PathWish::SwitchDisjoint, 2)] {
        let none = ask(&mut network, with(query(1, 4, wish), hasty));

        let Err(NoPath::NoRoom { reason }) = none else {
            panic!("{none:?}")
        };
        assert!(reason.contains("1 us"), "{reason}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let mut network = Network::started(4, &DIAMOND);
    let mut question = query(1, 4, (PathWish::Shortest, 1));
    question.to = Endpoint::Host("nobody".into());

    let name = "nobody".to_owned();
    assert_eq!(
        ask(&mut network, question),
        Err(NoPath::UnknownHost { name })
    );
}

fn ask(network: &mut Network, query: PathQuery) -> Result<Vec<FoundPath>, NoPath> {
    match &network.request(Request::Paths(query))[..] {
        [Reply::Paths(paths)] => paths.clone(),
        other => panic!("{other:?}"),
    }
}

fn query(from: u64, to: u64, (wish, count): (PathWish, usize)) -> PathQuery {
    PathQuery {
        from: Endpoint::Host(format!("h{from}")),
        to: Endpoint::Host(format!("h{to}")),
        wish,
        count,
        avoid: Vec::new(),
        load: None,
    }
}

fn with(query: PathQuery, load: PathLoad) -> PathQuery {
    PathQuery {
        load: Some(load),
        ..query
    }
}

fn load() -> PathLoad {
    let frame = DataSize::from_bytes(150);
    PathLoad {
        class: PROMISED,
        traffic: Traffic {
            rate: BitRate::from_bps(10_000_000),
            burst: frame,
            largest_frame: frame,
            smallest_frame: frame,
            frames: None,
        },
        deadline: Delay::from_us(20_000),
    }
}
