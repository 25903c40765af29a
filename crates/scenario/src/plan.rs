//! A network under construction: hand-made, generated and imported parts meet
//! here and leave as switches, hosts and links that fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use units::{BitRate, Delay};

use crate::limits::{MOST_LINKS, MOST_NODES};
use crate::mistake::Mistake;
use crate::names::Names;
use crate::problem::{Problems, TextSpan};
use crate::{
    Device, End, EndHost, HostIndex, Link, LinkIndex, Node, Position, ProfileIndex, Switch,
    SwitchIndex,
};

/// What a switch may be given by the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchPlan {
    pub(crate) device: Device,
    pub(crate) profile: ProfileIndex,
    pub(crate) datapath_id: Option<u64>,
    pub(crate) position: Option<Position>,
}

/// What a host may be given by the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostPlan {
    pub(crate) mac: Option<[u8; 6]>,
    pub(crate) ip: Option<Ipv4Addr>,
}

#[derive(Clone, Debug)]
pub(crate) struct LinkPlan {
    pub(crate) name: Option<String>,
    pub(crate) ends: [Node; 2],
    pub(crate) rate: BitRate,
    pub(crate) propagation: Delay,
}

#[derive(Debug)]
pub(crate) struct NetworkPlan {
    pub(crate) nodes: Names<Node>,
    pub(crate) links: Names<LinkIndex>,
    switches: Vec<(String, SwitchPlan, TextSpan)>,
    hosts: Vec<(String, HostPlan, TextSpan)>,
    planned_links: Vec<(LinkPlan, TextSpan)>,
    lost_links: usize,
}

/// The parts of a finished network.
#[derive(Debug)]
pub(crate) struct PlannedNetwork {
    pub(crate) nodes: Names<Node>,
    pub(crate) link_names: Names<LinkIndex>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) hosts: Vec<EndHost>,
    pub(crate) links: Vec<Link>,
    /// Whether no link is missing because of a mistake. If one is, it says
    /// nothing that a host has no link or that no path leads to it.
    pub(crate) is_whole: bool,
}

