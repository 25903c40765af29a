//! The switch core on real interfaces, told what to do by a controller that is
//! this test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::RangeInclusive;

use lab::network::{LabNetwork, Place, Plan};
use lab::switches::{Carried, Forwarding, SwitchSettings, Switches};
use linux::clock;
use linux::openflow_client::Client;
use linux::packet_loop::Waiting;
use linux::port::{Attachment, XdpPort};
use linux::sender::Sender;
use linux::tap::{Direction, Tap};
use switch::{Config, Pacing, PortConfig};
use units::{BitRate, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::{Action, DatapathId, MatchField, Message, PortNumber};

use crate::network::{cable, host, port};
use crate::{await_some, frame, kernel_forwards, namespace_or_skip, next_frame, over_each_engine};

const CONTROLLER_PORT: u16 = 6653;
const STALL: Duration = Duration::from_us(100);
/// A frame that has not arrived by then is sent again.
const AGAIN_AFTER: Duration = Duration::from_ms(100);
/// Both frames, however often each was sent.
const ALL: RangeInclusive<u64> = 2..=u64::MAX;

pub fn plan() -> Plan {
    Plan {
        switches: vec!["s1".to_owned()],
        hosts: vec![host("h1", 1), host("h2", 2)],
        cables: vec![
            cable([Place::Host(0), port(0, 1)]),
            cable([Place::Host(1), port(0, 2)]),
        ],
    }
}

fn config() -> Config {
    let ports = [1, 2].map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: Some(BitRate::from_mbps(100)),
        pacing: Pacing::Core,
    });
    Config::new(DatapathId(1), ports.to_vec())
}

