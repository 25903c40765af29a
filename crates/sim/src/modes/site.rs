//! The place of an experiment: switches, cables between them, and a host for each end of
//! each flow.

use std::net::Ipv4Addr;

use measure::traffic::Addresses;
use switch::{Pacing, PortConfig};
use units::{BitRate, Delay, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::topology::ModeTopology;
use crate::emulation::Behaviour;
use crate::parts::{End, LinkPart, Node, Parts, Processing, SwitchPart};

/// The first port to which a host is plugged in.
const HOSTS_FROM: u32 = 64;
pub(super) const CONTROL_DELAY: Duration = Duration::from_us(50);
const CARRIER_DETECTION: Duration = Duration::from_ms(1);
/// How long a bit is on a cable.
pub const PROPAGATION: Delay = Delay::from_ns(530);

/// A switch of the experiment.
#[derive(Clone, Debug)]
pub struct Device {
    /// The stage that its ports share.
    pub processing: Processing,
    /// How it behaves instead, if its times are not always the longest.
    pub behaviour: Option<Behaviour>,
    /// How many frames a queue holds.
    pub queue_frames: usize,
}

/// Returns the UDP port that the n-th flow goes to.
#[must_use]
pub fn port_of(flow: usize) -> u16 {
    10_000 + u16::try_from(flow).expect("a few flows")
}

/// Returns everything that there is, with a host at each of these switches.
pub(super) fn parts(
    seed: u64,
    (topology, hosts): (&ModeTopology, &[usize]),
    device: &Device,
    rate: BitRate,
) -> Parts {
    let switches = (0..topology.switches).map(|switch| SwitchPart {
        config: config(switch, (topology, hosts), device, rate),
        processing: device.processing,
        emulation: device.behaviour.clone(),
    });
    let link = |ends| LinkPart {
        ends,
        propagation: PROPAGATION,
    };
    let trunks = topology.cables.iter().map(|ends| link(*ends));
    let to_hosts = hosts.iter().enumerate().map(|(host, switch)| {
        let at_host = End {
            node: Node::Host(host),
            port: PortNumber(1),
        };
        let at_switch = End {
            node: Node::Switch(*switch),
            port: host_port(host),
        };
        link([at_host, at_switch])
    });
    Parts {
        seed,
        switches: switches.collect(),
        hosts: vec![rate; hosts.len()],
        links: trunks.chain(to_hosts).collect(),
        controller: None,
        control_delay: CONTROL_DELAY,
        carrier_detection: CARRIER_DETECTION,
    }
}

fn config(
    switch: usize,
    (topology, hosts): (&ModeTopology, &[usize]),
    device: &Device,
    rate: BitRate,
) -> switch::Config {
    let trunks = topology.trunks(switch).map(|(port, _, _)| port);
    let here = hosts.iter().enumerate();
    let here = here.filter(|(_, at)| **at == switch);
    let hosts = here.map(|(host, _)| host_port(host));
    let ports = trunks.chain(hosts).collect();
    switch_config(switch, ports, rate, device.queue_frames)
}

/// Returns the switches of a route with the ports by which frames to a host leave.
pub(super) fn hops(
    topology: &ModeTopology,
    route: &[usize],
    to: usize,
) -> Vec<(usize, PortNumber)> {
    let places = route.iter().enumerate();
    let hops = places.map(|(place, switch)| {
        let Some(next) = route.get(place + 1) else {
            return (*switch, host_port(to));
        };
        let mut trunks = topology.trunks(*switch);
        let towards = trunks.find(|(_, far, _)| far.node == Node::Switch(*next));
        let (port, _, _) = towards.expect("a route follows cables");
        (*switch, port)
    });
    hops.collect()
}

/// Returns by switch its ports towards others, with the far ends.
pub(super) fn trunk_ends(
    topology: &ModeTopology,
) -> Vec<Vec<(PortNumber, DatapathId, PortNumber)>> {
    let ends = (0..topology.switches).map(|switch| {
        let trunks = topology
            .trunks(switch)
            .map(|(port, far, _)| match far.node {
                Node::Switch(far_switch) => (port, datapath(far_switch), far.port),
                Node::Host(host) => panic!("host {host} is at no cable between switches"),
            });
        trunks.collect()
    });
    ends.collect()
}

/// Returns what the frames of a flow between two hosts carry.
pub(super) fn addresses(number: usize, [from, to]: [usize; 2], dscp: u8) -> Addresses {
    let mac = |host: usize| MacAddress([2, 1, 0, 0, 0, host.to_le_bytes()[0]]);
    let ip = |host: usize| Ipv4Addr::new(10, 0, 0, host.to_le_bytes()[0]);
    Addresses {
        source_mac: mac(from),
        destination_mac: mac(to),
        vlan: None,
        source: ip(from),
        destination: ip(to),
        source_port: 49_152,
        destination_port: port_of(number),
        dscp,
    }
}

/// Returns a switch with these ports, and queues of so many frames.
pub(super) fn switch_config(
    switch: usize,
    ports: Vec<PortNumber>,
    rate: BitRate,
    queue_frames: usize,
) -> switch::Config {
    let ports = ports.into_iter().map(|number| PortConfig {
        number,
        name: format!("p{}", number.0),
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        rate: Some(rate),
        pacing: Pacing::Core,
    });
    let mut config = switch::Config::new(datapath(switch), ports.collect());
    config.queue_capacity = queue_frames;
    config.buffers = config.buffers_that_suffice();
    // Nobody is there to answer.
    config.keep_alive = None;
    config
}

/// Returns the name of a switch.
pub(super) fn datapath(switch: usize) -> DatapathId {
    DatapathId(switch as u64 + 1)
}

fn host_port(host: usize) -> PortNumber {
    PortNumber(HOSTS_FROM + u32::try_from(host).expect("a few hosts"))
}
