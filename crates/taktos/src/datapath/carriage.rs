//! How the ports of a switch are carried: all by the kernel, or each by itself.

use std::fmt;
use std::sync::Arc;

use linux::bpf::features::{Features, Lack};
use linux::kernel_engine::{EngineError, Hook, KernelEngine, Lifetime, Manner, Settings};
use linux::packet_loop::Waiting;
use switch::Config;
use switch::compiled::Overflow;

use super::opened_port::{FoundPort, OpenedPort, PortEngine};
use super::port_plan::PortPlan;
use super::{DatapathError, DatapathPlan, configuration};

/// Which engine is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// The kernel where it can, else the best for each port.
    Auto,
    Kernel,
    Xdp,
    Packet,
}

/// What the user wants of the kernel engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelPlan {
    /// For how many entries there is to be room, if the user says so.
    pub entries: Option<usize>,
    /// What becomes of those that it cannot take.
    pub overflow: Overflow,
    /// How ports are hung up.
    pub manner: Manner,
    /// The length of the ring to the core.
    pub ring_bytes: u32,
}

/// The way in which ports are opened.
#[derive(Clone, Debug)]
pub enum Carriage {
    Each(PortEngine),
    Kernel(Arc<Hook>),
}

impl Carriage {
    /// Opens a port again whose interface is back.
    ///
    /// # Errors
    ///
    /// If there is no such interface, or it cannot be carried.
    pub fn reopen(&self, plan: &PortPlan) -> Result<OpenedPort, DatapathError> {
        self.open(FoundPort::find(plan)?)
    }

    fn open(&self, found: FoundPort) -> Result<OpenedPort, DatapathError> {
        match self {
            Self::Each(engine) => found.open(*engine),
            Self::Kernel(hook) => found.hang(hook),
        }
    }
}

/// The engine that was taken, with all ports open.
#[derive(Debug)]
pub struct OpenedEngine {
    pub carriage: Carriage,
    /// What the switch is told.
    pub config: Config,
    /// The ports, in the order of the plan.
    pub ports: Vec<OpenedPort>,
    /// The kernel's part, if it has one.
    pub engine: Option<KernelEngine>,
    /// Which engine it is, and why.
    pub reason: Reason,
}

/// Why an engine was taken.
#[derive(Debug)]
pub enum Reason {
    Asked,
    Best,
    KernelCannot(DatapathError),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("as asked"),
            Self::Best => f.write_str("the kernel has all that it needs"),
            Self::KernelCannot(error) => write!(f, "not the kernel: {error}"),
        }
    }
}

impl OpenedEngine {
    /// Returns which engine was taken and why, and what the kernel lacks for it.
    #[must_use]
    pub fn describe(&self) -> String {
        let engine = match &self.carriage {
            Carriage::Kernel(_) => "kernel",
            Carriage::Each(PortEngine::Best) => "the best for each port",
            Carriage::Each(PortEngine::Xdp) => "xdp",
            Carriage::Each(PortEngine::Packet) => "packet",
        };
        let mut text = format!("{engine} ({})", self.reason);
        if let Some(engine) = &self.engine {
            describe_kernel(engine.features(), &mut text);
            if let Some(reason) = engine.blindness() {
                text.push_str(&format!("; how long frames stay is not seen: {reason}"));
            }
            let mut manners: Vec<_> = self.ports.iter().filter_map(OpenedPort::hung).collect();
            manners.sort_unstable();
            manners.dedup();
            text.push_str(&format!("; ports: {}", manners.join(", or ")));
            text.push_str(&format!("; {}", engine.continuity()));
        }
        text
    }

    /// Returns how the loop is to wait: where the kernel forwards, a loop that looks
    /// without pause would look for nothing.
    #[must_use]
    pub fn waiting(&self, wanted: Waiting) -> Waiting {
        match &self.carriage {
            Carriage::Kernel(_) => Waiting::Sleeping,
            Carriage::Each(_) => wanted,
        }
    }

    /// Opens all ports of a plan.
    ///
    /// # Errors
    ///
    /// If this machine lacks an interface, a privilege, or what the engine needs
    /// that was asked for. Nothing is left changed then.
    pub fn take(plan: &DatapathPlan) -> Result<Self, DatapathError> {
        let mut carried = Self::choose(plan)?;
        carried.config.hardware = format!("software switch, engine {}", carried.describe());
        Ok(carried)
    }

    fn choose(plan: &DatapathPlan) -> Result<Self, DatapathError> {
        match plan.engine {
            EngineChoice::Kernel => Self::in_kernel(plan, Reason::Asked),
            EngineChoice::Xdp => Self::each(plan, PortEngine::Xdp, Reason::Asked),
            EngineChoice::Packet => Self::each(plan, PortEngine::Packet, Reason::Asked),
            EngineChoice::Auto => match Self::in_kernel(plan, Reason::Best) {
                Ok(carried) => Ok(carried),
                // No other engine would help.
                Err(error @ (DatapathError::NoInterface(_) | DatapathError::Taken { .. })) => {
                    Err(error)
                }
                Err(error) => Self::each(plan, PortEngine::Best, Reason::KernelCannot(error)),
            },
        }
    }

    fn each(
        plan: &DatapathPlan,
        engine: PortEngine,
        reason: Reason,
    ) -> Result<Self, DatapathError> {
        let found = find(plan)?;
        let config = configuration(plan, &found);
        let carriage = Carriage::Each(engine);
        let ports = found.into_iter().map(|port| carriage.open(port));
        Ok(Self {
            ports: ports.collect::<Result<_, _>>()?,
            carriage,
            config,
            engine: None,
            reason,
        })
    }

    fn in_kernel(plan: &DatapathPlan, reason: Reason) -> Result<Self, DatapathError> {
        let found = find(plan)?;
        let mut config = configuration(plan, &found);
        let settings = settings(plan);
        let engine = KernelEngine::open(&config, settings).map_err(cannot)?;
        let carriage = Carriage::Kernel(engine.hook());
        let ports = found.into_iter().map(|port| carriage.open(port));
        let ports: Vec<_> = ports.collect::<Result<_, _>>()?;
        for (port, opened) in config.ports.iter_mut().zip(&ports) {
            port.pacing = opened.config.pacing;
        }
        config.buffers = config.buffers_that_suffice();
        Ok(Self {
            carriage,
            config,
            ports,
            engine: Some(engine),
            reason,
        })
    }
}

fn describe_kernel(features: &Features, text: &mut String) {
    text.push_str(", Linux ");
    text.push_str(features.release());
    for feature in features.lacking() {
        if let Lack::Replaced { by } = feature.lack() {
            text.push_str(&format!("; without {feature}: {by}"));
        }
    }
}

fn cannot(error: EngineError) -> DatapathError {
    DatapathError::Kernel(Box::new(error))
}

fn find(plan: &DatapathPlan) -> Result<Vec<FoundPort>, DatapathError> {
    plan.ports.iter().map(FoundPort::find).collect()
}

/// A bundle may change a whole table at once, and others have entries, too.
const TABLES_WITH_ROOM: usize = 2;

fn settings(plan: &DatapathPlan) -> Settings {
    let entries = plan.kernel.entries;
    Settings {
        entries: entries.unwrap_or(TABLES_WITH_ROOM * plan.table_size),
        overflow: plan.kernel.overflow,
        ring_bytes: plan.kernel.ring_bytes,
        manner: plan.kernel.manner,
        lifetime: Lifetime::OfSwitch,
    }
}
