//! Frames that wait are judged by the level in force when their turn comes (S2-7).

use std::collections::BTreeMap;

use proptest::prelude::*;
use units::{BitRate, Duration};
use wire::mode_signal::{Kind, Level};
use wire::openflow::taktos::{QueuedFrameAction, QueuedFrameActions};
use wire::openflow::{Action, MatchField, QueueId};

use super::{held, mode, pass, signal, taking_part};
use crate::frames::frame;
use crate::world::{World, output};

const RATE: BitRate = BitRate::from_mbps(100);

/// Frames of this type wait in a queue and have these fates.
#[derive(Clone, Debug)]
struct Flow {
    queue: u8,
    fates: QueuedFrameActions,
}

fn ether_type(flow: usize) -> u16 {
    0x8900 + u16::try_from(flow).expect("few flows")
}

fn with_flows(flows: &[Flow]) -> World {
    let mut world = taking_part(Some(RATE));
    for (at, flow) in flows.iter().enumerate() {
        let kind = MatchField::EthType(wire::ethernet::EtherType(ether_type(at)));
        let actions = [
            Action::SetQueue(QueueId(u32::from(flow.queue))),
            Action::QueuedFrame(flow.fates),
            output(2),
        ];
        world.add(5, &[kind], &actions);
    }
    pass(&mut world, Duration::from_ms(1));
    world.take_sent();
    world
}

fn send(world: &mut World, flow: usize, mark: u8) {
    world.frame(1, &frame(ether_type(flow), &[mark; 46]));
}

fn enter(world: &mut World, era: u32, level: u8) {
    world.frame(3, &signal(Kind::Signal, mode(era, level), 3));
}

/// Returns the flows and marks of the frames that left by port 2.
fn left(world: &mut World) -> Vec<(usize, u8)> {
    let sent = world.take_sent();
    let sent = sent.iter().filter(|(port, _)| *port == 2);
    sent.map(|(_, it)| (usize::from(it[13]), it[14])).collect()
}

#[test]
fn frames_that_a_level_drops_do_not_leave_and_are_counted() {
    let dropped = QueuedFrameActions::STAY.with(super::level(1), QueuedFrameAction::Drop);
    let stays = QueuedFrameActions::STAY;
    let mut world = with_flows(&[
        Flow {
            queue: 5,
            fates: dropped,
        },
        Flow {
            queue: 3,
            fates: stays,
        },
    ]);
    for mark in 0..100 {
        send(&mut world, 0, mark);
    }
    send(&mut world, 1, 200);

    enter(&mut world, 0, 1);
    pass(&mut world, Duration::from_ms(10));

    assert_eq!(
        left(&mut world),
        [(0, 0), (1, 200)],
        "the first was under way"
    );
    let (_, _, counters) = held(&mut world);
    assert_eq!((counters.queued_dropped, counters.queued_moved), (99, 0));
    assert_eq!(world.switch.counters().dropped, 99);
}

#[test]
fn a_frame_behind_dropped_ones_leaves_as_soon_as_the_port_is_free() {
    let dropped = QueuedFrameActions::STAY.with(super::level(1), QueuedFrameAction::Drop);
    let mut world = with_flows(&[
        Flow {
            queue: 5,
            fates: dropped,
        },
        Flow {
            queue: 3,
            fates: QueuedFrameActions::STAY,
        },
    ]);
    let begin = world.now;
    for mark in 0..250 {
        send(&mut world, 0, mark);
    }
    send(&mut world, 1, 200);

    enter(&mut world, 0, 1);
    pass(&mut world, Duration::from_ms(10));

    let of_port_2 = world.sent.iter().filter(|it| it.port.0 == 2);
    let begins: Vec<_> = of_port_2.map(|it| it.begins).collect();
    assert_eq!(begins, [begin, begin + Duration::from_ns(6_720)]);
}

