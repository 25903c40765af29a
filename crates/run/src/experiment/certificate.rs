//! Writes down what the promises of a scenario rest on.
//!
//! What is stated comes from the scenario (`statement`), and what was chosen and
//! promised from the controller: budgets, ways, guarantees.

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::{Ledger, StageId, Tree};
use certificate::document::{
    Alternative, Certificate, Changes, Copies, Demand, FORMAT, Flow, Level, PortBudget,
    ProcessorBudget,
};
use controller::admission::LedgerPlace;
use controller::neighbour_sessions;
use controller::northbound::{PromisedFlow, Promises};
use controller::place::PortId;
use scenario::{Node, Scenario};
use units::Delay;
use wire::openflow::{DatapathId, PortNumber};

use super::{places, statement};

#[must_use]
pub fn certificate(scenario: &Scenario, promises: &Promises) -> Certificate {
    let atlas = Atlas::new(scenario, promises);
    let network = statement::network(scenario);
    let demands = statement::demands(scenario);
    let promised = promises.flows.iter();
    let promised: BTreeMap<_, _> = promised.map(|it| (it.name.as_str(), it)).collect();
    let (mut flows, mut used) = (Vec::new(), Used::new());
    for demand in demands {
        let Some(promised) = promised.get(demand.name.as_str()) else {
            continue;
        };
        for (level, service) in demand.levels.iter().enumerate() {
            if let Some(service) = service {
                atlas.use_stages(promised, (level, service.class), &mut used);
            }
        }
        flows.push(atlas.flow(demand, promised));
    }
    for (stage, class) in atlas.session_stages(&flows) {
        used.insert((0, stage, class));
    }
    let is_served_above = |flow: &Flow| flow.demand.levels.iter().skip(1).any(Option::is_some);
    if network.changes == Changes::Switches && flows.iter().any(is_served_above) {
        // Signals of a change pass all of them.
        let ids = (0..).map(StageId).zip(&promises.places);
        let processors = ids.filter(|(_, place)| matches!(place, LedgerPlace::Switch(_)));
        used.extend(processors.map(|(stage, _)| (0, stage, 0)));
    }
    let names = statement::levels(scenario).into_iter().enumerate();
    let levels = names.map(|(at, name)| atlas.level(at, name, &used));
    let certificate = Certificate {
        format: FORMAT.to_owned(),
        network,
        levels: levels.collect(),
        flows,
        sha256: String::new(),
        signature: None,
    };
    certificate.seal()
}

/// The stages on which promises rest, by level, with the class.
type Used = BTreeSet<(usize, StageId, u8)>;

/// Finds what the controller numbers in the scenario.
struct Atlas<'a> {
    scenario: &'a Scenario,
    promises: &'a Promises,
    /// The link at each port of a switch, by datapath id.
    links: BTreeMap<(u64, u32), usize>,
}

impl<'a> Atlas<'a> {
    fn new(scenario: &'a Scenario, promises: &'a Promises) -> Self {
        let mut links = BTreeMap::new();
        for (at, link) in scenario.links.iter().enumerate() {
            for end in link.ends {
                if let Node::Switch(switch) = end.node {
                    let datapath = scenario.switches[switch.0].datapath_id;
                    links.insert((datapath, end.port), at);
                }
            }
        }
        Self {
            scenario,
            promises,
            links,
        }
    }

    fn link_at(&self, port: PortId) -> Option<usize> {
        self.links.get(&(port.datapath.0, port.port.0)).copied()
    }

    fn place(&self, stage: StageId) -> LedgerPlace {
        self.promises.places[stage.0 as usize]
    }

    /// Returns the links that a tree of stages crosses, behind that of the source.
    fn links_of(&self, source: usize, tree: &Tree) -> Vec<usize> {
        let ports = tree
            .hops
            .iter()
            .filter_map(|hop| match self.place(hop.stage) {
                LedgerPlace::Port(port) => self.link_at(port),
                LedgerPlace::Switch(_) => None,
            });
        std::iter::once(source).chain(ports).collect()
    }

