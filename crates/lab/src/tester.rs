//! A tester with real frames: sends at absolute times, and takes down every frame
//! that passes one of its ports by the stamp of the kernel.
//!
//! The device under test stands between the ports: one that we start in namespaces
//! of its own ([`DeviceUnderTest`]), or whatever the user has connected to interfaces of this
//! machine, which are borrowed and given back as they were.
//!
//! What leaves is stamped by the driver or, at borrowed interfaces, right before the
//! driver takes it; what arrives, when the driver hands it up. The network cards of borrowed
//! interfaces stamp instead where all of them can. Between virtual interfaces
//! the time from the one to the other on a bare cable is the tester's own share of a
//! latency; it is measured beforehand ([`calibration`]) and stated as the bias.
//!
//! The tester waits for its next frame asleep and looks at the clock without pause
//! for the last moments (`round`); while somebody answers frames it never sleeps.
//!
//! | module | is about |
//! |---|---|
//! | [`calibration`] | what the tester itself adds to a latency |
//! | `card_clocks` | the clocks of network cards, and which of their stamps are believed |
//! | [`known_delay`] | how far the tester is from the truth |
//! | `fault` | what happens to cables and the device during a trial |
//! | `port` | one port |
//! | `round` | one trial under way |
//! | `stamping` | who stamps: the cards or the kernel |
//!
//! # Left out
//!
//! A network card to try it on: its clock, its stamps and what is believed of them are
//! held against calculated ones, what its driver says against the kernel's headers. Where
//! cards of several ports have different clocks, what is left between them is stated and
//! not calibrated away. A port sends a frame by one system call: some hundreds of
//! thousands a second are the most.

pub mod calibration;
mod card_clocks;
mod fault;
pub mod known_delay;
mod port;
mod round;
mod stamping;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linux::clock::{self, WallClock};
use linux::interface::{Carrier, Interface};
use linux::interface_guard::{InterfaceGuard, Tags};
use linux::namespace::Namespace;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use measure::trial::{
    Conduct, LONGEST_TRIAL, MOST_FRAMES, MOST_PORTS, Setup, Stamps, Tester, Trial, TrialError,
    TrialNumbers, Watcher,
};
use thiserror::Error;
use units::Duration;

use crate::agent::AgentConnection;
use crate::device_under_test::{self, DeviceError, DeviceUnderTest, Running};
use crate::stage::{MOST_HOSTS, Testbed};
use calibration::Added;
use card_clocks::CardClocks;
use port::{InterfaceKind, TesterPort};
use round::Round;

pub use stamping::StampsWanted;

/// Two looks at the clock further apart than this are a stall of the machine.
pub const STALL_THRESHOLD: Duration = Duration::from_us(100);

/// Why there is no tester.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TesterError {
    /// There is no such interface here.
    #[error("no interface `{0}`")]
    NoInterface(String),
    /// One interface is named twice.
    #[error("interface `{0}` is named twice: each port is one of its own")]
    Twice(String),
    /// There are too few ports or too many.
    #[error("{0} ports: a tester has from 2 to {most}", most = MOST_PORTS.min(MOST_HOSTS))]
    Number(usize),
    /// Nothing is connected to an interface.
    #[error("`{0}` has no carrier: connect it to the device, or switch the device on")]
    NoCarrier(String),
    /// An interface cannot be a port.
    #[error(
        "cannot send and capture on `{interface}`: {reason}{}",
        privilege_hint(reason)
    )]
    Port {
        interface: String,
        reason: io::Error,
    },
    /// The network cards cannot stamp, and nobody else is to.
    #[error("the network cards do not stamp ({0}): --stamps kernel")]
    Stamps(String),
    /// The device does not run.
    #[error(transparent)]
    DeviceUnderTest(#[from] DeviceError),
    /// The device's agent is out of reach.
    #[error("no OpenFlow agent at {address}: {reason}")]
    Agent {
        address: SocketAddr,
        reason: io::Error,
    },
    /// The device's agent does not take what it is told.
    #[error("{device} cannot be told how to forward: {reason}")]
    Arrange { device: String, reason: io::Error },
    #[error("cannot build the tester: {_0}{}", privilege_hint(_0))]
    Machine(#[from] io::Error),
}

fn privilege_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root, or CAP_NET_RAW and CAP_NET_ADMIN",
        _ => "",
    }
}

/// How a tester comes to the agent of a device that it did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentAccess {
    Dial(SocketAddr),
    /// The agent connects to us there.
    Await(SocketAddr),
}

/// How a device forwards whose forwarding can be arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// As [`PlayedStation`](measure::trial::PlayedStation) says.
    Stations,
    /// The same, but what goes to the second port has a detour by the third, which a
    /// fast-failover group takes when the second port has no carrier.
    Detour,
}

