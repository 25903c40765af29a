//! A namespace with cables, one end of which a switch gets as ports.
//!
//! Cable `n` joins `s<n>`, the switch's end, and `h<n>`, at which the test sends
//! and listens. Everything ends with the test.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lab::veth::{self, Power, VethEnd};
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use linux::port::{Frame, PacketPort};
use rustix::process::Signal;
use wire::ethernet::MacAddress;

use crate::openflow::Client;
use crate::workplace::{Ended, Running, Workplace};

/// How long a test waits for what must come, before it fails.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// How long a test listens for what must not come.
const SILENCE: Duration = Duration::from_millis(200);
const LOOPBACK: u32 = 1;
const RING_BYTES: usize = 1 << 18;
/// An experimental EtherType of IEEE Std 802.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

pub struct Testbed {
    pub room: Namespace,
    pub workplace: Workplace,
    netlink: Netlink,
}

impl Testbed {
    /// Makes one with so many cables, or says loudly why not. With
    /// `TAKTOS_REQUIRE_NAMESPACES` set, as in continuous integration, a skip is a
    /// failure.
    pub fn or_skip(test: &str, cables: u32) -> Option<Self> {
        let room = match Namespace::new() {
            Ok(room) => room,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                skip(test);
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        veth::forbid_ipv6(&room).unwrap();
        let mut netlink = room.run(Netlink::open).unwrap();
        let localhost = Ipv4Addr::LOCALHOST;
        veth::switch_on_with_address(&mut netlink, LOOPBACK, localhost, 8).unwrap();
        let mut bed = Self {
            room,
            workplace: Workplace::new(),
            netlink,
        };
        for n in 1..=cables {
            bed.lay_cable(n, 10 * n);
        }
        Some(bed)
    }

    /// Lays cable `n` anew, its ends numbered from `index`.
    pub fn lay_cable(&mut self, n: u32, index: u32) {
        let last = u8::try_from(n).unwrap();
        let (switch, host) = (format!("s{n}"), format!("h{n}"));
        let end = |name, index, kind| VethEnd {
            namespace: &self.room,
            name,
            index,
            mac: MacAddress([2, kind, 0, 0, 0, last]),
        };
        let ends = [end(&switch, index, 0x51), end(&host, index + 1, 0x40)];
        veth::lay(&mut self.netlink, ends).unwrap();
        for index in [index, index + 1] {
            veth::switch(&mut self.netlink, index, Power::On).unwrap();
        }
    }

    /// Switches the interface of number `index` on or off.
    pub fn switch(&mut self, index: u32, power: Power) {
        veth::switch(&mut self.netlink, index, power).unwrap();
    }

    /// Takes a cable away, with both its ends.
    pub fn remove_cable(&mut self, index: u32) {
        const DELETE_LINK: u16 = 17;
        let mut header = [0; 16];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        let purpose = linux::netlink::Purpose::Change;
        let request = linux::netlink::Request::new(DELETE_LINK, purpose, &header);
        self.netlink.ask(request).unwrap();
    }

    pub fn interface(&self, name: &str) -> Interface {
        self.room.run(|| Interface::named(name)).unwrap()
    }

    /// Returns where the switch's control socket is.
    pub fn control(&self) -> PathBuf {
        self.workplace.path("switch.sock")
    }

    /// Starts a switch and waits until it runs.
    #[track_caller]
    pub fn start(&self, arguments: &[&str]) -> Running {
        let mut running = self.begin(arguments);
        if !running.says("running") {
            panic!("{}", running.end().stderr);
        }
        running
    }

    pub fn begin(&self, arguments: &[&str]) -> Running {
        let control = self.control().display().to_string();
        let first = ["switch", "--control", &control];
        let command = self
            .workplace
            .taktos(first.iter().copied().chain(arguments.iter().copied()));
        // A process is in the namespace of the thread that starts it.
        self.room.run(|| Running::start(command))
    }

    /// Asks the switch with `taktos switch show`, for people.
    #[track_caller]
    pub fn show_text(&self, topic: &str) -> String {
        let control = self.control().display().to_string();
        let asked = ["switch", "show", topic, "--control", &control];
        let ended = self.workplace.run(&asked);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    }

    /// Asks the switch with `taktos switch show`.
    #[track_caller]
    pub fn show(&self, topic: &str) -> serde_json::Value {
        let control = self.control().display().to_string();
        let asked = ["switch", "show", topic, "--json", "--control", &control];
        let ended = self.workplace.run(&asked);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Connects to the switch as a controller does.
    pub fn connect(&self, port: u16) -> Client<TcpStream> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let stream = self.room.run(|| TcpStream::connect(address)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client::greet(stream)
    }

    /// Opens the end `h<n>` of a cable.
    pub fn host(&self, n: u32) -> Host {
        let index = self.interface(&format!("h{n}")).index();
        let port = self.room.run(|| PacketPort::open(index, RING_BYTES));
        Host {
            port: linux::port::Port::Packet(Box::new(port.unwrap())),
        }
    }
}

/// Ends a switch as its service manager would.
pub fn stop(running: Running) -> Ended {
    running.signal(Signal::TERM);
    running.end()
}

/// One end of a cable, seen by who sends and receives there.
pub struct Host {
    port: linux::port::Port,
}

impl Host {
    pub fn send(&mut self, mark: u8) {
        self.send_frame(&frame(mark));
    }

    pub fn send_frame(&mut self, frame: &[u8]) {
        self.port.send(0, frame);
    }

    /// Waits for the frame that has this mark.
    #[track_caller]
    pub fn receives(&mut self, mark: u8) {
        assert!(
            self.hears(&frame(mark), PATIENCE),
            "frame {mark} did not come"
        );
    }

    #[track_caller]
    pub fn receives_frame(&mut self, frame: &[u8]) {
        assert!(self.hears(frame, PATIENCE), "{frame:02x?} did not come");
    }

    /// Makes sure that no frame with this mark comes.
    #[track_caller]
    pub fn hears_nothing_of(&mut self, mark: u8) {
        assert!(!self.hears(&frame(mark), SILENCE), "frame {mark} came");
    }

    /// Waits for the next frame, whichever it is.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            let came = self
                .port
                .receive(|arrived| arrived.frame.whole().map(<[u8]>::to_vec));
            match came {
                Some(frame) => return frame,
                None => std::thread::yield_now(),
            }
        }
        None
    }

