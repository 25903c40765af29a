//! A whole network, as it is built and as it ends.

use lab::network::{CablePlan, HostPlan, LabNetwork, Place, Plan};
use lab::veth::Power;
use linux::interface::Carrier;
use linux::port::PacketPort;
use linux::sender::{ClassId, Sender};
use units::BitRate;
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use crate::{await_some, frame, namespace_or_skip};

pub fn port(switch: usize, number: u32) -> Place {
    let last = u8::try_from(number).unwrap();
    Place::Switch {
        switch,
        port: PortNumber(number),
        mac: MacAddress([2, 9, 0, 0, 0, last]),
    }
}

pub fn cable(ends: [Place; 2]) -> CablePlan {
    CablePlan {
        ends,
        rate: BitRate::from_mbps(100),
        power: Power::On,
    }
}

pub fn host(name: &str, last: u8) -> HostPlan {
    HostPlan {
        name: name.to_owned(),
        mac: MacAddress([2, 0, 0, 0, 0, last]),
        queue_frames: 0,
    }
}

/// One switch with a host at port 1, and another switch at port 2.
pub fn plan() -> Plan {
    Plan {
        switches: vec!["s1".to_owned(), "s2".to_owned()],
        hosts: vec![host("h1", 1)],
        cables: vec![
            cable([Place::Host(0), port(0, 1)]),
            cable([port(0, 2), port(1, 1)]),
        ],
    }
}

#[test]
fn a_host_is_paced_and_reaches_its_switch() {
    if namespace_or_skip("a_host_is_paced_and_reaches_its_switch").is_none() {
        return;
    }
    let network = LabNetwork::build(&plan()).unwrap();
    let [at_host, at_switch] = &network.cables[0].sockets;
    let index = at_switch.interface.index();
    let mut port = network.switches[0].run(|| PacketPort::open(index, 1 << 20).unwrap());
    let index = at_host.interface.index();
    let class: ClassId = linux::qdisc::class(7);
    let mut sender = network.hosts[0].run(|| Sender::open(index, class).unwrap());

    // The kernel takes a moment to use a carrier, and drops what is sent until then.
    let bytes = await_some("the frame", || {
        sender.send(&frame(100, 9)).unwrap();
        port.receive(|seen| seen.frame.whole().unwrap().to_vec())
    });
    assert_eq!(bytes, frame(100, 9));
}

#[test]
fn a_cut_takes_the_carrier_from_both_ends_and_healing_brings_it_back() {
    let test = "a_cut_takes_the_carrier_from_both_ends_and_healing_brings_it_back";
    if namespace_or_skip(test).is_none() {
        return;
    }
    let mut network = LabNetwork::build(&plan()).unwrap();
    let cable = &mut network.cables[1];
    let carriers = |cable: &lab::cable::Cable| {
        cable
            .sockets
            .each_ref()
            .map(|socket| socket.interface.carrier().unwrap())
    };
    assert_eq!(carriers(cable), [Carrier::Present; 2]);

    let changed = cable.cut().unwrap();

    assert_eq!(carriers(cable), [Carrier::Lost; 2]);
    assert!(changed.asked <= changed.done);

    cable.heal().unwrap();

    assert_eq!(carriers(cable), [Carrier::Present; 2]);
}

#[test]
fn every_switch_reaches_the_room_of_the_controller() {
    if namespace_or_skip("every_switch_reaches_the_room_of_the_controller").is_none() {
        return;
    }
    let network = LabNetwork::build(&plan()).unwrap();
    let listener = network
        .control
        .run(|| std::net::TcpListener::bind("0.0.0.0:6653").unwrap());

    for switch in 0..2 {
        let address = network.controller_address(switch, 6653);
        let stream = network.switches[switch].run(|| std::net::TcpStream::connect(address));

        assert!(stream.is_ok(), "switch {switch} at {address}: {stream:?}");
        listener.accept().unwrap();
    }
}