/// A tester with a device.
#[derive(Debug)]
pub struct LinkTester {
    setup: Setup,
    ports: Vec<TesterPort>,
    cards: CardClocks,
    /// What is to be known of the stamps.
    remarks: Vec<String>,
    agent: Option<AgentConnection>,
    stand: Option<Stand>,
    arrangement: Arrangement,
    stop: Arc<AtomicBool>,
    settled: bool,
    numbers: TrialNumbers,
}

/// The device that was started for the tester.
#[derive(Debug)]
struct Stand {
    subject: DeviceUnderTest,
    running: Running,
    stage: Testbed,
    added: Added,
}

impl LinkTester {
    /// Builds namespaces with a device in between, and the tester's ports around it.
    /// Trials end early when `stop` is set.
    ///
    /// # Errors
    ///
    /// Without the privilege, or if the device does not run.
    pub fn with(
        subject: &DeviceUnderTest,
        ports: usize,
        arrangement: Arrangement,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, TesterError> {
        if !(2..=MOST_HOSTS).contains(&ports) {
            return Err(TesterError::Number(ports));
        }
        let stage = Testbed::build(ports)?;
        let added = calibration::of_cables(&stage)?;
        let mut running = Running::start(subject, &stage)?;
        let mut opened = Vec::new();
        for (side, room) in stage.hosts.iter().enumerate() {
            let name = stage.interface_name(side);
            opened.push(TesterPort::open(room, name, InterfaceKind::Cable)?);
        }
        let agent = running.agent()?;
        let mut tester = Self {
            setup: Setup {
                device: subject.to_string(),
                ports: opened.iter().map(|port| port.name.clone()).collect(),
                rate: None,
                one_clock: true,
                clocks_apart: Duration::ZERO,
                stamps: Stamps::Kernel,
                bias: Some(match subject.hands_on_buffers() {
                    true => added.bias + added.by_stamp,
                    false => added.bias,
                }),
                agent: agent.is_some(),
            },
            ports: opened,
            cards: CardClocks::default(),
            remarks: Vec::new(),
            agent,
            stand: Some(Stand {
                subject: subject.clone(),
                running,
                stage,
                added,
            }),
            arrangement,
            stop,
            settled: false,
            numbers: numbers(),
        };
        tester.arrange()?;
        Ok(tester)
    }

    /// Borrows interfaces of this machine, to which the user has connected a device.
    /// They are switched on, receive frames for anybody and merge none; when the
    /// tester ends they are as they were.
    ///
    /// # Errors
    ///
    /// If one is not there or has no carrier, without the privilege, if the agent cannot be
    /// reached, or if the cards are to stamp and cannot.
    pub fn on(
        interfaces: &[String],
        agent: Option<AgentAccess>,
        arrangement: Arrangement,
        stamps: StampsWanted,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, TesterError> {
        let count = interfaces.len();
        if !(2..=MOST_PORTS.min(MOST_HOSTS)).contains(&count) {
            return Err(TesterError::Number(count));
        }
        let room = Namespace::current()?;
        let mut guards = Vec::new();
        let mut rate = None;
        for (number, name) in interfaces.iter().enumerate() {
            if interfaces[..number].contains(name) {
                return Err(TesterError::Twice(name.clone()));
            }
            let guard = borrow(name)?;
            let own = guard.interface().link_rate();
            rate = [rate, own].into_iter().flatten().min();
            guards.push(guard);
        }
        let chosen = stamping::choose(&mut guards, stamps)?;
        let stamps = match chosen.places {
            Some(_) => Stamps::Hardware,
            None => Stamps::Kernel,
        };
        let mut ports = Vec::new();
        for (place, (name, guard)) in interfaces.iter().zip(guards).enumerate() {
            let clock = chosen.places.as_ref().map(|clocks| clocks[place]);
            ports.push(TesterPort::open(
                &room,
                name,
                InterfaceKind::Borrowed(guard, clock),
            )?);
        }
        let agent = agent.map(reach).transpose()?;
        let mut tester = Self {
            setup: Setup {
                device: format!("device between {}", interfaces.join(", ")),
                ports: interfaces.to_vec(),
                rate,
                one_clock: true,
                clocks_apart: chosen.clocks.apart(),
                stamps,
                bias: None,
                agent: agent.is_some(),
            },
            ports,
            cards: chosen.clocks,
            remarks: chosen.remarks,
            agent,
            stand: None,
            arrangement,
            stop,
            settled: false,
            numbers: numbers(),
        };
        tester.arrange()?;
        Ok(tester)
    }

    /// Returns what is to be known of the stamps at borrowed interfaces, a sentence or more
    /// each: who takes them, and why nobody better.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Calls the device by another name.
    #[must_use]
    pub fn called(mut self, device: String) -> Self {
        self.setup.device = device;
        self
    }

    /// Returns the stage of a device that was started for the tester.
    #[must_use]
    pub fn stage(&self) -> Option<&Testbed> {
        self.stand.as_ref().map(|stand| &stand.stage)
    }

    /// Returns what the tester adds to a latency through such a device.
    pub(crate) fn added(&self) -> Added {
        self.stand
            .as_ref()
            .map(|stand| stand.added)
            .unwrap_or_default()
    }

    /// Has the device forward as it is to.
    fn arrange(&mut self) -> Result<(), TesterError> {
        let ports = self.ports.len();
        let Some(agent) = &mut self.agent else {
            return Ok(());
        };
        let arranged = agent.arrange(ports, self.arrangement);
        arranged.map_err(|reason| TesterError::Arrange {
            device: self.setup.device.clone(),
            reason,
        })
    }

    /// Starts a device again that was killed.
    fn revive(&mut self) -> Result<(), TesterError> {
        let Some(stand) = &mut self.stand else {
            return Ok(());
        };
        if !stand.running.has_ended() {
            return Ok(());
        }
        self.agent = None;
        stand.running = Running::start(&stand.subject, &stand.stage)?;
        self.agent = stand.running.agent()?;
        self.arrange()
    }

    /// Has the calling thread run as a tester wants to.
    fn settle(&mut self) {
        if self.settled {
            return;
        }
        self.settled = true;
        settle(match self.stand {
            Some(_) => device_under_test::own_processor(),
            None => None,
        });
    }

    fn check(&self, trial: &Trial) -> Result<(), TrialError> {
        let unable = |reason: String| {
            Err(TrialError::Unable {
                device: self.setup.device.clone(),
                reason,
            })
        };
        if trial.length > LONGEST_TRIAL {
            return unable(format!("a trial lasts {LONGEST_TRIAL} at most"));
        }
        if let Some(stream) = trial
            .streams
            .iter()
            .find(|it| it.from.0 >= self.ports.len())
        {
            let (number, count) = (stream.from.0 + 1, self.ports.len());
            return unable(format!(
                "the trial sends from port {number}, and there are {count}: name more ports"
            ));
        }
        if !trial.orders.is_empty() && self.agent.is_none() {
            return unable(
                "it has no OpenFlow agent that could be told; name one with `--agent`".to_owned(),
            );
        }
        Ok(())
    }
}

impl Tester for LinkTester {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        self.check(&trial)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(TrialError::Interrupted);
        }
        self.settle();
        let machine = |error: TesterError| TrialError::Machine(error.to_string());
        self.revive().map_err(machine)?;
        self.numbers.begin();
        let acts = fault::prepare(&trial.faults, &self.ports, self.stand.as_ref())?;
        let running = self.stand.as_mut().map(|stand| &mut stand.running);
        let round = Round::new(
            round::TrialParts {
                ports: &mut self.ports,
                cards: &mut self.cards,
                running,
                agent: self.agent.as_mut(),
                setup: &self.setup,
                numbers: &mut self.numbers,
                stop: &self.stop,
            },
            trial,
            watcher,
        );
        let ran = round.run(acts);
        let apart = self.setup.clocks_apart.max(self.cards.apart());
        self.setup.clocks_apart = apart;
        ran
    }
}

