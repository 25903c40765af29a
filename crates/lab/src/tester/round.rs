//! One trial under way, on the calling thread.
//!
//! A frame leaves at its absolute time. Before it, the thread sleeps to a moment
//! [`EARLY`] and then looks at the clock without pause: to wake a sleeping thread up
//! takes tens of microseconds, on a virtual machine now and then some hundred. What the
//! ports have captured is read when no frame is due soon, and every [`READ_INTERVAL`]
//! at the latest. If more waits than is read at once, it goes on after each turn of
//! sending, with more frames a port than a stream sends in its turn: so the captures
//! keep up with a tester that is late all the time.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use linux::clock::{self, WallClock};
use linux::jitter_monitor::JitterMonitors;
use linux::sender::Queued;
use measure::stalls::Stalls;
use measure::statistics::Distribution;
use measure::trial::{
    Conduct, Order, PortIndex, Setup, Sighting, Stream, Trial, TrialError, TrialNumbers, Watcher,
    Way,
};
use units::{Duration, Instant};

use super::card_clocks::CardClocks;
use super::fault::{self, Act};
use super::port::{Clocks, TesterPort};
use super::{STALL_THRESHOLD, is_too_much};
use crate::agent::AgentConnection;
use crate::device_under_test::Running;
use crate::stalls;

/// So long before a frame is due the thread wakes up.
pub(super) const EARLY: Duration = Duration::from_us(300);
/// Nothing is read in the last moments before a frame is due.
const MARGIN: Duration = Duration::from_us(15);
/// How long captured frames wait at most.
const READ_INTERVAL: Duration = Duration::from_ms(1);
/// How many captured frames of a port are read before the streams have their turn:
/// more than [`BURST`], or reading would never catch up with sending.
const FRAMES_AT_ONCE: usize = 64;
/// The most frames that one stream sends before the others have their turn.
const BURST: usize = 32;
/// A tester that is late at the end of sending still sends what was due before it:
/// for one turn, and until so long after that turn has begun.
const OVERTIME: Duration = Duration::from_ms(100);
/// So many stalls back it is looked whether one made a frame late.
const STALLS_BACK: usize = 8;
/// How often it is looked whether ports, device and clock are as they were.
const CHECK_INTERVAL: Duration = Duration::from_ms(50);
/// From the preparation to the beginning.
const LEAD: Duration = Duration::from_ms(2);
const FRAME_BYTES: usize = 2_048;
/// The most sentences about the clock.
const MOST_CLOCK_STEPS: usize = 64;

/// What a trial is made with.
pub(super) struct TrialParts<'a> {
    pub(super) ports: &'a mut [TesterPort],
    pub(super) cards: &'a mut CardClocks,
    pub(super) running: Option<&'a mut Running>,
    pub(super) agent: Option<&'a mut AgentConnection>,
    pub(super) setup: &'a Setup,
    pub(super) numbers: &'a mut TrialNumbers,
    pub(super) stop: &'a AtomicBool,
}

pub(super) struct Round<'a> {
    parts: TrialParts<'a>,
    watcher: &'a mut dyn Watcher,
    streams: Vec<Stream>,
    /// Those that are not told yet, with their places in the trial.
    orders: VecDeque<(usize, Order)>,
    /// Whether the thread may sleep.
    rests: bool,
    /// Whether somebody answers what arrives, after the end of sending, too.
    listens: bool,
    /// Whether somebody else watches for stalls.
    sentries: bool,
    kills: bool,
    began: Instant,
    send_until: Instant,
    /// Until when what was due before the end of sending is sent, once that has come.
    overtime: Option<Instant>,
    /// Whether all that was due before the end of sending had its turn.
    sent_all: bool,
    end: Instant,
    patience: Duration,
    wall: WallClock,
    frame: Vec<u8>,
    looked: Instant,
    check_due: Instant,
    conduct: Conduct,
}

