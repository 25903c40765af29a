//! The names that a scenario has for what the controller numbers.

use controller::admission::LedgerPlace;
use controller::place::{LinkEnds, PortId};
use scenario::{Node, Scenario, SwitchIndex};

/// Returns the name of a stage: a switch for its processor, and a port by what
/// it leads to.
#[must_use]
pub fn name_of(scenario: &Scenario, place: LedgerPlace) -> String {
    match place {
        LedgerPlace::Switch(datapath) => switch_of(scenario, datapath.0).map_or_else(
            || format!("{:x}", datapath.0),
            |at| scenario.switches[at.0].name.clone(),
        ),
        LedgerPlace::Port(port) => name_of_port(scenario, port),
    }
}

#[must_use]
pub fn name_of_link(scenario: &Scenario, ends: LinkEnds) -> String {
    let [one, other] = ends.both();
    let between = |link: &&scenario::Link| {
        let at = |port| link.ends.iter().any(|end| is_at(scenario, end, port));
        at(one) && at(other)
    };
    let link = scenario.links.iter().find(between);
    link.map_or_else(|| ends.to_string(), |link| link.name.clone())
}

/// Returns the switch with a datapath id.
#[must_use]
pub fn switch_of(scenario: &Scenario, datapath: u64) -> Option<SwitchIndex> {
    let mut switches = scenario.switches.iter();
    let at = switches.position(|switch| switch.datapath_id == datapath);
    at.map(SwitchIndex)
}

fn name_of_port(scenario: &Scenario, port: PortId) -> String {
    let mut links = scenario.links.iter();
    let link = links.find(|link| link.ends.iter().any(|end| is_at(scenario, end, port)));
    let switch = switch_of(scenario, port.datapath.0);
    match (link, switch) {
        (Some(link), Some(switch)) => {
            let node = Node::Switch(switch);
            let (here, there) = (node, link.end_opposite(node).node);
            format!("{} to {}", scenario.name_of(here), scenario.name_of(there))
        }
        (_, Some(switch)) => {
            let name = &scenario.switches[switch.0].name;
            format!("{name} port {}", port.port.0)
        }
        (_, None) => port.to_string(),
    }
}

fn is_at(scenario: &Scenario, end: &scenario::End, port: PortId) -> bool {
    match end.node {
        Node::Switch(switch) => {
            scenario.switches[switch.0].datapath_id == port.datapath.0 && end.port == port.port.0
        }
        Node::Host(_) => false,
    }
}
