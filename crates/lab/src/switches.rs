//! All switches of a network, running on one thread, each with its connection to
//! the controller.

mod kernel_part;

pub use kernel_part::kernel_refuses;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use linux::carrier_watch::{CarrierWatch, Effort};
use linux::dialer::{self, Dialer};
use linux::hold::Hold;
use linux::interface::Interface;
use linux::packet_loop::{Command, PacketLoop, PortBinding, Record, Station, Waiting};
use linux::parallel;
use linux::port::packet::RING_BYTES;
use linux::port::{Attachment, Engine, Port};
use linux::scheduling::{self, Granted, HIGHEST_NICE, Placement, Rank, Wish};
use switch::Config;
use units::Duration;
use wire::openflow::PortNumber;

use crate::network::{LabNetwork, Place};

/// The most memory that the rings of all ports take together.
const ALL_RINGS_BYTES: usize = 1 << 30;
/// How many entries a switch of the kernel's has room for where nobody says more.
pub const USUAL_ENTRIES: usize = 1_024;
/// For how long the kernel's own forwarding may hold a processor before it counts as
/// a stall, where nobody spins: some fifty frames.
const OWN_WORK: Duration = Duration::from_us(100);
/// How often a carrier is asked for: a link that is cut counts as down so much
/// later at most.
const CARRIER_INTERVAL: Duration = Duration::from_us(500);

/// Who forwards the frames of the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// The kernel, as far as it can; one loop does the rest.
    Kernel,
    /// One loop, with ports that are carried so.
    Loop(Carried),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// By packet sockets, which absorb stalls.
    Packet,
    Xdp,
}

/// How the switches are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSettings {
    /// How the loop waits for frames.
    pub waiting: Waiting,
    /// The processor that the loop has for itself, if it has one.
    pub processor: Option<usize>,
    /// The processor of the hosts where the kernel forwards, if there are two or more:
    /// what a host sends the kernel carries on by the processor that sent it, so that the
    /// way of every frame uses this one.
    pub hosts: Option<usize>,
    /// From which length on a gap in the loop is a stall.
    pub stall_threshold: Duration,
    pub forwarding: Forwarding,
    /// The port on which the controller listens.
    pub controller_port: u16,
    /// For how many entries each switch has memory in the kernel, if it forwards.
    pub entries: usize,
}

impl SwitchSettings {
    /// Sleeps where the kernel forwards. Elsewhere spins on a processor of its own
    /// where there are two or more, and sleeps where there is one.
    #[must_use]
    pub fn for_this_machine(
        forwarding: Forwarding,
        stall_threshold: Duration,
        controller_port: u16,
    ) -> Self {
        let (processor, hosts) = match forwarding {
            Forwarding::Kernel => (None, scheduling::dedicated_processor()),
            Forwarding::Loop(_) => (scheduling::dedicated_processor(), None),
        };
        Self {
            waiting: match processor {
                Some(_) => Waiting::Spinning,
                None => Waiting::Sleeping,
            },
            processor,
            hosts,
            forwarding,
            stall_threshold,
            controller_port,
            entries: USUAL_ENTRIES,
        }
    }

    /// Has the calling thread run before all ordinary ones where the kernel forwards:
    /// it has little to do, and what it does others wait for.
    pub(crate) fn hurry(&self, rank: Rank) {
        self.rank(rank).map(scheduling::before_all_others);
    }

    fn rank(&self, rank: Rank) -> Option<Rank> {
        match self.forwarding {
            Forwarding::Kernel => Some(rank),
            Forwarding::Loop(_) => None,
        }
    }

    /// Returns from which length on the machine counts as standing still.
    #[must_use]
    pub fn patience(&self) -> Duration {
        match self.waiting {
            Waiting::Spinning => self.stall_threshold,
            Waiting::Sleeping => self.stall_threshold.max(OWN_WORK),
        }
    }

    /// Returns how the loop's own thread asks to be run: where the kernel forwards, beside
    /// the hosts. A frame that waits in a queue is sent on by whoever hands the next one to
    /// that queue, and would go on where that one runs.
    fn wish(&self) -> Wish {
        let processor = self.processor.or(self.hosts);
        Wish {
            nice: HIGHEST_NICE,
            placement: processor.map_or(Placement::Anywhere, Placement::Only),
        }
    }