impl<'a> Round<'a> {
    pub(super) fn new(parts: TrialParts<'a>, trial: Trial, watcher: &'a mut dyn Watcher) -> Self {
        let mut orders: Vec<_> = trial.orders.into_iter().enumerate().collect();
        orders.sort_by_key(|(_, order)| order.due);
        let listens = trial.streams.iter().any(|it| it.sender.listens());
        let began = clock::now() + LEAD;
        let send_until = began + trial.length;
        Self {
            rests: !listens && orders.is_empty(),
            listens,
            sentries: trial.streams.is_empty(),
            kills: trial
                .faults
                .iter()
                .any(|(_, fault)| *fault == measure::trial::Fault::Kill),
            parts,
            watcher,
            streams: trial.streams,
            orders: orders.into(),
            began,
            send_until,
            overtime: None,
            sent_all: trial.length == Duration::ZERO,
            end: send_until + trial.drain,
            patience: trial.patience,
            wall: WallClock::sample(),
            frame: Vec::with_capacity(FRAME_BYTES),
            looked: began,
            check_due: began,
            conduct: Conduct {
                lateness: Distribution::default(),
                calm_lateness: Distribution::default(),
                sent: 0,
                skipped: 0,
                unseen: 0,
                unstamped: 0,
                strays: 0,
                stalls: Stalls::new(STALL_THRESHOLD),
                clock_steps: Vec::new(),
            },
        }
    }

