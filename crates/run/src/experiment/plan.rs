//! What a scenario asks of the controller: parameters of the network, and a
//! requirement for each flow.

mod requirements;

use std::collections::{BTreeMap, BTreeSet};

use calculus::admission::Room;
use controller::config::{
    BestEffortTraffic, Config, HostParameters, Metric, POLICING_TOLERANCE, PortParameters,
    ProcessingParameters, SwitchParameters, Timers,
};
use controller::neighbour_sessions;
use controller::northbound::{ApplicationKind, Manifest};
use controller::place::PortId;
use scenario::{Flow, HostDiscovery, Node, Scenario, SwitchIndex};
use units::{BitRate, DataSize, Delay, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

pub(super) use requirements::frames;
pub use requirements::requirements;
use requirements::{protection, traffic};

/// How many entries a flow may have in one switch: with its answers and guards, on its way and
/// on two others, while it changes from one to the next.
const ENTRIES_PER_FLOW: usize = 12;
/// Room for what the controller itself wants.
const OTHER_ENTRIES: usize = 256;
/// The most entries of all switches together, some 900 bytes each.
const MOST_ENTRIES: usize = 4 << 20;

/// The largest frame on the wire: 1500 bytes, header, tag, check sequence,
/// preamble, delimiter and gap.
pub const LARGEST_FRAME: DataSize = DataSize::from_bytes(1542);
/// The smallest frame on the wire: 60 bytes, check sequence, preamble, delimiter
/// and gap.
pub const SMALLEST_FRAME: DataSize = DataSize::from_bytes(84);
/// Without a budget of its own, a class may delay a frame for as long as the
/// largest frame takes and this much for it and each more urgent class.
const DEFAULT_ALLOTMENT: DataSize = DataSize::from_bytes(2048);
/// Without a budget of its own, a processing stage may hold this many frames.
const DEFAULT_FRAMES_WAITING: u64 = 64;

/// What stands for a budget that the scenario leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The least: budgets are fitted.
    Least,
    /// A usual value, which stays.
    Usual,
}

/// Returns whether budgets have to stay as they are: where flows are promised something
/// at levels of criticality, the bound of a change, which is part of every promise,
/// contains them.
#[must_use]
pub fn keeps_budgets(scenario: &Scenario) -> bool {
    let modes = scenario.modes.as_ref();
    modes.is_some_and(|modes| modes.strategy != scenario::Strategy::McAgnostic)
}

/// Returns what a scenario calls a switch.
#[must_use]
pub fn name_of(scenario: &Scenario, datapath: DatapathId) -> Option<String> {
    let mut switches = scenario.switches.iter();
    let switch = switches.find(|switch| switch.datapath_id == datapath.0)?;
    Some(switch.name.clone())
}

/// Returns what the controller is told before it starts.
#[must_use]
pub fn controller_config(scenario: &Scenario, open: Open) -> Config {
    let switches = (0..scenario.switches.len()).map(|index| {
        let switch = &scenario.switches[index];
        (
            DatapathId(switch.datapath_id),
            switch_parameters(scenario, SwitchIndex(index), open),
        )
    });
    let mut config = Config {
        switches: switches.collect(),
        unknown_switch: unknown_switch(),
        hosts: (0..scenario.hosts.len())
            .map(|index| host_parameters(scenario, index))
            .collect(),
        applications: vec![Manifest::built_in(ApplicationKind::Deterministic)],
        metric: Metric::Links,
        timers: timers(scenario.control.probe_interval),
        probe_key: None,
        claim: controller::mastery::Claim::default(),
        foreign_rules: controller::northbound::ForeignRules::Keep,
        modes: super::modes::of(scenario),
        policing: scenario.control.is_policed.then(|| {
            let tolerance = scenario.control.policing_tolerance;
            tolerance.unwrap_or(POLICING_TOLERANCE)
        }),
        watch_hops: scenario.control.watches_hops,
        interrupted: false,
        fit: None,
        seed: scenario.seed,
    };
    super::modes::bound_change(scenario, &mut config);
    config
}

/// Returns how often the controller looks after links and switches. Who probes
/// seldom has patience in the same measure.
fn timers(probe_interval: Duration) -> Timers {
    let usual = Timers::default();
    Timers {
        probe_interval,
        link_timeout: usual.link_timeout.max(probe_interval * 4u64),
        echo_interval: usual.echo_interval.max(probe_interval),
        echo_timeout: usual.echo_timeout.max(probe_interval * 5u64),
        ..usual
    }
}

/// Returns for how long the machine that carries all switches may hold a frame up, once on
/// its way.
///
/// Such an interruption stops everything alike, hosts included. Without the time that it
/// takes, a network goes on as calculated, but what hosts send in a window of length `t`
/// was due in one of length `t + I`: the interruption is a jitter `I` of every contract,
/// and is added to the delay of a frame once.
#[must_use]
pub fn cover(scenario: &Scenario) -> Delay {
    let profiles = scenario.profiles.iter();
    let covers = profiles.filter_map(|profile| Some(profile.machine.as_ref()?.cover));
    covers.max().unwrap_or_default()
}

