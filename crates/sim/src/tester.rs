//! A tester in virtual time: so that every method of measurement can be held against
//! devices of known parameters (S4-10).
//!
//! Cables have no length, taps stamp to the nanosecond when the start-of-frame
//! delimiter passes, and a frame that would leave before the one ahead of it has left
//! the cable leaves behind it. The device is whatever is a [`Device`]: an emulated
//! switch ([`SmallSwitch`]), the core that ships ([`CoreSwitch`]).
//!
//! | module | knows |
//! |---|---|
//! | [`device`] | what a device has to be |
//! | [`small_switch`] | the emulated switches with one processor |
//! | [`core_switch`] | the core that ships, and devices of any profile |
//! | [`lesson`] | how a device learns what to do with frames |
//!
//! # Differs from a laboratory
//!
//! The tester is never late and overlooks nothing. TCP is there only as the size of
//! the frames that carry OpenFlow.

mod attendant;
pub mod core_switch;
pub mod device;
pub mod lesson;
pub mod small_switch;
#[cfg(test)]
mod tests;
mod wire_time;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use measure::stalls::Stalls;
use measure::statistics::Distribution;
use measure::trial::{
    Conduct, ControlLink, Fault, LONGEST_TRIAL, MOST_FRAMES, Order, PortIndex, Setup, Sighting,
    Stamps, Tester, Trial, TrialError, TrialNumbers, Watcher, Way,
};
use units::{BitRate, Duration, Instant};
use wire::openflow::{Framer, Hello, TransactionId};

use attendant::Attendant;

pub use core_switch::CoreSwitch;
pub use device::{Carrier, Departure, Device, Happening, SentFrame};
pub use lesson::Taught;
pub use small_switch::SmallSwitch;
pub use wire_time::SEGMENT_MAX;

/// Long enough for an agent to answer a hello, or to do what it was told last.
const GREETING: Duration = Duration::from_ms(10);

/// A tester and the device that is connected to it.
#[derive(Debug)]
pub struct VirtualTester {
    setup: Setup,
    device: Box<dyn Device>,
    version: u8,
    ports: Vec<Port>,
    control_rate: BitRate,
    control_free: Instant,
    framer: Framer,
    /// Who answers what the device asks its controller, if anybody does.
    attendant: Option<Attendant>,
    now: Instant,
    /// What will happen, in the order in which it was planned if at the same time.
    ahead: BTreeMap<(Instant, u64), Event>,
    planned: u64,
    killed: bool,
    numbers: TrialNumbers,
}

/// A port of the tester.
#[derive(Debug)]
struct Port {
    rate: BitRate,
    free: Instant,
    cut: bool,
    mute: bool,
}

#[derive(Debug)]
enum Event {
    /// A frame passes a tap.
    Pass(PortIndex, Way, Arc<[u8]>),
    /// A frame or message arrives at the device.
    Reach(Happening),
    /// A frame has arrived at the tester.
    Deliver(PortIndex, Arc<[u8]>),
    /// A segment of the agent passes the tap of the control connection.
    Hear(Arc<[u8]>),
    /// An order passes that tap.
    Ordered(usize),
    Answer(Vec<u8>),
}

/// What a trial has come to.
struct Progress<'a> {
    begun: Instant,
    trial: &'a mut Trial,
    watcher: &'a mut dyn Watcher,
    /// The places of the orders that are still to be sent, by time.
    orders: VecDeque<usize>,
    faults_done: usize,
    sent: u64,
    lateness: Distribution,
    frame: Vec<u8>,
}

impl VirtualTester {
    /// Connects a device and agrees on a version of OpenFlow with its agent: 1 for
    /// 1.0, 4 for 1.3.
    #[must_use]
    pub fn new(device: impl Device + 'static, version: u8) -> Self {
        let rates = device.ports();
        let setup = Setup {
            device: device.name(),
            ports: (1..=rates.len()).map(|it| format!("port {it}")).collect(),
            rate: rates.iter().copied().min_by_key(|rate| rate.as_bps()),
            one_clock: true,
            clocks_apart: Duration::ZERO,
            stamps: Stamps::Virtual,
            bias: Some(Duration::ZERO),
            agent: true,
        };
        let ports = rates.into_iter().map(|rate| Port {
            rate,
            free: Instant::ZERO,
            cut: false,
            mute: false,
        });
        let mut tester = Self {
            setup,
            control_rate: device.control_rate(),
            version,
            ports: ports.collect(),
            device: Box::new(device),
            control_free: Instant::ZERO,
            framer: Framer::new(),
            attendant: None,
            now: Instant::ZERO,
            ahead: BTreeMap::new(),
            planned: 0,
            killed: false,
            numbers: TrialNumbers::after(0),
        };
        tester.greet();
        tester
    }

