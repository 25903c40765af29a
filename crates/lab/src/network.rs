//! A whole network of namespaces: a room for every switch and every host, cables
//! between them, and a control network beside it.
//!
//! The interface of a switch's port number `n` is called `p<n>`, that of a host
//! `eth0`; a host that will be plugged in elsewhere has `eth1`, `eth2`, … waiting
//! for it. Every switch has one more interface, `control`, on a cable of its own to
//! the room of the controller, with an address out of the block that RFC 2544
//! keeps for such uses.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::parallel;
use thiserror::Error;
use units::BitRate;
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use crate::cable::{Cable, Socket};
use crate::host;
use crate::veth::{self, Power, VethEnd};
use linux::netlink::Netlink;
use linux::qdisc;

/// The most switches of a network: each has one of the control network's cables.
pub const MOST_SWITCHES: usize = 4096;
/// RFC 2544 appendix C.2.2: 198.18.0.0/15 is for measuring networks.
const CONTROL_BLOCK: u32 = 0xc612_0000;
/// Two ends of a cable share 31 bits of their addresses (RFC 3021).
const CONTROL_SHARED_BITS: u8 = 31;
/// Numbers below are left to what the kernel makes by itself.
const FIRST_INDEX: u32 = 16;

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The names of the switches.
    pub switches: Vec<String>,
    pub hosts: Vec<HostPlan>,
    pub cables: Vec<CablePlan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlan {
    pub name: String,
    /// Its address, on whichever cable it is.
    pub mac: MacAddress,
    /// Frames that a queue of its interface has to hold; it never holds fewer than
    /// [`LEAST_QUEUE_FRAMES`](host::LEAST_QUEUE_FRAMES).
    pub queue_frames: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CablePlan {
    pub ends: [Place; 2],
    /// Its rate, at which hosts pace what they send into it.
    pub rate: BitRate,
    /// Whether it is plugged in from the beginning.
    pub power: Power,
}

/// Where a cable may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a port of a switch.
    Switch {
        /// Which switch, in the order of the plan.
        switch: usize,
        port: PortNumber,
        mac: MacAddress,
    },
    /// At a host, in the order of the plan.
    Host(usize),
}

/// Why a network could not be built.
#[derive(Debug, Error)]
#[error("could not {doing}: {reason}")]
pub struct BuildError {
    doing: String,
    #[source]
    reason: io::Error,
}

/// A network that stands. It is gone when this value is.
#[derive(Debug)]
pub struct LabNetwork {
    /// The rooms of the switches, in the order of the plan.
    pub switches: Vec<Namespace>,
    /// The rooms of the hosts, in the order of the plan.
    pub hosts: Vec<Namespace>,
    /// The cables, in the order of the plan.
    pub cables: Vec<Cable>,
    /// The room of the controller.
    pub control: Namespace,
}

impl LabNetwork {
    /// Builds the network, paces the hosts' interfaces and switches on what is to
    /// be plugged in.
    ///
    /// # Errors
    ///
    /// Without the privilege, or where the kernel lacks virtual Ethernet or the
    /// token bucket.
    ///
    /// # Panics
    ///
    /// If a cable ends at a place that is not in the plan, or there are more than
    /// [`MOST_SWITCHES`] switches.
    pub fn build(plan: &Plan) -> Result<Self, BuildError> {
        assert!(plan.switches.len() <= MOST_SWITCHES, "too many switches");
        let mut network = Self {
            switches: parallel::each(&plan.switches, |_, name| room(name))?,
            hosts: parallel::each(&plan.hosts, |_, host| room(&host.name))?,
            cables: Vec::with_capacity(plan.cables.len()),
            control: room("the controller")?,
        };
        parallel::each(&plan.switches, |number, name| {
            doing(
                &format!("lay the control cable of {name}"),
                network.lay_control(number),
            )
        })?;
        let names = interface_names(&plan.cables);
        network.cables = parallel::each(&plan.cables, |number, cable| {
            let indices = index_pair(plan.switches.len() + number);
            let result = network.lay(plan, cable, (&names[number], indices));
            doing(&format!("lay {}", describe(plan, cable)), result)
        })?;
        Ok(network)
    }

    /// Returns where the controller listens, as seen by switch number `switch`.
    #[must_use]
    pub fn controller_address(&self, switch: usize, port: u16) -> SocketAddr {
        SocketAddr::from((control_addresses(switch)[1], port))
    }

