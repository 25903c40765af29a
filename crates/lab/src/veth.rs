//! Cables: pairs of virtual Ethernet interfaces, one end in each of two
//! namespaces.
//!
//! The two ends of every cable have numbers that differ, and that occur nowhere
//! else in the network: where they are equal, Linux holds the loss of a carrier
//! back for up to a second.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};

use linux::interface::Interface;
use linux::namespace::Namespace;
use wire::ethernet::MacAddress;

use linux::netlink::{Netlink, Purpose, Request};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
/// The attributes of a link; `linux/if_link.h`.
mod link {
    pub const ADDRESS: u16 = 1;
    pub const NAME: u16 = 3;
    pub const MTU: u16 = 4;
    pub const QUEUE_LENGTH: u16 = 13;
    pub const INFO: u16 = 18;
    pub const NAMESPACE: u16 = 28;
    pub const INFO_KIND: u16 = 1;
    pub const INFO_DATA: u16 = 2;
    pub const VETH_PEER: u16 = 1;
}
const ADDRESS_WHOLE: u16 = 1;
const ADDRESS_LOCAL: u16 = 2;
const UP: u32 = 0x1;
const NO_ARP: u32 = 0x80;
/// The largest payload of a frame.
const MTU: u32 = 1500;
/// How many frames wait where no queueing discipline says otherwise.
const QUEUE_LENGTH: u32 = 1000;

/// Whether an interface is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Off: the other end loses its carrier.
    Off,
    On,
}

/// One end of a cable to be made.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Where the interface is to be.
    pub namespace: &'a Namespace,
    /// Its name, of at most 15 bytes.
    pub name: &'a str,
    /// Its number, unique in the whole network.
    pub index: u32,
    pub mac: MacAddress,
}

/// Makes a cable. Both ends are switched off, merge and split no frames, and
/// answer no ARP.
///
/// # Errors
///
/// If a name or number is taken, or without the privilege.
pub fn lay(netlink: &mut Netlink, ends: [VethEnd<'_>; 2]) -> io::Result<()> {
    lay_ordinary(netlink, ends)?;
    for end in ends {
        end.namespace
            .run(|| Interface::named(end.name)?.disable_offloads())?;
    }
    Ok(())
}

/// Makes a cable as the kernel does: those who send leave checksums, and the cutting of
/// what is long, to cards that are not there.
///
/// # Errors
///
/// As [`lay`].
pub fn lay_ordinary(netlink: &mut Netlink, ends: [VethEnd<'_>; 2]) -> io::Result<()> {
    let [here, there] = ends;
    let mut request = Request::new(NEW_LINK, Purpose::Create, &link_header(here.index, 0, 0));
    describe(&mut request, here);
    netlink.ask(request.with_nested(link::INFO, |info| {
        info.append(link::INFO_KIND, b"veth");
        info.nest(link::INFO_DATA, |data| {
            data.nest(link::VETH_PEER, |peer| {
                peer.raw(&link_header(there.index, 0, 0));
                describe(peer, there);
            });
        });
    }))
}

/// Switches the interface of number `index` on or off, in the namespace of
/// `netlink`, and leaves it deaf to ARP.
///
/// # Errors
///
/// If there is no such interface.
pub fn switch(netlink: &mut Netlink, index: u32, power: Power) -> io::Result<()> {
    let up = match power {
        Power::Off => 0,
        Power::On => UP,
    };
    let header = link_header(index, up | NO_ARP, UP | NO_ARP);
    netlink.ask(Request::new(NEW_LINK, Purpose::Change, &header))
}

/// Switches an interface on that speaks IPv4, with ARP, and gives it its address
/// and the number of bits that it shares with its neighbours.
///
/// # Errors
///
/// If there is no such interface, or it has the address already.
pub fn switch_on_with_address(
    netlink: &mut Netlink,
    index: u32,
    address: Ipv4Addr,
    shared_bits: u8,
) -> io::Result<()> {
    let family = u8::try_from(rustix::net::AddressFamily::INET.as_raw()).expect("2");
    let mut header = vec![family, shared_bits, 0, 0];
    header.extend_from_slice(&index.to_ne_bytes());
    netlink.ask(
        Request::new(NEW_ADDRESS, Purpose::Create, &header)
            .with(ADDRESS_WHOLE, &address.octets())
            .with(ADDRESS_LOCAL, &address.octets()),
    )?;
    let header = link_header(index, UP, UP);
    netlink.ask(Request::new(NEW_LINK, Purpose::Change, &header))
}

/// Forbids IPv6 to every interface that `namespace` will have: neighbour
/// discovery would send frames that nobody asked for.
///
/// # Errors
///
/// If the kernel has IPv6 and does not let itself be told.
pub fn forbid_ipv6(namespace: &Namespace) -> io::Result<()> {
    namespace.run(|| {
        for scope in ["all", "default"] {
            match fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1") {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    })
}

fn describe(request: &mut Request, end: VethEnd<'_>) {
    request.append(link::NAME, end.name.as_bytes());
    request.append(link::ADDRESS, &end.mac.0);
    request.append(link::MTU, &MTU.to_ne_bytes());
    request.append(link::QUEUE_LENGTH, &QUEUE_LENGTH.to_ne_bytes());
    let fd = end.namespace.as_fd().as_raw_fd();
    request.append(link::NAMESPACE, &fd.to_ne_bytes());
}

/// The fixed part of a request about a link: `struct ifinfomsg`.
fn link_header(index: u32, flags: u32, mask: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&mask.to_ne_bytes());
    header
}