    fn greet(&mut self) {
        let mut bytes = Vec::new();
        let hello = Hello {
            version: self.version,
            versions: None,
        };
        hello.emit(TransactionId(0), &mut bytes);
        self.say(&[bytes]);
    }

    /// Has the device learn, over its control connection, what to do with frames. A
    /// device whose agent knows no groups gets no detour.
    ///
    /// # Panics
    ///
    /// If its agent has not agreed on OpenFlow 1.3.
    #[must_use]
    pub fn teach(mut self, taught: Taught) -> Self {
        let ports = u32::try_from(self.ports.len()).unwrap_or(u32::MAX);
        let lesson = match taught {
            Taught::ByTester => return self,
            Taught::Beforehand | Taught::WithDetour => lesson::stations(ports),
            Taught::ByAttendant => {
                self.attendant = Some(Attendant::default());
                Attendant::greeting()
            }
        };
        assert_eq!(
            self.version,
            wire::openflow::VERSION,
            "the lesson's OpenFlow"
        );
        let mut framer = Framer::new();
        framer.push(&lesson);
        let mut messages = Vec::new();
        while let Ok(Some(message)) = framer.next_message() {
            messages.push(message.to_vec());
        }
        self.say(&messages);
        self
    }

    /// Sends messages, far enough apart that none is lost, and waits until they have
    /// been done.
    fn say(&mut self, messages: &[Vec<u8>]) {
        let apart = self.device.control_spacing();
        let orders = (0u64..).zip(messages).map(|(place, bytes)| Order {
            due: apart * place,
            bytes: bytes.clone(),
        });
        let mut trial = Trial {
            orders: orders.collect(),
            length: apart * messages.len() as u64,
            drain: GREETING,
            ..Trial::default()
        };
        let mut deaf = Deaf;
        let mut progress = Progress::of(self.now, &mut trial, &mut deaf);
        while self.step(&mut progress).is_some() {}
    }

    /// Does what is due next, and returns nothing once the trial is over.
    fn step(&mut self, progress: &mut Progress<'_>) -> Option<()> {
        self.collect();
        let over = progress.over();
        let next = self.ahead.first_key_value().map(|((at, _), _)| *at);
        let next = next.unwrap_or(Instant::FAR_FUTURE);
        let device = match self.killed {
            true => Instant::FAR_FUTURE,
            false => self.device.deadline(),
        };
        let (stream, emission) = self.next_emission(progress);
        let order = self.next_order(progress);
        let fault = progress.next_fault();
        let due = [device, next, emission, order, fault];
        let due = due.into_iter().min().unwrap_or(Instant::FAR_FUTURE);
        if due > over {
            self.now = self.now.max(over);
            return None;
        }
        self.now = self.now.max(due);
        if fault == due {
            self.suffer(progress);
        } else if next == due {
            self.let_happen(progress);
        } else if device == due {
            self.device.handle(self.now, &Happening::Timeout);
        } else if order == due {
            if let Some(order) = progress.orders.pop_front() {
                self.send_order(order, &progress.trial.orders[order].bytes);
            }
        } else {
            self.emit(stream, progress);
        }
        Some(())
    }

    /// Returns which stream sends next, and when.
    fn next_emission(&self, progress: &Progress<'_>) -> (usize, Instant) {
        let last = progress.begun + progress.trial.length;
        let streams = progress.trial.streams.iter().enumerate();
        let due = streams.filter_map(|(index, stream)| {
            let due = progress.begun + stream.sender.next_due()?;
            let free = self.ports[stream.from.0].free;
            let may_send = due <= last || stream.sender.listens();
            may_send.then_some((index, due.max(free)))
        });
        due.min_by_key(|(_, at)| *at)
            .unwrap_or((0, Instant::FAR_FUTURE))
    }

    fn next_order(&self, progress: &Progress<'_>) -> Instant {
        let order = progress.orders.front();
        order.map_or(Instant::FAR_FUTURE, |order| {
            let due = progress.trial.orders[*order].due;
            (progress.begun + due).max(self.control_free)
        })
    }

