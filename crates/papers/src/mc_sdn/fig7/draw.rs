//! Draws the cases of MC-SDN section VII-B.

use std::collections::{BTreeMap, VecDeque};

use sim::modes::deployment::{LevelTreatment, Strategy};
use sim::modes::stage::{Breach, ModeSetup, StagedFlow};
use sim::modes::topology::ModeTopology;
use sim::parts::Node;
use sim::servers::random::Random;
use units::{BitRate, Duration};

use crate::mc_sdn::switches::{RATE_MBPS, SwitchKind};

const HOSTS: usize = 20;
const FLOWS_MAX: u64 = 16;
const HIGH_PERCENT: u64 = 33;
/// The most of a link that is used in the usual case, headers included, in percent.
const LOAD_MAX: u64 = 95;
/// Payload on a link, of all that is sent there: headers and gaps take the rest.
const PAYLOAD_PERCENT: u64 = 94;
/// The message that breaks its contract comes after this time: the queues are as usual
/// by then.
const SETTLED: Duration = Duration::from_ms(500);
/// How long it has to arrive.
const PATIENCE: Duration = Duration::from_ms(900);
const PERIOD_MAX: Duration = Duration::from_ms(200);
/// The most urgent queue of flows; the one above is for signals.
const FIRST_QUEUE: u8 = 6;

/// A flow before it has its queue.
struct Drawn {
    from: usize,
    to: usize,
    route: Vec<usize>,
    period: Duration,
    size_bytes: u32,
    phase: Duration,
    high: bool,
}

/// Returns the case of a seed under a strategy.
pub fn stage(seed: u64, kind: SwitchKind, strategy: Strategy) -> ModeSetup {
    let mut random = Random::new(seed);
    let topology = ModeTopology::grid(3, 3);
    let hosts: Vec<usize> = (0..HOSTS).map(|host| host % topology.switches).collect();
    let flows = loop {
        let flows = flows(&topology, &hosts, &mut random);
        if flows.iter().any(|flow| flow.high) {
            break flows;
        }
    };
    let breaks = flows.iter().position(|flow| flow.high);
    let ranks = ranks(&flows);
    let staged = flows.into_iter().zip(ranks).enumerate();
    let staged = staged.map(|(place, (flow, queue))| {
        let usual = LevelTreatment::Queue(queue);
        let breach = Breach {
            number: u32::try_from(SETTLED / flow.period + 1).expect("a few"),
            size_bytes: flow.size_bytes * 2,
        };
        StagedFlow {
            from: flow.from,
            to: flow.to,
            route: flow.route,
            period: flow.period,
            size_bytes: flow.size_bytes,
            phase: flow.phase,
            treatments: [
                usual,
                if flow.high {
                    usual
                } else {
                    LevelTreatment::Drop
                },
            ],
            breach: (Some(place) == breaks).then_some(breach),
            quickens: None,
        }
    });
    let flows: Vec<StagedFlow> = staged.collect();
    ModeSetup {
        seed,
        topology,
        hosts,
        rules: flows.len(),
        flows,
        strategy,
        device: kind.device(),
        controller: kind.controller(&mut random),
        rate: BitRate::from_mbps(RATE_MBPS),
        duration: SETTLED + PERIOD_MAX * 2u64 + PATIENCE,
    }
}

/// Draws flows, without those that a link has no room for.
fn flows(topology: &ModeTopology, hosts: &[usize], random: &mut Random) -> Vec<Drawn> {
    let mut loads: BTreeMap<(Node, Node), u64> = BTreeMap::new();
    let mut flows = Vec::new();
    for _ in 0..random.between(2, FLOWS_MAX) {
        let period = Duration::from_ms(random.between(10, 200));
        let share = random.between(10, 40);
        let from = random.index(HOSTS);
        let to = (from + 1 + random.index(HOSTS - 1)) % HOSTS;
        let route = shortest(topology, hosts[from], hosts[to], random);
        let high = random.in_percent(HIGH_PERCENT);
        let phase = Duration::from_ns(random.below(period.as_ns()));
        let links = links(from, to, &route);
        let load = share * 100 / PAYLOAD_PERCENT + 1;
        let has_room = |link| loads.get(link).copied().unwrap_or_default() + load <= LOAD_MAX;
        if links.iter().all(has_room) {
            for link in links {
                *loads.entry(link).or_default() += load;
            }
            // What the link carries in that share of the period.
            let bits = period.as_ns() * RATE_MBPS / 1_000 * share / 100;
            flows.push(Drawn {
                from,
                to,
                route,
                period,
                size_bytes: u32::try_from(bits / 8).expect("a megabyte at most"),
                phase,
                high,
            });
        }
    }
    flows
}

fn links(from: usize, to: usize, route: &[usize]) -> Vec<(Node, Node)> {
    let switches = route.iter().map(|switch| Node::Switch(*switch));
    let from = std::iter::once(Node::Host(from));
    let nodes = from.chain(switches).chain([Node::Host(to)]);
    let nodes: Vec<Node> = nodes.collect();
    nodes.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Returns a shortest way, any of several.
fn shortest(topology: &ModeTopology, from: usize, to: usize, random: &mut Random) -> Vec<usize> {
    let mut before: Vec<Option<usize>> = vec![None; topology.switches];
    before[from] = Some(from);
    let mut next = VecDeque::from([from]);
    while let Some(at) = next.pop_front() {
        let mut neighbours: Vec<usize> = topology
            .trunks(at)
            .filter_map(|(_, far, _)| match far.node {
                Node::Switch(switch) => Some(switch),
                Node::Host(_) => None,
            })
            .collect();
        random.shuffle(&mut neighbours);
        for neighbour in neighbours {
            if before[neighbour].is_none() {
                before[neighbour] = Some(at);
                next.push_back(neighbour);
            }
        }
    }
    let mut route = vec![to];
    while let Some(at) = route.last().copied().filter(|at| *at != from) {
        route.push(before[at].expect("the network is connected"));
    }
    route.reverse();
    route
}

/// Returns the queue of each flow: the shorter its period, the more urgent. Where
/// there are more flows than queues, some share one.
fn ranks(flows: &[Drawn]) -> Vec<u8> {
    let queues = usize::from(FIRST_QUEUE) + 1;
    let per_queue = flows.len().div_ceil(queues);
    let queue = |(place, flow): (usize, &Drawn)| {
        let ahead = flows.iter().enumerate();
        let ahead = ahead.filter(|(at, other)| (other.period, *at) < (flow.period, place));
        let rank = u8::try_from(ahead.count() / per_queue).expect("a few");
        FIRST_QUEUE - rank
    };
    flows.iter().enumerate().map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_those_of_the_paper() {
        for seed in 0..100 {
            let stage = stage(seed, SwitchKind::Paper, Strategy::Taktos);

            assert!((1..=16).contains(&stage.flows.len()), "seed {seed}");
            let breaks = stage.flows.iter().filter(|flow| flow.breach.is_some());
            assert_eq!(breaks.count(), 1, "seed {seed}");
            for flow in &stage.flows {
                let whole = flow.period.as_ns() * RATE_MBPS / 8_000;
                let percent = u64::from(flow.size_bytes) * 100 / whole;
                assert!((9..=40).contains(&percent), "seed {seed}: {percent} %");
                assert!(flow.route.len() <= 5, "seed {seed}: {:?}", flow.route);
            }
        }
    }
}
