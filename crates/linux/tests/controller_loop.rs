//! The controller on real TCP connections: strangers, garbage, occupied ports.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration as StdDuration;

use controller::config::{Metric, PortParameters, SwitchParameters, Timers};
use controller::northbound::{ApplicationKind, Manifest};
use controller::store::MemoryStore;
use controller::{CloseReason, Config, Request};
use linux::controller_loop::{ControllerHandle, ListenError, Told, listen};
use linux::scheduling::{Placement, Wish};
use units::{BitRate, DataSize, Delay, Duration};
use wire::openflow::{Echo, Framer, Hello, Message, TransactionId};

const PATIENCE: StdDuration = StdDuration::from_secs(5);
const ORDINARY: Wish = Wish {
    nice: 0,
    placement: Placement::Anywhere,
};

fn config() -> Config {
    let other_ports = PortParameters {
        rate: BitRate::from_mbps(100),
        propagation: Delay::ZERO,
        budgets: [None; 8],
        buffers: [None; 8],
        largest_frame: DataSize::from_bytes(1542),
    };
    Config {
        switches: std::collections::BTreeMap::new(),
        unknown_switch: SwitchParameters {
            name: String::new(),
            processing: None,
            ports: std::collections::BTreeMap::new(),
            other_ports,
        },
        hosts: Vec::new(),
        applications: vec![Manifest::built_in(ApplicationKind::Deterministic)],
        metric: Metric::Links,
        timers: Timers::default(),
        probe_key: None,
        claim: controller::mastery::Claim::default(),
        foreign_rules: controller::northbound::ForeignRules::Keep,
        fit: None,
        modes: None,
        watch_hops: true,
        interrupted: false,
        policing: None,
        seed: 1,
    }
}

fn start() -> (ControllerHandle, SocketAddr) {
    start_with(config())
}

fn start_with(config: Config) -> (ControllerHandle, SocketAddr) {
    let listener = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = listener.local_addr().unwrap();
    (
        ControllerHandle::start(listener, config, MemoryStore::default(), ORDINARY).unwrap(),
        address,
    )
}

/// Returns what the controller tells next that is no notice.
fn next_beside_notices(controller: &ControllerHandle) -> Told {
    loop {
        match controller.told().recv_timeout(PATIENCE).unwrap() {
            Told::Notice { .. } => {}
            told => return told,
        }
    }
}

/// Connects and says hello, as a switch does.
fn greet(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    say_hello(&mut stream);
    stream
}

fn say_hello(stream: &mut impl Write) {
    let mut hello = Vec::new();
    Hello::OURS.emit(TransactionId(1), &mut hello);
    stream.write_all(&hello).unwrap();
}

/// Reads until the controller asks for the switch's features.
fn await_features_request(stream: &mut impl Read) {
    let (mut framer, mut room) = (Framer::default(), [0; 4096]);
    loop {
        while let Some(message) = framer.next_message().unwrap() {
            if Message::parse(message).unwrap().1 == Message::FeaturesRequest {
                return;
            }
        }
        let count = stream.read(&mut room).unwrap();
        assert!(count > 0, "closed before it asked");
        framer.push(&room[..count]);
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = taken.local_addr().unwrap();

    let error = listen(address).unwrap_err();

    assert!(matches!(error, ListenError::Occupied { .. }));
    assert!(error.to_string().contains(&address.to_string()), "{error}");
}

#[test]
fn garbage_closes_its_own_session_only() {
    let (controller, address) = start();
    let mut decent = greet(address);
    await_features_request(&mut decent);

    let mut vandal = TcpStream::connect(address).unwrap();
    vandal.set_read_timeout(Some(PATIENCE)).unwrap();
    vandal
        .write_all(b"GET / HTTP/1.1\r\nHost: taktos\r\n\r\n")
        .unwrap();

    let mut rest = Vec::new();
    // Closing with bytes unread resets the connection, which is as good.
    let _ = vandal.read_to_end(&mut rest);
    match next_beside_notices(&controller) {
        Told::Closed { peer, .. } => assert_eq!(peer, vandal.local_addr().unwrap()),
        other => panic!("{other:?}"),
    }
    let mut another = greet(address);
    await_features_request(&mut another);
    decent.set_nonblocking(true).unwrap();
    let untouched = decent.peek(&mut [0]);
    assert!(!matches!(untouched, Ok(0)), "closed with the other one");
}

#[test]
fn a_peer_that_closes_in_the_middle_of_a_message_harms_nobody() {
    let (_controller, address) = start();
    let mut stream = greet(address);
    await_features_request(&mut stream);
    // The header of a message of 1000 bytes, of which 8 come.
    stream.write_all(&[4, 10, 3, 232, 0, 0, 0, 1]).unwrap();
    drop(stream);

    let mut another = greet(address);

    await_features_request(&mut another);
}

#[test]
fn a_switch_that_asks_without_reading_is_heard_no_longer_and_then_closed() {
    /// Far above what the two sockets and the controller keep.
    const MUCH: usize = 64 << 20;
    let mut config = config();
    config.timers.echo_interval = Duration::from_ms(50);
    config.timers.echo_timeout = Duration::from_ms(300);
    let (controller, address) = start_with(config);
    let mut greedy = greet(address);
    await_features_request(&mut greedy);
    let mut question = Vec::new();
    let data = &[7; 60_000];
    Echo { data }.emit_request(TransactionId(2), &mut question);
    greedy.set_nonblocking(true).unwrap();

    let (mut asked, mut rest) = (0, &question[..]);
    let reason = loop {
        match greedy.write(rest) {
            Ok(count) => (asked, rest) = (asked + count, &rest[count..]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            // Closed, as it should be: what was told says why.
            Err(_) => {}
        }
        if rest.is_empty() {
            rest = &question;
        }
        assert!(asked < MUCH, "whoever does not read is heard for ever");
        if let Ok(Told::Closed { reason, .. }) = controller.told().try_recv() {
            break reason;
        }
    };

    assert_eq!(reason, CloseReason::Silence);
    await_features_request(&mut greet(address));
}

#[test]
fn a_request_is_answered_under_its_number() {
    let (controller, _) = start();

    let asked = controller.ask(Request::Topology);

    match next_beside_notices(&controller) {
        Told::Reply { id, .. } => assert_eq!(id, asked),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_connection_that_was_made_elsewhere_is_served_as_any() {
    let controller =
        ControllerHandle::start(None, config(), MemoryStore::default(), ORDINARY).unwrap();
    let (ours, mut switch) = UnixStream::pair().unwrap();
    switch.set_read_timeout(Some(PATIENCE)).unwrap();
    let peer = SocketAddr::from(([192, 0, 2, 1], 1024));

    controller.side_entrance().let_in(ours, peer);
    say_hello(&mut switch);
    await_features_request(&mut switch);
    switch.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();

    match next_beside_notices(&controller) {
        Told::Closed { peer: closed, .. } => assert_eq!(closed, peer),
        other => panic!("{other:?}"),
    }
}
