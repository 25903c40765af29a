use proptest::prelude::*;
use units::{BitRate, DataSize};

use super::*;
use crate::admission::{CLASSES, Stage};

const LINK: BitRate = BitRate::from_mbps(100);
/// The budget of a port to a host.
const HOST_US: u64 = 3_000;
const FRAME: DataSize = DataSize::from_bytes(250);

#[test]
fn the_way_with_the_least_bound_is_found() {
    // A short way over slow ports and a longer one over fast ones.
    let net = Net::new(4, &[(0, 3, 900), (0, 1, 100), (1, 2, 100), (2, 3, 100)]);
    let mut map = net.map();

    let route = map.find(&net.ledger(), &request(), net.ends(0, 3)).unwrap();

    assert_eq!(numbers(&route), [0, 1, 2, 3]);
    let passing = Delay::from_us(4 * 50 + 3 * 100 + HOST_US);
    assert_eq!(route.bound, request().initial + passing);
}

#[test]
fn a_full_link_is_passed_by() {
    let net = Net::new(3, &[(0, 2, 1_000), (0, 1, 1_000), (1, 2, 1_000)]);
    let mut ledger = net.ledger();
    let mut map = net.map();
    let mut flow = request();
    flow.rate = BitRate::from_mbps(60);

    let ways: Vec<_> = (0..3)
        .map(|_| {
            let route = map.find(&ledger, &flow, net.ends(0, 2))?;
            flow.base = route.tree();
            flow.base.hops.pop(); // The receiver's port would be full, too.
            ledger.admit(flow.clone()).unwrap();
            Some(numbers(&route))
        })
        .collect();

    assert_eq!(ways, [Some(vec![0, 2]), Some(vec![0, 1, 2]), None]);
}

/// The shorter way to a switch makes the burst too large for what comes behind
/// it; a later one, whose delay is a long cable's, does not.
#[test]
fn a_later_way_is_taken_if_its_window_is_narrower() {
    let mut net = Net::new(4, &[(0, 1, 2_000), (0, 2, 100), (2, 1, 100), (1, 3, 100)]);
    let long = net.port(1, 0);
    let Stage::Port { propagation, .. } = &mut net.stages[long] else {
        unreachable!()
    };
    *propagation = Delay::from_us(5_000);
    let mut flow = request();
    flow.rate = BitRate::from_mbps(10);
    let mut map = net.map();

    let route = map.find(&net.ledger(), &flow, net.ends(0, 3)).unwrap();

    assert_eq!(numbers(&route), [0, 2, 1, 3]);
}

#[test]
fn what_is_to_be_avoided_is_avoided() {
    let net = Net::new(
        4,
        &[
            (0, 3, 100),
            (0, 1, 100),
            (1, 3, 100),
            (0, 2, 200),
            (2, 3, 200),
        ],
    );
    let mut map = net.map();
    let mut find = |avoid_cables: &[CableId], avoid_nodes: &[NodeId]| {
        let ends = Ends {
            avoid_cables,
            avoid_nodes,
            ..net.ends(0, 3)
        };
        map.find(&net.ledger(), &request(), ends)
            .as_ref()
            .map(numbers)
    };

    assert_eq!(find(&[], &[]), Some(vec![0, 3]));
    assert_eq!(find(&[CableId(0)], &[]), Some(vec![0, 1, 3]));
    assert_eq!(find(&[CableId(0)], &[NodeId(1)]), Some(vec![0, 2, 3]));
    assert_eq!(find(&[CableId(0), CableId(3)], &[NodeId(1)]), None);
}

#[test]
fn the_deadline_cuts_the_search() {
    let net = Net::new(2, &[(0, 1, 100)]);
    let mut map = net.map();
    let mut flow = request();
    flow.deadline = flow.initial + Delay::from_us(50 + 100 + 50 + HOST_US);

    assert!(map.find(&net.ledger(), &flow, net.ends(0, 1)).is_some());
    flow.deadline = flow.deadline - Delay::from_ps(1);
    assert_eq!(map.find(&net.ledger(), &flow, net.ends(0, 1)), None);
}

