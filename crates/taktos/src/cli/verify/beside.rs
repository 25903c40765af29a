//! Holds what a certificate states against a scenario, or a running controller.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use api::topology::Topology;
use api::{FrameOrder, LinkEnds, Place, Route};
use certificate::compare::ComparedStatement;
use certificate::document::{Demand, Flow, Protection};
use certificate::{Certificate, Difference, compare};
use serde_json::json;
use units::{DataSize, Delay};

use super::super::client::failure::complain;
use super::super::exit::Exit;
use super::super::scenario_file;
use super::super::screen::say;
use crate::client::access::{self, Access, AccessError};
use crate::client::{ClientError, Controller};
use crate::web::document::{FlowDocument, FlowsDocument, RequirementDocument};
use run::experiment::statement;

/// What a controller does not tell.
const UNTOLD: [&str; 8] = [
    "rates and lengths of links",
    "profiles and their figures",
    "what hosts send without a promise",
    "the classes that have promises",
    "the time between probes",
    "how many frames messages are",
    "what is asked for above the lowest level",
    "budgets",
];

/// By what right a controller is asked.
#[derive(Debug, clap::Args)]
pub struct Right {
    /// The file with the token that says who asks a controller [default: what the
    /// environment variable TAKTOS_TOKEN holds].
    #[arg(long, value_name = "FILE", requires = "against")]
    token_file: Option<PathBuf>,
    /// The certificate of the authority that certified the controller, in PEM.
    #[arg(long, value_name = "FILE", env = "TAKTOS_CA")]
    ca: Option<PathBuf>,
}

/// What a comparison found.
#[derive(Debug)]
pub struct Compared {
    /// What is stated otherwise than it is.
    pub differences: Vec<Difference>,
    /// What was not compared.
    pub left_out: &'static [&'static str],
}

/// Compares a certificate with a scenario file, or with the controller at a URL; says
/// why if that cannot be.
pub fn compare_with(certificate: &Certificate, to: &str, right: &Right) -> Result<Compared, Exit> {
    if to.starts_with("http://") || to.starts_with("https://") {
        let told = Access::new(
            to,
            right.token().map_err(unusable)?.as_deref(),
            right.ca.as_deref(),
        );
        let controller = Controller::new(told.map_err(unusable)?);
        let told = ControllerAccount::by(&controller).map_err(|error| complain(&error))?;
        return Ok(Compared {
            differences: told.differences(certificate),
            left_out: &UNTOLD,
        });
    }
    let mut scenario = scenario_file::read(Path::new(to))?;
    scenario_file::settle_queues(&mut scenario, &AtomicBool::new(false))?;
    let (network, demands) = (statement::network(&scenario), statement::demands(&scenario));
    let stated: Vec<&Demand> = certificate.flows.iter().map(|flow| &flow.demand).collect();
    let found: Vec<&Demand> = demands.iter().collect();
    let said = |network, demands| ComparedStatement {
        network: Some(network),
        demands,
    };
    let mut differences = compare(
        said(&certificate.network, stated.as_slice()),
        said(&network, found.as_slice()),
    );
    let levels = certificate.levels.iter().map(|level| level.name.clone());
    let (stated, found) = (levels.collect::<Vec<_>>(), statement::levels(&scenario));
    note(&mut differences, "levels", &stated, &found);
    Ok(Compared {
        differences,
        left_out: &[],
    })
}

fn unusable(error: AccessError) -> Exit {
    say(format_args!("taktos: {error}"));
    Exit::BadInput
}

fn note<T: std::fmt::Debug + PartialEq>(
    differences: &mut Vec<Difference>,
    at: &str,
    stated: &T,
    found: &T,
) {
    if stated != found {
        differences.push(Difference {
            at: at.to_owned(),
            stated: format!("{stated:?}"),
            found: format!("{found:?}"),
        });
    }
}

impl Right {
    fn token(&self) -> Result<Option<String>, AccessError> {
        match &self.token_file {
            Some(file) => access::token_in(file).map(Some),
            None => Ok(std::env::var("TAKTOS_TOKEN")
                .ok()
                .filter(|it| !it.is_empty())),
        }
    }
}

/// What a controller tells of its network and its flows.
struct ControllerAccount {
    topology: Topology,
    flows: Vec<FlowDocument>,
}

impl ControllerAccount {
    fn by(controller: &Controller) -> Result<Self, ClientError> {
        let flows: FlowsDocument = controller.get("/api/v1/flows")?;
        Ok(Self {
            topology: controller.get("/api/v1/topology")?,
            flows: flows.flows,
        })
    }