    fn emit(&mut self, stream: usize, progress: &mut Progress<'_>) {
        let after = self.now.saturating_since(progress.begun);
        let stream = &mut progress.trial.streams[stream];
        let Some(outgoing) = stream.sender.emit(after, &mut progress.frame) else {
            return;
        };
        self.numbers.mark(&mut progress.frame);
        progress.lateness.record(after.saturating_sub(outgoing.due));
        progress.sent += 1;
        let bytes: Arc<[u8]> = progress.frame.as_slice().into();
        let from = stream.from;
        let port = &mut self.ports[from.0];
        let rate = port.rate;
        port.free = self.now + wire_time::to_next(rate, bytes.len());
        let pass = Event::Pass(from, Way::Sent, Arc::clone(&bytes));
        self.plan(self.now + wire_time::to_delimiter(rate), pass);
        let arrives = self.now + wire_time::to_end(rate, bytes.len());
        self.plan(arrives, Event::Reach(Happening::Frame(from, bytes)));
    }

    fn send_order(&mut self, order: usize, bytes: &[u8]) {
        let begins = self.now.max(self.control_free);
        let stamp = begins + wire_time::to_delimiter(self.control_rate);
        self.plan(stamp, Event::Ordered(order));
        self.send_control(bytes);
    }

    /// Sends bytes of the control connection as soon as the cable is free.
    fn send_control(&mut self, bytes: &[u8]) {
        let rate = self.control_rate;
        let mut begins = self.now.max(self.control_free);
        for segment in bytes.chunks(SEGMENT_MAX) {
            let length = wire_time::segment_length(segment);
            let arrives = begins + wire_time::to_end(rate, length);
            self.plan(arrives, Event::Reach(Happening::Control(segment.into())));
            begins += wire_time::to_next(rate, length);
        }
        self.control_free = begins;
    }

    fn plan(&mut self, at: Instant, event: Event) {
        self.ahead.insert((at, self.planned), event);
        self.planned += 1;
    }

    /// Takes what the device sends.
    fn collect(&mut self) {
        while let Some(Departure { begins, sent }) = self.device.poll() {
            match sent {
                SentFrame::Frame(port, bytes) => {
                    let Some(Port { rate, .. }) = self.ports.get(port.0) else {
                        continue;
                    };
                    let seen = begins + wire_time::to_delimiter(*rate);
                    let whole = begins + wire_time::to_end(*rate, bytes.len());
                    self.plan(seen, Event::Pass(port, Way::Received, Arc::clone(&bytes)));
                    self.plan(whole, Event::Deliver(port, bytes));
                }
                SentFrame::Control(bytes) => {
                    let seen = begins + wire_time::to_delimiter(self.control_rate);
                    self.plan(seen, Event::Hear(bytes));
                }
            }
        }
    }

    fn let_happen(&mut self, progress: &mut Progress<'_>) {
        let Some((_, event)) = self.ahead.pop_first() else {
            return;
        };
        match event {
            Event::Pass(port, way, bytes) => {
                let lost = match way {
                    Way::Sent => false,
                    Way::Received => self.ports[port.0].is_silent(),
                };
                if !lost && self.numbers.admits(&bytes) {
                    progress.watcher.see(&Sighting {
                        port,
                        way,
                        at: self.now,
                        length: bytes.len(),
                        bytes: &bytes,
                    });
                }
            }
            Event::Reach(Happening::Frame(port, _)) if self.ports[port.0].cut => {}
            Event::Reach(_) if self.killed => {}
            Event::Reach(happening) => self.device.handle(self.now, &happening),
            Event::Deliver(port, bytes) => {
                if !self.ports[port.0].is_silent() && !self.numbers.is_stray(&bytes) {
                    progress.deliver(self.now, port, &bytes);
                }
            }
            Event::Hear(bytes) => self.hear(&bytes, progress),
            Event::Ordered(order) => progress.watcher.ordered(order, self.now),
            Event::Answer(bytes) => self.send_control(&bytes),
        }
    }

    fn hear(&mut self, bytes: &[u8], progress: &mut Progress<'_>) {
        self.framer.push(bytes);
        let mut answers = Vec::new();
        while let Ok(Some(message)) = self.framer.next_message() {
            progress.watcher.hear(self.now, message);
            if let Some(attendant) = &mut self.attendant {
                answers.push((message.len(), attendant.answer(message)));
            }
        }
        for (length, answer) in answers.into_iter().filter(|(_, it)| !it.is_empty()) {
            // Who answers has read the whole message.
            let whole = wire_time::to_next(self.control_rate, length);
            self.plan(self.now + whole, Event::Answer(answer));
        }
    }