    /// Makes the trial, with its faults.
    pub(super) fn run(mut self, acts: Vec<Act>) -> Result<Conduct, TrialError> {
        let sentries = match self.sentries {
            true => Some(JitterMonitors::post(STALL_THRESHOLD).map_err(machine)?),
            false => None,
        };
        self.parts.cards.resume().map_err(machine)?;
        for port in self.parts.ports.iter_mut() {
            port.begin().map_err(machine)?;
        }
        let over = AtomicBool::new(false);
        let began = self.began;
        let (went, faulty) = thread::scope(|scope| {
            let faults = (!acts.is_empty()).then(|| {
                let over = &over;
                scope.spawn(move || fault::commit(acts, began, over))
            });
            let went = self.go();
            over.store(true, Ordering::Relaxed);
            let faulty = faults.and_then(|faults| match faults.join() {
                Ok(wrong) => wrong,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            (went, faulty)
        });
        for watched in sentries.map(JitterMonitors::recall).unwrap_or_default() {
            let stalls = &mut self.conduct.stalls;
            stalls::enter(&watched.stalls, "sentry", began, stalls);
        }
        went?;
        match faulty {
            Some(wrong) => Err(TrialError::Machine(wrong)),
            None => Ok(self.finish()),
        }
    }

    fn go(&mut self) -> Result<(), TrialError> {
        clock::sleep_until(self.began);
        self.looked = clock::now();
        let mut read_due = self.began;
        loop {
            let now = self.look();
            if self.parts.stop.load(Ordering::Relaxed) {
                return Err(TrialError::Interrupted);
            }
            if now >= self.end && self.sent_all && !self.goes_on(now)? {
                break;
            }
            let next = self.send_due(now)?;
            self.talk()?;
            let now = self.look();
            if now >= self.check_due {
                self.check(now)?;
            }
            if next > now + MARGIN || now >= read_due {
                if self.read()? {
                    // Behind the next turn of sending.
                    read_due = now;
                    continue;
                }
                read_due = clock::now() + READ_INTERVAL;
            }
            if self.rests {
                self.rest(next);
            }
        }
        while self.read()? {}
        self.parts.ports.iter_mut().for_each(TesterPort::give_up);
        while self.read()? {}
        Ok(())
    }

    /// Tells whether to listen on after the end: as long as frames may arrive, and the
    /// patience lasts.
    fn goes_on(&mut self, now: Instant) -> Result<bool, TrialError> {
        if self.patience == Duration::ZERO || now >= self.end + self.patience {
            return Ok(false);
        }
        // What has been captured and not read has arrived.
        while self.read()? {}
        Ok(self.watcher.awaits())
    }

    /// Looks at the clock, and takes down if that was long ago.
    fn look(&mut self) -> Instant {
        let now = clock::now();
        if !self.sentries {
            self.conduct.stalls.look("tester", self.looked, now);
        }
        self.looked = now;
        now
    }

    /// Sleeps until shortly before `next`.
    fn rest(&mut self, next: Instant) {
        let now = clock::now();
        let early = Instant::from_ns(next.as_ns().saturating_sub(EARLY.as_ns()));
        let wake = early.min(now + READ_INTERVAL);
        let wake = match now < self.end {
            true => wake.min(self.end),
            false => wake,
        };
        if wake > now {
            clock::sleep_until(wake);
            self.looked = wake;
        }
    }

    /// Sends every frame that is due, and returns when the next one is.
    fn send_due(&mut self, now: Instant) -> Result<Instant, TrialError> {
        let mut next = Instant::FAR_FUTURE;
        if self.sent_all && !self.listens {
            return Ok(next);
        }
        // What is due from the end on is not sent, but for answers; what was due before it
        // is, however late the tester comes, and whoever sends counts what it leaves out for
        // that.
        let last = self.send_until - Duration::from_ns(1);
        for stream in &mut self.streams {
            let now = match stream.sender.listens() {
                true => now,
                false => now.min(last),
            };
            let after = now.saturating_since(self.began);
            let port = &mut self.parts.ports[stream.from.0];
            for _ in 0..BURST {
                if stream.sender.next_due().is_none_or(|due| due > after) {
                    break;
                }
                let Some(outgoing) = stream.sender.emit(after, &mut self.frame) else {
                    break;
                };
                self.parts.numbers.mark(&mut self.frame);
                match port.send(&self.frame, self.began + outgoing.due) {
                    Ok(Queued::Taken) => self.conduct.sent += 1,
                    Ok(Queued::Overflowed) => self.conduct.skipped += 1,
                    // The cable is cut; whether the port is still there is looked
                    // at soon.
                    Ok(Queued::Down) => {}
                    Err(error) => return Err(gone(&port.name, after, &error)),
                }
                // To send many takes long, and is no stall of the machine.
                let looked = clock::now();
                self.conduct.stalls.look("tester", self.looked, looked);
                self.looked = looked;
            }
            if let Some(due) = stream.sender.next_due() {
                next = next.min(self.began + due);
            }
        }
        if now >= self.send_until {
            let overtime = *self.overtime.get_or_insert(now + OVERTIME);
            self.sent_all = next > last || now >= overtime;
        }
        if is_too_much(self.conduct.sent) {
            return Err(TrialError::Machine(
                "the trial sends more frames than one may have".to_owned(),
            ));
        }
        Ok(next)
    }

    /// Tells the agent what is due and takes what it says.
    fn talk(&mut self) -> Result<(), TrialError> {
        let Some(agent) = &mut self.parts.agent else {
            return Ok(());
        };
        let now = clock::now();
        let watcher = &mut *self.watcher;
        let mut talk = || -> io::Result<()> {
            while let Some((place, order)) = self
                .orders
                .pop_front_if(|(_, order)| self.began + order.due <= now)
            {
                let at = agent.tell(&order.bytes)?;
                watcher.ordered(place, at);
            }
            agent.listen(&mut |at, bytes| watcher.hear(at, bytes))
        };
        match talk() {
            // Who is killed says nothing any more.
            Err(_) if self.kills => {
                self.parts.agent = None;
                Ok(())
            }
            Err(error) => Err(TrialError::DeviceGone {
                device: self.parts.setup.device.clone(),
                after: now.saturating_since(self.began),
                reason: format!("the control connection: {error}"),
            }),
            Ok(()) => Ok(()),
        }
    }

    /// Looks whether all is as it was.
    fn check(&mut self, now: Instant) -> Result<(), TrialError> {
        self.check_due = now + CHECK_INTERVAL;
        let after = now.saturating_since(self.began);
        if let Some(port) = self.parts.ports.iter().find(|port| !port.is_there()) {
            let reason = io::Error::other("no interface of that name and number any more");
            return Err(gone(&port.name, after, &reason));
        }
        if let Some(running) = &mut self.parts.running
            && !self.kills
            && running.has_ended()
        {
            return Err(TrialError::DeviceGone {
                device: self.parts.setup.device.clone(),
                after,
                reason: format!("a program of it has ended{}", running.last_words()),
            });
        }
        let steps = &mut self.conduct.clock_steps;
        let mut note = |clock: String, by_ns: i64| {
            if steps.len() < MOST_CLOCK_STEPS {
                steps.push(format!(
                    "{clock} was set by {by_ns} ns, {after} after the beginning"
                ));
            }
        };
        if let Some(step) = self.wall.follow() {
            note("the time of day".to_owned(), step.by_ns);
        }
        let cards = &mut self.parts.cards;
        let followed = cards.follow(|number, by_ns| {
            note(format!("clock {number} of the network cards"), by_ns);
        });
        followed.map_err(machine)
    }

    /// Reads some of what the ports have captured. Returns whether there is more.
    fn read(&mut self) -> Result<bool, TrialError> {
        let clocks = Clocks {
            wall: &self.wall,
            cards: self.parts.cards,
        };
        let mut more = false;
        for (number, port) in self.parts.ports.iter_mut().enumerate() {
            let index = PortIndex(number);
            let mut taken = 0;
            while taken < FRAMES_AT_ONCE {
                let read = port.read(clocks, |passed| {
                    if !self.parts.numbers.admits(passed.bytes) {
                        return;
                    }
                    if let (Some(due), Some(at)) = (passed.due, passed.at) {
                        let late = at.saturating_since(due);
                        self.conduct.lateness.record(late);
                        if is_calm(&self.conduct.stalls, due, at) {
                            self.conduct.calm_lateness.record(late);
                        }
                    }
                    if passed.way == Way::Received {
                        let after = clock::now().saturating_since(self.began);
                        for stream in self.streams.iter_mut().filter(|it| it.from == index) {
                            stream.sender.received(after, passed.bytes);
                        }
                    }
                    match passed.at {
                        Some(at) => self.watcher.see(&Sighting {
                            port: index,
                            way: passed.way,
                            at,
                            length: passed.length,
                            bytes: passed.bytes,
                        }),
                        None => {
                            self.conduct.unstamped += 1;
                            self.watcher.see_unstamped(index, passed.way, passed.bytes);
                        }
                    }
                });
                match read.map_err(machine)? {
                    true => taken += 1,
                    false => break,
                }
            }
            more |= taken == FRAMES_AT_ONCE;
        }
        Ok(more)
    }

    fn finish(mut self) -> Conduct {
        self.conduct.unseen = self.parts.ports.iter_mut().map(TesterPort::unseen).sum();
        let skipped = self.streams.iter().map(|it| it.sender.skipped());
        self.conduct.skipped += skipped.sum::<u64>();
        self.conduct.strays = self.parts.numbers.strays();
        self.conduct
    }
}

/// Tells whether no stall of late, nor what it left behind, lay between two moments.
fn is_calm(stalls: &Stalls, from: Instant, to: Instant) -> bool {
    let mut latest = stalls.kept().iter().rev().take(STALLS_BACK);
    !latest.any(|stall| stall.start <= to && stall.shadow_end() >= from)
}

fn machine(error: io::Error) -> TrialError {
    TrialError::Machine(error.to_string())
}

fn gone(port: &str, after: Duration, reason: &io::Error) -> TrialError {
    TrialError::PortGone {
        port: port.to_owned(),
        after,
        reason: reason.to_string(),
    }
}
