//! The mark by which processes on one machine know whose port an interface is.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A socket with the interface's number in its name. Names of this kind belong to
/// a network namespace as interfaces do, and end with the process.
#[derive(Debug)]
pub(super) struct Hold {
    _socket: UnixDatagram,
}

impl Hold {
    /// Takes the interface of number `interface` in the calling thread's
    /// namespace; `None` if a living process has it.
    pub(super) fn take(interface: u32) -> io::Result<Option<Self>> {
        let name = format!("taktos/kernel-port/{interface}");
        let address = SocketAddr::from_abstract_name(name)?;
        match UnixDatagram::bind_addr(&address) {
            Ok(socket) => Ok(Some(Self { _socket: socket })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }
}
