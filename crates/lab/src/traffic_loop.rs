//! One thread that makes all hosts send and takes down what they sent and got.
//!
//! Sources are asked for their frames at absolute times. Between two of them the
//! thread reads what the taps have captured, a few frames at a time so that no
//! source waits for it: which frame left a host's interface and which arrived, by
//! the kernel's stamps, on the monotonic clock. What arrives also goes to those
//! who answer it: the receivers of floods acknowledge, their senders listen.
//!
//! Where captures are wanted, the thread writes them, too; the files collect what
//! they get, so that it seldom waits for the machine.

mod book;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use linux::clock::{self, ClockStep};
use linux::own_time::OwnTime;
use linux::parallel;
use linux::sender::Queued;
use linux::stall::{StallMonitor, Stalls, Work};
use measure::capture::CaptureRecord;
use measure::culprit::Deviation;
use measure::load::Load;
use measure::recorder::FlowRecord;
use measure::unseen::Unseen;
use units::{Duration, Instant};

use crate::host::LabHost;
use crate::trunk::Trunk;
use book::Book;
pub(crate) use book::as_seen;

/// How long captured frames wait at most while sources are busy.
const READ_INTERVAL: Duration = Duration::from_ms(1);
/// The same while no source is to send and nothing was captured lately.
const QUIET_INTERVAL: Duration = Duration::from_ms(50);
/// How many captured frames of an interface are read before the sources are
/// looked at again.
const FRAMES_AT_ONCE: usize = 16;
/// The most frames that one source sends before the others have their turn.
const BURST: usize = 32;
/// How often the wall clock is compared with the monotonic one.
const CLOCK_INTERVAL: Duration = Duration::from_ms(500);
/// The most steps of the wall clock that are kept.
const MOST_STEPS: usize = 64;
const FRAME_BYTES: usize = 2048;
/// The queue through which announcements go.
const BEST_EFFORT: u8 = 0;

/// How traffic is going, to be read by anybody at any time.
#[derive(Debug, Default)]
pub struct TrafficTally {
    sent: AtomicU64,
    arrived: AtomicU64,
}

impl TrafficTally {
    /// Returns how many frames of flows have left their hosts.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns how many frames of flows have arrived, once for each receiver.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Relaxed)
    }
}

/// What became of the traffic.
#[derive(Debug)]
pub struct TrafficRecord {
    /// What was taken down, flow by flow.
    pub flows: Vec<FlowRecord>,
    /// How many frames the queues of their hosts did not take.
    pub overflowed: u64,
    /// How late a source was called at most.
    pub latest: Duration,
    /// How many frames went by the taps uncaptured. If it is not zero, the losses
    /// taken down are too high.
    pub uncaptured: u64,
    /// What the taps of each host have missed, in the order of the hosts.
    pub unseen: Vec<Unseen>,
    /// When the thread of the hosts stood still: it was woken up late, or took long
    /// to send a frame.
    pub stalls: Stalls,
    /// The steps that the wall clock made.
    pub steps: Vec<ClockStep>,
    /// What became of the capture files.
    pub captures: Vec<CaptureRecord>,
    /// The hosts that sent frames of no flow of theirs.
    pub foreign: Vec<Deviation>,
}

/// What the loop is told while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoopOrder {
    /// A host is plugged in elsewhere.
    PlugInto {
        host: usize,
        /// The cable that it sends into from now on.
        cable: usize,
    },
    /// A host sends a frame that belongs to no flow.
    Announce { host: usize, frame: Vec<u8> },
}

/// The loop, ready to run.
#[derive(Debug)]
pub(crate) struct TrafficLoop {
    hosts: Vec<LabHost>,
    /// The links between switches that are captured.
    trunks: Vec<Trunk>,
    book: Book,
    orders: Receiver<LoopOrder>,
    overflowed: u64,
    latest: Duration,
    watch: StallWatch,
    steps: Vec<ClockStep>,
    clock_due: Instant,
    frame: Vec<u8>,
}

