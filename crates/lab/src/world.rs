//! A scenario's network with everything running in it, seen from outside.
//!
//! The threads of a run, and what each has:
//!
//! | thread | has | runs as |
//! |---|---|---|
//! | packets | all switches, or what the kernel leaves to them | before all ordinary threads, sleeping; without the kernel's help alone on its processor, spinning, where there are two |
//! | controller | the controller | nice -20 beside it |
//! | store | the controller's store | as everybody |
//! | carriers | the carriers of all ports | nice -20; where the kernel forwards before all ordinary threads |
//! | traffic | all hosts, their taps and the recorder | nice -10; before all ordinary threads where the kernel forwards, and then on a processor that all others leave to it, where there are two |
//! | a sentry on each processor, where the switches sleep | a look at the clock now and then | before all others |
//! | none: a program in the kernel, where it forwards | the steps of forwarding of the processor of the hosts | a part of them |
//! | timeline | what happens to the network | as traffic |
//! | a dialer for each switch | its connection | as everybody |

use std::fmt::Display;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use controller::northbound::{Said, Saying};
use controller::{Request, RequestId, Store};
use linux::clock::{self, WallClock};
use linux::controller_loop::{ControllerHandle, Desk, ListenError, Told, listen};
use linux::descriptors;
use linux::frame_watch::{self, FrameWatch};
use linux::impaired_interface::ImpairError;
use linux::jitter_monitor::{JitterMonitors, Watched};
use linux::namespace::Namespace;
use linux::pace_watch::{ExpectedPace, PaceWatch, SeenPace};
use linux::packet_loop::Waiting;
use linux::scheduling::{self, HIGHEST_NICE, Rank, Session, Urgency};
use linux::stall::Stalls;
use linux::usage::{Spent, Usage};
use measure::interruptions::Interruptions;
use measure::load::Load;
use thiserror::Error;
use units::{Duration, Instant};

use crate::cable::Changed;
use crate::host::LabHost;
use crate::impaired_cables::{ImpairedCables, ImpairmentRecord};
use crate::network::{BuildError, LabNetwork, Place, Plan};
use crate::switches::{Forwarding, SwitchSettings, Switches, SwitchesRecord};
use crate::timeline::{Change, Timeline, TimelineRecord};
use crate::traffic_loop::{LoopOrder, TrafficLoop, TrafficParts, TrafficRecord, TrafficTally};
use crate::trunk::Trunk;

/// Where the controller listens (OF13 clause 6.3.3).
const OPENFLOW_PORT: u16 = 6653;
/// The urgency of those who send: below those who forward.
const TRAFFIC_NICE: i32 = -10;
/// Its namespace, program, tables and connections.
const DESCRIPTORS_PER_SWITCH: u64 = 34;
/// Its two ends, each with what asks about it, paces it and sends.
const DESCRIPTORS_PER_CABLE: u64 = 12;
const OTHER_DESCRIPTORS: u64 = 100;
/// The queue through which announcements go.
const BEST_EFFORT: u8 = 0;

/// Why an experiment in the lab cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabError {
    /// The network does not stand.
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The network is too large for the limits of this process.
    #[error(
        "this network needs some {needed} descriptors, and this process may open {limit}: raise \
         the limit (`ulimit -n {needed}`, as root)"
    )]
    Descriptors {
        /// How many there are to be, about.
        needed: u64,
        /// How many there may be.
        limit: u64,
    },
    #[error("cannot have a cable lose or corrupt frames: {0}")]
    Impair(#[from] ImpairError),
    #[error("cannot {doing}: {reason}")]
    Machine {
        doing: &'static str,
        reason: io::Error,
    },
    #[error("the store failed: {reason}")]
    Store { reason: String },
    #[error("the controller has stopped")]
    ControllerEnded,
    /// The thread that carries the switches has ended.
    #[error("the switches have stopped")]
    SwitchesEnded,
}

/// What a lab is made of.
#[derive(Debug)]
pub struct Parts<S> {
    pub network: Plan,
    /// The configuration of each switch, in the order of the plan.
    pub switches: Vec<switch::Config>,
    /// The configuration of the controller.
    pub controller: controller::Config,
    /// What the controller keeps its decisions in.
    pub store: S,
    /// From which length on a gap in the packet loop is a stall.
    pub stall_threshold: Duration,
    pub forwarding: Forwarding,
    /// How long each switch works on a frame at most, in the order of the plan.
    pub processing: Vec<Duration>,
    /// For how many entries each switch has memory in the kernel, if it forwards.
    pub entries: usize,
}

