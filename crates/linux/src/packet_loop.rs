//! One thread that carries all the switches of a process.
//!
//! A turn of the loop takes one frame from each port's ring through its switch, or a
//! batch where a backlog lasts, and then does what has become due anywhere: frames
//! whose last bit leaves, queues whose port is free again. Control connections,
//! carriers and commands have their turn every [`CONTROL_INTERVAL`], in bounded
//! pieces, so that they delay a frame by no more than one piece takes.
//!
//! Spinning, the loop never waits and costs a processor; sleeping, it waits in the
//! kernel while nothing is due and costs a wake-up a frame.

mod kernel_part;
mod port_binding;
mod station;

pub use port_binding::{PortBinding, PortBindingCounters};
pub use station::{CHUNK_BYTES, Closed, MOST_CONNECTIONS, Station};

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use switch::ConnectionId;
use units::{Duration, Instant};
use wire::openflow::PortNumber;

use crate::carrier_watch::CarrierWatch;
use crate::clock::{self, WallClock};
use crate::connection::Connection;
use crate::own_time::OwnTime;
use crate::parallel;
use crate::poller::Poller;
use crate::port::Port;
use crate::stall::{StallMonitor, Stalls, Work};
use station::Forwarded;

/// How often control has its turn.
pub const CONTROL_INTERVAL: Duration = Duration::from_us(50);
/// How often a sleeping loop looks up when nothing happens.
/// A timer so far away is rarely the next one of its processor, so that taking it
/// back when a frame comes costs nothing.
const LONGEST_SLEEP: Duration = Duration::from_ms(10);
/// How often the wall clock, by which the kernel stamps, is compared with ours.
const WALL_INTERVAL: Duration = Duration::from_ms(100);
/// Up to how many ports are watched while the loop sleeps and no longer.
const MOST_WATCHED_ASLEEP: usize = 64;
/// The mark of events that only wake the loop up.
const WAKE_UP: u64 = u64::MAX;
/// The mark of a carrier that has changed.
const CARRIER: u64 = u64::MAX - 1;
/// Added to the mark of a switch: the kernel hands frames over to it.
const HANDED: u64 = 1 << 32;

/// How the loop waits for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    Spinning,
    /// It sleeps until the kernel wakes it.
    Sleeping,
}

/// When the kernel watches ports for the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watching {
    /// While the loop sleeps: each sleep costs by the number of ports, a frame
    /// nothing.
    Asleep,
    /// All the time: a frame costs more, and a sleep the same for any number.
    Always,
    /// Never: the loop looks itself.
    Never,
}

impl Watching {
    fn of(waiting: Waiting, ports: usize) -> Self {
        match waiting {
            Waiting::Spinning => Self::Never,
            Waiting::Sleeping if (1..=MOST_WATCHED_ASLEEP).contains(&ports) => Self::Asleep,
            Waiting::Sleeping => Self::Always,
        }
    }
}

/// Returns the ports at which the loop itself receives.
fn ports(stations: &[Station]) -> impl Iterator<Item = &Port> {
    let bindings = stations.iter().flat_map(|station| &station.bindings);
    bindings
        .map(|binding| &binding.port)
        .filter(|port| port.receives())
}