    #[track_caller]
    pub fn receives_any(&mut self) {
        eventually("a frame comes", || self.port.receive(|_| ()).is_some());
    }

    /// Returns how many frames have come that nobody waited for.
    pub fn count_others(&mut self) -> usize {
        std::iter::from_fn(|| self.port.receive(|_| ())).count()
    }

    fn hears(&mut self, expected: &[u8], patience: Duration) -> bool {
        let give_up = Instant::now() + patience;
        while Instant::now() < give_up {
            let found = self.port.receive(|arrived| match arrived.frame {
                Frame::Whole(bytes) => bytes == expected,
                Frame::TooLong(_) | Frame::Overrun(_) => false,
            });
            match found {
                Some(true) => return true,
                Some(false) => {}
                None => std::thread::yield_now(),
            }
        }
        false
    }
}

/// A frame to everybody with this mark.
pub fn frame(mark: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, mark]);
    frame.extend(ETHER_TYPE);
    frame.resize(60, mark);
    frame
}

/// Waits until something is so.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up, "not so in time: {what}");
        std::thread::yield_now();
    }
}

/// Says loudly that a test cannot run here.
pub fn skip(test: &str) {
    let notice = format!(
        "SKIPPED {test}: needs CAP_NET_ADMIN and CAP_SYS_ADMIN. Run it as root, or with:\n    \
         unshare --user --map-root-user --net cargo test"
    );
    let required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
    assert!(!required, "{notice}");
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(io::stderr(), "\n{notice}\n");
}