/// Numbers trials from a moment of the day on: a command after this one, whose frames
/// arrive while it measures, began elsewhere.
fn numbers() -> TrialNumbers {
    const STEP: u32 = u16::BITS;
    let now = WallClock::sample().to_wall(clock::now()).as_ns() >> STEP;
    TrialNumbers::after(u16::try_from(now & u64::from(u16::MAX)).expect("masked to 16 bits"))
}

/// Has the calling thread run as a tester wants to, and leave the device its processor.
fn settle(of_the_device: Option<usize>) {
    scheduling::apply(Wish {
        nice: HIGHEST_NICE,
        placement: of_the_device.map_or(Placement::Anywhere, Placement::AllBut),
    });
}

fn borrow(name: &str) -> Result<InterfaceGuard, TesterError> {
    let failed = |reason: io::Error| match reason.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => {
            TesterError::NoInterface(name.to_owned())
        }
        _ => TesterError::Port {
            interface: name.to_owned(),
            reason,
        },
    };
    let interface = Interface::named(name).map_err(failed)?;
    let guard =
        InterfaceGuard::take(interface, Tags::Anywhere).map_err(|error| failed(error.into()))?;
    match guard.interface().carrier().map_err(failed)? {
        Carrier::Present => Ok(guard),
        Carrier::Lost => Err(TesterError::NoCarrier(name.to_owned())),
    }
}

fn reach(way: AgentAccess) -> Result<AgentConnection, TesterError> {
    let (address, reached) = match way {
        AgentAccess::Dial(address) => (address, AgentConnection::dial(address)),
        AgentAccess::Await(address) => (address, AgentConnection::await_at(address)),
    };
    reached.map_err(|reason| TesterError::Agent { address, reason })
}

/// Tells whether a trial has more frames than one may have.
fn is_too_much(sent: u64) -> bool {
    sent >= MOST_FRAMES
}