/// Returns what is left of a deadline for the network.
pub(super) fn less_cover(scenario: &Scenario, deadline: Duration) -> Delay {
    Delay::from(deadline).saturating_sub(cover(scenario))
}

/// Returns the queues in which something is promised, the most urgent first: those of the
/// scenario's classes, and the one in which neighbours ask each other whether they are there.
pub fn promised_queues(scenario: &Scenario) -> Vec<u8> {
    let has_sessions = |flow: &Flow| neighbour_sessions::interval_for(protection(flow)).is_some();
    let sessions = scenario.flows.iter().any(has_sessions);
    let queues = scenario.classes.iter().map(|class| class.queue);
    let queues = queues.chain(sessions.then_some(neighbour_sessions::CLASS));
    let queues: BTreeSet<u8> = queues.filter(|queue| *queue > 0).collect();
    queues.into_iter().rev().collect()
}

fn switch_parameters(scenario: &Scenario, index: SwitchIndex, open: Open) -> SwitchParameters {
    let switch = &scenario.switches[index.0];
    let profile = scenario.profile_of(index);
    let (latency, per_frame) = (profile.longest_latency(), profile.longest_per_frame());
    let budget = scenario.admission.processing_budget.unwrap_or(match open {
        Open::Least => Delay::ZERO,
        Open::Usual => latency + per_frame * DEFAULT_FRAMES_WAITING,
    });
    let links = switch.ports.iter().map(|link| {
        let link = &scenario.links[link.0];
        (link.rate, link.propagation)
    });
    let spare = spare_ports(scenario, index).into_iter();
    let spare = spare.map(|rate| (rate, Delay::ZERO));
    let ports = (1..)
        .zip(links.chain(spare))
        .map(|(port, (rate, propagation))| {
            let parameters = port_parameters(scenario, index, open, rate);
            let parameters = PortParameters {
                propagation,
                ..parameters
            };
            (PortNumber(port), parameters)
        });
    SwitchParameters {
        name: switch.name.clone(),
        processing: Some(ProcessingParameters {
            latency,
            per_frame,
            budget,
            buffer_frames: Some(profile.pool_frames.value),
        }),
        ports: ports.collect(),
        other_ports: unknown_port(),
    }
}

/// Returns what is assumed of a switch that no scenario names: that it is like the
/// one at `index`, and that its ports are as slow as Ethernet still is.
#[must_use]
pub fn unnamed_switch(scenario: &Scenario, index: SwitchIndex, open: Open) -> SwitchParameters {
    let slowest = unknown_port().rate;
    SwitchParameters {
        name: String::new(),
        ports: BTreeMap::new(),
        other_ports: port_parameters(scenario, index, open, slowest),
        ..switch_parameters(scenario, index, open)
    }
}

fn port_parameters(
    scenario: &Scenario,
    switch: SwitchIndex,
    open: Open,
    rate: BitRate,
) -> PortParameters {
    let mut parameters = PortParameters {
        rate,
        ..unknown_port()
    };
    let queue_frames = scenario.profile_of(switch).queue_frames.value;
    let promised = scenario.classes.iter().filter(|class| class.queue > 0);
    for (rank, class) in (1..).zip(promised) {
        let queue = usize::from(class.queue);
        let open = match open {
            Open::Least => Delay::ZERO,
            Open::Usual => rate.time_to_send(LARGEST_FRAME + DEFAULT_ALLOTMENT * rank),
        };
        parameters.budgets[queue] = Some(class.budget_at(rate).unwrap_or(open));
        parameters.buffers[queue] = Some(Room::Frames(queue_frames));
    }
    parameters
}

fn unknown_port() -> PortParameters {
    PortParameters {
        rate: BitRate::from_mbps(100),
        propagation: Delay::ZERO,
        budgets: [None; 8],
        buffers: [None; 8],
        largest_frame: LARGEST_FRAME,
    }
}

fn unknown_switch() -> SwitchParameters {
    SwitchParameters {
        name: String::new(),
        processing: None,
        ports: BTreeMap::new(),
        other_ports: unknown_port(),
    }
}

fn host_parameters(scenario: &Scenario, index: usize) -> HostParameters {
    let host = &scenario.hosts[index];
    let attachment = match scenario.control.hosts {
        HostDiscovery::Scenario => port_of_host(scenario, index),
        HostDiscovery::FirstFrame => None,
    };
    HostParameters {
        name: host.name.clone(),
        mac: MacAddress(host.mac),
        ipv4: Some(host.ip),
        attachment,
        is_fixed: false,
        unpromised: unpromised(scenario, index),
    }
}