impl NetworkPlan {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Names::new("node", "[switches] or [hosts]"),
            links: Names::new("link", "[links]"),
            switches: Vec::new(),
            hosts: Vec::new(),
            planned_links: Vec::new(),
            lost_links: 0,
        }
    }

    pub(crate) fn add_switch(
        &mut self,
        name: &str,
        plan: SwitchPlan,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Node {
        let node = Node::Switch(SwitchIndex(self.switches.len()));
        self.nodes.give(name, node, place.clone(), problems);
        self.switches.push((name.to_owned(), plan, place));
        node
    }

    pub(crate) fn add_host(
        &mut self,
        name: &str,
        plan: HostPlan,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Node {
        let node = Node::Host(HostIndex(self.hosts.len()));
        self.nodes.give(name, node, place.clone(), problems);
        self.hosts.push((name.to_owned(), plan, place));
        node
    }

    /// Adds a link; reports ends that no link can have.
    pub(crate) fn add_link(&mut self, plan: LinkPlan, place: TextSpan, problems: &mut Problems) {
        let found = match plan.ends {
            [one, other] if one == other => Some("a node with itself"),
            [Node::Host(_), Node::Host(_)] => Some("two hosts"),
            [Node::Switch(_), _] | [_, Node::Switch(_)] => None,
        };
        match found {
            Some(found) => {
                let found = found.to_owned();
                problems.report(place, Mistake::LinkEnds { found });
                self.lose_link(plan.name.as_deref());
            }
            None => self.planned_links.push((plan, place)),
        }
    }

    /// Notes that a link is missing because of a mistake, which was reported.
    pub(crate) fn lose_link(&mut self, name: Option<&str>) {
        self.lost_links += 1;
        if let Some(name) = name {
            self.links.spoil(name);
        }
    }

    /// Returns how many switches and hosts there are.
    pub(crate) fn node_count(&self) -> usize {
        self.switches.len() + self.hosts.len()
    }

    /// Returns the finished network; reports what does not fit together.
    /// `place` is where a message about the network as a whole points.
    pub(crate) fn finish(mut self, place: &TextSpan, problems: &mut Problems) -> PlannedNetwork {
        self.check_counts(place, problems);
        let (links, ports) = self.plug_in(problems);
        let switches = self.finish_switches(&ports, problems);
        let hosts = self.finish_hosts(&ports, problems);
        PlannedNetwork {
            nodes: self.nodes,
            link_names: self.links,
            switches,
            hosts,
            links,
            is_whole: self.lost_links == 0,
        }
    }

    fn check_counts(&self, place: &TextSpan, problems: &mut Problems) {
        let most_nodes = usize::try_from(MOST_NODES).expect("a usize has 32 bits at least");
        let counts = [
            ("switches and hosts", self.node_count(), most_nodes),
            ("links", self.planned_links.len(), MOST_LINKS),
        ];
        for (what, count, limit) in counts {
            if count > limit {
                problems.report(place.clone(), Mistake::TooMany { what, count, limit });
            }
        }
    }

    /// Gives every link its name and its ports, and returns the links of every
    /// node in the order of its ports.
    fn plug_in(&mut self, problems: &mut Problems) -> (Vec<Link>, BTreeMap<Node, Vec<LinkIndex>>) {
        let mut ports: BTreeMap<Node, Vec<LinkIndex>> = BTreeMap::new();
        let mut links = Vec::with_capacity(self.planned_links.len());
        let mut parallel: BTreeMap<String, u32> = BTreeMap::new();
        for (plan, place) in std::mem::take(&mut self.planned_links) {
            let index = LinkIndex(links.len());
            let name = match plan.name {
                Some(name) => name,
                None => self.link_name(plan.ends, &mut parallel),
            };
            self.links.give(&name, index, place, problems);
            let ends = plan.ends.map(|node| {
                let ports = ports.entry(node).or_default();
                ports.push(index);
                let port = u32::try_from(ports.len()).expect("no more ports than links");
                End { node, port }
            });
            links.push(Link {
                name,
                ends,
                rate: plan.rate,
                propagation: plan.propagation,
            });
        }
        (links, ports)
    }

    fn link_name(&self, ends: [Node; 2], parallel: &mut BTreeMap<String, u32>) -> String {
        let [one, other] = ends.map(|node| match node {
            Node::Switch(switch) => &self.switches[switch.0].0,
            Node::Host(host) => &self.hosts[host.0].0,
        });
        let base = format!("{one}-{other}");
        let count = parallel.entry(base.clone()).or_default();
        loop {
            *count += 1;
            let name = match *count {
                1 => base.clone(),
                count => format!("{base}-{count}"),
            };
            if !self.links.has(&name) {
                return name;
            }
        }
    }

    fn finish_switches(
        &mut self,
        ports: &BTreeMap<Node, Vec<LinkIndex>>,
        problems: &mut Problems,
    ) -> Vec<Switch> {
        let given = self.switches.iter();
        let given = given.filter_map(|(_, plan, place)| Some((plan.datapath_id?, place)));
        let mut taken = taken("datapath id", given, |id| format!("{id:#x}"), problems);
        let switches = std::mem::take(&mut self.switches).into_iter().enumerate();
        switches
            .map(|(index, (name, plan, _))| {
                let own = u64::try_from(index).expect("a usize has 64 bits at most") + 1;
                let free = || (own..).find(|id| taken.insert(*id));
                Switch {
                    name,
                    datapath_id: plan.datapath_id.or_else(free).unwrap_or(own),
                    device: plan.device,
                    profile: plan.profile,
                    ports: ports_of(ports, Node::Switch(SwitchIndex(index))),
                    position: plan.position,
                }
            })
            .collect()
    }

    fn finish_hosts(
        &mut self,
        ports: &BTreeMap<Node, Vec<LinkIndex>>,
        problems: &mut Problems,
    ) -> Vec<EndHost> {
        let given = self.hosts.iter();
        let macs = given
            .clone()
            .filter_map(|(_, plan, place)| Some((plan.mac?, place)));
        let mut macs = taken("hardware address", macs, show_mac, problems);
        let ips = given.filter_map(|(_, plan, place)| Some((plan.ip?, place)));
        let mut ips = taken("network address", ips, Ipv4Addr::to_string, problems);
        let mut free_macs = (1u32..).map(default_mac);
        let mut free_ips = (1u32..).map(default_ip);
        let hosts = std::mem::take(&mut self.hosts).into_iter().enumerate();
        hosts
            .map(|(index, (name, plan, place))| {
                let links = ports_of(ports, Node::Host(HostIndex(index)));
                if links.len() > 1 || (links.is_empty() && self.lost_links == 0) {
                    let (host, links) = (name.clone(), links.len());
                    problems.report(place, Mistake::HostLinks { host, links });
                }
                let free_mac = || free_macs.find(|mac| macs.insert(*mac));
                let free_ip = || free_ips.find(|ip| ips.insert(*ip));
                EndHost {
                    name,
                    mac: plan.mac.or_else(free_mac).unwrap_or_default(),
                    ip: plan.ip.or_else(free_ip).unwrap_or(Ipv4Addr::UNSPECIFIED),
                    link: links.first().copied().unwrap_or(LinkIndex(0)),
                }
            })
            .collect()
    }
}

/// Returns the values that the file gives; reports those given twice.
fn taken<'a, T: Copy + Ord>(
    what: &'static str,
    given: impl Iterator<Item = (T, &'a TextSpan)>,
    show: fn(&T) -> String,
    problems: &mut Problems,
) -> BTreeSet<T> {
    let mut first: BTreeMap<T, &TextSpan> = BTreeMap::new();
    for (value, place) in given {
        if let Some(first) = first.insert(value, place) {
            let (name, first) = (show(&value), first.clone());
            problems.report(place.clone(), Mistake::Twice { what, name, first });
        }
    }
    first.into_keys().collect()
}

fn ports_of(ports: &BTreeMap<Node, Vec<LinkIndex>>, node: Node) -> Vec<LinkIndex> {
    ports.get(&node).cloned().unwrap_or_default()
}

/// Returns the `n`th locally administered address.
fn default_mac(n: u32) -> [u8; 6] {
    let [a, b, c, d] = n.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// Returns the `n`th address of 10.0.0.0/8.
fn default_ip(n: u32) -> Ipv4Addr {
    let [_, b, c, d] = n.to_be_bytes();
    Ipv4Addr::new(10, b, c, d)
}

fn show_mac(mac: &[u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
