//! Finds a way on which a flow can be promised its deadline, beside all that is
//! promised already (S4-11).
//!
//! The usual tree of a flow does not depend on what else is promised, so that the
//! same network always gives the same one. Where that one is refused, the ledger
//! is asked along all others at once (`calculus::admission::routes`), and the way
//! with the least bound that it admits is taken. Where budgets are fitted and none is
//! admitted, some ways are tried one by one, each with budgets of its own. That is for
//! flows to one receiver: a tree to several is a way to each.

use calculus::admission::routes::{Cable, Ends, Map, NodeId, PortRef, Route};
use calculus::admission::{Ledger, MAX_DELAY, Request, StageId};

use crate::admission::Reservations;
use crate::northbound::Requirement;
use crate::path::{Branch, Tree};
use crate::place::{LinkEnds, PortId};
use crate::view::{Carrier, Control, SwitchId, View};
use crate::ways::Ways;

/// How many ways are tried with other budgets.
const WAYS_TRIED: usize = 4;

/// The part of the view that flows may use, as stages.
struct Chart {
    map: Map,
    /// The link that is each cable.
    links: Vec<LinkEnds>,
}

impl Reservations {
    /// Returns the way from the port of a host to that of another on which what is
    /// required can be promised now, with the least bound; nothing if there is
    /// none, or nothing is to be promised.
    pub fn find_way(
        &mut self,
        view: &View,
        requirement: &Requirement,
        source: PortId,
        destination: PortId,
    ) -> Option<Tree> {
        self.find_way_beside(view, requirement, [source, destination], &[])
    }

    /// Returns the same, over none of the links in `avoid`.
    pub(crate) fn find_way_beside(
        &mut self,
        view: &View,
        requirement: &Requirement,
        ends: [PortId; 2],
        avoid: &[LinkEnds],
    ) -> Option<Tree> {
        let search = |map: &mut Map, ledger: &Ledger, request: &Request, ends: Ends<'_>| {
            map.find(ledger, request, ends).into_iter().collect()
        };
        self.search(view, requirement, ends, avoid, search)?.pop()
    }

    /// Returns some ways on which budgets may be found with which what is required can
    /// be promised, those with the least delay now first; none where budgets stay as they
    /// are.
    pub(crate) fn ways_to_try(
        &mut self,
        view: &View,
        requirement: &Requirement,
        ends: [PortId; 2],
    ) -> Vec<Tree> {
        if self.slowdown().is_none() {
            return Vec::new();
        }
        let search = |map: &mut Map, ledger: &Ledger, request: &Request, ends: Ends<'_>| {
            let patient = Request {
                deadline: MAX_DELAY,
                ..request.clone()
            };
            map.shortest(ledger, &patient, ends, WAYS_TRIED)
        };
        let found = self.search(view, requirement, ends, &[], search);
        found.unwrap_or_default()
    }

    /// Returns the ways that a search finds on the map of the network.
    fn search(
        &mut self,
        view: &View,
        requirement: &Requirement,
        [source, destination]: [PortId; 2],
        avoid: &[LinkEnds],
        search: impl FnOnce(&mut Map, &Ledger, &Request, Ends<'_>) -> Vec<Route>,
    ) -> Option<Vec<Tree>> {
        requirement.deadline?;
        let (from, to) = (
            view.switch(source.datapath)?,
            view.switch(destination.datapath)?,
        );
        let mut chart = self.chart(view, avoid);
        let exit = self.add_port(destination);
        let request = self.request(requirement, source, &Ways::default());
        let end = PortRef {
            node: node(to),
            port: exit,
        };
        let ends = Ends::new(node(from), end);
        let routes = search(&mut chart.map, self.ledger(), &request, ends);
        let trees = routes.iter();
        let trees = trees.map(|route| chart.tree(view, route, source, destination));
        Some(trees.collect())
    }

    /// Lays the switches that are connected and the links that are up out as a map,
    /// but for the links in `avoid`.
    fn chart(&mut self, view: &View, avoid: &[LinkEnds]) -> Chart {
        let switches = view.switches();
        let processing: Vec<Option<StageId>> = switches
            .iter()
            .map(|switch| self.add_switch(switch.datapath))
            .collect();
        let (mut cables, mut links) = (Vec::new(), Vec::new());
        for link in view
            .links()
            .iter()
            .filter(|link| link.carrier == Carrier::Up && !avoid.contains(&link.ends))
        {
            let ends = link.ends.both().map(|port| {
                let id = view.switch(port.datapath)?;
                let connected = switches[id.index()].control == Control::Connected;
                connected.then(|| PortRef {
                    node: node(id),
                    port: self.add_port(port),
                })
            });
            if let [Some(one), Some(other)] = ends {
                cables.push(Cable { ends: [one, other] });
                links.push(link.ends);
            }
        }
        Chart {
            map: Map::new(processing, &cables),
            links,
        }
    }
}

impl Chart {
    /// Returns a way as the tree of a flow.
    fn tree(&self, view: &View, route: &Route, source: PortId, destination: PortId) -> Tree {
        let mut tree = Tree::default();
        let mut entrance = source;
        let links = route
            .cables
            .iter()
            .map(|cable| self.links[cable.0 as usize]);
        let mut links = links.map(Some).chain([None]);
        for node in &route.nodes {
            let datapath = view.switches()[node.0 as usize].datapath;
            let link = links.next().flatten();
            let output = link.map_or(destination, |link| {
                let [one, other] = link.both();
                if one.datapath == datapath { one } else { other }
            });
            let before = tree
                .branches
                .last()
                .map(|branch: &Branch| branch.outputs[0]);
            tree.branches.push(Branch {
                datapath,
                input: entrance.port,
                outputs: vec![output.port],
                parent: tree.branches.len().checked_sub(1).zip(before),
            });
            entrance = link
                .and_then(|link| link.opposite(output))
                .unwrap_or(output);
        }
        tree
    }
}

fn node(switch: SwitchId) -> NodeId {
    NodeId(u32::try_from(switch.index()).expect("the view bounds the number of switches"))
}