/// Attaches all hosts to the ports at which the scenario has them, from which no frame
/// moves them.
pub fn fix_hosts(scenario: &Scenario, hosts: &mut [HostParameters]) {
    for (index, host) in hosts.iter_mut().enumerate() {
        host.attachment = port_of_host(scenario, index);
        host.is_fixed = host.attachment.is_some();
    }
}

/// Returns the port of a switch that a host is connected to.
fn port_of_host(scenario: &Scenario, index: usize) -> Option<PortId> {
    let link = &scenario.links[scenario.hosts[index].link.0];
    let far = link.end_opposite(Node::Host(scenario::HostIndex(index)));
    match far.node {
        Node::Switch(switch) => Some(PortId::new(
            DatapathId(scenario.switches[switch.0].datapath_id),
            PortNumber(far.port),
        )),
        Node::Host(_) => None,
    }
}

/// Returns what a host sends without a promise: no more than its link carries.
pub(super) fn unpromised(scenario: &Scenario, host: usize) -> Option<BestEffortTraffic> {
    let link = scenario.links[scenario.hosts[host].link.0].rate;
    let floods = scenario
        .flows
        .iter()
        .filter(|flow| flow.contract().is_none());
    let own = floods.filter(|flow| flow.source.0 == host);
    let parts = own.map(|flow| traffic(scenario, flow));
    parts
        .map(|part| BestEffortTraffic {
            rate: part.rate,
            largest_frame: part.largest_frame,
            smallest_frame: part.smallest_frame,
        })
        .reduce(|one, other| BestEffortTraffic {
            rate: one.rate + other.rate,
            largest_frame: one.largest_frame.max(other.largest_frame),
            smallest_frame: one.smallest_frame.min(other.smallest_frame),
        })
        .map(|all| BestEffortTraffic {
            rate: all.rate.min(link),
            ..all
        })
}

/// Returns what a switch is told before it starts.
#[must_use]
pub fn switch_config(scenario: &Scenario, index: SwitchIndex) -> switch::Config {
    let description = &scenario.switches[index.0];
    let profile = scenario.profile_of(index);
    let spare = spare_ports(scenario, index);
    let rates = description
        .ports
        .iter()
        .map(|link| scenario.links[link.0].rate)
        .chain(spare);
    let ports = (1..).zip(rates).map(|(number, rate)| switch::PortConfig {
        number: PortNumber(number),
        name: format!("{}-{number}", description.name),
        mac: port_address(description.datapath_id, number),
        rate: Some(rate),
        pacing: switch::Pacing::Core,
    });
    let mut config = switch::Config::new(DatapathId(description.datapath_id), ports.collect());
    config.queue_capacity = usize::try_from(profile.queue_frames.value).unwrap_or(usize::MAX);
    let pool = usize::try_from(profile.pool_frames.value).unwrap_or(usize::MAX);
    config.buffers = config.buffers_that_suffice().min(pool);
    let entries = profile
        .emulation
        .as_ref()
        .and_then(|it| it.table_entries.as_ref());
    if let Some(entries) = entries {
        config.table_capacity = usize::try_from(entries.value).unwrap_or(usize::MAX);
    }
    config.seed = scenario.seed;
    config
}

/// Returns the rates of the ports into which hosts are plugged later.
fn spare_ports(scenario: &Scenario, index: SwitchIndex) -> Vec<BitRate> {
    let mut spare: Vec<_> = scenario
        .events
        .iter()
        .filter_map(|event| match event.change {
            scenario::Change::HostMoves { host, to } if to.node == Node::Switch(index) => {
                Some((to.port, scenario.links[scenario.hosts[host.0].link.0].rate))
            }
            scenario::Change::HostMoves { .. }
            | scenario::Change::Cut(_)
            | scenario::Change::Heal(_)
            | scenario::Change::SwitchCrash(_)
            | scenario::Change::SwitchKill(_)
            | scenario::Change::SwitchRestart(_)
            | scenario::Change::Impair { .. }
            | scenario::Change::Isolate(_)
            | scenario::Change::Rejoin(_) => None,
        })
        .collect();
    spare.sort_by_key(|(port, _)| *port);
    spare.into_iter().map(|(_, rate)| rate).collect()
}

/// Returns a locally administered address for a port.
#[must_use]
pub fn port_address(datapath: u64, port: u32) -> MacAddress {
    let [.., a, b, c] = datapath.to_be_bytes();
    let [.., d, e] = port.to_be_bytes();
    MacAddress([0x02, a, b, c, d, e])
}

/// Returns for how many entries the compiled form of each switch needs memory: some for
/// every flow and its alternatives, and those of the controller itself.
pub fn compiled_entries(scenario: &Scenario) -> usize {
    let most = MOST_ENTRIES / scenario.switches.len().max(1);
    (ENTRIES_PER_FLOW * scenario.flows.len() + OTHER_ENTRIES).min(most)
}
