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

/// The shorter way to a switch, over a quick link, makes the burst too large for what
/// comes behind it; a later one, whose delay is a long cable's, does not.
#[test]
fn a_later_way_is_taken_if_its_window_is_narrower() {
    let mut net = Net::new(4, &[(0, 1, 2_000), (0, 2, 100), (2, 1, 100), (1, 3, 100)]);
    let long = net.port(1, 0);
    let Stage::Port { propagation, .. } = &mut net.stages[long] else {
        unreachable!()
    };
    *propagation = Delay::from_us(5_000);
    let quick = net.port(0, 0);
    let Stage::Port { rate, .. } = &mut net.stages[quick] else {
        unreachable!()
    };
    *rate = BitRate::from_mbps(10_000);
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
    flow.deadline -= Delay::from_ps(1);
    assert_eq!(map.find(&net.ledger(), &flow, net.ends(0, 1)), None);
}

/// The shortest way crosses both of the only two that are disjoint.
#[test]
fn a_pair_is_found_where_the_shortest_way_blocks_every_other() {
    let net = Net::new(
        6,
        &[
            (0, 1, 100),
            (1, 2, 100),
            (2, 5, 100),
            (0, 3, 300),
            (3, 2, 300),
            (1, 4, 300),
            (4, 5, 300),
        ],
    );
    let mut map = net.map();
    let mut ledger = net.ledger();

    let alone = map.find(&ledger, &request(), net.ends(0, 5)).unwrap();
    let pair = map.find_pair(&mut ledger, &request(), net.ends(0, 5), Disjoint::Nodes);

    assert_eq!(numbers(&alone), [0, 1, 2, 5]);
    let pair = pair.unwrap();
    let ways = pair.each_ref().map(numbers);
    assert_eq!(ways, [vec![0, 1, 4, 5], vec![0, 3, 2, 5]]);
    ledger.admit(map.redundant(&request(), &pair)).unwrap();
}

#[test]
fn a_pair_may_share_a_switch_if_only_cables_matter() {
    let net = Net::new(
        5,
        &[
            (0, 1, 100),
            (1, 2, 100),
            (0, 3, 300),
            (3, 2, 300),
            (2, 4, 100),
            (2, 4, 300),
        ],
    );
    let mut map = net.map();
    let mut find =
        |disjoint| map.find_pair(&mut net.ledger(), &request(), net.ends(0, 4), disjoint);

    assert_eq!(find(Disjoint::Nodes), None);
    let pair = find(Disjoint::Cables).unwrap();
    assert!(
        pair[0]
            .cables
            .iter()
            .all(|cable| !pair[1].cables.contains(cable))
    );
}

#[test]
fn a_refusal_says_why_the_least_way_cannot_take_it() {
    let net = Net::new(3, &[(0, 1, 100)]);
    let (mut map, mut ledger) = (net.map(), net.ledger());
    let mut flow = request();
    flow.rate = BitRate::from_mbps(101);
    let mut refusal = |flow: &Request, to| {
        let refused = map.admit(&mut ledger, flow.clone(), net.ends(0, to));
        refused.unwrap_err()
    };

    let too_much = refusal(&flow, 1);
    let nowhere = refusal(&request(), 2);
    flow.deadline = Delay::from_us(3_000);
    flow.rate = BitRate::from_mbps(1);
    let too_late = refusal(&flow, 1);
    flow.class = 0;
    let malformed = refusal(&flow, 1);

    assert!(too_much.constraint.is_overload(), "{too_much}");
    assert!(too_much.fits.rate.is_some());
    assert_eq!(nowhere.constraint, Constraint::NoWay);
    assert!(
        matches!(too_late.constraint, Constraint::Deadline { .. }),
        "{too_late}"
    );
    assert!(
        matches!(malformed.constraint, Constraint::Malformed(_)),
        "{malformed}"
    );
}

proptest! {
    /// Two ways that are found share nothing, and are found wherever there are two:
    /// whenever no single switch or cable cuts the sender off.
    #[test]
    fn a_pair_is_disjoint_and_found_where_there_is_one(
        cables in prop::collection::vec((0u32..7, 0u32..7, 60u64..600), 5..14),
        (from, to) in (0u32..7, 0u32..7),
    ) {
        prop_assume!(from != to);
        let net = Net::new(7, &cables);
        let (mut map, mut ledger) = (net.map(), net.ledger());
        let ends = net.ends(from, to);
        let leads = |map: &mut Map, avoid_cables: &[CableId], avoid_nodes: &[NodeId]| {
            let ends = Ends { avoid_cables, avoid_nodes, ..ends };
            map.find(&net.ledger(), &request(), ends).is_some()
        };

        let pair = map.find_pair(&mut ledger, &request(), ends, Disjoint::Nodes);

        let inner = (0..7).filter(|node| *node != from && *node != to).map(NodeId);
        let no_switch_cuts = inner.into_iter().all(|node| leads(&mut map, &[], &[node]));
        let numbers = (0..).map(CableId).take(net.cables.len());
        let no_cable_cuts = numbers.into_iter().all(|cable| leads(&mut map, &[cable], &[]));
        prop_assert_eq!(pair.is_some(), no_switch_cuts && no_cable_cuts);
        if let Some([one, other]) = pair {
            let inner = &one.nodes[1..one.nodes.len() - 1];
            prop_assert!(inner.iter().all(|node| !other.nodes.contains(node)));
            prop_assert!(one.cables.iter().all(|cable| !other.cables.contains(cable)));
        }
    }

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
                PortRef {
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
        Ends::new(NodeId(from), PortRef { node, port })
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
        frames: None,
        largest_frame: FRAME,
        smallest_frame: FRAME,
        deadline: Delay::from_us(20_000),
        initial: LINK.time_to_send(FRAME),
        base: Tree::default(),
        alternatives: Vec::new(),
        is_held_back: false,
        redundant: None,
    }
}

fn numbers(route: &Route) -> Vec<u32> {
    route.nodes.iter().map(|node| node.0).collect()
}
