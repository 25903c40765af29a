//! Taktos as it is compared: its controller with `reactive-forwarding`, as
//! `linux::controller_loop` runs it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use controller::config::{Config, Metric, PortParameters, SwitchParameters, Timers};
use controller::northbound::{ApplicationKind, Manifest};
use controller::{Store, StoreWrite};
use linux::controller_loop::{self, ControllerHandle};
use linux::scheduling::{HIGHEST_NICE, Placement, Wish};
use units::{BitRate, DataSize, Delay};

/// Runs it for ever.
pub fn serve(port: u16) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = controller_loop::listen(address).map_err(io::Error::other)?;
    let wish = Wish {
        nice: HIGHEST_NICE,
        placement: Placement::Anywhere,
    };
    let handle = ControllerHandle::start(listener, config(), Nowhere, wish)?;
    // What it tells is of no interest here, but is not to pile up.
    while handle.told().recv().is_ok() {}
    Ok(())
}

/// Keeps nothing: no flow is admitted.
struct Nowhere;

impl Store for Nowhere {
    type Error = Infallible;

    fn records(&self) -> Result<Vec<StoreWrite>, Infallible> {
        Ok(Vec::new())
    }

    fn write(&mut self, _: &[StoreWrite]) -> Result<(), Infallible> {
        Ok(())
    }
}

fn config() -> Config {
    let unknown_switch = SwitchParameters {
        name: String::new(),
        processing: None,
        ports: BTreeMap::new(),
        other_ports: PortParameters {
            rate: BitRate::from_mbps(1_000),
            propagation: Delay::ZERO,
            budgets: [None; 8],
            buffers: [None; 8],
            largest_frame: DataSize::from_bytes(1_542),
        },
    };
    Config {
        switches: BTreeMap::new(),
        unknown_switch,
        hosts: Vec::new(),
        applications: vec![Manifest::built_in(ApplicationKind::ReactiveForwarding)],
        metric: Metric::Links,
        timers: Timers::default(),
        probe_key: None,
        foreign_rules: controller::northbound::ForeignRules::Keep,
        seed: 1,
    }
}