    /// Returns what the certificate states otherwise.
    fn differences(&self, certificate: &Certificate) -> Vec<Difference> {
        let mut differences = Vec::new();
        let stated = stated_topology(certificate);
        compare_things(&mut differences, &stated, &told_topology(&self.topology));
        let stated = certificate.flows.iter();
        let stated = stated.map(|flow| (flow.demand.name.clone(), stated_flow(certificate, flow)));
        let told = self.flows.iter();
        let told = told.filter(|flow| flow.requirement.deadline_ns.is_some());
        let told = told.map(|flow| (flow.accepted.name.clone(), told_flow(flow)));
        let named = |flows: Vec<(String, Vec<(&str, String)>)>| -> Things {
            let said = flows.into_iter().flat_map(|(name, said)| {
                let there = (format!("flow `{name}`"), "it is there".to_owned());
                let said = said.into_iter();
                let said = said.map(move |(what, is)| (format!("flow `{name}`, {what}"), is));
                std::iter::once(there).chain(said)
            });
            said.collect()
        };
        compare_things(
            &mut differences,
            &named(stated.collect()),
            &named(told.collect()),
        );
        differences
    }
}

/// What is said of things, by what they are called.
type Things = BTreeMap<String, String>;

fn compare_things(differences: &mut Vec<Difference>, stated: &Things, found: &Things) {
    let all: BTreeSet<_> = stated.keys().chain(found.keys()).collect();
    for at in all {
        let text = |said: &Things| {
            said.get(at)
                .cloned()
                .unwrap_or_else(|| "nothing".to_owned())
        };
        let (stated, found) = (text(stated), text(found));
        if stated != found {
            let at = at.clone();
            differences.push(Difference { at, stated, found });
        }
    }
}

/// Returns a port as the ids of links write it.
fn port(datapath: u64, port: u32) -> String {
    format!("{datapath:x}:{port}")
}

/// Returns the ends of a link, the lesser first.
fn ends(mut ends: [(u64, u32); 2]) -> String {
    ends.sort_unstable();
    let [one, other] = ends.map(|(datapath, number)| port(datapath, number));
    format!("{one}-{other}")
}

fn stated_topology(certificate: &Certificate) -> Things {
    let network = &certificate.network;
    let mut said = Things::new();
    for switch in &network.switches {
        said.insert(
            format!("switch `{}`", switch.name),
            format!("datapath {:x}", switch.datapath),
        );
    }
    for link in &network.links {
        let at = datapaths(certificate, &link.ends);
        match at.as_slice() {
            [one, other] => {
                said.insert(
                    format!("link {}", ends([*one, *other])),
                    "it is there".to_owned(),
                );
            }
            [(datapath, number)] => {
                let hosts = link.ends.iter();
                let host = hosts
                    .map(|end| &end.node)
                    .find(|name| is_host(certificate, name));
                let host = host.cloned().unwrap_or_default();
                said.insert(
                    format!("host `{host}`"),
                    format!("port {}", port(*datapath, *number)),
                );
            }
            _ => {}
        }
    }
    said
}

fn is_host(certificate: &Certificate, name: &str) -> bool {
    certificate
        .network
        .hosts
        .iter()
        .any(|host| host.name == name)
}

/// Returns the ends of a link that are at switches.
fn datapaths(certificate: &Certificate, ends: &[certificate::document::End; 2]) -> Vec<(u64, u32)> {
    let switches = &certificate.network.switches;
    let at = ends.iter().filter_map(|end| {
        let switch = switches.iter().find(|switch| switch.name == end.node)?;
        Some((switch.datapath, end.port))
    });
    at.collect()
}

fn told_topology(topology: &Topology) -> Things {
    let mut said = Things::new();
    let number = |place: &Place| (place.datapath.0, place.port.0);
    for switch in topology.switches.iter().filter(|switch| switch.connected) {
        said.insert(
            format!("switch `{}`", switch.name),
            format!("datapath {:x}", switch.datapath.0),
        );
    }
    for link in topology.links.iter().filter(|link| link.up) {
        let [one, other] = &link.ends;
        let name = ends([number(one), number(other)]);
        said.insert(format!("link {name}"), "it is there".to_owned());
    }
    for host in &topology.hosts {
        let at = host.attachment.as_ref().map(number);
        let at = at.map_or_else(
            || "no port".to_owned(),
            |(datapath, number)| format!("port {}", port(datapath, number)),
        );
        said.insert(format!("host `{}`", host.name), at);
    }
    said
}

/// Returns the links between switches of a way, in an order of their own.
fn trunks(certificate: &Certificate, path: &[usize]) -> String {
    let links = path
        .iter()
        .filter_map(|link| certificate.network.links.get(*link));
    let at = links.map(|link| datapaths(certificate, &link.ends));
    let trunks = at.filter_map(|at| match at.as_slice() {
        [one, other] => Some(ends([*one, *other])),
        _ => None,
    });
    let trunks: BTreeSet<_> = trunks.collect();
    trunks.into_iter().collect::<Vec<_>>().join(" ")
}