    fn suffer(&mut self, progress: &mut Progress<'_>) {
        let (_, fault) = progress.trial.faults[progress.faults_done];
        progress.faults_done += 1;
        match fault {
            Fault::Cut(port) => self.set_carrier(port, Carrier::Lost),
            Fault::Join(port) => self.set_carrier(port, Carrier::Present),
            Fault::Mute(port) => self.ports[port.0].mute = true,
            Fault::Unmute(port) => self.ports[port.0].mute = false,
            Fault::Kill => self.killed = true,
        }
    }

    fn set_carrier(&mut self, port: PortIndex, carrier: Carrier) {
        self.ports[port.0].cut = match carrier {
            Carrier::Present => false,
            Carrier::Lost => true,
        };
        if !self.killed {
            let happening = Happening::Carrier(port, carrier);
            self.device.handle(self.now, &happening);
        }
    }

    fn check(&self, trial: &Trial) -> Result<(), TrialError> {
        let unable = |reason: String| TrialError::Unable {
            device: self.setup.device.clone(),
            reason,
        };
        let streams = trial.streams.iter().map(|stream| stream.from);
        let faults = trial.faults.iter().filter_map(|(_, fault)| fault.port());
        for PortIndex(port) in streams.chain(faults) {
            if port >= self.ports.len() {
                return Err(unable(format!(
                    "it has {} ports, and port {port} counted from 0 is none of them",
                    self.ports.len()
                )));
            }
        }
        match trial.length + trial.drain + trial.patience > LONGEST_TRIAL {
            true => Err(unable(format!("a trial lasts {LONGEST_TRIAL} at most"))),
            false => Ok(()),
        }
    }
}

impl Tester for VirtualTester {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn control_link(&self) -> ControlLink {
        ControlLink {
            version: self.version,
            rate: Some(self.control_rate),
            apart: self.device.control_spacing(),
        }
    }

    fn run(&mut self, mut trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        self.check(&trial)?;
        self.numbers.begin();
        trial.faults.sort_by_key(|(due, _)| *due);
        let mut progress = Progress::of(self.now, &mut trial, watcher);
        while self.step(&mut progress).is_some() {
            if progress.sent > MOST_FRAMES {
                let reason = format!("a trial sends {MOST_FRAMES} frames at most");
                let device = self.setup.device.clone();
                return Err(TrialError::Unable { device, reason });
            }
        }
        let (lateness, sent) = (progress.lateness, progress.sent);
        let streams = trial.streams.iter();
        Ok(Conduct {
            calm_lateness: lateness.clone(),
            lateness,
            sent,
            skipped: streams.map(|stream| stream.sender.skipped()).sum(),
            unseen: 0,
            unstamped: 0,
            strays: self.numbers.strays(),
            stalls: Stalls::new(Duration::ZERO),
            clock_steps: Vec::new(),
        })
    }
}

impl Port {
    /// Tells whether nothing arrives from the device.
    fn is_silent(&self) -> bool {
        self.cut || self.mute
    }
}

impl<'a> Progress<'a> {
    fn of(begun: Instant, trial: &'a mut Trial, watcher: &'a mut dyn Watcher) -> Self {
        let mut orders: Vec<_> = (0..trial.orders.len()).collect();
        orders.sort_by_key(|order| trial.orders[*order].due);
        Self {
            begun,
            trial,
            watcher,
            orders: orders.into(),
            faults_done: 0,
            sent: 0,
            lateness: Distribution::default(),
            frame: Vec::new(),
        }
    }

    /// Returns when the trial is over, as things stand.
    fn over(&self) -> Instant {
        let end = self.begun + self.trial.length + self.trial.drain;
        match self.watcher.awaits() {
            true => end + self.trial.patience,
            false => end,
        }
    }

    fn next_fault(&self) -> Instant {
        let fault = self.trial.faults.get(self.faults_done);
        fault.map_or(Instant::FAR_FUTURE, |(due, _)| self.begun + *due)
    }

    fn deliver(&mut self, now: Instant, port: PortIndex, bytes: &[u8]) {
        let after = now.saturating_since(self.begun);
        for stream in &mut self.trial.streams {
            if stream.from == port {
                stream.sender.received(after, bytes);
            }
        }
    }
}

struct Deaf;

impl Watcher for Deaf {
    fn see(&mut self, _sighting: &Sighting<'_>) {}
}
