//! A switch whose answers are known, with real frames: the core that ships, with a table
//! of a known size, on interfaces of its own and behind an agent at a real TCP connection.
//!
//! It holds every frame and every message for a known time before the core gets it, the
//! messages one after the other, and learns of a lost carrier a known time after it is
//! lost. A moment is read behind whatever it belongs to, and nothing leaves before it: so
//! the switch is never faster than its numbers, however busy the machine is.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use lab::tester::{AgentAccess, Arrangement, LinkTester, StampsWanted, TesterError};
use lab::veth::{self, Power, VethEnd};
use linux::clock;
use linux::interface::{Carrier, Interface};
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use linux::port::PacketPort;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use measure::method::Findings;
use switch::{Config, ConnectionId, Input, Link, Output, Pacing, Peer, PortConfig, Switch};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, Framer, PortNumber};

use crate::methods::measured;
use crate::namespace_or_skip;

const LOOPBACK: u32 = 1;
const RING_BYTES: usize = 4 << 20;
const ROOM_BYTES: usize = 64 << 10;
const PAUSE: Duration = Duration::from_us(20);
/// Between two looks at the carriers, for which others have to wait.
const LOOK: Duration = Duration::from_ms(1);
const CONNECTION: ConnectionId = ConnectionId(0);

/// What is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// How many entries its table takes.
    pub entries: usize,
    /// How long it holds a frame of so many bytes.
    pub frame: fn(usize) -> Duration,
    /// How long it works on a message of this type.
    pub message: fn(u8) -> Duration,
    /// How long it takes to notice that a carrier is lost.
    pub carrier: Duration,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            entries: 1_000,
            frame: |_| Duration::ZERO,
            message: |_| Duration::ZERO,
            carrier: Duration::ZERO,
        }
    }
}

/// The switch, and a room in which a tester finds the far ends of its cables and its
/// agent.
pub struct Bench {
    pub room: Namespace,
    names: Vec<String>,
    agent: SocketAddr,
    switch: Option<KnownSwitch>,
    _at_switch: Namespace,
}

impl Bench {
    /// Connects a switch with so many ports, or says loudly why not.
    pub fn or_skip(test: &str, ports: u8, numbers: Numbers) -> Option<Self> {
        let room = namespace_or_skip(test)?;
        let at_switch = Namespace::new().unwrap();
        for namespace in [&room, &at_switch] {
            veth::forbid_ipv6(namespace).unwrap();
        }
        let mut netlink = room.run(Netlink::open).unwrap();
        let localhost = Ipv4Addr::LOCALHOST;
        veth::switch_on_with_address(&mut netlink, LOOPBACK, localhost, 8).unwrap();
        let mut sockets = Vec::new();
        let mut names = Vec::new();
        for number in 1..=ports {
            names.push(format!("tester{number}"));
            sockets.push(connect(&room, &at_switch, number));
        }
        let listen = || TcpListener::bind((localhost, 0)).unwrap();
        let listener = room.run(listen);
        listener.set_nonblocking(true).unwrap();
        Some(Self {
            agent: listener.local_addr().unwrap(),
            switch: Some(KnownSwitch::start(sockets, listener, numbers)),
            room,
            names,
            _at_switch: at_switch,
        })
    }

    /// Connects a tester to the switch and to its agent, in the thread's own namespace.
    pub fn tester(&self, arrangement: Arrangement) -> Result<LinkTester, TesterError> {
        self.tester_of(self.agent, arrangement)
    }

    /// Does the same with whoever says that he is its agent.
    pub fn tester_of(
        &self,
        agent: SocketAddr,
        arrangement: Arrangement,
    ) -> Result<LinkTester, TesterError> {
        let (way, stamps) = (Some(AgentAccess::Dial(agent)), StampsWanted::Kernel);
        let stop = Arc::new(AtomicBool::new(false));
        LinkTester::on(&self.names, way, arrangement, stamps, stop)
    }

    /// Does something with a tester.
    pub fn with_tester<R: Send>(&self, work: impl FnOnce(&mut LinkTester) -> R + Send) -> R {
        self.room
            .run(|| work(&mut self.tester(Arrangement::Stations).unwrap()))
    }

