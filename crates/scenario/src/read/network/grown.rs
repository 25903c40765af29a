//! Adds the switches, hosts and links that a generator makes or a topology file
//! has.

use crate::generate::Generator;
use crate::import::{self, ImportedTopology, NodeKind};
use crate::limits::MOST_NODES;
use crate::mistake::{Mistake, quote};
use crate::plan::{HostPlan, SwitchPlan};
use crate::problem::TextSpan;
use crate::read::Loader;
use crate::record::LayeredTable;
use crate::{Node, Position};

use super::NetworkReader;

impl NetworkReader<'_> {
    /// Adds what `[network]` asks for.
    pub(super) fn grow(&mut self, settings: &LayeredTable<'_>, load: &mut Loader<'_>) {
        self.check_source(settings);
        self.generate(settings);
        self.import(settings, load);
    }

    fn check_source(&mut self, settings: &LayeredTable<'_>) {
        if settings.has("generator") && settings.has("import") {
            let mistake = Mistake::Contradiction {
                sentence: "a network is generated or imported, not both".to_owned(),
                help: "remove `generator` or `import`".to_owned(),
            };
            self.problems.report(settings.place_of("import"), mistake);
        }
        let sizes = ["size", "rows", "columns", "depth", "fan_out"];
        let only_generated = sizes.iter().filter(|_| !settings.has("generator"));
        let hosts =
            (!settings.has("generator") && !settings.has("import")).then_some(&"hosts_per_switch");
        for key in only_generated.chain(hosts).filter(|key| settings.has(key)) {
            let mistake = Mistake::Contradiction {
                sentence: format!("`{key}` says how large a network is that nothing generates"),
                help: format!("add a `generator`, or remove `{key}`"),
            };
            self.problems.report(settings.place_of(key), mistake);
        }
    }

    fn generate(&mut self, settings: &LayeredTable<'_>) {
        let Some(generator) = settings.choice("generator") else {
            return;
        };
        let place = settings.place_of("generator");
        let Some(generator) = self.generator(generator, settings) else {
            return;
        };
        if let Some(mistake) = generator.mistake() {
            self.problems.report(settings.place_of("size"), mistake);
            return;
        }
        let count = generator.switch_count();
        let Some(count) = self.room_for(count, &place) else {
            return;
        };
        let switches: Vec<_> = (1..=count)
            .map(|n| self.add_switch(&format!("s{n}"), None, &place))
            .collect();
        for ends in generator.links() {
            let ends = ends.map(|end| switches[end]);
            self.link(ends, None, None, &place);
        }
        for (n, switch) in switches.into_iter().enumerate() {
            self.add_hosts(switch, &format!("h{}", n + 1), &place);
        }
    }

    /// Returns the generator with its sizes; reports those that are missing and
    /// those of other generators.
    fn generator(&mut self, name: &'static str, settings: &LayeredTable<'_>) -> Option<Generator> {
        let needed: &[&str] = match name {
            "grid" | "torus" => &["rows", "columns"],
            "tree" => &["depth", "fan_out"],
            _ => &["size"],
        };
        for key in ["size", "rows", "columns", "depth", "fan_out"] {
            let place = settings.place_of(key);
            match (needed.contains(&key), settings.has(key)) {
                (true, false) => self.problems.report(place, settings.missing(key)),
                (false, true) => self.problems.report(
                    place,
                    Mistake::KeyOfAnotherKind {
                        key: key.to_owned(),
                        kind: name,
                        known: crate::shape::list(needed.iter().copied()),
                    },
                ),
                (true, true) | (false, false) => {}
            }
        }
        let size = |key| usize::try_from(settings.integer(key)?).ok();
        Some(match name {
            "line" => Generator::Line {
                size: size("size")?,
            },
            "ring" => Generator::Ring {
                size: size("size")?,
            },
            "star" => Generator::Star {
                size: size("size")?,
            },
            "diamond" => Generator::Diamond {
                paths: size("size")?,
            },
            "grid" => Generator::Grid {
                rows: size("rows")?,
                columns: size("columns")?,
            },
            "torus" => Generator::Torus {
                rows: size("rows")?,
                columns: size("columns")?,
            },
            "tree" => Generator::Tree {
                depth: size("depth")?,
                fan_out: size("fan_out")?,
            },
            _ => unreachable!("the shape of the key has no other word"),
        })
    }

    /// Returns the number of switches if they and their hosts stay within the
    /// limit; reports otherwise.
    fn room_for(&mut self, switches: Option<usize>, place: &TextSpan) -> Option<usize> {
        let limit = usize::try_from(MOST_NODES).expect("a usize has 32 bits at least");
        let hosts = usize::try_from(self.defaults.hosts_per_switch);
        let hosts = hosts.expect("a usize has 32 bits at least");
        let nodes = switches.and_then(|switches| switches.checked_mul(1 + hosts));
        if nodes.is_some_and(|nodes| nodes <= limit) {
            return switches;
        }
        let (what, count) = ("switches and hosts", nodes.unwrap_or(usize::MAX));
        let mistake = Mistake::TooMany { what, count, limit };
        self.problems.report(place.clone(), mistake);
        None
    }

    fn add_switch(&mut self, name: &str, position: Option<Position>, place: &TextSpan) -> Node {
        let plan = SwitchPlan {
            position,
            ..self.defaults.switch
        };
        self.plan
            .add_switch(name, plan, place.clone(), self.problems)
    }

    /// Adds the hosts of a generated or imported switch.
    fn add_hosts(&mut self, switch: Node, prefix: &str, place: &TextSpan) {
        let count = self.defaults.hosts_per_switch;
        for n in 1..=count {
            let name = match count {
                1 => prefix.to_owned(),
                _ => format!("{prefix}-{n}"),
            };
            let plan = HostPlan::default();
            let host = self
                .plan
                .add_host(&name, plan, place.clone(), self.problems);
            self.link([host, switch], None, None, place);
        }
    }

    fn import(&mut self, settings: &LayeredTable<'_>, load: &mut Loader<'_>) {
        let Some(file) = settings.text("import") else {
            return;
        };
        let place = settings.place_of("import");
        let topology = match load(file) {
            Ok(text) => import::read(file, &text).map_err(|reason| Mistake::Import {
                file: quote(file),
                what: "topology",
                reason,
            }),
            Err(error) => Err(Mistake::Load {
                file: quote(file),
                reason: error.to_string(),
            }),
        };
        match topology {
            Ok(topology) => self.add_topology(&topology, &place),
            Err(mistake) => self.problems.report(place, mistake),
        }
    }

    fn add_topology(&mut self, topology: &ImportedTopology, place: &TextSpan) {
        let switches = topology.nodes.iter();
        let switches = switches
            .filter(|node| node.kind == NodeKind::Switch)
            .count();
        if self.room_for(Some(switches), place).is_none() {
            return;
        }
        let mut nodes = Vec::with_capacity(topology.nodes.len());
        for node in &topology.nodes {
            nodes.push(match node.kind {
                NodeKind::Switch => self.add_switch(&node.name, node.position, place),
                NodeKind::EndSystem => {
                    let plan = HostPlan::default();
                    let problems = &mut *self.problems;
                    self.plan
                        .add_host(&node.name, plan, place.clone(), problems)
                }
            });
        }
        for link in &topology.links {
            let length = link
                .length
                .map(|length| length.max(self.defaults.minimum_length));
            self.link(link.ends.map(|end| nodes[end]), link.rate, length, place);
        }
        for (node, switch) in topology.nodes.iter().zip(nodes) {
            if node.kind == NodeKind::Switch {
                self.add_hosts(switch, &format!("{}-h", node.name), place);
            }
        }
    }
}
