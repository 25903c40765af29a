//! A flow that sends more than agreed at one switch, and all switches that serve
//! another level, with no controller there.

use std::cell::Cell;
use std::net::TcpListener;

use lab::network::{LabNetwork, Place, Plan};
use lab::switches::{Forwarding, SwitchSettings, Switches};
use linux::sender::Sender;
use linux::tap::{Direction, Tap};
use switch::{Config, FailMode, Pacing, PortConfig};
use units::{BitRate, Duration};
use wire::ethernet::{EtherType, MacAddress};
use wire::message_shim::MessageShim;
use wire::mode_signal::Level;
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    LevelSet, ModeConfig, ModeFlags, ModeKey, ModeMessage, MonitorCommand, MonitorContract,
    MonitorId, MonitorMod, Trunk,
};
use wire::openflow::{
    Action, Actions, DatapathId, FeaturesReply, Fields, FlowMod, Instruction, Instructions,
    MatchField, Message, PortNumber, Sequence, TableId, TransactionId,
};

use crate::network::{cable, host, port};
use crate::switch::Controller;
use crate::{await_some, next_frame, over_each_engine};

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(100);
const MONITOR: MonitorId = MonitorId(4);
const AGREED_BYTES: u32 = 100;
/// What goes on at the higher level only, and what always does.
const SOMETIMES: u16 = 0x88b5;
const ALWAYS: u16 = 0x88b6;
/// The ports of each switch: by which frames come in and go out.
const WAYS: [[u32; 2]; 3] = [[1, 2], [3, 2], [3, 1]];

/// Three switches in a line, a host at each end.
fn plan() -> Plan {
    Plan {
        switches: ["s1", "s2", "s3"].map(str::to_owned).to_vec(),
        hosts: vec![host("h1", 1), host("h2", 2)],
        cables: vec![
            cable([Place::Host(0), port(0, 1)]),
            cable([Place::Host(1), port(2, 1)]),
            cable([port(0, 2), port(1, 3)]),
            cable([port(1, 2), port(2, 3)]),
        ],
    }
}

fn config(switch: usize) -> Config {
    let port = |number: u32| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, u8::try_from(number).unwrap()]),
        rate: Some(BitRate::from_mbps(100)),
        pacing: Pacing::Core,
    };
    Config {
        // Its controller goes away.
        fail_mode: FailMode::Secure,
        ..Config::new(datapath(switch), WAYS[switch].map(port).to_vec())
    }
}

fn datapath(switch: usize) -> DatapathId {
    DatapathId(u64::try_from(switch).unwrap() + 1)
}

/// Returns the trunks of a switch: its port, the switch there and its port.
fn trunks(switch: usize) -> Vec<Trunk> {
    let trunk = |port, far, far_port| Trunk {
        port: PortNumber(port),
        far_port: PortNumber(far_port),
        far_switch: datapath(far),
    };
    match switch {
        0 => vec![trunk(2, 1, 3)],
        1 => vec![trunk(3, 0, 2), trunk(2, 2, 3)],
        _ => vec![trunk(3, 1, 2)],
    }
}

/// Tells a switch everything, and waits until it is so.
fn tell_all(controller: &mut Controller, switch: usize) {
    let [from, to] = WAYS[switch].map(PortNumber);
    let kind = |kind: u16| MatchField::EthType(EtherType(kind));
    let level = MatchField::Level(Masked::exact(1));
    controller.tell(|out| {
        let contract = |size_bytes| MonitorContract {
            period: Duration::from_ns(0),
            size_bytes,
        };
        let contracts = [contract(AGREED_BYTES), contract(u32::MAX)];
        let monitor = MonitorMod {
            command: MonitorCommand::Add,
            monitor: MONITOR,
            jitter: Duration::from_ns(0),
            contracts: Sequence::of(&contracts),
        };
        ModeMessage::MonitorMod(monitor).emit(TransactionId(2), out);
        let signals = [kind(EtherType::MODE_SIGNAL.0)];
        add(out, &signals, &[Action::ModeArrange]);
        let watched = [kind(EtherType::IPV4.0)];
        add(out, &watched, &[Action::FlowMonitor(MONITOR)]);
        let on = [Action::output(to)];
        add(out, &[MatchField::InPort(from), kind(ALWAYS)], &on);
        let at_level = [MatchField::InPort(from), kind(SOMETIMES), level];
        add(out, &at_level, &on);
        let trunks = trunks(switch);
        let config = ModeConfig {
            hold: None,
            heart_beat: None,
            key: ModeKey([7; 16]),
            complete: LevelSet::ALL,
            default: Level::LOWEST,
            flags: ModeFlags(0),
            trunks: Sequence::of(&trunks),
        };
        ModeMessage::Config(config).emit(TransactionId(3), out);
    });
    controller.await_all();
}