    fn flow(&self, demand: Demand, promised: &PromisedFlow) -> Flow {
        let request = self.promises.ledger.request(promised.reservation);
        let request = request.expect("the ledger has what is promised");
        let mut hosts = self.scenario.hosts.iter();
        let source = hosts.find(|host| host.name == demand.source);
        let source = source.expect("the scenario has who sends").link.0;
        let alternatives = request.alternatives.iter().filter_map(|(failure, tree)| {
            let ends = self.promises.failures[failure.0 as usize].both();
            Some(Alternative {
                without: self.link_at(ends[0])?,
                path: self.links_of(source, tree),
            })
        });
        let guarantees = promised.at_levels.iter().copied();
        let copies = request.redundant.as_ref().map(|redundant| Copies {
            path: self.links_of(source, &redundant.tree),
            eliminator: redundant
                .eliminator
                .map(|stage| places::name_of(self.scenario, self.place(stage))),
        });
        Flow {
            guarantees_ps: guarantees.map(|it| it.map(Delay::as_ps)).collect(),
            path: self.links_of(source, &request.base),
            alternatives: alternatives.collect(),
            copies,
            demand,
        }
    }

    /// Notes the stages of all ways of a flow.
    fn use_stages(&self, promised: &PromisedFlow, (level, class): (usize, u8), used: &mut Used) {
        let Some(request) = self.promises.ledger.request(promised.reservation) else {
            return;
        };
        let others = request.alternatives.iter().map(|(_, tree)| tree);
        let copies = request.redundant.iter().map(|redundant| &redundant.tree);
        let trees = others.chain(copies).chain([&request.base]);
        for hop in trees.flat_map(|tree| &tree.hops) {
            let class = match self.place(hop.stage) {
                LedgerPlace::Port(_) => class,
                LedgerPlace::Switch(_) => 0,
            };
            used.insert((level, hop.stage, class));
        }
    }

    /// Returns the stages that BFD packets pass which flows rely on, with the class.
    fn session_stages(&self, flows: &[Flow]) -> Vec<(StageId, u8)> {
        let stages = (0..).map(StageId).zip(&self.promises.places);
        let stages: BTreeMap<_, _> = stages.map(|(stage, place)| (*place, stage)).collect();
        let relying = flows.iter();
        let relying = relying.filter(|flow| flow.demand.bfd_interval_ps.is_some());
        let links = relying.flat_map(|flow| &flow.path);
        let links = links.map(|link| &self.scenario.links[*link]);
        let is_switch = |end: &scenario::End| matches!(end.node, Node::Switch(_));
        let between = links.filter(|link| link.ends.iter().all(is_switch));
        let ends = between.flat_map(|link| link.ends);
        let places = ends.filter_map(|end| match end.node {
            Node::Switch(switch) => {
                let datapath = DatapathId(self.scenario.switches[switch.0].datapath_id);
                let port = PortId::new(datapath, PortNumber(end.port));
                Some([
                    (LedgerPlace::Port(port), neighbour_sessions::CLASS),
                    (LedgerPlace::Switch(datapath), 0),
                ])
            }
            Node::Host(_) => None,
        });
        let used = places.flatten();
        used.filter_map(|(place, class)| Some((*stages.get(&place)?, class)))
            .collect()
    }

    /// Returns the budgets of a level on which promises rest.
    fn level(&self, at: usize, name: Option<String>, used: &Used) -> Level {
        let ledger: &Ledger = match at.checked_sub(1) {
            None => &self.promises.ledger,
            Some(above) => &self.promises.levels[above],
        };
        let (mut processors, mut ports) = (Vec::new(), Vec::new());
        for (_, stage, class) in used.range((at, StageId(0), 0)..(at + 1, StageId(0), 0)) {
            let budget = ledger.stages()[stage.0 as usize].budget(*class);
            let Some(budget) = budget.map(Delay::as_ps) else {
                continue;
            };
            match self.place(*stage) {
                LedgerPlace::Switch(_) => processors.push(ProcessorBudget {
                    switch: places::name_of(self.scenario, self.place(*stage)),
                    budget_ps: budget,
                }),
                LedgerPlace::Port(port) => ports.push(PortBudget {
                    switch: places::name_of(self.scenario, LedgerPlace::Switch(port.datapath)),
                    port: port.port.0,
                    class: *class,
                    budget_ps: budget,
                }),
            }
        }
        Level {
            name,
            processors,
            ports,
        }
    }
}