    fn lay(
        &self,
        plan: &Plan,
        cable: &CablePlan,
        (names, indices): (&[String; 2], [u32; 2]),
    ) -> io::Result<Cable> {
        let mut sockets = Vec::with_capacity(2);
        let ends: [VethEnd<'_>; 2] = std::array::from_fn(|n| VethEnd {
            namespace: self.room_of(cable.ends[n]),
            name: &names[n],
            index: indices[n],
            mac: match cable.ends[n] {
                Place::Switch { mac, .. } => mac,
                Place::Host(host) => plan.hosts[host].mac,
            },
        });
        veth::lay(&mut self.control.run(Netlink::open)?, ends)?;
        for (end, place) in ends.into_iter().zip(cable.ends) {
            let mut netlink = end.namespace.run(Netlink::open)?;
            if let Place::Host(host) = place {
                let shape = host::shape(cable.rate, plan.hosts[host].queue_frames);
                qdisc::pace(&mut netlink, end.index, shape)?;
            }
            let interface = end.namespace.run(|| Interface::named(end.name))?;
            sockets.push(Socket::new(place, netlink, interface));
        }
        let [first, second] = <[Socket; 2]>::try_from(sockets).expect("a cable has two ends");
        let cable = Cable::new([first, second], cable.rate, cable.power)?;
        cable.await_use()?;
        Ok(cable)
    }

    /// Joins a switch to the controller's room, both ends with an address.
    fn lay_control(&self, switch: usize) -> io::Result<()> {
        let [near_name, far_name] = control_names(switch);
        let [near, far] = index_pair(switch);
        let end = |namespace, name, index, last| VethEnd {
            namespace,
            name,
            index,
            mac: local_address(last, index),
        };
        let ends = [
            end(&self.switches[switch], near_name.as_str(), near, 1),
            end(&self.control, far_name.as_str(), far, 2),
        ];
        veth::lay(&mut self.control.run(Netlink::open)?, ends)?;
        for (end, address) in ends.into_iter().zip(control_addresses(switch)) {
            let mut netlink = end.namespace.run(Netlink::open)?;
            let bits = CONTROL_SHARED_BITS;
            veth::switch_on_with_address(&mut netlink, end.index, address, bits)?;
        }
        Ok(())
    }

    /// Returns the namespace in which an end of a cable is.
    pub(crate) fn room_of(&self, place: Place) -> &Namespace {
        match place {
            Place::Switch { switch, .. } => &self.switches[switch],
            Place::Host(host) => &self.hosts[host],
        }
    }
}

/// Returns the names of the interfaces of a switch's control cable: its own, and that in the
/// room of the controller.
pub(crate) fn control_names(switch: usize) -> [String; 2] {
    ["control".to_owned(), format!("s{switch}")]
}

/// Returns the names of the interfaces at both ends of each cable.
fn interface_names(cables: &[CablePlan]) -> Vec<[String; 2]> {
    let mut plugged = BTreeMap::<usize, usize>::new();
    let mut name = |place| match place {
        Place::Switch { port, .. } => format!("p{}", port.0),
        Place::Host(host) => {
            let number = plugged.entry(host).or_default();
            *number += 1;
            format!("eth{}", *number - 1)
        }
    };
    let names = cables.iter().map(|cable| cable.ends.map(&mut name));
    names.collect()
}

/// Returns the numbers of the interfaces of the `n`th cable, those to the
/// controller first: no other interface has one of them.
fn index_pair(n: usize) -> [u32; 2] {
    let first = FIRST_INDEX + 2 * u32::try_from(n).expect("few cables") + 1;
    [first, first + 1]
}

fn room(whose: &str) -> Result<Namespace, BuildError> {
    let made = Namespace::new().and_then(|room| {
        veth::forbid_ipv6(&room)?;
        Ok(room)
    });
    doing(&format!("make a namespace for {whose}"), made)
}

/// Returns the addresses of the two ends of a control cable: the switch's, then
/// the controller's.
fn control_addresses(switch: usize) -> [Ipv4Addr; 2] {
    let pair = u32::try_from(switch).expect("few switches") * 2;
    [0, 1].map(|end| Ipv4Addr::from(CONTROL_BLOCK + pair + end))
}

/// A locally administered address for interface number `index`.
fn local_address(kind: u8, index: u32) -> MacAddress {
    let [a, b, c, d] = index.to_be_bytes();
    MacAddress([0x02, kind, a, b, c, d])
}

fn describe(plan: &Plan, cable: &CablePlan) -> String {
    let [from, to] = cable.ends.map(|place| match place {
        Place::Switch { switch, port, .. } => format!("{} port {}", plan.switches[switch], port.0),
        Place::Host(host) => plan.hosts[host].name.clone(),
    });
    format!("the cable from {from} to {to}")
}

fn doing<T>(what: &str, result: io::Result<T>) -> Result<T, BuildError> {
    result.map_err(|reason| BuildError {
        doing: what.to_owned(),
        reason,
    })
}
