//! The certificates that are altered.

use std::sync::atomic::AtomicBool;

use certificate::compare::ComparedStatement;
use certificate::document::Demand;
use certificate::{Certificate, Difference, compare};
use run::experiment::{Experiment, certificate, statement};
use scenario::Scenario;

/// Messages with a peak that move when a link breaks, a group, floods, and small frames
/// on fast links beside them.
const MESSAGES: &str = r#"
[scenario]
title = "Messages on a torus"
duration = "1 s"

[network]
generator = "torus"
rows = 3
columns = 3
hosts_per_switch = 1
link_rate = "1 Gbit/s"
host_rate = "100 Mbit/s"
profile = "pica8-p3297"

[flows.points]
kind = "message"
from = "h1"
to = "h5"
size = "8 kB"
period = "20 ms"
jitter = "250 us"
deadline = "20 ms"
protection = "restore"
interruption = "20 ms"

[flows.others]
kind = "message"
from = "h9"
to = "h5"
size = "8 kB"
period = "20 ms"
jitter = "250 us"
deadline = "20 ms"
protection = "restore"
interruption = "20 ms"

[flows.group]
kind = "udp"
from = "h2"
to = ["h6", "h8", "h1"]
frame = "200 B"
rate = "2 Mbit/s"
deadline = "10 ms"

[flows.flood]
kind = "best-effort"
from = "h3"
to = "h4"
frame = "1000 B"
rate = "10 Mbit/s"
"#;

/// Two ways, and room enough for a copy on each.
const TWICE: &str = r#"
[scenario]
title = "Both ways"
duration = "1 s"

[admission]
processing_budget = "300 us"

[switches]
s1 = {}
s2 = {}
s3 = {}
s4 = {}

[links]
s1-s2 = ["s1", "s2"]
s2-s4 = ["s2", "s4"]
s1-s3 = ["s1", "s3"]
s3-s4 = ["s3", "s4"]

[hosts]
mu = { at = "s1" }
relay = { at = "s4" }

[classes]
high = { queue = 6, budget = "400 us" }
best-effort = { queue = 0 }

[flows.sv]
kind = "sampled-values"
from = "mu"
to = "relay"
frame = "122 B"
period = "1 ms"
deadline = "10 ms"
class = "high"
protection = "seamless"
"#;

/// A scenario and its certificate.
#[derive(Clone, Debug)]
pub struct Real {
    pub name: &'static str,
    pub scenario: Scenario,
    pub certificate: Certificate,
    /// The flows that were refused: of them a certificate says nothing.
    refused: Vec<String>,
}

impl Real {
    /// Returns one of each kind.
    pub fn all() -> Vec<Self> {
        vec![
            Self::substation(),
            Self::levels(),
            Self::messages(),
            Self::copies(),
            Self::in_order(),
            Self::turned(),
        ]
    }

    /// A ring of four switches: groups, and flows that move when a link breaks.
    pub fn substation() -> Self {
        let text = include_str!("../../../../scenarios/substation.toml");
        Self::of("substation", text)
    }

    /// Two levels, and messages that are counted in frames.
    pub fn levels() -> Self {
        let text = include_str!("../../../../scenarios/emergency-braking.toml");
        Self::of("emergency-braking", text)
    }

    /// Messages that move, and a group, beside floods.
    pub fn messages() -> Self {
        Self::of("messages", MESSAGES)
    }

    /// Second copies, with tags.
    pub fn copies() -> Self {
        Self::of("twice", TWICE)
    }

    /// Second copies, and frames that are held back to stay in order.
    pub fn in_order() -> Self {
        let flow = "protection = \"seamless\"";
        let in_order = format!("{flow}\norder = \"kept\"");
        Self::of("in order", &TWICE.replace(flow, &in_order))
    }

    /// Frames that are turned back, and links that are watched.
    pub fn turned() -> Self {
        let flow = "protection = \"seamless\"";
        let turned = "protection = \"fast-failover\"\ninterruption = \"20 ms\"\ncovers = \"any\"";
        Self::of("turned", &TWICE.replace(flow, turned))
    }

    fn of(name: &'static str, text: &str) -> Self {
        let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let scenario = Scenario::parse(&format!("{name}.toml"), text, &mut nothing).unwrap();
        let stop = AtomicBool::new(false);
        let (_, promises) = Experiment::deciding(&scenario, &stop).promises().unwrap();
        let certificate = certificate(&scenario, &promises);
        let demands = statement::demands(&scenario).into_iter();
        let flows = &certificate.flows;
        let is_refused = |demand: &Demand| flows.iter().all(|it| it.demand.name != demand.name);
        let refused = demands.filter(is_refused).map(|demand| demand.name);
        Self {
            name,
            refused: refused.collect(),
            scenario,
            certificate,
        }
    }

    /// Returns what a certificate states otherwise than the scenario.
    pub fn differences(&self, certificate: &Certificate) -> Vec<Difference> {
        let network = statement::network(&self.scenario);
        let demands = statement::demands(&self.scenario);
        let stated: Vec<&Demand> = certificate.flows.iter().map(|flow| &flow.demand).collect();
        let found = demands.iter();
        let found: Vec<&Demand> = found
            .filter(|demand| !self.refused.contains(&demand.name))
            .collect();
        compare(
            ComparedStatement {
                network: Some(&certificate.network),
                demands: &stated,
            },
            ComparedStatement {
                network: Some(&network),
                demands: &found,
            },
        )
    }
}
