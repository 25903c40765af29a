//! Where one device under test stands: its room, and a host at each of its ports.
//!
//! Each device has a stage of its own, so that several can be there at once and take
//! turns. The room of the device has one interface for each host, on a cable of its
//! own.

use std::fs;
use std::io;

use linux::clock;
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use linux::port::{Attachment, XdpPort};
use units::Duration;
use wire::ethernet::MacAddress;

use crate::process;
use crate::veth::{self, Power, VethEnd};

/// The most hosts of a stage.
pub const MOST_HOSTS: usize = 4;
/// The device's interfaces, towards the hosts in their order.
pub const PORT_NAMES: [&str; MOST_HOSTS] = ["p1", "p2", "p3", "p4"];
const HOST_NAMES: [&str; MOST_HOSTS] = ["host1", "host2", "host3", "host4"];
/// Each interface of a stage has a number that no other one of it has.
const PORT_INDICES: [u32; MOST_HOSTS] = [22, 23, 24, 25];
const HOST_INDICES: [u32; MOST_HOSTS] = [42, 43, 44, 45];
/// How long the kernel may take to free what was closed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Hosts and a room between.
#[derive(Debug)]
pub struct Testbed {
    /// The hosts that send and receive.
    pub hosts: Vec<Namespace>,
    pub room: Namespace,
}

/// The left and the right one.
pub const LEFT: usize = 0;
pub const RIGHT: usize = 1;

impl Testbed {
    /// Builds it with so many hosts, all cables plugged in.
    ///
    /// # Errors
    ///
    /// Without the privilege.
    ///
    /// # Panics
    ///
    /// If there are to be more than [`MOST_HOSTS`].
    pub fn build(hosts: usize) -> io::Result<Self> {
        assert!(hosts <= MOST_HOSTS, "{hosts} of {MOST_HOSTS} hosts");
        let namespaces = (0..hosts).map(|_| Namespace::new());
        let stage = Self {
            hosts: namespaces.collect::<io::Result<_>>()?,
            room: Namespace::new()?,
        };
        for namespace in stage.hosts.iter().chain([&stage.room]) {
            veth::forbid_ipv6(namespace)?;
        }
        for side in 0..hosts {
            stage.lay(side)?;
        }
        Ok(stage)
    }

    /// Returns the names of the device's interfaces.
    #[must_use]
    pub fn ports(&self) -> &'static [&'static str] {
        &PORT_NAMES[..self.hosts.len()]
    }

    /// Returns the numbers of the device's interfaces.
    #[must_use]
    pub fn port_indices(&self) -> &'static [u32] {
        &PORT_INDICES[..self.hosts.len()]
    }

    /// Returns the name of a host's interface.
    #[must_use]
    pub fn interface_name(&self, side: usize) -> &'static str {
        HOST_NAMES[side]
    }

    /// Returns the number of a host's interface.
    #[must_use]
    pub fn interface(&self, side: usize) -> u32 {
        HOST_INDICES[side]
    }

    /// Opens the fastest way to send from the left host. The kernel frees the one
    /// before somewhat later than it is closed.
    ///
    /// # Errors
    ///
    /// If the kernel has no AF_XDP, or another one is open.
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
    ///
    /// # Errors
    ///
    /// If the kernel does not count.
    pub fn arrived(&self, side: usize) -> io::Result<u64> {
        let table = self.hosts[side].run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        received(&table, HOST_NAMES[side])
            .ok_or_else(|| io::Error::other("the kernel does not count the host's frames"))
    }

    /// Has the kernel carry on what arrives at the left port on this processor, or
    /// where it arrives.
    ///
    /// # Errors
    ///
    /// If the kernel cannot be told.
    pub fn hand_over(&self, to: Option<usize>) -> io::Result<()> {
        let mask = to.map_or(0, |processor| 1_u64 << processor);
        let file = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", PORT_NAMES[LEFT]);
        // What the files of the kernel show depends on who has mounted them.
        let script = format!("mount -t sysfs sysfs /sys && echo {mask:x} > {file}");
        process::run(&self.room, &["unshare", "--mount", "sh", "-c", &script])
    }

    fn lay(&self, side: usize) -> io::Result<()> {
        let mac = |last| MacAddress([2, 0, 0, 0, 0, last]);
        let last = u8::try_from(side).expect("one of two");
        let host = VethEnd {
            namespace: &self.hosts[side],
            name: HOST_NAMES[side],
            index: HOST_INDICES[side],
            mac: mac(0xf0 + last),
        };
        let port = VethEnd {
            namespace: &self.room,
            name: PORT_NAMES[side],
            index: PORT_INDICES[side],
            mac: mac(0xe0 + last),
        };
        let mut netlink = self.room.run(Netlink::open)?;
        veth::lay(&mut netlink, [host, port])?;
        for end in [host, port] {
            let mut netlink = end.namespace.run(Netlink::open)?;
            veth::switch(&mut netlink, end.index, Power::On)?;
        }
        for end in [host, port] {
            let interface = end.namespace.run(|| Interface::named(end.name))?;
            interface.await_use()?;
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
