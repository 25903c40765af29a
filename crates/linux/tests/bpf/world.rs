//! What the tests stand on: the probe with its maps, and a cable in a namespace.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use linux::bpf::map::MappedArray;
use linux::bpf::object::Object;
use linux::bpf::program::Program;
use linux::bpf::record_ring::RecordRing;
use linux::interface::{Interface, Power};
use linux::namespace::Namespace;
use linux::netlink::{Netlink, Purpose, Request};
use linux::sender::{ClassId, Sender};

/// The program of `crates/linux/bpf/probe.c`.
const PROBE: &[u8] = include_bytes!("../../bpf/probe.o");
const RING_BYTES: u32 = 1 << 12;
const TALLIES: u32 = 8;
/// How long a test waits for the kernel before it fails.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the probe does with a frame, by the first byte of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Lets it go on to the network stack.
    Pass = 0,
    Drop = 1,
    /// Writes its beginning into the ring, and drops it.
    Record = 2,
    Bounce = 3,
    /// Keeps the processor for 300 us, and drops it.
    Linger = 4,
    /// What the probe counts records under for which the ring has no room.
    NoRoom = 6,
    /// What the probe counts frames under that it has kept the processor for.
    Lingered = 7,
}

/// The probe, loaded, and its maps.
#[derive(Debug)]
pub struct Probe {
    pub program: Program,
    pub tallies: MappedArray,
    pub records: RecordRing,
}

impl Probe {
    /// Loads it, or says loudly that this process may not.
    ///
    /// With `TAKTOS_REQUIRE_NAMESPACES` set, as in continuous integration, a skip
    /// is a failure for whoever is root of the machine; root of a user namespace may
    /// not load programs.
    pub fn load_or_skip(test: &str) -> Option<Self> {
        let tallies = match MappedArray::create("tallies", TALLIES, 1) {
            Ok(tallies) => tallies,
            Err(refusal) if refusal.source.kind() == io::ErrorKind::PermissionDenied => {
                skip(test);
                return None;
            }
            Err(refusal) => panic!("{refusal}"),
        };
        let records = RecordRing::create("records", RING_BYTES).unwrap();
        let maps = BTreeMap::from([("tallies", tallies.as_fd()), ("records", records.as_fd())]);
        let program = Program::load(&object(), "probe", &maps).unwrap();
        Some(Self {
            program,
            tallies,
            records,
        })
    }

    /// Returns the maps under the names that the program has for them.
    pub fn maps(&self) -> BTreeMap<&str, BorrowedFd<'_>> {
        BTreeMap::from([
            ("tallies", self.tallies.as_fd()),
            ("records", self.records.as_fd()),
        ])
    }

    /// Returns how many frames it has done `action` with.
    pub fn tally(&self, action: Action) -> u64 {
        self.tallies.words()[action as usize].load(Ordering::SeqCst)
    }
}

pub fn object() -> Object {
    Object::parse(PROBE).unwrap()
}

/// Returns a frame with which the probe does `action`, with `sign` in it.
pub fn frame(action: Action, sign: u8) -> [u8; 60] {
    let mut frame = [sign; 60];
    frame[0] = (action as u8) << 2 | 2;
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

/// Two interfaces in a namespace, joined by a cable and switched on.
#[derive(Debug)]
pub struct Cable {
    pub namespace: Namespace,
    /// The number of the one that frames are sent from.
    pub far: u32,
    /// The number of the one that programs are attached to.
    pub near: u32,
}

impl Cable {
    /// Lays it in a namespace of its own.
    pub fn lay() -> Self {
        const NEW_LINK: u16 = 16;
        const NAME: u16 = 3;
        const INFO: u16 = 18;
        const INFO_KIND: u16 = 1;
        const INFO_DATA: u16 = 2;
        const PEER: u16 = 1;
        let namespace = Namespace::new().unwrap();
        let (far, near) = namespace.run(|| {
            // The kernel's own reports of groups, to 33:33:…, would look like
            // `Action::Linger`. A kernel without the protocol has no such file.
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            let request = Request::new(NEW_LINK, Purpose::Create, &[0; 16]).with(NAME, b"far\0");
            let request = request.with_nested(INFO, |info| {
                info.append(INFO_KIND, b"veth");
                info.nest(INFO_DATA, |data| {
                    data.nest(PEER, |peer| {
                        peer.raw(&[0; 16]);
                        peer.append(NAME, b"near\0");
                    });
                });
            });
            Netlink::open().unwrap().ask(request).unwrap();
            let [far, near] = ["far", "near"].map(|name| {
                let interface = Interface::named(name).unwrap();
                interface.switch(Power::On).unwrap();
                interface.index()
            });
            (far, near)
        });
        let cable = Self {
            namespace,
            far,
            near,
        };
        // It loses frames for a moment after its ends were switched on.
        await_some("a frame over the cable", || {
            cable.send(&frame(Action::Pass, 0));
            (cable.arrived() > 0).then_some(())
        });
        cable
    }

    /// Sends `frame` from the far end to the near one.
    pub fn send(&self, frame: &[u8]) {
        let class = ClassId { major: 0, minor: 0 };
        let sender = || Sender::open(self.far, class);
        self.namespace.run(sender).unwrap().send(frame).unwrap();
    }

    /// Returns how many frames have arrived at the near end.
    fn arrived(&self) -> u64 {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let table = self.namespace.run(read).unwrap();
        let mut rows = table.lines().map(str::split_whitespace);
        let mut row = rows.find_map(|mut row| (row.next() == Some("near:")).then_some(row));
        let frames = row.as_mut().and_then(|row| row.nth(1));
        frames.unwrap().parse().unwrap()
    }
}

/// Waits until `state` is something.
#[track_caller]
pub fn await_some<T>(what: &str, mut state: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = state() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

pub fn skip(test: &str) {
    let notice = format!("SKIPPED {test}: needs CAP_BPF and CAP_NET_ADMIN. Run it as root");
    let required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
    assert!(!required || !is_root_of_the_machine(), "{notice}");
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(io::stderr(), "\n{notice}\n");
}

fn is_root_of_the_machine() -> bool {
    // All users there are, under their own numbers.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let whole = map.split_whitespace().eq(["0", "0", "4294967295"]);
    whole && rustix::process::geteuid().is_root()
}
