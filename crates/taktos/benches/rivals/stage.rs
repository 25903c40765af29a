//! Where one subject stands: two hosts with the subject's room between them.
//!
//! Each subject has a stage of its own, so that all can be there at once and take
//! turns. The room of the subject has the interfaces [`PORTS`], one on a cable to
//! the left host, one on a cable to the right.

use std::fs;
use std::io;

use lab::veth::{self, End, Power};
use linux::clock;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use linux::port::{Attachment, XdpPort};
use units::Duration;
use wire::ethernet::MacAddress;

use crate::process;

/// The subject's interfaces, towards the left and the right host.
pub const PORTS: [&str; 2] = ["p1", "p2"];
/// Their numbers: each interface of a stage has one that no other one of it has.
pub const PORT_INDICES: [u32; 2] = [22, 23];
const HOST_INDICES: [u32; 2] = [21, 24];
/// How long the kernel may take to free what was closed.
const PATIENCE: Duration = Duration::from_secs(2);
const HOST_NAMES: [&str; 2] = ["left", "right"];

/// Two hosts and a room between.
#[derive(Debug)]
pub struct Stage {
    /// The hosts that send and receive.
    pub hosts: [Namespace; 2],
    /// Where the subject runs.
    pub room: Namespace,
}

/// The left and the right one.
pub const LEFT: usize = 0;
/// Where frames arrive.
pub const RIGHT: usize = 1;

impl Stage {
    /// Builds it, with both cables plugged in.
    pub fn build() -> io::Result<Self> {
        let stage = Self {
            hosts: [Namespace::new()?, Namespace::new()?],
            room: Namespace::new()?,
        };
        for namespace in stage.hosts.iter().chain([&stage.room]) {
            veth::forbid_ipv6(namespace)?;
        }
        for side in [LEFT, RIGHT] {
            stage.lay(side)?;
        }
        Ok(stage)
    }

    /// Returns the number of a host's interface.
    pub fn interface(&self, side: usize) -> u32 {
        HOST_INDICES[side]
    }

    /// Opens the fastest way to send from the left host. The kernel frees the one
    /// before somewhat later than it is closed.
    pub fn fast_sender(&self) -> io::Result<XdpPort> {
        let end = clock::now() + PATIENCE;
        loop {
            let open = || XdpPort::open(HOST_INDICES[LEFT], Attachment::Any);
            match self.hosts[LEFT].run(open) {
                Err(error) if is_busy(&error) && clock::now() < end => {
                    clock::sleep_until(clock::now() + Duration::from_ms(10));
                }
                opened => return opened,
            }
        }
    }

    /// Returns how many frames have arrived at a host.
    pub fn arrived(&self, side: usize) -> io::Result<u64> {
        let table = self.hosts[side].run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        received(&table, HOST_NAMES[side])
            .ok_or_else(|| io::Error::other("the kernel does not count the host's frames"))
    }

    /// Has the kernel carry on what arrives at the left port on this processor, or
    /// where it arrives.
    pub fn hand_over(&self, to: Option<usize>) -> io::Result<()> {
        let mask = to.map_or(0, |processor| 1_u64 << processor);
        let file = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", PORTS[LEFT]);
        // What the files of the kernel show depends on who has mounted them.
        let script = format!("mount -t sysfs sysfs /sys && echo {mask:x} > {file}");
        process::run(&self.room, &["unshare", "--mount", "sh", "-c", &script])
    }

    fn lay(&self, side: usize) -> io::Result<()> {
        let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
        let last = u8::try_from(side).expect("one of two");
        let host = End {
            namespace: &self.hosts[side],
            name: HOST_NAMES[side],
            index: HOST_INDICES[side],
            mac: mac(0xf0 + last),
        };
        let port = End {
            namespace: &self.room,
            name: PORTS[side],
            index: PORT_INDICES[side],
            mac: mac(0xe0 + last),
        };
        let mut netlink = self.room.run(Netlink::open)?;
        veth::lay(&mut netlink, [host, port])?;
        for end in [host, port] {
            let mut netlink = end.namespace.run(Netlink::open)?;
            veth::switch(&mut netlink, end.index, Power::On)?;
        }
        Ok(())
    }
}

fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

/// Reads how many frames `interface` received out of what the kernel shows as
/// `/proc/net/dev`: bytes and frames stand first behind the name.
fn received(table: &str, interface: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.split_once(':'));
    let (_, counters) = lines.find(|(name, _)| name.trim() == interface)?;
    counters.split_whitespace().nth(1)?.parse().ok()
}