    pub fn measured(&self, name: &str, options: &[(&str, &str)]) -> Findings {
        self.with_tester(|tester| measured(tester, name, options))
    }

    pub fn take(&mut self) -> KnownSwitch {
        self.switch.take().unwrap()
    }
}

/// Lays a cable from the room to the switch.
fn connect(room: &Namespace, at_switch: &Namespace, number: u8) -> Socket {
    let (near, far) = (format!("tester{number}"), format!("port{number}"));
    let end = |namespace, name, index, kind| VethEnd {
        namespace,
        name,
        index,
        mac: MacAddress([2, kind, 0, 0, 0, number]),
    };
    let (here, there) = (u32::from(number) + 10, u32::from(number) + 20);
    let ends = [
        end(room, &near, here, 0x40),
        end(at_switch, &far, there, 0x51),
    ];
    let mut netlink = room.run(Netlink::open).unwrap();
    veth::lay(&mut netlink, ends).unwrap();
    for end in ends {
        let mut netlink = end.namespace.run(Netlink::open).unwrap();
        veth::switch(&mut netlink, end.index, Power::On).unwrap();
    }
    let interfaces = ends.map(|end| {
        let interface = end.namespace.run(|| Interface::named(end.name).unwrap());
        interface.await_use().unwrap();
        interface
    });
    let [_, interface] = interfaces;
    Socket {
        port: at_switch.run(|| PacketPort::open(there, RING_BYTES).unwrap()),
        interface,
        carrier: Carrier::Present,
    }
}

