//! Taktos as it is compared: its controller with `reactive-forwarding`, as
//! `linux::controller_loop` runs it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use controller::config::Config;
use controller::northbound::ApplicationKind;
use controller::store::MemoryStore;
use linux::controller_loop::{self, ControllerHandle};
use linux::scheduling::{HIGHEST_NICE, Placement, Wish};

pub fn serve(port: u16) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = controller_loop::listen(address).map_err(io::Error::other)?;
    let wish = Wish {
        nice: HIGHEST_NICE,
        placement: Placement::Anywhere,
    };
    let handle = ControllerHandle::start(
        listener,
        Config::without_promises(ApplicationKind::ReactiveForwarding),
        MemoryStore::default(),
        wish,
    )?;
    // What it tells is of no interest here, but is not to pile up.
    while handle.told().recv().is_ok() {}
    Ok(())
}
