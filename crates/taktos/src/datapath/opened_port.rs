//! One port on its interface: found, described and opened.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use linux::interface::Interface;
use linux::interface_guard::{InterfaceGuard, Tags};
use linux::kernel_engine::Hook;
use linux::port::packet::RING_BYTES;
use linux::port::{Attachment, Engine, Port};
use switch::{FRAME_BYTES_MAX, Pacing, PortConfig};

use super::DatapathError;
use super::port_plan::{PortPace, PortPlan};

/// What stands around the payload of a frame: addresses, a tag and the type.
const FRAME_AROUND_PAYLOAD: u32 = 18;
/// For how long the kernel may hold what a process had that has ended.
const PREDECESSOR_LINGERS: Duration = Duration::from_millis(500);
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How a port is to be carried that the kernel does not forward for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortEngine {
    /// By AF_XDP where the driver can, by packet socket elsewhere.
    Best,
    Xdp,
    Packet,
}

/// An interface that is to be a port, as it was found.
#[derive(Debug)]
pub struct FoundPort {
    interface: Interface,
    /// What the switch is told about it.
    pub config: PortConfig,
}

#[derive(Debug)]
pub struct OpenedPort {
    /// Its interface, to be given back as it was.
    pub guard: InterfaceGuard,
    /// What the switch is told about it.
    pub config: PortConfig,
    /// The way to its frames.
    pub port: Port,
    /// How it is carried, and why so.
    pub carried: String,
}

impl FoundPort {
    /// Looks for the interface of a port.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn find(plan: &PortPlan) -> Result<Self, DatapathError> {
        let refused = |reason| refused(&plan.interface, reason);
        let interface =
            Interface::named(&plan.interface).map_err(|reason| match reason.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => {
                    DatapathError::NoInterface(plan.interface.clone())
                }
                _ => refused(reason),
            })?;
        let config = describe(plan, &interface).map_err(refused)?;
        Ok(Self { interface, config })
    }

    /// Opens the port by itself.
    ///
    /// # Errors
    ///
    /// If it cannot be carried so.
    pub fn open(self, engine: PortEngine) -> Result<OpenedPort, DatapathError> {
        let refused = |reason| refused(&self.config.name, reason);
        let (guard, port, carried) = carry(self.interface, engine).map_err(refused)?;
        Ok(OpenedPort {
            guard,
            config: self.config,
            port,
            carried,
        })
    }

    /// Has the kernel forward the port's frames.
    ///
    /// # Errors
    ///
    /// If it cannot.
    pub fn hang(mut self, hook: &Hook) -> Result<OpenedPort, DatapathError> {
        let refused = |reason| refused(&self.config.name, reason);
        let guard = after_predecessor(|| {
            let interface = self.interface.try_clone()?;
            Ok(InterfaceGuard::take_over(interface, Tags::Anywhere)?)
        });
        let guard = guard.map_err(refused)?;
        let port = hook.binding(guard.interface(), guard.hold(), self.config.rate);
        let port = port.map_err(|reason| DatapathError::Hanging {
            interface: self.config.name.clone(),
            reason: Box::new(reason),
        })?;
        self.config.pacing = match port.is_paced() {
            true => Pacing::World,
            false => Pacing::Core,
        };
        Ok(OpenedPort {
            guard,
            config: self.config,
            carried: format!("the kernel ({})", port.describe()),
            port: Port::Kernel(Box::new(port)),
        })
    }
}

fn refused(interface: &str, reason: io::Error) -> DatapathError {
    let interface = interface.to_owned();
    match reason.downcast() {
        Ok(taken) => DatapathError::Taken {
            interface,
            reason: Box::new(taken),
        },
        Err(reason) => DatapathError::Port { interface, reason },
    }
}

impl OpenedPort {
    /// Returns what of the kernel's is at it, if the kernel forwards.
    #[must_use]
    pub fn hung(&self) -> Option<String> {
        match &self.port {
            Port::Kernel(port) => Some(port.describe()),
            Port::Packet(_) | Port::Xdp(_) => None,
        }
    }

    /// Returns a line about it.
    #[must_use]
    pub fn introduction(&self) -> String {
        let rate = match self.config.rate {
            Some(rate) => format!(", {rate}"),
            None => String::new(),
        };
        let mtu = self.guard.interface().mtu().unwrap_or(0);
        let longest = u32::try_from(FRAME_BYTES_MAX).expect("a few thousand");
        let cut = match mtu + FRAME_AROUND_PAYLOAD > longest {
            true => format!("; drops frames above {longest} bytes, though its MTU is {mtu}"),
            false => String::new(),
        };
        format!("{} by {}{rate}{cut}", self.config.name, self.carried)
    }
}

fn describe(plan: &PortPlan, interface: &Interface) -> io::Result<PortConfig> {
    Ok(PortConfig {
        number: plan.number,
        name: plan.interface.clone(),
        mac: interface.mac()?,
        rate: match plan.pace {
            PortPace::OfTheLink => interface.link_rate(),
            PortPace::Unlimited => None,
            PortPace::At(rate) => Some(rate),
        },
        pacing: Pacing::Core,
    })
}

/// Opens an interface in the way that is chosen, and says which it was.
fn carry(interface: Interface, engine: PortEngine) -> io::Result<(InterfaceGuard, Port, String)> {
    match engine {
        PortEngine::Packet => by_packet(interface, "as asked"),
        PortEngine::Xdp => match interface.receive_queues() {
            1 => by_xdp(interface, Attachment::Any, "as asked"),
            queues => {
                let why = format!("as asked; hears the first of its {queues} queues only");
                by_xdp(interface, Attachment::Any, &why)
            }
        },
        PortEngine::Best => match interface.receive_queues() {
            1 => match by_xdp(
                interface.try_clone()?,
                Attachment::Native,
                "its driver has it",
            ) {
                Ok(opened) => Ok(opened),
                Err(reason) => by_packet(interface, &format!("no native AF_XDP: {reason}")),
            },
            queues => by_packet(
                interface,
                &format!("AF_XDP would hear one of its {queues} queues"),
            ),
        },
    }
}

fn by_packet(interface: Interface, why: &str) -> io::Result<(InterfaceGuard, Port, String)> {
    let index = interface.index();
    let guard = borrow(&interface, Tags::Anywhere)?;
    let ring_bytes = RING_BYTES;
    let port = Port::open(Engine::Packet { ring_bytes }, index)?;
    Ok((guard, port, format!("packet socket ({why})")))
}

fn by_xdp(
    interface: Interface,
    attachment: Attachment,
    why: &str,
) -> io::Result<(InterfaceGuard, Port, String)> {
    let index = interface.index();
    let guard = borrow(&interface, Tags::InFrames)?;
    let port = after_predecessor(|| Port::open(Engine::Xdp(attachment), index))?;
    Ok((guard, port, format!("AF_XDP ({why})")))
}

fn borrow(interface: &Interface, tags: Tags) -> io::Result<InterfaceGuard> {
    after_predecessor(|| Ok(InterfaceGuard::take(interface.try_clone()?, tags)?))
}

/// Opens something that may be in use by a switch that ended a moment ago: the
/// kernel lets go of it, a receive queue above all, some time after the process.
fn after_predecessor<R>(mut open: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    let give_up = Instant::now() + PREDECESSOR_LINGERS;
    loop {
        match open() {
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < give_up =>
            {
                thread::sleep(RETRY_INTERVAL);
            }
            result => return result,
        }
    }
}
