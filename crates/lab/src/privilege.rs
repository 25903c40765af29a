//! Finds out whether this process may build a network, and takes the privilege
//! that an ordinary user can have.

use std::io;

use linux::namespace::{Namespace, become_own_administrator};
use linux::port::PacketPort;
use thiserror::Error;
use units::BitRate;
use wire::ethernet::MacAddress;

use crate::host;
use crate::veth::{self, VethEnd};
use linux::netlink::Netlink;
use linux::qdisc;

/// By what right this process builds networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// It has CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW.
    Administrator,
    /// It is the administrator of a user namespace of its own.
    OwnUserNamespace,
}

/// Why this process cannot build networks.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Lacking {
    /// It is an ordinary user, on a system that forbids user namespaces.
    #[error(
        "building networks needs root, or CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW ({denied}), \
         and this system gives ordinary users no namespace of their own ({user_namespace})"
    )]
    Privilege {
        denied: io::Error,
        /// Why there is no user namespace.
        user_namespace: io::Error,
    },
    /// The kernel cannot do what a network needs.
    #[error("the kernel refuses to {what}: {reason}")]
    Kernel {
        what: &'static str,
        reason: io::Error,
    },
}

/// Makes sure that networks can be built, by building the smallest one. To be
/// called first thing in a program, while it has a single thread: only such a
/// process may move into a user namespace.
///
/// # Errors
///
/// If neither the process nor its user may, or the kernel cannot.
pub fn acquire() -> Result<Privilege, Lacking> {
    let denied = match attempt() {
        Ok(()) => return Ok(Privilege::Administrator),
        Err(Lacking::Kernel { reason, .. }) if is_denied(&reason) => reason,
        Err(lacking) => return Err(lacking),
    };
    if let Err(user_namespace) = become_own_administrator() {
        return Err(Lacking::Privilege {
            denied,
            user_namespace,
        });
    }
    attempt().map(|()| Privilege::OwnUserNamespace)
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Builds one cable with everything that a network's cables have.
fn attempt() -> Result<(), Lacking> {
    const FIRST: u32 = 11;
    const SECOND: u32 = 12;
    let what = |what| move |reason| Lacking::Kernel { what, reason };
    let room = Namespace::new().map_err(what("make a network namespace"))?;
    veth::forbid_ipv6(&room).map_err(what("switch IPv6 off in a namespace"))?;
    let mut netlink = room.run(Netlink::open).map_err(what("talk rtnetlink"))?;
    let end = |name, index| VethEnd {
        namespace: &room,
        name,
        index,
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
    };
    veth::lay(&mut netlink, [end("a", FIRST), end("b", SECOND)])
        .map_err(what("make a pair of virtual Ethernet interfaces (veth)"))?;
    qdisc::pace(&mut netlink, FIRST, host::shape(BitRate::from_mbps(100), 0))
        .map_err(what("pace an interface by a token bucket (sch_htb)"))?;
    room.run(|| PacketPort::open(FIRST, 1 << 16).map(drop))
        .map_err(what("open a packet socket with a ring (af_packet)"))
}
