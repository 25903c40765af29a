//! Frames of the admitted flows, sent around the ring: is what was promised kept?
//!
//! A switch works on one frame after the other, a processing time each, and what
//! else it does to a frame keeps nobody waiting. Each flow sends a frame as often
//! as its rate allows. Frames of all flows start at random, at the same time, or so
//! that those of one switch would meet there if none had to wait. This finds
//! mistakes; it proves nothing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{Delay, Seeded};

use super::super::{FRAME, zodiac_fx};
use super::ring::{FlowRequest, SWITCHES};

/// How many frames each flow sends.
const FRAMES: u64 = 24;

/// A flow that was admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    pub flow: FlowRequest,
    pub guarantee: Delay,
}

/// What was seen of a promise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObservedPromise {
    /// The highest delay of a frame, as a share of what its flow was promised.
    pub highest: f64,
    /// The most frames that were in a switch at one time.
    pub most_held: u64,
}

impl ObservedPromise {
    /// Returns the worse of both.
    pub fn or_worse(self, other: Self) -> Self {
        Self {
            highest: self.highest.max(other.highest),
            most_held: self.most_held.max(other.most_held),
        }
    }
}

/// When a flow sends its first frame.
#[derive(Clone, Copy)]
enum Start {
    AtRandom,
    Together,
    /// So that frames meet at this switch.
    ToMeetAt(usize),
}

/// Sends frames of all flows, started in three ways.
pub fn observe(flows: &[Promised], random: &mut Seeded) -> ObservedPromise {
    let switches: Vec<usize> = (0..SWITCHES).collect();
    let meeting = random.choose(&switches).copied().unwrap_or(0);
    let starts = [Start::AtRandom, Start::Together, Start::ToMeetAt(meeting)];
    let seen = starts.map(|start| send(flows, start, random));
    seen.into_iter()
        .fold(ObservedPromise::default(), ObservedPromise::or_worse)
}

/// A frame on its way, ordered by when it arrives at its next switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TravellingFrame {
    arrives_ps: u64,
    flow: usize,
    hop: usize,
    sent_ps: u64,
}

fn send(flows: &[Promised], start: Start, random: &mut Seeded) -> ObservedPromise {
    let switch = zodiac_fx();
    let work_ps = switch.service.rate.time_to_send(FRAME).as_ps();
    let beside_ps = switch.processing_time.as_ps().saturating_sub(work_ps);
    let mut due: BinaryHeap<Reverse<TravellingFrame>> = BinaryHeap::new();
    for (flow, promised) in flows.iter().enumerate() {
        let interval_ps = promised.flow.rate.time_to_send(FRAME).as_ps();
        let first_ps = first_ps(&promised.flow, start, interval_ps, random);
        for number in 0..FRAMES {
            let sent_ps = first_ps + interval_ps * number;
            let arrives_ps = sent_ps;
            let hop = 0;
            due.push(Reverse(TravellingFrame {
                arrives_ps,
                flow,
                hop,
                sent_ps,
            }));
        }
    }
    // When each frame that is in a switch will be done.
    let mut held: Vec<VecDeque<u64>> = vec![VecDeque::new(); SWITCHES];
    let mut seen = ObservedPromise::default();
    while let Some(Reverse(frame)) = due.pop() {
        let promised = &flows[frame.flow];
        let here = &mut held[promised.flow.path[frame.hop]];
        while here.front().is_some_and(|done| *done <= frame.arrives_ps) {
            here.pop_front();
        }
        let begins_ps = here.back().copied().unwrap_or(0).max(frame.arrives_ps);
        here.push_back(begins_ps + work_ps);
        let leaves_ps = begins_ps + work_ps + beside_ps;
        let mut highest = 0.0;
        if frame.hop + 1 < promised.flow.path.len() {
            due.push(Reverse(TravellingFrame {
                arrives_ps: leaves_ps,
                hop: frame.hop + 1,
                ..frame
            }));
        } else {
            let delay = Delay::from_ps(leaves_ps - frame.sent_ps);
            highest = delay.as_secs_f64() / promised.guarantee.as_secs_f64();
        }
        let most_held = u64::try_from(here.len()).unwrap_or(u64::MAX);
        seen = seen.or_worse(ObservedPromise { highest, most_held });
    }
    seen
}

/// Returns when a flow sends its first frame.
fn first_ps(flow: &FlowRequest, start: Start, interval_ps: u64, random: &mut Seeded) -> u64 {
    match start {
        Start::AtRandom => random.up_to(interval_ps),
        Start::Together => 0,
        Start::ToMeetAt(switch) => {
            let passed = flow.path.iter().position(|here| *here == switch);
            let to_go = SWITCHES - passed.unwrap_or(0);
            zodiac_fx().processing_time.as_ps() * u64::try_from(to_go).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use units::BitRate;

    use super::*;

    #[test]
    fn frames_that_meet_wait_for_each_other() {
        let flow = |path: &[usize]| Promised {
            flow: FlowRequest {
                rate: BitRate::from_bps(1_000_000),
                path: path.to_vec(),
            },
            guarantee: Delay::from_us(1_000),
        };

        let alone = observe(&[flow(&[0])], &mut Seeded::new(1));
        let three = observe(&[flow(&[0]), flow(&[0]), flow(&[0])], &mut Seeded::new(1));

        // 257.2 us, and 206.8 us more for each of two that are served before.
        assert!((alone.highest - 0.2572).abs() < 0.0001, "{alone:?}");
        assert!((three.highest - 0.6708).abs() < 0.0001, "{three:?}");
        assert_eq!((alone.most_held, three.most_held), (1, 3));
    }
}