/// What was seen of processors that forward, or why nothing was.
pub type Halts = Result<Vec<frame_watch::Watched>, String>;

/// What was seen at both ends of each cable of who is slower than was said, or why nothing
/// was.
pub type Paces = Result<Vec<[SeenPace; 2]>, String>;

/// What was observed in a lab.
#[derive(Debug)]
pub struct Observed {
    /// What became of the traffic, if any was begun.
    pub traffic: Option<TrafficRecord>,
    /// When each planned change was made, in the order of the plan, as far as it
    /// came.
    pub changes: Vec<Changed>,
    /// What was done that nobody had planned, in order of time.
    pub unplanned: Vec<(Change, Changed)>,
    /// What impaired cables did.
    pub impaired: ImpairmentRecord,
    pub switches: SwitchesRecord,
    /// From which length on it counts as standing still.
    pub stall_threshold: Duration,
    /// What noticed when the machine stood still, and when it did.
    pub stalls: Vec<(Watcher, Stalls)>,
    /// When processors were taken away that frames need.
    pub interruptions: Interruptions,
    /// When they did not get on with frames.
    pub halts: Halts,
    pub paces: Paces,
    /// The processor time used while traffic ran, as far as the machine tells.
    pub spent: Option<Spent>,
}

/// What notices that the machine stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watcher {
    /// The loop that carries the switches: it spins.
    Loop,
    /// The thread of the hosts, which sleeps until a frame is due.
    Traffic,
    /// A thread that sleeps on a processor to moments that were agreed.
    Sentry { processor: usize, urgency: Urgency },
}

/// A network with switches and a controller that run. Everything ends when this
/// value does.
#[derive(Debug)]
pub struct Lab {
    controller: ControllerHandle,
    /// Who else is told what the controller tells.
    listener: Option<Sender<Told>>,
    run: Option<RunningThreads>,
    switches: Switches,
    hosts: Vec<LabHost>,
    network: LabNetwork,
    settings: SwitchSettings,
    processing: Vec<Duration>,
    wall: WallClock,
    _session: Option<Session>,
}

/// The threads of a run.
#[derive(Debug)]
struct RunningThreads {
    orders: Sender<LoopOrder>,
    /// Where changes that nobody had planned are asked for; nowhere at its end.
    unplanned: Option<Sender<Change>>,
    tally: Arc<TrafficTally>,
    stop: Arc<AtomicBool>,
    sentries: Option<JitterMonitors>,
    /// On the processors that forward, or why there is none.
    frame_watch: Result<FrameWatch, String>,
    /// On all interfaces, or why there is none.
    pace_watch: Result<PaceWatch, String>,
    before: Option<Usage>,
    begun: Instant,
    traffic: Option<JoinHandle<TrafficRecord>>,
    timeline: Option<JoinHandle<io::Result<TimelineRecord>>>,
}