/// What the loop is told from outside.
#[derive(Debug)]
pub enum Command {
    /// A switch has a new control connection.
    Connected {
        /// The switch, in the order of the stations.
        station: usize,
        connection: Connection,
    },
    /// A port of a switch is on another interface from now on.
    Replace {
        /// The switch, in the order of the stations.
        station: usize,
        number: PortNumber,
        /// The way to the frames of the new interface.
        port: Port,
        /// Where the former one goes: to close it takes longer than a frame may
        /// wait.
        retire: Sender<Port>,
    },
    /// A switch dies, with its tables, queues and connections.
    Crash {
        /// The switch, in the order of the stations.
        station: usize,
    },
    /// A switch that died starts again, with empty tables.
    Restart {
        /// The switch, in the order of the stations.
        station: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The counters of every port of every switch.
    pub ports: Vec<Vec<PortBindingCounters>>,
    /// When the machine took the processor away.
    pub stalls: Stalls,
    /// How often all ports were looked at.
    pub turns: u64,
}

/// The loop, ready to run.
#[derive(Debug)]
pub struct PacketLoop {
    stations: Vec<Station>,
    /// Those at whose ports the loop itself receives.
    receiving: Vec<usize>,
    /// When something is due anywhere, or earlier.
    due: Instant,
    carriers: CarrierWatch,
    /// How often a carrier had changed when they were last followed; nothing if a
    /// switch does not know them yet.
    carriers_followed: Option<u64>,
    commands: Receiver<Command>,
    poller: Poller,
    waiting: Waiting,
    watching: Watching,
    stalls: StallMonitor,
    own: OwnTime,
    connections: u32,
    control_due: Instant,
    wall: WallClock,
    wall_due: Instant,
    turn_began: Instant,
    turns: u64,
}

impl PacketLoop {
    /// Returns a loop that carries `stations` and takes gaps of `stall_threshold`
    /// or more for stalls.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn new(
        stations: Vec<Station>,
        carriers: CarrierWatch,
        commands: Receiver<Command>,
        waiting: Waiting,
        stall_threshold: Duration,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let watching = Watching::of(waiting, ports(&stations).count());
        if watching == Watching::Always {
            for port in ports(&stations) {
                poller.add(port, WAKE_UP)?;
            }
        }
        if waiting == Waiting::Sleeping {
            poller.add(carriers.changed(), CARRIER)?;
        }
        for (mark, station) in (0..).zip(&stations) {
            if let Some(handing_over) = station.handing_over() {
                poller.add(handing_over, HANDED + mark)?;
            }
        }
        let now = clock::now();
        let receives = |n: &usize| stations[*n].handing_over().is_none();
        Ok(Self {
            receiving: (0..stations.len()).filter(receives).collect(),
            stations,
            due: now,
            carriers,
            carriers_followed: None,
            commands,
            poller,
            waiting,
            watching,
            stalls: StallMonitor::new(now, stall_threshold),
            own: OwnTime::begin(),
            connections: 0,
            control_due: now,
            wall: WallClock::sample(),
            wall_due: now,
            turn_began: now,
            turns: 0,
        })
    }

    /// Starts all switches and carries them until `stop` is set.
    pub fn run(self, stop: &AtomicBool) -> Record {
        self.run_telling(stop, || ())
    }

    /// The same, and tells when all switches have started.
    pub fn run_telling(mut self, stop: &AtomicBool, started: impl FnOnce()) -> Record {
        let now = clock::now();
        self.stalls.waited(now);
        self.own = OwnTime::begin();
        for station in &mut self.stations {
            station.start(now);
        }
        started();
        while !stop.load(Ordering::Relaxed) {
            self.turn();
        }
        self.finish()
    }

    fn turn(&mut self) {
        self.turns += 1;
        let mut last = None;
        for r in 0..self.receiving.len() {
            let s = self.receiving[r];
            for n in 0..self.stations[s].bindings.len() {
                let Some(forwarded) = self.stations[s].forward(n, &self.wall) else {
                    self.stations[s].bindings[n].empty = self.turn_began;
                    continue;
                };
                last = Some(forwarded.done);
                self.touched(s);
                self.passed(forwarded.done, Work::Frames);
                self.judge_delivery(&forwarded);
            }
        }
        // While frames come, the time of the last one will do.
        let now = last.unwrap_or_else(clock::now);
        self.turn_began = now;
        if last.is_none() {
            self.passed(now, Work::Frames);
        }
        if now >= self.control_due {
            self.control(now);
        }
        if last.is_none() {
            self.stalls.idle(now);
            if self.waiting == Waiting::Sleeping {
                self.sleep();
            }
        }
    }

    /// Notices a frame that the kernel held.
    fn judge_delivery(&mut self, forwarded: &Forwarded) {
        if let Some(stamp) = forwarded.stamp {
            let stamp = self.wall.to_monotonic(stamp);
            self.stalls.delivered(stamp, forwarded.missed, forwarded.at);
        }
    }

    /// Does what has become due by `now`.
    fn passed(&mut self, now: Instant, during: Work) {
        self.stalls.alive(now, during);
        if now < self.due {
            return;
        }
        for station in &mut self.stations {
            if now >= station.due() {
                station.catch_up(now);
            }
        }
        self.look_ahead();
    }

    /// Finds out when something is due.
    fn look_ahead(&mut self) {
        let due = self.stations.iter().map(Station::due).min();
        self.due = due.unwrap_or(Instant::FAR_FUTURE);
    }