/// What the loop is made of.
#[derive(Debug)]
pub(crate) struct TrafficParts {
    pub(crate) hosts: Vec<LabHost>,
    pub(crate) trunks: Vec<Trunk>,
    pub(crate) load: Load,
    pub(crate) tally: Arc<TrafficTally>,
    pub(crate) orders: Receiver<LoopOrder>,
    /// To be held up for so long or longer is a stall.
    pub(crate) stall_threshold: Duration,
}

impl TrafficLoop {
    pub(crate) fn new(parts: TrafficParts) -> Self {
        let TrafficParts {
            hosts,
            trunks,
            load,
            tally,
            orders,
            stall_threshold,
        } = parts;
        Self {
            hosts,
            trunks,
            book: Book::new(load, tally),
            orders,
            overflowed: 0,
            latest: Duration::ZERO,
            watch: StallWatch {
                stalls: StallMonitor::new(clock::now(), stall_threshold),
                own: OwnTime::begin(),
            },
            steps: Vec::with_capacity(MOST_STEPS),
            clock_due: clock::now(),
            frame: Vec::with_capacity(FRAME_BYTES),
        }
    }

    /// Runs until `stop` is set.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> TrafficRecord {
        self.forget_the_past();
        self.watch.own = OwnTime::begin();
        let mut read_due = clock::now();
        while !stop.load(Ordering::Relaxed) {
            let now = clock::now();
            let next = self.send_due(now);
            if now >= read_due {
                read_due = match self.read() {
                    Rest::Nothing if next > now + QUIET_INTERVAL => now + QUIET_INTERVAL,
                    Rest::Nothing | Rest::Some => now + READ_INTERVAL,
                    Rest::More => now,
                };
                self.keep_time(now);
                self.obey();
            }
            self.sleep_until(next.min(read_due));
        }
        while self.read() == Rest::More {}
        self.finish()
    }

    /// Sleeps, and notes how late the machine wakes the thread up.
    fn sleep_until(&mut self, moment: Instant) {
        let due = moment.max(clock::now());
        clock::sleep_until(due);
        self.watch.slept(due);
    }

    /// Sends every frame that is due, and returns when the next one is.
    fn send_due(&mut self, now: Instant) -> Instant {
        let mut next = Instant::FAR_FUTURE;
        for (host, load) in self.hosts.iter_mut().zip(&mut self.book.hosts) {
            let own = load.sources.iter_mut();
            let own = own.map(|queued| (&mut queued.source, queued.queue, true));
            let foreign = load.foreign.iter_mut();
            let foreign = foreign.map(|(source, queue)| (source, *queue, false));
            for (source, queue, is_own) in own.chain(foreign) {
                for _ in 0..BURST {
                    if source.next_due().is_none_or(|due| due > now) {
                        break;
                    }
                    let Some(emitted) = source.emit(now, &mut self.frame) else {
                        break;
                    };
                    if !source.listens() {
                        self.latest = self.latest.max(now.saturating_since(emitted.due));
                    }
                    match host.send(queue, &self.frame) {
                        Ok(Queued::Taken) => {}
                        Ok(Queued::Overflowed | Queued::Down) | Err(_) => {
                            self.overflowed += u64::from(is_own);
                        }
                    }
                    // Where the kernel forwards, it has done so by now.
                    self.watch.worked(Work::Frames);
                }
                next = next.min(source.next_due().unwrap_or(Instant::FAR_FUTURE));
            }
        }
        next
    }

    /// Takes down some of what the taps have captured.
    fn read(&mut self) -> Rest {
        let mut rest = Rest::Nothing;
        for (number, host) in self.hosts.iter_mut().enumerate() {
            for socket in 0..host.sockets.len() {
                let taken = (0..FRAMES_AT_ONCE)
                    .take_while(|_| read_one(&mut self.book, number, host, socket))
                    .count();
                rest = rest.max(Rest::after(taken));
            }
            self.watch.worked(Work::Control);
        }
        for trunk in &mut self.trunks {
            let taken = (0..FRAMES_AT_ONCE)
                .take_while(|_| trunk.read_one(&mut self.book.captures))
                .count();
            rest = rest.max(Rest::after(taken));
        }
        rest
    }

    /// Empties the taps of what happened before the run.
    fn forget_the_past(&mut self) {
        for socket in self.hosts.iter_mut().flat_map(|host| &mut host.sockets) {
            socket.forget_the_past();
        }
        self.trunks.iter_mut().for_each(Trunk::forget_the_past);
    }

    fn keep_time(&mut self, now: Instant) {
        if now < self.clock_due {
            return;
        }
        self.clock_due = now + CLOCK_INTERVAL;
        if let Some(step) = self.book.wall.follow()
            && self.steps.len() < MOST_STEPS
        {
            self.steps.push(step);
        }
    }

    fn obey(&mut self) {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                LoopOrder::PlugInto { host, cable } => self.hosts[host].plug_into(cable),
                LoopOrder::Announce { host, frame } => {
                    // A host that is unplugged is not heard.
                    let _ = self.hosts[host].send(BEST_EFFORT, &frame);
                }
            }
        }
    }

    fn finish(mut self) -> TrafficRecord {
        let (mut uncaptured, mut unseen) = (0, Vec::with_capacity(self.hosts.len()));
        for host in &mut self.hosts {
            let mut of_host = Unseen::default();
            for socket in &mut host.sockets {
                let of_socket = socket.close();
                uncaptured += of_socket.frames();
                self.book.captures.missed(socket.cable, of_socket.frames());
                of_host.append(of_socket);
            }
            unseen.push(of_host);
        }
        for trunk in &mut self.trunks {
            trunk.close(&mut self.book.captures);
        }
        let (flows, captures, foreign) = self.book.close();
        parallel::drop_all(self.hosts);
        TrafficRecord {
            flows,
            captures,
            foreign,
            overflowed: self.overflowed,
            latest: self.latest,
            uncaptured,
            unseen,
            stalls: self.watch.finish(),
            steps: self.steps,
        }
    }
}