    /// Returns how the thread of the hosts asks to be run.
    #[must_use]
    pub fn wish_of_hosts(&self, nice: i32) -> Wish {
        match self.hosts {
            Some(processor) => Wish {
                nice,
                placement: Placement::Only(processor),
            },
            None => self.wish_beside(nice),
        }
    }

    /// Returns a place beside the loop and the hosts.
    fn elsewhere(&self) -> Placement {
        let taken = self.processor.or(self.hosts);
        taken.map_or(Placement::Anywhere, Placement::AllBut)
    }

    /// Returns how threads of this urgency ask to be run beside the loop.
    #[must_use]
    pub fn wish_beside(&self, nice: i32) -> Wish {
        Wish {
            nice,
            placement: self.elsewhere(),
        }
    }
}

/// What the switches did, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchesRecord {
    pub record: Record,
    /// What the machine granted to its thread.
    pub granted: Granted,
    pub waiting: Waiting,
}

/// The running switches. They end when this value does.
#[derive(Debug)]
pub struct Switches {
    commands: Sender<Command>,
    dialers: Vec<Dialer>,
    waiting: Waiting,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Record, Granted)>>,
    /// Let go once the thread has ended.
    _holds: Vec<Hold>,
}

impl Switches {
    /// Starts the switches of `network`, in the order of its plan; each dials the
    /// controller.
    ///
    /// # Errors
    ///
    /// If a port cannot be opened.
    ///
    /// # Panics
    ///
    /// If there are not as many configurations as switches.
    pub fn start(
        network: &LabNetwork,
        configs: &[Config],
        settings: SwitchSettings,
    ) -> io::Result<Self> {
        assert_eq!(
            configs.len(),
            network.switches.len(),
            "a configuration for each switch"
        );
        let (commands, obeyed) = mpsc::channel();
        let Stations {
            stations,
            interfaces,
            holds,
        } = match settings.forwarding {
            Forwarding::Kernel => kernel_part::stations(network, configs, settings.entries)?,
            Forwarding::Loop(Carried::Packet) => plug_in(network, configs, by_packet(network))?,
            Forwarding::Loop(Carried::Xdp) => {
                plug_in(network, configs, Engine::Xdp(Attachment::Any))?
            }
        };
        let dialers = 0..network.switches.len();
        let dialers =
            dialers.map(|number| dial(network, number, settings.controller_port, &commands));
        let dialers: Vec<_> = dialers.collect();
        let stations = stations.into_iter().zip(&dialers);
        let stations = stations.map(|(station, dialer)| station.dialled_by(dialer.wanted()));
        let carriers = CarrierWatch::start(
            interfaces,
            CARRIER_INTERVAL,
            effort(settings.forwarding),
            (
                settings.wish_beside(HIGHEST_NICE),
                settings.rank(Rank::Carry),
            ),
        )?;
        let threshold = settings.stall_threshold;
        let packets = PacketLoop::new(
            stations.collect(),
            carriers,
            obeyed,
            settings.waiting,
            threshold,
        )?;
        let stop = Arc::new(AtomicBool::new(false));
        let should_stop = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("packets".to_owned())
            .spawn(move || {
                let granted = scheduling::apply(settings.wish());
                // Hosts that are behind never sleep, and share a processor with it.
                settings.hurry(Rank::Carry);
                (packets.run(&should_stop), granted)
            })?;
        Ok(Self {
            commands,
            dialers,
            waiting: settings.waiting,
            stop,
            thread: Some(thread),
            _holds: holds,
        })
    }

    /// Returns the way to command the loop from another thread.
    pub(crate) fn commands(&self) -> Sender<Command> {
        self.commands.clone()
    }

    /// Makes a switch die, with its tables, queues and connections.
    pub fn crash(&self, switch: usize) {
        self.command(Command::Crash { station: switch });
    }