#[test]
fn frames_move_to_another_queue_in_order_and_in_front_of_those_that_came_later() {
    let demoted = QueuedFrameActions::STAY.with(super::level(1), QueuedFrameAction::Move(1));
    let mut world = with_flows(&[
        Flow {
            queue: 5,
            fates: demoted,
        },
        Flow {
            queue: 1,
            fates: QueuedFrameActions::STAY,
        },
        Flow {
            queue: 3,
            fates: QueuedFrameActions::STAY,
        },
    ]);
    send(&mut world, 2, 0);
    send(&mut world, 1, 1);
    send(&mut world, 0, 2);
    send(&mut world, 0, 3);
    send(&mut world, 1, 4);
    send(&mut world, 2, 5);

    enter(&mut world, 0, 1);
    pass(&mut world, Duration::from_ms(10));

    assert_eq!(
        left(&mut world),
        [(2, 0), (2, 5), (1, 1), (0, 2), (0, 3), (1, 4)]
    );
    assert_eq!(held(&mut world).2.queued_moved, 2);
}

#[test]
fn what_finds_no_room_in_the_other_queue_is_dropped_and_counted() {
    let demoted = QueuedFrameActions::STAY.with(super::level(1), QueuedFrameAction::Move(1));
    let mut world = with_flows(&[
        Flow {
            queue: 5,
            fates: demoted,
        },
        Flow {
            queue: 1,
            fates: QueuedFrameActions::STAY,
        },
    ]);
    send(&mut world, 1, 0);
    for _ in 0..switch::QUEUE_FRAMES {
        send(&mut world, 1, 1);
    }
    send(&mut world, 0, 2);

    enter(&mut world, 0, 1);
    pass(&mut world, Duration::from_ms(10));

    assert_eq!(held(&mut world).2.queued_dropped, 1);
    assert_eq!(left(&mut world).len(), 1 + switch::QUEUE_FRAMES as usize);
}

#[derive(Clone, Debug)]
enum Step {
    Frame(usize),
    Level(u8),
    Wait(u64),
}

fn fates() -> impl Strategy<Value = QueuedFrameActions> {
    let fate = prop_oneof![
        (0u8..8).prop_map(QueuedFrameAction::Move),
        Just(QueuedFrameAction::Drop),
        Just(QueuedFrameAction::Stay)
    ];
    prop::collection::vec(fate, 8).prop_map(|fates| {
        let levels = Level::all().zip(fates);
        levels.fold(QueuedFrameActions::STAY, |all, (level, fate)| {
            all.with(level, fate)
        })
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0usize..4).prop_map(Step::Frame),
        1 => (0u8..8).prop_map(Step::Level),
        2 => (1u64..30).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..80)
}

/// A frame that waits at a naive port.
#[derive(Clone, Copy)]
struct Waiting {
    queue: u8,
    flow: usize,
    mark: u8,
    /// How many frames were moved before it, if it was.
    moved: Option<usize>,
}

/// A port as the sentences say it: all frames in one list by arrival.
#[derive(Default)]
struct Naive {
    waiting: Vec<Waiting>,
    left: Vec<(usize, u8)>,
    dropped: u64,
    moves: usize,
    busy_until: u64,
    level: u8,
}

impl Naive {
    /// Returns whose turn it is: of the most urgent queue the first that came there
    /// itself, or the first that was moved there, whichever came to the port first.
    fn turn(&self) -> Option<usize> {
        let best = self.waiting.iter().map(|it| it.queue).max()?;
        let of_queue = |at: &usize| self.waiting[*at].queue == best;
        let places = || (0..self.waiting.len()).filter(of_queue);
        let own = places().find(|at| self.waiting[*at].moved.is_none());
        let moved = places().filter(|at| self.waiting[*at].moved.is_some());
        let moved = moved.min_by_key(|at| self.waiting[*at].moved);
        own.into_iter().chain(moved).min()
    }

