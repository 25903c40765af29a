//! The switch core that ships as a device under test: behind a processing stage of
//! known numbers, or as a device of any profile ([`crate::emulation`]).
//!
//! # Differs from the device
//!
//! Behind a stage of known numbers, messages of the controller take no time, and
//! frames exactly that of the stage.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use measure::trial::PortIndex;
use scenario::Profile;
use switch::{Config, ConnectionId, Input, Link, Output, Pacing, Peer, PortConfig, Switch};
use units::{BitRate, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::attendant::Attendant;
use super::device::{Carrier, Departure, Device, Happening, SentFrame};
use super::lesson::{self, Taught};
use super::wire_time::{SEGMENT_MAX, on_cable, segment_length};
use crate::emulation::{Behaviour, Dice, Fate, Pace, ProcessingQueue};
use crate::parts::Processing;

const CONNECTION: ConnectionId = ConnectionId(0);

/// The switch core in virtual time: a Taktos switch, or a device of any profile.
#[derive(Debug)]
pub struct CoreSwitch {
    name: String,
    switch: Switch,
    rate: BitRate,
    ports: usize,
    hold: Hold,
    pace: Pace,
    attendant: Option<Attendant>,
    /// What the agent learns at once when it has been greeted.
    lesson: Option<Vec<u8>>,
    /// What waits until the device is done with it, in the order in which it came if
    /// that is at the same time.
    waiting: BTreeMap<(Instant, u64), Waiting>,
    waited: u64,
    control_free: Instant,
    departures: VecDeque<Departure>,
}

/// How long frames take to the core.
#[derive(Debug)]
enum Hold {
    /// Always the same; with when the stage is free.
    Exact(Processing, Instant),
    Emulated(Box<ProcessingQueue>),
}

#[derive(Debug)]
enum Waiting {
    Frame(Instant, PortNumber, Arc<[u8]>),
    Order(Vec<u8>),
    Message(Vec<u8>),
    /// What a port's carrier is, once it is noticed.
    Carrier(PortNumber, Link),
}

impl CoreSwitch {
    /// Returns a Taktos switch with so many ports of one rate, empty tables and a
    /// connection to its controller.
    #[must_use]
    pub fn new(ports: u32, rate: BitRate, processing: Processing) -> Self {
        let hold = Hold::Exact(processing, Instant::ZERO);
        let config = config(ports, rate);
        let name = "Taktos switch, in virtual time".to_owned();
        Self::with(name, config, rate, hold)
    }

    /// Returns a device of a profile with so many ports of one rate. What is random
    /// follows from `seed`. It learns how to forward when it is greeted, in OpenFlow
    /// 1.3.
    #[must_use]
    pub fn emulated(
        profile: &Profile,
        ports: u32,
        rate: BitRate,
        seed: u64,
        taught: Taught,
    ) -> Self {
        let behaviour = Behaviour::of(profile);
        let dice = Dice::new(seed, 0);
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let hold = match behaviour.clone() {
            Some(behaviour) => {
                Hold::Emulated(Box::new(ProcessingQueue::new(behaviour, dice.clone())))
            }
            None => Hold::Exact(
                Processing {
                    latency: profile.longest_latency(),
                    per_frame: profile.longest_per_frame(),
                    capacity: count(profile.pool_frames.value),
                },
                Instant::ZERO,
            ),
        };
        let mut config = config(ports, rate);
        config.queue_capacity = count(profile.queue_frames.value);
        config.buffers = config.buffers_that_suffice();
        let entries = profile
            .emulation
            .as_ref()
            .and_then(|it| it.table_entries.as_ref());
        if let Some(entries) = entries {
            config.table_capacity = count(entries.value);
        }
        let name = format!("{}, emulated: {}", profile.name, profile.about);
        let mut device = Self::with(name, config, rate, hold);
        device.pace = Pace::new(behaviour, dice);
        match taught {
            Taught::ByTester => {}
            Taught::Beforehand => device.lesson = Some(lesson::stations(ports)),
            Taught::WithDetour => device.lesson = Some(lesson::stations_with_detour(ports)),
            Taught::ByAttendant => {
                device.lesson = Some(Attendant::greeting());
                device.attendant = Some(Attendant::default());
            }
        }
        device
    }

    fn with(name: String, config: Config, rate: BitRate, hold: Hold) -> Self {
        let ports = config.ports.len();
        let mut switch = Switch::new(Instant::ZERO, config);
        let connected = Input::Connected {
            connection: CONNECTION,
            peer: Peer::Controller,
        };
        switch.handle(Instant::ZERO, connected);
        let mut device = Self {
            name,
            switch,
            rate,
            ports,
            hold,
            pace: Pace::default(),
            attendant: None,
            lesson: None,
            waiting: BTreeMap::new(),
            waited: 0,
            control_free: Instant::ZERO,
            departures: VecDeque::new(),
        };
        device.drain(Instant::ZERO);
        device
    }

    fn arrive(&mut self, now: Instant, port: PortIndex, bytes: &Arc<[u8]>) {
        let number = port_number(port);
        let ready = match &mut self.hold {
            Hold::Exact(processing, busy_until) => {
                if self.waiting.len() >= processing.capacity {
                    return;
                }
                *busy_until = (*busy_until).max(now) + processing.per_frame.round_up();
                *busy_until + processing.latency.round_up()
            }
            Hold::Emulated(stage) => match stage.arrive(now, number, bytes.len()) {
                Fate::Ready(ready) => ready,
                Fate::NoRoom | Fate::Lost => return,
            },
        };
        self.wait(ready, Waiting::Frame(now, number, Arc::clone(bytes)));
    }

    fn wait(&mut self, until: Instant, what: Waiting) {
        self.waiting.insert((until, self.waited), what);
        self.waited += 1;
    }

    fn do_what_is_ready(&mut self, now: Instant) {
        while let Some(first) = self.waiting.first_entry() {
            if first.key().0 > now {
                return;
            }
            match first.remove() {
                Waiting::Frame(arrived, port, bytes) => {
                    let bytes = &bytes;
                    let frame = Input::Frame {
                        port,
                        bytes,
                        arrived,
                    };
                    self.switch.handle(now, frame);
                }
                Waiting::Order(bytes) => self.order(now, &bytes),
                Waiting::Message(bytes) => self.leave(now, &bytes),
                Waiting::Carrier(port, link) => self.switch.handle(now, Input::Port { port, link }),
            }
            self.drain(now);
        }
    }

    /// Lets the agent take a message.
    fn order(&mut self, now: Instant, bytes: &[u8]) {
        let received = Input::Received {
            connection: CONNECTION,
            bytes,
        };
        self.switch.handle(now, received);
        self.drain(now);
        if let Some(lesson) = self.lesson.take() {
            self.order(now, &lesson);
        }
    }

    /// Takes what the agent is told, which takes its time.
    fn receive(&mut self, now: Instant, bytes: &[u8]) {
        let mut orders = Vec::new();
        self.pace.receive(now, bytes, |at, message| {
            orders.push((at, message.to_vec()))
        });
        for (at, message) in orders {
            self.wait(at, Waiting::Order(message));
        }
    }

    /// Lets a message of the agent go to whoever is at the other end.
    fn leave(&mut self, now: Instant, bytes: &[u8]) {
        if let Some(attendant) = &mut self.attendant {
            let answer = attendant.answer(bytes);
            if !answer.is_empty() {
                self.receive(now, &answer);
                return;
            }
        }
        for segment in bytes.chunks(SEGMENT_MAX) {
            let begins = self.control_free.max(now);
            let whole = on_cable(segment_length(segment));
            self.control_free = begins + self.rate.time_to_send(whole).round_up();
            let sent = SentFrame::Control(segment.into());
            self.departures.push_back(Departure { begins, sent });
        }
    }

    fn drain(&mut self, now: Instant) {
        let mut messages = Vec::new();
        while let Some(output) = self.switch.poll() {
            match output {
                Output::Transmit { port, bytes, .. } => {
                    let place = (port.0 as usize).wrapping_sub(1);
                    let sent = SentFrame::Frame(PortIndex(place), bytes.into());
                    self.departures.push_back(Departure { begins: now, sent });
                }
                Output::Send { bytes, .. } => {
                    self.pace.send(now, bytes, |at, message| {
                        messages.push((at, message.to_vec()))
                    });
                }
                Output::Close { .. } | Output::Count => {}
            }
        }
        for (at, message) in messages {
            match at > now {
                true => self.wait(at, Waiting::Message(message)),
                false => self.leave(now, &message),
            }
        }
    }
}

fn config(ports: u32, rate: BitRate) -> Config {
    let ports = (1..=ports).map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("p{number}"),
        mac: MacAddress([2, 9, 0, 0, 0, 1]),
        rate: Some(rate),
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.collect());
    // Who tests need not say that it is alive.
    config.keep_alive = None;
    config
}