impl Lab {
    /// Builds the network and starts switches and controller. Where the packet
    /// loop gets a processor of its own, the calling thread leaves it.
    ///
    /// # Errors
    ///
    /// Without the privilege (see [`crate::privilege`]), or if the machine lacks
    /// something.
    pub fn build<S>(parts: Parts<S>) -> Result<Self, LabError>
    where
        S: Store + Send + 'static,
        S::Error: Display,
    {
        let settings = SwitchSettings {
            entries: parts.entries,
            ..SwitchSettings::for_this_machine(
                parts.forwarding,
                parts.stall_threshold,
                OPENFLOW_PORT,
            )
        };
        make_room(&parts.network)?;
        let session = Session::raise(HIGHEST_NICE);
        let network = LabNetwork::build(&parts.network)?;
        let hosts = machine(
            "open the interfaces of the hosts",
            LabHost::open_all(&network),
        )?;
        let anywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, OPENFLOW_PORT));
        let listener = network.control.run(|| listen(anywhere))?;
        let wish = settings.wish_beside(HIGHEST_NICE);
        let started = ControllerHandle::start(listener, parts.controller, parts.store, wish);
        let controller = machine("start the controller", started)?;
        let switches = Switches::start(&network, &parts.switches, settings);
        let switches = machine("start the switches", switches)?;
        scheduling::apply(settings.wish_beside(0));
        Ok(Self {
            controller,
            listener: None,
            run: None,
            switches,
            hosts,
            network,
            settings,
            processing: parts.processing,
            wall: WallClock::sample(),
            _session: session,
        })
    }

    /// Returns the present time, on the monotonic clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        clock::now()
    }

    /// Returns the time of day at the origin of the monotonic clock, in nanoseconds
    /// since 1970.
    #[must_use]
    pub fn unix_origin_ns(&self) -> u64 {
        self.wall.to_wall(Instant::ZERO).as_ns()
    }

    /// Asks the controller for something.
    pub fn request(&mut self, request: Request) -> RequestId {
        self.controller.ask(request)
    }

    /// Returns where others can ask the controller, and what it tells from now on, which
    /// ends with the lab.
    pub fn lend_controller(&mut self) -> (Desk, Receiver<Told>) {
        let (listener, told) = mpsc::channel();
        self.listener = Some(listener);
        (self.controller.desk(), told)
    }

    /// Waits until the controller has said something or until `until`, and returns
    /// what it said.
    ///
    /// # Errors
    ///
    /// If the controller or the switches have ended, or the store has failed.
    pub fn listen(&mut self, until: Instant) -> Result<Vec<Said>, LabError> {
        if !self.switches.are_running() {
            return Err(LabError::SwitchesEnded);
        }
        let told = self.controller.told();
        let patience = until.saturating_since(clock::now());
        let first = match told.recv_timeout(patience.into()) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => return Ok(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => return Err(LabError::ControllerEnded),
        };
        let mut said = Vec::new();
        for told in std::iter::once(first).chain(told.try_iter()) {
            if let Some(listener) = &self.listener {
                // Who has gone does not want to know.
                let _ = listener.send(told.clone());
            }
            let (at, what) = match told {
                Told::Notice { at, notice } => (at, Saying::Notice(notice)),
                Told::Reply { at, id, reply } => (at, Saying::Reply(id, reply)),
                Told::Closed { .. } | Told::StoreRecovered | Told::StoodDown => continue,
                Told::StoreFailed { reason } => return Err(LabError::Store { reason }),
            };
            said.push(Said { at, what });
        }
        Ok(said)
    }

    /// Lets a host send a frame that belongs to no flow.
    pub fn announce(&mut self, host: usize, frame: &[u8]) {
        match (&self.run, self.hosts.get_mut(host)) {
            (Some(run), _) => {
                let frame = frame.to_vec();
                // Hosts that have ended say nothing more.
                let _ = run.orders.send(LoopOrder::Announce { host, frame });
            }
            (None, Some(host)) => {
                // What finds no room is lost, as on any other network.
                let _ = host.send(BEST_EFFORT, frame);
            }
            (None, None) => {}
        }
    }

    /// Lets the hosts begin to send, and plans what happens to the network, in
    /// order of time.
    ///
    /// # Errors
    ///
    /// If the machine gives no threads, or no memory for captures.
    ///
    /// # Panics
    ///
    /// If it was called before.
    pub fn begin(&mut self, load: Load, changes: Vec<(Instant, Change)>) -> Result<(), LabError> {
        assert!(self.run.is_none(), "a lab runs once");
        let (orders, obeyed) = mpsc::channel();
        let (unplanned, asked) = mpsc::channel();
        let tally = Arc::new(TrafficTally::default());
        let sentries = match self.settings.waiting {
            Waiting::Spinning => None,
            Waiting::Sleeping => Some(JitterMonitors::post(self.settings.patience())),
        };
        let sentries = machine("watch the processors", sentries.transpose())?;
        let frame_watch = watch_frames(self.settings);
        let pace_watch = self.watch_paces();
        let stop = Arc::new(AtomicBool::new(false));
        let (of_hosts, wish) = (
            self.settings.wish_of_hosts(TRAFFIC_NICE),
            self.settings.wish_beside(TRAFFIC_NICE),
        );
        let hosts = std::mem::take(&mut self.hosts);
        let impaired = ImpairedCables::prepare(&self.network, &changes, &load.catalogue)?;
        let trunks = Trunk::open_all(&self.network, &load.captures);
        let trunks = machine("capture the links between switches", trunks)?;
        let threshold = self.settings.patience();
        let parts = TrafficParts {
            hosts,
            trunks,
            load,
            tally: Arc::clone(&tally),
            orders: obeyed,
            stall_threshold: threshold,
        };
        let traffic = TrafficLoop::new(parts);
        let (should_stop, settings) = (Arc::clone(&stop), self.settings);
        let traffic = spawn("traffic", move || {
            scheduling::apply(of_hosts);
            settings.hurry(Rank::Act);
            traffic.run(&should_stop)
        })?;
        let cables = std::mem::take(&mut self.network.cables);
        let rooms = self.network.switches.iter().map(Namespace::try_clone);
        let rooms = machine("hold the rooms of the switches", rooms.collect())?;
        let timeline = Timeline::new(
            cables,
            self.switches.commands(),
            (orders.clone(), asked),
            rooms,
            impaired,
        );
        let should_stop = Arc::clone(&stop);
        let timeline = spawn("timeline", move || {
            scheduling::apply(wish);
            settings.hurry(Rank::Act);
            timeline.run(&changes, &should_stop)
        })?;
        let (traffic, timeline) = (Some(traffic), Some(timeline));
        self.run = Some(RunningThreads {
            orders,
            unplanned: Some(unplanned),
            tally,
            stop,
            sentries,
            frame_watch,
            pace_watch,
            before: Usage::read().ok(),
            begun: clock::now(),
            traffic,
            timeline,
        });
        Ok(())
    }

    /// Cuts or heals a cable at once, as nobody had planned, while hosts send.
    pub fn change(&mut self, change: Change) {
        let run = self.run.as_ref();
        if let Some(unplanned) = run.and_then(|run| run.unplanned.as_ref()) {
            // A run that has ended is past changing.
            let _ = unplanned.send(change);
        }
    }

    /// Watches whether switches and links are as fast as was said, where the kernel forwards.
    fn watch_paces(&self) -> Result<PaceWatch, String> {
        if let Forwarding::Loop(_) = self.settings.forwarding {
            return Err("the kernel does not forward".to_owned());
        }
        let cookies = |rooms: &[Namespace]| {
            let cookies = rooms.iter().map(Namespace::cookie);
            let cookies: io::Result<Vec<_>> = cookies.collect();
            cookies.map_err(|error| error.to_string())
        };
        let (switches, hosts) = (
            cookies(&self.network.switches)?,
            cookies(&self.network.hosts)?,
        );
        let ends = self.network.cables.iter();
        let ends = ends.flat_map(|cable| cable.sockets.iter().map(|end| (end, cable.rate())));
        let expected = ends.map(|(end, rate)| {
            let (namespace, processing) = match end.place {
                Place::Switch { switch, .. } => {
                    (switches[switch], self.processing.get(switch).copied())
                }
                Place::Host(host) => (hosts[host], None),
            };
            ExpectedPace {
                interface: end.interface.index(),
                namespace,
                processing,
                rate,
            }
        });
        let expected: Vec<_> = expected.collect();
        PaceWatch::begin(&expected).map_err(|error| error.to_string())
    }

    /// Returns how traffic is going, once it has begun.
    #[must_use]
    pub fn tally(&self) -> Option<&TrafficTally> {
        self.run.as_ref().map(|run| &*run.tally)
    }

    /// Ends the run and everything in it.
    ///
    /// # Errors
    ///
    /// If a planned change could not be made.
    pub fn finish(mut self) -> Result<Observed, LabError> {
        let (mut traffic, mut timeline) = (None, TimelineRecord::default());
        let (mut sentries, mut spent) = (None, None);
        let mut halts = Ok(Vec::new());
        let mut paces = Ok(Vec::new());
        let begun = self.run.as_ref().map_or_else(clock::now, |run| run.begun);
        if let Some(mut run) = self.run.take() {
            spent = run.before.take().and_then(|before| {
                let after = Usage::read().ok()?;
                Some(after.since(&before))
            });
            run.stop.store(true, Ordering::Relaxed);
            run.unplanned = None;
            traffic = run.traffic.take().map(joined);
            halts = run
                .frame_watch
                .as_ref()
                .map(FrameWatch::seen)
                .map_err(String::clone);
            paces = run.pace_watch.as_ref().map_err(String::clone).map(|it| {
                let seen = it.seen();
                let (ends, _) = seen.as_chunks::<2>();
                ends.to_vec()
            });
            let witness = traffic.as_ref().map(|traffic| traffic.stalls.clone());
            let witness = witness.map(|stalls| (Watcher::Traffic, stalls));
            sentries = run.sentries.take().map(|sentries| {
                let sentries = sentries.recall().into_iter().map(watched);
                sentries.chain(witness).collect()
            });
            if let Some(running) = run.timeline.take() {
                timeline = machine("change the network", joined(running))?;
            }
        }
        let switches = self.switches.finish();
        let stalls = match sentries {
            None => vec![(Watcher::Loop, switches.record.stalls.clone())],
            Some(sentries) => sentries,
        };
        Ok(Observed {
            interruptions: of_ways(self.settings, begun, traffic.as_ref(), (&stalls, &halts)),
            halts,
            paces,
            traffic,
            changes: timeline.made,
            unplanned: timeline.unplanned,
            impaired: timeline.impaired,
            switches,
            stall_threshold: self.settings.patience(),
            stalls,
            spent,
        })
    }
}

