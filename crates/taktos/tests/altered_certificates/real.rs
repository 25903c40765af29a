//! The certificates that are altered.

use std::sync::atomic::AtomicBool;

use calculus::admission::{Redundant, Request};
use certificate::compare::ComparedStatement;
use certificate::document::{Copies, Demand, Protection};
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
protection = "restore"
interruption = "20 ms"
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

    /// Second copies. No scenario asks for them yet, so the ledger of one is asked.
    pub fn copies() -> Self {
        let mut real = Self::of("twice", TWICE);
        let stop = AtomicBool::new(false);
        let (_, promises) = Experiment::deciding(&real.scenario, &stop)
            .promises()
            .unwrap();
        let mut ledger = promises.ledger;
        let promised = &promises.flows[0];
        let request = ledger.request(promised.reservation).unwrap().clone();
        ledger.withdraw(promised.reservation);
        let (_, other) = &request.alternatives[0];
        let meet = other.hops[other.hops.len() - 2].stage;
        let admitted = ledger
            .admit(Request {
                alternatives: Vec::new(),
                redundant: Some(Box::new(Redundant {
                    tree: other.clone(),
                    eliminator: Some(meet),
                })),
                ..request.clone()
            })
            .unwrap();
        let flow = &mut real.certificate.flows[0];
        flow.demand.protection = Protection::Copies;
        let path = flow.alternatives.remove(0).path;
        flow.alternatives.clear();
        let eliminator = Some("s4".to_owned());
        flow.copies = Some(Copies { path, eliminator });
        let late = admitted.alternatives.iter().map(|(_, late)| *late);
        let late = late.fold(admitted.guarantee, units::Delay::max);
        flow.guarantees_ps = vec![Some(late.as_ps())];
        real.certificate = real.certificate.seal();
        real
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
        let (network, mut demands) = (
            statement::network(&self.scenario),
            statement::demands(&self.scenario),
        );
        for demand in demands.iter_mut().filter(|_| self.name == "twice") {
            demand.protection = Protection::Copies;
        }
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