/// The switch. It ends with this value.
pub struct KnownSwitch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl KnownSwitch {
    fn start(sockets: Vec<Socket>, listener: TcpListener, numbers: Numbers) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let should_stop = Arc::clone(&stop);
        let mut device = Device::new(sockets, listener, numbers);
        let thread = thread::spawn(move || {
            scheduling::apply(Wish {
                nice: HIGHEST_NICE,
                placement: Placement::Anywhere,
            });
            while !should_stop.load(Ordering::Relaxed) {
                device.turn();
                clock::sleep_until(clock::now() + PAUSE);
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for KnownSwitch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Socket {
    port: PacketPort,
    interface: Interface,
    carrier: Carrier,
}

/// What the switch is not done with.
enum Waiting {
    Frame(PortNumber, Vec<u8>),
    Message(Vec<u8>),
    Carrier(PortNumber, Link),
}

struct Device {
    switch: Switch,
    numbers: Numbers,
    sockets: Vec<Socket>,
    listener: TcpListener,
    agent: Option<TcpStream>,
    framer: Framer,
    out: Vec<u8>,
    /// When the agent is done with all messages so far.
    agent_free: Instant,
    look_due: Instant,
    waiting: BTreeMap<(Instant, u64), Waiting>,
    waited: u64,
}

impl Device {
    fn new(sockets: Vec<Socket>, listener: TcpListener, numbers: Numbers) -> Self {
        let ports = (1..).zip(&sockets).map(|(number, _)| PortConfig {
            number: PortNumber(number),
            name: format!("port{number}"),
            mac: MacAddress([2, 9, 0, 0, 0, 1]),
            rate: None,
            pacing: Pacing::Core,
        });
        let mut config = Config::new(DatapathId(1), ports.collect());
        config.table_capacity = numbers.entries;
        config.keep_alive = None;
        Self {
            switch: Switch::new(clock::now(), config),
            numbers,
            sockets,
            listener,
            agent: None,
            framer: Framer::new(),
            out: Vec::new(),
            agent_free: Instant::ZERO,
            look_due: Instant::ZERO,
            waiting: BTreeMap::new(),
            waited: 0,
        }
    }

    fn turn(&mut self) {
        self.take_frames();
        self.look_at_carriers();
        self.take_messages();
        self.do_what_is_due();
        self.answer();
    }

    fn wait(&mut self, until: Instant, what: Waiting) {
        self.waiting.insert((until, self.waited), what);
        self.waited += 1;
    }

    fn take_frames(&mut self) {
        for place in 0..self.sockets.len() {
            let port = &mut self.sockets[place].port;
            let number = number_of(place);
            while let Some(bytes) = port.receive(|it| it.frame.whole().unwrap().to_vec()) {
                let due = clock::now() + (self.numbers.frame)(bytes.len());
                self.waiting
                    .insert((due, self.waited), Waiting::Frame(number, bytes));
                self.waited += 1;
            }
        }
    }

    fn look_at_carriers(&mut self) {
        if clock::now() < self.look_due {
            return;
        }
        for place in 0..self.sockets.len() {
            let socket = &mut self.sockets[place];
            let carrier = socket.interface.carrier().unwrap();
            if std::mem::replace(&mut socket.carrier, carrier) != carrier {
                let (link, after) = match carrier {
                    Carrier::Lost => (Link::Down, self.numbers.carrier),
                    Carrier::Present => (Link::Up, Duration::ZERO),
                };
                let noticed = clock::now() + after;
                self.wait(noticed, Waiting::Carrier(number_of(place), link));
            }
        }
        self.look_due = clock::now() + LOOK;
    }

    fn take_messages(&mut self) {
        let Some(agent) = &mut self.agent else {
            self.accept();
            return;
        };
        let mut room = [0; ROOM_BYTES];
        match agent.read(&mut room) {
            Ok(0) => return self.hang_up(),
            Ok(count) => self.framer.push(&room[..count]),
            Err(_) => return,
        }
        let now = clock::now();
        while let Some(message) = self.framer.next_message().unwrap() {
            let takes = (self.numbers.message)(message[1]);
            self.agent_free = self.agent_free.max(now) + takes;
            let message = Waiting::Message(message.to_vec());
            self.waiting.insert((self.agent_free, self.waited), message);
            self.waited += 1;
        }
    }

    fn accept(&mut self) {
        let Ok((stream, _)) = self.listener.accept() else {
            return;
        };
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        self.agent = Some(stream);
        self.framer = Framer::new();
        let connected = Input::Connected {
            connection: CONNECTION,
            peer: Peer::Controller,
        };
        self.switch.handle(clock::now(), connected);
        self.drain();
    }

    fn hang_up(&mut self) {
        self.agent = None;
        self.out.clear();
        let is_other = |what: &Waiting| match what {
            Waiting::Message(_) => false,
            Waiting::Frame(..) | Waiting::Carrier(..) => true,
        };
        self.waiting.retain(|_, what| is_other(what));
        let gone = Input::Disconnected(CONNECTION);
        self.switch.handle(clock::now(), gone);
        self.drain();
    }

    fn do_what_is_due(&mut self) {
        loop {
            let now = clock::now();
            let first = self.waiting.first_entry();
            let Some(first) = first.filter(|it| it.key().0 <= now) else {
                break;
            };
            match first.remove() {
                Waiting::Frame(port, bytes) => {
                    let (bytes, arrived) = (&bytes[..], now);
                    let frame = Input::Frame {
                        port,
                        bytes,
                        arrived,
                    };
                    self.switch.handle(now, frame);
                }
                Waiting::Message(bytes) => {
                    let (connection, bytes) = (CONNECTION, &bytes[..]);
                    self.switch
                        .handle(now, Input::Received { connection, bytes });
                }
                Waiting::Carrier(port, link) => self.switch.handle(now, Input::Port { port, link }),
            }
            self.drain();
        }
        let now = clock::now();
        if self.switch.deadline().is_some_and(|due| due <= now) {
            self.switch.handle(now, Input::Timeout);
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.switch.poll() {
            match output {
                Output::Transmit { port, bytes, .. } => {
                    let place = usize::try_from(port.0).unwrap() - 1;
                    self.sockets[place].port.send(bytes);
                }
                Output::Send { bytes, .. } => self.out.extend_from_slice(bytes),
                Output::Close { .. } => self.agent = None,
                Output::Count => {}
            }
        }
    }

    /// Says what there is room for.
    fn answer(&mut self) {
        let Some(agent) = &mut self.agent else {
            return;
        };
        while let Ok(count) = agent.write(&self.out)
            && count > 0
        {
            self.out.drain(..count);
        }
    }
}

fn number_of(place: usize) -> PortNumber {
    PortNumber(u32::try_from(place).unwrap() + 1)
}
