//! What somebody sets at each switch and port who sets switches by hand.
//!
//! Eight queues in strict priority, the priority of a frame (IEEE 802.1Q) being its queue;
//! for each flow where its frames leave, which for a group is a multicast filter (a static
//! entry of IEEE 802.1Q clause 8.8); and at the port where a flow comes in, the policer
//! that holds it to its contract (IEEE 802.1Q clause 8.6.5).

use std::collections::{BTreeMap, BTreeSet};

use units::{BitRate, Delay};

use super::csv::row;
use super::{ConfiguredFlow, ConfiguredNetwork, Crossing, mac};
use crate::{End, Node, SwitchIndex};

const HEADER: &str = "switch,port,neighbour,setting,queue,flow,ether_type,destination,vlan,\
rate_bps,burst_bytes,budget_ns";

/// What one setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SettingKind {
    /// A queue that carries something.
    Queue,
    /// A flow leaves by the port.
    Forward,
    /// A flow leaves by the port after a failure.
    ForwardAfterFailure,
    /// A flow comes in by the port from its host.
    Police,
}

impl SettingKind {
    fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Forward => "forward",
            Self::ForwardAfterFailure => "forward-after-failure",
            Self::Police => "police",
        }
    }
}

/// The settings of a port.
#[derive(Debug, Default)]
struct PortSettings<'n> {
    /// By queue, the rate that is promised there.
    queues: BTreeMap<u8, u64>,
    forwards: Vec<&'n ConfiguredFlow>,
    after_failure: Vec<&'n ConfiguredFlow>,
    polices: Vec<&'n ConfiguredFlow>,
}

/// The settings of all ports, by switch and port.
type AllSettings<'n> = BTreeMap<(SwitchIndex, u32), PortSettings<'n>>;

impl ConfiguredNetwork {
    /// Writes the settings of switches for people, as Markdown.
    #[must_use]
    pub fn settings_text(&self) -> String {
        let settings = self.settings();
        let mut text = format!(
            "# Switch settings of `{}`\n\nEach port has eight queues in strict priority, 7 first. \
             A frame of priority (PCP) N waits in queue N; without a tag it waits in the queue of \
             its flow. What no line names waits in queue 0. A policer drops what exceeds its rate \
             and burst, sizes as on the wire (with preamble, check sequence and gap).\n",
            plain(&self.name)
        );
        for (at, switch) in self.switches.iter().enumerate() {
            text += &format!("\n## {}\n\n", plain(&switch.name));
            if let Some(budget) = switch.processing_budget {
                text += &format!("A frame leaves its processor within {budget}.\n\n");
            }
            text += &self.ports_table(SwitchIndex(at), &settings);
            text += &self.flows_table(SwitchIndex(at), &settings);
        }
        text
    }

    /// Writes the same as comma-separated values, a line a setting.
    #[must_use]
    pub fn settings_csv(&self) -> String {
        let mut text = format!("{HEADER}\r\n");
        for ((switch, port), settings) in &self.settings() {
            let place = [
                self.switches[switch.0].name.clone(),
                port.to_string(),
                self.neighbour(*switch, *port).to_owned(),
            ];
            for (queue, bps) in &settings.queues {
                let budget = self.budget(*switch, *port, *queue);
                let kind = SettingKind::Queue.word().to_owned();
                let none = String::new;
                let rest = [kind, queue.to_string(), none(), none(), none(), none()];
                let budget = budget.map(|it| it.round_up().as_ns().to_string());
                let rest = [
                    &rest[..],
                    &[bps.to_string(), none(), budget.unwrap_or_default()],
                ];
                text += &row(&[&place[..], &rest.concat()].concat());
            }
            for (kind, flows) in settings.of_flows() {
                for flow in flows {
                    text += &row(&[&place[..], &flow_fields(kind, flow)].concat());
                }
            }
        }
        text
    }