/// Watches the processors on which the kernel forwards, if it does.
fn watch_frames(settings: SwitchSettings) -> Result<FrameWatch, String> {
    let processors = match settings.forwarding {
        Forwarding::Loop(_) => Vec::new(),
        Forwarding::Kernel => match settings.hosts {
            Some(processor) => vec![processor],
            None => scheduling::allowed_processors(),
        },
    };
    FrameWatch::begin(&processors).map_err(|error| error.to_string())
}

/// Returns when processors were taken away that the ways of frames use: that of the hosts
/// and, where a loop forwards, that of the loop.
fn of_ways(
    settings: SwitchSettings,
    begun: Instant,
    traffic: Option<&TrafficRecord>,
    (watchers, halts): (&[(Watcher, Stalls)], &Halts),
) -> Interruptions {
    let used = watchers.iter().filter(|(watcher, _)| match watcher {
        Watcher::Loop => true,
        // Taken from the record of the traffic.
        Watcher::Traffic => false,
        Watcher::Sentry { processor, .. } => settings.hosts.is_none_or(|it| it == *processor),
    });
    let of_traffic = traffic.iter().map(|traffic| &traffic.stalls);
    let all = used.map(|(_, stalls)| stalls).chain(of_traffic);
    let all = all.flat_map(|it| crate::stalls::interruptions(it, begun));
    let halts = halts.iter().flatten().flat_map(|it| &it.halts);
    Interruptions::of(all.chain(halts.map(crate::stalls::halt)))
}