/// Tells whether a program may be attached to an interface, or says loudly that
/// it may not, as in a user namespace.
fn may_use_af_xdp(test: &str) -> bool {
    let room = linux::namespace::Namespace::new().unwrap();
    let [near, _far] = crate::joined(room, linux::namespace::Namespace::new().unwrap());
    match near
        .namespace
        .run(|| XdpPort::open(near.index, Attachment::Any))
    {
        Ok(_) => true,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let _ = writeln!(
                std::io::stderr(),
                "\nSKIPPED {test}: needs CAP_BPF ({error})\n"
            );
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// The other end of the switch's OpenFlow connection.
pub struct Controller(Client<TcpStream>);

impl Controller {
    /// Waits until a switch has dialled, and says hello.
    pub fn accept(listener: &TcpListener) -> Self {
        Self(Client::accept(listener).unwrap())
    }

    pub fn tell(&mut self, emit: impl FnOnce(&mut Vec<u8>)) {
        self.0.tell(emit).unwrap();
    }

    /// Has frames that come in at one port sent out of the other, both ways, and
    /// waits until it is so.
    fn join_ports(&mut self) {
        for (from, to) in [(1, 2), (2, 1)] {
            let fields = [MatchField::InPort(PortNumber(from))];
            let actions = [Action::output(PortNumber(to))];
            self.0.add(100, &fields, &actions).unwrap();
        }
        self.await_all();
    }

    /// Waits until all that was said is done.
    pub fn await_all(&mut self) {
        self.0.await_all().unwrap();
    }

    /// Waits for a message; an error is none.
    #[track_caller]
    pub fn await_message(&mut self, what: &str, wanted: impl Fn(&Message<'_>) -> bool) {
        let heard = self.0.hear(|_, message| {
            assert!(!matches!(message, Message::Error(_)), "{message:?}");
            Ok(wanted(message).then_some(()))
        });
        assert!(heard.is_ok(), "{heard:?} before {what}");
    }
}

struct Bench {
    network: LabNetwork,
    listener: TcpListener,
    switches: Switches,
}

fn bench(forwarding: Forwarding) -> Bench {
    bench_with(SwitchSettings::for_this_machine(
        forwarding,
        STALL,
        CONTROLLER_PORT,
    ))
}

fn bench_with(settings: SwitchSettings) -> Bench {
    let network = LabNetwork::build(&plan()).unwrap();
    let address = ("0.0.0.0", CONTROLLER_PORT);
    let listener = network.control.run(|| TcpListener::bind(address).unwrap());
    let switches = Switches::start(&network, &[config()], settings).unwrap();
    Bench {
        network,
        listener,
        switches,
    }
}

impl Bench {
    fn sender(&self, host: usize, queue: u8) -> Sender {
        let index = self.network.cables[host].sockets[0].interface.index();
        self.network.hosts[host].run(|| Sender::open(index, linux::qdisc::class(queue)).unwrap())
    }

    fn tap(&self, host: usize) -> Tap {
        let index = self.network.cables[host].sockets[0].interface.index();
        self.network.hosts[host].run(|| Tap::open(index, 1 << 20).unwrap())
    }
}

#[test]
fn a_switch_with_two_entries_carries_frames_with_and_without_tag() {
    let test = "a_switch_with_two_entries_carries_frames_with_and_without_tag";
    if namespace_or_skip(test).is_none() {
        return;
    }
    carries_frames_with_and_without_tag(bench(Forwarding::Loop(Carried::Packet)), ALL);
}

#[test]
fn af_xdp_carries_frames_with_and_without_tag() {
    let test = "af_xdp_carries_frames_with_and_without_tag";
    if namespace_or_skip(test).is_none() || !may_use_af_xdp(test) {
        return;
    }
    carries_frames_with_and_without_tag(bench(Forwarding::Loop(Carried::Xdp)), ALL);
}

#[test]
fn the_kernel_carries_frames_with_and_without_tag_past_the_core() {
    let test = "the_kernel_carries_frames_with_and_without_tag_past_the_core";
    if namespace_or_skip(test).is_none() || !kernel_forwards(test) {
        return;
    }
    carries_frames_with_and_without_tag(bench(Forwarding::Kernel), 0..=0);
}

#[test]
fn a_loop_that_sleeps_carries_frames_with_and_without_tag() {
    let test = "a_loop_that_sleeps_carries_frames_with_and_without_tag";
    if namespace_or_skip(test).is_none() {
        return;
    }
    let asleep = SwitchSettings {
        waiting: Waiting::Sleeping,
        processor: None,
        ..SwitchSettings::for_this_machine(
            Forwarding::Loop(Carried::Packet),
            STALL,
            CONTROLLER_PORT,
        )
    };
    carries_frames_with_and_without_tag(bench_with(asleep), ALL);
}

/// Sends a frame, now and then, until it arrives: the kernel takes a moment to use a
/// carrier, and loses what is sent until then.
#[track_caller]
fn send_until_it_arrives(sender: &mut Sender, tap: &mut Tap, sent: &[u8]) {
    let mut due = clock::now();
    await_some("the frame", || {
        if clock::now() >= due {
            sender.send(sent).unwrap();
            due = clock::now() + AGAIN_AFTER;
        }
        takes(tap, sent)
    });
}

/// Takes the next frame, if it is there and this one.
fn takes(tap: &mut Tap, sent: &[u8]) -> Option<()> {
    let is_it = tap.take(|it| it.direction == Direction::In && it.bytes == sent);
    (is_it == Some(true)).then_some(())
}

/// Sends two frames, of which so many come by the switch's core.
fn carries_frames_with_and_without_tag(bench: Bench, by_core: RangeInclusive<u64>) {
    let mut controller = Controller::accept(&bench.listener);
    controller.join_ports();
    let (mut sender, mut tap) = (bench.sender(0, 7), bench.tap(1));
    let untagged = frame(100, 1);
    let tagged = [&untagged[..12], &[0x81, 0x00, 0x80, 0x05], &untagged[12..]].concat();

    for sent in [&untagged, &tagged] {
        send_until_it_arrives(&mut sender, &mut tap, sent);
    }
    let record = bench.switches.finish().record;
    assert!(by_core.contains(&record.ports[0][0].received));
    assert!(by_core.contains(&record.ports[0][1].sent));
}

#[test]
fn a_port_paces_what_comes_faster_than_its_rate() {
    over_each_engine(
        "a_port_paces_what_comes_faster_than_its_rate",
        |forwarding| {
            let bench = bench(forwarding);
            let mut controller = Controller::accept(&bench.listener);
            controller.join_ports();
            let mut tap = bench.tap(1);
            // Past the host's own pacing.
            let index = bench.network.cables[0].sockets[0].interface.index();
            let mut burst = bench.network.hosts[0]
                .run(|| linux::port::PacketPort::open(index, 1 << 20).unwrap());
            const FRAMES: u32 = 40;

            for mark in 0..FRAMES {
                burst.send(&frame(1514, mark));
            }

            let mut times = Vec::new();
            for mark in 0..FRAMES {
                let (received, at) = next_frame(&mut tap, Direction::In);
                assert_eq!(received, frame(1514, mark));
                times.push(at);
            }
            let wire_time = BitRate::from_mbps(100).time_to_send(wire::ethernet::wire_size(1514));
            // A frame may be received late, which brings it closer to the last one: of
            // the first half one is not.
            let last = times[times.len() - 1];
            let is_paced = (0..FRAMES / 2).zip(&times).any(|(number, at)| {
                // One leaves by the burst, and every one is late by the loop's turn.
                let least = (wire_time * u64::from(FRAMES - 2 - number)).round_up();
                last - *at >= least
            });
            assert!(is_paced, "{times:?}");
        },
    );
}

#[test]
fn a_cut_cable_is_reported_to_the_controller() {
    over_each_engine("a_cut_cable_is_reported_to_the_controller", |forwarding| {
        let mut bench = bench(forwarding);
        let mut controller = Controller::accept(&bench.listener);
        controller.join_ports();

        bench.network.cables[1].cut().unwrap();

        controller.await_message("the port's status", |message| match message {
            Message::PortStatus(status) => status.port.number == PortNumber(2),
            _ => false,
        });
    });
}

#[test]
fn a_switch_that_crashes_forgets_all_and_dials_again_once_it_is_back() {
    over_each_engine(
        "a_switch_that_crashes_forgets_all_and_dials_again_once_it_is_back",
        |forwarding| {
            let bench = bench(forwarding);
            let mut controller = Controller::accept(&bench.listener);
            controller.join_ports();

            bench.switches.crash(0);

            let mut rest = Vec::new();
            controller.0.stream.read_to_end(&mut rest).unwrap();
            bench.switches.restart(0);
            let mut controller = Controller::accept(&bench.listener);
            controller.join_ports();
        },
    );
}

#[test]
fn a_controller_that_sends_garbage_loses_its_connection_and_no_frame_is_lost() {
    over_each_engine(
        "a_controller_that_sends_garbage_loses_its_connection_and_no_frame_is_lost",
        |forwarding| {
            let bench = bench(forwarding);
            let mut controller = Controller::accept(&bench.listener);
            controller.join_ports();
            let (mut sender, mut tap) = (bench.sender(0, 0), bench.tap(1));
            send_until_it_arrives(&mut sender, &mut tap, &frame(60, 3));

            controller.tell(|out| out.extend_from_slice(&[4, 0, 0, 3, 0xff, 0xff, 0xff, 0xff]));

            let mut rest = Vec::new();
            controller.0.stream.read_to_end(&mut rest).unwrap();
            sender.send(&frame(60, 4)).unwrap();
            await_some("the frame", || takes(&mut tap, &frame(60, 4)));
        },
    );
}