    /// Starts a switch again that died, with empty tables.
    pub fn restart(&self, switch: usize) {
        self.command(Command::Restart { station: switch });
    }

    /// Tells whether the loop runs, as it should until it is stopped.
    #[must_use]
    pub fn are_running(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Stops all switches and returns what they did.
    ///
    /// # Panics
    ///
    /// If a switch panicked.
    #[must_use]
    pub fn finish(mut self) -> SwitchesRecord {
        self.stop();
        let thread = self.thread.take().expect("taken only here and at the end");
        match thread.join() {
            Ok((record, granted)) => SwitchesRecord {
                record,
                granted,
                waiting: self.waiting,
            },
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Ends the dialers, all at the same time, and then the loop.
    fn stop(&mut self) {
        self.dialers.iter().for_each(Dialer::stop);
        self.dialers.clear();
        self.stop.store(true, Ordering::Relaxed);
    }

    fn command(&self, command: Command) {
        // A loop that has ended is past caring.
        let _ = self.commands.send(command);
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns how much may be spent on asking for carriers. The kernel tells at once of
/// the cables of a lab that are cut, so where switches share the processors with all
/// others, little is.
fn effort(forwarding: Forwarding) -> Effort {
    match forwarding {
        Forwarding::Kernel => Effort::Thrifty,
        Forwarding::Loop(_) => Effort::Eager,
    }
}

/// Returns the ends of cables that are ports of switches.
fn ends(network: &LabNetwork) -> impl Iterator<Item = PortEnd<'_>> {
    let sockets = network.cables.iter().flat_map(|cable| &cable.sockets);
    sockets.filter_map(|socket| match socket.place {
        Place::Switch { switch, port, .. } => Some(PortEnd {
            switch,
            number: port,
            interface: &socket.interface,
        }),
        Place::Host(_) => None,
    })
}

/// One port of a switch.
#[derive(Clone, Copy, Debug)]
struct PortEnd<'a> {
    switch: usize,
    number: PortNumber,
    interface: &'a Interface,
}

fn by_packet(network: &LabNetwork) -> Engine {
    Engine::Packet {
        ring_bytes: RING_BYTES.min(ALL_RINGS_BYTES / ends(network).count().max(1)),
    }
}

/// The switches of a network, with their ports.
struct Stations {
    stations: Vec<Station>,
    /// The interfaces of all ports, in the order in which the ports refer to them.
    interfaces: Vec<Interface>,
    /// The right to what programs of the kernel are put at, for as long as the switches
    /// run. Nobody else is in the namespaces of a lab.
    holds: Vec<Hold>,
}

/// Opens the ports of every switch.
fn plug_in(network: &LabNetwork, configs: &[Config], engine: Engine) -> io::Result<Stations> {
    let ends: Vec<_> = ends(network).collect();
    let opened = parallel::each(&ends, |_, end| {
        network.switches[end.switch].run(|| Port::open(engine, end.interface.index()))
    })?;
    let mut bindings: Vec<_> = network.switches.iter().map(|_| Vec::new()).collect();
    for (watched, (end, opened)) in ends.iter().zip(opened).enumerate() {
        bindings[end.switch].push(PortBinding::new(end.number, opened, watched));
    }
    let stations = configs.iter().zip(bindings);
    let stations = stations.map(|(config, bindings)| Station::new(config.clone(), bindings));
    Ok(Stations {
        stations: stations.collect(),
        interfaces: interfaces(&ends)?,
        holds: Vec::new(),
    })
}

fn interfaces(ends: &[PortEnd<'_>]) -> io::Result<Vec<Interface>> {
    ends.iter().map(|end| end.interface.try_clone()).collect()
}

fn dial(network: &LabNetwork, number: usize, port: u16, commands: &Sender<Command>) -> Dialer {
    let commands = commands.clone();
    let address = network.controller_address(number, port);
    network.switches[number].run(|| {
        Dialer::start(
            move || dialer::connect(address),
            move |connection| {
                // The loop ends after the dialers; nobody misses a connection then.
                let _ = commands.send(Command::Connected {
                    station: number,
                    connection,
                });
            },
        )
    })
}