    /// Takes note that something may be due earlier at station `s`.
    #[inline]
    fn touched(&mut self, s: usize) {
        self.due = self.due.min(self.stations[s].due());
    }

    fn control(&mut self, now: Instant) {
        self.control_due = now + CONTROL_INTERVAL;
        if self.waiting == Waiting::Spinning {
            self.stalls.interrupted(self.own.look());
        }
        if now >= self.wall_due {
            self.wall_due = now + WALL_INTERVAL;
            self.wall.follow();
        }
        self.follow_carriers(now);
        self.calm_ports();
        self.obey();
        if !self.poller.has_found() {
            self.poller.wait(Some(Duration::ZERO));
        }
        let mut room = [0; CHUNK_BYTES];
        while let Some(mark) = self.poller.next() {
            if mark == CARRIER {
                // What changes from here on wakes the loop again.
                self.carriers.changed().clear();
                self.follow_carriers(clock::now());
            }
            let s = usize::try_from(mark % HANDED).unwrap_or(usize::MAX);
            let Some(station) = self.stations.get_mut(s) else {
                continue;
            };
            let work = match mark / HANDED {
                0 => {
                    station.listen(&mut room);
                    Work::Control
                }
                _ => {
                    station.take_handed();
                    Work::Frames
                }
            };
            self.touched(s);
            self.passed(clock::now(), work);
        }
        let now = clock::now();
        for station in &mut self.stations {
            station.speak(now, &self.poller);
        }
        self.look_ahead();
        self.passed(clock::now(), Work::Control);
    }

    fn follow_carriers(&mut self, now: Instant) {
        let changes = Some(self.carriers.changes());
        if std::mem::replace(&mut self.carriers_followed, changes) == changes {
            return;
        }
        for station in &mut self.stations {
            for n in 0..station.bindings.len() {
                let binding = &mut station.bindings[n];
                if let Some(link) = binding.change(self.carriers.carrier(binding.watched)) {
                    station.link_changed(n, link, now);
                }
            }
        }
    }

    /// Has no port that is down wake the loop for being so.
    fn calm_ports(&self) {
        for &s in &self.receiving {
            self.stations[s].bindings.iter().for_each(PortBinding::calm);
        }
    }

    fn obey(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(command) => self.execute(command),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }

    fn execute(&mut self, command: Command) {
        let now = clock::now();
        match command {
            Command::Connected {
                station,
                connection,
            } => {
                let id = ConnectionId(self.connections);
                self.connections += 1;
                let mark = u64::try_from(station).expect("fewer than 2^64 stations");
                self.stations[station].connect(id, connection, now, (&self.poller, mark));
            }
            Command::Replace {
                station,
                number,
                port,
                retire,
            } => {
                let watched = self.watching == Watching::Always && port.receives();
                if watched && self.poller.add(&port, WAKE_UP).is_err() {
                    return;
                }
                if let Some(former) = self.stations[station].replace(number, port) {
                    if former.receives() {
                        self.poller.remove(&former);
                    }
                    // Whoever sent the port waits for it, unless all is over.
                    let _ = retire.send(former);
                }
            }
            Command::Crash { station } => self.stations[station].crash(&self.poller),
            Command::Restart { station } => {
                self.stations[station].start(now);
                self.carriers_followed = None;
            }
        }
    }

    /// Waits in the kernel until a frame or a message comes, or something is due.
    fn sleep(&mut self) {
        let now = clock::now();
        self.look_ahead();
        let due = self.due.min(now + LONGEST_SLEEP);
        let patience = due.saturating_since(now);
        match self.watching {
            Watching::Asleep => self.poller.wait_beside(ports(&self.stations), patience),
            Watching::Always | Watching::Never => self.poller.wait(Some(patience)),
        }
        let woken = clock::now();
        self.stalls.waited(woken.min(due).max(now));
        self.control_due = woken;
    }

    fn finish(mut self) -> Record {
        let ports = self
            .stations
            .iter_mut()
            .map(|station| {
                station
                    .bindings
                    .iter_mut()
                    .map(PortBinding::total)
                    .collect()
            })
            .collect();
        parallel::drop_all(self.stations);
        let mut stalls = self.stalls.finish();
        if !self.own.is_exact() {
            stalls.interruptions.clear();
        }
        Record {
            ports,
            stalls,
            turns: self.turns,
        }
    }
}
