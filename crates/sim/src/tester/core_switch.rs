//! The switch core that ships, behind a processing stage of known numbers, as a
//! device under test.
//!
//! # Differs from the device
//!
//! Messages of the controller take no time, and frames exactly that of the stage.

use std::collections::VecDeque;
use std::sync::Arc;

use measure::trial::PortIndex;
use switch::{Config, ConnectionId, Input, Link, Output, Pacing, Peer, PortConfig, Switch};
use units::{BitRate, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use super::device::{Carrier, Departure, Device, Happening, Sent};
use super::wire_time::{SEGMENT_MAX, on_cable, segment_length};
use crate::parts::Processing;

const CONNECTION: ConnectionId = ConnectionId(0);

/// A Taktos switch in virtual time.
#[derive(Debug)]
pub struct CoreSwitch {
    switch: Switch,
    rate: BitRate,
    ports: usize,
    processing: Processing,
    /// What waits for the stage, with the time at which it is done.
    waiting: VecDeque<(Instant, PortNumber, Arc<[u8]>)>,
    busy_until: Instant,
    control_free: Instant,
    departures: VecDeque<Departure>,
}

impl CoreSwitch {
    /// Returns a switch with so many ports of one rate, empty tables and a
    /// connection to its controller.
    #[must_use]
    pub fn new(ports: u32, rate: BitRate, processing: Processing) -> Self {
        let configured = (1..=ports).map(|number| PortConfig {
            number: PortNumber(number),
            name: format!("p{number}"),
            mac: MacAddress([2, 9, 0, 0, 0, 1]),
            rate: Some(rate),
            pacing: Pacing::Core,
        });
        let mut config = Config::new(DatapathId(1), configured.collect());
        // Who tests need not say that it is alive.
        config.keep_alive = None;
        let mut switch = Switch::new(Instant::ZERO, config);
        let connected = Input::Connected {
            connection: CONNECTION,
            peer: Peer::Controller,
        };
        switch.handle(Instant::ZERO, connected);
        let mut device = Self {
            switch,
            rate,
            ports: ports as usize,
            processing,
            waiting: VecDeque::new(),
            busy_until: Instant::ZERO,
            control_free: Instant::ZERO,
            departures: VecDeque::new(),
        };
        device.drain(Instant::ZERO);
        device
    }

    fn arrive(&mut self, now: Instant, port: PortIndex, bytes: &Arc<[u8]>) {
        if self.waiting.len() >= self.processing.capacity {
            return;
        }
        self.busy_until = self.busy_until.max(now) + self.processing.per_frame.round_up();
        let ready = self.busy_until + self.processing.latency.round_up();
        let number = u32::try_from(port.0).unwrap_or(u32::MAX).saturating_add(1);
        let frame = (ready, PortNumber(number), Arc::clone(bytes));
        self.waiting.push_back(frame);
    }

    fn process_what_is_ready(&mut self, now: Instant) {
        while let Some((ready, _, _)) = self.waiting.front()
            && *ready <= now
        {
            let Some((arrived, port, bytes)) = self.waiting.pop_front() else {
                return;
            };
            let bytes = &bytes;
            let frame = Input::Frame {
                port,
                bytes,
                arrived,
            };
            self.switch.handle(now, frame);
            self.drain(now);
        }
    }

    fn drain(&mut self, now: Instant) {
        while let Some(output) = self.switch.poll() {
            let sent = match output {
                Output::Transmit { port, bytes, .. } => {
                    let place = (port.0 as usize).wrapping_sub(1);
                    Sent::Frame(PortIndex(place), bytes.into())
                }
                Output::Send { bytes, .. } => {
                    for segment in bytes.chunks(SEGMENT_MAX) {
                        let begins = self.control_free.max(now);
                        let whole = on_cable(segment_length(segment));
                        self.control_free = begins + self.rate.time_to_send(whole).round_up();
                        let sent = Sent::Control(segment.into());
                        self.departures.push_back(Departure { begins, sent });
                    }
                    continue;
                }
                Output::Close { .. } => continue,
            };
            let departure = Departure { begins: now, sent };
            self.departures.push_back(departure);
        }
    }
}

impl Device for CoreSwitch {
    fn name(&self) -> String {
        "Taktos switch, in virtual time".to_owned()
    }

    fn ports(&self) -> Vec<BitRate> {
        vec![self.rate; self.ports]
    }

    fn control_rate(&self) -> BitRate {
        self.rate
    }

    fn handle(&mut self, now: Instant, happening: &Happening) {
        self.process_what_is_ready(now);
        match happening {
            Happening::Frame(port, bytes) => {
                self.arrive(now, *port, bytes);
                self.process_what_is_ready(now);
            }
            Happening::Control(bytes) => {
                let received = Input::Received {
                    connection: CONNECTION,
                    bytes,
                };
                self.switch.handle(now, received);
            }
            Happening::Carrier(port, carrier) => {
                let number = u32::try_from(port.0).unwrap_or(u32::MAX).saturating_add(1);
                let link = match carrier {
                    Carrier::Present => Link::Up,
                    Carrier::Lost => Link::Down,
                };
                let port = PortNumber(number);
                self.switch.handle(now, Input::Port { port, link });
            }
            Happening::Timeout => self.switch.handle(now, Input::Timeout),
        }
        self.drain(now);
    }

    fn poll(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    fn deadline(&self) -> Instant {
        let core = self.switch.deadline().unwrap_or(Instant::FAR_FUTURE);
        let ready = self.waiting.front().map(|(ready, _, _)| *ready);
        core.min(ready.unwrap_or(Instant::FAR_FUTURE))
    }
}
