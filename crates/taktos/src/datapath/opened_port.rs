//! One port on its interface: found, described and opened.

use std::io;

use linux::interface::Interface;
use linux::port::packet::RING_BYTES;
use linux::port::{Attachment, Engine, Port};
use switch::PortConfig;

use super::DatapathError;
use super::port_plan::PortPlan;

/// How ports are to be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// By AF_XDP where the driver can, by packet socket elsewhere.
    Auto,
    /// By AF_XDP.
    Xdp,
    /// By packet socket.
    Packet,
}

/// A port that is open.
#[derive(Debug)]
pub struct OpenedPort {
    /// Its interface.
    pub interface: Interface,
    /// What the switch is told about it.
    pub config: PortConfig,
    /// The way to its frames.
    pub port: Port,
    /// How it is carried, and why so.
    pub carried: String,
}

impl OpenedPort {
    /// Opens a port.
    ///
    /// # Errors
    ///
    /// If there is no such interface, or it cannot be carried.
    pub fn open(plan: &PortPlan, engine: EngineChoice) -> Result<Self, DatapathError> {
        let refused = |reason: io::Error| DatapathError::Port {
            interface: plan.interface.clone(),
            reason,
        };
        let interface =
            Interface::named(&plan.interface).map_err(|reason| match reason.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => {
                    DatapathError::NoInterface(plan.interface.clone())
                }
                _ => refused(reason),
            })?;
        let mac = interface.mac().map_err(refused)?;
        let (port, carried) = carry(interface.index(), engine).map_err(refused)?;
        Ok(Self {
            config: PortConfig {
                number: plan.number,
                name: plan.interface.clone(),
                mac,
                rate: plan.rate,
            },
            interface,
            port,
            carried,
        })
    }
}

/// Opens interface number `index` and says how.
fn carry(index: u32, engine: EngineChoice) -> io::Result<(Port, String)> {
    let packet = Engine::Packet {
        ring_bytes: RING_BYTES,
    };
    match engine {
        EngineChoice::Packet => Ok((Port::open(packet, index)?, "packet (as asked)".to_owned())),
        EngineChoice::Xdp => {
            let any = Engine::Xdp(Attachment::Any);
            Ok((Port::open(any, index)?, "xdp (as asked)".to_owned()))
        }
        EngineChoice::Auto => match Port::open(Engine::Xdp(Attachment::Native), index) {
            Ok(port) => Ok((port, "xdp (the driver has it)".to_owned())),
            Err(reason) => {
                let port = Port::open(packet, index)?;
                Ok((port, format!("packet (no native AF_XDP: {reason})")))
            }
        },
    }
}