fn port_number(port: PortIndex) -> PortNumber {
    let number = u32::try_from(port.0).unwrap_or(u32::MAX);
    PortNumber(number.saturating_add(1))
}

impl Device for CoreSwitch {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ports(&self) -> Vec<BitRate> {
        vec![self.rate; self.ports]
    }

    fn control_rate(&self) -> BitRate {
        self.rate
    }

    fn handle(&mut self, now: Instant, happening: &Happening) {
        self.do_what_is_ready(now);
        match happening {
            Happening::Frame(port, bytes) => self.arrive(now, *port, bytes),
            Happening::Control(bytes) => self.receive(now, bytes),
            Happening::Carrier(port, carrier) => {
                let link = match carrier {
                    Carrier::Present => Link::Up,
                    Carrier::Lost => Link::Down,
                };
                let notices = match (&mut self.hold, link) {
                    (Hold::Emulated(stage), Link::Down) => stage.notice_loss(),
                    (Hold::Emulated(_) | Hold::Exact(..), _) => None,
                };
                let notices = now + notices.unwrap_or_default();
                self.wait(notices, Waiting::Carrier(port_number(*port), link));
            }
            Happening::Timeout => self.switch.handle(now, Input::Timeout),
        }
        self.drain(now);
        self.do_what_is_ready(now);
    }

    fn poll(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    fn deadline(&self) -> Instant {
        let core = self.switch.deadline().unwrap_or(Instant::FAR_FUTURE);
        let ready = self.waiting.first_key_value().map(|((at, _), _)| *at);
        core.min(ready.unwrap_or(Instant::FAR_FUTURE))
    }
}

#[cfg(test)]
mod tests;