/// Takes down one frame of a host's interface, and sends the answer to it. Returns
/// whether there was one.
fn read_one(book: &mut Book, number: usize, host: &mut LabHost, socket: usize) -> bool {
    let place = socket;
    let socket = &mut host.sockets[place];
    let (cable, wall) = (socket.cable, book.wall);
    let taken = socket.tap.take(|seen| {
        let at = wall.to_monotonic(seen.stamp);
        (at, book.enter(number, cable, &seen))
    });
    let Some((at, answer)) = taken else {
        return false;
    };
    socket.has_seen(at);
    if let Some((queue, answer)) = answer {
        // An answer that finds no room is lost, as on any other network.
        let _ = host.send(queue, answer);
    }
    true
}

/// Notices when the thread does not get on.
#[derive(Debug)]
struct StallWatch {
    stalls: StallMonitor,
    own: OwnTime,
}

impl StallWatch {
    /// Takes down that the thread slept to a moment and is awake.
    fn slept(&mut self, due: Instant) {
        self.stalls.waited(due);
        self.stalls.alive(clock::now(), Work::Waking);
        self.own.waited();
    }

    /// Takes down that the thread has worked since it last said so.
    fn worked(&mut self, work: Work) {
        let seen = self.own.look();
        self.stalls.alive(seen.to, work);
        self.stalls.interrupted(seen);
    }

    fn finish(self) -> Stalls {
        let mut stalls = self.stalls.finish();
        if !self.own.is_exact() {
            stalls.interruptions.clear();
        }
        stalls
    }
}

/// What reading the taps leads to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    Nothing,
    /// They held something, and all of it was read.
    Some,
    /// They hold more than was read.
    More,
}

impl Rest {
    /// Returns what to expect of a tap of which `taken` frames were read.
    fn after(taken: usize) -> Self {
        match taken {
            0 => Self::Nothing,
            FRAMES_AT_ONCE => Self::More,
            _ => Self::Some,
        }
    }
}
