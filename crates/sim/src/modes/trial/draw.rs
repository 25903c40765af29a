//! Draws a trial: the network, its flows, and what happens.
//!
//! Flows break their contracts in rounds. Between two rounds all are quiet for the hold
//! time, and the way back is asked for about when the next round begins, so that some
//! breaches fall into it.

use units::{BitRate, Delay, Duration};
use wire::mode_signal::{LEVELS, Level};

use super::bound::QUEUE_FRAMES;
use super::{Trial, TrialFlow};
use crate::modes::deployment::Strategy;
use crate::modes::fault_schedule::{FORGERIES, Forgery, Incident, Noise};
use crate::modes::topology::ModeTopology;
use crate::parts::{Node, Processing};
use crate::servers::random::Random;

/// Of what the links carry, how much the flows send that are served above the lowest level,
/// at most, and how much those that are not.
const HIGH_PERCENT: u64 = 50;
const LOW_PERCENT: u64 = 65;
/// How much each of the former sends at the lowest level.
const USUAL_PERCENT: (u64, u64) = (2, 6);
/// How closely the way back and the next breach follow each other.
const CLOSELY: Duration = Duration::from_ms(3);

pub(super) fn draw(seed: u64) -> Trial {
    let mut random = Random::new(seed ^ 0x7121_A100_0000_0000);
    let topology = ModeTopology::draw(&mut random);
    let is_fast = random.in_percent(30);
    let (rate, period) = match is_fast {
        true => (BitRate::from_mbps(1_000), random.between(2, 5)),
        false => (BitRate::from_mbps(100), random.between(10, 30)),
    };
    let period = Duration::from_ms(period);
    let mut noise = Noise::draw(&topology, &mut random);
    noise.losses_in_a_row = random.between(1, 2);
    if is_fast {
        // What is sent while heart-beats are waited for would fill every queue.
        noise.loss_percent = 0;
        noise.late_by = noise.late_by.min(Duration::from_us(300));
    }
    let levels = random.between(2, u64::from(LEVELS));
    let levels = u8::try_from(levels).expect("at most eight");
    let mut trial = Trial {
        seed,
        strategy: Strategy::Taktos,
        levels,
        rate,
        processing: Processing {
            latency: Delay::from_us(random.between(1, 100)),
            per_frame: Delay::from_ns(random.between(100, 400)),
            capacity: usize::try_from(QUEUE_FRAMES).expect("a few thousand"),
        },
        noise,
        hold: period * random.between(4, 8),
        heartbeat: Duration::from_ms(random.between(1, 4)),
        route: way(&topology, &mut random),
        period,
        flows: Vec::new(),
        incidents: Vec::new(),
        duration: Duration::ZERO,
        topology,
    };
    trial.draw_flows(&mut random);
    trial.draw_rounds(&mut random);
    trial.draw_faults(&mut random);
    trial.incidents.sort_by_key(|(at, _)| *at);
    trial
}

impl Trial {
    fn draw_flows(&mut self, random: &mut Random) {
        let whole = self.rate.as_bps() / 8_000_000 * self.period.as_ns() / 1_000;
        let size = |percent: u64| u32::try_from(whole * percent / 100).expect("a few megabytes");
        let high = random.between(1, 3);
        for _ in 0..high {
            let highest = random.between(1, u64::from(self.levels) - 1);
            let usual = size(random.between(USUAL_PERCENT.0, USUAL_PERCENT.1));
            let most = size(HIGH_PERCENT / high);
            let more = u64::from(most - usual);
            let sizes = (0..u64::from(self.levels)).map(|level| {
                let more = more * level.min(highest) / highest;
                usual + u32::try_from(more).expect("a few megabytes")
            });
            self.flows.push(TrialFlow {
                highest: u8::try_from(highest).expect("at most eight"),
                sizes: sizes.collect(),
                queues: (0..=highest).map(|_| queue(random.between(2, 6))).collect(),
                phase: random.time_below(self.period),
                breaches: Vec::new(),
            });
        }
        let low = random.between(1, 3);
        for _ in 0..low {
            self.flows.push(TrialFlow {
                highest: 0,
                sizes: vec![size(LOW_PERCENT / low); usize::from(self.levels)],
                queues: vec![queue(random.between(4, 6))],
                phase: random.time_below(self.period),
                breaches: Vec::new(),
            });
        }
    }