fn watched(watched: Watched) -> (Watcher, Stalls) {
    let Watched {
        processor,
        stalls,
        urgency,
    } = watched;
    (Watcher::Sentry { processor, urgency }, stalls)
}

/// A run that is dropped before its end is ended.
impl Drop for RunningThreads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.unplanned = None;
        let _ = self.traffic.take().map(JoinHandle::join);
        let _ = self.timeline.take().map(JoinHandle::join);
    }
}

/// Makes sure that there are descriptors enough for a network.
fn make_room(plan: &Plan) -> Result<(), LabError> {
    let count = |parts: usize, each: u64| u64::try_from(parts).unwrap_or(u64::MAX) * each;
    let needed = count(plan.switches.len(), DESCRIPTORS_PER_SWITCH)
        + count(plan.cables.len(), DESCRIPTORS_PER_CABLE)
        + OTHER_DESCRIPTORS;
    match descriptors::raise_limit() {
        Some(limit) if limit < needed => Err(LabError::Descriptors { needed, limit }),
        Some(_) | None => Ok(()),
    }
}

fn spawn<R: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<JoinHandle<R>, LabError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    machine("start a thread", thread)
}

fn joined<R>(thread: JoinHandle<R>) -> R {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn machine<T>(doing: &'static str, result: io::Result<T>) -> Result<T, LabError> {
    result.map_err(|reason| LabError::Machine { doing, reason })
}
