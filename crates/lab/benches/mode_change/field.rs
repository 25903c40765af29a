//! Nine switches that the kernel forwards for, and their controller, which is this
//! program.

use std::net::TcpListener;

use lab::network::{CablePlan, HostPlan, LabNetwork, Place, Plan};
use lab::switches::{Forwarding, SwitchSettings, Switches};
use lab::veth::Power;
use linux::port::PacketPort;
use linux::qdisc;
use linux::sender::Sender;
use switch::{Config, Pacing, PortConfig};
use units::{BitRate, Duration};
use wire::ethernet::{EtherType, MacAddress};
use wire::message_shim::MessageShim;
use wire::openflow::{DatapathId, PortNumber};

use crate::controller::Controller;
use crate::topology::{End, HOST_PORT, SWITCHES, Topology};

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(200);
/// Faster than any sender here.
pub const UNPACED: BitRate = BitRate::from_mbps(40_000);
const RING_BYTES: usize = 4 << 20;
/// What is agreed on for the lowest level, in bytes.
pub const AGREED_BYTES: u32 = 1000;
/// An experimental EtherType (IEEE Std 802): what fills the links.
pub const LOAD_TYPE: EtherType = EtherType(0x88b5);

/// What switches do about a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Themselves,
    /// The controller is told, and tells them (`std-sdn`).
    Controller,
}

/// The switches with a host at the first one.
pub struct Field {
    controller: Controller,
    flood: PacketPort,
    sender: Sender,
    message: u32,
    _switches: Switches,
    _network: LabNetwork,
}

impl Field {
    /// Builds it, with links of this rate, and tells the switches everything.
    pub fn start(topology: Topology, rate: Option<BitRate>) -> Self {
        let ends = topology.ends();
        let rate = rate.unwrap_or(UNPACED);
        let network =
            LabNetwork::build(&plan(&ends, rate)).expect("who may load programs may build");
        let listen = || TcpListener::bind(("0.0.0.0", CONTROLLER_PORT));
        let listener = network.control.run(listen).expect("the namespace is new");
        let settings = SwitchSettings::for_this_machine(Forwarding::Kernel, STALL, CONTROLLER_PORT);
        let configs: Vec<_> = (0..SWITCHES)
            .map(|at| config(at, &ends[at], rate))
            .collect();
        let switches = Switches::start(&network, &configs, settings).expect("it was asked");
        let index = network.cables[0].sockets[0].interface.index();
        let room = &network.hosts[0];
        let flood = room.run(|| PacketPort::open(index, RING_BYTES));
        let sender = room.run(|| Sender::open(index, qdisc::class(7)));
        let mut field = Self {
            controller: Controller::accept(&listener),
            flood: flood.expect("memory"),
            sender: sender.expect("the right to it"),
            message: 0,
            _switches: switches,
            _network: network,
        };
        for (at, ends) in ends.iter().enumerate() {
            field.controller.install(at, ends);
        }
        field.controller.await_all();
        field
    }

    /// Says what switches do about a violation, and lowers the level.
    pub fn begin(&mut self, topology: Topology, manner: Manner) {
        let ends = topology.ends();
        for (at, ends) in ends.iter().enumerate() {
            self.controller.configure(at, ends, manner);
        }
        self.controller.await_all();
    }

    /// Brings all switches back to the lowest level.
    pub fn lower(&mut self) {
        self.controller.force_lowest();
    }

    /// Fills the links for a moment with frames of the lowest queue.
    pub fn fill(&mut self, frames: usize) {
        let mut frame = vec![0; 1514];
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        frame[12..14].copy_from_slice(&LOAD_TYPE.0.to_be_bytes());
        for _ in 0..frames {
            self.flood.send(&frame);
        }
    }

    /// Sends a message that is larger than agreed, and returns how long after it was
    /// noticed the last switch had changed.
    pub fn violate(&mut self) -> Option<Duration> {
        self.message += 1;
        let frame = message(self.message, AGREED_BYTES + 1);
        self.sender.send(&frame).expect("the interface is there");
        self.controller.await_change()
    }

    /// The same with a controller that tells all switches.
    pub fn violate_and_ask(&mut self) -> Option<Duration> {
        self.message += 1;
        let frame = message(self.message, AGREED_BYTES + 1);
        self.sender.send(&frame).expect("the interface is there");
        self.controller.change_on_violation()
    }
}

fn address(switch: usize, port: PortNumber) -> MacAddress {
    let low = |number: usize| u8::try_from(number).expect("nine switches of a few ports");
    let port = usize::try_from(port.0).expect("a few ports");
    MacAddress([2, 9, 0, 0, low(switch), low(port)])
}

fn plan(ends: &[Vec<End>], rate: BitRate) -> Plan {
    let place = |switch: usize, port| Place::Switch {
        switch,
        port,
        mac: address(switch, port),
    };
    let cable = |ends: [Place; 2], rate| CablePlan {
        ends,
        rate,
        power: Power::On,
    };
    let mut cables = vec![cable([Place::Host(0), place(0, HOST_PORT)], UNPACED)];
    for (at, ends) in ends.iter().enumerate() {
        let outward = ends.iter().filter(|end| end.is_outward);
        cables.extend(outward.map(|end| {
            let far = place(end.far, end.far_port);
            cable([place(at, end.port), far], rate)
        }));
    }
    Plan {
        switches: (1..=SWITCHES).map(|number| format!("s{number}")).collect(),
        hosts: vec![HostPlan {
            name: "h1".to_owned(),
            mac: MacAddress([2, 0, 0, 0, 0, 1]),
            queue_frames: 0,
        }],
        cables,
    }
}

fn config(switch: usize, ends: &[End], rate: BitRate) -> Config {
    let port = |number: PortNumber, rate| PortConfig {
        number,
        name: format!("p{}", number.0),
        mac: address(switch, number),
        rate: Some(rate),
        pacing: Pacing::World,
    };
    let host = (switch == 0).then(|| port(HOST_PORT, UNPACED));
    let trunks = ends.iter().map(|end| port(end.port, rate));
    let ports = host.into_iter().chain(trunks).collect();
    Config::new(datapath(switch), ports)
}

/// Returns how a switch is called in OpenFlow.
pub fn datapath(switch: usize) -> DatapathId {
    DatapathId(u64::try_from(switch + 1).expect("nine"))
}

/// Returns a frame with a message of one packet that says that it is so large.
fn message(number: u32, size_bytes: u32) -> Vec<u8> {
    const PAYLOAD: u16 = 12 + 16;
    const UDP: u16 = 8 + PAYLOAD;
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(EtherType::IPV4.0.to_be_bytes());
    frame.extend([0x45, 0]);
    frame.extend((20 + UDP).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    for word in [5000u16, 5001, UDP, 0] {
        frame.extend(word.to_be_bytes());
    }
    let shim = MessageShim {
        message: number,
        size_bytes,
        sequence: number,
    };
    shim.emit(&mut frame);
    frame.extend([0; 16]);
    frame
}
