//! Whether two documents state the same network and the same demands.
//!
//! A certificate that is consistent in itself may still be about another network. So
//! what it states is held against what somebody else says of the network, and each
//! difference is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use crate::document::{Demand, End, Link, Network};

/// The most differences that are listed.
const MOST_DIFFERENCES: usize = 100;

/// Something that is stated otherwise than it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub at: String,
    /// What the certificate says.
    pub stated: String,
    /// What is so.
    pub found: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { at, stated, found } = self;
        write!(
            f,
            "{at}: the certificate says {stated}, and there is {found}"
        )
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComparedStatement<'a> {
    /// The network.
    pub network: Option<&'a Network>,
    /// What flows ask for.
    pub demands: &'a [&'a Demand],
}

/// Returns what `stated` says otherwise than `found`, the first hundred of it.
#[must_use]
pub fn compare(stated: ComparedStatement<'_>, found: ComparedStatement<'_>) -> Vec<Difference> {
    let mut differences = Differences::default();
    if let (Some(stated), Some(found)) = (stated.network, found.network) {
        compare_networks(stated, found, &mut differences);
    }
    let by_name = |said: ComparedStatement<'_>| -> BTreeMap<String, Vec<(&'static str, String)>> {
        let demands = said.demands.iter();
        let demands = demands.map(|demand| (demand.name.clone(), of_demand(demand)));
        demands.collect()
    };
    differences.of_all("flow", &by_name(stated), &by_name(found));
    differences.found
}

fn compare_networks(stated: &Network, found: &Network, differences: &mut Differences) {
    differences.of("network", &stated.name, &found.name);
    differences.of("classes", &stated.classes, &found.classes);
    let probes = [stated, found].map(|it| it.probe_interval_ps);
    differences.of("probe_interval_ps", probes[0], probes[1]);
    differences.of("who changes the level", stated.changes, found.changes);
    let [of_stated, of_found] = [stated, found].map(switches);
    differences.of_all("switch", &of_stated, &of_found);
    let [of_stated, of_found] = [stated, found].map(hosts);
    differences.of_all("host", &of_stated, &of_found);
    let [of_stated, of_found] = [stated, found].map(links);
    differences.of_all("link", &of_stated, &of_found);
}

/// What is said of things, by their names.
type ByName = BTreeMap<String, Vec<(&'static str, String)>>;

fn switches(network: &Network) -> ByName {
    let profiles = network.profiles.iter();
    let profiles: BTreeMap<_, _> = profiles.map(|it| (it.name.as_str(), it.figures)).collect();
    let of = |name: &str| text(profiles.get(name));
    let switches = network.switches.iter().map(|switch| {
        let said = vec![
            ("datapath", text(switch.datapath)),
            ("profile", text(&switch.profile)),
            ("figures", of(&switch.profile)),
        ];
        (switch.name.clone(), said)
    });
    switches.collect()
}

fn hosts(network: &Network) -> ByName {
    let hosts = network.hosts.iter();
    hosts
        .map(|host| {
            let said = vec![("without a promise", text(host.unpromised))];
            (host.name.clone(), said)
        })
        .collect()
}

fn links(network: &Network) -> ByName {
    let links = network.links.iter().map(|link: &Link| {
        let mut ends: Vec<&End> = link.ends.iter().collect();
        ends.sort();
        let ends: Vec<_> = ends
            .iter()
            .map(|end| format!("{}:{}", end.node, end.port))
            .collect();
        let said = vec![
            ("ends", ends.join(" to ")),
            ("rate_bps", text(link.rate_bps)),
            ("propagation_ps", text(link.propagation_ps)),
        ];
        (link.name.clone(), said)
    });
    links.collect()
}

fn of_demand(demand: &Demand) -> Vec<(&'static str, String)> {
    let receivers: BTreeSet<_> = demand.receivers.iter().collect();
    let mut said = vec![
        ("source", text(&demand.source)),
        ("receivers", text(receivers)),
        ("protection", text(demand.protection)),
        ("tag_bit", text(demand.tag_bit)),
        ("hold_ps", text(demand.hold_ps)),
        ("bfd_interval_ps", text(demand.bfd_interval_ps)),
        ("levels", text(demand.levels.len())),
    ];
    for service in &demand.levels {
        let Some(service) = service else {
            said.push(("service", "none".to_owned()));
            continue;
        };
        said.extend([
            ("class", text(service.class)),
            ("rate_bps", text(service.rate_bps)),
            ("burst_bit", text(service.burst_bit)),
            ("largest_frame_bit", text(service.largest_frame_bit)),
            ("smallest_frame_bit", text(service.smallest_frame_bit)),
            ("frames", text(service.frames)),
            ("deadline_ps", text(service.deadline_ps)),
        ]);
    }
    said
}

fn text(value: impl Debug) -> String {
    format!("{value:?}")
}

/// The differences that were found so far.
#[derive(Default)]
struct Differences {
    found: Vec<Difference>,
}

impl Differences {
    fn of<T: Debug + PartialEq>(&mut self, at: &str, stated: T, found: T) {
        if stated != found {
            self.note(at.to_owned(), text(stated), text(found));
        }
    }

    fn note(&mut self, at: String, stated: String, found: String) {
        if self.found.len() < MOST_DIFFERENCES {
            self.found.push(Difference { at, stated, found });
        }
    }

    /// Compares things of a kind by their names.
    fn of_all(&mut self, kind: &str, stated: &ByName, found: &ByName) {
        let names: BTreeSet<_> = stated.keys().chain(found.keys()).collect();
        for name in names {
            let at = |what: &str| format!("{kind} `{name}`{what}");
            match (stated.get(name), found.get(name)) {
                (Some(said), Some(is)) if said.len() == is.len() => {
                    for ((what, said), (other, is)) in said.iter().zip(is) {
                        if (what, said) != (other, is) {
                            self.note(at(&format!(", {what}")), said.clone(), is.clone());
                        }
                    }
                }
                (Some(said), Some(is)) => {
                    let count = |said: &Vec<_>| format!("{} things", said.len());
                    self.note(at(""), count(said), count(is));
                }
                (Some(_), None) => self.note(at(""), "that it is there".into(), "none".into()),
                (None, Some(_)) => self.note(at(""), "nothing of it".into(), "one".into()),
                (None, None) => {}
            }
        }
    }
}
