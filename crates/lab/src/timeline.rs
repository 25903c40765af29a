//! Makes happen what is planned to happen to the network, on a thread of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use linux::clock;
use linux::namespace::Namespace;
use linux::packet_loop::Command;
use linux::slowdown::Slowdown;
use scenario::{Direction, Impairment};
use units::{Duration, Instant};

use crate::cable::{Cable, Changed};
use crate::impaired_cables::{ImpairedCables, ImpairmentRecord};
use crate::network::Place;
use crate::traffic_loop::LoopOrder;
use crate::veth::Power;

/// How long the thread sleeps at most, so that it can be stopped.
const LONGEST_SLEEP: Duration = Duration::from_ms(20);

/// Something that may happen to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Cut {
        /// Which, in the order of the plan.
        cable: usize,
    },
    Heal {
        /// Which, in the order of the plan.
        cable: usize,
    },
    /// A switch dies; its cables lose their carrier.
    Crash {
        /// Which, in the order of the plan.
        switch: usize,
    },
    /// The process of a switch dies; its cables keep their carrier.
    Kill {
        /// Which, in the order of the plan.
        switch: usize,
    },
    /// A switch that died starts again, with empty tables.
    Restart {
        /// Which, in the order of the plan.
        switch: usize,
    },
    /// A cable loses or corrupts one frame in so many while its ends see a carrier; none any
    /// more without a number.
    Impair {
        /// Which, in the order of the plan.
        cable: usize,
        direction: Direction,
        impairment: Impairment,
        one_in: Option<NonZeroU32>,
    },
    /// The control channel of a switch carries nothing; its connection stands.
    Isolate {
        /// Which, in the order of the plan.
        switch: usize,
    },
    /// The control channel of a switch carries again.
    Rejoin {
        /// Which, in the order of the plan.
        switch: usize,
    },
    /// A host is unplugged, and plugged into a cable that waited for it.
    HostMoves {
        /// Which host, in the order of the plan.
        host: usize,
        to: usize,
    },
    /// From now on a switch works so much longer on each frame than it does by itself.
    SlowSwitch {
        /// Which, in the order of the plan.
        switch: usize,
        extra: Duration,
    },
    /// From now on a cable takes frames more slowly than it was laid.
    SlowCable {
        /// Which, in the order of the plan.
        cable: usize,
        by_thousandths: u32,
    },
}

/// What a timeline did.
#[derive(Debug, Default)]
pub(crate) struct TimelineRecord {
    /// When each change was made, as far as it came.
    pub(crate) made: Vec<Changed>,
    /// What nobody had planned, in order of time.
    pub(crate) unplanned: Vec<(Change, Changed)>,
    pub(crate) impaired: ImpairmentRecord,
}

/// The planned changes, with what it takes to make them.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) cables: Vec<Cable>,
    pub(crate) switches: Sender<Command>,
    pub(crate) hosts: Sender<LoopOrder>,
    /// What is asked for while it runs; no more once nobody can ask.
    asked: Receiver<Change>,
    unplanned: Vec<(Change, Changed)>,
    /// None if none ever is.
    impaired: Option<ImpairedCables>,
    /// The cables that are unplugged, whatever their switches do.
    unplugged: BTreeSet<usize>,
    crashed: BTreeSet<usize>,
    /// The rooms of the switches.
    rooms: Vec<Namespace>,
    slowed: BTreeMap<usize, Slowdown>,
}

impl Timeline {
    pub(crate) fn new(
        cables: Vec<Cable>,
        switches: Sender<Command>,
        (hosts, asked): (Sender<LoopOrder>, Receiver<Change>),
        rooms: Vec<Namespace>,
        impaired: Option<ImpairedCables>,
    ) -> Self {
        let off = cables
            .iter()
            .enumerate()
            .filter(|(_, cable)| cable.power() == Power::Off);
        Self {
            unplugged: off.map(|(number, _)| number).collect(),
            crashed: BTreeSet::new(),
            rooms,
            slowed: BTreeMap::new(),
            cables,
            switches,
            hosts,
            asked,
            unplanned: Vec::new(),
            impaired,
        }
    }