    /// Lets everything leave whose turn comes until then.
    fn run(&mut self, flows: &[Flow], until: u64) {
        while self.busy_until <= until
            && let Some(at) = self.turn()
        {
            let next = self.waiting[at];
            let level = super::level(self.level);
            match flows[next.flow].fates.at(level) {
                QueuedFrameAction::Drop => {
                    self.waiting.remove(at);
                    self.dropped += 1;
                }
                QueuedFrameAction::Move(to) if to != next.queue => {
                    self.waiting[at].queue = to;
                    self.waiting[at].moved = Some(self.moves);
                    self.moves += 1;
                }
                QueuedFrameAction::Move(_) | QueuedFrameAction::Stay => {
                    self.waiting.remove(at);
                    self.left.push((next.flow, next.mark));
                    self.busy_until += 6_720;
                }
            }
        }
    }

    fn send(&mut self, queue: u8, flow: usize, mark: u8, now: u64) {
        if self.waiting.is_empty() && self.busy_until <= now {
            self.left.push((flow, mark));
            self.busy_until = now + 6_720;
        } else {
            let moved = None;
            self.waiting.push(Waiting {
                queue,
                flow,
                mark,
                moved,
            });
        }
    }
}

proptest! {
    #[test]
    fn every_frame_has_the_fate_that_a_naive_port_gives_it(
        flows in prop::collection::vec((0u8..8, fates()), 4),
        steps in steps(),
    ) {
        let flows: Vec<_> = flows.into_iter().map(|(queue, fates)| Flow { queue, fates }).collect();
        let mut world = with_flows(&flows);
        let mut naive = Naive::default();
        let begin = world.now;
        let (mut now, mut era) = (0, 0);

        for (mark, step) in (0u8..).zip(steps) {
            match step {
                Step::Frame(flow) => {
                    send(&mut world, flow, mark);
                    naive.run(&flows, now);
                    naive.send(flows[flow].queue, flow, mark, now);
                }
                Step::Level(level) => {
                    era += 1;
                    naive.run(&flows, now);
                    enter(&mut world, era, level);
                    naive.level = level;
                }
                Step::Wait(us) => {
                    now += us * 1_000 + 1;
                    world.run_until(begin + Duration::from_ns(now));
                    naive.run(&flows, now);
                }
            }
        }
        pass(&mut world, Duration::from_ms(100));
        naive.run(&flows, u64::MAX / 2);

        prop_assert_eq!(left(&mut world), naive.left);
        prop_assert_eq!(held(&mut world).2.queued_dropped, naive.dropped);
        prop_assert_eq!(world.switch.waiting(), 0);
    }

    #[test]
    fn the_frames_of_a_flow_never_overtake_each_other_in_a_move(
        queue in 1u8..8, to in 0u8..7, early in 1u8..20, late in 1u8..20, others in 0u8..20,
    ) {
        prop_assume!(to < queue);
        // At level 1 the flow's entry chooses the lower queue.
        let demoted = QueuedFrameActions::STAY.with(super::level(1), QueuedFrameAction::Move(to));
        let mut world = with_flows(&[Flow { queue: to, fates: QueuedFrameActions::STAY }]);
        let kind = MatchField::EthType(wire::ethernet::EtherType(ether_type(1)));
        for (level, queue) in [(0, queue), (1, to)] {
            let choose = Action::SetQueue(QueueId(u32::from(queue)));
            let actions = [choose, Action::QueuedFrame(demoted), output(2)];
            world.add(5, &[kind, super::at_level(level)], &actions);
        }
        (0..others).for_each(|mark| send(&mut world, 0, mark));
        (0..early).for_each(|mark| send(&mut world, 1, mark));
        enter(&mut world, 0, 1);
        (early..early + late).for_each(|mark| send(&mut world, 1, mark));

        pass(&mut world, Duration::from_ms(10));

        let mut of_flows = BTreeMap::<usize, Vec<u8>>::new();
        for (flow, mark) in left(&mut world) {
            of_flows.entry(flow).or_default().push(mark);
        }
        prop_assert!(of_flows[&1].is_sorted());
        prop_assert_eq!(of_flows[&1].len(), usize::from(early + late));
    }
}
