//! The scenario as a whole.

use units::Duration;

use crate::flow_table::{Options, Remark};
use crate::{
    Admission, Class, Control, EndHost, Flow, Link, Measurement, Message, Modes, Node,
    PlantedError, Profile, Switch, TimedEvent, Traffic, Violation,
};

/// A network, its flows, what happens to it and how it is measured.
///
/// Every index in it is valid and every name is unique among its kind; switches
/// and hosts share one space of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The name of the file without folder and ending, such as `substation`.
    pub name: String,
    /// What the user calls it.
    pub title: String,
    /// What every random choice of a run follows from.
    pub seed: u64,
    pub duration: Duration,
    /// The profiles that the switches name.
    pub profiles: Vec<Profile>,
    /// The switches, in the order of their declaration.
    pub switches: Vec<Switch>,
    /// The hosts, in the order of their declaration.
    pub hosts: Vec<EndHost>,
    /// The links, in the order of their declaration.
    pub links: Vec<Link>,
    /// The classes of traffic, the most urgent first.
    pub classes: Vec<Class>,
    /// The flows, in the order of their declaration; those of flow sets and of
    /// imported files last.
    pub flows: Vec<Flow>,
    /// The files whose flows were imported.
    pub imports: Vec<ImportedFile>,
    /// What happens while traffic runs, in order of time.
    pub events: Vec<TimedEvent>,
    /// When flows send otherwise than they agreed to, in order of time.
    pub violations: Vec<Violation>,
    /// Who is not what the file says, in order of time.
    pub errors: Vec<PlantedError>,
    /// The levels of the network; without them it has one.
    pub modes: Option<Modes>,
    pub admission: Admission,
    /// How the controller reaches the switches.
    pub control: Control,
    /// What is measured, and how.
    pub measurement: Measurement,
}

/// What the user should know of a file whose flows were imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFile {
    /// The file, as the scenario names it.
    pub file: String,
    /// What stands before the names of its flows.
    pub prefix: String,
    /// How it was read.
    pub options: Options,
    /// How many flows it has.
    pub flows: usize,
    /// What of it is not among the flows.
    pub left_out: Vec<Remark>,
    /// What was assumed where it does not say.
    pub assumed: Vec<Remark>,
}

impl Scenario {
    #[must_use]
    pub fn profile_of(&self, switch: SwitchIndex) -> &Profile {
        &self.profiles[self.switches[switch.0].profile.0]
    }

    #[must_use]
    pub fn name_of(&self, node: Node) -> &str {
        match node {
            Node::Switch(switch) => &self.switches[switch.0].name,
            Node::Host(host) => &self.hosts[host.0].name,
        }
    }

    #[must_use]
    pub fn class_of(&self, flow: &Flow) -> &Class {
        &self.classes[flow.class.0]
    }
}

/// What a flow of messages sends from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// When the first message is due, after the start of traffic.
    pub from: Duration,
    /// What is sent from then on.
    pub message: Message,
}

impl Scenario {
    /// Returns what a flow sends when, in order of time: what it agreed to at the lowest
    /// level, but for its violations. After one it waits for as long as it agreed to.
    /// Nothing if it sends no messages.
    #[must_use]
    pub fn phases_of(&self, flow: FlowIndex) -> Vec<Phase> {
        let Traffic::Message(agreed) = self.flows[flow.0].traffic else {
            return Vec::new();
        };
        let mut phases = vec![Phase {
            from: self.flows[flow.0].start,
            message: agreed,
        }];
        let own = self.violations.iter().filter(|one| one.flow == flow);
        for violation in own {
            // What began after this violation does begin no more.
            phases.retain(|phase| phase.from < violation.from);
            let message = Message {
                size: violation.sent.size,
                period: violation.sent.period,
                ..agreed
            };
            let from = violation.from;
            phases.push(Phase { from, message });
            if let Some(until) = violation.until {
                let messages = (until.as_ns() - from.as_ns()).div_ceil(message.period.as_ns());
                let last = from + message.period * (messages - 1);
                let from = last + agreed.period;
                let message = agreed;
                phases.push(Phase { from, message });
            }
        }
        phases
    }
}

/// A place in [`Scenario::switches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchIndex(pub usize);

/// A place in [`Scenario::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostIndex(pub usize);

/// A place in [`Scenario::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub usize);

/// A place in [`Scenario::classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassIndex(pub usize);

/// A place in [`Scenario::flows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowIndex(pub usize);

/// A place in [`Scenario::profiles`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileIndex(pub usize);