    /// Makes `changes`, which are in order of time, until `stop` is set. Returns
    /// when each was made, as far as it came, and what became of frames meanwhile.
    pub(crate) fn run(
        mut self,
        changes: &[(Instant, Change)],
        stop: &Arc<AtomicBool>,
    ) -> io::Result<TimelineRecord> {
        let mut made = Vec::with_capacity(changes.len());
        for (at, change) in changes {
            if !self.wait(*at, stop)? {
                break;
            }
            made.push(self.make(*change)?);
        }
        // What was done to cables, and who is slow, is so until the end.
        if self.impaired.is_some() || !self.slowed.is_empty() {
            self.wait(Instant::FAR_FUTURE, stop)?;
        }
        while let Ok(change) = self.asked.recv() {
            self.make_unplanned(change)?;
        }
        let impaired = self.impaired.map(ImpairedCables::finish).transpose()?;
        Ok(TimelineRecord {
            made,
            unplanned: self.unplanned,
            impaired: impaired.unwrap_or_default(),
        })
    }

    /// Waits until `at`, or returns whether it was not stopped before.
    fn wait(&mut self, at: Instant, stop: &Arc<AtomicBool>) -> io::Result<bool> {
        while clock::now() < at {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            clock::sleep_until(at.min(clock::now() + LONGEST_SLEEP));
            while let Ok(change) = self.asked.try_recv() {
                self.make_unplanned(change)?;
            }
            if let Some(impaired) = &mut self.impaired {
                impaired.take_down()?;
            }
        }
        Ok(true)
    }

    fn make_unplanned(&mut self, change: Change) -> io::Result<()> {
        let made = self.make(change)?;
        self.unplanned.push((change, made));
        Ok(())
    }

    fn make(&mut self, change: Change) -> io::Result<Changed> {
        let asked = clock::now();
        self.bring_about(change)?;
        let done = clock::now();
        Ok(Changed { asked, done })
    }

    fn bring_about(&mut self, change: Change) -> io::Result<()> {
        match change {
            Change::Cut { cable } => {
                self.unplugged.insert(cable);
            }
            Change::Heal { cable } => {
                self.unplugged.remove(&cable);
            }
            Change::Crash { switch } => {
                self.crashed.insert(switch);
                self.command(Command::Crash { station: switch });
            }
            Change::Kill { switch } => self.command(Command::Crash { station: switch }),
            Change::Restart { switch } => {
                self.crashed.remove(&switch);
                self.command(Command::Restart { station: switch });
            }
            Change::SlowSwitch { switch, extra } => return self.slow_switch(switch, extra),
            Change::SlowCable {
                cable,
                by_thousandths,
            } => return self.cables[cable].slow_down(by_thousandths),
            Change::Impair {
                cable,
                direction,
                impairment,
                one_in,
            } => self.impaired().impair(cable, direction, impairment, one_in),
            Change::Isolate { switch } => self.impaired().isolate(switch, Some(NonZeroU32::MIN)),
            Change::Rejoin { switch } => self.impaired().isolate(switch, None),
            Change::HostMoves { host, to } => {
                let place = Place::Host(host);
                let ends_there = |cable: &Cable| cable.sockets.iter().any(|s| s.place == place);
                let all = self.cables.iter().enumerate();
                self.unplugged
                    .extend(all.filter(|(_, cable)| ends_there(cable)).map(|(n, _)| n));
                self.unplugged.remove(&to);
                // A host that is not there any more is past moving.
                let _ = self.hosts.send(LoopOrder::PlugInto { host, cable: to });
            }
        }
        self.set_cables()
    }

    fn slow_switch(&mut self, number: usize, extra: Duration) -> io::Result<()> {
        self.slowed.remove(&number);
        if extra > Duration::ZERO {
            let sockets = self.cables.iter().flat_map(|cable| &cable.sockets);
            let own = sockets.filter(|socket| match socket.place {
                Place::Switch { switch, .. } => switch == number,
                Place::Host(_) => false,
            });
            let ports: Vec<_> = own.map(|socket| socket.interface.index()).collect();
            let slowdown = self.rooms[number].run(|| Slowdown::begin(&ports, extra))?;
            self.slowed.insert(number, slowdown);
        }
        Ok(())
    }

    fn impaired(&self) -> &ImpairedCables {
        let impaired = self.impaired.as_ref();
        impaired.expect("prepared for the changes that are made")
    }

    /// Brings every cable into the state that it should have.
    fn set_cables(&mut self) -> io::Result<()> {
        for (number, cable) in self.cables.iter_mut().enumerate() {
            let dead_end = cable.sockets.iter().any(|socket| match socket.place {
                Place::Switch { switch, .. } => self.crashed.contains(&switch),
                Place::Host(_) => false,
            });
            let power = match dead_end || self.unplugged.contains(&number) {
                true => Power::Off,
                false => Power::On,
            };
            if cable.power() != power {
                cable.set(power)?;
            }
        }
        Ok(())
    }

    fn command(&self, command: Command) {
        // Switches that have ended are past commanding.
        let _ = self.switches.send(command);
    }
}