    fn settings(&self) -> AllSettings<'_> {
        let mut settings = AllSettings::new();
        for link in &self.links {
            for end in link.ends {
                if let Node::Switch(switch) = end.node {
                    settings.entry((switch, end.port)).or_default();
                }
            }
        }
        for flow in &self.flows {
            let crossings = self.crossings(flow.source, &flow.way);
            if let Some(first) = crossings.first() {
                let entry = at(&mut settings, first.to);
                entry.into_iter().for_each(|it| it.polices.push(flow));
            }
            let used: BTreeSet<End> = crossings.iter().map(|it| it.from).collect();
            for end in &used {
                if let Some(port) = at(&mut settings, *end) {
                    let rate = port.queues.entry(flow.queue).or_default();
                    *rate = rate.saturating_add(flow.traffic.rate.as_bps());
                    port.forwards.push(flow);
                }
            }
            let others = flow.alternatives.iter();
            let others = others.flat_map(|way| self.crossings(flow.source, way));
            let others: BTreeSet<End> = others.map(|Crossing { from, .. }| from).collect();
            for end in others.difference(&used) {
                if let Some(port) = at(&mut settings, *end) {
                    port.queues.entry(flow.queue).or_default();
                    port.after_failure.push(flow);
                }
            }
        }
        settings
    }

    fn budget(&self, switch: SwitchIndex, port: u32, queue: u8) -> Option<Delay> {
        let budgets = &self.switches[switch.0].port_budgets;
        budgets.get(&(port, queue)).copied()
    }

    fn neighbour(&self, switch: SwitchIndex, port: u32) -> &str {
        let here = |end: &End| end.node == Node::Switch(switch) && end.port == port;
        let link = self.links.iter().find(|link| link.ends.iter().any(here));
        let far = link.and_then(|link| link.ends.iter().find(|end| !here(end)));
        far.map_or("", |end| self.name_of(end.node))
    }

    fn ports_table(&self, switch: SwitchIndex, settings: &AllSettings<'_>) -> String {
        let mut text = "| port | to | rate | queues in use | VLANs |\n\
                        | --: | --- | --- | --- | --- |\n"
            .to_owned();
        for ((_, port), settings) in settings.range((switch, 0)..=(switch, u32::MAX)) {
            let end = End {
                node: Node::Switch(switch),
                port: *port,
            };
            let link = self.links.iter().find(|link| link.ends.contains(&end));
            let rate = link.and_then(|link| link.rate);
            let queues = settings.queues.iter().rev().map(|(queue, bps)| {
                let rate = BitRate::new(*bps).map(|rate| format!("{rate} promised"));
                let budget = self.budget(switch, *port, *queue);
                let budget = budget.map(|budget| format!("within {budget}"));
                let words: Vec<_> = rate.into_iter().chain(budget).collect();
                format!("{queue}: {}", words.join(", "))
            });
            let flows = settings.forwards.iter().chain(&settings.polices);
            let vlans: BTreeSet<u16> = flows.filter_map(|flow| flow.matching.vlan).collect();
            let vlans = vlans.iter().map(ToString::to_string);
            text += &format!(
                "| {port} | {} | {} | {} | {} |\n",
                plain(self.neighbour(switch, *port)),
                rate.map(|rate| rate.to_string()).unwrap_or_default(),
                queues.collect::<Vec<_>>().join("; "),
                vlans.collect::<Vec<_>>().join(", "),
            );
        }
        text
    }

    fn flows_table(&self, switch: SwitchIndex, settings: &AllSettings<'_>) -> String {
        let mut lines = String::new();
        for ((_, port), settings) in settings.range((switch, 0)..=(switch, u32::MAX)) {
            for (kind, flows) in settings.of_flows() {
                for flow in flows {
                    lines += &format!(
                        "| {port} | {} | {} | {} | {} | {} |\n",
                        what(kind, flow),
                        plain(&flow.name),
                        plain(&flow.frames()),
                        flow.queue,
                        limit(kind, flow),
                    );
                }
            }
        }
        match lines.is_empty() {
            true => "\nNo flow passes.\n".to_owned(),
            false => format!(
                "\n| port | setting | flow | frames | queue | limit |\n\
                 | --: | --- | --- | --- | --: | --- |\n{lines}"
            ),
        }
    }
}

impl<'n> PortSettings<'n> {
    fn of_flows(&self) -> [(SettingKind, &[&'n ConfiguredFlow]); 3] {
        [
            (SettingKind::Forward, &self.forwards),
            (SettingKind::ForwardAfterFailure, &self.after_failure),
            (SettingKind::Police, &self.polices),
        ]
    }
}

/// Returns the settings of a port, if the end is at a switch.
fn at<'s, 'n>(settings: &'s mut AllSettings<'n>, end: End) -> Option<&'s mut PortSettings<'n>> {
    match end.node {
        Node::Switch(switch) => Some(settings.entry((switch, end.port)).or_default()),
        Node::Host(_) => None,
    }
}

fn what(kind: SettingKind, flow: &ConfiguredFlow) -> &'static str {
    match (kind, flow.is_to_group()) {
        (SettingKind::Queue, _) => "queue",
        (SettingKind::Forward, true) => "multicast filter: leaves here",
        (SettingKind::Forward, false) => "leaves here",
        (SettingKind::ForwardAfterFailure, _) => "leaves here after a failure",
        (SettingKind::Police, _) => "policer: comes in here",
    }
}

/// Returns what a policer lets pass.
fn limit(kind: SettingKind, flow: &ConfiguredFlow) -> String {
    match kind {
        SettingKind::Police => format!("{}, burst {}", flow.traffic.rate, flow.traffic.burst),
        SettingKind::Queue | SettingKind::Forward | SettingKind::ForwardAfterFailure => {
            String::new()
        }
    }
}

fn flow_fields(kind: SettingKind, flow: &ConfiguredFlow) -> [String; 9] {
    let matching = &flow.matching;
    let of_policer = |value: u64| match kind {
        SettingKind::Police => value.to_string(),
        SettingKind::Queue | SettingKind::Forward | SettingKind::ForwardAfterFailure => {
            String::new()
        }
    };
    [
        kind.word().to_owned(),
        flow.queue.to_string(),
        flow.name.clone(),
        matching
            .ether_type
            .map(|it| format!("0x{it:04X}"))
            .unwrap_or_default(),
        matching.destination.map(mac).unwrap_or_default(),
        matching.vlan.map(|it| it.to_string()).unwrap_or_default(),
        of_policer(flow.traffic.rate.as_bps()),
        of_policer(flow.traffic.burst.bytes_up()),
        String::new(),
    ]
}

/// Keeps a name from ending a cell of a table.
fn plain(name: &str) -> String {
    let clean = name.chars().filter(|c| !c.is_control());
    clean.collect::<String>().replace('|', "\\|")
}