pub fn add(out: &mut Vec<u8>, fields: &[MatchField], actions: &[Action]) {
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let flow_mod = FlowMod {
        matching: Fields::of(fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    flow_mod.emit(TransactionId(4), out);
}

/// Returns which switch is at the other end.
fn who(controller: &mut Controller) -> usize {
    let found = Cell::new(None);
    controller.tell(|out| FeaturesReply::emit_request(TransactionId(1), out));
    controller.await_message("who it is", |message| {
        if let Message::FeaturesReply(reply) = message {
            found.set((0..WAYS.len()).find(|at| datapath(*at) == reply.datapath));
        }
        found.get().is_some()
    });
    found.get().unwrap()
}

/// Returns a frame of a type.
fn frame(kind: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(kind.to_be_bytes());
    frame.resize(60, 0);
    frame
}

/// Returns a message of one packet that says that it is so large.
pub fn message(number: u32, size_bytes: u32) -> Vec<u8> {
    let mut frame = frame(EtherType::IPV4.0);
    frame.truncate(14);
    frame.extend([0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 20, 0, 20, 1, 0, 40, 0, 0]);
    let shim = MessageShim {
        message: number,
        size_bytes,
        sequence: number - 1,
    };
    shim.emit(&mut frame);
    frame.resize(14 + 60, 0);
    frame
}

#[test]
fn a_violation_at_one_switch_changes_all_of_them_without_a_controller() {
    let test = "a_violation_at_one_switch_changes_all_of_them_without_a_controller";
    over_each_engine(test, violate);
}

fn violate(forwarding: Forwarding) {
    let network = LabNetwork::build(&plan()).unwrap();
    let address = ("0.0.0.0", CONTROLLER_PORT);
    let listener = network.control.run(|| TcpListener::bind(address).unwrap());
    let settings = SwitchSettings::for_this_machine(forwarding, STALL, CONTROLLER_PORT);
    let configs: Vec<_> = (0..WAYS.len()).map(config).collect();
    let _switches = Switches::start(&network, &configs, settings).unwrap();
    for _ in WAYS {
        let mut controller = Controller::accept(&listener);
        let switch = who(&mut controller);
        tell_all(&mut controller, switch);
    }
    drop(listener);
    let index = |host: usize| network.cables[host].sockets[0].interface.index();
    let class = linux::qdisc::class(3);
    let mut sender = network.hosts[0].run(|| Sender::open(index(0), class).unwrap());
    let mut tap = network.hosts[1].run(|| Tap::open(index(1), 1 << 20).unwrap());
    let mut exchange = |sent: &[Vec<u8>]| {
        for frame in sent {
            sender.send(frame).unwrap();
        }
        next_frame(&mut tap, Direction::In).0
    };

    let before = exchange(&[message(1, AGREED_BYTES), frame(SOMETIMES), frame(ALWAYS)]);
    let after = await_some("another level", || {
        let got = exchange(&[
            message(1, AGREED_BYTES + 1),
            frame(SOMETIMES),
            frame(ALWAYS),
        ]);
        (got == frame(SOMETIMES)).then_some(got)
    });

    assert_eq!(
        before,
        frame(ALWAYS),
        "who keeps the contract changes nothing"
    );
    assert_eq!(after, frame(SOMETIMES));
}
