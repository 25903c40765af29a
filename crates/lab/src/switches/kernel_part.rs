//! Switches whose frames the kernel forwards: each has a program and memory of its
//! own, and queues of the kernel at its ports.

use std::collections::BTreeMap;
use std::io;

use linux::hold::Hold;
use linux::kernel_engine::{EngineError, KernelEngine, Lifetime, Manner, RING_BYTES, Settings};
use linux::packet_loop::{PortBinding, Station};
use linux::parallel;
use linux::port::Port;
use linux::qdisc::{Length, Qdisc};
use switch::compiled::Overflow;
use switch::{Config, Pacing, PortConfig};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::{PortEnd, Stations, ends, interfaces};
use crate::network::LabNetwork;

/// The most memory that the rings of all switches take together.
const ALL_RINGS_BYTES: usize = 64 << 20;
/// The least that one ring takes: some dozens of the longest frames.
const LEAST_RING_BYTES: u32 = 1 << 16;

/// Returns why the kernel cannot forward for switches of this process, if it cannot.
#[must_use]
pub fn kernel_refuses() -> Option<EngineError> {
    let port = PortConfig {
        number: PortNumber(1),
        name: "p1".to_owned(),
        mac: MacAddress::ZERO,
        rate: None,
        pacing: Pacing::World,
    };
    let config = Config::new(DatapathId(1), vec![port]);
    KernelEngine::open(&config, settings(&config, 1, 1)).err()
}

/// Makes the kernel's part of every switch and hangs up their ports.
pub(super) fn stations(
    network: &LabNetwork,
    configs: &[Config],
    entries: usize,
) -> io::Result<Stations> {
    let ends: Vec<_> = ends(network).collect();
    let stations = parallel::each(configs, |number, config| {
        let own = ends.iter().enumerate();
        let own: Vec<_> = own.filter(|(_, end)| end.switch == number).collect();
        let settings = settings(config, entries, configs.len());
        let room = &network.switches[number];
        room.run(|| station(config.clone(), settings, &own))
    })?;
    let (stations, holds): (_, Vec<_>) = stations.into_iter().unzip();
    Ok(Stations {
        stations,
        interfaces: interfaces(&ends)?,
        holds: holds.into_iter().flatten().collect(),
    })
}

/// Makes a switch with these ports, each with the place of its interface. The
/// calling thread is in the switch's namespace.
fn station(
    mut config: Config,
    settings: Settings,
    ends: &[(usize, &PortEnd<'_>)],
) -> io::Result<(Station, Vec<Hold>)> {
    let rates: BTreeMap<_, _> = config.ports.iter().map(|it| (it.number, it.rate)).collect();
    for port in &mut config.ports {
        port.pacing = Pacing::World;
    }
    let engine = KernelEngine::open(&config, settings).map_err(io::Error::other)?;
    let hook = engine.hook();
    let mut bindings = Vec::with_capacity(ends.len());
    let mut holds = Vec::with_capacity(ends.len());
    for (watched, end) in ends {
        let rate = rates.get(&end.number).copied().flatten();
        let hold = Hold::take(end.interface.index()).map_err(io::Error::other)?;
        let port = hook.binding(end.interface, &hold, rate);
        let port = port.map_err(|error| io::Error::other(EngineError::from(error)))?;
        bindings.push(PortBinding::new(
            end.number,
            Port::Kernel(Box::new(port)),
            *watched,
        ));
        holds.push(hold);
    }
    Ok((Station::new(config, bindings).carried_by(engine), holds))
}

fn settings(config: &Config, entries: usize, switches: usize) -> Settings {
    let share = u32::try_from(ALL_RINGS_BYTES / switches.max(1)).expect("64 MiB");
    // A power of two, rounded down.
    let ring_bytes = 1 << share.clamp(LEAST_RING_BYTES, RING_BYTES).ilog2();
    Settings {
        entries,
        // What finds no room goes its way through the core, and is slower.
        overflow: Overflow::ToCore,
        ring_bytes,
        manner: Manner {
            qdisc: Qdisc::Htb,
            queue: Length::Frames(u32::try_from(config.queue_capacity).unwrap_or(u32::MAX)),
            ..Manner::BEST
        },
        lifetime: Lifetime::OfProcess,
    }
}