proptest! {
    /// What is found is admitted, with the bound that was found; and if nothing
    /// is found no way at all is admitted.
    #[test]
    fn the_first_way_is_the_least_that_the_ledger_admits(
        cables in prop::collection::vec((0u32..6, 0u32..6, 60u64..600), 5..12),
        resident in prop::collection::vec((0u32..6, 0u32..6, 1u64..60), 0..12),
        (from, to, mbps) in (0u32..6, 0u32..6, 1u64..60),
    ) {
        let net = Net::new(6, &cables);
        let (mut map, mut ledger) = (net.map(), net.ledger());
        for (from, to, mbps) in resident {
            let mut flow = request();
            flow.rate = BitRate::from_mbps(mbps);
            if let Some(route) = map.find(&ledger, &flow, net.ends(from, to)) {
                flow.base = route.tree();
                let admitted = ledger.admit(flow);
                prop_assert_eq!(admitted.unwrap().guarantee, route.bound);
            }
        }
        let mut flow = request();
        flow.rate = BitRate::from_mbps(mbps);

        let found = map.find(&ledger, &flow, net.ends(from, to));

        let all = map.shortest(&ledger, &flow, net.ends(from, to), usize::MAX);
        prop_assert!(all.is_sorted_by_key(|route| route.bound));
        let least = all.into_iter().find(|route| {
            flow.base = route.tree();
            ledger.admits(&flow)
        });
        prop_assert_eq!(found.map(|route| route.bound), least.map(|route| route.bound));
    }
}

/// Switches whose ports have the budgets given, in microseconds.
struct Net {
    stages: Vec<Stage>,
    nodes: usize,
    cables: Vec<Cable>,
}

impl Net {
    fn new(nodes: usize, cables: &[(u32, u32, u64)]) -> Self {
        let processor = Stage::Processing {
            latency: Delay::from_us(5),
            per_frame: Delay::from_ns(100),
            fastest_per_frame: Delay::ZERO,
            budget: Delay::from_us(50),
            buffer_frames: None,
        };
        let mut net = Self {
            stages: vec![processor; nodes],
            nodes,
            cables: Vec::new(),
        };
        // Ports to hosts stand behind the processors.
        net.stages.extend(vec![port(HOST_US); nodes]);
        for (one, other, budget_us) in cables.iter().filter(|(one, other, _)| one != other) {
            let ends = [*one, *other].map(|node| {
                net.stages.push(port(*budget_us));
                End {
                    node: NodeId(node),
                    port: StageId(u32::try_from(net.stages.len() - 1).unwrap()),
                }
            });
            net.cables.push(Cable { ends });
        }
        net
    }

    fn map(&self) -> Map {
        let processing = (0..self.nodes).map(|node| Some(StageId(node.try_into().unwrap())));
        Map::new(processing.collect(), &self.cables)
    }

    fn ledger(&self) -> Ledger {
        Ledger::new(self.stages.clone())
    }

    fn ends(&self, from: u32, to: u32) -> Ends<'static> {
        let port = StageId(u32::try_from(self.nodes).unwrap() + to);
        let node = NodeId(to);
        Ends::new(NodeId(from), End { node, port })
    }

    /// Returns the place of the stage by which frames enter a cable.
    fn port(&self, cable: usize, end: usize) -> usize {
        self.cables[cable].ends[end].port.index()
    }
}

fn port(budget_us: u64) -> Stage {
    let mut budgets = [Some(Delay::from_us(budget_us)); CLASSES];
    budgets[0] = None;
    Stage::Port {
        rate: LINK,
        propagation: Delay::ZERO,
        budgets,
        buffers: [None; CLASSES],
        largest_frame: FRAME,
    }
}

fn request() -> Request {
    Request {
        class: 7,
        rate: BitRate::from_mbps(1),
        burst: FRAME,
        peak: None,
        largest_frame: FRAME,
        smallest_frame: FRAME,
        deadline: Delay::from_us(20_000),
        initial: LINK.time_to_send(FRAME),
        base: Tree::default(),
        alternatives: Vec::new(),
    }
}

fn numbers(route: &Route) -> Vec<u32> {
    route.nodes.iter().map(|node| node.0).collect()
}