    fn draw_rounds(&mut self, random: &mut Random) {
        let length = self.hold + self.period * 6u64;
        let rounds = random.between(1, 3);
        for round in 0..rounds {
            let begins = self.period * 3u64 + length * round;
            let first = self.draw_breaches(begins, random);
            if round > 0 {
                let ahead = first.saturating_sub(CLOSELY);
                let at = ahead + random.time_below(CLOSELY * 2u64);
                self.lower(at, random);
            }
        }
        let last = self.period * 3u64 + length * rounds;
        self.lower(last, random);
        self.duration = last + self.period * 8u64;
    }

    /// Lets some flows break their contracts within three periods. Returns when the first
    /// of these messages is due.
    fn draw_breaches(&mut self, begins: Duration, random: &mut Random) -> Duration {
        let mut first = None;
        for at in 0..self.flows.len() {
            let highest = self.flows[at].highest;
            let is_one = first.is_none() || random.in_percent(50);
            if highest == 0 || !is_one {
                continue;
            }
            for later in 0..random.between(1, 2) {
                let from = begins + self.period * (later + random.below(2));
                let number = from.saturating_sub(self.flows[at].phase).as_ns();
                let number = number.div_ceil(self.period.as_ns());
                let number = u32::try_from(number).expect("a few messages");
                let level = random.between(1, u64::from(highest));
                let level = u8::try_from(level).expect("at most eight");
                let breaches = &mut self.flows[at].breaches;
                if breaches.last().is_none_or(|(last, _)| *last < number) {
                    breaches.push((number, level));
                    let due = self.due(at, number);
                    first = Some(first.map_or(due, |first: Duration| first.min(due)));
                }
            }
        }
        first.unwrap_or(begins)
    }

    /// The way back is asked for at any switch.
    fn lower(&mut self, at: Duration, random: &mut Random) {
        let switch = random.index(self.topology.switches);
        let level = Level::LOWEST;
        self.incidents.push((at, Incident::Lower { switch, level }));
    }

    fn draw_faults(&mut self, random: &mut Random) {
        let switches = self.topology.switches;
        for _ in 0..random.below(3) {
            let at = random.time_below(self.duration);
            let switch = random.index(switches);
            let level = random.between(1, u64::from(self.levels) - 1);
            let level = u8::try_from(level).ok().and_then(Level::new);
            let level = level.expect("below the number of levels");
            if switch != self.route[0] {
                self.incidents
                    .push((at, Incident::Violation { switch, level }));
            }
        }
        for _ in 0..random.below(4) {
            let at = random.time_below(self.duration);
            let switch = random.index(switches);
            let forgery = match random.pick(&FORGERIES) {
                // Hosts are at the ends of the way alone.
                Forgery::Recorded => Forgery::OtherKey,
                other => other,
            };
            self.incidents
                .push((at, Incident::Forge { switch, forgery }));
        }
        for _ in 0..random.pick(&[0, 0, 1, 2]) {
            let at = random.time_below(self.duration);
            let cable = random.index(self.topology.cables.len());
            self.incidents.push((at, Incident::Cut { cable }));
            if random.in_percent(80) {
                let at = at + random.time_below(self.period * 4u64);
                self.incidents.push((at, Incident::Heal { cable }));
            }
        }
        if random.in_percent(25) {
            let at = random.time_below(self.duration);
            let switch = random.index(switches);
            self.incidents.push((at, Incident::Crash { switch }));
            let at = at + random.time_below(self.period * 2u64);
            self.incidents.push((at, Incident::Restart { switch }));
        }
    }
}

/// Walks at random, and meets no switch twice.
pub(in super::super) fn way(topology: &ModeTopology, random: &mut Random) -> Vec<usize> {
    let mut route = vec![random.index(topology.switches)];
    loop {
        let at = *route.last().expect("a way has switches");
        let next: Vec<usize> = topology
            .trunks(at)
            .filter_map(|(_, far, _)| match far.node {
                Node::Switch(switch) if !route.contains(&switch) => Some(switch),
                Node::Switch(_) | Node::Host(_) => None,
            })
            .collect();
        if next.is_empty() || random.in_percent(10) {
            return route;
        }
        route.push(random.pick(&next));
    }
}

fn queue(number: u64) -> u8 {
    u8::try_from(number).expect("at most seven")
}