fn told_trunks(route: &Route) -> String {
    let trunks = route.links.iter().copied().map(link_id);
    let trunks: BTreeSet<_> = trunks.collect();
    trunks.into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns the id of a link with its lesser end first.
fn link_id(link: LinkEnds) -> String {
    ends(link.both().map(|end| (end.datapath.0, end.port.0)))
}

fn stated_flow(certificate: &Certificate, flow: &Flow) -> Vec<(&'static str, String)> {
    let demand = &flow.demand;
    let receivers: BTreeSet<_> = demand.receivers.iter().cloned().collect();
    let guarantee = flow.guarantees_ps.iter().flatten().max().copied();
    let guarantee = Delay::from_ps(guarantee.unwrap_or_default()).round_up();
    let mut said = vec![
        ("source", demand.source.clone()),
        (
            "receivers",
            receivers.into_iter().collect::<Vec<_>>().join(" "),
        ),
        (
            "protection",
            match demand.protection {
                Protection::None => "none".to_owned(),
                Protection::Restore => "restore".to_owned(),
                Protection::FastFailover => "fast-failover".to_owned(),
                Protection::Copies if demand.hold_ps > 0 => "copies, in order".to_owned(),
                Protection::Copies => "copies".to_owned(),
            },
        ),
        ("guarantee_ns", guarantee.as_ns().to_string()),
        ("promise", "holds".to_owned()),
        ("path", trunks(certificate, &flow.path)),
    ];
    let bytes = |bits: u64| DataSize::from_bits(bits).bytes_up().to_string();
    if let Some(service) = demand.levels.first().copied().flatten() {
        let deadline = Delay::from_ps(service.deadline_ps).round_up();
        said.extend([
            ("class", service.class.to_string()),
            ("deadline_ns", deadline.as_ns().to_string()),
            ("rate_bps", service.rate_bps.to_string()),
            ("burst_bytes", bytes(service.burst_bit)),
            ("largest_frame_bytes", bytes(service.largest_frame_bit)),
            ("smallest_frame_bytes", bytes(service.smallest_frame_bit)),
        ]);
    }
    let alternatives = flow.alternatives.iter().map(|alternative| {
        let without = trunks(certificate, &[alternative.without]);
        format!(
            "without {without}: {}",
            trunks(certificate, &alternative.path)
        )
    });
    let alternatives: BTreeSet<_> = alternatives.collect();
    said.push((
        "alternatives",
        alternatives.into_iter().collect::<Vec<_>>().join("; "),
    ));
    said
}

fn told_flow(flow: &FlowDocument) -> Vec<(&'static str, String)> {
    let RequirementDocument {
        source,
        destinations,
        class,
        deadline_ns,
        rate_bps,
        burst_bytes,
        largest_frame_bytes,
        smallest_frame_bytes,
        protection,
        ..
    } = &flow.requirement;
    let receivers: BTreeSet<_> = destinations.iter().cloned().collect();
    let number = |number: Option<u64>| number.map_or_else(String::new, |it| it.to_string());
    let promise = json!(flow)["promise"].as_str().map(str::to_owned);
    let promise = promise.unwrap_or_default();
    let mut said = vec![
        ("source", source.clone()),
        (
            "receivers",
            receivers.into_iter().collect::<Vec<_>>().join(" "),
        ),
        (
            "protection",
            match protection {
                api::Protection::Seamless {
                    order: FrameOrder::Kept,
                    ..
                } => "copies, in order".to_owned(),
                api::Protection::Seamless { .. } => "copies".to_owned(),
                other => other.name().to_owned(),
            },
        ),
        (
            "guarantee_ns",
            number(flow.accepted.guarantee.map(|it| it.round_up().as_ns())),
        ),
        ("promise", promise),
        ("path", told_trunks(&flow.accepted.route)),
        ("class", class.map_or_else(String::new, |it| it.to_string())),
        ("deadline_ns", number(*deadline_ns)),
        ("rate_bps", rate_bps.to_string()),
        ("burst_bytes", number(*burst_bytes)),
        ("largest_frame_bytes", number(*largest_frame_bytes)),
        ("smallest_frame_bytes", number(*smallest_frame_bytes)),
    ];
    let alternatives = flow.accepted.alternatives.iter().map(|alternative| {
        let without = link_id(alternative.without);
        format!("without {without}: {}", told_trunks(&alternative.route))
    });
    let alternatives: BTreeSet<_> = alternatives.collect();
    said.push((
        "alternatives",
        alternatives.into_iter().collect::<Vec<_>>().join("; "),
    ));
    said
}

#[cfg(test)]
mod tests;
