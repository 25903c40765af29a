//! The right to an interface as a port, which one switch has at a time.
//!
//! Two switches on one interface do harm, whatever their engines are: an AF_XDP socket
//! takes frames that a program behind it should forward, and two packet sockets deliver
//! every frame twice. So whoever makes an interface a port binds a socket whose name has
//! the interface's number in it. Names of this kind belong to a network namespace as
//! interfaces do: users, mounts and folders make no difference, and other namespaces have
//! names of their own. They end with the process, however it ends.
//!
//! # Left out
//!
//! Names of this kind have no owner: any user of the namespace's machine can bind one and
//! so keep an interface from becoming a port. The refusal says who it is.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use thiserror::Error;

use crate::socket::peer;

/// The right to the interface of one number, for as long as this value lives.
#[derive(Debug)]
pub struct Hold {
    interface: u32,
    /// Nobody is let in; who asks learns from the kernel whose it is.
    _socket: UnixListener,
}

/// Why an interface cannot be held.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HoldError {
    /// A living process has it.
    #[error(
        "it is a port of another switch{}, and one of the two would take frames from the other: \
         stop that one, or choose another interface",
        of(_0)
    )]
    Held(Option<Holder>),
    #[error("cannot look for other switches: {0}")]
    Kernel(#[from] io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The number of its process; zero if it is out of this process's sight.
    pub process: u32,
    /// The number of its user.
    pub user: u32,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            0 => write!(f, "a process out of sight, of user {}", self.user),
            process => write!(f, "process {process} of user {}", self.user),
        }
    }
}

fn of(holder: &Option<Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" ({holder})"))
}

impl Hold {
    /// Takes the interface of number `interface` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If a living process has it, this one included.
    pub fn take(interface: u32) -> Result<Self, HoldError> {
        let name = name(interface);
        match UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?) {
            Ok(socket) => Ok(Self {
                interface,
                _socket: socket,
            }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(HoldError::Held(holder(&name).ok()))
            }
            Err(error) => Err(error.into()),
        }
    }

    #[must_use]
    pub fn interface(&self) -> u32 {
        self.interface
    }
}

fn name(interface: u32) -> String {
    format!("taktos/port/{interface}")
}

/// Asks the kernel who has bound `name`. Nobody answers there: who was asked too often
/// is not asked any more.
fn holder(name: &str) -> io::Result<Holder> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes());
    connect(&socket, &address?)?;
    let peer = peer(socket.as_fd())?;
    Ok(Holder {
        process: u32::try_from(peer.pid).unwrap_or(0),
        user: peer.uid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Namespace;

    const INTERFACE: u32 = 7;

    #[test]
    fn an_interface_is_held_once_in_its_namespace_until_it_is_let_go() {
        let (Ok(here), Ok(elsewhere)) = (Namespace::new(), Namespace::new()) else {
            eprintln!("SKIPPED: needs CAP_SYS_ADMIN");
            return;
        };
        let take = || Hold::take(INTERFACE);

        let first = here.run(take).unwrap();
        let second = here.run(take).unwrap_err();
        let (other, same_number) = (here.run(|| Hold::take(8)), elsewhere.run(take));
        drop(first);

        let HoldError::Held(Some(holder)) = second else {
            panic!("{second}");
        };
        assert_eq!(holder.process, std::process::id());
        assert!(other.is_ok() && same_number.is_ok());
        assert!(here.run(take).is_ok());
    }
}
